//! Results of a run on real hosts.

use std::path::PathBuf;

use agents::record::{Event, Migration, Moved, ResumedRun};
use bsp::units::Seconds;
use serde::Serialize;

use crate::checkpoints;
use crate::live::payback::{Payback, PaybackMeter};
use crate::move_report::MoveReport;
use crate::resumed;
use crate::simulate::shortened;
use crate::text::{Layout, counted, duration, rounded};
use experiments::PreparedExperiment;
use experiments::Published;
use experiments::RunReport;

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
    /// The gain of the migrations; not set: there were none.
    payback: Option<Payback>,
    /// What every move took, beside what was predicted.
    moves: Vec<LiveMove>,
    /// The same run in simulation; not set: its nodes played no platform.
    simulation: Option<SimulationReport>,
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
#[derive(Debug, Default)]
pub struct Watch {
    meter: PaybackMeter,
    /// The processes that have arrived since the last call.
    arrivals: Vec<Moved>,
    moves: Vec<(u64, Migration, Option<Moved>)>,
}

impl Watch {
    /// Something happened.
    pub fn observe(&mut self, event: &Event) {
        self.meter.observe(event);
        match event {
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
            payback: watch.meter.payback(),
            moves,
            simulation,
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
            "{} of {} on {} in {}: {} in {}\n\n",
            counted(processes, "process"),
            self.workload,
            counted(self.hosts.len(), "host"),
            counted(self.sets, "Set"),
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
        if let Some(checkpoints) = &self.run.checkpoints {
            text.push_str(&format!("\n{}\n", checkpoints::sentence(checkpoints)));
        }
        if let Some(payback) = &self.payback {
            text.push_str(&format!("\n{}\n", payback.sentence()));
        }
        if let Some(simulation) = &self.simulation {
            text.push_str(&format!("\n{}\n", simulation.sentence()));
        }
        if let Some(verified) = &self.run.verified {
            text.push_str(&format!("\n{}\n", shortened(verified)));
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

impl Published for Report {
    const SCHEMA: &'static str = "migbsp.live/1";
}

/// Number of migrations that are shown.
const ROWS: usize = 20;
