//! `migbsp sweep FILE`: the runs of a sweep, or of a shard.

use std::path::PathBuf;
use std::sync::Arc;

use analysis::compare::{self, Comparison, Contender, Seeds, Subject};
use analysis::sweep::{Grid, Parameter, Plan, RUNS_MAX, Shard, check_runs, inputs, planned};
use clap::Args;
use experiments::batch::{Batch, Progress as _, Silent};
use experiments::{Failure, Provenance, Registry, Scenario, layered, overrides};

use crate::arguments::JobsArguments;
use crate::bar::RunBar;
use crate::command::Context;
use crate::commands::compare::{check_experiments, check_key, check_policies, warn_of_one_seed};
use crate::commands::runs::Runs;
use crate::commands::sweep::kept::begin;
use crate::commands::sweep::views::ViewArguments;
use crate::failure::CommandFailure;
use crate::output::{Format, print_json, print_text};
use crate::signals::TerminationSignal;

/// Arguments of `sweep` without a subcommand.
#[derive(Clone, Debug, Args)]
pub(super) struct GridArguments {
    /// Experiment files, TOML; `-` reads stdin
    #[arg(value_name = "FILE", required = true)]
    experiments: Vec<PathBuf>,
    /// Values of a key: 2,4,8, or 16..64:16 with both ends; can be given several times
    #[arg(long, value_name = "SECTION.KEY=VALUES")]
    set: Vec<Parameter>,
    /// Policy, with parameters of [scheduler]; can be given several times
    #[arg(long = "policy", value_name = "NAME[:KEY=VALUE,...]", default_values = ["none", "migbsp", "adaptive"])]
    policies: Vec<Contender>,
    /// Seeds: 7, or 1,2,5, or 1..30 with both ends
    #[arg(long, value_name = "SEEDS", default_value = "1..10")]
    seeds: Seeds,
    /// Folder for the sweep: every run that is done in runs.jsonl, the table in runs.csv; the same command goes on from
    /// there
    #[arg(short, long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Make runs again that failed and are kept in the folder of --out
    #[arg(long, requires = "out")]
    retry: bool,
    /// Part of the runs, from 1/4 to 4/4, for example; `sweep merge` joins the folders
    #[arg(long, value_name = "NUMBER/COUNT")]
    shard: Option<Shard>,
    /// Show the number of runs and the values, and run nothing
    #[arg(long)]
    dry_run: bool,
    /// Number of runs that are allowed
    #[arg(long, value_name = "N", default_value_t = RUNS_MAX)]
    max_runs: u64,
    #[command(flatten)]
    jobs: JobsArguments,
    #[command(flatten)]
    views: ViewArguments,
}

/// A sweep that can begin.
struct Prepared {
    plan: Plan,
    comparison: Comparison,
    subjects: Vec<Subject>,
}

/// Runs the sweep, and shows its results.
///
/// # Errors
///
/// Errors of the arguments, an experiment, a run or the disk.
pub(super) fn execute(
    arguments: &GridArguments,
    context: &Context<'_>,
) -> Result<(), CommandFailure> {
    let registry = context.registry();
    let grid = arguments.grid()?;
    if !arguments.dry_run {
        arguments.views.check(&grid)?;
    }
    let prepared = arguments.prepared(grid, registry)?;
    // Values of --set are part of the plan; those of variables hold for all runs.
    let variables = overrides(&[], registry)?;
    let provenance = Provenance::of_program(registry)?.with_overrides(variables);
    if arguments.dry_run {
        return arguments.show_plan(&prepared, &provenance);
    }
    let temporary = match &arguments.out {
        Some(_) => None,
        None => Some(tempfile::tempdir().map_err(Failure::run)?),
    };
    let folder = match (&arguments.out, &temporary) {
        (Some(folder), _) => folder.as_path(),
        (None, Some(folder)) => folder.path(),
        (None, None) => return Ok(()),
    };
    let Prepared {
        plan,
        comparison,
        subjects,
    } = prepared;
    let ledger = begin(folder, &plan, &provenance)?;
    if arguments.retry {
        ledger.forget_failures();
    }
    if subjects.iter().any(|subject| subject.draws) {
        warn_of_one_seed(&arguments.seeds);
    }
    if !subjects.is_empty() {
        let termination = TerminationSignal::default();
        let runs = Runs {
            comparison: Arc::new(comparison),
            subjects: Arc::new(subjects),
            registry: registry.clone(),
            ledger: Arc::new(ledger),
            jobs: arguments.jobs,
            bar: RunBar::new(context.has_progress()),
        };
        let done = runs
            .until(&termination)
            .map_err(|failure| match &arguments.out {
                Some(folder) => failure.followed_by(format!(
                    "runs that are done are kept in {}; the same command goes on from there",
                    folder.display()
                )),
                None => failure,
            });
        if done?.is_none() {
            runs.bar.end();
            let signal = termination.number().unwrap_or_default();
            return Err(runs.stopped(signal, None, arguments.out.is_some()));
        }
        runs.report_recalled();
    }
    arguments.views.show(folder, arguments.out.is_some())
}

impl GridArguments {
    /// The combinations, which are not too many.
    fn grid(&self) -> Result<Grid, Failure> {
        check_experiments(&self.experiments)?;
        check_policies(&self.policies)?;
        for parameter in &self.set {
            check_key(parameter.key())?;
            self.check_policies_leave(parameter.key())?;
        }
        let name = |file: &PathBuf| {
            let name = file.to_str().map(str::to_owned);
            name.ok_or_else(|| {
                Failure::Usage(format!("{}: its name is not UTF-8 text", file.display()))
            })
        };
        let grid = Grid {
            experiments: self
                .experiments
                .iter()
                .map(name)
                .collect::<Result<_, _>>()?,
            parameters: self.set.clone(),
            seeds: self.seeds.all().to_vec(),
            shard: self.shard,
        };
        grid.check().map_err(Failure::Usage)?;
        check_runs(&grid, self.policies.len(), self.max_runs)?;
        Ok(grid)
    }

    /// Checks that no policy sets the values of `key`.
    fn check_policies_leave(&self, key: &str) -> Result<(), Failure> {
        for policy in &self.policies {
            let set = policy.assignments.iter();
            let mut keys = set.filter_map(|set| Some(set.split_once('=')?.0));
            let is_inside = |inner: &str, outer: &str| inner.starts_with(&format!("{outer}."));
            let own = keys.find(|own| *own == key || is_inside(own, key) || is_inside(key, own));
            if let Some(own) = own {
                let label = &policy.label;
                return Err(Failure::Usage(format!(
                    "--set {key}: --policy {label} sets {own} itself; leave it out of one of them"
                )));
            }
        }
        Ok(())
    }

    /// The sweep of `grid`, every combination of which can be run.
    fn prepared(&self, grid: Grid, registry: &Registry) -> Result<Prepared, Failure> {
        for file in &self.experiments {
            layered(file)?;
        }
        let points = grid.points();
        let mut comparison = Comparison {
            experiments: points.iter().map(|point| grid.variant(point)).collect(),
            policies: self.policies.clone(),
            seeds: self.seeds.clone(),
            against: None,
        };
        let batch = Batch {
            jobs: self.jobs.threads(),
            progress: &Silent,
        };
        let mut subjects = compare::subjects(&comparison, registry, batch)?;
        for (subject, point) in subjects.iter_mut().zip(&points) {
            subject.seeds.retain(|seed| point.seeds.contains(seed));
        }
        // Of an experiment that draws nothing, one shard has the only seed.
        let mut has_runs = subjects.iter().map(|subject| !subject.seeds.is_empty());
        comparison
            .experiments
            .retain(|_| has_runs.next().unwrap_or(false));
        subjects.retain(|subject| !subject.seeds.is_empty());
        let runs: usize = subjects.iter().map(|subject| subject.seeds.len()).sum();
        let alone = self
            .policies
            .iter()
            .find(|policy| policy.scenario == Scenario::I);
        let plan = Plan {
            inputs: inputs(&grid, &self.policies, registry)?,
            policies: self
                .policies
                .iter()
                .map(|policy| policy.label.clone())
                .collect(),
            reference: alone.map(|policy| policy.label.clone()),
            runs: u64::try_from(runs * self.policies.len()).unwrap_or(u64::MAX),
            grid,
        };
        Ok(Prepared {
            plan,
            comparison,
            subjects,
        })
    }

    fn show_plan(
        &self,
        prepared: &Prepared,
        provenance: &Provenance,
    ) -> Result<(), CommandFailure> {
        let Prepared { plan, subjects, .. } = prepared;
        match self.views.format {
            Format::Table => print_text(true, |layout| planned(plan, subjects, layout)),
            Format::Json => print_json(provenance, plan),
            Format::Csv => {
                let problem = "--dry-run has the formats table and json";
                Err(Failure::Usage(problem.to_owned()).into())
            }
        }
    }
}
