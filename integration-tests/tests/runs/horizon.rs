//! Processes that know when they end are not moved where too little is left.

use agents::{Programs, Scheduler, Shape};
use bsp::units::{Bytes, Instructions};
use bsp::{BoxError, HostId, MemorySize, Program, Step, Superstep};
use model::Policies;
use record::Call;
use serde::{Deserialize, Serialize};
use simulated::simulate;

use crate::setups::{scheduler, setup};

/// Does the same in every superstep, and knows how many there are.
#[derive(Serialize, Deserialize)]
struct Constant {
    work: Instructions,
    memory: Bytes,
    supersteps: u64,
}

impl Program for Constant {
    type Message = ();
    type Output = ();

    fn superstep(&mut self, ctx: &mut Superstep<'_, ()>) -> Result<Step<()>, BoxError> {
        ctx.charge(self.work);
        if ctx.index() + 1 == self.supersteps {
            return Ok(Step::Halt(()));
        }
        Ok(Step::Continue)
    }

    fn memory(&self) -> Option<MemorySize> {
        Some(self.memory.into())
    }

    fn remaining(&self, completed: u64) -> Option<u64> {
        Some(self.supersteps.saturating_sub(completed))
    }
}

/// The calls of 25 processes, of which the first four start on one host, with images of `memory` bytes.
fn calls(policy: &str, (supersteps, memory): (u64, u64), asks: Option<bool>) -> Vec<Call> {
    let scheduler = Scheduler {
        policy: Policies::shipped().policy(policy).unwrap(),
        horizon_known: asks,
        ..scheduler(|_| {})
    };
    let mut setup = setup(25, 0, Shape::Hierarchical, Some(scheduler));
    setup.placement[..4].fill(HostId(0));
    let constant = || Constant {
        work: Instructions(400_000_000),
        memory: Bytes(memory),
        supersteps,
    };
    let programs = (0..25).map(|_| constant()).collect();
    let outcome = simulate(&setup, Programs::new(programs), &mut |_| {});
    outcome.unwrap().calls
}

/// Whether a call moved processes whose gain until the end of the run is less than what was predicted for the moves.
fn cannot_pay(call: &Call, supersteps: u64) -> bool {
    let Some(assessment) = &call.assessment else {
        return false;
    };
    let balance = assessment.balance;
    let left = f64::from(u32::try_from(supersteps - call.superstep).unwrap());
    let gain = (balance.present - balance.planned).get() * left;
    !call.migrations.is_empty() && gain < balance.cost.get()
}

#[test]
fn no_plan_counts_a_gain_beyond_the_end() {
    let mut unpaid = 0;
    for policy in ["adaptive", "fixed+greedy-refine+amortised"] {
        let memories = [1_000_000, 100_000_000, 1_000_000_000];
        let runs = (5..30).flat_map(|supersteps| memories.map(|memory| (supersteps, memory)));
        for (supersteps, memory) in runs {
            for call in calls(policy, (supersteps, memory), Some(true)) {
                let left = supersteps - call.superstep;
                assert_eq!(call.remaining, Some(left), "{policy}, {supersteps}");
                assert!(!cannot_pay(&call, supersteps), "{policy}: {call:?}");
            }
            let blind = calls(policy, (supersteps, memory), Some(false));
            assert!(blind.iter().all(|call| call.remaining.is_none()));
            let late = blind.iter().filter(|call| cannot_pay(call, supersteps));
            unpaid += late.count();
        }
    }
    assert!(0 < unpaid, "without the end in sight some moves do not pay");
}

#[test]
fn no_call_is_held_in_the_last_superstep_once_the_end_is_known() {
    let held = |asks| {
        let calls = calls("fixed+greedy-refine+open", (24, 1000), Some(asks));
        calls.iter().map(|call| call.superstep).collect::<Vec<_>>()
    };
    let (blind, told) = (held(false), held(true));
    assert_eq!(told.first(), blind.first());
    assert!(told.iter().all(|superstep| superstep + 2 <= 24), "{told:?}");
}

#[test]
fn the_papers_policy_does_not_ask() {
    let calls = calls("migbsp", (24, 1000), Scheduler::default().horizon_known);
    assert!(!calls.is_empty());
    assert!(calls.iter().all(|call| call.remaining.is_none()));
}
