//! How long the connection of each Set to others is busy.

use bsp::SetId;

use crate::Snapshot;
use crate::knowledge::dominant_set::DominantSets;

/// Seconds that each Set's connection to others is busy with what its processes receive from them in a
/// superstep, kept up to date while processes are moved.
///
/// Equation `TRAFFIC` of `docs/model.md`. Reports name only the Set of a message's sender: the message is taken to
/// come from that Set's dominant Set, and a process outside the dominant Set of its own Set is taken to send to
/// each Set what it receives from there.
#[derive(Clone, Debug)]
pub struct Traffic<'a> {
    snapshot: &'a Snapshot,
    /// Seconds, by Set.
    busy: Vec<f64>,
}

impl<'a> Traffic<'a> {
    /// No process receives anything.
    pub(crate) fn none(snapshot: &'a Snapshot) -> Self {
        Self {
            snapshot,
            busy: vec![0.0; snapshot.sets()],
        }
    }

    /// With processes on the hosts `places`, by process.
    pub(crate) fn new(snapshot: &'a Snapshot, places: &[usize], sets: &DominantSets) -> Self {
        let mut busy = vec![0.0; snapshot.sets()];
        for (process, host) in places.iter().enumerate() {
            let set = snapshot.hosts()[*host].set;
            let usual = sets.location(snapshot.hosts()[snapshot.places()[process]].set);
            for received in &snapshot.processes()[process].received {
                let (partner, bytes) = (sets.location(received.set), received.bytes);
                let time = |one, other| crossing_time(snapshot, bytes, one, other);
                busy[set.index()] += time(partner, set);
                if partner.index() < busy.len() {
                    busy[partner.index()] += time(set, partner) - time(usual, partner);
                }
            }
        }
        Self { snapshot, busy }
    }

    /// Moves `process` from one Set to another.
    pub(crate) fn relocate(
        &mut self,
        process: usize,
        (from, to): (SetId, SetId),
        sets: &DominantSets,
    ) {
        if from == to {
            return;
        }
        for received in &self.snapshot.processes()[process].received {
            let (partner, bytes) = (sets.location(received.set), received.bytes);
            let time = |one, other| crossing_time(self.snapshot, bytes, one, other);
            self.busy[from.index()] -= time(partner, from);
            self.busy[to.index()] += time(partner, to);
            if partner.index() < self.busy.len() {
                self.busy[partner.index()] += time(to, partner) - time(from, partner);
            }
        }
    }

    /// Seconds that `set` receives from others, as far as messages share its connection to them.
    #[must_use]
    pub fn busy(&self, set: SetId) -> f64 {
        self.shared(self.busy[set.index()], set)
    }

    /// The same for both Sets if `process` went from one to the other.
    pub(crate) fn busy_after(
        &self,
        process: usize,
        (from, to): (SetId, SetId),
        sets: &DominantSets,
    ) -> [f64; 2] {
        let mut busy = [self.busy[from.index()], self.busy[to.index()]];
        for received in &self.snapshot.processes()[process].received {
            let (partner, bytes) = (sets.location(received.set), received.bytes);
            let time = |one, other| crossing_time(self.snapshot, bytes, one, other);
            busy[0] -= time(partner, from);
            busy[1] += time(partner, to);
            if partner == from {
                busy[0] += time(to, from);
            }
            if partner == to {
                busy[1] -= time(from, to);
            }
        }
        [self.shared(busy[0], from), self.shared(busy[1], to)]
    }

    fn shared(&self, busy: f64, set: SetId) -> f64 {
        let contention = self.snapshot.contention();
        // A process that moves together with its partners may leave less than nothing behind.
        busy.max(0.0) * contention.sharing().degree() * contention.slowness(set)
    }
}

/// Seconds that `bytes` take from one Set to another; zero within one.
fn crossing_time(snapshot: &Snapshot, bytes: f64, from: SetId, to: SetId) -> f64 {
    if from == to {
        0.0
    } else {
        bytes * snapshot.rate(from, to)
    }
}
