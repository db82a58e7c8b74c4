//! Results of an experiment, for `--format json` and `csv`.

use agents::Transfers;
use bsp::HostId;
use bsp::units::{Bytes, Instant, Seconds};
use protocol::Build;
use record::{Call, Checkpoint, Join, Migration};
use serde::Serialize;
use simulator::Platform;

use crate::failure::Failure;
use crate::loaded::Loaded;
use crate::prepared::Finished;
use crate::provenance::{CsvTable, Provenance, Published};
use crate::scheduler::Scenario;

/// Results of all scenarios of an experiment.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Report {
    /// Name of the workload.
    pub workload: String,
    /// Number of processes.
    pub processes: u32,
    /// The value of `platform.file`.
    pub platform: String,
    /// Number of Sets.
    pub sets: usize,
    /// Number of hosts.
    pub hosts: usize,
    /// Seed of all random numbers, for the text.
    #[serde(skip)]
    pub seed: u64,
    /// In the order i, ii, iii.
    pub runs: Vec<RunReport>,
}

/// Results of one scenario.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct RunReport {
    /// `i`, `ii` or `iii`.
    #[cfg_attr(feature = "schemas", schemars(extend("enum" = ["i", "ii", "iii"])))]
    pub scenario: &'static str,
    /// Simulated seconds from the start to the last halt.
    pub seconds: f64,
    /// Number of supersteps.
    pub supersteps: u64,
    /// Messages between processes.
    pub messages: u64,
    /// Bytes between processes.
    pub bytes: u64,
    /// Computation that the best mapping of every superstep would have saved, in seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attainable_seconds: Option<f64>,
    /// Computation that perfect balance would have saved, in seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub imbalance_seconds: Option<f64>,
    /// Bytes of the processes that moved.
    pub moved_bytes: u64,
    /// SHA-256 of the SHA-256 of each output, in rank order.
    #[cfg_attr(feature = "schemas", schemars(pattern("^[0-9a-f]{64}$")))]
    pub outputs_sha256: String,
    /// Description of the outputs, from a workload that verifies them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verified: Option<String>,
    /// The builds of the nodes, by host; none in a simulation.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub builds: Vec<Build>,
    /// How processes came to the nodes before the run, and what the client received after it, on real hosts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transfers: Option<TransferReport>,
    /// All rescheduling calls.
    pub calls: Vec<CallReport>,
    /// The hosts that joined, or that were to join and did not.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub joins: Vec<JoinSummary>,
    /// The checkpoints, if there are any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checkpoints: Option<CheckpointSummary>,
}

/// How processes came to the nodes before a run, and what its client received after it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct TransferReport {
    /// Until all nodes had the processes that start there: built, or sent by the client of a run that resumes another one.
    pub sending_seconds: f64,
    /// Bytes of the states that the client sent.
    pub sent_bytes: u64,
    /// From the end of the last superstep until all outputs were here.
    pub receiving_seconds: f64,
    /// Bytes of the outputs.
    pub received_bytes: u64,
}

impl TransferReport {
    const fn new(transfers: &Transfers) -> Self {
        Self {
            sending_seconds: transfers.sending.get(),
            sent_bytes: transfers.sent.bytes.0,
            receiving_seconds: transfers.receiving.get(),
            received_bytes: transfers.received.bytes.0,
        }
    }
}

/// One rescheduling call and its migrations.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct CallReport {
    /// The call.
    #[serde(flatten)]
    pub summary: CallSummary,
    /// Migrations.
    pub migrations: Vec<MigrationReport>,
}

/// One migration.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct MigrationReport {
    /// The process and its hosts.
    #[serde(flatten)]
    pub step: NamedMove,
    /// The potential of migration, PM, in seconds; none if a plan named the processor.
    pub potential: Option<f64>,
    /// Predicted superstep time on the target, in seconds; migration included, if it was negotiated.
    pub t1: f64,
    /// Predicted superstep time on the source, in seconds.
    pub t2: f64,
    /// Predicted cost of the migration, Mem, in seconds.
    pub cost_seconds: f64,
}

/// One row of the CSV: a migration, or a scenario without any.
#[derive(Debug, Serialize)]
struct Row<'a> {
    scenario: &'a str,
    seconds: f64,
    supersteps: u64,
    calls: usize,
    migrations: usize,
    superstep: Option<u64>,
    interval: Option<u32>,
    tolerance: Option<f64>,
    process: Option<&'a str>,
    from: Option<&'a str>,
    to: Option<&'a str>,
    potential: Option<f64>,
    t1: Option<f64>,
    t2: Option<f64>,
    cost_seconds: Option<f64>,
}

impl Report {
    /// The report of `runs`.
    pub fn new(loaded: &Loaded, platform: &Platform, runs: Vec<RunReport>) -> Self {
        let experiment = &loaded.experiment;
        Self {
            workload: experiment.application.workload.clone(),
            processes: experiment.application.processes,
            platform: experiment.platform.file.clone(),
            sets: platform.sets().len(),
            hosts: platform.hosts().len(),
            seed: experiment.run.seed,
            runs,
        }
    }

    /// The run of a scenario, if there was one.
    pub fn run(&self, scenario: Scenario) -> Option<&RunReport> {
        self.runs.iter().find(|run| run.scenario == scenario.name())
    }

    /// One row per migration, and one for each scenario without any.
    ///
    /// # Errors
    ///
    /// If the writer fails, which a buffer in memory does not.
    pub fn csv(&self, provenance: &Provenance) -> Result<String, Failure> {
        csv(CsvTable::new(Self::SCHEMA, provenance), &self.runs)
    }
}

impl Published for Report {
    const SCHEMA: &'static str = "migbsp.simulate/1";
}

/// `table` with one row per migration of `runs`, and one for each without any.
///
/// # Errors
///
/// If the writer fails, which a buffer in memory does not.
pub fn csv<'a>(
    mut table: CsvTable,
    runs: impl IntoIterator<Item = &'a RunReport>,
) -> Result<String, Failure> {
    for run in runs {
        if run.migrations() == 0 {
            table.push(Row::new(run, None))?;
        }
        for call in &run.calls {
            for migration in &call.migrations {
                table.push(Row::new(run, Some((call, migration))))?;
            }
        }
    }
    table.text()
}

impl RunReport {
    /// The report of `finished`, with the names of `platform`.
    pub fn new(scenario: Scenario, finished: &Finished, platform: &Platform) -> Self {
        Self {
            scenario: scenario.name(),
            seconds: finished.end.seconds.get(),
            supersteps: finished.end.supersteps,
            messages: finished.end.messages,
            bytes: finished.end.bytes.0,
            attainable_seconds: finished.end.attainable.map(Seconds::get),
            imbalance_seconds: finished.end.imbalance.map(Seconds::get),
            moved_bytes: finished.end.moved.0,
            outputs_sha256: finished.outputs_digest.clone(),
            verified: finished.verified.clone(),
            builds: finished.builds.clone(),
            transfers: finished.transfers.as_ref().map(TransferReport::new),
            calls: finished
                .calls
                .iter()
                .map(|call| CallReport::new(call, platform))
                .collect(),
            joins: {
                let name = |host| platform.host(host).name.clone();
                let joins = finished.joins.iter();
                joins.map(|join| JoinSummary::new(join, name)).collect()
            },
            checkpoints: CheckpointSummary::new(&finished.checkpoints, finished.end.seconds),
        }
    }

    /// Number of migrations.
    pub fn migrations(&self) -> usize {
        self.calls.iter().map(|call| call.migrations.len()).sum()
    }
}

impl CallReport {
    fn new(call: &Call, platform: &Platform) -> Self {
        let name = |host| platform.host(host).name.clone();
        let migrations = call.migrations.iter().map(|migration| MigrationReport {
            step: NamedMove::new(migration, name),
            potential: migration.potential.map(Seconds::get),
            t1: migration.t1.get(),
            t2: migration.t2.get(),
            cost_seconds: Seconds::get(migration.cost),
        });
        Self {
            summary: CallSummary::new(call),
            migrations: migrations.collect(),
        }
    }
}

impl<'a> Row<'a> {
    fn new(run: &'a RunReport, moved: Option<(&CallReport, &'a MigrationReport)>) -> Self {
        let (call, migration) = (moved.map(|moved| moved.0), moved.map(|moved| moved.1));
        Self {
            scenario: run.scenario,
            seconds: run.seconds,
            supersteps: run.supersteps,
            calls: run.calls.len(),
            migrations: run.migrations(),
            superstep: call.map(|call| call.summary.superstep),
            interval: call.and_then(|call| call.summary.interval),
            tolerance: call.and_then(|call| call.summary.tolerance),
            process: migration.map(|migration| migration.step.process.as_str()),
            from: migration.map(|migration| migration.step.from.as_str()),
            to: migration.map(|migration| migration.step.to.as_str()),
            potential: migration.and_then(|migration| migration.potential),
            t1: migration.map(|migration| migration.t1),
            t2: migration.map(|migration| migration.t2),
            cost_seconds: migration.map(|migration| migration.cost_seconds),
        }
    }
}

/// A rescheduling call, without its decisions.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct CallSummary {
    /// Number of completed supersteps.
    pub superstep: u64,
    /// Seconds from the start of the run to that of the call.
    pub at: f64,
    /// Seconds for which processes waited.
    pub cost_seconds: f64,
    /// Supersteps until the next call; `None` where the policy decides after each superstep.
    pub interval: Option<u32>,
    /// The tolerance until then, if the policy has one.
    pub tolerance: Option<f64>,
}

/// A migration, by names.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct NamedMove {
    /// As `p21`.
    #[cfg_attr(feature = "schemas", schemars(pattern("^p[1-9][0-9]*$")))]
    pub process: String,
    /// The source host.
    pub from: String,
    /// The target host.
    pub to: String,
}

impl CallSummary {
    /// The summary of a recorded call.
    #[must_use]
    pub fn new(call: &Call) -> Self {
        Self {
            superstep: call.superstep,
            at: call.at.get(),
            cost_seconds: call.cost.get(),
            interval: call.interval,
            tolerance: call.tolerance,
        }
    }
}

impl NamedMove {
    /// The names of a migration; `name` is that of a host.
    #[must_use]
    pub fn new(migration: &Migration, name: impl Fn(HostId) -> String) -> Self {
        Self {
            process: migration.rank.to_string(),
            from: name(migration.from),
            to: name(migration.to),
        }
    }
}

/// A host that has joined, or for which it was decided that it does not.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct JoinSummary {
    /// Its name.
    pub host: String,
    /// Number of completed supersteps.
    pub superstep: u64,
    /// Seconds from the start of the run until it was asked.
    pub asked: f64,
    /// Seconds from the start of the run until the last of the supersteps was complete.
    pub at: f64,
    /// Seconds that its preparation takes.
    pub creation_seconds: f64,
    /// Seconds that the rest was expected to take without it, if the program knows how much is done.
    pub remaining_seconds: Option<f64>,
    /// Seconds that it was expected to save.
    pub saves_seconds: Option<f64>,
    /// Whether it has joined.
    pub joined: bool,
    /// Seconds that processes waited for it and the hosts that joined with it.
    pub waited_seconds: f64,
    /// The processes that moved to it.
    pub processes: Vec<String>,
}

impl JoinSummary {
    /// The summary of what is recorded; `name` is that of a host.
    #[must_use]
    pub fn new(join: &Join, name: impl Fn(HostId) -> String) -> Self {
        Self {
            host: join.name.clone().unwrap_or_else(|| name(join.host)),
            superstep: join.superstep,
            asked: join.asked.get(),
            at: join.at.get(),
            creation_seconds: join.creation.get(),
            remaining_seconds: join.remaining.map(Seconds::get),
            saves_seconds: join.saves,
            joined: join.joined,
            waited_seconds: join.waited.unwrap_or(join.ended - join.at).get(),
            processes: join.processes.iter().map(ToString::to_string).collect(),
        }
    }
}

/// The checkpoints of a run that became complete, together.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct CheckpointSummary {
    /// Their number.
    pub number: usize,
    /// Seconds for which processes stood still, the longest of each checkpoint added up.
    pub stall_seconds: f64,
    /// The same as a part of the makespan.
    pub stall_part: f64,
    /// Processor seconds of encoding beside computations, per processor of the host where that was longest, added up.
    pub encoding_seconds: f64,
    /// Bytes of the states.
    pub bytes: u64,
    /// Bytes that hosts sent to their buddies.
    pub sent_bytes: u64,
    /// The most seconds of work that one failure would have lost: the longest time from the beginning of a checkpoint
    /// until the next was complete; the start of the run counts as one, and its end.
    pub risk_seconds: f64,
    /// The number of those that should be on disk and are not.
    #[serde(skip_serializing_if = "is_zero")]
    pub unwritten: usize,
}

impl CheckpointSummary {
    /// The summary of `checkpoints` in a run that took until `end`; `None` if there are none.
    #[must_use]
    pub fn new(checkpoints: &[Checkpoint], end: Instant) -> Option<Self> {
        if checkpoints.is_empty() {
            return None;
        }
        let sum =
            |of: fn(&Checkpoint) -> Seconds| checkpoints.iter().map(of).sum::<Seconds>().get();
        let bytes = |of: fn(&Checkpoint) -> Bytes| checkpoints.iter().map(of).sum::<Bytes>().0;
        let stall_seconds = sum(|checkpoint| checkpoint.stall);
        let mut risk = Seconds::ZERO;
        let mut begun = Instant::START;
        for checkpoint in checkpoints {
            risk = risk.max(checkpoint.complete - begun);
            begun = checkpoint.at;
        }
        Some(Self {
            number: checkpoints.len(),
            stall_seconds,
            stall_part: part(stall_seconds, end.get()),
            encoding_seconds: sum(|checkpoint| checkpoint.encoding),
            bytes: bytes(|checkpoint| checkpoint.bytes),
            sent_bytes: bytes(|checkpoint| checkpoint.sent),
            risk_seconds: risk.max(end - begun).get(),
            unwritten: checkpoints.iter().filter(|it| it.problem.is_some()).count(),
        })
    }

    /// What one of them cost on average: the stall, and the time that encoding took from processors.
    #[must_use]
    #[expect(
        clippy::missing_panics_doc,
        reason = "a mean of finite times is finite"
    )]
    pub fn cost(&self) -> Seconds {
        let sum = self.stall_seconds + self.encoding_seconds;
        Seconds::new(sum / self.number.max(1) as f64).expect("a mean of finite times")
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde gives a reference")]
const fn is_zero(number: &usize) -> bool {
    *number == 0
}

fn part(of: f64, whole: f64) -> f64 {
    if 0.0 < whole { of / whole } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_at_risk_is_the_time_until_the_next_checkpoint_is_complete() {
        let checkpoint = |(superstep, at, complete): (u64, f64, f64)| Checkpoint {
            superstep,
            at: Instant::new(at).unwrap(),
            stall: Seconds::new(0.5).unwrap(),
            encoding: Seconds::new(0.25).unwrap(),
            bytes: Bytes(100),
            sent: Bytes(10),
            complete: Instant::new(complete).unwrap(),
            problem: None,
            held: false,
        };
        let all: Vec<Checkpoint> = [(4, 2.0, 3.0), (9, 5.0, 9.5)].map(checkpoint).to_vec();
        let end = |seconds| Instant::new(seconds).unwrap();
        let summary = CheckpointSummary::new(&all, end(10.0)).unwrap();
        assert_eq!(
            summary,
            CheckpointSummary {
                number: 2,
                stall_seconds: 1.0,
                stall_part: 0.1,
                encoding_seconds: 0.5,
                bytes: 200,
                sent_bytes: 20,
                risk_seconds: 7.5,
                unwritten: 0,
            }
        );
        assert!((summary.cost().get() - 0.75).abs() < 1e-12);
        let later = CheckpointSummary::new(&all, end(20.0)).unwrap();
        assert!((later.risk_seconds - 15.0).abs() < 1e-12);
        assert_eq!(CheckpointSummary::new(&[], end(20.0)), None);
    }
}
