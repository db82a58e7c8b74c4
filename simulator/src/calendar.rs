//! Entries by date, and those that the engine makes.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::emptied::emptied;

/// Entries by date; those of one date are returned together, in the order in which they were added.
///
/// The entries of a date share a bucket, and the heap holds buckets. An entry for a recently used date,
/// as most in a superstep are, costs no work in the heap.
#[derive(Debug)]
pub(crate) struct Calendar<E> {
    /// Date and bucket. Dates are not negative, so that their bits have the order of their values.
    heap: BinaryHeap<Reverse<(u64, u32)>>,
    buckets: Vec<Vec<E>>,
    free: Vec<u32>,
    recent: [Option<(u64, u32)>; RECENT],
    /// At this number of dates, entries that have become obsolete are looked for.
    sweep_at: usize,
}

impl<E> Calendar<E> {
    pub(crate) fn new() -> Self {
        Self {
            heap: BinaryHeap::new(),
            buckets: Vec::new(),
            free: Vec::new(),
            recent: [None; RECENT],
            sweep_at: SWEEP_MIN,
        }
    }

    /// Removes the entries that are not `current`, if the dates due have doubled since that was done last.
    ///
    /// What is obsolete may lie in the far future: without this, its number would grow with the time simulated.
    pub(crate) fn sweep(&mut self, mut is_current: impl FnMut(&E) -> bool) {
        if self.heap.len() < self.sweep_at {
            return;
        }
        let (buckets, free) = (&mut self.buckets, &mut self.free);
        self.heap.retain(|Reverse((_, bucket))| {
            let entries = &mut buckets[*bucket as usize];
            entries.retain(&mut is_current);
            if entries.is_empty() {
                *entries = Vec::new();
                free.push(*bucket);
            }
            !buckets[*bucket as usize].is_empty()
        });
        for place in &mut self.recent {
            *place = place.filter(|(_, bucket)| !buckets[*bucket as usize].is_empty());
        }
        self.sweep_at = SWEEP_MIN.max(2 * self.heap.len());
    }

    /// Adds `entry` at `date`, which is neither negative nor NaN.
    pub(crate) fn push(&mut self, date: f64, entry: E) {
        debug_assert!(0.0 <= date, "{date} is no date");
        // Adding zero gives -0.0 the bits of 0.0.
        let date = (date + 0.0).to_bits();
        let place = &mut self.recent[place(date)];
        if let Some((recent, bucket)) = *place
            && recent == date
        {
            self.buckets[bucket as usize].push(entry);
            return;
        }
        let bucket = self.free.pop().unwrap_or_else(|| {
            self.buckets.push(Vec::new());
            u32::try_from(self.buckets.len() - 1).expect("fewer than 2^32 dates are due")
        });
        *place = Some((date, bucket));
        self.buckets[bucket as usize].push(entry);
        self.heap.push(Reverse((date, bucket)));
    }

    /// The earliest date with entries.
    pub(crate) fn next(&self) -> Option<f64> {
        self.heap
            .peek()
            .map(|Reverse((date, _))| f64::from_bits(*date))
    }

    /// Number of dates with entries.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.heap.len()
    }

    /// Removes all entries. What is added next is returned as from a new calendar.
    pub(crate) fn clear(&mut self) {
        self.heap.clear();
        for bucket in &mut self.buckets {
            *bucket = emptied(std::mem::take(bucket));
        }
        let buckets = u32::try_from(self.buckets.len()).expect("fewer than 2^32 dates are due");
        self.free.clear();
        self.free.extend((0..buckets).rev());
        self.recent = [None; RECENT];
    }

    /// Moves the entries of the earliest date into `entries`, which must be empty.
    pub(crate) fn pop(&mut self, entries: &mut Vec<E>) {
        debug_assert!(entries.is_empty(), "entries of an earlier date are left");
        let Some(Reverse((date, bucket))) = self.heap.pop() else {
            return;
        };
        let place = &mut self.recent[place(date)];
        if *place == Some((date, bucket)) {
            *place = None;
        }
        let used = std::mem::take(entries);
        *entries = std::mem::replace(&mut self.buckets[bucket as usize], emptied(used));
        self.free.push(bucket);
    }
}

/// Dates closer together than this, relative to the clock, are one.
pub(crate) const CLOCK_RESOLUTION: f64 = 1e-15;

/// The place of a date among the recent ones.
fn place(date: u64) -> usize {
    (date.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 58) as usize
}

/// Fewer dates than this are not looked through: they take some ten megabytes.
const SWEEP_MIN: usize = 1 << 18;
/// Number of recent dates.
const RECENT: usize = 64;

/// Something that is due at a date.
///
/// An event cannot be removed from the calendar. One that may become obsolete carries the
/// generation of its host or flow, and is ignored if that has moved on since.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Event {
    /// The activity at this place among those whose ends are scheduled ends.
    Ends { place: u32 },
    /// The first computation on a host ends.
    HostEnds { host: u32, generation: u32 },
    /// The sending host has processed a message: its latency phase begins.
    FlowLeaves { flow: u32 },
    /// The latency phase of a message is over.
    FlowBegins { flow: u32 },
    /// The last byte of a message that no link holds back has arrived.
    FlowEnds { flow: u32, generation: u32 },
}

/// A token for a computation, a message or a timer. The caller chooses it at the start, and the engine
/// returns it at the end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Activity(pub u64);

#[cfg(test)]
mod tests {
    use super::*;

    fn drain(calendar: &mut Calendar<u32>) -> Vec<(f64, Vec<u32>)> {
        let mut all = Vec::new();
        while let Some(date) = calendar.next() {
            let mut entries = Vec::new();
            calendar.pop(&mut entries);
            all.push((date, entries));
        }
        all
    }

    #[test]
    fn entries_of_one_date_are_returned_together_in_order() {
        let mut calendar = Calendar::new();
        for (entry, date) in [2.0, 1.0, 2.0, 0.0, 1.0].into_iter().enumerate() {
            calendar.push(date, u32::try_from(entry).unwrap());
        }
        assert_eq!(
            drain(&mut calendar),
            [(0.0, vec![3]), (1.0, vec![1, 4]), (2.0, vec![0, 2])]
        );
    }

    #[test]
    fn obsolete_entries_are_removed_when_there_are_many() {
        let mut calendar = Calendar::new();
        let mut longest = 0;
        for entry in 0..2_000_000_u32 {
            calendar.push(1e9 + f64::from(entry), entry);
            calendar.sweep(|other| *other == entry || other % 1000 == 0);
            longest = longest.max(calendar.buckets.len());
        }
        assert_eq!(longest, SWEEP_MIN);
        // What is current is returned in order.
        let entries: Vec<u32> = drain(&mut calendar)
            .into_iter()
            .flat_map(|(_, entries)| entries)
            .collect();
        assert!(entries.is_sorted());
        assert_eq!(
            entries.iter().filter(|entry| **entry % 1000 == 0).count(),
            2000
        );
    }

    #[test]
    fn a_thousand_dates_are_returned_in_order() {
        let mut calendar = Calendar::new();
        for entry in 0..1000_u32 {
            calendar.push(f64::from(entry * 7919 % 1000) / 8.0, entry);
        }
        let dates = drain(&mut calendar);
        assert!(dates.is_sorted_by(|(before, _), (after, _)| before <= after));
        assert_eq!(
            dates
                .iter()
                .map(|(_, entries)| entries.len())
                .sum::<usize>(),
            1000
        );
    }
}
