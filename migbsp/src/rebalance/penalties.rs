//! Frequency of process-machine pairs in the solutions found.

/// By process and machine, how often it was found there and not at home: the matrix `B`.
///
/// Memory is linear in processes and in what is not 0.
#[derive(Clone, Debug)]
pub(super) struct Penalties {
    /// By process, in ascending order of machines.
    rows: Vec<Vec<(usize, f64)>>,
}

impl Penalties {
    /// Before anything was found.
    pub(super) fn none(processes: usize) -> Self {
        Self {
            rows: vec![Vec::new(); processes],
        }
    }

    /// `process` was found on `machine`.
    pub(super) fn add(&mut self, process: usize, machine: usize) {
        let row = &mut self.rows[process];
        match row.binary_search_by_key(&machine, |&(machine, _)| machine) {
            Ok(at) => row[at].1 += 1.0,
            Err(at) => row.insert(at, (machine, 1.0)),
        }
    }

    /// How often `process` was found on `machine`.
    #[inline]
    pub(super) fn of(&self, process: usize, machine: usize) -> f64 {
        let row = &self.rows[process];
        row.binary_search_by_key(&machine, |&(machine, _)| machine)
            .map_or(0.0, |at| row[at].1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_time_counts_where_it_was_found() {
        let mut penalties = Penalties::none(2);
        for machine in [7, 3, 7, 5, 7] {
            penalties.add(1, machine);
        }
        let row = |process| {
            [3, 5, 6, 7]
                .map(|machine| penalties.of(process, machine))
                .to_vec()
        };
        assert_eq!(row(0), [0.0; 4]);
        assert_eq!(row(1), [1.0, 1.0, 0.0, 3.0]);
    }
}
