//! Platforms as their users see them: text in, routes or an error message out.

use bsp::HostId;

use super::*;
use crate::profile::Point;

mod bypasses;
mod hostile;
mod leniency;
mod simgrid;
mod tables;
mod topologies;
mod traces;

const FIVE_XML: &str = include_str!("../../../conf/platforms/five.xml");
const FIVE_TOML: &str = include_str!("../../../conf/platforms/five.toml");

fn no_files(_: &str) -> Result<String, String> {
    Err("no files here".to_owned())
}

fn xml(text: &str) -> Result<Platform, PlatformError> {
    Platform::from_simgrid_xml(text, &mut no_files)
}

/// The names of the links from one host to another, or the error's text.
fn way(platform: &Platform, from: &str, to: &str) -> String {
    let (from, to) = (
        platform.host_by_name(from).unwrap(),
        platform.host_by_name(to).unwrap(),
    );
    let mut links = vec![LinkId(7)];
    match platform.route(from, to, &mut links) {
        Ok(_) => {
            let name = |link: &LinkId| platform.links()[link.index()].name.as_str();
            links.iter().map(name).collect::<Vec<_>>().join(" ")
        }
        Err(error) => {
            assert!(links.is_empty());
            error.to_string()
        }
    }
}

#[test]
fn both_formats_describe_the_same_platform() {
    let (xml, toml) = (
        xml(FIVE_XML).unwrap(),
        Platform::from_toml(FIVE_TOML).unwrap(),
    );
    assert_eq!(xml.hosts(), toml.hosts());
    assert_eq!(xml.sets(), toml.sets());
    assert_eq!(xml.links(), toml.links());
    let (mut a, mut b) = (Vec::new(), Vec::new());
    for from in 0..174 {
        for to in 0..174 {
            let there = xml.route(HostId(from), HostId(to), &mut a);
            assert_eq!(there, toml.route(HostId(from), HostId(to), &mut b));
            assert_eq!(a, b);
        }
    }
}

#[test]
fn shipped_platforms_load() {
    for (text, hosts) in [
        (include_str!("../../../conf/platforms/five_shared.xml"), 174),
        (
            include_str!("../../../conf/platforms/five_loopback.xml"),
            174,
        ),
        (include_str!("../../../conf/platforms/five_nobb.xml"), 174),
        (
            include_str!("../../../conf/platforms/grid_10_100.xml"),
            1000,
        ),
        (
            include_str!("../../../conf/platforms/grid_10_400.xml"),
            4000,
        ),
        (
            include_str!("../../../conf/platforms/grid_10_1000.xml"),
            10_000,
        ),
    ] {
        assert_eq!(xml(text).unwrap().hosts().len(), hosts);
    }
}

#[test]
fn clusters_are_up_backbone_between_backbone_down() {
    let five = xml(FIVE_XML).unwrap();
    assert_eq!(
        way(&five, "ice-3", "aquario-0"),
        "ice_link_3_UP ice_backbone wan-ice-aquario aquario_backbone aquario_link_0_DOWN"
    );
    assert_eq!(
        way(&five, "ice-3", "ice-4"),
        "ice_link_3_UP ice_backbone ice_link_4_DOWN"
    );
    assert_eq!(
        way(&five, "ice-3", "ice-3"),
        "ice_link_3_UP ice_backbone ice_link_3_DOWN"
    );
    let shared = xml(include_str!("../../../conf/platforms/five_shared.xml")).unwrap();
    assert_eq!(
        way(&shared, "ice-3", "ice-4"),
        "ice_link_3 ice_backbone ice_link_4"
    );
    assert_eq!(way(&shared, "ice-3", "ice-3"), "ice_link_3 ice_backbone");
    let loopback = xml(include_str!("../../../conf/platforms/five_loopback.xml")).unwrap();
    assert_eq!(way(&loopback, "ice-3", "ice-3"), "ice_link_3_loopback");
    assert_eq!(
        way(&loopback, "ice-3", "ice-4"),
        "ice_link_3_UP ice_backbone ice_link_4_DOWN"
    );
    let bare = xml(include_str!("../../../conf/platforms/five_nobb.xml")).unwrap();
    assert_eq!(
        way(&bare, "ice-3", "aquario-0"),
        "ice_link_3_UP wan-ice-aquario aquario_link_0_DOWN"
    );
}

#[test]
fn a_hundred_thousand_hosts_are_declared_in_a_few_lines() {
    let text = include_str!("../../../conf/platforms/hosts_100000.toml");
    let platform = Platform::from_toml(text).unwrap();
    assert_eq!(
        (platform.hosts().len(), platform.sets().len()),
        (100_000, 10)
    );
    assert_eq!(platform.host_by_name("c9-10000"), Some(HostId(99_999)));
    assert_eq!(
        way(&platform, "c0-1", "c9-10000"),
        "c0_link_1_UP c0_backbone c0_uplink_UP core c9_uplink_DOWN c9_backbone c9_link_10000_DOWN"
    );
}

#[test]
fn every_way_back_mirrors_the_way_there() {
    let five = xml(FIVE_XML).unwrap();
    for from in (0..174).step_by(7) {
        for to in (0..174).step_by(5) {
            let (from, to) = (&five.hosts()[from].name, &five.hosts()[to].name);
            let there = way(&five, from, to);
            let swapped = there
                .replace("_UP", "_up")
                .replace("_DOWN", "_UP")
                .replace("_up", "_DOWN");
            let mirrored: Vec<&str> = swapped.split(' ').rev().collect();
            assert_eq!(way(&five, to, from), mirrored.join(" "));
        }
    }
}

#[test]
fn links_used_within_a_set_are_not_between_sets() {
    let names = |text: &str| {
        let platform = Platform::from_toml(text).unwrap();
        let links = platform.links_between_sets();
        let name = |link: &LinkId| platform.links()[link.index()].name.clone();
        links.iter().map(name).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(
        names(
            "core = { bandwidth = 1e9 }\n[[set]]\nname = 'a0..2'\nhosts = 2\nspeed = 1e9\n\
             link = { bandwidth = 1e8 }\nbackbone = { bandwidth = 1e9 }\nuplink = { bandwidth = 1e8 }"
        ),
        "a0_uplink_UP a0_uplink_DOWN a1_uplink_UP a1_uplink_DOWN a2_uplink_UP a2_uplink_DOWN core"
    );
    assert!(
        names(FIVE_TOML)
            .split(' ')
            .all(|name| name.starts_with("wan-"))
    );
    assert_eq!(
        names("[[set]]\nname = 'a'\nhosts = 2\nspeed = 1e9\nlink = { bandwidth = 1e8 }"),
        ""
    );
}

#[test]
fn second_profiles_of_a_host_or_link_are_refused() {
    let constant = |value| Profile::new(vec![Point { date: 0.0, value }], None).unwrap();
    let five = || Platform::from_toml(FIVE_TOML).unwrap();
    let (host, link) = (HostId(3), LinkId(4));
    let loaded = five().with_load(host, constant(0.5)).unwrap();
    assert_eq!(loaded.host(host).load, Some(constant(0.5)));
    assert_eq!(
        loaded
            .with_load(host, constant(0.5))
            .unwrap_err()
            .to_string(),
        "duplicate load of host `labtec-3`"
    );
    assert_eq!(
        five()
            .with_load(host, constant(1.5))
            .unwrap_err()
            .to_string(),
        "labtec-3: invalid value `1.5` at 0 s: must be a fraction from 0 to 1"
    );
    let congested = five().with_bandwidth(link, constant(1e6)).unwrap();
    assert_eq!(congested.links()[4].bandwidth_profile, Some(constant(1e6)));
    assert!(congested.with_bandwidth(link, constant(1e6)).is_err());
    assert!(five().with_bandwidth(link, constant(0.0)).is_err());
}
