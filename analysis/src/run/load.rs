//! Supersteps in bins, and how busy hosts were in them; a bin and a row of hosts join several where there are many.

use std::ops::Range;

use bsp::HostId;
use bsp::numbers::{length, position};
use record::{Evaluated, Run, Superstep};

use crate::run::places::{Placement, Sets};

/// Consecutive supersteps. Seconds are sums over them.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Bin {
    /// Number of supersteps.
    pub(crate) supersteps: u64,
    /// From their starts to the last arrivals at their barriers.
    pub(crate) seconds: f64,
    /// The shortest of them.
    pub(crate) least: f64,
    /// The longest of them.
    pub(crate) greatest: f64,
    /// Of the process that computed longest in each.
    pub(crate) computation: f64,
    /// The mean computation of the processes in each; `None`: the record does not say it of all.
    pub(crate) mean: Option<f64>,
    /// Of the calls and joins before them, which are not part of `seconds`.
    pub(crate) calls: f64,
}

/// The supersteps of a run in bins of the same number; the last one may have fewer.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Bins {
    /// The first superstep.
    first: u64,
    /// Number of supersteps of a bin.
    size: u64,
    all: Vec<Bin>,
    /// Seconds of calls after the last superstep.
    charged: f64,
}

impl Bin {
    /// A part of it, for each superstep.
    pub(crate) fn per_superstep(&self, seconds: f64) -> f64 {
        seconds / self.supersteps as f64
    }

    /// This bin and the `next` one as one.
    fn join(self, next: Self) -> Self {
        if self.supersteps == 0 {
            return next;
        }
        let means = self.mean.zip(next.mean);
        Self {
            supersteps: self.supersteps + next.supersteps,
            seconds: self.seconds + next.seconds,
            least: self.least.min(next.least),
            greatest: self.greatest.max(next.greatest),
            computation: self.computation + next.computation,
            mean: means.map(|(one, other)| one + other),
            calls: self.calls + next.calls,
        }
    }
}

impl Bins {
    /// No superstep of a run that begins with `first`.
    pub(super) const fn new(first: u64) -> Self {
        Self {
            first,
            size: 1,
            all: Vec::new(),
            charged: 0.0,
        }
    }

    /// Adds the next superstep.
    pub(super) fn push(&mut self, superstep: &Superstep) {
        let seconds = (superstep.ended - superstep.started).get();
        let added = Bin {
            supersteps: 1,
            seconds,
            least: seconds,
            greatest: seconds,
            computation: superstep.computation.get(),
            mean: superstep.mean.map(bsp::units::Seconds::get),
            calls: std::mem::take(&mut self.charged),
        };
        let size = self.size;
        if let Some(last) = self.all.last_mut().filter(|last| last.supersteps < size) {
            *last = last.join(added);
            return;
        }
        if self.all.len() == SUPERSTEP_BINS {
            self.all = joined(&self.all, Bin::join);
            self.size *= 2;
        }
        self.all.push(added);
    }

    /// Adds `seconds` of a call after the last superstep.
    pub(super) fn charge(&mut self, seconds: f64) {
        self.charged += seconds;
    }

    /// The run is over: a call that no superstep follows belongs to the last one.
    pub(super) fn end(&mut self) {
        if let Some(last) = self.all.last_mut() {
            last.calls += std::mem::take(&mut self.charged);
        }
    }

    /// Number of supersteps that are joined.
    pub(crate) const fn size(&self) -> u64 {
        self.size
    }

    /// All bins, each with its first superstep.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u64, &Bin)> {
        let firsts = (self.first..).step_by(position(self.size));
        firsts.zip(&self.all)
    }

    /// The same supersteps in at most `most` bins.
    pub(crate) fn reduced(&self, most: usize) -> Self {
        let mut reduced = self.clone();
        while most < reduced.all.len() {
            reduced.all = joined(&reduced.all, Bin::join);
            reduced.size *= 2;
        }
        reduced
    }

    /// The sum of all.
    pub(crate) fn total(&self) -> Bin {
        self.all.iter().copied().fold(Bin::default(), Bin::join)
    }
}

/// Each two of `all` as one.
pub(super) fn joined<T: Copy>(all: &[T], join: impl Fn(T, T) -> T) -> Vec<T> {
    let pairs = all.chunks(2).map(|pair| match *pair {
        [one, other] => join(one, other),
        _ => pair[0],
    });
    pairs.collect()
}

/// The most bins.
const SUPERSTEP_BINS: usize = 2_000;

/// How busy the hosts were that had processes, in rows of hosts and bins of supersteps.
#[derive(Clone, Debug)]
pub(crate) struct Load {
    /// The hosts.
    pub(crate) rows: HostRows,
    /// The first superstep.
    pub(crate) first: u64,
    /// Number of supersteps of a bin.
    pub(crate) size: u64,
    /// For each row its bins; all have the same number.
    pub(crate) bins: Vec<Vec<LoadBin>>,
    /// Whether the record says what processes execute.
    pub(crate) has_work: bool,
}

impl Load {
    /// The supersteps of a bin, in a run that ends before superstep `end`.
    pub(crate) fn supersteps(&self, bin: usize, end: u64) -> Range<u64> {
        let bin = length(bin);
        let from = self.first.saturating_add(bin.saturating_mul(self.size));
        from..from.saturating_add(self.size).min(end)
    }
}

/// The load of a row of hosts in consecutive supersteps.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct LoadBin {
    /// Seconds that hosts with processes computed.
    pub(crate) computed: f64,
    /// Seconds that they could have computed.
    available: f64,
    /// Number of supersteps in which the process that computed longest was on one of the hosts.
    pub(crate) slowest: u64,
}

impl LoadBin {
    /// The part of their time in which hosts with processes computed; `None`: no host had any, or it is not known.
    pub(crate) fn share(&self) -> Option<f64> {
        (0.0 < self.available).then(|| self.computed / self.available)
    }

    fn join(self, next: Self) -> Self {
        Self {
            computed: self.computed + next.computed,
            available: self.available + next.available,
            slowest: self.slowest + next.slowest,
        }
    }
}

/// The load of hosts, as far as the record has been read. Until the last event, blocks of as many hosts stand for rows: which
/// hosts have processes is not known before.
#[derive(Clone, Debug)]
pub(super) struct LoadReading {
    first: u64,
    hosts: usize,
    /// Number of hosts of a block.
    block: usize,
    /// Number of supersteps of a bin.
    size: u64,
    /// Number of bins.
    bins: usize,
    /// Number of supersteps in the last of them.
    supersteps: u64,
    /// The bins of blocks that had processes.
    blocks: Vec<Option<Vec<LoadBin>>>,
    /// Supersteps before the first call, which says what they executed.
    waiting: Vec<Superstep>,
    work: Work,
    /// How long each host computes in a superstep; `None` until it is needed.
    seconds: Option<Vec<Option<f64>>>,
    has_work: bool,
}

impl LoadReading {
    /// Nothing of `run` has been read; its processes are in this placement.
    pub(super) fn new(run: &Run, placement: &Placement) -> Self {
        let hosts = run.hosts.len();
        let block = hosts.div_ceil(BLOCKS).max(1);
        let mut reading = Self {
            first: run.first_superstep(),
            hosts,
            block,
            size: 1,
            bins: 0,
            supersteps: 0,
            blocks: vec![None; hosts.div_ceil(block)],
            waiting: Vec::new(),
            work: Work::new(run.placement.len(), hosts),
            seconds: None,
            has_work: false,
        };
        reading.change(placement);
        reading
    }

    /// A Set has evaluated its processes.
    pub(super) fn evaluate(&mut self, evaluated: &Evaluated) {
        self.work.evaluate(evaluated);
        self.seconds = None;
        self.has_work = true;
    }

    /// Processes may be on other hosts.
    pub(super) fn change(&mut self, placement: &Placement) {
        self.seconds = None;
        for host in placement.now() {
            let bins = self.bins;
            self.blocks[host.index() / self.block]
                .get_or_insert_with(|| vec![LoadBin::default(); bins]);
        }
    }

    /// A superstep has ended.
    pub(super) fn elapse(&mut self, superstep: &Superstep, placement: &Placement) {
        if self.has_work {
            self.add(superstep, placement);
            return;
        }
        self.waiting.push(superstep.without_notes());
        if WAITING < self.waiting.len() {
            self.settle(placement);
        }
    }

    /// Adds the supersteps that have waited for the first call; their processes are in this placement.
    pub(super) fn settle(&mut self, placement: &Placement) {
        for superstep in std::mem::take(&mut self.waiting) {
            self.add(&superstep, placement);
        }
    }

    fn add(&mut self, superstep: &Superstep, placement: &Placement) {
        self.open();
        let length = (superstep.ended - superstep.started).get();
        let seconds = self
            .seconds
            .get_or_insert_with(|| self.work.seconds(placement));
        for (block, bins) in self.blocks.iter_mut().enumerate() {
            let Some(bin) = bins.as_mut().and_then(|bins| bins.last_mut()) else {
                continue;
            };
            let hosts = hosts_of(block, self.block, self.hosts);
            for seconds in seconds[hosts].iter().flatten() {
                bin.computed += seconds.min(length);
                bin.available += length;
            }
        }
        let slowest = placement.now()[superstep.slowest.index()];
        let bins = self.blocks[slowest.index() / self.block].as_mut();
        if let Some(bin) = bins.and_then(|bins| bins.last_mut()) {
            bin.slowest += 1;
        }
    }

    /// Makes a new bin if the last one is full.
    fn open(&mut self) {
        if 0 < self.bins && self.supersteps < self.size {
            self.supersteps += 1;
            return;
        }
        if self.bins == BINS {
            for bins in self.blocks.iter_mut().flatten() {
                *bins = joined(bins, LoadBin::join);
            }
            self.bins = BINS.div_ceil(2);
            self.size *= 2;
        }
        self.bins += 1;
        self.supersteps = 1;
        for bins in self.blocks.iter_mut().flatten() {
            bins.push(LoadBin::default());
        }
    }

    /// All of the record has been read.
    pub(super) fn end(self, run: &Run, sets: &Sets) -> Load {
        let blocks = self.blocks.iter().enumerate();
        let used = blocks
            .filter(|(_, bins)| bins.is_some())
            .map(|(block, _)| hosts_of(block, self.block, self.hosts));
        let used: Vec<Range<usize>> = used.collect();
        let rows = HostRows::new(&used, &run.hosts, sets);
        let mut bins = vec![vec![LoadBin::default(); self.bins]; rows.len()];
        for (block, found) in self.blocks.iter().enumerate() {
            let Some(found) = found else { continue };
            let host = HostId(u32::try_from(block * self.block).unwrap_or(u32::MAX));
            let Some(row) = rows.row_of(host) else {
                continue;
            };
            for (sum, bin) in bins[row].iter_mut().zip(found) {
                *sum = sum.join(*bin);
            }
        }
        Load {
            rows,
            first: self.first,
            size: self.size,
            bins,
            has_work: self.has_work,
        }
    }
}

fn hosts_of(block: usize, size: usize, hosts: usize) -> Range<usize> {
    block * size..((block + 1) * size).min(hosts)
}

/// The most blocks of hosts while a record is read.
const BLOCKS: usize = 1_024;
/// The most supersteps that wait for the first call.
const WAITING: usize = 4_096;
/// The most bins of supersteps.
const BINS: usize = 240;

/// Consecutive hosts that are shown as one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HostRow {
    /// As `aquario-5`, or `aquario-5 … aquario-8`.
    pub(crate) name: String,
    /// The name of their Set; empty if it is not known, or they are of several.
    pub(crate) set: String,
    /// The hosts by their positions.
    pub(crate) hosts: Range<usize>,
}

/// The hosts that had processes, in rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HostRows {
    rows: Vec<HostRow>,
}

impl HostRows {
    /// The hosts that are `used`, or blocks of them, in at most [`ROWS`] rows with those between them; hosts of different
    /// Sets are in different rows as long as there are rows. `used` ascends.
    pub(super) fn new(used: &[Range<usize>], hosts: &[String], sets: &Sets) -> Self {
        let most = used.len().div_ceil(ROWS).max(1);
        let set_of = |host: usize| sets.name_of(HostId(u32::try_from(host).unwrap_or(u32::MAX)));
        let mut rows: Vec<(usize, Range<usize>)> = Vec::new();
        for block in used {
            if let Some((blocks, last)) = rows.last_mut() {
                let is_near = 1 < most && set_of(last.start) == set_of(block.start);
                if *blocks < most && is_near {
                    *blocks += 1;
                    last.end = block.end;
                    continue;
                }
            }
            rows.push((1, block.clone()));
        }
        let named = rows.into_iter().map(|(_, hosts_of_row)| {
            let (first, last) = (&hosts[hosts_of_row.start], &hosts[hosts_of_row.end - 1]);
            let (set, other) = (set_of(hosts_of_row.start), set_of(hosts_of_row.end - 1));
            HostRow {
                name: if hosts_of_row.len() == 1 {
                    first.clone()
                } else {
                    format!("{first} … {last}")
                },
                set: if set == other {
                    set.to_owned()
                } else {
                    String::new()
                },
                hosts: hosts_of_row,
            }
        });
        Self {
            rows: named.collect(),
        }
    }

    /// All rows.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &HostRow> {
        self.rows.iter()
    }

    /// Number of rows.
    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    /// The row of a host, if it is in one.
    pub(crate) fn row_of(&self, host: HostId) -> Option<usize> {
        let host = host.index();
        let row = self.rows.partition_point(|row| row.hosts.end <= host);
        self.rows
            .get(row)
            .filter(|found| found.hosts.contains(&host))
            .map(|_| row)
    }
}

/// The most rows, unless more Sets were used.
const ROWS: usize = 64;

/// What each process executes in a superstep and what each host offers, as the last call said.
///
/// A record has no times of processes in single supersteps. Where a source has them, it gives them in place of
/// [`Self::seconds`].
#[derive(Clone, Debug)]
pub(super) struct Work {
    /// Instructions by rank; `None`: no call has named them.
    instructions: Vec<Option<f64>>,
    /// What a host offers, by host.
    capacities: Vec<Option<Capacity>>,
}

/// What a host offers.
#[derive(Clone, Copy, Debug)]
struct Capacity {
    /// Instructions per second of one core that others leave.
    speed: f64,
    cores: f64,
}

impl Work {
    /// Nothing is known yet.
    pub(super) fn new(processes: usize, hosts: usize) -> Self {
        Self {
            instructions: vec![None; processes],
            capacities: vec![None; hosts],
        }
    }

    /// A Set has evaluated its processes.
    pub(super) fn evaluate(&mut self, evaluated: &Evaluated) {
        for hosts in &evaluated.hosts {
            let capacity = Capacity {
                speed: hosts.speed.get() * (1.0 - hosts.load),
                cores: f64::from(hosts.cores),
            };
            for host in hosts.ids() {
                if let Some(known) = self.capacities.get_mut(host.index()) {
                    *known = Some(capacity);
                }
            }
        }
        for process in &evaluated.processes {
            if let Some(known) = self.instructions.get_mut(process.rank.index()) {
                *known = Some(process.instructions.as_f64());
            }
        }
    }

    /// How long each host computes in a superstep in this placement, in seconds; `None`: it has no process, or is not
    /// known.
    pub(super) fn seconds(&self, placement: &Placement) -> Vec<Option<f64>> {
        let mut loads: Vec<Option<(f64, f64)>> = vec![None; self.capacities.len()];
        for (host, instructions) in placement.now().iter().zip(&self.instructions) {
            let Some(instructions) = instructions else {
                continue;
            };
            let (sum, most) = loads[host.index()].unwrap_or_default();
            loads[host.index()] = Some((sum + instructions, most.max(*instructions)));
        }
        let seconds = loads.into_iter().zip(&self.capacities);
        seconds
            .map(|(load, capacity)| {
                let ((sum, most), capacity) = load.zip(capacity.as_ref())?;
                let seconds = (sum / capacity.cores).max(most) / capacity.speed;
                Some(seconds).filter(|seconds| seconds.is_finite())
            })
            .collect()
    }
}

#[cfg(test)]
mod tests;
