use bsp::units::{self, Instructions, InstructionsPerSecond, Seconds};
use bsp::{HostId, Rank, SetId};
use model::{Entry, Evaluation, Inventory, Potential, ProcessTimes, Processor, Times};
use protocol::{Address, AgentMessage, Limits, Message, PREFIX_LEN, Report, Reports, encode};
use rcgen::{CertificateParams, KeyPair, SanType};

use super::{certificates, frames};
use crate::wire::report_for_plans;

const HERE: Address = Address::Node(HostId(0));

/// At every place that may hold a list: a list of many elements whose first element is wrong.
#[test]
fn announced_counts_reserve_bounded_memory() {
    for seed in frames::SEEDS.iter() {
        for at in PREFIX_LEN..seed.len() {
            if !(0x90..0xa0).contains(&seed[at]) {
                continue;
            }
            for count in [0xff, 0xffff] {
                let mut frame = seed[..at].to_vec();
                frame.push(0xdc);
                frame.extend(u16::to_be_bytes(count));
                frame.resize(frame.len() + 0xffff, 0xc3);
                frames::announce(&mut frame);
                assert!(frames::decoded(&frame, &Limits::default()).is_err());
            }
        }
    }
}

/// Lists of the elements that take the most memory for each byte of their encoding, one longer than a power of two.
#[test]
fn long_lists_take_bounded_memory() {
    for message in reports().into_iter().chain([set_report()]) {
        let frame = encode(HERE, HERE, &message).head;
        for frame in [zeros_as_integers(&frame), frame.to_vec()] {
            let decoded = frames::decoded(&frame, &Limits::default());
            assert_eq!(decoded, Ok((HERE, HERE, message.clone())));
        }
    }
}

/// Long lists in reports, and a long list of reports.
fn reports() -> [Message; 3] {
    let entry = Entry {
        rank: Rank(0),
        own: SetId(0),
        target: SetId(0),
        potential: Seconds::ZERO,
        receive_time: Seconds::ZERO,
    };
    let report = Report {
        superstep: 0,
        rank: Rank(0),
        host: HostId(0),
        evaluation: Evaluation {
            own: SetId(0),
            potentials: Vec::new(),
            within: None,
        },
        entry,
        instructions: Instructions(0),
        instructions_resident: Instructions(0),
        bytes: units::Bytes(0),
        times: Times::default(),
        load: None,
        remaining: None,
    };
    let timed = Report {
        times: vec![ProcessTimes::new(None, Seconds::ZERO, None); 65_537].into(),
        ..report.clone()
    };
    let potential = Potential {
        set: SetId(0),
        pattern_computation: 0.0,
        prediction_computation: Seconds::ZERO,
        set_index: 0.0,
        computation: Seconds::ZERO,
        pattern_communication: 0.0,
        prediction_communication: Seconds::ZERO,
        communication: Seconds::ZERO,
        migration: Seconds::ZERO,
    };
    let evaluated = Report {
        evaluation: Evaluation {
            own: SetId(0),
            potentials: vec![potential; 65_537],
            within: None,
        },
        ..report.clone()
    };
    [
        Message::Agent(AgentMessage::Reported(Box::new(evaluated))),
        Message::Agent(AgentMessage::Reports(Box::new(Reports {
            superstep: 0,
            host: HostId(0),
            reports: vec![report; 8193],
        }))),
        Message::Agent(AgentMessage::Reported(Box::new(timed))),
    ]
}

/// A long list in the inventory of a Set.
fn set_report() -> Message {
    let inventory = Inventory {
        processors: vec![Processor {
            host: HostId(0),
            speed: InstructionsPerSecond::new(1.0).unwrap(),
            cores: 1,
            load: 0.0,
            residents: vec![(Rank(0), Instructions(0)); 65_537],
        }],
        loads: Vec::new(),
        rates: Vec::new(),
        paths: Vec::new(),
        barrier: model::BarrierTime::Ideal,
        measured: model::Measurements::default(),
    };
    report_for_plans(0, SetId(0), inventory)
}

/// `frame` with every float zero in one byte instead of nine, which decoding accepts too.
fn zeros_as_integers(frame: &[u8]) -> Vec<u8> {
    const ZERO: [u8; 9] = [0xcb, 0, 0, 0, 0, 0, 0, 0, 0];
    let mut shorter = Vec::new();
    let mut rest = frame;
    while let Some((first, others)) = rest.split_first() {
        rest = rest.strip_prefix(&ZERO).unwrap_or(others);
        shorter.push(if rest.len() < others.len() { 0 } else { *first });
    }
    frames::announce(&mut shorter);
    shorter
}

/// A certificate with many of the shortest names.
#[test]
fn many_names_take_bounded_memory() {
    let key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::default();
    let name = SanType::DnsName("".try_into().unwrap());
    params.subject_alt_names = vec![name; 4097];
    let certificate = params.self_signed(&key).unwrap();
    certificates::parse(certificate.der());
}
