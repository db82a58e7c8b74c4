//! The state in which a job begins that resumes another one.

use bsp::Rank;

use crate::check::check;

/// The state in which a job begins that resumes another one, without its programs.
///
/// The scheduler is not part of it: histories, calls and what was learned begin anew.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resumed {
    /// The incarnation of the job: greater than that of the checkpoint.
    pub incarnation: u64,
    /// The superstep with which the job begins: that of the checkpoint.
    pub superstep: u64,
    /// The superstep in which each process has halted, by rank, if it has.
    pub halted: Vec<Option<u64>>,
}

impl Resumed {
    /// Checks that a job of `processes` processes can begin in this state.
    ///
    /// # Errors
    ///
    /// Why it cannot.
    pub fn check(&self, processes: usize) -> Result<(), String> {
        let Self {
            incarnation,
            superstep,
            halted,
        } = self;
        check(0 < *incarnation && 0 < *superstep, || {
            format!("a job cannot resume as incarnation {incarnation} in superstep {superstep}")
        })?;
        let count = halted.len();
        check(count == processes, || {
            format!("the state of {count} processes is that of another job, which has {processes}")
        })?;
        check(halted.contains(&None), || {
            "all processes have halted: there is nothing to resume".to_owned()
        })?;
        let last = halted.iter().flatten().max();
        check(last.is_none_or(|last| last < superstep), || {
            format!("a process has halted by superstep {superstep}, but not before it")
        })
    }

    /// Whether a process has halted before the job begins.
    pub fn has_halted(&self, rank: Rank) -> bool {
        self.halted.get(rank.index()).copied().flatten().is_some()
    }
}
