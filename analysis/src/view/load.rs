//! How busy hosts were, and which of them ended last.

use std::ops::Range;

use bsp::HostId;
use record::{Evaluated, Run, Superstep};

use super::bins::joined;
use super::host_rows::HostRows;
use super::placement::Placement;
use super::sets::Sets;
use super::work::Work;

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
        let bin = u64::try_from(bin).unwrap_or(u64::MAX);
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
    pub(crate) available: f64,
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
        self.waiting.push(*superstep);
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

#[cfg(test)]
mod tests;
