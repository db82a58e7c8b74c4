//! Numbers of any magnitude: what the reader accepts can be simulated to its end.

#![expect(clippy::unwrap_used, reason = "a test may")]

use std::sync::Arc;

use bsp::HostId;
use bsp::units::{Bytes, Instructions};
use proptest::prelude::*;
use simulator::{Activity, Engine, NetworkModel, NetworkOptions, Platform};

/// Any number that is not negative.
fn magnitude() -> impl Strategy<Value = f64> {
    let ends = [
        0.0,
        5e-324,
        f64::MIN_POSITIVE,
        1e-304,
        1e-30,
        1e-6,
        1e9,
        1e30,
        f64::MAX,
    ];
    prop_oneof![
        (0..f64::INFINITY.to_bits()).prop_map(f64::from_bits),
        prop::sample::select(ends.to_vec()),
    ]
}

/// Numbers that the reader accepts for a rate.
fn rate() -> impl Strategy<Value = f64> {
    prop_oneof![
        prop::sample::select(vec![1e-6, 1e30]),
        (-6.0..30.0_f64).prop_map(|exponent| 10.0_f64.powf(exponent).clamp(1e-6, 1e30)),
    ]
}

/// Numbers that the reader accepts for a time.
fn time() -> impl Strategy<Value = f64> {
    prop_oneof![
        prop::sample::select(vec![0.0, 1e-30, 1e9]),
        (-30.0..9.0_f64).prop_map(|exponent| 10.0_f64.powf(exponent).clamp(1e-30, 1e9)),
    ]
}

/// Two Sets of two hosts. `rates` are speeds and bandwidths, `times` latencies, overheads and dates.
fn text(rates: &[f64], times: &[f64], is_shared: bool) -> String {
    let duplex = if is_shared { "shared" } else { "split" };
    format!(
        "core = {{ bandwidth = {}, latency = {}, duplex = \"shared\" }}\n\
         [[set]]\nname = \"a\"\nhosts = 2\nspeed = [{}, {}]\n\
         link = {{ bandwidth = {}, latency = {}, duplex = \"{duplex}\" }}\n\
         uplink = {{ bandwidth = {}, latency = {} }}\n\
         [[set]]\nname = \"b\"\nhosts = 2\nspeed = {}\nsend_overhead = {}\n\
         link = {{ bandwidth = {}, latency = {} }}\nuplink = {{ bandwidth = {} }}\n\
         [[congestion]]\nlink = \"core\"\nbandwidth = [[{}, {}]]\nlatency = [[{}, {}]]\n",
        toml(rates[0]),
        toml(times[0]),
        toml(rates[1]),
        toml(rates[2]),
        toml(rates[3]),
        toml(times[1]),
        toml(rates[4]),
        toml(times[2]),
        toml(rates[5]),
        toml(times[3]),
        toml(rates[6]),
        toml(times[4]),
        toml(rates[7]),
        toml(times[5]),
        toml(rates[8]),
        toml(times[6]),
        toml(times[7]),
    )
}

/// The number as a string of TOML, to the last digit.
fn toml(number: f64) -> String {
    format!("\"{number:e}\"")
}

/// Runs two rounds of computations on all hosts and of messages between all pairs of them.
fn run(platform: Platform, options: NetworkOptions, amounts: &[u64]) {
    let platform = Arc::new(platform);
    let mut engine = Engine::new(Arc::clone(&platform), options);
    let hosts = || (0..4).map(HostId);
    let mut last = engine.now();
    for round in 0..2 {
        let mut sizes = amounts.iter().copied().cycle().skip(round);
        let mut started = 0;
        for from in hosts() {
            let work = Instructions(sizes.next().unwrap());
            engine.compute(from, work, Activity(started));
            started += 1;
            for to in hosts() {
                let bytes = Bytes(sizes.next().unwrap());
                engine.transfer(from, to, bytes, Activity(started)).unwrap();
                started += 1;
            }
        }
        let mut ended = Vec::new();
        for _ in 0..started {
            let Some(now) = engine.advance(&mut ended) else {
                break;
            };
            assert!(last <= now && now.get().is_finite());
            last = now;
        }
        ended.sort();
        let all: Vec<Activity> = (0..started).map(Activity).collect();
        assert_eq!(ended, all, "every activity ends, and ends once");
    }
}

fn options() -> impl Strategy<Value = NetworkOptions> {
    any::<[bool; 2]>().prop_map(|[is_ideal, cross_traffic]| NetworkOptions {
        model: if is_ideal {
            NetworkModel::Ideal
        } else {
            NetworkModel::Lv08
        },
        cross_traffic,
        ..NetworkOptions::default()
    })
}

fn amounts() -> impl Strategy<Value = Vec<u64>> {
    let amount = prop_oneof![
        prop::sample::select(vec![0, 1, 8, 1_000_000, u64::MAX]),
        any::<u64>().prop_map(|bits| bits >> (bits % 64)),
    ];
    prop::collection::vec(amount, 1..8)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, ..ProptestConfig::default() })]

    #[test]
    fn whatever_is_read_can_be_run_to_its_end(
        mut rates in prop::collection::vec(rate(), 9),
        mut times in prop::collection::vec(time(), 8),
        replaced in prop::collection::vec((any::<prop::sample::Index>(), magnitude()), 1..3),
        is_shared in any::<bool>(),
        options in options(),
        amounts in amounts(),
    ) {
        let numbers = rates.len() + times.len();
        for (at, number) in replaced {
            let mut all = rates.iter_mut().chain(&mut times);
            *all.nth(at.index(numbers)).unwrap() = number;
        }
        if let Ok(platform) = Platform::from_toml(&text(&rates, &times, is_shared)) {
            run(platform, options, &amounts);
        }
    }

    #[test]
    fn every_rate_and_time_in_range_is_read_and_run_to_its_end(
        rates in prop::collection::vec(rate(), 9),
        times in prop::collection::vec(time(), 8),
        is_shared in any::<bool>(),
        options in options(),
        amounts in amounts(),
    ) {
        run(Platform::from_toml(&text(&rates, &times, is_shared)).unwrap(), options, &amounts);
    }
}

/// Rates that differ by 30 digits: nothing is left of the smaller ones when the larger are subtracted.
#[test]
fn what_rounding_cancels_is_summed_anew() {
    let text = r#"
core = { bandwidth = "1e30", latency = "0e0", duplex = "shared" }
[[set]]
name = "a"
hosts = 2
speed = ["1.0793513067378353e6", "1.804007338226977e27"]
link = { bandwidth = "1e30", latency = "0e0", duplex = "shared" }
uplink = { bandwidth = "1e30", latency = "1e-30" }
[[set]]
name = "b"
hosts = 2
speed = "1e30"
send_overhead = "2.032865050868001e-10"
link = { bandwidth = "1e30", latency = "2.3569096261486143e-19" }
uplink = { bandwidth = "1.3818329335281433e26" }
[[congestion]]
link = "core"
bandwidth = [["1e-30", "1.3128087176771527e26"]]
latency = [["0e0", "0e0"]]
"#;
    let options = NetworkOptions {
        model: NetworkModel::Ideal,
        cross_traffic: false,
        ..NetworkOptions::default()
    };
    let amounts = [7_745_106_319_654_701_824, u64::MAX, 1];
    run(Platform::from_toml(text).unwrap(), options, &amounts);
}
