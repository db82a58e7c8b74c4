//! What a superstep costs: each process computes, sends 100 kB to the next, and meets all others at
//! a central barrier, which takes 8 B each way.
//!
//! Criterion's element is one process in one superstep: a computation and three messages.

use std::fmt::Write as _;
use std::hint::black_box;
use std::sync::Arc;
use std::time::Duration;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use simulator::{NetworkOptions, Platform};

use chain::Chain;

#[path = "../tests/support/chain.rs"]
mod chain;

fn five() -> Arc<Platform> {
    read(include_str!("../tests/data/five.xml"))
}

/// Ten clusters of `hosts` hosts each, every two of them joined by a link.
fn grid(hosts: usize) -> Arc<Platform> {
    let mut text = "<?xml version='1.0'?>\n<platform version=\"4.1\">\n\
                    <zone id=\"world\" routing=\"Full\">\n"
        .to_owned();
    let mut joints = String::new();
    for at in 0..10 {
        writeln!(
            text,
            "<cluster id=\"c{at}\" prefix=\"c{at}-\" radical=\"0-{}\" suffix=\"\" speed=\"1.{}Gf\" \
             core=\"1\" bw=\"125.0MBps\" lat=\"25us\" sharing_policy=\"SPLITDUPLEX\" \
             bb_bw=\"1250MBps\" bb_lat=\"10us\" bb_sharing_policy=\"SHARED\" \
             router_id=\"c{at}-router\"/>",
            hosts - 1,
            at % 7,
        )
        .expect("a text takes all that is written");
        for to in at + 1..10 {
            let latency = 100 + 150 * (to - at);
            writeln!(
                joints,
                "<link id=\"wan-c{at}-c{to}\" bandwidth=\"1250MBps\" latency=\"{latency}us\" \
                 sharing_policy=\"SHARED\"/>\n\
                 <zoneRoute src=\"c{at}\" dst=\"c{to}\" gw_src=\"c{at}-router\" \
                 gw_dst=\"c{to}-router\"><link_ctn id=\"wan-c{at}-c{to}\"/></zoneRoute>",
            )
            .expect("a text takes all that is written");
        }
    }
    let (links, routes): (Vec<_>, Vec<_>) =
        joints.lines().partition(|line| line.starts_with("<link "));
    for line in links.into_iter().chain(routes) {
        text.push_str(line);
        text.push('\n');
    }
    text.push_str("</zone></platform>\n");
    read(&text)
}

fn read(text: &str) -> Arc<Platform> {
    let platform = Platform::from_simgrid_xml(text, &mut |name| Err(name.to_owned()));
    Arc::new(platform.expect("the text is a platform"))
}

/// `size` different amounts of work, up to `spread` apart relatively, in no order.
fn jittered(size: u32, spread: f64) -> Vec<u64> {
    let mut state = 1_u64;
    let mut draw = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (state >> 11) as f64 / (1_u64 << 53) as f64
    };
    (0..size)
        .map(|_| {
            format!("{:.0}", 1e9 * (1.0 + spread * draw()))
                .parse()
                .expect("a whole number")
        })
        .collect()
}

fn engine(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("superstep");
    group
        .sample_size(10)
        .warm_up_time(Duration::from_millis(500));
    let five = five();
    let grids = [100, 1000, 10_000].map(|hosts| (10 * hosts, grid(hosts)));
    let mut cases = vec![("five", &five, 200, 200)];
    cases.extend(grids.iter().map(|(hosts, grid)| {
        let size = u32::try_from(*hosts).expect("a small number");
        ("grid", grid, size, (100_000 / size).max(2))
    }));
    cases.push(("grid_10_1000", &grids[1].1, 200, 200));
    for (name, platform, size, supersteps) in cases {
        for (kind, spread) in [
            ("equal", None),
            ("jitter_1e-3", Some(1e-3)),
            ("jitter_1", Some(1.0)),
        ] {
            let repeats = spread.is_none() && name == "grid_10_1000";
            if repeats || (spread.is_some() && size == 100_000) {
                continue;
            }
            let work = spread.map_or_else(|| vec![1_000_000_000], |spread| jittered(size, spread));
            let chain = Chain {
                size,
                supersteps,
                work,
                ..Chain::default()
            };
            group.throughput(Throughput::Elements(
                u64::from(size) * u64::from(supersteps),
            ));
            group.bench_function(
                BenchmarkId::new(format!("{name}_{kind}"), size),
                |bencher| {
                    bencher.iter(|| black_box(chain.run(platform, NetworkOptions::default())));
                },
            );
        }
    }
    group.finish();
}

criterion_group!(benches, engine);
criterion_main!(benches);
