//! `migbsp compare`: experiments under several policies, with several seeds.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;

use clap::Args;
use tokio::sync::oneshot;

use crate::failure::CommandFailure;
use experiments::batch::{Batch, Progress};
use experiments::{Failure, Provenance, Registry, overrides};

use crate::arguments::JobsArguments;
use crate::bar::RunBar;
use crate::file::{check_writable, write};
use crate::output::{Format, print, print_json, print_text};
use crate::signals::TerminationSignal;
use analysis::compare::{
    self, Claim, Comparison, Contender, Ledger, Report, Results, Seeds, Subject, chart, text,
};

/// Arguments of `compare`.
#[derive(Clone, Debug, Args)]
pub(crate) struct CompareArguments {
    /// Experiment files, TOML; `-` reads stdin
    #[arg(value_name = "EXPERIMENT", required = true)]
    pub(crate) experiments: Vec<PathBuf>,
    /// Policy, with parameters of [scheduler]; can be given several times
    #[arg(long = "policy", value_name = "NAME[:KEY=VALUE,...]", default_values = ["none", "migbsp", "adaptive"])]
    pub(crate) policies: Vec<Contender>,
    /// Seeds: 7, or 1,2,5, or 1..30 with both ends
    #[arg(long, value_name = "SEEDS", default_value = "1..10")]
    pub(crate) seeds: Seeds,
    /// Value to set in all experiments; can be given several times
    #[arg(long, value_name = "SECTION.KEY=VALUE")]
    pub(crate) set: Vec<String>,
    #[command(flatten)]
    jobs: JobsArguments,
    /// Folder that keeps every run that is done, in runs.jsonl; the same comparison goes on from there
    #[arg(short, long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Format of the results
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
    /// File for a chart of the gains with their confidence intervals, by experiment
    #[arg(long, value_name = "FILE")]
    pub(crate) svg: Option<PathBuf>,
    /// Claim about all experiments together, as 'migbsp <= none'; can be given several times
    #[arg(long = "assert", value_name = "CLAIM")]
    pub(crate) claims: Vec<Claim>,
    /// Claim about every single experiment; can be given several times
    #[arg(long = "assert-each", value_name = "CLAIM")]
    pub(crate) claims_each: Vec<Claim>,
    /// Whether to show a progress bar on stderr.
    #[arg(skip)]
    pub(crate) progress: bool,
}

/// Runs every experiment under every policy with every seed, and compares the policies.
///
/// # Errors
///
/// Errors of the arguments, an experiment or the disk; [`Failure::Verification`] if a
/// claim does not hold.
pub(crate) fn command(
    arguments: &CompareArguments,
    registry: &Registry,
) -> Result<(), CommandFailure> {
    arguments.check()?;
    let subjects = compare::subjects(&arguments.comparison(), registry)?;
    if let Some(file) = &arguments.svg {
        // An unwritable place is reported before the runs, not after them.
        check_writable(file)?;
    }
    let ledger = match &arguments.out {
        Some(folder) => Ledger::open(folder)?,
        None => Ledger::default(),
    };
    let ledger = Arc::new(ledger);
    let termination = TerminationSignal::default();
    let runs = Runs {
        arguments: arguments.clone(),
        subjects,
        registry: registry.clone(),
        ledger: Arc::clone(&ledger),
        bar: RunBar::new(arguments.progress),
    };
    let Some(results) = runs.clone().until(&termination)? else {
        return runs.interrupted(termination.number().unwrap_or_default());
    };
    let recalled = ledger.recalled();
    if 0 < recalled {
        tracing::info!(recalled, "runs taken from runs.jsonl");
    }
    let report = Report::new(&results, &arguments.claims, &arguments.claims_each);
    arguments.show(&report, registry)?;
    if let Some(file) = &arguments.svg {
        write(file, &chart(&report).svg())?;
    }
    match report.complaint() {
        Some(complaint) => Err(Failure::Verification(complaint).into()),
        None => Ok(()),
    }
}

/// All that the runs of a comparison need, on a thread of their own.
#[derive(Clone)]
struct Runs {
    arguments: CompareArguments,
    subjects: Vec<Subject>,
    registry: Registry,
    ledger: Arc<Ledger>,
    bar: RunBar,
}

impl Runs {
    /// The results of all runs; `None` as soon as a signal asks to end.
    fn until(self, termination: &TerminationSignal) -> Result<Option<Results>, Failure> {
        let (sender, results) = oneshot::channel();
        let runs = thread::spawn(move || {
            let batch = Batch {
                jobs: self.arguments.jobs.threads(),
                progress: &self.bar,
            };
            let comparison = self.arguments.comparison();
            let (subjects, registry) = (&self.subjects, &self.registry);
            let done = compare::run(&comparison, subjects, registry, batch, &self.ledger);
            // After a signal the results are not waited for.
            drop(sender.send(done));
        });
        let runtime = tokio::runtime::Builder::new_current_thread().build();
        let ended = runtime.map_err(Failure::run)?.block_on(async {
            tokio::select! {
                biased;
                results = results => Some(results),
                () = termination.clone().received() => None,
            }
        });
        match ended {
            None => Ok(None),
            Some(Ok(results)) => results.map(Some),
            Some(Err(_)) => match runs.join() {
                Err(panic) => std::panic::resume_unwind(panic),
                Ok(()) => Err(Failure::Run("the runs ended without results".to_owned())),
            },
        }
    }

    /// Shows the results of the seeds that are done under all policies.
    fn interrupted(&self, signal: u8) -> Result<(), CommandFailure> {
        self.bar.end();
        let comparison = self.arguments.comparison();
        let results = compare::results_so_far(&comparison, &self.subjects, &self.ledger);
        if let Some(results) = &results {
            let report = Report::new(results, &[], &[]);
            self.arguments.show(&report, &self.registry)?;
        }
        let seeds = self.subjects.iter().map(|subject| subject.seeds.len());
        let all = seeds.sum::<usize>() * self.arguments.policies.len();
        let shown = match results {
            Some(_) => "shown are the seeds that are done under all policies",
            None => "no seed is done under all policies",
        };
        let next = match &self.arguments.out {
            Some(_) => "the same command goes on from here",
            None => "with --out DIR the same command would go on from here",
        };
        let done = self.ledger.len();
        let message = format!("interrupted: {done} of {all} runs are done; {shown}; {next}");
        Err(CommandFailure::Stopped { signal, message })
    }
}

impl CompareArguments {
    fn comparison(&self) -> Comparison<'_> {
        Comparison {
            experiments: &self.experiments,
            policies: &self.policies,
            seeds: &self.seeds,
            set: &self.set,
        }
    }

    fn show(&self, report: &Report, registry: &Registry) -> Result<(), CommandFailure> {
        let provenance = || -> Result<Provenance, Failure> {
            let overrides = overrides(&self.set, registry)?;
            Ok(Provenance::of_program(registry)?.with_overrides(overrides))
        };
        match self.format {
            Format::Table => print_text(true, |layout| text(report, layout)),
            Format::Json => print_json(&provenance()?, report),
            Format::Csv => print(&report.csv(&provenance()?)?),
        }
    }

    /// Checks the arguments against one another.
    ///
    /// # Errors
    ///
    /// The first argument that contradicts another one.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        let labels: Vec<&str> = self
            .policies
            .iter()
            .map(|policy| policy.label.as_str())
            .collect();
        if let Some((first, second)) = same_file(&self.experiments) {
            let (name, first) = (second.display(), first.display());
            let again = if first.to_string() == name.to_string() {
                String::new()
            } else {
                format!(", first as {first}")
            };
            return Err(Failure::Usage(format!(
                "{name} is given twice{again}; --seeds sets the number of runs"
            )));
        }
        if let Some(label) = twice(&labels) {
            return Err(Failure::Usage(format!("--policy {label} is given twice")));
        }
        for claim in self.claims.iter().chain(&self.claims_each) {
            for label in [&claim.left, &claim.right] {
                if !labels.contains(&label.as_str()) {
                    let list = labels.join(", ");
                    let problem =
                        format!("`{claim}`: unknown policy `{label}`, must be one of {list}");
                    return Err(Failure::Usage(problem));
                }
            }
        }
        for assignment in &self.set {
            let key = assignment.split('=').next().unwrap_or_default().trim();
            if let Some((_, instead)) = DECIDED.iter().find(|(decided, _)| *decided == key) {
                return Err(Failure::Usage(format!(
                    "--set {key}: cannot be set for all runs; {instead}"
                )));
            }
        }
        Ok(())
    }
}

/// The first two of `files` that are the same file.
fn same_file(files: &[PathBuf]) -> Option<(&Path, &Path)> {
    // A missing file is reported when it is read.
    let real = |file: &PathBuf| file.canonicalize().unwrap_or_else(|_| file.clone());
    let real: Vec<PathBuf> = files.iter().map(real).collect();
    let mut numbered = real.iter().enumerate();
    numbered.find_map(|(index, file)| {
        let first = real[..index].iter().position(|other| other == file)?;
        Some((files[first].as_path(), files[index].as_path()))
    })
}

/// A duplicate.
fn twice<T: PartialEq>(items: &[T]) -> Option<&T> {
    let mut numbered = items.iter().enumerate();
    numbered.find_map(|(index, item)| items[..index].contains(item).then_some(item))
}

/// Keys that differ from run to run, and what to use instead.
const DECIDED: [(&str, &str); 4] = [
    ("run.seed", "use --seeds"),
    ("scheduler.policy", "use --policy"),
    (
        "scheduler.scenario",
        "set it for a policy, as in --policy migbsp:scenario=ii",
    ),
    ("scheduler.script", "policies decide which processes move"),
];

pub(crate) const COMPARE_ABOUT: &str = "\
Compare policies on experiments, with several seeds.

Every experiment is simulated under every policy with every seed, on all cores or --jobs threads: alone (scenario i) for \
`none`, else with migrations (scenario iii). Seeds vary what an experiment draws at random: loads, jitter, \
background load on hosts and links. An experiment that draws nothing is run once.

Makespans are compared in pairs of equal experiment and seed, with `none` if it is given, else with the \
first policy. The results do not depend on the number of threads.

Ctrl-C shows the seeds that are done under all policies. With --out DIR every run is a line of DIR/runs.jsonl \
as soon as it is done, and the same command goes on from there; a run is done again if its configuration, its \
platform, its files or the program has changed.";

pub(crate) const COMPARE_HELP: &str = "\
Policies:
  none                             no rescheduling
  migbsp                           with the parameters of the experiment
  adaptive                         calls when they pay, plans by processor: docs/policies.md
  migbsp:interval=8,x=0.9          with other parameters: keys of [scheduler]
  migbsp:scenario=ii               calls are held and paid for, no process migrates
  menon+greedy-refine+amortised    when to call, what to plan, when to accept
  adaptive:planning.horizon=20

Claims: `A <= B`, `A < B`, `A <= 0.8 * B`, `A <= B * 1.01` compare makespans of policies, as --policy names
  them: their geometric means over seeds, and with --assert over experiments. If one
  does not hold, the exit code is 3.

Formats:
  table  per experiment and over all: makespan, gain, share of the possible gain, calls, moves, significant differences
  json   one object, schema migbsp.compare/1, with experiments, runs, summaries, overall, pairs, claims
  csv    one row per run

Examples:
  migbsp compare conf/lbm.toml conf/lu.toml --policy none --policy migbsp --policy migbsp:interval=16
  migbsp compare conf/dynamic/*.toml --seeds 1..30 --svg gains.svg
  migbsp compare conf/dynamic/*.toml --seeds 1..100 --jobs 4 --out runs/dynamic
  migbsp compare conf/dynamic/drift.toml --seeds 1..5 --assert 'adaptive <= migbsp' --format csv

Every key of [scheduler] and every value of the results is explained in docs/experiments.md.";
