//! The node processes of `up`: how they start, how `--join` adds some, how `--kill` and `--drain` end them and `--stop` interrupts them,
//! and how they have ended.

use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::env;
use std::fmt::{self, Display, Formatter};
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::{Ipv4Addr, SocketAddr};
use std::num::NonZeroU32;
use std::os::unix::process::{CommandExt as _, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::str::FromStr;
use std::sync::mpsc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant, SystemTime};

use bsp::HostId;
use experiments::Failure;
use hosts::{HUGE_PAGES, Share, measured_speed};
use protocol::Member;
use protocol::identity::{Authority, Identity, Name, Role, Validity};
use record::Event;
use rustix::process::{Pid, Signal, kill_process};

use crate::failure::CommandFailure;
use crate::live::cluster::ClusterMembers;
use crate::live::links::{RunningRelay, SetLinks};
use crate::live::node::{NodeConfiguration, NodeLine};
use crate::live::play::Play;

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
    /// The folder with the input files of jobs; `None`: they are where the client says. A folder in it that has the name of a
    /// node is that of this node.
    pub(crate) data: Option<PathBuf>,
    /// The folder for the files that processes leave on nodes, as `data`; `None`: there are none.
    pub(crate) outputs: Option<PathBuf>,
    /// The nodes that join later.
    pub(crate) joins: Vec<Joins>,
}

/// Node processes, which end when this is dropped, and then the relay between them.
pub(crate) struct Nodes {
    children: Vec<Child>,
    relay: Option<RunningRelay>,
    /// The nodes that [`Self::kill`] has killed, by the superstep that was over.
    killed: BTreeMap<u64, Vec<usize>>,
    /// The nodes that [`Self::stop`] has stopped, and the superstep that was over.
    stopped: Vec<(usize, Stop)>,
    /// The nodes that join, and the superstep that has to be over before.
    joins: Vec<(u64, NodeConfiguration)>,
    /// What lets them go on. The threads end when the other ends of the channels do.
    stops: Vec<(mpsc::Sender<Infallible>, JoinHandle<()>)>,
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
        data,
        outputs,
        joins,
    } = planned;
    let authority = JobAuthority::new("local")?;
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
        stopped: Vec::new(),
        joins: Vec::new(),
        stops: Vec::new(),
        memory_kills: MemoryKills::count(),
    };
    let configuration = |member: &Member| {
        // Any of them manages its Set if those before it are lost.
        let identity = authority.issue(Role::SetManager, &member.name)?.to_pem();
        Ok::<_, Failure>(NodeConfiguration {
            certificates: identity.certificates,
            key: identity.key,
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            routes: BTreeMap::new(),
            speed: Some(speed),
            share: Share::WHOLE.get(),
            play: None,
            allow_mixed_builds,
            checkpoints: checkpoints.clone(),
            data: data.as_ref().map(|data| own_folder(data, member)),
            outputs: outputs.as_ref().map(|outputs| own_folder(outputs, member)),
            join: None,
            is_launched: false,
        })
    };
    for (index, (member, share)) in members.iter().zip(shares).enumerate() {
        let host = HostId::from_index(index);
        let routes = relay.iter().flat_map(|relay| relay.routes(host));
        nodes.begin(&NodeConfiguration {
            routes: routes
                .map(|(to, address)| (members[to.index()].name.clone(), address))
                .collect(),
            share: share.get(),
            play: play.as_ref().map(|play| play.node(host)),
            ..configuration(member)?
        })?;
    }
    let mut addresses = Vec::new();
    for (member, child) in members.iter_mut().zip(&mut nodes.children) {
        let address = address_of(&member.name, child)?;
        member.address = address.to_string();
        addresses.push(address);
    }
    for join in joins {
        for _ in 0..join.count.get() {
            let number = members.len() + nodes.joins.len() + 1;
            let own = Member {
                name: format!("node-{number}"),
                address: String::new(),
                ..members[members.len() - 1].clone()
            };
            let joining = NodeConfiguration {
                join: Some((members.clone(), own.clone())),
                ..configuration(&own)?
            };
            nodes.joins.push((join.superstep, joining));
        }
    }
    if let (Some(links), Some(relay)) = (links, relay) {
        nodes.relay = Some(links.run(relay, addresses)?);
    }
    let client = authority.issue(Role::Client, "client")?;
    let cluster = ClusterMembers {
        members,
        pool: Vec::new(),
        client,
    };
    Ok((nodes, cluster))
}

/// The folder of a node in one for all: that of its name, if there is one.
fn own_folder(all: &Path, member: &Member) -> PathBuf {
    let own = all.join(&member.name);
    if own.is_dir() { own } else { all.to_path_buf() }
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
        let configuration = BTreeMap::from([("", configuration)]);
        let line = serde_json::to_string(&configuration).expect("text and numbers");
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

    /// Starts the nodes that join once `superstep` is over.
    fn join(&mut self, superstep: u64) {
        let due: Vec<_> = self
            .joins
            .extract_if(.., |(at, _)| *at <= superstep)
            .collect();
        for (_, configuration) in due {
            if let Err(error) = self.begin(&configuration) {
                tracing::error!("a node does not join: {error}");
            }
        }
    }

    /// Tells the node processes that are `included` to end, by their indices.
    fn drain(&mut self, included: impl Fn(usize) -> bool) {
        let children = self.children.iter_mut().enumerate();
        for (_, child) in children.filter(|(index, _)| included(*index)) {
            // It may have ended.
            let _told = kill_process(Pid::from_child(child), Signal::TERM);
        }
    }

    /// Stops the node processes of `stop`, which go on when its time is over. Those that have ended are left as they are.
    fn stop(&mut self, stop: Stop) {
        let children = self.children.iter_mut().enumerate();
        for (index, child) in children.filter(|(index, _)| stop.at.includes(*index)) {
            let pid = Pid::from_child(child);
            let is_stopped =
                matches!(child.try_wait(), Ok(None)) && kill_process(pid, Signal::STOP).is_ok();
            if !is_stopped {
                continue;
            }
            let (running, ended) = mpsc::channel();
            let wakes = move || {
                if ended.recv_timeout(stop.lasts) == Err(mpsc::RecvTimeoutError::Timeout) {
                    // It may have ended meanwhile.
                    let _ended = kill_process(pid, Signal::CONT);
                }
            };
            self.stops.push((running, thread::spawn(wakes)));
            self.stopped.push((index, stop));
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
        for (index, stop) in &self.stopped {
            let (name, superstep, lasts) =
                (&names[*index], stop.at.superstep, stop.lasts.as_secs_f64());
            problem.push_str(&format!(
                "\n  note: {name} was stopped after superstep {superstep} for {lasts} s, as --stop says"
            ));
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
        for (running, thread) in self.stops.drain(..) {
            drop(running);
            // It does nothing that panics.
            drop(thread.join());
        }
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
    match serde_json::from_str(&line) {
        Ok(NodeLine::Ready { address, .. }) => Ok(address),
        _ => Err(Failure::Cluster(format!("{name} did not start: see above"))),
    }
}

/// An authority for the nodes of one command, whose key is in memory alone.
pub(crate) struct JobAuthority(Authority);

impl JobAuthority {
    /// That of the cluster of this name.
    ///
    /// # Errors
    ///
    /// If the system has no random numbers or no time.
    pub(crate) fn new(cluster: &str) -> Result<Self, Failure> {
        let cluster: Name = cluster.parse().map_err(Failure::chain)?;
        let authority = Authority::generate(cluster, validity(2 * DAYS)?);
        Ok(Self(authority.map_err(Failure::chain)?))
    }

    /// A certificate and its key.
    ///
    /// # Errors
    ///
    /// As [`Self::new`], or if that is no name.
    pub(crate) fn issue(&self, role: Role, name: &str) -> Result<Identity, Failure> {
        let name: Name = name.parse().map_err(Failure::chain)?;
        let issued = self.0.issue(role, &name, validity(DAYS)?);
        issued.map_err(Failure::chain)
    }
}

fn validity(days: u64) -> Result<Validity, Failure> {
    Validity::from_now(SystemTime::now(), Duration::from_secs(days * 86_400))
        .map_err(Failure::chain)
}

/// Time for nodes to leave; their state is not needed any more.
const LEAVING: Duration = Duration::from_secs(3);
/// For how long the certificates of a command are valid: longer than it takes.
const DAYS: u64 = 366;

/// Nodes, and when something is to happen to them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NodesAt {
    nodes: Victims,
    /// The superstep, from 0, that is over then.
    superstep: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Victims {
    All,
    /// Counted from 1.
    Node(NonZeroU32),
}

impl FromStr for NodesAt {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let expected = "must be NODE@SUPERSTEP, such as 3@200 or all@200; nodes are counted from 1";
        let (nodes, superstep) = text.split_once('@').ok_or(expected)?;
        let nodes = match nodes.trim() {
            "all" => Victims::All,
            node => Victims::Node(node.parse().map_err(|_| expected)?),
        };
        let superstep = superstep.trim().parse().map_err(|_| expected)?;
        Ok(Self { nodes, superstep })
    }
}

impl Display for NodesAt {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        match self.nodes {
            Victims::All => write!(formatter, "all@{}", self.superstep),
            Victims::Node(node) => write!(formatter, "{node}@{}", self.superstep),
        }
    }
}

impl NodesAt {
    /// Checks that the node that `option` names is one of `count`.
    ///
    /// # Errors
    ///
    /// If there are fewer nodes.
    pub(crate) fn check(self, option: &str, count: usize) -> Result<(), Failure> {
        if (0..count).any(|index| self.includes(index)) {
            return Ok(());
        }
        Err(Failure::Usage(format!(
            "{option} {self}: there are only {count} nodes"
        )))
    }

    /// Whether the node of this index is one of them.
    fn includes(self, index: usize) -> bool {
        match self.nodes {
            Victims::All => true,
            Victims::Node(node) => usize::try_from(node.get()).is_ok_and(|node| node == index + 1),
        }
    }
}

/// Nodes that stand still for some time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stop {
    pub(crate) at: NodesAt,
    lasts: Duration,
}

impl FromStr for Stop {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let expected = "must be NODE@SUPERSTEP:SECONDS, such as 3@150:20; nodes are counted from 1";
        let (at, seconds) = text.rsplit_once(':').ok_or(expected)?;
        let at = at.parse().map_err(|_| expected)?;
        let seconds = seconds.trim().parse().ok();
        let seconds = seconds.filter(|seconds: &f64| 0.0 < *seconds && *seconds <= STOP_MAX);
        let seconds = seconds.ok_or_else(|| format!("{expected}; at most {STOP_MAX} seconds"))?;
        Ok(Self {
            at,
            lasts: Duration::from_secs_f64(seconds),
        })
    }
}

impl Display for Stop {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:{}", self.at, self.lasts.as_secs_f64())
    }
}

/// Nodes that join a job, and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Joins {
    count: NonZeroU32,
    /// The superstep, from 0, that is over then.
    superstep: u64,
}

impl Display for Joins {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}@{}", self.count, self.superstep)
    }
}

impl FromStr for Joins {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let expected = "must be COUNT@SUPERSTEP, such as 1@100, with at most 256 nodes";
        let (count, superstep) = text.split_once('@').ok_or(expected)?;
        let count = count.trim().parse().ok();
        let count = count.filter(|count: &NonZeroU32| count.get() <= 256);
        Ok(Self {
            count: count.ok_or(expected)?,
            superstep: superstep.trim().parse().map_err(|_| expected)?,
        })
    }
}

/// The longest time for which a node may be stopped, in seconds.
const STOP_MAX: f64 = 86_400.0;

/// What is to happen to the nodes of a run.
#[derive(Debug)]
pub(crate) struct Disturbances {
    /// Those whose superstep is not over.
    kills: Vec<NodesAt>,
    drains: Vec<NodesAt>,
    joins: Vec<Joins>,
    stops: Vec<Stop>,
}

impl Disturbances {
    pub(crate) fn new(
        (kills, drains): (&[NodesAt], &[NodesAt]),
        joins: &[Joins],
        stops: &[Stop],
    ) -> Self {
        Self {
            kills: kills.to_vec(),
            drains: drains.to_vec(),
            joins: joins.to_vec(),
            stops: stops.to_vec(),
        }
    }

    /// Kills, drains, stops and adds the nodes for which it is time after `event`, each once.
    pub(crate) fn observe(&mut self, event: &Event, nodes: &mut Nodes) {
        let Event::Superstep(superstep) = event else {
            return;
        };
        let is_due = |at: NodesAt| at.superstep <= superstep.index;
        for kill in self.kills.extract_if(.., |kill| is_due(*kill)) {
            tracing::info!(%kill, at = %superstep.ended, "nodes are killed");
            nodes.kill(kill.superstep, |index| kill.includes(index));
        }
        for drain in self.drains.extract_if(.., |drain| is_due(*drain)) {
            tracing::info!(%drain, at = %superstep.ended, "nodes are told to end");
            nodes.drain(|index| drain.includes(index));
        }
        self.joins.retain(|join| superstep.index < join.superstep);
        nodes.join(superstep.index);
        for stop in self.stops.extract_if(.., |stop| is_due(stop.at)) {
            tracing::info!(%stop, at = %superstep.ended, "nodes are stopped");
            nodes.stop(stop);
        }
    }

    /// Warns of those that a complete run has not come to.
    pub(crate) fn warn_of_pending(&self) {
        let kills: Vec<String> = self.kills.iter().map(NodesAt::to_string).collect();
        let stops: Vec<String> = self.stops.iter().map(Stop::to_string).collect();
        let drains: Vec<String> = self.drains.iter().map(NodesAt::to_string).collect();
        let joins = self.joins.iter();
        let joins: Vec<String> = joins.map(Joins::to_string).collect();
        for (option, pending) in [
            ("--kill", kills),
            ("--drain", drains),
            ("--join", joins),
            ("--stop", stops),
        ] {
            if !pending.is_empty() {
                let pending = pending.join(", ");
                tracing::warn!("{option} {pending}: the run ended before this superstep was over");
            }
        }
    }
}

/// The number of processes that the system has ended for lack of memory since it started; unknown elsewhere than on
/// Linux.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MemoryKills(Option<u64>);

impl MemoryKills {
    /// The number until now.
    pub(crate) fn count() -> Self {
        let text = fs::read_to_string("/proc/vmstat").unwrap_or_default();
        Self::read(&text)
    }

    fn read(vmstat: &str) -> Self {
        let mut lines = vmstat.lines();
        Self(lines.find_map(|line| line.strip_prefix("oom_kill ")?.parse().ok()))
    }

    /// How many there have been since `before`, if the system counts them.
    fn since(self, before: Self) -> Option<u64> {
        Some(self.0?.saturating_sub(before.0?))
    }
}

/// How the nodes `names` ended, which --kill killed once `superstep` was over.
pub(crate) fn killed<'a>(superstep: u64, names: impl IntoIterator<Item = &'a str>) -> String {
    let names: Vec<&str> = names.into_iter().collect();
    let were = if names.len() == 1 { "was" } else { "were" };
    let names = match &names[..] {
        [others @ .., last] if !others.is_empty() => format!("{} and {last}", others.join(", ")),
        _ => names.concat(),
    };
    format!("{names} {were} killed after superstep {superstep}, as --kill says")
}

/// How the node `name` ended that has `status`; `before` was counted when it was started.
fn description(name: &str, status: ExitStatus, before: MemoryKills) -> String {
    describe(name, status, MemoryKills::count().since(before))
}

fn describe(name: &str, status: ExitStatus, memory_kills: Option<u64>) -> String {
    let processes = |count| if count == 1 { "process" } else { "processes" };
    match (status.signal(), status.code(), memory_kills) {
        (Some(SIGKILL), _, Some(0)) => {
            format!(
                "{name} was killed (SIGKILL), but the system has ended no process for lack of memory"
            )
        }
        (Some(SIGKILL), _, Some(count)) => format!(
            "{name} was killed (SIGKILL), and the system has ended {count} {} for lack of memory meanwhile",
            processes(count)
        ),
        (Some(SIGKILL), _, None) => format!("{name} was killed (SIGKILL)"),
        (Some(SIGABRT), ..) => format!(
            "{name} aborted (SIGABRT), as a program does when an allocation fails; its log above has the reason"
        ),
        (Some(signal), ..) => format!("{name} was ended by signal {signal}"),
        (None, Some(code), _) => format!("{name} ended with exit code {code}"),
        (None, None, _) => format!("{name} ended"),
    }
}

/// The numbers of these signals are the same on all systems.
const SIGABRT: i32 = 6;
const SIGKILL: i32 = 9;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kill_names_its_nodes_and_its_superstep() {
        let kill = |text: &str| text.parse::<NodesAt>();
        let included = |kill: NodesAt| -> Vec<usize> {
            let indices = (0..3).filter(|index| kill.includes(*index));
            indices.collect()
        };
        let all = kill("all@200").unwrap();
        assert_eq!((all.superstep, included(all)), (200, vec![0, 1, 2]));
        let second = kill("2@0").unwrap();
        assert_eq!((second.superstep, included(second)), (0, vec![1]));
        assert_eq!(kill(" 2 @ 7 ").unwrap().to_string(), "2@7");
        for text in [
            "", "2", "@", "2@", "@2", "0@5", "-1@5", "2@-5", "2@x", "2@1.5", "ALL@2", "2:7",
            "2@3@4",
        ] {
            assert!(kill(text).unwrap_err().contains("NODE@SUPERSTEP"), "{text}");
        }
    }

    #[test]
    fn a_stop_has_a_time() {
        let stop = |text: &str| text.parse::<Stop>();
        let whole = stop("3@150:20").unwrap();
        assert_eq!(
            (whole.at.superstep, whole.lasts),
            (150, Duration::from_secs(20))
        );
        assert_eq!(stop("all@7: 0.5").unwrap().to_string(), "all@7:0.5");
        for text in [
            "",
            "3@150",
            "3@150:",
            "3:20",
            "3@150:0",
            "3@150:-1",
            "3@150:nan",
            "3@150:inf",
            "3@150:86401",
            "0@150:1",
            "3@x:1",
        ] {
            assert!(
                stop(text).unwrap_err().contains("NODE@SUPERSTEP:SECONDS"),
                "{text}"
            );
        }
    }

    #[test]
    fn a_node_has_to_be_there() {
        let check = |text: &str| text.parse::<NodesAt>().unwrap().check("--kill", 4);
        assert_eq!(check("4@1").ok(), Some(()));
        assert_eq!(check("all@1").ok(), Some(()));
        for text in ["5@1", "4294967295@1"] {
            assert!(check(text).unwrap_err().to_string().contains("4 nodes"));
        }
    }

    #[test]
    fn memory_is_named_only_if_the_system_tells() {
        let killed = |count| describe("node-2", ExitStatus::from_raw(SIGKILL), count);
        assert_eq!(killed(None), "node-2 was killed (SIGKILL)");
        assert!(killed(Some(0)).ends_with("has ended no process for lack of memory"));
        assert!(killed(Some(2)).ends_with("has ended 2 processes for lack of memory meanwhile"));
        let aborted = describe("node-2", ExitStatus::from_raw(SIGABRT), Some(0));
        assert!(aborted.contains("when an allocation fails"), "{aborted}");
        let signalled = describe("node-2", ExitStatus::from_raw(11), None);
        assert_eq!(signalled, "node-2 was ended by signal 11");
        let left = describe("node-2", ExitStatus::from_raw(1 << 8), None);
        assert_eq!(left, "node-2 ended with exit code 1");
    }

    #[test]
    fn those_that_an_option_killed_are_listed() {
        let killed = |names: &[&'static str]| killed(7, names.iter().copied());
        for (names, text) in [
            (&["node-2"][..], "node-2 was"),
            (&["node-1", "node-2"], "node-1 and node-2 were"),
            (&["a", "b", "c"], "a, b and c were"),
        ] {
            let expected = format!("{text} killed after superstep 7, as --kill says");
            assert_eq!(killed(names), expected);
        }
    }

    #[test]
    fn the_count_of_the_system_is_read() {
        let vmstat = "nr_free_pages 5\noom_kill 7\noom_kill_other 9\n";
        let kills = MemoryKills::read(vmstat);
        assert_eq!(kills, MemoryKills(Some(7)));
        assert_eq!(MemoryKills(Some(9)).since(kills), Some(2));
        assert_eq!(MemoryKills::read("").since(kills), None);
    }
}
