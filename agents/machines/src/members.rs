//! The nodes of a job: their roles, and what a job may ask of them.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;

use agents::{Rules, Setup};
use bsp::HostId;
use bsp::units::Seconds;
use protocol::identity::{Name, NameError, Role};
use protocol::{Awaited, Build, Member, Submit, is_displayable};

use crate::job_error::JobError;

/// The rules of a job: the first host of each Set is its Manager's.
pub fn rules(setup: &Setup) -> Rules {
    let rules = Rules::new(setup);
    let sets = setup.platform.sets();
    let managers = sets.iter().map(|set| set.hosts[0]).collect();
    Rules { managers, ..rules }
}

/// The role that the place of a host needs: its certificate has this role, or one that serves as it.
pub fn role_of(rules: &Rules, host: HostId) -> Role {
    if rules.managers.contains(&host) {
        Role::SetManager
    } else {
        Role::Node
    }
}

/// The names of members, in their order.
pub(crate) fn names(members: &[Member]) -> Vec<String> {
    members.iter().map(|member| member.name.clone()).collect()
}

/// Checks that a job means the node `own`, and that its members are those that a hostfile can have: every node calls the
/// others, and starts a thread for each of its slots.
pub(crate) fn check_own(own: &str, submit: &Submit) -> Result<(), JobError> {
    let member = submit.members.get(submit.host.index());
    if member.is_none_or(|member| member.name != own) {
        return Err(JobError::cluster(format!(
            "{own} is not the node that is meant: see the list of hosts"
        )));
    }
    let (members, processes) = (submit.members.len(), submit.processes);
    if MEMBERS_MAX < members {
        let problem = format!("a job of {members} nodes, expected at most {MEMBERS_MAX}");
        return Err(JobError::input(problem));
    }
    if PROCESSES_MAX < processes {
        let problem = format!("a job of {processes} processes, expected at most {PROCESSES_MAX}");
        return Err(JobError::input(problem));
    }
    let pool = submit.view.as_ref().map_or(&[][..], |view| &view.pool);
    if MEMBERS_MAX < members + pool.len() {
        let problem = format!("more than {MEMBERS_MAX} nodes that may take part in a job");
        return Err(JobError::input(problem));
    }
    let mut names = BTreeSet::new();
    for member in submit.members.iter().chain(pool) {
        check(member).map_err(JobError::input)?;
        if !names.insert(&member.name) {
            let problem = format!("{} is in the list of hosts twice", member.name);
            return Err(JobError::input(problem));
        }
    }
    let awaited = submit.view.as_ref().and_then(|view| view.awaited.as_ref());
    let checked = awaited.map(|awaited| check_awaited(awaited, &names, (members, processes)));
    checked.unwrap_or(Ok(())).map_err(JobError::input)
}

/// Checks what a job of these numbers of members and processes says of the hosts that it awaits. `names` are those of all hosts
/// that may take part.
fn check_awaited(
    awaited: &Awaited,
    names: &BTreeSet<&String>,
    (members, processes): (usize, u32),
) -> Result<(), String> {
    let Awaited {
        placement,
        homes,
        passed,
        asked,
    } = awaited;
    let places = placement.len();
    let is_whole = places == 0 || u32::try_from(places) == Ok(processes);
    if !is_whole || placement.iter().any(|host| members <= host.index()) {
        return Err("a process starts on a host that the job does not have".to_owned());
    }
    let (mut hosts, mut ranks) = (BTreeSet::new(), BTreeSet::new());
    for home in homes {
        if !names.contains(&home.host) || !hosts.insert(&home.host) {
            return Err("processes wait for a host that the job does not know".to_owned());
        }
        let mut waiting = home.processes.iter();
        if !waiting.all(|rank| rank.0 < processes && ranks.insert(*rank)) {
            return Err("a process waits that the job does not have, or twice".to_owned());
        }
    }
    let mut joining = BTreeSet::new();
    let mut asked = asked.iter().flatten();
    if !asked.all(|name| names.contains(name) && joining.insert(name)) {
        return Err("a host joins that the job does not know".to_owned());
    }
    if *passed < Seconds::ZERO {
        return Err(format!("a job that has lasted {passed}"));
    }
    Ok(())
}

/// Checks that a member is one that a hostfile can have.
pub(crate) fn check(member: &Member) -> Result<(), String> {
    let Member {
        name,
        address,
        set,
        slots,
        speed,
    } = member;
    let name: Name = name.parse().map_err(|error: NameError| error.to_string())?;
    for (what, text) in [("address", address), ("Set", set)] {
        if TEXT_MAX < text.len() || !is_displayable(text) {
            return Err(format!(
                "the {what} of {name} is too long or cannot be displayed"
            ));
        }
    }
    if !(1..=SLOTS_MAX).contains(slots) {
        return Err(format!(
            "{name} has slots={slots}, expected 1 to {SLOTS_MAX}: a thread each"
        ));
    }
    if !(0.0 < *speed && speed.is_finite()) {
        return Err(format!(
            "{name} has speed={speed}, expected a factor above 0"
        ));
    }
    Ok(())
}

/// Nodes of a job, with those that may join: a node accepts as many connections.
pub(crate) const MEMBERS_MAX: usize = 1024;
/// Processes of a job.
const PROCESSES_MAX: u32 = 1 << 20;
/// Threads that a node starts.
const SLOTS_MAX: u32 = 1024;
/// Bytes of an address, which has a DNS name and a port, or of the name of a Set.
const TEXT_MAX: usize = 300;

/// The build of this end, and whether the other ends of a job may run others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Builds {
    /// The build of this end.
    pub own: Build,
    /// Whether other ends may run other builds: machines of different kinds need different binaries.
    pub are_mixed_allowed: bool,
}

impl Builds {
    /// All ends run `own`.
    #[must_use]
    pub const fn same_as(own: Build) -> Self {
        Self {
            own,
            are_mixed_allowed: false,
        }
    }

    /// Whether an end that runs `other` may take part.
    pub(crate) fn allows(&self, other: &Build) -> bool {
        self.are_mixed_allowed || self.own == *other
    }

    /// Checks that `other` may take part, which runs a build; `own` is the name of this end.
    pub(crate) fn check(&self, own: &str, (other, build): (&str, &Build)) -> Result<(), JobError> {
        if self.allows(build) {
            return Ok(());
        }
        Err(mismatch(
            (own, &self.own),
            (&format!("{other} runs"), build),
        ))
    }
}

/// The error about an end, which may be several, that runs another build than `own`.
pub(crate) fn mismatch(
    (own, own_build): (&str, &Build),
    (others, build): (&str, &Build),
) -> JobError {
    let remedy = if own_build.program() == build.program() {
        "install one build on all hosts"
    } else {
        "start the nodes from the program of the client"
    };
    JobError::build(format!(
        "{others} {build}, {own} runs {own_build}: {remedy}, or start nodes and client with --allow-mixed-builds if \
         their machines are of different kinds"
    ))
}

/// Addresses at which a node reaches other nodes, by name, instead of those of a client's list.
///
/// Their certificates are those of the nodes, so only a relay that changes no packet can stand there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Routes(BTreeMap<String, SocketAddr>);

impl Routes {
    /// The same member at the address where this node reaches it.
    #[must_use]
    pub fn reached(&self, member: &Member) -> Member {
        let address = self.0.get(&member.name);
        Member {
            address: address.map_or_else(|| member.address.clone(), ToString::to_string),
            ..member.clone()
        }
    }
}

impl From<BTreeMap<String, SocketAddr>> for Routes {
    fn from(addresses: BTreeMap<String, SocketAddr>) -> Self {
        Self(addresses)
    }
}

#[cfg(test)]
mod tests {
    use protocol::InputFolder;

    use super::*;

    #[test]
    fn hosts_that_a_job_cannot_await_are_refused() {
        let names = ["n0".to_owned(), "n1".to_owned()];
        let names: BTreeSet<&String> = names.iter().collect();
        let home = |host: &str, ranks: &[u32]| protocol::Home {
            host: host.to_owned(),
            processes: ranks.iter().copied().map(bsp::Rank).collect(),
        };
        let good = Awaited {
            placement: vec![HostId(0); 3],
            homes: vec![home("n1", &[1, 2])],
            passed: Seconds::ZERO,
            asked: Some(vec!["n1".to_owned()]),
        };
        let checked = |awaited: Awaited| check_awaited(&awaited, &names, (1, 3));
        assert_eq!(checked(good.clone()), Ok(()));
        assert_eq!(checked(Awaited::default()), Ok(()));
        let placed = |hosts: &[u32]| Awaited {
            placement: hosts.iter().copied().map(HostId).collect(),
            ..good.clone()
        };
        let waiting = |homes: Vec<protocol::Home>| Awaited {
            homes,
            ..good.clone()
        };
        let asked = |names: &[&str]| Awaited {
            asked: Some(names.iter().map(|name| (*name).to_owned()).collect()),
            ..good.clone()
        };
        for wrong in [
            placed(&[0, 0]),
            placed(&[0, 0, 1]),
            waiting(vec![home("n2", &[1])]),
            waiting(vec![home("n1", &[1]), home("n1", &[2])]),
            waiting(vec![home("n1", &[1, 1])]),
            waiting(vec![home("n1", &[1]), home("n0", &[1])]),
            waiting(vec![home("n1", &[3])]),
            asked(&["n2"]),
            asked(&["n1", "n1"]),
            Awaited {
                passed: Seconds::new(-1.0).unwrap(),
                ..good.clone()
            },
        ] {
            assert!(checked(wrong.clone()).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn members_that_no_hostfile_has_are_refused() {
        let member = |name: &str| Member {
            name: name.to_owned(),
            address: "10.0.0.1:7447".to_owned(),
            set: "left".to_owned(),
            slots: 4,
            speed: 0.5,
        };
        let checked = |members: Vec<Member>, processes| {
            let submit = Submit {
                job: 1,
                session: 1,
                host: HostId(0),
                members,
                experiment: String::new(),
                folder: InputFolder::default(),
                processes,
                checkpoint: None,
                resumed: None,
                files: None,
                view: None,
                memory: None,
                wait: Seconds::ZERO,
            };
            check_own("n0", &submit).map_err(|error| error.message)
        };
        let many = |count| {
            (0..count)
                .map(|index| member(&format!("n{index}")))
                .collect()
        };
        assert_eq!(checked(many(1024), 1 << 20), Ok(()));
        let changed = |change: &dyn Fn(&mut Member)| {
            let mut other = member("n1");
            change(&mut other);
            checked(vec![member("n0"), other], 2)
        };
        for (refused, problem) in [
            (
                checked(many(1025), 1),
                "a job of 1025 nodes, expected at most 1024",
            ),
            (checked(many(2), u32::MAX), "4294967295 processes"),
            (checked(vec![member("n1")], 1), "not the node that is meant"),
            (changed(&|it| it.name = "n0".to_owned()), "twice"),
            (
                changed(&|it| it.name = "n1\nerror: x".to_owned()),
                "invalid name",
            ),
            (
                changed(&|it| it.set = "a\u{202e}b".to_owned()),
                "the Set of n1",
            ),
            (changed(&|it| it.set = "x".repeat(301)), "the Set of n1"),
            (
                changed(&|it| it.address = "h:1\n".to_owned()),
                "the address of n1",
            ),
            (changed(&|it| it.slots = 0), "slots=0, expected 1 to 1024"),
            (changed(&|it| it.slots = 1025), "slots=1025"),
            (changed(&|it| it.speed = 0.0), "speed=0, expected"),
            (changed(&|it| it.speed = -1.0), "speed=-1, expected"),
            (changed(&|it| it.speed = f64::INFINITY), "speed=inf"),
        ] {
            let refused = refused.unwrap_err();
            assert!(refused.contains(problem), "{problem}: {refused}");
        }
    }

    fn build(program: &str, digest: u8) -> Build {
        Build::new(program, "0.1.0", [digest; Build::DIGEST_LEN]).unwrap()
    }

    #[test]
    fn another_build_is_refused_by_name_unless_it_is_allowed() {
        let mut builds = Builds::same_as(build("life", 1));
        let check = |builds: &Builds, other: &Build| {
            let checked = builds.check("node-1", ("client laptop", other));
            checked.map_err(|error| error.message)
        };
        assert_eq!(check(&builds, &build("life", 1)), Ok(()));
        assert_eq!(
            check(&builds, &build("life", 2)).unwrap_err(),
            "client laptop runs life 0.1.0 (build 020202020202), node-1 runs life 0.1.0 (build 010101010101): \
             install one build on all hosts, or start nodes and client with --allow-mixed-builds if their machines \
             are of different kinds"
        );
        let other_program = check(&builds, &build("ring", 1)).unwrap_err();
        let remedy = "start the nodes from the program of the client";
        assert!(other_program.contains(remedy), "{other_program}");
        builds.are_mixed_allowed = true;
        assert_eq!(check(&builds, &build("life", 2)), Ok(()));
    }

    #[test]
    fn a_route_replaces_the_address_of_its_node_and_no_other() {
        let member = |name: &str, address: &str| Member {
            name: name.to_owned(),
            address: address.to_owned(),
            set: "s".to_owned(),
            slots: 1,
            speed: 1.0,
        };
        let members = [member("a", "a:7447"), member("b", "b:7447")];
        let routes = BTreeMap::from([("b".to_owned(), SocketAddr::from(([127, 0, 0, 1], 9)))]);
        let routes = Routes::from(routes);
        let reached = members.map(|member| routes.reached(&member));
        assert_eq!(reached, [member("a", "a:7447"), member("b", "127.0.0.1:9")]);
    }
}
