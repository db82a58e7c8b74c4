//! The queue of tasks in front of the threads of the pool.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// A queue whose receiving threads sleep while it is empty.
///
/// They do not spin first, as the receivers of a channel may: on a machine with fewer processors than threads, spinning
/// delays the threads that are waited for.
#[derive(Debug)]
pub(super) struct Queue<T> {
    waiting: Mutex<Waiting<T>>,
    has_come: Condvar,
}

#[derive(Debug)]
struct Waiting<T> {
    items: VecDeque<T>,
    is_closed: bool,
}

impl<T> Queue<T> {
    pub(super) const fn new() -> Self {
        let waiting = Waiting {
            items: VecDeque::new(),
            is_closed: false,
        };
        Self {
            waiting: Mutex::new(waiting),
            has_come: Condvar::new(),
        }
    }

    /// Appends `items`, and wakes a thread for each of them.
    pub(super) fn extend(&self, items: impl ExactSizeIterator<Item = T>) {
        let count = items.len();
        self.lock().items.extend(items);
        for _ in 0..count {
            self.has_come.notify_one();
        }
    }

    /// Discards all waiting items and ends all receivers.
    pub(super) fn close(&self) {
        let mut waiting = self.lock();
        waiting.is_closed = true;
        waiting.items.clear();
        drop(waiting);
        self.has_come.notify_all();
    }

    /// Waits for the first item; `None` once the queue is closed.
    pub(super) fn next(&self) -> Option<T> {
        let nothing = |waiting: &mut Waiting<T>| waiting.items.is_empty() && !waiting.is_closed;
        let waiting = self.has_come.wait_while(self.lock(), nothing);
        let mut waiting = waiting.unwrap_or_else(PoisonError::into_inner);
        waiting.items.pop_front()
    }

    /// The first item, if there is one.
    pub(super) fn next_now(&self) -> Option<T> {
        self.lock().items.pop_front()
    }

    /// No thread panics while it holds the lock, so the queue is intact.
    fn lock(&self) -> MutexGuard<'_, Waiting<T>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::thread;

    use super::*;

    #[test]
    fn everything_comes_out_once_and_nothing_once_it_is_closed() {
        let queue = Arc::new(Queue::new());
        let threads: Vec<_> = (0..3)
            .map(|_| {
                let queue = Arc::clone(&queue);
                thread::spawn(move || {
                    std::iter::from_fn(|| queue.next())
                        .take(200)
                        .collect::<Vec<u32>>()
                })
            })
            .collect();
        for first in (0..600).step_by(3) {
            queue.extend(first..first + 3);
        }
        let mut all: Vec<u32> = threads
            .into_iter()
            .flat_map(|thread| thread.join().unwrap())
            .collect();
        all.sort_unstable();
        assert_eq!(all, (0..600).collect::<Vec<_>>());
        queue.extend(0..3);
        queue.close();
        assert_eq!((queue.next(), queue.next_now()), (None, None));
    }

    #[test]
    fn whoever_waits_is_sent_away_when_it_is_closed() {
        let queue = Arc::new(Queue::<u32>::new());
        let waiting = thread::spawn({
            let queue = Arc::clone(&queue);
            move || queue.next()
        });
        queue.close();
        assert_eq!(waiting.join().unwrap(), None);
    }
}
