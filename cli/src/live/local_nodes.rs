//! The node processes of `up`.

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::io::{BufRead, BufReader, Write};
use std::net::{Ipv4Addr, SocketAddr};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use bsp::HostId;
use experiments::Failure;
use hosts::{HUGE_PAGES, Share, measured_speed};
use protocol::Member;
use protocol::identity::{Authority, Name, Role, Validity};

use crate::failure::CommandFailure;
use crate::live::cluster_members::{ClusterMembers, roles};
use crate::live::node::NodeConfiguration;
use crate::live::node_end::{MemoryKills, description, killed};
use crate::live::play::Play;
use crate::live::set_links::{RunningRelay, SetLinks};

/// The nodes that are to be started.
#[derive(Debug)]
pub(crate) struct PlannedNodes {
    /// Without addresses.
    pub(crate) members: Vec<Member>,
    /// The fraction of its speed to which each is held.
    pub(crate) shares: Vec<Share>,
    pub(crate) links: Option<SetLinks>,
    pub(crate) play: Option<Play>,
    /// The folders to which they may write checkpoints; `None`: any.
    pub(crate) checkpoints: Option<Vec<String>>,
}

/// Node processes, which end when this is dropped, and then the relay between them.
pub(crate) struct Nodes {
    children: Vec<Child>,
    relay: Option<RunningRelay>,
    /// The nodes that [`Self::kill`] has killed, by the superstep that was over.
    killed: BTreeMap<u64, Vec<usize>>,
    /// What the system had counted when they were started.
    memory_kills: MemoryKills,
}

/// Starts the nodes, with an authority of their own whose key is not kept.
pub(crate) fn start(
    planned: PlannedNodes,
    allow_mixed_builds: bool,
) -> Result<(Nodes, ClusterMembers), Failure> {
    let PlannedNodes {
        mut members,
        shares,
        links,
        play,
        checkpoints,
    } = planned;
    let cluster: Name = "local".parse().expect("a name");
    let authority = Authority::generate(cluster, validity(2 * DAYS)?).map_err(Failure::chain)?;
    let issue = |role, name: &str| {
        let name: Name = name
            .parse()
            .expect("names of nodes are letters and numbers");
        authority
            .issue(role, &name, validity(DAYS)?)
            .map_err(Failure::chain)
    };
    // All nodes are on this machine, so they have one speed.
    let speed = measured_speed().get();
    let relay = links
        .as_ref()
        .map(|links| links.bind(&members))
        .transpose()?;
    let mut nodes = Nodes {
        children: Vec::new(),
        relay: None,
        killed: BTreeMap::new(),
        memory_kills: MemoryKills::count(),
    };
    let all: Vec<Role> = roles(&members).collect();
    for (index, ((member, role), share)) in members.iter().zip(all).zip(shares).enumerate() {
        let host = HostId::from_index(index);
        let routes = relay.iter().flat_map(|relay| relay.routes(host));
        let identity = issue(role, &member.name)?.to_pem();
        nodes.begin(&NodeConfiguration {
            certificates: identity.certificates,
            key: identity.key,
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            routes: routes
                .map(|(to, address)| (members[to.index()].name.clone(), address))
                .collect(),
            speed,
            share: share.get(),
            play: play.as_ref().map(|play| play.node(host)),
            allow_mixed_builds,
            checkpoints: checkpoints.clone(),
        })?;
    }
    let mut addresses = Vec::new();
    for (member, child) in members.iter_mut().zip(&mut nodes.children) {
        let address = address_of(&member.name, child)?;
        member.address = address.to_string();
        addresses.push(address);
    }
    if let (Some(links), Some(relay)) = (links, relay) {
        nodes.relay = Some(links.run(relay, addresses)?);
    }
    let client = issue(Role::Client, "client")?;
    Ok((nodes, ClusterMembers { members, client }))
}

impl Nodes {
    fn begin(&mut self, configuration: &NodeConfiguration) -> Result<(), Failure> {
        let own = env::current_exe().map_err(Failure::run)?;
        let (variable, value) = HUGE_PAGES;
        let child = Command::new(own)
            .args(["node", "--stdin"])
            // Ctrl-C on a terminal is for the client, which ends the job.
            .process_group(0)
            .env(
                variable,
                env::var_os(variable).unwrap_or_else(|| value.into()),
            )
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn();
        let mut child = child.map_err(|error| Failure::run(format!("a node: {error}")))?;
        let line = serde_json::to_string(configuration).expect("text and numbers");
        let written = child.stdin.as_mut().map(|stdin| writeln!(stdin, "{line}"));
        self.children.push(child);
        written
            .transpose()
            .map_err(|error| Failure::run(format!("a node: {error}")))?;
        Ok(())
    }

    /// Kills the node processes that are `included`, by their indices, once `superstep` is over. Those that have ended
    /// by themselves do not count as killed.
    pub(crate) fn kill(&mut self, superstep: u64, included: impl Fn(usize) -> bool) {
        let children = self.children.iter_mut().enumerate();
        for (index, child) in children.filter(|(index, _)| included(*index)) {
            if matches!(child.try_wait(), Ok(None)) && child.kill().is_ok() {
                self.killed.entry(superstep).or_default().push(index);
            }
        }
    }

    /// A failure of the cluster with how nodes ended, if some have; `names` are their names.
    pub(crate) fn explain(&mut self, failure: CommandFailure, names: &[String]) -> CommandFailure {
        let CommandFailure::Failure(Failure::Cluster(mut problem)) = failure else {
            return failure;
        };
        for (superstep, indices) in &self.killed {
            let end = killed(*superstep, indices.iter().map(|index| &*names[*index]));
            problem.push_str(&format!("\n  note: {end}"));
        }
        let killed: BTreeSet<usize> = self.killed.values().flatten().copied().collect();
        let others = names.iter().zip(&mut self.children).enumerate();
        for (_, (name, child)) in others.filter(|(index, _)| !killed.contains(index)) {
            if let Ok(Some(status)) = child.try_wait() {
                let end = description(name, status, self.memory_kills);
                problem.push_str(&format!("\n  note: {end}"));
            }
        }
        if let Some(reason) = self.relay.as_ref().and_then(RunningRelay::failure) {
            problem.push_str(&format!("\n  note: {reason}"));
        }
        Failure::Cluster(problem).into()
    }
}

impl Drop for Nodes {
    /// Nodes leave when their stdin is closed.
    fn drop(&mut self) {
        for child in &mut self.children {
            drop(child.stdin.take());
        }
        let asked = Instant::now();
        for child in &mut self.children {
            while matches!(child.try_wait(), Ok(None)) && asked.elapsed() < LEAVING {
                thread::sleep(Duration::from_millis(10));
            }
            // A stopped process does not react to the end of its stdin.
            drop(child.kill());
            drop(child.wait());
        }
    }
}

fn address_of(name: &str, child: &mut Child) -> Result<SocketAddr, Failure> {
    let mut line = String::new();
    if let Some(stdout) = child.stdout.take() {
        let read = BufReader::new(stdout).read_line(&mut line);
        read.map_err(|error| Failure::run(format!("{name}: {error}")))?;
    }
    let address = line.trim().parse();
    address.map_err(|_| Failure::Cluster(format!("{name} did not start: see above")))
}

fn validity(days: u64) -> Result<Validity, Failure> {
    Validity::from_now(SystemTime::now(), Duration::from_secs(days * 86_400))
        .map_err(Failure::chain)
}

/// Time for nodes to leave; their state is not needed any more.
const LEAVING: Duration = Duration::from_secs(3);
/// For how long the certificates of a trial are valid.
const DAYS: u64 = 30;
