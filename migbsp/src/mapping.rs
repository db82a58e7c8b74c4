//! A placement that is being changed, and how long its supersteps take.

use bsp::units::Seconds;

use crate::Scene;
use crate::bounded::seconds;

/// Processes on hosts, and what each host takes for a superstep.
///
/// `time(p) = max(Σ I(r) / (cores · rate), max I(r) / rate) + max Comm(r)` over the processes `r` on `p`;
/// a superstep takes as long as the slowest host.
#[derive(Clone, Debug)]
pub struct Mapping<'a> {
    scene: &'a Scene,
    places: Vec<usize>,
    /// By host.
    residents: Vec<Vec<usize>>,
    /// Seconds, by host.
    times: Vec<f64>,
}

impl<'a> Mapping<'a> {
    /// The processes where `places` says, by process.
    #[must_use]
    pub fn new(scene: &'a Scene, places: Vec<usize>) -> Self {
        let mut residents = vec![Vec::new(); scene.hosts().len()];
        for (process, host) in places.iter().enumerate() {
            residents[*host].push(process);
        }
        let mut mapping = Self {
            scene,
            places,
            times: vec![0.0; residents.len()],
            residents,
        };
        for host in 0..mapping.times.len() {
            mapping.times[host] = mapping.time_with(host, None, None);
        }
        mapping
    }

    /// The present placement.
    #[must_use]
    pub fn present(scene: &'a Scene) -> Self {
        Self::new(scene, scene.places().to_vec())
    }

    /// Puts `process` on `host`.
    pub fn put(&mut self, process: usize, host: usize) {
        let from = std::mem::replace(&mut self.places[process], host);
        if from == host {
            return;
        }
        self.residents[from].retain(|resident| *resident != process);
        let position = self.residents[host].partition_point(|resident| *resident < process);
        self.residents[host].insert(position, process);
        self.times[from] = self.time_with(from, None, None);
        self.times[host] = self.time_with(host, None, None);
    }

    /// Where each process is, by process.
    #[must_use]
    pub fn places(&self) -> &[usize] {
        &self.places
    }

    /// The processes on a host.
    #[must_use]
    pub fn residents(&self, host: usize) -> &[usize] {
        &self.residents[host]
    }

    /// Seconds that a host takes for a superstep.
    #[must_use]
    pub fn time(&self, host: usize) -> f64 {
        self.times[host]
    }

    /// The same if `leaving` were not there and `coming` were.
    #[must_use]
    pub fn time_with(&self, host: usize, leaving: Option<usize>, coming: Option<usize>) -> f64 {
        let staying = self.residents[host]
            .iter()
            .copied()
            .filter(|resident| Some(*resident) != leaving);
        let machine = &self.scene.hosts()[host];
        let (mut sum, mut longest, mut communication) = (0.0, 0.0_f64, 0.0_f64);
        for process in staying.chain(coming) {
            let time = self.scene.computation(process, host);
            sum += time;
            longest = longest.max(time);
            communication = communication.max(self.scene.communication(process, machine.set));
        }
        longest.max(sum / machine.cores) + communication
    }

    /// The host that takes longest, the lowest number among equals.
    #[must_use]
    pub fn slowest(&self) -> usize {
        let mut slowest = 0;
        for (host, time) in self.times.iter().enumerate() {
            if self.times[slowest] < *time {
                slowest = host;
            }
        }
        slowest
    }

    /// How long a superstep takes.
    #[must_use]
    pub fn superstep(&self) -> Seconds {
        seconds(self.times.iter().copied().fold(0.0, f64::max))
    }
}
