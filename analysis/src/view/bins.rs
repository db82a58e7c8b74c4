//! Supersteps, several of which are joined if there are many.

use record::Superstep;

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
        if self.all.len() == BINS {
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
        let firsts = (self.first..).step_by(usize::try_from(self.size).unwrap_or(usize::MAX));
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
const BINS: usize = 2_000;

#[cfg(test)]
mod tests {
    use bsp::Rank;
    use bsp::units::{Instant, Seconds};

    use super::*;

    fn superstep(index: u64, seconds: f64) -> Superstep {
        Superstep {
            index,
            started: Instant::START,
            ended: Instant::new(seconds).unwrap(),
            slowest: Rank(0),
            computation: Seconds::new(seconds / 2.0).unwrap(),
            mean: None,
            took: None,
            messages: 0,
        }
    }

    #[test]
    fn supersteps_are_joined_when_there_are_too_many_and_none_is_lost() {
        for supersteps in [0, 1, 1_999, 2_000, 2_001, 4_001, 10_000] {
            let mut bins = Bins::new(7);
            let mut sum = 0.0;
            for index in 0..supersteps {
                let seconds = f64::from(u32::try_from(index % 13).unwrap());
                sum += seconds;
                bins.push(&superstep(index, seconds));
            }
            assert!(bins.all.len() <= BINS, "{supersteps}");
            assert!(
                BINS / 2 <= bins.all.len() || bins.size() == 1,
                "{supersteps}"
            );
            let total = bins.total();
            assert_eq!(total.supersteps, supersteps);
            assert!((total.seconds - sum).abs() < 1e-6);
            let mut expected = 7;
            for (first, bin) in bins.iter() {
                assert_eq!(first, expected);
                expected += bin.supersteps;
                assert!(bin.least <= bin.greatest);
            }
            assert_eq!(expected, 7 + supersteps);
        }
    }

    #[test]
    fn a_call_belongs_to_the_superstep_after_it_or_to_the_last() {
        let mut bins = Bins::new(0);
        bins.push(&superstep(0, 1.0));
        bins.charge(0.25);
        bins.push(&superstep(1, 1.0));
        bins.charge(0.5);
        bins.end();
        let calls: Vec<f64> = bins.iter().map(|(_, bin)| bin.calls).collect();
        assert_eq!(calls, [0.0, 0.75]);
        assert_eq!(bins.total().mean, None);
    }
}
