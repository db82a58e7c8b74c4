//! Backbones that limit many flows, which are solved as one, and flows between them, which are not.

use proptest::prelude::*;

use crate::check::check;
use crate::scenario::{Cluster, Message, options};

/// A message by its place among the hosts, rather than by host.
#[derive(Clone, Copy, Debug)]
struct Sketch {
    cluster: u32,
    from: u32,
    to: u32,
    /// How many clusters further on it ends.
    further: u32,
    size: u32,
    date: u32,
}

impl Sketch {
    /// Sizes and dates are drawn from a few, so that flows begin and end together and one after the other.
    fn message(self, clusters: &[Cluster]) -> Message {
        let count = u32::try_from(clusters.len()).unwrap();
        let host = |cluster: u32, host: u32| {
            let cluster = (cluster % count) as usize;
            let before: u32 = clusters[..cluster].iter().map(|it| it.hosts).sum();
            before + host % clusters[cluster].hosts
        };
        Message {
            from: host(self.cluster, self.from),
            to: host(self.cluster + self.further, self.to),
            bytes: match self.size {
                0..4 => 1_000_000,
                4..6 => 8,
                size => u64::from(size) * 7919,
            },
            start: match self.date {
                0..8 => 0.0,
                8..16 => f64::from(self.date) / 64.0,
                date => f64::from(date) / 1024.0,
            },
        }
    }
}

fn clusters() -> impl Strategy<Value = Vec<Cluster>> {
    let cluster = (
        6..16_u32,
        50..200_u32,
        0..40_u32,
        40..300_u32,
        any::<bool>(),
    );
    let cluster = cluster.prop_map(|(hosts, bandwidth, latency, backbone, is_shared)| Cluster {
        hosts,
        bandwidth,
        latency,
        backbone: Some(backbone),
        is_shared,
        has_loopback: false,
    });
    prop::collection::vec(cluster, 2..5)
}

fn sketches() -> impl Strategy<Value = Vec<Sketch>> {
    let further = prop_oneof![6 => Just(0), 1 => 1..4_u32];
    let sketch = (any::<[u32; 3]>(), further, 0..300_u32, 0..600_u32);
    let sketch = sketch.prop_map(|([cluster, from, to], further, size, date)| Sketch {
        cluster,
        from,
        to,
        further,
        size,
        date,
    });
    prop::collection::vec(sketch, 30..120)
}

proptest! {
    #[test]
    fn bundled_flows_end_when_they_should(
        clusters in clusters(),
        joint in 20..500_u32,
        options in options(),
        sketches in sketches(),
    ) {
        let messages: Vec<_> =
            sketches.into_iter().map(|sketch| sketch.message(&clusters)).collect();
        check(&clusters, joint, options, &messages);
    }
}
