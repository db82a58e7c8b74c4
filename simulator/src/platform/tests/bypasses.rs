//! `<bypassRoute>`, `<bypassZoneRoute>` and zones with `routing="Cluster"` of SimGrid's files. Routes are
//! compared with SimGrid's in `tests/topologies.rs`.

use super::*;

/// Zones `p`, with `p1` and `p2` in it, and `q`, all with one host of the same name in capitals.
fn zones(elements: &str) -> String {
    let zone = |id: &str| {
        let host = id.to_uppercase();
        format!(
            "<zone id=\"{id}\" routing=\"Full\"><host id=\"{host}\" speed=\"1\"/>\
             <host id=\"{host}x\" speed=\"1\"/></zone>"
        )
    };
    format!(
        "<platform version=\"4.1\"><zone id=\"w\" routing=\"None\"><link id=\"l\" bandwidth=\"1\"/>\
         <zone id=\"p\" routing=\"None\">{}{}</zone>{}\n{elements}</zone></platform>",
        zone("p1"),
        zone("p2"),
        zone("q")
    )
}

fn refuse(elements: &str, expected: &str) {
    assert_eq!(xml(&zones(elements)).unwrap_err().to_string(), expected);
}

/// A bypass over link `l`.
fn bypass(ends: &str) -> String {
    format!("<bypassZoneRoute {ends}><link_ctn id=\"l\"/></bypassZoneRoute>")
}

const INNER: &str = "src=\"p1\" dst=\"q\" gw_src=\"P1\" gw_dst=\"Q\"";

#[test]
fn bypasses_lead_one_way_from_zones_at_any_level() {
    let platform = xml(&zones(&bypass(INNER))).unwrap();
    assert_eq!(way(&platform, "P1", "Q"), "__loopback__ l __loopback__");
    for (from, to) in [("Q", "P1"), ("P2", "Q"), ("P1x", "Q"), ("P1", "Qx")] {
        assert_eq!(
            way(&platform, from, to),
            format!(
                "no route leads from host `{from}` to host `{to}`; add one to the platform, or use other \
                 hosts"
            )
        );
    }
}

#[test]
fn bypasses_that_are_never_taken_are_refused() {
    refuse(
        &format!("{}\n{}", bypass(INNER), bypass(INNER)),
        "line 3, column 1: duplicate bypass from `p1` to `q`",
    );
    refuse(
        &bypass("src=\"p1\" dst=\"w\" gw_src=\"P1\" gw_dst=\"Q\""),
        "line 2, column 1: `w` is not inside zone `w`, which declares this bypass",
    );
    refuse(
        &bypass("src=\"p1\" dst=\"p2\" gw_src=\"P1\" gw_dst=\"P2\""),
        "line 2, column 1: `p1` and `p2` are both in zone `p`; declare the bypass there",
    );
    refuse(
        &bypass("src=\"p1\" dst=\"q\" gw_src=\"P2\" gw_dst=\"Q\""),
        "line 2, column 1: gateway `P2` is not in zone `p1`",
    );
    refuse(
        &bypass("src=\"P1\" dst=\"q\" gw_src=\"P1\" gw_dst=\"Q\""),
        "line 2, column 23: invalid value `P1` for `src`: must be the name of a zone; hosts and routers are \
         connected by <route>",
    );
    refuse(
        &bypass("src=\"p1\" dst=\"r\" gw_src=\"P1\" gw_dst=\"Q\""),
        "line 2, column 32: unknown host, router or zone `r`",
    );
    refuse(
        &format!("<bypassZoneRoute {INNER}/>"),
        "line 2, column 1: the route from `p1` to `q` has no links",
    );
    refuse(
        "<bypassRoute src=\"P1\" dst=\"Q\"><link_ctn id=\"l\"/></bypassRoute>",
        "line 2, column 1: `P1` is not a direct member of zone `w`, which declares this route",
    );
    refuse(
        "<bypassRoute src=\"P1\" dst=\"Q\" symmetrical=\"NO\"/>",
        "line 2, column 31: <bypassRoute> has no attribute `symmetrical`",
    );
}

/// A zone with `routing="Cluster"`, a host `h` and a link `l`.
fn star(elements: &str) -> String {
    format!(
        "<platform version=\"4.1\"><zone id=\"s\" routing=\"Cluster\"><host id=\"h\" speed=\"1\"/>\
         <link id=\"l\" bandwidth=\"1\"/>\n{elements}</zone></platform>"
    )
}

#[test]
fn hosts_without_links_to_the_backbone_are_warned_of() {
    let cabinet = "<cabinet id=\"c\" prefix=\"n\" suffix=\"\" radical=\"1-2\" speed=\"1\" bw=\"1\" lat=\"0\"/>";
    let platform = xml(&star(cabinet)).unwrap();
    assert_eq!(
        platform.warnings(),
        ["no route leads from or to `h` of zone `s`: a message there ends the run"]
    );
    assert_eq!(way(&platform, "n1", "n2"), "link_n1_UP link_n2_DOWN");
    assert_eq!(way(&platform, "h", "h"), "__loopback__");
    let linked = format!("{cabinet}<host_link id=\"h\" up=\"l\" down=\"l\"/>");
    assert_eq!(xml(&star(&linked)).unwrap().warnings(), [""; 0]);
}

#[test]
fn wrong_elements_of_cabinets_are_refused() {
    let refuse = |elements: &str, expected: &str| {
        assert_eq!(xml(&star(elements)).unwrap_err().to_string(), expected);
    };
    let backbone = "<backbone id=\"b\" bandwidth=\"1\" latency=\"0\"/>";
    refuse(
        &format!("{backbone}\n{}", backbone.replace("id=\"b\"", "id=\"c\"")),
        "line 3, column 1: duplicate backbone of zone `s`",
    );
    let link = "<host_link id=\"h\" up=\"l\" down=\"l\"/>";
    refuse(
        &format!("{link}\n{link}"),
        "line 3, column 1: duplicate link of host `h`",
    );
    refuse(
        "<host_link id=\"g\" up=\"l\" down=\"l\"/>",
        "line 2, column 16: unknown host `g`",
    );
    refuse(
        "<host_link id=\"h\" up=\"l\" down=\"m\"/>",
        "line 2, column 32: unknown link `m`",
    );
    refuse(
        "<route src=\"h\" dst=\"h\"><link_ctn id=\"l\"/></route>",
        "line 2, column 1: <route> in a zone with routing=\"Cluster\" is not supported; connect its hosts \
         with <host_link>",
    );
    let elsewhere = star(backbone).replace("Cluster", "Full");
    assert_eq!(
        xml(&elsewhere).unwrap_err().to_string(),
        "line 2, column 1: <backbone> in this zone is not supported; it stands in a zone with \
         routing=\"Cluster\""
    );
}
