//! Hosts that are being filled with processes.

use crate::Scene;

/// How long each host takes with the processes put on it so far; nobody leaves.
#[derive(Clone, Debug)]
pub struct Filling<'a> {
    scene: &'a Scene,
    /// By host.
    hosts: Vec<Filled>,
}

/// What the processes on one host take, in seconds.
#[derive(Clone, Copy, Debug, Default)]
struct Filled {
    sum: f64,
    longest: f64,
    communication: f64,
}

impl<'a> Filling<'a> {
    /// Nobody is anywhere yet.
    #[must_use]
    pub fn new(scene: &'a Scene) -> Self {
        Self {
            scene,
            hosts: vec![Filled::default(); scene.hosts().len()],
        }
    }

    /// Puts `process` on `host`.
    pub fn add(&mut self, process: usize, host: usize) {
        self.hosts[host] = self.with(process, host);
    }

    /// Seconds that `host` would take for a superstep with `process`.
    #[must_use]
    pub fn end(&self, process: usize, host: usize) -> f64 {
        self.time_of(self.with(process, host), host)
    }

    /// Seconds that `host` takes for a superstep.
    #[must_use]
    pub fn time(&self, host: usize) -> f64 {
        self.time_of(self.hosts[host], host)
    }

    /// The host that would take least with `process`, the lowest number among equals.
    #[must_use]
    pub fn first_to_end(&self, process: usize) -> usize {
        self.earliest(process, 0..self.hosts.len())
    }

    /// The same among `hosts`, in their order.
    #[must_use]
    pub fn first_to_end_among(&self, process: usize, hosts: &[usize]) -> usize {
        self.earliest(process, hosts.iter().copied())
    }

    /// Seconds that a superstep takes: those of the slowest host.
    #[must_use]
    pub fn superstep(&self) -> f64 {
        (0..self.hosts.len())
            .map(|host| self.time(host))
            .fold(0.0, f64::max)
    }

    fn earliest(&self, process: usize, hosts: impl Iterator<Item = usize>) -> usize {
        let mut best = (0, f64::INFINITY);
        for host in hosts {
            let end = self.end(process, host);
            if end < best.1 {
                best = (host, end);
            }
        }
        best.0
    }

    fn with(&self, process: usize, host: usize) -> Filled {
        let time = self.scene.computation(process, host);
        let set = self.scene.hosts()[host].set;
        let before = self.hosts[host];
        Filled {
            sum: before.sum + time,
            longest: before.longest.max(time),
            communication: before
                .communication
                .max(self.scene.communication(process, set)),
        }
    }

    fn time_of(&self, filled: Filled, host: usize) -> f64 {
        let cores = self.scene.hosts()[host].cores;
        filled.longest.max(filled.sum / cores) + filled.communication
    }
}
