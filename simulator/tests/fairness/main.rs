//! The engine against a solver that is slow and obviously right.

#![expect(clippy::unwrap_used, reason = "a test may")]

use std::sync::Arc;

use bsp::HostId;
use bsp::units::{Bytes, Instructions};
use proptest::prelude::*;
use simulator::{Activity, Engine, NetworkOptions, Platform};

use check::{check, check_on};
use scenario::{Cluster, Message, clusters, messages, options, platform};

mod book;
mod bundles;
mod check;
mod scenario;

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn few_flows_end_when_they_should(
        clusters in clusters(),
        joint in 10..500_u32,
        options in options(),
        messages in messages(20, 0.3),
    ) {
        check(&clusters, joint, options, &messages);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    #[test]
    fn many_flows_end_when_they_should(
        clusters in clusters(),
        joint in 10..500_u32,
        options in options(),
        messages in messages(150, 1.0),
    ) {
        check(&clusters, joint, options, &messages);
    }
}

/// Trunks that hold many flows back, as they come and go one by one.
#[test]
fn busy_trunks_share_as_the_reference_solver() {
    let mut state = 7_u64;
    let mut draw = |below: u32| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        u32::try_from(state >> 33).unwrap() % below
    };
    for round in 0..24 {
        let clusters: Vec<Cluster> = (0..3)
            .map(|at| Cluster {
                hosts: 40,
                bandwidth: 50 + draw(100),
                latency: 25,
                backbone: Some([100, 120, 300][at] + draw(60)),
                is_shared: round % 4 == 3,
                has_loopback: false,
            })
            .collect();
        let messages: Vec<Message> = (0..360)
            .map(|_| {
                let from = draw(120);
                let to = match draw(8) {
                    0 => draw(120),
                    1 => 0,
                    _ => from / 40 * 40 + draw(40),
                };
                let bytes = u64::from(200_000 + draw(if round % 2 == 0 { 1 } else { 400_000 }));
                Message {
                    from,
                    to,
                    bytes,
                    start: f64::from(draw(1 << 20)) / f64::from(1 << 22),
                }
            })
            .collect();
        let tcp_window = if round % 3 == 2 {
            Bytes(40_000)
        } else {
            Bytes(4_194_304)
        };
        let options = NetworkOptions {
            tcp_window,
            ..NetworkOptions::default()
        };
        check(&clusters, 90 + draw(200), options, &messages);
    }
}

/// Flows that a trunk holds back and that share the links of their hosts with flows that are limited elsewhere: when
/// the trunk is left to fewer, those links become bottlenecks.
#[test]
fn flows_that_a_trunk_lets_rise_meet_the_limits_of_other_links() {
    let set = |name: &str, bandwidth: u32| {
        format!(
            "[[set]]\nname = \"{name}\"\nhosts = 12\nspeed = \"1 Gf\"\n\
             link = {{ bandwidth = \"{bandwidth} MBps\", latency = \"20 us\" }}\n"
        )
    };
    let link = |from: &str, to: &str, bandwidth: u32| {
        format!(
            "[[link]]\nname = \"{from}-{to}\"\nbetween = [\"{from}\", \"{to}\"]\n\
             bandwidth = \"{bandwidth} MBps\"\nlatency = \"20 us\"\n"
        )
    };
    let mut state = 11_u64;
    let mut draw = |below: u32| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        u32::try_from(state >> 33).unwrap() % below
    };
    for _ in 0..200 {
        let text = [
            set("fast", 100),
            set("slow", 40 + draw(40)),
            set("far", 1000),
            link("fast", "slow", 10_000),
            link("fast", "far", 180 + draw(180)),
            link("slow", "far", 10_000),
        ]
        .concat();
        let platform = Arc::new(Platform::from_toml(&text).unwrap());
        // From each fast host one flow over the trunk, and from some of them one to a slow host.
        let over_trunk = (0..12).map(|host| (host, 24 + host, 4 + draw(40), draw(20)));
        let mut flows: Vec<_> = over_trunk.collect();
        for host in 0..12 {
            if draw(2) == 0 {
                flows.push((host, 12 + host, 20 + draw(40), 20 + draw(300)));
            }
        }
        let message = |(from, to, megabytes, milliseconds): (u32, u32, u32, u32)| Message {
            from,
            to,
            bytes: 1_000_000 * u64::from(megabytes),
            start: f64::from(milliseconds) / 1000.0,
        };
        let messages: Vec<Message> = flows.into_iter().map(message).collect();
        for cross_traffic in [false, true] {
            let options = NetworkOptions {
                cross_traffic,
                ..NetworkOptions::default()
            };
            check_on(&platform, options, &messages);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, ..ProptestConfig::default() })]

    #[test]
    fn a_host_wastes_no_time_while_it_has_work(
        works in prop::collection::vec(1..4_000_000_000_u64, 1..30),
    ) {
        let cluster = Cluster {
            hosts: 1,
            bandwidth: 100,
            latency: 1,
            backbone: None,
            is_shared: false,
            has_loopback: false,
        };
        let platform = platform(&[cluster], 10);
        let mut engine = Engine::new(platform, NetworkOptions::default());
        for (index, work) in (0..).zip(&works) {
            engine.compute(HostId(0), Instructions(*work), Activity(index));
        }
        let (mut ended, mut last) = (Vec::new(), 0.0);
        while let Some(now) = engine.advance(&mut ended) {
            last = now.get();
        }
        prop_assert_eq!(ended.len(), works.len());
        let order: Vec<u64> =
            ended.iter().map(|activity| works[usize::try_from(activity.0).unwrap()]).collect();
        prop_assert!(order.is_sorted(), "less work ends first");
        let total: Instructions = works.into_iter().map(Instructions).sum();
        let expected = total.as_f64() / 1e9;
        prop_assert!((last - expected).abs() < 1e-12 * expected);
    }
}
