//! `migbsp compare`: experiments under several policies, with several seeds.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use analysis::compare::{
    self, Claim, Comparison, Contender, Ledger, Report, Results, Seeds, Subject, Variant, chart,
};
use analysis::sweep::SweepFolder;
use clap::Args;
use experiments::batch::{Batch, Progress as _, Silent};
use experiments::{Failure, Provenance, Registry, overrides};

use crate::command::{Command, Context, JobsArguments};
use crate::failure::CommandFailure;
use crate::file::{SVG, check_output, write};
use crate::live::{self, ClusterArguments};
use crate::output::{self, Format};
use crate::progress::RunBar;
use crate::signals::{TerminationSignal, until};
use crate::topics;

/// Arguments of `compare`.
#[derive(Clone, Debug, Args)]
pub(crate) struct CompareArguments {
    /// Experiment files, TOML; `-` reads stdin
    #[arg(value_name = "EXPERIMENT", required_unless_present = "from")]
    pub(crate) experiments: Vec<PathBuf>,
    /// Policy, with parameters of [scheduler]; can be given several times
    #[arg(long = "policy", value_name = "NAME[:KEY=VALUE,...]", default_values = ["none", "migbsp", "adaptive"])]
    pub(crate) policies: Vec<Contender>,
    /// Seeds: 7, or 1,2,5, or 1..30 with both ends
    #[arg(long, value_name = "SEEDS", default_value = "1..10")]
    pub(crate) seeds: Seeds,
    /// Policy that each other one is compared with, in place of every two: fewer tests show smaller differences
    #[arg(long, value_name = "POLICY")]
    against: Option<String>,
    /// Value to set in all experiments; can be given several times
    #[arg(long, value_name = "SECTION.KEY=VALUE")]
    pub(crate) set: Vec<String>,
    #[command(flatten)]
    jobs: JobsArguments,
    /// Folder that keeps every run that is done, in runs.jsonl; the same comparison goes on from there
    #[arg(short, long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Make runs again that failed and are kept in the folder of --out
    #[arg(long, requires = "out")]
    retry: bool,
    /// Run on the hosts of a cluster, every experiment under every policy N times: repetitions in place of seeds, each in an
    /// order that is drawn
    #[arg(long, value_name = "N", conflicts_with_all = LIVE_CONFLICTS, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) live: Option<u32>,
    /// With --live: seed of the orders of the runs
    #[arg(long, value_name = "SEED", default_value_t = 1, requires = "live")]
    pub(crate) order_seed: u64,
    #[command(flatten)]
    pub(crate) cluster: ClusterArguments,
    /// Folder of a sweep, whose runs are compared: each of its combinations is an experiment
    #[arg(long, value_name = "DIR", conflicts_with_all = FROM_CONFLICTS)]
    from: Option<PathBuf>,
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
}

/// The command `compare`. Its help lists the rules of policies of `registry`.
pub(crate) fn command(registry: &Registry) -> Command {
    let rules = format!("\nRules of policies:\n{}\nClaims:", topics::rules(registry));
    Command::new(
        "compare",
        "Compare policies on experiments, with several seeds",
        execute,
    )
    .long_about(COMPARE_ABOUT)
    .after_help(COMPARE_HELP.replace("\nClaims:", &rules))
    .example(
        "compare conf/dynamic/*.toml --seeds 1..5",
        "which policy is better",
    )
}

/// Runs every experiment under every policy with every seed, and compares the policies.
///
/// # Errors
///
/// Errors of the arguments, an experiment or the disk; after the results, the runs that failed, and
/// [`Failure::Verification`] if a claim does not hold.
fn execute(arguments: &CompareArguments, context: &Context<'_>) -> Result<(), CommandFailure> {
    let registry = context.registry();
    arguments.check()?;
    if let Some(repetitions) = arguments.live {
        return live::compare::execute(arguments, repetitions, context);
    }
    if arguments.cluster.is_given() {
        let problem = "--cluster, --identity and --as are for runs on hosts: add --live N";
        return Err(Failure::Usage(problem.to_owned()).into());
    }
    if let Some(folder) = &arguments.from {
        return of_sweep(arguments, folder, registry);
    }
    let comparison = arguments.comparison();
    let batch = Batch {
        jobs: arguments.jobs.threads(),
        progress: &Silent,
    };
    let subjects = compare::subjects(&comparison, registry, batch)?;
    if let Some(file) = &arguments.svg {
        // An unwritable place is reported before the runs, not after them.
        check_output(file, SVG)?;
    }
    if subjects.iter().any(|subject| subject.draws) {
        warn_of_one_seed(&arguments.seeds);
    }
    let ledger = match &arguments.out {
        Some(folder) => Ledger::open(folder)?,
        None => Ledger::default(),
    };
    if arguments.retry {
        ledger.forget_failures();
    }
    let termination = TerminationSignal::default();
    let runs = Runs {
        comparison: Arc::new(comparison),
        subjects: Arc::new(subjects),
        registry: registry.clone(),
        ledger: Arc::new(ledger),
        jobs: arguments.jobs,
        bar: RunBar::new(context.has_progress()),
    };
    let Some(results) = runs.until(&termination)? else {
        return arguments.interrupted(&runs, termination.number().unwrap_or_default());
    };
    runs.report_recalled();
    let report = Report::new(&results, &arguments.claims, &arguments.claims_each);
    arguments.end(&report, &arguments.provenance(registry)?)
}

/// Compares the policies of a sweep, with its runs.
fn of_sweep(
    arguments: &CompareArguments,
    folder: &Path,
    registry: &Registry,
) -> Result<(), CommandFailure> {
    let sweep = SweepFolder::read(folder)?;
    let policies: Vec<&str> = sweep.plan.policies.iter().map(String::as_str).collect();
    arguments.check_claims(&policies)?;
    let against = arguments.place_against(&policies)?;
    if let Some(file) = &arguments.svg {
        check_output(file, SVG)?;
    }
    let mut swept = sweep.swept();
    if let Some(place) = against {
        swept.results.reference = place;
        swept.results.against_reference = true;
    }
    let (folder, done, all) = (folder.display(), swept.runs(), sweep.plan.runs);
    if swept.points.is_empty() {
        let problem = format!("{folder}: none of its {all} runs is done under all policies");
        return Err(Failure::Input(problem).into());
    }
    if !swept.is_complete() {
        tracing::warn!("{folder}: {done} of {all} runs are done under all policies");
    }
    let report = Report::new(&swept.results, &arguments.claims, &arguments.claims_each);
    let provenance = Provenance::of_program(registry)?.with_overrides(sweep.overrides.clone());
    arguments.end(&report, &provenance.with_recorded_by(sweep.build.clone()))
}

impl CompareArguments {
    pub(crate) fn comparison(&self) -> Comparison {
        let experiments = self.experiments.iter();
        Comparison {
            experiments: experiments
                .map(|file| Variant::of_file(file, &self.set))
                .collect(),
            policies: self.policies.clone(),
            seeds: self.seeds.clone(),
            against: self.against.clone(),
        }
    }

    /// The place of the policy of --against among `policies`.
    fn place_against(&self, policies: &[&str]) -> Result<Option<usize>, Failure> {
        let Some(against) = &self.against else {
            return Ok(None);
        };
        let place = policies.iter().position(|policy| policy == against);
        let unknown = || {
            let list = policies.join(", ");
            Failure::Usage(format!(
                "--against {against}: unknown policy, must be one of {list}"
            ))
        };
        place.map(Some).ok_or_else(unknown)
    }

    pub(crate) fn provenance(&self, registry: &Registry) -> Result<Provenance, Failure> {
        let overrides = overrides(&self.set, registry)?;
        Ok(Provenance::of_program(registry)?.with_overrides(overrides))
    }

    /// Shows the results of the seeds that are done under all policies.
    fn interrupted(&self, runs: &Runs, signal: u8) -> Result<(), CommandFailure> {
        runs.bar.end();
        let results = compare::results_so_far(&runs.comparison, &runs.subjects, &runs.ledger);
        if let Some(results) = &results {
            let report = Report::new(results, &[], &[]);
            self.show(&report, &self.provenance(&runs.registry)?)?;
        }
        let shown = match results {
            Some(_) => "shown are the seeds that are done under all policies",
            None => "no seed is done under all policies",
        };
        Err(runs.stopped(signal, Some(shown), self.out.is_some()))
    }

    /// Shows the results and draws the chart; a run that failed, or a claim that does not hold, is a failure after that.
    pub(crate) fn end(
        &self,
        report: &Report,
        provenance: &Provenance,
    ) -> Result<(), CommandFailure> {
        self.show(report, provenance)?;
        if let Some(file) = &self.svg {
            write(file, &chart(report).svg())?;
        }
        if let Some(failure) = report.failure() {
            return Err(Failure::Run(failure).into());
        }
        match report.complaint() {
            Some(complaint) => Err(Failure::Verification(complaint).into()),
            None => Ok(()),
        }
    }

    pub(crate) fn show(
        &self,
        report: &Report,
        provenance: &Provenance,
    ) -> Result<(), CommandFailure> {
        output::show(report, (self.format, true), || Ok(provenance.clone()))
    }

    /// Checks the arguments against one another.
    ///
    /// # Errors
    ///
    /// The first argument that contradicts another one.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        check_experiments(&self.experiments)?;
        let labels = check_policies(&self.policies)?;
        if self.from.is_none() {
            self.check_claims(&labels)?;
            self.place_against(&labels)?;
        }
        for assignment in &self.set {
            let key = assignment.split('=').next().unwrap_or_default().trim();
            // On real hosts, all runs have the seed of the experiment.
            if self.live.is_none() || key != "run.seed" {
                check_key(key)?;
            }
        }
        Ok(())
    }

    /// Checks that claims are about `policies`.
    fn check_claims(&self, policies: &[&str]) -> Result<(), Failure> {
        for claim in self.claims.iter().chain(&self.claims_each) {
            for label in [&claim.left, &claim.right] {
                if !policies.contains(&label.as_str()) {
                    let list = policies.join(", ");
                    let problem =
                        format!("`{claim}`: unknown policy `{label}`, must be one of {list}");
                    return Err(Failure::Usage(problem));
                }
            }
        }
        Ok(())
    }
}

/// Warns that `seeds` is one seed, where a number of seeds may be meant.
pub(crate) fn warn_of_one_seed(seeds: &Seeds) {
    if let [seed] = seeds.all()
        && 1 < *seed
    {
        tracing::warn!(
            "--seeds {seed} is one seed, and differences cannot be tested; {seed} seeds are --seeds 1..{seed}"
        );
    }
}

/// Checks that no experiment is given twice.
pub(crate) fn check_experiments(files: &[PathBuf]) -> Result<(), Failure> {
    let Some((first, second)) = same_file(files) else {
        return Ok(());
    };
    let (name, first) = (second.display(), first.display());
    let again = if first.to_string() == name.to_string() {
        String::new()
    } else {
        format!(", first as {first}")
    };
    Err(Failure::Usage(format!(
        "{name} is given twice{again}; --seeds sets the number of runs"
    )))
}

/// The labels of `policies`, which differ.
pub(crate) fn check_policies(policies: &[Contender]) -> Result<Vec<&str>, Failure> {
    let labels: Vec<&str> = policies
        .iter()
        .map(|policy| policy.label.as_str())
        .collect();
    match twice(&labels) {
        Some(label) => Err(Failure::Usage(format!("--policy {label} is given twice"))),
        None => Ok(labels),
    }
}

/// Checks that `--set` may set the key.
pub(crate) fn check_key(key: &str) -> Result<(), Failure> {
    match DECIDED.iter().find(|(decided, _)| *decided == key) {
        Some((_, instead)) => Err(Failure::Usage(format!(
            "--set {key}: cannot be set for all runs; {instead}"
        ))),
        None => Ok(()),
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

/// What `--live` has no use for.
const LIVE_CONFLICTS: [&str; 5] = ["seeds", "jobs", "out", "retry", "from"];

/// What `--from` has already.
const FROM_CONFLICTS: [&str; 7] = [
    "experiments",
    "policies",
    "seeds",
    "set",
    "jobs",
    "out",
    "retry",
];

pub(crate) const COMPARE_ABOUT: &str = "\
Compare policies on experiments, with several seeds.

Every experiment is simulated under every policy with every seed, on all cores or --jobs threads: alone (scenario i) for \
`none`, else with migrations (scenario iii). Seeds vary what an experiment draws at random: loads, jitter, \
background load on hosts and links. An experiment that draws nothing is run once.

Makespans are compared in pairs of equal experiment and seed, with `none` if it is given, else with the \
first policy. Differences are tested by seed, with the mean over all experiments, between every two policies; --against \
POLICY tests each against one alone. The results do not depend on the number of threads.

A run that fails has an error in place of its numbers; the other runs are made, and the exit code is 1.

Ctrl-C shows the seeds that are done under all policies. With --out DIR every run is a line of DIR/runs.jsonl \
as soon as it is done, and the same command goes on from there; a run is done again if its configuration, its \
platform, its files or the program has changed. Runs that failed are made again with --retry.

--live N makes the runs on the hosts of a cluster, one after the other: N repetitions, each with every experiment under every \
policy in an order that is drawn. Repetitions take the place of seeds; outputs are checked as `run` does.

--from DIR compares the policies of a sweep (`{bin} sweep --out DIR`) without running anything: each combination of \
values is an experiment.";

pub(crate) const COMPARE_HELP: &str = "\
Policies:
  none                             no rescheduling
  migbsp                           with the parameters of the experiment
  adaptive                         calls when they pay, plans by processor: docs/guide/policies.md
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
  {bin} compare conf/lbm.toml conf/lu.toml --policy none --policy migbsp --policy migbsp:interval=16
  {bin} compare conf/dynamic/*.toml --seeds 1..30 --svg gains.svg
  {bin} compare conf/dynamic/*.toml --seeds 1..100 --jobs 4 --out runs/dynamic
  {bin} compare conf/dynamic/drift.toml --seeds 1..30 --against none
  {bin} compare conf/dynamic/drift.toml --seeds 1..5 --assert 'adaptive <= migbsp' --format csv
  {bin} compare conf/heat-local.toml --live 5 --policy none --policy adaptive --cluster hosts
  {bin} up --local 4 --sets 2 --slow 4:0.4 -- compare conf/heat-local.toml --live 5 --policy none --policy adaptive
  {bin} compare --from results --assert-each 'adaptive <= none'     the combinations of a sweep

Every key of [scheduler] and every value of the results is explained in docs/reference/experiments.md.";

/// All that the runs of a comparison need, on a thread of their own.
#[derive(Clone, Debug)]
pub(crate) struct Runs {
    pub(crate) comparison: Arc<Comparison>,
    pub(crate) subjects: Arc<Vec<Subject>>,
    pub(crate) registry: Registry,
    pub(crate) ledger: Arc<Ledger>,
    pub(crate) jobs: JobsArguments,
    pub(crate) bar: RunBar,
}

impl Runs {
    /// The results of all runs; `None` as soon as a signal asks to end.
    ///
    /// # Errors
    ///
    /// If a run cannot be prepared, or the ledger does not take one; or there is no experiment.
    pub(crate) fn until(
        &self,
        termination: &TerminationSignal,
    ) -> Result<Option<Results>, Failure> {
        let runs = self.clone();
        let results = until(termination, move || {
            let batch = Batch {
                jobs: runs.jobs.threads(),
                progress: &runs.bar,
            };
            let (comparison, subjects) = (&runs.comparison, &runs.subjects);
            compare::run(comparison, subjects, &runs.registry, batch, &runs.ledger)
        })?;
        results.transpose()
    }

    /// The number of all runs.
    pub(crate) fn count(&self) -> usize {
        let seeds = self.subjects.iter().map(|subject| subject.seeds.len());
        seeds.sum::<usize>() * self.comparison.policies.len()
    }

    /// Logs how many runs were not made again.
    pub(crate) fn report_recalled(&self) {
        let recalled = self.ledger.from_file();
        if 0 < recalled {
            tracing::info!(recalled, "runs taken from {}", Ledger::FILE);
        }
    }

    /// What a command says that `signal` has ended: how much is done, what of it is `shown`, and how to go on, which is
    /// possible if runs are kept in a folder.
    pub(crate) fn stopped(&self, signal: u8, shown: Option<&str>, is_kept: bool) -> CommandFailure {
        let next = if is_kept {
            "the same command goes on from here"
        } else {
            "with --out DIR the same command would go on from here"
        };
        let (done, all) = (self.ledger.len(), self.count());
        let shown = shown.map_or_else(String::new, |shown| format!("{shown}; "));
        let message = format!("interrupted: {done} of {all} runs are done; {shown}{next}");
        CommandFailure::Stopped { signal, message }
    }
}
