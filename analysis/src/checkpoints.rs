//! Checkpoints, in sentences.

use experiments::CheckpointSummary;

use crate::text::{counted, rounded};

/// How many checkpoints there were, what they took, and what a failure would have lost.
pub fn sentence(summary: &CheckpointSummary) -> String {
    let number = counted(summary.number, "checkpoint");
    let copies = match summary.sent_bytes {
        0 => String::new(),
        sent => format!(", {} MB of which went to other hosts", megabytes(sent)),
    };
    let disk = match summary.unwritten {
        0 => String::new(),
        unwritten => format!(" {unwritten} of them are not on disk."),
    };
    format!(
        "{number} saved {} MB{copies}: processes stood still for {} s ({:.2} % of the run), and encoding took {} s of a \
         processor beside them. One failure would have lost {} s of work at most.{disk}",
        megabytes(summary.bytes),
        rounded(summary.stall_seconds, 3),
        summary.stall_part * 100.0,
        rounded(summary.encoding_seconds, 3),
        rounded(summary.risk_seconds, 3)
    )
}

fn megabytes(bytes: u64) -> String {
    rounded(bytes as f64 / 1e6, 1)
}

/// The warning of a run that was to have checkpoints, and in which none became complete.
#[must_use]
pub fn missing(is_on: bool, summary: Option<&CheckpointSummary>) -> Option<&'static str> {
    (is_on && summary.is_none())
        .then_some("no checkpoint became complete: the run ended before; see [checkpoint]")
}
