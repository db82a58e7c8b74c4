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
pub(super) enum OnNetwork<Other> {
    /// One of a barrier, from or to a process: there may be one for each process.
    Barrier(BarrierMessage),
    /// Any other.
    Other(Other),
}

/// Messages between agents on the network, by number, with a count for each Manager.
pub(super) struct Transfers {
    /// Those of a barrier have even numbers, twice that of their place.
    barrier: Slots<BarrierMessage>,
    others: Slots<Transfer>,
    /// The number of messages that each Manager has on the network, by Set, and whether it waits for their arrival.
    of_managers: Vec<(u32, bool)>,
}

/// Values by number. A number that was removed is given again, the last one first.
#[derive(Debug)]
struct Slots<T> {
    values: Vec<Option<T>>,
    free: Vec<u32>,
}

impl Transfers {
    /// No messages, of the Managers of `sets` Sets.
    pub(super) fn new(sets: usize) -> Self {
        Self {
            barrier: Slots::new(),
            others: Slots::new(),
            of_managers: vec![(0, false); sets],
        }
    }

    /// Adds a message of the agent `from`, and returns its number.
    pub(super) fn insert(&mut self, from: Address, transfer: OnNetwork<Transfer>) -> u32 {
        if let Address::SetManager(set) = from {
            self.of_managers[set.index()].0 += 1;
        }
        match transfer {
            OnNetwork::Barrier(message) => 2 * self.barrier.insert(message),
            OnNetwork::Other(transfer) => 2 * self.others.insert(transfer) + 1,
        }
    }

    /// The message with this number.
    pub(super) fn get(&self, number: u32) -> OnNetwork<&Transfer> {
        if number.is_multiple_of(2) {
            OnNetwork::Barrier(*self.barrier.get(number / 2))
        } else {
            OnNetwork::Other(self.others.get(number / 2))
        }
    }

    /// Removes a message that has arrived.
    pub(super) fn remove(&mut self, number: u32) -> OnNetwork<Transfer> {
        if number.is_multiple_of(2) {
            OnNetwork::Barrier(self.barrier.remove(number / 2))
        } else {
            OnNetwork::Other(self.others.remove(number / 2))
        }
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

impl<T> Slots<T> {
    /// No values.
    const fn new() -> Self {
        Self {
            values: Vec::new(),
            free: Vec::new(),
        }
    }

    /// Adds a value, and returns its number.
    fn insert(&mut self, value: T) -> u32 {
        if let Some(number) = self.free.pop() {
            self.values[at(number)] = Some(value);
            return number;
        }
        self.values.push(Some(value));
        u32::try_from(self.values.len() - 1).expect("fewer values than that at a time")
    }

    /// The value with this number.
    fn get(&self, number: u32) -> &T {
        let value = self.values[at(number)].as_ref();
        value.expect("it has not been removed")
    }

    /// Removes the value with this number.
    fn remove(&mut self, number: u32) -> T {
        let value = self.values[at(number)].take();
        self.free.push(number);
        value.expect("it has not been removed")
    }
}

fn at(number: u32) -> usize {
    usize::try_from(number).expect("u32 fits usize")
}
