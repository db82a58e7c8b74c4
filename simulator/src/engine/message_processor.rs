//! The overhead of messages: the time that the hosts at the two ends are occupied (`o` of `LogGP`).

use bsp::HostId;
use bsp::units::Seconds;

/// The message processors of all hosts.
///
/// Each processes one message at a time, sent and received ones alike, in the order in which they
/// come.
#[derive(Debug, Default)]
pub(super) struct MessageProcessors {
    /// By host, up to the highest that has processed a message.
    processors: Vec<MessageProcessor>,
}

#[derive(Clone, Copy, Debug, Default)]
struct MessageProcessor {
    /// When its queue will be empty, in seconds.
    free: f64,
    /// Seconds needed for all messages before the platform was last at rest.
    before: f64,
    /// Seconds needed for all messages since, the queued ones included.
    total: f64,
}

impl MessageProcessors {
    /// Queues a message that takes `length` at a host, and returns when it has been processed.
    pub(super) fn enqueue(&mut self, host: HostId, now: f64, length: Seconds) -> f64 {
        if self.processors.len() <= host.index() {
            self.processors
                .resize(host.index() + 1, MessageProcessor::default());
        }
        let processor = &mut self.processors[host.index()];
        let length = length.get().max(0.0);
        processor.free = processor.free.max(now) + length;
        processor.total += length;
        processor.free
    }

    /// All messages have been processed, and time counts from here. Returns for how long each host was busy since this was
    /// called last.
    pub(super) fn rest(&mut self) -> Vec<f64> {
        let rest = |processor: &mut MessageProcessor| {
            let busy = std::mem::take(&mut processor.total);
            (processor.before, processor.free) = (processor.before + busy, 0.0);
            busy
        };
        self.processors.iter_mut().map(rest).collect()
    }

    /// The hosts are busy for as long as they were once, as [`rest`](Self::rest) returned it.
    pub(super) fn repeat(&mut self, busy: &[f64]) {
        for (processor, busy) in self.processors.iter_mut().zip(busy) {
            processor.before += busy;
        }
    }

    /// Seconds that the host has spent on messages until `now`.
    pub(super) fn busy(&self, host: HostId, now: f64) -> f64 {
        // A queue is processed without a break, so what is left ends at `free`.
        self.processors.get(host.index()).map_or(0.0, |processor| {
            processor.before + (processor.total - (processor.free - now).max(0.0)).max(0.0)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_queue_and_only_past_time_counts_as_busy() {
        let mut processors = MessageProcessors::default();
        let host = HostId(3);
        let length = Seconds::new(2.0).unwrap();
        let first = processors.enqueue(host, 1.0, length);
        assert_eq!(first.to_bits(), 3.0_f64.to_bits());
        let second = processors.enqueue(host, 2.0, length);
        assert_eq!(second.to_bits(), 5.0_f64.to_bits());
        let seconds = |at| Seconds::new(at).unwrap();
        assert_eq!(seconds(processors.busy(host, 4.0)), seconds(3.0));
        assert_eq!(seconds(processors.busy(host, 9.0)), seconds(4.0));
        assert_eq!(processors.busy(HostId(7), 9.0).to_bits(), 0);
        let busy = processors.rest();
        assert_eq!(busy, [0.0, 0.0, 0.0, 4.0]);
        processors.repeat(&busy);
        assert_eq!(seconds(processors.busy(host, 0.0)), seconds(8.0));
        assert_eq!(
            processors.enqueue(host, 1.0, length).to_bits(),
            3.0_f64.to_bits()
        );
    }
}
