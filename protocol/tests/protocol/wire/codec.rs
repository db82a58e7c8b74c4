use std::sync::Arc;

use bsp::units::{Bytes, Seconds};
use bsp::{HostId, MemorySize, Rank, Reductions, SetId};
use model::{BarrierTime, Edge, Inventory, Load, Neighbours, Received};
use proptest::prelude::*;
use protocol::{
    Address, AgentMessage, EncodedState, Limits, Message, PREFIX_LEN, Prefix, SetReport, decode,
    encode,
};

use crate::wire::arbitrary::{address, message};
use crate::wire::{frame_len, joined, report_for_plans};

const HERE: Address = Address::Process(Rank(0));

fn image(payload: bytes::Bytes, declared: Option<Bytes>) -> AgentMessage {
    AgentMessage::State(Box::new(EncodedState {
        rank: Rank(3),
        epoch: 2,
        agent: 0,
        declared,
        payload,
    }))
}

proptest! {
    #[test]
    fn messages_are_decoded_as_encoded((from, to) in (address(), address()), message in message()) {
        let frame = encode(from, to, &message);
        let decoded = decode(joined(&frame), &Limits::default());
        prop_assert_eq!(decoded, Ok((from, to, message)));
    }

    #[test]
    fn frames_in_parts_decode_as_whole_frames(
        (from, to) in (address(), address()),
        message in message(),
    ) {
        let frame = encode(from, to, &message);
        let (prefix, head) = frame.head.split_first_chunk::<PREFIX_LEN>().unwrap();
        let prefix = Prefix::decode(prefix, &Limits::default()).unwrap();
        prop_assert_eq!(prefix.head_len(), head.len());
        prop_assert_eq!(prefix.payload_len(), frame.payload.len() as u64);
        // What the simulated network charges is what a socket sends.
        if let Message::Agent(agent) = &message
            && !matches!(agent, AgentMessage::State(_))
        {
            prop_assert_eq!(agent.wire_size(from, to), Bytes(frame_len(&message, from, to)));
        }
        prop_assert_eq!(prefix.open(head, frame.payload), Ok((from, to, message)));
    }
}

#[test]
fn payloads_are_not_copied() {
    let payload = bytes::Bytes::from(vec![7; 100_000]);
    let frame = encode(HERE, HERE, &image(payload.clone(), None).into());
    assert_eq!(frame.payload.as_ptr(), payload.as_ptr());

    let joined = joined(&frame);
    let (_, _, message) = decode(joined.clone(), &Limits::default()).unwrap();
    let received = message.payload().unwrap();
    assert_eq!(received, &payload);
    assert_eq!(received.as_ptr(), joined[frame.head.len()..].as_ptr());
}

#[test]
fn declared_sizes_replace_the_payload() {
    let payload = bytes::Bytes::from_static(b"a counter");
    let real = image(payload.clone(), None);
    assert_eq!(
        real.wire_size(HERE, HERE),
        Bytes(frame_len(&Message::from(real), HERE, HERE))
    );

    let modelled = image(payload, Some(Bytes(50_000_000)));
    let head = frame_len(&Message::from(modelled.clone()), HERE, HERE) - 9;
    assert_eq!(modelled.wire_size(HERE, HERE), Bytes(head + 50_000_000));
}

#[test]
fn long_lists_are_encoded() {
    let moment = Seconds::new(0.5).unwrap();
    let report = Message::Agent(AgentMessage::SetReport(Box::new(SetReport {
        superstep: 1 << 40,
        set: SetId(300),
        interval: Some(70_000),
        tolerance: Some(0.5),
        entries: Arc::default(),
        digests: Vec::new(),
        barrier_busy: vec![moment; 70_000],
        inventory: None,
        remaining: None,
    })));
    let frame = encode(HERE, HERE, &report);
    let decoded = decode(joined(&frame), &Limits::default());
    assert_eq!(decoded, Ok((HERE, HERE, report)));
}

#[test]
fn messages_of_a_superstep_are_short() {
    let start = Message::Agent(AgentMessage::Start(protocol::Start {
        superstep: 9,
        interval: None,
        checkpoint: true,
        reduced: None,
    }));
    let arrived = Message::Agent(AgentMessage::Arrived(protocol::Arrived {
        superstep: 9,
        processes: 1,
        halted: 0,
        sent: 2,
        received: 2,
        slowest: (Seconds::ZERO, Rank(0)),
        computation: 0,
        took: Seconds::ZERO,
        checkpoint: true,
        reductions: Reductions::default(),
    }));
    for message in [start, arrived] {
        assert!(frame_len(&message, HERE, HERE) <= 80, "{message:?}");
    }
}

/// What a plan has to know of a process, with as many senders as it reports, in a run with 60 000 processes.
#[test]
fn what_a_process_reports_for_plans_has_at_most_300_bytes() {
    let edge = |from: usize| Edge {
        from: Rank(60_000 - u32::try_from(from).unwrap()),
        messages: 3.7,
        bytes: 1e6 / 3.0,
        time: 0.1,
    };
    let load = Load {
        rank: Rank(60_000),
        host: HostId(10_000),
        instructions: 1e9 / 3.0,
        finished: None,
        image: MemorySize {
            data: Bytes(1 << 30),
            fixed: Bytes(500_000),
        },
        received: vec![Received {
            set: SetId(2),
            bytes: 1e7 / 3.0,
            time: 0.1,
        }],
        edges: (0..Neighbours::REPORTED).map(edge).collect(),
        noise: 0.1 / 3.0,
    };
    let length = |load: Vec<Load>| {
        let inventory = Inventory {
            processors: Vec::new(),
            loads: load,
            rates: Vec::new(),
            paths: Vec::new(),
            barrier: BarrierTime::Ideal,
            measured: model::Measurements::default(),
        };
        let message = report_for_plans(0, SetId(1), inventory);
        frame_len(
            &message,
            Address::SetManager(SetId(1)),
            Address::SetManager(SetId(0)),
        )
    };
    let added = length(vec![load]) - length(Vec::new());
    assert!(added <= 300, "{added} bytes");
}
