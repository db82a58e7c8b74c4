//! Notes of a program are those of the reference runner, wherever processes are and whatever the barrier.

use std::fs;

use agents::{Programs, Setup, Shape};
use bsp::reference::{self, Limit};
use bsp::{BoxError, HostId, Notes, Program, Rank, Step, Sum, Superstep};
use record::{Event, Run, SCHEMA, WriteOptions, Writer};
use serde::{Deserialize, Serialize};
use simulated::simulate;
use tempfile::TempDir;

use crate::cluster::{Cluster, moving};

/// Notes numbers of all sizes, and reduces them under the same names.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Noting {
    halts: u64,
    sums: Vec<f64>,
}

impl Program for Noting {
    type Message = ();
    type Output = Vec<f64>;

    fn superstep(&mut self, ctx: &mut Superstep<'_, ()>) -> Result<Step<Vec<f64>>, BoxError> {
        let (index, rank) = (ctx.index(), f64::from(ctx.rank().0));
        if 0 < index {
            self.sums.push(ctx.reduced::<Sum<f64>>("value")?);
        }
        let exponent = i32::try_from((index * 31) % 60)? - 30;
        let value = (rank - 1.5) * 10_f64.powi(exponent * (ctx.rank().0 as i32 % 3 - 1));
        ctx.reduce("value", Sum(value));
        ctx.reduce("value", Sum(1e-20));
        ctx.note("value", value);
        ctx.note("value", 1e-20);
        if index % 3 == 1 {
            ctx.note("is odd", index % 2 == 1);
        }
        if ctx.rank() == Rank(2) {
            // JSON has none of these, and messages between nodes have bounds for others.
            let extremes = [f64::NAN, f64::INFINITY, 1e300, 1e-300, -0.0];
            ctx.note(
                "extreme",
                extremes[usize::try_from(index)? % extremes.len()],
            );
        }
        Ok(if index == self.halts {
            Step::Halt(self.sums.clone())
        } else {
            Step::Continue
        })
    }
}

/// Five processes, of which the last ones halt later.
fn programs() -> Vec<Noting> {
    let noting = |rank: u64| Noting {
        halts: 12 + rank / 2,
        sums: Vec::new(),
    };
    (0..5).map(noting).collect()
}

/// The supersteps with notes, and these.
fn notes<'a>(events: impl IntoIterator<Item = &'a Event>) -> Vec<(u64, Notes)> {
    let noted = events.into_iter().filter_map(|event| match event {
        Event::Superstep(superstep) => Some((superstep.index, superstep.notes.clone())),
        _ => None,
    });
    noted.filter(|(_, notes)| !notes.is_empty()).collect()
}

#[test]
fn notes_on_real_hosts_are_those_of_the_reference_and_of_a_simulation() {
    let cluster = Cluster::start(&[2, 1]);
    let expected = reference::run(programs(), Limit::default()).unwrap();
    assert_eq!(expected.notes.len(), 15);
    for shape in [Shape::Central, Shape::Hierarchical] {
        for has_moves in [false, true] {
            let setup = cluster.setup(5, shape, None);
            let scheduler = has_moves.then(|| {
                moving(
                    &setup.placement,
                    [(3, vec![(0, 1), (4, 1)]), (7, vec![(0, 2), (2, 1)])],
                )
            });
            let setup = Setup { scheduler, ..setup };
            let (finished, events) = cluster.run(&setup, programs()).unwrap();
            assert_eq!(
                finished.outputs.typed::<Noting>(),
                expected.outputs,
                "{shape:?}"
            );
            assert_eq!(notes(&events), expected.notes, "{shape:?}");
            let moved = events
                .iter()
                .filter(|event| matches!(event, Event::Moved(_)));
            assert_eq!(moved.count(), if has_moves { 4 } else { 0 }, "{shape:?}");
            let mut simulated = Vec::new();
            let outcome = simulate(&setup, Programs::new(programs()), &mut |event: &Event| {
                simulated.push(event.clone());
            });
            outcome.unwrap();
            assert_eq!(notes(&simulated), expected.notes, "{shape:?}");
            assert_eq!(
                notes(&written(&setup, &events)),
                expected.notes,
                "{shape:?}"
            );
        }
    }
}

/// The events, once written to a record and read.
fn written(setup: &Setup, events: &[Event]) -> Vec<Event> {
    let folder = TempDir::new().unwrap();
    let place = folder.path().join("iii");
    fs::create_dir(&place).unwrap();
    let hosts = setup.platform.hosts();
    let name = |host: &HostId| hosts[host.index()].name.clone();
    let mut writer = Writer::create(&place, &"description", WriteOptions::default()).unwrap();
    let begins = events.iter().any(|event| matches!(event, Event::Run(_)));
    let run = Event::Run(Run {
        schema: SCHEMA.to_owned(),
        scenario: "iii".to_owned(),
        sets: vec!["s0".to_owned(), "s1".to_owned()],
        hosts: hosts.iter().map(|host| host.name.clone()).collect(),
        members: Run::members_of(hosts.iter().map(|host| host.set)),
        placement: setup.placement.iter().map(name).collect(),
        round: bsp::Round::default(),
        resumed: None,
        view: None,
    });
    if !begins {
        writer.append(&run).unwrap();
    }
    events
        .iter()
        .for_each(|event| writer.append(event).unwrap());
    writer.flush().unwrap();
    let mut read = Vec::new();
    record::scan(&place, |_| true, |event| read.push(event)).unwrap();
    read
}
