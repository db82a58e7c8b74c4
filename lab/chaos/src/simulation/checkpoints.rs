//! The checkpoints that follow from a seed.

use agents::{CheckpointCosts, CheckpointInterval, Checkpointing};
use bsp::units::{BytesPerSecond, Seconds};
use checkpoint::JobDescription;
use machines::client::Request;
use protocol::Step;
use protocol::transport::JobId;

use super::random::{Purpose, Random};

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
        request.checkpoint = Some("/checkpoints".to_owned());
    }
}

/// What the client of `request` says of its job in the folder.
pub(super) fn description(request: &Request, job: JobId) -> Option<JobDescription> {
    request.checkpoint.as_ref()?;
    let build = &request.builds.own;
    Some(JobDescription {
        job,
        incarnation: request.setup.incarnation(),
        workload: request.workload.clone(),
        processes: u32::try_from(request.setup.placement.len()).expect("few processes"),
        program: build.program().to_owned(),
        version: build.version().to_owned(),
        build: build.sha256(),
        experiment: "the experiment".to_owned(),
    })
}
