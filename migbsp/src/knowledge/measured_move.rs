//! A move as it was measured.

use bsp::units::{Bytes, Seconds};
use serde::{Deserialize, Serialize};

/// A move as it was measured.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct MeasuredMove {
    /// The bytes by which moves are priced: the memory that the program declares, or the whole image, with messages and
    /// agent.
    pub bytes: Bytes,
    /// From the beginning of packing until the process was installed.
    pub took: Seconds,
    /// Packing or unpacking, whichever took longer.
    pub processing: Seconds,
    /// The round trip between the hosts.
    pub round_trip: Seconds,
}

impl MeasuredMove {
    /// Whether a move can be priced by this number of bytes: there are some, and not more than any memory has.
    #[must_use]
    pub fn is_possible_size(bytes: &Bytes) -> bool {
        (Bytes(1)..=BYTES_MAX).contains(bytes)
    }

    /// Whether these can be the values of a move: it has bytes, not more than any memory, it took time, and no part of
    /// it took longer, or less than no time.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        let took = self.took.get();
        Self::is_possible_size(&self.bytes)
            && 0.0 < took
            && (0.0..=took).contains(&self.processing.get())
            && 0.0 <= self.round_trip.get()
    }
}

/// More than any memory: 2 to the power of 53, up to which numbers of bytes are exact.
const BYTES_MAX: Bytes = Bytes(1 << 53);
