//! Whether plans bring what they were to bring.

use bsp::{HostId, Rank};

use crate::Scene;

/// A plan that was carried out, until the supersteps after it show what it was worth.
///
/// A model may be wrong about what a plan changes, and be so in every call. What supersteps take beyond what is
/// foretold for the present placement is compared before and after: if it has grown by more than the plan was
/// to win, the plan has made them longer.
#[derive(Clone, Debug)]
pub(crate) struct Promise {
    /// Who moved, and where each was before.
    former: Vec<(Rank, HostId)>,
    /// By how much supersteps were to get shorter, in seconds.
    gain: f64,
    /// By how much they took longer than foretold before it, in seconds.
    pub(crate) unforeseen: f64,
    /// Seconds of what it took that what it wins pays for.
    pub(crate) credit: f64,
}

impl Promise {
    /// That those who were on other hosts in `former` make supersteps shorter by `gain` seconds, which took
    /// `unforeseen` seconds more than foretold.
    pub(crate) fn new(former: Vec<(Rank, HostId)>, gain: f64, unforeseen: f64) -> Self {
        Self {
            former,
            gain,
            unforeseen,
            credit: 0.0,
        }
    }

    /// By how many seconds supersteps have got longer than foretold, if that is more than they were to get
    /// shorter; they take `unforeseen` seconds more than foretold now.
    pub(crate) fn broken_by(&self, unforeseen: f64) -> Option<f64> {
        let growth = unforeseen - self.unforeseen;
        (self.gain < growth).then_some(growth)
    }

    /// Where everybody would be if those who moved went back, as far as they have not halted; `None` if one of their
    /// hosts is gone.
    pub(crate) fn undone(&self, scene: &Scene) -> Option<Vec<usize>> {
        let mut places = scene.places().to_vec();
        for (rank, host) in &self.former {
            let mut processes = scene.processes().iter();
            let Some(process) = processes.position(|load| load.rank == *rank) else {
                continue;
            };
            places[process] = scene.hosts().iter().position(|known| known.id == *host)?;
        }
        Some(places)
    }
}

#[cfg(test)]
mod tests {
    use crate::plan::tests::scene;

    use super::*;

    #[test]
    fn a_plan_that_makes_supersteps_longer_than_it_was_to_make_them_shorter_is_no_good() {
        let promise = Promise::new(Vec::new(), 2.0, -1.0);
        assert_eq!(promise.broken_by(-1.0), None);
        assert_eq!(promise.broken_by(0.9), None);
        assert_eq!(promise.broken_by(1.5), Some(2.5));
    }

    #[test]
    fn who_moved_goes_back_and_others_stay() {
        let scene = scene(&[1.0, 1.0, 1.0], &[(0, 1.0), (1, 1.0), (1, 1.0)]);
        let back = |rank, host| Promise::new(vec![(Rank(rank), HostId(host))], 1.0, 0.0);
        assert_eq!(back(2, 0).undone(&scene), Some(vec![0, 1, 0]));
        assert_eq!(back(2, 7).undone(&scene), None);
        // Nobody waits for who has halted.
        let former = vec![(Rank(9), HostId(1)), (Rank(2), HostId(0))];
        let some_halted = Promise::new(former, 1.0, 0.0);
        assert_eq!(some_halted.undone(&scene), Some(vec![0, 1, 0]));
    }
}
