//! What is measured, and what it should be.

use std::time::Duration;

use anyhow::Context;
use record::Event;

use crate::checkpoints::{checkpoints, recovery};
use crate::cluster::Cluster;
use crate::job::{Calls, Case, Peak, Reduces};
use crate::others::{self, Mpi};
use crate::stream;
use crate::table::{Row, say};

/// How much is measured.
pub(crate) struct Scale {
    pub(crate) divisor: u64,
    pub(crate) only: Option<String>,
}

impl Scale {
    pub(crate) const fn of(&self, supersteps: u64) -> u64 {
        supersteps / self.divisor
    }

    fn has(&self, group: &str) -> bool {
        self.only.as_ref().is_none_or(|only| only == group)
    }
}

/// The names of the groups of cases, in order.
pub(crate) const GROUPS: [&str; 8] = [
    "empty",
    "ring",
    "reductions",
    "moves",
    "calls",
    "measuring",
    "checkpoints",
    "recovery",
];

type Group = fn(&Scale, Option<Mpi>, &mut Vec<Row>) -> anyhow::Result<()>;

/// What measures each group.
const MEASURED: [Group; GROUPS.len()] = [
    empty,
    ring,
    reductions,
    moves,
    calls,
    measuring,
    checkpoints,
    recovery,
];

/// Measures everything.
pub(crate) fn all(scale: &Scale) -> anyhow::Result<Vec<Row>> {
    let mut rows = Vec::new();
    let mpi = if ["empty", "ring", "reductions"]
        .iter()
        .any(|name| scale.has(name))
    {
        others::mpi(scale.of(4000))?
    } else {
        None
    };
    references(scale, mpi, &mut rows)?;
    for (name, group) in GROUPS.into_iter().zip(MEASURED) {
        if scale.has(name) {
            say(&format!("measuring: {name}"));
            group(scale, mpi, &mut rows)?;
        }
    }
    Ok(rows)
}

fn references(scale: &Scale, mpi: Option<Mpi>, rows: &mut Vec<Row>) -> anyhow::Result<()> {
    let mut reference = |criterion: &str, seconds: f64| {
        rows.push(Row {
            criterion: criterion.to_owned(),
            limit: None,
            median: seconds * 1e6,
            unit: "us",
            ratio: None,
            limited_by: "for comparison",
        });
    };
    if let Some(mpi) = mpi {
        reference("Open MPI: barrier, 8 ranks", mpi.barrier);
        reference("Open MPI: ring of 100 KB and barrier, 8 ranks", mpi.ring);
        reference(
            "Open MPI: MPI_Allreduce of 1 MiB of doubles, 8 ranks",
            mpi.reduction,
        );
    }
    let rounds = usize::try_from(scale.of(10_000))?;
    reference(
        "TCP: round trip, 2 processes",
        median(others::tcp(1, rounds)?),
    );
    reference("TCP: barrier, 4 processes", median(others::tcp(3, rounds)?));
    Ok(())
}

fn empty(scale: &Scale, mpi: Option<Mpi>, rows: &mut Vec<Row>) -> anyhow::Result<()> {
    for (nodes, processes) in [(2, 8), (4, 8), (2, 200)] {
        let cluster = Cluster::start(nodes, 1)?;
        for is_central in [false, true] {
            let case = Case {
                is_central,
                ..Case::empty(
                    processes,
                    scale.of(if processes < 100 { 6000 } else { 2000 }),
                )
            };
            let superstep = median(supersteps(&cluster.run(&case)?.0));
            let shape = if is_central {
                "central"
            } else {
                "hierarchical"
            };
            let few = mpi.filter(|_| processes == 8);
            rows.push(Row {
                criterion: format!(
                    "empty superstep, {processes} processes on {nodes} nodes, {shape}"
                ),
                limit: Some(if processes == 8 { 250.0 } else { 1000.0 }),
                median: superstep * 1e6,
                unit: "us",
                ratio: few.map(|mpi| ("Open MPI's barrier", superstep / mpi.barrier)),
                limited_by: "waking threads that sleep",
            });
        }
    }
    Ok(())
}

fn ring(scale: &Scale, mpi: Option<Mpi>, rows: &mut Vec<Row>) -> anyhow::Result<()> {
    let cluster = Cluster::start(2, 1)?;
    let case = Case {
        sends: 100_000,
        ..Case::empty(8, scale.of(4000))
    };
    let superstep = median(supersteps(&cluster.run(&case)?.0));
    rows.push(Row {
        criterion: "ring of 100 KB and barrier, 8 processes on 2 nodes".to_owned(),
        limit: mpi.map(|mpi| 2.0 * mpi.ring * 1e6),
        median: superstep * 1e6,
        unit: "us",
        ratio: mpi.map(|mpi| ("Open MPI's", superstep / mpi.ring)),
        limited_by: "encryption and copies",
    });
    Ok(())
}

/// Pairs of runs in turn, without and with reductions.
fn reductions(scale: &Scale, mpi: Option<Mpi>, rows: &mut Vec<Row>) -> anyhow::Result<()> {
    for (nodes, processes, limit) in [(2, 8, 1.05), (4, 8, 1.05), (2, 200, 1.1)] {
        let cluster = Cluster::start(nodes, 1)?;
        let time = |reduces| {
            let count = scale.of(if processes < 100 { 3000 } else { 1000 });
            let case = Case {
                reduces,
                ..Case::empty(processes, count)
            };
            anyhow::Ok(median(supersteps(&cluster.run(&case)?.0)))
        };
        let (mut with, mut ratios) = (Vec::new(), Vec::new());
        for _ in 0..7 {
            let (empty, reduced) = (time(Reduces::Nothing)?, time(Reduces::Two)?);
            ratios.push(reduced / empty);
            with.push(reduced);
        }
        let ratio = median(ratios);
        let superstep = median(with);
        rows.push(Row {
            criterion: format!(
                "superstep with two reductions, {processes} processes on {nodes} nodes"
            ),
            limit: Some(limit * superstep / ratio * 1e6),
            median: superstep * 1e6,
            unit: "us",
            ratio: Some(("an empty one", ratio)),
            limited_by: "contributions are encoded",
        });
    }
    let cluster = Cluster::start(2, 1)?;
    let case = Case {
        reduces: Reduces::Sum(1 << 17),
        ..Case::empty(8, scale.of(400))
    };
    let superstep = median(supersteps(&cluster.run(&case)?.0));
    rows.push(Row {
        criterion: "superstep that sums 1 MiB of numbers, 8 processes on 2 nodes".to_owned(),
        limit: mpi.map(|mpi| mpi.reduction * 1e6),
        median: superstep * 1e6,
        unit: "us",
        ratio: mpi.map(|mpi| ("Open MPI's", superstep / mpi.reduction)),
        limited_by: "exact sums, which every Manager computes",
    });
    Ok(())
}

fn moves(scale: &Scale, _: Option<Mpi>, rows: &mut Vec<Row>) -> anyhow::Result<()> {
    let cluster = Cluster::start(2, 2)?;
    let moving = |state, supersteps| Case {
        state,
        calls: Calls::Moving(4),
        ..Case::empty(3, supersteps)
    };
    let large = 100 * 1_000_000;
    let raw = median(stream::measure(large, 7)?);
    let (events, _) = cluster.run(&moving(large, 48))?;
    let cost = median(costs(&events));
    let mut row = |criterion: &str, limit, median: f64, unit, ratio, limited_by| {
        rows.push(Row {
            criterion: criterion.to_owned(),
            limit,
            median,
            unit,
            ratio,
            limited_by,
        });
    };
    let comparison = "for comparison";
    row(
        "one stream: 100 MB",
        None,
        raw * 1e3,
        "ms",
        None,
        comparison,
    );
    let speed = Some(("one stream's throughput", raw / cost));
    row(
        "call that moves a state of 100 MB",
        Some(160.0),
        cost * 1e3,
        "ms",
        speed,
        "encryption; encoding and decoding meanwhile",
    );
    // Only the way there, on nodes that have no memory left over from before.
    let (_, peaks) = Cluster::start(2, 2)?.run(&moving(large, 8))?;
    let (source, target) = above(&peaks, large)?;
    row(
        "memory above the state, source",
        Some(32.0),
        source,
        "MiB",
        None,
        "chunks on their way",
    );
    row(
        "memory above the state, target",
        Some(32.0),
        target,
        "MiB",
        None,
        "chunks not yet decoded",
    );
    let (events, _) = cluster.run(&moving(1000, scale.of(2000)))?;
    let cost = median(costs(&events));
    let limited_by = "the messages of the call";
    row(
        "call that moves a state of 1 KB",
        Some(1.0),
        cost * 1e3,
        "ms",
        None,
        limited_by,
    );
    Ok(())
}

fn calls(scale: &Scale, _: Option<Mpi>, rows: &mut Vec<Row>) -> anyhow::Result<()> {
    let cluster = Cluster::start(2, 2)?;
    let case = Case {
        calls: Calls::Unmoved(4),
        ..Case::empty(200, scale.of(800))
    };
    let cost = median(costs(&cluster.run(&case)?.0));
    rows.push(Row {
        criterion: "call without moves, 200 processes on 2 nodes".to_owned(),
        limit: Some(2.0),
        median: cost * 1e3,
        unit: "ms",
        ratio: None,
        limited_by: "reports of processes",
    });
    Ok(())
}

/// Pairs of runs in turn, since the machine is not the same a second later.
fn measuring(scale: &Scale, _: Option<Mpi>, rows: &mut Vec<Row>) -> anyhow::Result<()> {
    let cluster = Cluster::start(2, 1)?;
    let time = |calls| {
        let case = Case {
            spins: Duration::from_millis(1),
            calls,
            ..Case::empty(2, scale.of(2000))
        };
        let mut times = supersteps(&cluster.run(&case)?.0);
        times.sort_by(f64::total_cmp);
        // Now and then both nodes have to share a processor, which says nothing of what is asked: the quickest do not.
        anyhow::Ok(times[times.len() / 10])
    };
    let mut overheads = Vec::new();
    for _ in 0..5 {
        let (without, with) = (time(Calls::None)?, time(Calls::Never)?);
        overheads.push((with - without) / 1e-3);
    }
    rows.push(Row {
        criterion: "measuring, of a superstep of 1 ms".to_owned(),
        limit: Some(1.0),
        median: median(overheads) * 100.0,
        unit: "%",
        ratio: None,
        limited_by: "observations of processes",
    });
    Ok(())
}

/// How long supersteps took, from start to start.
pub(crate) fn supersteps(events: &[Event]) -> Vec<f64> {
    let starts = events.iter().filter_map(|event| match event {
        Event::Superstep(superstep) => Some(superstep.started.get()),
        _ => None,
    });
    let starts: Vec<f64> = starts.collect();
    starts.windows(2).map(|pair| pair[1] - pair[0]).collect()
}

pub(crate) fn costs(events: &[Event]) -> Vec<f64> {
    let costs = events.iter().filter_map(|event| match event {
        Event::Call(call) => Some(call.cost.get()),
        _ => None,
    });
    costs.collect()
}

/// The memory that source and target occupied in addition to a state of `state` bytes, MiB.
fn above(peaks: &[Peak], state: usize) -> anyhow::Result<(f64, f64)> {
    let (source, target) = (
        peaks.first().context("no peak")?,
        peaks.get(1).context("no peak")?,
    );
    let mebibytes = |(before, peak): &Peak| (*peak as f64 - *before as f64) / 1024.0;
    Ok((
        mebibytes(source),
        mebibytes(target) - state as f64 / 1048576.0,
    ))
}

pub(crate) fn median(values: Vec<f64>) -> f64 {
    model::median(values).unwrap_or(f64::NAN)
}
