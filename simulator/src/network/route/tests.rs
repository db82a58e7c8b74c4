//! The cache of routes changes no route.

use super::*;
use crate::network_options::NetworkOptions;

/// Two Sets of sixty hosts on one core.
fn platform() -> Platform {
    let set = |name: &str, latency: &str| {
        format!(
            "[[set]]\nname = \"{name}\"\nhosts = 60\nspeed = \"1 Gf\"\nsend_overhead = \"{latency}\"\n\
             link = {{ bandwidth = \"125 MBps\", latency = \"{latency}\" }}\n\
             backbone = {{ bandwidth = \"1 GBps\" }}\nuplink = {{ bandwidth = \"50 MBps\" }}\n"
        )
    };
    let core = "core = { bandwidth = \"1 GBps\", latency = \"100 us\" }\n";
    Platform::from_toml(&format!("{core}{}{}", set("a", "5 us"), set("b", "7 us"))).unwrap()
}

fn links(platform: &Platform) -> Vec<NominalLink> {
    platform.links().iter().map(NominalLink::new).collect()
}

/// All that a flow needs of a route.
#[derive(Debug, PartialEq)]
struct Found {
    numbers: [u64; 3],
    overhead: Overhead,
    legs: Vec<(u32, u64)>,
}

fn found(route: &Route, legs: &[Leg]) -> Found {
    let numbers = [route.latency, route.weight, route.bound];
    Found {
        numbers: numbers.map(f64::to_bits),
        overhead: route.overhead,
        legs: legs
            .iter()
            .map(|leg| (leg.id(), leg.usage().to_bits()))
            .collect(),
    }
}

/// Asks for routes, and compares each answer with a route computed without a cache.
fn ask(
    routes: &mut Routes,
    platform: &Platform,
    links: &[NominalLink],
    pairs: impl Iterator<Item = (u32, u32)>,
) {
    let factors = Factors::from(NetworkOptions::default());
    let mut fresh = Routes::new(platform.hosts().len(), Vec::new());
    for (from, to) in pairs {
        let (from, to) = (HostId(from), HostId(to));
        fresh
            .compute(platform, (&factors, links), (from, to))
            .unwrap();
        let expected = found(&fresh.computed, &fresh.legs);
        let (route, legs) = routes.find(platform, (&factors, links), from, to).unwrap();
        assert_eq!(found(route, legs), expected);
    }
}

/// All pairs of a host of the first `from` hosts and one of the first `to`.
fn pairs(from: u32, to: u32) -> impl Iterator<Item = (u32, u32)> {
    (0..from).flat_map(move |from| (0..to).map(move |to| (from, to)))
}

#[test]
fn routes_of_a_full_cache_are_those_that_a_search_finds() {
    let platform = platform();
    let links = links(&platform);
    let mut routes = Routes::new(platform.hosts().len(), Vec::new());
    ask(
        &mut routes,
        &platform,
        &links,
        pairs(1, 120).chain(pairs(1, 120)),
    );
    // More than there are places, and then fewer again.
    ask(
        &mut routes,
        &platform,
        &links,
        pairs(120, 120).chain(pairs(20, 20)),
    );
    assert_eq!(routes.cache.len(), routes.cache_max);
}

#[test]
fn a_route_is_computed_once_while_there_is_room() {
    let platform = platform();
    let links = links(&platform);
    let mut routes = Routes::new(platform.hosts().len(), Vec::new());
    ask(&mut routes, &platform, &links, pairs(1, 8));
    assert_eq!((routes.lookups, routes.hits), (8, 0));
    for round in 1..2000 {
        ask(&mut routes, &platform, &links, pairs(1, 8));
        assert_eq!(routes.bypasses, 0);
        // A trial of the cache ends after `LOOKUPS_PER_TRIAL` lookups.
        if 8 * (round + 1) < LOOKUPS_PER_TRIAL {
            assert_eq!((routes.lookups, routes.hits), (8 * (round + 1), 8 * round));
        }
    }
}

#[test]
fn a_cache_with_few_hits_is_bypassed_for_a_while() {
    let platform = platform();
    let links = links(&platform);
    let mut routes = Routes::new(platform.hosts().len(), Vec::new());
    ask(&mut routes, &platform, &links, pairs(120, 120));
    assert!(0 < routes.bypasses);
    let before = routes.lookups;
    ask(&mut routes, &platform, &links, pairs(1, 8));
    assert_eq!(routes.lookups, before);
}

#[test]
fn no_route_outlives_a_change_of_its_links() {
    let platform = platform();
    let mut links = links(&platform);
    let mut routes = Routes::new(platform.hosts().len(), Vec::new());
    ask(&mut routes, &platform, &links, pairs(4, 4));
    for link in &mut links {
        (link.latency, link.bandwidth) = (3.0 * link.latency, link.bandwidth / 2.0);
    }
    routes.forget();
    ask(
        &mut routes,
        &platform,
        &links,
        pairs(4, 4).chain(pairs(4, 4)),
    );
}

/// A cluster with two links for each host, one with a limiter, one link for each host and a loopback, and one whose
/// gateway is a host; Sets of a platform in TOML.
fn platforms() -> [Platform; 2] {
    let cluster = |name: &str, rest: &str| {
        format!(
            "<cluster id=\"{name}\" prefix=\"{name}-\" radical=\"0-6\" suffix=\"\" speed=\"1Gf\" \
             bw=\"125MBps\" lat=\"25us\" router_id=\"{name}-router\" {rest}/>\n"
        )
    };
    let route = |from: &str, to: &str, gateways: [&str; 2]| {
        format!(
            "<zoneRoute src=\"{from}\" dst=\"{to}\" gw_src=\"{}\" gw_dst=\"{}\">\
             <link_ctn id=\"joint\"/></zoneRoute>\n",
            gateways[0], gateways[1]
        )
    };
    let text = [
        "<?xml version='1.0'?>\n<platform version=\"4.1\">\n<zone id=\"world\" routing=\"Full\">\n",
        &cluster("a", "sharing_policy=\"SPLITDUPLEX\" bb_bw=\"1GBps\" bb_lat=\"10us\""),
        &cluster(
            "b",
            "sharing_policy=\"SHARED\" limiter_link=\"100MBps\" loopback_bw=\"1GBps\" loopback_lat=\"1us\"",
        ),
        &cluster("c", "sharing_policy=\"SPLITDUPLEX\""),
        "<link id=\"joint\" bandwidth=\"200MBps\" latency=\"100us\"/>\n",
        &route("a", "b", ["a-router", "b-router"]),
        &route("b", "c", ["b-router", "c-3"]),
        &route("c", "a", ["c-3", "a-router"]),
        "</zone></platform>\n",
    ]
    .concat();
    let parsed = Platform::from_simgrid_xml(&text, &mut |name| Err(name.to_owned()));
    [parsed.unwrap(), platform()]
}

#[test]
fn routes_of_uniform_hosts_are_those_that_a_search_finds() {
    for platform in platforms() {
        let hosts = u32::try_from(platform.hosts().len()).unwrap();
        let mut routes = Routes::new(platform.hosts().len(), platform.uniform_hosts());
        ask(
            &mut routes,
            &platform,
            &links(&platform),
            pairs(hosts, hosts),
        );
        assert_eq!(routes.bypasses, 0);
    }
}

#[test]
fn hosts_are_uniform_up_to_gateways_and_between_sets() {
    let ranges = |platform: &Platform| -> Vec<(u32, u32)> {
        let uniform = platform.uniform_hosts();
        uniform.iter().map(|it| (it.first, it.count)).collect()
    };
    let [clusters, sets] = platforms();
    // Host 3 of the third cluster is a gateway.
    assert_eq!(ranges(&clusters), [(0, 7), (7, 7), (14, 3), (18, 3)]);
    assert_eq!(ranges(&sets), [(0, 60), (60, 60)]);
}
