//! How a change of places redirects messages between Sets.

use bsp::SetId;

use super::links::Links;

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
