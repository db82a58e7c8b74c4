use super::*;
use std::collections::BTreeMap;

use bsp::units::Seconds;
use bsp::{HostId, Rank};
use experiments::CallSummary;
use record::{Migration, ResumedRun};

fn seconds(value: f64) -> Seconds {
    Seconds::new(value).unwrap()
}

/// A call that cost a second, with or without a migration.
fn call(superstep: u64, moved: bool) -> RunCall {
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
    RunCall {
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
        slowest: [None; 2],
        payback: None,
    }
}

/// The times of the supersteps of a run, with its calls, and those of scenario i if it is known.
struct History {
    times: Vec<f64>,
    calls: Vec<RunCall>,
    alone: Option<Vec<f64>>,
    run: Run,
    rules: Rules,
}

fn history(times: &[f64], calls: Vec<RunCall>) -> History {
    History {
        times: times.to_vec(),
        calls,
        alone: None,
        run: Run {
            schema: String::new(),
            scenario: "iii".to_owned(),
            sets: Vec::new(),
            hosts: Vec::new(),
            members: Vec::new(),
            placement: vec!["a".to_owned()],
            round: Round::SUPERSTEP,
            resumed: None,
            view: None,
        },
        rules: Rules::default(),
    }
}

impl History {
    fn gains(&self) -> Gains {
        let mut reading = GainReading::new(&self.run, &self.rules, self.alone.is_some());
        let mut calls = self.calls.iter().enumerate().peekable();
        let mut alone = self.alone.iter().flatten().copied();
        for (superstep, time) in (self.run.first_superstep()..).zip(&self.times) {
            while let Some((index, call)) =
                calls.next_if(|(_, call)| call.summary.superstep == superstep)
            {
                reading.call(index, call);
            }
            reading.elapse(*time, alone.next());
        }
        calls.for_each(|(index, call)| reading.call(index, call));
        reading.end()
    }

    fn payback(&self, index: usize) -> Option<Payback> {
        let paybacks = self.gains().paybacks;
        let mut of_call = paybacks.into_iter().filter(|(call, _)| *call == index);
        of_call.next().map(|(_, payback)| payback)
    }

    fn balance(&self) -> Option<Balance> {
        self.gains().balance
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
    let payback = history.payback(0).unwrap();
    assert_eq!(payback.paid_after, Some(2));
    assert_eq!(history.gains().around_moves, Some((2.0, 1.5)));
    history.alone = Some(times.to_vec());
    assert_eq!(history.balance().unwrap().paid_by, None);
}

#[test]
fn a_migration_is_paid_when_the_saving_reaches_the_cost() {
    let times = [2.0, 2.0, 1.5, 1.5, 1.5, 1.5];
    let history = history(&times, vec![call(2, true), call(4, false)]);
    let payback = history.payback(0).unwrap();
    assert_eq!(payback.paid_after, Some(2));
    assert_eq!(payback.next_move, None);
    assert!((payback.gain() - 0.5).abs() < 1e-12);
    assert!((payback.saved_seconds - 2.0).abs() < 1e-12);
    assert_eq!(history.payback(1), None);
    // Whether the load changed is not known.
    assert_eq!(history.balance(), None);
    let (before, after) = history.gains().around_moves.unwrap();
    assert!((before - after - 0.5).abs() < 1e-12);
}

#[test]
fn savings_after_the_next_migration_do_not_count() {
    let times = [2.0, 2.0, 1.9, 1.9, 0.5, 0.5];
    let history = history(&times, vec![call(2, true), call(4, true)]);
    let payback = history.payback(0).unwrap();
    assert_eq!((payback.paid_after, payback.next_move), (None, Some(4)));
    assert_eq!(payback.supersteps, 2);
    assert!((payback.saved_seconds - 0.2).abs() < 1e-12);
}

#[test]
fn a_migrants_payment_counts_in_the_sum_but_not_in_the_mean() {
    let times = [2.0, 2.0, 4.0, 1.0, 1.0];
    let mut history = history(&times, vec![call(2, true)]);
    history.rules.migrant_pays = true;
    let payback = history.payback(0).unwrap();
    assert!((payback.gain() - 1.0).abs() < 1e-12);
    assert!(payback.saved_seconds.abs() < 1e-12);
    assert_eq!(payback.paid_after, None);
}

#[test]
fn scenario_i_is_the_basis_if_its_record_exists() {
    let times = [1.0, 1.0, 2.0, 2.0];
    let mut history = history(&times, vec![call(2, true)]);
    history.alone = Some(times.map(|time| time * 2.0).to_vec());
    let balance = history.balance().unwrap();
    assert_eq!(balance.against, Against::ScenarioI);
    assert!((balance.net_seconds.unwrap() - 5.0).abs() < 1e-12);
    assert_eq!(balance.paid_by, Some(3));
}

#[test]
fn supersteps_that_shorten_without_a_migration_are_no_saving() {
    let mut history = history(&[8.0, 6.0, 4.0, 2.0], vec![call(2, true)]);
    let payback = history.payback(0).unwrap();
    assert_eq!(payback.against, Against::Before);
    assert!((payback.saved_seconds - 8.0).abs() < 1e-12);
    history.alone = Some([8.0, 6.0, 4.5, 2.25].to_vec());
    let payback = history.payback(0).unwrap();
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
        history.alone = Some(times.to_vec());
        let balance = history.balance().unwrap();
        assert_eq!(balance.supersteps, supersteps);
        assert!(
            (balance.net_seconds.unwrap() - net).abs() < 1e-12,
            "{balance:?}"
        );
        assert!((balance.otherwise_seconds.unwrap() - 2.0).abs() < 1e-12);
        let payback = history.payback(0).unwrap();
        assert_eq!(payback.supersteps, supersteps - 2);
    }
    // Nothing of scenario i after the move.
    history.alone = Some([2.0, 2.0].to_vec());
    assert_eq!(history.balance(), None);
    assert_eq!(history.payback(0), None);
}

#[test]
fn growing_load_is_no_loss_beside_scenario_i() {
    let mut history = history(&[1.0, 2.0, 2.0, 3.0, 4.0], vec![call(2, true)]);
    assert_eq!(history.balance(), None);
    history.alone = Some([1.0, 2.0, 4.0, 6.0, 8.0].to_vec());
    let balance = history.balance().unwrap();
    assert!((balance.net_seconds.unwrap() - 8.0).abs() < 1e-12);
    assert!(balance.before_seconds < balance.after_seconds);
}

#[test]
fn savings_of_an_earlier_migration_are_not_counted_again() {
    let times = [8.0, 4.0, 2.0, 0.5];
    let mut history = history(&times, vec![call(1, true), call(2, true)]);
    history.alone = Some([8.0, 8.0, 4.0, 2.0].to_vec());
    let first = history.payback(0).unwrap();
    assert!((first.saved_seconds - 4.0).abs() < 1e-12);
    assert_eq!(first.paid_after, Some(1));
    // Half of the time in scenario i was saved before: 2 and 1 seconds would have remained.
    let second = history.payback(1).unwrap();
    assert!((second.saved_seconds - 0.5).abs() < 1e-12);
    assert!((second.gain() - 0.25).abs() < 1e-12);
    assert_eq!(second.paid_after, None);
}

#[test]
fn a_call_at_the_end_of_a_run_has_no_payback() {
    let history = history(&[2.0, 2.0], vec![call(2, true)]);
    assert_eq!(history.payback(0), None);
    assert_eq!(history.balance(), None);
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
    history.run.round = Round { length: 3, last: 0 };
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
    let balance = history.balance().unwrap();
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
    let payback = history.payback(0).unwrap();
    assert_eq!(payback.paid_after, balance.paid_after);
    assert_eq!(payback.verdict, balance.verdict);
    assert!((payback.before_seconds * 3e3 - 43.1).abs() < 1e-9);
    // Scenario i on real hosts is another noisy run.
    let mut compared = measured(28, &before, &after);
    compared.alone = Some([1.0; 88].to_vec());
    assert_eq!(compared.balance(), Some(balance));
    assert_eq!(compared.payback(0), Some(payback));
}

#[test]
fn few_or_noisy_rounds_give_no_verdict() {
    let after = [[4.0, 12.0, 14.0]; 20];
    // As reported: three rounds before the call after superstep 10.
    let history = measured(10, &[[5.6, 18.4, 19.1]; 3], &after);
    let balance = history.balance().unwrap();
    assert_eq!((balance.paid_after, balance.net_seconds), (None, None));
    assert_eq!(balance.verdict, PaybackVerdict::Unknown);
    assert_eq!(history.payback(0).unwrap().verdict, PaybackVerdict::Unknown);
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
    let balance = measured(37, &before, &after).balance().unwrap();
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
    let balance = lost.balance().unwrap();
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
        amortisation.paid_after
    };
    assert_eq!(paid_after(0.5), None);
    assert_eq!(paid_after(0.5), Some(2));
    assert_eq!(paid_after(-0.25), None);
    assert_eq!(paid_after(0.5), Some(4));
    assert_eq!(paid_after(-0.25), Some(4));
    assert!(amortisation.net.abs() < 1e-12);
}
