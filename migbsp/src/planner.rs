//! Plans of one run, from call to call: what is expected of them and what came of them.

mod audit;
mod budget;

use bsp::units::{Instant, Seconds};
use serde::{Deserialize, Serialize};

use crate::bounded::{count, seconds};
use crate::planner::audit::Promise;
use crate::planner::budget::Thrift;
use crate::{
    Alternative, Burden, CostBenefit, Draft, Gate, Load, Mapping, MigrationCost, Move, Outlook,
    Plan, Planning, Policy, Processor, Scene, Sharing, Spacing, Verdict,
};

/// What the first Set Manager makes plans with, under a policy whose plans name processors.
///
/// It foretells what moves cost, and corrects itself by what they did cost.
#[derive(Debug)]
pub struct Planner {
    plan: Box<dyn Plan>,
    gate: Box<dyn Gate>,
    planning: Planning,
    /// What moves that are made together take.
    burden: Burden,
    /// Supersteps that were over at the last call, and when it began.
    called: (u64, Instant),
    /// When the last call was over.
    resumed: Instant,
    /// Supersteps that were over when a plan was last carried out.
    admitted: u64,
    /// How long plans have been good, in supersteps.
    lifetime: f64,
    /// What was weighed in this call.
    balance: Option<CostBenefit>,
    /// What its plan is to bring, if it is carried out; `None` where nothing is new about it.
    proposed: Option<Promise>,
    /// What moving has cost, as a multiple of what was foretold.
    dearness: f64,
    /// What a call takes in which nobody moves, in seconds, once known.
    overhead: Option<f64>,
    thrift: Thrift,
    /// What those who moved in the last call pay after it, in seconds.
    paid_later: f64,
    /// What the plan that was carried out last was to bring, until it shows.
    promise: Option<Promise>,
    /// By how much plans have made supersteps longer than foretold, in seconds: less is not believed to be won.
    doubt: f64,
    /// What was seen of how messages share cables.
    sharing: Sharing,
}

/// What was decided in a call.
#[derive(Clone, Debug, PartialEq)]
pub struct Decision {
    /// Who moves, in rank order, with what each move is expected to take.
    pub moves: Vec<PlannedMove>,
    /// What was weighed.
    pub weighed: Weighed,
    /// When the next call may be; what moves cost is for the gate to judge.
    pub spacing: Spacing,
}

/// A plan, and what is thought of it.
struct Proposal {
    draft: Draft,
    balance: CostBenefit,
    verdict: Verdict,
    /// Whether it has still to show that it is as good as it looks.
    promises: bool,
}

/// A move of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlannedMove {
    /// Who, from where, to where.
    pub step: Move,
    /// What moving is expected to take.
    pub cost: Seconds,
    /// What a superstep takes on the host it leaves, as processes are placed.
    pub before: Seconds,
    /// What a superstep will take on the host it goes to, as planned.
    pub after: Seconds,
}

/// What was weighed in a call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Weighed {
    /// What the plan would win and cost.
    pub balance: CostBenefit,
    /// What the gate said.
    pub verdict: Verdict,
    /// The plans that were compared.
    pub alternatives: Vec<Alternative>,
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
    /// Seconds that each process here adds to every superstep, because the barrier takes one after the other.
    pub toll: f64,
}

impl Planner {
    /// A planner that has planned nothing yet; `None` if the policy's plans name no processors.
    #[must_use]
    pub fn new(policy: &Policy, planning: &Planning, burden: Burden) -> Option<Self> {
        Some(Self {
            plan: policy.plan(planning)?,
            gate: policy.gate(planning),
            planning: *planning,
            burden,
            called: (0, Instant::START),
            resumed: Instant::START,
            admitted: 0,
            lifetime: planning.horizon,
            balance: None,
            proposed: None,
            dearness: 1.0,
            overhead: None,
            thrift: Thrift::default(),
            paid_later: 0.0,
            promise: None,
            doubt: 0.0,
            sharing: Sharing::default(),
        })
    }

    /// Plans, in a call that began at `now` after `completed` supersteps, with what is known of every Set.
    pub fn decide(
        &mut self,
        completed: u64,
        now: Instant,
        sets: Vec<Inventory>,
        cost: MigrationCost,
    ) -> Decision {
        let age = count(completed - self.admitted);
        let outlook = Outlook {
            horizon: age.max(self.lifetime).clamp(1.0, self.planning.horizon),
            dearness: self.dearness,
            burden: self.burden,
            sharing: self.sharing,
        };
        let scene = scene(sets, cost, outlook);
        self.sharing = scene.contention().sharing();
        let superstep = self.superstep(completed, now);
        let present = Mapping::present(&scene);
        let unforeseen = superstep - present.longest();
        let proposal = self
            .undo(&scene, &outlook, superstep, unforeseen)
            .unwrap_or_else(|| self.propose(&scene, &present, &outlook, superstep));
        let Proposal {
            draft,
            balance,
            verdict,
            promises,
        } = proposal;
        let moves = if verdict == Verdict::Admitted {
            let planned = Mapping::new(&scene, &draft.places);
            moving(&scene, &present, &planned)
        } else {
            Vec::new()
        };
        self.proposed = (promises && !moves.is_empty()).then(|| {
            let former = moves
                .iter()
                .map(|planned| (planned.step.rank, planned.step.from));
            let gain = (balance.present - balance.planned).get();
            Promise::new(former.collect(), gain, unforeseen)
        });
        self.called = (completed, now);
        self.thrift.elapse(completed, superstep);
        self.balance = Some(balance);
        let pause = match verdict {
            Verdict::Admitted => 0,
            Verdict::Unchanged => self.planning.pause,
            Verdict::TooDear { pause } => pause,
        };
        let (pause_min, again) = self.pauses();
        Decision {
            moves,
            weighed: Weighed {
                balance,
                verdict,
                alternatives: draft.alternatives,
            },
            spacing: Spacing {
                cost: seconds(self.overhead.unwrap_or_default()),
                pause: pause.max(pause_min),
                again: again.max(self.planning.pause),
                took: seconds(superstep),
            },
        }
    }

    /// The best plan for the scene.
    fn propose(
        &mut self,
        scene: &Scene,
        present: &Mapping<'_>,
        outlook: &Outlook,
        superstep: f64,
    ) -> Proposal {
        let draft = self.plan.draft(scene);
        let planned = Mapping::new(scene, &draft.places);
        let balance = CostBenefit {
            present: present.superstep(),
            planned: planned.superstep(),
            cost: scene.cost(&draft.places),
            horizon: outlook.horizon,
        };
        let noticed = is_noticeable(&balance, superstep.max(self.doubt / NOTICEABLE));
        let verdict = if draft.places == scene.places() || !noticed {
            Verdict::Unchanged
        } else {
            self.gate.admit(&balance)
        };
        Proposal {
            draft,
            balance,
            verdict,
            promises: true,
        }
    }

    /// To take back what was done last, if that has made supersteps longer and going back pays.
    fn undo(
        &mut self,
        scene: &Scene,
        outlook: &Outlook,
        superstep: f64,
        unforeseen: f64,
    ) -> Option<Proposal> {
        let promise = self.promise.take();
        let broken = promise.and_then(|promise| Some((promise.broken_by(unforeseen)?, promise)));
        let Some((growth, promise)) = broken else {
            self.doubt *= REMEMBERED;
            return None;
        };
        self.doubt = self.doubt.max(growth);
        // It has not paid for what it took.
        self.thrift.spend(promise.credit);
        let places = promise.undone(scene)?;
        let before = Mapping::new(scene, &places).longest() + promise.unforeseen;
        let balance = CostBenefit {
            present: seconds(superstep),
            planned: seconds(before),
            cost: scene.cost(&places),
            horizon: outlook.horizon,
        };
        // A refusal would not be the answer to this call: there may be a better plan.
        if !is_noticeable(&balance, superstep) || !self.gate.admits(&balance) {
            return None;
        }
        let verdict = self.gate.admit(&balance);
        let draft = Draft {
            alternatives: vec![Alternative {
                superstep: balance.planned,
                ..Alternative::new("undo", scene, &places)
            }],
            places,
        };
        Some(Proposal {
            draft,
            balance,
            verdict,
            promises: false,
        })
    }

    /// The call took so long, moves included; whether anybody moved.
    pub fn conclude(&mut self, took: Seconds, moved: bool) {
        self.resumed = self.called.1 + took;
        self.paid_later = 0.0;
        let took = took.get();
        let (balance, proposed) = (self.balance.take(), self.proposed.take());
        let Some(balance) = balance.filter(|_| moved) else {
            let overhead = self.overhead.get_or_insert(took);
            *overhead += WEIGHT * (took - *overhead);
            self.thrift.spend(took);
            // Prices that let nobody move would never be found to have fallen.
            self.dearness -= (self.dearness - DEARNESS_MAX).max(0.0) * (1.0 - REMEMBERED);
            return;
        };
        let cost = balance.cost.get();
        let overhead = match (self.burden, self.overhead) {
            (Burden::Alone, overhead) => {
                self.paid_later = cost;
                let before = overhead.unwrap_or(took);
                before + WEIGHT * (took - before)
            }
            (Burden::Shared, None) => (took - cost).max(0.0),
            (Burden::Shared, Some(overhead)) => {
                let moves = (took - overhead).max(0.0);
                self.learn_dearness(moves, cost / self.dearness);
                overhead
            }
        };
        self.overhead = Some(overhead);
        let spent = took + self.paid_later;
        let credit = spent.min(balance.gain());
        self.thrift.spend(spent - credit);
        if let Some(mut promise) = proposed {
            promise.credit = credit;
            self.promise = Some(promise);
            self.replace(self.called.0);
        }
    }

    /// After `completed` supersteps another plan was carried out.
    fn replace(&mut self, completed: u64) {
        let lived = count(completed - self.admitted).min(self.planning.horizon);
        self.lifetime += WEIGHT * (lived - self.lifetime);
        self.admitted = completed;
    }

    /// Moves have taken so many seconds, and were to take so many before correction.
    fn learn_dearness(&mut self, took: f64, foretold: f64) {
        let most = if SHORT_MOVES < foretold {
            DEARNESS_OF_LONG_MAX
        } else {
            DEARNESS_MAX
        };
        // What was foretold to cost nothing costs something: the least of times, not zero.
        let dearness = took / foretold.max(SHORT);
        let dearness = dearness.clamp(1.0 / DEARNESS_MAX, most);
        self.dearness += WEIGHT * (dearness - self.dearness);
    }

    /// What a superstep has taken since the last call, in seconds, without what migrants paid in it.
    fn superstep(&self, completed: u64, now: Instant) -> f64 {
        let number = count(completed - self.called.0).max(1.0);
        ((now - self.resumed).get() - self.paid_later).max(0.0) / number
    }

    /// Supersteps for which there is no time for another call, and after which there is in any case.
    fn pauses(&self) -> (u64, u64) {
        let Some(overhead) = self.overhead else {
            return (PAUSE_FIRST, PAUSE_FIRST);
        };
        // The next call has to fit in, too.
        let mut thrift = self.thrift.clone();
        thrift.spend(overhead);
        let share = self.planning.overhead;
        (thrift.pause(share), thrift.pause(share / 2.0))
    }
}

/// Whether supersteps, which take so many seconds with all that no plan knows of, would get shorter by more
/// than plans are wrong.
fn is_noticeable(balance: &CostBenefit, superstep: f64) -> bool {
    NOTICEABLE * superstep < (balance.present - balance.planned).get()
}

fn scene(sets: Vec<Inventory>, cost: MigrationCost, outlook: Outlook) -> Scene {
    let (mut processors, mut loads) = (Vec::new(), Vec::new());
    let (mut rates, mut tolls) = (Vec::new(), Vec::new());
    for set in sets {
        processors.push(set.processors);
        loads.extend(set.loads);
        rates.push(set.rates);
        tolls.push(set.toll);
    }
    Scene::new(&processors, loads, rates, cost, outlook).with_tolls(tolls)
}

/// Those who are elsewhere in `planned` than in `present`.
fn moving(scene: &Scene, present: &Mapping<'_>, planned: &Mapping<'_>) -> Vec<PlannedMove> {
    let both = present.places().iter().zip(planned.places()).enumerate();
    both.filter(|(_, (from, to))| from != to)
        .map(|(process, (from, to))| PlannedMove {
            step: Move {
                rank: scene.processes()[process].rank,
                from: scene.hosts()[*from].id,
                to: scene.hosts()[*to].id,
            },
            cost: seconds(scene.migration(process, *to)),
            before: seconds(present.time(*from)),
            after: seconds(planned.time(*to)),
        })
        .collect()
}

/// Supersteps without a call after the first one: what it takes is known only when it is over.
const PAUSE_FIRST: u64 = 6;

/// What is less than this part of a superstep may as well be an error of prediction.
const NOTICEABLE: f64 = 0.05;

/// Shorter than any move, in seconds.
const SHORT: f64 = 1e-9;

/// What the newest call weighs.
const WEIGHT: f64 = 0.5;

/// Moving is never thought to be cheaper than foretold by more than this factor, nor, because of moves that were to
/// take no longer than [`SHORT_MOVES`], dearer.
const DEARNESS_MAX: f64 = 16.0;

/// Moving is never thought to be dearer than foretold by more than this factor.
const DEARNESS_OF_LONG_MAX: f64 = 1e6;

/// Seconds that say little of what longer moves take.
const SHORT_MOVES: f64 = 1e-3;

/// What is left after a call of what is to be forgotten.
const REMEMBERED: f64 = 0.9375;
