//! Chains of processes, each of which pushes the next away.

use crate::rebalance::annealing::Annealing;
use crate::rebalance::annealing_state::AnnealingState;

/// A shift, an exchange or an ejection chain that is proposed: no process has moved yet.
#[derive(Debug, Default)]
struct Chain {
    /// Processes, the machines that they leave, and their new ones.
    hops: [(usize, usize, usize); HOPS],
    hop_count: usize,
    /// By how much which machine's load changes.
    changes: [(usize, f64); HOPS + 1],
    change_count: usize,
    cost: f64,
}

impl Annealing<'_> {
    /// A process moves; a process of its new machine moves to where the first came from, to its home, or elsewhere;
    /// and so on, for at most `hops` moves. Returns the number of steps evaluated.
    pub(super) fn chain(&mut self, hops: usize) -> u64 {
        let first = self.mover();
        let start = self.state.places()[first];
        let mut chain = Chain::default();
        let (mut process, mut from, mut to) = (first, start, self.goal(first));
        while to != from {
            chain.hop(&self.state, process, to);
            let overload = self.state.excess(to) + chain.change_of(to);
            let pushes = if 0.0 < overload { MUST } else { MAY };
            if chain.hop_count == hops || to == start || pushes <= self.draws.below(256) {
                break;
            }
            let members = self.state.members(to);
            if members.is_empty() {
                break;
            }
            process = members[self.draws.below(members.len())];
            if chain.has(process) {
                break;
            }
            from = to;
            let home = self.state.home(process);
            to = match self.draws.below(4) {
                0 | 1 if home != from => home,
                0 | 2 => start,
                _ => self.somewhere(process),
            };
        }
        self.decide(&chain);
        1
    }

    /// Takes `chain` if that makes nothing worse, or the temperature is high enough.
    #[inline]
    fn decide(&mut self, chain: &Chain) {
        let mut overload = 0.0;
        for &(machine, change) in &chain.changes[..chain.change_count] {
            let excess = self.state.excess(machine);
            overload += (excess + change).max(0.0) - excess.max(0.0);
        }
        let worse = chain.cost + self.overload_price.now * overload;
        let is_taken =
            worse <= 0.0 || worse <= self.temperature * self.noise.exponential(&mut self.draws);
        if is_taken && self.state.have_memory(chain.moves()) {
            for (process, _, machine) in chain.moves() {
                self.relocate(process, machine);
            }
        }
    }
}

impl Chain {
    #[inline]
    fn hop(&mut self, state: &AnnealingState<'_>, process: usize, to: usize) {
        let from = state.places()[process];
        self.cost += state.price(process, to) - state.price(process, from);
        let (left, entered) = state.added((process, from, to), |other| {
            let mut moves = self.moves();
            let moved = moves.find(|(moved, ..)| *moved == other);
            moved.map_or_else(|| state.places()[other], |(_, _, machine)| machine)
        });
        self.change(from, left);
        self.change(to, entered);
        self.hops[self.hop_count] = (process, from, to);
        self.hop_count += 1;
    }

    #[inline]
    fn change(&mut self, machine: usize, by: f64) {
        let mut changes = self.changes[..self.change_count].iter_mut();
        if let Some((_, change)) = changes.find(|(changed, _)| *changed == machine) {
            *change += by;
        } else {
            self.changes[self.change_count] = (machine, by);
            self.change_count += 1;
        }
    }

    #[inline]
    fn change_of(&self, machine: usize) -> f64 {
        let mut changes = self.changes[..self.change_count].iter();
        changes
            .find(|(changed, _)| *changed == machine)
            .map_or(0.0, |&(_, change)| change)
    }

    #[inline]
    fn has(&self, process: usize) -> bool {
        self.moves().any(|(moved, ..)| moved == process)
    }

    #[inline]
    fn moves(&self) -> impl DoubleEndedIterator<Item = (usize, usize, usize)> + Clone + '_ {
        self.hops[..self.hop_count].iter().copied()
    }
}

/// The longest chain.
const HOPS: usize = 3;

/// How many of 256 arrivals eject a process from the machine: if it is overloaded then, and if not.
const MUST: usize = 220;
const MAY: usize = 64;
