//! `rebalance`: which processes to move so that no machine is above a level, and what that costs.

mod help;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::{Args, Subcommand};
use commands::file::{SVG, check_folder, check_output, check_writable, write, write_new};
use commands::output::{Format, print, print_json, print_text, show};
use commands::{Command, CommandFailure, Context, JobsArguments, RunBar};
use experiments::batch::Batch;
use experiments::{Failure, OutputFile, Provenance, Registry};
use rebalancing_algorithms::Workloads;
use settings::{name_of, nearest, read};

use crate::algorithm::Algorithm;
use crate::instance::{Cost, GroupName, Instance, generate};
use crate::search::{Limit, Search, Target, read_cost, read_level, read_target, read_weight};
use crate::solve;
use crate::sweep::{self, Levels};
use crate::vt::{ImportOptions, Imported, PlanSource, export, import};

/// The arguments of `rebalance`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
struct RebalanceArguments {
    #[command(subcommand)]
    command: Option<RebalanceCommand>,
    #[command(flatten)]
    solve: SolveArguments,
}

#[derive(Debug, Subcommand)]
enum RebalanceCommand {
    /// Compare the costs of levels for several algorithms
    #[command(long_about = help::SWEEP_ABOUT, after_long_help = help::SWEEP_HELP)]
    Sweep(SweepArguments),
    /// Draw an instance like those of the paper
    #[command(long_about = help::GENERATE_ABOUT, after_long_help = help::GENERATE_HELP)]
    Generate(GenerateArguments),
    /// Make an instance from LB data of vt, which LBAF reads
    #[command(long_about = help::IMPORT_ABOUT, after_long_help = help::IMPORT_HELP)]
    Import(ImportArguments),
    /// Write a plan into the LB data it was made from
    #[command(long_about = help::EXPORT_ABOUT, after_long_help = help::EXPORT_HELP)]
    Export(ExportArguments),
}

/// The command `rebalance`.
#[must_use]
pub fn command() -> Command {
    Command::new(
        "rebalance",
        "Find the cheapest migrations after which no machine is above a level",
        execute,
    )
    .long_about(help::REBALANCE_ABOUT)
    .after_long_help(help::REBALANCE_HELP)
    .example(
        "rebalance sweep conf/rebalance/small.json",
        "the cost of lower levels",
    )
    .opening("json", "rebalance")
}

/// Searches for assignments, sweeps over levels, draws an instance, or exchanges data with vt.
///
/// # Errors
///
/// Errors of the arguments, the instance or the disk; [`Failure::Verification`] if a target
/// of an instance is not met.
fn execute(arguments: &RebalanceArguments, context: &Context<'_>) -> Result<(), CommandFailure> {
    let registry = context.registry();
    let progress = &RunBar::new(context.has_progress());
    let batch = |jobs: JobsArguments| Batch {
        jobs: jobs.threads(),
        progress,
    };
    match &arguments.command {
        Some(RebalanceCommand::Sweep(arguments)) => {
            execute_sweep(arguments, batch(arguments.jobs), registry)
        }
        Some(RebalanceCommand::Generate(arguments)) => execute_generate(arguments),
        Some(RebalanceCommand::Import(arguments)) => execute_import(arguments),
        Some(RebalanceCommand::Export(arguments)) => execute_export(arguments),
        None => execute_solve(&arguments.solve, batch(arguments.solve.jobs), registry),
    }
}

/// The arguments of `rebalance INSTANCE`.
#[derive(Debug, Args)]
struct SolveArguments {
    /// Instance file, JSON; `-` reads stdin
    #[arg(value_name = "INSTANCE", required = true)]
    instance: Option<PathBuf>,
    /// Surplus argument.
    #[arg(hide = true)]
    more: Vec<PathBuf>,
    /// Algorithm (imlp, islp, mlp, tabu, mparv, refine, hyb or best) with parameters
    #[arg(long, value_name = "NAME[:KEY=VALUE,...]", default_value = "best")]
    algorithm: Algorithm,
    /// Highest allowed level of a machine, also as a percentage of the ideal one, or `min`; can be given several times;
    /// the instance's targets by default
    #[arg(long = "target", value_name = "LEVEL|PERCENT%|min")]
    targets: Vec<Target>,
    /// Highest cost of an assignment for `--target min`
    #[arg(long, value_name = "COST", value_parser = read_cost)]
    max_cost: Option<f64>,
    #[command(flatten)]
    search: SearchArguments,
    #[command(flatten)]
    jobs: JobsArguments,
    /// Show long tables whole
    #[arg(long)]
    all: bool,
    /// Format of the results
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// Searches an assignment for each target, and shows it.
///
/// # Errors
///
/// Errors of the instance or stdout; [`Failure::Verification`] if a target is not met.
fn execute_solve(
    arguments: &SolveArguments,
    batch: Batch<'_>,
    registry: &Registry,
) -> Result<(), CommandFailure> {
    let Some(file) = &arguments.instance else {
        return Err(Failure::Usage(
            "missing argument <INSTANCE>: a file, or `-` for stdin".to_owned(),
        )
        .into());
    };
    let meant = mistyped(file);
    if let Some(second) = arguments.more.first() {
        return Err(Failure::Usage(one_too_many(file, second, meant)).into());
    }
    let began = Instant::now();
    let instance = arguments
        .search
        .read_instance(file)
        .map_err(|failure| match meant {
            Some(subcommand) => Failure::Input(format!(
                "{failure}; did you mean the subcommand `{subcommand}`?"
            )),
            None => failure,
        })?;
    let reading = began.elapsed().as_secs_f64();
    let targets = if arguments.targets.is_empty() {
        instance
            .targets
            .iter()
            .copied()
            .map(Target::Level)
            .collect()
    } else {
        arguments.targets.clone()
    };
    if arguments.max_cost.is_some() && !targets.contains(&Target::Lowest) {
        let problem = "--max-cost is a limit of `--target min`, which is not given";
        return Err(Failure::Usage(problem.to_owned()).into());
    }
    if targets.is_empty() {
        return Err(Failure::Usage(format!(
            "missing option --target: {} has no `targets`",
            file.display()
        ))
        .into());
    }
    let search = Search {
        cost_max: arguments.max_cost.unwrap_or(f64::INFINITY),
        ..arguments.search.search()
    };
    let read = (&instance, reading);
    let report = solve::solve(read, &targets, &arguments.algorithm, search, batch)?;
    let provenance = || provenance(&instance, search, registry);
    match arguments.format {
        Format::Table => print_text(arguments.all, |layout| {
            solve::document(&report, &instance).text(layout)
        })?,
        Format::Json => print_json(&provenance()?, &report)?,
        Format::Csv => print(&report.csv(&instance, &provenance()?)?)?,
    }
    match solve::complaint(&report, &instance, search) {
        Some(complaint) => Err(Failure::Verification(complaint).into()),
        None => Ok(()),
    }
}

/// The error of `second` after `first`, which may be a subcommand.
fn one_too_many(first: &Path, second: &Path, meant: Option<&str>) -> String {
    let is_subcommand = SUBCOMMANDS.iter().any(|name| second == Path::new(name));
    let (first, second) = (first.display(), second.display());
    match meant {
        Some(subcommand) => format!("unknown subcommand `{first}`; did you mean `{subcommand}`?"),
        None if is_subcommand => {
            format!("the subcommand `{second}` must precede `{first}`")
        }
        None => format!("expected one instance, found `{first}` and `{second}`"),
    }
}

/// The subcommand that the missing file `file` may have meant.
fn mistyped(file: &Path) -> Option<&'static str> {
    let word = file
        .to_str()
        .filter(|word| word.chars().all(char::is_alphabetic))?;
    if file.exists() {
        return None;
    }
    nearest(word, &SUBCOMMANDS)
}

/// The subcommands of `rebalance`.
const SUBCOMMANDS: [&str; 4] = ["sweep", "generate", "import", "export"];

/// The arguments of `rebalance sweep`.
#[derive(Debug, Args)]
struct SweepArguments {
    /// Instance file, JSON; `-` reads stdin
    #[arg(value_name = "INSTANCE")]
    instance: PathBuf,
    /// Algorithm (imlp, islp, mlp, tabu, mparv, refine, hyb or best) with parameters; can be given several times
    #[arg(
        long = "algorithm",
        value_name = "NAME[:KEY=VALUE,...]",
        default_values = ["imlp", "best"]
    )]
    algorithms: Vec<Algorithm>,
    /// Level, or percentage of the ideal one; can be given several times; by default --points levels, closer to each other where they are low
    #[arg(long = "target", value_name = "LEVEL|PERCENT%", value_parser = read_target)]
    targets: Vec<Target>,
    /// Number of levels, from the initial one down to nearly the ideal one
    #[arg(long, value_name = "N", default_value_t = 10, conflicts_with = "targets",
        value_parser = clap::value_parser!(u32).range(1..=1000))]
    points: u32,
    #[command(flatten)]
    search: SearchArguments,
    #[command(flatten)]
    jobs: JobsArguments,
    /// Format of the results
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    /// File for a chart of cost against level
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
}

/// Searches with every algorithm for every level, and compares the costs.
///
/// # Errors
///
/// Errors of the arguments, the instance or the disk.
fn execute_sweep(
    arguments: &SweepArguments,
    batch: Batch<'_>,
    registry: &Registry,
) -> Result<(), CommandFailure> {
    let algorithms = &arguments.algorithms;
    let twice = (1..algorithms.len()).find(|at| algorithms[..*at].contains(&algorithms[*at]));
    if let Some(at) = twice {
        let problem = format!("--algorithm {} is given twice", algorithms[at]);
        return Err(Failure::Usage(problem).into());
    }
    let instance = arguments.search.read_instance(&arguments.instance)?;
    if let Some(file) = &arguments.svg {
        // An unwritable place is reported before the search, not after it.
        check_output(file, SVG)?;
    }
    let levels = if arguments.targets.is_empty() {
        Levels::Spread(arguments.points)
    } else {
        Levels::Given(arguments.targets.clone())
    };
    let search = arguments.search.search();
    let report = sweep::sweep(&instance, levels, algorithms, search, batch)?;
    let provenance = || provenance(&instance, search, registry);
    show(&report, (arguments.format, true), provenance)?;
    match &arguments.svg {
        Some(file) => Ok(write(file, &report.chart().svg())?),
        None => Ok(()),
    }
}

/// The arguments of `rebalance generate`.
#[derive(Debug, Args)]
struct GenerateArguments {
    /// Group: I1,1 to I4,5 of the paper's Table 2, S1,1 to S8,5 with other sizes, or X1,1 to X2,3 with communication
    #[arg(long, value_name = "GROUP")]
    group: GroupName,
    /// Number of the instance within the group
    #[arg(long, value_name = "SEED", default_value_t = 1, value_parser = seed)]
    seed: u64,
    /// Level to meet; can be given several times; by default 76, 80 and 90, or for X groups 0.8, 0.85 and 0.9 of the initial level
    #[arg(long = "target", value_name = "LEVEL", value_parser = read_level)]
    targets: Vec<f64>,
    /// Draw the workloads of I4 as the paper prints them, not as its levels imply
    #[arg(long)]
    literal: bool,
    /// File to write, instead of stdout
    #[arg(short, long, value_name = "FILE")]
    out: Option<PathBuf>,
}

/// Draws the instance and writes it.
///
/// # Errors
///
/// If the file, or stdout, cannot be written.
fn execute_generate(arguments: &GenerateArguments) -> Result<(), CommandFailure> {
    let workloads = if arguments.literal {
        Workloads::Literal
    } else {
        Workloads::Swapped
    };
    let targets = arguments.targets.clone();
    let text = generate(arguments.group, arguments.seed, workloads, targets).json();
    match &arguments.out {
        Some(file) => Ok(write(file, &text)?),
        None => print(&text),
    }
}

/// The arguments of `rebalance import`.
#[derive(Debug, Args)]
struct ImportArguments {
    /// LB data of vt: a folder with data.0.json and so on, or the files of all ranks; compressed (.br) or not
    #[arg(value_name = "PATH", required = true)]
    paths: Vec<PathBuf>,
    /// Phase; the last one that all ranks have by default
    #[arg(long, value_name = "ID")]
    phase: Option<u64>,
    /// Memory of each rank in MB (`max_memory_usage` of LBAF, which is in bytes); without it memory is not limited
    #[arg(long, value_name = "MB", value_parser = megabytes)]
    memory: Option<f64>,
    /// File to write, instead of stdout
    #[arg(short, long, value_name = "FILE")]
    out: Option<PathBuf>,
}

/// Reads the files, and writes an instance.
///
/// # Errors
///
/// If a file is invalid, ranks disagree, or the instance cannot be written.
fn execute_import(arguments: &ImportArguments) -> Result<(), CommandFailure> {
    if let Some(file) = &arguments.out {
        check_writable(file)?;
    }
    let options = ImportOptions {
        phase: arguments.phase,
        memory: arguments.memory,
    };
    let Imported { instance, notes } = import(&arguments.paths, options)?;
    tracing::info!(instance = %instance.name, "imported");
    if !notes.is_empty() {
        tracing::warn!("{}", notes.join("; "));
    }
    let text = instance.json();
    match &arguments.out {
        Some(file) => Ok(write(file, &text)?),
        None => print(&text),
    }
}

/// The arguments of `rebalance export`.
#[derive(Debug, Args)]
struct ExportArguments {
    /// Plan: what `{bin} rebalance INSTANCE --format json` writes for an imported instance; `-` reads stdin
    #[arg(value_name = "PLAN")]
    plan: PathBuf,
    /// LB data of vt that the instance was imported from
    #[arg(value_name = "PATH", required = true)]
    paths: Vec<PathBuf>,
    /// Folder to write, with the names of the files in PATH, none of which may exist there
    #[arg(short, long, value_name = "FOLDER")]
    out: PathBuf,
    /// Target whose solution is exported, if the plan has several
    #[arg(long, value_name = "LEVEL|PERCENT%", value_parser = read_target)]
    target: Option<Target>,
    /// Phase that was imported; the last one that all ranks have by default
    #[arg(long, value_name = "ID")]
    phase: Option<u64>,
}

/// Reads plan and files, and writes the files after the plan.
///
/// # Errors
///
/// If plan or files are invalid or do not belong together, or a file exists or cannot be written.
fn execute_export(arguments: &ExportArguments) -> Result<(), CommandFailure> {
    check_folder(&arguments.out)?;
    let text = read(&arguments.plan).map_err(Failure::input)?;
    let plan = PlanSource {
        name: &name_of(&arguments.plan),
        text: &text,
        target: arguments.target,
        phase: arguments.phase,
    };
    let exported = export(plan, &arguments.paths)?;
    refuse_existing(&arguments.out, &exported.files)?;
    write_new(&arguments.out, &exported.files)?;
    let (files, folder) = (exported.files.len(), arguments.out.display());
    let (moved, tasks) = (exported.moved, exported.tasks);
    print(&format!(
        "{folder}: {files} files, in which {moved} of {tasks} tasks have another rank\n"
    ))
}

/// The error of a file that would be replaced.
fn refuse_existing(folder: &Path, files: &[OutputFile]) -> Result<(), Failure> {
    let paths = files.iter().map(|file| folder.join(file.name()));
    let mut existing = paths.filter(|path| fs::symlink_metadata(path).is_ok());
    match existing.next() {
        Some(path) => Err(Failure::Usage(format!(
            "--out {}: {} exists; must be a folder without files of ranks",
            folder.display(),
            path.display()
        ))),
        None => Ok(()),
    }
}

/// Options of a search.
#[derive(Clone, Debug, Args)]
struct SearchArguments {
    /// Budget: time of all searches together, as "100 ms", or steps of each, as "2e6 steps", which give the same result everywhere
    #[arg(
        long,
        value_name = "TIME|STEPS",
        default_value = "1 s",
        allow_hyphen_values = true
    )]
    budget: Limit,
    /// Seed of random choices
    #[arg(long, value_name = "SEED", default_value_t = 1, value_parser = seed)]
    seed: u64,
    /// Cost of a move
    #[arg(long, value_enum, default_value_t)]
    cost: Cost,
    /// Phase of the instance whose workloads and edges count; those of `processes` by default
    #[arg(long, value_name = "NAME")]
    phase: Option<String>,
    /// Level that a byte adds on each of two machines between which it is exchanged; the instance's weight by default
    #[arg(long, value_name = "LEVEL", value_parser = read_weight)]
    weight: Option<f64>,
}

impl SearchArguments {
    /// The options of the search.
    fn search(&self) -> Search {
        Search {
            limit: self.budget,
            seed: self.seed,
            cost: self.cost,
            cost_max: f64::INFINITY,
        }
    }

    /// The instance in `file`, or on stdin if it is called `-`, with the phase and the weight of the arguments.
    ///
    /// # Errors
    ///
    /// If it cannot be read, is not an instance, or has no such phase: says where, what is there, and what is expected.
    fn read_instance(&self, file: &Path) -> Result<Instance, Failure> {
        let text = read(file).map_err(Failure::input)?;
        let mut instance = Instance::from_json(&name_of(file), text)?;
        if let Some(phase) = &self.phase {
            instance = instance.in_phase(phase)?;
        }
        instance.weight = self.weight.unwrap_or(instance.weight);
        Ok(instance)
    }
}

/// What makes the result of a search in `instance`.
///
/// # Errors
///
/// If the binary of this process cannot be read.
fn provenance(
    instance: &Instance,
    search: Search,
    registry: &Registry,
) -> Result<Provenance, Failure> {
    let provenance = Provenance::of_program(registry)?.with_seed(search.seed);
    Ok(provenance.with_configuration(&instance.configuration()))
}

/// The number of MB, or the weight, in `text`.
///
/// # Errors
///
/// If it is not a number of at least 0.
fn megabytes(text: &str) -> Result<f64, String> {
    let number = text.trim().parse().ok();
    number
        .filter(|number: &f64| number.is_finite() && 0.0 <= *number)
        .ok_or_else(|| format!("must be a number of at least 0, not `{text}`"))
}

/// The seed in `text`.
///
/// # Errors
///
/// If it is not a seed.
fn seed(text: &str) -> Result<u64, String> {
    text.trim().parse().map_err(|_| {
        let most = u64::MAX;
        format!("must be a whole number from 0 to {most}, not `{text}`")
    })
}
