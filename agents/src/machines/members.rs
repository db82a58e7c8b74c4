//! The nodes of a job: their roles, and what a job may ask of them.

use bsp::HostId;
use protocol::Submit;
use protocol::identity::Role;

use super::failure::JobError;
use crate::setup::{Rules, Setup};

/// The rules of a job: the first host of each Set is its Manager's.
pub(crate) fn rules(setup: &Setup) -> Rules {
    let rules = Rules::new(setup);
    let sets = setup.platform.sets();
    let managers = sets.iter().map(|set| set.hosts[0]).collect();
    Rules { managers, ..rules }
}

/// The role that the certificate of a host has to have.
pub(crate) fn role_of(rules: &Rules, host: HostId) -> Role {
    if rules.managers.contains(&host) {
        Role::SetManager
    } else {
        Role::Node
    }
}

/// Checks that a job means the node `own`, with as many threads as a node starts.
pub(crate) fn check_own(own: &str, submit: &Submit) -> Result<(), JobError> {
    let member = submit.members.get(submit.host.index());
    let Some(member) = member.filter(|member| member.name == own) else {
        return Err(JobError::cluster(format!(
            "{own} is not the node that is meant: see the list of hosts"
        )));
    };
    let slots = member.slots;
    if SLOTS_MAX < slots {
        let problem =
            format!("{own} has slots={slots}, expected at most {SLOTS_MAX}: a thread each");
        return Err(JobError::input(problem));
    }
    Ok(())
}

/// Threads that a node starts.
const SLOTS_MAX: u32 = 1024;
