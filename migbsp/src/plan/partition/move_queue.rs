//! Moves of processes between Sets, by what they cut.

use std::cmp::Ordering;
use std::collections::BTreeSet;

use bsp::SetId;

/// At most one move of each process, ordered by the bytes that it cuts.
#[derive(Debug)]
pub(super) struct MoveQueue {
    moves: BTreeSet<(Cut, usize, SetId)>,
    /// By process.
    queued: Vec<Option<(Cut, SetId)>>,
}

/// Bytes between Sets that a move adds; below zero, it saves them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Cut(pub(super) f64);

impl Eq for Cut {}

impl PartialOrd for Cut {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Cut {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.total_cmp(&other.0)
    }
}

impl MoveQueue {
    /// No moves of `size` processes.
    pub(super) fn new(size: usize) -> Self {
        Self {
            moves: BTreeSet::new(),
            queued: vec![None; size],
        }
    }

    /// Replaces the move of `process`; `None`: it has none.
    pub(super) fn set(&mut self, process: usize, best: Option<(Cut, SetId)>) {
        if let Some((cut, to)) = self.queued[process].take() {
            self.moves.remove(&(cut, process, to));
        }
        if let Some((cut, to)) = best {
            self.moves.insert((cut, process, to));
        }
        self.queued[process] = best;
    }

    /// Removes the move that cuts least.
    pub(super) fn pop(&mut self) -> Option<(Cut, usize, SetId)> {
        let first = self.moves.pop_first()?;
        self.queued[first.1] = None;
        Some(first)
    }

    /// Whether a move of `process` is in the queue.
    pub(super) fn contains(&self, process: usize) -> bool {
        self.queued[process].is_some()
    }
}
