//! The engine against values computed with SimGrid 4.1.

#![expect(clippy::unwrap_used, reason = "a test may")]

use std::collections::BTreeMap;
use std::sync::Arc;

use bsp::units::{Bytes, Instructions, Seconds};
use simulator::Platform;
use simulator::{Activity, Engine};
use simulator::{NetworkModel, NetworkOptions};

use chain::Chain;

#[path = "support/chain.rs"]
mod chain;

fn platform() -> Arc<Platform> {
    read(include_str!("data/five.xml"))
}

fn read(text: &str) -> Arc<Platform> {
    let platform = Platform::from_simgrid_xml(text, &mut |name| Err(name.to_owned()));
    Arc::new(platform.expect("the file is a platform"))
}

fn options(config: &str) -> NetworkOptions {
    let default = NetworkOptions::default();
    match config {
        "LV08" => default,
        "CM02" => NetworkOptions {
            model: NetworkModel::Ideal,
            ..default
        },
        "LV08_gamma64k" => NetworkOptions {
            tcp_window: Bytes(65_536),
            ..default
        },
        other => panic!("no such configuration: {other}"),
    }
}

struct Flow {
    from: String,
    to: String,
    bytes: u64,
    start: f64,
    end: f64,
}

/// Runs the flows of one case together and returns when each ends.
fn run(config: &str, flows: &[Flow]) -> Vec<f64> {
    run_on(&platform(), options(config), flows)
}

fn run_on(platform: &Arc<Platform>, options: NetworkOptions, flows: &[Flow]) -> Vec<f64> {
    let mut engine = Engine::new(Arc::clone(platform), options);
    let timers = 1 << 32;
    for (index, flow) in (0..).zip(flows) {
        engine.wake(Seconds::new(flow.start).unwrap(), Activity(timers + index));
    }
    let mut ends = vec![f64::NAN; flows.len()];
    let mut ended = Vec::new();
    while let Some(now) = engine.advance(&mut ended) {
        for Activity(token) in ended.drain(..) {
            if token < timers {
                ends[usize::try_from(token).unwrap()] = now.get();
                continue;
            }
            let flow = &flows[usize::try_from(token - timers).unwrap()];
            let host = |name: &str| platform.host_by_name(name).unwrap();
            let (from, to) = (host(&flow.from), host(&flow.to));
            engine
                .transfer(from, to, Bytes(flow.bytes), Activity(token - timers))
                .unwrap();
        }
    }
    ends
}

#[test]
fn every_flow_of_the_reference_ends_when_it_does_there() {
    let mut cases: BTreeMap<(String, String), Vec<Flow>> = BTreeMap::new();
    let mut reader = csv::Reader::from_reader(&include_bytes!("data/flows.csv")[..]);
    let mut rows = 0;
    for row in reader.deserialize() {
        let (config, case, index, from, to, bytes, start, end, _): (
            String,
            String,
            usize,
            String,
            String,
            f64,
            f64,
            f64,
            f64,
        ) = row.unwrap();
        let flows = cases.entry((config, case)).or_default();
        assert_eq!(flows.len(), index);
        let bytes = format!("{bytes}").parse().unwrap();
        flows.push(Flow {
            from,
            to,
            bytes,
            start,
            end,
        });
        rows += 1;
    }
    assert_eq!(rows, 837);
    for ((config, case), flows) in &cases {
        for (index, (flow, end)) in flows.iter().zip(run(config, flows)).enumerate() {
            let error = (end - flow.end).abs() / flow.end;
            assert!(
                error < 1e-12,
                "{config} {case} {index}: ends at {end}, expected {} ({error:e})",
                flow.end
            );
            if flow.start == 0.0 {
                continue;
            }
            // The clock's last digit is all that a late start may cost.
            let length = flow.end - flow.start;
            let error = (end - flow.start - length).abs();
            assert!(
                error <= 1e-12 * length + 4.0 * f64::EPSILON * end,
                "{config} {case} {index}"
            );
        }
    }
}

/// SimGrid 3.32 with `network/optim:Full`, and by hand: the link `x` carries 0.97 MB/s, of which a message takes its data
/// and a twentieth for acknowledgements, so all messages together move 0.97/1.05 MB/s, and 2 MB take 2.165 s. Without
/// latencies, both have the penalty 1 and equal rates. With 1 ms on `z`, the penalty of the second message is 1 ms +
/// 20537 B/x + 20537 B/z = 23.6 ms: from 13 ms on, it has 42.4 of 43.4 parts of `x`, and takes 1.108 s.
#[test]
fn messages_without_latency_have_the_penalty_of_the_reference() {
    let platform = |z: &str, latency: &str| {
        read(&format!(
            r#"<platform version="4.1"><zone id="world" routing="Full">
            <host id="a" speed="1Gf"/><host id="b" speed="1Gf"/><host id="c" speed="1Gf"/>
            <link id="x" bandwidth="1MBps" latency="0"/><link id="z" bandwidth="{z}" latency="{latency}"/>
            <route src="a" dst="b"><link_ctn id="x"/></route>
            <route src="a" dst="c"><link_ctn id="x"/><link_ctn id="z"/></route></zone></platform>"#
        ))
    };
    let lv08 = || options("LV08");
    let no_latency_factor = NetworkOptions {
        latency_factor: Some(0.0),
        ..lv08()
    };
    let equal = [2.164_948_453_608_247_7; 2];
    for (platform, options, bytes, ends) in [
        (
            platform("10MBps", "1ms"),
            lv08(),
            [1_000_000; 2],
            [equal[0], 1.121_020_551_546_391_8],
        ),
        (
            platform("10MBps", "1ms"),
            no_latency_factor,
            [1_000_000; 2],
            equal,
        ),
        (platform("1MBps", "0"), lv08(), [1_000_000; 2], equal),
        (
            platform("1MBps", "0"),
            lv08(),
            [1_500_000, 500_000],
            [equal[0], 1.082_474_226_804_123_9],
        ),
        (
            platform("1MBps", "0"),
            options("CM02"),
            [1_000_000; 2],
            [2.1; 2],
        ),
    ] {
        let flow = |to: &str, bytes: u64| Flow {
            from: "a".to_owned(),
            to: to.to_owned(),
            bytes,
            start: 0.0,
            end: f64::NAN,
        };
        let flows = [flow("b", bytes[0]), flow("c", bytes[1])];
        for (end, expected) in run_on(&platform, options, &flows).into_iter().zip(ends) {
            assert!(
                (end - expected).abs() < 1e-12 * expected,
                "{options:?}: {end}, {expected}"
            );
        }
    }
}

/// SimGrid 3.32: there, messages over a fat pipe limit each other, so the second one ends at 1.183 s.
#[test]
fn messages_over_a_fat_pipe_do_not_limit_each_other() {
    let platform = read(
        r#"<platform version="4.1"><zone id="world" routing="Full">
        <host id="a" speed="1Gf"/><host id="b" speed="1Gf"/><host id="c" speed="1Gf"/>
        <link id="x" bandwidth="1MBps" latency="1ms" sharing_policy="FATPIPE"/>
        <link id="z" bandwidth="10MBps" latency="1ms"/>
        <route src="a" dst="b"><link_ctn id="x"/></route>
        <route src="a" dst="c"><link_ctn id="x"/><link_ctn id="z"/></route></zone></platform>"#,
    );
    let flow = |to: &str| Flow {
        from: "a".to_owned(),
        to: to.to_owned(),
        bytes: 1_000_000,
        start: 0.0,
        end: f64::NAN,
    };
    let ends = run_on(&platform, options("LV08"), &[flow("b"), flow("c")]);
    // Each has 0.97 MB/s for itself, after 13 and 26 ms.
    for (end, latency) in ends.into_iter().zip([0.013_01, 0.026_02]) {
        assert!((end - latency - 1.0 / 0.97).abs() < 1e-12, "{end}");
    }
}

#[test]
fn whole_programs_end_as_in_the_reference() {
    let mut reader = csv::Reader::from_reader(&include_bytes!("data/applications.csv")[..]);
    let mut rows = 0;
    for row in reader.records() {
        let row = row.unwrap();
        if &row[1] != "lbm" || &row[8] != "par" {
            continue;
        }
        let platform = match &row[2] {
            "five.xml" => platform(),
            "five_loopback.xml" => read(include_str!("data/five_loopback.xml")),
            other => panic!("no such platform: {other}"),
        };
        let options = match &row[4] {
            "" => options("LV08"),
            "--cfg=network/model:CM02" => options("CM02"),
            "--cfg=network/crosstraffic:0" => NetworkOptions {
                cross_traffic: false,
                ..options("LV08")
            },
            other => panic!("no such option: {other}"),
        };
        let seconds = chain(&row[3], &row[7]).run(&platform, options);
        let expected: f64 = row[10].parse().unwrap();
        let error = (seconds - expected).abs() / expected;
        assert!(
            error < 1e-12,
            "{}: {seconds} s, expected {expected} s ({error:e})",
            &row[0]
        );
        rows += 1;
    }
    assert_eq!(rows, 16);
}

/// The program of a row's options.
fn chain(options: &str, mode: &str) -> Chain {
    let mut chain = Chain {
        rendezvous: mode == "rdv",
        ..Chain::default()
    };
    for option in options.split(' ') {
        let (name, value) = option.split_once('=').unwrap();
        let list = || -> Vec<u64> {
            let number = |text: &str| format!("{}", text.parse::<f64>().unwrap());
            value
                .split(',')
                .map(|text| number(text).parse().unwrap())
                .collect()
        };
        let number = || u32::try_from(list()[0]).unwrap();
        match name {
            "-P" => chain.size = number(),
            "-S" => chain.supersteps = number(),
            "-F" => chain.work = list(),
            "-B" => chain.bytes = list(),
            "--shifts" => {
                chain.shifts = list().iter().map(|a| u32::try_from(*a).unwrap()).collect();
            }
            "--ctrl" => chain.control = list()[0],
            "--ppn" => chain.per_host = number(),
            "--mode" => {}
            other => panic!("no such option: {other}"),
        }
    }
    chain
}

#[test]
fn two_computations_on_a_host_with_a_profile_end_as_in_the_reference() {
    let mut reader = csv::Reader::from_reader(&include_bytes!("data/profiles.csv")[..]);
    let mut rows = 0;
    for row in reader.deserialize() {
        let (_, profile, period, flops, speed, end_a, end_b): (
            String,
            String,
            f64,
            f64,
            f64,
            f64,
            f64,
        ) = row.unwrap();
        let platform = with_availability(&profile, (0.0 < period).then_some(period), speed);
        let mut engine = Engine::new(Arc::new(platform), NetworkOptions::default());
        let work = Instructions(format!("{flops}").parse().unwrap());
        let host = bsp::HostId(0);
        engine.compute(host, work, Activity(0));
        engine.wake(Seconds::new(0.7).unwrap(), Activity(2));
        let mut ends = [f64::NAN; 3];
        let mut ended = Vec::new();
        while let Some(now) = engine.advance(&mut ended) {
            for Activity(token) in ended.drain(..) {
                ends[usize::try_from(token).unwrap()] = now.get();
                if token == 2 {
                    engine.compute(host, work, Activity(1));
                }
            }
        }
        for (end, expected) in ends.into_iter().zip([end_a, end_b]) {
            let error = (end - expected).abs() / expected;
            assert!(
                error < 1e-9,
                "{profile}: ends at {end}, expected {expected}"
            );
        }
        rows += 1;
    }
    assert_eq!(rows, 6);
}

/// A platform of one host whose availability follows a profile like `0.5 0.5;1.0 1.0`.
fn with_availability(profile: &str, period: Option<f64>, speed: f64) -> Platform {
    let loop_after = period.map_or_else(String::new, |period| format!("PERIODICITY {period}\n"));
    let profile = format!("{loop_after}{}\n", profile.replace(';', "\n"));
    let text = format!(
        "<?xml version='1.0'?>\n\
         <!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n\
         <platform version=\"4.1\"><zone id=\"world\" routing=\"Full\">\n\
         <host id=\"host\" speed=\"{speed}f\" availability_file=\"profile\"/>\n\
         </zone></platform>\n"
    );
    Platform::from_simgrid_xml(&text, &mut |_| Ok(profile.clone())).expect("a platform of one host")
}
