//! What it costs to get from the present placement to another.

use crate::{Burden, Scene};

/// What the moves to a new placement take, kept up to date while it changes.
///
/// Equation `BURDEN` of `docs/model.md`.
#[derive(Clone, Debug)]
pub struct Bill<'a> {
    scene: &'a Scene,
    /// Seconds that each host sends and receives states for.
    hosts: Vec<[f64; 2]>,
    /// The same for what each Set exchanges with others.
    sets: Vec<[f64; 2]>,
    /// Seconds that each process takes to move.
    processes: Vec<f64>,
}

impl<'a> Bill<'a> {
    /// Nobody moves.
    #[must_use]
    pub fn new(scene: &'a Scene) -> Self {
        Self {
            scene,
            hosts: vec![[0.0; 2]; scene.hosts().len()],
            sets: vec![[0.0; 2]; scene.sets()],
            processes: vec![0.0; scene.processes().len()],
        }
    }

    /// `process`, which was to go to the host `before`, is to go to `after`; where it runs if it stays.
    pub fn moves(&mut self, process: usize, before: usize, after: usize) {
        self.add(process, before, -1.0);
        self.add(process, after, 1.0);
        self.processes[process] = self.scene.migration(process, after);
    }

    /// Seconds that all moves take together.
    #[must_use]
    pub fn total(&self) -> f64 {
        match self.scene.burden() {
            Burden::Shared => {
                let busy = self.hosts.iter().chain(&self.sets);
                busy.flatten().copied().fold(0.0, f64::max)
            }
            Burden::Alone => self.processes.iter().copied().fold(0.0, f64::max),
        }
    }

    fn add(&mut self, process: usize, to: usize, sign: f64) {
        let time = sign * self.scene.migration(process, to);
        let from = self.scene.places()[process];
        self.hosts[from][0] += time;
        self.hosts[to][1] += time;
        let set = |host: usize| self.scene.hosts()[host].set;
        if set(from) != set(to) {
            self.sets[set(from).index()][0] += time;
            self.sets[set(to).index()][1] += time;
        }
    }
}
