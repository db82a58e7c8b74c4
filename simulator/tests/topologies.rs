//! Routes and flows in topologies, bypasses and zones of cabinets against those of SimGrid 3.32.
//!
//! The data were written by `integration-tests/simgrid/topologies.sh`.

#![expect(clippy::unwrap_used, reason = "a test may")]

use std::path::{Path, PathBuf};
use std::sync::Arc;

use bsp::HostId;
use bsp::units::Bytes;
use simulator::{Activity, Engine, LinkId, NetworkOptions, Platform};

/// Names of the platforms.
const PLATFORMS: [&str; 11] = [
    "dragonfly",
    "dragonfly_shared",
    "fat_tree",
    "fat_tree_3_levels",
    "fat_tree_shared",
    "several",
    "torus_2d",
    "torus_3d",
    "torus_4d",
    "torus_ring",
    "zones",
];

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/data/topologies")
        .join(name)
}

fn platform(name: &str) -> Platform {
    let text = std::fs::read_to_string(file(&format!("{name}.xml"))).unwrap();
    Platform::from_simgrid_xml(&text, &mut |file| Err(file.to_owned())).unwrap()
}

fn host(platform: &Platform, name: &str) -> HostId {
    platform.host_by_name(name).unwrap()
}

/// Whether two numbers agree to twelve digits.
fn agree(found: f64, expected: f64) -> bool {
    (found - expected).abs() <= 1e-12 * expected
}

#[test]
fn routes_have_the_links_of_the_reference_in_its_order() {
    let mut links: Vec<LinkId> = Vec::new();
    let mut rows = 0;
    for name in PLATFORMS {
        let platform = platform(name);
        let mut reader = csv::Reader::from_path(file(&format!("{name}.routes.csv"))).unwrap();
        for row in reader.deserialize() {
            let (from, to, latency, bandwidth, names): (String, String, f64, f64, String) =
                row.unwrap();
            let ends = (host(&platform, &from), host(&platform, &to));
            platform.route(ends.0, ends.1, &mut links).unwrap();
            let links = || links.iter().map(|link| &platform.links()[link.index()]);
            let found: Vec<&str> = links().map(|link| link.name.as_str()).collect();
            assert_eq!(found.join(" "), names, "{name}: {from} to {to}");
            let sum: f64 = links().map(|link| link.latency.get()).sum();
            let lowest = links().map(|link| link.bandwidth.get());
            let lowest = lowest.fold(f64::INFINITY, f64::min);
            assert!(
                agree(sum, latency) && agree(lowest, bandwidth),
                "{name}: {from} to {to} takes {sum} s at {lowest} B/s, expected {latency} s at \
                 {bandwidth} B/s"
            );
            rows += 1;
        }
    }
    assert_eq!(rows, 2554);
}

#[test]
fn fifty_flows_together_end_when_they_do_in_the_reference() {
    for name in PLATFORMS {
        let platform = Arc::new(platform(name));
        let mut engine = Engine::new(Arc::clone(&platform), NetworkOptions::default());
        let mut expected = Vec::new();
        let mut reader = csv::Reader::from_path(file(&format!("{name}.flows.csv"))).unwrap();
        for (number, row) in (0..).zip(reader.deserialize()) {
            let (from, to, bytes, end): (String, String, u64, f64) = row.unwrap();
            let (from, to) = (host(&platform, &from), host(&platform, &to));
            engine
                .transfer(from, to, Bytes(bytes), Activity(number))
                .unwrap();
            expected.push(end);
        }
        assert_eq!(expected.len(), 50, "{name}");
        let mut ended = Vec::new();
        let mut count = 0;
        while let Some(now) = engine.advance(&mut ended) {
            for Activity(number) in ended.drain(..) {
                let expected = expected[usize::try_from(number).unwrap()];
                assert!(
                    agree(now.get(), expected),
                    "{name}: flow {number} ends at {} s, expected {expected} s ({:e})",
                    now.get(),
                    (now.get() - expected).abs() / expected
                );
                count += 1;
            }
        }
        assert_eq!(count, 50, "{name}");
    }
}
