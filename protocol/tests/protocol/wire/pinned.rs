//! The bytes of every message. Where one of them is not what it was in the last release, `WIRE_VERSION` is not either.

use std::collections::BTreeSet;
use std::fmt::Write;

use bsp::units::{Bytes, Instructions, InstructionsPerSecond, Seconds};
use bsp::{HostId, Image, Rank, SetId};
use migbsp::{
    Answer, Digest, Entry, Evaluation, Inventory, Load, Move, Potential, ProcessTimes, Processor,
    Received, Refusal, Request, SetView,
};
use protocol::{
    Address, Answered, Arrived, Ask, Capacity, Confer, Considered, Decided, Ended, Errand,
    Evaluate, Failed, Fault, Installed, JobStatus, Letter, Limits, Measure, Measured, Member,
    Message, Migrate, Parcel, Placed, Planned, Probe, Report, Reports, Standing, Start, State,
    Status, Submit, WIRE_VERSION, decode, encode,
};

use crate::wire::joined;

const PINNED: &str = include_str!("pinned.txt");

#[test]
fn the_bytes_of_every_message_are_those_of_this_version() {
    let mut lines = format!("version {WIRE_VERSION}\n");
    let mut variants = BTreeSet::new();
    for (from, to, message) in messages() {
        let frame = joined(&encode(from, to, &message));
        write!(lines, "{:10}", name(&message)).unwrap();
        for byte in &frame {
            write!(lines, "{byte:02x}").unwrap();
        }
        lines.push('\n');
        variants.insert(name(&message));
        assert_eq!(decode(frame, &Limits::default()), Ok((from, to, message)));
    }
    assert_eq!(variants.len(), VARIANTS, "a variant has no example");
    assert!(
        PINNED == lines,
        "frames changed: raise WIRE_VERSION if it is the last release's, and pinned.txt becomes\n{lines}"
    );
}

/// A new variant needs a name here, an example below, and [`VARIANTS`] raised.
fn name(message: &Message) -> &'static str {
    match message {
        Message::Start(_) => "start",
        Message::Finish => "finish",
        Message::Arrived(_) => "arrived",
        Message::Confer(_) => "confer",
        Message::Measure(_) => "measure",
        Message::Measured(_) => "measured",
        Message::Capacity(_) => "capacity",
        Message::Evaluate(_) => "evaluate",
        Message::Reported(_) => "reported",
        Message::Reports(_) => "reports",
        Message::ReportsBefore(_) => "before",
        Message::Standing(_) => "standing",
        Message::Ask(_) => "ask",
        Message::Answered(_) => "answered",
        Message::Decided(_) => "decided",
        Message::Planned(_) => "planned",
        Message::Migrate(_) => "migrate",
        Message::State(_) => "state",
        Message::Installed(_) => "installed",
        Message::Halted(_) => "halted",
        Message::Parcel(_) => "parcel",
        Message::Taken(_) => "taken",
        Message::Placed(_) => "placed",
        Message::Probe(_) => "probe",
        Message::Errand(_) => "errand",
    }
}

const VARIANTS: usize = 25;

fn messages() -> Vec<(Address, Address, Message)> {
    let process = Address::Process(Rank(200));
    let node = Address::Node(HostId(7));
    let manager = Address::SetManager(SetId(1));
    let mut messages = vec![
        (node, process, Message::Finish),
        (process, node, Message::Halted(Rank(200))),
    ];
    messages.extend(superstep().map(|message| (process, node, message)));
    messages.extend(measures().map(|message| (node, manager, message)));
    messages.extend(findings().map(|message| (node, manager, message)));
    messages.extend(negotiation().map(|message| (manager, manager, message)));
    messages.extend(moves().map(|message| (node, node, message)));
    messages.extend(traffic().map(|message| (node, node, message)));
    messages.extend(asked().map(|errand| (Address::Client, node, of_errand(errand))));
    messages.extend(answered().map(|errand| (node, Address::Client, of_errand(errand))));
    messages
}

fn superstep() -> [Message; 4] {
    let superstep = 1000;
    [
        Message::Start(Start {
            superstep,
            interval: None,
        }),
        Message::Start(Start {
            superstep,
            interval: Some(8),
        }),
        Message::Arrived(Arrived {
            superstep,
            processes: 5,
            halted: 1,
            sent: 70_000,
            received: 1 << 33,
            slowest: (seconds(0.25), Rank(3)),
            computation: 1_000_000_000,
        }),
        Message::Confer(Confer { superstep }),
    ]
}

fn measures() -> [Message; 4] {
    let superstep = 4;
    let view = SetView {
        capacity: 1.5e9,
        processes: 10,
        processors: 8,
        transfer_rate: 8e-8,
    };
    [
        Message::Measure(Measure { superstep }),
        Message::Measured(Measured {
            superstep,
            host: HostId(7),
            speed: InstructionsPerSecond::new(1e9).unwrap(),
            cores: 2,
            load: 0.25,
            load_recent: 0.5,
        }),
        Message::Capacity(Box::new(Capacity {
            superstep,
            set: SetId(1),
            capacity: 7.5e8,
            processes: 10,
            processors: 8,
        })),
        Message::Evaluate(Box::new(Evaluate {
            superstep,
            sets: vec![view, view],
        })),
    ]
}

fn findings() -> [Message; 3] {
    let superstep = 4;
    let potential = Potential {
        set: SetId(2),
        pattern_computation: 0.5,
        prediction_computation: seconds(2.0),
        set_index: 1.25,
        computation: seconds(1.25),
        pattern_communication: 1.0,
        prediction_communication: seconds(0.5),
        communication: seconds(0.5),
        migration: seconds(-0.5),
    };
    let report = Report {
        superstep,
        rank: Rank(200),
        host: HostId(7),
        evaluation: Evaluation {
            own: SetId(1),
            potentials: vec![potential],
        },
        entry: entry(),
        instructions: Instructions(0),
        instructions_resident: Instructions(1 << 40),
        bytes: Bytes(100_000),
        times: vec![ProcessTimes::new(Some(seconds(0.5)), seconds(0.25), None)],
        load: Some(load()),
    };
    [
        Message::Reported(Box::new(report.clone())),
        Message::Reports(Box::new(Reports {
            superstep,
            host: HostId(7),
            reports: vec![report.clone()],
        })),
        Message::ReportsBefore(Box::new(Reports {
            superstep,
            host: HostId(7),
            reports: vec![report],
        })),
    ]
}

fn negotiation() -> [Message; 9] {
    let superstep = 4;
    let answered = |answer| {
        Message::Answered(Box::new(Answered {
            superstep,
            rank: Rank(200),
            answer,
        }))
    };
    let offer = Answer::Offer {
        host: HostId(9),
        t1: seconds(1.0),
        runner_up: Some((HostId(10), seconds(1.5))),
    };
    [
        Message::Standing(Box::new(Standing {
            superstep,
            set: SetId(1),
            interval: Some(4),
            tolerance: Some(0.5),
            entries: vec![entry()],
            digests: vec![digest()],
            barrier_busy: vec![seconds(0.125)],
            inventory: None,
        })),
        Message::Standing(Box::new(Standing {
            superstep,
            set: SetId(1),
            interval: None,
            tolerance: None,
            entries: Vec::new(),
            digests: Vec::new(),
            barrier_busy: Vec::new(),
            inventory: Some(inventory()),
        })),
        Message::Ask(Box::new(Ask {
            superstep,
            from: SetId(1),
            request: request(),
        })),
        answered(offer),
        answered(Answer::Refuse(Refusal::Idle)),
        answered(Answer::Refuse(Refusal::NoProcessor)),
        answered(Answer::Refuse(Refusal::NoFasterPlace {
            host: HostId(9),
            t1: seconds(2.0),
            t2: seconds(1.5),
        })),
        Message::Decided(Box::new(Decided {
            superstep,
            set: SetId(1),
            considered: vec![Considered {
                entry: entry(),
                host: HostId(7),
                request: request(),
                answer: offer,
            }],
        })),
        planned(),
    ]
}

fn planned() -> Message {
    Message::Planned(Box::new(Planned {
        superstep: 4,
        moves: vec![migbsp::PlannedMove {
            step: Move {
                rank: Rank(200),
                from: HostId(7),
                to: HostId(9),
            },
            cost: seconds(0.75),
            before: seconds(0.5),
            after: seconds(0.25),
        }],
        spacing: migbsp::Spacing {
            cost: seconds(1.5),
            pause: 8,
            again: 40,
            took: seconds(0.75),
        },
    }))
}

fn moves() -> [Message; 3] {
    [
        Message::Migrate(Migrate {
            rank: Rank(200),
            from: HostId(7),
            to: HostId(9),
            epoch: 1,
            owes: seconds(0.75),
        }),
        Message::State(Box::new(State {
            rank: Rank(200),
            epoch: 1,
            agent: 5,
            declared: Some(Bytes(50_000_000)),
            payload: bytes::Bytes::from_static(b"agentprogram"),
        })),
        Message::Installed(Installed {
            rank: Rank(200),
            host: HostId(9),
            epoch: 1,
        }),
    ]
}

fn traffic() -> [Message; 4] {
    let letter = |bytes, is_sized| Letter {
        from: Rank(200),
        to: Rank(3),
        bytes,
        is_sized,
    };
    [
        Message::Parcel(Box::new(Parcel {
            superstep: 1000,
            sent: seconds(0.25),
            is_last: true,
            is_followed: true,
            halted: vec![Rank(200)],
            letters: vec![letter(5, false), letter(3, true)],
            payload: bytes::Bytes::from_static(b"hello\0\0\0"),
        })),
        Message::Taken(1000),
        Message::Placed(Box::new(Placed {
            epoch: 1,
            moves: vec![(Rank(200), HostId(9))],
        })),
        Message::Probe(Probe {
            number: 1,
            is_back: false,
            payload: bytes::Bytes::from_static(b"\0\0"),
        }),
    ]
}

fn of_errand(errand: Errand) -> Message {
    Message::Errand(Box::new(errand))
}

fn asked() -> [Errand; 4] {
    [
        Errand::Submit(Box::new(Submit {
            job: 7,
            release: "0.1.0".to_owned(),
            host: HostId(1),
            members: vec![Member {
                name: "n1".to_owned(),
                address: "10.0.0.1:7447".to_owned(),
                set: "left".to_owned(),
                slots: 4,
                speed: 1.5,
            }],
            experiment: "[application]".to_owned(),
            processes: 16,
        })),
        Errand::Meet { counts: true },
        Errand::Begin,
        Errand::Inquire,
    ]
}

fn answered() -> [Errand; 6] {
    let job = JobStatus {
        job: 7,
        client: "alice".to_owned(),
        since: seconds(2.0),
        superstep: 1000,
        processes: 4,
    };
    [
        Errand::Accepted { counts: false },
        Errand::Ready,
        Errand::Recorded("{}\n".to_owned()),
        Errand::Ended(Ended {
            seconds: seconds(60.0),
            supersteps: 1000,
            messages: 2000,
            bytes: 1 << 33,
            moved: 1 << 20,
        }),
        Errand::Failed(Failed {
            fault: Fault::Cluster,
            message: "n2 is lost".to_owned(),
        }),
        Errand::Status(Box::new(Status {
            release: "0.1.0".to_owned(),
            up: seconds(3600.0),
            speed: 1e9,
            processors: 2,
            load: (0.25, 0.5),
            job: Some(job),
            jobs: 3,
            refused: 0,
        })),
    ]
}

fn load() -> Load {
    Load {
        rank: Rank(200),
        host: HostId(7),
        instructions: 1e9,
        finished: Some(2e6),
        image: Image {
            data: Bytes(1 << 20),
            fixed: Bytes(500_000),
        },
        received: vec![Received {
            set: SetId(2),
            bytes: 1e5,
            time: 0.25,
        }],
    }
}

fn inventory() -> Inventory {
    Inventory {
        processors: vec![Processor {
            host: HostId(7),
            speed: InstructionsPerSecond::new(1e9).unwrap(),
            cores: 2,
            load: 0.25,
            residents: Vec::new(),
        }],
        loads: vec![load()],
        rates: vec![8e-8, 1e-9],
        barrier_delay: 6e-5,
    }
}

fn entry() -> Entry {
    Entry {
        rank: Rank(200),
        own: SetId(1),
        target: SetId(2),
        potential: seconds(2.25),
        receive_time: seconds(0.5),
    }
}

fn request() -> Request {
    Request {
        rank: Rank(200),
        instructions: Instructions(565 << 17),
        bytes: Bytes(100_000),
        migration: seconds(0.75),
        t2: seconds(1.5),
    }
}

fn digest() -> Digest {
    Digest {
        counted: 10,
        computed: 9,
        slowest: seconds(0.75),
        fastest: seconds(0.0),
        computation: seconds(4.5),
        reception: seconds(1.25),
        wait: Some(seconds(0.0625)),
    }
}

fn seconds(value: f64) -> Seconds {
    Seconds::new(value).unwrap()
}
