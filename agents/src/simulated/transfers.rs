//! Messages between agents on the simulated network.

use bsp::SetId;
use bsp::units::{Bytes, Instant};
use protocol::{Address, AgentMessage};

use super::barrier_message::BarrierMessage;

/// A message between agents.
pub(super) struct Transfer {
    pub(super) from: Address,
    pub(super) to: Address,
    pub(super) message: AgentMessage,
    pub(super) bytes: Bytes,
    pub(super) sent: Instant,
}

/// A message between agents on the network.
pub(super) enum OnNetwork {
    /// One of a barrier, from or to a process: there may be one for each process.
    Barrier(BarrierMessage),
    /// Any other.
    Other(Box<Transfer>),
}

/// Messages between agents on the network, by number, with a count for each Manager.
pub(super) struct Transfers {
    transfers: Vec<Option<OnNetwork>>,
    free: Vec<u32>,
    /// The number of messages that each Manager has on the network, by Set, and whether it waits for their arrival.
    of_managers: Vec<(u32, bool)>,
}

impl Transfers {
    /// No messages, of the Managers of `sets` Sets.
    pub(super) fn new(sets: usize) -> Self {
        Self {
            transfers: Vec::new(),
            free: Vec::new(),
            of_managers: vec![(0, false); sets],
        }
    }

    /// Adds a message of the agent `from`, and returns its number.
    pub(super) fn insert(&mut self, from: Address, transfer: OnNetwork) -> u32 {
        if let Address::SetManager(set) = from {
            self.of_managers[set.index()].0 += 1;
        }
        if let Some(number) = self.free.pop() {
            self.transfers[at(number)] = Some(transfer);
            return number;
        }
        self.transfers.push(Some(transfer));
        u32::try_from(self.transfers.len() - 1).expect("fewer messages are on the network")
    }

    /// The message with this number.
    pub(super) fn get(&self, number: u32) -> &OnNetwork {
        let transfer = self.transfers[at(number)].as_ref();
        transfer.expect("it is on the network")
    }

    /// Removes a message that has arrived.
    pub(super) fn remove(&mut self, number: u32) -> OnNetwork {
        let transfer = self.transfers[at(number)].take();
        self.free.push(number);
        transfer.expect("it is on the network")
    }

    /// Notes that a message of the Manager of `set` has been delivered.
    pub(super) fn delivered(&mut self, set: SetId) {
        self.of_managers[set.index()].0 -= 1;
    }

    /// The Manager of `set` waits for the arrival of all its messages.
    pub(super) fn await_arrival(&mut self, set: SetId) {
        self.of_managers[set.index()].1 = true;
    }

    /// Whether the Manager of `set` waits for the arrival of its messages, and all have arrived: true once.
    pub(super) fn has_flushed(&mut self, set: SetId) -> bool {
        let (count, waits) = &mut self.of_managers[set.index()];
        *count == 0 && std::mem::take(waits)
    }
}

fn at(number: u32) -> usize {
    usize::try_from(number).expect("u32 fits usize")
}
