//! A job, as clients submit it and nodes prepare it.

use std::future::Future;
use std::pin::Pin;

use agents::hosts::{JobError, Prepared, Request};
use agents::record::Event;
use protocol::identity::Identity;
use protocol::{Fault, Member, Submit};

use crate::configuration::{self, Fault as Mistake, Loaded, Scenario};
use crate::failure::Failure;
use crate::live::{RELEASE, crew, limits};
use crate::registry::Registry;
use crate::simulate::Stage;
use crate::workload::Rejection;

/// A job on its way to the nodes.
pub(crate) struct Submission<'a> {
    /// The client that submits it.
    pub(crate) client: Identity,
    /// The request.
    pub(crate) request: &'a Request,
    /// Receives every event, and may end the job.
    pub(crate) observer: &'a mut dyn FnMut(&Event) -> Result<(), JobError>,
    /// Ready when it is to be ended.
    pub(crate) interrupted: Pin<Box<dyn Future<Output = ()>>>,
}

/// Why a run on real hosts has no result.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LiveError {
    /// The workload's parameters make no program.
    #[error(transparent)]
    Parameters(#[from] Mistake),
    /// The program or the cluster let it down.
    #[error(transparent)]
    Job(#[from] JobError),
    /// The outputs are no valid result.
    #[error(transparent)]
    Outputs(#[from] Rejection),
}

/// The experiment of `loaded` on `members`, and the request for it.
///
/// # Errors
///
/// If it cannot be run there.
pub(crate) fn request(
    loaded: &Loaded,
    members: &[Member],
    registry: &Registry,
) -> Result<(Stage, Request), Failure> {
    limits::check(loaded)?;
    let experiment = configuration::print(&limits::without_others(loaded), &loaded.written);
    let stage = stage(&experiment, members, registry)?;
    let request = Request {
        release: RELEASE.to_owned(),
        members: members.to_vec(),
        experiment,
        setup: stage.setup(scenario(&stage)),
    };
    Ok((stage, request))
}

/// A node's preparation of a submitted job.
///
/// # Errors
///
/// If this binary does not know the workload, or the experiment is impossible.
pub(crate) fn prepare(submit: &Submit, registry: &Registry) -> Result<Prepared, JobError> {
    let stage = stage(&submit.experiment, &submit.members, registry);
    let stage = stage.map_err(|failure| JobError::input(failure.to_string()))?;
    let name = &stage.loaded.experiment.application.workload;
    let entry = registry.find(name, None);
    let entry = entry.map_err(|fault| JobError::input(fault.to_string()))?;
    Ok(Prepared {
        setup: stage.setup(scenario(&stage)),
        kind: entry.kind(),
    })
}

/// The scenario that is run: with migrations, unless one is named.
pub(crate) fn scenario(stage: &Stage) -> Scenario {
    match stage.loaded.experiment.scheduler.options.scenario {
        Scenario::All => Scenario::Iii,
        named => named,
    }
}

fn stage(experiment: &str, members: &[Member], registry: &Registry) -> Result<Stage, Failure> {
    let platform = crew::platform(members);
    Stage::new(configuration::submitted(experiment, platform, registry)?)
}

impl From<LiveError> for Failure {
    fn from(error: LiveError) -> Self {
        match error {
            LiveError::Parameters(fault) => fault.into(),
            LiveError::Job(JobError { fault, message }) => match fault {
                Fault::Program => Self::Run(message),
                Fault::Input => Self::Input(message),
                Fault::Cluster => Self::Cluster(message),
            },
            LiveError::Outputs(error @ Rejection::Input(_)) => Self::input(error),
            LiveError::Outputs(error @ Rejection::Outputs(_)) => {
                Self::Verification(error.to_string())
            }
        }
    }
}
