use bsp::units::InstructionsPerSecond;
use proptest::prelude::*;

use super::*;
use crate::capacity;

fn time(value: f64) -> Seconds {
    Seconds::new(value).unwrap()
}

/// A host of 10 instructions per second and core.
fn processor(host: u32, cores: u32, residents: &[(u32, u64)]) -> Processor {
    let residents = residents.iter();
    Processor {
        host: HostId(host),
        speed: InstructionsPerSecond::new(10.0).unwrap(),
        cores,
        load: 0.0,
        residents: residents
            .map(|(rank, work)| (Rank(*rank), Instructions(*work)))
            .collect(),
    }
}

fn set(processors: Vec<Processor>) -> Processors {
    Processors::new(0.5, processors, &BTreeSet::new())
}

/// A candidate with 20 instructions that receives 2 bytes and costs a second to move.
fn request(rank: u32, t2: f64) -> Request {
    Request {
        rank: Rank(rank),
        instructions: Instructions(20),
        bytes: Bytes(2),
        migration: time(1.0),
        t2: time(t2),
        per_byte: None,
    }
}

fn offer(host: u32, t1: f64, runner_up: Option<(u32, f64)>) -> Answer {
    Answer::Offer {
        host: HostId(host),
        t1: time(t1),
        runner_up: runner_up.map(|(host, t1)| (HostId(host), time(t1))),
    }
}

#[test]
fn the_least_busy_processor_is_offered_and_the_lowest_among_equals() {
    let processors = vec![
        processor(2, 1, &[(0, 10)]),
        processor(1, 1, &[(1, 10)]),
        processor(3, 1, &[(2, 30)]),
    ];
    let mut set = set(processors);
    let answer = set.answer(&request(9, 9.0));
    assert_eq!(answer, offer(1, 1.0 + 1.0 + 1.0, Some((2, 3.0))));
}

#[test]
fn an_offer_stands_for_the_candidates_behind_it() {
    let processors = vec![processor(0, 1, &[]), processor(1, 1, &[(1, 10)])];
    let mut once = set(processors);
    assert_eq!(once.answer(&request(8, 9.0)), offer(0, 2.0, Some((1, 3.0))));
    assert_eq!(once.answer(&request(9, 9.0)), offer(1, 3.0, None));
    assert_eq!(
        once.answer(&request(10, 9.0)),
        Answer::Refuse(Refusal::NoProcessor)
    );
}

#[test]
fn a_processor_that_took_a_migrant_earlier_takes_no_other() {
    let processors = vec![processor(0, 1, &[]), processor(1, 1, &[])];
    let occupied = BTreeSet::from([HostId(0)]);
    let mut set = Processors::new(0.5, processors, &occupied);
    assert_eq!(set.answer(&request(9, 9.0)), offer(1, 2.0, None));
}

#[test]
fn no_process_moves_to_a_host_that_takes_as_long() {
    let mut set = set(vec![processor(0, 1, &[])]);
    let refusal = Refusal::NoFasterPlace {
        host: HostId(0),
        t1: time(2.0),
        t2: time(2.0),
    };
    assert_eq!(set.answer(&request(9, 2.0)), Answer::Refuse(refusal));
    assert_eq!(
        refusal.to_string(),
        "host 0 would take 2.000000 s, moving included, and staying takes 2.000000 s"
    );
}

#[test]
fn an_idle_candidate_stays() {
    let mut set = set(vec![processor(0, 1, &[])]);
    let idle = Request {
        instructions: Instructions::ZERO,
        ..request(9, 9.0)
    };
    assert_eq!(set.answer(&idle), Answer::Refuse(Refusal::Idle));
}

#[test]
fn the_candidates_own_work_does_not_count() {
    let mut set = set(vec![processor(0, 1, &[(1, 10)])]);
    assert_eq!(set.answer(&request(9, 9.0)), offer(0, 3.0, None));
}

#[test]
fn staying_takes_all_that_is_on_the_processor_and_what_is_received() {
    let mut set = set(vec![processor(0, 1, &[(1, 10), (2, 30)])]);
    assert_eq!(set.stay(Rank(1), Bytes(8), 0.25), Some(time(6.0)));
    set.depart(Rank(2));
    assert_eq!(set.stay(Rank(1), Bytes(8), 0.25), Some(time(3.0)));
    assert_eq!(set.stay(Rank(2), Bytes(8), 0.25), None);
}

#[test]
fn several_cores_share_the_sum_but_not_one_process() {
    let check = |residents: &[(u32, u64)], expected| {
        let set = set(vec![processor(0, 4, residents)]);
        let stay = set.stay(Rank(0), Bytes::ZERO, 0.0);
        assert_eq!(stay, Some(time(expected)));
    };
    check(&[(0, 40)], 4.0);
    check(&[(0, 40), (1, 40)], 4.0);
    check(&[(0, 40), (1, 40), (2, 40), (3, 40), (4, 40)], 5.0);
}

#[test]
fn the_load_of_others_slows_a_processor_down() {
    let with_load = |load| Processor {
        load,
        ..processor(0, 1, &[(0, 10)])
    };
    let stay = |load| {
        let set = set(vec![with_load(load)]);
        set.stay(Rank(0), Bytes::ZERO, 0.0).unwrap()
    };
    assert_eq!(stay(0.5), time(2.0));
    assert_eq!(stay(-1.0), time(1.0));
    for full in [1.0, 7.0, f64::NAN, f64::INFINITY] {
        assert!(time(1e5) < stay(full), "a load of {full}");
    }
    let capacity = |processors: &[Processor]| time(capacity(processors));
    assert_eq!(
        capacity(&[with_load(0.5), processor(1, 3, &[])]),
        time((5.0 + 30.0) / 4.0)
    );
    assert_eq!(capacity(&[]), Seconds::ZERO);
}

#[test]
fn the_fourteen_free_processors_of_the_papers_take_fourteen_of_sixteen() {
    // LU with 50 processes: Aquario has 20 processors and took six migrants before.
    let processors = (0..20).map(|host| processor(host, 1, &[])).collect();
    let occupied = (0..6).map(HostId).collect();
    let mut aquario = Processors::new(0.5, processors, &occupied);
    let answers = (20..36).map(|rank| aquario.answer(&request(rank, 9.0)));
    let moved = answers.filter(|answer| matches!(answer, Answer::Offer { .. }));
    assert_eq!(moved.count(), 14);
}

/// Ranks `0..` on the hosts of two Sets, each with its work.
fn two_sets() -> impl Strategy<Value = [Vec<Processor>; 2]> {
    let works = prop::collection::vec(prop::collection::vec(0..50_u64, 0..4), 1..12);
    (works, 0..12_usize).prop_map(|(works, cut)| {
        let mut rank = 0;
        let hosts = (0..).zip(works).map(|(host, works)| {
            let ranks = rank..;
            let residents: Vec<(u32, u64)> = ranks.zip(works).collect();
            rank += u32::try_from(residents.len()).unwrap();
            processor(host, 1 + host % 2, &residents)
        });
        let mut first: Vec<_> = hosts.collect();
        let second = first.split_off(cut.min(first.len()));
        [first, second]
    })
}

proptest! {
    #[test]
    fn a_plan_keeps_every_rank_once_and_every_move_is_faster(
        [first, second] in two_sets(),
    ) {
        let residents: Vec<_> = first.iter().flat_map(|host| host.residents.clone()).collect();
        let size = residents.len()
            + second.iter().map(|host| host.residents.len()).sum::<usize>();
        let (mut from, mut to) = (set(first), set(second));
        let mut hosts = Vec::new();
        for (rank, instructions) in residents {
            let t2 = from.stay(rank, Bytes(2), 0.5).unwrap();
            let migration = time(0.1);
            let bytes = Bytes(2);
            let request = Request { rank, instructions, bytes, migration, t2, per_byte: None };
            if let Answer::Offer { host, t1, .. } = to.answer(&request) {
                prop_assert!(t1 < t2);
                from.depart(rank);
                hosts.push(host);
            }
        }
        let after = from.residents().chain(to.residents());
        let mut ranks: Vec<_> = after
            .flat_map(|(_, residents)| residents.iter().map(|(rank, _)| rank.index()))
            .collect();
        ranks.sort_unstable();
        prop_assert_eq!(ranks, (0..size).collect::<Vec<_>>());
        let distinct: BTreeSet<_> = hosts.iter().collect();
        prop_assert_eq!(distinct.len(), hosts.len());
    }
}
