//! The job that resumes from the checkpoints of another one.

use agents::resumed_placement;
use bsp::HostId;
use bytes::Bytes;
use checkpoint::{Condition, Latest, SimulatedFiles, Store};

use super::random::{Purpose, Random};
use super::scenario::Scenario;

/// The job that resumes from `latest`, without faults, on some of the hosts.
///
/// # Errors
///
/// What is wrong with the checkpoint.
pub(super) fn resumed(
    scenario: &Scenario,
    mut files: SimulatedFiles,
    latest: &Latest,
) -> Result<Scenario, String> {
    let mut random = Random::new(scenario.seed, Purpose::Checkpoints);
    let checkpoint = &latest.checkpoint;
    let mut resumed = scenario.clone();
    resumed.faults.clear();
    let setup = &mut resumed.request.setup;
    setup.resumed = Some(latest.resumed()?);
    let mut store = Store::new(&mut files, HostId(0));
    let mut work = vec![None; setup.placement.len()];
    let mut states = vec![Bytes::new(); setup.placement.len()];
    for host in checkpoint.hosts().collect::<Vec<_>>() {
        let pieces = store.pieces(checkpoint, host);
        for piece in pieces.map_err(|damage| damage.to_string())? {
            let index = piece.head.rank.index();
            let is_running = piece.head.condition == Condition::Running;
            work[index] = is_running.then_some(piece.head.work);
            let chunks = piece.content.chunks().iter();
            let chunks: Vec<&[u8]> = chunks.map(|chunk| &chunk.bytes()[..]).collect();
            states[index] = chunks.concat().into();
        }
    }
    let hosts = 1 + random.index(setup.platform.hosts().len());
    setup.placement = resumed_placement(&work, &vec![1.0; hosts]);
    resumed.saved = Some(states);
    resumed.request.checkpoint = None;
    Ok(resumed)
}
