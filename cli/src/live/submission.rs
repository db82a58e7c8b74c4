//! A job, as it is submitted and as nodes make it of what was submitted.

use agents::hosts::{JobError, Prepared, Request};
use protocol::{Member, Submit};

use crate::configuration::{self, Loaded, Scenario};
use crate::failure::Failure;
use crate::live::{RELEASE, crew, limits};
use crate::registry::Registry;
use crate::simulate::Stage;

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

/// What a node makes of what a client submits.
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
        program_type: entry.program_type(),
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
