//! What a node measures of its machine.
//!
//! The measures of a job come from here and from messages:
//!
//! | measure | where it comes from |
//! |---|---|
//! | instructions of a superstep | counted by the processors where all machines of the cluster allow it, in units of a calibration loop; otherwise processor time multiplied by the speed of that loop |
//! | times of processes | what they would take if the processes of a host shared its processors equally (`sharing`), because the order in which a system runs them carries no information |
//! | external load, busy processes of other programs | sampled every second, without the node's own part |
//! | load, for plans that name processors | the part of the time of their computation that processes did not get (`felt_load`); where busy processes leave no whole processor, the forecast of owners' jobs replaces it |
//! | delays of messages | the clocks of two hosts, which may differ (`one_way_delay`) |
//! | rates between Sets, for predictions of supersteps | probes at the start, then batches and states (`rates`) |
//! | bandwidth between two hosts, for predictions of moves | probes and messages (`links`) |
//! | what a move took | `Installed` takes it to all Managers, which learn what moves cost and what bytes take between these hosts; as long as probes confirm that, moves are priced by it |

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
