//! Texts that are no platforms: whatever is read, nothing panics.

use proptest::prelude::*;

use super::*;

const SMALL_XML: &str = r#"<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1"><zone id="w" routing="Floyd">
<cluster id="c" prefix="c-" suffix="" radical="0-2,5" speed="1Gf,2Gf" bw="1MBps" lat="1us"
 bb_bw="1MBps" bb_lat="1us" loopback_bw="1GBps" limiter_link="2MBps" router_id="r"/>
<zone id="p" routing="Dijkstra"><host id="a" speed="1Gf" core="2" speed_file="p"/>
 <host id="b" speed="1Gf" pstate="0"/><router id="m"/>
 <link id="l" bandwidth="1MBps" latency="1us" sharing_policy="SPLITDUPLEX"/>
 <route src="a" dst="m"><link_ctn id="l" direction="UP"/></route>
 <route src="m" dst="b" symmetrical="NO"><link_ctn id="l" direction="DOWN"/></route></zone>
<cluster id="f" prefix="f" suffix="" radical="0-7" speed="1Gf" bw="1MBps" lat="1us" topology="FAT_TREE"
 topo_parameters="2;4,2;1,2;2,1" limiter_link="1MBps"/>
<cluster id="t" prefix="t" suffix="" radical="0-5" speed="1Gf" bw="1MBps" lat="1us" topology="TORUS"
 topo_parameters="3,2"/>
<cluster id="d" prefix="d" suffix="" radical="0-7" speed="1Gf" bw="1MBps" lat="1us" topology="DRAGONFLY"
 topo_parameters="2,1;1,2;2,3;2"/>
<zone id="s" routing="Cluster"><host id="x" speed="1Gf"/><link id="y" bandwidth="1MBps"/>
 <cabinet id="e" prefix="e" suffix="" radical="1-2" speed="1Gf" bw="1MBps" lat="1us"/>
 <backbone id="g" bandwidth="1MBps" latency="1us"/><host_link id="x" up="y" down="y"/>
 <bypassRoute src="x" dst="e1"><link_ctn id="g"/></bypassRoute></zone>
<trace id="q" periodicity="3.0">0 1
 2 0.5</trace><trace_connect kind="SPEED" trace="q" element="x"/>
<trace_connect kind="BANDWIDTH" trace="q" element="g"/>
<link id="k" bandwidth="1MBps"/>
<bypassZoneRoute src="c" dst="s" gw_src="c-0" gw_dst="x"><link_ctn id="k"/></bypassZoneRoute>
<zoneRoute src="f" dst="d" gw_src="f0" gw_dst="d3"><link_ctn id="k"/></zoneRoute>
<zoneRoute src="c" dst="p" gw_src="r" gw_dst="m"><link_ctn id="k"/></zoneRoute>
</zone></platform>"#;

const SMALL_TOML: &str = r#"core = { bandwidth = "1 GBps" }
[[set]]
name = "a1..2"
hosts = 3
speed = "1 Gf"
link = { bandwidth = "10 MBps", latency = "1 ms" }
uplink = { bandwidth = "10 MBps" }
send_overhead = "1 us"
[[set]]
name = "b"
hosts = ["x", "y"]
speed = ["1 Gf", "2 Gf"]
link = { bandwidth = 1e7, duplex = "shared" }
[[set]]
name = "c"
hosts = 8
speed = "1 Gf"
fat_tree = { children = [4, 2], parents = [1, 2], cables = [2, 1] }
link = { bandwidth = "10 MBps" }
uplink = { bandwidth = "10 MBps" }
[[set]]
name = "d"
hosts = 8
speed = "1 Gf"
dragonfly = { groups = 2, chassis = 1, routers = 2, hosts = 2 }
link = { bandwidth = "10 MBps" }
uplink = { bandwidth = "10 MBps" }
[[link]]
name = "l2"
between = ["b", "c"]
bandwidth = "1 MBps"
[[link]]
name = "l3"
between = ["b", "d"]
bandwidth = "1 MBps"
[[link]]
name = "l"
between = ["a1..2", "b"]
bandwidth = "1 MBps"
duplex = "split"
[[load]]
hosts = "a1-1..2"
points = [["10 s", 0.5], [20, 0]]
period = "1 min"
[[congestion]]
link = "l-a1-b"
latency = [[1, "1 s"]]
[[overhead]]
between = ["a1", "b"]
receive = "1 us"
"#;

/// Asks for every route, and every profile of a platform, if it is one.
fn exercise(platform: Result<Platform, PlatformError>) {
    let Ok(platform) = platform else { return };
    let mut links = Vec::new();
    for from in (0..)
        .zip(platform.hosts())
        .map(|(id, _)| HostId(id))
        .take(40)
    {
        for to in (0..)
            .zip(platform.hosts())
            .map(|(id, _)| HostId(id))
            .take(40)
        {
            let found = platform.route(from, to, &mut links);
            assert!(found.is_ok() || links.is_empty());
            assert!(
                links
                    .iter()
                    .all(|link| link.index() < platform.links().len())
            );
        }
    }
}

fn profile_file(_: &str) -> Result<String, String> {
    Ok("0 1\n1 0.5\nPERIODICITY 2".to_owned())
}

/// Replaces, drops or repeats pieces of a text.
fn mutate(text: &str, changes: &[(prop::sample::Index, u8, String)]) -> String {
    let mut pieces: Vec<String> = text
        .split_inclusive(|c: char| !c.is_alphanumeric())
        .map(str::to_owned)
        .collect();
    for (place, kind, word) in changes {
        let place = place.index(pieces.len());
        match kind % 4 {
            0 => pieces[place].clone_from(word),
            1 => pieces[place].clear(),
            2 => pieces.insert(place, word.clone()),
            _ => {
                let other = pieces[word.len() % pieces.len()].clone();
                pieces.insert(place, other);
            }
        }
    }
    pieces.concat()
}

fn word() -> impl Strategy<Value = String> {
    prop_oneof![
        "[0-9]{1,3}",
        "[a-c]",
        "\\PC{0,4}",
        prop::sample::select(vec![
            "-",
            "0",
            "-1",
            "1e308",
            "nan",
            "inf",
            "\"",
            "<",
            "/>",
            "]",
            "..",
            "UP",
            "a",
            "b",
            "c",
            "p",
            "w",
            "m",
            "Full",
            "None",
            "Cluster",
            "TORUS",
            ";",
            "65536",
            "99999999999",
            "4294967295",
            "\u{e9}"
        ])
        .prop_map(str::to_owned),
    ]
}

fn changes() -> impl Strategy<Value = Vec<(prop::sample::Index, u8, String)>> {
    prop::collection::vec((any::<prop::sample::Index>(), any::<u8>(), word()), 1..4)
}

#[test]
fn hostile_inputs_start_from_valid_platforms() {
    exercise(Ok(
        Platform::from_simgrid_xml(SMALL_XML, &mut profile_file).unwrap()
    ));
    exercise(Ok(Platform::from_toml(SMALL_TOML).unwrap()));
}

#[test]
fn nesting_and_numbers_are_bounded() {
    let nested = "<zone id='z' routing='Full'>".repeat(100_000);
    assert!(xml(&format!("<platform version='4'>{nested}")).is_err());
    let zones = |depth: usize| {
        let open: String = (0..depth)
            .map(|i| format!("<zone id='{i}' routing='Full'>"))
            .collect();
        format!(
            "<platform version='4'>{open}{}</platform>",
            "</zone>".repeat(depth)
        )
    };
    assert!(
        xml(&zones(5))
            .unwrap_err()
            .to_string()
            .ends_with("the platform has no hosts")
    );
    assert_eq!(
        xml(&zones(200)).unwrap_err().kind,
        PlatformErrorKind::TooMany {
            what: "zones inside one another",
            found: 65,
            limit: 64
        }
    );
    let many = SMALL_XML.replace("0-2,5", "0-4294967295");
    assert!(
        xml(&many)
            .unwrap_err()
            .to_string()
            .contains("hosts, at most")
    );
    let many = SMALL_TOML.replace("hosts = 3", "hosts = 4294967295");
    assert!(
        Platform::from_toml(&many)
            .unwrap_err()
            .to_string()
            .contains("hosts, at most")
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn arbitrary_text_never_panics(text in "\\PC{0,200}") {
        exercise(Platform::from_toml(&text));
        exercise(xml(&text));
    }

    #[test]
    fn changed_xml_never_panics(changes in changes()) {
        let text = mutate(SMALL_XML, &changes);
        exercise(Platform::from_simgrid_xml(&text, &mut profile_file));
    }

    #[test]
    fn changed_toml_never_panics(changes in changes()) {
        exercise(Platform::from_toml(&mutate(SMALL_TOML, &changes)));
    }

    #[test]
    fn changed_profiles_never_panic(text in "[0-9. \\nPERIODCTYLAFT#-]{0,60}") {
        let mut load = |_: &str| Ok(text.clone());
        exercise(Platform::from_simgrid_xml(SMALL_XML, &mut load));
    }
}
