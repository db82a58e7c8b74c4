//! A superstep on a host: what has been executed, and what comes of it.

use bsp::HostId;
use bsp::units::Seconds;
use protocol::{Address, Message, NodeMessage};

use super::super::pool::Done;
use super::super::sharing::shared;
use super::{Computed, HostWorld, seconds};
use crate::world::{Event, World};

impl HostWorld {
    /// A process has been executed; when all have, what they sent leaves.
    pub(in super::super) fn executed(&mut self, done: Done) {
        let executed = match done.result {
            Ok(executed) => executed,
            Err(error) => return self.fail(error),
        };
        self.computed.push(Computed {
            rank: done.rank,
            program: done.program,
            work: done.work,
            held: done.held,
            halted: executed.output.is_some(),
        });
        if let Some(output) = &executed.output {
            self.outputs.insert(done.rank, output.clone());
        }
        if let Err(error) = self.exchanges.computed(done.rank, executed) {
            return self.fail(error);
        }
        if self.exchanges.all_computed() {
            self.send_parcels();
            self.deliver_computed();
        }
    }

    fn send_parcels(&mut self) {
        let now = seconds(self.began.elapsed());
        let others: Vec<HostId> = self.peers.keys().copied().collect();
        for (host, batch) in self.exchanges.batches(others.into_iter(), now) {
            let (from, to) = (Address::Node(self.own), Address::Node(host));
            self.post(
                host,
                from,
                to,
                &Message::Node(NodeMessage::Batch(Box::new(batch))),
            );
        }
        self.send_acknowledgements();
    }

    /// Everybody here has computed; they took what they would have taken together.
    fn deliver_computed(&mut self) {
        let mut computed = std::mem::take(&mut self.computed);
        computed.sort_by_key(|computed| computed.rank);
        let held: Vec<Seconds> = computed.iter().map(|computed| computed.held).collect();
        let times = shared(&held, self.machine.processors.get());
        for (computed, time) in computed.into_iter().zip(times) {
            let Computed {
                rank,
                program,
                work,
                halted,
                ..
            } = computed;
            if !halted {
                self.programs.insert(rank, program);
            }
            let event = Event::Computed { work, time, halted };
            self.deliver(Address::Process(rank), event);
        }
    }

    /// Tells everybody here what they exchanged, once all of it is here.
    pub(super) fn deliver_exchanges(&mut self) {
        // Batches may be here before a process has been told that it has computed.
        if !self.exchanges.is_awaited_by(self.exchanging.len()) {
            return;
        }
        match self.exchanges.complete() {
            Ok(None) => {}
            Ok(Some(exchanged)) => {
                self.exchanging.clear();
                for (rank, exchange) in exchanged {
                    self.deliver(Address::Process(rank), Event::Exchanged(exchange));
                }
            }
            Err(error) => self.fail(error),
        }
    }
}
