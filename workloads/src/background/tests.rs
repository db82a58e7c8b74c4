//! Traces of all patterns.

use super::*;

fn seconds(value: f64) -> Seconds {
    Seconds::new(value).unwrap()
}

fn on_off() -> Pattern {
    Pattern::OnOff {
        level: 0.6,
        busy: seconds(20.0),
        idle: seconds(40.0),
    }
}

fn background(pattern: Pattern, share: f64, period: f64) -> Background {
    Background::new(pattern, share, seconds(0.5), seconds(period)).unwrap()
}

fn traces(background: &Background, seed: u64, numbers: &[u32]) -> Vec<(u32, Trace)> {
    background.traces(seed, Target::Hosts, numbers).collect()
}

fn mean(trace: &Trace) -> f64 {
    let ends = trace.points.iter().skip(1).map(|(date, _)| *date);
    let ends = ends.chain([trace.period]);
    let parts = trace.points.iter().zip(ends);
    let area: f64 = parts
        .map(|((date, fraction), end)| fraction * (end - *date).get())
        .sum();
    area / trace.period.get()
}

#[test]
fn a_trace_depends_on_seed_target_and_number_alone() {
    for pattern in [
        on_off(),
        Pattern::Walk { level: 0.8 },
        Pattern::Wave { level: 0.8 },
    ] {
        let all = background(pattern, 1.0, 3600.0);
        let traces_of_all = traces(&all, 7, &[0, 1, 2, 3, 4]);
        assert_eq!(traces(&all, 7, &[0, 1, 2, 3, 4]), traces_of_all);
        assert_eq!(traces(&all, 7, &[3])[0], traces_of_all[3]);
        let some = traces(&background(pattern, 0.4, 3600.0), 7, &[0, 1, 2, 3, 4]);
        assert_eq!(some.len(), 2);
        assert!(some.iter().all(|one| traces_of_all.contains(one)));
        assert_ne!(traces(&all, 8, &[3])[0], traces_of_all[3]);
        assert_ne!(traces_of_all[0].1, traces_of_all[1].1);
        let of_link = all.traces(7, Target::Links, &[3]).next();
        assert_ne!(of_link, Some(traces_of_all[3].clone()));
    }
}

#[test]
fn means_are_those_of_the_parameters() {
    let nominal = [
        (on_off(), 0.6 * 20.0 / 60.0),
        (Pattern::Walk { level: 0.8 }, 0.4),
        (Pattern::Wave { level: 0.8 }, 0.4),
    ];
    for (pattern, expected) in nominal {
        let numbers: Vec<u32> = (0..20).collect();
        let traces = traces(&background(pattern, 1.0, 36_000.0), 1, &numbers);
        let mean = traces.iter().map(|(_, trace)| mean(trace)).sum::<f64>() / 20.0;
        assert!((mean - expected).abs() < 0.01, "{pattern:?}: {mean}");
    }
}

#[test]
fn busy_and_idle_times_have_the_given_means() {
    let one = &traces(&background(on_off(), 1.0, 360_000.0), 1, &[0])[0].1;
    let mut lasted = [(0.0, 0.0); 2];
    for pair in one.points.windows(2) {
        let (sum, count) = &mut lasted[usize::from(0.0 < pair[0].1)];
        *sum += (pair[1].0 - pair[0].0).get();
        *count += 1.0;
    }
    let [(idle, idles), (busy, busies)] = lasted;
    assert!((idle / idles - 40.0).abs() < 2.0, "{}", idle / idles);
    assert!((busy / busies - 20.0).abs() < 1.0, "{}", busy / busies);
}

#[test]
fn traces_stay_in_range_and_change_in_every_point() {
    for pattern in [
        on_off(),
        Pattern::Walk { level: 1.0 },
        Pattern::Wave { level: 1.0 },
    ] {
        for (_, trace) in traces(&background(pattern, 1.0, 3600.0), 3, &[0, 1, 2]) {
            assert_eq!(trace.points[0].0, Seconds::ZERO);
            assert_eq!(trace.period, seconds(3600.0));
            assert!(
                trace
                    .points
                    .iter()
                    .all(|(_, fraction)| (0.0..=1.0).contains(fraction))
            );
            let changes = |pair: &[(Seconds, f64)]| {
                pair[0].0 < pair[1].0 && pair[0].1.to_bits() != pair[1].1.to_bits()
            };
            assert!(trace.points.windows(2).all(changes));
        }
    }
}

#[test]
fn a_trace_is_the_same_in_every_version() {
    let first = |pattern| {
        let trace = traces(&background(pattern, 1.0, 3600.0), 7, &[3])
            .remove(0)
            .1;
        let three: Vec<(f64, f64)> = trace.points[..3]
            .iter()
            .map(|(at, it)| (at.get(), *it))
            .collect();
        three
    };
    assert_eq!(first(on_off()), [(0.0, 0.0), (0.5, 0.6), (61.0, 0.0)]);
    assert_eq!(
        first(Pattern::Walk { level: 0.8 }),
        [(0.0, 0.30000000000000004), (1.0, 0.4), (2.5, 0.5)]
    );
    assert_eq!(
        first(Pattern::Wave { level: 0.8 }),
        [
            (0.0, 0.29434674270091593),
            (0.5, 0.2939656097923184),
            (1.0, 0.293584723797301)
        ]
    );
}

#[test]
fn errors_name_the_number_out_of_range() {
    let check = |pattern, share, step, period, expected: &str| {
        let error = Background::new(pattern, share, seconds(step), seconds(period)).unwrap_err();
        assert_eq!(error.to_string(), expected);
    };
    let walk = Pattern::Walk { level: 1.5 };
    check(
        walk,
        1.0,
        1.0,
        60.0,
        "invalid value `1.5` for `level`: must be a number from 0 to 1",
    );
    check(
        walk,
        -0.5,
        1.0,
        60.0,
        "invalid value `-0.5` for `share`: must be a number from 0 to 1",
    );
    check(
        walk,
        1.0,
        0.0,
        60.0,
        "invalid value `0.0` for `step`: must be a time of at least 1 us",
    );
    check(
        walk,
        1.0,
        1.0,
        0.5,
        "invalid value `0.5` for `period`: must be a time of one `step` to a million of them, 1e12 s at most",
    );
    check(
        walk,
        1.0,
        1e300,
        1.6e300,
        "invalid value `1.6e300` for `period`: must be a time of one `step` to a million of them, 1e12 s at most",
    );
    check(
        on_off(),
        1.0,
        30.0,
        60.0,
        "invalid value `20.0` for `busy`: must be a time of at least one `step`",
    );
}
