//! Results of a run on real hosts.

use std::path::{Path, PathBuf};

use bsp::units::{Bytes, Seconds};
use record::{Event, Extent, Migration, Moved, ResumedRun, Run};
use serde::Serialize;

use crate::advice::{Advice, Evidence, Settings, advice};
use crate::checkpoints;
use crate::explain::{Balance, Reading};
use crate::move_report::MoveReport;
use crate::resumed;
use crate::simulate::shortened;
use crate::text::{Layout, counted, data, duration, rounded};
use experiments::Failure;
use experiments::PreparedExperiment;
use experiments::Published;
use experiments::RunReport;
use experiments::TransferReport;
use experiments::record::Manifest;
use experiments::submission::scenario;

/// Results of a run on real hosts, for `--format json`.
#[derive(Debug, Serialize)]
pub struct Report {
    /// Name of the workload.
    workload: String,
    /// Number of processes.
    processes: u32,
    /// The hosts, Set by Set.
    hosts: Vec<String>,
    /// Number of Sets.
    sets: usize,
    /// The checkpoint that the run resumes, if it does.
    #[serde(skip_serializing_if = "Option::is_none")]
    resumed: Option<ResumedRun>,
    /// The result.
    run: RunReport,
    /// The final host of every process, by rank.
    placement: Vec<String>,
    /// The gain of the migrations; not set: there were none, or no superstep followed.
    payback: Option<Balance>,
    /// Number of supersteps of a round, for the text.
    #[serde(skip)]
    round: u64,
    /// What every move took, beside what was predicted.
    moves: Vec<LiveMove>,
    /// The same run in simulation; not set: its nodes played no platform.
    simulation: Option<SimulationReport>,
    /// What to try next, the most valuable first.
    advice: Vec<Advice>,
    /// The name of the policy, for the text.
    #[serde(skip)]
    policy: String,
}

/// The simulation of a run whose nodes play the platform of its experiment.
#[derive(Clone, Debug)]
pub struct Simulated {
    /// The file of the platform.
    pub platform: PathBuf,
    /// The makespan in simulation.
    pub makespan: Seconds,
}

/// A run in simulation, beside the live one.
#[derive(Debug, Serialize)]
struct SimulationReport {
    /// The file of the platform that nodes played.
    platform: String,
    /// The makespan in simulation.
    seconds: f64,
    /// The makespan of the live run divided by it.
    live_over_simulated: f64,
}

/// A move, with the number of complete supersteps.
#[derive(Debug, Serialize)]
struct LiveMove {
    superstep: u64,
    #[serde(flatten)]
    took: MoveReport,
}

/// The events that a report needs.
#[derive(Debug)]
pub struct Watch {
    /// What explanations of the record are made of.
    reading: Reading,
    round: u64,
    supersteps: u64,
    evidence: Evidence,
    /// The processes that have arrived since the last call.
    arrivals: Vec<Moved>,
    moves: Vec<(u64, Migration, Option<Moved>)>,
}

impl Watch {
    /// Before the first event of a run whose record would begin like this.
    ///
    /// # Errors
    ///
    /// If the configuration is none of an experiment.
    pub fn new((manifest, run): (Manifest, Run)) -> Result<Self, Failure> {
        let (round, supersteps) = (run.round.length, run.first_superstep());
        Ok(Self {
            reading: Reading::of((Path::new(""), run), &manifest, None)?,
            round,
            supersteps,
            evidence: Evidence::default(),
            arrivals: Vec::new(),
            moves: Vec::new(),
        })
    }

    /// The gain of all moves, as an explanation of the record would have it.
    fn balance(&self) -> Option<Balance> {
        let extent = Extent {
            is_complete: false,
            has_end: false,
            supersteps: self.supersteps,
            is_torn: false,
        };
        Balance::of(&self.reading.clone().end_alone(extent))
    }

    /// Something happened.
    pub fn observe(&mut self, event: &Event) {
        self.reading.take(event);
        self.evidence.observe(event);
        match event {
            Event::Superstep(superstep) => self.supersteps = superstep.index + 1,
            Event::Moved(moved) => self.arrivals.push(*moved),
            Event::Call(call) => {
                let arrivals = std::mem::take(&mut self.arrivals);
                let arrival = |rank| arrivals.iter().find(|moved| moved.rank == rank).copied();
                let migrations = call.migrations.iter();
                let moves = migrations
                    .map(|migration| (call.superstep, *migration, arrival(migration.rank)));
                self.moves.extend(moves);
            }
            _ => {}
        }
    }
}

impl Report {
    /// The report of `run`, which `watch` has followed.
    /// `simulated` is the same run in simulation, if the nodes played its platform.
    pub fn new(
        prepared: &PreparedExperiment,
        run: RunReport,
        watch: &Watch,
        simulated: Option<&Simulated>,
    ) -> Self {
        let platform = &prepared.platform;
        let mut placement = prepared.placement.clone();
        for (_, migration, _) in &watch.moves {
            placement[migration.rank.index()] = migration.to;
        }
        let name = |host| platform.host(host).name.clone();
        let moves = watch
            .moves
            .iter()
            .map(|(superstep, migration, moved)| LiveMove {
                superstep: *superstep,
                took: MoveReport::new(migration, moved.as_ref(), name),
            });
        let moves = moves.collect();
        let application = &prepared.loaded.experiment.application;
        let scheduler = &prepared.loaded.experiment.scheduler;
        let settings = Settings::new(scheduler, scenario(prepared));
        let simulation = simulated.map(|simulated| SimulationReport {
            platform: simulated.platform.display().to_string(),
            seconds: simulated.makespan.get(),
            live_over_simulated: run.seconds / simulated.makespan.get(),
        });
        Self {
            workload: application.workload.clone(),
            processes: application.processes,
            hosts: platform
                .hosts()
                .iter()
                .map(|host| host.name.clone())
                .collect(),
            sets: platform.sets().len(),
            resumed: prepared.resumed.clone(),
            run,
            placement: placement
                .iter()
                .map(|host| platform.host(*host).name.clone())
                .collect(),
            payback: watch.balance(),
            round: watch.round,
            moves,
            simulation,
            advice: advice(&watch.evidence, &settings),
            policy: scheduler.policy_name(),
        }
    }

    /// The run.
    pub const fn run(&self) -> &RunReport {
        &self.run
    }

    /// For people.
    pub fn text(&self, layout: Layout) -> String {
        let processes = usize::try_from(self.processes).unwrap_or(usize::MAX);
        let first = self.resumed.as_ref().map_or(0, |resumed| resumed.superstep);
        let supersteps = self.run.supersteps.saturating_sub(first);
        let supersteps = usize::try_from(supersteps).unwrap_or(usize::MAX);
        let mut text = format!(
            "{} of {} on {} in {} under {}: {} in {}\n\n",
            counted(processes, "process"),
            self.workload,
            counted(self.hosts.len(), "host"),
            counted(self.sets, "Set"),
            self.policy,
            counted(supersteps, "superstep"),
            duration(self.run.seconds),
        );
        if let Some(resumed) = &self.resumed {
            text.push_str(&format!("{}\n\n", resumed::sentence(resumed)));
        }
        let rows = self.run.calls.iter().flat_map(|call| {
            call.migrations.iter().map(|migration| {
                vec![
                    call.summary.superstep.to_string(),
                    migration.step.process.clone(),
                    migration.step.from.clone(),
                    migration.step.to.clone(),
                    rounded(migration.t1 * 1e3, 3),
                    rounded(migration.t2 * 1e3, 3),
                    rounded(call.summary.cost_seconds * 1e3, 3),
                ]
            })
        });
        let rows: Vec<_> = rows.collect();
        if rows.is_empty() {
            let calls = counted(self.run.calls.len(), "call");
            text.push_str(&format!("No process moved in {calls}.\n"));
        } else {
            let headers = [
                "after", "process", "from", "to", "t1 ms", "t2 ms", "call ms",
            ];
            let (shown, more) = layout.cut(rows.len(), ROWS);
            let rows = rows.into_iter().take(shown);
            text.push_str(&layout.reduced_table(&headers, rows, &[4, 5, 6]));
            if 0 < more {
                text.push_str(&format!(
                    " … {more} more; --all or --format json shows all of them\n"
                ));
            }
        }
        if let Some(sentence) = self.run.transfers.as_ref().and_then(transfers) {
            text.push_str(&format!("\n{sentence}\n"));
        }
        if let Some(checkpoints) = &self.run.checkpoints {
            text.push_str(&format!("\n{}\n", checkpoints::sentence(checkpoints)));
        }
        if let Some(payback) = &self.payback {
            text.push_str(&format!("\n{}\n", payback.sentence(self.round)));
        }
        if let Some(simulation) = &self.simulation {
            text.push_str(&format!("\n{}\n", simulation.sentence()));
        }
        if let Some(verified) = &self.run.verified {
            text.push_str(&format!("\n{}\n", shortened(verified)));
        }
        for advice in &self.advice {
            text.push_str(&format!("\n{}\n", advice.sentence()));
        }
        text
    }
}

impl SimulationReport {
    /// The same as a sentence.
    fn sentence(&self) -> String {
        format!(
            "The simulation of {} takes {}: live over simulated {}.",
            self.platform,
            duration(self.seconds),
            rounded(self.live_over_simulated, 3)
        )
    }
}

/// How long processes and outputs were on their way; `None` if that is hardly noticed.
fn transfers(transfers: &TransferReport) -> Option<String> {
    let (sending, receiving) = (transfers.sending_seconds, transfers.receiving_seconds);
    let size = |bytes: u64| data(Bytes(bytes).as_f64());
    (NOTICED <= sending + receiving).then(|| {
        format!(
            "Sending the processes took {} ({}) before the first superstep, and receiving their outputs {} ({}) after the \
             last.",
            duration(sending),
            size(transfers.sent_bytes),
            duration(receiving),
            size(transfers.received_bytes)
        )
    })
}

/// Seconds that are noticed.
const NOTICED: f64 = 1.0;

impl Published for Report {
    const SCHEMA: &'static str = "migbsp.live/1";
}

/// Number of migrations that are shown.
const ROWS: usize = 20;
