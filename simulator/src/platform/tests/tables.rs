//! Our own TOML.

use bsp::units::{Instant, Seconds};

use super::*;

const PAIR: &str = r#"[[set]]
name = "a"
hosts = 2
speed = "1 Gf"
link = { bandwidth = "10 MBps", latency = "1 ms" }
[[set]]
name = "b"
hosts = ["x", "y"]
speed = ["1 Gf", "2 Gf"]
cores = 4
link = { bandwidth = 1e7, duplex = "shared" }
loopback = { bandwidth = "1 GBps" }
limiter = "5 MBps"
"#;
const LINK: &str = r#"[[link]]
name = "l"
between = ["a", "b"]
bandwidth = "1 MBps"
duplex = "split"
"#;

fn read(more: &str) -> Result<Platform, PlatformError> {
    Platform::from_toml(&format!("{PAIR}{more}"))
}

/// The message for tables behind the first 13 lines.
#[track_caller]
fn refuse(more: &str, expected: &str) {
    assert_eq!(read(more).unwrap_err().to_string(), expected);
}

#[test]
fn links_between_sets_are_used_in_both_directions() {
    let platform = read(LINK).unwrap();
    assert_eq!(
        way(&platform, "a-1", "y"),
        "a_link_1_UP l_UP b_link_y b_link_y_limiter"
    );
    assert_eq!(
        way(&platform, "x", "a-2"),
        "b_link_x_limiter b_link_x l_DOWN a_link_2_DOWN"
    );
    assert_eq!(way(&platform, "x", "x"), "b_link_x_loopback");
    assert_eq!(platform.hosts()[3].speed.get().to_bits(), 2e9_f64.to_bits());
    assert_eq!(platform.hosts()[3].cores, 4);
}

#[test]
fn hosts_of_a_set_may_be_ranges() {
    let named = |hosts: &str| {
        let text = PAIR.replace("hosts = 2", &format!("hosts = {hosts}"));
        Platform::from_toml(&format!("{text}{LINK}"))
    };
    let platform = named("[\"n-9..11\", \"head\"]").unwrap();
    let names = platform.hosts().iter().map(|host| host.name.as_str());
    assert_eq!(
        names.collect::<Vec<_>>(),
        ["n-9", "n-10", "n-11", "head", "x", "y"]
    );
    assert!(named("[\"n-4..1\"]").is_err());
    assert!(named("[\"n-0..4999999\"]").is_err());
}

#[test]
fn control_characters_in_names_are_refused() {
    const WOULD_DO: &str =
        "has control characters; expected a name without line breaks, tabs and escapes";
    for (from, to, at) in [
        (
            "name = \"a\"",
            r#"name = "a\u001b[2J""#,
            r#"line 2, column 8: invalid name of a zone: "a\u{1b}[2J""#,
        ),
        (
            "\"x\"",
            r#""x\ny""#,
            r#"line 7, column 8: invalid name of a host: "x\ny""#,
        ),
        (
            "name = \"l\"",
            r#"name = "l\rm""#,
            r#"line 15, column 8: invalid name of a link: "l\rm_UP""#,
        ),
    ] {
        let text = format!("{PAIR}{LINK}");
        assert!(text.contains(from), "{from}");
        let error = Platform::from_toml(&text.replacen(from, to, 1)).unwrap_err();
        assert_eq!(error.to_string(), format!("{at} {WOULD_DO}"));
    }
    let hosts = "hosts = 2\nprefix = \"\\u009b2J\"";
    let error = Platform::from_toml(&PAIR.replacen("hosts = 2", hosts, 1)).unwrap_err();
    assert!(
        matches!(error.kind, PlatformErrorKind::Name { what: "host", .. }),
        "{error}"
    );
}

#[test]
fn routes_come_before_links() {
    let more = format!(
        "{LINK}[[link]]\nname = \"m\"\nbandwidth = \"1 MBps\"\n[[route]]\nbetween = [\"a\", \"b\"]\n\
         links = [\"m\", \"l_DOWN\"]\none_way = true\n"
    );
    let platform = read(&more).unwrap();
    assert_eq!(
        way(&platform, "a-1", "x"),
        "a_link_1_UP m l_DOWN b_link_x b_link_x_limiter"
    );
    assert_eq!(
        way(&platform, "x", "a-1"),
        "b_link_x_limiter b_link_x l_DOWN a_link_1_DOWN"
    );
    let both = read(&more.replace("one_way = true\n", "")).unwrap();
    assert_eq!(
        way(&both, "x", "a-1"),
        "b_link_x_limiter b_link_x l_UP m a_link_1_DOWN"
    );
}

#[test]
fn ranges_repeat_sets_and_links() {
    let text = r#"[[set]]
name = "s1..4"
hosts = 3
prefix = "{set}n"
first = 0
speed = "1 Gf"
link = { bandwidth = "1 MBps" }
[[link]]
name = "mesh"
between = ["s1..4", "s1..4"]
bandwidth = "1 MBps"
"#;
    let platform = Platform::from_toml(text).unwrap();
    assert_eq!(platform.hosts().len(), 12);
    assert_eq!(
        way(&platform, "s4n0", "s2n2"),
        "s4_link_0_UP mesh-s2-s4 s2_link_2_DOWN"
    );
}

#[test]
fn overheads_are_those_of_the_sets() {
    let zero = Overhead::default();
    let cost = |platform: &Platform, from: u32, to: u32| {
        platform
            .route(HostId(from), HostId(to), &mut Vec::new())
            .unwrap()
    };
    assert_eq!(cost(&read(LINK).unwrap(), 0, 2), zero);
    let text = format!("{PAIR}{LINK}").replace("limiter", "send_overhead = \"1 us\"\nlimiter");
    let platform = Platform::from_toml(&text).unwrap();
    let micro = Seconds::new(1e-6).unwrap();
    assert_eq!(cost(&platform, 0, 2), zero);
    assert_eq!(
        cost(&platform, 2, 0),
        Overhead {
            send: micro,
            receive: Seconds::ZERO
        }
    );
    let more = "[[overhead]]\nbetween = [\"a\", \"b\"]\nreceive = \"1 us\"\n";
    let platform = Platform::from_toml(&format!("{text}{more}")).unwrap();
    assert_eq!(
        cost(&platform, 0, 2),
        Overhead {
            send: Seconds::ZERO,
            receive: micro
        }
    );
    assert_eq!(
        cost(&platform, 2, 0),
        Overhead {
            send: micro,
            receive: micro
        }
    );
    assert_eq!(
        cost(&platform, 2, 3),
        Overhead {
            send: micro,
            receive: Seconds::ZERO
        }
    );
}

#[test]
fn loads_availability_and_congestion_change_over_time() {
    let more = format!(
        "{LINK}[[load]]\nhosts = \"a-1..2\"\npoints = [[\"10 s\", 0.5], [20, 0]]\nperiod = \"1 min\"\n\
         [[availability]]\nhosts = [\"b\", \"a-1\"]\npoints = [[0, 0.25]]\n\
         [[congestion]]\nlink = \"l\"\nbandwidth = [[\"1 s\", \"100 kBps\"]]\n\
         [[host]]\nhosts = \"x\"\nspeed = \"3 Gf\"\n"
    );
    let platform = read(&more).unwrap();
    let at = |seconds| Instant::new(seconds).unwrap();
    let load = |host: usize| platform.hosts()[host].load.as_ref();
    assert_eq!(load(1).unwrap().value(at(75.0)), Some(0.5));
    assert_eq!(load(2), None);
    let available: Vec<bool> = platform
        .hosts()
        .iter()
        .map(|host| host.availability.is_some())
        .collect();
    assert_eq!(available, [true, false, true, true]);
    let congested = platform
        .links()
        .iter()
        .filter(|link| link.bandwidth_profile.is_some());
    assert_eq!(congested.count(), 2);
    assert_eq!(platform.hosts()[2].speed.get().to_bits(), 3e9_f64.to_bits());
}

#[test]
fn unknown_keys_and_wrong_types_are_refused_with_their_place() {
    refuse(
        "[[link]]\nname = \"l\"\nbandwith = 1\n",
        "line 16, column 1: unknown field `bandwith`, expected one of `name`, `between`, \
         `bandwidth`, `latency`, `duplex`",
    );
    refuse("[[link]]\n", "line 14, column 1: missing field `name`");
    refuse(
        "[[link]\n",
        "line 14, column 8: unclosed array table, expected `]`",
    );
    let text = PAIR.replace("hosts = 2", "hosts = \"two\"");
    assert_eq!(
        Platform::from_toml(&text).unwrap_err().to_string(),
        "line 3, column 9: expected a number of hosts or a list of their names"
    );
}

#[test]
fn invalid_values_are_refused_with_their_place() {
    let change = |from: &str, to: &str, expected: &str| {
        let text = format!("{}{LINK}", PAIR.replacen(from, to, 1));
        assert_eq!(
            Platform::from_toml(&text).unwrap_err().to_string(),
            expected
        );
    };
    change(
        "\"1 Gf\"",
        "\"1 Gff\"",
        "line 4, column 9: invalid value `1 Gff` for `speed`: unknown unit `Gff` (did you mean `Gf`?), must be a speed such as `1.5 Gf` or `1.5 Ginstr/s`",
    );
    change(
        "hosts = 2",
        "hosts = 0",
        "line 3, column 9: invalid value `none` for `hosts`: must be at least one host",
    );
    change(
        "\"1 ms\"",
        "-1",
        "line 5, column 43: invalid value `-1` for `latency`: must be at least 0",
    );
    change(
        "1e7",
        "0",
        "line 11, column 22: invalid value `0` for `bandwidth`: must be positive",
    );
    change(
        "\"shared\"",
        "\"half\"",
        "line 11, column 36: invalid value `half` for `duplex`: must be \"split\", \"shared\" or \"fatpipe\"",
    );
    change(
        "[\"1 Gf\", \"2 Gf\"]",
        "[\"1 Gf\"]",
        "line 9, column 9: `speed` lists 1 values for 2 hosts",
    );
    change(
        "cores = 4",
        "cores = 0",
        "line 10, column 9: invalid value `0` for `cores`: must be a number of cores, from 1 to 65536",
    );
    change("\"y\"", "\"x\"", "line 7, column 8: duplicate host `x`");
    change("\"y\"", "\"a\"", "line 7, column 8: duplicate host `a`");
    change(
        "name = \"b\"",
        "name = \"a\"",
        "line 7, column 8: duplicate zone `a`",
    );
    change(
        "name = \"b\"",
        "name = \"b2..1\"",
        "line 7, column 8: invalid value `b2..1` for `range of names`: must be the first and last number with `..` between them and the same zeros in front, as `labtec-1..5` and `labtec-01..05`",
    );
}

#[test]
fn every_pair_of_sets_has_to_be_connected() {
    refuse(
        "",
        "line 2, column 8: Sets `a` and `b` are not connected; add a [[link]] between them, a \
         [[route]], or an uplink to both",
    );
    refuse(
        &LINK.replace("\"b\"]", "\"c\"]"),
        "line 16, column 11: unknown Set `c`",
    );
    refuse(
        &format!("{LINK}{}", LINK.replace("\"l\"", "\"m\"")),
        "line 20, column 8: duplicate route from `a` to `b`; a route also leads back unless it is \
         declared one-way",
    );
    refuse(
        &format!("{LINK}[[load]]\nhosts = \"a-3\"\npoints = [[0, 1]]\n"),
        "line 20, column 9: unknown host or Set `a-3`, did you mean `a-1`?",
    );
    refuse(
        &format!("{LINK}[[load]]\nhosts = \"*\"\npoints = [[0, 2]]\n"),
        "line 21, column 10: points: invalid value `2` at 0 s: must be a fraction from 0 to 1",
    );
    assert_eq!(
        Platform::from_toml("").unwrap_err().to_string(),
        "line 1, column 1: the platform has no hosts"
    );
}
