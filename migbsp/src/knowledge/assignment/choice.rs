//! The host that suits a process best.

use crate::Assignment;

impl Assignment<'_> {
    /// Seconds that `host` would take for a superstep if `process` were on it, too.
    #[must_use]
    pub fn time_with(&self, process: usize, host: usize) -> f64 {
        self.host_time(host, None, Some(process), &[(process, host)])
    }

    /// The host that [would take least](Assignment::time_with) with `process`, the first one among equals.
    #[must_use]
    pub fn fastest_host(&self, process: usize) -> usize {
        self.fastest_of(process, 0..self.times.len())
    }

    /// The same among `hosts`, in their order.
    #[must_use]
    pub fn fastest_host_among(&self, process: usize, hosts: &[usize]) -> usize {
        self.fastest_of(process, hosts.iter().copied())
    }

    /// Whether `one` executes less than `other`.
    #[must_use]
    pub fn is_lighter(&self, one: usize, other: usize) -> bool {
        let processes = self.snapshot.processes();
        processes[one].instructions < processes[other].instructions
    }

    fn fastest_of(&self, process: usize, hosts: impl Iterator<Item = usize>) -> usize {
        let mut best = (0, f64::INFINITY);
        for host in hosts {
            let time = self.time_with(process, host);
            if time < best.1 {
                best = (host, time);
            }
        }
        best.0
    }
}
