//! A node of a cluster: it waits for clients, and takes part in one job at a time.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fmt;
use std::future::Future;
use std::net::SocketAddr;
use std::num::NonZeroU64;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant as Clock};

use bsp::units::{InstructionsPerSecond, Seconds};
use protocol::identity::files::RevocationsFile;
use protocol::identity::{Identity, Role};
use protocol::transport::{
    Bounds, Endpoint, JobId, Peer, PeerPolicy, Received, Sender, StateReceiver,
};
use protocol::{Address, Build, Frame, JobMessage, JobStatus, Message, Status, Submit, encode};
use tokio::sync::mpsc;
use tokio::sync::mpsc::error::TrySendError;
use tokio::task::JoinSet;

use super::Machine;
use super::abandoned::AbandonedSupersteps;
use super::builds::Builds;
use super::counter::counted_speed;
use super::execution::Executions;
use super::failure::JobError;
use super::input::Input;
use super::job::Job;
use super::job_log::{JobEnd, JobLog};
use super::members::{check_own, refuse_peer};
use super::meter::{LoadMeter, LoadScope, measured_speed, processors};
use super::node_error::NodeError;
use super::pace::Pace;
use super::pool::ProcessorSpeed;
use super::prepared::Prepared;
use super::revocations::follow;
use super::routes::Routes;
use super::time::elapsed;

/// A node of a cluster.
pub struct Node {
    /// Its certificate and key.
    pub identity: Identity,
    /// The file whose list of revocations replaces that of the identity when it changes.
    pub revocations: Option<RevocationsFile>,
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
    /// What a job is made of.
    pub prepare: Box<Prepare>,
}

/// What a job is made of, from what its client submits.
pub type Prepare = dyn Fn(&Submit) -> Result<Prepared, JobError>;

impl Node {
    /// Waits for clients until `leave` is ready; a job that runs then is ended. Tells `ready` where clients find it.
    ///
    /// The thread that calls it carries all messages from then on.
    ///
    /// # Errors
    ///
    /// If it cannot begin.
    pub fn run(
        self,
        ready: impl FnOnce(SocketAddr),
        leave: impl Future<Output = ()> + 'static,
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
        };
        let abandoned = AbandonedSupersteps::new(&machine.executions, self.exit_when_stuck);
        actix_rt::System::new().block_on(async move {
            let guests =
                PeerPolicy::Roles(BTreeSet::from([Role::Client, Role::Node, Role::SetManager]));
            let (bounds, build) = (Bounds::default(), self.builds.own.clone());
            let endpoint = Endpoint::bind(self.identity, self.address, guests, bounds, build)?;
            ready(endpoint.address()?);
            let service = Rc::new(JobService {
                endpoint: Arc::new(endpoint),
                machine,
                routes: self.routes,
                builds: self.builds,
                workloads: self.workloads,
                abandoned,
                prepare: self.prepare,
                began: Clock::now(),
                jobs: RefCell::new(0),
                current: RefCell::new(None),
            });
            if let Some(file) = self.revocations {
                drop(actix_rt::spawn(follow(Arc::clone(&service.endpoint), file)));
            }
            tokio::select! {
                () = Rc::clone(&service).receive() => {}
                () = leave => service.leave().await,
                reason = service.abandoned.stuck(service.name()) => return Err(NodeError::Stuck(reason)),
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

/// The service that accepts clients, and takes part in one job at a time.
struct JobService {
    endpoint: Arc<Endpoint>,
    machine: Machine,
    routes: Routes,
    builds: Builds,
    workloads: Vec<String>,
    abandoned: AbandonedSupersteps,
    prepare: Box<Prepare>,
    began: Clock,
    jobs: RefCell<u64>,
    current: RefCell<Option<Current>>,
}

/// The job that runs.
struct Current {
    job: JobId,
    client: String,
    since: Clock,
    progress: Rc<RefCell<(u64, usize)>>,
    input: mpsc::Sender<Input>,
    peer: mpsc::Sender<Peer>,
    /// Whether its client has closed the connection: the job is about to end.
    is_ending: bool,
}

impl JobService {
    /// Accepts peers.
    async fn receive(self: Rc<Self>) {
        while let Some(peer) = self.endpoint.accept().await {
            let job = self
                .current
                .borrow()
                .as_ref()
                .map(|current| (current.job, current.peer.clone()));
            match (peer.job, job) {
                (Some(of), Some((job, peers))) if of == job => {
                    if let Err(TrySendError::Full(peer) | TrySendError::Closed(peer)) =
                        peers.try_send(peer)
                    {
                        refuse_peer(&peer);
                    }
                }
                (None, _) if peer.info.subject.role == Role::Client => {
                    drop(actix_rt::spawn(Rc::clone(&self).attend(peer)));
                }
                (Some(_) | None, _) => {
                    refuse_peer(&peer);
                }
            }
        }
    }

    /// Does what a client wants.
    async fn attend(self: Rc<Self>, client: Peer) {
        let party = Arc::clone(&client.info);
        let Peer {
            build,
            sender,
            mut messages,
            states,
            ..
        } = client;
        let mut states = Some(states);
        let mut input: Option<mpsc::Sender<Input>> = None;
        let mut running = None;
        loop {
            let next = match messages.receive().await {
                Ok(Received::Message(_, _, Message::Job(message))) => match (*message, &input) {
                    (JobMessage::Inquire, _) => {
                        // It waits while the client does not read.
                        drop(
                            sender
                                .send(frame(JobMessage::Status(Box::new(self.status()))))
                                .await,
                        );
                        continue;
                    }
                    (JobMessage::Submit(submit), None) => {
                        self.see_off().await;
                        match self.enter(*submit, (party.to_string(), &build), &sender) {
                            Ok((job, log, inputs)) => {
                                if let Some(states) = states.take() {
                                    drop(actix_rt::spawn(hand_on(states, inputs.clone())));
                                }
                                input = Some(inputs);
                                running = Some(actix_rt::spawn(Rc::clone(&self).work(job, log)));
                                let counts = self.machine.processor.counted.is_some();
                                tell(&sender, JobMessage::Accepted { counts });
                            }
                            Err(error) => tell(&sender, JobMessage::Failed(error.into())),
                        }
                        continue;
                    }
                    (message, _) => Input::Job(message),
                },
                // One that sends anything else is no client of scope any more.
                Ok(Received::Message(..) | Received::Closed { .. }) => Input::ClientGone(None),
                Err(error) => Input::ClientGone(Some(error)),
            };
            let is_last = matches!(next, Input::ClientGone(_));
            if let Some(input) = &input {
                if is_last {
                    self.ends(input);
                }
                // A job that is over takes no more.
                drop(input.send(next).await);
            }
            if is_last {
                break;
            }
        }
        if let Some(running) = running {
            // The client has been notified of the end.
            drop(running.await);
        }
    }

    /// Notes that the client of the job that receives `input` has closed its connection.
    fn ends(&self, input: &mpsc::Sender<Input>) {
        if let Some(current) = &mut *self.current.borrow_mut() {
            current.is_ending |= current.input.same_channel(input);
        }
    }

    /// Waits until a job whose client has closed the connection is over, threads included, so that the next client is
    /// not refused for it.
    async fn see_off(&self) {
        let is_ending = || {
            let current = self.current.borrow();
            let exist = || self.abandoned.exist();
            current
                .as_ref()
                .map_or_else(exist, |current| current.is_ending)
        };
        let ended = async {
            while is_ending() {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        drop(tokio::time::timeout(LEAVING, ended).await);
    }

    /// Begins with a job, if there is none and it can be done.
    fn enter(
        &self,
        mut submit: Submit,
        (client, build): (String, &Build),
        sender: &Sender,
    ) -> Result<(Job, JobLog, mpsc::Sender<Input>), JobError> {
        let own = self.name();
        if let Some(current) = &*self.current.borrow() {
            let since = current.since.elapsed().as_secs();
            return Err(JobError::cluster(format!(
                "{own} runs a job of {} since {since} s: wait for its end",
                current.client
            )));
        }
        self.builds.check(own, (&client, build))?;
        self.abandoned.check(own)?;
        check_own(own, &submit)?;
        let job = NonZeroU64::new(submit.job).map(JobId);
        let job = job.ok_or_else(|| JobError::cluster("a job without a number"))?;
        self.routes.apply(&mut submit.members);
        let prepared = (self.prepare)(&submit)?;
        let places = u32::try_from(prepared.setup.placement.len());
        if places != Ok(submit.processes) {
            let problem = "the client and the node make different jobs of the experiment: run one build everywhere";
            return Err(JobError::cluster(problem));
        }
        let (input, inputs) = mpsc::channel(INPUTS_MAX);
        let (peer, peers) = mpsc::channel(submit.members.len());
        let progress = Rc::new(RefCell::new((0, 0)));
        self.endpoint.begin(job, 0);
        let log = JobLog::begin(*self.jobs.borrow() + 1, &client, &submit);
        *self.current.borrow_mut() = Some(Current {
            job,
            client,
            since: Clock::now(),
            progress: Rc::clone(&progress),
            input: input.clone(),
            peer: peer.clone(),
            is_ending: false,
        });
        let job = Job {
            submit,
            prepared,
            endpoint: Arc::clone(&self.endpoint),
            machine: self.machine.clone(),
            builds: self.builds.clone(),
            client: sender.clone(),
            inputs,
            input: input.clone(),
            peers,
            peer,
            progress,
            calls: JoinSet::new(),
        };
        Ok((job, log, input))
    }

    /// Takes part in a job, and is free again when it is over.
    async fn work(self: Rc<Self>, job: Job, log: JobLog) {
        let (client, progress) = (job.client.clone(), Rc::clone(&job.progress));
        let ended = actix_rt::spawn(job.take_part()).await;
        let supersteps = progress.borrow().0;
        match &ended {
            Ok(Ok(())) => log.end(&JobEnd::Complete, supersteps),
            Ok(Err(error)) => log.end(&JobEnd::Failed(error), supersteps),
            // The panic's own words are in the log already.
            Err(_) => {
                log.end(&JobEnd::Panicked, supersteps);
                let failed = JobError::cluster(PANICKED);
                tell(&client, JobMessage::Failed(failed.into()));
            }
        }
        self.endpoint.end();
        *self.current.borrow_mut() = None;
        *self.jobs.borrow_mut() += 1;
        // The client may have closed it already.
        drop(client.close("the job is over").await);
        let is_idle = || self.current.borrow().is_none();
        self.abandoned.ended(is_idle).await;
    }

    /// The name in its certificate.
    fn name(&self) -> &str {
        self.endpoint.identity().certificate().subject.name.as_str()
    }

    fn status(&self) -> Status {
        let load = |window| {
            let window = Seconds::new(window).expect("a window is finite");
            self.machine.load.load(window)
        };
        let current = self.current.borrow();
        let is_idle = current.is_none();
        let job = current.as_ref().map(|current| {
            let (superstep, processes) = *current.progress.borrow();
            JobStatus {
                client: current.client.clone(),
                since: elapsed(current.since),
                superstep,
                processes: u32::try_from(processes).unwrap_or(u32::MAX),
            }
        });
        Status {
            workloads: self.workloads.clone(),
            abandoned: self.abandoned.status().filter(|_| is_idle),
            up: elapsed(self.began),
            speed: self.machine.offered().get(),
            processors: self.machine.processors.get(),
            load: (load(900.0), load(60.0)),
            job,
            jobs: *self.jobs.borrow(),
            refused: self.endpoint.counters().refused(),
            others: self.machine.load.busy_others(),
        }
    }

    /// Ends the job that runs, in so far as one does.
    async fn leave(&self) {
        let input = self
            .current
            .borrow()
            .as_ref()
            .map(|current| current.input.clone());
        let Some(input) = input else { return };
        drop(input.send(Input::Leave).await);
        let ended = async {
            while self.current.borrow().is_some() {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        // A client that does not answer is waited for no longer than that.
        drop(tokio::time::timeout(LEAVING, ended).await);
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

/// Passes on the processes that a client sends.
async fn hand_on(mut states: StateReceiver, input: mpsc::Sender<Input>) {
    // The end of the connection is an input of its own, and a job that is over takes no more.
    while let Ok(delivered) = states.receive().await {
        if input.send(Input::State(Box::new(delivered))).await.is_err() {
            return;
        }
    }
}

fn tell(client: &Sender, message: JobMessage) {
    // The loss of the client is an input of its job.
    drop(client.push(frame(message)));
}

fn frame(message: JobMessage) -> Frame {
    let message = Message::Job(Box::new(message));
    encode(Address::Node(bsp::HostId(0)), Address::Client, &message)
}

/// The error that a client receives if the node has panicked.
const PANICKED: &str = "the node has failed; see its log";
/// Inputs that wait to be handled.
const INPUTS_MAX: usize = 1024;
/// The time limit for the end of a job.
const LEAVING: Duration = Duration::from_secs(5);
