//! A bulk-synchronous program driven straight on the engine: every process computes, sends to its
//! neighbours, and meets the others at a central barrier.

use std::sync::Arc;

use bsp::HostId;
use bsp::units::{Bytes, Instructions};
use simulator::NetworkOptions;
use simulator::Platform;
use simulator::{Activity, Engine};

/// What the processes do; lists are used cyclically.
#[derive(Clone, Debug)]
pub(crate) struct Chain {
    pub(crate) size: u32,
    pub(crate) supersteps: u32,
    pub(crate) work: Vec<u64>,
    pub(crate) bytes: Vec<u64>,
    pub(crate) control: u64,
    pub(crate) shifts: Vec<u32>,
    /// Consecutive ranks on a host.
    pub(crate) per_host: u32,
    /// A message starts only when its receiver is waiting for it.
    pub(crate) rendezvous: bool,
}

impl Default for Chain {
    fn default() -> Self {
        Self {
            size: 1,
            supersteps: 1,
            work: vec![1_000_000_000],
            bytes: vec![100_000],
            control: 8,
            shifts: vec![1],
            per_host: 1,
            rendezvous: false,
        }
    }
}

const COMPUTED: u64 = 0;
const DELIVERED: u64 = 1;
const ARRIVED: u64 = 2;
const ANSWERED: u64 = 3;

struct Run<'a> {
    chain: &'a Chain,
    engine: Engine,
    hosts: u32,
    computed: Vec<bool>,
    /// What each process has to see before it is done.
    pending: Vec<u32>,
    /// Processes done before process 0 was.
    waiting: Vec<u32>,
    arrivals: u32,
    answers: u32,
    left: Vec<u32>,
}

impl Chain {
    /// Runs the program to its end; seconds it took.
    pub(crate) fn run(&self, platform: &Arc<Platform>, options: NetworkOptions) -> f64 {
        let size = self.size as usize;
        let mut run = Run {
            chain: self,
            engine: Engine::new(Arc::clone(platform), options),
            hosts: u32::try_from(platform.hosts().len()).expect("a host has a number"),
            computed: vec![false; size],
            pending: vec![0; size],
            waiting: Vec::new(),
            arrivals: 0,
            answers: 0,
            left: vec![self.supersteps; size],
        };
        run.expect();
        for rank in 0..self.size {
            run.compute(rank);
        }
        let mut ended = Vec::new();
        let mut now = 0.0;
        while let Some(instant) = run.engine.advance(&mut ended) {
            now = instant.get();
            for activity in ended.drain(..) {
                run.on(activity.0);
            }
        }
        assert!(run.left.iter().all(|left| *left == 0), "the program hangs");
        now
    }

    fn at(list: &[u64], rank: u32) -> u64 {
        list[rank as usize % list.len()]
    }
}

impl Run<'_> {
    fn on(&mut self, token: u64) {
        let (kind, first) = (token >> 62, ((token >> 31) & 0x7FFF_FFFF) as u32);
        let second = (token & 0x7FFF_FFFF) as u32;
        match kind {
            COMPUTED => {
                self.computed[first as usize] = true;
                for at in 0..self.chain.shifts.len() {
                    let shift = self.chain.shifts[at];
                    let to = first + shift;
                    if to < self.chain.size
                        && (!self.chain.rendezvous || self.computed[to as usize])
                    {
                        self.deliver(first, to);
                    }
                    if self.chain.rendezvous && shift <= first {
                        let from = first - shift;
                        if self.computed[from as usize] {
                            self.deliver(from, first);
                        }
                    }
                }
                self.count_down(first);
            }
            DELIVERED => {
                self.count_down(first);
                self.count_down(second);
            }
            ARRIVED => self.arrive(),
            _ => {
                self.next(second);
                self.answers -= 1;
                if self.answers == 0 {
                    self.next(0);
                }
            }
        }
    }

    fn compute(&mut self, rank: u32) {
        let work = Instructions(Chain::at(&self.chain.work, rank));
        self.engine
            .compute(self.host(rank), work, token(COMPUTED, rank, 0));
    }

    fn deliver(&mut self, from: u32, to: u32) {
        let bytes = Chain::at(&self.chain.bytes, from);
        self.send(from, to, bytes, DELIVERED);
    }

    fn send(&mut self, from: u32, to: u32, bytes: u64, kind: u64) {
        let (source, target) = (self.host(from), self.host(to));
        self.engine
            .transfer(source, target, Bytes(bytes), token(kind, from, to))
            .expect("every host reaches every other");
    }

    fn host(&self, rank: u32) -> HostId {
        HostId(rank / self.chain.per_host % self.hosts)
    }

    fn count_down(&mut self, rank: u32) {
        self.pending[rank as usize] -= 1;
        if 0 < self.pending[rank as usize] {
            return;
        }
        if rank != 0 {
            if self.chain.rendezvous && 0 < self.pending[0] {
                self.waiting.push(rank);
            } else {
                self.send(rank, 0, self.chain.control, ARRIVED);
            }
            return;
        }
        for rank in std::mem::take(&mut self.waiting) {
            self.send(rank, 0, self.chain.control, ARRIVED);
        }
        self.arrive();
    }

    fn arrive(&mut self) {
        self.arrivals += 1;
        if self.arrivals < self.chain.size {
            return;
        }
        self.arrivals = 0;
        self.answers = self.chain.size - 1;
        self.expect();
        for rank in 1..self.chain.size {
            self.send(0, rank, self.chain.control, ANSWERED);
        }
        if self.answers == 0 {
            self.next(0);
        }
    }

    fn next(&mut self, rank: u32) {
        self.left[rank as usize] -= 1;
        if 0 < self.left[rank as usize] {
            self.compute(rank);
        }
    }

    /// Sets what each process has to see in a superstep.
    fn expect(&mut self) {
        for rank in 0..self.chain.size {
            let mut pending = 1;
            for shift in &self.chain.shifts {
                pending += u32::from(rank + shift < self.chain.size);
                pending += u32::from(*shift <= rank);
            }
            self.pending[rank as usize] = pending;
            self.computed[rank as usize] = false;
        }
    }
}

fn token(kind: u64, first: u32, second: u32) -> Activity {
    Activity(kind << 62 | u64::from(first) << 31 | u64::from(second))
}
