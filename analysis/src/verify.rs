//! `migbsp verify`: recomputes the decisions of a recorded run, and reports differences.

use std::collections::BTreeSet;
use std::path::Path;

use agents::Checkpointing;
use agents::replay::{Checked, Difference, Replay, ReplayError};
use bsp::HostId;
use experiments::record::{Manifest, adapted, fault, manifest, shortfall};
use experiments::{
    CheckpointSection, Failure, Provenance, Published, Registry, Scenario, Scheduler,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use settings::{Fault, Node, tree_of};

use crate::document::{Answer, Document, Table, csv};
use crate::text::counted;

/// Decides the calls of the run in `folder` again. Returns the comparison, and whether the run ended.
///
/// # Errors
///
/// If the record cannot be read, or its configuration is no scheduler.
pub fn verify(
    folder: &Path,
    registry: &Registry,
) -> Result<(Report, Result<(), Failure>), Failure> {
    let manifest = manifest(folder)?;
    let run = record::head(folder).map_err(fault)?;
    let at_fault = |problem: String| Failure::input(format!("{}: {problem}", folder.display()));
    let configured = configured(
        (&manifest.configuration["scheduler"], folder),
        &manifest.scenario,
        &run,
        registry,
    );
    let (policy, scheduler) = configured.map_err(|problem| at_fault(problem.to_string()))?;
    let broken = |error: ReplayError| at_fault(error.to_string());
    let absent = if manifest.is_measured() {
        // A host that joins real ones begins another view, which has a record of its own.
        BTreeSet::new()
    } else {
        absent(&manifest.configuration["elasticity"], &run)
    };
    let checkpointing = checkpointing(&manifest, folder);
    let checkpointing = checkpointing.map_err(|problem| at_fault(problem.to_string()))?;
    let replay = Replay::new(scheduler, &run, absent).map_err(broken)?;
    let mut replay = replay.with_checkpoints(checkpointing.as_ref());
    let mut report = Report::new(Head {
        record: folder.display().to_string(),
        scenario: manifest.scenario,
        policy,
        processes: run.placement.len(),
        is_complete: true,
        shortfall: None,
        checkpoints: 0,
    });
    let failure = manifest.failure;
    let mut ended = Ok(());
    let take = |event| {
        if ended.is_err() {
            return;
        }
        report.head.checkpoints += usize::from(matches!(event, record::Event::Checkpoint(_)));
        match replay.take(event) {
            Ok(checked) => report.calls.extend(checked.map(Into::into)),
            Err(error) => ended = Err(broken(error)),
        }
    };
    let extent = record::scan(folder, |_| true, take).map_err(fault)?;
    report.head.is_complete = extent.is_complete;
    report.head.shortfall = shortfall(&extent, failure.as_ref());
    Ok((report, ended))
}

/// The hosts that are not there at the start, as the `section` of a record's configuration names them.
fn absent(section: &Value, run: &record::Run) -> BTreeSet<HostId> {
    let names = section["pool"].as_array().into_iter().flatten();
    let host = |name: &Value| {
        run.hosts
            .iter()
            .position(|host| Some(host.as_str()) == name.as_str())
    };
    names.filter_map(host).map(HostId::from_index).collect()
}

/// The checkpoints that the configuration of a record in `folder` describes.
///
/// # Errors
///
/// If it describes none that this version knows.
pub(crate) fn checkpointing(
    manifest: &Manifest,
    folder: &Path,
) -> Result<Option<Checkpointing>, Fault> {
    let node = Node::deserialize(&manifest.configuration["checkpoint"])
        .map_err(|error| Fault::new(None, "checkpoint", error.to_string()))?;
    let section = ("checkpoint", &node);
    let section = adapted(folder, section, CheckpointSection::of, |section| {
        tree_of(section)
    })?;
    Ok(section.options())
}

/// The name of the policy, and the scheduler that the `section` of a record's configuration describes.
fn configured(
    (section, folder): (&Value, &Path),
    scenario: &str,
    run: &record::Run,
    registry: &Registry,
) -> Result<(String, Option<agents::Scheduler>), Fault> {
    let written = |problem: String| Fault::new(None, "scheduler", problem);
    let node: Node = Node::deserialize(section).map_err(|error| written(error.to_string()))?;
    let read = |node: &Node| Scheduler::new(node, registry.policies());
    let section = ("scheduler", &node);
    let scheduler = adapted(folder, section, read, Scheduler::effective)?;
    let scenario = Scenario::named(scenario)
        .ok_or_else(|| written(format!("there is no scenario {scenario:?}")))?;
    let processes = u32::try_from(run.placement.len())
        .expect("the number of processes of a record fits 32 bits");
    let host = |name: &str| {
        let position = run.hosts.iter().position(|host| host == name);
        let position = position.ok_or_else(|| format!("the run has no host {name:?}"))?;
        Ok(HostId::from_index(position))
    };
    let script = experiments::script(&scheduler.orders, &node, processes, host);
    let script = match script {
        // A job that resumes, or goes on without a node, leaves out a script that names other hosts.
        Err(_) if run.resumed.is_some() || run.view.is_some() => None,
        script => script?,
    };
    Ok((
        scheduler.policy_name(),
        // What probes found is in the record.
        scheduler.agents(scenario, script, 0),
    ))
}

/// Results of a verification, for `--format json`.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Report {
    #[serde(flatten)]
    head: Head,
    /// Every call, and calls that the record lacks.
    calls: Vec<Call>,
}

/// Which run.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
struct Head {
    /// Folder of the record.
    record: String,
    /// Its scenario.
    #[cfg_attr(feature = "schemas", schemars(extend("enum" = ["i", "ii", "iii"])))]
    scenario: String,
    /// The name of the policy, for the text.
    #[serde(skip)]
    policy: String,
    /// Number of processes.
    processes: usize,
    /// Whether the record has the whole run and its result.
    #[serde(rename = "complete")]
    is_complete: bool,
    /// What it lacks otherwise, in sentences.
    #[serde(skip_serializing_if = "Option::is_none")]
    shortfall: Option<String>,
    /// The number of checkpoints, each held to the interval between them.
    #[serde(skip_serializing_if = "is_zero")]
    checkpoints: usize,
}

/// Result for one call.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
struct Call {
    /// Number of supersteps completed before it.
    superstep: u64,
    /// Processes that took part.
    processes: usize,
    /// Number of candidates.
    candidates: usize,
    /// Number of processes that moved.
    moves: usize,
    /// What is not as recorded.
    differences: Vec<Difference>,
}

impl Report {
    fn new(head: Head) -> Self {
        Self {
            head,
            calls: Vec::new(),
        }
    }

    /// The first difference in the first call that differs.
    pub fn first(&self) -> Option<String> {
        let mut calls = self.calls.iter();
        let first = calls.find(|call| !call.differences.is_empty())?;
        let after = first.superstep;
        Some(format!("after superstep {after} {}", first.verdict()))
    }
}

impl Published for Report {
    const SCHEMA: &'static str = "migbsp.verify/1";
}

impl Call {
    /// `verified`, or the difference.
    fn verdict(&self) -> String {
        let Some(first) = self.differences.first() else {
            return "verified".to_owned();
        };
        let Difference {
            what,
            recorded,
            recomputed,
        } = first;
        let more = match self.differences.len() - 1 {
            0 => String::new(),
            more => format!("; {more} more"),
        };
        format!("differs: {what}: recorded {recorded}, recomputed {recomputed}{more}")
    }
}

impl From<Checked> for Call {
    fn from(checked: Checked) -> Self {
        Self {
            superstep: checked.superstep,
            processes: checked.processes,
            candidates: checked.candidates,
            moves: checked.moves,
            differences: checked.differences,
        }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
fn is_zero(number: &usize) -> bool {
    *number == 0
}

impl Answer for Report {
    fn document(&self) -> Document {
        let head = &self.head;
        let mut document = Document::default();
        document.say(format!(
            "{}: scenario {}, policy {}, {} processes",
            head.record, head.scenario, head.policy, head.processes
        ));
        if let Some(shortfall) = &head.shortfall {
            document.say(shortfall);
        }
        let calls = &self.calls;
        if !calls.is_empty() {
            document.table(Table::of(
                calls,
                &[
                    ("after", &|call| call.superstep.to_string()),
                    ("processes", &|call| call.processes.to_string()),
                    ("candidates", &|call| call.candidates.to_string()),
                    ("moves", &|call| call.moves.to_string()),
                    ("", &|call| call.verdict()),
                ],
            ));
        }
        let differing = calls.iter().filter(|call| !call.differences.is_empty());
        let moves: usize = calls.iter().map(|call| call.moves).sum();
        let mut verdict = match (calls.len(), differing.count()) {
            (0, _) if head.shortfall.is_some() => "No call is complete.".to_owned(),
            (0, _) => "No call was held, and none was due.".to_owned(),
            (number, 0) => format!(
                "{} with {} verified: decided again from what was observed, all is as recorded, to the last digit.",
                counted(number, "call"),
                counted(moves, "move"),
            ),
            (number, differing) => {
                let all = counted(number, "call");
                format!(
                    "Decided again from what was observed, {differing} of {all} went otherwise than recorded."
                )
            }
        };
        if 0 < head.checkpoints {
            let number = counted(head.checkpoints, "checkpoint");
            verdict.push_str(&format!("\n{number} held to the interval between them."));
        }
        document.say(verdict);
        document
    }

    /// A row per difference, and one per call without any.
    fn csv(&self, provenance: &Provenance) -> Result<String, Failure> {
        let rows = self.calls.iter().flat_map(|call| {
            let differences = call.differences.iter().map(Some);
            let none = call.differences.is_empty().then_some(None);
            differences
                .chain(none)
                .map(move |difference| (call, difference))
        });
        csv::<Self, _>(
            provenance,
            rows,
            &[
                ("superstep", &|(call, _)| call.superstep.into()),
                ("processes", &|(call, _)| call.processes.into()),
                ("candidates", &|(call, _)| call.candidates.into()),
                ("moves", &|(call, _)| call.moves.into()),
                ("what", &|(_, differs)| {
                    differs.map(|found| &*found.what).into()
                }),
                ("recorded", &|(_, differs)| {
                    differs.map(|found| &*found.recorded).into()
                }),
                ("recomputed", &|(_, differs)| {
                    differs.map(|found| &*found.recomputed).into()
                }),
            ],
        )
    }
}
