//! `migbsp compare`: experiments under several policies, with several seeds.

use std::path::{Path, PathBuf};

use clap::Args;

use crate::failure::CommandFailure;
use experiments::{Failure, Registry};

use crate::bar::RunBar;
use crate::file::{check_writable, write};
use crate::output::{Format, print, print_json};
use analysis::compare::{self, Claim, Comparison, Contender, Report, Seeds, chart, text};

/// Arguments of `compare`.
#[derive(Debug, Args)]
pub(crate) struct CompareArguments {
    /// Experiment files, TOML
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
    /// Format of the results
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
    /// File for a chart of the gains with their confidence intervals
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
    let comparison = Comparison {
        experiments: &arguments.experiments,
        policies: &arguments.policies,
        seeds: &arguments.seeds,
        set: &arguments.set,
    };
    let subjects = compare::subjects(&comparison, registry)?;
    if let Some(file) = &arguments.svg {
        // An unwritable place is reported before the runs, not after them.
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
        Some(complaint) => Err(Failure::Verification(complaint).into()),
        None => Ok(()),
    }
}

impl CompareArguments {
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

Every experiment is simulated under every policy with every seed, on all cores: alone (scenario i) for \
`none`, else with migrations (scenario iii). Seeds vary what an experiment draws at random: loads, jitter, \
background load on hosts and links. An experiment that draws nothing is run once.

Makespans are compared in pairs of equal experiment and seed, with `none` if it is given, else with the \
first policy. The results do not depend on the number of cores.";

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
  migbsp compare conf/dynamic/drift.toml --seeds 1..5 --assert 'adaptive <= migbsp' --format csv

Every key of [scheduler] and every value of the results is explained in docs/experiments.md.";
