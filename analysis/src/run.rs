//! A run, from one pass over its record or over its events as they happen: what all answers are made of.
//!
//! What is kept does not grow with the number of supersteps, with these exceptions. Pictures show the times of all
//! supersteps in points whose size depends on their number, so these times are kept where pictures are drawn
//! ([`Scope::has_pictures`]). On real hosts the times of rounds are kept, because moves are judged by medians. And
//! supersteps wait for the next checkpoint to be complete.

mod baseline;
mod calls;
mod checkpoints;
mod gains;
mod joins;
mod load;
mod notes;
mod places;

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bsp::units::{Instant, Seconds};
use bsp::{HostId, Rank, SetId, farm};
use experiments::record::{Manifest, fault, manifest, shortfall};
use experiments::{Failure, JoinSummary};
use record::{Event, EventHeader, EventKind, Events, Extent, Moved, Run, Superstep};

use crate::advise::Evidence;
use crate::run::baseline::BaselineReading;
use crate::run::calls::{Findings, Nearest};
use crate::run::checkpoints::CheckpointReading;
use crate::run::gains::GainReading;
use crate::run::joins::JoinReading;
use crate::run::load::LoadReading;

pub(crate) use baseline::{Baseline, first_difference};
pub(crate) use calls::{Detail, Disposition, Rules, RunCall};
pub(crate) use checkpoints::RunCheckpoints;
pub(crate) use gains::{Against, Balance, Payback, PaybackVerdict};
pub(crate) use joins::RunJoin;
pub(crate) use load::{Bin, Bins, Load, LoadBin};
pub(crate) use notes::{NoteReport, RunNotes};
pub(crate) use places::{Flow, Placement, Segment, Sets};

/// What is asked about a run: it decides what is read and kept.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Scope {
    /// The process in question.
    pub(crate) rank: Option<Rank>,
    /// The calls whose findings are kept.
    pub(crate) findings: KeptFindings,
    /// Whether pictures are drawn: the times of all supersteps, bins of them, the load of hosts and what calls knew of Sets
    /// are kept.
    pub(crate) has_pictures: bool,
}

/// The calls whose findings of all processes are kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum KeptFindings {
    /// None.
    #[default]
    None,
    /// The one after this number of supersteps.
    After(u64),
    /// The first one in which the process in question moved, or else the one in which it came nearest to moving.
    Nearest,
    /// The last ones, at most so many, of a run that goes on: there is no record to read others from.
    Last(usize),
}

/// A run, as far as the scope of its reading goes.
#[derive(Debug)]
pub(crate) struct RunModel {
    /// Folder of the record.
    pub(crate) folder: PathBuf,
    /// The description of the run.
    pub(crate) manifest: Arc<Manifest>,
    /// The start of the run.
    pub(crate) run: Run,
    /// The rules of the run.
    pub(crate) rules: Rules,
    /// The end of the run, or of the part of it that the record has.
    pub(crate) end: Ending,
    /// Scenario i of the same experiment.
    pub(crate) baseline: Option<Baseline>,
    /// Why the record of scenario i beside this one is not used.
    pub(crate) unusable: Option<Failure>,
    /// Where the time of supersteps went.
    pub(crate) parts: SuperstepParts,
    /// Seconds of every superstep, if pictures are drawn.
    pub(crate) times: Vec<f64>,
    /// The supersteps, if pictures are drawn.
    pub(crate) bins: Bins,
    /// All calls, in order.
    pub(crate) calls: Vec<RunCall>,
    /// What all migrations gained.
    pub(crate) balance: Option<Balance>,
    /// Mean seconds of a superstep before the first move, since the call before it, and after the last move.
    pub(crate) around_moves: Option<(f64, f64)>,
    /// The hosts that joined, or that were to join and did not, in order.
    pub(crate) joins: Vec<RunJoin>,
    /// The checkpoints, if any became complete.
    pub(crate) checkpoints: Option<RunCheckpoints>,
    /// Where its processes were.
    pub(crate) placement: Placement,
    /// The load of its hosts, if pictures are drawn.
    pub(crate) load: Load,
    /// Its Sets.
    pub(crate) sets: Sets,
    /// What processes noted.
    pub(crate) notes: RunNotes,
    /// What advice is based on.
    pub(crate) evidence: Evidence,
    /// The findings of the calls that the scope names, in order.
    kept: VecDeque<Arc<Detail>>,
    /// Whether the findings of other calls are in the record.
    is_recorded: bool,
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
}

/// Where the time of supersteps went, in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct SuperstepParts {
    /// The mean computation of the processes; the longest one where the mean is not recorded.
    pub(crate) mean: f64,
    /// The longest computation, less the mean.
    pub(crate) imbalance: f64,
    /// All else.
    pub(crate) communication: f64,
}

impl SuperstepParts {
    fn add(&mut self, superstep: &Superstep) {
        let longest = superstep.computation.get();
        let mean = superstep.mean.map_or(longest, Seconds::get);
        self.mean += mean;
        self.imbalance += longest - mean;
        self.communication += seconds(superstep) - longest;
    }
}

/// From the start of a superstep to the last arrival at its barrier.
fn seconds(superstep: &Superstep) -> f64 {
    (superstep.ended - superstep.started).get()
}

/// The start of the run in `folder`.
///
/// # Errors
///
/// If the record is incomplete, unreadable or of another version.
pub(crate) fn head(folder: &Path) -> Result<Run, Failure> {
    let _rules = Rules::of_record(folder)?;
    record::head(folder).map_err(fault)
}

impl RunModel {
    /// Reads the record in `folder`, and that of scenario i in `against` or beside it.
    ///
    /// # Errors
    ///
    /// If the record is incomplete, unreadable or of another version, or `against` is not scenario i of the same
    /// experiment.
    pub(crate) fn read(
        folder: &Path,
        against: Option<&Path>,
        scope: Scope,
    ) -> Result<Self, Failure> {
        let mut reading = RunReading::new(folder, scope)?;
        let mut beside = BaselineReading::find(against, folder, scope.has_pictures);
        reading.has_baseline(matches!(beside, Ok(Some(_))));
        let begun = reading.clone();
        let mut events = Events::open(folder).map_err(fault)?;
        while let Some(event) = events.next(|header| reading.needs(header)).map_err(fault)? {
            let alone = match (&event, &mut beside) {
                (Event::Superstep(_), Ok(Some(baseline))) => baseline.next(),
                _ => Ok(None),
            };
            let alone = alone.unwrap_or_else(|fault| {
                beside = Err(fault);
                None
            });
            reading.take_beside(&event, alone);
        }
        let extent = events.extent();
        match beside.and_then(|beside| beside.map(BaselineReading::end).transpose()) {
            Ok(baseline) => Ok(Self {
                baseline,
                ..reading.end(extent)
            }),
            Err(fault) if against.is_some() => Err(fault),
            Err(fault) => {
                // What has been compared is not used.
                let alone = begun.follow(folder)?;
                Ok(Self {
                    unusable: Some(fault),
                    ..alone
                })
            }
        }
    }

    /// What the record lacks, in sentences, if it is not complete.
    pub(crate) fn shortfall(&self) -> Option<String> {
        shortfall(&self.end.extent, self.manifest.failure.as_ref())
    }

    /// The superstep with which the run begins.
    pub(crate) fn first(&self) -> u64 {
        self.run.first_superstep()
    }

    /// The superstep after the last one.
    pub(crate) fn end_superstep(&self) -> u64 {
        self.first().saturating_add(self.end.supersteps)
    }

    /// The name of a host.
    pub(crate) fn host(&self, host: HostId) -> String {
        let name = self.run.hosts.get(host.index());
        name.map_or_else(|| format!("host {}", host.0), Clone::clone)
    }

    /// The name of a Set.
    pub(crate) fn set(&self, set: SetId) -> String {
        let name = self.run.sets.get(set.index());
        name.map_or_else(|| format!("Set {}", set.0), Clone::clone)
    }

    /// The call whose findings were kept, if one was.
    pub(crate) fn kept(&self) -> Option<&Arc<Detail>> {
        self.kept.front()
    }

    /// Whether the findings of the call at position `index` are known.
    pub(crate) fn has_findings(&self, index: usize) -> bool {
        self.is_recorded || self.is_kept(&self.calls[index])
    }

    fn is_kept(&self, call: &RunCall) -> bool {
        let superstep = call.summary.superstep;
        let mut kept = self.kept.iter();
        kept.any(|detail| detail.call.superstep == superstep)
    }

    /// Visits the calls after the `wanted` supersteps, with the findings of their processes, in order. Those that are not kept
    /// are read again.
    ///
    /// # Errors
    ///
    /// If the record is no longer readable.
    pub(crate) fn details(
        &self,
        wanted: impl Fn(u64) -> bool,
        mut visit: impl FnMut(&Detail),
    ) -> Result<(), Failure> {
        let mut calls = self.calls.iter();
        if !self.is_recorded
            || calls.all(|call| !wanted(call.summary.superstep) || self.is_kept(call))
        {
            let kept = self.kept.iter();
            let kept = kept.filter(|detail| wanted(detail.call.superstep));
            kept.for_each(|detail| visit(detail));
            return Ok(());
        }
        let mut findings = Findings::default();
        let needed = |header: EventHeader| {
            header.superstep.is_some_and(&wanted) && Findings::needs(header.kind)
        };
        record::scan(&self.folder, needed, |event| {
            findings.take(event).iter().for_each(&mut visit);
        })
        .map_err(fault)?;
        Ok(())
    }
}

/// A run that is being read.
#[derive(Clone, Debug)]
pub(crate) struct RunReading {
    scope: Scope,
    folder: PathBuf,
    manifest: Arc<Manifest>,
    run: Run,
    rules: Rules,
    /// Number of supersteps.
    supersteps: u64,
    seconds: Instant,
    attainable: Option<Seconds>,
    has_end: bool,
    parts: SuperstepParts,
    times: Vec<f64>,
    bins: Bins,
    slowest: Option<Rank>,
    calls: Vec<RunCall>,
    /// Of the call or join that is not read yet.
    arrivals: Vec<Moved>,
    gains: GainReading,
    joins: JoinReading,
    saving: Option<CheckpointReading>,
    placement: Placement,
    load: LoadReading,
    sets: Sets,
    notes: RunNotes,
    evidence: Evidence,
    /// The findings of the call that has not ended.
    findings: Findings,
    kept: VecDeque<Arc<Detail>>,
    nearest: Nearest,
}

impl RunReading {
    /// Nothing but the head of the record in `folder` has been read.
    ///
    /// # Errors
    ///
    /// If the head is unreadable or of another version.
    pub(crate) fn new(folder: &Path, scope: Scope) -> Result<Self, Failure> {
        let manifest = manifest(folder)?;
        let run = record::head(folder).map_err(fault)?;
        Self::of((folder, run), manifest, scope)
    }

    /// Nothing has been read but the head `run` of the record in `folder`, which `manifest` describes.
    ///
    /// # Errors
    ///
    /// If the configuration is none of an experiment.
    pub(crate) fn of(
        (folder, run): (&Path, Run),
        manifest: Manifest,
        scope: Scope,
    ) -> Result<Self, Failure> {
        let rules = Rules::of(&manifest, folder)?;
        let first = run.first_superstep();
        let placement = Placement::new(&run);
        Ok(Self {
            scope,
            folder: folder.to_path_buf(),
            supersteps: 0,
            seconds: Instant::START,
            attainable: None,
            has_end: false,
            parts: SuperstepParts::default(),
            times: Vec::new(),
            bins: Bins::new(first),
            slowest: None,
            calls: Vec::new(),
            arrivals: Vec::new(),
            gains: GainReading::new(&run, &rules, false),
            joins: JoinReading::new(run.round.length),
            saving: CheckpointReading::new(folder, &run, &manifest)?,
            load: LoadReading::new(&run, &placement),
            placement,
            sets: Sets::new(&run),
            notes: RunNotes::new(first),
            evidence: Evidence::default(),
            findings: Findings::default(),
            kept: VecDeque::new(),
            nearest: Nearest::default(),
            manifest: Arc::new(manifest),
            run,
            rules,
        })
    }

    /// Before the first superstep: whether supersteps come with those of scenario i.
    fn has_baseline(&mut self, has_baseline: bool) {
        self.gains = GainReading::new(&self.run, &self.rules, has_baseline);
    }

    /// Reads all of the record in `folder`, of which nothing but the head has been read.
    ///
    /// # Errors
    ///
    /// If the record is incomplete or unreadable.
    fn follow(mut self, folder: &Path) -> Result<RunModel, Failure> {
        self.has_baseline(false);
        let mut events = Events::open(folder).map_err(fault)?;
        while let Some(event) = events.next(|header| self.needs(header)).map_err(fault)? {
            self.take(&event);
        }
        Ok(self.end(events.extent()))
    }

    /// Whether [`Self::take`] takes anything from an event.
    pub(crate) fn needs(&self, header: EventHeader) -> bool {
        match header.kind {
            EventKind::Superstep
            | EventKind::Moved
            | EventKind::Join
            | EventKind::Checkpoint
            | EventKind::Call
            | EventKind::End => true,
            EventKind::Evaluated if self.scope.has_pictures => true,
            kind => Findings::needs(kind) && self.keeps(header.superstep),
        }
    }

    /// Whether the findings of the call after this superstep may be kept.
    fn keeps(&self, superstep: Option<u64>) -> bool {
        match self.scope.findings {
            KeptFindings::None => false,
            KeptFindings::After(asked) => superstep == Some(asked),
            KeptFindings::Nearest | KeptFindings::Last(_) => true,
        }
    }

    /// The next event has been read.
    pub(crate) fn take(&mut self, event: &Event) {
        self.take_beside(event, None);
    }

    /// The next event has been read; if it is a superstep, it took `alone` seconds in scenario i.
    fn take_beside(&mut self, event: &Event, alone: Option<f64>) {
        self.evidence.observe(event);
        match event {
            Event::Superstep(superstep) => self.elapse(superstep, alone),
            Event::Moved(moved) => self.arrivals.push(*moved),
            Event::Join(join) => {
                // The arrivals before it are those on the host that joins.
                self.arrivals.clear();
                let name = |host: HostId| self.run.hosts[host.index()].clone();
                self.joins.join(join, JoinSummary::new(join, name));
                if join.joined {
                    let moved = join.processes.iter().map(|rank| (*rank, join.host));
                    self.change(join.superstep, (join.ended - join.at).get(), moved);
                }
            }
            Event::Checkpoint(checkpoint) => {
                if let Some(saving) = &mut self.saving {
                    saving.save(checkpoint.clone());
                }
            }
            Event::Evaluated(evaluated) => {
                if self.scope.has_pictures {
                    self.sets.evaluate(evaluated);
                    self.load.evaluate(evaluated);
                }
                if self.keeps(Some(evaluated.superstep)) {
                    self.findings.take(event.clone());
                }
            }
            Event::Observed(observed) if self.keeps(Some(observed.superstep)) => {
                self.findings.take(event.clone());
            }
            Event::Call(call) => {
                let arrivals = std::mem::take(&mut self.arrivals);
                let mut taken = RunCall::new(call, arrivals, &self.rules, self.scope.rank);
                taken.slowest[0] = self.slowest;
                self.gains.call(self.calls.len(), &taken);
                if self.keeps(Some(call.superstep))
                    && let Some(detail) = self.findings.take(event.clone())
                {
                    self.keep(&taken, Arc::new(detail));
                }
                self.calls.push(taken);
                let moved = call.migrations.iter().map(|moved| (moved.rank, moved.to));
                self.change(call.superstep, call.cost.get(), moved);
            }
            Event::End(end) => {
                self.seconds = end.seconds;
                self.attainable = end.attainable;
                self.has_end = true;
            }
            _ => {}
        }
    }

    fn elapse(&mut self, superstep: &Superstep, alone: Option<f64>) {
        let seconds = seconds(superstep);
        self.supersteps += 1;
        self.seconds = superstep.ended;
        self.parts.add(superstep);
        if self.scope.has_pictures {
            self.times.push(seconds);
            self.bins.push(superstep);
            self.load.elapse(superstep, &self.placement);
        }
        if let Some(saving) = &mut self.saving {
            saving.elapse(superstep);
        }
        self.gains.elapse(seconds, alone);
        let dealt = superstep.notes.get(farm::TASKS_DEALT);
        self.joins
            .elapse(superstep.index, seconds, dealt.map(|dealt| dealt.sum));
        self.notes.add(superstep.index, &superstep.notes);
        self.slowest = Some(superstep.slowest);
        if let Some(call) = self.calls.last_mut() {
            call.slowest[1].get_or_insert(superstep.slowest);
        }
    }

    /// Processes are on other hosts from `superstep` on, which took this many seconds.
    fn change(
        &mut self,
        superstep: u64,
        seconds: f64,
        moved: impl Iterator<Item = (Rank, HostId)>,
    ) {
        if self.scope.has_pictures {
            self.bins.charge(seconds);
            self.load.settle(&self.placement);
        }
        self.placement.change(superstep, moved);
        if self.scope.has_pictures {
            self.load.change(&self.placement);
        }
    }

    /// Keeps the findings of a call that has just ended, if they are asked for.
    fn keep(&mut self, call: &RunCall, detail: Arc<Detail>) {
        match self.scope.findings {
            KeptFindings::None => {}
            KeptFindings::After(_) => self.kept.push_back(detail),
            KeptFindings::Last(most) => {
                if self.kept.len() == most {
                    self.kept.pop_front();
                }
                self.kept.push_back(detail);
            }
            KeptFindings::Nearest => {
                if self.nearest.is_nearer(call, &detail, self.rules.tie_width) {
                    self.kept = [detail].into();
                }
            }
        }
    }

    /// All events have been read.
    fn end(mut self, extent: Extent) -> RunModel {
        let first = self.run.first_superstep();
        let gains = self.gains.end();
        for (index, payback) in gains.paybacks {
            self.calls[index].payback = Some(payback);
        }
        self.bins.end();
        self.load.settle(&self.placement);
        RunModel {
            end: Ending {
                extent,
                supersteps: extent.supersteps.saturating_sub(first),
                seconds: self.seconds,
                attainable: self.attainable,
            },
            baseline: None,
            unusable: None,
            parts: self.parts,
            times: self.times,
            bins: self.bins,
            calls: self.calls,
            balance: gains.balance,
            around_moves: gains.around_moves,
            joins: self.joins.end(),
            checkpoints: self.saving.and_then(|saving| saving.end(self.seconds)),
            placement: self.placement,
            load: self.load.end(&self.run, &self.sets),
            sets: self.sets,
            notes: self.notes,
            evidence: self.evidence,
            kept: self.kept,
            is_recorded: !matches!(self.scope.findings, KeptFindings::Last(_)),
            folder: self.folder,
            manifest: self.manifest,
            run: self.run,
            rules: self.rules,
        }
    }

    /// The run so far, compared with no other.
    pub(crate) fn so_far(self) -> RunModel {
        let extent = Extent {
            is_complete: self.has_end,
            has_end: self.has_end,
            supersteps: self.run.first_superstep().saturating_add(self.supersteps),
            is_torn: false,
        };
        self.end(extent)
    }
}

#[cfg(test)]
pub(crate) mod tests;
