//! The one who submits a job, and follows it to its end.

use std::collections::{BTreeMap, VecDeque};
use std::future::Future;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use bsp::units::{Bytes, Instant};
use bsp::{HostId, Program, Rank};
use protocol::identity::{Identity, Role};
use protocol::transport::{
    Endpoint, Guests, JobId, Peer, PeerError, Received, Sender, StateReceiver,
};
use protocol::{Address, Ended, Errand, Fault, Member, Message, State, Status, Submit, encode};
use tokio::sync::mpsc;

use super::bounds;
use super::failure::JobError;
use super::job::{call, role_of, rules};
use super::journal::Journal;
use crate::encoding::{decode, encode_into};
use crate::record::{Call, End, Event};
use crate::setup::Setup;

/// A job for a cluster.
#[derive(Clone, Debug)]
pub struct Request {
    /// The release of whoever submits it; nodes have to be of the same.
    pub release: String,
    /// The nodes that take part, by host; those of a Set together, its Manager's first.
    pub members: Vec<Member>,
    /// The experiment, every value of it, for the nodes.
    pub experiment: String,
    /// What nodes make of it, all hosts being those of the cluster.
    pub setup: Setup,
}

/// What came of a run on real hosts.
#[derive(Clone, Debug, PartialEq)]
pub struct Finished<Output> {
    /// How long it took, on the clock of the node that took longest, and what was sent and moved.
    pub end: End,
    /// The rescheduling calls that were held.
    pub calls: Vec<Call>,
    /// What the programs left behind, by rank.
    pub outputs: Vec<Output>,
}

/// Something that comes from a node.
enum News {
    Errand(Errand),
    Output(Rank, bytes::Bytes),
    Gone(Result<String, PeerError>),
}

/// Runs `programs`, process `r` being element `r`, on the nodes of a cluster, and tells `observer` what happens; ends
/// when it is told to by `observer`, or by `interrupted`.
///
/// # Errors
///
/// If the cluster is not there or busy, or the job cannot go on. Nodes are free again then.
pub fn run<P: Program>(
    identity: Identity,
    request: &Request,
    programs: Vec<P>,
    observer: &mut dyn FnMut(&Event) -> Result<(), JobError>,
    interrupted: impl Future<Output = ()>,
) -> Result<Finished<P::Output>, JobError> {
    if programs.len() != request.setup.placement.len() {
        let (programs, places) = (programs.len(), request.setup.placement.len());
        return Err(crate::RunError::Places { programs, places }.into());
    }
    let runtime = runtime()?;
    let done = runtime.block_on(async {
        let endpoint = endpoint(identity)?;
        let result = submit(&endpoint, request, programs, observer, interrupted).await;
        if let Some(endpoint) = Arc::into_inner(endpoint) {
            endpoint.close().await;
        }
        result
    })?;
    let end = done.end();
    observer(&Event::End(end))?;
    let rank = |index| Rank::from_index(index);
    let outputs = done.outputs.into_values().enumerate();
    let outputs = outputs.map(|(index, bytes)| decode("the output of", rank(index), &bytes));
    let outputs: Result<Vec<P::Output>, _> = outputs.collect();
    Ok(Finished {
        end,
        calls: done.calls,
        outputs: outputs?,
    })
}

/// How each of `members` is, in their order.
///
/// # Errors
///
/// If there is no endpoint; what is wrong with a node is told in its place.
pub fn inquire(
    identity: Identity,
    members: Vec<(Member, Role)>,
) -> Result<Vec<Result<Status, JobError>>, JobError> {
    runtime()?.block_on(async {
        let endpoint = endpoint(identity)?;
        let asking = members.into_iter().map(|(member, role)| {
            let endpoint = Arc::clone(&endpoint);
            tokio::spawn(async move { ask(&endpoint, &member, role).await })
        });
        let mut told = Vec::new();
        for asked in asking.collect::<Vec<_>>() {
            told.push(
                asked
                    .await
                    .unwrap_or_else(|error| Err(JobError::cluster(error.to_string()))),
            );
        }
        Ok(told)
    })
}

async fn ask(endpoint: &Endpoint, member: &Member, role: Role) -> Result<Status, JobError> {
    let mut peer = call(endpoint, member, role).await?;
    tell(&peer.sender, Errand::Inquire)?;
    let answer = tokio::time::timeout(ANSWERING, peer.messages.receive()).await;
    let status = match answer {
        Ok(Ok(Received::Message(_, _, Message::Errand(errand)))) => match *errand {
            Errand::Status(status) => Ok(*status),
            other => Err(JobError::cluster(format!(
                "{} answered {other:?}",
                member.name
            ))),
        },
        Ok(Ok(other)) => Err(JobError::cluster(format!(
            "{} answered {other:?}",
            member.name
        ))),
        Ok(Err(error)) => Err(error.into()),
        Err(_) => Err(JobError::cluster(format!(
            "{} does not answer",
            member.name
        ))),
    };
    // What it has to say has been said.
    drop(peer.sender.close("thank you").await);
    status
}

fn runtime() -> Result<tokio::runtime::Runtime, JobError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    runtime.map_err(|error: io::Error| JobError::cluster(format!("no runtime: {error}")))
}

fn endpoint(identity: Identity) -> Result<Arc<Endpoint>, JobError> {
    let anywhere = SocketAddr::from((Ipv6Addr::UNSPECIFIED, 0));
    // A machine without IPv6 has only the other.
    let has_ipv6 = UdpSocket::bind(anywhere).is_ok();
    let old = SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0));
    let address = if has_ipv6 { anywhere } else { old };
    let bound = Endpoint::bind(identity, address, Guests::Nobody, bounds());
    let bound = bound.map_err(|error| JobError::cluster(error.to_string()))?;
    Ok(Arc::new(bound))
}

/// A job that is followed.
struct Following<'a> {
    request: &'a Request,
    senders: Vec<Sender>,
    news: mpsc::Receiver<(HostId, News)>,
    /// What has come before it was waited for.
    early: VecDeque<(HostId, News)>,
    journal: Journal,
    observer: &'a mut dyn FnMut(&Event) -> Result<(), JobError>,
    done: Done,
}

/// What has come of a job.
#[derive(Default)]
struct Done {
    outputs: BTreeMap<Rank, bytes::Bytes>,
    ended: BTreeMap<HostId, Ended>,
    calls: Vec<Call>,
}

impl Done {
    /// How the run ended.
    fn end(&self) -> End {
        let sum = |what: fn(&Ended) -> u64| self.ended.values().map(what).sum();
        let seconds = self.ended.values().map(|ended| ended.seconds).max();
        let supersteps = self.ended.values().map(|ended| ended.supersteps).max();
        End {
            seconds: Instant::START + seconds.unwrap_or_default(),
            supersteps: supersteps.unwrap_or_default(),
            messages: sum(|ended| ended.messages),
            bytes: Bytes(sum(|ended| ended.bytes)),
            attainable: None,
            imbalance: None,
            moved: Bytes(sum(|ended| ended.moved)),
        }
    }
}

async fn submit<P: Program>(
    endpoint: &Arc<Endpoint>,
    request: &Request,
    programs: Vec<P>,
    observer: &mut dyn FnMut(&Event) -> Result<(), JobError>,
    interrupted: impl Future<Output = ()>,
) -> Result<Done, JobError> {
    let mut interrupted = pin!(interrupted);
    let peers = tokio::select! {
        peers = connect(endpoint, request) => peers?,
        () = &mut interrupted => return Err(JobError::cluster(INTERRUPTED)),
    };
    let mut senders = Vec::new();
    let (tell_news, news) = mpsc::channel(NEWS_MAX);
    for (index, peer) in peers.into_iter().enumerate() {
        let host = HostId::from_index(index);
        senders.push(peer.sender.clone());
        listen(host, peer, &tell_news);
    }
    let mut following = Following {
        request,
        senders,
        news,
        early: VecDeque::new(),
        journal: Journal::new(request.setup.platform.sets().len()),
        observer,
        done: Done::default(),
    };
    let followed = tokio::select! {
        followed = following.follow(programs) => Some(followed),
        () = interrupted => None,
    };
    let result = match followed {
        Some(Err(error)) => Err(following.reason(error).await),
        Some(Ok(())) => Ok(()),
        None => Err(JobError::cluster(INTERRUPTED)),
    };
    let words = result
        .as_ref()
        .err()
        .map_or("the job is over", |error| &error.message);
    let closing = following.senders.iter().cloned().map(|sender| {
        let words = words.to_owned();
        tokio::spawn(async move { sender.close(&words).await })
    });
    let closing: Vec<_> = closing.collect();
    let closed = async {
        for closed in closing {
            // Those that have gone know it already.
            drop(closed.await);
        }
    };
    // One that does not hear it finds out by itself.
    drop(tokio::time::timeout(PARTING, closed).await);
    result.map(|()| following.done)
}

async fn connect(endpoint: &Arc<Endpoint>, request: &Request) -> Result<Vec<Peer>, JobError> {
    let rules = rules(&request.setup);
    let members = request.members.iter().enumerate();
    let calling = members.map(|(index, member)| {
        let role = role_of(&rules, HostId::from_index(index));
        let (endpoint, member) = (Arc::clone(endpoint), member.clone());
        tokio::spawn(async move { call(&endpoint, &member, role).await })
    });
    let mut peers = Vec::new();
    for called in calling.collect::<Vec<_>>() {
        let peer = called
            .await
            .map_err(|error| JobError::cluster(error.to_string()))?;
        peers.push(peer?);
    }
    Ok(peers)
}

impl Following<'_> {
    /// Submits, sends the processes, begins, and listens until all is over.
    async fn follow<P: Program>(&mut self, programs: Vec<P>) -> Result<(), JobError> {
        let job = JobId::draw().0.get();
        for host in self.hosts() {
            let submit = Submit {
                job,
                release: self.request.release.clone(),
                host,
                members: self.request.members.clone(),
                experiment: self.request.experiment.clone(),
                processes: u32::try_from(programs.len()).expect("ranks fit 32 bits"),
            };
            self.tell(host, Errand::Submit(Box::new(submit)))?;
        }
        self.await_all(&Errand::Accepted, ANSWERING).await?;
        for host in self.hosts() {
            self.tell(host, Errand::Meet)?;
        }
        self.send_programs(programs).await?;
        self.await_all(&Errand::Ready, MEETING).await?;
        for host in self.hosts() {
            self.tell(host, Errand::Begin)?;
        }
        while !self.is_over() {
            let (host, news) = self.next().await?;
            self.take(host, news)?;
        }
        Ok(())
    }

    /// Why the job cannot go on, if `first` is what was heard first: where a program fails, its node leaves, and others
    /// may be quicker to say that it has left.
    async fn reason(&mut self, first: JobError) -> JobError {
        if first.fault != Fault::Cluster {
            return first;
        }
        let listening = async {
            while let Some((_, news)) = self.news.recv().await {
                if let News::Errand(Errand::Failed(failed)) = news
                    && failed.fault != Fault::Cluster
                {
                    return Some(failed.into());
                }
            }
            None
        };
        let better = tokio::time::timeout(LISTENING, listening).await;
        better.ok().flatten().unwrap_or(first)
    }

    fn hosts(&self) -> impl Iterator<Item = HostId> + use<> {
        (0..self.senders.len()).map(HostId::from_index)
    }

    fn tell(&self, host: HostId, errand: Errand) -> Result<(), JobError> {
        tell(&self.senders[host.index()], errand)
    }

    /// Every process to the host where it starts; each is encoded when its turn comes.
    async fn send_programs<P: Program>(&mut self, programs: Vec<P>) -> Result<(), JobError> {
        for (index, program) in programs.into_iter().enumerate() {
            let rank = Rank::from_index(index);
            let mut payload = Vec::new();
            encode_into(&mut payload, "the state of", rank, &program)?;
            drop(program);
            let state = State {
                rank,
                epoch: 0,
                agent: 0,
                declared: None,
                payload: payload.into(),
            };
            let host = self.request.setup.placement[index];
            let to = Address::Process(rank);
            let sender = self.senders[host.index()].clone();
            let mut sending = pin!(sender.send_state(Address::Client, to, state));
            loop {
                tokio::select! {
                    sent = &mut sending => break sent?,
                    Some((host, news)) = self.news.recv() => match news {
                        // A node on which no process starts.
                        News::Errand(Errand::Ready) => self.early.push_back((host, news)),
                        // One that refuses says why.
                        news => return Err(self.fault(host, news)),
                    },
                }
            }
        }
        Ok(())
    }

    /// Waits until all nodes have said `expected`.
    async fn await_all(&mut self, expected: &Errand, limit: Duration) -> Result<(), JobError> {
        let mut missing: Vec<HostId> = self.hosts().collect();
        let waiting = async {
            while !missing.is_empty() {
                let (host, news) = self.next().await?;
                match news {
                    News::Errand(errand) if errand == *expected => missing.retain(|of| *of != host),
                    news => return Err(self.fault(host, news)),
                }
            }
            Ok(())
        };
        let waited = tokio::time::timeout(limit, waiting).await;
        waited.unwrap_or_else(|_| {
            let names = missing.iter().map(|host| self.name(*host));
            let names = names.collect::<Vec<_>>().join(", ");
            let limit = limit.as_secs();
            Err(JobError::cluster(format!(
                "no answer from {names} in {limit} s"
            )))
        })
    }

    async fn next(&mut self) -> Result<(HostId, News), JobError> {
        if let Some(news) = self.early.pop_front() {
            return Ok(news);
        }
        let news = self.news.recv().await;
        news.ok_or_else(|| JobError::cluster("all nodes have gone"))
    }

    fn take(&mut self, host: HostId, news: News) -> Result<(), JobError> {
        match news {
            News::Errand(Errand::Recorded(lines)) => {
                for line in lines.lines() {
                    let event: Event = serde_json::from_str(line).map_err(|error| {
                        let name = self.name(host);
                        JobError::cluster(format!("{name} recorded what is no event: {error}"))
                    })?;
                    self.record(event)?;
                }
                Ok(())
            }
            News::Errand(Errand::Ended(ended)) => {
                self.done.ended.insert(host, ended);
                Ok(())
            }
            News::Output(rank, output) => {
                let exists = rank.index() < self.request.setup.placement.len();
                let is_new = exists && self.done.outputs.insert(rank, output).is_none();
                let name = self.name(host);
                let problem =
                    || JobError::cluster(format!("{name} says once more that {rank} is done"));
                is_new.then_some(()).ok_or_else(problem)
            }
            news @ (News::Errand(_) | News::Gone(_)) => Err(self.fault(host, news)),
        }
    }

    fn record(&mut self, event: Event) -> Result<(), JobError> {
        for event in self.journal.tell(event) {
            (self.observer)(&event)?;
            if let Event::Call(call) = event {
                self.done.calls.push(call);
            }
        }
        Ok(())
    }

    fn is_over(&self) -> bool {
        let Done { outputs, ended, .. } = &self.done;
        outputs.len() == self.request.setup.placement.len()
            && ended.len() == self.senders.len()
            && self.journal.is_empty()
    }

    fn name(&self, host: HostId) -> &str {
        &self.request.members[host.index()].name
    }

    /// Why `news` ends the job.
    fn fault(&self, host: HostId, news: News) -> JobError {
        let name = self.name(host);
        match news {
            News::Errand(Errand::Failed(failed)) => JobError {
                fault: failed.fault,
                message: match failed.fault {
                    Fault::Program | Fault::Input => failed.message,
                    // What a node says of itself begins with its name.
                    Fault::Cluster if failed.message.starts_with(name) => failed.message,
                    Fault::Cluster => format!("{name} says: {}", failed.message),
                },
            },
            News::Errand(errand) => {
                JobError::cluster(format!("{name} said at the wrong time: {errand:?}"))
            }
            News::Output(rank, _) => JobError::cluster(format!("{name} says that {rank} is done")),
            News::Gone(Ok(words)) => JobError::cluster(format!("{name} has left: {words}")),
            News::Gone(Err(error)) => error.into(),
        }
    }
}

fn tell(sender: &Sender, errand: Errand) -> Result<(), JobError> {
    let message = Message::Errand(Box::new(errand));
    let frame = encode(Address::Client, Address::Node(HostId(0)), &message);
    Ok(sender.push(frame)?)
}

/// Hands on what comes from a node, until it has gone.
fn listen(host: HostId, peer: Peer, news: &mpsc::Sender<(HostId, News)>) {
    let Peer {
        mut messages,
        states,
        ..
    } = peer;
    let told = news.clone();
    drop(tokio::spawn(async move {
        loop {
            let news = match messages.receive().await {
                Ok(Received::Message(_, _, Message::Errand(errand))) => News::Errand(*errand),
                Ok(Received::Message(..)) => continue,
                Ok(Received::Closed { reason }) => News::Gone(Ok(reason)),
                Err(error) => News::Gone(Err(error)),
            };
            let is_last = matches!(news, News::Gone(_));
            if told.send((host, news)).await.is_err() || is_last {
                return;
            }
        }
    }));
    drop(tokio::spawn(take_outputs(host, states, news.clone())));
}

/// Hands on what processes leave behind.
async fn take_outputs(host: HostId, mut states: StateReceiver, news: mpsc::Sender<(HostId, News)>) {
    // That it has gone is heard elsewhere.
    while let Ok(delivered) = states.receive().await {
        let output = News::Output(delivered.state.rank, delivered.state.payload);
        if news.send((host, output)).await.is_err() {
            return;
        }
    }
}

/// What an interrupted run says.
const INTERRUPTED: &str = "interrupted";
/// How long a node may take to answer.
const ANSWERING: Duration = Duration::from_secs(10);
/// How long nodes may take to meet.
const MEETING: Duration = Duration::from_secs(40);
/// How long to listen for a better reason for what went wrong.
const LISTENING: Duration = Duration::from_millis(500);
/// How long nodes may take to hear that the job is over.
const PARTING: Duration = Duration::from_secs(2);
/// What has come and has not been looked at.
const NEWS_MAX: usize = 1024;
