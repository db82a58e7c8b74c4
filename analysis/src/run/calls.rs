//! The calls of a run: what was decided, for every process, and by which rules.

use std::collections::BTreeMap;
use std::path::Path;

use bsp::units::Seconds;
use bsp::{HostId, Rank, SetId};
use experiments::record::{Manifest, manifest};
use experiments::{CallSummary, Failure, Scenario};
use model::{Answer, CostCoefficients, Entry, NotSelected, PlanAssessment, Refusal};
use record::{Call, Evaluated, Evaluation, Event, EventKind, Migration, Moved, Observed};

use crate::run::gains::Payback;

/// A call, without the findings about each process.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RunCall {
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
    /// The process that computed longest in the superstep before the call, and in the one after it.
    pub(crate) slowest: [Option<Rank>; 2],
    /// The gain of its migrations, if processes moved and supersteps followed.
    pub(crate) payback: Option<Payback>,
}

/// A process in the list of a call.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ListedProcess {
    /// Its row of the list.
    pub(crate) entry: Entry,
    /// Its outcome.
    pub(crate) disposition: Disposition,
}

/// The outcome of a call for a process.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Disposition {
    /// It moved.
    Moved(Migration),
    /// It would have moved in a scenario in which processes migrate.
    Offered(HostId),
    /// The Manager of the target Set refused it.
    Refused(Refusal),
    /// It was no candidate.
    PassedOver(NotSelected),
    /// The plan did not move it, or was not carried out.
    NotPlanned,
    /// The script did not move it.
    NotScripted,
}

impl Disposition {
    /// The outcome for every process that took part in `call`.
    pub(crate) fn all(call: &Call, rules: &Rules) -> BTreeMap<Rank, Self> {
        let left = || match call.assessment {
            None if rules.is_scripted => Self::NotScripted,
            _ => Self::NotPlanned,
        };
        let mut dispositions: BTreeMap<Rank, Self> =
            call.list.iter().map(|entry| (entry.rank, left())).collect();
        for (entry, why) in &call.passed_over {
            dispositions.insert(entry.rank, Self::PassedOver(*why));
        }
        for considered in &call.considered {
            let disposition = match considered.answer {
                Answer::Offer { host, .. } => Self::Offered(host),
                Answer::Refuse(refusal) => Self::Refused(refusal),
            };
            dispositions.insert(considered.entry.rank, disposition);
        }
        for migration in &call.migrations {
            dispositions.insert(migration.rank, Self::Moved(*migration));
        }
        dispositions
    }

    /// Its name in JSON and CSV.
    pub(crate) const fn name(&self) -> &'static str {
        match self {
            Self::Moved(_) => "moved",
            Self::Offered(_) => "offered",
            Self::Refused(Refusal::NoFasterPlace { .. }) => "no-faster-place",
            Self::Refused(Refusal::Idle) => "idle",
            Self::Refused(Refusal::NoProcessor) => "no-processor",
            Self::PassedOver(NotSelected::OwnSet) => "own-set",
            Self::PassedOver(NotSelected::NotPositive) => "not-positive",
            Self::PassedOver(NotSelected::BelowThreshold) => "below-threshold",
            Self::PassedOver(NotSelected::NotFirst) => "not-first",
            Self::NotPlanned => "not-planned",
            Self::NotScripted => "not-scripted",
        }
    }

    /// Distance from moving: the higher, the nearer.
    pub(crate) const fn nearness(&self) -> u32 {
        match self {
            Self::Moved(_) => 8,
            Self::Offered(_) => 7,
            Self::Refused(Refusal::NoFasterPlace { .. }) => 6,
            Self::Refused(Refusal::NoProcessor | Refusal::Idle) => 5,
            Self::PassedOver(NotSelected::NotFirst | NotSelected::BelowThreshold) => 4,
            Self::PassedOver(NotSelected::NotPositive) => 3,
            Self::PassedOver(NotSelected::OwnSet) => 2,
            Self::NotPlanned | Self::NotScripted => 1,
        }
    }
}

/// A call with all its findings.
#[derive(Clone, Debug)]
pub(crate) struct Detail {
    /// The call.
    pub(crate) call: Call,
    /// The findings of the processes of each Set.
    pub(crate) evaluated: Vec<Evaluated>,
    /// The observations of processes about themselves.
    pub(crate) observed: Vec<Observed>,
}

/// The findings of processes before the call that they are about.
#[derive(Clone, Debug, Default)]
pub(crate) struct Findings {
    evaluated: Vec<Evaluated>,
    observed: Vec<Observed>,
}

impl Findings {
    /// Whether [`Self::take`] takes anything from an event of this kind.
    pub(crate) const fn needs(kind: EventKind) -> bool {
        matches!(
            kind,
            EventKind::Evaluated | EventKind::Observed | EventKind::Call
        )
    }

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
    pub(crate) fn evaluation(&self, rank: Rank) -> Option<&Evaluation> {
        let mut all = self.evaluated.iter().flat_map(|found| &found.processes);
        all.find(|evaluation| evaluation.rank == rank)
    }

    /// Time to transfer a byte from one Set to another, in seconds.
    pub(crate) fn transfer_rate(&self, from: SetId, to: SetId) -> Option<f64> {
        let found = self.evaluated.iter().find(|found| found.set == from)?;
        found.transfer_rates.get(to.index()).copied()
    }
}

/// The call in which a process came nearest to moving, among those that have been read.
#[derive(Clone, Debug, Default)]
pub(super) struct Nearest {
    /// How near that was, and how much the process preferred another Set; `None`: it took part in no call.
    nearest: Option<(u32, f64)>,
}

impl Nearest {
    /// Whether the process in question, or, as long as it took part in none, the call itself, is nearer in `call` than in all
    /// calls before. The first call in which the process moved is the nearest. Of others that are as near, it is the one in
    /// which its potential for another Set was highest; potentials that differ by less than `tie_width` are equal, and the
    /// first of equal ones counts.
    pub(super) fn is_nearer(&mut self, call: &RunCall, detail: &Detail, tie_width: f64) -> bool {
        let Some(process) = &call.asked else {
            return self.nearest.is_none();
        };
        let nearness = process.disposition.nearness();
        let attraction = process.attraction(detail);
        let is_nearer = self.nearest.is_none_or(|(nearest, highest)| {
            let is_moved = matches!(process.disposition, Disposition::Moved(_));
            let is_as_near = nearest == nearness && !is_moved;
            nearest < nearness || is_as_near && highest + tie_width < attraction
        });
        if is_nearer {
            self.nearest = Some((nearness, attraction));
        }
        is_nearer
    }
}

impl ListedProcess {
    /// Its highest potential for another Set, in seconds; where it prefers its own, less the potential for that.
    fn attraction(&self, detail: &Detail) -> f64 {
        let potential = self.entry.potential.get();
        if self.entry.own != self.entry.target {
            return potential;
        }
        let mut sets = detail.evaluated.iter();
        let elsewhere = sets.find_map(|found| {
            let mut processes = found.processes.iter();
            let evaluation = processes.find(|process| process.rank == self.entry.rank)?;
            let others = evaluation.potentials.iter();
            let others = others.filter(|potential| potential.set != found.set);
            others
                .map(|potential| potential.total().get())
                .reduce(f64::max)
        });
        elsewhere.map_or(f64::NEG_INFINITY, |other| other - potential)
    }
}

impl RunCall {
    /// The call, with what its moves took; `asked` is the process in question.
    pub(crate) fn new(
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
            slowest: [None; 2],
            payback: None,
        }
    }
}

/// The rules of a run that an explanation depends on.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Rules {
    /// Whether a script decides instead of the policy.
    pub(crate) is_scripted: bool,
    /// Whether only the first of the list is a candidate.
    pub(crate) one_candidate: bool,
    /// Whether the migrant pays for its move in the superstep after the call.
    pub(crate) migrant_pays: bool,
    /// Whether the shortest reception breaks ties between potentials, instead of the lowest rank.
    pub(crate) ties_by_reception: bool,
    /// Potentials that differ by less than this are equal.
    pub(crate) tie_width: f64,
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
    pub(crate) fn of(manifest: &Manifest, folder: &Path) -> Result<Self, Failure> {
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
