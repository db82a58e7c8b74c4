//! Drawn events of moves, of hosts that join, and of checkpoints.

use proptest::prelude::*;

use super::*;

prop_compose! {
    pub(super) fn moved()(
        (rank, host, epoch, bytes) in any::<(u32, u32, u64, u64)>(),
        (at, took) in (instant(), seconds()),
        times in prop::option::of([seconds(), seconds(), seconds(), seconds(), seconds()]),
        parts in prop::option::of(any::<[u64; 3]>().prop_map(|parts| parts.map(Bytes))),
    ) -> Event {
        let (rank, host, bytes) = (Rank(rank), HostId(host), Bytes(bytes));
        let times = times.map(|[frozen, packed, sent, unpacked, round_trip]| {
            MoveTimes { frozen, packed, sent, unpacked, round_trip }
        });
        let parts = parts.map(|[agent, messages, program]| StateParts { agent, messages, program });
        Event::Moved(Moved { at, rank, host, epoch, bytes, took, times, parts, declared: None })
    }
}

prop_compose! {
    pub(super) fn join()(
        (host, joined) in any::<(u32, bool)>(),
        (asked, at) in (instant(), instant()),
        (creation, ended) in (seconds(), instant()),
        (remaining, saves) in (prop::option::of(seconds()), prop::option::of(-1e9..1e9_f64)),
        processes in prop::collection::vec(any::<u32>().prop_map(Rank), 0..3),
        (waited, name) in (prop::option::of(seconds()), prop::option::of("[a-z0-9-]{1,8}")),
    ) -> Event {
        let host = HostId(host);
        Event::Join(Join {
            superstep: 0, host, asked, at, creation, remaining, saves, joined, ended, processes, waited, name,
        })
    }
}

prop_compose! {
    pub(super) fn checkpoint()(
        (at, complete) in (instant(), instant()),
        (stall, encoding) in (seconds(), seconds()),
        (bytes, sent) in any::<(u64, u64)>(),
    ) -> Event {
        let (bytes, sent) = (Bytes(bytes), Bytes(sent));
        Event::Checkpoint(Checkpoint { superstep: 0, at, stall, encoding, bytes, sent, complete, problem: None, held: false })
    }
}
