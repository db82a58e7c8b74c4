use super::*;
use crate::text::Layout;
use bsp::Rank;
use bsp::units::{Instant, Seconds};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use record::{Event, Superstep};
use serde_json::{Value, json};

#[test]
fn words_go_from_none_to_the_most_in_equal_steps() {
    let words = |most| Rounds::new(most, 1).words;
    assert_eq!(words(3), [0, 1, 2, 3]);
    assert_eq!(words(0), [0]);
    let many = words(16_384);
    assert_eq!((many.len(), many[1], many[64]), (65, 256, 16_384));
    assert_eq!(words(u32::MAX).last(), Some(&u32::MAX));
}

#[test]
fn only_rounds_after_the_first_count() {
    let rounds = Rounds::new(2, 2);
    // An empty superstep, a computation, three h-relations; three rounds, and the end.
    assert_eq!(rounds.supersteps(), 16);
    assert_eq!(rounds.words_of_round(), [0, 0, 0, 1, 2]);
    assert_eq!(rounds.flops_of_round(), [0, FLOPS, 0, 0, 0]);
    let measured: Vec<Measurement> = (0..16).map(|index| rounds.measurement(index)).collect();
    let of_round = [
        Measurement::None,
        Measurement::Rate,
        Measurement::Relation(0),
        Measurement::Relation(1),
        Measurement::Relation(2),
    ];
    let none = [Measurement::None; 5];
    let expected = [&none[..], &of_round, &of_round, &none[..1]].concat();
    assert_eq!(measured, expected);
}

#[test]
fn a_computation_is_whole_passes() {
    assert_eq!(u64::from(FLOPS) % workloads::h_relation::FLOPS_OF_A_PASS, 0);
}

const G: f64 = 8e-9;
const L: f64 = 7e-4;

/// Times of 65 numbers of words up to 65 536, each multiplied by up to `noise` more or less.
fn points(noise: f64, seed: u64) -> Vec<(f64, f64)> {
    let mut numbers = ChaCha8Rng::seed_from_u64(seed);
    let mut factor =
        || 1.0 + noise * (f64::from(numbers.next_u32()) / f64::from(u32::MAX) * 2.0 - 1.0);
    let words = (0..65).map(|step| f64::from(step * 1024));
    words
        .map(|words| (words, (G * words + L) * factor()))
        .collect()
}

#[track_caller]
fn check(points: &[(f64, f64)], within: f64) -> Fit {
    let fit = Fit::of(points).unwrap();
    assert!((fit.g / G - 1.0).abs() < within, "{fit:?}");
    assert!((fit.l / L - 1.0).abs() < within, "{fit:?}");
    fit
}

#[test]
fn times_on_a_line_give_its_g_and_l() {
    let fit = check(&points(0.0, 1), 1e-9);
    assert!(fit.residual < 1e-9, "{fit:?}");
    assert!((fit.at(1000.0) - 7.08e-4).abs() < 1e-12, "{fit:?}");
}

#[test]
fn noise_and_a_late_point_change_little() {
    for seed in 1..=20 {
        let mut points = points(0.05, seed);
        let fit = check(&points, 0.06);
        assert!((0.005..0.05).contains(&fit.residual), "{fit:?}");
        let late = usize::try_from(seed * 3).unwrap();
        points[late].1 *= 20.0;
        check(&points, 0.08);
    }
}

#[test]
fn the_scale_of_times_makes_no_difference() {
    for scale in [1e-150, 1e-9, 1e9, 1e150] {
        let points: Vec<_> = points(0.0, 1)
            .iter()
            .map(|(x, y)| (*x, y * scale))
            .collect();
        let fit = Fit::of(&points).unwrap();
        assert!((fit.g / (G * scale) - 1.0).abs() < 1e-9, "{fit:?}");
    }
}

#[test]
fn equal_times_have_no_g() {
    let fit = Fit::of(&[(0.0, 0.5), (1.0, 0.5), (2.0, 0.5)]).unwrap();
    let expected = Fit {
        g: 0.0,
        l: 0.5,
        residual: 0.0,
    };
    assert_eq!(fit, expected);
}

#[test]
fn points_without_a_line_have_no_fit() {
    for points in [
        vec![],
        vec![(1.0, 0.5)],
        vec![(1.0, 0.5), (1.0, 0.6)],
        vec![(0.0, 0.0), (1.0, 0.0)],
        vec![(0.0, f64::NAN), (1.0, f64::INFINITY), (2.0, -1.0)],
        vec![(0.0, f64::MAX), (f64::MAX, f64::MAX)],
    ] {
        assert_eq!(Fit::of(&points), None, "{points:?}");
    }
}

/// A job in which a superstep with h words takes what `time` says of h, and a computation takes 2^24 ns.
fn samples(rounds: &Rounds, time: impl Fn(f64) -> f64) -> Samples {
    let mut samples = Samples::new(rounds.clone());
    let words = rounds.words_of_round();
    let mut now = 0.0;
    for (index, words) in (0..rounds.supersteps()).zip(words.iter().cycle()) {
        let started = Instant::new(now).unwrap();
        now += time(f64::from(*words));
        samples.observe(&Event::Superstep(Superstep {
            index,
            started,
            ended: Instant::new(now).unwrap(),
            slowest: Rank(0),
            computation: Seconds::new(0.016_777_216).unwrap(),
            mean: None,
            took: None,
            messages: 0,
            notes: bsp::Notes::default(),
        }));
    }
    samples
}

#[track_caller]
fn close(value: &Value, expected: f64) {
    let value = value.as_f64().unwrap();
    assert!(
        (value / expected - 1.0).abs() < 1e-6,
        "{value}, not {expected}"
    );
}

#[test]
fn r_g_and_l_come_out_of_the_events_of_a_job() {
    let rounds = Rounds::new(100, 3);
    // Below the number of processes, messages are fewer than later.
    let samples = samples(&rounds, |words| {
        let l = if words < 4.0 { 1e-3 } else { 2e-3 };
        1e-5 * words + l
    });
    let mut report = Report::new(4, 2, &samples);
    report.add_pair(
        ["a", "b"].map(Into::into),
        ["n", "m"].map(Into::into),
        &samples,
    );
    let json = serde_json::to_value(&report).unwrap();
    close(&json["flops_per_second"], 1e9);
    close(&json["g_seconds"], 1e-5);
    close(&json["l_seconds"], 2e-3);
    close(&json["g_flops"], 1e4);
    close(&json["l_flops"], 2e6);
    close(&json["empty_seconds"], 1e-3);
    assert_eq!(json["repetitions"], 3);
    assert_eq!(json["each"].as_array().unwrap().len(), 65);
    let pair = &json["pairs"][0];
    assert_eq!(
        (&pair["sets"], &pair["fitted_from"]),
        (&json!(["a", "b"]), &json!(2))
    );
    assert!(pair["g_flops"].is_number());
}

#[test]
fn what_could_not_be_measured_is_not_set() {
    let of_nothing = Samples::new(Rounds::new(10, 1));
    let instant = samples(&Rounds::new(10, 1), |_| 0.0);
    for samples in [of_nothing, instant] {
        let report = Report::new(1, 1, &samples);
        let json = serde_json::to_value(&report).unwrap();
        for key in ["g_seconds", "l_seconds", "g_flops", "l_flops", "residual"] {
            assert_eq!(json[key], Value::Null, "{key}: {json}");
        }
        let text = report.document().text(Layout::default());
        assert!(!text.contains("NaN"), "{text}");
    }
    let equal = Report::new(1, 1, &samples(&Rounds::new(10, 2), |_| 0.25));
    assert_eq!(equal.all.g_seconds, Some(0.0));
    assert_eq!(equal.all.l_seconds, Some(0.25));
}
