//! The record of a run, as far as questions need it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use agents::record::{
    self, Call, Event, EventHeader, EventKind, Extent, Join, Migration, Moved, Run,
};
use bsp::units::{Instant, Seconds};
use bsp::{HostId, Interaction, Rank, SetId};
use migbsp::{CostCoefficients, Entry, PlanAssessment};

use crate::explain::baseline::Baseline;
use crate::explain::checkpoints::{ExplainedCheckpoints, Reading};
use crate::explain::disposition::Disposition;
use crate::explain::durations::SuperstepDuration;
use crate::explain::rules::Rules;
use experiments::Scenario;
use experiments::record::fault;
use experiments::record::manifest;
use experiments::{CallSummary, Failure};

/// The events of a run: its supersteps and calls, without the findings of each process.
#[derive(Debug)]
pub(super) struct History {
    /// Folder of the record.
    pub(super) folder: PathBuf,
    /// The start of the run.
    pub(super) run: Run,
    /// Duration of every superstep, in order, from the one with which the run begins.
    pub(super) supersteps: Vec<SuperstepDuration>,
    /// Scenario i of the same experiment.
    pub(super) baseline: Option<Baseline>,
    /// Why the record of scenario i beside this one is not used.
    pub(super) unusable: Option<Failure>,
    /// All calls, in order.
    pub(super) calls: Vec<ExplainedCall>,
    /// The hosts that joined, or that were to join and did not, in order.
    pub(super) joins: Vec<Join>,
    /// The checkpoints, if any became complete.
    pub(super) checkpoints: Option<ExplainedCheckpoints>,
    /// The interactions of a task farm, in order.
    pub(super) interactions: Vec<Interaction>,
    /// The end of the run, or of the part of it that the record has.
    pub(super) end: Ending,
    /// The rules of the run.
    pub(super) rules: Rules,
}

/// Where the events of a record end.
#[derive(Debug)]
pub(super) struct Ending {
    /// How far the record goes.
    pub(super) extent: Extent,
    /// Number of supersteps of the run, without those before it if it resumes a job.
    pub(super) supersteps: u64,
    /// The makespan; of a run that did not end, the end of its last superstep in the record.
    pub(super) seconds: Instant,
}

/// A call, without the findings about each process.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ExplainedCall {
    /// The call.
    pub(super) summary: CallSummary,
    /// The threshold that a potential has to exceed, if there is one.
    pub(super) threshold: Option<Seconds>,
    /// Number of processes that took part.
    pub(super) listed: usize,
    /// The first of the list.
    pub(super) head: Option<Entry>,
    /// Number of candidates.
    pub(super) candidates: usize,
    /// Number of processes by name of their disposition.
    pub(super) dispositions: BTreeMap<&'static str, usize>,
    /// Costs and benefits, if the policy makes plans.
    pub(super) assessment: Option<PlanAssessment>,
    /// Migrations.
    pub(super) migrations: Vec<Migration>,
    /// What they took, as far as the record says.
    pub(super) arrivals: Vec<Moved>,
    /// What had been learned of the cost of moves before the call.
    pub(super) learned: Option<CostCoefficients>,
    /// The most supersteps that were left, if programs knew.
    pub(super) remaining: Option<u64>,
    /// The process in question, if it took part.
    pub(super) asked: Option<ListedProcess>,
}

/// A process in the list of a call.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ListedProcess {
    /// Its row of the list.
    pub(super) entry: Entry,
    /// Its outcome.
    pub(super) disposition: Disposition,
}

/// The start of the run in `folder`.
///
/// # Errors
///
/// If the record is incomplete, unreadable or of another version.
pub(super) fn head(folder: &Path) -> Result<Run, Failure> {
    let _rules = rules(folder)?;
    record::head(folder).map_err(fault)
}

impl History {
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
    ) -> Result<Self, Failure> {
        let rules = rules(folder)?;
        let run = record::head(folder).map_err(fault)?;
        let (mut supersteps, mut calls, mut seconds) = (Vec::new(), Vec::new(), Instant::START);
        let mut arrivals = Vec::new();
        let (mut joins, mut interactions) = (Vec::new(), Vec::new());
        let mut saving = Reading::new(folder, &run)?;
        let needed = |header: EventHeader| {
            matches!(
                header.kind,
                EventKind::Superstep
                    | EventKind::Moved
                    | EventKind::Join
                    | EventKind::Checkpoint
                    | EventKind::Interaction
                    | EventKind::Call
                    | EventKind::End
            )
        };
        let extent = record::scan(folder, needed, |event| match event {
            Event::Superstep(superstep) => {
                saving
                    .iter_mut()
                    .for_each(|saving| saving.elapse(&superstep));
                supersteps.push(SuperstepDuration::new(&superstep));
                seconds = superstep.ended;
            }
            Event::Moved(moved) => arrivals.push(moved),
            Event::Join(join) => {
                // The arrivals before it are those on the host that joins.
                arrivals.clear();
                joins.push(join);
            }
            Event::Checkpoint(checkpoint) => {
                if let Some(saving) = &mut saving {
                    saving.save(checkpoint);
                }
            }
            Event::Interaction(interaction) => interactions.push(interaction),
            Event::Call(call) => {
                let arrivals = std::mem::take(&mut arrivals);
                calls.push(ExplainedCall::new(&call, arrivals, &rules, asked));
            }
            Event::End(end) => seconds = end.seconds,
            _ => {}
        })
        .map_err(fault)?;
        let (baseline, unusable) = match against {
            Some(against) => (Some(Baseline::read(against, folder)?), None),
            None => match Baseline::beside(folder) {
                Ok(baseline) => (baseline, None),
                Err(fault) => (None, Some(fault)),
            },
        };
        let first = run.first_superstep();
        Ok(Self {
            folder: folder.to_path_buf(),
            run,
            supersteps,
            baseline,
            unusable,
            calls,
            joins,
            checkpoints: saving.and_then(|saving| saving.end(seconds)),
            interactions,
            end: Ending {
                extent,
                supersteps: extent.supersteps.saturating_sub(first),
                seconds,
            },
            rules,
        })
    }

    /// The place of superstep `superstep` among [`Self::supersteps`].
    pub(super) fn place(&self, superstep: u64) -> usize {
        let place = superstep.saturating_sub(self.run.first_superstep());
        usize::try_from(place).unwrap_or(usize::MAX)
    }

    /// The call after `superstep`, with the findings of its processes.
    ///
    /// # Errors
    ///
    /// If the record is no longer readable.
    pub(super) fn detail(&self, superstep: u64) -> Result<Detail, Failure> {
        let (mut evaluated, mut observed, mut held) = (Vec::new(), Vec::new(), None);
        let needed = |header: EventHeader| {
            header.superstep == Some(superstep)
                && matches!(
                    header.kind,
                    EventKind::Evaluated | EventKind::Observed | EventKind::Call
                )
        };
        record::scan(&self.folder, needed, |event| match event {
            Event::Evaluated(found) => evaluated.push(found),
            Event::Observed(found) => observed.push(found),
            Event::Call(call) => held = Some(call),
            _ => {}
        })
        .map_err(fault)?;
        let gone = || {
            Failure::input(format!(
                "{}: has changed while it was read",
                self.folder.display()
            ))
        };
        Ok(Detail {
            call: *held.ok_or_else(gone)?,
            evaluated,
            observed,
        })
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
    pub(super) fn host(&self, host: HostId) -> String {
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
#[derive(Debug)]
pub(super) struct Detail {
    /// The call.
    pub(super) call: Call,
    /// The findings of the processes of each Set.
    pub(super) evaluated: Vec<record::Evaluated>,
    /// The observations of processes about themselves.
    pub(super) observed: Vec<record::Observed>,
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
    fn new(call: &Call, arrivals: Vec<Moved>, rules: &Rules, asked: Option<Rank>) -> Self {
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
            remaining: call.remaining,
            asked,
        }
    }
}

/// The rules of the run whose record is in `folder`.
///
/// # Errors
///
/// If the description of the run cannot be read, or lacks them.
pub(crate) fn rules(folder: &Path) -> Result<Rules, Failure> {
    let manifest = manifest(folder)?;
    let scheduler = &manifest.configuration["scheduler"];
    let has_scheduler = Scenario::named(&manifest.scenario) != Some(Scenario::I);
    if has_scheduler && !scheduler.is_object() {
        return Err(Failure::input(format!(
            "{}: the configuration has no `scheduler`, so the rules of its calls are unknown",
            folder.display()
        )));
    }
    let word = |key: &str| scheduler[key].as_str().unwrap_or_default();
    Ok(Rules {
        is_scripted: scheduler["script"]
            .as_array()
            .is_some_and(|script| !script.is_empty()),
        one_candidate: word("heuristic") == "best",
        migrant_pays: word("payment") == "migrant",
        own_work_counts: word("candidate_work") == "included",
        ties_by_reception: word("tie_break") == "receive-time",
        tie_width: scheduler["tie_width"].as_f64().unwrap_or_default(),
    })
}
