//! A job, followed from its submission to its end.

use std::collections::{BTreeMap, VecDeque};
use std::pin::pin;
use std::time::Duration;

use bsp::units::{Bytes, Instant};
use bsp::{HostId, Rank};
use protocol::transport::{JobId, Peer, PeerError, Received, Sender, StateReceiver};
use protocol::{Address, Ended, Fault, JobMessage, Message, ProcessImage, Submit};
use tokio::sync::mpsc;

use super::super::failure::JobError;
use super::super::journal::Journal;
use super::{ANSWERING, Request, tell};
use crate::programs::States;
use crate::record::{Call, End, Event};

/// A job that is followed.
pub(super) struct Following<'a> {
    request: &'a Request,
    senders: Vec<Sender>,
    news: mpsc::Receiver<(HostId, NodeEvent)>,
    /// What has come before it was waited for.
    early: VecDeque<(HostId, NodeEvent)>,
    journal: Journal,
    observer: &'a mut dyn FnMut(&Event) -> Result<(), JobError>,
    done: Done,
}

/// What has come of a job.
#[derive(Default)]
pub(super) struct Done {
    pub(super) outputs: BTreeMap<Rank, bytes::Bytes>,
    ended: BTreeMap<HostId, Ended>,
    pub(super) calls: Vec<Call>,
}

impl Done {
    /// How the run ended.
    pub(super) fn end(&self) -> End {
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

/// Something that comes from a node.
enum NodeEvent {
    Job(JobMessage),
    Output(Rank, bytes::Bytes),
    Gone(Result<String, PeerError>),
}

impl<'a> Following<'a> {
    /// Listens to `peers`, the nodes of `request`, by host.
    pub(super) fn new(
        request: &'a Request,
        peers: Vec<Peer>,
        observer: &'a mut dyn FnMut(&Event) -> Result<(), JobError>,
    ) -> Self {
        let mut senders = Vec::new();
        let (tell_news, news) = mpsc::channel(NEWS_MAX);
        for (index, peer) in peers.into_iter().enumerate() {
            senders.push(peer.sender.clone());
            listen(HostId::from_index(index), peer, &tell_news);
        }
        Self {
            request,
            senders,
            news,
            early: VecDeque::new(),
            journal: Journal::new(request.setup.platform.sets().len()),
            observer,
            done: Done::default(),
        }
    }

    /// What goes to the nodes, by host.
    pub(super) fn senders(&self) -> &[Sender] {
        &self.senders
    }

    /// What has come of the job.
    pub(super) fn into_done(self) -> Done {
        self.done
    }

    /// Submits, sends the processes, begins, and listens until all is over.
    pub(super) async fn follow(&mut self, states: States) -> Result<(), JobError> {
        let job = JobId::random().0.get();
        for host in self.hosts() {
            let submit = Submit {
                job,
                release: self.request.release.clone(),
                host,
                members: self.request.members.clone(),
                experiment: self.request.experiment.clone(),
                processes: u32::try_from(self.request.setup.placement.len())
                    .expect("ranks fit 32 bits"),
            };
            self.tell(host, JobMessage::Submit(Box::new(submit)))?;
        }
        let mut counts = true;
        let accepts = |message: &JobMessage| match message {
            JobMessage::Accepted { counts: it_counts } => {
                counts &= it_counts;
                true
            }
            _ => false,
        };
        self.await_all(accepts, ANSWERING).await?;
        for host in self.hosts() {
            self.tell(host, JobMessage::Meet { counts })?;
        }
        self.send_states(states).await?;
        self.await_all(|message| *message == JobMessage::Ready, MEETING)
            .await?;
        for host in self.hosts() {
            self.tell(host, JobMessage::Begin)?;
        }
        while !self.is_over() {
            let (host, news) = self.next().await?;
            self.take(host, news)?;
        }
        Ok(())
    }

    /// Why the job cannot go on, if `first` is what was heard first: where a program fails, its node leaves, and others
    /// may be quicker to say that it has left.
    pub(super) async fn reason(&mut self, first: JobError) -> JobError {
        if first.fault != Fault::Cluster {
            return first;
        }
        let listening = async {
            while let Some((_, news)) = self.news.recv().await {
                if let NodeEvent::Job(JobMessage::Failed(failed)) = news
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

    fn tell(&self, host: HostId, message: JobMessage) -> Result<(), JobError> {
        tell(&self.senders[host.index()], message)
    }

    /// Every process to the host where it starts; each is encoded when its turn comes.
    async fn send_states(&mut self, states: States) -> Result<(), JobError> {
        for (index, state) in states.enumerate() {
            let rank = Rank::from_index(index);
            let state = ProcessImage {
                rank,
                epoch: 0,
                agent: 0,
                declared: None,
                payload: state?.into(),
            };
            let host = self.request.setup.placement[index];
            let to = Address::Process(rank);
            let sender = self.senders[host.index()].clone();
            let mut sending = pin!(sender.send_state(Address::Client, to, state));
            loop {
                tokio::select! {
                    sent = &mut sending => break sent?,
                    Some((host, news)) = self.news.recv() => match news {
                        // A node that has all that it needs, as one on which no process starts.
                        NodeEvent::Job(JobMessage::Ready) => self.early.push_back((host, news)),
                        // One that refuses says why.
                        news => return Err(self.fault(host, news)),
                    },
                }
            }
        }
        Ok(())
    }

    /// Waits until all nodes have said what is `expected`.
    async fn await_all(
        &mut self,
        mut expected: impl FnMut(&JobMessage) -> bool,
        limit: Duration,
    ) -> Result<(), JobError> {
        let mut missing: Vec<HostId> = self.hosts().collect();
        let waiting = async {
            while !missing.is_empty() {
                let (host, news) = self.next().await?;
                match news {
                    NodeEvent::Job(message) if expected(&message) => {
                        missing.retain(|of| *of != host);
                    }
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

    async fn next(&mut self) -> Result<(HostId, NodeEvent), JobError> {
        if let Some(news) = self.early.pop_front() {
            return Ok(news);
        }
        let news = self.news.recv().await;
        news.ok_or_else(|| JobError::cluster("all nodes have gone"))
    }

    fn take(&mut self, host: HostId, news: NodeEvent) -> Result<(), JobError> {
        match news {
            NodeEvent::Job(JobMessage::Recorded(lines)) => {
                for line in lines.lines() {
                    let event: Event = serde_json::from_str(line).map_err(|error| {
                        let name = self.name(host);
                        JobError::cluster(format!("{name} recorded what is no event: {error}"))
                    })?;
                    self.record(event)?;
                }
                Ok(())
            }
            NodeEvent::Job(JobMessage::Ended(ended)) => {
                self.done.ended.insert(host, ended);
                Ok(())
            }
            NodeEvent::Output(rank, output) => {
                let exists = rank.index() < self.request.setup.placement.len();
                let is_new = exists && self.done.outputs.insert(rank, output).is_none();
                let name = self.name(host);
                let problem =
                    || JobError::cluster(format!("{name} says once more that {rank} is done"));
                is_new.then_some(()).ok_or_else(problem)
            }
            news @ (NodeEvent::Job(_) | NodeEvent::Gone(_)) => Err(self.fault(host, news)),
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
    fn fault(&self, host: HostId, news: NodeEvent) -> JobError {
        let name = self.name(host);
        match news {
            NodeEvent::Job(JobMessage::Failed(failed)) => JobError {
                fault: failed.fault,
                message: match failed.fault {
                    Fault::Program | Fault::Input => failed.message,
                    // What a node says of itself begins with its name.
                    Fault::Cluster if failed.message.starts_with(name) => failed.message,
                    Fault::Cluster => format!("{name} says: {}", failed.message),
                },
            },
            NodeEvent::Job(message) => {
                JobError::cluster(format!("{name} said at the wrong time: {message:?}"))
            }
            NodeEvent::Output(rank, _) => {
                JobError::cluster(format!("{name} says that {rank} is done"))
            }
            NodeEvent::Gone(Ok(words)) => JobError::cluster(format!("{name} has left: {words}")),
            NodeEvent::Gone(Err(error)) => error.into(),
        }
    }
}

/// Hands on what comes from a node, until it has gone.
fn listen(host: HostId, peer: Peer, news: &mpsc::Sender<(HostId, NodeEvent)>) {
    let Peer {
        mut messages,
        states,
        ..
    } = peer;
    let told = news.clone();
    drop(tokio::spawn(async move {
        loop {
            let news = match messages.receive().await {
                Ok(Received::Message(_, _, Message::Job(message))) => NodeEvent::Job(*message),
                Ok(Received::Message(..)) => continue,
                Ok(Received::Closed { reason }) => NodeEvent::Gone(Ok(reason)),
                Err(error) => NodeEvent::Gone(Err(error)),
            };
            let is_last = matches!(news, NodeEvent::Gone(_));
            if told.send((host, news)).await.is_err() || is_last {
                return;
            }
        }
    }));
    drop(tokio::spawn(receive_outputs(host, states, news.clone())));
}

/// Hands on what processes leave behind.
async fn receive_outputs(
    host: HostId,
    mut states: StateReceiver,
    news: mpsc::Sender<(HostId, NodeEvent)>,
) {
    // That it has gone is heard elsewhere.
    while let Ok(delivered) = states.receive().await {
        let output = NodeEvent::Output(delivered.state.rank, delivered.state.payload);
        if news.send((host, output)).await.is_err() {
            return;
        }
    }
}

/// How long nodes may take to meet.
const MEETING: Duration = Duration::from_secs(40);
/// How long to listen for a better reason for what went wrong.
const LISTENING: Duration = Duration::from_millis(500);
/// What has come and has not been looked at.
const NEWS_MAX: usize = 1024;
