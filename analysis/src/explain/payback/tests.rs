use super::*;
use std::collections::BTreeMap;
use std::path::PathBuf;

use bsp::units::{Instant, Seconds};
use bsp::{HostId, Rank};
use experiments::CallSummary;
use record::{Extent, Migration, ResumedRun, Run};

use crate::explain::history::{Baseline, Ending, Rules};

fn seconds(value: f64) -> Seconds {
    Seconds::new(value).unwrap()
}

/// A call that cost a second, with or without a migration.
fn call(superstep: u64, moved: bool) -> ExplainedCall {
    let migration = Migration {
        rank: Rank(0),
        from: HostId(0),
        to: HostId(1),
        potential: None,
        t1: seconds(1.0),
        t2: seconds(2.0),
        cost: seconds(0.5),
        per_byte: None,
    };
    ExplainedCall {
        summary: CallSummary {
            superstep,
            at: 0.0,
            cost_seconds: 1.0,
            interval: None,
            tolerance: None,
        },
        threshold: None,
        listed: 1,
        head: None,
        candidates: 0,
        dispositions: BTreeMap::new(),
        assessment: None,
        migrations: if moved { vec![migration] } else { Vec::new() },
        arrivals: Vec::new(),
        learned: None,
        predicted_seconds: 0.5,
        remaining: None,
        asked: None,
    }
}

fn history(times: &[f64], calls: Vec<ExplainedCall>) -> History {
    let duration = |seconds: &f64| SuperstepTimes {
        seconds: *seconds,
        slowest: Rank(0),
        computation: *seconds,
        mean: None,
    };
    History {
        folder: PathBuf::new(),
        run: Run {
            schema: String::new(),
            scenario: "iii".to_owned(),
            sets: Vec::new(),
            hosts: Vec::new(),
            members: Vec::new(),
            placement: vec!["a".to_owned()],
            round: bsp::Round::SUPERSTEP,
            resumed: None,
            view: None,
        },
        supersteps: times.iter().map(duration).collect(),
        baseline: None,
        unusable: None,
        calls,
        joins: Vec::new(),
        checkpoints: None,
        dealt: Vec::new(),
        notes: Default::default(),
        end: Ending {
            failure: None,
            extent: Extent {
                is_complete: true,
                has_end: true,
                supersteps: 0,
                is_torn: false,
            },
            seconds: Instant::START,
            attainable: None,
            supersteps: 0,
        },
        rules: Rules::default(),
        kept: None,
    }
}

#[test]
fn supersteps_of_a_run_that_resumes_are_counted_from_its_first() {
    let times = [2.0, 2.0, 1.5, 1.5, 1.5, 1.5];
    let mut history = history(&times, vec![call(102, true), call(104, false)]);
    history.run.resumed = Some(ResumedRun {
        job: "ab".to_owned(),
        incarnation: 1,
        superstep: 100,
    });
    let payback = Payback::of(&history, 0).unwrap();
    assert_eq!(payback.paid_after, Some(2));
    assert_eq!(means_around_moves(&history), Some((2.0, 1.5)));
    let supersteps = history.supersteps.clone();
    history.baseline = Some(Baseline {
        folder: PathBuf::new(),
        supersteps,
        end: None,
    });
    assert_eq!(Balance::of(&history).unwrap().paid_by, None);
}

#[test]
fn a_migration_is_paid_when_the_saving_reaches_the_cost() {
    let times = [2.0, 2.0, 1.5, 1.5, 1.5, 1.5];
    let history = history(&times, vec![call(2, true), call(4, false)]);
    let payback = Payback::of(&history, 0).unwrap();
    assert_eq!(payback.paid_after, Some(2));
    assert_eq!(payback.next_move, None);
    assert!((payback.gain() - 0.5).abs() < 1e-12);
    assert!((payback.saved_seconds - 2.0).abs() < 1e-12);
    assert_eq!(Payback::of(&history, 1), None);
    // Whether the load changed is not known.
    assert_eq!(Balance::of(&history), None);
    let (before, after) = means_around_moves(&history).unwrap();
    assert!((before - after - 0.5).abs() < 1e-12);
}

#[test]
fn savings_after_the_next_migration_do_not_count() {
    let times = [2.0, 2.0, 1.9, 1.9, 0.5, 0.5];
    let history = history(&times, vec![call(2, true), call(4, true)]);
    let payback = Payback::of(&history, 0).unwrap();
    assert_eq!((payback.paid_after, payback.next_move), (None, Some(4)));
    assert_eq!(payback.supersteps, 2);
    assert!((payback.saved_seconds - 0.2).abs() < 1e-12);
}

#[test]
fn a_migrants_payment_counts_in_the_sum_but_not_in_the_mean() {
    let times = [2.0, 2.0, 4.0, 1.0, 1.0];
    let mut history = history(&times, vec![call(2, true)]);
    history.rules.migrant_pays = true;
    let payback = Payback::of(&history, 0).unwrap();
    assert!((payback.gain() - 1.0).abs() < 1e-12);
    assert!(payback.saved_seconds.abs() < 1e-12);
    assert_eq!(payback.paid_after, None);
}

#[test]
fn scenario_i_is_the_basis_if_its_record_exists() {
    let times = [1.0, 1.0, 2.0, 2.0];
    let mut history = history(&times, vec![call(2, true)]);
    let longer = |duration: &SuperstepTimes| SuperstepTimes {
        seconds: duration.seconds * 2.0,
        ..*duration
    };
    let supersteps = history.supersteps.iter().map(longer).collect();
    history.baseline = Some(Baseline {
        folder: PathBuf::new(),
        supersteps,
        end: None,
    });
    let balance = Balance::of(&history).unwrap();
    assert_eq!(balance.against, Against::ScenarioI);
    assert!((balance.net_seconds.unwrap() - 5.0).abs() < 1e-12);
    assert_eq!(balance.paid_by, Some(3));
}

/// Supersteps of scenario i.
fn alone(times: &[f64]) -> Option<Baseline> {
    Some(Baseline {
        folder: PathBuf::new(),
        supersteps: history(times, Vec::new()).supersteps,
        end: None,
    })
}

#[test]
fn supersteps_that_shorten_without_a_migration_are_no_saving() {
    let mut history = history(&[8.0, 6.0, 4.0, 2.0], vec![call(2, true)]);
    let payback = Payback::of(&history, 0).unwrap();
    assert_eq!(payback.against, Against::Before);
    assert!((payback.saved_seconds - 8.0).abs() < 1e-12);
    history.baseline = alone(&[8.0, 6.0, 4.5, 2.25]);
    let payback = Payback::of(&history, 0).unwrap();
    assert_eq!(payback.against, Against::ScenarioI);
    assert!((payback.before_seconds - 7.0).abs() < 1e-12);
    assert!((payback.otherwise_seconds - 3.375).abs() < 1e-12);
    assert!((payback.gain() - 0.375).abs() < 1e-12);
    assert!((payback.saved_seconds - 0.75).abs() < 1e-12);
    assert_eq!(payback.paid_after, None);
}

#[test]
fn the_supersteps_that_both_runs_have_are_compared() {
    let mut history = history(&[2.0, 2.0, 1.0, 1.0], vec![call(2, true)]);
    for (times, supersteps, net) in [
        (&[2.0, 2.0, 2.0][..], 3, 0.0),
        (&[2.0, 2.0, 2.0, 2.0, 2.0], 4, 1.0),
    ] {
        history.baseline = alone(times);
        let balance = Balance::of(&history).unwrap();
        assert_eq!(balance.supersteps, supersteps);
        assert!(
            (balance.net_seconds.unwrap() - net).abs() < 1e-12,
            "{balance:?}"
        );
        assert!((balance.otherwise_seconds.unwrap() - 2.0).abs() < 1e-12);
        let payback = Payback::of(&history, 0).unwrap();
        assert_eq!(payback.supersteps, supersteps - 2);
    }
    // Nothing of scenario i after the move.
    history.baseline = alone(&[2.0, 2.0]);
    assert_eq!(Balance::of(&history), None);
    assert_eq!(Payback::of(&history, 0), None);
}

#[test]
fn growing_load_is_no_loss_beside_scenario_i() {
    let mut history = history(&[1.0, 2.0, 2.0, 3.0, 4.0], vec![call(2, true)]);
    assert_eq!(Balance::of(&history), None);
    history.baseline = alone(&[1.0, 2.0, 4.0, 6.0, 8.0]);
    let balance = Balance::of(&history).unwrap();
    assert!((balance.net_seconds.unwrap() - 8.0).abs() < 1e-12);
    assert!(balance.before_seconds < balance.after_seconds);
}

#[test]
fn savings_of_an_earlier_migration_are_not_counted_again() {
    let times = [8.0, 4.0, 2.0, 0.5];
    let mut history = history(&times, vec![call(1, true), call(2, true)]);
    history.baseline = alone(&[8.0, 8.0, 4.0, 2.0]);
    let first = Payback::of(&history, 0).unwrap();
    assert!((first.saved_seconds - 4.0).abs() < 1e-12);
    assert_eq!(first.paid_after, Some(1));
    // Half of the time in scenario i was saved before: 2 and 1 seconds would have remained.
    let second = Payback::of(&history, 1).unwrap();
    assert!((second.saved_seconds - 0.5).abs() < 1e-12);
    assert!((second.gain() - 0.25).abs() < 1e-12);
    assert_eq!(second.paid_after, None);
}

#[test]
fn a_call_at_the_end_of_a_run_has_no_payback() {
    let history = history(&[2.0, 2.0], vec![call(2, true)]);
    assert_eq!(Payback::of(&history, 0), None);
    assert_eq!(Balance::of(&history), None);
}

/// A run on real hosts whose rounds of three supersteps end with superstep 3, 6, …, and a call that moves a process
/// after this number of supersteps: what each superstep of a round takes, in ms, before and after it.
fn measured(call_after: u64, before: &[[f64; 3]], after: &[[f64; 3]]) -> History {
    let rounds = before.iter().chain(after).flatten();
    let milliseconds: Vec<f64> = [&50.0].into_iter().chain(rounds).copied().collect();
    let times: Vec<f64> = milliseconds.iter().map(|time| time / 1e3).collect();
    let mut history = history(&times, vec![call(call_after, true)]);
    history.calls[0].summary.cost_seconds = 0.1;
    history.calls[0].predicted_seconds = 0.05;
    history.run.round = bsp::Round { length: 3, last: 0 };
    history.rules.is_measured = true;
    history
}

#[test]
fn measured_moves_are_compared_by_medians_of_rounds_without_the_cold_ones() {
    // Six supersteps count as cold: two whole rounds that begin before the sixth superstep.
    let cold = [[90.0, 90.0, 90.0]; 2];
    let before = [&cold[..], &[[5.6, 18.4, 19.1]; 7]].concat();
    let mut after = vec![[4.0, 12.0, 14.0]; 20];
    // One spike of others changes no median.
    after[3][1] = 4000.0;
    let history = measured(28, &before, &after);
    let balance = Balance::of(&history).unwrap();
    // 43.1 ms and 30 ms a round: 13.1 / 3 ms are saved in each superstep, and 100 ms are paid after 22.9 of them.
    assert!((balance.before_seconds.unwrap() * 3e3 - 43.1).abs() < 1e-9);
    assert!((balance.after_seconds.unwrap() * 3e3 - 30.0).abs() < 1e-9);
    assert_eq!((balance.paid_after, balance.paid_by), (Some(23), Some(51)));
    let net = 60.0 * 13.1 / 3e3 - 0.1;
    assert!((balance.net_seconds.unwrap() - net).abs() < 1e-9);
    assert_eq!(
        balance.sentence(3),
        "1 migration: the calls cost 100 ms, where 50 ms were predicted. A superstep took 14.4 ms before the first \
         (median of 7 rounds of 3 supersteps) and 10 ms after the last (median of 20 rounds of 3 supersteps). If the \
         load has not changed, they had paid for themselves after 23 supersteps."
    );
    let payback = Payback::of(&history, 0).unwrap();
    assert_eq!(payback.paid_after, balance.paid_after);
    assert_eq!(payback.verdict, balance.verdict);
    assert!((payback.before_seconds * 3e3 - 43.1).abs() < 1e-9);
    // Scenario i on real hosts is another noisy run.
    let mut compared = measured(28, &before, &after);
    compared.baseline = alone(&[1.0; 88]);
    assert_eq!(Balance::of(&compared), Some(balance));
    assert_eq!(Payback::of(&compared, 0), Some(payback));
}

#[test]
fn few_or_noisy_rounds_give_no_verdict() {
    let after = [[4.0, 12.0, 14.0]; 20];
    // As reported: three rounds before the call after superstep 10.
    let history = measured(10, &[[5.6, 18.4, 19.1]; 3], &after);
    let balance = Balance::of(&history).unwrap();
    assert_eq!((balance.paid_after, balance.net_seconds), (None, None));
    assert_eq!(balance.verdict, PaybackVerdict::Unknown);
    assert_eq!(
        Payback::of(&history, 0).unwrap().verdict,
        PaybackVerdict::Unknown
    );
    let sentence = balance.sentence(3);
    assert!(
        sentence
            .contains("cannot be told from 1 round of 3 supersteps before the first: it takes 6"),
        "{sentence}"
    );
    // Ten rounds of 9, 12 and 15 ms a superstep: from 9 to 15 ms, with 95 % confidence.
    let noisy: Vec<[f64; 3]> = (0..10)
        .map(|index| [9.0 + 3.0 * f64::from(index % 3); 3])
        .collect();
    let before = [&[[90.0; 3]; 2], &noisy[..]].concat();
    let balance = Balance::of(&measured(37, &before, &after)).unwrap();
    assert_eq!(balance.verdict, PaybackVerdict::Unknown);
    let sentence = balance.sentence(3);
    assert!(
        sentence.contains("cannot be told from 10 rounds of 3 supersteps before and 20 after"),
        "{sentence}"
    );
    // Longer supersteps after a move are a loss, or another load.
    let lost = measured(
        28,
        &[&[[90.0; 3]; 2], &[[4.0, 12.0, 14.0]; 7][..]].concat(),
        &[[40.0; 3]; 7],
    );
    let balance = Balance::of(&lost).unwrap();
    assert_eq!(balance.verdict, PaybackVerdict::NotPaid);
    assert!(
        balance
            .sentence(3)
            .ends_with("They did not pay, or the load has changed.")
    );
}

fn interval(number: u32) -> Option<(f64, f64)> {
    Pace::new((1..=number).rev().map(f64::from).collect()).interval()
}

#[test]
fn intervals_of_medians_are_those_of_tables_of_the_sign_test() {
    // Conover, Practical Nonparametric Statistics, section 3.2: ranks of 95 % intervals of the median.
    let tables = [
        (6, 1.0, 6.0),
        (8, 1.0, 8.0),
        (10, 2.0, 9.0),
        (20, 6.0, 15.0),
        (30, 10.0, 21.0),
    ];
    for (number, low, high) in tables {
        assert_eq!(interval(number), Some((low, high)), "{number}");
    }
    assert_eq!(interval(100), Some((40.0, 61.0)));
    // The normal approximation: 5000 - 1.96 · 50.
    assert_eq!(interval(10_000), Some((4902.0, 5099.0)));
    for few in 0..=5 {
        assert_eq!(interval(few), None, "{few}");
    }
    assert_eq!(ROUNDS_MIN, 6);
}

#[test]
fn paces_differ_if_their_intervals_do_not_overlap() {
    let pace = |values: [f64; 6]| Pace::new(values.to_vec());
    let quiet = pace([10.0, 10.1, 10.2, 10.3, 10.4, 10.5]);
    assert!(quiet.differs_from(&pace([9.0, 9.1, 9.2, 9.3, 9.4, 9.5])));
    assert!(!quiet.differs_from(&pace([2.0, 3.0, 4.0, 5.0, 6.0, 11.0])));
    assert!(!quiet.differs_from(&Pace::new(vec![1.0; 5])));
}

#[test]
fn migrations_have_paid_once_the_difference_stays_non_negative() {
    let mut amortisation = Amortisation::default();
    amortisation.charge(1.0);
    let mut paid_after = |saving| {
        amortisation.save(saving);
        amortisation.paid_after()
    };
    assert_eq!(paid_after(0.5), None);
    assert_eq!(paid_after(0.5), Some(2));
    assert_eq!(paid_after(-0.25), None);
    assert_eq!(paid_after(0.5), Some(4));
    assert_eq!(paid_after(-0.25), Some(4));
    assert!(amortisation.net().abs() < 1e-12);
}
