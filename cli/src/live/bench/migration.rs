//! `migbsp bench migration`: what moving a process costs.

use std::fmt::Write;
use std::str::FromStr;

use analysis::bench::{KindReport, Report, Timeline};
use bsp::units::Seconds;
use clap::{Args, ValueEnum};
use experiments::Failure;
use protocol::Member;

use crate::failure::CommandFailure;
use crate::live::bench::job_runner::{JobResult, JobRunner};
use crate::live::between::{LevelArgument, Link, positive_time};
use crate::live::cluster_members::ClusterArguments;
use crate::output::{Format, print, print_json, print_text};

/// Arguments of `bench migration`.
#[derive(Clone, Debug, Args)]
pub(crate) struct MigrationArguments {
    #[command(flatten)]
    pub(super) cluster: ClusterArguments,
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
    #[arg(long, value_name = "A..B", default_value = "0.4MB..16MB")]
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

/// The least and the most bytes of a problem's data, as they are written.
#[derive(Clone, Debug, PartialEq, Eq)]
struct StateRange([String; 2]);

impl FromStr for StateRange {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let rule = "must be A..B with units, such as 0.4MB..16MB";
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
    pub(super) fn refuse_levels(&self) -> Result<(), Failure> {
        if self.level.is_none() {
            return Ok(());
        }
        let problem = "--level: only a link that `up --between` makes has levels: put the bench behind `up --local 2 --sets 2 --between 11.8MBps --`";
        Err(Failure::Usage(problem.to_owned()))
    }

    /// The link between the Sets, with the levels that are wanted here.
    ///
    /// # Errors
    ///
    /// If levels are wanted and there is no link.
    pub(super) fn link(&self, link: Option<Link>) -> Result<Option<Link>, Failure> {
        match (&self.level, link) {
            (None, link) => Ok(link),
            (Some(level), Some(link)) => Ok(Some(link.with_levels(level, self.dwell, self.seed)?)),
            (Some(_), None) => {
                let problem = "--level: there is no link between Sets: add --sets 2 --between 11.8MBps to `up`";
                Err(Failure::Usage(problem.to_owned()))
            }
        }
    }
}

/// Executes the bench.
///
/// # Errors
///
/// Whatever is wrong with the arguments, the cluster or a job.
pub(super) fn execute(
    arguments: &MigrationArguments,
    runner: &JobRunner<'_>,
) -> Result<(), CommandFailure> {
    let members = &runner.cluster.members;
    let [from, to] = arguments.nodes(members)?;
    let mut kinds = Vec::new();
    let mut provenance = None;
    for kind in &arguments.kind {
        let moves = analysis::bench::superstep_numbers(arguments.seed, arguments.moves);
        let names = [from, to].map(|host| members[host].name.as_str());
        let with = arguments.experiment(*kind, from, &moves, names);
        let mut moved = Timeline::default();
        let JobResult {
            outputs,
            provenance: origin,
        } = runner.run(&with, |event| moved.observe(event))?;
        provenance.get_or_insert(origin);
        let without = arguments.experiment(*kind, from, &[], names);
        let mut baselines = Vec::new();
        let mut is_equal = true;
        for _ in 0..BASELINES {
            let mut baseline = Timeline::default();
            let result = runner.run(&without, |event| baseline.observe(event))?;
            is_equal &= result.outputs == outputs;
            baselines.push(baseline);
        }
        kinds.push(KindReport::new(kind.name(), &moved, &baselines, is_equal));
    }
    let nodes = [from, to].map(|host| members[host].name.clone());
    let report = Report::new(nodes, kinds);
    let provenance = provenance.expect("there is a kind");
    match arguments.format {
        Format::Table => print_text(false, |layout| report.text(layout)),
        Format::Json => print_json(&provenance, &report),
        Format::Csv => print(&report.csv(&provenance)?),
    }
}

impl MigrationArguments {
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

    /// The experiment of a job, in which the process moves after each of these numbers of supersteps.
    fn experiment(&self, kind: StateKind, from: usize, moves: &[u64], names: [&str; 2]) -> String {
        let all = analysis::bench::superstep_numbers(self.seed, self.moves);
        let supersteps = all.last().copied().unwrap_or_default() + REST;
        let (name, seed, [least, most]) = (kind.name(), self.seed, &self.state.0);
        let mut text = format!(
            "[run]\nseed = {seed}\n\
             [application]\nworkload = \"state-kinds\"\nprocesses = 1\nsupersteps = {supersteps}\n\
             [application.state-kinds]\nkind = \"{name}\"\nstate = [\"{least}\", \"{most}\"]\ninstructions = {WORK}\n\
             [placement]\noffset = {from}\n\
             [barrier]\nshape = \"hierarchical\"\n\
             [scheduler]\ninterval = 1_000_000_000\n"
        );
        if moves.is_empty() {
            text.push_str("scenario = \"i\"\n");
        }
        for (index, superstep) in moves.iter().enumerate() {
            let to = names[(index + 1) % 2];
            write!(
                text,
                "[[scheduler.script]]\nsuperstep = {superstep}\nprocess = \"p1\"\nto = {}\n",
                toml::Value::from(to)
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
