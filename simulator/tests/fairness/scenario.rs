//! Platforms and messages on them.

use std::sync::Arc;

use bsp::units::Bytes;
use proptest::prelude::*;
use simulator::{NetworkModel, NetworkOptions, Platform};

#[derive(Clone, Debug)]
pub(crate) struct Message {
    pub(crate) from: u32,
    pub(crate) to: u32,
    pub(crate) bytes: u64,
    pub(crate) start: f64,
}

#[derive(Clone, Debug)]
pub(crate) struct Cluster {
    pub(crate) hosts: u32,
    pub(crate) bandwidth: u32,
    pub(crate) latency: u32,
    pub(crate) backbone: Option<u32>,
    pub(crate) is_shared: bool,
    pub(crate) has_loopback: bool,
}

pub(crate) fn platform(clusters: &[Cluster], joint: u32) -> Arc<Platform> {
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

pub(crate) fn clusters() -> impl Strategy<Value = Vec<Cluster>> {
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

pub(crate) fn options() -> impl Strategy<Value = NetworkOptions> {
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
        ..NetworkOptions::default()
    })
}

pub(crate) fn messages(count: usize, spread: f64) -> impl Strategy<Value = Vec<Message>> {
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
