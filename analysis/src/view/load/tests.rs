use bsp::units::{Bytes, Instant, Instructions, InstructionsPerSecond, Seconds};
use bsp::{Rank, Round, SetId};
use record::Hosts;

use record::Evaluation;

use super::super::sets::SetsReading;
use super::*;

fn run(hosts: usize, placement: &[usize]) -> Run {
    let names: Vec<String> = (0..hosts).map(|host| format!("h{host}")).collect();
    Run {
        schema: String::new(),
        scenario: "iii".to_owned(),
        sets: vec!["a".to_owned()],
        members: Vec::new(),
        placement: placement.iter().map(|host| names[*host].clone()).collect(),
        hosts: names,
        round: Round::SUPERSTEP,
        resumed: None,
    }
}

/// Supersteps of 2 s, in which process `slowest` computed longest.
fn superstep(index: u64, slowest: u32) -> Superstep {
    Superstep {
        index,
        started: Instant::START,
        ended: Instant::new(2.0).unwrap(),
        slowest: Rank(slowest),
        computation: Seconds::ZERO,
        mean: None,
        took: None,
        messages: 0,
    }
}

/// All hosts execute 100 instructions a second on each of two cores, half of which others take.
fn evaluated(instructions: &[u64]) -> Evaluated {
    let processes = (0..)
        .zip(instructions)
        .map(|(rank, instructions)| Evaluation {
            rank: Rank(rank),
            host: HostId(0),
            instructions: Instructions(*instructions),
            bytes: Bytes(0),
            target: SetId(0),
            potentials: Vec::new(),
        });
    Evaluated {
        superstep: 0,
        set: SetId(0),
        transfer_rates: vec![0.0],
        hosts: vec![Hosts {
            first: HostId(0),
            number: 3,
            speed: InstructionsPerSecond::new(100.0).unwrap(),
            cores: 2,
            load: 0.5,
            load_recent: 0.5,
        }],
        paths: Vec::new(),
        links: Vec::new(),
        external: Vec::new(),
        barrier: None,
        processes: processes.collect(),
    }
}

/// The load of a run that goes on until `supersteps`.
fn load(run: &Run, work: Option<&Evaluated>, supersteps: u64) -> Load {
    let placement = Placement::new(run);
    let mut reading = LoadReading::new(run, &placement);
    if let Some(work) = work {
        reading.evaluate(work);
    }
    for index in 0..supersteps {
        reading.elapse(&superstep(index, 1), &placement);
    }
    reading.settle(&placement);
    reading.end(run, &SetsReading::new(run).end())
}

#[test]
fn a_host_is_busy_for_what_its_processes_execute_on_what_others_leave() {
    // Two processes share host 0; one alone on host 2 uses one core of two.
    let run = run(3, &[0, 0, 2]);
    let load = load(&run, Some(&evaluated(&[20, 60, 30])), 4);
    assert_eq!(load.rows.len(), 2);
    let shares: Vec<f64> = load
        .bins
        .iter()
        .filter_map(|bins| bins[0].share())
        .collect();
    // (20 + 60) / 2 cores is less than 60 on one: 60 / 50 of 2 s. And 30 / 50 of 2 s.
    for (share, expected) in shares.iter().zip([0.6, 0.3]) {
        assert!((share - expected).abs() < 1e-12, "{shares:?}");
    }
    let slowest: u64 = load.bins[0].iter().map(|bin| bin.slowest).sum();
    assert_eq!(slowest, 4);
}

#[test]
fn a_record_without_calls_says_which_host_was_slowest_and_no_more() {
    let run = run(3, &[0, 1, 2]);
    let load = load(&run, None, 3);
    assert!(!load.has_work);
    assert!(load.bins.iter().flatten().all(|bin| bin.share().is_none()));
    let slowest: Vec<u64> = load
        .bins
        .iter()
        .map(|bins| bins.iter().map(|bin| bin.slowest).sum())
        .collect();
    assert_eq!(slowest, [0, 3, 0]);
}

#[test]
fn bins_do_not_grow_with_supersteps_or_hosts_and_lose_none() {
    let placement: Vec<usize> = (0..3_000).collect();
    let run = run(3_000, &placement);
    let supersteps = 1_000;
    let load = load(&run, None, supersteps);
    assert!(load.rows.len() <= 64);
    assert_eq!(load.bins[0].len(), 125);
    let slowest: u64 = load.bins.iter().flatten().map(|bin| bin.slowest).sum();
    assert_eq!(slowest, supersteps);
    assert_eq!(load.supersteps(0, supersteps), 0..8);
    assert_eq!(load.supersteps(124, supersteps), 992..1_000);
}

#[test]
fn a_host_that_gets_its_first_process_later_has_a_row_of_all_bins() {
    let run = run(3, &[1, 1]);
    let mut placement = Placement::new(&run);
    let mut reading = LoadReading::new(&run, &placement);
    for index in 0..600 {
        if index == 301 {
            reading.settle(&placement);
            placement.change(index, [(Rank(0), HostId(0))].into_iter());
            reading.change(&placement);
        }
        reading.elapse(&superstep(index, 0), &placement);
    }
    reading.settle(&placement);
    let load = reading.end(&run, &SetsReading::new(&run).end());
    let slowest: Vec<u64> = load
        .bins
        .iter()
        .map(|bins| bins.iter().map(|bin| bin.slowest).sum())
        .collect();
    assert_eq!(slowest, [299, 301]);
    assert_eq!(load.bins[0].len(), load.bins[1].len());
    assert_eq!(load.bins[0].len(), 150);
}

#[test]
fn what_the_first_call_says_counts_for_the_supersteps_before_it() {
    let run = run(3, &[0, 1, 2]);
    let placement = Placement::new(&run);
    let mut reading = LoadReading::new(&run, &placement);
    for index in 0..4 {
        reading.elapse(&superstep(index, 0), &placement);
    }
    reading.evaluate(&evaluated(&[50, 50, 50]));
    reading.settle(&placement);
    let load = reading.end(&run, &SetsReading::new(&run).end());
    assert_eq!(load.bins[0].len(), 4);
    assert!(
        load.bins
            .iter()
            .flatten()
            .all(|bin| bin.share() == Some(0.5))
    );
}
