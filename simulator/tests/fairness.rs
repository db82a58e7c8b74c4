//! The engine against a solver that is slow and obviously right: it works out all rates from
//! nothing whenever a flow begins or ends.

#![expect(clippy::unwrap_used, reason = "a test may")]

use std::sync::Arc;

use bsp::HostId;
use bsp::units::{Bytes, Instructions, Seconds};
use proptest::prelude::*;
use simulator::{Activity, Engine, LinkId, NetworkModel, NetworkOptions, Platform, Sharing};

#[derive(Clone, Debug)]
struct Message {
    from: u32,
    to: u32,
    bytes: u64,
    start: f64,
}

#[derive(Clone, Debug)]
struct Cluster {
    hosts: u32,
    bandwidth: u32,
    latency: u32,
    backbone: Option<u32>,
    is_shared: bool,
    has_loopback: bool,
}

fn platform(clusters: &[Cluster], joint: u32) -> Arc<Platform> {
    let mut text = "<?xml version='1.0'?>\n<platform version=\"4.1\">\n\
                    <zone id=\"world\" routing=\"Full\">\n"
        .to_owned();
    for (at, cluster) in clusters.iter().enumerate() {
        let backbone = cluster.backbone.map_or_else(String::new, |bandwidth| {
            format!("bb_bw=\"{bandwidth}MBps\" bb_lat=\"10us\" bb_sharing_policy=\"SHARED\" ")
        });
        let loopback = if cluster.has_loopback {
            "loopback_bw=\"400MBps\" loopback_lat=\"1us\" "
        } else {
            ""
        };
        text += &format!(
            "<cluster id=\"c{at}\" prefix=\"c{at}-\" radical=\"0-{}\" suffix=\"\" speed=\"1Gf\" \
             core=\"1\" bw=\"{}MBps\" lat=\"{}us\" sharing_policy=\"{}\" {backbone}{loopback}\
             router_id=\"c{at}-router\"/>\n",
            cluster.hosts - 1,
            cluster.bandwidth,
            cluster.latency,
            if cluster.is_shared {
                "SHARED"
            } else {
                "SPLITDUPLEX"
            },
        );
    }
    let pairs = || (0..clusters.len()).flat_map(|a| (a + 1..clusters.len()).map(move |b| (a, b)));
    for (a, b) in pairs() {
        text += &format!(
            "<link id=\"l{a}-{b}\" bandwidth=\"{joint}MBps\" latency=\"{}us\" \
             sharing_policy=\"SHARED\"/>\n",
            100 * (b - a)
        );
    }
    for (a, b) in pairs() {
        text += &format!(
            "<zoneRoute src=\"c{a}\" dst=\"c{b}\" gw_src=\"c{a}-router\" gw_dst=\"c{b}-router\">\
             <link_ctn id=\"l{a}-{b}\"/></zoneRoute>\n"
        );
    }
    text += "</zone></platform>\n";
    let platform = Platform::from_simgrid_xml(&text, &mut |name| Err(name.to_owned()));
    Arc::new(platform.expect("a platform"))
}

/// When each message ends, by the engine.
fn by_engine(platform: &Arc<Platform>, options: NetworkOptions, messages: &[Message]) -> Vec<f64> {
    let mut engine = Engine::new(Arc::clone(platform), options);
    let timers = 1 << 32;
    for (index, message) in (0..).zip(messages) {
        engine.wake(
            Seconds::new(message.start).unwrap(),
            Activity(timers + index),
        );
    }
    let mut ends = vec![f64::NAN; messages.len()];
    let mut ended = Vec::new();
    while let Some(now) = engine.advance(&mut ended) {
        for Activity(token) in ended.drain(..) {
            let index = usize::try_from(token % timers).unwrap();
            if token < timers {
                ends[index] = now.get();
            } else {
                let Message {
                    from, to, bytes, ..
                } = messages[index];
                let (from, to) = (HostId(from), HostId(to));
                engine
                    .transfer(from, to, Bytes(bytes), Activity(token - timers))
                    .unwrap();
            }
        }
    }
    ends
}

struct Flow {
    index: usize,
    begin: f64,
    left: f64,
    weight: f64,
    cap: f64,
    usage: Vec<(usize, f64)>,
    rate: f64,
}

/// Factors of latencies and bandwidths, and the size in the weight of a link.
fn factors(options: NetworkOptions) -> (f64, f64, f64) {
    match options.model {
        NetworkModel::Lv08 => (13.01, 0.97, 20537.0),
        NetworkModel::Ideal => (1.0, 1.0, 0.0),
    }
}

/// The flows of the messages, none of them begun.
fn book_flows(platform: &Platform, options: NetworkOptions, messages: &[Message]) -> Vec<Flow> {
    let (alpha, beta, size) = factors(options);
    let links = platform.links();
    let mut flows = Vec::new();
    for (index, message) in messages.iter().enumerate() {
        let (mut there, mut back) = (Vec::<LinkId>::new(), Vec::new());
        let (from, to) = (HostId(message.from), HostId(message.to));
        platform.route(from, to, &mut there).unwrap();
        platform.route(to, from, &mut back).unwrap();
        let mut usage = vec![0.0; links.len()];
        let (mut latency, mut weight) = (0.0, 0.0);
        for link in &there {
            let link = link.index();
            usage[link] += 1.0;
            latency += links[link].latency.get();
            weight += links[link].latency.get() + size / links[link].bandwidth.get();
        }
        if options.cross_traffic {
            back.iter().for_each(|link| usage[link.index()] += 0.05);
        }
        let mut cap = beta * options.tcp_window.as_f64() / (2.0 * latency);
        let mut shared = Vec::new();
        for (link, usage) in usage
            .into_iter()
            .enumerate()
            .filter(|(_, usage)| 0.0 < *usage)
        {
            if links[link].sharing == Sharing::FatPipe {
                cap = cap.min(beta * links[link].bandwidth.get());
            } else {
                shared.push((link, usage));
            }
        }
        flows.push(Flow {
            index,
            begin: message.start + alpha * latency,
            left: Bytes(message.bytes).as_f64(),
            weight,
            cap,
            usage: shared,
            rate: 0.0,
        });
    }
    flows
}

/// When each message ends, by the book.
fn by_book(platform: &Platform, options: NetworkOptions, messages: &[Message]) -> Vec<f64> {
    let (_, beta, _) = factors(options);
    let links = platform.links();
    let mut flows = book_flows(platform, options, messages);
    let capacities: Vec<f64> = links
        .iter()
        .map(|link| beta * link.bandwidth.get())
        .collect();
    let mut ends = vec![f64::NAN; messages.len()];
    let mut now = 0.0;
    while !flows.is_empty() {
        let (mut live, waiting): (Vec<_>, Vec<_>) =
            flows.into_iter().partition(|flow| flow.begin <= now);
        fill(&mut live, &capacities);
        let end = live
            .iter()
            .map(|flow| now + flow.left / flow.rate)
            .fold(f64::INFINITY, f64::min);
        let next = waiting.iter().map(|flow| flow.begin).fold(end, f64::min);
        for flow in &mut live {
            flow.left -= flow.rate * (next - now);
            if flow.left <= flow.rate * next * 1e-13 {
                ends[flow.index] = next;
            }
        }
        live.retain(|flow| ends[flow.index].is_nan());
        now = next;
        flows = live.into_iter().chain(waiting).collect();
    }
    ends
}

/// Weighted max-min fair rates, one link or one flow at a time.
fn fill(flows: &mut [Flow], capacities: &[f64]) {
    let mut is_fixed = vec![false; flows.len()];
    while is_fixed.contains(&false) {
        let mut least = (f64::INFINITY, None);
        for (link, capacity) in capacities.iter().enumerate() {
            let (mut taken, mut share) = (0.0, 0.0);
            for (flow, is_fixed) in flows.iter().zip(&is_fixed) {
                for (_, usage) in flow.usage.iter().filter(|(crossed, _)| *crossed == link) {
                    if *is_fixed {
                        taken += usage * flow.rate;
                    } else {
                        share += usage / flow.weight;
                    }
                }
            }
            if 0.0 < share && (capacity - taken) / share < least.0 {
                least = ((capacity - taken) / share, Some(link));
            }
        }
        let capped = (0..flows.len())
            .filter(|at| !is_fixed[*at])
            .min_by(|a, b| {
                let level = |at: &usize| flows[*at].cap * flows[*at].weight;
                level(a).total_cmp(&level(b))
            })
            .unwrap();
        if flows[capped].cap * flows[capped].weight <= least.0 {
            flows[capped].rate = flows[capped].cap;
            is_fixed[capped] = true;
            continue;
        }
        let link = least.1.unwrap();
        for (flow, is_fixed) in flows.iter_mut().zip(&mut is_fixed) {
            if !*is_fixed && flow.usage.iter().any(|(crossed, _)| *crossed == link) {
                flow.rate = least.0 / flow.weight;
                *is_fixed = true;
            }
        }
    }
    for (link, capacity) in capacities.iter().enumerate() {
        let load: f64 = flows
            .iter()
            .flat_map(|flow| {
                flow.usage
                    .iter()
                    .map(|(crossed, usage)| (*crossed, usage * flow.rate))
            })
            .filter(|(crossed, _)| *crossed == link)
            .map(|(_, load)| load)
            .sum();
        assert!(
            load <= capacity * (1.0 + 1e-9),
            "the book itself overloads a link"
        );
    }
}

fn check(clusters: &[Cluster], joint: u32, options: NetworkOptions, messages: &[Message]) {
    check_on(&platform(clusters, joint), options, messages);
}

fn check_on(platform: &Arc<Platform>, options: NetworkOptions, messages: &[Message]) {
    let count = u32::try_from(platform.hosts().len()).unwrap();
    let messages: Vec<Message> = messages
        .iter()
        .map(|message| Message {
            from: message.from % count,
            to: message.to % count,
            ..message.clone()
        })
        .collect();
    let ends = by_engine(platform, options, &messages);
    let again = by_engine(platform, options, &messages);
    assert!(
        ends.iter()
            .zip(&again)
            .all(|(a, b)| a.to_bits() == b.to_bits()),
        "two runs differ"
    );
    for (index, (end, expected)) in ends
        .iter()
        .zip(by_book(platform, options, &messages))
        .enumerate()
    {
        let error = (end - expected).abs() / expected;
        assert!(
            error < 1e-9,
            "{index}: ends at {end}, expected {expected} ({error:e})"
        );
    }
}

fn clusters() -> impl Strategy<Value = Vec<Cluster>> {
    let cluster = (
        1..12_u32,
        5..200_u32,
        1..100_u32,
        any::<[bool; 2]>(),
        0..3,
        20..400_u32,
    );
    let cluster = cluster.prop_map(
        |(hosts, bandwidth, latency, flags, has_backbone, backbone)| Cluster {
            hosts,
            bandwidth,
            latency,
            backbone: (0 < has_backbone).then_some(backbone),
            is_shared: flags[0],
            has_loopback: flags[1],
        },
    );
    prop::collection::vec(cluster, 1..4)
}

fn options() -> impl Strategy<Value = NetworkOptions> {
    let options = (
        any::<bool>(),
        any::<bool>(),
        prop_oneof![Just(4_194_304), 8_192..200_000_u64],
    );
    options.prop_map(|(is_ideal, cross_traffic, window)| NetworkOptions {
        model: if is_ideal {
            NetworkModel::Ideal
        } else {
            NetworkModel::Lv08
        },
        cross_traffic,
        tcp_window: Bytes(window),
    })
}

fn messages(count: usize, spread: f64) -> impl Strategy<Value = Vec<Message>> {
    // A few dates and sizes are drawn often, so that flows also begin and end together.
    let start = prop_oneof![Just(0.0), Just(0.125), 0.0..spread];
    let bytes = prop_oneof![Just(100_000), Just(8), 0..2_000_000_u64];
    // Host 0 is the target of many.
    let to = prop_oneof![Just(0), any::<u32>()];
    let message = (any::<u32>(), to, bytes, start);
    let message = message.prop_map(|(from, to, bytes, start)| Message {
        from,
        to,
        bytes,
        start,
    });
    prop::collection::vec(message, 1..count)
}

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
