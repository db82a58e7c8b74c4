//! `migbsp compare`: experiments under several policies, with several seeds.

use std::path::{Path, PathBuf};

use clap::Args;

use experiments::{Failure, Registry};

use crate::bar::RunBar;
use crate::file::{check_writable, write};
use crate::output::{Format, print, print_json};
use analysis::compare::{self, Claim, Comparison, Contender, Report, Seeds, chart, text};

/// What `compare` is told.
#[derive(Debug, Args)]
pub(crate) struct CompareArguments {
    /// The experiments, TOML files
    #[arg(value_name = "EXPERIMENT", required = true)]
    pub(crate) experiments: Vec<PathBuf>,
    /// A policy, and parameters of [scheduler] that it is to have; may be given several times
    #[arg(long = "policy", value_name = "NAME[:KEY=VALUE,...]", default_values = ["none", "migbsp", "adaptive"])]
    pub(crate) policies: Vec<Contender>,
    /// Which seeds: 7, or 1,2,5, or 1..30 with both ends
    #[arg(long, value_name = "SEEDS", default_value = "1..10")]
    pub(crate) seeds: Seeds,
    /// Change a value of all experiments; may be given several times
    #[arg(long, value_name = "SECTION.KEY=VALUE")]
    pub(crate) set: Vec<String>,
    /// How to show the results
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
    /// Draw the gains with their confidence intervals into this file
    #[arg(long, value_name = "FILE")]
    pub(crate) svg: Option<PathBuf>,
    /// What has to hold over all experiments, as 'migbsp <= none'; may be given several times
    #[arg(long = "assert", value_name = "CLAIM")]
    pub(crate) claims: Vec<Claim>,
    /// What has to hold on every single experiment; may be given several times
    #[arg(long = "assert-each", value_name = "CLAIM")]
    pub(crate) claims_each: Vec<Claim>,
    /// Whether a bar on stderr is wanted.
    #[arg(skip)]
    pub(crate) progress: bool,
}

/// Runs every experiment under every policy with every seed, and says which policies are better.
///
/// # Errors
///
/// Whatever is wrong with the arguments, an experiment or the disk; [`Failure::Verification`] if a
/// claim does not hold.
pub(crate) fn command(arguments: &CompareArguments, registry: &Registry) -> Result<(), Failure> {
    arguments.check()?;
    let comparison = Comparison {
        experiments: &arguments.experiments,
        policies: &arguments.policies,
        seeds: &arguments.seeds,
        set: &arguments.set,
    };
    let subjects = compare::subjects(&comparison, registry)?;
    if let Some(file) = &arguments.svg {
        // A place that takes nothing is better known before the runs than after them.
        check_writable(file)?;
    }
    let progress = RunBar::new(arguments.progress);
    let results = compare::run(&comparison, subjects, registry, &progress)?;
    let report = Report::new(&results, &arguments.claims, &arguments.claims_each);
    match arguments.format {
        Format::Table => print(&text(&report))?,
        Format::Json => print_json(&report)?,
        Format::Csv => print(&report.csv().map_err(Failure::run)?)?,
    }
    if let Some(file) = &arguments.svg {
        write(file, &chart(&report).svg())?;
    }
    match report.complaint() {
        Some(complaint) => Err(Failure::Verification(complaint)),
        None => Ok(()),
    }
}

impl CompareArguments {
    /// Checks what one argument says against the others.
    ///
    /// # Errors
    ///
    /// The first argument that will not do beside the others.
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
                "{name} is given twice{again}; --seeds says how often it is run"
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
                        format!("`{claim}`: `{label}` takes no part; expected one of {list}");
                    return Err(Failure::Usage(problem));
                }
            }
        }
        for assignment in &self.set {
            let key = assignment.split('=').next().unwrap_or_default().trim();
            if let Some((_, instead)) = DECIDED.iter().find(|(decided, _)| *decided == key) {
                return Err(Failure::Usage(format!(
                    "--set {key}: is not for all runs; {instead}"
                )));
            }
        }
        Ok(())
    }
}

/// Two of `files` that are the same one, however they are called.
fn same_file(files: &[PathBuf]) -> Option<(&Path, &Path)> {
    // What is not there is refused when it is read.
    let real = |file: &PathBuf| file.canonicalize().unwrap_or_else(|_| file.clone());
    let real: Vec<PathBuf> = files.iter().map(real).collect();
    let mut numbered = real.iter().enumerate();
    numbered.find_map(|(index, file)| {
        let first = real[..index].iter().position(|other| other == file)?;
        Some((files[first].as_path(), files[index].as_path()))
    })
}

/// Something that is there twice.
fn twice<T: PartialEq>(items: &[T]) -> Option<&T> {
    let mut numbered = items.iter().enumerate();
    numbered.find_map(|(index, item)| items[..index].contains(item).then_some(item))
}

/// Keys that differ from run to run, and what says how.
const DECIDED: [(&str, &str); 4] = [
    ("run.seed", "give --seeds"),
    ("scheduler.policy", "give --policy"),
    (
        "scheduler.scenario",
        "give it to a policy, as in --policy migbsp:scenario=ii",
    ),
    ("scheduler.script", "policies decide who moves"),
];

pub(crate) const COMPARE_ABOUT: &str = "\
Run experiments under several policies with several seeds, and say which are better.

Every experiment is simulated under every policy with every seed, on all cores: alone (scenario i) for \
`none`, else with migrations (scenario iii). Seeds vary what an experiment draws at random: loads, jitter, \
what others do to hosts and links. An experiment that draws nothing is run once.

Makespans are compared in pairs, same experiment and same seed, with `none` if it takes part, else with the \
first policy. The results are the same however many cores there are.";

pub(crate) const COMPARE_HELP: &str = "\
Policies:
  none                             nobody reschedules
  migbsp                           with the parameters of the experiment
  adaptive                         calls when it is worth it, plans by processor: docs/policies.md
  migbsp:interval=8,x=0.9          with others: keys of [scheduler]
  migbsp:scenario=ii               calls are held and paid for, nobody moves
  menon+greedy-refine+amortised    when to call, what to plan, whether it is worth it
  adaptive:planning.horizon=20

Claims: `A <= B`, `A < B`, `A <= 0.8 * B`, `A <= B * 1.01` hold makespans of policies, as --policy names
  them, against each other: their geometric means over seeds, and with --assert over experiments. If one
  does not hold, the exit code is 3.

Formats:
  table  per experiment and over all: makespan, gain, share of what could be won, calls, moves, who differs
  json   one object, schema migbsp.compare/1, with experiments, runs, summaries, overall, pairs, claims
  csv    one row per run

Examples:
  migbsp compare conf/lbm.toml conf/lu.toml --policy none --policy migbsp --policy migbsp:interval=16
  migbsp compare conf/dynamic/*.toml --seeds 1..30 --svg gains.svg
  migbsp compare conf/dynamic/drift.toml --seeds 1..5 --assert 'adaptive <= migbsp' --format csv

Every key of [scheduler] and every value of the results is explained in docs/experiments.md.";
