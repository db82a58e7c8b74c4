//! `migbsp bench superstep`: r, g and l of a cluster.

use analysis::bench::superstep::{Report, Rounds, Samples};
use clap::Args;
use experiments::{Failure, Provenance};
use protocol::Member;
use workloads::h_relation::WORDS_MAX;

use crate::failure::CommandFailure;
use crate::live::cluster_members::{ClusterArguments, ClusterMembers};
use crate::live::job_runner::JobRunner;
use crate::output::{Format, print, print_json, print_text};

/// Arguments of `bench superstep`.
#[derive(Clone, Debug, Args)]
pub(crate) struct SuperstepArguments {
    #[command(flatten)]
    pub(super) cluster: ClusterArguments,
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
pub(super) fn execute(
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
    let mut report = Report::new(processes, nodes, &samples);
    for pair in pairs {
        let names = |name: fn(&Member) -> &String| pair.each_ref().map(|one| name(one).clone());
        let (sets, nodes) = (names(|member| &member.set), names(|member| &member.name));
        let cluster = ClusterMembers {
            members: pair.to_vec(),
            client: runner.cluster.client.clone(),
        };
        let runner = JobRunner {
            cluster: &cluster,
            ..*runner
        };
        let (samples, _) = arguments.measure(2, &runner)?;
        report.add_pair(sets, nodes, &samples);
    }
    match arguments.format {
        Format::Table => print_text(false, |layout| report.text(layout)),
        Format::Json => print_json(&provenance, &report),
        Format::Csv => print(&report.csv(&provenance)?),
    }
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
