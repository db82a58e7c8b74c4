//! A job that runs on a cluster, as its client sees it.

use std::collections::VecDeque;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use bsp::{HostId, Rank};
use protocol::transport::{JobId, Peer, Sender};
use protocol::{Address, Fault, JobMessage, ProcessImage, Submit};
use tokio::sync::mpsc;

use super::connections::{ANSWER_LIMIT, send};
use super::event_check::EventCheck;
use super::job_result::JobResult;
use super::node_event::{NodeEvent, listen};
use super::request::Request;
use crate::hosts::failure::JobError;
use crate::hosts::input_memory::InputMemory;
use crate::hosts::journal::Journal;
use crate::programs::States;
use crate::record::Event;

/// A job that runs on a cluster.
pub(super) struct RunningJob<'a> {
    request: &'a Request,
    senders: Vec<Sender>,
    events: mpsc::Receiver<(HostId, NodeEvent)>,
    /// Events that arrived before they were expected.
    early: VecDeque<(HostId, NodeEvent)>,
    journal: Journal,
    event_check: EventCheck,
    /// The host of each process after the calls recorded so far, by rank.
    placement: Vec<HostId>,
    observer: &'a mut dyn FnMut(&Event) -> Result<(), JobError>,
    result: JobResult,
}

impl<'a> RunningJob<'a> {
    /// Receives from `peers`, the nodes of `request`, by host.
    pub(super) fn new(
        request: &'a Request,
        peers: Vec<Peer>,
        observer: &'a mut dyn FnMut(&Event) -> Result<(), JobError>,
    ) -> Self {
        let mut senders = Vec::new();
        let (event, events) = mpsc::channel(EVENTS_MAX);
        for (index, peer) in peers.into_iter().enumerate() {
            senders.push(peer.sender.clone());
            listen(HostId::from_index(index), peer, &event);
        }
        Self {
            request,
            senders,
            events,
            early: VecDeque::new(),
            journal: Journal::new(request.setup.platform.sets().len()),
            event_check: EventCheck::new(&request.setup),
            placement: request.setup.placement.clone(),
            observer,
            result: JobResult::default(),
        }
    }

    /// The connections to the nodes, by host.
    pub(super) fn senders(&self) -> &[Sender] {
        &self.senders
    }

    /// The result of the job.
    pub(super) fn into_result(self) -> JobResult {
        self.result
    }

    /// Submits the job, sends the processes, starts the job, and handles events until it is over.
    pub(super) async fn run(&mut self, states: States) -> Result<(), JobError> {
        let job = JobId::random().0.get();
        for host in self.hosts() {
            let submit = Submit {
                job,
                host,
                members: self.request.members.clone(),
                experiment: self.request.experiment.clone(),
                processes: u32::try_from(self.request.setup.placement.len())
                    .expect("ranks fit 32 bits"),
            };
            self.send(host, JobMessage::Submit(Box::new(submit)))?;
        }
        let mut counts = true;
        let accepts = |message: &JobMessage| match message {
            JobMessage::Accepted { counts: it_counts } => {
                counts &= it_counts;
                true
            }
            _ => false,
        };
        self.await_all(accepts, ANSWER_LIMIT).await?;
        for host in self.hosts() {
            self.send(host, JobMessage::Meet { counts })?;
        }
        self.send_states(states).await?;
        self.await_all(|message| *message == JobMessage::Ready, CONNECT_LIMIT)
            .await?;
        for host in self.hosts() {
            self.send(host, JobMessage::Begin)?;
        }
        while !self.is_over() {
            let (host, event) = self.next().await?;
            self.handle_event(host, event)?;
        }
        self.check_outputs()
    }

    /// The cause of `first`, the first error that arrived. If a program fails, its node closes its connections, and the
    /// errors of other nodes about that may arrive first.
    pub(super) async fn cause(&mut self, first: JobError) -> JobError {
        if first.fault != Fault::Cluster {
            return first;
        }
        let listening = async {
            while let Some((_, event)) = self.events.recv().await {
                if let NodeEvent::Message(JobMessage::Failed(failed), _) = event
                    && failed.fault != Fault::Cluster
                {
                    return Some(failed.into());
                }
            }
            None
        };
        let better = tokio::time::timeout(CAUSE_LIMIT, listening).await;
        better.ok().flatten().unwrap_or(first)
    }

    fn hosts(&self) -> impl Iterator<Item = HostId> + use<> {
        (0..self.senders.len()).map(HostId::from_index)
    }

    fn send(&self, host: HostId, message: JobMessage) -> Result<(), JobError> {
        send(&self.senders[host.index()], message)
    }

    /// Sends each process to the host where it starts. A process is encoded only when it is sent, and by another
    /// thread: nodes would miss the client's signs of life.
    async fn send_states(&mut self, mut states: States) -> Result<(), JobError> {
        for index in 0.. {
            let encoding = tokio::task::spawn_blocking(move || (states.next(), states));
            let (state, rest) = encoding
                .await
                .map_err(|panic| JobError::program(format!("encoding a process: {panic}")))?;
            states = rest;
            let Some(state) = state else {
                break;
            };
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
                    Some((host, event)) = self.events.recv() => match event {
                        // A node on which no process starts may be ready already.
                        NodeEvent::Message(JobMessage::Ready, _) => self.early.push_back((host, event)),
                        // A node that refuses the job sends the reason.
                        event => return Err(self.error(host, event)),
                    },
                }
            }
        }
        Ok(())
    }

    /// Waits for an `expected` message from each node.
    async fn await_all(
        &mut self,
        mut expected: impl FnMut(&JobMessage) -> bool,
        limit: Duration,
    ) -> Result<(), JobError> {
        let mut missing: Vec<HostId> = self.hosts().collect();
        let waiting = async {
            while !missing.is_empty() {
                let (host, event) = self.next().await?;
                match event {
                    NodeEvent::Message(message, _) if expected(&message) => {
                        missing.retain(|other| *other != host);
                    }
                    event => return Err(self.error(host, event)),
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
        if let Some(event) = self.early.pop_front() {
            return Ok(event);
        }
        let event = self.events.recv().await;
        event.ok_or_else(|| JobError::cluster("the connections to all nodes have ended"))
    }

    fn handle_event(&mut self, host: HostId, event: NodeEvent) -> Result<(), JobError> {
        match event {
            NodeEvent::Message(JobMessage::Recorded(lines), memory) => {
                let memory = Arc::new(memory);
                for line in lines.lines() {
                    let event = self.event_check.parse(host, line);
                    let event = event.map_err(|problem| {
                        let event = format!("an invalid event of the record: {problem}");
                        self.refuse(host, &event)
                    })?;
                    self.record(event, &memory)?;
                }
                Ok(())
            }
            NodeEvent::Message(JobMessage::Ended(ended), _) => {
                let is_new = self.result.ended.insert(host, ended).is_none();
                is_new
                    .then_some(())
                    .ok_or_else(|| self.refuse(host, "a second end"))
            }
            NodeEvent::Output(rank, output) => {
                let is_new = self.event_check.shape().rank(rank).is_ok()
                    && self.result.outputs.insert(rank, (host, output)).is_none();
                let problem = || self.refuse(host, &format!("an unexpected output of {rank}"));
                is_new.then_some(()).ok_or_else(problem)
            }
            event @ (NodeEvent::Message(..) | NodeEvent::Closed(_)) => Err(self.error(host, event)),
        }
    }

    fn record(&mut self, event: Event, memory: &Arc<InputMemory>) -> Result<(), JobError> {
        for event in self.journal.add(event, memory) {
            (self.observer)(&event)?;
            if let Event::Call(call) = event {
                for migration in &call.migrations {
                    self.placement[migration.rank.index()] = migration.to;
                }
                self.result.calls.push(*call);
            }
        }
        Ok(())
    }

    /// Checks that each output is from the node on which its process ended.
    fn check_outputs(&self) -> Result<(), JobError> {
        let outputs = self.result.outputs.iter();
        let misplaced = outputs.map(|(rank, (host, _))| (rank, host));
        let mut misplaced = misplaced.filter(|(rank, host)| self.placement[rank.index()] != **host);
        misplaced.next().map_or(Ok(()), |(rank, host)| {
            Err(self.refuse(
                *host,
                &format!("the output of {rank}, which ended elsewhere"),
            ))
        })
    }

    /// Closes the connection to a node because of what it sent. Returns the error, which names the node.
    fn refuse(&self, host: HostId, problem: &str) -> JobError {
        let problem = format!("{} sent {problem}", self.name(host));
        // The error of the connection says the same with the address.
        drop(self.senders[host.index()].refuse(problem.clone()));
        JobError::cluster(problem)
    }

    fn is_over(&self) -> bool {
        let JobResult { outputs, ended, .. } = &self.result;
        outputs.len() == self.request.setup.placement.len()
            && ended.len() == self.senders.len()
            && self.journal.is_empty()
    }

    fn name(&self, host: HostId) -> &str {
        &self.request.members[host.index()].name
    }

    /// The error of an event that ends the job.
    fn error(&self, host: HostId, event: NodeEvent) -> JobError {
        let name = self.name(host);
        match event {
            NodeEvent::Message(JobMessage::Failed(failed), _) => JobError {
                fault: failed.fault,
                message: match failed.fault {
                    Fault::Program | Fault::Input | Fault::Build => failed.message,
                    // A message of a node about itself begins with its name.
                    Fault::Cluster if failed.message.starts_with(name) => failed.message,
                    Fault::Cluster => format!("{name}: {}", failed.message),
                },
            },
            NodeEvent::Message(message, _) => {
                JobError::cluster(format!("unexpected message of {name}: {message:?}"))
            }
            NodeEvent::Output(rank, _) => {
                JobError::cluster(format!("{name} sent an unexpected output of {rank}"))
            }
            NodeEvent::Closed(Ok(reason)) => {
                JobError::cluster(format!("{name} has left: {reason}"))
            }
            NodeEvent::Closed(Err(error)) => error.into(),
        }
    }
}

/// How long nodes may take to connect to each other.
const CONNECT_LIMIT: Duration = Duration::from_secs(40);
/// How long to wait for a more specific error.
const CAUSE_LIMIT: Duration = Duration::from_millis(500);
/// Events that wait to be handled.
const EVENTS_MAX: usize = 1024;
