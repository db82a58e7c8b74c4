//! `<trace>` and `<trace_connect>` of SimGrid's files.

use bsp::units::{Instant, Seconds};

use super::*;

/// A platform with these elements after a zone with host `h` and links `l`, `m_UP` and `m_DOWN`.
fn traced(elements: &str) -> String {
    format!(
        "<platform version=\"4.1\"><zone id=\"z\" routing=\"None\"><host id=\"h\" speed=\"1Gf\"/>\
         <link id=\"l\" bandwidth=\"1MBps\"/>\
         <link id=\"m\" bandwidth=\"1MBps\" sharing_policy=\"SPLITDUPLEX\"/></zone>\n{elements}</platform>"
    )
}

fn refuse(elements: &str, expected: &str) {
    assert_eq!(xml(&traced(elements)).unwrap_err().to_string(), expected);
}

const SPEED: &str = "<trace_connect kind=\"SPEED\" trace=\"t\" element=\"h\"/>";

#[test]
fn traces_become_profiles_of_hosts_and_links() {
    let text = traced(
        "<trace_connect kind=\"SPEED\" trace=\"t\" element=\"h\"/>
         <trace id=\"t\" periodicity=\"21.0\">\n # comment\n 0 1.0\n 11.0 0.5 \n</trace>
         <trace id=\"f\" periodicity=\"3\" file=\"file\"/>
         <trace id=\"once\" periodicity=\"0\">1 0.002</trace>
         <trace_connect kind=\"BANDWIDTH\" trace=\"f\" element=\"l\"/>
         <trace_connect kind=\"BANDWIDTH\" trace=\"f\" element=\"m_DOWN\"/>
         <trace_connect kind=\"LATENCY\" trace=\"once\" element=\"m\"/>
         <trace_connect kind=\"LINK_AVAIL\" trace=\"once\" element=\"l\"/>
         <trace_connect trace=\"once\" element=\"h\"/>",
    );
    let mut load = |file: &str| {
        assert_eq!(file, "file");
        Ok("0 1e6\n5 2e6\nPERIODICITY 7".to_owned())
    };
    let platform = Platform::from_simgrid_xml(&text, &mut load).unwrap();
    let speed = platform.hosts()[0].availability.as_ref().unwrap();
    assert_eq!(speed.period(), Some(Seconds::new(21.0).unwrap()));
    assert_eq!(speed.value(Instant::new(12.0).unwrap()), Some(0.5));
    let [l, up, down] = platform.links() else {
        panic!("{:?}", platform.links())
    };
    let bandwidth = l.bandwidth_profile.as_ref().unwrap();
    assert_eq!(bandwidth.period(), Some(Seconds::new(7.0).unwrap()));
    assert_eq!(down.bandwidth_profile, l.bandwidth_profile);
    assert_eq!(up.bandwidth_profile, None);
    let latency = up.latency_profile.as_ref().unwrap();
    assert_eq!((latency.period(), latency.points().len()), (None, 1));
    assert_eq!(down.latency_profile, up.latency_profile);
    assert_eq!(
        platform.warnings(),
        [
            "traces of kind LINK_AVAIL are ignored: links do not fail",
            "traces of kind HOST_AVAIL are ignored: hosts do not fail"
        ]
    );
}

#[test]
fn wrong_traces_are_refused_with_their_place() {
    let trace = |text: &str| format!("<trace id=\"t\" periodicity=\"9\">{text}</trace>\n{SPEED}");
    refuse(
        &trace("1 1\n0 1"),
        "line 2, column 31: profile `t`: invalid date `0`: must be after the previous point at 1 s",
    );
    refuse(
        &trace("0 1\n1"),
        "line 2, column 31: profile `t`, line 2: invalid line `1`: expected `<date> <value>`",
    );
    refuse(
        &trace("0 1\n20 2"),
        "line 2, column 31: profile `t`: invalid period `9`: must be longer than the 20 s from the first \
         point to the last",
    );
    refuse(
        &trace("0 -1"),
        "line 2, column 31: t: invalid value `-1` at 0 s: must be a factor of the host's speed, 0 or \
         from 1e-30 to 1e30",
    );
    refuse(
        &trace(" \n"),
        "line 2, column 1: a <trace> without points is not supported; write lines of date and value \
         inside it, or name their file in `file`",
    );
    refuse(
        &trace("STOCHASTIC\nEXP 1 DET 1"),
        "line 2, column 31: the stochastic profile `t` is not supported; draw it once and write down \
         dates and values",
    );
    refuse(
        &trace("0 1").replace('9', "-9"),
        "line 2, column 28: invalid value `-9` for `periodicity`: must be a time in seconds, or 0 if the \
         trace is not repeated",
    );
    refuse(
        &trace("0 1").replace(" periodicity=\"9\"", ""),
        "line 2, column 1: <trace> lacks the attribute `periodicity`",
    );
    refuse(
        &trace("0 1").replace(">0 1<", " file=\"f\"><"),
        "line 2, column 37: cannot read profile `f`: no files here",
    );
    refuse(
        "<trace id=\"t\" periodicity=\"0\">0 1</trace>\n<trace id=\"t\" periodicity=\"0\"/>",
        "line 3, column 12: duplicate trace `t`",
    );
}

#[test]
fn wrong_connections_are_refused_with_their_place() {
    let connect = |connection: &str| {
        format!("<trace id=\"t\" periodicity=\"0\">0 1</trace>\n<trace_connect {connection}/>")
    };
    refuse(
        &connect("kind=\"SPEED\" trace=\"tt\" element=\"h\""),
        "line 3, column 36: unknown trace `tt`, did you mean `t`?",
    );
    refuse(
        &connect("kind=\"SPEED\" trace=\"t\" element=\"l\""),
        "line 3, column 48: unknown host `l`",
    );
    refuse(
        &connect("kind=\"LATENCY\" trace=\"t\" element=\"h\""),
        "line 3, column 50: unknown link `h`",
    );
    refuse(
        &connect("trace=\"t\" element=\"nowhere\""),
        "line 3, column 35: unknown host `nowhere`",
    );
    refuse(
        &connect("kind=\"POWER\" trace=\"t\" element=\"h\""),
        "line 3, column 22: invalid value `POWER` for `kind`: must be SPEED, BANDWIDTH, LATENCY, \
         HOST_AVAIL or LINK_AVAIL",
    );
    refuse(
        &connect("kind=\"SPEED\" trace=\"t\""),
        "line 3, column 1: <trace_connect> lacks the attribute `element`",
    );
    refuse(
        &format!(
            "{}{SPEED}",
            connect("kind=\"SPEED\" trace=\"t\" element=\"h\"")
        ),
        "line 3, column 99: duplicate profile of `h`",
    );
}
