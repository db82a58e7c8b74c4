//! The sockets, threads and tasks of a node: it performs what its machine decides, and tells it what happens.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::future::{self, Future};
use std::panic::{self, AssertUnwindSafe};
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant as Clock};

use bsp::units::Seconds;
use machines::node::action::{EndedJob, JobAction, JobEnd, NodeAction};
use machines::node::event::{ConnectionId, JobEvent, NewPeer, NodeEvent};
use machines::node::{NodeMachine, NodeParts, frame};
use machines::time::seconds;
use protocol::transport::{Endpoint, Peer, PeerError, Received, Receiver, Sender, StateReceiver};
use protocol::{JobMessage, Message, Status};
use tokio::sync::mpsc;

use crate::Machine;
use crate::abandoned::AbandonedSupersteps;
use crate::checkpoints::allowed::CheckpointFolders;
use crate::job_log::{JobLines, JobLog};
use crate::live_job::{INPUTS_AT_ONCE, LiveJob, Next};
use crate::meter::own_memory;
use crate::time::elapsed;

/// The sockets, threads and tasks of a node.
pub(super) struct NodeShell {
    endpoint: Arc<Endpoint>,
    machine: Machine,
    workloads: Vec<String>,
    checkpoints: CheckpointFolders,
    abandoned: AbandonedSupersteps,
    began: Clock,
    node: RefCell<NodeMachine>,
    /// Connected peers whose part the node has not decided on, and the number of connections so far.
    peers: RefCell<(u64, BTreeMap<ConnectionId, Peer>)>,
    /// Clients whose messages are read.
    clients: RefCell<BTreeMap<ConnectionId, Client>>,
    events: mpsc::Sender<NodeEvent>,
    /// Of the log, about jobs.
    lines: JobLines,
}

/// A client whose messages are read.
struct Client {
    sender: Sender,
    /// The states that it sends, until its job reads them.
    states: Option<StateReceiver>,
}

impl NodeShell {
    /// The shell of the node that consists of `parts`, and the events of its clients.
    pub(super) fn new(
        endpoint: Arc<Endpoint>,
        (machine, abandoned): (Machine, AbandonedSupersteps),
        parts: NodeParts,
        (workloads, checkpoints): (Vec<String>, CheckpointFolders),
    ) -> (Self, mpsc::Receiver<NodeEvent>) {
        let (events, receiver) = mpsc::channel(EVENTS_MAX);
        let began = Clock::now();
        let shell = Self {
            endpoint,
            machine,
            workloads,
            checkpoints,
            abandoned,
            began,
            node: RefCell::new(NodeMachine::new(parts, began)),
            peers: RefCell::default(),
            clients: RefCell::default(),
            events,
            lines: JobLines::default(),
        };
        (shell, receiver)
    }

    /// Tells the node what happens and performs what it decides, until the endpoint is closed.
    pub(super) async fn serve(self: Rc<Self>, mut events: mpsc::Receiver<NodeEvent>) {
        let mut job = None;
        loop {
            self.perform_all(&mut job).await;
            let timeout = self.node.borrow().next_timeout();
            let takes_peer_events = self.node.borrow().takes_peer_events();
            tokio::select! {
                peer = self.endpoint.accept() => match peer {
                    Some(peer) => self.connected(peer),
                    None => return,
                },
                Some(event) = events.recv() => self.handle(event),
                next = next_of(&mut job, takes_peer_events) => match next {
                    Next::Event(event) => {
                        self.handle(event.into());
                        self.handle_more(&mut job);
                    }
                    Next::Connected(peer) => self.connected(*peer),
                },
                () = sleep_until(timeout) => self.handle(NodeEvent::Tick),
            }
        }
    }

    /// Ends the job that runs, in so far as one does, once `leave` is ready.
    pub(super) async fn leave_after(&self, leave: impl Future<Output = ()>) {
        leave.await;
        if self.node.borrow().is_idle() {
            return;
        }
        drop(self.events.send(NodeEvent::Leave).await);
        let ended = async {
            while !self.node.borrow().is_idle() {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        // A client that does not answer is waited for no longer than that.
        drop(tokio::time::timeout(LEAVING, ended).await);
        tokio::time::sleep(Duration::from_millis(200)).await;
    }

    /// Completes with the reason when a superstep has gone on for too long after the end of its job.
    pub(super) async fn stuck(&self) -> String {
        self.abandoned.stuck(self.own()).await
    }

    /// Performs what the node decides until it waits for the next event.
    async fn perform_all(self: &Rc<Self>, job: &mut Option<LiveJob>) {
        while let Some(action) = self.poll() {
            match action {
                NodeAction::Job(action) => {
                    let Some(live) = job else { continue };
                    match action {
                        JobAction::Deliver(_) => {
                            let delivered = live.deliver(action).await;
                            if let Err(error) = delivered {
                                self.handle(JobEvent::Failed(error).into());
                            }
                        }
                        JobAction::Admit(connection, host, rights) => {
                            if let Some(peer) = self.take_peer(connection) {
                                peer.restrict_to(rights);
                                live.admit(host, peer);
                            }
                        }
                        action => {
                            if let Some(event) = live.perform(action) {
                                self.handle(event.into());
                            }
                        }
                    }
                }
                NodeAction::Attend(connection) => self.attend(connection),
                NodeAction::RefusePeer(connection) => {
                    if let Some(peer) = self.take_peer(connection) {
                        refuse_peer(&peer);
                    }
                }
                NodeAction::TellClient(connection, frame) => {
                    if let Some(client) = self.clients.borrow().get(&connection) {
                        // The loss of the client is an event of its connection.
                        drop(client.sender.push(frame));
                    }
                }
                NodeAction::Begin(begun) => {
                    if let Some(client) = self.clients.borrow_mut().get_mut(&begun.client) {
                        let of_client = (client.sender.clone(), client.states.take());
                        let parts = (&self.endpoint, &self.machine, &self.checkpoints);
                        let log = JobLog::begin(&begun, &self.lines);
                        *job = Some(LiveJob::begin(&begun, parts, of_client, log));
                    }
                }
                NodeAction::End(ended) => {
                    if let Some(live) = job.take() {
                        self.end(live, ended);
                    }
                }
            }
        }
    }

    /// Ends the job: the node is free.
    fn end(self: &Rc<Self>, live: LiveJob, ended: EndedJob) {
        let EndedJob {
            end,
            last,
            supersteps,
        } = ended;
        let reason = match &end {
            JobEnd::Complete(run) => {
                self.warn_if_late(*run);
                "the job is over"
            }
            JobEnd::Failed(error) => &error.message,
            JobEnd::Panicked => "the node has failed",
        };
        let (log, client) = live.end(reason);
        log.end(&end, supersteps);
        let shell = Rc::clone(self);
        drop(actix_rt::spawn(async move {
            // Behind what the client has not taken yet, which waits for room.
            let sending = async {
                for frame in last {
                    client.send(frame).await?;
                }
                Ok::<(), PeerError>(())
            };
            // The client may have closed it already, or read no more.
            drop(tokio::time::timeout(LEAVING, sending).await);
            drop(client.close("the job is over").await);
            let is_idle = || shell.node.borrow().is_idle();
            shell.abandoned.ended(is_idle).await;
        }));
    }

    /// Warns if this machine was too slow for the host that it plays, in a run that took so long.
    fn warn_if_late(&self, run: Seconds) {
        let late = self.machine.pace.played().map(|host| host.late());
        if let Some(late) = late.filter(|late| run.get() * LATE < late.as_secs_f64()) {
            let late = seconds(late);
            tracing::warn!(
                "computations took {late} longer than on the host that is played, in a run of {run}: \
                 this machine is busy with something else"
            );
        }
    }

    /// Tells the node of an event. If that panics, its job ends, and the node goes on.
    fn handle(&self, event: NodeEvent) {
        let now = Clock::now();
        let handling = || self.node.borrow_mut().handle(now, event);
        if panic::catch_unwind(AssertUnwindSafe(handling)).is_err() {
            self.node.borrow_mut().handle(now, NodeEvent::Panicked);
        }
    }

    /// What the node decides. If that panics, its job ends, and the node goes on.
    fn poll(&self) -> Option<NodeAction> {
        let polling = || self.node.borrow_mut().poll();
        panic::catch_unwind(AssertUnwindSafe(polling)).unwrap_or_else(|_| {
            let mut node = self.node.borrow_mut();
            node.handle(Clock::now(), NodeEvent::Panicked);
            node.poll()
        })
    }

    /// Handles the events of other nodes that have happened already, before what they cause is done.
    fn handle_more(&self, job: &mut Option<LiveJob>) {
        let Some(job) = job else { return };
        for _ in 0..INPUTS_AT_ONCE {
            if !self.node.borrow().takes_peer_events() {
                return;
            }
            let Some(event) = job.next_of_peers() else {
                return;
            };
            self.handle(event.into());
        }
    }

    /// A peer has connected, or has answered a call.
    fn connected(&self, peer: Peer) {
        let connection = {
            let (count, peers) = &mut *self.peers.borrow_mut();
            *count += 1;
            let connection = ConnectionId(*count);
            peers.insert(connection, peer);
            connection
        };
        let new = {
            let peers = self.peers.borrow();
            let peer = &peers.1[&connection];
            NewPeer {
                connection,
                info: Arc::clone(&peer.info),
                job: peer.job,
                build: peer.build.clone(),
            }
        };
        self.handle(NodeEvent::Connected(new));
    }

    fn take_peer(&self, connection: ConnectionId) -> Option<Peer> {
        self.peers.borrow_mut().1.remove(&connection)
    }

    /// Reads what the client at `connection` sends.
    fn attend(self: &Rc<Self>, connection: ConnectionId) {
        let Some(peer) = self.take_peer(connection) else {
            return;
        };
        let Peer {
            sender,
            messages,
            states,
            ..
        } = peer;
        let client = Client {
            sender: sender.clone(),
            states: Some(states),
        };
        self.clients.borrow_mut().insert(connection, client);
        let shell = Rc::clone(self);
        drop(actix_rt::spawn(async move {
            let error = shell.listen(connection, &sender, messages).await;
            shell.clients.borrow_mut().remove(&connection);
            let gone = NodeEvent::ClientGone(connection, error);
            drop(shell.events.send(gone).await);
        }));
    }

    /// Passes on what a client sends until its connection closes, with an error unless it was closed in order.
    async fn listen(
        &self,
        connection: ConnectionId,
        sender: &Sender,
        mut messages: Receiver,
    ) -> Option<machines::JobError> {
        loop {
            match messages.receive().await {
                Ok(Received::Message(_, _, Message::Job(message))) => match *message {
                    JobMessage::Inquire => {
                        let status = JobMessage::Status(Box::new(self.status()));
                        // It waits while the client does not read.
                        drop(sender.send(frame(status)).await);
                    }
                    JobMessage::Submit(submit) => {
                        // Files are opened here, by another thread: the node and its job go on.
                        match self.checkpoints.check(self.own(), &submit).await {
                            Ok(()) => {
                                let message = Box::new(JobMessage::Submit(submit));
                                let event = NodeEvent::FromClient(connection, message);
                                drop(self.events.send(event).await);
                            }
                            Err(error) => {
                                let failed = JobMessage::Failed(error.into());
                                drop(sender.send(frame(failed)).await);
                            }
                        }
                    }
                    message => {
                        let event = NodeEvent::FromClient(connection, Box::new(message));
                        drop(self.events.send(event).await);
                    }
                },
                // One that sends anything else is no client of a job any more.
                Ok(Received::Message(..) | Received::Closed { .. }) => return None,
                Err(error) => return Some(error.into()),
            }
        }
    }

    /// The name of this node.
    fn own(&self) -> &str {
        self.endpoint.identity().certificate().subject.name.as_str()
    }

    fn status(&self) -> Status {
        let load = |window| {
            let window = Seconds::new(window).expect("a window is finite");
            self.machine.load.load(window)
        };
        let node = self.node.borrow();
        Status {
            workloads: self.workloads.clone(),
            abandoned: self.abandoned.status().filter(|_| node.is_idle()),
            up: elapsed(self.began),
            speed: self.machine.offered().get(),
            processors: self.machine.processors.get(),
            load: (load(900.0), load(60.0)),
            job: node.job_status(Clock::now()),
            jobs: node.jobs(),
            refused: self.endpoint.counters().refused(),
            memory: own_memory(),
            others: self.machine.load.busy_others(),
        }
    }
}

/// What happens next in the job, if there is one.
async fn next_of(job: &mut Option<LiveJob>, takes_peer_events: bool) -> Next {
    match job {
        Some(job) => job.next(takes_peer_events).await,
        None => future::pending().await,
    }
}

async fn sleep_until(at: Option<Clock>) {
    match at {
        Some(at) => tokio::time::sleep_until(at.into()).await,
        None => future::pending().await,
    }
}

/// Closes the connection of a peer that has no part in a job here. The refusal is counted.
fn refuse_peer(peer: &Peer) {
    let problem = format!("{} has no part in a job here", peer.info.subject);
    // The node and its job go on.
    drop(peer.sender.refuse(problem));
}

/// The part of a run by which computations may be late in all.
const LATE: f64 = 0.02;
/// Events of clients that wait to be handled.
const EVENTS_MAX: usize = 1024;
/// The time limit for the end of a job.
const LEAVING: Duration = Duration::from_secs(5);
