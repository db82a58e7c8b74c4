//! Table 2: the groups, and their initial levels.

use crate::chen::cell::{Cell, Claim, Quantity};
use crate::chen::printed::levels;
use crate::chen::trial::mean;

pub(super) fn compare(instances: u32) -> (Vec<Cell>, Vec<Claim>) {
    let cells = levels().into_iter().map(|(group, printed)| {
        let level = |seed| {
            let problem = group.draw(seed);
            problem.level(&problem.initial_assignment())
        };
        let ours = mean((1..=u64::from(instances)).map(level));
        Cell::new(group, Quantity::DcInitial, ours).beside(Some(printed.dc_initial))
    });
    (cells.collect(), Vec::new())
}
