//! The check of what other nodes send.

use agents::mutant::Mutant;
use agents::{RunError, check, mutant};
use bsp::{HostId, Rank};
use protocol::{Batch, MessageHeader};

use super::Exchanges;

impl Exchanges {
    /// Checks that a batch from `host` is what such a host may send.
    pub(super) fn check(&self, host: HostId, batch: &Batch) -> Result<(), RunError> {
        self.problem(host, batch)
            .map_or(Ok(()), |problem| Err(RunError::Peer(problem)))
    }

    /// Checks that a batch from `host` follows the one before it: a sender sends the batches of a superstep together, and
    /// nothing after the last of them.
    pub(super) fn check_order(&mut self, host: HostId, batch: &Batch) -> Result<(), RunError> {
        let (superstep, is_last) = (batch.superstep, batch.is_last);
        let before = self.newest.insert(host, (superstep, is_last));
        let Some((newest, was_last)) = before else {
            return Ok(());
        };
        let follows = newest < superstep || (newest == superstep && !was_last);
        let problem =
            || format!("{host} sent a batch of superstep {superstep} after one of {newest}");
        check(follows, problem).map_err(RunError::Peer)
    }

    /// Why `host` may not send this batch.
    pub(super) fn problem(&self, host: HostId, batch: &Batch) -> Option<String> {
        let (census, size) = (&self.census, self.census.size());
        let round = self.round.as_ref();
        let latest = self.latest_superstep();
        if latest < batch.superstep {
            let superstep = batch.superstep;
            return Some(format!(
                "{host} sent a batch of superstep {superstep}, but none can be later than {latest}"
            ));
        }
        let is_late = round.is_some_and(|round| batch.superstep < round.superstep);
        if is_late && !batch.messages.is_empty() {
            let superstep = batch.superstep;
            return Some(format!(
                "{host} sent messages of superstep {superstep}, which is over"
            ));
        }
        // A host that does not know the last moves yet keeps early messages for arriving processes.
        let is_known = self.round.is_some() || self.completed == Some(batch.superstep);
        let header = batch.messages.iter().find(|header| {
            size <= header.from.0
                || size <= header.to.0
                || (is_known
                    && !(census.lives(header.from, host) && census.lives(header.to, census.own())))
        });
        if let Some(MessageHeader { from, to, .. }) = header {
            return Some(format!(
                "{host} sent a message from {from} to {to}, which do not live there and here"
            ));
        }
        let is_wrong = |rank: &&Rank| size <= rank.0 || (is_known && !census.lives(**rank, host));
        let halted = batch.halted.iter().find(is_wrong);
        halted.map(|rank| format!("{host} says that {rank} has halted, which does not live there"))
    }

    /// The latest superstep of which another node can send a batch: with processes here, no other passes the next barrier.
    ///
    /// If all have left, others may go on before this node learns of the placement.
    pub(super) fn latest_superstep(&self) -> u64 {
        let have_left = match self.census.living_here() {
            0 => true,
            living => living <= self.leaving.len() && !mutant::is(Mutant::RefuseWhenLeft),
        };
        if self.is_behind || have_left {
            return self.superstep_limit;
        }
        let next = self.completed.map_or(0, |completed| completed + 1);
        self.round.as_ref().map_or(next, |round| round.superstep) + 1
    }
}
