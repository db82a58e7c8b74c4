mod network;
use bsp::Reductions;
use bsp::reference::Error;
use bsp::units::{Instructions, Seconds};
use bytes::Bytes as Raw;
use protocol::transport::Bounds;
use protocol::{Address, Message, NodeMessage, decode, encode};

use super::*;

const HERE: HostId = HostId(0);
const THERE: HostId = HostId(1);

/// Processes 0 and 1 here, 2 there, none on the third host; each host is its own Set.
fn exchanges() -> Exchanges {
    let sets = vec![SetId(0), SetId(1), SetId(2)];
    Exchanges::new(HERE, sets, vec![HERE, HERE, THERE], false, 1000)
}

fn value(text: &'static str) -> Content {
    Content::Value(Raw::from_static(text.as_bytes()))
}

fn executed(sends: &[(u32, Content)], halts: bool) -> Executed {
    Executed {
        snapshots: Vec::new(),
        reductions: Reductions::default(),
        sends: sends
            .iter()
            .map(|(to, content)| (Rank(*to), content.clone()))
            .collect(),
        output: halts.then(Raw::new),
        charged: Instructions::ZERO,
        elsewhere: Seconds::ZERO,
    }
}

fn seconds(value: f64) -> Seconds {
    Seconds::new(value).unwrap()
}

/// What process 2 sends from there in a superstep.
fn batch(superstep: u64, messages: &[(u32, &'static str)], halts: bool) -> Batch {
    let header = |(to, text): &(u32, &'static str)| {
        let header = MessageHeader {
            from: Rank(2),
            to: Rank(*to),
            bytes: text.len() as u64,
            is_sized: false,
            rest: 0,
            also: Vec::new(),
        };
        (header, value(text))
    };
    let halted = if halts { vec![Rank(2)] } else { Vec::new() };
    let messages = messages.iter().map(header).collect();
    let last = Last {
        is_followed: true,
        halted,
    };
    pack(superstep, Seconds::ZERO, messages, last)
        .next()
        .unwrap()
}

#[test]
fn a_superstep_is_complete_when_all_have_computed_and_all_batches_are_here() {
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
    let batches = exchanges.batches([THERE, HostId(2)].into_iter(), Seconds::ZERO);
    let [(_, there), (_, idle)] = &batches[..] else {
        panic!("one for every other host")
    };
    assert_eq!(there.payload, &b"far\0\0\0"[..]);
    assert!(idle.messages.is_empty() && idle.is_last);
    assert!(
        exchanges.complete().unwrap().is_none(),
        "one is still to come"
    );
    exchanges
        .receive(
            THERE,
            batch(0, &[(0, "c"), (0, "d"), (1, "e")], false),
            seconds(3.0),
            InputMemory::default(),
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
    let inbox = exchanges.remove_inbox(Rank(0));
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
fn batches_may_be_early_and_those_that_have_halted_are_waited_for_no_more() {
    let mut exchanges = exchanges();
    exchanges
        .receive(
            THERE,
            batch(0, &[(1, "x")], true),
            Seconds::ZERO,
            InputMemory::default(),
        )
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
fn announced_halts_are_acknowledged_after_own_batches_have_left() {
    let others = || [THERE, HostId(2)].into_iter();
    let halted = || batch(0, &[], true);
    let mut here = exchanges();
    here.receive(THERE, halted(), Seconds::ZERO, InputMemory::default())
        .unwrap();
    assert_eq!(here.acknowledgements(), []);
    here.begin(0).unwrap();
    here.computed(Rank(1), executed(&[], false)).unwrap();
    assert_eq!(here.acknowledgements(), []);
    let last = executed(&[(2, Content::Sized(3))], false);
    here.computed(Rank(0), last).unwrap();
    let batches = here.batches(others(), Seconds::ZERO);
    assert_eq!(batches[0].1.messages.len(), 1);
    assert_eq!(here.acknowledgements(), [(THERE, 0)]);
    assert_eq!(here.acknowledgements(), []);
    // No process lives there, so none can send.
    let (sets, hosts) = (vec![SetId(0), SetId(1), SetId(2)], vec![HERE, HERE, THERE]);
    let new = || Exchanges::new(HostId(2), sets.clone(), hosts.clone(), false, 1000);
    let mut idle = new();
    idle.receive(THERE, halted(), Seconds::ZERO, InputMemory::default())
        .unwrap();
    assert_eq!(idle.acknowledgements(), [(THERE, 0)]);
    // Nor does a host that all processes have left; processes that have arrived are waited for.
    let mut left = exchanges();
    left.receive(THERE, halted(), Seconds::ZERO, InputMemory::default())
        .unwrap();
    left.remove_inbox(Rank(0));
    left.place(Rank(0), THERE);
    assert_eq!(left.acknowledgements(), []);
    left.place(Rank(1), HostId(2));
    assert_eq!(left.acknowledgements(), [(THERE, 0)]);
    let mut idle = new();
    idle.insert_inbox(Rank(1), Vec::new());
    idle.receive(THERE, halted(), Seconds::ZERO, InputMemory::default())
        .unwrap();
    assert_eq!(idle.acknowledgements(), []);
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
    two.receive(
        THERE,
        batch(0, &[], true),
        Seconds::ZERO,
        InputMemory::default(),
    )
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
        .receive(
            THERE,
            batch(0, &[(1, "x")], false),
            Seconds::ZERO,
            InputMemory::default(),
        )
        .unwrap();
    three.computed(Rank(1), executed(&[], true)).unwrap();
    three.computed(Rank(0), executed(&[], false)).unwrap();
    assert!(matches!(
        three.complete(),
        Err(RunError::Program(Error::Halted { to: Rank(1), .. }))
    ));
}

#[test]
fn batches_from_wrong_hosts_are_refused() {
    let refused = |batch: Batch| {
        let mut exchanges = exchanges();
        exchanges.begin(1).unwrap();
        exchanges
            .receive(THERE, batch, Seconds::ZERO, InputMemory::default())
            .unwrap_err()
            .to_string()
    };
    assert!(
        refused(batch(0, &[(1, "x")], false))
            .starts_with("host 1 sent messages of superstep 0, which is over")
    );
    assert!(
        refused(batch(1, &[(2, "x")], false)).contains("to p3, which do not live there and here")
    );
    assert!(
        refused(batch(1, &[(7, "x")], false)).contains("to p8, which do not live there and here")
    );
    let mut strange = batch(1, &[], false);
    strange.halted = vec![Rank(3)];
    assert!(refused(strange).contains("p4 has halted, which does not live there"));
}

/// A batch that comes twice would count twice, and the sums of all members would not add up.
#[test]
fn nothing_follows_the_last_batch_of_a_superstep_but_a_later_one() {
    let receive = |exchanges: &mut Exchanges, batch| {
        let received = exchanges.receive(THERE, batch, seconds(1.0), InputMemory::default());
        received.map_err(|error| error.to_string())
    };
    let doubled = |superstep, begun: bool| {
        let mut exchanges = exchanges();
        if begun {
            exchanges.begin(0).unwrap();
        }
        let mut part = batch(0, &[(0, "a")], false);
        part.is_last = false;
        receive(&mut exchanges, part.clone()).unwrap();
        receive(&mut exchanges, part).unwrap();
        receive(&mut exchanges, batch(0, &[], false)).unwrap();
        receive(&mut exchanges, batch(superstep, &[], false))
    };
    for begun in [false, true] {
        let problem = doubled(0, begun).unwrap_err();
        let expected = "host 1 sent a batch of superstep 0 after one of 0";
        assert!(problem.contains(expected), "{problem}");
        doubled(1, begun).unwrap();
    }
}

#[test]
fn early_batches_are_checked_when_their_superstep_begins() {
    // Until then the last moves may not be known here.
    let refused = |batch: Batch| {
        let mut exchanges = exchanges();
        exchanges
            .receive(THERE, batch, Seconds::ZERO, InputMemory::default())
            .unwrap();
        exchanges.begin(0).unwrap_err()
    };
    let strange = |change: fn(&mut Batch)| {
        let mut batch = batch(0, &[(1, "x")], false);
        change(&mut batch);
        batch
    };
    for (batch, problem) in [
        (batch(0, &[(2, "x")], false), "to p3, which do not live"),
        (
            strange(|batch| batch.messages[0].from = Rank(0)),
            "from p1 to p2, which do not live there",
        ),
        (
            strange(|batch| batch.halted = vec![Rank(0)]),
            "p1 has halted, which does not live there",
        ),
    ] {
        let error = refused(batch);
        assert!(matches!(error, RunError::Peer(_)), "{error}");
        assert!(error.to_string().starts_with("host 1 "), "{error}");
        assert!(error.to_string().contains(problem), "{error}");
    }
    // A process that has moved there in the meantime may speak from there.
    let mut moved = exchanges();
    let from_first = strange(|batch| batch.messages[0].from = Rank(0));
    moved
        .receive(THERE, from_first, Seconds::ZERO, InputMemory::default())
        .unwrap();
    moved.place(Rank(0), THERE);
    moved.begin(0).unwrap();
}

#[test]
fn a_message_that_is_too_long_is_named_wherever_its_receiver_is() {
    let long = |to, bytes| executed(&[(to, Content::Sized(bytes))], false);
    for to in [1, 2] {
        let mut exchanges = exchanges();
        exchanges.begin(0).unwrap();
        exchanges
            .computed(Rank(1), long(to, u64::from(u32::MAX)))
            .unwrap();
        assert_eq!(
            exchanges.computed(Rank(0), long(to, 1 << 32)),
            Err(RunError::Program(Error::TooLong {
                from: Rank(0),
                to: Rank(to),
                superstep: 0,
                length: Bytes(1 << 32),
            }))
        );
    }
}

#[test]
fn long_messages_go_in_batches_of_bounded_length() {
    let long = Raw::from(vec![7; BATCH_LEN]);
    let header = MessageHeader {
        from: Rank(0),
        to: Rank(2),
        bytes: BATCH_LEN as u64,
        is_sized: false,
        rest: 0,
        also: Vec::new(),
    };
    let messages = vec![(header, Content::Value(long)); 3];
    let last = Last {
        is_followed: true,
        halted: vec![Rank(1)],
    };
    let batches: Vec<Batch> = pack(4, Seconds::ZERO, messages, last).collect();
    let lasts: Vec<_> = batches
        .iter()
        .map(|batch| (batch.is_last, batch.is_followed, batch.halted.len()))
        .collect();
    let not_last = (false, false, 0);
    assert_eq!(lasts, [not_last, not_last, (true, true, 1)]);
    assert!(batches.iter().all(|batch| batch.payload.len() == BATCH_LEN));
}

/// Messages of these lengths from process 2, packed there and received here, before the superstep, in it or after it.
fn exchanged(lengths: &[usize], when: usize) -> Vec<Content> {
    let mut exchanges = exchanges();
    let content = |length: &usize| {
        let number = u8::try_from(length % 251).unwrap();
        Content::Value(vec![number; *length].into())
    };
    let messages = lengths.iter().map(|length| {
        let header = MessageHeader {
            from: Rank(2),
            to: Rank(0),
            bytes: *length as u64,
            is_sized: false,
            rest: 0,
            also: Vec::new(),
        };
        (header, content(length))
    });
    let last = Last {
        is_followed: true,
        halted: Vec::new(),
    };
    let compute = |exchanges: &mut Exchanges| {
        exchanges.begin(0).unwrap();
        for rank in [0, 1] {
            exchanges
                .computed(Rank(rank), executed(&[], false))
                .unwrap();
        }
        exchanges.batches([THERE, HostId(2)].into_iter(), Seconds::ZERO);
    };
    if when == 2 {
        // No batch is expected any more, and one comes all the same.
        exchanges.expectations.of_others.clear();
    }
    if 0 < when {
        compute(&mut exchanges);
    }
    if when == 2 {
        assert!(exchanges.complete().unwrap().is_some());
    }
    for batch in pack(0, Seconds::ZERO, messages.collect(), last) {
        assert!(batch.payload.len() <= BATCH_LEN);
        let received = exchanges.receive(THERE, batch, seconds(0.5), InputMemory::default());
        received.unwrap();
    }
    if when == 0 {
        compute(&mut exchanges);
    }
    if when < 2 {
        let exchanged = exchanges.complete().unwrap().unwrap();
        let received = &exchanged[0].1;
        assert_eq!(received.received as usize, lengths.len());
        assert_eq!(
            received.bytes_received.0,
            lengths.iter().sum::<usize>() as u64
        );
    }
    let inbox = exchanges.remove_inbox(Rank(0)).into_iter();
    let received: Vec<Content> = inbox.map(|incoming| incoming.content).collect();
    let sent: Vec<Content> = lengths.iter().map(content).collect();
    assert!(received == sent, "{lengths:?}");
    received
}

#[test]
fn messages_of_any_length_arrive_whole_and_in_order() {
    let l = BATCH_LEN;
    for lengths in [
        &[0, 1, l - 1, l, l + 1, 0, 3][..],
        &[2 * l, 2 * l + 1, 5],
        &[10, 3 * l + 7, 10, l],
    ] {
        for when in 0..3 {
            assert_eq!(exchanged(lengths, when).len(), lengths.len());
        }
    }
}

#[test]
fn a_value_for_several_processes_of_a_node_travels_once() {
    let value = Raw::from(vec![3; BATCH_LEN + 5]);
    let header = |to| MessageHeader {
        from: Rank(2),
        to: Rank(to),
        bytes: length(value.len()),
        is_sized: false,
        rest: 0,
        also: Vec::new(),
    };
    let mut outgoing = Vec::new();
    for to in [0, 1] {
        add(&mut outgoing, header(to), Content::Value(value.clone()));
    }
    // An equal value that was sent by itself.
    let other = Raw::from(value.to_vec());
    add(&mut outgoing, header(0), Content::Value(other));
    let last = Last {
        is_followed: true,
        halted: Vec::new(),
    };
    let batches: Vec<Batch> = pack(0, Seconds::ZERO, outgoing, last).collect();
    let payload: usize = batches.iter().map(|batch| batch.payload.len()).sum();
    assert_eq!(payload, 2 * value.len());
    let mut exchanges = exchanges();
    exchanges.begin(0).unwrap();
    for batch in batches {
        let received = exchanges.receive(THERE, batch, seconds(0.5), InputMemory::default());
        received.unwrap();
    }
    for rank in [0, 1] {
        exchanges
            .computed(Rank(rank), executed(&[], false))
            .unwrap();
    }
    exchanges.batches([THERE, HostId(2)].into_iter(), Seconds::ZERO);
    let exchanged = exchanges.complete().unwrap().unwrap();
    let counts: Vec<u32> = exchanged
        .iter()
        .map(|(_, exchange)| exchange.received)
        .collect();
    assert_eq!(counts, [2, 1]);
    for rank in [0, 1] {
        for incoming in exchanges.remove_inbox(Rank(rank)) {
            assert_eq!(incoming.content, Content::Value(value.clone()));
        }
    }
}

#[test]
fn parts_of_messages_where_none_can_be_are_refused() {
    let header = |bytes, rest| MessageHeader {
        from: Rank(2),
        to: Rank(0),
        bytes,
        is_sized: false,
        rest,
        also: Vec::new(),
    };
    let batch = |headers: &[MessageHeader], is_last| Batch {
        is_last,
        messages: headers.to_vec(),
        payload: vec![0; position(headers.iter().map(|header| header.bytes).sum())].into(),
        ..batch(0, &[], false)
    };
    let other = MessageHeader {
        to: Rank(1),
        ..header(2, 0)
    };
    let more = MessageHeader {
        also: vec![Rank(1)],
        ..header(2, 0)
    };
    for (batches, is_sound) in [
        (vec![batch(std::slice::from_ref(&more), true)], true),
        (
            vec![batch(&[header(3, 2)], false), batch(&[more], true)],
            false,
        ),
        (
            vec![batch(&[header(3, 2)], false), batch(&[header(2, 0)], true)],
            true,
        ),
        (vec![batch(&[header(3, 2)], true)], false),
        (
            vec![batch(&[header(3, 2)], false), batch(&[header(1, 0)], true)],
            false,
        ),
        (
            vec![batch(&[header(3, 2)], false), batch(&[header(2, 1)], false)],
            false,
        ),
        (
            vec![batch(&[header(3, 2)], false), batch(&[other], true)],
            false,
        ),
        (vec![batch(&[header(0, 2)], false)], false),
        (vec![batch(&[header(1, u64::MAX)], false)], false),
    ] {
        let mut exchanges = exchanges();
        let received = batches.into_iter().try_for_each(|batch| {
            exchanges.receive(THERE, batch, Seconds::ZERO, InputMemory::default())
        });
        assert_eq!(received.is_ok(), is_sound, "{received:?}");
    }
}

#[test]
fn many_messages_go_in_batches_of_bounded_heads() {
    let header = MessageHeader {
        from: Rank(u32::MAX),
        to: Rank(u32::MAX),
        bytes: 0,
        is_sized: true,
        rest: 0,
        also: Vec::new(),
    };
    let last = Last {
        is_followed: true,
        halted: Vec::new(),
    };
    let count = MESSAGES_MAX * 2 + 1;
    let messages = vec![(header, Content::Sized(0)); count];
    let batches: Vec<Batch> = pack(u64::MAX, Seconds::ZERO, messages, last).collect();
    let counts: Vec<usize> = batches.iter().map(|batch| batch.messages.len()).collect();
    assert_eq!(counts, [MESSAGES_MAX, MESSAGES_MAX, 1]);
    let (node, other) = (Address::Node(HERE), Address::Node(THERE));
    for batch in batches {
        let frame = encode(
            node,
            other,
            &Message::Node(NodeMessage::Batch(Box::new(batch))),
        );
        let bytes = [frame.head, frame.payload].concat();
        decode(bytes.into(), &Bounds::default().frame).unwrap();
    }
}

#[test]
fn messages_that_were_late_when_a_job_was_saved_count_no_more_when_it_resumes() {
    let incoming = |late| Incoming {
        from: Rank(2),
        content: value("late"),
        late,
    };
    // Process 0 has halted.
    let resumed = Resumed {
        incarnation: 1,
        superstep: 5,
        halted: vec![Some(3), None, None],
    };
    let mut here = exchanges().resume(&resumed);
    here.restore_inbox(Rank(1), vec![incoming(Some(Seconds::ZERO))]);
    assert_eq!(
        (here.living_here(), here.first_running()),
        (1, Some(Rank(1)))
    );
    assert!(here.begin(4).is_err());
    let error = here.receive(
        THERE,
        batch(7, &[], false),
        Seconds::ZERO,
        InputMemory::default(),
    );
    assert!(error.is_err());
    here.begin(5).unwrap();
    assert_eq!(here.remove_inbox(Rank(1)), [incoming(None)]);
    here.receive(
        THERE,
        batch(5, &[(1, "in time")], false),
        Seconds::ZERO,
        InputMemory::default(),
    )
    .unwrap();
    here.computed(Rank(1), executed(&[], false)).unwrap();
    drop(here.batches([THERE].into_iter(), Seconds::ZERO));
    let exchanged = here.complete().unwrap().unwrap();
    assert_eq!(exchanged.len(), 1);
    let (rank, exchange) = &exchanged[0];
    assert_eq!((*rank, exchange.received), (Rank(1), 1));
}
