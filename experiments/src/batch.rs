//! Concurrent simulations, on all cores or fewer.

use std::fmt;
use std::num::NonZero;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use crate::failure::Failure;

/// What counts the runs of a batch, as a bar does.
pub trait Progress: Sync + fmt::Debug {
    /// A batch of `runs` begins.
    fn begin(&self, runs: usize);

    /// One run is done.
    fn advance(&self);

    /// The batch is over.
    fn end(&self);
}

/// Counts nothing.
#[derive(Clone, Copy, Debug)]
pub struct Silent;

impl Progress for Silent {
    fn begin(&self, _runs: usize) {}

    fn advance(&self) {}

    fn end(&self) {}
}

/// How the runs of a batch are worked on.
#[derive(Clone, Copy, Debug)]
pub struct Batch<'a> {
    /// Number of threads; `None`: one per core.
    pub jobs: Option<NonZero<usize>>,
    /// What counts the runs.
    pub progress: &'a dyn Progress,
}

impl Batch<'_> {
    /// The number of threads that work on as many items.
    #[must_use]
    pub fn threads(self, items: usize) -> usize {
        let cores = || thread::available_parallelism().unwrap_or(NonZero::<usize>::MIN);
        self.jobs.unwrap_or_else(cores).get().min(items)
    }

    /// The results of `work` for `items`, in their order.
    ///
    /// Each thread takes the first item that is not taken yet, so the longest work should come first.
    /// The results do not depend on the number of threads.
    ///
    /// # Errors
    ///
    /// That of the first item in the list for which `work` fails. After a failure no item is taken up any more.
    pub fn run<Item: Sync, Done: Send>(
        self,
        items: &[Item],
        work: impl Fn(&Item) -> Result<Done, Failure> + Sync,
    ) -> Result<Vec<Done>, Failure> {
        run_on(self.threads(items.len()), items, self.progress, work)
    }
}

/// The results of `work` for `items` on this number of threads.
fn run_on<Item: Sync, Done: Send>(
    threads: usize,
    items: &[Item],
    progress: &dyn Progress,
    work: impl Fn(&Item) -> Result<Done, Failure> + Sync,
) -> Result<Vec<Done>, Failure> {
    progress.begin(items.len());
    let next = AtomicUsize::new(0);
    let results = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..threads.min(items.len()) {
            scope.spawn(|| {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(item) = items.get(index) else { break };
                    let result = work(item);
                    if result.is_err() {
                        // Items before this one are taken; those after it are not wanted.
                        next.store(items.len(), Ordering::Relaxed);
                    }
                    results
                        .lock()
                        .expect("no thread panics while it holds the lock")
                        .push((index, result));
                    progress.advance();
                }
            });
        }
    });
    progress.end();
    let mut results = results
        .into_inner()
        .expect("no thread panics while it holds the lock");
    results.sort_by_key(|(index, _)| *index);
    results.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_come_in_the_order_of_the_items() {
        let items: Vec<u64> = (0..100).rev().collect();
        for threads in [1, 2, 7] {
            let done = run_on(threads, &items, &Silent, |item| {
                thread::yield_now();
                Ok(item * 2)
            });
            let expected: Vec<u64> = items.iter().map(|item| item * 2).collect();
            assert_eq!(done.unwrap(), expected);
        }
        assert!(
            run_on(2, &[] as &[u64], &Silent, |item| Ok(*item))
                .unwrap()
                .is_empty()
        );
    }

    #[test]
    fn the_first_failure_of_the_list_is_returned() {
        let items: Vec<u64> = (0..100).collect();
        for threads in [1, 2, 7] {
            let done = run_on(threads, &items, &Silent, |item| match item {
                20.. => Err(Failure::Run(format!("{item} is too large"))),
                _ => Ok(()),
            });
            assert_eq!(done.unwrap_err().to_string(), "20 is too large");
        }
    }
}
