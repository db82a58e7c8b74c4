//! The greatest of many numbers that change one at a time.

/// Numbers, and which of them is the greatest: a tournament, in which a change costs the logarithm of their number.
#[derive(Clone, Debug)]
pub(super) struct Maximum {
    /// The numbers are the second half; before them, number `i` is the greater one of numbers `2 i` and `2 i + 1`.
    nodes: Vec<f64>,
}

impl Maximum {
    /// As many zeros.
    pub(super) fn zeros(size: usize) -> Self {
        let leaves = size.next_power_of_two();
        let mut nodes = vec![f64::NEG_INFINITY; 2 * leaves];
        nodes[leaves..leaves + size].fill(0.0);
        for node in (1..leaves).rev() {
            nodes[node] = nodes[2 * node].max(nodes[2 * node + 1]);
        }
        Self { nodes }
    }

    /// One of the numbers.
    pub(super) fn get(&self, index: usize) -> f64 {
        self.nodes[self.nodes.len() / 2 + index]
    }

    /// Replaces a number.
    pub(super) fn set(&mut self, index: usize, number: f64) {
        let mut node = self.nodes.len() / 2 + index;
        self.nodes[node] = number;
        while 1 < node {
            node /= 2;
            let greater = self.nodes[2 * node].max(self.nodes[2 * node + 1]);
            if greater.to_bits() == self.nodes[node].to_bits() {
                break;
            }
            self.nodes[node] = greater;
        }
    }

    /// The greatest number; zero if there is none.
    pub(super) fn greatest(&self) -> f64 {
        self.nodes[1].max(0.0)
    }

    /// The index of the greatest number, the lowest among equals.
    pub(super) fn index_of_greatest(&self) -> usize {
        let leaves = self.nodes.len() / 2;
        let mut node = 1;
        while node < leaves {
            node *= 2;
            if self.nodes[node] < self.nodes[node + 1] {
                node += 1;
            }
        }
        node - leaves
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_greatest_is_the_one_that_a_scan_finds() {
        proptest!(|(size in 1..20_usize, changes in prop::collection::vec((any::<prop::sample::Index>(), 0.0..4.0), 0..40))| {
            let mut maximum = Maximum::zeros(size);
            let mut numbers = vec![0.0_f64; size];
            for (index, number) in changes {
                // Whole numbers: some are equal.
                let (index, number) = (index.index(size), f64::floor(number));
                maximum.set(index, number);
                numbers[index] = number;
                let greatest = numbers.iter().copied().fold(0.0, f64::max);
                prop_assert!((maximum.greatest() - greatest).abs() < 1e-12);
                let first = numbers.iter().position(|number| *number >= greatest);
                prop_assert_eq!(Some(maximum.index_of_greatest()), first);
            }
            for (index, number) in numbers.iter().enumerate() {
                prop_assert!((maximum.get(index) - number).abs() < 1e-12);
            }
        });
    }
}
