//! Plans of one run, from call to call.
//!
//! `Planner` is the part of the first Manager that applies plan and gate, with what it has learned of costs, of
//! owners' jobs, of the lifetime of plans, and of its own errors. Planning time grows with the number of processes and
//! with the budget of searches, so no handler plans: the Manager passes its planner to the world and receives it back
//! with the plan.
//!
//! The policy `adaptive`, with the defaults of [`Planning`](crate::Planning); `T` is the predicted length of a
//! superstep, `cost` the predicted time of moves times `F`, and `mean(x, y)` is `(x + y) / 2`:
//!
//! ```text
//! after superstep i since the last call, with u_i = slowest - mean computation:
//!   call if each of supersteps 2, 3 and 4 after a plan took more than 1.02 times what they took before it, and more by
//!   the noise of one superstep, or
//!   if u has risen since the first 4 supersteps after it, by more than its noise, and has cost 2^k C by that, k calls after
//!   the last moves, or if the pause is over, and
//!     sum of max(0, u_j - u_1) >= C  or  i u_i - sum of u_j >= C  or  `again` supersteps are over
//!     (u_1 counts as 0, and C as 0, before the first call; no call in the first 4 supersteps)
//! in a call:
//!   learn from the messages what paths between Sets take; T is predicted from the graph, loads, speeds and paths
//!   where owners run jobs: loads and interruptions are expected by JOBS, and T grows by phi times the interruptions of
//!   the hosts in use; S, e and T(present) in what follows are without the time that jobs took; phi follows what they took
//!   S <- measured mean length of a superstep since the last call; e <- S - T(present)
//!   H <- clamp(max(supersteps since the last plan, L), 1, 100), with L = 100 at first, at least A, but no more than are left
//!   N <- sqrt(2 ln n) s, for the n hosts in use; s^2 = (v(slowest host) + mean of v) / supersteps that T is predicted from,
//!     v(h) = sum over its processes of (noise of their times)^2: differences below are noise
//!   if the last plan was predicted to gain g, and e has grown by d + N, d > g, since that call, or S by 2 % and by N in 4
//!   supersteps in which T(former hosts) has stayed what it was:
//!     while the loads of its processes and hosts stay: reject plans like it, and E is at least d
//!     if T(former hosts) + e then < S by more than 5 % of S, N, and cost / H: move back
//!   best <- present
//!   unless T(present) - BOUND <= max(5 % of S, T(present) / 1000):
//!   for plan in greedy-refine(1.03), greedy over all hosts, the graph divided among each choice of Sets,
//!               if best is present: greedy-refine with seven larger limits, then search from present and from the three best:
//!     take back each move, the most expensive first, unless H max(T(plan), least T(plan) so far + s) + cost(plan) grows by that
//!     if H T(plan) + cost(plan) < H T(best) + cost(best): best <- plan
//!   gain <- T(present) - T(best)
//!   if best is present, gain <= max(5 % of S, E, N), or best is rejected: no move; pause 2, then 4, 8, 16, 32, until moves
//!   else if H gain <= cost(best): no move; pause 2, then 4, then 8, until a plan is accepted
//!   else: move
//!   pause and again: at least until idle + C is 1 % and 0.5 % of the run; 6 before C is known
//!     but if the shortest plan of all, which costs c, would still gain g > max(5 % of S, E), and has for A supersteps:
//!     not beyond the next max((c + C) / g - A, or A if that is not above 0; C / g; (supersteps of s) ((N / g)^2 - 1))
//! after a call that took t:
//!   no moves: C <- mean(C, t); idle <- idle + t; F <- F - (F - 16) / 16 if that lowers F
//!   moves: F <- mean(F, F (t - C) / cost); idle <- idle + clamp(t - H gain, 0, C)
//!          L <- mean(L, supersteps since the plan before), if the moves were not moves back
//! ```

mod costs;
mod job_forecast;
mod model_error;
mod pacing;

use std::collections::BTreeSet;

use bsp::units::{Instant, Seconds};
use costs::LearnedCosts;
use job_forecast::{JobForecast, LostTime, Outlook};
use model_error::{ModelError, PlanAudit};
use pacing::{CallPacing, Deferral, Lifetime, Undone};
use serde::{Deserialize, Serialize};

use crate::bounded::count;
use crate::knowledge::move_times;
use crate::when::TRIAL;
use crate::{
    Alternative, Assignment, BarrierTime, Config, CostBenefit, DestinationChoice, Draft, Gate,
    Lesson, LinkProbe, Load, LoadSource, Measurements, MigrationTime, Move, MoveCost, Path, Plan,
    Planning, PlanningAssumptions, PlanningEffort, Policy, PricedMove, ProbedLink, Processor,
    Snapshot, Spacing, Verdict,
};

/// What the first Set Manager makes plans with, under a policy whose plans name processors.
///
/// It predicts the cost of moves, and corrects itself by what they took.
#[derive(Debug)]
pub struct Planner {
    plan: Box<dyn Plan>,
    gate: Box<dyn Gate>,
    planning: Planning,
    migration_time: MigrationTime,
    costs: LearnedCosts,
    pacing: CallPacing,
    lifetime: Lifetime,
    deferral: Deferral,
    model_error: ModelError,
    /// What owners' jobs take.
    lost_time: LostTime,
    /// What is expected of owners' jobs; `None`: the loads of the last moment.
    jobs: Option<JobForecast>,
    /// What has been learned of the messages between Sets.
    lessons: Vec<Lesson>,
    /// The gain and cost of the plan of the call being held.
    balance: Option<CostBenefit>,
    /// The plan of the call being held, if its links may be probed.
    unconfirmed: Option<Unconfirmed>,
}

/// A plan with the decision of the gate.
struct Proposal {
    draft: Draft,
    balance: CostBenefit,
    verdict: Verdict,
    /// Whether its predicted gain is checked in the next call.
    is_audited: bool,
}

impl Planner {
    /// A planner that has planned nothing yet; `None` if the policy's plans name no processors.
    #[must_use]
    pub fn new(
        policy: &Policy,
        config: &Config,
        planning: &Planning,
        migration_time: MigrationTime,
    ) -> Option<Self> {
        Some(Self {
            plan: policy.plan(config, planning)?,
            gate: policy.gate(config, planning),
            planning: *planning,
            migration_time,
            costs: LearnedCosts::new(migration_time),
            pacing: CallPacing::new(planning.overhead),
            lifetime: Lifetime::new(planning.horizon),
            deferral: Deferral::default(),
            model_error: ModelError::default(),
            lost_time: LostTime::default(),
            jobs: match planning.load {
                LoadSource::Forecast => Some(JobForecast::default()),
                LoadSource::Recent => None,
            },
            lessons: Vec::new(),
            balance: None,
            unconfirmed: None,
        })
    }

    /// Plans, in a call that begins at `start`, with what is known of every Set.
    pub fn decide(
        &mut self,
        start: CallStart,
        mut sets: Vec<Inventory>,
        cost: MoveCost,
    ) -> Decision {
        let CallStart {
            completed,
            began: now,
            ..
        } = start;
        let assumptions = self.assumptions(&start, cost);
        let deferred = self.costs.deferred();
        let superstep = self.pacing.superstep(completed, now, deferred);
        let passed = count(completed - self.pacing.completed());
        let outlook = Outlook {
            horizon: assumptions.horizon * self.pacing.pace(superstep),
            supersteps: passed,
            moving: moving(&sets, cost),
        };
        let jobs = self.jobs.as_mut();
        let expected = jobs.map(|jobs| jobs.expect(outlook, &mut sets));
        let expected = expected.unwrap_or_default();
        let factor = self.lost_time.factor();
        let snapshot = snapshot_of(sets, cost, &assumptions)
            .with_interruptions(&expected.interruptions, factor);
        self.lessons = snapshot.network().lessons().to_vec();
        let averaged = self.planning.load_window.get() / superstep.max(f64::MIN_POSITIVE);
        let averaged = averaged
            .max(count(TRIAL))
            .min(self.pacing.placed(completed));
        let noise = TimeNoise::new(&snapshot, averaged);
        let uninterrupted = if expected.owned.is_empty() {
            superstep
        } else {
            superstep * expected.left
        };
        let snapshot = snapshot
            .with_noise(noise.error())
            .with_least_gain(NOTICEABLE * uninterrupted);
        let present = Assignment::present(&snapshot);
        let predicted = if expected.owned.is_empty() {
            present.longest()
        } else {
            let without = snapshot.clone().without_owners(&expected.owned);
            let predicted = Assignment::present(&without).longest();
            self.lost_time.observe(passed, superstep, predicted);
            predicted
        };
        let call = Call {
            snapshot: &snapshot,
            noise,
            busy: expected.busy_hosts(&snapshot, self.planning.idle_below),
            horizon: assumptions.horizon,
            measured: superstep,
            superstep: uninterrupted,
            predicted,
            is_trial: expected.owned.is_empty() && completed - self.pacing.completed() <= TRIAL,
            present,
        };
        let proposal = self.undo(&call).unwrap_or_else(|| self.propose(&call));
        self.pacing.begin_call(completed, now, superstep);
        let places = cost
            .depends_on_bandwidth()
            .then(|| proposal.draft.places.clone());
        let drafted = (!expected.owned.is_empty()).then(|| proposal.draft.places.clone());
        let decision = self.settle(&call, proposal);
        if let Some(drafted) = drafted {
            let stays = decision.moves.is_empty();
            let places = if stays { snapshot.places() } else { &drafted };
            let interrupted = Assignment::new(&snapshot, places).interrupted();
            self.lost_time.predict(interrupted / factor);
        }
        let places = places.filter(|_| !decision.moves.is_empty());
        self.unconfirmed = places.map(|places| Unconfirmed {
            snapshot,
            places,
            cost,
        });
        decision
    }

    /// What is expected in a call that begins at `start`.
    fn assumptions(&mut self, start: &CallStart, cost: MoveCost) -> PlanningAssumptions {
        let expected = self.lifetime.horizon(start.completed);
        let expected = expected.max(self.deferral.age(start.completed));
        PlanningAssumptions {
            horizon: start.horizon(expected),
            // What is learned from each move needs no correction by calls.
            cost_factor: if cost.is_learned() {
                1.0
            } else {
                self.costs.factor()
            },
            migration_time: self.migration_time,
            lessons: std::mem::take(&mut self.lessons),
        }
    }

    /// The best plan for the snapshot.
    fn propose(&mut self, call: &Call<'_>) -> Proposal {
        let mut draft = self.plan.draft(call.snapshot);
        call.drop_moves_to_busy_hosts(&mut draft.places);
        let stays = draft.places == call.snapshot.places();
        let planned = (!stays).then(|| Assignment::new(call.snapshot, &draft.places));
        let planned = planned.as_ref().unwrap_or(&call.present);
        let balance = CostBenefit {
            present: call.present.superstep(),
            planned: planned.superstep(),
            cost: planned.migration_cost(),
            horizon: call.horizon,
        };
        self.model_error.forget_outdated(call.snapshot);
        let gain = (balance.present - balance.planned).get();
        let is_idle = stays || !call.is_noticeable(gain, self.model_error.seconds());
        let verdict = if is_idle || self.model_error.is_rejected(call.snapshot, &draft.places) {
            Verdict::Unchanged
        } else {
            self.gate.admit(&balance)
        };
        Proposal {
            draft,
            balance,
            verdict,
            is_audited: true,
        }
    }

    /// Takes back the last plan, if it has made supersteps longer and going back pays.
    fn undo(&mut self, call: &Call<'_>) -> Option<Proposal> {
        let longer = |audit: &PlanAudit| {
            let places = audit.reverted(call.snapshot)?;
            let reverted = Assignment::new(call.snapshot, &places);
            let longer = call.superstep - audit.superstep;
            let least = ((LONGER - 1.0) * audit.superstep).max(call.noise.least());
            let is_longer = least < longer;
            (is_longer && call.compares_with(audit, &reverted)).then_some(longer)
        };
        let (failed, error) = self
            .model_error
            .failed_plan(call.superstep - call.predicted - call.noise.least(), longer)?;
        self.model_error.reject(call.snapshot, &failed, error);
        let places = failed.reverted(call.snapshot)?;
        let reverted = Assignment::new(call.snapshot, &places);
        // On hosts with owners, going back is expected to lose time to their jobs, and supersteps are measured without it.
        let before = if call.compares_with(&failed, &reverted) {
            failed.superstep
        } else {
            (reverted.longest() + failed.unexplained()).max(0.0)
        };
        let balance = CostBenefit {
            present: Seconds::bounded(call.superstep),
            planned: Seconds::bounded(before),
            cost: reverted.migration_cost(),
            horizon: call.horizon,
        };
        // If this is refused, another plan may still be better.
        let gain = (balance.present - balance.planned).get();
        if !call.is_noticeable(gain, 0.0) || !self.gate.admits(&balance) {
            return None;
        }
        let verdict = self.gate.admit(&balance);
        let draft = Draft {
            alternatives: vec![Alternative {
                superstep: balance.planned,
                ..Alternative::new("undo", &reverted)
            }],
            places,
            choice: None,
            shortest: None,
        };
        Some(Proposal {
            draft,
            balance,
            verdict,
            is_audited: false,
        })
    }

    /// The decision that follows from a proposal.
    fn settle(&mut self, call: &Call<'_>, proposal: Proposal) -> Decision {
        let spacing = self.spacing(call, &proposal);
        let Proposal {
            draft,
            balance,
            verdict,
            is_audited,
        } = proposal;
        let moves = if verdict == Verdict::Admitted {
            let planned = Assignment::new(call.snapshot, &draft.places);
            planned_moves(call.snapshot, &call.present, &planned)
        } else {
            Vec::new()
        };
        self.model_error.proposed = (is_audited && !moves.is_empty()).then(|| {
            let former = moves
                .iter()
                .map(|planned| (planned.step.rank, planned.step.from));
            let gain = (balance.present - balance.planned).get();
            PlanAudit::new(former.collect(), gain, (call.superstep, call.predicted))
        });
        self.balance = Some(balance);
        Decision {
            moves,
            assessment: PlanAssessment {
                balance,
                verdict,
                measured: Seconds::bounded(call.measured),
                overhead: self
                    .costs
                    .overhead()
                    .filter(|_| call.snapshot.learns_cost())
                    .map(Seconds::bounded),
                alternatives: draft.alternatives,
                choice: draft.choice,
            },
            spacing,
            effort: call.snapshot.effort(),
        }
    }

    /// The links to be probed before the moves of `decision`, which was the last one. With the results, in
    /// [`Planner::confirm`], the plan is priced again.
    #[must_use]
    pub fn probes(&self, decision: &Decision) -> Vec<LinkProbe> {
        let unconfirmed = self.unconfirmed.as_ref();
        unconfirmed.map_or_else(Vec::new, |unconfirmed| unconfirmed.probes(decision))
    }

    /// The same `decision` with moves priced by what was `probed`, or without moves if the plan does not pay any more.
    pub fn confirm(&mut self, decision: Decision, probed: &[ProbedLink]) -> Decision {
        let Some(unconfirmed) = self.unconfirmed.take() else {
            return decision;
        };
        let mut decision = unconfirmed.repriced(decision, probed);
        let balance = decision.assessment.balance;
        self.balance = Some(balance);
        if self.gate.admits(&balance) {
            return decision;
        }
        let verdict = self.gate.admit(&balance);
        decision.assessment.verdict = verdict;
        decision.moves.clear();
        self.model_error.proposed = None;
        if let Verdict::NotAmortised { pause } = verdict {
            let spacing = Spacing {
                pause,
                ..decision.spacing
            };
            let undone = Undone {
                gain: (balance.present - balance.planned).get(),
                cost: balance.cost.get(),
                noise: 0.0,
                supersteps: 0.0,
            };
            decision.spacing = self.bring_forward(spacing, Some(undone));
        }
        decision
    }

    /// Handles the end of the call, which took `took`, moves included; `moved` says whether a process moved.
    pub fn conclude(&mut self, took: Seconds, moved: bool) {
        self.unconfirmed = None;
        self.pacing.end_call(took, moved);
        let took = took.get();
        let (balance, proposed) = (self.balance.take(), self.model_error.proposed.take());
        let Some(balance) = balance.filter(|_| moved) else {
            self.costs.observe_idle_call(took);
            self.pacing.spend(took);
            return;
        };
        self.costs.observe_moves(took, balance.cost.get());
        // What the moves cost has been weighed against their gain.
        let spent = took + self.costs.deferred() - balance.gain();
        let idle = self.costs.overhead().unwrap_or_default();
        self.pacing.spend(spent.clamp(0.0, idle));
        if let Some(audit) = proposed {
            self.model_error.carried_out = Some(audit);
            self.lifetime.replace(self.pacing.completed());
        }
    }

    /// How far away the next call may be, once `proposal` is decided.
    fn spacing(&mut self, call: &Call<'_>, proposal: &Proposal) -> Spacing {
        let balance = &proposal.balance;
        let (pause, after) = match proposal.verdict {
            Verdict::Admitted => (0, balance.planned),
            Verdict::Unchanged => {
                let pause = self.pacing.pause_idle(self.planning.pause);
                (pause, balance.present)
            }
            Verdict::NotAmortised { pause } => (pause, balance.present),
        };
        let overhead = self.costs.overhead();
        let (_, again) = self.pacing.pauses(overhead);
        let limit = call.measured * LONGER + call.noise.superstep;
        let spacing = Spacing {
            cost: Seconds::bounded(overhead.unwrap_or_default()),
            pause,
            again: again.max(self.planning.pause),
            took: Seconds::bounded(call.measured),
            limit: proposal.is_audited.then(|| Seconds::bounded(limit)),
        };
        let shortest = proposal.draft.shortest.as_ref();
        let undone = shortest.and_then(|plan| self.undone(call, after.get(), plan));
        self.bring_forward(spacing, undone)
    }

    /// What the plan with the shortest supersteps gains and costs, if supersteps will take `after` seconds and not as
    /// noticeably less as they could.
    fn undone(&self, call: &Call<'_>, after: f64, shortest: &Alternative) -> Option<Undone> {
        let gain = after - shortest.superstep.get();
        let is_undone = call.is_more(gain, self.model_error.seconds());
        is_undone.then_some(Undone {
            gain,
            cost: shortest.cost.get(),
            noise: call.noise.least(),
            supersteps: call.noise.supersteps,
        })
    }

    /// `spacing` with the next call where the plan that is left `undone` is worth it, if the budget delays it for longer.
    fn bring_forward(&mut self, spacing: Spacing, undone: Option<Undone>) -> Spacing {
        let completed = self.pacing.completed();
        let overhead = self.costs.overhead().unwrap_or_default();
        let wait = self.deferral.observe(completed, undone, overhead);
        let (pause_min, _) = self.pacing.pauses(self.costs.overhead());
        let wait = wait.unwrap_or(u64::MAX);
        Spacing {
            pause: spacing.pause.max(pause_min.min(wait)),
            again: spacing.again.min(wait.max(spacing.pause)),
            ..spacing
        }
    }
}

/// A plan has failed if supersteps after it take this many times as long as before.
const LONGER: f64 = 1.02;

/// When a call begins.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CallStart {
    /// The number of complete supersteps.
    pub completed: u64,
    /// The most supersteps that follow; `None`: that is not known.
    pub remaining: Option<u64>,
    /// The time.
    pub began: Instant,
}

impl CallStart {
    /// The horizon of a plan, in supersteps: `expected`, but not beyond the end.
    fn horizon(&self, expected: f64) -> f64 {
        let remaining = self.remaining.map(count);
        expected.min(remaining.unwrap_or(f64::INFINITY))
    }
}

/// What is known of one Set at a call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Inventory {
    /// Its hosts, without their residents.
    pub processors: Vec<Processor>,
    /// Its processes, in rank order.
    pub loads: Vec<Load>,
    /// Seconds that a byte takes from this Set to every Set.
    pub rates: Vec<f64>,
    /// What messages take from this Set to every Set.
    pub paths: Vec<Path>,
    /// What the barrier adds for the processes of this Set.
    pub barrier: BarrierTime,
    /// What else its hosts have measured.
    #[serde(default, skip_serializing_if = "Measurements::is_empty")]
    pub measured: Measurements,
}

/// Seconds that the first process of `sets` takes to move between the Sets that are farthest from each other.
fn moving(sets: &[Inventory], cost: MoveCost) -> f64 {
    let image = sets
        .iter()
        .flat_map(|set| &set.loads)
        .map(|load| load.image);
    let rates = sets.iter().flat_map(|set| &set.rates).copied();
    let rate = rates.fold(0.0, f64::max);
    image
        .take(1)
        .map(|image| cost.time(image, rate).get())
        .sum()
}

/// The reports of all Sets as one snapshot.
fn snapshot_of(
    sets: Vec<Inventory>,
    cost: MoveCost,
    assumptions: &PlanningAssumptions,
) -> Snapshot {
    let number = sets.iter().map(|set| set.loads.len()).sum();
    let (mut processors, mut loads) = (Vec::new(), Vec::with_capacity(number));
    let (mut rates, mut paths, mut barriers) = (Vec::new(), Vec::new(), Vec::new());
    let (mut links, mut external) = (Vec::new(), Vec::new());
    for set in sets {
        processors.push(set.processors);
        loads.extend(set.loads);
        rates.push(set.rates);
        paths.push(set.paths);
        barriers.push(set.barrier);
        links.extend(set.measured.links);
        external.extend(set.measured.external);
    }
    Snapshot::new(&processors, loads, rates, cost, assumptions)
        .with_barriers(barriers)
        .with_links(&links)
        .with_external(&external)
        .with_paths(&paths)
}

/// What a planner decides in a call.
#[derive(Clone, Debug, PartialEq)]
pub struct Decision {
    /// The moves, in rank order.
    pub moves: Vec<PlannedMove>,
    /// How the plan was assessed.
    pub assessment: PlanAssessment,
    /// How far away the next call may be.
    pub spacing: Spacing,
    /// What making the plan has taken.
    pub effort: PlanningEffort,
}

/// A move of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlannedMove {
    /// The process and its hosts.
    pub step: Move,
    /// How long moving it is predicted to take, beside the other moves of the plan.
    pub cost: Seconds,
    /// How long a superstep takes on the host it leaves, in the present placement.
    pub before: Seconds,
    /// How long a superstep will take on the host it goes to, in the planned one.
    pub after: Seconds,
    /// Seconds per byte that were predicted for its image, if the cost of moves is learned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub per_byte: Option<f64>,
}

/// How a plan was assessed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct PlanAssessment {
    /// The gain of the plan and its cost.
    pub balance: CostBenefit,
    /// The decision of the gate.
    pub verdict: Verdict,
    /// The measured length of a superstep since the last call, of which [`CostBenefit::present`] is the prediction.
    #[serde(default)]
    pub measured: Seconds,
    /// What a call without moves takes, from the calls before; `None`: there were none, or the cost of moves is not learned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overhead: Option<Seconds>,
    /// The plans that were compared.
    pub alternatives: Vec<Alternative>,
    /// The hosts that were compared for one process, by plans that choose one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub choice: Option<DestinationChoice>,
}

/// The processes whose hosts differ between `present` and `planned`.
fn planned_moves(
    snapshot: &Snapshot,
    present: &Assignment<'_>,
    planned: &Assignment<'_>,
) -> Vec<PlannedMove> {
    let times = move_times(snapshot, planned.places());
    let both = present.places().iter().zip(planned.places()).enumerate();
    both.filter(|(_, (from, to))| from != to)
        .map(|(process, (from, to))| PlannedMove {
            step: Move {
                rank: snapshot.processes()[process].rank,
                from: snapshot.hosts()[*from].id,
                to: snapshot.hosts()[*to].id,
            },
            cost: Seconds::bounded(times[&process]),
            before: Seconds::bounded(present.time(*from)),
            after: Seconds::bounded(planned.time(*to)),
            per_byte: snapshot.learned_per_byte(process, *to),
        })
        .collect()
}

/// The call being held.
struct Call<'a> {
    snapshot: &'a Snapshot,
    present: Assignment<'a>,
    horizon: f64,
    /// Measured seconds of a superstep since the last call.
    measured: f64,
    /// The same without the time for which owners' jobs interrupted it.
    superstep: f64,
    /// The prediction for that.
    predicted: f64,
    /// What noise may make of it.
    noise: TimeNoise,
    /// The hosts that are not on the idle list because of their owners.
    busy: BTreeSet<usize>,
    /// Whether the last plan is so recent that little but the plan can have changed supersteps, and no owner's job.
    is_trial: bool,
}

impl Call<'_> {
    /// Leaves out the moves to hosts that their owners use too much to be on the idle list, unless all do.
    fn drop_moves_to_busy_hosts(&self, places: &mut [usize]) {
        if self.busy.len() == self.snapshot.hosts().len() {
            return;
        }
        for (place, present) in places.iter_mut().zip(self.snapshot.places()) {
            if self.busy.contains(place) {
                *place = *present;
            }
        }
    }

    /// Whether supersteps can be compared as measured with those before the plan of `audit`: it was carried out a few
    /// supersteps ago, and the prediction for `reverted`, the placement before it, is what it was then.
    fn compares_with(&self, audit: &PlanAudit, reverted: &Assignment<'_>) -> bool {
        let change = (reverted.longest() - audit.predicted).abs();
        self.is_trial && change <= (LONGER - 1.0) * audit.predicted
    }

    /// Whether supersteps become shorter by more than what may be noise, or an error of prediction, which has been `error`
    /// seconds.
    fn is_noticeable(&self, gain: f64, error: f64) -> bool {
        self.noise.least() < gain && self.is_more(gain, error)
    }

    /// Whether supersteps become shorter by more than what may be an error of prediction.
    fn is_more(&self, gain: f64, error: f64) -> bool {
        error.max(NOTICEABLE * self.superstep) < gain
    }
}

/// A smaller part of a superstep may be an error of prediction: no plan that gains no more is carried out, or counts as
/// left undone. So plans need not look for less ([`Snapshot::with_least_gain`]).
const NOTICEABLE: f64 = 0.05;

/// The plan of the call being held, and what it was made from.
#[derive(Debug)]
struct Unconfirmed {
    snapshot: Snapshot,
    /// The host of each process, by process.
    places: Vec<usize>,
    cost: MoveCost,
}

impl Unconfirmed {
    /// The links to be probed before the moves of `decision`.
    fn probes(&self, decision: &Decision) -> Vec<LinkProbe> {
        let moves = decision.moves.iter().filter_map(|planned| {
            let process = self.snapshot.process(planned.step.rank)?;
            let alone = self.snapshot.migration(process, self.places[process]);
            Some(PricedMove {
                from: planned.step.from,
                to: planned.step.to,
                cost: Seconds::bounded(alone),
                per_byte: planned.per_byte?,
            })
        });
        LinkProbe::before(moves, &self.cost)
    }

    /// The same `decision` with moves priced by what was `probed`.
    fn repriced(self, mut decision: Decision, probed: &[ProbedLink]) -> Decision {
        let snapshot = self.snapshot.with_probed(probed);
        let present = Assignment::present(&snapshot);
        let planned = Assignment::new(&snapshot, &self.places);
        decision.moves = planned_moves(&snapshot, &present, &planned);
        decision.assessment.balance = CostBenefit {
            cost: planned.migration_cost(),
            ..decision.assessment.balance
        };
        decision
    }
}

/// What noise may make of the times of hosts.
///
/// Equation `NOISE` of `docs/model.md`.
#[derive(Clone, Copy, Debug)]
struct TimeNoise {
    /// Of one superstep: the standard deviation of the difference between the slowest host and another.
    superstep: f64,
    /// How many supersteps its prediction is a mean of.
    supersteps: f64,
    /// How many hosts have processes.
    hosts: f64,
}

impl TimeNoise {
    /// In the present placement of `snapshot`, if times are predicted from `supersteps` supersteps.
    fn new(snapshot: &Snapshot, supersteps: f64) -> Self {
        let present = Assignment::present(snapshot);
        let variance = |host| variance(snapshot, host, present.residents(host));
        let hosts = 0..snapshot.hosts().len();
        let occupied: Vec<usize> = hosts
            .filter(|host| !present.residents(*host).is_empty())
            .collect();
        let slowest = occupied
            .iter()
            .max_by(|one, other| present.time(**one).total_cmp(&present.time(**other)));
        let hosts = count(occupied.len()).max(1.0);
        let sum: f64 = occupied.iter().map(|host| variance(*host)).sum();
        let slowest = slowest.map_or(0.0, |host| variance(*host));
        Self {
            superstep: (slowest + sum / hosts).sqrt(),
            supersteps: supersteps.max(1.0),
            hosts,
        }
    }

    /// The same for the mean of the supersteps.
    fn error(&self) -> f64 {
        self.superstep / self.supersteps.sqrt()
    }

    /// No smaller difference shows that a host is slower than others: of `n` normal errors, the greatest is
    /// `sqrt(2 ln n)` standard errors or less.
    fn least(&self) -> f64 {
        (2.0 * libm::log(self.hosts)).sqrt().max(1.0) * self.error()
    }
}

/// Of the time that a host with these `residents` computes in one superstep.
fn variance(snapshot: &Snapshot, host: usize, residents: &[usize]) -> f64 {
    let machine = &snapshot.hosts()[host];
    let together = count(residents.len()).min(machine.cores).max(1.0);
    let deviations = residents.iter().map(|process| {
        let load = &snapshot.processes()[*process];
        load.noise * load.instructions / (machine.rate * together)
    });
    deviations.map(|deviation| deviation * deviation).sum()
}

#[cfg(test)]
mod tests {
    mod planner;

    use super::*;

    #[test]
    fn a_horizon_ends_with_the_run() {
        let horizon = |remaining| {
            let start = CallStart {
                completed: 7,
                remaining,
                began: Instant::START,
            };
            start.horizon(50.0)
        };
        let expected = [
            (None, 50.0),
            (Some(3), 3.0),
            (Some(80), 50.0),
            (Some(0), 0.0),
        ];
        for (remaining, expected) in expected {
            assert!((horizon(remaining) - expected).abs() < 1e-12);
        }
    }
}
