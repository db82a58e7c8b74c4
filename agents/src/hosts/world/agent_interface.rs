//! What the agents on a host ask of their world.

use std::time::Duration;

use bsp::reference;
use bsp::units::{Instant, InstructionsPerSecond, Seconds};
use bsp::{HostId, Image, Rank, SetId};
use migbsp::{ExternalLoad, HostLink, Path};
use protocol::{
    Address, AgentMessage, BusyProcess, Message, Migrate, NodeMessage, Placed, ProbeLink,
    ProcessImage,
};

use super::{HostWorld, planning};
use crate::deliberation::Deliberation;
use crate::error::RunError;
use crate::hosts::failure::JobError;
use crate::hosts::local_event::LocalEvent;
use crate::hosts::meter::thread_time;
use crate::hosts::migration::departure::DepartingProcess;
use crate::hosts::time::{elapsed, seconds};
use crate::programs::Turn;
use crate::record;
use crate::world::{Cost, Event, Moved, World};

impl World for HostWorld {
    fn now(&self) -> Instant {
        Instant::START + elapsed(self.began)
    }

    fn send(&mut self, from: Address, to: Address, message: AgentMessage, _: Cost) {
        match self.host_of(to) {
            Some(host) if host == self.own => self.deliver(to, Event::Message { from, message }),
            Some(host) => {
                let sent = self.peers.send(host, from, to, &message.into());
                self.check(sent);
            }
            None => self.fail(RunError::Peer(format!("{from:?} has a message for {to:?}"))),
        }
    }

    fn run(&mut self, rank: Rank, (superstep, elapsed): (u64, Seconds), delay: Seconds) {
        if self.superstep_limit <= superstep {
            let limit = self.superstep_limit;
            // All nodes name the same process.
            let rank = self.exchanges.first_running().unwrap_or(rank);
            return self.fail(reference::Error::NeverHalts { rank, limit }.into());
        }
        self.supersteps = superstep + 1;
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

    fn listen(&mut self, _: u64, _: Option<Rank>) {
        // A host receives messages in the order of their arrival.
    }

    fn depart(&mut self, order: Migrate, agent: Vec<u8>) {
        let Migrate { rank, to, .. } = order;
        let program = self.computation.remove(rank);
        let peer = self.peers.sender(to).cloned();
        let (Some(program), Some(peer)) = (program, peer) else {
            let problem = format!("{rank} cannot move to {to}: one of them is not in this job");
            return self.fail(RunError::Peer(problem));
        };
        self.departed.push(rank);
        let process = DepartingProcess {
            agent,
            inbox: self.exchanges.remove_inbox(rank),
            program,
        };
        self.departures.send(order, process, peer);
    }

    fn install(&mut self, host: HostId, from: Address, image: ProcessImage) {
        let Some(measured) = self.measured.remove(&image.rank) else {
            let problem = format!("an image of {}, which has arrived already", image.rank);
            return self.refuse(from, problem);
        };
        let moved = Moved {
            from,
            agent: image.payload,
            host,
            epoch: image.epoch,
            measured,
        };
        self.deliver(Address::Process(image.rank), Event::Moved(Box::new(moved)));
    }

    fn commit(&mut self, set: SetId, epoch: u64, moves: &[Migrate]) {
        if !self.placement.is_announced_by(set) {
            return;
        }
        let moves: Vec<(Rank, HostId)> = moves.iter().map(|order| (order.rank, order.to)).collect();
        self.place(epoch, &moves);
        let placed = Message::Node(NodeMessage::Placed(Box::new(Placed { epoch, moves })));
        for host in self.placement.receivers(set) {
            let (from, to) = (Address::SetManager(set), Address::Node(host));
            let sent = self.peers.send(host, from, to, &placed);
            self.check(sent);
        }
    }

    fn wake(&mut self, agent: Address, after: Seconds) {
        let events = self.events.clone();
        let after = Duration::try_from_secs_f64(after.get()).unwrap_or(Duration::MAX);
        drop(tokio::spawn(async move {
            tokio::time::sleep(after).await;
            // The job may be over.
            drop(events.send(LocalEvent::Woken(agent)));
        }));
    }

    fn flush(&mut self, set: SetId) {
        // Messages keep their order, so those sent before have arrived.
        self.deliver(Address::SetManager(set), Event::Flushed);
    }

    fn deliberate(&mut self, set: SetId, deliberation: Deliberation) {
        let started = planning::plan(set, deliberation, self.events.clone());
        self.check(started);
    }

    fn finished(&mut self, rank: Rank) {
        self.departed.push(rank);
        self.client.send_output(rank);
    }

    fn image(&self, rank: Rank) -> Image {
        self.computation.image(rank)
    }

    fn remaining(&self, rank: Rank, completed: u64) -> Option<u64> {
        self.computation.remaining(rank, completed)
    }

    fn processors(&self, _: HostId) -> (InstructionsPerSecond, u32) {
        (self.machine.offered(), self.machine.processors.get())
    }

    fn load(&mut self, _: HostId, window: Seconds) -> f64 {
        match self.machine.pace.played() {
            Some(played) => played.load(window),
            None => self.machine.load.load(window),
        }
    }

    fn withheld(&mut self, host: HostId, window: Seconds) -> f64 {
        match self.machine.pace.played() {
            Some(played) => played.withheld(window),
            None if self.machine.is_a_host() => self.machine.load.withheld(window),
            None => self.load(host, window),
        }
    }

    fn busy_periods(&mut self, _: HostId, window: Seconds) -> u64 {
        match self.machine.pace.played() {
            Some(played) => played.busy_periods(window),
            None if self.machine.is_a_host() => self.machine.load.busy_periods(window),
            None => 0,
        }
    }

    fn ages(&mut self, _: HostId) -> Vec<Seconds> {
        let mut ages = match self.machine.pace.played() {
            Some(played) => played.ages(),
            None if self.machine.is_a_host() => {
                let others = self.machine.load.busy_others();
                others.iter().map(BusyProcess::age).collect()
            }
            None => Vec::new(),
        };
        ages.truncate(ExternalLoad::AGES_MAX);
        ages
    }

    fn felt_load(&mut self, host: HostId, window: Seconds) -> f64 {
        let felt = self.computation.felt_load(window);
        let felt = felt.filter(|_| self.machine.is_a_host());
        felt.unwrap_or_else(|| self.load(host, window))
    }

    fn overhead_busy(&self, _: HostId) -> Seconds {
        // The thread that carries messages is the one that calls this.
        seconds(thread_time())
    }

    fn transfer_rate(&self, _: SetId, to: SetId) -> f64 {
        self.transfers.per_byte(to)
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

    fn probes_links(&self) -> bool {
        true
    }

    fn probe_link(&mut self, order: ProbeLink, by: Address) {
        self.order_probe(order, by);
    }

    fn path(&self, _: SetId, to: SetId) -> Path {
        Path {
            latency: self.transfers.latency(to),
            per_byte: self.transfers.per_byte(to),
        }
    }

    fn record(&mut self, event: record::Event) {
        self.client.record(&event);
    }

    fn refuse(&mut self, from: Address, problem: String) {
        let sender = self.host_of(from).and_then(|host| self.peers.sender(host));
        let error = match sender {
            Some(sender) => sender.refuse(problem).into(),
            None => RunError::Peer(format!("{from:?}: {problem}")).into(),
        };
        self.check(Err::<(), JobError>(error));
    }

    fn fail(&mut self, error: RunError) {
        self.check(Err::<(), _>(error));
    }
}
