//! What hosts have to compute in a superstep: the source of their load.

use record::Evaluated;

use super::placement::Placement;

/// What each process executes in a superstep and what each host offers, as the last call said.
///
/// A record has no times of processes in single supersteps. Where a source has them, it gives them in place of
/// [`Self::seconds`].
#[derive(Clone, Debug)]
pub(super) struct Work {
    /// Instructions by rank; `None`: no call has named them.
    instructions: Vec<Option<f64>>,
    /// What a host offers, by host.
    capacities: Vec<Option<Capacity>>,
}

/// What a host offers.
#[derive(Clone, Copy, Debug)]
struct Capacity {
    /// Instructions per second of one core that others leave.
    speed: f64,
    cores: f64,
}

impl Work {
    /// Nothing is known yet.
    pub(super) fn new(processes: usize, hosts: usize) -> Self {
        Self {
            instructions: vec![None; processes],
            capacities: vec![None; hosts],
        }
    }

    /// A Set has evaluated its processes.
    pub(super) fn evaluate(&mut self, evaluated: &Evaluated) {
        for hosts in &evaluated.hosts {
            let capacity = Capacity {
                speed: hosts.speed.get() * (1.0 - hosts.load),
                cores: f64::from(hosts.cores),
            };
            for host in hosts.ids() {
                if let Some(known) = self.capacities.get_mut(host.index()) {
                    *known = Some(capacity);
                }
            }
        }
        for process in &evaluated.processes {
            if let Some(known) = self.instructions.get_mut(process.rank.index()) {
                *known = Some(process.instructions.as_f64());
            }
        }
    }

    /// How long each host computes in a superstep in this placement, in seconds; `None`: it has no process, or is not
    /// known.
    pub(super) fn seconds(&self, placement: &Placement) -> Vec<Option<f64>> {
        let mut loads: Vec<Option<(f64, f64)>> = vec![None; self.capacities.len()];
        for (host, instructions) in placement.now().iter().zip(&self.instructions) {
            let Some(instructions) = instructions else {
                continue;
            };
            let (sum, most) = loads[host.index()].unwrap_or_default();
            loads[host.index()] = Some((sum + instructions, most.max(*instructions)));
        }
        let seconds = loads.into_iter().zip(&self.capacities);
        seconds
            .map(|(load, capacity)| {
                let ((sum, most), capacity) = load.zip(capacity.as_ref())?;
                let seconds = (sum / capacity.cores).max(most) / capacity.speed;
                Some(seconds).filter(|seconds| seconds.is_finite())
            })
            .collect()
    }
}
