//! Fat trees, tori and dragonflies. Routes are compared with SimGrid's in `tests/topologies.rs`.

use proptest::prelude::*;

use super::*;

/// A cluster of `hosts` hosts in a topology.
fn cluster(hosts: u32, attributes: &str) -> String {
    format!(
        "<platform version=\"4.1\">\n<cluster id=\"c\" prefix=\"n\" suffix=\"\" radical=\"0-{}\" \
         speed=\"1Gf\" bw=\"1MBps\" lat=\"1us\"\n{attributes}/></platform>",
        hosts - 1
    )
}

fn refuse(text: &str, expected: &str) {
    assert_eq!(xml(text).unwrap_err().to_string(), expected);
}

#[test]
fn both_formats_describe_the_same_topologies() {
    for (attributes, keys) in [
        (
            r#"topology="FAT_TREE" topo_parameters="2;3,4;1,2;2,1" sharing_policy="SHARED""#,
            "fat_tree = { children = [3, 4], parents = [1, 2], cables = [2, 1] }\n\
             link = { bandwidth = \"1MBps\", latency = \"1us\", duplex = \"shared\" }",
        ),
        (
            r#"topology="TORUS" topo_parameters="3,2,2" loopback_bw="1GBps""#,
            "torus = [3, 2, 2]\nloopback = { bandwidth = \"1GBps\" }\n\
             link = { bandwidth = \"1MBps\", latency = \"1us\" }",
        ),
        (
            r#"topology="DRAGONFLY" topo_parameters="2,3;1,1;3,1;2" limiter_link="2MBps""#,
            "dragonfly = { groups = 2, group_cables = 3, chassis = 1, routers = 3, hosts = 2 }\n\
             limiter = \"2MBps\"\nlink = { bandwidth = \"1MBps\", latency = \"1us\" }",
        ),
    ] {
        let xml = xml(&cluster(12, attributes)).unwrap();
        let toml = Platform::from_toml(&format!(
            "[[set]]\nname = \"c\"\nhosts = 12\nprefix = \"n\"\nfirst = 0\nspeed = \"1Gf\"\n{keys}\n"
        ))
        .unwrap();
        assert_eq!(xml.hosts(), toml.hosts());
        assert_eq!(xml.links(), toml.links());
        let (mut a, mut b) = (Vec::new(), Vec::new());
        for (from, to) in (0..12).flat_map(|from| (0..12).map(move |to| (from, to))) {
            let there = xml.route(HostId(from), HostId(to), &mut a);
            assert_eq!(there, toml.route(HostId(from), HostId(to), &mut b));
            assert_eq!(a, b);
        }
    }
}

#[test]
fn sets_with_a_topology_meet_at_their_first_hosts() {
    let platform = Platform::from_toml(
        r#"[[set]]
name = "t"
hosts = 4
speed = 1e9
torus = [4]
link = { bandwidth = "1 MBps" }
uplink = { bandwidth = "1 MBps" }
[[set]]
name = "s"
hosts = 1
speed = 1e9
link = { bandwidth = "1 MBps" }
uplink = { bandwidth = "1 MBps" }
"#,
    )
    .unwrap();
    assert_eq!(
        way(&platform, "t-3", "s-1"),
        "t_link_from_1_to_2_DOWN t_link_from_0_to_1_DOWN t_uplink_UP s_uplink_DOWN s_link_1_DOWN"
    );
    assert_eq!(
        way(&platform, "s-1", "t-1"),
        "s_link_1_UP s_uplink_UP t_uplink_DOWN"
    );
}

#[test]
fn links_of_a_topology_are_not_between_sets() {
    let cluster = |name: &str| {
        format!(
            "<cluster id=\"{name}\" prefix=\"{name}\" suffix=\"\" radical=\"0-6\" speed=\"1\" bw=\"1\" \
             lat=\"0\" topology=\"TORUS\" topo_parameters=\"7\" limiter_link=\"1\" loopback_bw=\"1\"/>"
        )
    };
    let text = format!(
        "<platform version=\"4.1\"><zone id=\"w\" routing=\"Full\">{}{}<link id=\"l\" bandwidth=\"1\"/>\
         <zoneRoute src=\"a\" dst=\"b\" gw_src=\"a3\" gw_dst=\"b3\"><link_ctn id=\"l\"/></zoneRoute></zone>\
         </platform>",
        cluster("a"),
        cluster("b")
    );
    let platform = xml(&text).unwrap();
    let between = platform.links_between_sets();
    let name = |link: &LinkId| platform.links()[link.index()].name.as_str();
    assert_eq!(between.iter().map(name).collect::<Vec<_>>(), ["l"]);
}

#[test]
fn hosts_of_a_torus_reach_themselves() {
    let torus = |more: &str| {
        let attributes = format!("topology=\"TORUS\" topo_parameters=\"2,2\" {more}");
        way(&xml(&cluster(4, &attributes)).unwrap(), "n1", "n1")
    };
    assert_eq!(torus(""), "__loopback__");
    assert_eq!(torus("limiter_link=\"1MBps\""), "c_link_1_limiter");
    assert_eq!(torus("loopback_bw=\"1MBps\""), "c_link_1_loopback");
}

#[test]
fn what_a_topology_does_not_have_is_warned_of() {
    let platform = xml(&cluster(
        4,
        "topology=\"TORUS\" topo_parameters=\"2,2\" bb_bw=\"1MBps\" router_id=\"r\"",
    ))
    .unwrap();
    assert_eq!(
        platform.warnings(),
        [
            "`bb_bw`, `bb_lat` and `router_id` of a <cluster> with a topology are ignored, as SimGrid \
             does: it has no backbone, and hosts are its gateways"
        ]
    );
    let flat = xml(&cluster(4, "topology=\"FLAT\" topo_parameters=\"2,2\"")).unwrap();
    assert_eq!(way(&flat, "n0", "n1"), "c_link_0_UP c_link_1_DOWN");
}

#[track_caller]
fn refuse_parameters(topology: &str, parameters: &str, problem: &str) {
    let attributes = format!("topo_parameters=\"{parameters}\" topology=\"{topology}\"");
    refuse(
        &cluster(16, &attributes),
        &format!("line 3, column 18: invalid value for `topo_parameters`: {problem}"),
    );
}

#[test]
fn topologies_and_their_parameters_are_required() {
    refuse(
        &cluster(16, "topology=\"TORUS\""),
        "line 2, column 1: <cluster> lacks the attribute `topo_parameters`",
    );
    refuse(
        &cluster(16, "topology=\"MESH\""),
        "line 3, column 11: invalid value `MESH` for `topology`: must be FLAT, FAT_TREE, TORUS or DRAGONFLY",
    );
}

#[test]
fn numbers_that_describe_no_fat_tree_are_refused() {
    let form = "must be the number of levels and three lists, of children, parents and parallel cables of \
                each level, as `2;4,4;1,2;1,2`";
    refuse_parameters("FAT_TREE", "2;4,4;1,2", form);
    refuse_parameters("FAT_TREE", "2,2;4,4;1,2;1,1", form);
    refuse_parameters(
        "FAT_TREE",
        "3;4,4;1,2;1,2",
        "a fat tree of 3 levels has 3 numbers of children, not 2",
    );
    refuse_parameters(
        "FAT_TREE",
        "2;4,4;1,2;1",
        "a fat tree of 2 levels has 2 numbers of cables, not 1",
    );
    refuse_parameters("FAT_TREE", "2;4,4;1,0;1,1", "`0` is not a number from 1");
    refuse_parameters("FAT_TREE", "2;4,x;1,1;1,1", "`x` is not a number from 1");
    refuse_parameters(
        "FAT_TREE",
        "2;4,3;1,1;1,1",
        "it has 12 hosts, but 16 are declared",
    );
    refuse_parameters("FAT_TREE", "1;16;1;4294967295", "it has too many cables");
    refuse_parameters(
        "FAT_TREE",
        "2;4,4;65536,65536;1,1",
        "it has too many switches",
    );
}

#[test]
fn numbers_that_describe_no_torus_are_refused() {
    refuse_parameters(
        "TORUS",
        "4;4",
        "must be the lengths of the rings in each dimension, as `3,2,2`",
    );
    refuse_parameters("TORUS", "4,,4", "`` is not a number from 1");
    refuse_parameters("TORUS", "4,0", "`0` is not a number from 1");
    refuse_parameters("TORUS", "4,-4", "`-4` is not a number from 1");
    refuse_parameters("TORUS", "4,3", "it has 12 hosts, but 16 are declared");
    refuse_parameters("TORUS", "99999,99999", "it has too many hosts");
}

#[test]
fn numbers_that_describe_no_dragonfly_are_refused() {
    let form = "must be the numbers of groups, chassis and routers, each with that of parallel cables, and \
                the number of hosts of a router, as `3,4;4,3;5,1;2`";
    refuse_parameters("DRAGONFLY", "2,1;2,1;2,1", form);
    refuse_parameters("DRAGONFLY", "2;2,1;2,1;2", form);
    refuse_parameters("DRAGONFLY", "2,1;2,1;2,1;2,1", form);
    refuse_parameters("DRAGONFLY", "2,1;2,0;2,1;2", "`0` is not a number from 1");
    refuse_parameters(
        "DRAGONFLY",
        "2,1;2,1;2,1;1",
        "it has 8 hosts, but 16 are declared",
    );
    refuse_parameters("DRAGONFLY", "1,1;1,1;65536,1;1", "it has too many cables");
    refuse_parameters(
        "DRAGONFLY",
        "4,1;1,1;2,1;2",
        "4 groups take at least 4 routers in each chassis, one for each other group, not 2",
    );
    refuse(
        &cluster(
            16,
            "bb_lat=\"0s\" topology=\"DRAGONFLY\" topo_parameters=\"2,1;2,1;2,1;2\"",
        )
        .replace("1MBps", "1e30Bps")
        .replace("2,1;2,1;2,1;2", "2,4;2,1;2,1;2"),
        "line 2, column 1: invalid value `4000000000000000000000000000000` for `bandwidth of parallel \
         cables`: must be from 1e-6 to 1e30 B/s",
    );
}

#[test]
fn sets_with_wrong_topologies_are_refused() {
    let refuse_set = |keys: &str, expected: &str| {
        let text = format!(
            "[[set]]\nname = \"c\"\nhosts = 6\nspeed = 1e9\nlink = {{ bandwidth = 1e6 }}\n{keys}\n"
        );
        let error = Platform::from_toml(&text).unwrap_err();
        assert_eq!(error.to_string(), expected);
    };
    refuse_set(
        "torus = [3, 3]",
        "line 6, column 9: invalid value for `torus`: it has 9 hosts, but 6 are declared",
    );
    refuse_set(
        "torus = []",
        "line 6, column 9: invalid value for `torus`: must be at least one number",
    );
    refuse_set(
        "torus = [6]\nfat_tree = { children = [6] }",
        "line 6, column 9: invalid value for `torus`: must be the only topology of the Set",
    );
    refuse_set(
        "fat_tree = { children = [] }",
        "line 6, column 12: invalid value for `fat_tree`: must be at least one level",
    );
    refuse_set(
        "fat_tree = { children = [6], parents = [1, 1] }",
        "line 6, column 12: invalid value for `fat_tree`: a fat tree of 1 levels has 1 numbers of \
         parents, not 2",
    );
    refuse_set(
        "torus = [6]\nbackbone = { bandwidth = 1e6 }",
        "line 7, column 26: invalid value for `backbone`: must be left out: a Set with a topology has \
         none",
    );
    refuse_set(
        "dragonfly = { groups = 1, chassis = 1, routers = 3, hosts = 2, nodes = 1 }",
        "line 6, column 64: unknown field `nodes`, expected one of `groups`, `chassis`, `routers`, \
         `hosts`, `group_cables`, `chassis_cables`, `router_cables`",
    );
}

/// A topology as SimGrid writes it, and its number of hosts.
fn topology() -> impl Strategy<Value = (String, u32)> {
    let level = (1..4_u32, 1..4_u32, 1..4_u32);
    let list = |numbers: Vec<u32>| {
        let texts: Vec<String> = numbers.iter().map(u32::to_string).collect();
        texts.join(",")
    };
    let fat_tree = prop::collection::vec(level, 1..5).prop_map(move |levels| {
        let hosts = levels.iter().map(|it| it.0).product();
        let lists = [
            list(levels.iter().map(|it| it.0).collect()),
            list(levels.iter().map(|it| it.1).collect()),
            list(levels.iter().map(|it| it.2).collect()),
        ];
        let parameters = format!("{};{}", levels.len(), lists.join(";"));
        (
            format!("topology=\"FAT_TREE\" topo_parameters=\"{parameters}\""),
            hosts,
        )
    });
    let torus = prop::collection::vec(2..6_u32, 1..4).prop_map(move |sizes| {
        let hosts = sizes.iter().product();
        (
            format!("topology=\"TORUS\" topo_parameters=\"{}\"", list(sizes)),
            hosts,
        )
    });
    let dragonfly = (1..4_u32, 1..4_u32, 3..5_u32, 1..3_u32).prop_map(|(g, c, r, n)| {
        let parameters = format!("{g},2;{c},3;{r},4;{n}");
        (
            format!("topology=\"DRAGONFLY\" topo_parameters=\"{parameters}\""),
            g * c * r * n,
        )
    });
    prop_oneof![fat_tree, torus, dragonfly]
}

proptest! {
    #[test]
    fn routes_cross_known_links_and_no_link_twice((attributes, hosts) in topology()) {
        let platform = xml(&cluster(hosts, &attributes)).unwrap();
        let mut links = Vec::new();
        for (from, to) in (0..hosts).flat_map(|from| (0..hosts).map(move |to| (from, to))) {
            platform.route(HostId(from), HostId(to), &mut links).unwrap();
            prop_assert!(links.iter().all(|link| link.index() < platform.links().len()));
            let mut once = links.clone();
            once.sort_unstable();
            once.dedup();
            prop_assert_eq!(once.len(), links.len());
        }
    }
}
