//! `migbsp sweep`: experiments with every combination of values, under several policies, with several seeds.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use analysis::compare::{self, Comparison, Contender, Ledger, Seeds, Subject};
use analysis::document::Answer;
use analysis::sweep::{
    Grid, Parameter, Plan, RUNS_MAX, Report, Shard, SweepFolder, chart, chart_parameters,
    check_folder, check_runs, inputs, merge, page, planned,
};
use clap::{Args, Subcommand};
use experiments::batch::{Batch, Progress as _, Silent};
use experiments::{Attributed, Failure, Provenance, Registry, Scenario, layered, overrides};

use crate::command::{Command, Context, JobsArguments};
use crate::commands::compare::{
    Runs, check_experiments, check_key, check_policies, warn_of_one_seed,
};
use crate::failure::CommandFailure;
use crate::file::{HTML, SVG, check_output, write};
use crate::output::{Format, print, print_json, print_text};
use crate::progress::RunBar;
use crate::signals::TerminationSignal;

/// Arguments of `sweep`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub(crate) struct SweepArguments {
    #[command(subcommand)]
    command: Option<SweepCommand>,
    #[command(flatten)]
    grid: GridArguments,
}

#[derive(Debug, Subcommand)]
enum SweepCommand {
    /// Join the shards of a sweep
    #[command(long_about = MERGE_ABOUT, after_long_help = MERGE_HELP)]
    Merge(MergeArguments),
}

/// The command `sweep`.
pub(crate) fn command() -> Command {
    Command::new(
        "sweep",
        "Run experiments with every combination of values, policies and seeds",
        execute,
    )
    .long_about(SWEEP_ABOUT)
    .after_long_help(SWEEP_HELP)
    .example(
        "sweep conf/lbm.toml --set scheduler.interval=2,4,8 --seeds 1..3 -o runs/sweep",
        "every combination, as a table",
    )
}

/// Runs a sweep, a shard of one, or joins shards.
///
/// # Errors
///
/// Errors of the arguments, an experiment, a run or the disk.
fn execute(arguments: &SweepArguments, context: &Context<'_>) -> Result<(), CommandFailure> {
    match &arguments.command {
        Some(SweepCommand::Merge(merge)) => join(merge),
        None => run(&arguments.grid, context),
    }
}

/// Arguments of `sweep` without a subcommand.
#[derive(Clone, Debug, Args)]
struct GridArguments {
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
fn run(arguments: &GridArguments, context: &Context<'_>) -> Result<(), CommandFailure> {
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
    let temporary;
    let folder = match &arguments.out {
        Some(folder) => folder.as_path(),
        None => {
            temporary = tempfile::tempdir().map_err(Failure::run)?;
            temporary.path()
        }
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
            Format::Table => print_text(true, |layout| planned(plan, subjects).text(layout)),
            Format::Json => print_json(provenance, plan),
            Format::Csv => {
                let problem = "--dry-run has the formats table and json";
                Err(Failure::Usage(problem.to_owned()).into())
            }
        }
    }
}

/// Arguments of `sweep merge`.
#[derive(Debug, Args)]
struct MergeArguments {
    /// Folders of all shards, as `sweep --shard NUMBER/COUNT --out DIR` makes them
    #[arg(value_name = "DIR", required = true)]
    shards: Vec<PathBuf>,
    /// Folder for the whole sweep
    #[arg(short, long, value_name = "DIR")]
    out: PathBuf,
    #[command(flatten)]
    views: ViewArguments,
}

/// Joins shards into a folder as the sweep would have made it without shards.
///
/// # Errors
///
/// If shards are missing, incomplete, or of different sweeps; errors of the disk.
fn join(arguments: &MergeArguments) -> Result<(), CommandFailure> {
    let folders = arguments
        .shards
        .iter()
        .map(|folder| SweepFolder::read(folder));
    let folders: Vec<SweepFolder> = folders.collect::<Result<_, Failure>>()?;
    let merged = merge(&folders)?;
    arguments.views.check(&merged.plan.grid)?;
    let provenance = folders[0].provenance()?;
    let out = &arguments.out;
    let ledger = begin(out, &merged.plan, &provenance)?;
    write(&out.join(Ledger::FILE), &merged.lines)?;
    drop(ledger);
    arguments.views.show(out, true)
}

/// Makes `folder` the one of the sweep `plan`, or finds that it is; the ledger of its runs. No other process has the
/// folder as long as the ledger exists.
///
/// # Errors
///
/// If the folder has another sweep, another process has it, or it cannot be written to.
fn begin(folder: &Path, plan: &Plan, provenance: &Provenance) -> Result<Ledger, CommandFailure> {
    // Before anything is written into a folder of something else.
    check_folder(folder, plan, provenance)?;
    let ledger = Ledger::open(folder)?;
    if !check_folder(folder, plan, provenance)? {
        let attributed = Attributed::new(provenance, plan);
        let text = serde_json::to_string_pretty(&attributed).expect("a plan is plain data");
        write(&folder.join(SweepFolder::PLAN), &(text + "\n"))?;
    }
    Ok(ledger)
}

/// Arguments of commands that have the results of a sweep.
#[derive(Clone, Debug, Args)]
struct ViewArguments {
    /// Format of the results
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    /// Show long tables whole
    #[arg(long)]
    all: bool,
    /// File for a chart: lines over one parameter, a heat map over two
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    /// Parameter of the chart, others are averaged; can be given twice [default: all with several values]
    #[arg(long, value_name = "SECTION.KEY", requires = "svg")]
    over: Vec<String>,
    /// File for a page with charts and a table
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
}

impl ViewArguments {
    /// Checks that a sweep of `grid` can be shown like this, before the work for it begins.
    ///
    /// # Errors
    ///
    /// If the chart has no parameters, or a file cannot be written.
    fn check(&self, grid: &Grid) -> Result<(), Failure> {
        if self.svg.is_some() {
            chart_parameters(grid, &self.over)?;
        }
        let files = self.svg.iter().map(|file| (file, SVG));
        let files = files.chain(self.html.iter().map(|file| (file, HTML)));
        files
            .into_iter()
            .try_for_each(|(file, kind)| check_output(file, kind))
    }

    /// Writes the table of the sweep in `folder`, all of whose runs are done, and shows the results; people read where
    /// the table is if it stays there.
    ///
    /// # Errors
    ///
    /// If runs are missing, or a file cannot be written; after the results, if a run has none.
    fn show(&self, folder: &Path, stays: bool) -> Result<(), CommandFailure> {
        let sweep = SweepFolder::read(folder)?;
        let swept = sweep.swept();
        if !swept.is_complete() {
            let (folder, done, all) = (folder.display(), swept.runs(), sweep.plan.runs);
            let problem = format!("{folder}: has {done} of {all} runs: another process changed it");
            return Err(Failure::Run(problem).into());
        }
        let (report, provenance) = (Report::new(&swept), sweep.provenance()?);
        let table = report.csv(&provenance)?;
        let file = folder.join(SweepFolder::TABLE);
        write(&file, &table)?;
        match self.format {
            Format::Table => print_text(self.all, |layout| {
                let (count, different) = (swept.runs(), swept.different_runs());
                let same = if different < count {
                    format!(", {different} different ones")
                } else {
                    String::new()
                };
                let mut document = report.document();
                if stays {
                    document.say(format!("{count} runs{same}: {}", file.display()));
                }
                document.text(layout)
            })?,
            Format::Json => print_json(&provenance, &report)?,
            Format::Csv => print(&table)?,
        }
        if let Some(file) = &self.svg {
            let over = chart_parameters(&sweep.plan.grid, &self.over)?;
            write(file, &chart(&swept, &over))?;
        }
        if let Some(file) = &self.html {
            write(file, &page(&swept))?;
        }
        match swept.failure() {
            Some(failure) => Err(Failure::Run(failure).into()),
            None => Ok(()),
        }
    }
}

const SWEEP_ABOUT: &str = "\
Run experiments with every combination of values, policies and seeds.

Each --set names a key of the experiments and the values that it takes. The sweep is the product: every experiment with \
every combination of values, under every policy, with every seed, on all cores or --jobs threads. `none` runs alone \
(scenario i), other policies with migrations (scenario iii). A combination that draws nothing at random is run with the \
first seed alone. All combinations are checked before the first run; the results do not depend on the number of threads. \
A policy that does not depend on a key, as `none` on those of [scheduler], is run once for all its values. A run that \
fails has an error in place of its numbers; the other runs are made, and the exit code is 1.

With --out DIR every run is a line of DIR/runs.jsonl as soon as it is done. After Ctrl-C the same command goes on from \
there; runs that failed are made again with --retry. The end writes DIR/runs.csv: a row per run, with a column per key, in the order of the values. --shard 2/4 runs \
the second of four parts in a folder of its own, on any machine; `sweep merge` joins the parts. `compare --from DIR` \
compares the policies over all combinations.";

const SWEEP_HELP: &str = "\
Values:
  --set scheduler.interval=2,4,8               a list
  --set application.processes=16..64:16        a range with both ends: 16, 32, 48, 64
  --set application.synthetic.dynamics.jitter=0..0.1:0.05
  --set 'platform.file=\"a,b.toml\",c.toml'      a comma inside quotes separates nothing
  --set 'application.synthetic.instructions=[1e8],[1e8, 2e8]'
                                               nor does one inside [ ] or { }: two arrays
  A key with one value has a column, too. The last key changes first from row to row.

Formats:
  table  a row for each combination and policy, and the best combination of each policy; long tables are cut
  json   one object, schema migbsp.sweep/1: experiments, parameters, policies, reference, seeds, shard, runs, summaries;
         with --dry-run migbsp.sweep-plan/1
  csv    one row per run, as in runs.csv

Examples:
  {bin} sweep conf/lbm.toml --set scheduler.interval=2,4,8 --policy none --policy migbsp -o runs/alpha --svg alpha.svg
  {bin} sweep conf/dynamic/drift-few.toml --set scheduler.interval=2,4,8 --set application.processes=10..25:5 \\
      --seeds 1..5 -o runs/grid --svg heat.svg --html grid.html
  {bin} sweep conf/lbm.toml --set scheduler.interval=1..64 --dry-run
  {bin} sweep conf/lbm.toml --set scheduler.interval=1..64 --shard 2/4 -o runs/part-2
  {bin} sweep merge runs/part-1 runs/part-2 runs/part-3 runs/part-4 -o runs/alpha
  {bin} compare --from runs/alpha

Shards with Slurm, Kubernetes and GNU parallel, and how to read the table: docs/reference/comparisons.md.";

const MERGE_ABOUT: &str = "\
Join the shards of a sweep.

The folder of --out is as if the sweep had been run there without --shard: the same runs.csv, byte for byte. All \
shards have to be there, complete, and of the same sweep: the same values, policies and seeds, made by the same build \
from the same experiments.";

const MERGE_HELP: &str = "\
Formats:
  table  as of `sweep`
  json   as of `sweep`: one object, schema migbsp.sweep/1
  csv    one row per run, as in runs.csv

Examples:
  {bin} sweep merge runs/part-1 runs/part-2 runs/part-3 runs/part-4 -o runs/alpha
  {bin} sweep merge runs/part-* -o runs/alpha --svg alpha.svg --html alpha.html";
