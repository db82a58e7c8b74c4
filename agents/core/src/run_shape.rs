//! Checks of messages against the shape of the run.

use bsp::{HostId, Rank, SetId};
use record::Names;

use crate::check::check;
use crate::setup::Rules;

/// The processes, hosts, Sets and supersteps of a run.
#[derive(Clone, Copy, Debug)]
pub struct RunShape<'a> {
    /// The agents of the run.
    pub rules: &'a Rules,
    /// The number of supersteps after which a computation counts as endless.
    pub superstep_limit: u64,
}

impl Names for RunShape<'_> {
    fn rank(&self, rank: Rank) -> Result<(), String> {
        exists("process", rank.index(), self.rules.placement.len())
    }

    fn host(&self, host: HostId) -> Result<(), String> {
        exists("host", host.index(), self.rules.sets.len())
    }

    fn set(&self, set: SetId) -> Result<(), String> {
        exists("Set", set.index(), self.rules.managers.len())
    }

    fn superstep(&self, superstep: u64) -> Result<(), String> {
        let limit = self.superstep_limit;
        check(superstep <= limit, || {
            format!("superstep {superstep}, beyond the limit of {limit}")
        })
    }
}

/// Checks that there is a `what` with this index, of `count`.
fn exists(what: &str, index: usize, count: usize) -> Result<(), String> {
    check(index < count, || {
        format!("{what} {index}, but there are {count}, counted from 0")
    })
}
