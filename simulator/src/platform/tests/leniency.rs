//! What files of other programs have: late declarations, byte order marks, `<config>`, hosts without a speed.

use bsp::units::Bytes;

use super::*;
use crate::network_options::{NetworkModel, NetworkSetting};

/// Two hosts and a router in one zone; what stands in the others' places is as given.
fn file(head: &str, config: &str, more: &str) -> String {
    format!(
        "{head}<?xml version='1.0'?>\n<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n\
         <platform version=\"4.1\">{config}\n<zone id=\"z\" routing=\"Full\">\n\
         <host id=\"a\" speed=\"1Gf\"/><host id=\"b\" speed=\"1Gf\"/>{more}\n\
         <link id=\"l\" bandwidth=\"1MBps\"/><route src=\"a\" dst=\"b\"><link_ctn id=\"l\"/></route>\n\
         </zone></platform>\n"
    )
}

/// SimGrid 3.32 reads all of these but the byte order mark.
#[test]
fn white_space_comments_and_marks_may_stand_before_the_declaration() {
    let plain = xml(&file("", "", "")).unwrap();
    for head in [
        "\n \r\n",
        "<!-- made\n by <?xml hand -->",
        "\n<!-- x -->\n <!-- y -->\n",
        "<?other?>\n",
        "\u{feff}",
        "\u{feff}\n<!-- \u{e9} -->",
        "<!-- two -- hyphens --->",
    ] {
        let platform = xml(&file(head, "", "")).unwrap_or_else(|error| panic!("{head:?}: {error}"));
        assert_eq!(platform.hosts(), plain.hosts());
        // Lines and columns are those of the file.
        let error = xml(&file(head, "", "<host id=\"c\" speed=\"x\"/>")).unwrap_err();
        let line = 5 + head.matches('\n').count();
        assert_eq!((error.line, error.column), (line, 73), "{head:?}");
    }
    // Two hyphens in a comment elsewhere, which ends nothing.
    let more = "<!-- a -- <host id=\"c\" speed=\"x\"/> \u{e9} ---><!----><!-- b -->\n<host id=\"d\" speed=\"x\"/>";
    let error = xml(&file("", "", more)).unwrap_err();
    assert_eq!((error.line, error.column), (6, 21));
    let error = xml("\u{feff}<platform version=\"5\"/>").unwrap_err();
    assert_eq!((error.line, error.column), (1, 20));
    for text in [
        "<!-- endless",
        "\n<?xml version='1.0'",
        "\n<?xmlish?>",
        "<?",
        "",
    ] {
        assert!(xml(text).is_err());
    }
}

#[test]
fn a_byte_order_mark_before_toml_is_no_text() {
    let text = "[[set]]\nname = \"a\"\nhosts = 1\nspeed = 1\nlink = { bandwidth = 1 }\n";
    let marked = format!("\u{feff}{text}");
    let (plain, marked) = (Platform::from_toml(text), Platform::from_toml(&marked));
    assert_eq!(plain.unwrap().hosts(), marked.unwrap().hosts());
    let error = Platform::from_toml("\u{feff}[[sets]]\n").unwrap_err();
    assert_eq!((error.line, error.column), (1, 3));
}

/// The settings of a file with these properties in `<config>`, and its warnings.
fn configured(properties: &[(&str, &str)]) -> Result<Platform, PlatformError> {
    let properties: String = properties
        .iter()
        .map(|(id, value)| format!("\n<prop id=\"{id}\" value=\"{value}\"/>"))
        .collect();
    xml(&file(
        "",
        &format!("<config id=\"General\">{properties}</config>"),
        "",
    ))
}

#[test]
fn properties_of_the_network_model_are_settings() {
    let platform = configured(&[
        ("network/model", "CM02"),
        ("network/latency_factor", "1.5"),
        ("network/bandwidth-factor", "0.9"),
        ("surf/weight_S", "8775"),
        ("network/TCP_gamma", "65536.0"),
        ("network/crosstraffic", "0"),
        ("network/TCP-gamma", "0"),
        ("network/loopback-bw", "498000000"),
        ("network/loopback-lat", "0.000004"),
    ])
    .unwrap();
    let settings: Vec<_> = platform
        .network_settings()
        .iter()
        .map(|configured| (configured.line, configured.setting))
        .collect();
    let unlimited = Bytes(i64::MAX.unsigned_abs());
    assert_eq!(
        settings,
        [
            (4, NetworkSetting::Model(NetworkModel::Ideal)),
            (5, NetworkSetting::LatencyFactor(1.5)),
            (6, NetworkSetting::BandwidthFactor(0.9)),
            (7, NetworkSetting::WeightSize(8775.0)),
            (8, NetworkSetting::TcpWindow(Bytes(65_536))),
            (9, NetworkSetting::CrossTraffic(false)),
            (10, NetworkSetting::TcpWindow(unlimited)),
        ]
    );
    assert_eq!(platform.warnings(), [""; 0]);
    let loopback = platform.links().last().unwrap();
    assert_eq!(loopback.name, "__loopback__");
    assert_eq!(loopback.bandwidth.get().to_bits(), 498e6_f64.to_bits());
    assert_eq!(loopback.latency.get().to_bits(), 4e-6_f64.to_bits());
}

#[test]
fn properties_without_a_meaning_are_named() {
    let platform = configured(&[
        ("network/model", "SMPI"),
        ("maxmin/precision", "1e-9"),
        ("network/bandwidth-factor", "65472:0.940694;15424:0.697866"),
        ("smpi/lat_factor", "0:1.01;1420:4.02"),
    ])
    .unwrap();
    assert_eq!(platform.network_settings(), []);
    assert_eq!(
        platform.warnings(),
        [
            "<config> sets what has no meaning here, and is ignored: `network/model` SMPI, \
             `maxmin/precision`, `network/bandwidth-factor`, `smpi/lat_factor`"
        ]
    );
    for (id, value, rule) in [
        ("network/latency-factor", "-1", "a factor from 0 to 10000"),
        (
            "network/latency-factor",
            "1e300",
            "a factor from 0 to 10000",
        ),
        (
            "network/bandwidth-factor",
            "0",
            "a factor from 0.001 to 1000",
        ),
        (
            "network/weight-S",
            "1e13",
            "a number of bytes from 0 to 1e12",
        ),
        (
            "network/TCP-gamma",
            "-1",
            "0, for no limit, or a number of bytes from 1",
        ),
        ("network/crosstraffic", "maybe", "yes or no"),
    ] {
        let error = configured(&[(id, value)]).unwrap_err();
        let text = format!(
            "line 4, column {}: invalid value `{value}` for `value`: must be {rule}",
            20 + id.len()
        );
        assert_eq!(error.to_string(), text);
    }
    let error = configured(&[("network/loopback-bw", "x")]).unwrap_err();
    assert_eq!((error.line, error.column), (4, 39));
}

#[test]
fn a_host_of_speed_0_is_a_point_of_the_network() {
    let more = "<host id=\"m\" speed=\"0Mf, 1Gf\" core=\"4\"/><link id=\"k\" bandwidth=\"1MBps\"/>\
                <route src=\"a\" dst=\"m\"><link_ctn id=\"k\"/></route>";
    let platform = xml(&file("", "", more)).unwrap();
    assert_eq!(platform.idle_hosts(), ["m"]);
    assert_eq!(platform.host_by_name("m"), None);
    assert_eq!(platform.hosts().len(), 2);
    assert_eq!(way(&platform, "a", "b"), "l");
    assert_eq!(platform.unrouted().unrouted, 0);
    // Its other state has a speed.
    let other = more.replace("core=\"4\"", "pstate=\"1\"");
    assert_eq!(xml(&file("", "", &other)).unwrap().idle_hosts(), [""; 0]);
    // A gateway leads on; a host of a cluster and of a cabinet has its links.
    let gateway = r#"<platform version="4.1"><zone id="w" routing="Full">
        <cluster id="c" prefix="m" suffix="" radical="0-1" speed="0" bw="1" lat="0"/>
        <zone id="k" routing="Cluster"><cabinet id="k1" prefix="s" suffix="" radical="1-2" speed="0f" bw="1" lat="0"/>
        <host id="h" speed="1"/><link id="hl" bandwidth="1"/><host_link id="h" up="hl" down="hl"/></zone>
        <zone id="x" routing="None"><host id="y" speed="1"/></zone>
        <link id="l" bandwidth="1"/><zoneRoute src="k" dst="x" gw_src="s2" gw_dst="y"><link_ctn id="l"/></zoneRoute>
        </zone></platform>"#;
    let platform = xml(gateway).unwrap();
    assert_eq!(platform.idle_hosts(), ["m0", "m1", "s1", "s2"]);
    assert_eq!(platform.sets().len(), 2);
    assert_eq!(way(&platform, "h", "y"), "hl link_s2_DOWN l");
    let idle = "<platform version=\"4.1\"><zone id=\"z\" routing=\"Full\"><host id=\"a\" speed=\"0\"/></zone></platform>";
    assert_eq!(
        xml(idle).unwrap_err().to_string(),
        "line 1, column 1: all hosts have speed 0, so none can hold a process; give the others their speed"
    );
}

#[test]
fn speeds_that_no_clock_can_count_are_refused_with_their_place() {
    for speed in ["1e300", "1e310", "-1", "1e-320", "nan", "inf"] {
        let more = format!("<host id=\"c\" speed=\"{speed}\"/>");
        let error = xml(&file("", "", &more)).unwrap_err();
        assert_eq!((error.line, error.column), (5, 73), "{speed}");
    }
}

#[test]
fn routers_may_stand_beside_zones() {
    let text = r#"<platform version="4.1"><zone id="w" routing="ROUTING"><router id="r"/>
        <zone id="p" routing="Full"><host id="a" speed="1"/></zone><router id="s"/>
        <zone id="q" routing="Full"><host id="b" speed="1"/></zone>
        <link id="l" bandwidth="1"/><link id="k" bandwidth="1"/>
        <zoneRoute src="p" dst="q" gw_src="a" gw_dst="b"><link_ctn id="l"/></zoneRoute>
        <route src="r" dst="s"><link_ctn id="k"/></route></zone></platform>"#;
    for routing in ["Full", "Floyd", "Dijkstra"] {
        let platform = xml(&text.replace("ROUTING", routing)).unwrap();
        assert_eq!(way(&platform, "a", "b"), "l");
        assert_eq!(way(&platform, "b", "a"), "l");
        assert_eq!(platform.unrouted().unrouted, 0);
    }
}
