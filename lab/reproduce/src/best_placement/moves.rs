//! Changes of a placement that the search tries.

use bsp::HostId;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::Rng;

use crate::best_placement::graph::Graph;

/// Draws changes of placements.
pub(super) struct Moves<'a> {
    graph: &'a Graph,
    hosts: usize,
    generator: ChaCha8Rng,
}

impl<'a> Moves<'a> {
    /// Changes of placements on this number of hosts.
    pub(super) const fn new(graph: &'a Graph, hosts: usize, generator: ChaCha8Rng) -> Self {
        Self {
            graph,
            hosts,
            generator,
        }
    }

    /// A placement near `placement`, in which the process `slowest` holds the others up. It may be the same.
    pub(super) fn neighbour(&mut self, placement: &[HostId], slowest: usize) -> Vec<HostId> {
        let mut changed = placement.to_vec();
        let process = self.process(placement, slowest);
        match self.below(100) {
            0..40 => changed[process] = HostId::from_index(self.below(self.hosts)),
            40..55 => {
                // To where one of its partners runs.
                let partners = &self.graph.partners[process];
                let number = self.below(partners.len().max(1));
                if let Some(partner) = self.graph.partners[process].iter().nth(number) {
                    changed[process] = placement[*partner];
                }
            }
            55..85 => {
                let other = self.below(placement.len());
                changed.swap(process, other);
            }
            _ => {
                // Two hosts exchange their processes.
                let (from, to) = (
                    placement[process],
                    HostId::from_index(self.below(self.hosts)),
                );
                for host in &mut changed {
                    if *host == from {
                        *host = to;
                    } else if *host == to {
                        *host = from;
                    }
                }
            }
        }
        changed
    }

    /// Any process, and as often one on the host of the slowest.
    fn process(&mut self, placement: &[HostId], slowest: usize) -> usize {
        let process = self.below(placement.len());
        if self.below(2) == 0 {
            return process;
        }
        let host = placement[slowest];
        let residents = (0..placement.len()).filter(|other| placement[*other] == host);
        let residents: Vec<usize> = residents.collect();
        let number = self.below(residents.len());
        residents[number]
    }

    /// A number below `bound`, which is at least one.
    fn below(&mut self, bound: usize) -> usize {
        let bound = u64::try_from(bound).expect("a usize fits 64 bits");
        usize::try_from(self.generator.next_u64() % bound).expect("it is less than a usize")
    }
}
