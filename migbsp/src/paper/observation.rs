//! One superstep of one process, as measured.

use bsp::SetId;
use bsp::units::{Bytes, Instructions, Seconds};
use serde::{Deserialize, Serialize};

use crate::Incoming;

/// One superstep of one process, as measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Observation<'a> {
    /// Instructions executed, `I_t(i)`.
    pub instructions: Instructions,
    /// How long that took, `CT_t(i)`.
    pub computation_time: Seconds,
    /// What was received, by the senders' Sets; a Set that sent nothing is left out.
    pub receptions: &'a [Reception],
    /// What was received, by sender, of the heaviest ones; empty if no plan needs it.
    pub incoming: &'a [Incoming],
    /// How long the longest single reception took.
    pub reception_longest: Seconds,
}

/// What a process received in one superstep from the processes of one Set.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Reception {
    /// Where the senders run.
    pub set: SetId,
    /// Sum over its messages, `B_t(i, j)`.
    pub bytes: Bytes,
    /// Sum of the times they took, `BT_t(i, j)`.
    pub time: Seconds,
}
