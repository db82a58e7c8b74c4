use std::time::{Duration, Instant};

use bsp::HostId;
use bytes::Bytes;
use model::Measurements;
use proptest::prelude::*;
use protocol::{
    Address, AgentMessage, BusyProcess, DecodeError, HeadError, Limits, Message, PREFIX_LEN,
    Prefix, StartCall, WIRE_VERSION, decode, encode,
};

use crate::wire::arbitrary::{address, message};
use crate::wire::{external, joined, status};

const HERE: Address = Address::Node(HostId(1));

fn start_call() -> Vec<u8> {
    let frame = encode(
        HERE,
        HERE,
        &Message::Agent(AgentMessage::StartCall(StartCall { superstep: 3 })),
    );
    joined(&frame).to_vec()
}

/// A frame with this head.
fn frame_of(head: &[u8]) -> Vec<u8> {
    let length = u32::try_from(head.len()).unwrap().to_le_bytes();
    [&[0xB5, WIRE_VERSION, 0, 0], &length[..], &[0; 8], head].concat()
}

/// Decodes `frame`, which must fail, and must not take as long as the counts that it announces.
fn check(frame: Vec<u8>, expect: &str) {
    let begin = Instant::now();
    let error = decode(frame.into(), &Limits::default()).unwrap_err();
    assert!(begin.elapsed() < Duration::from_secs(30), "{error}");
    assert_eq!(error.to_string(), expect);
}

/// `frame` with `byte` at `at`.
fn with(mut frame: Vec<u8>, at: usize, byte: u8) -> Vec<u8> {
    frame[at] = byte;
    frame
}

/// Checks that what `frame` decodes to is encoded and decoded again, or that it is refused with a reason.
fn check_meaning(frame: &[u8]) -> Result<(), TestCaseError> {
    match decode(Bytes::copy_from_slice(frame), &Limits::default()) {
        Ok((from, to, message)) => {
            let again = joined(&encode(from, to, &message));
            let decoded = decode(again, &Limits::default());
            prop_assert_eq!(decoded, Ok((from, to, message)));
        }
        Err(error) => prop_assert!(!error.to_string().is_empty()),
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::default())]

    #[test]
    fn random_bytes_are_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        prop_assert!(decode(bytes.into(), &Limits::default()).is_err());
    }

    #[test]
    fn random_heads_do_not_panic(
        head in prop::collection::vec(any::<u8>(), 0..200),
    ) {
        check_meaning(&frame_of(&head))?;
    }

    #[test]
    fn mutated_frames_do_not_panic(
        (from, to) in (address(), address()),
        message in message(),
        mutations in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
    ) {
        let mut frame = joined(&encode(from, to, &message)).to_vec();
        for (at, byte) in mutations {
            let at = at.index(frame.len());
            frame[at] = byte;
        }
        check_meaning(&frame)?;
    }

    #[test]
    fn truncated_frames_are_refused(
        (from, to) in (address(), address()),
        message in message(),
        cut in any::<prop::sample::Index>(),
    ) {
        let mut frame = joined(&encode(from, to, &message));
        let expected = frame.len() as u64;
        frame.truncate(cut.index(frame.len()));
        let found = frame.len() as u64;
        let expected = if found < 16 { 16 } else { expected };
        prop_assert_eq!(
            decode(frame, &Limits::default()),
            Err(DecodeError::Length { found, expected })
        );
    }

    #[test]
    fn truncated_heads_are_refused(
        (from, to) in (address(), address()),
        message in message(),
        cut in any::<prop::sample::Index>(),
    ) {
        let frame = encode(from, to, &message);
        let head = &frame.head[PREFIX_LEN..];
        let frame = frame_of(&head[..cut.index(head.len())]);
        prop_assert!(matches!(
            decode(frame.into(), &Limits::default()),
            Err(DecodeError::Head(_))
        ));
    }
}

#[test]
fn errors_name_the_wrong_byte() {
    check(
        with(start_call(), 0, 0x16),
        "byte 0: found 0x16, expected 0xb5: the sender speaks another protocol",
    );
    check(
        with(start_call(), 1, 9),
        "byte 1: wire version 9, expected 4: run one build at both ends",
    );
    check(
        with(start_call(), 2, 7),
        "byte 2: a frame of kind 7, expected 0 to 2",
    );
    check(vec![0xB5], "the frame ends at byte 1, expected 16");
    let length = start_call().len();
    check(
        [start_call(), vec![0]].concat(),
        &format!("the frame ends at byte {}, expected {length}", length + 1),
    );
}

#[test]
fn announced_lengths_are_limited() {
    check(
        with(start_call(), 7, 0x80),
        "byte 4: a head of 2147483676 bytes, expected at most 67108864",
    );
    check(
        with(start_call(), 15, 0x40),
        "byte 8: a payload of 4611686018427387904 bytes, expected at most 67108864",
    );
    let prefix = *frame_of(&[0; 100]).first_chunk().unwrap();
    let limits = Limits {
        head: 99,
        payload: 0,
    };
    assert_eq!(
        Prefix::decode(&prefix, &limits),
        Err(DecodeError::HeadTooLong {
            found: 100,
            limit: 99
        })
    );
}

#[test]
fn announced_counts_are_limited() {
    // Decided, with 2³² − 1 candidates.
    let mut head = b"\x93\x81\xa4Node\x01\x81\xa4Node\x01\x81\xa7Decided\x93\x00\x00".to_vec();
    head.extend([0xdd, 0xff, 0xff, 0xff, 0xff, 0x94]);
    check(
        frame_of(&head),
        "byte 27 of the head: 4294967295 values or bytes announced, but only 1 bytes follow",
    );
    // One element per byte, none of which is a candidate.
    head.truncate(27);
    head.extend([0xdd, 0, 0x80, 0, 0]);
    head.resize(head.len() + 0x0080_0000, 0);
    check(
        frame_of(&head),
        "the head is not a message: invalid type: integer `0`, expected struct Considered",
    );
}

#[test]
fn nesting_is_limited() {
    check(
        frame_of(&[0x91; 10_000]),
        "byte 9999 of the head: 1 values or bytes announced, but only 0 bytes follow",
    );
    for inner in [0x91, 0x81] {
        let mut head = vec![0x93];
        head.extend([inner; 10_000]);
        head.extend([0xc0; 10_003]);
        assert!(matches!(
            decode(frame_of(&head).into(), &Limits::default()),
            Err(DecodeError::Head(_))
        ));
    }
}

#[test]
fn payloads_of_the_wrong_length_are_refused() {
    let mut frame = with(start_call(), 8, 5);
    frame.extend(b"extra");
    check(
        frame,
        "a payload of 5 bytes, expected none with this message",
    );
}

#[test]
fn invalid_numbers_are_refused() {
    use bsp::units::InstructionsPerSecond;

    let measured = Message::Agent(AgentMessage::Measured(protocol::Measured {
        superstep: 1,
        host: HostId(2),
        speed: InstructionsPerSecond::new(1.5e9).unwrap(),
        cores: 2,
        load: 0.25,
        load_recent: 0.125,
        more: Measurements {
            links: Vec::new(),
            external: vec![external()],
        },
    }));
    let frame = joined(&encode(HERE, HERE, &measured));
    let patched = |from: f64, to: f64| {
        let (from, to) = (from.to_be_bytes(), to.to_be_bytes());
        let at = frame.windows(8).position(|window| window == from).unwrap();
        let mut frame = frame.to_vec();
        frame[at..at + 8].copy_from_slice(&to);
        (frame, at - 1 - PREFIX_LEN)
    };
    let (frame, at) = patched(0.25, f64::NAN);
    check(
        frame,
        &format!(
            "byte {at} of the head: invalid number `NaN`: must be 0 or from 1e-120 to 1e60 in magnitude"
        ),
    );
    let (frame, _) = patched(1.5e9, -1.0);
    check(frame, "the head is not a message: -1 is not above zero");
    let (frame, _) = patched(0.25, 1.5);
    check(
        frame,
        "invalid load `1.5` of host 2: must be a fraction between 0 and 1",
    );
    for value in [0.375, 0.4375, 0.03125, 0.75, 90.5] {
        let (frame, at) = patched(value, f64::NAN);
        check(
            frame,
            &format!(
                "byte {at} of the head: invalid number `NaN`: must be 0 or from 1e-120 to 1e60 in magnitude"
            ),
        );
    }
}

#[test]
fn invalid_busy_processes_are_refused() {
    let busy = |names: &[&str]| {
        let process = |name: &&str| BusyProcess::new(name, 7, Duration::from_millis(1250));
        let status = status(None, names.iter().map(process).collect());
        let message = Message::Job(Box::new(status));
        joined(&encode(HERE, Address::Client, &message)).to_vec()
    };
    let patched = |from: &[u8], to: &[u8]| {
        let mut frame = busy(&["solver"]);
        let at = frame.windows(from.len()).position(|window| window == from);
        let at = at.unwrap();
        frame.splice(at..at + from.len(), to.iter().copied());
        frame[4] = u8::try_from(frame.len() - PREFIX_LEN).unwrap();
        frame
    };
    let age = |value: f64| value.to_be_bytes();
    check(
        patched(&age(1.25), &age(-1.25)),
        "the head is not a message: the age of a busy process is -1.25 s, expected at least 0",
    );
    let error = decode(
        patched(&age(1.25), &age(f64::NAN)).into(),
        &Limits::default(),
    );
    assert!(matches!(
        error,
        Err(DecodeError::Head(HeadError::Number { .. }))
    ));
    check(
        patched(b"\xa6solver", b"\xa6sol\x1b[m"),
        "the head is not a message: the name of a busy process cannot be displayed",
    );
    let long = [&b"\xd9\x41"[..], &[b'x'; 65]].concat();
    check(
        patched(b"\xa6solver", &long),
        "the head is not a message: the name of a busy process has 65 bytes, expected at most 64",
    );
    let longest = "x".repeat(BusyProcess::NAME_MAX);
    let most = [&longest[..]; BusyProcess::COUNT_MAX];
    assert!(decode(busy(&most).into(), &Limits::default()).is_ok());
    check(
        busy(&["x"; BusyProcess::COUNT_MAX + 1]),
        "the head is not a message: 65 busy processes, expected at most 64",
    );
}
