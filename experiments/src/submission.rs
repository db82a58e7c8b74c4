//! A job, as clients submit it and nodes prepare it.
//!
//! A job travels as an experiment: the configuration in effect as TOML, as `--print-config` shows it, without what is of
//! simulations. A node reads it as any experiment file, so what a node accepts is what a file may say, its errors name the
//! line and the key, and a binary of another version refuses what it does not know instead of taking it for something
//! else. The hosts of a job are data beside it (`Submit::members`).

use bsp::HostId;
use machines::client::Request;
use machines::{Builds, JobError, Prepared};
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
    let experiment = settings::print(&limits::without_others(loaded), &loaded.written);
    let prepared = prepare_experiment(&experiment, members, None, registry)?;
    of_prepared(
        loaded,
        (members, experiment),
        prepared,
        are_mixed_builds_allowed,
        registry,
    )
}

/// The same for the experiment of a job that resumes with this placement: its nodes read `experiment`, as those of the job
/// before did.
///
/// # Errors
///
/// If it cannot be run there.
pub(crate) fn resuming_request(
    loaded: &Loaded,
    experiment: &str,
    (members, placement): (&[Member], Vec<HostId>),
    (registry, are_mixed_builds_allowed): (&Registry, bool),
) -> Result<(PreparedExperiment, Request), Failure> {
    limits::check(loaded, false)?;
    let prepared = prepare_experiment(experiment, members, Some(placement), registry)?;
    of_prepared(
        loaded,
        (members, experiment.to_owned()),
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
    let input = |failure: Failure| JobError::input(failure.to_string());
    let loaded = load(&submit.experiment, &submit.members, registry).map_err(input)?;
    let (found, expected) = (loaded.experiment.application.processes, submit.processes);
    // Before anything is made for each of them.
    if found != expected {
        return Err(JobError::input(format!(
            "the experiment has {found} processes, and the client submits {expected}"
        )));
    }
    let prepared = place(loaded, placement).map_err(input)?;
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

/// The scenario that is run: with migrations, unless one is named; without a policy, the application alone.
pub fn scenario(prepared: &PreparedExperiment) -> Scenario {
    let scheduler = &prepared.loaded.experiment.scheduler;
    match scheduler.scenario {
        _ if scheduler.policy.is_none() => Scenario::I,
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
    place(load(experiment, members, registry)?, placement)
}

fn load(experiment: &str, members: &[Member], registry: &Registry) -> Result<Loaded, Failure> {
    let mut loaded = crate::loaded::submitted(experiment, sets(members), registry)?;
    // A single node has no buddy.
    loaded.experiment.checkpoint.copies &= 1 < members.len();
    Ok(loaded)
}

fn place(loaded: Loaded, placement: Option<Vec<HostId>>) -> Result<PreparedExperiment, Failure> {
    match placement {
        None => PreparedExperiment::new(loaded),
        Some(placement) => PreparedExperiment::resuming(loaded, placement),
    }
}

/// The Sets of `members`, in their order, each with the names of its hosts.
fn sets(members: &[Member]) -> Vec<(String, Vec<String>)> {
    let sets = members.chunk_by(|left, right| left.set == right.set);
    let names = |set: &[Member]| set.iter().map(|member| member.name.clone()).collect();
    sets.map(|set| (set[0].set.clone(), names(set))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn submit(experiment: &str, processes: u32) -> Submit {
        let member = |name: &str| Member {
            name: name.to_owned(),
            address: String::new(),
            set: "s".to_owned(),
            slots: 2,
            speed: 1.0,
        };
        Submit {
            job: 1,
            host: HostId(0),
            members: vec![member("n1"), member("n2")],
            experiment: experiment.to_owned(),
            processes,
            checkpoint: None,
            resumed: None,
        }
    }

    /// What the honest client submits of a file, changed by hand.
    const EXPERIMENT: &str = "[application]\nworkload = \"heat\"\nprocesses = 4\nsupersteps = 9\n\
        [application.heat]\nwidth = 20\nheight = 20\n[platform]\nfile = \"cluster\"\n";

    #[test]
    fn nodes_refuse_what_clients_leave_out_or_refuse() {
        let registry = Registry::shipped();
        let prepared = |text: &str, processes| {
            let prepared = prepare(&submit(text, processes), &registry);
            prepared.map_err(|error| error.message)
        };
        assert!(prepared(EXPERIMENT, 4).is_ok());
        for (more, found) in [
            // It exists, and opening it as a file would read it.
            ("[load]\nkind = \"trace\"\nfile = \"/etc/passwd\"\n", "load"),
            ("[load]\nkind = \"trace\"\nfile = \"/none\"\n", "load"),
            (
                "[congestion]\nkind = \"constant\"\nlevel = 0.5\n",
                "congestion",
            ),
            ("[elasticity]\npool = []\n", "elasticity"),
            ("[barrier]\nshape = \"ideal\"\n", "barrier.shape"),
            ("[scheduler]\npayment = \"migrant\"\n", "scheduler.payment"),
            (
                "[scheduler]\ntransfer_factor = 2\n",
                "scheduler.transfer_factor",
            ),
        ] {
            let refused = prepared(&format!("{EXPERIMENT}{more}"), 4).err().unwrap();
            assert!(refused.contains(found), "{more}: {refused}");
            assert!(!refused.contains("No such file"), "{refused}");
        }
        let refused = prepared(EXPERIMENT, 5).err().unwrap();
        assert!(refused.contains("has 4 processes"), "{refused}");
    }
}
