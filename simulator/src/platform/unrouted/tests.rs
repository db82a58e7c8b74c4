//! What is counted by classes is what all pairs of hosts have.

use proptest::prelude::*;

use super::*;

fn xml(inside: &str) -> Platform {
    let text = format!("<platform version=\"4.1\">{inside}</platform>");
    Platform::from_simgrid_xml(&text, &mut |name| Err(name.to_owned())).unwrap()
}

/// All pairs of hosts without a route, looked up one by one.
fn by_pairs(platform: &Platform) -> Vec<(HostId, HostId)> {
    let hosts = || (0..platform.hosts().len()).map(HostId::from_index);
    let mut links = Vec::new();
    hosts()
        .flat_map(|from| hosts().map(move |to| (from, to)))
        .filter(|(from, to)| platform.route(*from, *to, &mut links).is_err())
        .collect()
}

#[track_caller]
fn check(platform: &Platform) -> Unrouted {
    let (found, expected) = (platform.unrouted(), by_pairs(platform));
    let hosts = u64::try_from(platform.hosts().len()).unwrap();
    assert!(found.is_complete);
    assert_eq!(found.pairs, hosts * hosts);
    assert_eq!(found.unrouted, u64::try_from(expected.len()).unwrap());
    let set = |host: HostId| platform.host(host).set;
    for sets in &found.sets {
        let of_sets = |pair: &&(HostId, HostId)| (set(pair.0), set(pair.1)) == (sets.from, sets.to);
        let pairs: Vec<_> = expected.iter().filter(of_sets).collect();
        assert_eq!(sets.unrouted, u64::try_from(pairs.len()).unwrap());
        assert!(pairs.contains(&&sets.first));
    }
    let total: u64 = found.sets.iter().map(|sets| sets.unrouted).sum();
    assert_eq!(total, found.unrouted);
    found
}

#[test]
fn routes_that_are_missing_are_named_by_sets() {
    let platform = xml(r#"<zone id="w" routing="Full">
        <zone id="p" routing="Full"><host id="a" speed="1"/><host id="b" speed="1"/>
          <link id="ab" bandwidth="1"/><route src="a" dst="b" symmetrical="NO"><link_ctn id="ab"/></route></zone>
        <zone id="q" routing="None"><host id="c" speed="1"/><host id="d" speed="1"/></zone>
        <link id="pq" bandwidth="1"/>
        <zoneRoute src="p" dst="q" gw_src="b" gw_dst="c"><link_ctn id="pq"/></zoneRoute></zone>"#);
    let found = check(&platform);
    // From b to a; to d from a, b, c and d; from d to a, b and c; from c to c and to a, which b does not reach.
    assert_eq!((found.unrouted, found.pairs), (10, 16));
    let first = |at: usize| {
        let (from, to) = found.sets[at].first;
        [from, to].map(|host| platform.host(host).name.as_str())
    };
    assert_eq!([first(0), first(1)], [["b", "a"], ["a", "d"]]);
}

#[test]
fn a_large_platform_has_few_classes() {
    let hosts: String = (0..3000)
        .map(|host| {
            format!(
                "<host id=\"h{host}\" speed=\"1\"/><link id=\"l{host}\" bandwidth=\"1\"/>\
                 <route src=\"h{host}\" dst=\"r\"><link_ctn id=\"l{host}\"/></route>"
            )
        })
        .collect();
    for (routing, missing) in [("Floyd", 0), ("Full", 3000 * 2999)] {
        let platform = xml(&format!(
            "<zone id=\"w\" routing=\"{routing}\"><router id=\"r\"/>{hosts}</zone>"
        ));
        assert_eq!(platform.classes().len(), 1, "{routing}");
        assert_eq!(platform.unrouted().unrouted, missing, "{routing}");
    }
}

/// Routes between some of five hosts and a router of each of two zones, and between the zones.
fn platform(routings: [usize; 3], edges: &[(u8, u8, bool)], joints: &[(u8, u8, bool)]) -> Platform {
    let routing = |at: usize| ["Full", "Floyd", "Dijkstra", "None"][routings[at]];
    let way = |one_way: bool| if one_way { "NO" } else { "YES" };
    let mut text = format!("<zone id=\"w\" routing=\"{}\">", routing(0));
    for (zone, name) in [(1, "p"), (2, "q")] {
        text += &format!("<zone id=\"{name}\" routing=\"{}\">", routing(zone));
        for host in 0..5 {
            text += &format!("<host id=\"{name}{host}\" speed=\"1\"/>");
        }
        text += &format!("<router id=\"{name}5\"/><link id=\"{name}l\" bandwidth=\"1\"/>");
        let mut pairs = Vec::new();
        for (from, to, one_way) in edges {
            let (from, to) = (from % 6, to % 6);
            if routings[zone] == 3 || pairs.contains(&(from, to)) || pairs.contains(&(to, from)) {
                continue;
            }
            pairs.push((from, to));
            text += &format!(
                "<route src=\"{name}{from}\" dst=\"{name}{to}\" symmetrical=\"{}\">\
                 <link_ctn id=\"{name}l\"/></route>",
                way(*one_way)
            );
        }
        text += "</zone>";
    }
    text += "<link id=\"wl\" bandwidth=\"1\"/>";
    if let Some((from, to, one_way)) = joints.first().filter(|_| routings[0] != 3) {
        text += &format!(
            "<zoneRoute src=\"p\" dst=\"q\" gw_src=\"p{}\" gw_dst=\"q{}\" symmetrical=\"{}\">\
             <link_ctn id=\"wl\"/></zoneRoute>",
            from % 6,
            to % 6,
            way(*one_way)
        );
    }
    if let Some((from, to, _)) = joints.get(1) {
        text += &format!(
            "<bypassZoneRoute src=\"q\" dst=\"p\" gw_src=\"q{}\" gw_dst=\"p{}\"><link_ctn id=\"wl\"/>\
             </bypassZoneRoute>",
            from % 6,
            to % 6
        );
    }
    xml(&(text + "</zone>"))
}

proptest! {
    #[test]
    fn classes_count_what_pairs_do(
        routings in [0..4_usize, 0..4_usize, 0..4_usize],
        edges in prop::collection::vec(any::<(u8, u8, bool)>(), 0..24),
        joints in prop::collection::vec(any::<(u8, u8, bool)>(), 0..3),
    ) {
        check(&platform(routings, &edges, &joints));
    }
}
