//! The sockets and tasks of a client: it performs what its machine decides, and tells it what happens.

use std::future::{self, Future};
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant as Clock};

use agents::{Transferred, Transfers};
use bsp::units::Seconds;
use bsp::{HostId, Rank};
use machines::JobError;
use machines::client::event::{ClientAction, ClientEvent, NodeWord};
use machines::client::job_result::JobResult;
use machines::client::{ClientMachine, Request, initial};
use protocol::transport::{Endpoint, JobId, Peer, Sender};
use protocol::{Address, Build};
use record::Event;
use tokio::sync::mpsc;

use super::initial_states::{EncodedStates, InitialStates};
use super::listening::listen;
use super::observer::{JobObserver, TransferProgress};
use crate::members::connect;

/// The sockets and tasks of a client.
struct ClientShell<'a> {
    endpoint: &'a Arc<Endpoint>,
    request: &'a Request,
    observer: &'a mut dyn JobObserver,
    /// The processes that have not been encoded.
    states: Option<EncodedStates>,
    /// The connections to the nodes, by host.
    senders: Vec<Option<Sender>>,
    words: (mpsc::Sender<Word>, mpsc::Receiver<Word>),
    connected: Unbounded<(HostId, Result<Peer, JobError>)>,
    sent: Unbounded<Sent>,
    transfers: TransferMeter,
}

/// When the client began to send processes, and to wait for outputs alone.
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

/// Something that the node of a host has sent.
type Word = (HostId, NodeWord);

/// Both ends of a channel.
type Unbounded<T> = (mpsc::UnboundedSender<T>, mpsc::UnboundedReceiver<T>);

/// The processes that have not been encoded, after one has been sent.
struct Sent {
    states: EncodedStates,
    /// Its size.
    result: Result<usize, JobError>,
}

/// Submits `request` with the processes `states` and follows the job to its end.
pub(super) async fn submit(
    endpoint: &Arc<Endpoint>,
    (request, job): (&Request, JobId),
    states: InitialStates,
    observer: &mut dyn JobObserver,
    interrupted: impl Future<Output = ()>,
) -> Result<(JobResult, Transfers), JobError> {
    let InitialStates { order, encoded } = states;
    let transfers = TransferMeter {
        processes: order.len(),
        ..TransferMeter::default()
    };
    let mut client = ClientMachine::new(request, (job, order), Clock::now());
    let mut shell = ClientShell {
        endpoint,
        request,
        observer,
        states: Some(encoded),
        senders: vec![None; request.members.len()],
        words: mpsc::channel(EVENTS_MAX),
        connected: mpsc::unbounded_channel(),
        sent: mpsc::unbounded_channel(),
        transfers,
    };
    let mut interrupted = pin!(interrupted);
    let mut is_interrupted = false;
    loop {
        while let Some(action) = client.poll() {
            match shell.perform(action) {
                Performed::Done => {}
                Performed::Failed(error) => {
                    client.handle(Clock::now(), ClientEvent::ObserverFailed(error));
                }
                Performed::Finished(result) => {
                    shell.close(&result).await;
                    return Ok((result?, shell.transfers.transfers));
                }
            }
        }
        let event = tokio::select! {
            () = &mut interrupted, if !is_interrupted => {
                is_interrupted = true;
                ClientEvent::Interrupted
            }
            event = shell.next() => event,
            () = sleep_until(client.next_timeout()) => ClientEvent::Tick,
        };
        client.handle(Clock::now(), event);
    }
}

enum Performed {
    Done,
    /// The observer of the record has failed.
    Failed(JobError),
    Finished(Result<JobResult, JobError>),
}

impl ClientShell<'_> {
    /// What happens next. Dropping the future loses nothing.
    async fn next(&mut self) -> ClientEvent {
        // The ends that send are kept here, so the channels do not close.
        tokio::select! {
            Some((host, connected)) = self.connected.1.recv() => {
                ClientEvent::Connected(host, self.add(host, connected))
            }
            Some(Sent { states, result }) = self.sent.1.recv() => {
                self.states = Some(states);
                ClientEvent::StateSent(result.map(|bytes| {
                    let progress = self.transfers.send(bytes);
                    self.observer.transferred(progress);
                }))
            }
            Some((host, word)) = self.words.1.recv() => {
                if let NodeWord::Output(_, output) = &word {
                    let progress = self.transfers.receive(output.len());
                    self.observer.transferred(progress);
                }
                ClientEvent::Node(host, word)
            }
        }
    }

    /// Keeps the connection to a node. Returns the build that it runs.
    fn add(&mut self, host: HostId, peer: Result<Peer, JobError>) -> Result<Build, JobError> {
        let peer = peer?;
        let build = peer.build.clone();
        self.senders[host.index()] = Some(peer.sender.clone());
        listen(host, peer, &self.words.0);
        Ok(build)
    }

    fn perform(&mut self, action: ClientAction) -> Performed {
        match action {
            ClientAction::Connect(host, role) => {
                let member = self.request.members[host.index()].clone();
                let (endpoint, connected) = (Arc::clone(self.endpoint), self.connected.0.clone());
                drop(tokio::spawn(async move {
                    let peer = connect(&endpoint, &member, role).await;
                    // The run may be interrupted.
                    drop(connected.send((host, peer)));
                }));
            }
            ClientAction::Send(host, frame) => {
                if let Some(sender) = &self.senders[host.index()] {
                    // The end of a connection is an event of its own.
                    drop(sender.push(frame));
                }
            }
            ClientAction::SendState(host, rank) => self.send_state(host, rank),
            ClientAction::Refuse(host, problem) => {
                if let Some(sender) = &self.senders[host.index()] {
                    // The machine knows the error.
                    drop(sender.refuse(problem));
                }
            }
            ClientAction::Observe(event) => {
                if matches!(*event, Event::Superstep(_)) {
                    self.transfers.computed = Some(Clock::now());
                }
                if let Err(error) = self.observer.observe(&event) {
                    return Performed::Failed(error);
                }
            }
            ClientAction::Finish(result) => return Performed::Finished(*result),
        }
        Performed::Done
    }

    /// Sends a process to the host where it starts. A process is encoded only when it is sent, and by another thread:
    /// nodes would miss the client's signs of life.
    fn send_state(&mut self, host: HostId, rank: Rank) {
        let (Some(mut states), Some(sender)) =
            (self.states.take(), self.senders[host.index()].clone())
        else {
            return;
        };
        self.transfers.begun.get_or_insert_with(Clock::now);
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
    async fn close(&self, result: &Result<JobResult, JobError>) {
        let reason = result
            .as_ref()
            .err()
            .map_or("the job is over", |error| &error.message);
        let closing = self.senders.iter().flatten().cloned().map(|sender| {
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

async fn sleep_until(at: Option<Clock>) {
    match at {
        Some(at) => tokio::time::sleep_until(at.into()).await,
        None => future::pending().await,
    }
}

/// How long all connections together may take to close.
const CLOSE_LIMIT: Duration = Duration::from_secs(2);
/// Events that wait to be handled.
const EVENTS_MAX: usize = 1024;
