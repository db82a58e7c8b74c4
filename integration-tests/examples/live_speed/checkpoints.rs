//! What checkpoints cost a run.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use agents::{CheckpointCosts, CheckpointInterval, Checkpointing};
use bsp::units::{BytesPerSecond, Seconds};
use bsp::{BoxError, Program, Step, Superstep};
use hosts::HUGE_PAGES;
use record::{Checkpoint, Event};
use serde::{Deserialize, Serialize};

use crate::cases::{Scale, median};
use crate::cluster::Cluster;
use crate::job::Case;
use crate::memory::occupied_by;
use crate::others::Mpi;
use crate::table::{Row, say};

/// A process with a large state of numbers, a tenth of which it changes in every superstep.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Plate {
    supersteps: u64,
    /// How often it goes over the tenth.
    passes: u32,
    numbers: Vec<f64>,
}

impl Plate {
    /// One of 64 MiB.
    pub(crate) fn new(supersteps: u64) -> Self {
        Self {
            supersteps,
            passes: 64,
            numbers: (0..MIB_64 / 9).map(|number| number as f64).collect(),
        }
    }
}

/// When checkpoints are taken.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) enum Saves {
    Never,
    /// As Young and Daly have it.
    Optimal,
    /// Every this number of seconds.
    Every(f64),
    /// As `run` does by itself, so that the job can go on without a node: the first after this number of seconds, the next as Young
    /// and Daly have it.
    Recovery(f64),
}

impl Saves {
    pub(crate) fn checkpointing(self) -> Option<Checkpointing> {
        let (interval, first) = match self {
            Self::Never => return None,
            Self::Optimal => (CheckpointInterval::Optimal, 1.0),
            Self::Every(seconds) => (CheckpointInterval::Time(Seconds::new(seconds).ok()?), 1.0),
            Self::Recovery(first) => (CheckpointInterval::Optimal, first),
        };
        let rate = BytesPerSecond::new(1e9).ok()?;
        Some(Checkpointing {
            interval,
            first: Seconds::new(first).ok()?,
            mtbf: Seconds::new(30.0 * 86400.0).ok()?,
            copies: true,
            keep: std::num::NonZeroU32::MIN,
            // Of simulations alone.
            costs: CheckpointCosts {
                encoding: rate,
                fork: rate,
                forks: true,
                bytes: None,
                change: 1.0,
            },
        })
    }
}

impl Program for Plate {
    type Message = ();
    type Output = f64;

    fn superstep(&mut self, ctx: &mut Superstep<'_, ()>) -> Result<Step<f64>, BoxError> {
        let tenth = self.numbers.len() / 10;
        for _ in 0..self.passes {
            for number in &mut self.numbers[..tenth] {
                *number = *number * 0.999 + 0.001;
            }
        }
        if ctx.index() + 1 == self.supersteps {
            return Ok(Step::Halt(self.numbers.iter().sum()));
        }
        Ok(Step::Continue)
    }

    bsp::fork_by_clone!();
}

/// Four nodes with a process of 64 MiB each, in turn with and without checkpoints.
pub(crate) fn checkpoints(
    scale: &Scale,
    _: Option<Mpi>,
    rows: &mut Vec<Row>,
) -> anyhow::Result<()> {
    let cluster = Cluster::start_in(4, 2, Some(HUGE_PAGES))?;
    let supersteps = scale.of(supersteps_in(QUARTER, &cluster)?);
    let run = |saves| {
        let case = Case {
            saves: Some(saves),
            ..Case::empty(4, supersteps)
        };
        let events = cluster.run_programs(&case)?.0;
        anyhow::Ok((seconds(&events), saved(&events)))
    };
    let pairs = if scale.divisor == 1 { 7 } else { 3 };
    let every = 10.0 / scale.divisor as f64;
    let (mut optimal, mut regular, mut all) = (Vec::new(), Vec::new(), Vec::new());
    for pair in 1..=pairs {
        say(&format!("measuring: checkpoints, {pair} of {pairs}"));
        let (without, _) = run(Saves::Never)?;
        let (with, _) = run(Saves::Optimal)?;
        optimal.push(with / without - 1.0);
        let (with, saved) = run(Saves::Every(every))?;
        regular.push(with / without - 1.0);
        all.extend(saved);
    }
    let mut row = |criterion: &str, limit, median, unit, limited_by| {
        rows.push(found(criterion, (limit, median), unit, limited_by));
    };
    let encoding = "encoding and copies beside computations";
    row(
        "a quarter of a minute with checkpoints of 4 x 64 MiB at the chosen interval",
        3.0,
        median(optimal) * 100.0,
        "%",
        encoding,
    );
    row(
        "the same every 10 s",
        3.0,
        median(regular) * 100.0,
        "%",
        encoding,
    );
    let stalls = all.iter().map(|checkpoint| checkpoint.stall.get());
    row(
        "stall of a process of 64 MiB",
        40.0,
        median(stalls.collect()) * 1e3,
        "ms",
        "page faults of the copy",
    );
    let later = all
        .iter()
        .filter(|checkpoint| checkpoint.sent < checkpoint.bytes);
    let parts = later.map(|checkpoint| checkpoint.sent.as_f64() / checkpoint.bytes.as_f64());
    row(
        "sent to the buddy, of a state of which a tenth changes",
        15.0,
        median(parts.collect()) * 100.0,
        "%",
        "chunks of 64 KiB",
    );
    Ok(())
}

/// Four nodes with a process of 64 MiB each, in turn with the checkpoints that `run` takes by itself and without: what it costs that
/// the job can go on without a node.
pub(crate) fn recovery(scale: &Scale, _: Option<Mpi>, rows: &mut Vec<Row>) -> anyhow::Result<()> {
    let start = || Cluster::start_in(4, 2, Some(HUGE_PAGES));
    let pairs = if scale.divisor == 1 { 7 } else { 3 };
    let first = 30.0 / scale.divisor as f64;
    let supersteps = scale.of(supersteps_in(MINUTE, &start()?)?);
    let (mut costs, mut kept) = (Vec::new(), Vec::new());
    for pair in 1..=pairs {
        say(&format!("measuring: recovery, {pair} of {pairs}"));
        let run = |saves| {
            let case = Case {
                saves: Some(saves),
                ..Case::empty(4, supersteps)
            };
            // What an earlier run has freed may still be occupied: its nodes are others.
            let cluster = start()?;
            let (ran, occupied) = sampled(&cluster.processes(), || cluster.run_programs(&case));
            let events = ran?.0;
            let (took, count) = (seconds(&events), saved(&events).len());
            say(&format!(
                "{saves:?}: {took:.2} s, {count} checkpoints, {occupied:.0} MiB at last"
            ));
            anyhow::Ok((took, occupied))
        };
        // Which one is first alternates: a machine that slows down favours none.
        let recovery = Saves::Recovery(first);
        let (with, without) = if pair % 2 == 0 {
            let with = run(recovery)?;
            (with, run(Saves::Never)?)
        } else {
            let without = run(Saves::Never)?;
            (run(recovery)?, without)
        };
        costs.push(with.0 / without.0 - 1.0);
        kept.push((with.1 - without.1) / 256.0);
    }
    rows.push(found(
        "a minute with 4 x 64 MiB that can go on without a node",
        (3.0, median(costs) * 100.0),
        "%",
        "the first checkpoint, which is whole",
    ));
    rows.push(found(
        "what nodes keep of it, by the states",
        (2.2, median(kept)),
        "",
        "each state is kept on its node and on another one",
    ));
    Ok(())
}

/// What `run` returns, and the median of what these processes occupied in its last quarter, MiB.
fn sampled<T>(processes: &[u32], run: impl FnOnce() -> T) -> (T, f64) {
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        let sampling = scope.spawn(|| {
            let mut samples = Vec::new();
            while !is_over.load(Ordering::Relaxed) {
                samples.push(occupied_by(processes));
                thread::sleep(Duration::from_millis(100));
            }
            samples
        });
        let ran = run();
        is_over.store(true, Ordering::Relaxed);
        let samples = sampling.join().unwrap_or_default();
        let last = &samples[samples.len() - samples.len().div_ceil(4)..];
        let last = last.iter().map(|sample| *sample as f64 / 1024.0);
        (ran, median(last.collect()))
    })
}

/// How many supersteps of the programs take this long on `cluster`, about.
fn supersteps_in(time: Duration, cluster: &Cluster) -> anyhow::Result<u64> {
    let case = Case {
        saves: Some(Saves::Never),
        ..Case::empty(4, TRIED)
    };
    let took = seconds(&cluster.run_programs(&case)?.0);
    let took = Duration::from_secs_f64(took).as_millis().max(1);
    Ok(u64::try_from(u128::from(TRIED) * time.as_millis() / took)?)
}

const QUARTER: Duration = Duration::from_secs(15);
const MINUTE: Duration = Duration::from_secs(60);
/// The number of supersteps from which it is estimated how many there are in a time: a second or two on two cores.
const TRIED: u64 = 100;

fn found(
    criterion: &str,
    (limit, median): (f64, f64),
    unit: &'static str,
    limited_by: &'static str,
) -> Row {
    Row {
        criterion: criterion.to_owned(),
        limit: Some(limit),
        median,
        unit,
        ratio: None,
        limited_by,
    }
}

/// From the first start to the last end of a superstep.
fn seconds(events: &[Event]) -> f64 {
    let mut supersteps = events.iter().filter_map(|event| match event {
        Event::Superstep(superstep) => Some(superstep),
        _ => None,
    });
    let first = supersteps.next().map_or(0.0, |first| first.started.get());
    supersteps.next_back().map_or(0.0, |last| last.ended.get()) - first
}

fn saved(events: &[Event]) -> Vec<Checkpoint> {
    let saved = events.iter().filter_map(|event| match event {
        Event::Checkpoint(checkpoint) => Some(checkpoint.clone()),
        _ => None,
    });
    saved.collect()
}

const MIB_64: usize = 64 << 20;
