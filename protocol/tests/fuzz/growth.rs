use bsp::units::{self, Instructions, InstructionsPerSecond, Seconds};
use bsp::{HostId, Rank, SetId};
use migbsp::{Entry, Evaluation, Inventory, ProcessTimes, Processor};
use protocol::{Address, Limits, Message, PREFIX_LEN, Report, Reports, Standing, encode};
use rcgen::{CertificateParams, KeyPair, SanType};

use crate::{certificates, frames};

const HERE: Address = Address::Node(HostId(0));

/// Wherever there may be a list: many elements announced, and as many bytes that are none of them.
#[test]
fn a_count_reserves_nothing_to_speak_of() {
    for seed in frames::SEEDS.iter() {
        for at in PREFIX_LEN..seed.len() {
            if !(0x90..0xa0).contains(&seed[at]) {
                continue;
            }
            let mut frame = seed[..at].to_vec();
            frame.extend([0xdc, 0xff, 0xff]);
            frame.resize(frame.len() + 0xffff, 0xc3);
            frames::announce(&mut frame);
            assert!(frames::decoded(&frame, &Limits::default()).is_err());
        }
    }
}

/// Frames of the shortest elements that make the largest values, one more than a list has room for.
#[test]
fn long_lists_cost_no_more_than_short_ones() {
    let seconds = |value| Seconds::new(value).unwrap();
    let entry = Entry {
        rank: Rank(0),
        own: SetId(0),
        target: SetId(0),
        potential: seconds(0.0),
        receive_time: seconds(0.0),
    };
    let report = Report {
        superstep: 0,
        rank: Rank(0),
        host: HostId(0),
        evaluation: Evaluation {
            own: SetId(0),
            potentials: Vec::new(),
        },
        entry,
        instructions: Instructions(0),
        instructions_resident: Instructions(0),
        bytes: units::Bytes(0),
        times: Vec::new(),
        load: None,
    };
    let timed = Report {
        times: vec![ProcessTimes::new(None, seconds(0.0), None); 65_537],
        ..report.clone()
    };
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
        barrier_delay: 0.0,
    };
    let standing = Standing {
        superstep: 0,
        set: SetId(0),
        interval: None,
        tolerance: None,
        entries: Vec::new(),
        digests: Vec::new(),
        barrier_busy: Vec::new(),
        inventory: Some(inventory),
    };
    for message in [
        Message::Reports(Box::new(Reports {
            superstep: 0,
            host: HostId(0),
            reports: vec![report; 8193],
        })),
        Message::Reported(Box::new(timed)),
        Message::Standing(Box::new(standing)),
    ] {
        let frame = encode(HERE, HERE, &message).head;
        assert_eq!(
            frames::decoded(&frame, &Limits::default()),
            Ok((HERE, HERE, message))
        );
    }
}

/// A certificate of the shortest names that make the largest values.
#[test]
fn many_names_cost_no_more_than_few() {
    let key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::default();
    let name = SanType::DnsName("".try_into().unwrap());
    params.subject_alt_names = vec![name; 4097];
    let certificate = params.self_signed(&key).unwrap();
    certificates::parse(certificate.der());
}
