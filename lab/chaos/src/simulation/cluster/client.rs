//! The client in a fault simulation.

use agents::{RunError, decode};
use bsp::{HostId, Rank};
use bytes::Bytes;
use machines::client::{ClientAction, ClientEvent, NodeWord};
use machines::client::{ClientMachine, initial};
use machines::client::{JobOutput, JobResult};
use machines::{InputMemory, JobError};
use protocol::{Address, Message};
use record::Event;

use crate::simulation::cluster::connection::{Packet, Untaken};
use crate::simulation::cluster::wire::{At, CONNECTING};
use crate::simulation::cluster::{Cluster, Connecting, Happening};
use crate::simulation::scenario::describe_job;

impl Cluster<'_> {
    /// Starts a client, which submits the job.
    pub(super) fn submit(&mut self) {
        let job = self.job_id();
        let place = self.client_place();
        self.places[place].incarnation += 1;
        let scenario = self.scenario;
        if let Some(description) = describe_job(&scenario.request, job)
            && let Err(problem) = self.disk.describe(&description)
            && !self.has_described
        {
            self.violate(format!("the job cannot be described: {problem}"));
        }
        self.has_described = true;
        // Nodes build the processes of a new job.
        let states = scenario.saved.clone().unwrap_or_default();
        let order = (0..states.len()).map(Rank::from_index).collect();
        self.client = Some(ClientProcess {
            machine: ClientMachine::new(&scenario.request, (job, order), self.instant()),
            states,
            connections: vec![None; scenario.request.members.len()],
            timer: None,
            began: self.now,
            result: None,
        });
        self.settle_client();
    }

    pub(super) fn tell_client(&mut self, event: ClientEvent) {
        let now = self.instant();
        if let Some(client) = &mut self.client {
            client.machine.handle(now, event);
            self.settle_client();
        }
    }

    pub(super) fn client_local(&mut self, incarnation: u64, event: ClientEvent) {
        let place = self.client_place();
        if self.places[place].incarnation != incarnation {
            return;
        }
        if let (ClientEvent::Tick, Some(client)) = (&event, &mut self.client) {
            client.timer = None;
        }
        if 0 < self.places[place].stopped {
            let happening = Happening::ClientLocal(incarnation, Box::new(event));
            return self.places[place].postponed.push(happening);
        }
        self.tell_client(event);
    }

    /// Performs what the client decides.
    fn settle_client(&mut self) {
        while let Some(action) = self
            .client
            .as_mut()
            .and_then(|client| client.machine.poll())
        {
            self.perform_client(action);
        }
        let Some(client) = &self.client else { return };
        let timeout = client.machine.next_timeout().map(|at| self.date(at));
        if let (Some(at), Some(client)) = (timeout, &mut self.client)
            && client.timer != timeout
        {
            client.timer = timeout;
            let place = self.nodes.len();
            let incarnation = self.places[place].incarnation;
            let tick = Happening::ClientLocal(incarnation, Box::new(ClientEvent::Tick));
            self.queue.add(at.max(self.now), tick);
        }
    }

    fn perform_client(&mut self, action: ClientAction) {
        let connection = |cluster: &Self, host: HostId| {
            let client = cluster.client.as_ref()?;
            client.connections[host.index()]
        };
        match action {
            ClientAction::Connect(host, role) => {
                let from = self.owner(self.client_place());
                let delay = self.network.delay(from.place, host.index(), 3000)
                    + self.network.delay(host.index(), from.place, 3000);
                let connecting = Connecting {
                    from,
                    to: host.index(),
                    job: None,
                    number: 0,
                    role,
                    limit: self.now + CONNECTING,
                };
                self.queue
                    .add(self.now + delay, Happening::Connect(connecting));
            }
            ClientAction::Send(host, frame) => {
                if let Some(at) = connection(self, host) {
                    // The end of a connection is an event of its own.
                    drop(self.send_frame(at, 0, &frame));
                }
            }
            ClientAction::SendState(host, rank) => self.send_initial(host, rank),
            ClientAction::Refuse(host, problem) => {
                if let Some(at) = connection(self, host) {
                    self.refuse(at, problem);
                }
            }
            ClientAction::Observe(event) => {
                if let Event::Checkpoint(checkpoint) = &*event {
                    let superstep = checkpoint.superstep;
                    let problem = checkpoint.problem.as_deref().unwrap_or("complete");
                    let line =
                        format_args!("the checkpoint before superstep {superstep}: {problem}");
                    self.trace.line(self.now, line);
                }
                if let Event::Call(call) = *event {
                    let (superstep, moves) = (call.superstep, call.migrations.len());
                    let line = format_args!("a call after superstep {superstep} moves {moves}");
                    self.trace.line(self.now, line);
                }
            }
            // Jobs of these nodes have no files.
            ClientAction::ShowFolders(_) => {}
            ClientAction::Finish(result) => self.finish(*result),
        }
    }

    fn send_initial(&mut self, host: HostId, rank: Rank) {
        let Some(client) = &self.client else { return };
        let Some(at) = client.connections[host.index()] else {
            return;
        };
        let state = initial(rank, client.states[rank.index()].clone());
        let ends = (Address::Client, Address::Process(rank));
        if let Err(error) = self.send_state(at, 0, (ends, state), Untaken::Initial) {
            let incarnation = self.places[self.client_place()].incarnation;
            let sent = ClientEvent::StateSent(Err(error.into()));
            let happening = Happening::ClientLocal(incarnation, Box::new(sent));
            self.queue.add(self.now, happening);
        }
    }

    /// The job is over for the client.
    fn finish(&mut self, result: Result<JobResult, JobError>) {
        let reason = result
            .as_ref()
            .err()
            .map_or("the job is over", |error| &error.message)
            .to_owned();
        match &result {
            Ok(_) => self
                .trace
                .line(self.now, format_args!("the job is complete")),
            Err(error) => self
                .trace
                .line(self.now, format_args!("the job has failed: {error}")),
        }
        let Some(client) = &mut self.client else {
            return;
        };
        client.result = Some(result);
        let connections: Vec<At> = client.connections.iter().flatten().copied().collect();
        for at in connections {
            self.close(at, &reason);
        }
    }

    /// The client has a connection to the node of `host`.
    pub(super) fn client_connected(&mut self, at: At, host: usize) {
        let build = self.scenario.request.builds.own.clone();
        if let Some(client) = &mut self.client {
            client.connections[host] = Some(at);
        }
        let host = HostId::from_index(host);
        self.tell_client(ClientEvent::Connected(host, Ok(build)));
    }

    /// The client reads a packet.
    pub(super) fn read_at_client(&mut self, at: At, packet: Packet) {
        let word = match packet {
            Packet::Close(reason) => {
                self.lose(at);
                NodeWord::Closed(Ok(reason))
            }
            Packet::Frame(stamp, bytes) => {
                let session = protocol::transport::SessionState::default();
                let checked = self.connections[at.0].check_frame(at.1, (stamp, bytes), session);
                match checked {
                    Ok((_, _, Message::Job(message))) => {
                        NodeWord::Message(*message, InputMemory::default())
                    }
                    Ok(_) => return,
                    Err(refusal) => {
                        let error = self.end(at).1.refused(refusal.clone());
                        self.refuse(at, refusal.to_string());
                        NodeWord::Closed(Err(error.into()))
                    }
                }
            }
            // Nodes send them to each other alone.
            Packet::Pieces(..) => return,
            Packet::State(_, _, state) => {
                self.take(at);
                NodeWord::Output(state.rank, state.payload)
            }
        };
        self.tell_client_of(at, word);
    }

    /// Tells the client what has come from the node at a connection.
    pub(super) fn tell_client_of(&mut self, at: At, word: NodeWord) {
        let host = HostId::from_index(self.connections[at.0].ends[1 - at.1].place);
        let is_current = self
            .client
            .as_ref()
            .is_some_and(|client| client.connections[host.index()] == Some(at));
        if is_current {
            self.tell_client(ClientEvent::Node(host, word));
        }
    }

    /// Checks the result of a job, which has to be complete if `must_complete`.
    pub(super) fn check(&mut self, result: Result<JobResult, JobError>, must_complete: bool) {
        match result {
            Ok(result) => {
                let outputs: Result<Vec<u64>, _> = result
                    .outputs
                    .into_iter()
                    .map(|(rank, (_, output))| match output {
                        JobOutput::Value(output) => decode("the output of", rank, &output),
                        JobOutput::File(_) => {
                            let problem = "it is in a file of its node";
                            Err(RunError::encoding(
                                "the output of",
                                rank,
                                "decoded",
                                &problem,
                            ))
                        }
                    })
                    .collect();
                if outputs.as_ref() != Ok(&self.scenario.outputs) {
                    self.violate("the outputs are not those of the reference".to_owned());
                }
            }
            Err(error) if must_complete => {
                self.violate(format!("the job failed without a reason: {error}"));
            }
            Err(error) => {
                let names_cause = ["node-", "interrupted", "client"];
                if !names_cause.iter().any(|name| error.message.contains(name)) {
                    self.violate(format!("the error does not name the cause: {error}"));
                }
            }
        }
    }
}

/// The client: its machine, and what its shell would have.
pub(super) struct ClientProcess<'a> {
    machine: ClientMachine<'a>,
    /// The saved processes, if the job resumes another one.
    states: Vec<Bytes>,
    connections: Vec<Option<(usize, usize)>>,
    timer: Option<u64>,
    pub(super) began: u64,
    pub(super) result: Option<Result<JobResult, JobError>>,
}
