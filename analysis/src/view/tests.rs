use super::*;
use bsp::Round;
use bsp::units::{Instant, Seconds};
use record::{Join, Superstep};

/// A run of `processes` on as many hosts in two Sets, in which a process moves to a host before each of the supersteps
/// `moves`. A superstep takes a second.
pub(crate) fn run(processes: u32, supersteps: u64, moves: &[(u64, u32, u32)]) -> View {
    let hosts: Vec<String> = (0..processes).map(|host| format!("h{host}")).collect();
    let half = processes / 2;
    let mut viewing = ViewReading::new(Run {
        schema: String::new(),
        scenario: "iii".to_owned(),
        sets: vec!["one".to_owned(), "other".to_owned()],
        members: vec![(SetId(0), half), (SetId(1), processes - half)],
        placement: hosts.clone(),
        hosts,
        round: Round::SUPERSTEP,
        resumed: None,
        view: None,
    });
    let instant = |seconds: u64| Instant::new(seconds as f64).unwrap();
    let mut moves = moves.iter().peekable();
    for index in 0..supersteps {
        while let Some((_, rank, host)) = moves.next_if(|moved| moved.0 == index) {
            viewing.take(&Event::Join(Join {
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
        viewing.take(&Event::Superstep(superstep(index)));
    }
    viewing.end()
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

fn placement() -> Placement {
    let names = |names: [&str; 3]| names.map(str::to_owned).to_vec();
    Placement::new(&Run {
        schema: String::new(),
        scenario: "iii".to_owned(),
        sets: Vec::new(),
        hosts: names(["a", "b", "c"]),
        members: Vec::new(),
        placement: names(["c", "a", "a"]),
        round: Round::SUPERSTEP,
        resumed: None,
        view: None,
    })
}

fn moves(placement: &mut Placement, superstep: u64, moved: &[(u32, u32)]) {
    let moved = moved.iter().map(|(rank, to)| (Rank(*rank), HostId(*to)));
    placement.change(superstep, moved);
}

#[test]
fn a_process_is_on_one_host_at_a_time_and_on_no_other_in_between() {
    let mut placement = placement();
    moves(&mut placement, 4, &[(0, 1), (1, 2)]);
    moves(&mut placement, 9, &[(0, 2)]);
    // A move that the end of the record follows.
    moves(&mut placement, 12, &[(2, 1)]);
    let all = placement.shown(3);
    let segments = placement.segments(&all, 12);
    let found: Vec<_> = segments
        .iter()
        .map(|segment| (segment.rank.0, segment.from, segment.to, segment.host.0))
        .collect();
    assert_eq!(
        found,
        [
            (0, 0, 4, 2),
            (0, 4, 9, 1),
            (0, 9, 12, 2),
            (1, 0, 4, 0),
            (1, 4, 12, 2),
            (2, 0, 12, 0)
        ]
    );
    assert_eq!(placement.now(), [HostId(2), HostId(2), HostId(1)]);
}

#[test]
fn of_too_many_processes_those_that_moved_are_shown() {
    let mut placement = placement();
    moves(&mut placement, 4, &[(2, 1), (1, 2)]);
    moves(&mut placement, 5, &[(2, 0)]);
    assert_eq!(placement.shown(2), [Rank(1), Rank(2)]);
    assert_eq!(placement.shown(1), [Rank(1)]);
    assert_eq!(placement.shown(3).len(), 3);
}
