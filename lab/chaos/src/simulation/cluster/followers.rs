//! Clients that attach to the job of the first client while a node leads it, what nodes tell them, and what is checked of that.
//!
//! They have connections, random numbers and an identity of their own: what happens in the job is the same without them, which
//! `simulation::run` checks.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::time::Instant;

use bsp::HostId;
use machines::client::{JobResult, NodeWord, Request};
use machines::finder::{self, Finder, FinderAction, FinderEvent, FoundLeader};
use machines::follower::{Follower, FollowerAction, FollowerEvent};
use machines::ledger::{GATHERING, LedgerFile, LedgerId, Ledgers, Tell, Telling};
use machines::node::frame;
use machines::{JobError, Loss, members};
use protocol::transport::JobId;
use protocol::{Address, JobMessage, Message, Step, encode};
use record::Event;

use crate::simulation::cluster::connection::{Packet, Untaken};
use crate::simulation::cluster::wire::{At, CONNECTING};
use crate::simulation::cluster::{By, Cluster, Connecting, Happening, Owner};
use crate::simulation::fault::{Fault, FaultKind, SECOND, When};
use crate::simulation::random::Random;
use crate::simulation::run::Trace;
use crate::simulation::scenario::{Scenario, setup_of};

/// The clients that attach, and what they should see.
pub(super) struct Followers {
    pub(super) random: Random,
    /// What happens to them.
    pub(super) trace: Trace,
    /// Faults that have happened, each with a step in which a node was then.
    pub(super) hits: Vec<(FaultKind, Step)>,
    /// The number of clients that have begun to attach, and of those that have followed the job to its end.
    pub(super) begun: u64,
    pub(super) completed: u64,
    /// The job that they follow.
    pub(super) job: Option<JobId>,
    faults: Vec<(Fault, State)>,
    processes: BTreeMap<u64, FollowerProcess>,
    /// What leaders have seen, by ledger.
    kept: BTreeMap<LedgerKey, Kept>,
    /// Whether clients could attach to a node at some time.
    is_led: bool,
    /// When the last fault of a client that attaches has ended, or a client has begun to attach.
    last: u64,
}

/// What has become of a fault of a client that attaches.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// How often a node has been in the step that it is aimed at.
    Waiting(u64),
    /// It has happened; a path of this place is blocked, or all.
    Happened(Option<usize>),
    Over,
}

/// A ledger of a node that runs at a place: which of those that have run there.
type LedgerKey = (usize, u64, LedgerId);

/// What a leader has seen, in its order.
#[derive(Default)]
struct Kept {
    seen: Vec<Seen>,
    /// Since when clients may attach.
    open: Option<u64>,
    /// Whether the node does not lead the job any more.
    is_abandoned: bool,
    /// Whether the job has ended without a result.
    has_failed: bool,
}

/// Something that a leader has seen, or a client that follows it.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Seen {
    View(u64),
    Begun,
    Event(Box<Event>),
}

/// A client that attaches.
struct FollowerProcess {
    owner: Owner,
    /// Whether the certificate is that of the client whose job it is.
    is_of_owner: bool,
    /// While it looks for a leader.
    finder: Option<Finder>,
    /// Since when it does.
    since: u64,
    /// What it connects for: twice the number of the question to all nodes, and one more to attach.
    purpose: u64,
    /// The places of the nodes that are asked, by connection.
    asked: BTreeMap<At, usize>,
    /// The connection to the leader.
    leader: Option<At>,
    /// What has arrived there before the leader has answered.
    early: Vec<NodeWord>,
    follower: Option<Follower>,
    ledger: Option<LedgerKey>,
    /// How much it has seen of each ledger.
    seen: BTreeMap<LedgerKey, usize>,
    timer: Option<u64>,
}

/// Lines of the record in memory.
#[derive(Default)]
pub(super) struct LinesInMemory(String);

impl LedgerFile for LinesInMemory {
    fn append(&mut self, lines: &str) -> io::Result<()> {
        self.0.push_str(lines);
        Ok(())
    }

    fn read(&mut self, at: u64, length: usize) -> io::Result<String> {
        let at = usize::try_from(at).map_err(io::Error::other)?;
        let lines = self.0.get(at..at + length);
        lines
            .map(str::to_owned)
            .ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
    }
}

impl Followers {
    /// None yet, with the faults of the scenario.
    pub(super) fn new(scenario: &Scenario, random: Random) -> Self {
        let faults = scenario.faults.iter();
        let faults = faults.filter(|fault| fault.kind.is_of_follower());
        Self {
            random,
            trace: Trace::new(false),
            hits: Vec::new(),
            begun: 0,
            completed: 0,
            job: None,
            faults: faults
                .map(|fault| (fault.clone(), State::Waiting(0)))
                .collect(),
            processes: BTreeMap::new(),
            kept: BTreeMap::new(),
            is_led: false,
            last: 0,
        }
    }

    /// No client attaches.
    pub(super) fn remove_all(&mut self) {
        self.faults.clear();
    }

    /// Whether a client that attaches runs.
    pub(super) fn is_alive(&self, id: u64) -> bool {
        self.processes.contains_key(&id)
    }
}

/// What nodes keep and tell.
impl Cluster<'_> {
    /// A node that leads has the ledger of its job changed, because of what it has seen.
    pub(super) fn keep(
        &mut self,
        leader: u64,
        seen: Option<Seen>,
        change: impl FnOnce(&mut Ledgers<LinesInMemory>, LedgerId, Instant),
    ) {
        let now = self.instant();
        let Some((owner, ledger)) = self
            .leaders
            .get(&leader)
            .and_then(|leader| Some((leader.owner, leader.ledger?)))
        else {
            return;
        };
        let Some(node) = &mut self.nodes[owner.place] else {
            return;
        };
        change(&mut node.ledgers, ledger, now);
        let tellings = node.tellings.iter_mut();
        for (at, telling) in tellings.filter(|(_, telling)| !telling.is_due) {
            telling.is_due = true;
            let gathering = u64::try_from(GATHERING.as_nanos()).unwrap_or(u64::MAX);
            self.queue
                .add(self.now + gathering, Happening::Tell(owner, *at));
        }
        let key = (owner.place, owner.incarnation, ledger);
        let kept = self.followers.kept.entry(key).or_default();
        kept.seen.extend(seen);
    }

    /// Clients may attach to the job from now on at the node of this leader.
    pub(super) fn note_open(&mut self, leader: u64) {
        let now = self.now;
        let Some(kept) = self.kept_by(leader) else {
            return;
        };
        kept.open.get_or_insert(now);
        if !std::mem::replace(&mut self.followers.is_led, true) {
            self.schedule_attaching(|when| match when {
                When::Led(time) => Some(time),
                _ => None,
            });
        }
    }

    /// The node of this leader leads the job no more, and has not led it to its end: clients that are attached look for another one.
    pub(super) fn abandon_ledger(&mut self, leader: u64) {
        self.keep(leader, None, |ledgers, ledger, _| ledgers.abandon(ledger));
        if let Some(kept) = self.kept_by(leader) {
            kept.is_abandoned = true;
        }
    }

    /// The job has ended without a result for this leader.
    pub(super) fn note_failed(&mut self, leader: u64) {
        if let Some(kept) = self.kept_by(leader) {
            kept.has_failed = true;
        }
    }

    fn kept_by(&mut self, leader: u64) -> Option<&mut Kept> {
        let leader = self.leaders.get(&leader)?;
        let key = (leader.owner.place, leader.owner.incarnation, leader.ledger?);
        Some(self.followers.kept.entry(key).or_default())
    }

    /// A client attaches to a job at the node at an end.
    pub(super) fn attach(&mut self, at: At, job: u64) {
        let (_, end) = self.end(at);
        let (place, name) = (end.place, end.peer.subject.name.to_string());
        let (owner, now) = (self.owner(place), self.instant());
        let Some(node) = &mut self.nodes[place] else {
            return;
        };
        match node.ledgers.attach(now, job, &name) {
            Ok(telling) => {
                let is_due = true;
                node.tellings.insert(at, NodeTelling { telling, is_due });
                self.tell_follower(owner, at);
            }
            Err(declined) => {
                // The end of the connection is an event of its own.
                drop(self.send_frame(at, 0, &frame(JobMessage::Declined(declined))));
            }
        }
    }

    /// A node tells a client that is attached what it has not told yet.
    pub(super) fn tell_follower(&mut self, owner: Owner, at: At) {
        if !self.is_alive(owner) {
            return;
        }
        loop {
            let is_open = self.end(at).1.is_open;
            let Some(node) = &mut self.nodes[owner.place] else {
                return;
            };
            let Some(telling) = node.tellings.get_mut(&at) else {
                return;
            };
            let told = node.ledgers.tell(&mut telling.telling);
            match told {
                _ if !is_open => {}
                Tell::Message(message) => {
                    // The end of the connection is an event of its own.
                    drop(self.send_frame(at, 0, &frame(*message)));
                    continue;
                }
                Tell::Output(state) => {
                    let ends = (Address::Node(HostId(0)), Address::Client);
                    drop(self.send_state(at, 0, (ends, state), Untaken::Output));
                    continue;
                }
                Tell::Wait => {
                    telling.is_due = false;
                    return;
                }
                Tell::Over => {}
                Tell::Abandoned => self.close(at, "the node does not lead the job any more"),
            }
            if let Some(node) = &mut self.nodes[owner.place] {
                node.tellings.remove(&at);
            }
            return;
        }
    }
}

/// What a node tells a client.
pub(super) struct NodeTelling {
    telling: Telling,
    /// Whether the client is told more at a date.
    is_due: bool,
}

/// Faults of clients that attach: that they do is one.
impl Cluster<'_> {
    /// The faults have their dates that happen so long after something.
    fn schedule_attaching(&mut self, time: impl Fn(When) -> Option<u64>) {
        for (index, (fault, _)) in self.followers.faults.iter().enumerate() {
            if let Some(time) = time(fault.when) {
                self.queue.add(self.now + time, Happening::Attaching(index));
            }
        }
    }

    /// The job is over: clients attach that do so then.
    pub(super) fn attach_when_over(&mut self) {
        if self.followers.is_led {
            self.schedule_attaching(|when| match when {
                When::Over(time) => Some(time),
                _ => None,
            });
        }
    }

    /// Has the faults happen that are aimed at a step, while a node leads the job.
    pub(super) fn inject_attaching(&mut self) {
        if !self.followers.is_led {
            return;
        }
        let steps: BTreeSet<Step> = self.steps().collect();
        for index in 0..self.followers.faults.len() {
            let (fault, state) = &mut self.followers.faults[index];
            if let (State::Waiting(count), When::Step(step, wanted)) = (state, fault.when)
                && steps.contains(&step)
            {
                *count += 1;
                if wanted <= *count {
                    self.queue.add(self.now, Happening::Attaching(index));
                }
            }
        }
    }

    /// A fault of clients that attach happens.
    pub(super) fn attaching(&mut self, index: usize) {
        let (fault, state) = self.followers.faults[index].clone();
        if !matches!(state, State::Waiting(_)) {
            return;
        }
        let end = self.now + fault.lasts;
        let mut blocked = None;
        match fault.kind {
            FaultKind::Attach => self.begin_following(true),
            FaultKind::AttachOther => self.begin_following(false),
            FaultKind::FollowerCrash => {
                let mut processes = self.followers.processes.iter();
                let first = processes.find(|(_, process)| process.is_of_owner);
                let Some(first) = first.map(|(id, _)| *id) else {
                    return;
                };
                self.crash_follower(first);
            }
            FaultKind::FollowerCut => {
                let attached = self.followers.processes.values();
                let ledgers = attached.filter_map(|process| process.ledger);
                let leader = ledgers.map(|(place, ..)| place).next();
                blocked = leader.filter(|_| fault.factor % 2 == 1);
                self.cut_follower(blocked, true);
            }
            _ => {}
        }
        let steps: BTreeSet<Step> = self.steps().collect();
        let hits = steps.iter().map(|step| (fault.kind, *step));
        self.followers.hits.extend(hits);
        self.trace.line(self.now, format_args!("FAULT {fault}"));
        self.followers.faults[index].1 = State::Happened(blocked);
        self.followers.last = self.followers.last.max(end);
        self.queue.add(end, Happening::AttachingEnds(index));
    }

    /// It ends.
    pub(super) fn attaching_ends(&mut self, index: usize) {
        let (fault, state) = &mut self.followers.faults[index];
        let kind = fault.kind;
        let State::Happened(blocked) = std::mem::replace(state, State::Over) else {
            return;
        };
        match kind {
            FaultKind::FollowerCrash => self.begin_following(true),
            FaultKind::FollowerCut => {
                self.cut_follower(blocked, false);
                self.send_held(true);
            }
            _ => {}
        }
    }

    /// Blocks the paths between the clients that attach and the node at a place, or all, or ends that.
    fn cut_follower(&mut self, place: Option<usize>, is_blocked: bool) {
        let follower = self.client_place() + 1;
        let nodes = 0..self.nodes.len();
        for node in nodes.filter(|node| place.is_none_or(|place| place == *node)) {
            self.network.block(node, follower, is_blocked);
            self.network.block(follower, node, is_blocked);
        }
        self.update_silence_of(true);
    }

    fn crash_follower(&mut self, id: u64) {
        let Some(process) = self.followers.processes.remove(&id) else {
            return;
        };
        for at in process.asked.into_keys().chain(process.leader) {
            let (_, end) = self.end(at);
            (end.is_open, end.is_closing) = (false, false);
            end.held.clear();
        }
        self.update_silence_of(true);
    }

    /// Has the clients that attach come to their end when all else is over: they find and hear the leader, or learn that there is none.
    pub(super) fn finish_followers(&mut self) {
        let limit = self.now.max(self.followers.last) + FOLLOWED;
        while !self.followers.processes.is_empty() {
            if limit < self.now || !self.step(false) {
                let problem =
                    "a client that has attached neither follows the job to its end nor fails";
                return self.violate(problem.to_owned());
            }
        }
    }
}

/// The clients.
impl Cluster<'_> {
    /// A client attaches to the job.
    fn begin_following(&mut self, is_of_owner: bool) {
        let Some(job) = self.followers.job else {
            return;
        };
        self.followers.begun += 1;
        let id = self.followers.begun;
        let place = self.client_place() + if is_of_owner { 1 } else { 2 };
        let owner = Owner {
            place,
            incarnation: id,
        };
        let process = FollowerProcess {
            owner,
            is_of_owner,
            finder: Some(self.finder(job)),
            since: self.now,
            purpose: 0,
            asked: BTreeMap::new(),
            leader: None,
            early: Vec::new(),
            follower: None,
            ledger: None,
            seen: BTreeMap::new(),
            timer: None,
        };
        self.followers.last = self.followers.last.max(self.now);
        self.followers.processes.insert(id, process);
        self.settle_follower(id);
    }

    fn finder(&self, job: JobId) -> Finder {
        let names = self.scenario.request.members.iter();
        let names = names.map(|member| member.name.clone());
        Finder::new(job, names.collect(), self.instant())
    }

    /// Performs what a client decides.
    fn settle_follower(&mut self, id: u64) {
        loop {
            let Some(process) = self.followers.processes.get_mut(&id) else {
                return;
            };
            if let Some(finder) = &mut process.finder {
                let Some(action) = finder.poll() else { break };
                self.perform_finder(id, action);
            } else {
                let follower = process.follower.as_mut();
                let Some(action) = follower.and_then(Follower::poll) else {
                    break;
                };
                self.perform_follower(id, action);
            }
        }
        let Some(process) = self.followers.processes.get(&id) else {
            return;
        };
        let finder = process.finder.as_ref();
        let timeout = finder.and_then(Finder::next_timeout);
        let timeout = timeout.map(|at| self.date(at));
        if let (Some(at), Some(process)) = (timeout, self.followers.processes.get_mut(&id))
            && process.timer != timeout
        {
            process.timer = timeout;
            self.queue
                .add(at.max(self.now), Happening::FollowerTimer(id, at));
        }
    }

    /// A client wakes that looks for a leader.
    pub(super) fn follower_timer(&mut self, id: u64, at: u64) {
        let Some(process) = self.followers.processes.get_mut(&id) else {
            return;
        };
        if process.timer == Some(at) {
            process.timer = None;
            self.tell_finder(id, FinderEvent::Tick);
        }
    }

    fn tell_finder(&mut self, id: u64, event: FinderEvent) {
        let now = self.instant();
        let process = self.followers.processes.get_mut(&id);
        if let Some(finder) = process.and_then(|process| process.finder.as_mut()) {
            finder.handle(now, event);
            self.settle_follower(id);
        }
    }

    fn perform_finder(&mut self, id: u64, action: FinderAction) {
        match action {
            FinderAction::AskAll(round) => {
                self.check_found(id);
                self.connect_follower(id, 2 * round, 0..self.nodes.len());
            }
            FinderAction::Attach(round, place) => {
                self.connect_follower(id, 2 * round + 1, place..place + 1);
            }
            FinderAction::Finish(Ok(found)) => self.found_leader(id, found),
            FinderAction::Finish(Err(error)) => {
                let line = format_args!("client {id} finds no leader: {error}");
                self.trace.line(self.now, line);
                self.check_unfound(id, &error);
                self.end_follower(id);
            }
        }
    }

    /// A client connects to the nodes at these places.
    fn connect_follower(&mut self, id: u64, purpose: u64, places: std::ops::Range<usize>) {
        let Some(process) = self.followers.processes.get_mut(&id) else {
            return;
        };
        let from = process.owner;
        process.purpose = purpose;
        process.early.clear();
        let before = std::mem::take(&mut process.asked).into_keys();
        let before: Vec<At> = before.chain(process.leader.take()).collect();
        for at in before {
            self.close(at, "the inquiry is over");
        }
        let rules = members::rules(&self.scenario.request.setup);
        for to in places {
            let host = HostId::from_index(to);
            let delay =
                self.network.delay(from.place, to, 3000) + self.network.delay(to, from.place, 3000);
            let connecting = Connecting {
                from,
                to,
                host,
                job: None,
                number: purpose,
                by: By::Follower(id),
                role: members::role_of(&rules, host),
                limit: self.now + CONNECTING,
            };
            self.queue
                .add(self.now + delay, Happening::Connect(connecting));
        }
    }

    /// Whether a client still connects for this purpose.
    pub(super) fn is_looking(&self, id: u64, purpose: u64) -> bool {
        let process = self.followers.processes.get(&id);
        process.is_some_and(|process| process.finder.is_some() && process.purpose == purpose)
    }

    /// A client has a connection to the node at a place, which it asks.
    pub(super) fn follower_connected(&mut self, id: u64, at: At, place: usize) {
        let Some(job) = self.followers.job else {
            return;
        };
        let Some(process) = self.followers.processes.get_mut(&id) else {
            return;
        };
        let message = if process.purpose.is_multiple_of(2) {
            process.asked.insert(at, place);
            JobMessage::Inquire
        } else {
            process.leader = Some(at);
            JobMessage::Attach(job.0.get())
        };
        let message = Message::Job(Box::new(message));
        let frame = encode(Address::Client, Address::Node(HostId(0)), &message);
        // The end of the connection is an event of its own.
        drop(self.send_frame(at, 0, &frame));
    }

    /// A client has no connection to the node at a place.
    pub(super) fn follower_without(&mut self, id: u64, place: usize, error: JobError) {
        let Some(process) = self.followers.processes.get(&id) else {
            return;
        };
        let round = process.purpose / 2;
        let event = if process.purpose.is_multiple_of(2) {
            FinderEvent::Answered(round, place, None)
        } else {
            FinderEvent::Attached(round, Err(error))
        };
        self.tell_finder(id, event);
    }

    /// A client reads a packet.
    pub(super) fn read_at_follower(&mut self, id: u64, at: At, packet: Packet) {
        if let Some(word) = self.word(at, None, packet) {
            self.tell_follower_word(id, at, word);
        }
    }

    /// The connection of a client has ended.
    pub(super) fn follower_lost(&mut self, id: u64, at: At, error: JobError) {
        self.tell_follower_word(id, at, NodeWord::Closed(Err(error)));
    }

    /// Tells a client what a node says.
    fn tell_follower_word(&mut self, id: u64, at: At, word: NodeWord) {
        let Some(process) = self.followers.processes.get_mut(&id) else {
            return;
        };
        let round = process.purpose / 2;
        if let Some(place) = process.asked.remove(&at) {
            let status = match word {
                NodeWord::Message(JobMessage::Status(status), _) => status.displayed().ok(),
                _ => None,
            };
            self.close(at, "the inquiry is over");
            let event = FinderEvent::Answered(round, place, status.map(Box::new));
            return self.tell_finder(id, event);
        }
        if process.leader != Some(at) {
            return;
        }
        match (&mut process.finder, &mut process.follower, word) {
            (Some(_), _, NodeWord::Message(message, _)) => {
                self.tell_finder(id, FinderEvent::Attached(round, Ok(message)));
            }
            (Some(_), _, NodeWord::Closed(closed)) => {
                let mut error = NodeWord::Closed(closed).error("the leader");
                error.loss.get_or_insert(Loss { silent: None });
                self.tell_finder(id, FinderEvent::Attached(round, Err(error)));
            }
            (Some(_), _, output @ NodeWord::Output { .. }) => process.early.push(output),
            (None, Some(follower), word) => {
                follower.handle(FollowerEvent::Leader(word));
                self.settle_follower(id);
            }
            (None, None, _) => {}
        }
    }

    /// A client is attached to a leader.
    fn found_leader(&mut self, id: u64, found: FoundLeader) {
        let FoundLeader { place, submit } = found;
        let scenario = self.scenario;
        let name = scenario.request.members[place].name.clone();
        let Some(process) = self.followers.processes.get_mut(&id) else {
            return;
        };
        let (is_of_owner, job) = (process.is_of_owner, self.followers.job);
        let (Some(at), Some(job)) = (process.leader, job) else {
            return;
        };
        let incarnation = self.connections[at.0].ends[1].incarnation;
        process.ledger = Some((place, incarnation, LedgerId(submit.session)));
        process.finder = None;
        let line = format_args!("client {id} is attached to {name}");
        self.trace.line(self.now, line);
        match &mut process.follower {
            Some(follower) => follower.handle(FollowerEvent::Attached(name, submit)),
            None => {
                let view = submit.view.as_ref().map(|view| view.number);
                let setup = setup_of(&scenario.request.setup, view, &submit.members);
                let builds = scenario.request.builds.clone();
                match Request::of_view(&submit, setup, builds) {
                    Ok(request) => {
                        process.follower = Some(Follower::new(job, request, name, &submit));
                    }
                    Err(error) => {
                        return self.violate(format!("a job cannot be followed: {error}"));
                    }
                }
            }
        }
        for word in std::mem::take(&mut process.early) {
            if let Some(follower) = &mut process.follower {
                follower.handle(FollowerEvent::Leader(word));
            }
        }
        if !is_of_owner {
            self.violate("a client is attached to the job of another one".to_owned());
        }
    }

    fn perform_follower(&mut self, id: u64, action: FollowerAction) {
        match action {
            FollowerAction::BeginView(next) => {
                self.see(id, &Seen::View(next.view.number));
                let (setup, number) = (&self.scenario.request.setup, next.view.number);
                let setup = Box::new(setup_of(setup, Some(number), &next.members));
                let process = self.followers.processes.get_mut(&id);
                if let Some(follower) = process.and_then(|process| process.follower.as_mut()) {
                    follower.handle(FollowerEvent::SetUp(setup));
                }
            }
            FollowerAction::ShowBegun(_) => self.see(id, &Seen::Begun),
            FollowerAction::ShowFolders(_) => {
                self.violate("a client sees folders of a job without files".to_owned());
            }
            FollowerAction::Observe(event) => self.see(id, &Seen::Event(event)),
            FollowerAction::Find(error) => {
                let line = format_args!("client {id} has lost the leader: {error}");
                self.trace.line(self.now, line);
                let finder = self.followers.job.map(|job| self.finder(job));
                if let Some(process) = self.followers.processes.get_mut(&id) {
                    process.finder = finder;
                    process.since = self.now;
                    process.leader = None;
                }
            }
            FollowerAction::Finish(result) => {
                self.check_followed(id, *result);
                self.end_follower(id);
            }
        }
    }

    /// The process of a client ends. It closes its connections in order.
    fn end_follower(&mut self, id: u64) {
        let Some(process) = self.followers.processes.get_mut(&id) else {
            return;
        };
        let asked = std::mem::take(&mut process.asked).into_keys();
        let open: Vec<At> = asked.chain(process.leader.take()).collect();
        for at in open {
            self.close(at, "the client has what it wanted");
        }
        self.followers.processes.remove(&id);
        self.update_silence_of(true);
    }
}

/// What is checked of clients that attach.
impl Cluster<'_> {
    /// A client sees something: what the leader has seen next.
    fn see(&mut self, id: u64, seen: &Seen) {
        let Some(process) = self.followers.processes.get_mut(&id) else {
            return;
        };
        let Some(ledger) = process.ledger else {
            return;
        };
        let count = process.seen.entry(ledger).or_default();
        let kept = self.followers.kept.get(&ledger);
        let expected = kept.and_then(|kept| kept.seen.get(*count));
        *count += 1;
        if expected != Some(seen) {
            let problem = format!(
                "a client that has attached sees {seen:?} where the leader has seen {expected:?}"
            );
            self.violate(problem);
        }
    }

    /// Checks what a client that was attached ends with.
    fn check_followed(&mut self, id: u64, result: Result<JobResult, JobError>) {
        let Some(process) = self.followers.processes.get(&id) else {
            return;
        };
        let ledger = process.ledger;
        let seen = ledger.and_then(|ledger| process.seen.get(&ledger).copied());
        let kept = ledger.and_then(|ledger| self.followers.kept.get(&ledger));
        let Some(kept) = kept else { return };
        let (has_all, has_failed) = (seen.unwrap_or(0) == kept.seen.len(), kept.has_failed);
        match result {
            Ok(_) if !has_all => {
                let problem = "a client that has attached has the result without all that the leader has seen";
                self.violate(problem.to_owned());
            }
            Err(error) if !has_failed => {
                self.violate(format!(
                    "a client that has attached follows the job no more: {error}"
                ));
            }
            Err(_) => {
                let line = format_args!("client {id} knows that the job has failed");
                self.trace.line(self.now, line);
            }
            Ok(result) => {
                let line = format_args!("client {id} has the result");
                self.trace.line(self.now, line);
                self.followers.completed += 1;
                self.check(Ok(result), true);
            }
        }
    }

    /// Whether a client that looks for the leader must have found it: it could be reached for some time.
    fn must_find(&self, id: u64) -> bool {
        let Some(process) = self.followers.processes.get(&id) else {
            return false;
        };
        let is_long = |since: u64| since + REACHED < self.now;
        let is_undisturbed = !self.faults.are_active()
            && is_long(self.faults.latest_end())
            && is_long(self.followers.last)
            && is_long(process.since);
        let leads = |(key, kept): (&LedgerKey, &Kept)| {
            let (place, incarnation, _) = *key;
            self.is_alive(Owner { place, incarnation })
                && kept.open.is_some_and(is_long)
                && !kept.is_abandoned
        };
        is_undisturbed && self.followers.kept.iter().any(leads)
    }

    fn check_found(&mut self, id: u64) {
        if self.must_find(id) {
            self.violate("a client does not find the node that leads the job".to_owned());
        }
    }

    /// Checks that a client has reason not to find the leader.
    fn check_unfound(&mut self, id: u64, error: &JobError) {
        let Some(process) = self.followers.processes.get(&id) else {
            return;
        };
        let (is_of_owner, job) = (process.is_of_owner, self.followers.job);
        let is_refused = job.is_some_and(|job| finder::of_another(job) == *error);
        if is_refused && is_of_owner {
            self.violate(format!("a client cannot attach to its own job: {error}"));
        } else if !is_refused && self.must_find(id) {
            self.violate(format!(
                "a client does not find the node that leads the job: {error}"
            ));
        }
    }
}

/// How long a leader can be reached before a client must have found it, in nanoseconds.
const REACHED: u64 = 15 * SECOND;
/// After which time a client that has attached must have come to its end when the job is over.
const FOLLOWED: u64 = 40 * SECOND;
