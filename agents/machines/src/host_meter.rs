//! What a node measures of its machine.

use std::time::Duration;

use bsp::Rank;
use bsp::units::{InstructionsPerSecond, Seconds};

/// What a node measures of its machine, or of the host of a platform that it plays.
pub trait HostMeter {
    /// The instructions per second that each processor offers programs, if it is worth `factor` of what was measured.
    fn offered(&self, factor: f64) -> InstructionsPerSecond;

    /// Whether the machine counts instructions.
    fn counts(&self) -> bool;

    /// Whether the machine is one host: it plays no host of a platform, and does not have all nodes of a trial, which
    /// delay each other and see the same processes of other programs.
    fn is_a_host(&self) -> bool;

    /// The fraction of the host that other programs used, averaged over the last `window`.
    fn load(&self, window: Seconds) -> f64;

    /// The part of a core that a process alone would not have had during the last `window`, because of other programs.
    fn withheld(&self, window: Seconds) -> f64;

    /// How often in the last `window` other programs began to keep the host busy.
    fn busy_periods(&self, window: Seconds) -> u64;

    /// The processor time that each busy process of other programs has had, the longest first.
    fn ages(&self) -> Vec<Seconds>;

    /// The processor time of the thread that carries messages.
    fn overhead(&self) -> Seconds;

    /// The superstep that threads have executed for longest, in a job that runs or in one that has ended.
    fn oldest_execution(&self) -> Option<Execution>;
}

/// A superstep that a thread executes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Execution {
    /// The process.
    pub rank: Rank,
    /// The superstep, from 0.
    pub superstep: u64,
    /// How long it has been executed.
    pub age: Duration,
}

impl Execution {
    /// What it means for `own`, the node whose job has ended.
    pub fn problem(&self, own: &str) -> String {
        let (rank, superstep) = (self.rank, self.superstep);
        let age = self.age.as_secs();
        format!(
            "{own} has executed superstep {superstep} of {rank} for {age} s, and its job has ended"
        )
    }
}
