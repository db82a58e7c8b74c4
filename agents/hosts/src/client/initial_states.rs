//! The states in which the processes of a job begin, as its client sends them.

use agents::{States, process_state};
use bsp::Rank;
use checkpoint::SavedStates;
use machines::JobError;

/// The states in which the processes of a job begin.
pub(super) struct InitialStates {
    /// The processes in the order in which they are sent.
    pub(super) order: Vec<Rank>,
    /// Their encoded states, each made when it is sent.
    pub(super) encoded: EncodedStates,
}

/// Encoded states.
pub(super) type EncodedStates = Box<dyn Iterator<Item = Result<Vec<u8>, JobError>> + Send>;

impl InitialStates {
    /// The programs of a job of `processes` processes.
    pub(super) fn of_programs(states: States, processes: usize) -> Self {
        Self {
            order: (0..processes).map(Rank::from_index).collect(),
            encoded: Box::new(states.enumerate().map(|(index, program)| {
                Ok(process_state::initial(Rank::from_index(index), program?))
            })),
        }
    }

    /// The pieces of a checkpoint.
    pub(super) fn of_checkpoint(saved: SavedStates) -> Self {
        let SavedStates { order, contents } = saved;
        let damaged = |damage: checkpoint::Damage| JobError::input(damage.to_string());
        Self {
            order,
            encoded: Box::new(contents.map(move |content| content.map_err(damaged))),
        }
    }
}
