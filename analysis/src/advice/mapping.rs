//! Advice where a better mapping of the processes would save much.

use crate::advice::evidence::Evidence;
use crate::advice::sentence::Advice;
use crate::advice::settings::Settings;
use crate::text::{counted, rounded};

/// A policy that plans for all processes together, if the placements of the run leave much to save.
pub(super) fn advice(evidence: &Evidence, settings: &Settings) -> Option<Advice> {
    let left = evidence.attainable_seconds?;
    let is_much = 0.0 < evidence.seconds && LEAST_SHARE * evidence.seconds <= left;
    if !is_much || evidence.supersteps < LEAST_SUPERSTEPS || settings.policy == ADAPTIVE {
        return None;
    }
    let share = left / evidence.seconds * 100.0;
    let (rank, supersteps) = evidence
        .slowest
        .iter()
        .max_by_key(|(_, supersteps)| **supersteps)?;
    Some(Advice {
        // Of equally slow processes the record names one, so the sentence does not count them.
        reason: format!(
            "Better mappings would save up to {} s ({share:.1} %) of this run: no process computed longer than {rank} \
             in {supersteps} of {}, and {} moved",
            rounded(left, 3),
            counted(usize::try_from(evidence.supersteps).ok()?, "superstep"),
            counted(evidence.moved.len(), "process"),
        ),
        options: format!("--policy {ADAPTIVE}"),
        seconds: left,
    })
}

/// The policy that plans for all processes together.
const ADAPTIVE: &str = "adaptive";

/// The part of the run that better mappings must be able to save. Below it, costs of communication and of calls, which
/// the best mapping ignores, decide whether another policy is faster.
const LEAST_SHARE: f64 = 0.1;

/// The number of supersteps below which the calls and moves of another policy may not pay.
const LEAST_SUPERSTEPS: u64 = 100;
