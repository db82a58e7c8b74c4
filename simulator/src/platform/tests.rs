use std::time::Instant;

use bsp::HostId;

use super::*;

fn xml(text: &str) -> Platform {
    Platform::from_simgrid_xml(text, &mut |_| Err("no files here".to_owned())).unwrap()
}

fn names(platform: &Platform, from: &str, to: &str) -> Vec<String> {
    let mut links = Vec::new();
    let (from, to) = (
        platform.host_by_name(from).unwrap(),
        platform.host_by_name(to).unwrap(),
    );
    platform.route(from, to, &mut links).unwrap();
    links
        .iter()
        .map(|link| platform.links()[link.index()].name.clone())
        .collect()
}

const FIVE_XML: &str = include_str!("../../../conf/platforms/five.xml");
const FIVE_TOML: &str = include_str!("../../../conf/platforms/five.toml");

#[test]
fn both_formats_describe_the_same_platform() {
    let (xml, toml) = (xml(FIVE_XML), Platform::from_toml(FIVE_TOML).unwrap());
    assert_eq!(xml.hosts(), toml.hosts());
    assert_eq!(xml.sets(), toml.sets());
    assert_eq!(xml.links(), toml.links());
    let (mut a, mut b) = (Vec::new(), Vec::new());
    for from in 0..174 {
        for to in 0..174 {
            let there = xml.route(HostId(from), HostId(to), &mut a);
            assert_eq!(there, toml.route(HostId(from), HostId(to), &mut b));
            assert_eq!(a, b);
        }
    }
}

#[test]
fn speed() {
    let text = include_str!("../../../conf/platforms/hosts_100000.toml");
    let t = Instant::now();
    let p = Platform::from_toml(text).unwrap();
    println!("load {:?}", t.elapsed());
    println!("{:?}", names(&p, "c0-1", "c3-4"));
    println!("{:?}", names(&xml(FIVE_XML), "ice-3", "ice-3"));
    for p in [p, xml(FIVE_XML)] {
        let n = p.hosts().len() as u32;
        let mut links = Vec::new();
        let mut r = 12345u32;
        let t = Instant::now();
        let mut s = 0;
        for _ in 0..10_000_000 {
            r = r.wrapping_mul(1664525).wrapping_add(1013904223);
            let a = (r >> 8) % n;
            r = r.wrapping_mul(1664525).wrapping_add(1013904223);
            let b = (r >> 8) % n;
            p.route(HostId(a), HostId(b), &mut links).unwrap();
            s += links.len();
        }
        println!("random route {} ns {s}", t.elapsed().as_secs_f64() * 1e2);
        let t = Instant::now();
        for i in 0..10_000_000u32 {
            p.route(HostId(i % (n - 1)), HostId(i % (n - 1) + 1), &mut links)
                .unwrap();
            s += links.len();
        }
        println!("seq route {} ns {s}", t.elapsed().as_secs_f64() * 1e2);
    }
}
