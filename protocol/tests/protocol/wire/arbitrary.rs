//! Any message.

use bsp::units::{Bytes, Instructions, InstructionsPerSecond, Seconds};
use bsp::{HostId, Image, Rank, SetId};
use migbsp::{
    Answer, Digest, Entry, Evaluation, Inventory, Load, Move, Potential, ProcessTimes, Processor,
    Received, Refusal, Request, SetView,
};
use proptest::collection::vec;
use proptest::num::f64::{NEGATIVE, NORMAL, POSITIVE, SUBNORMAL, ZERO};
use proptest::option;
use proptest::prelude::*;
use protocol::{
    Address, Answered, Arrived, Ask, Capacity, Confer, Considered, Decided, Errand, Evaluate,
    Failed, Fault, Installed, Letter, Measure, Measured, Message, Migrate, Parcel, Placed, Planned,
    Probe, Report, Reports, Standing, Start, State,
};

pub(crate) fn address() -> impl Strategy<Value = Address> {
    prop_oneof![
        rank().prop_map(Address::Process),
        host().prop_map(Address::Node),
        set().prop_map(Address::SetManager),
        Just(Address::Client),
    ]
}

pub(crate) fn message() -> impl Strategy<Value = Message> {
    prop_oneof![small(), conferring(), negotiating(), moving(), carrying()]
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
                load,
            }
        },
    )
}

fn small() -> impl Strategy<Value = Message> {
    let arrived = (
        (count(), any::<u32>(), any::<u32>()),
        (count(), count()),
        (seconds(), rank()),
        count(),
    );
    let arrived = arrived.prop_map(
        |((superstep, processes, halted), (sent, received), slowest, computation)| {
            Message::Arrived(Arrived {
                superstep,
                processes,
                halted,
                sent,
                received,
                slowest,
                computation,
            })
        },
    );
    prop_oneof![
        (count(), option::of(any::<u32>())).prop_map(|(superstep, interval)| {
            Message::Start(Start {
                superstep,
                interval,
            })
        }),
        Just(Message::Finish),
        arrived,
        count().prop_map(|superstep| Message::Confer(Confer { superstep })),
        count().prop_map(|superstep| Message::Measure(Measure { superstep })),
        rank().prop_map(Message::Halted),
    ]
}

fn conferring() -> impl Strategy<Value = Message> {
    let loads = (0.0..=1.0, 0.0..=1.0);
    let measured = (count(), host(), speed(), any::<u32>(), loads).prop_map(
        |(superstep, host, speed, cores, (load, load_recent))| {
            Message::Measured(Measured {
                superstep,
                host,
                speed,
                cores,
                load,
                load_recent,
            })
        },
    );
    let capacity = (count(), set(), float(), any::<u32>(), any::<u32>()).prop_map(
        |(superstep, set, capacity, processes, processors)| {
            Message::Capacity(Box::new(Capacity {
                superstep,
                set,
                capacity,
                processes,
                processors,
            }))
        },
    );
    let evaluate = (count(), vec(view(), 0..20))
        .prop_map(|(superstep, sets)| Message::Evaluate(Box::new(Evaluate { superstep, sets })));
    let reports = (count(), host(), vec(report(), 0..5)).prop_map(|(superstep, host, reports)| {
        Message::Reports(Box::new(Reports {
            superstep,
            host,
            reports,
        }))
    });
    prop_oneof![
        measured,
        capacity,
        evaluate,
        report().prop_map(|report| Message::Reported(Box::new(report))),
        reports,
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
            Message::Standing(Box::new(Standing {
                superstep,
                set,
                interval,
                tolerance,
                entries,
                digests,
                barrier_busy,
                inventory,
            }))
        },
    );
    let ask = (count(), set(), request()).prop_map(|(superstep, from, request)| {
        Message::Ask(Box::new(Ask {
            superstep,
            from,
            request,
        }))
    });
    let answered = (count(), rank(), answer()).prop_map(|(superstep, rank, answer)| {
        Message::Answered(Box::new(Answered {
            superstep,
            rank,
            answer,
        }))
    });
    let decided =
        (count(), set(), vec(considered(), 0..20)).prop_map(|(superstep, set, considered)| {
            Message::Decided(Box::new(Decided {
                superstep,
                set,
                considered,
            }))
        });
    let moves = vec(movement(), 0..20);
    let planned = (count(), moves, [seconds(), seconds()], [count(), count()]).prop_map(
        |(superstep, moves, [cost, took], [pause, again])| {
            Message::Planned(Box::new(Planned {
                superstep,
                moves,
                spacing: migbsp::Spacing {
                    cost,
                    pause,
                    again,
                    took,
                },
            }))
        },
    );
    prop_oneof![standing, ask, answered, decided, planned]
}

fn moving() -> impl Strategy<Value = Message> {
    let migrate =
        (rank(), host(), host(), count(), seconds()).prop_map(|(rank, from, to, epoch, owes)| {
            Message::Migrate(Migrate {
                rank,
                from,
                to,
                epoch,
                owes,
            })
        });
    let payload = vec(any::<u8>(), 0..300);
    let state = (rank(), count(), option::of(amount()), payload, any::<u32>()).prop_map(
        |(rank, epoch, declared, payload, agent)| {
            let length = u32::try_from(payload.len()).unwrap();
            Message::State(Box::new(State {
                rank,
                epoch,
                agent: agent % (length + 1),
                declared: declared.map(Bytes),
                payload: payload.into(),
            }))
        },
    );
    let installed = (rank(), host(), count())
        .prop_map(|(rank, host, epoch)| Message::Installed(Installed { rank, host, epoch }));
    prop_oneof![migrate, state, installed]
}

fn carrying() -> impl Strategy<Value = Message> {
    let payload = || vec(any::<u8>(), 0..300);
    let halted = vec(rank(), 0..5);
    let flags = (any::<bool>(), any::<bool>());
    let parcel = (count(), seconds(), flags, halted, payload());
    let parcel = (parcel, rank(), rank(), any::<bool>()).prop_map(
        |((superstep, sent, (is_last, is_followed), halted, payload), from, to, is_sized)| {
            let letter = |bytes: usize| Letter {
                from,
                to,
                bytes: u64::try_from(bytes).unwrap(),
                is_sized,
            };
            let first = payload.len() / 3;
            Message::Parcel(Box::new(Parcel {
                superstep,
                sent,
                is_last,
                is_followed,
                halted,
                letters: vec![letter(first), letter(payload.len() - first)],
                payload: payload.into(),
            }))
        },
    );
    let placed = (count(), vec((rank(), host()), 0..20))
        .prop_map(|(epoch, moves)| Message::Placed(Box::new(Placed { epoch, moves })));
    let probe = (any::<u32>(), any::<bool>(), payload()).prop_map(|(number, is_back, payload)| {
        Message::Probe(Probe {
            number,
            is_back,
            payload: payload.into(),
        })
    });
    let errand = prop_oneof![
        any::<bool>().prop_map(|counts| Errand::Meet { counts }),
        ".{0,40}".prop_map(Errand::Recorded),
        ".{0,40}".prop_map(|message| Errand::Failed(Failed {
            fault: Fault::Program,
            message
        })),
    ];
    let errand = errand.prop_map(|errand| Message::Errand(Box::new(errand)));
    prop_oneof![parcel, placed, probe, errand]
}

fn movement() -> impl Strategy<Value = migbsp::PlannedMove> {
    let step = (rank(), host(), host()).prop_map(|(rank, from, to)| Move { rank, from, to });
    (step, seconds(), seconds(), seconds()).prop_map(|(step, cost, before, after)| {
        migbsp::PlannedMove {
            step,
            cost,
            before,
            after,
        }
    })
}

fn inventory() -> impl Strategy<Value = Inventory> {
    let lists = (vec(processor(), 0..20), vec(load(), 0..20));
    (lists, vec(float(), 0..20), float()).prop_map(|((processors, loads), rates, barrier_delay)| {
        Inventory {
            processors,
            loads,
            rates,
            barrier_delay,
        }
    })
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
    (
        rank(),
        host(),
        (float(), option::of(float())),
        (amount(), amount()),
        received,
    )
        .prop_map(
            |(rank, host, (instructions, finished), (data, fixed), received)| Load {
                rank,
                host,
                instructions,
                finished,
                image: Image {
                    data: Bytes(data),
                    fixed: Bytes(fixed),
                },
                received,
            },
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
    (rank(), amount(), amount(), seconds(), seconds()).prop_map(
        |(rank, instructions, bytes, migration, t2)| Request {
            rank,
            instructions: Instructions(instructions),
            bytes: Bytes(bytes),
            migration,
            t2,
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
    (set(), vec(potential(), 0..20)).prop_map(|(own, potentials)| Evaluation { own, potentials })
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
    (POSITIVE | NORMAL).prop_map(|speed| InstructionsPerSecond::new(speed).unwrap())
}

fn seconds() -> impl Strategy<Value = Seconds> {
    float().prop_map(|seconds| Seconds::new(seconds).unwrap())
}

/// Any finite float.
fn float() -> impl Strategy<Value = f64> {
    POSITIVE | NEGATIVE | NORMAL | SUBNORMAL | ZERO
}
