//! A job, as clients submit it and nodes prepare it.

use agents::hosts::{Builds, JobError, Prepared, Request};
use bsp::HostId;
use protocol::{Member, Submit};

use crate::failure::Failure;
use crate::limits;
use crate::loaded::Loaded;
use crate::prepared::PreparedExperiment;
use crate::registry::Registry;
use crate::scheduler::Scenario;

/// The experiment of `loaded` on `members`, and the request for it. `plays`: its background load is played there.
///
/// # Errors
///
/// If it cannot be run there.
pub fn request(
    loaded: &Loaded,
    members: &[Member],
    registry: &Registry,
    are_mixed_builds_allowed: bool,
    plays: bool,
) -> Result<(PreparedExperiment, Request), Failure> {
    limits::check(loaded, plays)?;
    let experiment = settings::print(
        &limits::without_others(loaded, members.len()),
        &loaded.written,
    );
    let prepared = prepare_experiment(&experiment, members, None, registry)?;
    of_prepared(
        loaded,
        (members, experiment),
        prepared,
        are_mixed_builds_allowed,
        registry,
    )
}

/// The same for the experiment of a job that resumes with this placement.
///
/// # Errors
///
/// If it cannot be run there.
pub(crate) fn resuming_request(
    loaded: &Loaded,
    (members, placement): (&[Member], Vec<HostId>),
    registry: &Registry,
    are_mixed_builds_allowed: bool,
) -> Result<(PreparedExperiment, Request), Failure> {
    limits::check(loaded, false)?;
    let effective = limits::without_others(loaded, members.len());
    let experiment = settings::print(&effective, &loaded.written);
    let prepared = prepare_experiment(&experiment, members, Some(placement), registry)?;
    of_prepared(
        loaded,
        (members, experiment),
        prepared,
        are_mixed_builds_allowed,
        registry,
    )
}

fn of_prepared(
    loaded: &Loaded,
    (members, experiment): (&[Member], String),
    mut prepared: PreparedExperiment,
    are_mixed_builds_allowed: bool,
    registry: &Registry,
) -> Result<(PreparedExperiment, Request), Failure> {
    // The submitted text does not say where its values come from.
    prepared.loaded.overrides.clone_from(&loaded.overrides);
    let request = Request {
        builds: Builds {
            own: registry.build()?,
            are_mixed_allowed: are_mixed_builds_allowed,
        },
        workload: prepared.loaded.experiment.application.workload.clone(),
        members: members.to_vec(),
        experiment,
        checkpoint: None,
        setup: prepared.setup(scenario(&prepared)),
    };
    Ok((prepared, request))
}

/// A node's preparation of a submitted job.
///
/// # Errors
///
/// If this binary does not know the workload, or the experiment is impossible.
pub fn prepare(submit: &Submit, registry: &Registry) -> Result<Prepared, JobError> {
    check_workload(submit, registry)?;
    let resumed = submit.resumed.as_ref();
    let placement = resumed.map(|resumed| resumed.placement.clone());
    let prepared = prepare_experiment(&submit.experiment, &submit.members, placement, registry);
    let prepared = prepared.map_err(|failure| JobError::input(failure.to_string()))?;
    let name = &prepared.loaded.experiment.application.workload;
    let entry = registry.find(name, None);
    let entry = entry.map_err(|fault| JobError::input(fault.to_string()))?;
    Ok(Prepared {
        setup: prepared.setup(scenario(&prepared)),
        program_type: entry.program_type(),
        supersteps: prepared.loaded.experiment.application.supersteps,
    })
}

/// Checks that this binary has the workload of a job: a client of another build may have others.
fn check_workload(submit: &Submit, registry: &Registry) -> Result<(), JobError> {
    let experiment: Option<toml::Table> = submit.experiment.parse().ok();
    let section = experiment
        .as_ref()
        .and_then(|table| table.get("application"));
    let named = section.and_then(|section| section.get("workload")?.as_str());
    // What is no experiment is refused with its own error.
    let Some(workload) = named.filter(|name| !registry.names().contains(name)) else {
        return Ok(());
    };
    let own = submit.members.get(submit.host.index());
    let own = own.map_or("", |member| member.name.as_str());
    let (program, version) = (registry.program(), registry.version());
    Err(JobError::build(format!(
        "node {own} runs {program} {version} and has no workload `{workload}`: start a program there that has it"
    )))
}

/// The scenario that is run: with migrations, unless one is named.
pub fn scenario(prepared: &PreparedExperiment) -> Scenario {
    match prepared.loaded.experiment.scheduler.options.scenario {
        Scenario::All => Scenario::Iii,
        named => named,
    }
}

fn prepare_experiment(
    experiment: &str,
    members: &[Member],
    placement: Option<Vec<HostId>>,
    registry: &Registry,
) -> Result<PreparedExperiment, Failure> {
    let platform = platform(members);
    let loaded = crate::loaded::submitted(experiment, platform, registry)?;
    match placement {
        None => PreparedExperiment::new(loaded),
        Some(placement) => PreparedExperiment::resuming(loaded, placement),
    }
}

/// The platform of `members`, as TOML; its speeds and links are not used.
fn platform(members: &[Member]) -> String {
    let mut text = String::new();
    let mut rest = members;
    while let Some(first) = rest.first() {
        let count = rest
            .iter()
            .take_while(|member| member.set == first.set)
            .count();
        let (set, later) = rest.split_at(count);
        let quoted = |text: &str| toml::Value::from(text).to_string();
        let names: Vec<String> = set.iter().map(|member| quoted(&member.name)).collect();
        text.push_str(&format!(
            "[[set]]\nname = {}\nhosts = [{}]\nspeed = \"1 Ginstr/s\"\n\
             link = {{ bandwidth = \"1 GBps\", latency = \"10 us\" }}\n\
             uplink = {{ bandwidth = \"1 GBps\", latency = \"10 us\" }}\n",
            quoted(&first.set),
            names.join(", ")
        ));
        rest = later;
    }
    text
}
