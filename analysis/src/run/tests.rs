use super::*;
use bsp::Round;
use record::Join;

/// A run of `processes` on as many hosts in two Sets, in which a process moves to a host before each of the supersteps
/// `moves`. A superstep takes a second.
pub(crate) fn run(processes: u32, supersteps: u64, moves: &[(u64, u32, u32)]) -> RunModel {
    let mut reading = reading(processes);
    let instant = |seconds: u64| Instant::new(seconds as f64).unwrap();
    let mut moves = moves.iter().peekable();
    for index in 0..supersteps {
        while let Some((_, rank, host)) = moves.next_if(|moved| moved.0 == index) {
            reading.take(&Event::Join(Join {
                superstep: index,
                host: HostId(*host),
                asked: instant(index),
                at: instant(index),
                creation: Seconds::ZERO,
                remaining: None,
                saves: None,
                joined: true,
                ended: instant(index),
                processes: vec![Rank(*rank)],
                waited: None,
                name: None,
            }));
        }
        reading.take(&Event::Superstep(superstep(index)));
    }
    reading.so_far()
}

/// The reading of such a run before its first superstep, for pictures.
pub(crate) fn reading(processes: u32) -> RunReading {
    let hosts: Vec<String> = (0..processes).map(|host| format!("h{host}")).collect();
    let half = processes / 2;
    let run = Run {
        schema: String::new(),
        scenario: "iii".to_owned(),
        sets: vec!["one".to_owned(), "other".to_owned()],
        members: vec![(SetId(0), half), (SetId(1), processes - half)],
        placement: hosts.clone(),
        hosts,
        round: Round::SUPERSTEP,
        resumed: None,
        view: None,
    };
    let scope = Scope {
        has_pictures: true,
        ..Scope::default()
    };
    let manifest = serde_json::json!({"scenario": "iii", "configuration": {"scheduler": {}, "checkpoint": {}}});
    let manifest = serde_json::from_value(manifest).unwrap();
    RunReading::of((Path::new(""), run), manifest, scope).unwrap()
}

/// A superstep of a second.
pub(crate) fn superstep(index: u64) -> Superstep {
    let instant = |seconds: u64| Instant::new(seconds as f64).unwrap();
    Superstep {
        index,
        started: instant(index),
        ended: instant(index + 1),
        slowest: Rank(0),
        computation: Seconds::new(0.75).unwrap(),
        mean: Some(Seconds::new(0.5).unwrap()),
        took: None,
        messages: 0,
        notes: bsp::Notes::default(),
    }
}

/// A record of a job that resumes with superstep 100, whose supersteps take 1 s, and 0.5 s once a host has joined.
fn joined(notes: impl Fn(u64) -> bsp::Notes) -> RunJoin {
    let mut reading = reading(2);
    reading.run.round.length = 2;
    reading.joins = JoinReading::new(2);
    let join = |superstep| {
        Event::Join(Join {
            superstep,
            host: HostId(1),
            asked: Instant::START,
            at: Instant::START,
            creation: Seconds::ZERO,
            remaining: None,
            saves: None,
            joined: true,
            ended: Instant::START,
            processes: vec![Rank(0)],
            waited: None,
            name: None,
        })
    };
    for index in 100..160 {
        if index == 130 {
            reading.take(&join(index));
        }
        let seconds = if index < 130 { 1.0 } else { 0.5 };
        reading.take(&Event::Superstep(Superstep {
            index,
            started: Instant::START,
            ended: Instant::new(seconds).unwrap(),
            notes: notes(index),
            ..superstep(index)
        }));
    }
    reading.so_far().joins.remove(0)
}

#[test]
fn the_pace_before_a_host_joins_and_after_is_that_of_the_nearest_supersteps() {
    let join = joined(|_| bsp::Notes::default());
    assert_eq!(join.counted, "supersteps");
    assert_eq!((join.before, join.after), (Some(1.0), Some(2.0)));
}

#[test]
fn the_pace_of_a_task_farm_is_counted_in_tasks_of_whole_rounds() {
    let join = joined(|index| {
        let mut dealt = bsp::Reductions::default();
        if index % 2 == 0 {
            // The rounds in which workers are characterised are no measure.
            let tasks = if [100, 130, 132].contains(&index) {
                1e6
            } else {
                8.0
            };
            dealt.combine(bsp::Reductions::noted(farm::TASKS_DEALT, tasks));
        }
        bsp::reference::conclude(dealt, index).unwrap().notes
    });
    assert_eq!(join.counted, "tasks");
    assert_eq!((join.before, join.after), (Some(4.0), Some(8.0)));
}
