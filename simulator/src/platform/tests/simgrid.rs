//! SimGrid's XML.

use super::*;

/// A file with these elements inside one zone.
fn zone(routing: &str, inside: &str) -> String {
    format!(
        "<platform version=\"4.1\">\n<zone id=\"z\" routing=\"{routing}\">\n{inside}\n</zone>\n</platform>"
    )
}

#[track_caller]
fn refuse(text: &str, expected: &str) {
    assert_eq!(xml(text).unwrap_err().to_string(), expected);
}

const TWO_HOSTS: &str = r#"<host id="a" speed="1Gf"/><host id="b" speed="1Gf"/>"#;
const LINK: &str = r#"<link id="l" bandwidth="1MBps"/>"#;
const TWO_WAYS: &str =
    r#"<link id="l" bandwidth="1MBps" latency="1ms" sharing_policy="SPLITDUPLEX"/>"#;

#[test]
fn full_zones_route_as_declared() {
    let routes = format!(
        r#"{TWO_HOSTS}{TWO_WAYS}<link id="m" bandwidth="1MBps"/>
        <route src="a" dst="b"><link_ctn id="m"/><link_ctn id="l" direction="UP"/></route>"#
    );
    let platform = xml(&zone("Full", &routes)).unwrap();
    assert_eq!(way(&platform, "a", "b"), "m l_UP");
    assert_eq!(way(&platform, "b", "a"), "l_DOWN m");
    assert_eq!(way(&platform, "a", "a"), "__loopback__");
    let loopback = platform.links().last().unwrap();
    assert_eq!(
        (loopback.bandwidth.get().to_bits(), loopback.sharing),
        (10e9_f64.to_bits(), Sharing::FatPipe)
    );
    let one_way = routes.replace("dst=\"b\"", "dst=\"b\" symmetrical=\"NO\"");
    let platform = xml(&zone("Full", &one_way)).unwrap();
    assert_eq!(
        way(&platform, "b", "a"),
        "no route leads from host `b` to host `a`; add one to the platform, or use other hosts"
    );
}

#[test]
fn shortest_paths_count_links() {
    let inside = r#"
        <host id="a" speed="1f"/><host id="b" speed="1f"/><host id="c" speed="1f"/>
        <router id="r"/>
        <link id="ar" bandwidth="1"/><link id="rb" bandwidth="1"/><link id="bc" bandwidth="1"/>
        <link id="x" bandwidth="1"/><link id="y" bandwidth="1"/>
        <route src="a" dst="r"><link_ctn id="ar"/></route>
        <route src="r" dst="b"><link_ctn id="rb"/></route>
        <route src="b" dst="c"><link_ctn id="bc"/></route>
        <route src="a" dst="c"><link_ctn id="x"/><link_ctn id="y"/><link_ctn id="x"/><link_ctn id="x"/></route>"#;
    for routing in ["Floyd", "Dijkstra", "DijkstraCache", "floyd"] {
        let platform = xml(&zone(routing, inside)).unwrap();
        assert_eq!(way(&platform, "a", "c"), "ar rb bc");
        assert_eq!(way(&platform, "c", "a"), "bc rb ar");
        assert_eq!(way(&platform, "b", "b"), "__loopback__");
    }
}

#[test]
fn zones_compose_at_every_level() {
    let cluster = |id: &str| {
        format!(
            r#"<cluster id="{id}" prefix="{id}" radical="0-1" suffix="" speed="1f" bw="1" lat="0"
               bb_bw="1" router_id="r{id}"/>"#
        )
    };
    let text = format!(
        r#"<platform version="4"><zone id="w" routing="Floyd">
        <zone id="p" routing="Full">{}{}<link id="pq" bandwidth="1"/>
          <zoneRoute src="c" dst="d" gw_src="rc" gw_dst="rd"><link_ctn id="pq"/></zoneRoute></zone>
        <zone id="q" routing="Full">{}{}<link id="qq" bandwidth="1"/>
          <zoneRoute src="e" dst="f" gw_src="re" gw_dst="rf"><link_ctn id="qq"/></zoneRoute></zone>
        <zone id="s" routing="None"><host id="lonely" speed="1f"/></zone>
        <link id="one" bandwidth="1"/><link id="two" bandwidth="1"/>
        <zoneRoute src="p" dst="q" gw_src="rc" gw_dst="e0"><link_ctn id="one"/></zoneRoute>
        <zoneRoute src="q" dst="s" gw_src="rf" gw_dst="lonely"><link_ctn id="two"/></zoneRoute>
        </zone></platform>"#,
        cluster("c"),
        cluster("d"),
        cluster("e"),
        cluster("f")
    );
    let platform = xml(&text).unwrap();
    let sets: Vec<&str> = platform
        .sets()
        .iter()
        .map(|set| set.name.as_str())
        .collect();
    assert_eq!(sets, ["c", "d", "e", "f", "s"]);
    assert_eq!(
        way(&platform, "d1", "f0"),
        "d_link_1_UP d_backbone pq c_backbone one \
         e_link_0_UP e_backbone qq f_backbone f_link_0_DOWN"
            .replace("pq c_backbone one", "pq one")
    );
    assert_eq!(way(&platform, "c0", "e0"), "c_link_0_UP c_backbone one");
    assert_eq!(
        way(&platform, "d0", "lonely"),
        "d_link_0_UP d_backbone pq one e_link_0_UP e_backbone qq two"
    );
    assert_eq!(
        way(&platform, "lonely", "d0"),
        "two qq e_backbone e_link_0_DOWN one pq d_backbone d_link_0_DOWN"
    );
    assert_eq!(
        way(&platform, "lonely", "lonely"),
        "no route leads from host `lonely` to host `lonely`; add one to the platform, or use other hosts"
    );
}

#[test]
fn hosts_that_no_route_reaches_are_warned_of() {
    let isolated = |names: &[&str]| -> Vec<String> {
        let hosts: String = names
            .iter()
            .map(|name| format!("<host id=\"{name}\" speed=\"1\"/>"))
            .collect();
        let inside = format!(
            "{TWO_HOSTS}{LINK}{hosts}<router id=\"r\"/>\
             <route src=\"a\" dst=\"b\"><link_ctn id=\"l\"/></route>"
        );
        let platform = xml(&zone("Full", &inside)).unwrap();
        assert_eq!(way(&platform, "a", "b"), "l");
        for name in names {
            let error = way(&platform, "a", name);
            assert!(
                error.starts_with(&format!("no route leads from host `a` to host `{name}`")),
                "{error}"
            );
        }
        platform.warnings().to_vec()
    };
    assert_eq!(isolated(&[]), [""; 0]);
    assert_eq!(
        isolated(&["c"]),
        ["no route leads from or to `c` of zone `z`: a message there ends the run"]
    );
    assert_eq!(
        isolated(&["c", "d", "e"]),
        [
            "no route leads from or to `c` and 2 other members of zone `z`: a message there ends the \
             run"
        ]
    );
    let unrouted = zone("None", TWO_HOSTS);
    assert_eq!(xml(&unrouted).unwrap().warnings(), [""; 0]);
}

#[test]
fn a_deployment_is_named() {
    for (version, element, argument) in [
        ("4.1", "actor", "<argument value=\"1\"/>"),
        ("3", "process", ""),
    ] {
        refuse(
            &format!(
                "<platform version=\"{version}\">\n<{element} host=\"a\" \
                 function=\"f\">{argument}</{element}>\n</platform>"
            ),
            "line 1, column 1: this is a deployment, not a platform: it says which process runs on \
             which host; give the file that declares the hosts",
        );
    }
}

#[test]
fn clusters_take_commas_limiters_and_states() {
    let text = r#"<platform version="4.1"><cluster id="c" prefix="n" suffix=".x" radical="1-2,7"
        speed="1Gf, 2Gf" core="4" bw="1MBps" lat="1us" limiter_link="3MBps"/></platform>"#;
    let platform = xml(text).unwrap();
    let names: Vec<&str> = platform
        .hosts()
        .iter()
        .map(|host| host.name.as_str())
        .collect();
    assert_eq!(names, ["n1.x", "n2.x", "n7.x"]);
    assert_eq!(platform.hosts()[0].cores, 4);
    assert_eq!(
        way(&platform, "n1.x", "n7.x"),
        "c_link_1_limiter c_link_1_UP c_link_7_DOWN c_link_7_limiter"
    );
    assert_eq!(
        way(&platform, "n1.x", "n1.x"),
        "c_link_1_limiter c_link_1_UP c_link_1_DOWN"
    );
    let host = r#"<host id="h" speed="1Gf, 2Gf,3Gf" pstate="2"/>"#;
    assert_eq!(
        xml(&zone("None", host)).unwrap().hosts()[0]
            .speed
            .get()
            .to_bits(),
        3e9_f64.to_bits()
    );
}

#[test]
fn profiles_come_through_the_loader() {
    let inside = r#"<host id="h" speed="1f" speed_file="p" state_file="s"><disk id="d"/></host>
        <link id="l" bandwidth="1" bandwidth_file="b" latency_file="p"/>"#;
    let mut loads = Vec::new();
    let platform = Platform::from_simgrid_xml(&zone("None", inside), &mut |file| {
        loads.push(file.to_owned());
        match file {
            "p" => Ok("0 0.5\n1 1\nLOOPAFTER 1".to_owned()),
            _ => Ok("3 1e6".to_owned()),
        }
    })
    .unwrap();
    assert_eq!(loads, ["p", "b"]);
    let availability = platform.hosts()[0].availability.as_ref().unwrap();
    assert_eq!(availability.value(bsp::units::Instant::START), Some(0.5));
    assert_eq!(
        platform.links()[0].latency_profile.as_ref(),
        Some(availability)
    );
    assert_eq!(
        platform.warnings(),
        [
            "<disk> is ignored: disks are not simulated",
            "`state_file` of <host> is ignored: hosts do not fail"
        ]
    );
    refuse(
        &zone("None", r#"<host id="h" speed="1f" speed_file="p"/>"#),
        "line 3, column 37: cannot read profile `p`: no files here",
    );
}

#[test]
fn files_of_other_formats_are_refused_with_advice() {
    refuse(
        "<a/>",
        "line 1, column 1: a file of <a> is not supported; a SimGrid platform stands in <platform>",
    );
    refuse(
        "<platform>",
        "line 1, column 1: the root node was opened but never closed",
    );
    refuse(
        "<platform/>",
        "line 1, column 1: <platform> lacks the attribute `version`",
    );
    refuse(
        "<platform version=\"3\"/>",
        "line 1, column 20: unsupported platform version `3`: expected 4 or 4.1; `simgrid_update_xml` converts older files",
    );
    refuse(
        "<platform version=\"4.1\"/>",
        "line 1, column 1: the platform has no hosts",
    );
    refuse(
        &zone("Vivaldi", ""),
        "line 2, column 23: routing=\"Vivaldi\" is not supported; write a <cluster>, or \
         routing=\"Full\" with routes",
    );
    refuse(
        &zone("Full", "<peer/>"),
        "line 3, column 1: <peer> is not supported; write hosts with links and routes",
    );
    refuse(
        &zone("Ful", ""),
        "line 2, column 23: invalid value `Ful` for `routing`: must be Full, Floyd, Dijkstra, DijkstraCache, Cluster or None",
    );
}

#[test]
fn invalid_values_are_refused_with_their_place() {
    let host = |attributes: &str| zone("Full", &format!("<host {attributes}/>"));
    refuse(
        &host("id=\"a\""),
        "line 3, column 1: <host> lacks the attribute `speed`",
    );
    refuse(
        &host("id=\"a\" sped=\"1Gf\""),
        "line 3, column 14: <host> has no attribute `sped`, did you mean `speed`?",
    );
    refuse(
        &host("id=\"a\" speed=\"-1Gf\""),
        "line 3, column 21: invalid value `-1Gf` for `speed`: must be positive",
    );
    refuse(
        &host("id=\"a\" speed=\"1GF\""),
        "line 3, column 21: invalid value `1GF` for `speed`: unknown unit `GF` (did you mean `Gf`?), must be a \
         speed such as `1.5 Gf` or `1.5 Ginstr/s`",
    );
    refuse(
        &host("id=\"a\" speed=\"1Gf\" core=\"0\""),
        "line 3, column 32: invalid value `0` for `core`: must be a number of cores, from 1 to 65536",
    );
    refuse(
        &host("id=\"a\" speed=\"1Gf\" pstate=\"1\""),
        "line 3, column 34: invalid value `1` for `pstate`: must be the number, from 0, of an entry of `speed`",
    );
    refuse(
        &zone("Full", "<link id=\"l\" bandwidth=\"-1MBps\"/>"),
        "line 3, column 25: invalid value `-1MBps` for `bandwidth`: must be positive",
    );
    refuse(
        &zone("Full", "<link id=\"l\" bandwidth=\"1KBps\"/>"),
        "line 3, column 25: invalid value `1KBps` for `bandwidth`: unknown unit `KBps` (did you mean `kBps`?), must be a bandwidth such as `12.5 MBps` or `100 Mbps`",
    );
}

#[test]
fn control_characters_in_names_are_refused() {
    // XML allows no escape character, but line breaks and C1 control characters.
    for (from, to, what) in [
        ("id=\"a\"", "id=\"a&#10;b\"", "host"),
        ("id=\"l\"", "id=\"l&#13;\"", "link"),
        ("id=\"z\"", "id=\"z\u{9b}2J\"", "zone"),
        ("id=\"r\"", "id=\"&#x9b;2J\"", "router"),
    ] {
        let inside = format!("{TWO_HOSTS}{LINK}<router id=\"r\"/>");
        let text = zone("Full", &inside).replacen(from, to, 1);
        let error = xml(&text).unwrap_err();
        assert!(
            matches!(error.kind, PlatformErrorKind::Name { what: found, .. } if found == what),
            "{error}"
        );
        let shown = error.to_string();
        assert!(
            shown.starts_with("line ") && !shown.chars().any(char::is_control),
            "{shown:?}"
        );
    }
}

#[test]
fn names_and_routes_are_checked() {
    refuse(
        &zone(
            "Full",
            "<host id=\"a\" speed=\"1\"/>\n<host id=\"a\" speed=\"1\"/>",
        ),
        "line 4, column 11: duplicate host `a`",
    );
    refuse(
        &zone("Full", &format!("{LINK}{LINK}")),
        "line 3, column 43: duplicate link `l`",
    );
    let route = |route: &str| zone("Full", &format!("{TWO_HOSTS}{TWO_WAYS}\n{route}"));
    let up = "<link_ctn id=\"l\" direction=\"UP\"/>";
    refuse(
        &route("<route src=\"a\" dst=\"c\"/>"),
        "line 4, column 21: unknown host, router or zone `c`",
    );
    refuse(
        &route("<route src=\"a\" dst=\"b\"/>"),
        "line 4, column 1: the route from `a` to `b` has no links",
    );
    refuse(
        &route("<route src=\"a\" dst=\"b\"><link_ctn id=\"l\"/></route>"),
        "line 4, column 24: link `l` has two directions; add direction=\"UP\" or direction=\"DOWN\"",
    );
    refuse(
        &route(&format!(
            "<route src=\"a\" dst=\"b\">{up}</route>\n<route src=\"b\" dst=\"a\">{up}</route>"
        )),
        "line 5, column 1: duplicate route from `b` to `a`; a route also leads back unless it is \
         declared one-way",
    );
    refuse(
        &route(&format!("<route src=\"a\" dst=\"z\">{up}</route>")),
        "line 4, column 21: invalid value `z` for `dst`: must be the name of a host or router; zones are connected \
         by <zoneRoute>",
    );
    refuse(
        &zone(
            "Full",
            &format!("{TWO_HOSTS}\n<zone id=\"y\" routing=\"Full\"/>"),
        ),
        "line 4, column 11: zone `z` has both hosts and zones; put the hosts into a separate zone",
    );
    refuse(
        "<platform version=\"4.1\"><cluster id=\"c\" prefix=\"\" suffix=\"\" radical=\"0;4\"/></platform>",
        "line 1, column 70: invalid value `0;4` for `radical`: must be numbers and ranges separated by commas, as \
         `1-4,6,9-11`",
    );
}

#[test]
fn gateways_outside_their_zones_are_refused() {
    let text = r#"<platform version="4.1"><zone id="w" routing="Full">
<zone id="p" routing="Full"><host id="a" speed="1"/></zone>
<zone id="q" routing="Full"><host id="b" speed="1"/></zone>
<link id="l" bandwidth="1"/>
<zoneRoute src="p" dst="q" gw_src="GATEWAY" gw_dst="b"><link_ctn id="l"/></zoneRoute>
</zone></platform>"#;
    assert_eq!(
        way(&xml(&text.replace("GATEWAY", "a")).unwrap(), "b", "a"),
        "l"
    );
    refuse(
        &text.replace("GATEWAY", "b"),
        "line 5, column 1: gateway `b` is not in zone `p`",
    );
    refuse(
        &text.replace("GATEWAY", "p"),
        "line 5, column 1: gateway `p` is not in zone `p`",
    );
}
