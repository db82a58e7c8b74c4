//! A node of a cluster: it waits for clients, and takes part in one job at a time.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::future::{self, Future};
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::panic::{self, AssertUnwindSafe};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant as Clock};

use bsp::units::{InstructionsPerSecond, Seconds};
use machines::node::{
    BegunJob, ConnectionId, EndedJob, JobEnd, LeadOrder, Leave, NewPeer, NodeAction, NodeEvent,
    NodeMachine, NodeParts, frame,
};
use machines::{Builds, Routes, seconds};
use protocol::identity::{Identity, Role};
use protocol::transport::{
    BindError, Bounds, Endpoint, LogLimit, Peer, PeerError, PeerInfo, PeerPolicy, Received,
    Receiver, Sender, StateReceiver,
};
use protocol::{Fault, Frame, JobMessage, Message, Reached, Status, Submit, displayed};
use tokio::sync::{Notify, mpsc, oneshot};
use tokio::task::JoinError;
use tokio::time::Sleep;
use tracing::Span;

use crate::Machine;
use crate::check;
use crate::checkpoints::CheckpointFolders;
use crate::counter::counted_speed;
use crate::credentials::{self, Follower};
use crate::files::OutputFolder;
use crate::leader::{LeaderParts, SharedLedgers, SharedPrepare};
use crate::live_job::{INPUTS_AT_ONCE, LiveJob, Next};
use crate::meter::{LoadMeter, LoadScope, measured_speed, own_memory, processors};
use crate::metrics::{self, Snapshot, Totals};
use crate::offer::{Offer, offer};
use crate::pace::{Pace, elapsed};
use crate::pool::{AbandonedSupersteps, Executions, ProcessorSpeed};

/// A node of a cluster.
pub struct Node {
    /// Its certificate and key. If they are of files, those are read again when they change, and the list of revocations is.
    pub identity: Identity,
    /// The address at which it listens; with port 0, the system chooses the port.
    pub address: SocketAddr,
    /// Where it reaches other nodes, if not at the addresses of a client's list.
    pub routes: Routes,
    /// The build that it runs, and whether its clients and other nodes may run others.
    pub builds: Builds,
    /// The workloads that its program knows, for clients of other programs.
    pub workloads: Vec<String>,
    /// The time for which a superstep may go on after the end of its job before the node ends itself; `None`: no limit.
    pub exit_when_stuck: Option<Duration>,
    /// Of one processor; `None`: it is measured.
    pub speed: Option<InstructionsPerSecond>,
    /// How long computations last, compared with the processor time that they take.
    pub pace: Pace,
    /// The processes of the operating system whose computation does not count as external load.
    pub scope: LoadScope,
    /// The folders to which it may write checkpoints.
    pub checkpoints: CheckpointFolders,
    /// The folder in which it writes files of jobs.
    pub outputs: OutputFolder,
    /// What a job is made of.
    pub prepare: Arc<SharedPrepare>,
    /// The nodes whose job it would join, if it would.
    pub offer: Option<Offer>,
    /// Where it answers monitors over HTTP, if it does.
    pub metrics: Option<TcpListener>,
    /// What it does again and again to show that it runs.
    pub heartbeat: Option<Heartbeat>,
    /// Has it look at the files of its identity at once; it does so again and again in any case.
    pub reload: Arc<Notify>,
}

/// What a node does again and again, on the thread that carries messages, to show that this thread runs.
pub struct Heartbeat {
    /// The time from one to the next.
    pub period: Duration,
    /// What is done.
    pub beat: Box<dyn Fn()>,
}

impl fmt::Debug for Heartbeat {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Heartbeat")
            .field("period", &self.period)
            .finish_non_exhaustive()
    }
}

impl Heartbeat {
    async fn go_on(self) {
        loop {
            (self.beat)();
            tokio::time::sleep(self.period).await;
        }
    }
}

impl Node {
    /// Waits for clients until `leave` is ready, or a client orders the node to end; then it leaves a job that runs. Tells `ready` where
    /// clients find it.
    ///
    /// The thread that calls it carries all messages from then on.
    ///
    /// # Errors
    ///
    /// If it cannot begin.
    pub fn run(
        self,
        ready: impl FnOnce(SocketAddr),
        leave: impl Future<Output = Leave> + 'static,
    ) -> Result<(), NodeError> {
        let speed = self.speed.unwrap_or_else(measured_speed);
        let machine = Machine {
            processors: processors(),
            processor: ProcessorSpeed {
                speed,
                counted: counted_speed(),
            },
            pace: self.pace,
            load: LoadMeter::begin(self.scope),
            executions: Executions::default(),
            totals: Totals::default(),
        };
        let abandoned = AbandonedSupersteps::new(&machine.executions, self.exit_when_stuck);
        let name = self.identity.certificate().subject.name.to_string();
        // This thread executes all tasks of the node, so all its lines say which one it is.
        let _inside = tracing::error_span!("at", node = name).entered();
        actix_rt::System::new().block_on(async move {
            let guests =
                PeerPolicy::Roles(BTreeSet::from([Role::Client, Role::Node, Role::SetManager]));
            let (bounds, build) = (Bounds::default(), self.builds.own.clone());
            let endpoint =
                Endpoint::bind_local(self.identity, self.address, guests, bounds, build)?;
            ready(endpoint.address()?);
            let endpoint = Arc::new(endpoint);
            credentials::follow(&endpoint, Follower::Own(self.reload));
            credentials::warn_daily(&endpoint);
            let prepare = Arc::clone(&self.prepare);
            let parts = NodeParts {
                name,
                builds: self.builds.clone(),
                routes: self.routes.clone(),
                folder: self.outputs.path().map(str::to_owned),
                prepare: Box::new(move |submit| prepare(submit)),
                leads: endpoint.subject().role == Role::SetManager,
                meter: Rc::new(machine.clone()),
            };
            let leading = Leading {
                builds: self.builds,
                routes: self.routes,
                prepare: self.prepare,
                ledgers: Arc::default(),
            };
            let (workloads, folders) = (self.workloads, (self.checkpoints, self.outputs));
            let (shell, events) = NodeShell::new(
                endpoint,
                machine,
                abandoned,
                (parts, leading),
                workloads,
                folders,
            );
            let shell = Rc::new(shell);
            if let Some(offered) = self.offer {
                let offered = Rc::clone(&shell).offer(offered);
                drop(actix_rt::spawn(offered));
            }
            if let Some(heartbeat) = self.heartbeat {
                drop(actix_rt::spawn(heartbeat.go_on()));
            }
            if let Some(listener) = self.metrics {
                let (shown, totals) = (Rc::clone(&shell), shell.machine.totals.clone());
                let snapshot = move |see: &mut dyn FnMut(&Snapshot<'_>)| shown.show(see);
                drop(actix_rt::spawn(metrics::serve(listener, totals, snapshot)));
            }
            // A task of its own: the runtime asks the system for events before it goes on with this one, which is none.
            let serving = actix_rt::spawn(Rc::clone(&shell).serve(events));
            tokio::select! {
                served = serving => {
                    // It is not aborted.
                    if let Err(Ok(panicked)) = served.map_err(JoinError::try_into_panic) {
                        panic::resume_unwind(panicked);
                    }
                }
                () = shell.leave_after(leave) => {}
                reason = shell.stuck() => return Err(NodeError::Stuck(reason)),
            }
            Ok(())
        })
    }
}

impl fmt::Debug for Node {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Node")
            .field("identity", &self.identity)
            .field("address", &self.address)
            .field("builds", &self.builds)
            .finish_non_exhaustive()
    }
}

/// The sockets, threads and tasks of a node.
struct NodeShell {
    endpoint: Arc<Endpoint>,
    machine: Machine,
    workloads: Vec<String>,
    checkpoints: CheckpointFolders,
    outputs: OutputFolder,
    abandoned: AbandonedSupersteps,
    leading: Leading,
    began: Clock,
    node: RefCell<NodeMachine>,
    /// Connected peers whose part the node has not decided on, and the number of connections so far.
    peers: RefCell<(u64, BTreeMap<ConnectionId, Peer>)>,
    /// Clients whose messages are read.
    clients: RefCell<BTreeMap<ConnectionId, Client>>,
    events: mpsc::Sender<NodeEvent>,
    /// The number of jobs of whose end their clients and nodes have been told.
    told: Cell<u64>,
    /// Of the log, about jobs.
    lines: JobLines,
    /// What lines about the job that runs are in.
    span: RefCell<Span>,
    /// A client has ordered the node to leave its job and to end.
    drained: Notify,
    /// Whether the node leaves, and ends then.
    is_leaving: Cell<bool>,
}

/// With what a node leads jobs.
struct Leading {
    builds: Builds,
    routes: Routes,
    prepare: Arc<SharedPrepare>,
    ledgers: Arc<SharedLedgers>,
}

/// A client whose messages are read.
struct Client {
    sender: Sender,
    /// The states that it sends, until its job reads them.
    states: Option<StateReceiver>,
}

impl NodeShell {
    /// The shell of the node that consists of `parts`, and the events of its clients.
    fn new(
        endpoint: Arc<Endpoint>,
        machine: Machine,
        abandoned: AbandonedSupersteps,
        (parts, leading): (NodeParts, Leading),
        workloads: Vec<String>,
        (checkpoints, outputs): (CheckpointFolders, OutputFolder),
    ) -> (Self, mpsc::Receiver<NodeEvent>) {
        let (events, receiver) = mpsc::channel(EVENTS_MAX);
        let began = Clock::now();
        let shell = Self {
            endpoint,
            machine,
            workloads,
            checkpoints,
            outputs,
            abandoned,
            leading,
            began,
            node: RefCell::new(NodeMachine::new(parts, began)),
            peers: RefCell::default(),
            clients: RefCell::default(),
            events,
            told: Cell::new(0),
            lines: JobLines::default(),
            span: RefCell::new(Span::none()),
            drained: Notify::new(),
            is_leaving: Cell::new(false),
        };
        (shell, receiver)
    }

    /// Tells the node what happens and performs what it decides, until the endpoint is closed.
    async fn serve(self: Rc<Self>, mut events: mpsc::Receiver<NodeEvent>) {
        let mut job = JobPart::None;
        let mut timer = Timer::new();
        loop {
            self.perform_all(&mut job).await;
            timer.set(self.node.borrow().next_timeout());
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
                () = timer.passed() => self.handle(NodeEvent::Tick),
            }
        }
    }

    /// Leaves the job that runs, in so far as one does, once `leave` is ready or a client orders it: as soon as the job can go on without
    /// this node, or at once after some time.
    async fn leave_after(&self, leave: impl Future<Output = Leave>) {
        let leave = tokio::select! {
            leave = leave => leave,
            () = self.drained.notified() => Leave::WhenHeld,
        };
        self.is_leaving.set(true);
        let all = [(Leave::WhenHeld, DRAINING), (Leave::AtOnce, LEAVING)];
        for (leave, limit) in all.into_iter().skip_while(|(of, _)| *of != leave) {
            if self.node.borrow().is_idle() {
                return;
            }
            drop(self.events.send(NodeEvent::Leave(leave)).await);
            let ended = async {
                while !self.node.borrow().is_idle() || self.told.get() < self.node.borrow().jobs() {
                    tokio::time::sleep(Duration::from_millis(10)).await;
                }
            };
            // A client that does not answer is waited for no longer than that.
            let has_ended = tokio::time::timeout(limit, ended).await.is_ok();
            tokio::time::sleep(Duration::from_millis(200)).await;
            if has_ended {
                return;
            }
        }
    }

    /// Offers the node to others while it is free.
    async fn offer(self: Rc<Self>, mut offered: Offer) {
        if offered.own.address.is_empty()
            && let Ok(address) = self.endpoint.address()
        {
            offered.own.address = if address.ip().is_unspecified() {
                format!("{}:{}", self.own(), address.port())
            } else {
                address.to_string()
            };
        }
        let identity = Identity::clone(&self.endpoint.identity());
        let build = self.leading.builds.own.clone();
        let is_free = || self.node.borrow().is_idle();
        if let Err(error) = offer(identity, build, offered, is_free).await {
            tracing::error!("this node offers itself to no other: {error}");
        }
    }

    /// Completes with the reason when a superstep has gone on for too long after the end of its job.
    async fn stuck(&self) -> String {
        self.abandoned.stuck(self.own()).await
    }

    /// Performs what the node decides until it waits for the next event.
    async fn perform_all(self: &Rc<Self>, job: &mut JobPart) {
        while let Some(action) = self.poll() {
            match action {
                NodeAction::Job(action) => {
                    let JobPart::Live(live) = job else { continue };
                    let take_peer = |connection| self.take_peer(connection);
                    if let Some(event) = live.perform(action, take_peer).await {
                        self.handle(event.into());
                    }
                }
                NodeAction::Attend(connection) => self.attend(connection),
                NodeAction::RefusePeer(connection) => {
                    if let Some(peer) = self.take_peer(connection) {
                        refuse_peer(&peer);
                    }
                }
                NodeAction::SendToClient(connection, frame) => {
                    if let Some(client) = self.clients.borrow().get(&connection) {
                        // The loss of the client is an event of its connection.
                        drop(client.sender.push(frame));
                    }
                }
                NodeAction::Begin(begun) => {
                    let log = match std::mem::take(job) {
                        JobPart::Suspended(log) => log,
                        JobPart::None | JobPart::Live(_) => JobLog::begin(&begun, &self.lines),
                    };
                    self.span.replace(log.span.clone());
                    if let Some(client) = self.clients.borrow_mut().get_mut(&begun.client) {
                        *job = JobPart::Live(Box::new(LiveJob::begin(
                            &begun,
                            &self.endpoint,
                            &self.machine,
                            (&self.checkpoints, &self.outputs),
                            client.sender.clone(),
                            client.states.take(),
                            log,
                        )));
                    }
                }
                NodeAction::Lead(order) => self.lead(*order),
                NodeAction::Suspend(leader, last) => {
                    if let JobPart::Live(live) = std::mem::take(job) {
                        // The node goes on while connections close.
                        let (log, _) = live.end(SUSPENDED);
                        *job = JobPart::Suspended(log);
                    }
                    if let Some(leader) = leader {
                        drop(self.send_last(leader, last));
                    }
                }
                NodeAction::End(ended) => {
                    let (log, closing) = match std::mem::take(job) {
                        JobPart::Live(live) => {
                            let (log, closing) = live.end(reason(&ended.end));
                            (Some(log), Some(closing))
                        }
                        JobPart::Suspended(log) => (Some(log), None),
                        JobPart::None => (None, None),
                    };
                    if let Some(log) = log {
                        log.end(&ended.end, ended.supersteps);
                    }
                    self.span.replace(Span::none());
                    self.end(ended, closing);
                }
            }
        }
    }

    /// Ends the job, whose connections to other nodes close: the node is free.
    fn end(self: &Rc<Self>, ended: EndedJob, closing: Option<impl Future<Output = ()> + 'static>) {
        let EndedJob {
            end, client, last, ..
        } = ended;
        self.machine.totals.job_ended(&end);
        if let JobEnd::Complete(run) = &end {
            self.warn_if_late(*run);
        }
        let shell = Rc::clone(self);
        let sender = client.and_then(|client| self.sender(client));
        let sending = client.map(|client| self.send_last(client, last));
        drop(actix_rt::spawn(async move {
            if let Some(sending) = sending {
                drop(sending.await);
            }
            if let Some(sender) = sender {
                drop(sender.close("the job is over").await);
            }
            if let Some(closing) = closing {
                closing.await;
            }
            shell.told.set(shell.told.get() + 1);
            let is_idle = || shell.node.borrow().is_idle();
            shell.abandoned.ended(is_idle).await;
        }));
    }

    /// Leads a job, in a thread of its own, if the members of its last view obey.
    fn lead(&self, order: LeadOrder) {
        let Leading {
            builds,
            routes,
            prepare,
            ledgers,
        } = &self.leading;
        let leader = LeaderParts {
            identity: Identity::clone(&self.endpoint.identity()),
            builds: builds.clone(),
            routes: routes.clone(),
            prepare: Arc::clone(prepare),
            ledgers: Arc::clone(ledgers),
        };
        let events = self.events.clone();
        let (done, led) = oneshot::channel();
        let thread = thread::Builder::new().name("leader".to_owned());
        let span = self.span.borrow().clone();
        // A thread of the runtime would keep the node from ending. Without a thread, another node leads the job.
        drop(thread.spawn(move || {
            let _inside = span.entered();
            // The node may have ended.
            let _sent = done.send(leader.lead(order));
        }));
        drop(actix_rt::spawn(async move {
            // A leader that panics is lost for all nodes, this one too.
            if let Some(event) = led.await.unwrap_or(Some(NodeEvent::NotLed)) {
                drop(events.send(event).await);
            }
        }));
    }

    /// The connection to a client, if it is not lost.
    fn sender(&self, client: ConnectionId) -> Option<Sender> {
        let clients = self.clients.borrow();
        clients.get(&client).map(|client| client.sender.clone())
    }

    /// Sends what the client at a connection is to receive last of a session: behind what it has not taken yet, which waits for
    /// room.
    fn send_last(&self, client: ConnectionId, last: Vec<Frame>) -> tokio::task::JoinHandle<()> {
        let sender = self.sender(client);
        actix_rt::spawn(async move {
            let Some(sender) = sender else { return };
            let sending = async {
                for frame in last {
                    sender.send(frame).await?;
                }
                Ok::<(), PeerError>(())
            };
            // The client may have closed it already, or read no more.
            drop(tokio::time::timeout(LEAVING, sending).await);
        })
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
        let _inside = self.span.borrow().clone().entered();
        let handling = || self.node.borrow_mut().handle(now, event);
        if panic::catch_unwind(AssertUnwindSafe(handling)).is_err() {
            self.node.borrow_mut().handle(now, NodeEvent::Panicked);
        }
    }

    /// What the node decides. If that panics, its job ends, and the node goes on.
    fn poll(&self) -> Option<NodeAction> {
        let _inside = self.span.borrow().clone().entered();
        let polling = || self.node.borrow_mut().poll();
        panic::catch_unwind(AssertUnwindSafe(polling)).unwrap_or_else(|_| {
            let mut node = self.node.borrow_mut();
            node.handle(Clock::now(), NodeEvent::Panicked);
            node.poll()
        })
    }

    /// Handles the events of other nodes that have happened already, before what they cause is done.
    fn handle_more(&self, job: &mut JobPart) {
        let JobPart::Live(job) = job else { return };
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
            info,
            ..
        } = peer;
        let client = Client {
            sender: sender.clone(),
            states: Some(states),
        };
        self.clients.borrow_mut().insert(connection, client);
        let shell = Rc::clone(self);
        drop(actix_rt::spawn(async move {
            let error = shell.listen(connection, (&sender, &info), messages).await;
            shell.clients.borrow_mut().remove(&connection);
            let gone = NodeEvent::ClientGone(connection, error);
            drop(shell.events.send(gone).await);
        }));
    }

    /// Passes on what a client sends until its connection closes, with an error unless it was closed in order.
    async fn listen(
        &self,
        connection: ConnectionId,
        (sender, info): (&Sender, &PeerInfo),
        mut messages: Receiver,
    ) -> Option<machines::JobError> {
        let mut fills = 0;
        loop {
            match messages.receive().await {
                Ok(Received::Message(_, _, Message::Job(message))) => match *message {
                    JobMessage::Inquire => {
                        let status = JobMessage::Status(Box::new(self.status()));
                        // It waits while the client does not read.
                        drop(sender.send(frame(status)).await);
                    }
                    JobMessage::Attach(job) => {
                        let owner = info.subject.name.as_str();
                        let ledgers = Arc::clone(&self.leading.ledgers);
                        let attached = ledgers.with(|all| all.attach(Clock::now(), job, owner));
                        match attached {
                            Ok(telling) => {
                                let sender = sender.clone();
                                // The end of the connection is an event of its messages.
                                drop(actix_rt::spawn(async move {
                                    ledgers.tell(telling, &sender).await
                                }));
                            }
                            Err(declined) => {
                                drop(sender.send(frame(JobMessage::Declined(declined))).await);
                            }
                        }
                    }
                    JobMessage::Reach(others)
                        if info.subject.role == Role::Client
                            && others.len() <= Reached::COUNT_MAX =>
                    {
                        let identity = Identity::clone(&self.endpoint.identity());
                        let reached = check::reach(identity, &self.leading.builds.own, others);
                        // One such question at a time: others of this client wait.
                        let reached = JobMessage::Reached(reached.await);
                        drop(sender.send(frame(reached)).await);
                    }
                    JobMessage::Transfer(other) if info.subject.role == Role::Client => {
                        let identity = Identity::clone(&self.endpoint.identity());
                        let rate = check::transfer(identity, &self.leading.builds.own, &other);
                        let transferred = JobMessage::Transferred(rate.await);
                        drop(sender.send(frame(transferred)).await);
                    }
                    JobMessage::Fill(bytes) => {
                        fills += 1;
                        if JobMessage::FILLS_MAX < fills || JobMessage::FILL_LEN < bytes.len() {
                            let most = JobMessage::FILLS_MAX * JobMessage::FILL_LEN;
                            let problem = format!(
                                "bytes without meaning, of which {most} are allowed, in parts of {}",
                                JobMessage::FILL_LEN
                            );
                            return Some(sender.refuse(problem).into());
                        }
                        drop(sender.send(frame(JobMessage::Filled)).await);
                    }
                    JobMessage::Drain if info.subject.role == Role::Client => {
                        tracing::info!("{info} has ordered this node to leave and to end");
                        self.drained.notify_one();
                        drop(sender.send(frame(JobMessage::Ending)).await);
                    }
                    JobMessage::Submit(submit) => {
                        // Files are opened here, by another thread: the node and its job go on.
                        match self.check_folders(&submit).await {
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

    /// Checks that the node can write what a job has it write.
    async fn check_folders(&self, submit: &Submit) -> Result<(), machines::JobError> {
        self.checkpoints.check(self.own(), submit).await?;
        self.outputs.check(self.own(), submit).await
    }

    /// The name of this node.
    fn own(&self) -> &str {
        self.endpoint.subject().name.as_str()
    }

    /// Shows what the node is now.
    fn show(&self, see: &mut dyn FnMut(&Snapshot<'_>)) {
        see(&Snapshot {
            build: &self.leading.builds.own,
            status: &self.status(),
            refused: self.endpoint.counters(),
            is_draining: self.is_leaving.get(),
            expires: self.endpoint.identity().certificate().validity.until(),
        });
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
            led: self.leading.ledgers.with(|all| all.status(Clock::now())),
            others: self.machine.load.busy_others(),
        }
    }
}

/// What happens next in the job, if there is one.
async fn next_of(job: &mut JobPart, takes_peer_events: bool) -> Next {
    match job {
        JobPart::Live(job) => job.next(takes_peer_events).await,
        JobPart::None | JobPart::Suspended(_) => future::pending().await,
    }
}

/// What the shell has of the job of its node.
#[derive(Default)]
enum JobPart {
    #[default]
    None,
    Live(Box<LiveJob>),
    /// The node has left the session of a view.
    Suspended(JobLog),
}

/// The reason with which connections to nodes close at the end of a job.
fn reason(end: &JobEnd) -> &str {
    match end {
        JobEnd::Complete(_) => "the job is over",
        JobEnd::Failed(error) => &error.message,
        JobEnd::Panicked => "the node has failed",
    }
}

/// The reason with which they close when a node leaves the session.
const SUSPENDED: &str = "the view is over";

/// The time of the next event. It is seldom another one after an event, and setting a timer takes as long as handling most of them.
struct Timer {
    at: Option<Clock>,
    sleep: Pin<Box<Sleep>>,
}

impl Timer {
    fn new() -> Self {
        Self {
            at: None,
            sleep: Box::pin(tokio::time::sleep(Duration::ZERO)),
        }
    }

    fn set(&mut self, at: Option<Clock>) {
        if let Some(at) = at.filter(|_| at != self.at) {
            self.sleep.as_mut().reset(at.into());
        }
        self.at = at;
    }

    /// Waits until it has passed, for ever if it is not set.
    async fn passed(&mut self) {
        match self.at {
            Some(_) => self.sleep.as_mut().await,
            None => future::pending().await,
        }
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
/// How long a node waits until its job can go on without it: one superstep, and a checkpoint.
const DRAINING: Duration = Duration::from_secs(10);
/// The time limit for the end of a job.
const LEAVING: Duration = Duration::from_secs(5);

/// Why a node does not run.
#[derive(Debug, thiserror::Error)]
pub enum NodeError {
    /// It has no socket.
    #[error(transparent)]
    Bind(#[from] BindError),
    /// The system does not say its address.
    #[error("the address of the socket: {0}")]
    Address(#[from] io::Error),
    /// A superstep does not end, although its job has.
    #[error("{0}, longer than --exit-when-stuck allows")]
    Stuck(String),
}

/// The lines about one job: its begin, and its end when it is known.
#[derive(Debug)]
pub(super) struct JobLog {
    /// What all lines about the job are in.
    span: Span,
    client: String,
    began: Clock,
    lines: JobLines,
}

/// How many lines about jobs the log has: a client can begin many.
#[derive(Clone, Debug)]
struct JobLines {
    begun: Arc<LogLimit>,
    ended: Arc<LogLimit>,
}

impl Default for JobLines {
    fn default() -> Self {
        Self {
            begun: Arc::new(LogLimit::new("jobs that began")),
            ended: Arc::new(LogLimit::new("jobs that ended")),
        }
    }
}

impl JobLog {
    /// A job has begun.
    fn begin(job: &BegunJob, lines: &JobLines) -> Self {
        let BegunJob {
            party,
            job: number,
            processes,
            nodes,
            ..
        } = job;
        let client = party.as_str();
        let span = tracing::error_span!("in", job = format!("{:016x}", number.0));
        if lines.begun.admits() {
            span.in_scope(|| tracing::info!(client, processes, nodes, "a job begins"));
        }
        Self {
            span,
            client: party.clone(),
            began: Clock::now(),
            lines: lines.clone(),
        }
    }

    /// The job has ended after this number of supersteps.
    pub(super) fn end(&self, end: &JobEnd, supersteps: u64) {
        if !self.lines.ended.admits() {
            return;
        }
        let _inside = self.span.enter();
        let client = self.client.as_str();
        let seconds = self.began.elapsed().as_secs_f64();
        let seconds = (seconds * 1e3).round() / 1e3;
        match end {
            JobEnd::Complete(_) => {
                tracing::info!(client, seconds, supersteps, "a job is complete");
            }
            // Of a program, the client reports it.
            JobEnd::Failed(error) if error.is_reported || error.fault != Fault::Cluster => {
                let reason = error.message.as_str();
                tracing::info!(client, seconds, supersteps, reason, "a job has failed");
            }
            JobEnd::Failed(error) => {
                let reason = displayed(&error.message, REASON_MAX);
                tracing::warn!(client, seconds, supersteps, reason, "a job has failed");
            }
            JobEnd::Panicked => {
                let reason = "the node has panicked";
                tracing::error!(client, seconds, supersteps, reason, "a job has failed");
            }
        }
    }
}

/// Bytes of the reason for which a job has failed.
const REASON_MAX: usize = 2000;
