//! The supersteps that the threads of a node execute, in jobs that run and in jobs that have ended.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use bsp::Rank;
use machines::Execution;

/// The supersteps that the threads of a node execute. Clones share them.
///
/// A thread cannot be stopped from outside. If a job ends during a superstep, its thread executes that superstep to the
/// end, and its entry stays for as long.
#[derive(Clone, Debug, Default)]
pub(super) struct Executions(Arc<Mutex<Vec<Arc<Entry>>>>);

/// A superstep that a thread executes.
#[derive(Clone, Copy, Debug)]
struct Executing {
    rank: Rank,
    superstep: u64,
    began: Instant,
}

/// One thread: what it executes, if anything.
type Entry = Mutex<Option<Executing>>;

/// The entry of a thread, which is removed when this is dropped.
#[derive(Debug)]
pub(super) struct ThreadEntry {
    all: Executions,
    own: Arc<Entry>,
}

impl Executions {
    /// An entry for a thread.
    pub(super) fn add_thread(&self) -> ThreadEntry {
        let own = Arc::new(Entry::default());
        lock(&self.0).push(Arc::clone(&own));
        ThreadEntry {
            all: self.clone(),
            own,
        }
    }

    /// The superstep that began first of those that are executed.
    pub(super) fn oldest(&self) -> Option<Execution> {
        let threads = lock(&self.0);
        let executed = threads.iter().filter_map(|entry| *lock(entry));
        let oldest = executed.min_by_key(|executing| executing.began);
        oldest.map(|executing| Execution {
            rank: executing.rank,
            superstep: executing.superstep,
            age: executing.began.elapsed(),
        })
    }
}

impl ThreadEntry {
    /// Executes a superstep of `rank`.
    pub(super) fn execute<T>(&self, rank: Rank, superstep: u64, execute: impl FnOnce() -> T) -> T {
        *lock(&self.own) = Some(Executing {
            rank,
            superstep,
            began: Instant::now(),
        });
        let done = execute();
        *lock(&self.own) = None;
        done
    }
}

impl Drop for ThreadEntry {
    fn drop(&mut self) {
        lock(&self.all.0).retain(|entry| !Arc::ptr_eq(entry, &self.own));
    }
}

/// Assignments leave no partial value behind.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_superstep_is_shown_while_it_executes() {
        let executions = Executions::default();
        let (first, second) = (executions.add_thread(), executions.add_thread());
        let oldest = || executions.oldest().map(|of| (of.rank, of.superstep));
        assert_eq!(oldest(), None);
        second.execute(Rank(7), 3, || {
            first.execute(Rank(5), 4, || assert_eq!(oldest(), Some((Rank(7), 3))));
            assert_eq!(oldest(), Some((Rank(7), 3)));
        });
        assert_eq!(oldest(), None);
        drop((first, second));
        assert!(lock(&executions.0).is_empty());
    }
}
