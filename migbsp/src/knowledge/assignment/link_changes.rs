//! How a change of places redirects messages between Sets.

use bsp::SetId;

/// How the messages between two Sets change.
#[derive(Clone, Copy, Debug)]
pub(super) struct LinkChange {
    /// From where to where.
    pub(super) link: (SetId, SetId),
    /// Bytes that are added, or taken away.
    pub(super) bytes: f64,
    /// Messages that are added, or taken away.
    pub(super) number: i32,
    /// When the last sender of the added ones has computed, in seconds.
    pub(super) end: f64,
}

/// The changes of all links.
#[derive(Debug, Default)]
pub(super) struct LinkChanges(Vec<LinkChange>);

impl LinkChanges {
    /// A message that goes `before` will go `after`, from a sender that has computed at `end`.
    pub(super) fn redirect(
        &mut self,
        before: (SetId, SetId),
        after: (SetId, SetId),
        bytes: f64,
        end: f64,
    ) {
        if before != after {
            self.add(before, -bytes, -1, 0.0);
            self.add(after, bytes, 1, end);
        }
    }

    /// One change for each link.
    pub(super) fn iter(&self) -> impl Iterator<Item = &LinkChange> {
        self.0.iter()
    }

    fn add(&mut self, link: (SetId, SetId), bytes: f64, number: i32, end: f64) {
        if link.0 == link.1 {
            return;
        }
        match self.0.iter_mut().find(|change| change.link == link) {
            Some(change) => {
                change.bytes += bytes;
                change.number += number;
                change.end = change.end.max(end);
            }
            None => self.0.push(LinkChange {
                link,
                bytes,
                number,
                end,
            }),
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
            end: 0.0,
        }
    }
}
