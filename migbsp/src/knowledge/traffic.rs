//! How long Sets receive from each other.

use bsp::SetId;

use crate::Scene;
use crate::knowledge::dominant_set::Seats;

/// Seconds that each Set's connection to others is busy with what its processes receive from them in a
/// superstep, kept up to date while processes change their places.
///
/// Equation `TRAFFIC` of `docs/model.md`. Which process a message came from is not known, only its Set: it is
/// taken to come from that Set's seat, and a process that is elsewhere than its Set's seat is taken to send to
/// each Set what it receives from there.
#[derive(Clone, Debug)]
pub struct Traffic<'a> {
    scene: &'a Scene,
    /// Seconds, by Set.
    busy: Vec<f64>,
}

impl<'a> Traffic<'a> {
    /// With processes where `places` says.
    pub(crate) fn new(scene: &'a Scene, places: &[usize], seats: &Seats) -> Self {
        let mut busy = vec![0.0; scene.sets()];
        for (process, host) in places.iter().enumerate() {
            let set = scene.hosts()[*host].set;
            let usual = seats.of(scene.hosts()[scene.places()[process]].set);
            for received in &scene.processes()[process].received {
                let (partner, bytes) = (seats.of(received.set), received.bytes);
                let rate = |one, other| crossing(scene, bytes, one, other);
                busy[set.index()] += rate(partner, set);
                if partner.index() < busy.len() {
                    busy[partner.index()] += rate(set, partner) - rate(usual, partner);
                }
            }
        }
        Self { scene, busy }
    }

    /// `process` has gone from one Set to another.
    pub(crate) fn moved(&mut self, process: usize, (from, to): (SetId, SetId), seats: &Seats) {
        if from == to {
            return;
        }
        for received in &self.scene.processes()[process].received {
            let (partner, bytes) = (seats.of(received.set), received.bytes);
            let rate = |one, other| crossing(self.scene, bytes, one, other);
            self.busy[from.index()] -= rate(partner, from);
            self.busy[to.index()] += rate(partner, to);
            if partner.index() < self.busy.len() {
                self.busy[partner.index()] += rate(to, partner) - rate(from, partner);
            }
        }
    }

    /// Seconds that `set` receives from others, as far as messages share what connects it to them.
    #[must_use]
    pub fn busy(&self, set: SetId) -> f64 {
        self.shared(self.busy[set.index()], set)
    }

    /// The same if `process` went from one Set to another, for both of them.
    pub(crate) fn busy_after(
        &self,
        process: usize,
        (from, to): (SetId, SetId),
        seats: &Seats,
    ) -> [f64; 2] {
        let mut busy = [self.busy[from.index()], self.busy[to.index()]];
        for received in &self.scene.processes()[process].received {
            let (partner, bytes) = (seats.of(received.set), received.bytes);
            let rate = |one, other| crossing(self.scene, bytes, one, other);
            busy[0] -= rate(partner, from);
            busy[1] += rate(partner, to);
            if partner == from {
                busy[0] += rate(to, from);
            }
            if partner == to {
                busy[1] -= rate(from, to);
            }
        }
        [self.shared(busy[0], from), self.shared(busy[1], to)]
    }

    fn shared(&self, busy: f64, set: SetId) -> f64 {
        let contention = self.scene.contention();
        // Who moves together with his partners leaves less behind than nothing.
        busy.max(0.0) * contention.sharing().degree() * contention.slowness(set)
    }
}

/// Seconds that so many bytes take from one Set to another; nothing within one.
fn crossing(scene: &Scene, bytes: f64, from: SetId, to: SetId) -> f64 {
    if from == to {
        0.0
    } else {
        bytes * scene.rate(from, to)
    }
}
