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

fn owners(utilisation: [f64; 2], lifetimes: Lifetimes, period: f64) -> OwnerLoad {
    OwnerLoad::new(utilisation, lifetimes, [0.5, 1.5], 1.0, seconds(period)).unwrap()
}

fn pareto() -> Lifetimes {
    Lifetimes::Pareto {
        shortest: seconds(2.0),
        longest: 100.0,
    }
}

fn jobs(load: &OwnerLoad, seed: u64, numbers: &[u32]) -> Vec<(u32, OwnerJobs)> {
    load.jobs(seed, numbers, |_| 2).collect()
}

#[test]
fn jobs_depend_on_seed_and_number_alone() {
    let load = owners([0.1, 0.6], pareto(), 3600.0);
    let all = jobs(&load, 7, &[0, 1, 2, 3]);
    assert_eq!(jobs(&load, 7, &[2])[0], all[2]);
    assert_ne!(jobs(&load, 8, &[2])[0], all[2]);
    assert_ne!(all[0].1, all[1].1);
    assert!(jobs(&owners([0.0, 0.0], pareto(), 3600.0), 7, &[0, 1]).is_empty());
}

#[test]
fn jobs_need_the_utilisation_that_was_drawn() {
    let exponential = Lifetimes::Exponential { mean: seconds(4.0) };
    for lifetimes in [pareto(), exponential] {
        let load = owners([0.3, 0.3], lifetimes, 2e6);
        let (_, owner) = jobs(&load, 3, &[5]).remove(0);
        let work: f64 = owner.jobs.iter().map(|job| job.lifetime).sum();
        // On two cores.
        let utilisation = work / 2.0 / owner.period.get();
        assert!((utilisation / 0.3 - 1.0).abs() < 0.02, "{utilisation}");
        assert!((owner.utilisation - 0.3).abs() < 1e-12);
    }
}

#[test]
fn lifetimes_have_the_moments_of_their_law() {
    // 2 ln 100 / (1 - 1 / 100), and with a second moment of 4 * 100.
    assert!((pareto().mean() - 9.3034).abs() < 1e-4);
    assert!((pareto().deviation() - 17.7045).abs() < 1e-3);
    let exponential = Lifetimes::Exponential { mean: seconds(9.0) };
    for lifetimes in [pareto(), exponential] {
        let load = OwnerLoad::new([0.5, 0.5], lifetimes, [1.0, 1.0], 1.0, seconds(1e6)).unwrap();
        let (_, owner) = jobs(&load, 1, &[0]).remove(0);
        let number = owner.jobs.len() as f64;
        let mean = owner.jobs.iter().map(|job| job.lifetime).sum::<f64>() / number;
        let square = |job: &OwnerJob| (job.lifetime - mean) * (job.lifetime - mean);
        let deviation = (owner.jobs.iter().map(square).sum::<f64>() / number).sqrt();
        assert!((mean / lifetimes.mean() - 1.0).abs() < 0.02, "{mean}");
        assert!(
            (deviation / lifetimes.deviation() - 1.0).abs() < 0.03,
            "{deviation}"
        );
        // The gaps between arrivals of a Poisson process deviate by their mean.
        let gaps: Vec<f64> = owner
            .jobs
            .windows(2)
            .map(|pair| pair[1].arrival - pair[0].arrival)
            .collect();
        let gap = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let variance = gaps
            .iter()
            .map(|one| (one - gap) * (one - gap))
            .sum::<f64>();
        let variation = (variance / gaps.len() as f64).sqrt() / gap;
        assert!((variation - 1.0).abs() < 0.02, "{variation}");
    }
}

#[test]
fn impossible_owners_are_refused() {
    let refused = |utilisation, lifetimes, spread, period: f64| {
        let load = OwnerLoad::new(utilisation, lifetimes, spread, 1.0, seconds(period));
        load.unwrap_err().to_string()
    };
    let one = [1.0, 1.0];
    let cases = [
        (
            refused([0.2, 1.0], pareto(), one, 60.0),
            "invalid value `1.0` for `utilisation`: must be a number from 0 to 0.99: a host is never fully used",
        ),
        (
            refused([0.5, 0.2], pareto(), one, 60.0),
            "invalid value `0.5` for `utilisation`: must be a range from a lower number to a higher one",
        ),
        (
            refused([0.5, 0.5], pareto(), [2.0, 1.0], 60.0),
            "invalid value `2.0` for `spread`: must be a range from a lower number to a higher one",
        ),
        (
            refused(
                [0.5, 0.5],
                Lifetimes::Exponential {
                    mean: Seconds::ZERO,
                },
                one,
                60.0,
            ),
            "invalid value `0.0` for `lifetime`: must be a time of at least 1 ms",
        ),
        (
            refused(
                [0.5, 0.5],
                Lifetimes::Pareto {
                    shortest: seconds(1.0),
                    longest: 1.0,
                },
                one,
                60.0,
            ),
            "invalid value `1.0` for `longest`: must be a number above 1, at most 1e9",
        ),
        (
            refused([0.5, 0.5], pareto(), one, 1e9),
            "invalid value `1000000000.0` for `period`: must be short enough for at most a million jobs of a core",
        ),
    ];
    for (found, expected) in cases {
        assert_eq!(found, expected);
    }
}

#[test]
fn levels_stay_in_their_range_and_vary_as_they_are_told() {
    let levels = |variation, period| {
        let memory = (variation, seconds(60.0));
        Levels::new([0.05, 0.5], memory, 1.0, (seconds(1.0), seconds(period))).unwrap()
    };
    let steady: Vec<_> = levels(0.0, 9.0)
        .traces(4, &(0..400).collect::<Vec<_>>())
        .collect();
    let logarithms: Vec<f64> = steady
        .iter()
        .map(|(_, trace)| (1.0 - trace.points[0].1).ln())
        .collect();
    assert!(steady.iter().all(|(_, trace)| trace.points.len() == 1));
    let (low, high) = (0.05_f64.ln(), 0.5_f64.ln());
    assert!(
        logarithms
            .iter()
            .all(|value| (low - 1e-9..high + 1e-9).contains(value))
    );
    let mean = logarithms.iter().sum::<f64>() / 400.0;
    assert!((mean - f64::midpoint(low, high)).abs() < 0.1, "{mean}");
    let (_, trace) = levels(0.2, 2e5).traces(4, &[7]).next().unwrap();
    let level = 1.0 - steady[7].1.points[0].1;
    let relative: Vec<f64> = trace
        .points
        .iter()
        .map(|(_, taken)| (1.0 - taken) / level - 1.0)
        .collect();
    let count = relative.len() as f64;
    let variance = relative.iter().map(|value| value * value).sum::<f64>() / count;
    assert!((variance.sqrt() - 0.2).abs() < 0.02, "{variance}");
    let next = relative.windows(2).map(|pair| pair[0] * pair[1]);
    let correlation = next.sum::<f64>() / count / variance;
    assert!(
        (correlation - (-1.0_f64 / 60.0).exp()).abs() < 0.01,
        "{correlation}"
    );
}
