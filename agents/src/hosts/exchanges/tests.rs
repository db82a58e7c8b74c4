use bsp::reference::Error;
use bytes::Bytes as Raw;

use super::*;

const HERE: HostId = HostId(0);
const THERE: HostId = HostId(1);

/// Processes 0 and 1 here, 2 there, nobody on the third host; each host is its own Set.
fn exchanges() -> Exchanges {
    let sets = vec![SetId(0), SetId(1), SetId(2)];
    Exchanges::new(HERE, sets, vec![HERE, HERE, THERE], false)
}

fn value(text: &'static str) -> Content {
    Content::Value(Raw::from_static(text.as_bytes()))
}

fn executed(sends: &[(u32, Content)], halts: bool) -> Executed {
    Executed {
        sends: sends
            .iter()
            .map(|(to, content)| (Rank(*to), content.clone()))
            .collect(),
        output: halts.then(Raw::new),
    }
}

fn seconds(value: f64) -> Seconds {
    Seconds::new(value).unwrap()
}

/// What process 2 sends from there in a superstep.
fn parcel(superstep: u64, letters: &[(u32, &'static str)], halts: bool) -> Parcel {
    let letter = |(to, text): &(u32, &'static str)| {
        let letter = Letter {
            from: Rank(2),
            to: Rank(*to),
            bytes: text.len() as u64,
            is_sized: false,
        };
        (letter, value(text))
    };
    let halted = if halts { vec![Rank(2)] } else { Vec::new() };
    let letters = letters.iter().map(letter).collect();
    pack(superstep, Seconds::ZERO, letters, &halted)
        .next()
        .unwrap()
}

#[test]
fn a_superstep_is_complete_when_all_have_computed_and_all_parcels_are_here() {
    let mut exchanges = exchanges();
    exchanges.begin(0).unwrap();
    exchanges
        .computed(
            Rank(1),
            executed(&[(0, value("b")), (2, value("far"))], false),
        )
        .unwrap();
    assert!(!exchanges.all_computed());
    assert_eq!(exchanges.complete().unwrap().map(|all| all.len()), None);
    exchanges
        .computed(
            Rank(0),
            executed(&[(0, value("a")), (2, Content::Sized(3))], false),
        )
        .unwrap();
    assert!(exchanges.all_computed() && exchanges.is_awaited_by(2));
    let parcels = exchanges.parcels([THERE, HostId(2)].into_iter(), Seconds::ZERO);
    let [(_, there), (_, idle)] = &parcels[..] else {
        panic!("one for every other host")
    };
    assert_eq!(there.payload, &b"far\0\0\0"[..]);
    assert!(idle.letters.is_empty() && idle.is_last);
    assert!(
        exchanges.complete().unwrap().is_none(),
        "one is still to come"
    );
    exchanges
        .take(
            THERE,
            parcel(0, &[(0, "c"), (0, "d"), (1, "e")], false),
            seconds(3.0),
        )
        .unwrap();
    let exchanged = exchanges.complete().unwrap().unwrap();
    let counts: Vec<_> = exchanged
        .iter()
        .map(|(rank, e)| (rank.0, e.sent, e.received))
        .collect();
    assert_eq!(counts, [(0, 2, 4), (1, 2, 1)]);
    let first = &exchanged[0].1;
    assert_eq!(first.longest, seconds(3.0));
    let receptions: Vec<_> = first
        .receptions
        .iter()
        .map(|r| (r.set.0, r.bytes.0, r.time.get()))
        .collect();
    // What came together took its part of the time each.
    assert_eq!(receptions, [(0, 2, 0.0), (1, 2, 2.0)]);
    let inbox = exchanges.take_inbox(Rank(0));
    let inbox: Vec<_> = inbox
        .into_iter()
        .map(|incoming| (incoming.from.0, incoming.content))
        .collect();
    // By sender, and of one sender in the order sent.
    assert_eq!(
        inbox,
        [
            (0, value("a")),
            (1, value("b")),
            (2, value("c")),
            (2, value("d"))
        ]
    );
    assert_eq!((exchanges.messages, exchanges.bytes), (4, 8));
}

#[test]
fn parcels_may_be_early_and_those_that_have_halted_are_waited_for_no_more() {
    let mut exchanges = exchanges();
    exchanges
        .take(THERE, parcel(0, &[(1, "x")], true), Seconds::ZERO)
        .unwrap();
    exchanges.begin(0).unwrap();
    for rank in [0, 1] {
        exchanges
            .computed(Rank(rank), executed(&[], false))
            .unwrap();
    }
    assert_eq!(exchanges.complete().unwrap().unwrap().len(), 2);
    exchanges.begin(1).unwrap();
    exchanges.computed(Rank(1), executed(&[], true)).unwrap();
    exchanges.computed(Rank(0), executed(&[], true)).unwrap();
    assert_eq!(exchanges.complete().unwrap().unwrap().len(), 2);
    assert_eq!(exchanges.supersteps(), Some(2));
}

#[test]
fn what_a_program_may_not_send_is_the_same_error_as_the_reference_runner_s() {
    let halted = |superstep, halted| {
        let (from, to) = (Rank(0), Rank(2));
        RunError::Program(Error::Halted {
            from,
            to,
            superstep,
            halted,
        })
    };
    let mut one = exchanges();
    one.begin(0).unwrap();
    let strange = one
        .computed(Rank(0), executed(&[(9, value("x"))], false))
        .unwrap_err();
    let (from, to) = (Rank(0), Rank(9));
    assert_eq!(
        strange,
        RunError::Program(Error::NoSuchRank {
            from,
            to,
            superstep: 0,
            size: 3
        })
    );
    // The receiver has halted before.
    let mut two = exchanges();
    two.begin(0).unwrap();
    two.take(THERE, parcel(0, &[], true), Seconds::ZERO)
        .unwrap();
    for rank in [0, 1] {
        two.computed(Rank(rank), executed(&[], false)).unwrap();
    }
    two.complete().unwrap().unwrap();
    two.begin(1).unwrap();
    let late = two
        .computed(Rank(0), executed(&[(2, value("x"))], false))
        .unwrap_err();
    assert_eq!(late, halted(1, 0));
    // It halts in the same superstep: found where it lives.
    let mut three = exchanges();
    three.begin(0).unwrap();
    three
        .take(THERE, parcel(0, &[(1, "x")], false), Seconds::ZERO)
        .unwrap();
    three.computed(Rank(1), executed(&[], true)).unwrap();
    three.computed(Rank(0), executed(&[], false)).unwrap();
    assert!(matches!(
        three.complete(),
        Err(RunError::Program(Error::Halted { to: Rank(1), .. }))
    ));
}

#[test]
fn what_no_node_sends_is_refused() {
    let refused = |parcel: Parcel| {
        let mut exchanges = exchanges();
        exchanges.begin(1).unwrap();
        exchanges
            .take(THERE, parcel, Seconds::ZERO)
            .unwrap_err()
            .to_string()
    };
    assert!(
        refused(parcel(0, &[], false))
            .starts_with("host 1 sent messages of superstep 0, which is over")
    );
    assert!(
        refused(parcel(1, &[(2, "x")], false)).contains("to p3, which do not live there and here")
    );
    assert!(
        refused(parcel(1, &[(7, "x")], false)).contains("to p8, which do not live there and here")
    );
    let mut strange = parcel(1, &[], false);
    strange.halted = vec![Rank(3)];
    assert!(refused(strange).contains("p4 has halted, which does not live there"));
}

#[test]
fn long_messages_go_in_parcels_of_bounded_length() {
    let long = Raw::from(vec![7; PARCEL_LEN]);
    let letter = Letter {
        from: Rank(0),
        to: Rank(2),
        bytes: PARCEL_LEN as u64,
        is_sized: false,
    };
    let letters = vec![(letter, Content::Value(long)); 3];
    let parcels: Vec<Parcel> = pack(4, Seconds::ZERO, letters, &[Rank(1)]).collect();
    let lasts: Vec<_> = parcels
        .iter()
        .map(|parcel| (parcel.is_last, parcel.halted.len()))
        .collect();
    assert_eq!(lasts, [(false, 0), (false, 0), (true, 1)]);
    assert!(
        parcels
            .iter()
            .all(|parcel| parcel.payload.len() == PARCEL_LEN)
    );
}
