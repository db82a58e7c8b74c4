//! The client of a cluster: it submits jobs and asks for the status of nodes.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::future::{self, Future};
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs, UdpSocket};
use std::path::Path;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant as Clock, SystemTime};

use agents::{
    DecodeOutputs, Outcome, Outputs, OutputsOnNodes, ProgramType, RunError, Setup, Transferred,
    Transfers,
};
use bsp::units::Seconds;
use bsp::{HostId, Rank};
use checkpoint::{DiskFiles, JobDescription, SavedStates, Store};
use machines::client::{
    ANSWER_LIMIT, ClientAction, ClientEvent, ClientMachine, JobIds, JobOutput, JobResult,
    MissingMemory, NodeWord, Request, Suspension, initial,
};
use machines::views::{Hindrance, NextView, Views};
use machines::{JobError, Routes, between};
use protocol::identity::{Identity, Name, Role, Validity, ending};
use protocol::transport::{
    Bounds, Endpoint, JobId, Peer, PeerPolicy, Received, Sender, StateReceiver,
};
use protocol::{
    Address, Build, EncodedState, Failed, JobMessage, Member, Message, NodeFiles, Status,
    displayed_message, encode, variant,
};
use record::Event;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use crate::attach::Finder;
use crate::credentials::{self, Follower};
use crate::live_job::InputBudget;

/// Runs a new job, whose programs are of this type, on the nodes of a cluster, which build its processes. Shows `observer`
/// every event of the record, and how far outputs have been received. An error of `observer` ends the job, and so does
/// `interrupted`. The makespan is the longest that any node measured on its own clock.
///
/// # Errors
///
/// If a node of the cluster is missing or busy, or the job cannot go on. The nodes are free again then.
pub fn run(
    identity: Identity,
    request: &Request,
    program_type: ProgramType,
    observer: &mut dyn JobObserver,
    interrupted: impl Future<Output = ()>,
) -> Result<Outcome, JobError> {
    if request.setup.resumed.is_some() {
        return Err(JobError::input(
            "a job that resumes begins with saved states",
        ));
    }
    let decode_outputs = program_type.output_decoder();
    follow(
        identity,
        request,
        (None, decode_outputs),
        observer,
        interrupted,
    )
}

/// Resumes a job on the nodes of a cluster: as [`run`], from the states of a checkpoint, which the client sends. The setup of
/// `request` says with which superstep the job begins, and where each process starts.
///
/// # Errors
///
/// As [`run`], or if a file of the checkpoint has changed since it was found.
pub fn resume(
    identity: Identity,
    request: &Request,
    (saved, program_type): (SavedStates, ProgramType),
    observer: &mut dyn JobObserver,
    interrupted: impl Future<Output = ()>,
) -> Result<Outcome, JobError> {
    if request.setup.resumed.is_none() {
        return Err(JobError::input("saved states begin a job that resumes"));
    }
    let states = InitialStates::of_checkpoint(saved);
    let decode_outputs = program_type.output_decoder();
    follow(
        identity,
        request,
        (Some(states), decode_outputs),
        observer,
        interrupted,
    )
}

/// Submits a job and follows it to its end.
fn follow(
    identity: Identity,
    request: &Request,
    (states, decode_outputs): (Option<InitialStates>, DecodeOutputs),
    observer: &mut dyn JobObserver,
    interrupted: impl Future<Output = ()>,
) -> Result<Outcome, JobError> {
    let processes = request.setup.placement.len();
    let saved = states
        .as_ref()
        .map_or(processes, |states| states.order.len());
    request.setup.check(saved)?;
    let (members, hosts) = (request.members.len(), request.setup.platform.hosts().len());
    if members != hosts {
        let problem = format!("the platform has {hosts} hosts, the list of hosts has {members}");
        return Err(JobError::input(problem));
    }
    let ids = JobIds::random();
    describe(request, ids.job)?;
    observer.found_job(ids.job);
    let submitted = runtime()?.block_on(async {
        let endpoint = endpoint(identity, &request.builds.own)?;
        let begin = Begin::New(states);
        let result = submit(&endpoint, (request, ids), begin, observer, interrupted).await;
        endpoint.close().await;
        result.map_err(JobError::from)
    })?;
    let Some((result, transfers, request)) = submitted else {
        return Err(JobError::cluster("the client has left the job"));
    };
    outcome(result, transfers, &request, decode_outputs, observer)
}

/// Submits a new job to the nodes of a cluster, and leaves it when it has begun: one of the nodes leads it from then on. Returns its
/// number, and the name of that node.
///
/// # Errors
///
/// If a node is missing or busy, or none leads the job.
pub fn detach(
    identity: Identity,
    request: &Request,
    observer: &mut dyn JobObserver,
) -> Result<(JobId, String), JobError> {
    let request = Request {
        is_left: true,
        ..request.clone()
    };
    let ids = JobIds::random();
    describe(&request, ids.job)?;
    observer.found_job(ids.job);
    let rules = machines::members::rules(&request.setup);
    let hosts = (0..request.members.len()).map(HostId::from_index);
    let roles = hosts.map(|host| machines::members::role_of(&rules, host));
    let members = request.members.iter().cloned().zip(roles).collect();
    runtime()?.block_on(async {
        let endpoint = endpoint(identity, &request.builds.own)?;
        let never = future::pending();
        let begin = Begin::New(None);
        let left = submit(&endpoint, (&request, ids), begin, observer, never).await;
        left.map_err(JobError::from)?;
        let finder = Finder::new(Arc::clone(&endpoint), members, ids.job);
        let leader = finder.find_leader().await;
        endpoint.close().await;
        Ok((ids.job, leader?))
    })
}

/// The outcome of the job of `request`, whose last view that is.
pub(super) fn outcome(
    result: JobResult,
    transfers: Transfers,
    request: &Request,
    decode_outputs: DecodeOutputs,
    observer: &mut dyn JobObserver,
) -> Result<Outcome, JobError> {
    let end = result.end();
    let name = |host: HostId| request.members[host.index()].name.clone();
    let (nodes, outputs): (Vec<String>, Vec<JobOutput>) = result
        .outputs
        .into_values()
        .map(|(host, output)| (name(host), output))
        .unzip();
    observer.observe(&Event::End(end))?;
    let (mut values, mut files) = (Vec::new(), Vec::new());
    for output in outputs {
        match output {
            JobOutput::Value(value) => values.push(value),
            JobOutput::File(file) => files.push(file),
        }
    }
    let outputs = match request.files.filter(|files| files.outputs) {
        Some(NodeFiles { job, .. }) => Outputs::on_nodes(OutputsOnNodes { job, files }),
        None => decode_outputs(values).map_err(|error| match error {
            RunError::Encoding { rank, .. } => {
                let node = nodes.get(rank.index()).map_or("none", String::as_str);
                JobError::program(format!("{error}; it is from the node {node}"))
            }
            error => error.into(),
        })?,
    };
    Ok(Outcome {
        transfers: Some(transfers),
        repeated: 0,
        end,
        calls: result.calls,
        joins: result.joins,
        checkpoints: result.checkpoints,
        builds: result.builds,
        outputs,
        nodes,
    })
}

/// Orders a node to leave its job, as soon as that can go on without it, and to end. Returns when it has.
///
/// # Errors
///
/// If it cannot be reached, or does not end in time.
pub fn drain(
    identity: Identity,
    build: &Build,
    (member, role): (&Member, Role),
) -> Result<(), JobError> {
    runtime()?.block_on(async {
        let endpoint = endpoint(identity, build)?;
        let mut peer = connect(&endpoint, member, role).await?;
        send(&peer.sender, JobMessage::Drain)?;
        let ended = async {
            // It says that it ends, and then does.
            while let Ok(Received::Message(..)) = peer.messages.receive().await {}
        };
        let ended = tokio::time::timeout(DRAIN_LIMIT, ended).await;
        endpoint.close().await;
        ended.map_err(|_| {
            JobError::cluster(format!(
                "{} has not ended in {} s",
                member.name,
                DRAIN_LIMIT.as_secs()
            ))
        })
    })
}

/// Has `node` join the job of `members`, or of some of them. Without a Set, it is in that of the first one that has a job; with 0 slots, it
/// gives all its processors. Returns the number of the job, once the node takes part.
///
/// # Errors
///
/// If no member has a job, or the node does not take part in time.
pub fn add(
    identity: Identity,
    build: &Build,
    members: &[(Member, Role)],
    mut node: Member,
) -> Result<JobId, JobError> {
    runtime()?.block_on(async {
        let endpoint = endpoint(identity, build)?;
        let joined = async {
            let own = answer_of(&endpoint, &node, Role::Node).await.status?;
            if let Some(job) = own.job {
                let problem = format!("{} runs a job of {} already", node.name, job.client);
                return Err(JobError::cluster(problem));
            }
            if node.slots == 0 {
                node.slots = own.processors;
            }
            let job = offer_to_any(&endpoint, members, &node).await?;
            while answer_of(&endpoint, &node, Role::Node)
                .await
                .status?
                .job
                .is_none_or(|own| own.job != job)
            {
                tokio::time::sleep(JOIN_PAUSE).await;
            }
            let job = std::num::NonZeroU64::new(job).map(JobId);
            job.ok_or_else(|| JobError::cluster("a job without a number"))
        };
        let joined = tokio::time::timeout(JOIN_LIMIT, joined).await;
        endpoint.close().await;
        joined.unwrap_or_else(|_| {
            Err(JobError::cluster(format!(
                "{} has not joined the job in {} s: `check` says whether all members reach it",
                node.name,
                JOIN_LIMIT.as_secs()
            )))
        })
    })
}

/// Offers `node` to a member that has a job. Returns the number of the job.
async fn offer_to_any(
    endpoint: &Endpoint,
    members: &[(Member, Role)],
    node: &Member,
) -> Result<u64, JobError> {
    for (member, role) in members {
        let Ok(mut peer) = connect(endpoint, member, *role).await else {
            continue;
        };
        let Ok(Some(job)) = ask(&mut peer, &member.name).await.map(|status| status.job) else {
            continue;
        };
        send(&peer.sender, JobMessage::Offer(Box::new(node.clone())))?;
        // One that passes the offer on says nothing.
        let answer = tokio::time::timeout(JOIN_PAUSE, peer.messages.receive()).await;
        if answer.is_err() {
            return Ok(job.job);
        }
    }
    let problem = format!(
        "no node of the list has a job that {} could join",
        node.name
    );
    Err(JobError::cluster(problem))
}

/// How long a node may take to join a job, and the time between two looks at it.
const JOIN_LIMIT: Duration = Duration::from_secs(30);
const JOIN_PAUSE: Duration = Duration::from_millis(250);

/// How long a node may take to leave its job and to end.
const DRAIN_LIMIT: Duration = Duration::from_secs(20);

/// Leads a job of the client `owner` from the view after that of `request`, whose leader is lost, to its end. `ids` has the session of that view.
/// Returns the request for the last view, too.
///
/// # Errors
///
/// If too few nodes obey, or the job cannot go on.
pub(super) fn lead(
    identity: Identity,
    (request, ids, owner): (&Request, JobIds, String),
    routes: Routes,
    observer: &mut dyn JobObserver,
) -> Result<(JobResult, Request), Hindrance> {
    runtime()?.block_on(async {
        let leader = identity.certificate().subject.name.to_string();
        let endpoint = endpoint_beside(identity, &request.builds.own)?;
        let begin = Begin::Later {
            leader,
            owner,
            routes,
        };
        let never = future::pending();
        let result = submit(&endpoint, (request, ids), begin, observer, never).await;
        // The nodes that obey this one notice at once if it does not lead them: such an end is none in order.
        endpoint.close().await;
        match result? {
            Some((result, _, request)) => Ok((result, request.into_owned())),
            None => Err(JobError::cluster("a leader does not leave its job").into()),
        }
    })
}

/// How a leader begins with a job.
enum Begin {
    /// It submits it, with saved states if it resumes another one.
    New(Option<InitialStates>),
    /// The node `leader` goes on with that of the client `owner`.
    Later {
        leader: String,
        owner: String,
        routes: Routes,
    },
}

/// Describes the job in its checkpoint folder, if it has one.
fn describe(request: &Request, job: JobId) -> Result<(), JobError> {
    let Some(folder) = &request.checkpoint else {
        return Ok(());
    };
    let build = &request.builds.own;
    let description = JobDescription {
        job,
        incarnation: request.setup.incarnation(),
        workload: request.workload.clone(),
        processes: u32::try_from(request.setup.placement.len())
            .map_err(|_| JobError::input("more than 2^32 processes"))?,
        program: build.program().to_owned(),
        version: build.version().to_owned(),
        build: build.sha256(),
        experiment: request.experiment.clone(),
        files: request.files.map(|files| files.job.0),
    };
    let mut store = Store::new(DiskFiles::new(Path::new(folder)), HostId(0));
    store
        .begin(&description)
        .map_err(|error| JobError::input(error.to_string()))
}

/// The sockets and tasks of a client.
struct ClientShell<'a> {
    endpoint: &'a Arc<Endpoint>,
    /// Where nodes are reached, if not at the addresses of the list.
    routes: Routes,
    observer: &'a mut dyn JobObserver,
    /// The saved processes that have not been sent.
    states: Option<EncodedStates>,
    /// All nodes that have been members, or of the pool, each time that they were.
    nodes: Vec<NodeLink>,
    /// Which of them the node of each host is: those of the pool follow the members.
    hosts: Vec<usize>,
    words: (mpsc::Sender<Word>, mpsc::Receiver<Word>),
    connected: Unbounded<(usize, Result<Peer, JobError>)>,
    sent: Unbounded<Sent>,
    transfers: TransferMeter,
    /// How long the certificates of nodes are valid, until their user has been warned.
    validities: Option<BTreeMap<Name, Validity>>,
    /// When the log says that nodes still measure their links.
    measuring: Option<Clock>,
}

/// A node that the client is connected to, or will be.
#[derive(Default)]
struct NodeLink {
    sender: Option<Sender>,
    /// Its host in the view that it is in.
    host: Arc<AtomicU32>,
}

/// When nodes began to build processes, or the client to send them, and when it began to wait for outputs alone.
#[derive(Default)]
struct TransferMeter {
    transfers: Transfers,
    processes: usize,
    begun: Option<Clock>,
    computed: Option<Clock>,
}

impl TransferMeter {
    /// A process of this size has been sent.
    fn send(&mut self, bytes: usize) -> TransferProgress {
        self.transfers.sent.add(bytes);
        self.transfers.sending = since(self.begun);
        self.progress(false, self.transfers.sent)
    }

    /// A node has sent `word`.
    fn hear(&mut self, word: &NodeWord) {
        match word {
            NodeWord::Message(JobMessage::Accepted { .. }, _) => {
                self.begun.get_or_insert_with(Clock::now);
            }
            NodeWord::Message(JobMessage::Built, _) => self.transfers.sending = since(self.begun),
            NodeWord::Message(..) | NodeWord::Output { .. } | NodeWord::Closed(_) => {}
        }
    }

    /// An output of this size has been received.
    fn receive(&mut self, bytes: usize) -> TransferProgress {
        self.transfers.received.add(bytes);
        self.transfers.receiving = since(self.computed);
        self.progress(true, self.transfers.received)
    }

    const fn progress(&self, is_receiving: bool, done: Transferred) -> TransferProgress {
        TransferProgress {
            is_receiving,
            done,
            processes: self.processes,
        }
    }
}

/// The time that has passed since `begun`.
fn since(begun: Option<Clock>) -> Seconds {
    let passed = begun.map_or(0.0, |begun| begun.elapsed().as_secs_f64());
    Seconds::new(passed).unwrap_or_default()
}

/// Something that a node has sent, by its place among all that have been members or of the pool.
pub(super) type Word = (usize, NodeWord);

/// Both ends of a channel.
type Unbounded<T> = (mpsc::UnboundedSender<T>, mpsc::UnboundedReceiver<T>);

/// The processes that have not been encoded, after one has been sent.
struct Sent {
    states: EncodedStates,
    /// Its size.
    result: Result<usize, JobError>,
}

/// Submits `request`, with the saved processes `states` if it resumes another job, and follows the job through its views to its end.
/// Returns the request for the last view, too; `None` if the client has left the job.
async fn submit<'a>(
    endpoint: &Arc<Endpoint>,
    (request, mut ids): (&'a Request, JobIds),
    begin: Begin,
    observer: &mut dyn JobObserver,
    interrupted: impl Future<Output = ()>,
) -> Result<Option<(JobResult, Transfers, Cow<'a, Request>)>, Hindrance> {
    let mut views = match &begin {
        Begin::New(_) => Views::of(ids.job, request),
        Begin::Later { leader, owner, .. } => {
            Views::led_by((leader.clone(), owner.clone()), ids.job, request)
        }
    };
    let (states, mut routes) = match begin {
        Begin::New(states) => {
            endpoint.set_patience(true);
            (states, None)
        }
        Begin::Later { routes, .. } => (None, Some(routes)),
    };
    let (order, encoded) = states
        .map(|InitialStates { order, encoded }| (order, encoded))
        .unzip();
    let transfers = TransferMeter {
        processes: request.setup.placement.len(),
        ..TransferMeter::default()
    };
    let mut shell = ClientShell::new(endpoint, request, observer, encoded, transfers);
    shell.routes = routes.clone().unwrap_or_default();
    let mut interrupt = Interrupt {
        future: pin!(interrupted),
        has_happened: false,
    };
    let mut request = Cow::Borrowed(request);
    let mut suspension: Option<Box<Suspension>> = None;
    let mut next_view: Option<NextView> = None;
    let order = order.unwrap_or_default();
    loop {
        let mut client = match next_view.take() {
            None if routes.take().is_some() => {
                ClientMachine::taking_over(&request, ids, Clock::now())
            }
            None => ClientMachine::new(&request, (ids, order.clone()), Clock::now()),
            Some(next) => ClientMachine::going_on(&request, ids, &next, Clock::now()),
        };
        let since = suspension.as_ref().map(|suspension| suspension.since);
        let left = shell.follow(&mut client, (&request, since), &mut interrupt);
        let left = match left.await {
            Ended::Suspended(left) => left,
            Ended::Overtaken(error) => {
                shell.close(Some(&error)).await;
                return Err(Hindrance::Overtaken(error));
            }
            Ended::Over(result) => {
                shell.close(result.as_ref().err()).await;
                return Ok(Some((result?, shell.transfers.transfers, request)));
            }
            Ended::Left => return Ok(None),
        };
        let next = views.next((&request, ids.session), &left);
        let next = next.and_then(|next| {
            let begun = shell
                .begin_view(&request, &next)
                .map_err(Hindrance::Ended)?;
            Ok((begun, next))
        });
        match next {
            Ok((begun, next)) => {
                request = Cow::Owned(begun);
                next_view = Some(next);
                ids = ids.next();
                suspension = Some(left);
            }
            Err(hindrance) => {
                match &hindrance {
                    // Other nodes may lead the job.
                    Hindrance::NoQuorum(_) if views.is_led_by_node() => {}
                    Hindrance::NoQuorum(error)
                    | Hindrance::Overtaken(error)
                    | Hindrance::Ended(error) => {
                        shell.close(Some(error)).await;
                    }
                }
                return Err(hindrance);
            }
        }
    }
}

/// What interrupts a run.
struct Interrupt<'a, F> {
    future: Pin<&'a mut F>,
    has_happened: bool,
}

/// How a view has ended.
enum Ended {
    Over(Result<JobResult, JobError>),
    /// So is this leader: others have led the job to its end, or go on with it.
    Overtaken(JobError),
    /// The client has left the job.
    Left,
    /// The job may go on with what is left.
    Suspended(Box<Suspension>),
}

enum Performed {
    Done,
    /// The observer of the record has failed.
    Failed(JobError),
    Ended(Ended),
}

impl<'a> ClientShell<'a> {
    /// The shell of the client of `request`, without connections.
    fn new(
        endpoint: &'a Arc<Endpoint>,
        request: &Request,
        observer: &'a mut dyn JobObserver,
        states: Option<EncodedStates>,
        transfers: TransferMeter,
    ) -> Self {
        let count = request.candidates().count();
        let mut shell = Self {
            endpoint,
            routes: Routes::default(),
            observer,
            states,
            nodes: (0..count).map(|_| NodeLink::default()).collect(),
            hosts: Vec::new(),
            words: mpsc::channel(EVENTS_MAX),
            connected: mpsc::unbounded_channel(),
            sent: mpsc::unbounded_channel(),
            transfers,
            validities: Some(BTreeMap::new()),
            measuring: None,
        };
        shell.place((0..count).collect());
        shell
    }

    /// The nodes have these hosts from now on.
    fn place(&mut self, hosts: Vec<usize>) {
        for (host, node) in (0..).zip(&hosts) {
            self.nodes[*node].host.store(host, Ordering::Relaxed);
        }
        self.hosts = hosts;
    }

    /// Follows a view of the job to its end. `since`: when the client knew of the loss that ended the view before, or when processes were held.
    async fn follow<F: Future<Output = ()>>(
        &mut self,
        client: &mut ClientMachine<'_>,
        (request, since): (&Request, Option<Clock>),
        interrupt: &mut Interrupt<'_, F>,
    ) -> Ended {
        if interrupt.has_happened {
            client.handle(Clock::now(), ClientEvent::Interrupted);
        }
        loop {
            while let Some(action) = client.poll() {
                match self.perform(action, request, since) {
                    Performed::Done => {}
                    Performed::Failed(error) => {
                        client.handle(Clock::now(), ClientEvent::ObserverFailed(error));
                    }
                    Performed::Ended(ended) => return ended,
                }
            }
            // Nodes that have no link to measure are ready before others.
            if client.has_begun() {
                self.measuring = None;
            }
            let measuring = self.measuring;
            let event = tokio::select! {
                () = &mut interrupt.future, if !interrupt.has_happened => {
                    interrupt.has_happened = true;
                    ClientEvent::Interrupted
                }
                event = self.next() => event,
                () = sleep_until(client.next_timeout()) => ClientEvent::Tick,
                () = sleep_until(measuring) => {
                    self.measuring = None;
                    self.observer.await_measurements();
                    ClientEvent::Tick
                }
            };
            client.handle(Clock::now(), event);
        }
    }

    /// The job goes on in the `next` view, after that of `request`. Returns the request for it.
    fn begin_view(&mut self, request: &Request, next: &NextView) -> Result<Request, JobError> {
        let setup = self.observer.begin_view(next)?;
        let begun = next.request(request, setup)?;
        let remaining = next.hosts.iter().map(|host| self.hosts[host.index()]);
        let mut remaining: Vec<usize> = remaining.collect();
        for node in &self.hosts {
            if !remaining.contains(node)
                && let Some(sender) = self.nodes[*node].sender.take()
            {
                // One that cannot be reached detects the end by itself.
                drop(tokio::spawn(async move { sender.close(WITHOUT).await }));
            }
        }
        for _ in &next.view.pool {
            remaining.push(self.nodes.len());
            self.nodes.push(NodeLink::default());
        }
        self.place(remaining);
        Ok(begun)
    }

    /// The host of a node, if it has one in the present view.
    fn host_of(&self, node: usize) -> Option<HostId> {
        let host = self.hosts.iter().position(|of| *of == node)?;
        Some(HostId::from_index(host))
    }

    /// The connection to the node of a host.
    fn sender(&self, host: HostId) -> Option<&Sender> {
        self.nodes[*self.hosts.get(host.index())?].sender.as_ref()
    }

    /// What happens next. Dropping the future loses nothing.
    async fn next(&mut self) -> ClientEvent {
        // The ends that send are kept here, so the channels do not close.
        tokio::select! {
            Some((node, connected)) = self.connected.1.recv() => {
                let Some(host) = self.host_of(node) else {
                    return ClientEvent::Tick;
                };
                ClientEvent::Connected(host, self.add(node, connected))
            }
            Some(Sent { states, result }) = self.sent.1.recv() => {
                self.states = Some(states);
                ClientEvent::StateSent(result.map(|bytes| {
                    let progress = self.transfers.send(bytes);
                    self.observer.transferred(progress);
                }))
            }
            Some((node, word)) = self.words.1.recv() => {
                let Some(host) = self.host_of(node) else {
                    // The job goes on without it.
                    return ClientEvent::Tick;
                };
                self.transfers.hear(&word);
                match &word {
                    NodeWord::Message(JobMessage::Built, _) if 1 < self.hosts.len() => {
                        let soon = Clock::now() + MEASURING;
                        self.measuring = self.measuring.or(Some(soon));
                    }
                    NodeWord::Message(..) | NodeWord::Output { .. } | NodeWord::Closed(_) => {}
                }
                if let NodeWord::Output { output, .. } = &word {
                    let progress = self.transfers.receive(output.len());
                    self.observer.transferred(progress);
                }
                ClientEvent::Node(host, word)
            }
        }
    }

    /// Keeps the connection to a node. Returns the build that it runs, and its role.
    fn add(
        &mut self,
        node: usize,
        peer: Result<Peer, JobError>,
    ) -> Result<(Build, Role), JobError> {
        let peer = peer?;
        let known = (peer.build.clone(), peer.info.subject.role);
        if let Some(validities) = &mut self.validities {
            validities.insert(peer.info.subject.name.clone(), peer.validity);
        }
        let link = &mut self.nodes[node];
        link.sender = Some(peer.sender.clone());
        let place = (node, Arc::clone(&link.host));
        listen(place, peer, &self.words.0);
        Ok(known)
    }

    fn perform(
        &mut self,
        action: ClientAction,
        request: &Request,
        since: Option<Clock>,
    ) -> Performed {
        match action {
            ClientAction::Connect(host, member, role) => {
                // A node that has offered to join.
                while self.hosts.len() <= host.index() {
                    self.hosts.push(self.nodes.len());
                    self.nodes.push(NodeLink::default());
                }
                let (member, node) = (self.routes.reached(&member), self.hosts[host.index()]);
                let (endpoint, connected) = (Arc::clone(self.endpoint), self.connected.0.clone());
                drop(tokio::spawn(async move {
                    let peer = connect(&endpoint, &member, role).await;
                    // The run may be interrupted.
                    drop(connected.send((node, peer)));
                }));
            }
            ClientAction::Send(host, frame) => {
                if let Some(sender) = self.sender(host) {
                    // The end of a connection is an event of its own.
                    drop(sender.push(frame));
                }
            }
            ClientAction::SendState(host, rank) => self.send_state(host, rank),
            ClientAction::Refuse(host, problem) => {
                if let Some(sender) = self.sender(host) {
                    // The machine knows the error.
                    drop(sender.refuse(problem));
                }
            }
            ClientAction::ShowFolders(folders) => {
                let name = |host: HostId| request.members[host.index()].name.clone();
                let job = request.files.map(|files| files.job.to_string());
                let job = job.unwrap_or_default();
                let of_job = |(host, folder): (HostId, String)| {
                    (
                        name(host),
                        format!("{}/{job}", folder.trim_end_matches('/')),
                    )
                };
                let folders = folders.into_iter().map(of_job);
                self.observer.found_folders(folders.collect());
            }
            ClientAction::Observe(event) => {
                self.endpoint.set_patience(false);
                if let Some(validities) = self.validities.take() {
                    let own = self.endpoint.identity();
                    let own = own.certificate();
                    let all = validities.iter().map(|(name, validity)| (name, *validity));
                    let all = all.chain([(&own.subject.name, own.validity)]);
                    if let Some(ending) = ending(all, SystemTime::now()) {
                        self.observer.warn_of_certificates(&ending);
                    }
                }
                if matches!(*event, Event::Superstep(_)) {
                    self.transfers.computed = Some(Clock::now());
                }
                if let Err(error) = self.observer.observe(&event) {
                    return Performed::Failed(error);
                }
            }
            ClientAction::ShowMissingMemory(missing) => self.observer.miss_memory(&missing),
            ClientAction::ShowView => {
                let now = Clock::now();
                let restored = since.map_or(Seconds::ZERO, |since| between(since, now));
                if let Err(error) = self.observer.view_begun(restored) {
                    return Performed::Failed(error);
                }
            }
            ClientAction::Leave => return Performed::Ended(Ended::Left),
            ClientAction::GoOn(left) => return Performed::Ended(Ended::Suspended(left)),
            ClientAction::Overtaken(error) => return Performed::Ended(Ended::Overtaken(*error)),
            ClientAction::Finish(result) => return Performed::Ended(Ended::Over(*result)),
        }
        Performed::Done
    }

    /// Sends a saved process to the host where it starts. It is read only when it is sent, and by another thread: nodes would
    /// miss the client's signs of life.
    fn send_state(&mut self, host: HostId, rank: Rank) {
        let (Some(mut states), Some(sender)) = (self.states.take(), self.sender(host).cloned())
        else {
            return;
        };
        let sent = self.sent.0.clone();
        drop(tokio::spawn(async move {
            let encoding = tokio::task::spawn_blocking(move || (states.next(), states));
            // Without the rest, nothing more can be sent: the run ends.
            let (state, states) = match encoding.await {
                Ok(encoded) => encoded,
                Err(panic) => {
                    let error = JobError::program(format!("encoding a process: {panic}"));
                    let states: EncodedStates = Box::new(std::iter::empty());
                    let result = Err(error);
                    drop(sent.send(Sent { states, result }));
                    return;
                }
            };
            let result = match state {
                None => Ok(0),
                Some(Err(error)) => Err(error),
                Some(Ok(state)) => {
                    let bytes = state.len();
                    let state = initial(rank, state.into());
                    let to = Address::Process(rank);
                    let sending = sender.send_state(Address::Client, to, state);
                    sending.await.map(|()| bytes).map_err(JobError::from)
                }
            };
            // The run may be over.
            drop(sent.send(Sent { states, result }));
        }));
    }

    /// Closes all connections, with the reason for which the job is over.
    async fn close(&self, error: Option<&JobError>) {
        let reason = error.map_or("the job is over", |error| &error.message);
        let senders = self.nodes.iter().filter_map(|node| node.sender.clone());
        let closing = senders.map(|sender| {
            let reason = reason.to_owned();
            tokio::spawn(async move { sender.close(&reason).await })
        });
        let closing: Vec<_> = closing.collect();
        let closed = async {
            for closed in closing {
                // A node that has closed its connection needs no notice.
                drop(closed.await);
            }
        };
        // A node that does not respond detects the end by itself.
        drop(tokio::time::timeout(CLOSE_LIMIT, closed).await);
    }
}

pub(super) async fn sleep_until(at: Option<Clock>) {
    match at {
        Some(at) => tokio::time::sleep_until(at.into()).await,
        None => future::pending().await,
    }
}

/// The time after which the log says that nodes still measure their links.
const MEASURING: Duration = Duration::from_secs(2);
/// The reason with which the connection to a lost node closes.
const WITHOUT: &str = "the job goes on without this node";
/// How long all connections together may take to close.
const CLOSE_LIMIT: Duration = Duration::from_secs(2);
/// Events that wait to be handled.
pub(super) const EVENTS_MAX: usize = 1024;

/// Passes what `peer` sends to `events`, until its connection ends: the node of this number, which has a host in each view.
pub(super) fn listen(
    (node, host): (usize, Arc<AtomicU32>),
    peer: Peer,
    events: &mpsc::Sender<Word>,
) {
    let Peer {
        mut messages,
        states,
        sender,
        ..
    } = peer;
    drop(tokio::spawn(receive_outputs(node, states, events.clone())));
    let events = events.clone();
    let budget = InputBudget::new(RECORD_MAX);
    drop(tokio::spawn(async move {
        loop {
            let event = match messages.receive().await {
                Ok(Received::Message(from, ..))
                    if ![Address::Node(HostId(host.load(Ordering::Relaxed))), ITSELF]
                        .contains(&from) =>
                {
                    let problem = format!("a message in the name of {from:?}");
                    NodeWord::Closed(Err(sender.refuse(problem).into()))
                }
                Ok(Received::Message(_, _, Message::Job(message))) => {
                    let lines = match &*message {
                        JobMessage::Recorded(lines) => lines.len(),
                        _ => 0,
                    };
                    NodeWord::Message(displayable(*message), budget.reserve(lines).await)
                }
                Ok(Received::Message(..)) => continue,
                Ok(Received::Closed { reason }) => NodeWord::Closed(Ok(reason)),
                Err(error) => NodeWord::Closed(Err(error.into())),
            };
            let is_last = matches!(event, NodeWord::Closed(_));
            if events.send((node, event)).await.is_err() || is_last {
                return;
            }
        }
    }));
}

/// The same message, whose texts can be displayed.
fn displayable(message: JobMessage) -> JobMessage {
    match message {
        JobMessage::Failed(failed) => JobMessage::Failed(Failed {
            message: displayed_message(&failed.message),
            ..failed
        }),
        message => message,
    }
}

/// Passes the outputs of processes to `events`.
async fn receive_outputs(node: usize, mut states: StateReceiver, events: mpsc::Sender<Word>) {
    // The end of the connection is an event of its messages.
    while let Ok(received) = states.receive().await {
        let EncodedState {
            rank,
            epoch: view,
            payload: output,
            ..
        } = received.state;
        let output = NodeWord::Output { view, rank, output };
        if events.send((node, output)).await.is_err() {
            return;
        }
    }
}

/// Bytes of the record from one node that wait for the events of others.
const RECORD_MAX: usize = 32 << 20;
/// How a node that is asked calls itself.
const ITSELF: Address = Address::Node(HostId(0));

/// The saved states with which the processes of a job resume.
struct InitialStates {
    /// The processes in the order in which they are sent.
    order: Vec<Rank>,
    /// Their encoded states, each made when it is sent.
    encoded: EncodedStates,
}

/// Encoded states.
type EncodedStates = Box<dyn Iterator<Item = Result<Vec<u8>, JobError>> + Send>;

impl InitialStates {
    /// The pieces of a checkpoint.
    fn of_checkpoint(saved: SavedStates) -> Self {
        let SavedStates { order, contents } = saved;
        let damaged = |damage: checkpoint::Damage| JobError::input(damage.to_string());
        Self {
            order,
            encoded: Box::new(contents.map(move |content| content.map_err(damaged))),
        }
    }
}

/// A runtime on the calling thread.
pub(super) fn runtime() -> Result<tokio::runtime::Runtime, JobError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    runtime.map_err(|error: io::Error| JobError::cluster(format!("no runtime: {error}")))
}

/// All addresses of this host with this port: IPv6, which has IPv4 as well, or IPv4 where there is no IPv6.
#[must_use]
pub fn any_address(port: u16) -> SocketAddr {
    let has_ipv6 = UdpSocket::bind((Ipv6Addr::UNSPECIFIED, 0)).is_ok();
    if has_ipv6 {
        (Ipv6Addr::UNSPECIFIED, port).into()
    } else {
        (Ipv4Addr::UNSPECIFIED, port).into()
    }
}

/// An endpoint of a client, which only connects.
pub(super) fn endpoint(identity: Identity, build: &Build) -> Result<Arc<Endpoint>, JobError> {
    connecting(identity, build, Follower::Own(Arc::default()))
}

/// An endpoint of a node beside the one at which it listens, which only connects.
pub(super) fn endpoint_beside(
    identity: Identity,
    build: &Build,
) -> Result<Arc<Endpoint>, JobError> {
    connecting(identity, build, Follower::Beside)
}

fn connecting(
    identity: Identity,
    build: &Build,
    follower: Follower,
) -> Result<Arc<Endpoint>, JobError> {
    let (policy, bounds) = (PeerPolicy::RefuseAll, Bounds::default());
    let bound = Endpoint::bind(identity, any_address(0), policy, bounds, build.clone());
    let bound = bound.map_err(|error| JobError::cluster(error.to_string()))?;
    let endpoint = Arc::new(bound);
    credentials::follow(&endpoint, follower);
    Ok(endpoint)
}

/// Sends `message` to a node.
pub(super) fn send(node: &Sender, message: JobMessage) -> Result<(), JobError> {
    let message = Message::Job(Box::new(message));
    let frame = encode(Address::Client, Address::Node(HostId(0)), &message);
    Ok(node.push(frame)?)
}

/// The answer of a node to an inquiry.
#[derive(Debug)]
pub struct NodeAnswer {
    /// The build that it runs, if it could be connected to.
    pub build: Option<Build>,
    /// How long its certificate is valid, if it could be connected to.
    pub validity: Option<Validity>,
    /// Its status.
    pub status: Result<Status, JobError>,
}

impl NodeAnswer {
    /// That of a node that does not answer.
    #[must_use]
    pub const fn failed(error: JobError) -> Self {
        Self {
            build: None,
            validity: None,
            status: Err(error),
        }
    }
}

/// The answer of each of `members`, in their order, to a client that runs `build`. Nodes of other builds answer, too.
///
/// # Errors
///
/// If the client has no endpoint. The error of a node is in its answer.
pub fn inquire(
    identity: Identity,
    build: &Build,
    members: Vec<(Member, Role)>,
) -> Result<Vec<NodeAnswer>, JobError> {
    runtime()?.block_on(async {
        let endpoint = endpoint(identity, build)?;
        let asking = members.into_iter().map(|(member, role)| {
            let endpoint = Arc::clone(&endpoint);
            tokio::spawn(async move { answer_of(&endpoint, &member, role).await })
        });
        let mut answers = Vec::new();
        for answer in asking.collect::<Vec<_>>() {
            answers.push(
                answer.await.unwrap_or_else(|error| {
                    NodeAnswer::failed(JobError::cluster(error.to_string()))
                }),
            );
        }
        Ok(answers)
    })
}

/// Asks each of `members` for its status, again and again, and passes the answers on to `answered`, each with the position
/// of its node, until `stopped`. The next question follows `pause` after an answer; a node that is slow delays no other.
///
/// # Errors
///
/// If the client has no endpoint. The error of a node is in its answer.
pub fn watch(
    identity: Identity,
    build: &Build,
    (members, pause): (Vec<(Member, Role)>, Duration),
    answered: &mut dyn FnMut(usize, NodeAnswer),
    stopped: impl Future<Output = ()>,
) -> Result<(), JobError> {
    runtime()?.block_on(async {
        let endpoint = endpoint(identity, build)?;
        let (sender, mut answers) = mpsc::channel(members.len().max(1));
        let mut asking = JoinSet::new();
        for (index, (member, role)) in members.into_iter().enumerate() {
            let (endpoint, sender) = (Arc::clone(&endpoint), sender.clone());
            asking.spawn(async move {
                let mut peer = None;
                loop {
                    let answer = next_answer(&endpoint, (&member, role), &mut peer).await;
                    if sender.send((index, answer)).await.is_err() {
                        return;
                    }
                    tokio::time::sleep(pause).await;
                }
            });
        }
        let mut stopped = pin!(stopped);
        loop {
            tokio::select! {
                biased;
                () = &mut stopped => break,
                Some((index, answer)) = answers.recv() => answered(index, answer),
            }
        }
        asking.shutdown().await;
        // A node that is silent does not learn of the end.
        drop(tokio::time::timeout(WATCH_CLOSE_LIMIT, endpoint.close()).await);
        Ok(())
    })
}

/// The next answer of a member, on the connection to it, if there is one.
async fn next_answer(
    endpoint: &Endpoint,
    (member, role): (&Member, Role),
    connection: &mut Option<Peer>,
) -> NodeAnswer {
    let mut peer = match connection.take() {
        Some(peer) => peer,
        None => match connect(endpoint, member, role).await {
            Ok(peer) => peer,
            Err(error) => return NodeAnswer::failed(error),
        },
    };
    let status = ask(&mut peer, &member.name).await;
    let (build, validity) = (Some(peer.build.clone()), Some(peer.validity));
    // An answer that comes too late would be taken for the next one.
    *connection = status.is_ok().then_some(peer);
    NodeAnswer {
        build,
        validity,
        status,
    }
}

pub(super) async fn answer_of(endpoint: &Endpoint, member: &Member, role: Role) -> NodeAnswer {
    let mut peer = match connect(endpoint, member, role).await {
        Ok(peer) => peer,
        Err(error) => return NodeAnswer::failed(error),
    };
    let status = ask(&mut peer, &member.name).await;
    // The node has nothing more to send.
    drop(peer.sender.close("the inquiry is over").await);
    NodeAnswer {
        build: Some(peer.build),
        validity: Some(peer.validity),
        status,
    }
}

/// The status of the node `name`, which is `peer`.
pub(super) async fn ask(peer: &mut Peer, name: &str) -> Result<Status, JobError> {
    send(&peer.sender, JobMessage::Inquire)?;
    let unexpected =
        |answer: &str| Err(JobError::cluster(format!("{name} answered with {answer}")));
    let answer = tokio::time::timeout(ANSWER_LIMIT, peer.messages.receive()).await;
    match answer {
        Ok(Ok(Received::Message(_, _, Message::Job(message)))) => match *message {
            JobMessage::Status(status) => {
                let status = status.displayed();
                status.map_err(|problem| JobError::cluster(format!("{name} sent {problem}")))
            }
            other => unexpected(&variant(&other)),
        },
        Ok(Ok(Received::Message(..))) => unexpected("a message of another kind"),
        Ok(Ok(Received::Closed { reason })) => unexpected(&format!("its end: {reason}")),
        Ok(Err(error)) => Err(error.into()),
        Err(_) => Err(JobError::cluster(format!("{name} does not answer"))),
    }
}

/// How long the end of a watch may take.
const WATCH_CLOSE_LIMIT: Duration = Duration::from_millis(500);

/// What sees a job from its client; a function of events sees nothing else.
pub trait JobObserver {
    /// Handles an event of the record.
    ///
    /// # Errors
    ///
    /// If the job has to end.
    fn observe(&mut self, event: &Event) -> Result<(), JobError>;

    /// Handles the number of the job, before it is submitted; by default it is ignored.
    fn found_job(&mut self, _job: JobId) {}

    /// Handles the folder in which each node writes the files of the job, by the name of the node, if it has some: before its
    /// first event. By default it is ignored.
    fn found_folders(&mut self, _folders: BTreeMap<String, String>) {}

    /// Handles that processes are not saved, because a node does not have the memory for it; by default it is ignored.
    fn miss_memory(&mut self, _missing: &MissingMemory) {}

    /// Handles that the nodes have measured the links between them for a while, which they do before the first superstep; by default it is
    /// ignored.
    fn await_measurements(&mut self) {}

    /// Handles a sentence about certificates of the client and the nodes that end soon, before the first event; by default it is
    /// ignored.
    fn warn_of_certificates(&mut self, _ending: &str) {}

    /// Handles that the job goes on in the next view: the events that follow are of that. Returns the setup of its members, as nodes
    /// prepare it. By default, no job goes on.
    ///
    /// # Errors
    ///
    /// If the job does not go on.
    fn begin_view(&mut self, next: &NextView) -> Result<Setup, JobError> {
        let reasons: Vec<&str> = next.lost.iter().map(|lost| &lost.reason[..]).collect();
        Err(JobError::cluster(reasons.join("; ")))
    }

    /// Handles that the nodes of the next view begin, this time after the client knew of the loss, or after processes were held; by default it is ignored.
    ///
    /// # Errors
    ///
    /// If the job has to end.
    fn view_begun(&mut self, _restored: Seconds) -> Result<(), JobError> {
        Ok(())
    }

    /// Handles the progress of sending processes or of receiving outputs; by default it is ignored.
    fn transferred(&mut self, _progress: TransferProgress) {}
}

impl<F: FnMut(&Event) -> Result<(), JobError>> JobObserver for F {
    fn observe(&mut self, event: &Event) -> Result<(), JobError> {
        self(event)
    }
}

/// How far the processes of a job have been sent, or their outputs received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TransferProgress {
    /// Whether outputs are received; else processes are sent.
    pub is_receiving: bool,
    /// What has been sent or received.
    pub done: Transferred,
    /// The number of all processes.
    pub processes: usize,
}

/// Connects to a member of a cluster.
pub(super) async fn connect(
    endpoint: &Endpoint,
    member: &Member,
    role: Role,
) -> Result<Peer, JobError> {
    let name: Name = member
        .name
        .parse()
        .map_err(|error| JobError::input(format!("the name of {}: {error}", member.name)))?;
    let addresses = resolve(&member.address).await?;
    let connected = endpoint.connect_any(&addresses, role, &name).await;
    connected.map_err(|error| {
        let mut error = JobError::from(error);
        if 1 < addresses.len() {
            let all: Vec<String> = addresses.iter().map(SocketAddr::to_string).collect();
            let (name, all) = (&member.address, all.join(", "));
            let tried = format!("; all addresses of {name} have been tried: {all}");
            error.message.push_str(&tried);
        }
        error
    })
}

/// The addresses of a host, those of IPv6 and IPv4 in turn.
async fn resolve(address: &str) -> Result<Vec<SocketAddr>, JobError> {
    let owned = address.to_owned();
    // The system's resolver blocks.
    let resolving =
        tokio::task::spawn_blocking(move || owned.to_socket_addrs().map(Iterator::collect));
    match resolving.await {
        Ok(Ok(resolved)) => match in_turn(resolved) {
            none if none.is_empty() => Err(JobError::cluster(format!("{address} has no address"))),
            addresses => Ok(addresses),
        },
        Ok(Err(error)) => Err(JobError::cluster(format!("{address}: {error}"))),
        Err(error) => Err(JobError::cluster(format!("{address}: {error}"))),
    }
}

/// Different addresses of `resolved`, beginning with the first, and then of each family in turn.
fn in_turn(resolved: Vec<SocketAddr>) -> Vec<SocketAddr> {
    let is_first = resolved.first().is_some_and(SocketAddr::is_ipv6);
    let mut all = Vec::new();
    let (one, other): (Vec<_>, Vec<_>) = resolved
        .into_iter()
        .partition(|address| address.is_ipv6() == is_first);
    let (mut one, mut other) = (one.into_iter(), other.into_iter());
    loop {
        let next = [one.next(), other.next()];
        if next == [None, None] || all.len() == ADDRESSES_MAX {
            return all;
        }
        for address in next.into_iter().flatten() {
            if !all.contains(&address) {
                all.push(address);
            }
        }
    }
}

/// Addresses of a host that are tried, or one more.
const ADDRESSES_MAX: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_both_families_are_tried_in_turn() {
        let check = |resolved: &[&str], expect: &[&str]| {
            let all = |texts: &[&str]| texts.iter().map(|text| text.parse().unwrap()).collect();
            let resolved: Vec<SocketAddr> = all(resolved);
            let expect: Vec<SocketAddr> = all(expect);
            assert_eq!(in_turn(resolved), expect);
        };
        check(&[], &[]);
        let (a, b, c) = ("[fd00::1]:7", "[fd00::2]:7", "[fd00::3]:7");
        let (d, e) = ("10.0.0.1:7", "10.0.0.2:7");
        check(&[a, b, c, d, e], &[a, d, b, e, c]);
        check(&[d, e, a, d], &[d, a, e]);
        check(&[b, b, b], &[b]);
        let many: Vec<String> = (1..30).map(|last| format!("10.0.0.{last}:7")).collect();
        let many: Vec<SocketAddr> = many.iter().map(|text| text.parse().unwrap()).collect();
        assert_eq!(in_turn(many.clone()), many[..ADDRESSES_MAX]);
    }
}
