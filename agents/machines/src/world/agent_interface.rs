//! What the agents on a host ask of their world.

use std::sync::Arc;

use agents::mutant::Mutant;
use agents::process_state::ProcessState;
use agents::{
    Cost, Deliberation, Event, Executor, HostProbe, Joining, LinkProber, Mail, Membership, Moved,
    RunError, Turn, mutant,
};
use bsp::reference;
use bsp::units::{Instant, InstructionsPerSecond, Seconds};
use bsp::{HostId, MemorySize, Rank, SetId};
use migbsp::{ExternalLoad, HostLink, Path};
use protocol::transport::{PeerError, Refusal};
use protocol::{
    Address, AgentMessage, EncodedState, Message, Migrate, NodeMessage, Placed, ProbeLink, Start,
    Step,
};

use super::HostWorld;
use crate::failure::JobError;
use crate::node::action::JobAction;
use crate::processors::Processors;
use crate::time::duration;

impl Mail for HostWorld {
    fn now(&self) -> Instant {
        Instant::START + self.lasted()
    }

    fn send(&mut self, from: Address, to: Address, message: AgentMessage, _: Cost) {
        self.step = message.step();
        match self.host_of(to) {
            Some(host) if host == self.own => self.deliver(to, Event::Message { from, message }),
            Some(host) => {
                let frame = self.peers.frame(host, from, to, &message.into());
                self.send_frame(host, frame);
            }
            None => self.fail(RunError::Peer(format!("{from:?} has a message for {to:?}"))),
        }
    }

    fn wake(&mut self, agent: Address, after: Seconds) {
        let at = self.clock.checked_add(duration(after));
        // No run lasts as long as the clock of the system goes.
        if let Some(at) = at {
            self.timers.add(at, agent);
        }
    }

    fn flush(&mut self, set: SetId) {
        // Messages keep their order, so those sent before have arrived.
        self.deliver(Address::SetManager(set), Event::Flushed);
    }

    fn record(&mut self, event: record::Event) {
        if let record::Event::Superstep(superstep) = &event {
            self.elapse(superstep);
        }
        self.client.record(&event);
    }

    fn refuse(&mut self, from: Address, problem: String) {
        let host = self.host_of(from);
        let peer = host.and_then(|host| Some((host, self.peers.info(host)?)));
        let error = match peer {
            Some((host, info)) => {
                let error = PeerError::Refused {
                    peer: Arc::clone(info),
                    source: Refusal::Content(problem.clone()),
                };
                self.act(JobAction::Refuse(host, problem));
                error.into()
            }
            None => RunError::Peer(format!("{from:?}: {problem}")).into(),
        };
        self.check(Err::<(), JobError>(error));
    }

    fn fail(&mut self, error: RunError) {
        self.check(Err::<(), _>(error));
    }
}

impl Executor for HostWorld {
    fn run(&mut self, rank: Rank, superstep: u64, elapsed: Seconds, delay: Seconds) {
        if self.superstep_limit <= superstep {
            let limit = self.superstep_limit;
            // All nodes name the same process.
            let rank = self.exchanges.first_running().unwrap_or(rank);
            return self.fail(reference::Error::NeverHalts { rank, limit }.into());
        }
        self.supersteps = superstep + 1;
        self.pass_checkpoint(superstep);
        let begun = self.exchanges.begin(superstep);
        let started = begun.and_then(|()| {
            let turn = Turn {
                rank,
                size: self.exchanges.size(),
                superstep,
                elapsed,
                inbox: self.exchanges.remove_inbox(rank),
            };
            self.computation.start(turn, delay)
        });
        self.check(started);
    }

    fn exchange(&mut self, rank: Rank) {
        self.exchanging.insert(rank);
        self.deliver_exchanges();
    }

    fn checkpoint(&mut self, rank: Rank, superstep: u64, agent: Vec<u8>) {
        self.save(rank, superstep, agent);
    }

    fn depart(&mut self, order: Migrate, agent: Vec<u8>) {
        let Migrate { rank, to, .. } = order;
        let program = self.computation.remove(rank);
        let Some(program) = program.filter(|_| self.peers.info(to).is_some()) else {
            let problem = format!("{rank} cannot move to {to}: one of them is not in this job");
            return self.fail(RunError::Peer(problem));
        };
        self.departed.push(rank);
        if let Some(checkpoints) = &mut self.checkpoints {
            checkpoints.leave(rank);
        }
        let process = ProcessState {
            agent,
            inbox: if mutant::is(Mutant::LeaveInbox) {
                Vec::new()
            } else {
                self.exchanges.leave(rank)
            },
            program,
        };
        self.act(JobAction::Depart(order, Box::new(process)));
    }

    fn install(&mut self, host: HostId, from: Address, state: EncodedState) {
        let Some(measured) = self.measured.remove(&state.rank) else {
            let problem = format!("a state of {}, which has arrived already", state.rank);
            return self.refuse(from, problem);
        };
        let moved = Moved {
            from,
            agent: state.payload,
            host,
            epoch: state.epoch,
            measured,
        };
        self.deliver(Address::Process(state.rank), Event::Moved(Box::new(moved)));
    }

    fn memory(&self, rank: Rank) -> MemorySize {
        self.computation.memory(rank)
    }

    fn remaining(&self, rank: Rank, completed: u64) -> Option<u64> {
        self.computation.remaining(rank, completed)
    }

    fn deliberate(&mut self, set: SetId, deliberation: Deliberation) {
        self.step = Step::Plan;
        self.act(JobAction::Plan(set, Box::new(deliberation)));
    }
}

impl HostProbe for HostWorld {
    fn processors(&self, _: HostId) -> (InstructionsPerSecond, u32) {
        let Processors { count, speed } = self.processors;
        (speed, count.get())
    }

    fn load(&mut self, _: HostId, window: Seconds) -> f64 {
        self.meter.load(window)
    }

    fn felt_load(&mut self, host: HostId, window: Seconds) -> f64 {
        let felt = self.computation.felt_load(self.clock, window);
        let felt = felt.filter(|_| self.meter.is_a_host());
        felt.unwrap_or_else(|| self.load(host, window))
    }

    fn withheld(&mut self, _: HostId, window: Seconds) -> f64 {
        self.meter.withheld(window)
    }

    fn busy_periods(&mut self, _: HostId, window: Seconds) -> u64 {
        self.meter.busy_periods(window)
    }

    fn ages(&mut self, _: HostId) -> Vec<Seconds> {
        let mut ages = self.meter.ages();
        ages.truncate(ExternalLoad::AGES_MAX);
        ages
    }

    fn overhead_busy(&self, _: HostId) -> Seconds {
        self.meter.overhead()
    }

    fn transfer_rate(&self, _: SetId, to: SetId) -> f64 {
        self.transfers.per_byte(to)
    }

    fn path(&self, _: SetId, to: SetId) -> Path {
        Path {
            latency: self.transfers.latency(to),
            per_byte: self.transfers.per_byte(to),
        }
    }

    fn links(&self, host: HostId) -> Vec<HostLink> {
        let links = self.transfers.to_hosts();
        let link = |(to, per_byte)| HostLink {
            from: host,
            to,
            per_byte,
        };
        links.map(link).collect()
    }

    fn link_prober(&mut self) -> Option<&mut dyn LinkProber> {
        Some(self)
    }
}

impl LinkProber for HostWorld {
    fn probe(&mut self, order: ProbeLink, by: Address) {
        self.order_probe(order, by);
    }
}

impl Membership for HostWorld {
    fn commit(&mut self, set: SetId, epoch: u64, moves: &[Migrate]) {
        if !self.placement.is_announced_by(set) {
            return;
        }
        let ends = moves.iter().flat_map(|order| [order.from, order.to]);
        let concerned: Vec<HostId> = ends.collect();
        let moves: Vec<(Rank, HostId)> = moves.iter().map(|order| (order.rank, order.to)).collect();
        self.place(epoch, &moves);
        let placed = Message::Node(NodeMessage::Placed(Box::new(Placed { epoch, moves })));
        for host in self.placement.receivers(set) {
            if mutant::is(Mutant::AnnounceToFew) && !concerned.contains(&host) {
                continue;
            }
            let (from, to) = (Address::SetManager(set), Address::Node(host));
            let frame = self.peers.frame(host, from, to, &placed);
            self.send_frame(host, frame);
        }
    }

    fn is_checkpoint_due(&mut self, completed: u64) -> bool {
        let now = self.now();
        let checkpoints = self.checkpoints.as_mut();
        checkpoints.is_some_and(|checkpoints| checkpoints.decide(completed, now))
    }

    fn finished(&mut self, rank: Rank) {
        self.departed.push(rank);
        let output = self.client.remove_output(rank);
        self.act(JobAction::SendOutput(rank, output));
    }

    fn joining(&mut self, _: u64) -> Option<Joining> {
        // A change of membership has to be agreed on first.
        None
    }

    fn released(&mut self, _: SetId, start: Start, is_over: bool) -> bool {
        let now = self.now();
        if let Some(checkpoints) = self.checkpoints.as_mut().filter(|_| start.checkpoint) {
            checkpoints.note(start.superstep, now);
        }
        self.has_barrier &= !is_over;
        true
    }
}
