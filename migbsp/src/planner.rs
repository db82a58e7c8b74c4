//! Plans of one run, from call to call: what is expected of them and what came of them.

use bsp::units::Seconds;
use serde::{Deserialize, Serialize};

use crate::bounded::seconds;
use crate::{
    Alternative, CostBenefit, Gate, Load, Mapping, MigrationCost, Move, Outlook, Plan, Planning,
    Policy, Processor, Scene, Verdict,
};

/// What the first Set Manager makes plans with, under a policy whose plans name processors.
///
/// It foretells what moves cost, and corrects itself by what they did cost.
#[derive(Debug)]
pub struct Planner {
    plan: Box<dyn Plan>,
    gate: Box<dyn Gate>,
    planning: Planning,
    /// Supersteps that were over when a plan was last carried out.
    admitted: u64,
    /// What the plan of this call is expected to cost, before correction; zero if nobody moves.
    foretold: f64,
    /// What moving has cost, as a multiple of what was foretold.
    dearness: f64,
    /// What a call takes in which nobody moves, in seconds.
    overhead: f64,
    /// What the moves of a plan that was carried out cost, in seconds.
    moves: f64,
}

/// What was decided in a call.
#[derive(Clone, Debug, PartialEq)]
pub struct Decision {
    /// Who moves, in rank order, with what each move is expected to take.
    pub moves: Vec<PlannedMove>,
    /// What was weighed.
    pub weighed: Weighed,
    /// What a call that moves processes takes, `C`, as far as is known.
    pub cost: Seconds,
    /// Supersteps for which it is not worth while to call again.
    pub pause: u64,
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
}

impl Planner {
    /// A planner that has planned nothing yet; `None` if the policy's plans name no processors.
    #[must_use]
    pub fn new(policy: &Policy, planning: &Planning) -> Option<Self> {
        Some(Self {
            plan: policy.plan(planning)?,
            gate: policy.gate(planning),
            planning: *planning,
            admitted: 0,
            foretold: 0.0,
            dearness: 1.0,
            overhead: 0.0,
            moves: 0.0,
        })
    }

    /// Plans, after `completed` supersteps, with what is known of every Set.
    pub fn decide(
        &mut self,
        completed: u64,
        sets: Vec<Inventory>,
        cost: MigrationCost,
    ) -> Decision {
        let since = bsp::units::Instructions(completed - self.admitted).as_f64();
        let outlook = Outlook {
            horizon: since.clamp(1.0, self.planning.horizon),
            dearness: self.dearness,
        };
        let scene = scene(sets, cost, outlook);
        let draft = self.plan.draft(&scene);
        let moves = scene.moves(&draft.places);
        let (present, planned) = (
            Mapping::present(&scene),
            Mapping::new(&scene, draft.places.clone()),
        );
        let balance = CostBenefit {
            present: present.superstep(),
            planned: planned.superstep(),
            cost: scene.cost(&draft.places),
            horizon: outlook.horizon,
        };
        let verdict = if moves.is_empty() {
            Verdict::Unchanged
        } else {
            self.gate.admit(&balance)
        };
        let moves = if verdict == Verdict::Admitted {
            self.admitted = completed;
            self.foretold = balance.cost.get() / self.dearness;
            moving(&scene, &present, &planned)
        } else {
            self.foretold = 0.0;
            Vec::new()
        };
        Decision {
            moves,
            weighed: Weighed {
                balance,
                verdict,
                alternatives: draft.alternatives,
            },
            cost: seconds(self.overhead + self.moves),
            pause: match verdict {
                Verdict::Admitted => 0,
                Verdict::Unchanged => self.planning.pause,
                Verdict::TooDear { pause } => pause,
            },
        }
    }

    /// The call took so long, moves included.
    pub fn conclude(&mut self, took: Seconds) {
        if self.foretold <= 0.0 {
            self.overhead += WEIGHT * (took.get() - self.overhead);
            return;
        }
        let moves = (took.get() - self.overhead).max(0.0);
        self.moves += WEIGHT * (moves - self.moves);
        let dearness = (moves / self.foretold).clamp(1.0 / DEARNESS_MAX, DEARNESS_MAX);
        self.dearness += WEIGHT * (dearness - self.dearness);
    }
}

fn scene(sets: Vec<Inventory>, cost: MigrationCost, outlook: Outlook) -> Scene {
    let (mut processors, mut loads, mut rates) = (Vec::new(), Vec::new(), Vec::new());
    for set in sets {
        processors.push(set.processors);
        loads.extend(set.loads);
        rates.push(set.rates);
    }
    Scene::new(&processors, loads, rates, cost, outlook)
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

/// What the newest call weighs.
const WEIGHT: f64 = 0.5;

/// Moving is never thought to be dearer, or cheaper, than foretold by more than this factor.
const DEARNESS_MAX: f64 = 16.0;
