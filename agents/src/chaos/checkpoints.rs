//! The checkpoints that follow from a seed, and the job that resumes from them.

use bsp::HostId;
use bsp::units::{BytesPerSecond, Seconds};
use bytes::Bytes;
use protocol::transport::JobId;

use super::random::{Purpose, Random};
use super::scenario::Scenario;
use crate::checkpoint::{JobDescription, Latest, SimulatedFiles, Store};
use crate::checkpointing::{CheckpointCosts, CheckpointInterval, Checkpointing};
use crate::hosts::{CheckpointFolder, Request};
use crate::machines::step::Step;
use crate::resumed_placement;

/// Gives half of all jobs checkpoints, and those that aim at a step of checkpoints.
pub(super) fn draw(seed: u64, request: &mut Request, step: Option<Step>) {
    let mut random = Random::new(seed, Purpose::Checkpoints);
    let is_aimed = matches!(
        step,
        Some(Step::Save | Step::Copy | Step::Write | Step::Collect)
    );
    if !is_aimed && random.percent(50) {
        return;
    }
    let interval = if random.percent(50) {
        CheckpointInterval::Supersteps(random.between(1, 8))
    } else {
        let nanoseconds = random.duration(100_000, 50_000_000);
        let seconds = Seconds::new(nanoseconds as f64 * 1e-9).expect("finite");
        CheckpointInterval::Time(seconds)
    };
    let rate = BytesPerSecond::new(1e9).expect("a positive rate");
    request.setup.checkpointing = Some(Checkpointing {
        interval,
        mtbf: Seconds::new(1e6).expect("finite"),
        copies: is_aimed || random.percent(75),
        // Of the simulated world.
        costs: CheckpointCosts {
            encoding: rate,
            fork: rate,
            forks: true,
            bytes: None,
            change: 1.0,
        },
    });
    if is_aimed || random.percent(75) {
        request.checkpoint = Some(CheckpointFolder {
            path: "/checkpoints".to_owned(),
            experiment: "the experiment".to_owned(),
        });
    }
}

/// What the client of `request` says of its job in the folder.
pub(super) fn description(request: &Request, job: JobId) -> Option<JobDescription> {
    let folder = request.checkpoint.as_ref()?;
    let build = &request.builds.own;
    Some(JobDescription {
        job,
        incarnation: request.setup.incarnation(),
        workload: request.workload.clone(),
        processes: u32::try_from(request.setup.placement.len()).expect("few processes"),
        program: build.program().to_owned(),
        version: build.version().to_owned(),
        build: build.sha256(),
        experiment: folder.experiment.clone(),
    })
}

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
            let is_running = piece.head.condition == crate::checkpoint::Condition::Running;
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
