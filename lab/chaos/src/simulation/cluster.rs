//! A cluster in one thread: nodes, a client, the network between them, faults, and the queue of what happens.

mod checkpoints;
mod connection;
mod faults;
mod followers;
mod leader;
mod node;
mod wire;

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::num::NonZeroU64;
use std::sync::Arc;
use std::time::{Duration, Instant};

use agents::{ProgramType, hosted};
use bsp::numbers::length;
use bsp::{HostId, Rank};
use bytes::Bytes;
use checkpoint::{Generation, SimulatedFiles};
use machines::client::{ClientEvent, JobIds, JobResult, Request};
use machines::node::JobEvent;
use machines::{JobError, Prepared, ProgramBuilder, members};
use protocol::identity::{Role, Subject};
use protocol::transport::{JobId, PeerInfo};
use protocol::{Step, Submit};

use crate::simulation::cluster::checkpoints::Disk;
use crate::simulation::cluster::connection::{Connections, Lane, Network, Packet};
use crate::simulation::cluster::faults::Faults;
use crate::simulation::cluster::followers::Followers;
use crate::simulation::cluster::leader::{CLIENT, LeaderProcess};
use crate::simulation::cluster::node::NodeProcess;
use crate::simulation::fault::{FaultKind, SECOND};
use crate::simulation::program::Mixer;
use crate::simulation::random::{Purpose, Random};
use crate::simulation::run::Trace;
use crate::simulation::scenario::{Scenario, setup_of};

pub(super) use crate::simulation::cluster::leader::Requests;

/// A cluster in one thread.
pub(super) struct Cluster<'a> {
    scenario: &'a Scenario,
    /// Those of the views after the first.
    requests: &'a Requests,
    /// What the machines take for the date 0. Only differences matter.
    base: Instant,
    now: u64,
    queue: Queue,
    network: Network,
    connections: Connections,
    /// The nodes, by host; `None`: not running.
    nodes: Vec<Option<NodeProcess>>,
    /// The client, if it runs, and the nodes that ask to lead a job or lead it.
    leaders: BTreeMap<u64, LeaderProcess<'a>>,
    /// How often nodes have asked.
    led: u64,
    /// When the client was started last.
    began: u64,
    /// The result of its job, from the client or from a node that has led it to its end.
    result: Option<Result<JobResult, JobError>>,
    /// The number of the last view of a job; 0 if it has none.
    views: u64,
    /// How often a node was taken into a view that was not in the one before.
    joined: u64,
    /// The nodes, the client, and where clients attach: with the certificate of the client, and with another one.
    places: Vec<Place>,
    random: Random,
    trace: Trace,
    faults: Faults,
    followers: Followers,
    /// Whether nothing that happens in the job counts any more.
    is_sealed: bool,
    /// What is known of each session that a client has begun.
    sessions: BTreeMap<JobId, SessionFacts>,
    /// The last superstep that each process has executed in each session.
    executed: BTreeMap<(JobId, Rank), u64>,
    /// The checksums of the states that processes have saved in a job.
    saved: BTreeMap<(JobId, Generation, Rank), u32>,
    disk: Disk,
    has_described: bool,
    /// The newest complete checkpoint on each node, and the session.
    complete: BTreeMap<usize, (JobId, Generation)>,
    /// What must not happen and did.
    violations: Vec<String>,
}

/// What is known of the session of a view, or of a job without views.
struct SessionFacts {
    /// The place of each host.
    places: Vec<usize>,
    /// The place of the node of the first Manager, which collects checkpoints.
    collector: usize,
    /// The superstep with which it begins.
    first: u64,
    incarnation: u64,
    /// The checkpoint with which it begins, if that is in the memory of nodes.
    begins_with: Option<Generation>,
    /// When its nodes began, if it is that of a later view.
    begun: Option<u64>,
    /// Whether a checkpoint of its own is complete, as its client knows.
    is_saved: bool,
    /// The places of the view before that it leaves out.
    left_out: Vec<usize>,
    /// The places of the nodes that were not in the view before.
    joined: Vec<usize>,
}

/// Where a process of the operating system runs.
struct Place {
    info: Arc<PeerInfo>,
    /// The number of processes that have run here before.
    incarnation: u64,
    /// The number of faults that stop it.
    stopped: u32,
    /// What has to wait until it runs again.
    postponed: Vec<Happening>,
    /// By how much its processors are slower until a date.
    slower: (u64, u64),
}

impl Place {
    /// How long a computation lasts that begins at a date and takes `least` on processors that are not slower.
    fn lasts(&self, begins: u64, least: u64) -> u64 {
        let (slower, until) = self.slower;
        let slow = until.saturating_sub(begins).min(least * slower);
        slow + least - slow / slower
    }
}

/// What a simulation found.
pub(super) struct Found {
    pub(super) violations: Vec<String>,
    pub(super) trace: Trace,
    /// What happened to clients that attached.
    pub(super) trace_of_followers: Trace,
    /// How often a client has attached, and how many have followed the job to its end.
    pub(super) attached: u64,
    pub(super) followed: u64,
    /// Faults that have happened, each with the step in which it hit a node.
    pub(super) hits: Vec<(FaultKind, Step)>,
    /// The virtual time that has passed, in nanoseconds.
    pub(super) passed: u64,
    /// Whether the job was completed in spite of the faults.
    pub(super) is_completed: bool,
    /// The number of views of the job with faults; 0 if it has none.
    pub(super) views: u64,
    /// How often a node was taken into one that was not in the one before.
    pub(super) joined: u64,
    /// The checkpoint folder after the job with faults, and the newest checkpoint that was completed there.
    pub(super) folder: (SimulatedFiles, Option<Generation>),
}

impl<'a> Cluster<'a> {
    /// The cluster of `scenario`. All nodes run.
    pub(super) fn new(scenario: &'a Scenario, requests: &'a Requests, has_lines: bool) -> Self {
        let members = &scenario.request.members;
        let rules = members::rules(&scenario.request.setup);
        let hosts = (0..members.len()).map(HostId::from_index);
        let subjects = hosts.map(|host| {
            let name = members[host.index()].name.clone();
            let role = if scenario.managing.contains(&host) {
                Role::SetManager
            } else {
                members::role_of(&rules, host)
            };
            (role, name)
        });
        let clients = ["laptop", "laptop", "stranger"];
        let all = subjects.chain(clients.map(|name| (Role::Client, name.to_owned())));
        let places: Vec<Place> = (1..)
            .zip(all)
            .map(|(number, of)| place(number, of))
            .collect();
        let random = |purpose| Random::new(scenario.seed, purpose);
        let randoms = [random(Purpose::Network), random(Purpose::Following)];
        let first_follower = members.len() + 1;
        let network = Network::new(randoms, scenario.delay, (places.len(), first_follower));
        let mut cluster = Self {
            scenario,
            requests,
            base: Instant::now(),
            now: 0,
            queue: Queue::default(),
            network,
            connections: Connections::default(),
            nodes: members.iter().map(|_| None).collect(),
            leaders: BTreeMap::new(),
            led: 0,
            began: 0,
            result: None,
            views: 0,
            joined: 0,
            places,
            random: random(Purpose::Computation),
            trace: Trace::new(has_lines),
            faults: Faults::new(scenario),
            followers: Followers::new(scenario, random(Purpose::Attaching)),
            is_sealed: false,
            sessions: BTreeMap::new(),
            executed: BTreeMap::new(),
            saved: BTreeMap::new(),
            disk: Disk::new(SimulatedFiles::default(), random(Purpose::Disk)),
            has_described: false,
            complete: BTreeMap::new(),
            violations: Vec::new(),
        };
        for host in 0..cluster.nodes.len() {
            cluster.start(host);
        }
        cluster
    }

    /// The same cluster, in which no client attaches.
    pub(super) fn without_followers(mut self) -> Self {
        self.followers.remove_all();
        self
    }

    /// Starts the node of `host`, unless it runs.
    fn start(&mut self, host: usize) {
        if self.nodes[host].is_some() {
            return;
        }
        let Scenario {
            request, programs, ..
        } = self.scenario;
        let (setup, programs) = (request.setup.clone(), programs.clone());
        let prepare = move |submit: &Submit| {
            let programs = programs.clone();
            let view = submit.view.as_ref().map(|view| view.number);
            Ok(Prepared {
                setup: setup_of(&setup, view, &submit.members),
                program_type: ProgramType::new::<Mixer>(),
                supersteps: None,
                programs: ProgramBuilder::new(move |ranks, take| {
                    for rank in ranks {
                        take(*rank, hosted(programs[rank.index()].clone()))?;
                    }
                    Ok(())
                }),
            })
        };
        let (name, now) = (&request.members[host].name, self.instant());
        let prepare = Box::new(prepare);
        let leads = self.may_lead(host);
        let parts = (name.as_str(), leads);
        self.nodes[host] = Some(NodeProcess::start(parts, &request.builds, prepare, now));
    }

    /// Whether the certificate of a node allows it to lead a job.
    fn may_lead(&self, place: usize) -> bool {
        self.places[place].info.subject.role == Role::SetManager
    }

    /// Runs the job with the faults of the scenario, and then once more: all nodes have to be free. Faults of the first
    /// job may last, if the second one follows at once.
    pub(super) fn run(mut self) -> Found {
        self.submit();
        let end = self.run_until_over(true);
        self.attach_when_over();
        let is_followed = self.is_followed_at_once();
        let (views, joined) = (self.views, self.joined);
        let result = self.result.take();
        let is_completed = matches!(result, Some(Ok(_)));
        match result {
            Some(result) => self.check(result, !self.may_fail()),
            None if !self.may_fail() => self.violate("the job has no result".to_owned()),
            None => {}
        }
        if !is_followed {
            self.run_until(end + FREE_AFTER);
            self.check_free();
        }
        let folder = (self.disk.files.clone(), self.disk.complete);
        if self.violations.is_empty() {
            for host in 0..self.nodes.len() {
                self.start(host);
            }
            self.run_without_faults("the job after the faults has no result");
            if is_followed {
                self.run_until(self.now + FREE_AFTER);
                self.check_free();
            }
        }
        let passed = self.now;
        self.is_sealed = true;
        if self.violations.is_empty() {
            self.finish_followers();
        }
        self.now = passed;
        self.found((is_completed, views, joined), folder)
    }

    /// Runs the job of a scenario that resumes another one, without faults.
    pub(super) fn run_resumed(mut self) -> Found {
        self.run_without_faults("the job that resumes has no result");
        let folder = (self.disk.files.clone(), None);
        self.found((true, 0, 0), folder)
    }

    /// Runs a job that has to be completed; `missing` is what is violated if it is not.
    fn run_without_faults(&mut self, missing: &str) {
        self.submit();
        self.run_until_over(false);
        match self.result.take() {
            Some(result) => self.check(result, true),
            None => self.violate(missing.to_owned()),
        }
    }

    fn found(
        self,
        (is_completed, views, joined): (bool, u64, u64),
        folder: (SimulatedFiles, Option<Generation>),
    ) -> Found {
        let followers = self.followers;
        Found {
            violations: self.violations,
            trace: self.trace,
            attached: followers.begun,
            followed: followers.completed,
            trace_of_followers: followers.trace,
            hits: [self.faults.hits, followers.hits].concat(),
            passed: self.now,
            is_completed,
            views,
            joined,
            folder,
        }
    }

    /// Whether the job is over: it is complete, or the client is gone, and no node has the job or may lead it.
    fn is_over(&self) -> bool {
        let mut nodes = self.nodes.iter().flatten();
        matches!(self.result, Some(Ok(_)))
            || (self.leaders.is_empty() && nodes.all(|node| node.machine.is_idle()))
    }

    /// Goes on until the job is over and all faults have ended. Returns when that was.
    fn run_until_over(&mut self, has_faults: bool) -> u64 {
        loop {
            let is_over = self.is_over();
            let waits = has_faults && self.faults.are_active() && !self.is_followed_at_once();
            if is_over && !waits {
                return self.now;
            }
            let limit = self.faults.latest_end() + self.scenario.longest + self.began;
            if limit < self.now {
                let steps: Vec<String> = self.steps().map(|step| step.to_string()).collect();
                let steps = steps.join(", ");
                self.violate(format!(
                    "the job neither ends nor fails; nodes are at: {steps}"
                ));
                return self.now;
            }
            if !self.step(has_faults) {
                self.violate("nothing happens, and the client waits".to_owned());
                return self.now;
            }
        }
    }

    /// Whether the client submits the next job at once: this one is complete, and no fault can make the next one fail.
    fn is_followed_at_once(&self) -> bool {
        self.scenario.follows_at_once
            && matches!(self.result, Some(Ok(_)))
            && !self.faults.are_noticed()
    }

    fn run_until(&mut self, date: u64) {
        while self.queue.next_date().is_some_and(|next| next <= date) {
            self.step(false);
        }
        self.now = date;
    }

    /// What happens next happens. Returns whether anything does.
    fn step(&mut self, has_faults: bool) -> bool {
        let Some((at, happening)) = self.queue.next() else {
            return false;
        };
        self.now = self.now.max(at);
        let needs = happening.needs(&self.connections);
        if let Some(place) = needs
            && 0 < self.places[place].stopped
        {
            self.places[place].postponed.push(happening);
            return true;
        }
        if !has_faults && matches!(happening, Happening::Follow(_)) {
            return true;
        }
        if happening.is_of_follower() {
            self.followers.trace.add(self.now, happening.identity());
            self.happen(happening);
            return true;
        }
        if !self.is_sealed {
            self.trace.add(self.now, happening.identity());
        }
        self.happen(happening);
        if has_faults {
            self.inject();
            self.inject_attaching();
        }
        true
    }

    fn happen(&mut self, happening: Happening) {
        match happening {
            Happening::Arrive(connection, end, at, packet) => {
                self.arrive((connection, end), at, *packet);
            }
            Happening::Aborted(connection, end, reason) => self.aborted((connection, end), reason),
            Happening::Taken(connection, end) => self.taken((connection, end)),
            Happening::Silent(connection, end, since) => self.silent((connection, end), since),
            Happening::Connect(connecting) => self.connect(connecting),
            Happening::Local(owner, job, event) => self.local(owner, job, *event),
            Happening::LeaderLocal(id, owner, event) => self.leader_local((id, owner), *event),
            Happening::Timer(owner, at) => self.timer(owner, at),
            Happening::Heal(fault) => self.heal(fault),
            Happening::Follow(fault) => self.follow(fault),
            Happening::Attaching(fault) => self.attaching(fault),
            Happening::AttachingEnds(fault) => self.attaching_ends(fault),
            Happening::FollowerTimer(id, at) => self.follower_timer(id, at),
            Happening::Tell(owner, at) => self.tell_follower(owner, at),
            Happening::Disk(number) => self.folder_changed(number),
            Happening::Exit(owner, until) => self.exit(owner, until),
            Happening::Executed(owner, _, count) => {
                if self.is_alive(owner)
                    && let Some(node) = &self.nodes[owner.place]
                {
                    let executing = &node.meter.executing;
                    executing.set(executing.get() - count);
                }
            }
        }
    }

    /// The date as machines know it.
    fn instant(&self) -> Instant {
        self.base + Duration::from_nanos(self.now)
    }

    /// A date of machines.
    fn date(&self, instant: Instant) -> u64 {
        let since = instant.saturating_duration_since(self.base);
        u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
    }

    /// What is known of the session of the job at a place, if it has one.
    fn session_at(&self, place: usize) -> Option<&SessionFacts> {
        self.sessions.get(&self.job(place)?.session)
    }

    /// The place of the node of this name.
    fn place_of(&self, name: &str) -> Option<usize> {
        let members = &self.scenario.request.members;
        members.iter().position(|member| member.name == name)
    }

    /// The places of the members of `request`, and of its pool.
    fn places_of(&self, request: &Request) -> Vec<usize> {
        let all = request.candidates();
        all.filter_map(|member| self.place_of(&member.name))
            .collect()
    }

    /// A leader begins a session with `request`.
    fn begin_session(&mut self, ids: JobIds, request: &Request) {
        self.views = request.view.as_ref().map_or(0, |view| view.number);
        let places: Vec<usize> = request
            .members
            .iter()
            .filter_map(|member| self.place_of(&member.name))
            .collect();
        let (setup, saved) = (&request.setup, request.view.as_ref());
        let saved = saved.and_then(|view| view.saved.as_ref());
        let first = setup
            .resumed
            .as_ref()
            .map_or(0, |resumed| resumed.superstep);
        let facts = SessionFacts {
            collector: places[members::rules(setup).first_host().index()],
            places,
            first,
            incarnation: setup.incarnation(),
            begins_with: saved.map(|saved| Generation {
                incarnation: saved.incarnation,
                superstep: first,
            }),
            begun: None,
            is_saved: false,
            left_out: Vec::new(),
            joined: Vec::new(),
        };
        self.sessions.insert(ids.session, facts);
    }

    fn owner(&self, place: usize) -> Owner {
        Owner {
            place,
            incarnation: self.places[place].incarnation,
        }
    }

    /// Whether the process still runs.
    fn is_alive(&self, owner: Owner) -> bool {
        let runs = match self.nodes.get(owner.place) {
            Some(node) => node.is_some(),
            None if owner.place == self.client_place() => self.leaders.contains_key(&CLIENT),
            None => return self.followers.is_alive(owner.incarnation),
        };
        runs && self.places[owner.place].incarnation == owner.incarnation
    }

    /// The place of the client.
    fn client_place(&self) -> usize {
        self.nodes.len()
    }

    /// Where the nodes that run are in the protocol.
    fn steps(&self) -> impl Iterator<Item = Step> {
        let running = self.nodes.iter().flatten();
        running.map(|node| node.machine.step())
    }

    /// A number of a job that follows from the seed.
    fn job_id(&mut self) -> JobId {
        let number = NonZeroU64::new(self.random.any());
        JobId(number.unwrap_or(NonZeroU64::MIN))
    }

    /// Checks that all nodes that run are free.
    fn check_free(&mut self) {
        let nodes = self.nodes.iter().zip(&self.scenario.request.members);
        let busy: BTreeSet<String> = nodes
            .filter(|(node, _)| node.as_ref().is_some_and(|node| !node.machine.is_idle()))
            .map(|(_, member)| member.name.clone())
            .collect();
        for name in busy {
            self.violate(format!("{name} is not free after the job"));
        }
        if !self.leaders.is_empty() {
            self.violate("the client or a node leads the job after its end".to_owned());
        }
    }

    fn violate(&mut self, violation: String) {
        self.trace
            .line(self.now, format_args!("VIOLATION {violation}"));
        self.violations.push(violation);
    }
}

/// The place of a process of the operating system, which is the `number`-th.
fn place(number: u8, (role, name): (Role, String)) -> Place {
    let subject = Subject {
        cluster: "chaos".parse().expect("a name"),
        role,
        name: name.parse().expect("a name"),
    };
    Place {
        info: Arc::new(PeerInfo {
            subject,
            address: SocketAddr::from(([10, 0, 0, number], 7447)),
        }),
        incarnation: 0,
        stopped: 0,
        postponed: Vec::new(),
        slower: (1, 0),
    }
}

/// After which time all nodes have to be free, in nanoseconds: what it takes to find out that others are gone.
const FREE_AFTER: u64 = 13 * SECOND;

/// Something that happens at a date.
enum Happening {
    /// A packet arrives at an end of a connection.
    Arrive(usize, usize, (Lane, u64), Box<Packet>),
    /// The peer has ended the connection because of what this end sent, or no longer knows it.
    Aborted(usize, usize, String),
    /// The state that an end sent first of those under way has been taken.
    Taken(usize, usize),
    /// An end has heard nothing for too long, if it has heard nothing since this date.
    Silent(usize, usize, u64),
    /// A process connects to another one.
    Connect(Connecting),
    /// Something that a node has caused itself, in its session of this number.
    Local(Owner, u64, Box<JobEvent>),
    /// Something that the leader of this number has caused itself, which is a part of a process.
    LeaderLocal(u64, Owner, Box<ClientEvent>),
    /// A process wakes at a date it has chosen.
    Timer(Owner, u64),
    /// A fault ends.
    Heal(usize),
    /// A fault happens that follows another one.
    Follow(usize),
    /// A fault of clients that attach happens, or ends.
    Attaching(usize),
    AttachingEnds(usize),
    /// The client of this number that attaches wakes at a date it has chosen.
    FollowerTimer(u64, u64),
    /// A node tells the client at an end of a connection what it has seen.
    Tell(Owner, (usize, usize)),
    /// A node ends after its signal to end, if it has left its job or this date has come.
    Exit(Owner, Option<u64>),
    /// A change of the checkpoint folder is made.
    Disk(u64),
    /// Executions of a node have ended.
    Executed(Owner, u64, u64),
}

/// A process of the operating system: its place, and which of those that have run there it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Owner {
    place: usize,
    incarnation: u64,
}

/// A process connects to another one.
struct Connecting {
    from: Owner,
    to: usize,
    /// Which host that is in the job of the one that connects.
    host: HostId,
    job: Option<JobId>,
    /// Which of the sessions of the node that connects, or of the views of the leader that does.
    number: u64,
    by: By,
    /// The role that the other one has to have.
    role: Role,
    /// When it gives up.
    limit: u64,
}

/// What connects.
#[derive(Clone, Copy)]
enum By {
    /// A node of a session.
    Node,
    /// The leader of this number.
    Leader(u64),
    /// The client of this number that attaches.
    Follower(u64),
}

/// What happens, by date; at one date, in the order in which it was added.
#[derive(Default)]
struct Queue {
    happenings: BTreeMap<(u64, u64), Happening>,
    added: u64,
}

impl Queue {
    fn add(&mut self, at: u64, happening: Happening) {
        self.happenings.insert((at, self.added), happening);
        self.added += 1;
    }

    /// Removes what happens next, with its date.
    fn next(&mut self) -> Option<(u64, Happening)> {
        let ((at, _), happening) = self.happenings.pop_first()?;
        Some((at, happening))
    }

    /// When something happens next.
    fn next_date(&self) -> Option<u64> {
        self.happenings.keys().next().map(|(at, _)| *at)
    }
}

impl Happening {
    /// The process that has to run for it to happen, if one has to.
    fn needs(&self, connections: &Connections) -> Option<usize> {
        match self {
            Self::Arrive(connection, end, ..)
            | Self::Aborted(connection, end, _)
            | Self::Taken(connection, end)
            | Self::Silent(connection, end, _) => Some(connections[*connection].ends[*end].place),
            Self::Local(owner, ..)
            | Self::Timer(owner, _)
            | Self::Executed(owner, ..)
            | Self::Tell(owner, _)
            | Self::Exit(owner, _) => Some(owner.place),
            Self::Connect(_)
            | Self::LeaderLocal(..)
            | Self::Heal(_)
            | Self::Follow(_)
            | Self::Attaching(_)
            | Self::AttachingEnds(_)
            | Self::FollowerTimer(..)
            | Self::Disk(_) => None,
        }
    }

    /// Whether it is of a client that attaches, and has no effect on the job.
    const fn is_of_follower(&self) -> bool {
        match self {
            Self::Arrive(connection, ..)
            | Self::Aborted(connection, ..)
            | Self::Taken(connection, _)
            | Self::Silent(connection, ..) => Connections::is_of_follower(*connection),
            Self::Connect(connecting) => matches!(connecting.by, By::Follower(_)),
            Self::Attaching(_)
            | Self::AttachingEnds(_)
            | Self::FollowerTimer(..)
            | Self::Tell(..) => true,
            Self::Local(..)
            | Self::LeaderLocal(..)
            | Self::Timer(..)
            | Self::Heal(_)
            | Self::Follow(_)
            | Self::Exit(..)
            | Self::Disk(_)
            | Self::Executed(..) => false,
        }
    }

    /// A number for the kind and two for the content, for the identity of a trace.
    fn identity(&self) -> [u64; 3] {
        let number = |index: &usize| length(*index);
        match self {
            Self::Arrive(connection, end, (lane, sequence), packet) => {
                let check = match &**packet {
                    Packet::Frame(_, bytes) => checksum(bytes),
                    Packet::State(_, _, state) => checksum(&state.payload),
                    Packet::Pieces(_, _, (_, encoded)) => checksum(encoded),
                    Packet::Close(reason) => checksum(&Bytes::copy_from_slice(reason.as_bytes())),
                };
                [
                    *lane as u64 + 1,
                    number(connection) << 32 | number(end) << 24 | *sequence,
                    length(packet.len()) << 32 | check,
                ]
            }
            Self::Aborted(connection, end, _) => [3, number(connection), number(end)],
            Self::Taken(connection, end) => [4, number(connection), number(end)],
            Self::Silent(connection, end, since) => {
                [5, number(connection) << 1 | number(end), *since]
            }
            Self::Connect(connecting) => {
                [6, number(&connecting.from.place), number(&connecting.to)]
            }
            Self::Local(owner, job, _) => [7, number(&owner.place), *job],
            Self::LeaderLocal(id, owner, _) => {
                [8, owner.incarnation, number(&owner.place) << 32 | *id]
            }
            Self::Timer(owner, at) => [9, number(&owner.place), *at],
            Self::Heal(fault) => [10, number(fault), 0],
            Self::Disk(number) => [11, *number, 0],
            Self::Exit(owner, _) => [12, number(&owner.place), owner.incarnation],
            Self::Follow(fault) => [15, number(fault), 0],
            Self::Attaching(fault) => [16, number(fault), 0],
            Self::AttachingEnds(fault) => [17, number(fault), 0],
            Self::FollowerTimer(id, at) => [18, *id, *at],
            Self::Tell(owner, at) => [19, number(&owner.place), number(&at.0)],
            Self::Executed(owner, job, count) => [14, number(&owner.place) << 32 | *job, *count],
        }
    }
}

fn checksum(bytes: &Bytes) -> u64 {
    crc32fast::hash(bytes).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_computation_is_slow_until_the_processors_are_not() {
        let mut place = place(1, (Role::Node, "n1".to_owned()));
        assert_eq!(place.lasts(5, 100), 100);
        place.slower = (10, 1000);
        // All of it, half of it, and nothing of it is slow.
        assert_eq!(place.lasts(0, 100), 1000);
        assert_eq!(place.lasts(500, 100), 500 + 50);
        assert_eq!(place.lasts(1000, 100), 100);
    }
}
