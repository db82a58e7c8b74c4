use bsp::Round;

use super::*;

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
