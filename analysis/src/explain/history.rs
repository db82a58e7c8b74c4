//! The record of a run, as far as questions need it.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bsp::numbers::{length, position};
use bsp::units::{Instant, Seconds};
use bsp::{HostId, Rank, SetId, farm};
use experiments::record::{Manifest, RecordedFailure, fault, manifest, shortfall};
use experiments::{CallSummary, Failure, Scenario};
use model::{CostCoefficients, Entry, PlanAssessment};
use record::{Call, End, Event, EventHeader, EventKind, Extent, Join, Migration, Moved, Run};
use serde_json::Value;

use crate::explain::call::Disposition;
use crate::explain::notes::NoteReading;
use crate::explain::run::{CheckpointReading, ExplainedCheckpoints};

/// The events of a run: its supersteps and calls, without the findings of each process.
#[derive(Debug)]
pub(crate) struct History {
    /// Folder of the record.
    pub(crate) folder: PathBuf,
    /// The start of the run.
    pub(crate) run: Run,
    /// Duration of every superstep, in order, from the one with which the run begins.
    pub(crate) supersteps: Vec<SuperstepTimes>,
    /// Scenario i of the same experiment.
    pub(crate) baseline: Option<Baseline>,
    /// Why the record of scenario i beside this one is not used.
    pub(crate) unusable: Option<Failure>,
    /// All calls, in order.
    pub(crate) calls: Vec<ExplainedCall>,
    /// The hosts that joined, or that were to join and did not, in order.
    pub(crate) joins: Vec<Join>,
    /// The checkpoints, if any became complete.
    pub(crate) checkpoints: Option<ExplainedCheckpoints>,
    /// The supersteps in which a task farm has noted how many tasks it dealt, and this number.
    pub(crate) dealt: Vec<(u64, f64)>,
    /// What processes noted.
    pub(crate) notes: NoteReading,
    /// The end of the run, or of the part of it that the record has.
    pub(crate) end: Ending,
    /// The rules of the run.
    pub(crate) rules: Rules,
    /// The findings of the last calls of a run that goes on; those of others are in the record.
    pub(crate) kept: Option<VecDeque<Arc<Detail>>>,
}

/// Where the events of a record end.
#[derive(Debug)]
pub(crate) struct Ending {
    /// How far the record goes.
    pub(crate) extent: Extent,
    /// Number of supersteps of the run, without those before it if it resumes a job.
    pub(crate) supersteps: u64,
    /// The makespan; of a run that did not end, the end of its last superstep in the record.
    pub(crate) seconds: Instant,
    /// The time that the best mapping of every superstep would have saved, if the run has ended and the record says it.
    pub(crate) attainable: Option<Seconds>,
    /// Why the run has no result, if the record says it.
    pub(crate) failure: Option<RecordedFailure>,
}

/// A call, without the findings about each process.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ExplainedCall {
    /// The call.
    pub(crate) summary: CallSummary,
    /// The threshold that a potential has to exceed, if there is one.
    pub(crate) threshold: Option<Seconds>,
    /// Number of processes that took part.
    pub(crate) listed: usize,
    /// The first of the list.
    pub(crate) head: Option<Entry>,
    /// Number of candidates.
    pub(crate) candidates: usize,
    /// Number of processes by name of their disposition.
    pub(crate) dispositions: BTreeMap<&'static str, usize>,
    /// Costs and benefits, if the policy makes plans.
    pub(crate) assessment: Option<PlanAssessment>,
    /// Migrations.
    pub(crate) migrations: Vec<Migration>,
    /// What they took, as far as the record says.
    pub(crate) arrivals: Vec<Moved>,
    /// What had been learned of the cost of moves before the call.
    pub(crate) learned: Option<CostCoefficients>,
    /// The predicted duration of the call, in seconds.
    pub(crate) predicted_seconds: f64,
    /// The most supersteps that were left, if programs knew.
    pub(crate) remaining: Option<u64>,
    /// The process in question, if it took part.
    pub(crate) asked: Option<ListedProcess>,
}

/// A process in the list of a call.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ListedProcess {
    /// Its row of the list.
    pub(crate) entry: Entry,
    /// Its outcome.
    pub(crate) disposition: Disposition,
}

impl Ending {
    /// What the record lacks, in sentences, if it is not complete.
    pub(crate) fn shortfall(&self) -> Option<String> {
        shortfall(&self.extent, self.failure.as_ref())
    }
}

impl History {
    /// The place of superstep `superstep` among [`Self::supersteps`].
    pub(crate) fn place(&self, superstep: u64) -> usize {
        let place = superstep.saturating_sub(self.run.first_superstep());
        position(place)
    }

    /// The call after `superstep`, with the findings of its processes.
    ///
    /// # Errors
    ///
    /// If the record is no longer readable.
    pub(super) fn detail(&self, superstep: u64) -> Result<Detail, Failure> {
        let mut found = None;
        let is_asked = |called: u64| called == superstep;
        self.details(is_asked, |detail| found = Some(detail.clone()))?;
        found.ok_or_else(|| {
            Failure::input(format!(
                "{}: has changed while it was read",
                self.folder.display()
            ))
        })
    }

    /// Visits the calls after the `wanted` supersteps, with the findings of their processes, in order.
    ///
    /// # Errors
    ///
    /// If the record is no longer readable.
    pub(super) fn details(
        &self,
        wanted: impl Fn(u64) -> bool,
        mut visit: impl FnMut(&Detail),
    ) -> Result<(), Failure> {
        if let Some(kept) = &self.kept {
            let kept = kept.iter().filter(|detail| wanted(detail.call.superstep));
            kept.for_each(|detail| visit(detail));
            return Ok(());
        }
        let mut findings = Findings::default();
        let needed = |header: EventHeader| {
            header.superstep.is_some_and(&wanted)
                && matches!(
                    header.kind,
                    EventKind::Evaluated | EventKind::Observed | EventKind::Call
                )
        };
        record::scan(&self.folder, needed, |event| {
            findings.take(event).iter().for_each(&mut visit);
        })
        .map_err(fault)?;
        Ok(())
    }

    /// The highest potential of the process `rank` for a Set other than its own, in seconds, by the number
    /// of supersteps completed before the call.
    ///
    /// # Errors
    ///
    /// If the record is no longer readable.
    pub(super) fn potentials_elsewhere(&self, rank: Rank) -> Result<BTreeMap<u64, f64>, Failure> {
        let mut highest = BTreeMap::new();
        let needed = |header: EventHeader| header.kind == EventKind::Evaluated;
        record::scan(&self.folder, needed, |event| {
            let Event::Evaluated(found) = event else {
                return;
            };
            let mut processes = found.processes.iter();
            if let Some(evaluation) = processes.find(|evaluation| evaluation.rank == rank) {
                let others = evaluation.potentials.iter();
                let others = others.filter(|potential| potential.set != found.set);
                let best = others
                    .map(|potential| potential.total().get())
                    .reduce(f64::max);
                highest.extend(best.map(|best| (found.superstep, best)));
            }
        })
        .map_err(fault)?;
        Ok(highest)
    }

    /// The name of a host.
    pub(crate) fn host(&self, host: HostId) -> String {
        let name = self.run.hosts.get(host.index());
        name.map_or_else(|| format!("host {}", host.0), Clone::clone)
    }

    /// The name of a Set.
    pub(super) fn set(&self, set: SetId) -> String {
        let name = self.run.sets.get(set.index());
        name.map_or_else(|| format!("Set {}", set.0), Clone::clone)
    }
}

/// A call with all its findings.
#[derive(Clone, Debug)]
pub(crate) struct Detail {
    /// The call.
    pub(crate) call: Call,
    /// The findings of the processes of each Set.
    pub(crate) evaluated: Vec<record::Evaluated>,
    /// The observations of processes about themselves.
    pub(crate) observed: Vec<record::Observed>,
}

/// The findings of processes before the call that they are about.
#[derive(Clone, Debug, Default)]
pub(crate) struct Findings {
    evaluated: Vec<record::Evaluated>,
    observed: Vec<record::Observed>,
}

impl Findings {
    /// The next event; if it is a call, the call with its findings.
    pub(crate) fn take(&mut self, event: Event) -> Option<Detail> {
        match event {
            Event::Evaluated(found) => self.evaluated.push(found),
            Event::Observed(found) => self.observed.push(found),
            Event::Call(call) => {
                let Self {
                    evaluated,
                    observed,
                } = std::mem::take(self);
                return Some(Detail {
                    call: *call,
                    evaluated,
                    observed,
                });
            }
            _ => {}
        }
        None
    }
}

impl Detail {
    /// The findings of the process `rank`.
    pub(super) fn evaluation(&self, rank: Rank) -> Option<&record::Evaluation> {
        let mut all = self.evaluated.iter().flat_map(|found| &found.processes);
        all.find(|evaluation| evaluation.rank == rank)
    }

    /// Time to transfer a byte from one Set to another, in seconds.
    pub(super) fn transfer_rate(&self, from: SetId, to: SetId) -> Option<f64> {
        let found = self.evaluated.iter().find(|found| found.set == from)?;
        found.transfer_rates.get(to.index()).copied()
    }
}

impl ExplainedCall {
    /// The call, with what its moves took; `asked` is the process in question.
    pub(super) fn new(
        call: &Call,
        arrivals: Vec<Moved>,
        rules: &Rules,
        asked: Option<Rank>,
    ) -> Self {
        let mut dispositions = BTreeMap::new();
        let mut all = Disposition::all(call, rules);
        for disposition in all.values() {
            *dispositions.entry(disposition.name()).or_default() += 1;
        }
        let asked = asked.and_then(|rank| {
            let position = call.list.iter().position(|entry| entry.rank == rank)?;
            Some(ListedProcess {
                entry: call.list[position],
                disposition: all.remove(&rank)?,
            })
        });
        Self {
            summary: CallSummary::new(call),
            threshold: call.threshold,
            listed: call.list.len(),
            head: call.list.first().copied(),
            candidates: call.considered.len(),
            dispositions,
            assessment: call.assessment.clone(),
            migrations: call.migrations.clone(),
            arrivals,
            learned: call.learned,
            predicted_seconds: call.predicted().get(),
            remaining: call.remaining,
            asked,
        }
    }
}

/// How long a superstep took, in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct SuperstepTimes {
    /// From its start to the last arrival at its barrier.
    pub(crate) seconds: f64,
    /// The process that computed longest.
    pub(crate) slowest: Rank,
    /// How long that computed.
    pub(crate) computation: f64,
    /// The mean computation of all processes, if it is recorded.
    pub(crate) mean: Option<f64>,
}

impl SuperstepTimes {
    /// The times of a recorded superstep.
    pub(crate) fn new(superstep: &record::Superstep) -> Self {
        Self {
            seconds: (superstep.ended - superstep.started).get(),
            slowest: superstep.slowest,
            computation: superstep.computation.get(),
            mean: superstep.mean.map(Seconds::get),
        }
    }
}

/// Mean of the supersteps in `range`, in seconds; `None` if there are none, or not all are known.
pub(crate) fn mean(supersteps: &[SuperstepTimes], range: Range<usize>) -> Option<f64> {
    let times = supersteps.get(range)?;
    let number = u32::try_from(times.len())
        .ok()
        .filter(|number| 0 < *number)?;
    let sum: f64 = times.iter().map(|superstep| superstep.seconds).sum();
    Some(sum / f64::from(number))
}

/// The rules of a run that an explanation depends on.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Rules {
    /// Whether a script decides instead of the policy.
    pub(super) is_scripted: bool,
    /// Whether only the first of the list is a candidate.
    pub(super) one_candidate: bool,
    /// Whether the migrant pays for its move in the superstep after the call.
    pub(super) migrant_pays: bool,
    /// Whether the shortest reception breaks ties between potentials, instead of the lowest rank.
    pub(super) ties_by_reception: bool,
    /// Potentials that differ by less than this are equal.
    pub(super) tie_width: f64,
    /// Whether times were measured on real hosts.
    pub(crate) is_measured: bool,
}

impl Rules {
    /// The rules of the run whose record is in `folder`.
    ///
    /// # Errors
    ///
    /// If its description is unreadable or of another version, or has no scheduler.
    pub(crate) fn of_record(folder: &Path) -> Result<Self, Failure> {
        Self::of(&manifest(folder)?, folder)
    }

    /// The rules of the run whose record, in `folder`, is described by `manifest`.
    ///
    /// # Errors
    ///
    /// If it has no scheduler.
    pub(super) fn of(manifest: &Manifest, folder: &Path) -> Result<Self, Failure> {
        let scheduler = &manifest.configuration["scheduler"];
        let has_scheduler = Scenario::named(&manifest.scenario) != Some(Scenario::I);
        if has_scheduler && !scheduler.is_object() {
            return Err(Failure::input(format!(
                "{}: the configuration has no `scheduler`, so the rules of its calls are unknown",
                folder.display()
            )));
        }
        let word = |key: &str| scheduler[key].as_str().unwrap_or_default();
        Ok(Self {
            is_scripted: scheduler["script"]
                .as_array()
                .is_some_and(|script| !script.is_empty()),
            one_candidate: word("heuristic") == "best",
            migrant_pays: word("payment") == "migrant",
            ties_by_reception: word("tie_break") == "receive-time",
            tie_width: scheduler["tie_width"].as_f64().unwrap_or_default(),
            is_measured: manifest.is_measured(),
        })
    }
}

/// The start of the run in `folder`.
///
/// # Errors
///
/// If the record is incomplete, unreadable or of another version.
pub(super) fn head(folder: &Path) -> Result<Run, Failure> {
    let _rules = Rules::of_record(folder)?;
    record::head(folder).map_err(fault)
}

/// Reads the record in `folder`, and that of scenario i in `against` or beside it; `asked` is the process in
/// question.
///
/// # Errors
///
/// If the record is incomplete, unreadable or of another version, or `against` is not scenario i of the same
/// experiment.
pub(super) fn read(
    folder: &Path,
    against: Option<&Path>,
    asked: Option<Rank>,
) -> Result<History, Failure> {
    let mut reading = Reading::new(folder, asked)?;
    let extent =
        record::scan(folder, Reading::needs, |event| reading.take(&event)).map_err(fault)?;
    reading.end(extent, against)
}

/// A record that is being read.
#[derive(Clone, Debug)]
pub(crate) struct Reading {
    folder: PathBuf,
    run: Run,
    rules: Rules,
    asked: Option<Rank>,
    supersteps: Vec<SuperstepTimes>,
    calls: Vec<ExplainedCall>,
    /// Of the call or join that is not read yet.
    arrivals: Vec<Moved>,
    joins: Vec<Join>,
    saving: Option<CheckpointReading>,
    dealt: Vec<(u64, f64)>,
    notes: NoteReading,
    seconds: Instant,
    attainable: Option<Seconds>,
    has_end: bool,
    failure: Option<RecordedFailure>,
}

impl Reading {
    /// Nothing but the head of the record in `folder` has been read; `asked` is the process in question.
    ///
    /// # Errors
    ///
    /// If the head is unreadable or of another version.
    pub(crate) fn new(folder: &Path, asked: Option<Rank>) -> Result<Self, Failure> {
        let manifest = manifest(folder)?;
        let run = record::head(folder).map_err(fault)?;
        Self::of((folder, run), &manifest, asked)
    }

    /// Nothing has been read but the head `run` of the record in `folder`, which `manifest` describes; `asked` is the
    /// process in question.
    ///
    /// # Errors
    ///
    /// If the configuration is none of an experiment.
    pub(crate) fn of(
        (folder, run): (&Path, Run),
        manifest: &Manifest,
        asked: Option<Rank>,
    ) -> Result<Self, Failure> {
        let rules = Rules::of(manifest, folder)?;
        let saving = CheckpointReading::new(folder, &run, manifest)?;
        Ok(Self {
            folder: folder.to_path_buf(),
            run,
            rules,
            asked,
            supersteps: Vec::new(),
            calls: Vec::new(),
            arrivals: Vec::new(),
            joins: Vec::new(),
            saving,
            dealt: Vec::new(),
            notes: NoteReading::default(),
            seconds: Instant::START,
            attainable: None,
            has_end: false,
            failure: manifest.failure.clone(),
        })
    }

    /// Whether [`Self::take`] takes anything from an event.
    pub(crate) fn needs(header: EventHeader) -> bool {
        matches!(
            header.kind,
            EventKind::Superstep
                | EventKind::Moved
                | EventKind::Join
                | EventKind::Checkpoint
                | EventKind::Call
                | EventKind::End
        )
    }

    /// The next event has been read.
    pub(crate) fn take(&mut self, event: &Event) {
        match event {
            Event::Superstep(superstep) => {
                self.saving
                    .iter_mut()
                    .for_each(|saving| saving.elapse(superstep));
                self.supersteps.push(SuperstepTimes::new(superstep));
                self.notes.add(superstep.index, &superstep.notes);
                let dealt = superstep.notes.get(farm::TASKS_DEALT);
                self.dealt
                    .extend(dealt.map(|dealt| (superstep.index, dealt.sum)));
                self.seconds = superstep.ended;
            }
            Event::Moved(moved) => self.arrivals.push(*moved),
            Event::Join(join) => {
                // The arrivals before it are those on the host that joins.
                self.arrivals.clear();
                self.joins.push(join.clone());
            }
            Event::Checkpoint(checkpoint) => {
                if let Some(saving) = &mut self.saving {
                    saving.save(checkpoint.clone());
                }
            }
            Event::Call(call) => {
                let arrivals = std::mem::take(&mut self.arrivals);
                let call = ExplainedCall::new(call, arrivals, &self.rules, self.asked);
                self.calls.push(call);
            }
            Event::End(end) => {
                self.seconds = end.seconds;
                self.attainable = end.attainable;
                self.has_end = true;
            }
            _ => {}
        }
    }

    /// All events have been read. The run is compared with scenario i in `against`, or in the folder beside it.
    ///
    /// # Errors
    ///
    /// If `against` is not scenario i of the same experiment.
    pub(crate) fn end(self, extent: Extent, against: Option<&Path>) -> Result<History, Failure> {
        let (baseline, unusable) = match against {
            Some(against) => (Some(Baseline::read(against, &self.folder)?), None),
            None => match Baseline::beside(&self.folder) {
                Ok(baseline) => (baseline, None),
                Err(fault) => (None, Some(fault)),
            },
        };
        Ok(History {
            baseline,
            unusable,
            ..self.end_alone(extent)
        })
    }

    /// The run so far, compared with no other.
    pub(crate) fn so_far(self) -> History {
        let supersteps = length(self.supersteps.len());
        let extent = Extent {
            is_complete: self.has_end,
            has_end: self.has_end,
            supersteps: self.run.first_superstep().saturating_add(supersteps),
            is_torn: false,
        };
        self.end_alone(extent)
    }

    fn end_alone(self, extent: Extent) -> History {
        let first = self.run.first_superstep();
        History {
            folder: self.folder,
            run: self.run,
            supersteps: self.supersteps,
            baseline: None,
            unusable: None,
            calls: self.calls,
            joins: self.joins,
            checkpoints: self.saving.and_then(|saving| saving.end(self.seconds)),
            dealt: self.dealt,
            notes: self.notes,
            end: Ending {
                extent,
                supersteps: extent.supersteps.saturating_sub(first),
                seconds: self.seconds,
                attainable: self.attainable,
                failure: self.failure,
            },
            rules: self.rules,
            kept: None,
        }
    }
}

/// Scenario i of the same experiment: the same supersteps without calls and moves.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Baseline {
    /// Folder of its record.
    pub(crate) folder: PathBuf,
    /// Duration of every superstep, in order.
    pub(crate) supersteps: Vec<SuperstepTimes>,
    /// The end of the run, if it has ended.
    pub(crate) end: Option<End>,
}

impl Baseline {
    /// Reads the record in `folder`, to compare it with the record in `run`.
    ///
    /// # Errors
    ///
    /// If there is no such record, or it is not scenario i of the experiment of `run`.
    pub(super) fn read(folder: &Path, run: &Path) -> Result<Self, Failure> {
        let (there, here) = (manifest(folder)?, manifest(run)?);
        if let Some(difference) = difference(&there, &here) {
            let command = if here.is_measured() {
                "run FILE --policy none"
            } else {
                "simulate FILE"
            };
            return Err(Failure::input(format!(
                "{}: {difference}\n  help: `{command} --out DIR` writes scenario i of an experiment to DIR/i",
                folder.display()
            )));
        }
        let mut supersteps = Vec::new();
        let mut end = None;
        let needed =
            |header: EventHeader| matches!(header.kind, EventKind::Superstep | EventKind::End);
        record::scan(folder, needed, |event| match event {
            Event::Superstep(superstep) => supersteps.push(SuperstepTimes::new(&superstep)),
            Event::End(ended) => end = Some(ended),
            _ => {}
        })
        .map_err(fault)?;
        let first = |folder: &Path| record::head(folder).map(|run| run.first_superstep());
        let (first, own) = (first(folder).map_err(fault)?, first(run).map_err(fault)?);
        let Some(more) = own.checked_sub(first) else {
            let folder = folder.display();
            return Err(Failure::input(format!(
                "{folder}: it begins with superstep {first}, after the beginning of the run"
            )));
        };
        let more = position(more);
        supersteps.drain(..more.min(supersteps.len()));
        Ok(Self {
            folder: folder.to_path_buf(),
            supersteps,
            end,
        })
    }

    /// Reads the record `i` beside the record in `run`, if there is one.
    ///
    /// # Errors
    ///
    /// If that record cannot be read or compared.
    pub(super) fn beside(run: &Path) -> Result<Option<Self>, Failure> {
        let Some(parent) = run
            .canonicalize()
            .ok()
            .and_then(|run| Some(run.parent()?.join("i")))
        else {
            return Ok(None);
        };
        // The path as the user wrote it, where that names the folder.
        let named = run.parent().map(|parent| parent.join("i"));
        let folder = named.filter(|named| named.is_dir()).unwrap_or(parent);
        let is_run = folder.canonicalize().ok() == run.canonicalize().ok();
        if is_run || !folder.is_dir() {
            return Ok(None);
        }
        Self::read(&folder, run).map(Some)
    }
}

/// Why `there` is not scenario i of the experiment `here`.
fn difference(there: &Manifest, here: &Manifest) -> Option<String> {
    if Scenario::named(&there.scenario) != Some(Scenario::I) {
        return Some(format!(
            "is a record of scenario {}, expected scenario i",
            there.scenario
        ));
    }
    let mut path = String::new();
    if let Some((one, other)) = different(&there.configuration, &here.configuration, &mut path) {
        return Some(format!(
            "is of another experiment: `{path}` is {one}, but {other} in the run to explain"
        ));
    }
    (there.platform_sha256 != here.platform_sha256)
        .then(|| "is of another experiment: the description of its platform differs".to_owned())
}

/// The first value in which experiments differ, with its path and both values; their schedulers may differ.
pub(crate) fn first_difference(one: &Manifest, other: &Manifest) -> Option<[String; 3]> {
    let mut path = String::new();
    let (one, other) = different(&one.configuration, &other.configuration, &mut path)?;
    Some([path, one, other])
}

/// The first value that differs, with its path. Scenario i takes nothing from the scheduler.
fn different(there: &Value, here: &Value, path: &mut String) -> Option<(String, String)> {
    let (Value::Object(one), Value::Object(other)) = (there, here) else {
        let shown = |value: &Value| match value {
            Value::Null => "not set".to_owned(),
            value => format!("`{value}`"),
        };
        return (there != here).then(|| (shown(there), shown(here)));
    };
    let length = path.len();
    let mut keys: Vec<&String> = one.keys().chain(other.keys()).collect();
    keys.sort();
    keys.dedup();
    for key in keys {
        if length == 0 && key == "scheduler" {
            continue;
        }
        if 0 < length {
            path.push('.');
        }
        path.push_str(key);
        let value = |of: &serde_json::Map<String, Value>| of.get(key).cloned().unwrap_or_default();
        let found = different(&value(one), &value(other), path);
        if found.is_some() {
            return found;
        }
        path.truncate(length);
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn difference_of(one: &Value, other: &Value) -> Option<String> {
        let mut path = String::new();
        let (one, other) = different(one, other, &mut path)?;
        Some(format!("{path}: {one}, {other}"))
    }

    #[test]
    fn the_first_key_that_differs_is_named() {
        let one = json!({"application": {"processes": 8, "workload": "heat"}, "scheduler": {"policy": "none"}});
        let mut other = one.clone();
        other["scheduler"]["policy"] = "adaptive".into();
        assert_eq!(difference_of(&one, &other), None);
        other["application"]["processes"] = 16.into();
        assert_eq!(
            difference_of(&one, &other).as_deref(),
            Some("application.processes: `8`, `16`")
        );
        let more = json!({"application": {"processes": 8, "seconds": 1, "workload": "heat"}});
        assert_eq!(
            difference_of(&one, &more).as_deref(),
            Some("application.seconds: not set, `1`")
        );
    }
}
