//! Where the processes of a job start that resumes another one.

use std::cmp::Reverse;

use bsp::units::Instructions;
use bsp::{HostId, Rank};

/// The host of each process, by rank, in a job that resumes another one on hosts of these `capacities`: speed times number
/// of processors, positive. `work` is what each process computed in its last superstep; `None`: it has halted.
///
/// The processes are placed by work, the largest first, each on the host whose work divided by its capacity is least
/// afterwards; of those, where there are fewest processes for its capacity; of those, on the lowest. Processes that have
/// halted are placed on the first host, whose Manager then is the first if process 0 is one of them.
///
/// # Panics
///
/// If there are no hosts, or a capacity is not a number.
#[must_use]
pub fn resumed_placement(work: &[Option<Instructions>], capacities: &[f64]) -> Vec<HostId> {
    let mut running: Vec<(Instructions, Rank)> = work
        .iter()
        .enumerate()
        .filter_map(|(index, work)| Some(((*work)?, Rank::from_index(index))))
        .collect();
    running.sort_by_key(|(work, rank)| (Reverse(*work), *rank));
    let mut hosts = vec![(0.0, 0.0); capacities.len()];
    let mut placement = vec![HostId(0); work.len()];
    for (work, rank) in running {
        let after = |index: usize| {
            let (load, count): (f64, f64) = hosts[index];
            let capacity = capacities[index];
            [(load + work.as_f64()) / capacity, (count + 1.0) / capacity]
        };
        let compare = |one: &usize, other: &usize| {
            let [[load, count], [other_load, other_count]] = [after(*one), after(*other)];
            load.total_cmp(&other_load)
                .then(count.total_cmp(&other_count))
        };
        // Of equal ones, the first.
        let best = (0..capacities.len()).min_by(compare);
        let best = best.expect("there are hosts");
        let (load, count) = &mut hosts[best];
        *load += work.as_f64();
        *count += 1.0;
        placement[rank.index()] = HostId::from_index(best);
    }
    placement
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(work: &[Option<u64>], capacities: &[f64], expected: &[u32]) {
        let work: Vec<_> = work.iter().map(|work| work.map(Instructions)).collect();
        let expected: Vec<_> = expected.iter().copied().map(HostId).collect();
        assert_eq!(resumed_placement(&work, capacities), expected, "{work:?}");
    }

    #[test]
    fn processes_go_where_their_work_ends_first() {
        let work = [Some(3), Some(9), None, Some(5), Some(5)];
        // 9 to the first, 5 and 3 to the second and third, which have 5 each then.
        check(&work, &[1.0; 3], &[1, 0, 0, 1, 2]);
        check(&work, &[1.0], &[0; 5]);
        // A host that is three times as fast gets 9, 5 and 3.
        check(&work, &[1.0, 3.0], &[1, 1, 0, 1, 0]);
        check(&work, &[1.0; 6], &[3, 0, 0, 1, 2]);
    }

    #[test]
    fn processes_that_computed_nothing_are_spread_by_capacity() {
        check(&[Some(0); 4], &[1.0; 2], &[0, 1, 0, 1]);
        check(&[Some(0); 3], &[1.0, 2.0], &[1, 0, 1]);
        check(&[None, Some(0), None], &[1.0; 2], &[0, 0, 0]);
    }
}
