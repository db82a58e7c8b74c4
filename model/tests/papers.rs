//! The papers' experiments on an idealised platform: which processes move, where and when.
//!
//! Computation takes work over speed, shared equally on a host; a reception takes its bytes over the
//! speed of both network cards. No link is shared, so only what does not hang on contention is
//! compared.

#![expect(clippy::unwrap_used, reason = "a failed test may panic")]

use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use bsp::units::{Bytes, Instructions, InstructionsPerSecond, Seconds};
use bsp::{HostId, MemorySize, Rank, SetId};
use model::{
    Answer, CallOutcome, Config, Digest, Heuristic, Interval, MigrationCost, MoveCost, Observation,
    Parameters, Policy, ProcessHistory, Processor, Processors, Reception, Request, SetView,
    Situation, Spacing, Times, When, capacity, merge, select,
};

/// Labtec, Corisco, Frontal, ICE, Aquario: hosts, instructions per second, bytes per second of a
/// network card, seconds that a process costs the barrier's master.
const SETS: [(u32, f64, f64, f64); 5] = [
    (20, 1.5e9, 30e6, 0.0),
    (16, 1.2e9, 30e6, 60e-6),
    (6, 1.0e9, 30e6, 60e-6),
    (112, 1.6e9, 350e6, 87e-6),
    (20, 2.0e9, 350e6, 87e-6),
];
const AQUARIO: u32 = 154;

/// What a process does.
struct Application {
    processes: usize,
    supersteps: u64,
    /// By rank and superstep.
    work: Box<dyn Fn(usize, u64) -> u64>,
    /// From each process to the next in every superstep in which it computes.
    message: u64,
    image: MemorySize,
}

/// One migration, in the papers' numbers: after how many supersteps, which process, to which of
/// Aquario's processors.
type Move = (u64, u32, u32);

fn lattice_boltzmann(processes: usize) -> Application {
    let size = u64::try_from(processes).unwrap();
    Application {
        processes,
        supersteps: 1100,
        work: Box::new(move |_, _| 10_000_000_000 / size),
        message: 100_000,
        image: MemorySize {
            data: Bytes(10_000_000 / size),
            fixed: Bytes(500_000),
        },
    }
}

fn smith_waterman(processes: usize) -> Application {
    let size = u64::try_from(processes).unwrap();
    Application {
        processes,
        supersteps: 2 * size - 1,
        work: Box::new(move |rank, superstep| {
            let column = u64::try_from(rank).unwrap();
            let active = (column..column + size).contains(&superstep);
            let work = 1_000_000 + superstep * 999_000_000 / (2 * size - 2);
            if active { 2 * work } else { 0 }
        }),
        message: 5_000_000 / size,
        image: MemorySize {
            data: Bytes(5_000_000 / size),
            fixed: Bytes(700_000),
        },
    }
}

fn parameters(interval: u32) -> Parameters {
    Parameters {
        interval,
        migration: MigrationCost {
            data_rate: Some(0.21e-6),
            fixed_rate: Some(0.018e-6),
            overlap: None,
            base: Some(Seconds::new(0.0046).unwrap()),
            ..MigrationCost::default()
        },
        ..Parameters::default()
    }
}

fn set_of(host: u32) -> usize {
    let mut last = 0;
    SETS.iter()
        .position(|(hosts, ..)| {
            last += hosts;
            host < last
        })
        .unwrap()
}

fn seconds(value: f64) -> Seconds {
    Seconds::new(value).unwrap()
}

/// Where every process is, and what it remembers.
struct Run<'a> {
    application: &'a Application,
    config: Config,
    processes: Vec<ProcessHistory>,
    hosts: Vec<u32>,
    has_migrant: BTreeSet<HostId>,
}

impl Run<'_> {
    fn moves(&mut self) -> Vec<Move> {
        let mut when = Interval::new(&self.config);
        let mut moves = Vec::new();
        let mut busy = Vec::new();
        for superstep in 0..self.application.supersteps {
            self.superstep(superstep);
            let costs = self.hosts.iter().map(|host| SETS[set_of(*host)].3);
            busy.push(seconds(costs.sum()));
            if when.is_due(superstep + 1) {
                let times: Vec<Times> = self.processes.iter().map(ProcessHistory::times).collect();
                let supersteps = Digest::of_supersteps(&times);
                let moved = self.call();
                when.conclude(&CallOutcome {
                    completed: superstep + 1,
                    supersteps: &supersteps,
                    barrier_busy: &busy,
                    migrations: moved.len(),
                    spacing: Spacing::default(),
                });
                let interval = when.schedule().interval.expect("it has one");
                moves.extend(
                    moved
                        .iter()
                        .map(|(rank, host)| (superstep + 1, rank.0 + 1, host + 1 - AQUARIO)),
                );
                busy.clear();
                for process in &mut self.processes {
                    process.restart(interval);
                }
            }
        }
        moves
    }

    fn superstep(&mut self, superstep: u64) {
        let application = self.application;
        let work = |rank| (application.work)(rank, superstep);
        let mut sums = vec![0; 174];
        for (rank, host) in self.hosts.iter().enumerate() {
            sums[usize::try_from(*host).unwrap()] += work(rank);
        }
        let computation = |rank: usize| {
            let host = self.hosts[rank];
            let sum = Instructions(sums[usize::try_from(host).unwrap()]);
            sum / InstructionsPerSecond::new(SETS[set_of(host)].1).unwrap()
        };
        let all: Vec<_> = (0..application.processes).map(computation).collect();
        let last = all.iter().copied().max().unwrap();
        for (rank, process) in self.processes.iter_mut().enumerate() {
            let mut receptions = Vec::new();
            if 0 < rank && 0 < work(rank - 1) {
                let (from, to) = (set_of(self.hosts[rank - 1]), set_of(self.hosts[rank]));
                let bytes = Bytes(application.message);
                receptions.push(Reception {
                    set: SetId::from_index(from),
                    bytes,
                    time: seconds(bytes.as_f64() / SETS[from].2 + bytes.as_f64() / SETS[to].2),
                });
            }
            let instructions = Instructions(work(rank));
            let observation = Observation {
                instructions,
                computation_time: if work(rank) == 0 {
                    Seconds::ZERO
                } else {
                    all[rank]
                },
                receptions: &receptions,
                incoming: &[],
                reception_longest: receptions.first().map_or(Seconds::ZERO, |one| one.time),
            };
            process.observe(&self.config, observation);
            process.waited(last - all[rank]);
        }
    }

    /// One rescheduling call, from the potentials to the last answer.
    fn call(&mut self) -> Vec<(Rank, u32)> {
        let config = self.config;
        let mut sets: Vec<_> = (0..SETS.len()).map(|set| self.processors(set)).collect();
        let mut entries = Vec::new();
        for (rank, process) in self.processes.iter().enumerate() {
            let own = set_of(self.hosts[rank]);
            let views: Vec<_> = (0..SETS.len()).map(|set| self.view(own, set)).collect();
            let situation = Situation {
                own: SetId::from_index(own),
                image: self.application.image,
                sets: &views,
                learned: None,
            };
            let evaluation = process.evaluate(&config, &situation);
            entries.push(evaluation.entry(Rank::from_index(rank), process));
        }
        let mut moved = Vec::new();
        for entry in select(&config, &merge(&config, entries)).candidates {
            let process = &self.processes[entry.rank.index()];
            let rate = self
                .view(entry.own.index(), entry.target.index())
                .transfer_rate;
            let bytes = process.bytes_last_from(entry.target);
            let t2 = sets[entry.own.index()].stay(entry.rank, bytes, rate);
            let request = Request {
                rank: entry.rank,
                instructions: process.instructions_last(),
                bytes,
                migration: MoveCost::from(config.parameters().migration)
                    .time(self.application.image, rate),
                t2: t2.unwrap(),
                per_byte: None,
            };
            if let Answer::Offer { host, .. } = sets[entry.target.index()].answer(&request) {
                sets[entry.own.index()].depart(entry.rank);
                self.hosts[entry.rank.index()] = host.0;
                self.has_migrant.insert(host);
                moved.push((entry.rank, host.0));
            }
        }
        moved
    }

    fn hosts_of(&self, set: usize) -> Vec<Processor> {
        let first: u32 = SETS[..set].iter().map(|set| set.0).sum();
        let hosts = first..first + SETS[set].0;
        hosts
            .map(|host| {
                let ranks = (0..self.hosts.len()).filter(|rank| self.hosts[*rank] == host);
                let resident = |rank: usize| {
                    (
                        Rank::from_index(rank),
                        self.processes[rank].instructions_resident(),
                    )
                };
                Processor {
                    host: HostId(host),
                    speed: InstructionsPerSecond::new(SETS[set].1).unwrap(),
                    cores: 1,
                    load: 0.0,
                    residents: ranks.map(resident).collect(),
                }
            })
            .collect()
    }

    fn processors(&self, set: usize) -> Processors {
        let rate = self.view(set, set).transfer_rate;
        Processors::new(rate, self.hosts_of(set), &self.has_migrant)
    }

    fn view(&self, from: usize, to: usize) -> SetView {
        SetView {
            capacity: capacity(&self.hosts_of(to)[..1]),
            processes: 0,
            processors: SETS[to].0,
            transfer_rate: 1.0 / SETS[from].2 + 1.0 / SETS[to].2,
        }
    }
}

fn moves(application: &Application, parameters: Parameters) -> Vec<Move> {
    let interval = parameters.interval;
    Run {
        application,
        config: Config::new(parameters).unwrap(),
        processes: vec![
            ProcessHistory::new(Policy::MIGBSP.memory(), interval);
            application.processes
        ],
        hosts: (0..174).cycle().take(application.processes).collect(),
        has_migrant: BTreeSet::new(),
    }
    .moves()
}

/// The processes `ranks` to Aquario's processors from `first` on, in one call.
fn at(superstep: u64, ranks: RangeInclusive<u32>, first: u32) -> Vec<Move> {
    let moves = ranks.zip(first..);
    moves
        .map(|(rank, processor)| (superstep, rank, processor))
        .collect()
}

fn one_per_call(ranks: impl Iterator<Item = u32>) -> Vec<Move> {
    let calls = [4, 12, 28, 60, 124, 252, 508, 1020].into_iter();
    let moves = calls.zip(ranks).zip(1..);
    moves
        .map(|((call, rank), processor)| (call, rank, processor))
        .collect()
}

#[test]
fn lattice_boltzmann_on_one_set_stays_where_it_is() {
    assert_eq!(moves(&lattice_boltzmann(10), parameters(4)), []);
}

#[test]
fn lattice_boltzmann_leaves_the_slowest_set_one_process_a_call() {
    let check = |processes, expected| {
        assert_eq!(
            moves(&lattice_boltzmann(processes), parameters(4)),
            expected
        );
    };
    check(25, one_per_call(21..=25));
    check(50, one_per_call((37..=42).chain(21..=22)));
    check(100, one_per_call((37..=42).chain(21..=22)));
}

#[test]
fn lattice_boltzmann_moves_twelve_of_two_hundred() {
    let moves = moves(&lattice_boltzmann(200), parameters(4));
    let ranks: Vec<u32> = moves.iter().map(|(_, rank, _)| *rank).collect();
    // Six hosts of Corisco have two processes each, and ties fall to the lowest rank.
    assert_eq!(ranks, (21..=26).chain(37..=42).collect::<Vec<_>>());
}

#[test]
fn smith_waterman_moves_processes_that_will_still_compute() {
    let check = |processes, interval, expected: &[Vec<Move>]| {
        let parameters = Parameters {
            heuristic: Heuristic::Above,
            delta: 0.5,
            ..parameters(interval)
        };
        let moves = moves(&smith_waterman(processes), parameters);
        assert_eq!(moves, expected.concat(), "{processes} every {interval}");
    };
    check(10, 2, &[at(14, 5..=10, 1)]);
    check(10, 4, &[at(12, 3..=10, 1)]);
    check(25, 2, &[at(14, 1..=12, 1), at(30, 21..=25, 13)]);
    check(25, 8, &[at(24, 21..=23, 1)]);
    check(50, 8, &[at(24, 21..=23, 1), at(56, 37..=42, 4)]);
}

#[test]
fn smith_waterman_that_counts_as_irregular_stays() {
    let parameters = Parameters {
        heuristic: Heuristic::Above,
        delta: 0.01,
        ..parameters(2)
    };
    assert_eq!(moves(&smith_waterman(10), parameters), []);
}
