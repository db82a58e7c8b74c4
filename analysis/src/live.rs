//! Runs on real hosts, as reports.

use std::path::{Path, PathBuf};

use bsp::numbers::{index, position};
use bsp::units::{Bytes, Seconds};
use experiments::record::Manifest;
use experiments::submission::scenario;
use experiments::{
    CsvTable, Failure, PreparedExperiment, Provenance, Published, Registry, RunReport, Scenario,
    TransferReport, csv_of_run, record_name,
};
use record::{Event, LostHost, ResumedRun, Run, ViewChange};
use serde::Serialize;

use crate::advise::{Advice, Settings, advice};
use crate::document::{Answer, Document, Table};
use crate::explain::MoveReport;
use crate::run::{Balance, RunReading, Scope};
use crate::sentences;
use crate::simulate::{more_rows, shortened};
use crate::text::{counted, data, duration, rounded};

/// Results of a run on real hosts, for `--format json`.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
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
    /// The views of the job, and the time of all of them together; not set: the run ends when a node is lost.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    views: Option<Views>,
    /// The result, of the last view.
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

/// The views of a job that goes on when a node is lost.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Views {
    /// The time of all views together and of what was between them, as the client measured it, from its start on.
    #[serde(rename = "total_seconds")]
    pub seconds: f64,
    /// The views, the first one first.
    pub views: Vec<ViewReport>,
}

/// A view of a job.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct ViewReport {
    /// Its number.
    number: u64,
    /// Why it began: `start`; `lost`, without a node; `joined`, with another one and without none; or `leader`, when the client is lost
    /// or has left.
    #[cfg_attr(feature = "schemas", schemars(extend("enum" = ["start", "lost", "joined", "leader"])))]
    reason: &'static str,
    /// The hosts that take part.
    hosts: Vec<String>,
    /// The hosts of the view before that take no part any more.
    lost: Vec<LostHost>,
    /// The hosts that were not in the view before.
    joined: Vec<String>,
    /// The node that leads it; not set: the client does.
    leader: Option<String>,
    /// The superstep with which it began.
    superstep: u64,
    /// The number of supersteps that were complete and are executed again.
    repeated_supersteps: u64,
    /// For how long the first lost node had been silent; not set: it was not, or the view is the first.
    detected_seconds: Option<f64>,
    /// From the first loss, or from when processes were held, until the nodes began; not set: the view is the first.
    restored_seconds: Option<f64>,
    /// The name of the folder of its record; not set: there is none.
    record: Option<String>,
    /// How it began, for the text; not set: the view is the first.
    #[serde(skip)]
    sentence: Option<String>,
}

impl ViewReport {
    /// The view of `prepared`, which has a record if it `is_recorded`.
    pub fn new(prepared: &PreparedExperiment, is_recorded: bool) -> Self {
        let view = prepared.view.as_ref();
        let hosts = prepared.platform.hosts().iter();
        let resumed = prepared.resumed.as_ref();
        Self {
            number: view.map_or(1, |view| view.number),
            reason: match view {
                None => "start",
                Some(view) if !view.lost.is_empty() => "lost",
                Some(view) if !view.joined.is_empty() => "joined",
                Some(_) => "leader",
            },
            hosts: hosts.map(|host| host.name.clone()).collect(),
            lost: view.map_or_else(Vec::new, |view| view.lost.clone()),
            joined: view.map_or_else(Vec::new, |view| view.joined.clone()),
            leader: view.and_then(|view| view.leader.clone()),
            superstep: resumed.map_or(0, |resumed| resumed.superstep),
            repeated_supersteps: view.map_or(0, |view| view.repeats),
            detected_seconds: view.and_then(|view| view.detected).map(Seconds::get),
            restored_seconds: view.map(|view| view.restored.get()),
            record: is_recorded.then(|| record_name(scenario(prepared), view)),
            sentence: view.map(|view| {
                format!(
                    "{}. The nodes began {} after {}.",
                    view_sentence(view, prepared.platform.hosts().len()),
                    duration(view.restored.get()),
                    if view.lost.is_empty() && !view.joined.is_empty() {
                        "processes were held"
                    } else {
                        "the loss was known"
                    }
                )
            }),
        }
    }

    /// Its number.
    pub const fn number(&self) -> u64 {
        self.number
    }

    /// It has no record.
    pub fn set_unrecorded(&mut self) {
        self.record = None;
    }
}

/// How a job goes on in a view of this number of hosts, as a sentence without its stop.
pub fn view_sentence(view: &ViewChange, hosts: usize) -> String {
    let ViewChange {
        number,
        lost,
        joined,
        leader,
        superstep,
        repeats,
        ..
    } = view;
    let reasons = lost.iter().map(|lost| lost.reason.clone());
    let leads = |leader| {
        if lost.is_empty() {
            format!("the client is lost or has left, and {leader} leads the job")
        } else {
            format!("{leader} leads the job")
        }
    };
    // Nodes join a leader that was there before.
    let leader = leader.as_ref().filter(|_| joined.is_empty());
    let leads = leader.map(leads);
    let joined = joined.iter().map(|name| format!("{name} takes part"));
    let reasons: Vec<String> = reasons.chain(leads).chain(joined).collect();
    let from = match superstep {
        0 => "again from its beginning".to_owned(),
        superstep => format!("from superstep {superstep}"),
    };
    format!(
        "{}; the job goes on {from} on {} (view {number}), and repeats {}",
        reasons.join("; "),
        counted(hosts, "node"),
        counted(position(*repeats), "superstep")
    )
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
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
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
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
struct LiveMove {
    /// Number of complete supersteps.
    superstep: u64,
    #[serde(flatten)]
    took: MoveReport,
}

/// The events that a report needs.
#[derive(Debug)]
pub struct Watch {
    reading: RunReading,
}

impl Watch {
    /// Before the first event of a run whose record would begin like this.
    ///
    /// # Errors
    ///
    /// If the configuration is none of an experiment.
    pub fn new((manifest, run): (Manifest, Run)) -> Result<Self, Failure> {
        Ok(Self {
            reading: RunReading::of((Path::new(""), run), manifest, Scope::default())?,
        })
    }

    /// The next event of the run.
    pub fn observe(&mut self, event: &Event) {
        self.reading.take(event);
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
        let model = watch.reading.clone().so_far();
        let mut placement = prepared.placement.clone();
        let name = |host| platform.host(host).name.clone();
        let mut moves = Vec::new();
        for call in &model.calls {
            for migration in &call.migrations {
                placement[migration.rank.index()] = migration.to;
            }
            moves.extend(call.moves(name).map(|took| LiveMove {
                superstep: call.summary.superstep,
                took,
            }));
        }
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
            views: None,
            run,
            placement: placement.into_iter().map(name).collect(),
            payback: model.balance,
            round: model.run.round.length,
            moves,
            simulation,
            advice: advice(&model.evidence, &settings),
            policy: scheduler.policy_name(),
        }
    }

    /// The same report, with the views of the job if it has any.
    #[must_use]
    pub fn with_views(self, views: Option<Views>) -> Self {
        Self { views, ..self }
    }

    /// The run.
    pub const fn run(&self) -> &RunReport {
        &self.run
    }
}

impl Answer for Report {
    fn document(&self) -> Document {
        let processes = index(self.processes);
        let first = self.resumed.as_ref().map_or(0, |resumed| resumed.superstep);
        let supersteps = self.run.supersteps.saturating_sub(first);
        let supersteps = position(supersteps);
        let mut document = Document::default();
        document.say(format!(
            "{} of {} on {} in {} under {}: {} in {}",
            counted(processes, "process"),
            self.workload,
            counted(self.hosts.len(), "host"),
            counted(self.sets, "Set"),
            self.policy,
            counted(supersteps, "superstep"),
            duration(self.run.seconds),
        ));
        let views = self.views.iter().flat_map(|views| &views.views);
        let later: Vec<&String> = views.filter_map(|view| view.sentence.as_ref()).collect();
        if later.is_empty()
            && let Some(resumed) = &self.resumed
        {
            document.say(sentences::resumed(resumed));
        }
        for sentence in later {
            document.say(sentence);
        }
        for join in &self.run.joins {
            document.say(sentences::joined(join));
        }
        let rows = self.run.calls.iter().flat_map(|call| {
            let migrations = call.migrations.iter();
            migrations.map(move |migration| (&call.summary, migration))
        });
        let table = Table::of(
            rows,
            &[
                ("after", &|(call, _)| call.superstep.to_string()),
                ("process", &|(_, moved)| moved.step.process.clone()),
                ("from", &|(_, moved)| moved.step.from.clone()),
                ("to", &|(_, moved)| moved.step.to.clone()),
                ("t1 ms", &|(_, moved)| rounded(moved.t1 * 1e3, 3)),
                ("t2 ms", &|(_, moved)| rounded(moved.t2 * 1e3, 3)),
                ("call ms", &|(call, _)| rounded(call.cost_seconds * 1e3, 3)),
            ],
        );
        if table.rows().is_empty() {
            let calls = counted(self.run.calls.len(), "call");
            document.say(format!("No process moved in {calls}."));
        } else {
            document.table(table.dispensing(&[4, 5, 6]).cut(ROWS, more_rows));
        }
        let sentences = [
            self.run.transfers.as_ref().and_then(transfers),
            self.run.checkpoints.as_ref().map(sentences::checkpoints),
            self.payback.map(|payback| payback.sentence(self.round)),
            self.simulation.as_ref().map(SimulationReport::sentence),
            self.run.verified.as_deref().map(shortened),
        ];
        let advice = self.advice.iter().map(Advice::sentence);
        for sentence in sentences.into_iter().flatten().chain(advice) {
            document.say(sentence);
        }
        document
    }

    fn csv(&self, provenance: &Provenance) -> Result<String, Failure> {
        let table = CsvTable::new(Self::SCHEMA, provenance);
        csv_of_run(table, [&self.run])
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
        let coming = match transfers.sent_bytes {
            0 => format!("Building the processes took {}", duration(sending)),
            sent => format!("Sending the processes took {} ({})", duration(sending), size(sent)),
        };
        format!(
            "{coming} before the first superstep, and receiving their outputs {} ({}) after the last.",
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

/// Why processes of `prepared` have no reason to move, or no way to, on real hosts. `plays`: nodes play the platform of the
/// experiment.
///
/// # Errors
///
/// If this binary does not know the workload.
pub fn hints(
    prepared: &PreparedExperiment,
    registry: &Registry,
    plays: bool,
) -> Result<Vec<String>, Failure> {
    let experiment = &prepared.loaded.experiment;
    let mut hints = Vec::new();
    let name = &experiment.application.workload;
    if registry.find(name, None)?.is_model() && !plays {
        hints.push(format!(
            "{name} is a model: it charges for computations that it does not execute, so it takes no time on real hosts, \
             and a slow host is as fast as the others; `up --play -- run FILE` plays what it charges"
        ));
    }
    let policy = experiment.scheduler.policy.as_ref();
    let moves_between_sets = policy.is_some_and(|policy| !policy.names_processors())
        && scenario(prepared) == Scenario::Iii
        && prepared.script.is_none();
    if moves_between_sets && prepared.platform.sets().len() == 1 {
        let policy = &experiment.scheduler.policy_name();
        hints.push(format!(
            "the policy {policy} moves processes between Sets alone, and there is one Set: no process will move; try \
             `--policy adaptive`, or hosts in several Sets"
        ));
    }
    Ok(hints)
}

#[cfg(test)]
mod tests {
    use super::*;
    use experiments::load_text_for_cluster;
    use experiments::submission::{JobHosts, request};
    use protocol::Member;

    /// The hints about the experiment in `text` on two hosts in these Sets.
    fn hinted(text: &str, sets: [&str; 2], plays: bool) -> Vec<String> {
        let registry = Registry::shipped();
        let loaded = load_text_for_cluster(text, "the test", &registry).unwrap();
        let members = [("a", sets[0]), ("b", sets[1])].map(|(name, set)| Member {
            name: name.to_owned(),
            address: String::new(),
            set: set.to_owned(),
            slots: 1,
            speed: 1.0,
        });
        let (prepared, _) =
            request(&loaded, &JobHosts::of(&members), &registry, false, plays).unwrap();
        hints(&prepared, &registry, plays).unwrap()
    }

    #[test]
    fn models_and_policies_that_cannot_move_are_named_and_adaptive_is_the_default() {
        let of = |workload: &str, more: &str| {
            format!(
                "[application]\nworkload = \"{workload}\"\nprocesses = 4\nsupersteps = 8\n{more}"
            )
        };
        let (one, two) = (["x", "x"], ["x", "y"]);
        let none: [String; 0] = [];
        assert_eq!(hinted(&of("heat", ""), one, false), none);
        let model = hinted(&of("synthetic", ""), one, false);
        assert_eq!(model.len(), 1);
        assert!(
            model[0].starts_with("synthetic is a model: ") && model[0].contains("up --play"),
            "{model:?}"
        );
        assert_eq!(hinted(&of("synthetic", ""), one, true), none);
        let paper = of("heat", "[scheduler]\npolicy = \"migbsp\"");
        let still = hinted(&paper, one, false);
        assert!(
            still.len() == 1 && still[0].contains("between Sets alone, and there is one Set"),
            "{still:?}"
        );
        assert_eq!(hinted(&paper, two, false), none);
        // What does not move processes anyway needs no hint.
        for scheduler in [
            "policy = \"none\"",
            "policy = \"migbsp\"\nscenario = \"ii\"",
        ] {
            assert_eq!(
                hinted(
                    &of("heat", &format!("[scheduler]\n{scheduler}")),
                    one,
                    false
                ),
                none
            );
        }
    }
}
