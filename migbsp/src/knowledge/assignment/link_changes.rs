//! How a change of places redirects messages between Sets.

use bsp::SetId;

use super::link_change::LinkChange;
use super::links::Links;

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
