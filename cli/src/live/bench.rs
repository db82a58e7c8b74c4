//! `migbsp bench`: what a cluster is capable of.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::str::FromStr;

use analysis::bench::migration::{
    KindReport, Place, Report, Settings, Timeline, superstep_numbers,
};
use analysis::bench::superstep::{self, Rounds, Samples};
use bsp::units::Seconds;
use clap::{Args, Subcommand, ValueEnum};
use experiments::{Failure, Provenance, Registry, load_text_for_cluster};
use indicatif::MultiProgress;
use protocol::Member;
use workloads::h_relation::WORDS_MAX;

use crate::command::{Command, Context};
use crate::failure::CommandFailure;
use crate::file::{SVG, check_output, check_writable, write};
use crate::live::cluster::{ClusterArguments, ClusterMembers, JobResult, JobRunner};
use crate::live::help::{MIGRATION_ABOUT, MIGRATION_HELP, SUPERSTEP_ABOUT, SUPERSTEP_HELP};
use crate::live::links::{LevelArgument, SetLinks, default_dwell, positive_time};
use crate::output::{Format, show, warn};
use crate::signals::TerminationSignal;

/// Arguments of `bench`.
#[derive(Clone, Debug, Args)]
pub(crate) struct BenchArguments {
    #[command(subcommand)]
    command: BenchCommand,
}

/// What is measured.
#[derive(Clone, Debug, Subcommand)]
enum BenchCommand {
    /// Move states between two nodes, and compare what that takes with what was predicted
    #[command(long_about = MIGRATION_ABOUT, after_long_help = MIGRATION_HELP)]
    Migration(MigrationArguments),
    /// Measure r, g and l, the parameters of the BSP cost model
    #[command(long_about = SUPERSTEP_ABOUT, after_long_help = SUPERSTEP_HELP)]
    Superstep(SuperstepArguments),
}

impl BenchArguments {
    /// The cluster that is named.
    pub(crate) const fn cluster(&self) -> &ClusterArguments {
        match &self.command {
            BenchCommand::Migration(migration) => &migration.cluster,
            BenchCommand::Superstep(superstep) => &superstep.cluster,
        }
    }

    /// Checks what can be known to be wrong before there is a cluster.
    ///
    /// # Errors
    ///
    /// What is wrong.
    pub(crate) fn check(&self, registry: &Registry) -> Result<(), Failure> {
        match &self.command {
            BenchCommand::Migration(migration) => migration.check(registry),
            BenchCommand::Superstep(_) => Ok(()),
        }
    }

    /// The links between the Sets of `up`, with the levels that the bench wants.
    ///
    /// # Errors
    ///
    /// If levels are wanted and there is no link, or a file of levels is invalid.
    pub(crate) fn links(&self, links: Option<SetLinks>) -> Result<Option<SetLinks>, Failure> {
        match &self.command {
            BenchCommand::Migration(migration) => migration.links(links),
            BenchCommand::Superstep(_) => Ok(links),
        }
    }
}

/// The command `bench`.
pub(crate) fn command() -> Command {
    Command::new("bench", "Measure what a cluster is capable of", execute)
}

/// Executes a bench on the cluster that is named.
///
/// # Errors
///
/// Whatever is wrong with the arguments, the cluster or a job.
fn execute(arguments: &BenchArguments, context: &Context<'_>) -> Result<(), CommandFailure> {
    arguments.check(context.registry())?;
    match &arguments.command {
        BenchCommand::Migration(migration) => migration.refuse_levels()?,
        BenchCommand::Superstep(_) => {}
    }
    let cluster = ClusterMembers::find(arguments.cluster(), context.registry())?;
    follow(arguments, &cluster, context)
}

/// The same, on a cluster that is known.
///
/// # Errors
///
/// As [`execute`].
pub(crate) fn follow(
    arguments: &BenchArguments,
    cluster: &ClusterMembers,
    context: &Context<'_>,
) -> Result<(), CommandFailure> {
    let bars = context.has_progress().then(MultiProgress::new);
    let runner = JobRunner {
        cluster,
        registry: context.registry(),
        termination: &TerminationSignal::default(),
        bars: bars.as_ref(),
    };
    match &arguments.command {
        BenchCommand::Migration(migration) => measure_migrations(migration, &runner),
        BenchCommand::Superstep(superstep) => measure_supersteps(superstep, &runner),
    }
}

/// Arguments of `bench migration`.
#[derive(Clone, Debug, Args)]
pub(crate) struct MigrationArguments {
    #[command(flatten)]
    cluster: ClusterArguments,
    /// Moves of each kind of state
    #[arg(long, value_name = "N", default_value_t = 60, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    moves: u32,
    /// Kinds of state
    #[arg(
        long,
        value_enum,
        value_delimiter = ',',
        default_value = "linpack,bitonic,gzip,xlintims"
    )]
    kind: Vec<StateKind>,
    /// Node where each process starts [default: the first]
    #[arg(long, value_name = "NODE")]
    from: Option<String>,
    /// Node to which it moves, and back [default: the first of another Set, or the second]
    #[arg(long, value_name = "NODE")]
    to: Option<String>,
    /// Bytes of a problem's data, drawn for each problem
    #[arg(long, value_name = "A..B", default_value = "0.4MB..4MB")]
    state: StateRange,
    /// Levels of the link that `up --between` makes: a number, a range to draw from, or a CSV file
    #[arg(long, value_name = "LEVEL|A..B|FILE", allow_hyphen_values = true)]
    level: Option<LevelArgument>,
    /// Mean time for which a drawn level is held [default: 10s]
    #[arg(long, value_name = "DURATION", requires = "level", allow_hyphen_values = true, value_parser = positive_time)]
    dwell: Option<Seconds>,
    /// Seed of problems and of the supersteps after which they move
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Estimators of bandwidth that are compared
    #[arg(long, value_enum, default_value_t)]
    estimator: EstimatorChoice,
    /// File for a chart of what moves took, over what they were predicted to take
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    /// File for a simulated platform with the link that was measured, as TOML
    #[arg(long, value_name = "FILE")]
    write: Option<PathBuf>,
    /// Format of the results
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// A kind of state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum StateKind {
    /// One large array
    Linpack,
    /// A tree of many small nodes
    Bitonic,
    /// A small state
    Gzip,
    /// A state whose size changes
    Xlintims,
}

/// Which estimators of bandwidth are compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum EstimatorChoice {
    /// None: predictions are made with the one that is used
    #[default]
    Used,
    /// Probes, the forecast of the nodes, and the predictors that it selects from
    All,
}

/// The least and the most bytes of a problem's data, as they are written.
#[derive(Clone, Debug, PartialEq, Eq)]
struct StateRange([String; 2]);

impl FromStr for StateRange {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let rule = "must be A..B with units, such as 0.4MB..4MB";
        let (least, most) = text.split_once("..").ok_or(rule)?;
        let size = |text: &str| {
            let is_plain = text
                .chars()
                .all(|letter| letter.is_ascii_alphanumeric() || letter == '.');
            let has_unit = text.ends_with('B');
            (is_plain && has_unit).then(|| text.to_owned()).ok_or(rule)
        };
        Ok(Self([size(least)?, size(most)?]))
    }
}

impl StateKind {
    const fn name(self) -> &'static str {
        match self {
            Self::Linpack => "linpack",
            Self::Bitonic => "bitonic",
            Self::Gzip => "gzip",
            Self::Xlintims => "xlintims",
        }
    }
}

impl MigrationArguments {
    /// Refuses levels where there is no link that could have them.
    ///
    /// # Errors
    ///
    /// If levels are wanted.
    fn refuse_levels(&self) -> Result<(), Failure> {
        if self.level.is_none() {
            return Ok(());
        }
        let problem = "--level: only a link that `up --between` makes has levels: put the bench behind `up --local 2 --sets 2 --between 11.8MBps --`";
        Err(Failure::Usage(problem.to_owned()))
    }

    /// The links between the Sets, with the levels that are wanted here.
    ///
    /// # Errors
    ///
    /// If levels are wanted and there is no link.
    fn links(&self, links: Option<SetLinks>) -> Result<Option<SetLinks>, Failure> {
        match (&self.level, links) {
            (None, links) => Ok(links),
            (Some(level), Some(links)) => {
                let levels = level.schedule(self.dwell, self.seed)?;
                Ok(Some(links.with_levels(&levels)))
            }
            (Some(_), None) => {
                let problem = "--level: there is no link between Sets: add --sets 2 --between 11.8MBps to `up`";
                Err(Failure::Usage(problem.to_owned()))
            }
        }
    }
}

/// Executes the bench. If a job fails or a signal arrives, the kinds that are complete are shown.
///
/// # Errors
///
/// Whatever is wrong with the arguments, the cluster or a job.
fn measure_migrations(
    arguments: &MigrationArguments,
    runner: &JobRunner<'_>,
) -> Result<(), CommandFailure> {
    let members = &runner.cluster.members;
    let pair = arguments.nodes(members)?;
    let mut kinds = Vec::new();
    let mut provenance = None;
    let mut measured = Ok(());
    for kind in &arguments.kind {
        match arguments.measure(*kind, pair, runner) {
            Ok((report, origin)) => {
                kinds.push(report);
                provenance.get_or_insert(origin);
            }
            Err(failure) => {
                measured = Err(failure);
                break;
            }
        }
    }
    if let Some(provenance) = provenance {
        let settings = Settings {
            nodes: pair.map(|host| members[host].name.clone()),
            state: arguments.state.0.clone(),
            level: arguments.level.as_ref().map(ToString::to_string),
            dwell_seconds: arguments.drawn_dwell().map(Seconds::get),
        };
        if measured.is_err() {
            let (done, all) = (kinds.len(), arguments.kind.len());
            warn(&format!(
                "{done} of {all} kinds of state are complete and shown"
            ));
        }
        let report = Report::new(settings, kinds);
        let shown = arguments.show(report, &provenance, pair.map(|host| &members[host]));
        measured = measured.and(shown);
    }
    measured
}

impl MigrationArguments {
    /// Moves states of one kind, and runs the same job without moves.
    fn measure(
        &self,
        kind: StateKind,
        [from, to]: [usize; 2],
        runner: &JobRunner<'_>,
    ) -> Result<(KindReport, Provenance), CommandFailure> {
        let members = &runner.cluster.members;
        let names = [from, to].map(|host| members[host].name.as_str());
        let mut moved = Timeline::default();
        let with = self.experiment(kind, from, names, "iii");
        let JobResult {
            outputs,
            provenance,
        } = runner.run(&with, |event| moved.observe(event))?;
        let without = self.experiment(kind, from, names, "ii");
        let mut baselines = Vec::new();
        let mut is_equal = true;
        for _ in 0..BASELINES {
            let mut baseline = Timeline::default();
            let result = runner.run(&without, |event| baseline.observe(event))?;
            is_equal &= result.outputs == outputs;
            baselines.push(baseline);
        }
        let report = KindReport::new(kind.name(), moved, &baselines, is_equal);
        Ok((report, provenance))
    }

    /// Prints the report, and writes the files that are wanted.
    fn show(
        &self,
        report: Report,
        provenance: &Provenance,
        pair: [&Member; 2],
    ) -> Result<(), CommandFailure> {
        let report = match self.estimator {
            EstimatorChoice::Used => report,
            EstimatorChoice::All => report.with_estimators(),
        };
        if let Some(file) = &self.svg {
            write(file, &report.svg())?;
        }
        if let Some(file) = &self.write {
            let places = pair.map(|member| Place {
                set: &member.set,
                cores: member.slots,
            });
            let platform = report.platform(places).ok_or_else(|| {
                Failure::Run("--write: no move was long enough to measure the link".to_owned())
            })?;
            write(file, &platform)?;
        }
        show(&report, (self.format, false), || Ok(provenance.clone()))
    }

    /// The mean time for which a drawn level is held, if levels are drawn.
    fn drawn_dwell(&self) -> Option<Seconds> {
        let is_drawn = self.level.as_ref().is_some_and(LevelArgument::is_drawn);
        is_drawn.then(|| self.dwell.unwrap_or_else(default_dwell))
    }

    /// Checks what can be known to be wrong before there is a cluster.
    ///
    /// # Errors
    ///
    /// If the states cannot be those of a problem, or a file cannot be written.
    fn check(&self, registry: &Registry) -> Result<(), Failure> {
        if let Some(file) = &self.svg {
            check_output(file, SVG)?;
        }
        if let Some(file) = &self.write {
            check_writable(file)?;
        }
        let text = self.experiment(StateKind::Linpack, 0, ["", ""], "i");
        let loaded = load_text_for_cluster(&text, "--state", registry)?;
        let application = &loaded.experiment.application;
        let entry = registry.find(&application.workload, None)?;
        Ok(entry.check(loaded.build_input())?)
    }

    /// The positions of the two nodes among `members`.
    fn nodes(&self, members: &[Member]) -> Result<[usize; 2], Failure> {
        let named = |name: &str, option: &str| {
            let found = members.iter().position(|member| member.name == name);
            found.ok_or_else(|| {
                let names: Vec<&str> = members.iter().map(|member| member.name.as_str()).collect();
                let all = names.join(", ");
                Failure::Usage(format!(
                    "{option} {name}: no such node: must be one of {all}"
                ))
            })
        };
        let from = self
            .from
            .as_deref()
            .map_or(Ok(0), |name| named(name, "--from"))?;
        let to = match &self.to {
            Some(name) => named(name, "--to")?,
            None => {
                let others = || (0..members.len()).filter(|other| *other != from);
                let far = others().find(|other| members[*other].set != members[from].set);
                far.or_else(|| others().next()).ok_or_else(|| {
                    Failure::Usage(
                        "a state moves between two nodes, and there is one: add --local 2"
                            .to_owned(),
                    )
                })?
            }
        };
        if from == to {
            let name = &members[from].name;
            let problem = format!("--from and --to are both {name}: name two nodes");
            return Err(Failure::Usage(problem));
        }
        Ok([from, to])
    }

    /// The experiment of a job in `scenario`: in iii the process moves from one of the nodes to the other, in ii the same calls
    /// are held and it stays.
    fn experiment(&self, kind: StateKind, from: usize, names: [&str; 2], scenario: &str) -> String {
        let all = superstep_numbers(self.seed, self.moves);
        let supersteps = all.last().copied().unwrap_or_default() + REST;
        let (name, seed, [least, most]) = (kind.name(), self.seed, &self.state.0);
        let mut text = format!(
            "[run]\nseed = {seed}\n\
             [application]\nworkload = \"state-kinds\"\nprocesses = 1\nsupersteps = {supersteps}\n\
             [application.state-kinds]\nkind = \"{name}\"\nstate = [\"{least}\", \"{most}\"]\ninstructions = {WORK}\n\
             [placement]\noffset = {from}\n\
             [barrier]\nshape = \"hierarchical\"\n\
             [scheduler]\nscenario = \"{scenario}\"\ninterval = 1_000_000_000\n"
        );
        for (index, superstep) in all.iter().enumerate() {
            let to = toml::Value::from(names[(index + 1) % 2]);
            write!(
                text,
                "[[scheduler.script]]\nsuperstep = {superstep}\nprocess = \"p1\"\nto = {to}\n"
            )
            .expect("text grows");
        }
        text
    }
}

/// Supersteps after the last move.
const REST: u64 = 5;

/// Instructions of a superstep: some milliseconds.
const WORK: u64 = 10_000_000;

/// Jobs without moves that moves are compared with.
const BASELINES: usize = 5;

/// Arguments of `bench superstep`.
#[derive(Clone, Debug, Args)]
pub(crate) struct SuperstepArguments {
    #[command(flatten)]
    cluster: ClusterArguments,
    /// Number of processes [default: on every node as many as the node with the fewest slots has]
    #[arg(short = 'n', long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=i64::from(PROCESSES_MAX)))]
    processes: Option<u32>,
    /// The most words of 8 bytes that a process sends in a superstep
    #[arg(long, value_name = "WORDS", default_value_t = 16_384, value_parser = clap::value_parser!(u32).range(2..=i64::from(WORDS_MAX)))]
    h: u32,
    /// How often each h-relation is counted, after one that is not
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    repetitions: u32,
    /// Measure g and l between the first nodes of each two Sets, too
    #[arg(long)]
    pairs: bool,
    /// Format of the results
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// Executes the bench.
///
/// # Errors
///
/// Whatever is wrong with the arguments, the cluster or a job.
fn measure_supersteps(
    arguments: &SuperstepArguments,
    runner: &JobRunner<'_>,
) -> Result<(), CommandFailure> {
    let members = &runner.cluster.members;
    let processes = arguments.processes(members)?;
    let pairs = if arguments.pairs {
        pairs(members)?
    } else {
        Vec::new()
    };
    let (samples, provenance) = arguments.measure(processes, runner)?;
    let nodes = members
        .len()
        .min(usize::try_from(processes).unwrap_or(usize::MAX));
    let mut report = superstep::Report::new(processes, nodes, &samples);
    for pair in pairs {
        let names = |name: fn(&Member) -> &String| pair.each_ref().map(|one| name(one).clone());
        let (sets, nodes) = (names(|member| &member.set), names(|member| &member.name));
        let cluster = ClusterMembers {
            members: pair.to_vec(),
            pool: Vec::new(),
            client: runner.cluster.client.clone(),
        };
        let runner = JobRunner {
            cluster: &cluster,
            ..*runner
        };
        let (samples, _) = arguments.measure(2, &runner)?;
        report.add_pair(sets, nodes, &samples);
    }
    show(&report, (arguments.format, false), || Ok(provenance))
}

impl SuperstepArguments {
    /// The number of processes on `members`.
    ///
    /// # Errors
    ///
    /// If `--h` has too few words for a fit.
    fn processes(&self, members: &[Member]) -> Result<u32, Failure> {
        let nodes = u32::try_from(members.len()).unwrap_or(u32::MAX);
        let slots = members.iter().map(|member| member.slots).min();
        let all = nodes.saturating_mul(slots.unwrap_or(1));
        let processes = self
            .processes
            .unwrap_or_else(|| all.clamp(1, PROCESSES_MAX));
        let least = processes.saturating_mul(2);
        if self.h < least {
            let problem = format!(
                "--h {}: the fit takes h from the number of processes on, which is {processes}: must be at least {least}",
                self.h
            );
            return Err(Failure::Usage(problem));
        }
        Ok(processes)
    }

    /// Times of supersteps of `processes` processes on the cluster of `runner`.
    fn measure(
        &self,
        processes: u32,
        runner: &JobRunner<'_>,
    ) -> Result<(Samples, Provenance), CommandFailure> {
        let rounds = Rounds::new(self.h, self.repetitions);
        let mut samples = Samples::new(rounds.clone());
        let result = runner.run(&experiment(processes, &rounds), |event| {
            samples.observe(event);
        })?;
        Ok((samples, result.provenance))
    }
}

/// The first nodes of each two Sets.
///
/// # Errors
///
/// If there is one Set.
fn pairs(members: &[Member]) -> Result<Vec<[Member; 2]>, Failure> {
    let mut firsts: Vec<&Member> = Vec::new();
    for member in members {
        if firsts.iter().all(|first| first.set != member.set) {
            firsts.push(member);
        }
    }
    if firsts.len() < 2 {
        let problem =
            "--pairs: there is one Set, and a pair has two: leave it out, or add --sets 2 to `up`";
        return Err(Failure::Usage(problem.to_owned()));
    }
    let pairs = firsts.iter().enumerate().flat_map(|(index, one)| {
        let others = firsts[index + 1..].iter();
        others.map(move |other| [(*one).clone(), (*other).clone()])
    });
    Ok(pairs.collect())
}

/// The experiment of a job.
fn experiment(processes: u32, rounds: &Rounds) -> String {
    let (words, flops) = (rounds.words_of_round(), rounds.flops_of_round());
    let supersteps = rounds.supersteps();
    format!(
        "[run]\nsuperstep_limit = {supersteps}\n\
         [application]\nworkload = \"h-relation\"\nprocesses = {processes}\nsupersteps = {supersteps}\n\
         [application.h-relation]\nwords = {words:?}\nflops = {flops:?}\n\
         [barrier]\nshape = \"hierarchical\"\n\
         [scheduler]\nscenario = \"i\"\n"
    )
}

/// The most processes of the bench: each sends messages to all others.
const PROCESSES_MAX: u32 = 65_536;
