//! The record of a run, as far as questions need it.

use std::collections::BTreeMap;
use std::path::PathBuf;

use bsp::units::{Instant, Seconds};
use bsp::{HostId, Interaction, Rank, SetId};
use migbsp::{CostCoefficients, Entry, PlanAssessment};
use record::{Call, Event, EventHeader, EventKind, Extent, Join, Migration, Moved, Run};

use crate::explain::baseline::Baseline;
use crate::explain::checkpoints::ExplainedCheckpoints;
use crate::explain::disposition::Disposition;
use crate::explain::durations::SuperstepDuration;
use crate::explain::rules::Rules;
use experiments::record::{RecordedFailure, fault, shortfall};
use experiments::{CallSummary, Failure};

/// The events of a run: its supersteps and calls, without the findings of each process.
#[derive(Debug)]
pub(crate) struct History {
    /// Folder of the record.
    pub(crate) folder: PathBuf,
    /// The start of the run.
    pub(crate) run: Run,
    /// Duration of every superstep, in order, from the one with which the run begins.
    pub(crate) supersteps: Vec<SuperstepDuration>,
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
    /// The interactions of a task farm, in order.
    pub(crate) interactions: Vec<Interaction>,
    /// The end of the run, or of the part of it that the record has.
    pub(crate) end: Ending,
    /// The rules of the run.
    pub(crate) rules: Rules,
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
        usize::try_from(place).unwrap_or(usize::MAX)
    }

    /// The call after `superstep`, with the findings of its processes.
    ///
    /// # Errors
    ///
    /// If the record is no longer readable.
    pub(super) fn detail(&self, superstep: u64) -> Result<Detail, Failure> {
        let mut found = None;
        let is_asked = |called: u64| called == superstep;
        self.details(is_asked, |detail| found = Some(detail))?;
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
        mut visit: impl FnMut(Detail),
    ) -> Result<(), Failure> {
        let (mut evaluated, mut observed) = (Vec::new(), Vec::new());
        let needed = |header: EventHeader| {
            header.superstep.is_some_and(&wanted)
                && matches!(
                    header.kind,
                    EventKind::Evaluated | EventKind::Observed | EventKind::Call
                )
        };
        record::scan(&self.folder, needed, |event| match event {
            Event::Evaluated(found) => evaluated.push(found),
            Event::Observed(found) => observed.push(found),
            Event::Call(call) => visit(Detail {
                call: *call,
                evaluated: std::mem::take(&mut evaluated),
                observed: std::mem::take(&mut observed),
            }),
            _ => {}
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
#[derive(Debug)]
pub(crate) struct Detail {
    /// The call.
    pub(crate) call: Call,
    /// The findings of the processes of each Set.
    pub(crate) evaluated: Vec<record::Evaluated>,
    /// The observations of processes about themselves.
    pub(crate) observed: Vec<record::Observed>,
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
