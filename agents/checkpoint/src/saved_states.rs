//! The contents of a checkpoint's pieces, as a client sends them to the nodes of the job that resumes.

use std::collections::VecDeque;
use std::fmt;
use std::io::Read;
use std::vec;

use bsp::{HostId, Rank};

use super::piece::Piece;
use super::store::{Checkpoint, Damage, Files, Store};

/// The contents of all pieces of a checkpoint, in the order of its files. One file is in memory at a time.
pub struct SavedStates {
    /// The processes in this order.
    pub order: Vec<Rank>,
    /// The content of each piece. It ends with the first error.
    pub contents: Box<dyn Iterator<Item = Result<Vec<u8>, Damage>> + Send>,
}

impl SavedStates {
    /// The contents of `checkpoint`, which is in `store`.
    #[must_use]
    pub fn new<F: Files + Send + 'static>(store: Store<F>, checkpoint: Checkpoint) -> Self {
        Self {
            order: checkpoint.ranks_by_file().collect(),
            contents: Box::new(Contents {
                hosts: checkpoint.hosts().collect(),
                store,
                checkpoint,
                pieces: Vec::new().into_iter(),
            }),
        }
    }
}

impl fmt::Debug for SavedStates {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = formatter.debug_struct("SavedStates");
        debug.field("order", &self.order).finish_non_exhaustive()
    }
}

struct Contents<F> {
    store: Store<F>,
    checkpoint: Checkpoint,
    /// The hosts whose files have not been read.
    hosts: VecDeque<HostId>,
    /// The pieces of the file that was read last.
    pieces: vec::IntoIter<Piece>,
}

impl<F: Files> Iterator for Contents<F> {
    type Item = Result<Vec<u8>, Damage>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(piece) = self.pieces.next() {
                let mut content = Vec::new();
                let read = piece.content.reader().read_to_end(&mut content);
                read.expect("memory can be read");
                return Some(Ok(content));
            }
            let host = self.hosts.pop_front()?;
            match self.store.pieces(&self.checkpoint, host) {
                Ok(pieces) => self.pieces = pieces.into_iter(),
                Err(damage) => {
                    self.hosts.clear();
                    return Some(Err(damage));
                }
            }
        }
    }
}
