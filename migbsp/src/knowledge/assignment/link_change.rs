//! How the messages between two Sets change.

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
