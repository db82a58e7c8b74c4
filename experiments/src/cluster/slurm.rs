//! Slurm's description of a job: its hosts, and its share of each.

mod counts;
mod hostlist;

use std::collections::{BTreeMap, BTreeSet};

use protocol::identity::Name;

use crate::cluster::hostfile;
use crate::cluster::slurm::counts::counts;
use crate::cluster::slurm::hostlist::hostlist;

/// The hosts of a job, or of a step of it.
#[derive(Debug, PartialEq)]
pub(super) struct Hosts {
    /// The variable that names them.
    pub(super) variable: &'static str,
    /// Hosts and their slots.
    pub(super) list: Vec<(Name, u32)>,
}

/// A variable, and its error.
pub(super) type Problem = (&'static str, String);

/// The hosts that the environment names, if it does: those of the step, else of the job.
///
/// Slots are the processors that the job has on each host, else the tasks of each host, else one.
/// Processors come first, because `srun` starts one of us per host, which is one task.
pub(super) fn hosts(variable: impl Fn(&str) -> Option<String>) -> Result<Option<Hosts>, Problem> {
    let listed = |name| {
        let names = variable(name).map(|text| hostlist(&text));
        names.transpose().map_err(|problem| (name, problem))
    };
    let job = listed(JOB)?;
    let (chosen, names) = match (listed(STEP)?, &job) {
        (Some(step), _) => (STEP, step),
        (None, Some(job)) => (JOB, job.clone()),
        (None, None) => return Ok(None),
    };
    let counted = |name, of: &[String]| {
        let numbers = variable(name).map(|text| counted(&text, of));
        numbers.transpose().map_err(|problem| (name, problem))
    };
    let all = job.as_deref().unwrap_or(&names);
    let slots = match counted(PROCESSORS, all)? {
        Some(slots) => slots,
        None => counted(TASKS, &names)?.unwrap_or_default(),
    };
    let host = |text: &String| {
        let name = hostfile::name(text).map_err(|problem| (chosen, problem))?;
        Ok((name, slots.get(text).copied().unwrap_or(1)))
    };
    let mut list = Vec::new();
    let mut seen = BTreeSet::new();
    for name in &names {
        if !seen.insert(name) {
            return Err((chosen, format!("{name} twice, expected each host once")));
        }
        list.push(host(name)?);
    }
    Ok(Some(Hosts {
        variable: chosen,
        list,
    }))
}

/// Which host has how many, from numbers that stand in the order of `hosts`.
fn counted(text: &str, hosts: &[String]) -> Result<BTreeMap<String, u32>, String> {
    let numbers = counts(text)?;
    let (met, expected) = (numbers.len(), hosts.len());
    if met != expected {
        return Err(format!(
            "{text:?} is about {met} hosts, expected {expected}"
        ));
    }
    Ok(hosts.iter().cloned().zip(numbers).collect())
}

/// The hosts of the step that we are in.
const STEP: &str = "SLURM_STEP_NODELIST";

/// The hosts of the whole job.
const JOB: &str = "SLURM_JOB_NODELIST";

/// Number of processors of the job on each of its hosts.
const PROCESSORS: &str = "SLURM_JOB_CPUS_PER_NODE";

/// Number of tasks of each host.
const TASKS: &str = "SLURM_TASKS_PER_NODE";

#[cfg(test)]
mod tests;
