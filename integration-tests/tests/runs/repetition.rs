//! A superstep that repeats an earlier one takes what it would take if it were simulated.

use std::sync::Arc;

use agents::{Collection, Outcome, Programs, Setup, Shape};
use bsp::reference::{self, Limit};
use bsp::units::{Bytes, Instructions};
use bsp::{BoxError, HostId, Max, Notes, Program, Rank, Step, Sum, Superstep};
use proptest::prelude::*;
use record::Event;
use serde::{Deserialize, Serialize};
use simulated::simulate;
use simulator::Platform;

use crate::setups::{COLLECTIONS, PAYMENTS, SHAPES, STARTS, scheduler, setup};

/// What processes note and reduce in each superstep: always other values.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
enum Contributes {
    Nothing,
    Notes,
    NotesAndReductions,
    /// Each process has another name in every other superstep. Alone, both names are as long; together they are not.
    Alternating,
}

const CONTRIBUTES: [Contributes; 4] = [
    Contributes::Nothing,
    Contributes::Notes,
    Contributes::NotesAndReductions,
    Contributes::Alternating,
];

/// Does something else in each superstep at first. After that, it does in each superstep what it did `period` supersteps
/// before, but for one. Halts at its own time.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Cycle {
    settles: u64,
    period: u64,
    /// Does something else in this superstep.
    exception: u64,
    halts: u64,
    /// The earliest halt of all, from which on no process sends.
    first_halt: u64,
    work: u64,
    shifts: Vec<u32>,
    contributes: Contributes,
    /// What it learned of how long it computed.
    learned: u64,
}

impl Program for Cycle {
    type Message = ();
    type Output = u64;

    fn superstep(&mut self, ctx: &mut Superstep<'_, ()>) -> Result<Step<u64>, BoxError> {
        let phase = if ctx.index() < self.settles || ctx.index() == self.exception {
            self.period + ctx.index()
        } else {
            ctx.index() % self.period
        };
        ctx.charge(Instructions(self.work * (phase + 1)));
        let elapsed = ctx.elapsed().get().to_bits();
        self.learned = self.learned.rotate_left(1) ^ elapsed;
        self.contribute(ctx);
        if ctx.index() == self.halts {
            return Ok(Step::Halt(self.learned));
        }
        if self.first_halt <= ctx.index() {
            return Ok(Step::Continue);
        }
        for shift in &self.shifts {
            let to = Rank((ctx.rank().0 + shift) % ctx.size());
            ctx.send_sized(to, Bytes(1000 * (phase + u64::from(*shift))));
        }
        Ok(Step::Continue)
    }
}

impl Cycle {
    fn contribute(&self, ctx: &mut Superstep<'_, ()>) {
        let seed =
            (ctx.index() * 31 + u64::from(ctx.rank().0) * 7).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        // Of magnitudes that differ, so that a sum in progress has several terms.
        let exponent = i32::try_from(seed >> 58).unwrap();
        let value = (seed % 1000) as f64 * 10_f64.powi(exponent - 32);
        match self.contributes {
            Contributes::Nothing => {}
            Contributes::Notes => ctx.note("value", value),
            Contributes::NotesAndReductions => {
                ctx.note("value", value);
                ctx.note("value", -1.0);
                ctx.reduce("value", Sum(value));
                ctx.reduce("greatest", Max(vec![value, -value]));
            }
            Contributes::Alternating => {
                let is_odd = (ctx.index() + u64::from(ctx.rank().0)).is_multiple_of(2);
                let is_other = is_odd && ctx.index().is_multiple_of(2);
                ctx.note(if is_other { "a" } else { "b" }, value);
            }
        }
    }
}

fn cycles() -> impl Strategy<Value = Vec<Cycle>> {
    let shifts = prop::collection::vec(0_u32..8, 0..4);
    let halts = prop::collection::vec(prop_oneof![Just(40_u64), 20_u64..40], 1..12);
    let phases = (prop_oneof![Just(0_u64), 15_u64..30], 1_u64..4, 0_u64..60);
    let contributes = prop::sample::select(&CONTRIBUTES[..]);
    (phases, halts, shifts, contributes).prop_map(
        |((settles, period, exception), halts, shifts, contributes)| {
            let first_halt = halts.iter().copied().min().unwrap();
            let cycle = |(rank, halts): (usize, u64)| Cycle {
                settles,
                period,
                exception,
                halts,
                first_halt,
                work: 1_000_000 * (1 + rank as u64 * 37 % 11),
                shifts: shifts.clone(),
                contributes,
                learned: 0,
            };
            halts.into_iter().enumerate().map(cycle).collect()
        },
    )
}

/// The record of a run, as it would be written, and its outcome.
fn record(setup: &Setup, programs: &[Cycle]) -> (String, Outcome) {
    let mut record = String::new();
    let programs = Programs::new(programs.to_vec());
    let outcome = simulate(setup, programs, &mut |event: &Event| {
        record.push_str(&serde_json::to_string(event).unwrap());
        record.push('\n');
    });
    (record, outcome.unwrap())
}

/// The supersteps of a record with notes, and these.
fn notes(record: &str) -> Vec<(u64, Notes)> {
    let events = record
        .lines()
        .map(|line| serde_json::from_str(line).unwrap());
    let noted = events.filter_map(|event| match event {
        Event::Superstep(superstep) if !superstep.notes.is_empty() => {
            Some((superstep.index, superstep.notes))
        }
        _ => None,
    });
    noted.collect()
}

/// A policy, if not `none`, that calls after every second superstep at first.
fn with_policy(policy: &str) -> Option<agents::Scheduler> {
    let model = |parameters: &mut model::Parameters| {
        parameters.heuristic = model::Heuristic::Above;
        parameters.interval = 2;
    };
    (policy != "none").then(|| agents::Scheduler {
        policy: policy.parse().unwrap(),
        ..scheduler(model)
    })
}

/// Sets of four hosts, which messages occupy: two, or one. Hosts and links that `change` do so at these milliseconds, one
/// for ever.
fn with_overheads(sets: u32, change: Option<(u32, u32)>) -> Arc<Platform> {
    let set = |name: &str, speed: &str| {
        format!(
            "[[set]]\nname = \"{name}\"\nhosts = 4\nspeed = \"{speed}\"\nsend_overhead = \"30 us\"\n\
             receive_overhead = \"70 us\"\nlink = {{ bandwidth = \"125 MBps\", latency = \"10 us\" }}\n"
        )
    };
    let link = "[[link]]\nname = \"between\"\nbetween = [\"a\", \"b\"]\nbandwidth = \"125 MBps\"\nlatency = \"1 ms\"\n";
    let mut text = match sets {
        1 => set("a", "1 Ginstr/s"),
        _ => [&set("a", "1 Ginstr/s"), &set("b", "3 Ginstr/s"), link].concat(),
    };
    if let Some((first, second)) = change {
        let load = format!(
            "[[load]]\nhosts = \"a-1\"\npoints = [[\"{first} ms\", 0.5], [\"{} ms\", 0.0]]\nperiod = \"{} ms\"\n\
             [[load]]\nhosts = \"a-2\"\npoints = [[\"{second} ms\", 0.75]]\n",
            first + second,
            first + second + 7,
        );
        text.push_str(&load);
    }
    if let Some((first, second)) = change.filter(|_| sets == 2) {
        let congestion = format!(
            "[[congestion]]\nlink = \"between\"\nbandwidth = [[\"{first} ms\", \"50 MBps\"]]\n\
             latency = [[\"{second} ms\", \"2 ms\"], [\"{} ms\", \"1 ms\"]]\n",
            first + second,
        );
        text.push_str(&congestion);
    }
    Arc::new(Platform::from_toml(&text).unwrap())
}

const POLICIES: [&str; 4] = [
    "none",
    "migbsp",
    "menon+greedy-refine+amortised",
    "menon-boulmier-budgeted+portfolio+amortised",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]

    #[test]
    fn records_are_the_same_with_and_without(
        programs in cycles(),
        (shape, start, collection, policy) in (0..SHAPES.len(), 0_usize..2, 0_usize..2, 0_usize..4),
        (offset, payment, sets, traced) in (0_u32..174, 0_usize..2, 1_u32..5, any::<bool>()),
        change in prop::option::of((1_u32..300, 1_u32..300)),
    ) {
        let processes = u32::try_from(programs.len()).unwrap();
        let mut scheduler = with_policy(POLICIES[policy]);
        if let Some(scheduler) = &mut scheduler {
            scheduler.payment = PAYMENTS[payment];
        }
        let mut setup = setup(processes, offset, SHAPES[shape], scheduler);
        if sets <= 2 {
            setup.platform = with_overheads(sets, change);
            setup.placement = (0..processes).map(|rank| HostId((offset + rank) % (4 * sets))).collect();
        }
        setup.start = STARTS[start];
        setup.barrier.collection = COLLECTIONS[collection];
        setup.traced = traced;
        let (repeated, outcome) = record(&setup, &programs);
        setup.repeats = false;
        let (simulated, all) = record(&setup, &programs);
        prop_assert_eq!(all.repeated, 0);
        prop_assert_eq!(&repeated, &simulated);
        prop_assert_eq!(outcome.outputs.typed::<Cycle>(), all.outputs.typed::<Cycle>());
        let expected = reference::run(programs, Limit::default()).unwrap();
        prop_assert_eq!(notes(&repeated), expected.notes);
    }
}

#[test]
fn what_repeats_is_repeated() {
    for contributes in CONTRIBUTES {
        check_repeated(contributes);
    }
}

fn check_repeated(contributes: Contributes) {
    let is_alternating = contributes == Contributes::Alternating;
    let programs = |settles: u64, period: u64| -> Vec<Cycle> {
        let cycle = |rank: u64| Cycle {
            settles,
            period,
            exception: u64::MAX,
            halts: 1000,
            first_halt: 1000,
            work: 1_000_000 * (1 + rank),
            shifts: vec![1, 3],
            contributes,
            learned: 0,
        };
        (0..6).map(cycle).collect()
    };
    let check = |shape, start, collection, policy: &str, (settles, period), least: u64| {
        let mut setup = setup(6, 0, shape, with_policy(policy));
        (setup.start, setup.barrier.collection) = (start, collection);
        let (_, outcome) = record(&setup, &programs(settles, period));
        let repeated = outcome.repeated;
        // There are twice as many kinds of supersteps with an odd period: six are more than are kept.
        let least = match (is_alternating, period) {
            (false, _) => least,
            (true, 3) => 0,
            (true, _) => least - 50,
        };
        let what = format!("{shape:?} {start:?} {collection:?} {policy} {settles} {period}");
        assert!(least <= repeated, "{what}: {repeated} of 1001");
    };
    let order = Collection::AsTheyCome;
    for start in STARTS {
        for collection in COLLECTIONS {
            // The first is started otherwise, the last halts.
            check(Shape::Central, start, collection, "none", (0, 1), 998);
            check(Shape::Central, start, collection, "none", (0, 3), 996);
        }
        check(Shape::Ideal, start, order, "none", (0, 2), 997);
        // After many that differ, the second of equal ones is recorded, and the third is repeated.
        check(Shape::Central, start, order, "none", (500, 2), 496);
        // In one Set nothing is under way between supersteps, and the platform changes at most every second.
        let mut one_set = setup(6, 0, Shape::Hierarchical, None);
        for change in [None, Some((5000, 1000))] {
            one_set.platform = with_overheads(1, change);
            one_set.placement = (0..6).map(|rank| HostId(rank % 4)).collect();
            one_set.start = start;
            let (_, outcome) = record(&one_set, &programs(0, 1));
            assert!(950 <= outcome.repeated, "{}", outcome.repeated);
        }
        // A superstep after a call is not the same for processes.
        check(Shape::Central, start, order, "migbsp", (0, 1), 900);
    }
}
