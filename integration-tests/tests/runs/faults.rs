//! A program at fault ends the run with a message that names process and superstep.

use std::collections::BTreeMap;

use agents::{Payment, Programs, RunError, Script, Setup};
use bsp::reference::{self, Limit};
use bsp::units::{Bytes, Instructions};
use bsp::{BoxError, HostId, Program, Rank, Step, Superstep};
use serde::{Deserialize, Serialize};
use simulated::simulate;

use crate::setups::{SHAPES, scripted, setup};

/// What process p2 does in superstep 3.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
enum Fault {
    SendsToNobody,
    SendsToTheHalted,
    Panics,
    NeverHalts,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Faulty(Fault);

impl Program for Faulty {
    type Message = u8;
    type Output = ();

    fn superstep(&mut self, ctx: &mut Superstep<'_, u8>) -> Result<Step<()>, BoxError> {
        ctx.charge(Instructions(1000));
        let is_culprit = ctx.rank() == Rank(1);
        match (self.0, ctx.index()) {
            (Fault::SendsToNobody, 3) if is_culprit => ctx.send(Rank(9), 1),
            (Fault::SendsToTheHalted, 1) if ctx.rank() == Rank(2) => return Ok(Step::Halt(())),
            (Fault::SendsToTheHalted, 3) if is_culprit => ctx.send(Rank(2), 1),
            (Fault::Panics, 3) if is_culprit => panic!("the pivot is zero"),
            (Fault::NeverHalts, _) if is_culprit => return Ok(Step::Continue),
            _ => ctx.send_sized(ctx.rank(), Bytes(1)),
        }
        if ctx.index() < 5 {
            Ok(Step::Continue)
        } else {
            Ok(Step::Halt(()))
        }
    }
}

/// The fault is reported everywhere as by the reference runner, and begins with `message`.
fn check(fault: Fault, message: &str) {
    let programs = vec![Faulty(fault); 4];
    let expected = reference::run(programs.clone(), Limit(50)).unwrap_err();
    assert!(expected.to_string().starts_with(message), "{expected}");
    for shape in SHAPES {
        let mut setup = setup(4, 0, shape, None);
        setup.superstep_limit = 50;
        let error = simulate(&setup, Programs::new(programs.clone()), &mut |_| {}).unwrap_err();
        assert_eq!(error, RunError::Program(expected.clone()), "{shape:?}");
    }
}

#[test]
fn a_message_for_nobody() {
    check(
        Fault::SendsToNobody,
        "p2 sent to p10 in superstep 3, but there are only 4 processes",
    );
}

#[test]
fn a_message_for_a_process_that_has_halted() {
    check(
        Fault::SendsToTheHalted,
        "p2 sent to p3 in superstep 3, which had halted by superstep 1",
    );
}

#[test]
fn a_panic() {
    check(
        Fault::Panics,
        "p2 panicked in superstep 3: the pivot is zero, at integration-tests/tests/runs/faults.rs:",
    );
}

#[test]
fn a_program_that_never_halts() {
    check(
        Fault::NeverHalts,
        "p2 had not halted after 50 supersteps; if it needs more, raise the limit (in experiments `run.superstep_limit`)",
    );
}

#[test]
fn a_place_that_does_not_exist() {
    let programs = || vec![Faulty(Fault::NeverHalts); 4];
    let fails = |setup: &Setup| {
        simulate(setup, Programs::new(programs()), &mut |_| {})
            .unwrap_err()
            .to_string()
    };
    let mut nowhere = setup(4, 0, SHAPES[0], None);
    nowhere.placement[2] = HostId(174);
    let message = format!(
        "{} is placed on {}, but the platform has only 174 hosts",
        Rank(2),
        HostId(174)
    );
    assert_eq!(fails(&nowhere), message);
    let script = Script(BTreeMap::from([(3, vec![(Rank(2), HostId(174))])]));
    let scheduler = scripted(script, Payment::Transfer);
    assert_eq!(fails(&setup(4, 0, SHAPES[0], Some(scheduler))), message);
}
