//! How long the messages take that share the link between two Sets.

use bsp::SetId;

use super::changes::HostAfter;
use super::computing::Computing;
use crate::Snapshot;
use crate::knowledge::flows::Flows;

/// From Set to Set, until when the messages have arrived that share the link between them.
#[derive(Clone, Debug)]
pub(super) struct Links<'a> {
    snapshot: &'a Snapshot,
    /// From Set to Set.
    last_senders: Vec<LastSender>,
    /// From Set to Set: seconds from the start of the superstep.
    times: Vec<f64>,
}

/// The last host of a Set to have computed that sends to another Set.
#[derive(Clone, Copy, Debug)]
struct LastSender {
    /// Seconds from the start of the superstep.
    end: f64,
    /// `None`: none sends.
    host: Option<usize>,
}

const NO_SENDER: LastSender = LastSender {
    end: 0.0,
    host: None,
};

/// What is sent, and when processes have computed.
type Sending<'a> = (&'a Flows<'a>, &'a Computing);

impl<'a> Links<'a> {
    pub(super) fn without_messages(snapshot: &'a Snapshot) -> Self {
        let pairs = snapshot.sets() * snapshot.sets();
        Self {
            snapshot,
            last_senders: vec![NO_SENDER; pairs],
            times: vec![0.0; pairs],
        }
    }

    /// Recomputes all times.
    pub(super) fn update_all(&mut self, sending: Sending<'_>) {
        for link in self.snapshot.pairs() {
            self.find_last_sender(link, sending);
            self.update_time(link, sending.0);
        }
    }

    /// Recomputes the times that change if these `hosts` have computed at another time or send elsewhere, and if
    /// messages from and to these `sets` have changed.
    pub(super) fn update(&mut self, sending: Sending<'_>, hosts: &[usize], sets: [SetId; 2]) {
        if sending.0.has_crowds() {
            self.update_all(sending);
            return;
        }
        for host in hosts {
            self.update_last_senders(*host, sending);
        }
        for set in sets {
            for other in (0..self.snapshot.sets()).map(SetId::from_index) {
                self.update_time((set, other), sending.0);
                self.update_time((other, set), sending.0);
            }
        }
    }

    /// The link whose messages arrive last, and after how many seconds; `None` if no message crosses a link.
    pub(super) fn slowest(&self) -> Option<((SetId, SetId), f64)> {
        let mut slowest = (0, 0.0);
        for (pair, time) in self.times.iter().enumerate() {
            if slowest.1 < *time {
                slowest = (pair, *time);
            }
        }
        let sets = self.snapshot.sets();
        let link = || {
            (
                SetId::from_index(slowest.0 / sets),
                SetId::from_index(slowest.0 % sets),
            )
        };
        (0.0 < slowest.1).then(|| (link(), slowest.1))
    }

    /// The last host to have computed that sends over a link.
    pub(super) fn last_sender(&self, link: (SetId, SetId)) -> Option<usize> {
        self.last_senders[self.pair(link)].host
    }

    /// Seconds until the messages of a link have arrived after `change`, if these `hosts` have computed at another time.
    pub(super) fn time_after(
        &self,
        change: LinkChange,
        flows: &Flows<'_>,
        hosts: &[HostAfter],
    ) -> f64 {
        let (from, to) = change.link;
        let (bytes, number) = flows.crossing(from, to);
        let bytes = bytes + change.bytes;
        let number = number.saturating_add_signed(change.number);
        if number == 0 {
            return 0.0;
        }
        let network = self.snapshot.network();
        let alone = bytes.max(0.0) / f64::from(number) * network.per_byte(from, to);
        let occupied = bytes.max(0.0) * self.snapshot.rate(from, to);
        let barrier = [from, to].map(|set| self.snapshot.barrier(set));
        let arrival = barrier[0].arrival().max(barrier[1].arrival());
        let last = self.last_senders[self.pair(change.link)];
        let last = last.host.map_or(0.0, |host| {
            let number = flows
                .leaving(host, to)
                .saturating_add_signed(change.from_last);
            if number == 0 && !flows.has_crowd(from, to) {
                // The others that send there have computed earlier. They are not looked for.
                return 0.0;
            }
            let changed = hosts.iter().find(|changed| changed.host == host);
            changed.map_or(last.end, |changed| changed.end)
        });
        let sent = barrier[0].release() + change.end.max(last);
        sent + network.message(from, to, alone, occupied) + arrival
    }

    fn update_time(&mut self, link: (SetId, SetId), flows: &Flows<'_>) {
        let pair = self.pair(link);
        if link.0 != link.1 {
            self.times[pair] = self.time_after(LinkChange::none(link), flows, &[]);
        }
    }

    /// Finds anew which hosts of the Set of `host` compute last, after a change of this one.
    fn update_last_senders(&mut self, host: usize, (flows, computing): Sending<'_>) {
        let set = self.snapshot.hosts()[host].set;
        let end = computing.host_end(host);
        for to in (0..self.snapshot.sets()).map(SetId::from_index) {
            let pair = self.pair((set, to));
            let last = &mut self.last_senders[pair];
            if 0 < flows.leaving(host, to) && last.end <= end {
                let host = Some(host);
                *last = LastSender { end, host };
            } else if last.host == Some(host) {
                self.find_last_sender((set, to), (flows, computing));
            } else {
                continue;
            }
            self.update_time((set, to), flows);
        }
    }

    /// Finds the last host of a Set that sends to another one.
    fn find_last_sender(&mut self, link: (SetId, SetId), (flows, computing): Sending<'_>) {
        let all = flows.has_crowd(link.0, link.1);
        let mut last = NO_SENDER;
        for host in self.snapshot.members(link.0) {
            let end = computing.host_end(*host);
            if last.end <= end && (all || 0 < flows.leaving(*host, link.1)) {
                let host = Some(*host);
                last = LastSender { end, host };
            }
        }
        let pair = self.pair(link);
        self.last_senders[pair] = last;
    }

    /// Where what is known of a link is kept.
    fn pair(&self, link: (SetId, SetId)) -> usize {
        link.0.index() * self.snapshot.sets() + link.1.index()
    }
}

/// How the messages between two Sets change.
#[derive(Clone, Copy, Debug)]
pub(super) struct LinkChange {
    /// From where to where.
    pub(super) link: (SetId, SetId),
    /// Bytes that are added, or taken away.
    pub(super) bytes: f64,
    /// Messages that are added, or taken away.
    pub(super) number: i32,
    /// The same, of those from the last host to have computed that sends there at present.
    pub(super) from_last: i32,
    /// When the last sender of the added ones has computed, in seconds.
    pub(super) end: f64,
}

impl LinkChange {
    /// No change of the messages from one Set to another.
    pub(super) const fn none(link: (SetId, SetId)) -> Self {
        Self {
            link,
            bytes: 0.0,
            number: 0,
            from_last: 0,
            end: 0.0,
        }
    }
}

/// The way of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Way {
    /// From where to where.
    pub(super) link: (SetId, SetId),
    /// The host of the sender.
    pub(super) sender: usize,
}

/// The changes of all links.
#[derive(Debug)]
pub(super) struct LinkChanges<'a> {
    links: &'a Links<'a>,
    changes: Vec<LinkChange>,
}

impl<'a> LinkChanges<'a> {
    /// No changes of `links`.
    pub(super) const fn none(links: &'a Links<'a>) -> Self {
        Self {
            links,
            changes: Vec::new(),
        }
    }

    /// A message goes another way, from a sender that has computed at `end`.
    pub(super) fn redirect(&mut self, before: Way, after: Way, bytes: f64, end: f64) {
        if before != after {
            self.add(before, -bytes, -1, 0.0);
            self.add(after, bytes, 1, end);
        }
    }

    /// One change for each link.
    pub(super) fn iter(&self) -> impl Iterator<Item = &LinkChange> {
        self.changes.iter()
    }

    fn add(&mut self, Way { link, sender }: Way, bytes: f64, number: i32, end: f64) {
        if link.0 == link.1 {
            return;
        }
        let known = self.changes.iter().position(|known| known.link == link);
        let at = known.unwrap_or(self.changes.len());
        if known.is_none() {
            self.changes.push(LinkChange::none(link));
        }
        let change = &mut self.changes[at];
        change.bytes += bytes;
        change.number += number;
        change.end = change.end.max(end);
        if self.links.last_sender(link) == Some(sender) {
            change.from_last += number;
        }
    }
}
