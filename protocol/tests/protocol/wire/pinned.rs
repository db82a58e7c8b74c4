//! The bytes of every message. If any of them changes, `WIRE_VERSION` changes too.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::sync::Arc;
use std::time::Duration;

use bsp::units::{Bytes, BytesPerSecond, Instructions, InstructionsPerSecond, Seconds};
use bsp::{And, HostId, Max, MemorySize, Notes, Rank, Reductions, SetId, Sum, reference};
use model::{
    Answer, CostCoefficients, Digest, Edge, Entry, Evaluation, HostLink, Inventory, LinkProbe,
    Load, MeasuredMove, Measurements, Move, Potential, ProbedLink, ProcessTimes, Processor,
    Received, Refusal, Request, SetView,
};
use protocol::{
    AcceptedView, Address, AgentMessage, Answered, Arrived, Ask, Awaited, Batch, Build,
    BusyProcess, CallsStatus, Capacity, CheckpointMessage, Considered, Decided, Declined,
    EncodedState, Ended, Evaluate, Failed, Fault, Followed, FollowedEnd, FollowedView, Home,
    InputFolder, Installed, JobFolder, JobMessage, JobStatus, Lead, Leader, Limits, LinkProbed,
    LostNode, Measure, Measured, Member, Message, MessageHeader, Migrate, NodeFiles, NodeMessage,
    Pieces, PiecesFile, Placed, Planned, Probe, ProbeLink, Progressed, Reached, Report, Reports,
    ResumedJob, Saved, SavedPieces, SavedProcess, SavedView, SetReport, Start, StartCall, Submit,
    Suspended, View, WIRE_VERSION, Way, WrittenOutput, decode, encode, variant,
};

use crate::wire::{external, frame_len, joined, report_for_plans, status};

const PINNED: &str = include_str!("pinned.txt");

#[test]
fn the_bytes_of_every_message_are_those_of_this_version() {
    let mut lines = format!("version {WIRE_VERSION}\n");
    let mut variants = BTreeSet::new();
    for (from, to, message) in messages() {
        let frame = joined(&encode(from, to, &message));
        write!(lines, "{} ", name(&message)).unwrap();
        for byte in &frame {
            write!(lines, "{byte:02x}").unwrap();
        }
        lines.push('\n');
        variants.insert(name(&message));
        assert_eq!(decode(frame, &Limits::default()), Ok((from, to, message)));
    }
    let of_agents = AgentMessage::NAMES.iter().map(|name| (*name).to_owned());
    let missing: Vec<String> = of_agents.filter(|name| !variants.contains(name)).collect();
    assert!(missing.is_empty(), "no example of {missing:?}");
    let others = variants.len() - AgentMessage::NAMES.len();
    assert_eq!(
        others, OTHERS,
        "a message of nodes or of clients has no example"
    );
    assert!(
        PINNED == lines,
        "frames changed: raise WIRE_VERSION if it is the last release's, and pinned.txt becomes\n{lines}"
    );
}

/// Simulated times depend on these lengths, which are pinned with the bytes. A start and an arrival are charged as the barrier
/// says.
#[test]
fn the_simulated_network_charges_the_lengths_of_frames() {
    for (from, to, message) in messages() {
        let Message::Agent(agent) = &message else {
            continue;
        };
        let charged = agent.wire_size(from, to);
        // A process that declares its size is charged by it.
        let is_image = matches!(agent, AgentMessage::State(_));
        assert!(
            is_image || charged == Bytes(frame_len(&message, from, to)),
            "{message:?}"
        );
    }
}

fn name(message: &Message) -> String {
    match message {
        Message::Agent(message) => variant(message),
        Message::Node(message) => variant(message),
        Message::Job(message) => variant(message),
    }
}

/// The number of messages of nodes and of clients.
const OTHERS: usize = 40;

fn messages() -> Vec<(Address, Address, Message)> {
    let process = Address::Process(Rank(200));
    let node = Address::Node(HostId(7));
    let manager = Address::SetManager(SetId(1));
    let mut messages = vec![
        (node, process, Message::Agent(AgentMessage::Finish)),
        (
            process,
            node,
            Message::Agent(AgentMessage::Halted(Rank(200))),
        ),
    ];
    messages.extend(superstep().map(|message| (process, node, message)));
    messages.extend(measures().map(|message| (node, manager, message)));
    messages.extend(findings().map(|message| (node, manager, message)));
    messages.extend(negotiation().map(|message| (manager, manager, message)));
    messages.extend(moves().map(|message| (node, node, message)));
    messages.extend(link_probe().map(|message| (manager, node, message)));
    messages.extend(traffic().map(|message| (node, node, message)));
    messages.extend(asked().map(|job| (Address::Client, node, of_job(job))));
    messages.extend(answered().map(|job| (node, Address::Client, of_job(job))));
    messages
}

fn superstep() -> [Message; 6] {
    let superstep = 1000;
    let arrived = Arrived {
        superstep,
        processes: 5,
        halted: 1,
        sent: 70_000,
        received: 1 << 33,
        slowest: (seconds(0.25), Rank(3)),
        computation: 1_000_000_000,
        took: Seconds::ZERO,
        checkpoint: false,
        reductions: Reductions::default(),
    };
    let mut reductions = Reductions::of("peak", Max(3_u64));
    reductions.combine(Reductions::of("residual", Sum(0.5)));
    reductions.combine(Reductions::of("residual", Sum(1e-20)));
    reductions.combine(Reductions::noted("residual", f64::NEG_INFINITY));
    [
        Message::Agent(AgentMessage::Start(Start {
            superstep,
            interval: None,
            checkpoint: false,
            reduced: None,
        })),
        Message::Agent(AgentMessage::Start(Start {
            superstep,
            interval: Some(8),
            checkpoint: true,
            reduced: None,
        })),
        Message::Agent(AgentMessage::Arrived(arrived.clone())),
        Message::Agent(AgentMessage::StartCall(StartCall { superstep })),
        Message::Agent(AgentMessage::Start(Start {
            superstep,
            interval: None,
            checkpoint: false,
            reduced: Some(Arc::new(Reductions::of("all done", And(true)))),
        })),
        Message::Agent(AgentMessage::Arrived(Arrived {
            reductions,
            ..arrived
        })),
    ]
}

fn measures() -> [Message; 7] {
    let superstep = 4;
    let view = SetView {
        capacity: 1.5e9,
        processes: 10,
        processors: 8,
        transfer_rate: 8e-8,
    };
    let learned = CostCoefficients {
        startup: seconds(0.5),
        overlap: 1.5,
        processing: 0.5,
        steady: None,
    };
    let capacity = |learned| {
        Message::Agent(AgentMessage::Capacity(Box::new(Capacity {
            superstep,
            set: SetId(1),
            capacity: 7.5e8,
            processes: 10,
            processors: 8,
            learned,
        })))
    };
    let evaluate = |learned| {
        Message::Agent(AgentMessage::Evaluate(Arc::new(Evaluate {
            superstep,
            sets: vec![view, view],
            learned,
        })))
    };
    [
        Message::Agent(AgentMessage::Measure(Measure { superstep })),
        Message::Agent(AgentMessage::Measured(Measured {
            superstep,
            host: HostId(7),
            speed: InstructionsPerSecond::new(1e9).unwrap(),
            cores: 2,
            load: 0.25,
            load_recent: 0.5,
            more: Measurements::default(),
        })),
        Message::Agent(AgentMessage::Measured(Measured {
            superstep,
            host: HostId(7),
            speed: InstructionsPerSecond::new(1e9).unwrap(),
            cores: 2,
            load: 0.25,
            load_recent: 0.5,
            more: measurements(),
        })),
        capacity(None),
        capacity(Some(learned)),
        evaluate(None),
        evaluate(Some(learned)),
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
            within: None,
        },
        entry: entry(),
        instructions: Instructions(0),
        instructions_resident: Instructions(1 << 40),
        bytes: Bytes(100_000),
        times: vec![ProcessTimes::new(Some(seconds(0.5)), seconds(0.25), None)].into(),
        load: Some(Box::new(load())),
        remaining: None,
    };
    let mut more = report.clone();
    more.evaluation.within = Some(seconds(0.5));
    more.times = vec![ProcessTimes::new(None, seconds(0.0), Some(seconds(0.5)))].into();
    more.remaining = Some(90);
    more.load = None;
    [
        Message::Agent(AgentMessage::Reported(Box::new(report.clone()))),
        Message::Agent(AgentMessage::Reports(Box::new(Reports {
            superstep,
            host: HostId(7),
            reports: vec![report.clone()],
        }))),
        Message::Agent(AgentMessage::ReportsBefore(Box::new(Reports {
            superstep,
            host: HostId(7),
            reports: vec![more],
        }))),
    ]
}

fn negotiation() -> [Message; 14] {
    let superstep = 4;
    let answered = |answer| {
        Message::Agent(AgentMessage::Answered(Box::new(Answered {
            superstep,
            rank: Rank(200),
            answer,
        })))
    };
    let by_rank = Inventory {
        barrier: model::BarrierTime::ByRank { process: 6e-5 },
        ..inventory(measurements())
    };
    let reported = |remaining| {
        Message::Agent(AgentMessage::SetReport(Box::new(SetReport {
            superstep,
            set: SetId(1),
            interval: Some(4),
            tolerance: Some(0.5),
            entries: vec![entry()].into(),
            digests: vec![digest()],
            barrier_busy: vec![seconds(0.125)],
            inventory: None,
            remaining,
        })))
    };
    let ask = |request| {
        Message::Agent(AgentMessage::Ask(Box::new(Ask {
            superstep,
            from: SetId(1),
            request,
        })))
    };
    let priced = Request {
        per_byte: Some(1e-7),
        ..request()
    };
    let offer = Answer::Offer {
        host: HostId(9),
        t1: seconds(1.0),
        runner_up: Some((HostId(10), seconds(1.5))),
    };
    let decided = |probed| {
        Message::Agent(AgentMessage::Decided(Box::new(Decided {
            superstep,
            set: SetId(1),
            considered: vec![Considered {
                entry: entry(),
                host: HostId(7),
                request: request(),
                answer: offer,
            }],
            probed,
        })))
    };
    [
        reported(None),
        reported(Some(90)),
        report_for_plans(superstep, SetId(1), inventory(Measurements::default())),
        report_for_plans(superstep, SetId(1), by_rank),
        ask(request()),
        ask(priced),
        answered(offer),
        answered(Answer::Refuse(Refusal::Idle)),
        answered(Answer::Refuse(Refusal::NoProcessor)),
        answered(Answer::Refuse(Refusal::NoFasterPlace {
            host: HostId(9),
            t1: seconds(2.0),
            t2: seconds(1.5),
        })),
        decided(Vec::new()),
        decided(vec![probed_link()]),
        planned(None, Some(seconds(0.8))),
        planned(Some(1e-7), None),
    ]
}

fn planned(per_byte: Option<f64>, limit: Option<Seconds>) -> Message {
    Message::Agent(AgentMessage::Planned(Box::new(Planned {
        superstep: 4,
        moves: vec![model::PlannedMove {
            step: Move {
                rank: Rank(200),
                from: HostId(7),
                to: HostId(9),
            },
            cost: seconds(0.75),
            before: seconds(0.5),
            after: seconds(0.25),
            per_byte,
        }],
        spacing: model::Spacing {
            cost: seconds(1.5),
            pause: 8,
            again: 40,
            took: seconds(0.75),
            limit,
        },
    })))
}

fn link_probe() -> [Message; 2] {
    let (from, to) = (HostId(7), HostId(9));
    let probe = LinkProbe {
        from,
        to,
        budget: seconds(0.0625),
    };
    let (superstep, link) = (4, probed_link());
    [
        Message::Agent(AgentMessage::ProbeLink(ProbeLink { superstep, probe })),
        Message::Agent(AgentMessage::LinkProbed(LinkProbed { superstep, link })),
    ]
}

fn probed_link() -> ProbedLink {
    ProbedLink {
        from: HostId(7),
        to: HostId(9),
        per_byte: 1e-7,
        took: seconds(0.0625),
    }
}

fn moves() -> [Message; 4] {
    let installed = |measured| {
        Message::Agent(AgentMessage::Installed(Installed {
            rank: Rank(200),
            host: HostId(9),
            epoch: 1,
            measured,
        }))
    };
    let measured = MeasuredMove {
        bytes: Bytes(1000),
        took: seconds(0.5),
        processing: seconds(0.25),
        round_trip: seconds(0.125),
    };
    [
        Message::Agent(AgentMessage::Migrate(Migrate {
            rank: Rank(200),
            from: HostId(7),
            to: HostId(9),
            epoch: 1,
            deferred_cost: seconds(0.75),
        })),
        Message::Agent(AgentMessage::State(Box::new(EncodedState {
            rank: Rank(200),
            epoch: 1,
            agent: 5,
            declared: Some(Bytes(50_000_000)),
            payload: bytes::Bytes::from_static(b"agentprogram"),
        }))),
        installed(None),
        installed(Some(measured)),
    ]
}

fn traffic() -> [Message; 10] {
    let header = |bytes, is_sized| MessageHeader {
        rest: 0,
        also: if is_sized { Vec::new() } else { vec![Rank(4)] },
        from: Rank(200),
        to: Rank(3),
        bytes,
        is_sized,
    };
    let saved = |file| {
        checkpoint(CheckpointMessage::Saved(Box::new(Saved {
            ranks: vec![Rank(200)],
            stall: seconds(0.25),
            encoding: seconds(0.5),
            bytes: 1000,
            sent: 5,
            file,
            held: true,
        })))
    };
    [
        Message::Node(NodeMessage::Batch(Box::new(Batch {
            superstep: 1000,
            sent: seconds(0.25),
            is_last: true,
            is_followed: true,
            halted: vec![Rank(200)],
            messages: vec![header(5, false), header(3, true)],
            payload: bytes::Bytes::from_static(b"hello\0\0\0"),
        }))),
        Message::Node(NodeMessage::BatchAcknowledged(1000)),
        Message::Node(NodeMessage::Placed(Box::new(Placed {
            epoch: 1,
            moves: vec![(Rank(200), HostId(9))],
        }))),
        Message::Node(NodeMessage::Probe(Probe {
            number: 1,
            is_back: false,
            payload: bytes::Bytes::from_static(b"\0\0"),
        })),
        checkpoint(CheckpointMessage::Save),
        checkpoint(CheckpointMessage::Pieces(Pieces {
            count: 1,
            payload: bytes::Bytes::from_static(b"\0"),
        })),
        checkpoint(CheckpointMessage::Copied),
        saved(Some(Ok(PiecesFile {
            length: 1000,
            sha256: [7; 32],
        }))),
        saved(Some(Err("the disk is full".to_owned()))),
        checkpoint(CheckpointMessage::Complete(seconds(0.25))),
    ]
}

fn checkpoint(message: CheckpointMessage) -> Message {
    Message::Node(NodeMessage::Checkpoint(1000, message))
}

fn of_job(job: JobMessage) -> Message {
    Message::Job(Box::new(job))
}

fn member() -> Member {
    Member {
        name: "n1".to_owned(),
        address: "127.0.0.1:1".to_owned(),
        set: "left".to_owned(),
        slots: 4,
        speed: 1.5,
    }
}

fn submit() -> Submit {
    Submit {
        job: 7,
        session: 8,
        host: HostId(1),
        members: vec![member()],
        experiment: "[application]".to_owned(),
        folder: InputFolder {
            experiment: "/conf".to_owned(),
            current: Some("/home".to_owned()),
        },
        processes: 16,
        checkpoint: Some("/dev/null/runs".to_owned()),
        resumed: Some(ResumedJob {
            incarnation: 2,
            superstep: 300,
            placement: vec![HostId(0), HostId(1)],
            halted: vec![None, Some(299)],
        }),
        files: Some(NodeFiles {
            job: JobFolder(1000),
            outputs: true,
        }),
        view: Some(View {
            number: 3,
            saved: Some(SavedView {
                incarnation: 1,
                holders: vec![HostId(1), HostId(0)],
            }),
            leader: Some(HostId(1)),
            repeated: 2,
            begins_anew: true,
            pool: vec![member()],
            owner: Some("laptop".to_owned()),
            awaited: None,
        }),
        memory: Some(0.5),
        wait: seconds(60.0),
    }
}

/// A job that awaits a host.
fn awaiting() -> Submit {
    Submit {
        view: Some(View {
            awaited: Some(Awaited {
                placement: vec![HostId(0), HostId(1)],
                homes: vec![Home {
                    host: "n1".to_owned(),
                    processes: vec![Rank(200)],
                }],
                passed: seconds(2.0),
                asked: Some(vec!["n1".to_owned()]),
            }),
            ..View::first(true)
        }),
        ..submit()
    }
}

fn asked() -> [JobMessage; 16] {
    [
        JobMessage::Submit(Box::new(submit())),
        JobMessage::Meet { counts: true },
        JobMessage::Begin { saves: true },
        JobMessage::Inquire,
        JobMessage::Stop,
        JobMessage::Suspend,
        JobMessage::Hold,
        JobMessage::Drain,
        JobMessage::Offer(Box::new(member())),
        JobMessage::Leave,
        JobMessage::Lead(Lead { job: 7, session: 8 }),
        JobMessage::Attach(7),
        JobMessage::Reach(vec![member()]),
        JobMessage::End(7),
        JobMessage::Transfer(Box::new(member())),
        JobMessage::Fill("   ".to_owned()),
    ]
}

fn answered() -> [JobMessage; 26] {
    let job = JobStatus {
        job: 7,
        client: "alice".to_owned(),
        leader: Leader::Node("n1".to_owned()),
        view: 2,
        since: seconds(2.0),
        superstep: 1000,
        supersteps: Some(5000),
        processes: 4,
        calls: Some(CallsStatus {
            count: 7,
            moves: 12,
            last: 900,
            last_moves: 2,
        }),
        notes: Notes::default(),
    };
    let notes = reference::conclude(Reductions::noted("residual", 1e-200), 999)
        .unwrap()
        .notes;
    let noting = JobStatus {
        notes,
        ..job.clone()
    };
    [
        JobMessage::Accepted {
            counts: false,
            folder: Some("/scratch".to_owned()),
        },
        JobMessage::Built,
        JobMessage::Ready {
            states: 1 << 20,
            free: Some(1 << 33),
        },
        JobMessage::Recorded("{}\n".to_owned()),
        JobMessage::Ended(Ended {
            seconds: seconds(60.0),
            supersteps: 1000,
            messages: 2000,
            bytes: 1 << 33,
            moved: 1 << 20,
        }),
        JobMessage::Failed(Failed {
            fault: Fault::Cluster,
            message: "n2 is lost".to_owned(),
        }),
        status(Some(job), Vec::new()),
        status(Some(noting), Vec::new()),
        status(
            None,
            vec![
                BusyProcess::new("solver", 4711, Duration::from_millis(90_500)),
                BusyProcess::new("größe", 12, Duration::from_millis(500)),
            ],
        ),
        JobMessage::OutputWritten(WrittenOutput {
            rank: Rank(200),
            length: 1000,
            sha256: [7; 32],
        }),
        JobMessage::Suspended(Box::new(Suspended {
            lost: vec![LostNode {
                host: HostId(2),
                reason: "n3 is lost".to_owned(),
                silent: Some(seconds(2.5)),
            }],
            saved: vec![SavedPieces {
                incarnation: 1,
                superstep: 300,
                pieces: vec![SavedProcess {
                    rank: Rank(200),
                    is_copy: true,
                    halted: Some(299),
                    work: 1 << 33,
                }],
            }],
            completed: 361,
            leaves: Some("n2 leaves".to_owned()),
            views: vec![AcceptedView {
                session: 8,
                number: 2,
                members: vec!["n1".to_owned()],
                leader: Some("n1".to_owned()),
            }],
        })),
        JobMessage::Leaving("n2 has been told to leave".to_owned()),
        JobMessage::Offered(Box::new(member())),
        JobMessage::Reached(Reached {
            clock: seconds(1.75e9),
            ways: vec![
                Ok(Way {
                    round_trip: seconds(0.001),
                    datagram: 1452,
                }),
                Err("no answer".to_owned()),
            ],
        }),
        JobMessage::Declined(Declined::Follows("n2".to_owned())),
        JobMessage::Followed(Box::new(Followed::View(FollowedView {
            number: 2,
            members: Vec::new(),
            leader: HostId(0),
            resumed: None,
            lost: vec![("n3".to_owned(), "n3 is lost".to_owned())],
            silent: Some(seconds(2.5)),
            joined: vec!["n4".to_owned()],
            repeats: 61,
        }))),
        JobMessage::Followed(Box::new(Followed::Events("{}\n".to_owned()))),
        JobMessage::Followed(Box::new(Followed::Folders(
            [("n1".to_owned(), "/scratch".to_owned())].into(),
        ))),
        JobMessage::Followed(Box::new(Followed::Begun(seconds(0.25)))),
        JobMessage::Followed(Box::new(Followed::Complete(FollowedEnd {
            end: Ended {
                seconds: seconds(60.0),
                supersteps: 1000,
                messages: 2000,
                bytes: 1 << 33,
                moved: 1 << 20,
            },
            builds: vec![Build::new("migbsp", "0.1.0", [0xab; Build::DIGEST_LEN]).unwrap()],
            hosts: vec![HostId(1)],
            files: Vec::new(),
        }))),
        JobMessage::Ending,
        JobMessage::Progressed(Progressed {
            completed: 361,
            work: 1 << 33,
            done: Some((Rank(200), 0.25)),
            remaining: None,
        }),
        JobMessage::Attached(Box::new(submit())),
        JobMessage::Transferred(Ok(BytesPerSecond::new(12.5e6).unwrap())),
        JobMessage::Filled,
        JobMessage::Attached(Box::new(awaiting())),
    ]
}

fn load() -> Load {
    Load {
        rank: Rank(200),
        host: HostId(7),
        instructions: 1e9,
        finished: Some(2e6),
        image: MemorySize {
            data: Bytes(1 << 20),
            fixed: Bytes(500_000),
        },
        received: vec![Received {
            set: SetId(2),
            bytes: 1e5,
            time: 0.25,
        }],
        edges: vec![Edge {
            from: Rank(3),
            messages: 1.0,
            bytes: 1e5,
            time: 0.25,
        }],
        noise: 0.125,
    }
}

fn measurements() -> Measurements {
    Measurements {
        links: vec![HostLink {
            from: HostId(7),
            to: HostId(9),
            per_byte: 1e-7,
        }],
        external: vec![external()],
    }
}

fn inventory(measured: Measurements) -> Inventory {
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
        paths: vec![model::Path {
            latency: seconds(2e-3),
            per_byte: 1e-8,
            shared_per_byte: None,
        }],
        barrier: model::BarrierTime::Central {
            release: 6e-5,
            arrival: 7e-5,
        },
        measured,
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
        per_byte: None,
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
