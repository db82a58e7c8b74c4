//! What was decided in a run, decided again from what its record says was observed.
//!
//! [`Replay`] takes the events of a record in their order. It has the state of a Manager, but sends no messages: from
//! the observations of a call it computes the potentials, the list, the negotiations or the plan, the moves and the
//! interval to the next call, and compares them with the record.

use std::collections::{BTreeMap, BTreeSet};

use bsp::units::{Instant, Seconds};
use bsp::{HostId, Rank, Round, SetId};
use model::{
    Answer, CallMove, CallOutcome, CallStart, Config, CostCoefficients, Decision, Digest, Elapsed,
    Entry, Inventory, Load, Measurements, Planner, ProcessHistory, Processor, Processors, Request,
    Selection, SetView, Situation, Spacing, When,
};
use protocol::Considered;
use record::{
    Call, Checkpoint, Evaluated, Evaluation, Event, Hosts, Migration, Moved, Observed, Run,
    Superstep,
};
use serde::Serialize;
use serde_json::Value;

use crate::checkpointing::{CheckpointSchedule, Checkpointing};
use crate::learned_cost::LearnedCost;
use crate::setup::{Scheduler, can_pay, most, scripted_candidates, scripted_places};

/// A run being decided again.
#[derive(Debug)]
pub struct Replay {
    deciding: Option<Deciding>,
    names: Names,
    /// Where every process lives, by rank.
    lives: Vec<HostId>,
    /// The number of changes of the placement.
    epoch: u64,
    barrier: Barrier,
    /// Whether a call must follow it.
    is_due: bool,
    /// The observations and arrivals of the call so far.
    gathered: Gathered,
    moved: Vec<Moved>,
    /// The hosts that have not joined.
    absent: BTreeSet<HostId>,
    /// The supersteps of the program that belong together.
    round: Round,
    /// The superstep with which the run began.
    first: u64,
    /// The checkpoints that there are to be, if there are any.
    checkpoints: Option<Checkpoints>,
}

/// The comparison of a call with its record.
#[derive(Clone, Debug, PartialEq)]
pub struct Checked {
    /// The number of complete supersteps.
    pub superstep: u64,
    /// The number of processes that took part.
    pub processes: usize,
    /// The number of candidates, or of planned moves.
    pub candidates: usize,
    /// The number of moves, decided again.
    pub moves: usize,
    /// Where the record differs; empty if the call is verified.
    pub differences: Vec<Difference>,
}

/// Why a record cannot be decided again.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReplayError {
    /// A process starts on a host that does not exist.
    #[error("{rank} starts on {name}, which is none of the hosts")]
    Host {
        /// The process.
        rank: Rank,
        /// The name of the host in the record.
        name: String,
    },
    /// An event comes too early, or too late.
    #[error("an event of superstep {found} follows after {expected} supersteps")]
    Order {
        /// The number of its superstep.
        found: u64,
        /// The number of supersteps that are over.
        expected: u64,
    },
    /// The observations of a call are incomplete.
    #[error("the call after superstep {superstep} cannot be decided again: {gap}")]
    Gap {
        /// The call.
        superstep: u64,
        /// What is missing.
        #[source]
        gap: Gap,
    },
}

/// A process that arrived at a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
struct Arrival {
    rank: Rank,
    host: HostId,
    epoch: u64,
}

impl Replay {
    /// The run that `run` describes, rescheduled by `scheduler`, where `absent` are not there at the start.
    ///
    /// # Errors
    ///
    /// If a process starts on a host that does not exist.
    pub fn new(
        scheduler: Option<Scheduler>,
        run: &Run,
        absent: BTreeSet<HostId>,
    ) -> Result<Self, ReplayError> {
        let hosts = run.hosts.iter().enumerate();
        let hosts: BTreeMap<&str, HostId> = hosts
            .map(|(index, name)| (name.as_str(), HostId::from_index(index)))
            .collect();
        let lives = run.placement.iter().enumerate().map(|(index, name)| {
            let host = hosts.get(name.as_str()).copied();
            host.ok_or_else(|| ReplayError::Host {
                rank: Rank::from_index(index),
                name: name.clone(),
            })
        });
        let first = run.first_superstep();
        Ok(Self {
            deciding: scheduler.map(|scheduler| Deciding::new(scheduler, first)),
            names: Names::new(run),
            lives: lives.collect::<Result<_, _>>()?,
            epoch: 0,
            absent,
            round: run.round,
            first,
            barrier: Barrier {
                completed: first,
                at: Instant::START,
            },
            is_due: false,
            gathered: Gathered::default(),
            moved: Vec::new(),
            checkpoints: None,
        })
    }

    /// The same run with checkpoints, if there are any.
    #[must_use]
    pub fn with_checkpoints(self, checkpointing: Option<&Checkpointing>) -> Self {
        let nodes: BTreeSet<HostId> = self.lives.iter().copied().collect();
        let checkpoints = checkpointing.map(|made| Checkpoints::new(made, nodes.len(), self.first));
        Self {
            checkpoints,
            ..self
        }
    }

    /// Takes the next event of the record. Returns the comparison of a call, if the event ends one.
    ///
    /// # Errors
    ///
    /// If the event is out of order, or the observations of a call are incomplete.
    pub fn take(&mut self, event: Event) -> Result<Option<Checked>, ReplayError> {
        match event {
            Event::Superstep(superstep) => {
                self.expect(superstep.index)?;
                let missed = self.missed(self.is_due);
                if let Some(checkpoints) = &mut self.checkpoints {
                    checkpoints.elapse(&superstep);
                }
                self.elapse(&superstep)?;
                Ok(missed)
            }
            Event::Observed(observed) => {
                self.expect(observed.superstep)?;
                self.gathered.observed.insert(observed.rank, observed);
                Ok(None)
            }
            Event::Evaluated(evaluated) => {
                self.expect(evaluated.superstep)?;
                self.gathered.evaluated.insert(evaluated.set, evaluated);
                Ok(None)
            }
            Event::Moved(moved) => {
                self.moved.push(moved);
                Ok(None)
            }
            Event::Join(join) => {
                self.expect(join.superstep)?;
                let moved = std::mem::take(&mut self.moved);
                self.epoch += u64::from(!moved.is_empty());
                for Moved { rank, host, .. } in moved {
                    self.lives[rank.index()] = host;
                }
                if join.joined {
                    self.barrier.at = join.ended;
                    self.absent.remove(&join.host);
                }
                Ok(None)
            }
            Event::Checkpoint(checkpoint) => {
                let mut comparison = Comparison::new(&self.names);
                match &mut self.checkpoints {
                    Some(checkpoints) => checkpoints.compare(&checkpoint, &mut comparison),
                    None => comparison.compare("checkpoint", &true, &false),
                }
                Ok(Checked::differing(checkpoint.superstep, comparison))
            }
            Event::Call(call) => {
                self.expect(call.superstep)?;
                let checked = self.check(&call);
                let gap = |gap| ReplayError::Gap {
                    superstep: call.superstep,
                    gap,
                };
                checked.map(Some).map_err(gap)
            }
            Event::End(end) => {
                self.expect(end.supersteps)?;
                // No call follows the last superstep.
                Ok(self.missed(false))
            }
            _ => Ok(None),
        }
    }

    /// Checks that an event follows superstep `found`.
    fn expect(&self, found: u64) -> Result<(), ReplayError> {
        let expected = self.barrier.completed;
        if found == expected {
            Ok(())
        } else {
            Err(ReplayError::Order { found, expected })
        }
    }

    /// Handles the end of a superstep.
    fn elapse(&mut self, superstep: &Superstep) -> Result<(), ReplayError> {
        let completed = superstep.index + 1;
        self.barrier = Barrier {
            completed,
            at: superstep.ended,
        };
        let Some(deciding) = &mut self.deciding else {
            return Ok(());
        };
        let lasted = (superstep.ended - superstep.started).max(Seconds::ZERO);
        deciding.when.observe(&Elapsed {
            completed: completed - self.first,
            slowest: superstep.computation,
            mean: superstep.mean.ok_or(ReplayError::Gap {
                superstep: completed,
                gap: Gap::Unobserved,
            })?,
            took: superstep.took.unwrap_or(lasted),
        });
        self.is_due = deciding.is_due(completed, self.round);
        Ok(())
    }

    /// The difference, if the record has no call after the last superstep and must have one.
    fn missed(&mut self, is_due: bool) -> Option<Checked> {
        let moved = std::mem::take(&mut self.moved);
        let mut comparison = Comparison::new(&self.names);
        comparison.compare("held", &false, &is_due);
        comparison.compare("arrivals", &Arrival::recorded(&moved), &Vec::new());
        Checked::differing(self.barrier.completed, comparison)
    }

    /// Decides a call again.
    fn check(&mut self, call: &Call) -> Result<Checked, Gap> {
        let gathered = std::mem::take(&mut self.gathered);
        let mut moved = std::mem::take(&mut self.moved);
        moved.sort_by_key(|moved| moved.rank);
        let mut comparison = Comparison::new(&self.names);
        comparison.compare("held", &true, &std::mem::take(&mut self.is_due));
        let mut checked = Checked {
            superstep: call.superstep,
            processes: call.list.len(),
            candidates: 0,
            moves: 0,
            differences: Vec::new(),
        };
        if let Some(deciding) = &mut self.deciding {
            let observations = gathered.complete(&self.names, self.lives.len(), &self.absent)?;
            if call.cost < Seconds::ZERO {
                return Err(Gap::Cost);
            }
            // Differences in earlier decisions do not change the observed hosts.
            let expected = self.lives.clone();
            observations.locate(&mut self.lives);
            let model = &deciding.scheduler.model;
            let learned = deciding.learned_cost.coefficients();
            let found = evaluate(model, &observations, &self.lives, learned);
            for (recorded, found) in observations.processes().zip(&found) {
                let rank = recorded.rank;
                let recomputed = found.as_recorded(recorded, expected[rank.index()]);
                comparison.compare(&rank.to_string(), recorded, &recomputed);
            }
            let decided = deciding.decide(self.barrier, &observations, (call, found));
            checked.candidates = decided.candidates();
            let recorded = (call, &moved[..]);
            let recomputed = deciding.conclude(self.barrier, &observations, recorded, decided);
            let moves = &recomputed.migrations;
            checked.moves = moves.len();
            self.epoch += u64::from(!moves.is_empty());
            let expected = in_order(Arrival::all(moves, self.epoch));
            comparison.compare("arrivals", &Arrival::recorded(&moved), &expected);
            comparison.compare("", call, &recomputed);
            for step in moves {
                self.lives[step.rank.index()] = step.to;
            }
        }
        checked.differences = comparison.differences();
        Ok(checked)
    }
}

impl Checked {
    /// What differs after this number of supersteps, if anything does, without a call.
    fn differing(superstep: u64, comparison: Comparison<'_>) -> Option<Self> {
        let differences = comparison.differences();
        (!differences.is_empty()).then_some(Self {
            superstep,
            processes: 0,
            candidates: 0,
            moves: 0,
            differences,
        })
    }
}

impl Arrival {
    /// The arrivals that a record has.
    fn recorded(moved: &[Moved]) -> Vec<Self> {
        let arrival = |moved: &Moved| Self {
            rank: moved.rank,
            host: moved.host,
            epoch: moved.epoch,
        };
        moved.iter().map(arrival).collect()
    }

    /// The arrivals of `moves`, in the placement `epoch`.
    fn all(moves: &[Migration], epoch: u64) -> Vec<Self> {
        let arrival = |step: &Migration| Self {
            rank: step.rank,
            host: step.to,
            epoch,
        };
        moves.iter().map(arrival).collect()
    }
}

fn in_order(mut arrivals: Vec<Arrival>) -> Vec<Arrival> {
    arrivals.sort_by_key(|arrival| arrival.rank);
    arrivals
}

/// All Managers as one.
#[derive(Debug)]
struct Deciding {
    scheduler: Scheduler,
    when: Box<dyn When>,
    planner: Option<Planner>,
    /// What is known of the cost of moves.
    learned_cost: LearnedCost,
    /// The superstep with which the run ends at the latest, if a call has found out.
    end: Option<u64>,
    /// The hosts to which a process has migrated.
    occupied: BTreeSet<HostId>,
    /// The superstep with which the run began.
    first: u64,
}

/// The end of a superstep.
#[derive(Clone, Copy, Debug)]
struct Barrier {
    /// The number of complete supersteps.
    completed: u64,
    /// When the last of them was.
    at: Instant,
}

/// What was decided in a call.
#[derive(Debug, Default)]
struct Decided {
    list: Vec<Entry>,
    selection: Selection,
    considered: Vec<Considered>,
    decision: Option<Decision>,
    /// The most supersteps that are left, if all programs know.
    remaining: Option<u64>,
}

impl Deciding {
    /// As a run begins with superstep `first`.
    fn new(scheduler: Scheduler, first: u64) -> Self {
        Self {
            when: scheduler.policy.when(&scheduler.model, &scheduler.planning),
            planner: scheduler.planner(),
            learned_cost: LearnedCost::new(&scheduler),
            end: None,
            occupied: BTreeSet::new(),
            first,
            scheduler,
        }
    }

    /// Whether a call follows the first `completed` supersteps, of which `round` belong together.
    fn is_due(&self, completed: u64, round: Round) -> bool {
        let is_due = round.ends_with(completed - 1) && self.when.is_due(completed - self.first);
        self.scheduler.is_scripted(completed) || is_due && can_pay(completed, self.end)
    }

    /// Decides a call at `barrier`, in which this was observed and `found`. What probes of links found is taken from the
    /// record.
    fn decide(
        &mut self,
        barrier: Barrier,
        observations: &Observations,
        (recorded, found): (&Call, Vec<Found>),
    ) -> Decided {
        let model = &self.scheduler.model;
        let remaining = self.scheduler.asked(|| most(observations.remaining()));
        self.end = remaining.map(|left| barrier.completed.saturating_add(left));
        let list = model::merge(model, found.iter().map(|found| found.entry).collect());
        if let Some(planner) = &mut self.planner {
            let inventories = observations.inventories();
            let cost = self.learned_cost.moves();
            let start = CallStart {
                completed: barrier.completed,
                remaining,
                began: barrier.at,
            };
            let decision = planner.decide(start, inventories, cost);
            let decision = if recorded.probed.is_empty() {
                decision
            } else {
                planner.confirm(decision, &self.learned_cost.confirmed(&recorded.probed))
            };
            return Decided {
                list,
                remaining,
                decision: Some(decision),
                ..Decided::default()
            };
        }
        let orders = self.scheduler.script.as_ref();
        let orders = orders.map(|script| script.orders(barrier.completed));
        let selection = match orders {
            Some(orders) => scripted_candidates(
                orders,
                &list,
                |host| observations.set(host),
                |rank| observations.evaluation(rank).host,
            ),
            None => model::select(model, &list),
        };
        let negotiation = Negotiation {
            observations,
            evaluations: found
                .into_iter()
                .map(|found| (found.entry.rank, found.evaluation))
                .collect(),
            places: orders.map(scripted_places),
            learns: self.scheduler.learns(),
        };
        let mut considered = negotiation.settle(&self.occupied, &selection.candidates);
        let is_scripted = orders.is_some();
        let cost = &self.learned_cost;
        cost.price_by_moves(&mut considered, is_scripted);
        cost.price_by_probes(&mut considered, &recorded.probed, is_scripted);
        Decided {
            list,
            selection,
            considered,
            decision: None,
            remaining,
        }
    }

    /// The call at `barrier`, in which this was observed, is over: how the record of it should read. Only what it and its
    /// moves (`moved`) took, and how its supersteps went, is taken from the record.
    fn conclude(
        &mut self,
        barrier: Barrier,
        observations: &Observations,
        (recorded, moved): (&Call, &[Moved]),
        decided: Decided,
    ) -> Call {
        let migrations = decided.migrations(self.scheduler.moves);
        let learned = self.learned_cost.coefficients();
        let measured = measured(&migrations, moved, observations);
        self.learned_cost.observe(&measured);
        if let Some(planner) = &mut self.planner {
            planner.conclude(recorded.cost, !migrations.is_empty());
        }
        self.occupied.extend(migrations.iter().map(|step| step.to));
        let checked = recorded.judged.iter();
        let supersteps: Vec<Digest> = checked.clone().map(|superstep| superstep.digest).collect();
        let barrier_busy: Vec<Seconds> = checked.map(|superstep| superstep.barrier_busy).collect();
        let decision = decided.decision.as_ref();
        self.when.conclude(&CallOutcome {
            completed: barrier.completed - self.first,
            supersteps: &supersteps,
            barrier_busy: &barrier_busy,
            migrations: migrations.len(),
            spacing: decision.map_or_else(Spacing::default, |decision| decision.spacing),
        });
        let schedule = self.when.schedule();
        Call {
            superstep: barrier.completed,
            at: barrier.at,
            cost: recorded.cost,
            interval: schedule.interval,
            tolerance: schedule.tolerance,
            balanced: schedule.balanced,
            judged: recorded.judged.clone(),
            threshold: decided.selection.threshold,
            list: decided.list,
            passed_over: decided.selection.passed_over,
            considered: decided.considered,
            assessment: decided.decision.map(|decision| decision.assessment),
            remaining: decided.remaining,
            learned,
            probed: recorded.probed.clone(),
            migrations,
        }
    }
}

impl Decided {
    /// The number of candidates, or of planned moves.
    fn candidates(&self) -> usize {
        let planned = self.decision.as_ref();
        self.considered.len() + planned.map_or(0, |decision| decision.moves.len())
    }

    /// The migrations, unless moving is switched off.
    fn migrations(&self, moves: bool) -> Vec<Migration> {
        if !moves {
            return Vec::new();
        }
        let planned = self.decision.iter().flat_map(|decision| &decision.moves);
        let negotiated = self.considered.iter().filter_map(Migration::negotiated);
        negotiated.chain(planned.map(Migration::planned)).collect()
    }
}

/// The `migrations` of a call in rank order, with what they took as `moved` says; none where the cost of moves is not
/// learned.
fn measured(
    migrations: &[Migration],
    moved: &[Moved],
    observations: &Observations,
) -> Vec<CallMove> {
    let migrations = migrations.iter();
    let predicted: BTreeMap<Rank, &Migration> = migrations
        .map(|migration| (migration.rank, migration))
        .collect();
    let place = |host: HostId| (host, observations.set(host));
    let measured = moved.iter().filter_map(|moved| {
        let migration = predicted.get(&moved.rank)?;
        Some(CallMove {
            measured: moved.measured(),
            per_byte: migration.per_byte?,
            from: place(migration.from),
            to: place(migration.to),
        })
    });
    measured.collect()
}

/// What is negotiated with.
#[derive(Debug)]
struct Negotiation<'a> {
    observations: &'a Observations,
    /// What every process found.
    evaluations: BTreeMap<Rank, model::Evaluation>,
    /// The new hosts of the script, if there is one.
    places: Option<BTreeMap<Rank, HostId>>,
    /// Whether the cost of moves is learned.
    learns: bool,
}

impl Negotiation<'_> {
    /// The decisions about the `candidates`, in their order; a process has migrated earlier to each of the hosts
    /// `occupied`.
    fn settle(&self, occupied: &BTreeSet<HostId>, candidates: &[Entry]) -> Vec<Considered> {
        let mut sets = self.processors(occupied);
        let settle = |candidate: &Entry| {
            let (own, target) = (candidate.own.index(), candidate.target.index());
            let request = self.request(candidate, &sets[own]);
            let answer = match &self.places {
                Some(places) => sets[target].place(&request, places[&request.rank]),
                None => sets[target].answer(&request),
            };
            if own != target && matches!(answer, Answer::Offer { .. }) {
                sets[own].depart(request.rank);
            }
            Considered {
                entry: *candidate,
                host: self.observations.evaluation(candidate.rank).host,
                request,
                answer,
            }
        };
        candidates.iter().map(settle).collect()
    }

    /// The processors of every Set, with the processes on them.
    fn processors(&self, occupied: &BTreeSet<HostId>) -> Vec<Processors> {
        let sets = self.observations.sets();
        let processors = sets.map(|(set, evaluated)| {
            let mut residents: BTreeMap<HostId, Vec<_>> = BTreeMap::new();
            for process in &evaluated.processes {
                let resident = self.observations.of(process.rank).resident;
                let here = residents.entry(process.host).or_default();
                here.push((process.rank, resident));
            }
            let mut processors = self.observations.processors(set, |hosts| hosts.load);
            for processor in &mut processors {
                processor.residents = residents.remove(&processor.host).unwrap_or_default();
            }
            let rate = evaluated.transfer_rates[set.index()];
            Processors::new(rate, processors, occupied)
        });
        processors.collect()
    }

    /// What the Manager of a candidate asks for.
    fn request(&self, candidate: &Entry, own: &Processors) -> Request {
        let (rank, target) = (candidate.rank, candidate.target.index());
        let observed = self.observations.evaluation(rank);
        let rate = self.observations.set_of(candidate.own).transfer_rates[target];
        let t2 = own.stay(rank, observed.bytes, rate);
        Request {
            rank,
            instructions: observed.instructions,
            bytes: observed.bytes,
            migration: self.evaluations[&rank].cost(candidate.target),
            t2: t2.expect("a candidate lives in its own Set"),
            per_byte: self.learns.then_some(rate),
        }
    }
}

/// What a process finds.
#[derive(Debug)]
struct Found {
    /// Its row of the list.
    entry: Entry,
    /// All its potentials.
    evaluation: model::Evaluation,
}

impl Found {
    /// How the record of it should read, of which `recorded` has what was observed; the process lives on `host`.
    fn as_recorded(&self, recorded: &Evaluation, host: HostId) -> Evaluation {
        Evaluation {
            rank: self.entry.rank,
            host,
            instructions: recorded.instructions,
            bytes: recorded.bytes,
            target: self.entry.target,
            potentials: self.evaluation.potentials.clone(),
        }
    }
}

/// The evaluation of every process, by Set and rank; `lives` gives the host of each process, `learned` what had been
/// learned of the cost of moves.
fn evaluate(
    model: &Config,
    observations: &Observations,
    lives: &[HostId],
    learned: Option<CostCoefficients>,
) -> Vec<Found> {
    let views = views(observations, lives);
    let evaluate = |recorded: &Evaluation| {
        let rank = recorded.rank;
        let history = ProcessHistory::of_potentials(&recorded.potentials);
        let own = observations.set(recorded.host);
        let found = history.evaluate(
            model,
            &Situation {
                own,
                image: observations.of(rank).image,
                sets: &views[own.index()],
                learned,
            },
        );
        Found {
            entry: found.entry(rank, &history),
            evaluation: found,
        }
    };
    observations.processes().map(evaluate).collect()
}

/// All Sets as processes of each see them; `lives` gives the host of each process.
fn views(observations: &Observations, lives: &[HostId]) -> Vec<Vec<SetView>> {
    let mut processes = vec![0; observations.sets().count()];
    for host in lives {
        processes[observations.set(*host).index()] += 1;
    }
    let offer = |(set, evaluated): (SetId, &Evaluated)| SetView {
        capacity: model::capacity(&observations.processors(set, |hosts| hosts.load)),
        processes: processes[set.index()],
        processors: cores(evaluated),
        transfer_rate: 0.0,
    };
    let offers: Vec<SetView> = observations.sets().map(offer).collect();
    let seen = |(_, evaluated): (SetId, &Evaluated)| {
        let offers = offers.iter().zip(&evaluated.transfer_rates);
        offers
            .map(|(offer, rate)| SetView {
                transfer_rate: *rate,
                ..*offer
            })
            .collect()
    };
    observations.sets().map(seen).collect()
}

/// The number of processors of a Set.
fn cores(evaluated: &Evaluated) -> u32 {
    let hosts = evaluated.hosts.iter();
    hosts
        .map(|hosts| hosts.number.saturating_mul(hosts.cores))
        .fold(0, u32::saturating_add)
}

/// When checkpoints were due, as the record has it.
///
/// The record does not say when the first Manager asked whether one was due: between the beginning and the end of a
/// superstep. So a checkpoint may not begin before its interval is over, and may not be left out at a barrier whose
/// superstep began later than that.
#[derive(Debug)]
struct Checkpoints {
    schedule: CheckpointSchedule,
    /// The supersteps since the last checkpoint was complete. A checkpoint is recorded when it is complete, so only then is
    /// it known which of them were before it.
    supersteps: Vec<Superstep>,
    /// When the last checkpoint was complete.
    complete: Instant,
    /// The first superstep of a run that goes on from the memory of its nodes, before which it is saved at once. `None` once a
    /// checkpoint has been read.
    first: Option<u64>,
}

/// What holds of every checkpoint.
#[derive(Debug, PartialEq, Serialize)]
struct Claims {
    follows_its_superstep: bool,
    follows_the_one_before: bool,
    ends_after_it_began: bool,
    interval_is_over: bool,
    /// The first superstep before which one was due and is missing.
    left_out: Option<u64>,
}

impl Checkpoints {
    /// No checkpoint has been read, of a run on `nodes` hosts that begins with superstep `first`.
    fn new(checkpointing: &Checkpointing, nodes: usize, first: u64) -> Self {
        Self {
            schedule: CheckpointSchedule::new(checkpointing, nodes).from_superstep(first),
            supersteps: Vec::new(),
            complete: Instant::START,
            first: Some(first).filter(|first| 0 < *first),
        }
    }

    /// A superstep has ended.
    fn elapse(&mut self, superstep: &Superstep) {
        self.supersteps.push(superstep.without_notes());
    }

    /// Compares a checkpoint of the record with what has to hold.
    fn compare(&mut self, checkpoint: &Checkpoint, comparison: &mut Comparison<'_>) {
        let (superstep, at) = (checkpoint.superstep, checkpoint.at);
        let all = std::mem::take(&mut self.supersteps);
        let (before, during): (Vec<_>, Vec<_>) =
            all.into_iter().partition(|ended| ended.index < superstep);
        let mut left_out = None;
        let mut interval_is_over = self.schedule.is_due(superstep, at);
        for ended in &before {
            let completed = ended.index + 1;
            let is_asked_later = self.complete <= ended.started;
            let is_due = is_asked_later && self.schedule.is_due(completed, ended.started);
            if is_due && completed < superstep {
                left_out = left_out.or(Some(completed));
            }
            // What the last superstep says about costs was not known when it was asked.
            interval_is_over = self.schedule.is_due(superstep, at);
            self.schedule
                .elapse(ended.index, ended.ended - ended.started);
        }
        let is_at_start = self.first.take() == Some(superstep) && before.is_empty();
        interval_is_over |= is_at_start || checkpoint.held;
        let recorded = Claims {
            follows_its_superstep: is_at_start
                || before
                    .last()
                    .is_some_and(|last| last.index + 1 == superstep && last.ended <= at),
            follows_the_one_before: self.complete <= at,
            ends_after_it_began: at <= checkpoint.complete,
            interval_is_over,
            left_out,
        };
        let sound = Claims {
            follows_its_superstep: true,
            follows_the_one_before: true,
            ends_after_it_began: true,
            interval_is_over: true,
            left_out: None,
        };
        comparison.compare("checkpoint", &recorded, &sound);
        self.schedule.begin(superstep, at);
        for ended in &during {
            self.schedule
                .elapse(ended.index, ended.ended - ended.started);
        }
        self.schedule.complete(checkpoint.cost());
        self.complete = checkpoint.complete;
    }
}

/// The observations of a call, while they are read.
#[derive(Debug, Default)]
struct Gathered {
    observed: BTreeMap<Rank, Observed>,
    evaluated: BTreeMap<SetId, Evaluated>,
}

/// The observations of a call.
///
/// Invariant: every Set is there and has its hosts, every host is in one Set, and every process that took part is
/// listed in the Set where it lives, with potentials for every Set.
#[derive(Debug)]
struct Observations {
    /// By Set.
    evaluated: Vec<Evaluated>,
    observed: BTreeMap<Rank, Observed>,
    /// The Set of each host.
    sets: Vec<SetId>,
    /// Where each process is found: Set, and position in it.
    positions: BTreeMap<Rank, (usize, usize)>,
}

/// What is missing or contradictory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Gap {
    /// There are no observations.
    #[error("it does not say what was observed")]
    Unobserved,
    /// The observations of a Set are missing or incomplete.
    #[error("not all Sets say what they have, and how far it is to the others")]
    Set,
    /// A host is in no Set, or in several.
    #[error("not every host is in one Set")]
    Host,
    /// A process takes part twice, on another host than its own, or without all potentials.
    #[error("{0} is not found once, in the Set where it lives, with a potential for every Set")]
    Process(Rank),
    /// The duration of the call is negative.
    #[error("it took less than no time")]
    Cost,
}

impl Gathered {
    /// The observations of `processes` processes, if they are complete; the hosts in `absent` have not joined.
    fn complete(
        self,
        names: &Names,
        processes: usize,
        absent: &BTreeSet<HostId>,
    ) -> Result<Observations, Gap> {
        let Self {
            observed,
            evaluated,
        } = self;
        let evaluated: Vec<Evaluated> = evaluated.into_values().collect();
        if evaluated.iter().all(|set| set.hosts.is_empty()) {
            return Err(Gap::Unobserved);
        }
        let number = names.sets.len();
        let is_complete = |(index, set): (usize, &Evaluated)| {
            set.set == SetId::from_index(index) && set.transfer_rates.len() == number
        };
        if evaluated.len() != number || !evaluated.iter().enumerate().all(is_complete) {
            return Err(Gap::Set);
        }
        let sets = sets_of_hosts(&evaluated, names.hosts.len(), absent).ok_or(Gap::Host)?;
        let mut positions = BTreeMap::new();
        for (set, found) in evaluated.iter().enumerate() {
            for (position, process) in found.processes.iter().enumerate() {
                let rank = process.rank;
                let own = sets.get(process.host.index());
                let mut potentials = process.potentials.iter().enumerate();
                let is_sound = own == Some(&found.set)
                    && rank.index() < processes
                    && observed.contains_key(&rank)
                    && process.potentials.len() == number
                    && potentials.all(|(set, of)| of.set == SetId::from_index(set));
                if !is_sound || positions.insert(rank, (set, position)).is_some() {
                    return Err(Gap::Process(rank));
                }
            }
        }
        Ok(Observations {
            evaluated,
            observed,
            sets,
            positions,
        })
    }
}

impl Observations {
    /// All Sets, in order.
    fn sets(&self) -> impl Iterator<Item = (SetId, &Evaluated)> {
        self.evaluated
            .iter()
            .map(|evaluated| (evaluated.set, evaluated))
    }

    /// All processes that took part, by Set and rank.
    fn processes(&self) -> impl Iterator<Item = &Evaluation> {
        self.evaluated.iter().flat_map(|found| &found.processes)
    }

    /// Corrects the hosts of processes, by rank, from the observations.
    fn locate(&self, lives: &mut [HostId]) {
        for process in self.processes() {
            lives[process.rank.index()] = process.host;
        }
    }

    /// The observations of a Set.
    fn set_of(&self, set: SetId) -> &Evaluated {
        &self.evaluated[set.index()]
    }

    /// The Set of a host.
    fn set(&self, host: HostId) -> SetId {
        self.sets[host.index()]
    }

    /// A process's observations of itself, if it took part.
    fn of(&self, rank: Rank) -> &Observed {
        &self.observed[&rank]
    }

    /// The most supersteps that each process that took part executes from now on.
    fn remaining(&self) -> impl Iterator<Item = Option<u64>> {
        let processes = self.processes();
        processes.map(|process| self.of(process.rank).remaining)
    }

    /// The evaluation of a process, if it took part.
    fn evaluation(&self, rank: Rank) -> &Evaluation {
        let (set, position) = self.positions[&rank];
        &self.evaluated[set].processes[position]
    }

    /// The processors of a Set, without residents, under the load that `load` reads.
    fn processors(&self, set: SetId, load: impl Fn(&Hosts) -> f64) -> Vec<Processor> {
        let hosts = self.set_of(set).hosts.iter();
        hosts
            .flat_map(|hosts| hosts.processors(load(hosts)))
            .collect()
    }

    /// The inventory of every Set, for a plan.
    fn inventories(&self) -> Vec<Inventory> {
        let inventory = |(set, evaluated): (SetId, &Evaluated)| Inventory {
            processors: self.processors(set, |hosts| hosts.load_recent),
            loads: evaluated
                .processes
                .iter()
                .filter_map(|process| self.load(process))
                .collect(),
            rates: evaluated.transfer_rates.clone(),
            paths: evaluated.paths.clone(),
            barrier: evaluated.barrier.unwrap_or_default(),
            measured: Measurements {
                links: evaluated.links.clone(),
                external: evaluated.external.clone(),
            },
        };
        self.sets().map(inventory).collect()
    }

    /// The data that another Manager needs to place a process.
    fn load(&self, process: &Evaluation) -> Option<Load> {
        let observed = self.of(process.rank);
        Some(Load {
            rank: process.rank,
            host: process.host,
            instructions: observed.forecast?,
            finished: observed.finished,
            image: observed.image,
            received: observed.received.clone(),
            edges: observed.edges.clone(),
            noise: observed.noise,
        })
    }
}

/// The Set of each host, if each is in one.
fn sets_of_hosts(
    evaluated: &[Evaluated],
    number: usize,
    absent: &BTreeSet<HostId>,
) -> Option<Vec<SetId>> {
    let mut sets = vec![None; number];
    for found in evaluated {
        for host in found.hosts.iter().flat_map(Hosts::ids) {
            let before = sets.get_mut(host.index())?.replace(found.set);
            if before.is_some() {
                return None;
            }
        }
    }
    for host in absent {
        let set = sets.get_mut(host.index())?;
        // No process runs there, so its Set does not matter.
        if set.replace(SetId(0)).is_some() {
            return None;
        }
    }
    sets.into_iter().collect()
}

/// A value that the record has otherwise.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Difference {
    /// Which, in the words of the record: `p3 potentials ice computation`.
    pub what: String,
    /// The value in the record, to the last digit.
    pub recorded: String,
    /// The recomputed value.
    pub recomputed: String,
}

/// How a run calls its Sets and hosts.
#[derive(Debug)]
struct Names {
    sets: Vec<String>,
    hosts: Vec<String>,
}

/// Values being compared, and what was found to differ.
#[derive(Debug)]
struct Comparison<'a> {
    names: &'a Names,
    differences: Vec<Difference>,
}

impl Names {
    fn new(run: &Run) -> Self {
        Self {
            sets: run.sets.clone(),
            hosts: run.hosts.clone(),
        }
    }

    /// What the field `key` holds, as people call it.
    fn shown(&self, key: &str, value: &Value) -> String {
        let named = |names: &[String]| {
            let index = usize::try_from(value.as_u64()?).ok()?;
            names.get(index).cloned()
        };
        let name = match key {
            "set" | "own" | "target" => named(&self.sets),
            "host" | "from" | "to" | "runner_up" => named(&self.hosts),
            "rank" => value.as_u64().map(|rank| format!("p{}", rank + 1)),
            _ => None,
        };
        match value {
            Value::Null => "nothing".to_owned(),
            Value::String(text) => text.clone(),
            other => name.unwrap_or_else(|| other.to_string()),
        }
    }
}

impl<'a> Comparison<'a> {
    fn new(names: &'a Names) -> Self {
        Self {
            names,
            differences: Vec::new(),
        }
    }

    /// Compares what is `recorded` with what is `recomputed`, field by field.
    fn compare<T: Serialize + PartialEq>(&mut self, what: &str, recorded: &T, recomputed: &T) {
        if recorded != recomputed {
            let value = |of: &T| serde_json::to_value(of).expect("a record is plain data");
            self.walk(what, "", &value(recorded), &value(recomputed));
        }
    }

    fn differences(self) -> Vec<Difference> {
        self.differences
    }

    /// `key` is the last name on the way to these values.
    fn walk(&mut self, path: &str, key: &str, recorded: &Value, recomputed: &Value) {
        match (recorded, recomputed) {
            _ if recorded == recomputed => {}
            (Value::Object(one), Value::Object(other)) if one.keys().eq(other.keys()) => {
                for (key, (one, other)) in one.keys().zip(one.values().zip(other.values())) {
                    self.walk(&join(path, key), key, one, other);
                }
            }
            (Value::Array(one), Value::Array(other)) => {
                if one.len() != other.len() {
                    let number = join(path, "number");
                    self.differ(&number, "", &one.len().into(), &other.len().into());
                }
                for (index, (one, other)) in one.iter().zip(other).enumerate() {
                    let part = match one.get("set") {
                        Some(set) => self.names.shown("set", set),
                        None => format!("#{}", index + 1),
                    };
                    let key = if index == 0 { key } else { "" };
                    self.walk(&join(path, &part), key, one, other);
                }
            }
            _ => self.differ(path, key, recorded, recomputed),
        }
    }

    fn differ(&mut self, what: &str, key: &str, recorded: &Value, recomputed: &Value) {
        self.differences.push(Difference {
            what: what.to_owned(),
            recorded: self.names.shown(key, recorded),
            recomputed: self.names.shown(key, recomputed),
        });
    }
}

fn join(path: &str, part: &str) -> String {
    if path.is_empty() {
        part.to_owned()
    } else {
        format!("{path} {part}")
    }
}
