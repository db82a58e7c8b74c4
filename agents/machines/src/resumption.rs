//! The state in which a job begins that resumes another one, as a client submits it and nodes take it.
//!
//! Such a job begins with the superstep of a checkpoint. What the client submits has that, the placement, and the
//! processes that have halted; nodes check it as any input. The client reads the store file by file and sends the
//! contents of pieces in place of programs. A node decodes program, agent and inbox, and sends the outputs of processes
//! that have halted to the client when the job begins. Agents keep their superstep and what their process computed
//! last, and nothing else. Managers, exchanges and the client's checks know the first superstep and who has halted.
//! Every incarnation of a job is greater than all in its folder.

use agents::{Resumed, Setup};
use protocol::{ResumedJob, Submit};

use crate::job_error::JobError;

/// What a client submits of `setup`, if the job resumes another one.
pub(super) fn submitted(setup: &Setup) -> Option<ResumedJob> {
    let resumed = setup.resumed.as_ref()?;
    Some(ResumedJob {
        incarnation: resumed.incarnation,
        superstep: resumed.superstep,
        placement: setup.placement.clone(),
        halted: resumed.halted.clone(),
    })
}

/// Checks the state that a client has submitted against the rest of what it has submitted.
///
/// # Errors
///
/// If no job of these nodes and processes can begin in it.
pub(super) fn check(submit: &Submit) -> Result<(), JobError> {
    let saved = submit.view.as_ref().and_then(|view| view.saved.as_ref());
    let Some(resumed) = &submit.resumed else {
        return match saved {
            None => Ok(()),
            Some(_) => Err(JobError::input("a checkpoint without a superstep")),
        };
    };
    if let Some(saved) = saved {
        let (members, processes) = (submit.members.len(), submit.processes);
        let are_members = saved.holders.iter().all(|host| host.index() < members);
        let is_earlier = saved.incarnation < resumed.incarnation;
        if u32::try_from(saved.holders.len()) != Ok(processes) || !are_members || !is_earlier {
            let problem = "a view that begins with pieces which its nodes cannot have";
            return Err(JobError::input(problem));
        }
    }
    let (places, processes) = (resumed.placement.len(), submit.processes);
    if u32::try_from(places) != Ok(processes) {
        let problem = format!("{places} places for the {processes} processes of a resumed job");
        return Err(JobError::input(problem));
    }
    check_hosts(resumed, submit.members.len())?;
    state(resumed).check(places).map_err(JobError::input)
}

/// `setup`, as a node has prepared it, of a job that begins in this state, which [`check`] accepts.
///
/// # Errors
///
/// If the setup has too few hosts or supersteps for it.
pub(super) fn resume(setup: Setup, resumed: &ResumedJob) -> Result<Setup, JobError> {
    check_hosts(resumed, setup.platform.hosts().len())?;
    let (superstep, limit) = (resumed.superstep, setup.superstep_limit);
    if limit < superstep {
        let problem = format!(
            "the job resumes with superstep {superstep}, beyond `run.superstep_limit`, which is {limit}"
        );
        return Err(JobError::input(problem));
    }
    Ok(Setup {
        placement: resumed.placement.clone(),
        resumed: Some(state(resumed)),
        ..setup
    })
}

fn check_hosts(resumed: &ResumedJob, hosts: usize) -> Result<(), JobError> {
    let mut placement = resumed.placement.iter();
    match placement.find(|host| hosts <= host.index()) {
        None => Ok(()),
        Some(host) => {
            let problem = format!("a process resumes on {host}, but there are {hosts} hosts");
            Err(JobError::input(problem))
        }
    }
}

fn state(resumed: &ResumedJob) -> Resumed {
    Resumed {
        incarnation: resumed.incarnation,
        superstep: resumed.superstep,
        halted: resumed.halted.clone(),
    }
}

#[cfg(test)]
mod tests {
    use bsp::HostId;
    use protocol::{InputFolder, Member};

    use super::*;

    #[test]
    fn states_in_which_no_job_can_begin_are_refused() {
        let good = ResumedJob {
            incarnation: 1,
            superstep: 5,
            placement: vec![HostId(0), HostId(1), HostId(1)],
            halted: vec![None, Some(4), None],
        };
        let placed = |hosts: &[u32]| ResumedJob {
            placement: hosts.iter().copied().map(HostId).collect(),
            ..good.clone()
        };
        let halted = |halted: &[Option<u64>]| ResumedJob {
            halted: halted.to_vec(),
            ..good.clone()
        };
        let numbered = |incarnation, superstep| ResumedJob {
            incarnation,
            superstep,
            halted: vec![None; 3],
            ..good.clone()
        };
        let member = |name: &str| Member {
            name: name.to_owned(),
            address: String::new(),
            set: "s".to_owned(),
            slots: 1,
            speed: 1.0,
        };
        let check = |resumed: ResumedJob| {
            let submit = Submit {
                job: 1,
                session: 1,
                host: HostId(0),
                members: vec![member("n0"), member("n1")],
                experiment: String::new(),
                folder: InputFolder::default(),
                processes: 3,
                checkpoint: None,
                resumed: Some(resumed),
                files: None,
                view: None,
                memory: None,
                wait: bsp::units::Seconds::ZERO,
            };
            check(&submit).map_err(|error| error.message)
        };
        assert_eq!(check(good.clone()), Ok(()));
        for (bad, problem) in [
            (placed(&[0, 0]), "2 places for the 3 processes"),
            (placed(&[0, 2, 1]), "but there are 2 hosts"),
            (placed(&[0, u32::MAX, 1]), "but there are 2 hosts"),
            (halted(&[None, None]), "the state of 2 processes"),
            (halted(&[Some(1), Some(2), Some(4)]), "nothing to resume"),
            (halted(&[None, Some(5), None]), "has halted by superstep 5"),
            (halted(&[None, Some(u64::MAX), None]), "has halted by"),
            (numbered(0, 5), "incarnation 0"),
            (numbered(1, 0), "superstep 0"),
        ] {
            let refused = check(bad.clone()).unwrap_err();
            assert!(refused.contains(problem), "{bad:?}: {refused}");
        }
    }
}
