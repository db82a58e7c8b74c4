//! Any message.

use bsp::units::{Bytes, Instructions, InstructionsPerSecond, Seconds};
use bsp::{HostId, MemorySize, Rank, SetId};
use migbsp::{
    Answer, BarrierTime, CostCoefficients, Digest, Edge, Entry, Evaluation, ExternalLoad, HostLink,
    Inventory, LinkProbe, Load, MeasuredMove, Measurements, Move, Path, Potential, ProbedLink,
    ProcessTimes, Processor, Received, Refusal, Request, SetView,
};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use protocol::{
    Address, AgentMessage, Answered, Arrived, Ask, Batch, CallMessage, Capacity, CheckpointMessage,
    Considered, Decided, EncodedState, Evaluate, Failed, Fault, Installed, JobMessage, LinkProbed,
    Measure, Measured, Message, MessageHeader, Migrate, NodeMessage, Pieces, PiecesFile, Placed,
    Planned, Probe, ProbeLink, Report, Reports, Saved, SetReport, Start, StartCall,
};

pub(crate) fn address() -> impl Strategy<Value = Address> {
    prop_oneof![
        rank().prop_map(Address::Process),
        host().prop_map(Address::Node),
        set().prop_map(Address::SetManager),
        Just(Address::Client),
    ]
}

/// The strategies of numbers and of the kinds of messages are boxed: a tree of values of this size, kept by value, is
/// more than the stack of a test.
pub(crate) fn message() -> impl Strategy<Value = Message> {
    prop_oneof![
        small().boxed(),
        conferring().boxed(),
        negotiating().boxed(),
        moving().boxed(),
        carrying().boxed(),
    ]
}

fn report() -> impl Strategy<Value = Report> {
    let amounts = (amount(), amount(), amount());
    let what = (entry(), amounts, vec(times(), 0..20), option::of(load()));
    (count(), rank(), host(), evaluation(), what).prop_map(
        |(superstep, rank, host, evaluation, what)| {
            let (entry, (instructions, resident, bytes), times, load) = what;
            Report {
                superstep,
                rank,
                host,
                evaluation,
                entry,
                instructions: Instructions(instructions),
                instructions_resident: Instructions(resident),
                bytes: Bytes(bytes),
                times,
                load: load.map(Box::new),
                remaining: None,
            }
        },
    )
}

fn small() -> impl Strategy<Value = Message> {
    let arrived = (
        (count(), any::<u32>(), any::<u32>()),
        (count(), count()),
        (seconds(), rank()),
        (count(), seconds(), any::<bool>()),
    );
    let arrived = arrived.prop_map(
        |(
            (superstep, processes, halted),
            (sent, received),
            slowest,
            (computation, took, checkpoint),
        )| {
            Message::Agent(AgentMessage::Arrived(Arrived {
                superstep,
                processes,
                halted,
                sent,
                received,
                slowest,
                computation,
                took,
                checkpoint,
            }))
        },
    );
    let start = (count(), option::of(any::<u32>()), any::<bool>());
    prop_oneof![
        start.prop_map(|(superstep, interval, checkpoint)| {
            Message::Agent(AgentMessage::Start(Start {
                superstep,
                interval,
                checkpoint,
            }))
        }),
        Just(Message::Agent(AgentMessage::Finish)),
        arrived,
        count()
            .prop_map(|superstep| Message::Agent(AgentMessage::StartCall(StartCall { superstep }))),
        count().prop_map(|superstep| Message::Agent(AgentMessage::Measure(Measure { superstep }))),
        rank().prop_map(|rank| Message::Agent(AgentMessage::Halted(rank))),
    ]
}

fn conferring() -> impl Strategy<Value = Message> {
    let loads = (0.0..=1.0, 0.0..=1.0);
    let processors = (speed(), any::<u32>());
    let measured = (count(), host(), processors, loads, measurements()).prop_map(
        |(superstep, host, (speed, cores), (load, load_recent), more)| {
            Message::Call(CallMessage::Measured(Measured {
                superstep,
                host,
                speed,
                cores,
                load,
                load_recent,
                more,
            }))
        },
    );
    let processors = (any::<u32>(), any::<u32>());
    let capacity = (count(), set(), float(), processors, learned()).prop_map(
        |(superstep, set, capacity, (processes, processors), learned)| {
            Message::Call(CallMessage::Capacity(Box::new(Capacity {
                superstep,
                set,
                capacity,
                processes,
                processors,
                learned,
            })))
        },
    );
    let evaluate =
        (count(), vec(view(), 0..20), learned()).prop_map(|(superstep, sets, learned)| {
            Message::Agent(AgentMessage::Evaluate(Box::new(Evaluate {
                superstep,
                sets,
                learned,
            })))
        });
    let reports = (count(), host(), vec(report(), 0..5)).prop_map(|(superstep, host, reports)| {
        Message::Call(CallMessage::Reports(Box::new(Reports {
            superstep,
            host,
            reports,
        })))
    });
    let reported =
        report().prop_map(|report| Message::Agent(AgentMessage::Reported(Box::new(report))));
    prop_oneof![
        measured.boxed(),
        capacity.boxed(),
        evaluate.boxed(),
        reported.boxed(),
        reports.boxed(),
    ]
}

fn negotiating() -> impl Strategy<Value = Message> {
    let found = (
        vec(entry(), 0..20),
        vec(digest(), 0..20),
        vec(seconds(), 0..20),
    );
    let pace = (option::of(any::<u32>()), option::of(float()));
    let standing = (count(), set(), pace, found, option::of(inventory())).prop_map(
        |(superstep, set, (interval, tolerance), (entries, digests, barrier_busy), inventory)| {
            Message::Call(CallMessage::SetReport(Box::new(SetReport {
                superstep,
                set,
                interval,
                tolerance,
                entries,
                digests,
                barrier_busy,
                inventory,
                remaining: None,
            })))
        },
    );
    let ask = (count(), set(), request()).prop_map(|(superstep, from, request)| {
        Message::Call(CallMessage::Ask(Box::new(Ask {
            superstep,
            from,
            request,
        })))
    });
    let answered = (count(), rank(), answer()).prop_map(|(superstep, rank, answer)| {
        Message::Call(CallMessage::Answered(Box::new(Answered {
            superstep,
            rank,
            answer,
        })))
    });
    let decided = (
        count(),
        set(),
        vec(considered(), 0..20),
        vec(probed_link(), 0..3),
    )
        .prop_map(|(superstep, set, considered, probed)| {
            Message::Call(CallMessage::Decided(Box::new(Decided {
                superstep,
                set,
                considered,
                probed,
            })))
        });
    prop_oneof![
        standing.boxed(),
        ask.boxed(),
        answered.boxed(),
        decided.boxed(),
        planned().boxed(),
    ]
}

fn planned() -> impl Strategy<Value = Message> {
    let moves = vec(movement(), 0..20);
    let times = (seconds(), seconds(), option::of(seconds()));
    (count(), moves, times, [count(), count()]).prop_map(
        |(superstep, moves, (cost, took, limit), [pause, again])| {
            Message::Call(CallMessage::Planned(Box::new(Planned {
                superstep,
                moves,
                spacing: migbsp::Spacing {
                    cost,
                    pause,
                    again,
                    took,
                    limit,
                },
            })))
        },
    )
}

fn moving() -> impl Strategy<Value = Message> {
    let hosts = (host(), host());
    let migrate =
        (rank(), hosts, count(), seconds()).prop_map(|(rank, (from, to), epoch, deferred_cost)| {
            Message::Agent(AgentMessage::Migrate(Migrate {
                rank,
                from,
                to,
                epoch,
                deferred_cost,
            }))
        });
    let payload = vec(any::<u8>(), 0..300);
    let state = (rank(), count(), option::of(amount()), payload, any::<u32>()).prop_map(
        |(rank, epoch, declared, payload, agent)| {
            let length = u32::try_from(payload.len()).unwrap();
            Message::Agent(AgentMessage::State(Box::new(EncodedState {
                rank,
                epoch,
                agent: agent % (length + 1),
                declared: declared.map(Bytes),
                payload: payload.into(),
            })))
        },
    );
    let installed =
        (rank(), host(), count(), measured_move()).prop_map(|(rank, host, epoch, measured)| {
            Message::Agent(AgentMessage::Installed(Installed {
                rank,
                host,
                epoch,
                measured,
            }))
        });
    let probe = (count(), host(), host(), seconds()).prop_map(|(superstep, from, to, budget)| {
        let probe = LinkProbe { from, to, budget };
        Message::Agent(AgentMessage::ProbeLink(ProbeLink { superstep, probe }))
    });
    let probed = (count(), probed_link()).prop_map(|(superstep, link)| {
        Message::Call(CallMessage::LinkProbed(LinkProbed { superstep, link }))
    });
    prop_oneof![
        migrate.boxed(),
        state.boxed(),
        installed.boxed(),
        probe.boxed(),
        probed.boxed(),
    ]
}

fn carrying() -> impl Strategy<Value = Message> {
    let payload = || vec(any::<u8>(), 0..300);
    let halted = vec(rank(), 0..5);
    let flags = (any::<bool>(), any::<bool>());
    let batch = (count(), seconds(), flags, halted, payload());
    let batch = (batch, rank(), rank(), any::<bool>()).prop_map(
        |((superstep, sent, (is_last, is_followed), halted, payload), from, to, is_sized)| {
            let header = |bytes: usize| MessageHeader {
                from,
                to,
                bytes: u64::try_from(bytes).unwrap(),
                is_sized,
            };
            let first = payload.len() / 3;
            Message::Node(NodeMessage::Batch(Box::new(Batch {
                superstep,
                sent,
                is_last,
                is_followed,
                halted,
                messages: vec![header(first), header(payload.len() - first)],
                payload: payload.into(),
            })))
        },
    );
    let placed = (count(), vec((rank(), host()), 0..20)).prop_map(|(epoch, moves)| {
        Message::Node(NodeMessage::Placed(Box::new(Placed { epoch, moves })))
    });
    let probe = (any::<u32>(), any::<bool>(), payload()).prop_map(|(number, is_back, payload)| {
        Message::Node(NodeMessage::Probe(Probe {
            number,
            is_back,
            payload: payload.into(),
        }))
    });
    let job = prop_oneof![
        any::<bool>().prop_map(|counts| JobMessage::Meet { counts }),
        Just(JobMessage::Stop),
        ".{0,40}".prop_map(JobMessage::Recorded),
        ".{0,40}".prop_map(|message| JobMessage::Failed(Failed {
            fault: Fault::Program,
            message
        })),
    ];
    let job = job.prop_map(|job| Message::Job(Box::new(job)));
    prop_oneof![
        batch.boxed(),
        placed.boxed(),
        probe.boxed(),
        checkpoint().boxed(),
        job.boxed(),
    ]
}

fn checkpoint() -> impl Strategy<Value = Message> {
    let pieces = (any::<u32>(), vec(any::<u8>(), 0..100)).prop_map(|(count, payload)| {
        CheckpointMessage::Pieces(Pieces {
            count,
            payload: payload.into(),
        })
    });
    let file = (count(), any::<[u8; 32]>());
    let file = file.prop_map(|(length, sha256)| PiecesFile { length, sha256 });
    let file = prop_oneof![file.prop_map(Ok), ".{0,40}".prop_map(Err)];
    let parts = (vec(rank(), 0..20), seconds(), seconds(), count(), count());
    let saved =
        (parts, option::of(file)).prop_map(|((ranks, stall, encoding, bytes, sent), file)| {
            CheckpointMessage::Saved(Box::new(Saved {
                ranks,
                stall,
                encoding,
                bytes,
                sent,
                file,
            }))
        });
    let message = prop_oneof![
        Just(CheckpointMessage::Save),
        pieces,
        Just(CheckpointMessage::Copied),
        saved,
        seconds().prop_map(CheckpointMessage::Complete),
    ];
    (count(), message)
        .prop_map(|(superstep, message)| Message::Node(NodeMessage::Checkpoint(superstep, message)))
}

fn movement() -> impl Strategy<Value = migbsp::PlannedMove> {
    let step = (rank(), host(), host()).prop_map(|(rank, from, to)| Move { rank, from, to });
    let times = (seconds(), seconds(), seconds());
    (step, times, option::of(float())).prop_map(|(step, (cost, before, after), per_byte)| {
        migbsp::PlannedMove {
            step,
            cost,
            before,
            after,
            per_byte,
        }
    })
}

fn inventory() -> impl Strategy<Value = Inventory> {
    let lists = (vec(processor(), 0..20), vec(load(), 0..20));
    let paths = (seconds(), float()).prop_map(|(latency, per_byte)| Path { latency, per_byte });
    let far = (vec(float(), 0..20), vec(paths, 0..20), barrier());
    (lists, far, measurements()).prop_map(
        |((processors, loads), (rates, paths, barrier), measured)| Inventory {
            processors,
            loads,
            rates,
            paths,
            barrier,
            measured,
        },
    )
}

fn barrier() -> impl Strategy<Value = BarrierTime> {
    prop_oneof![
        Just(BarrierTime::Ideal),
        Just(BarrierTime::Hierarchical),
        float().prop_map(|process| BarrierTime::ByRank { process }),
        (float(), float()).prop_map(|(release, arrival)| BarrierTime::Central { release, arrival }),
    ]
}

fn processor() -> impl Strategy<Value = Processor> {
    let residents = vec((rank(), amount().prop_map(Instructions)), 0..3);
    (host(), speed(), any::<u32>(), float(), residents).prop_map(
        |(host, speed, cores, load, residents)| Processor {
            host,
            speed,
            cores,
            load,
            residents,
        },
    )
}

fn load() -> impl Strategy<Value = Load> {
    let received =
        (set(), float(), float()).prop_map(|(set, bytes, time)| Received { set, bytes, time });
    let received = vec(received, 0..5);
    let edge = (rank(), 0.0..1e6_f32, 0.0..1e12_f32, 0.0..1e6_f32);
    let edge = edge.prop_map(|(from, messages, bytes, time)| Edge {
        from,
        messages,
        bytes,
        time,
    });
    let received = (received, vec(edge, 0..5));
    (
        rank(),
        host(),
        (float(), option::of(float()), float()),
        (amount(), amount()),
        received,
    )
        .prop_map(
            |(rank, host, (instructions, finished, noise), (data, fixed), (received, edges))| {
                Load {
                    rank,
                    host,
                    instructions,
                    finished,
                    image: MemorySize {
                        data: Bytes(data),
                        fixed: Bytes(fixed),
                    },
                    received,
                    edges,
                    noise,
                }
            },
        )
}

fn probed_link() -> impl Strategy<Value = ProbedLink> {
    (link(), seconds()).prop_map(|(HostLink { from, to, per_byte }, took)| ProbedLink {
        from,
        to,
        per_byte,
        took,
    })
}

fn link() -> impl Strategy<Value = HostLink> {
    (host(), host(), float()).prop_map(|(from, to, per_byte)| HostLink { from, to, per_byte })
}

fn measurements() -> impl Strategy<Value = Measurements> {
    (vec(link(), 0..4), vec(external(), 0..4))
        .prop_map(|(links, external)| Measurements { links, external })
}

fn external() -> impl Strategy<Value = ExternalLoad> {
    let loads = (0.0..=1.0, 0.0..=1.0, float(), 0.0..=1.0);
    (host(), loads, vec(seconds(), 0..4)).prop_map(
        |(host, (utilisation, since, arrivals, present), ages)| ExternalLoad {
            host,
            utilisation,
            since,
            arrivals,
            present,
            ages,
        },
    )
}

fn learned() -> impl Strategy<Value = Option<CostCoefficients>> {
    let coefficients = (seconds(), float(), float());
    option::of(
        coefficients.prop_map(|(startup, overlap, processing)| CostCoefficients {
            startup,
            overlap,
            processing,
            steady: None,
        }),
    )
}

fn measured_move() -> impl Strategy<Value = Option<MeasuredMove>> {
    let times = (seconds(), seconds(), seconds());
    option::of(
        (amount(), times).prop_map(|(bytes, (took, processing, round_trip))| MeasuredMove {
            bytes: Bytes(bytes),
            took,
            processing,
            round_trip,
        }),
    )
}

fn considered() -> impl Strategy<Value = Considered> {
    (entry(), host(), request(), answer()).prop_map(|(entry, host, request, answer)| Considered {
        entry,
        host,
        request,
        answer,
    })
}

fn request() -> impl Strategy<Value = Request> {
    let times = (seconds(), seconds(), option::of(float()));
    (rank(), amount(), amount(), times).prop_map(
        |(rank, instructions, bytes, (migration, t2, per_byte))| Request {
            rank,
            instructions: Instructions(instructions),
            bytes: Bytes(bytes),
            migration,
            t2,
            per_byte,
        },
    )
}

fn answer() -> impl Strategy<Value = Answer> {
    let runner_up = option::of((host(), seconds()));
    prop_oneof![
        (host(), seconds(), runner_up).prop_map(|(host, t1, runner_up)| Answer::Offer {
            host,
            t1,
            runner_up
        }),
        (host(), seconds(), seconds())
            .prop_map(|(host, t1, t2)| Answer::Refuse(Refusal::NoFasterPlace { host, t1, t2 })),
        Just(Answer::Refuse(Refusal::Idle)),
        Just(Answer::Refuse(Refusal::NoProcessor)),
    ]
}

fn entry() -> impl Strategy<Value = Entry> {
    (rank(), set(), set(), seconds(), seconds()).prop_map(
        |(rank, own, target, potential, receive_time)| Entry {
            rank,
            own,
            target,
            potential,
            receive_time,
        },
    )
}

fn evaluation() -> impl Strategy<Value = Evaluation> {
    (set(), vec(potential(), 0..20), option::of(seconds())).prop_map(|(own, potentials, within)| {
        Evaluation {
            own,
            potentials,
            within,
        }
    })
}

fn potential() -> impl Strategy<Value = Potential> {
    let computation = (float(), seconds(), float(), seconds());
    let communication = (float(), seconds(), seconds());
    (set(), computation, communication, seconds()).prop_map(
        |(set, computation, communication, migration)| Potential {
            set,
            pattern_computation: computation.0,
            prediction_computation: computation.1,
            set_index: computation.2,
            computation: computation.3,
            pattern_communication: communication.0,
            prediction_communication: communication.1,
            communication: communication.2,
            migration,
        },
    )
}

fn view() -> impl Strategy<Value = SetView> {
    (float(), any::<u32>(), any::<u32>(), float()).prop_map(
        |(capacity, processes, processors, transfer_rate)| SetView {
            capacity,
            processes,
            processors,
            transfer_rate,
        },
    )
}

fn times() -> impl Strategy<Value = ProcessTimes> {
    (option::of(seconds()), seconds(), option::of(seconds()))
        .prop_map(|(computation, reception, wait)| ProcessTimes::new(computation, reception, wait))
}

fn digest() -> impl Strategy<Value = Digest> {
    let times = (seconds(), seconds(), seconds(), seconds());
    let counts = (any::<u32>(), any::<u32>());
    (counts, times, option::of(seconds())).prop_map(
        |((counted, computed), (slowest, fastest, computation, reception), wait)| Digest {
            counted,
            computed,
            slowest,
            fastest,
            computation,
            reception,
            wait,
        },
    )
}

fn rank() -> impl Strategy<Value = Rank> {
    id().prop_map(Rank)
}

fn host() -> impl Strategy<Value = HostId> {
    id().prop_map(HostId)
}

fn set() -> impl Strategy<Value = SetId> {
    id().prop_map(SetId)
}

fn id() -> impl Strategy<Value = u32> {
    (any::<u32>(), 0..32_u32).prop_map(|(id, shift)| id >> shift)
}

/// Of every magnitude, so that every length of its encoding occurs.
fn count() -> impl Strategy<Value = u64> {
    (any::<u64>(), 0..64_u32).prop_map(|(count, shift)| count >> shift)
}

fn amount() -> impl Strategy<Value = u64> {
    count()
}

fn speed() -> impl Strategy<Value = InstructionsPerSecond> {
    magnitude().prop_map(|speed| InstructionsPerSecond::new(speed).unwrap())
}

fn seconds() -> impl Strategy<Value = Seconds> {
    float().prop_map(|seconds| Seconds::new(seconds).unwrap())
}

/// Any number that a message may have.
fn float() -> BoxedStrategy<f64> {
    prop_oneof![
        Just(0.0),
        magnitude(),
        magnitude().prop_map(|number| -number),
    ]
    .boxed()
}

/// Any number above zero that a message may have.
fn magnitude() -> impl Strategy<Value = f64> {
    (1.0..9.9, -119..60_i32)
        .prop_map(|(digits, exponent): (f64, i32)| digits * 10_f64.powi(exponent))
}
