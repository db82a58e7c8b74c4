//! The checkpoints of a run, as all results show them.

use bsp::units::{Bytes, Instant, Seconds};
use record::Checkpoint;
use serde::Serialize;

/// The checkpoints of a run that became complete, together.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct CheckpointSummary {
    /// Their number.
    pub number: usize,
    /// Seconds for which processes stood still, the longest of each checkpoint added up.
    pub stall_seconds: f64,
    /// The same as a part of the makespan.
    pub stall_part: f64,
    /// Processor seconds of encoding beside computations, per processor of the host where that was longest, added up.
    pub encoding_seconds: f64,
    /// Bytes of the states.
    pub bytes: u64,
    /// Bytes that hosts sent to their buddies.
    pub sent_bytes: u64,
    /// The most seconds of work that one failure would have lost: the longest time from the beginning of a checkpoint
    /// until the next was complete; the start of the run counts as one, and its end.
    pub risk_seconds: f64,
    /// The number of those that should be on disk and are not.
    #[serde(skip_serializing_if = "is_zero")]
    pub unwritten: usize,
}

impl CheckpointSummary {
    /// The summary of `checkpoints` in a run that took until `end`; `None` if there are none.
    #[must_use]
    pub fn new(checkpoints: &[Checkpoint], end: Instant) -> Option<Self> {
        if checkpoints.is_empty() {
            return None;
        }
        let sum =
            |of: fn(&Checkpoint) -> Seconds| checkpoints.iter().map(of).sum::<Seconds>().get();
        let bytes = |of: fn(&Checkpoint) -> Bytes| checkpoints.iter().map(of).sum::<Bytes>().0;
        let stall_seconds = sum(|checkpoint| checkpoint.stall);
        let mut risk = Seconds::ZERO;
        let mut begun = Instant::START;
        for checkpoint in checkpoints {
            risk = risk.max(checkpoint.complete - begun);
            begun = checkpoint.at;
        }
        Some(Self {
            number: checkpoints.len(),
            stall_seconds,
            stall_part: part(stall_seconds, end.get()),
            encoding_seconds: sum(|checkpoint| checkpoint.encoding),
            bytes: bytes(|checkpoint| checkpoint.bytes),
            sent_bytes: bytes(|checkpoint| checkpoint.sent),
            risk_seconds: risk.max(end - begun).get(),
            unwritten: checkpoints.iter().filter(|it| it.problem.is_some()).count(),
        })
    }

    /// What one of them cost on average: the stall, and the time that encoding took from processors.
    #[must_use]
    #[expect(
        clippy::missing_panics_doc,
        reason = "a mean of finite times is finite"
    )]
    pub fn cost(&self) -> Seconds {
        let sum = self.stall_seconds + self.encoding_seconds;
        Seconds::new(sum / self.number.max(1) as f64).expect("a mean of finite times")
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde gives a reference")]
const fn is_zero(number: &usize) -> bool {
    *number == 0
}

fn part(of: f64, whole: f64) -> f64 {
    if 0.0 < whole { of / whole } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_at_risk_is_the_time_until_the_next_checkpoint_is_complete() {
        let checkpoint = |(superstep, at, complete): (u64, f64, f64)| Checkpoint {
            superstep,
            at: Instant::new(at).unwrap(),
            stall: Seconds::new(0.5).unwrap(),
            encoding: Seconds::new(0.25).unwrap(),
            bytes: Bytes(100),
            sent: Bytes(10),
            complete: Instant::new(complete).unwrap(),
            problem: None,
        };
        let all: Vec<Checkpoint> = [(4, 2.0, 3.0), (9, 5.0, 9.5)].map(checkpoint).to_vec();
        let end = |seconds| Instant::new(seconds).unwrap();
        let summary = CheckpointSummary::new(&all, end(10.0)).unwrap();
        assert_eq!(
            summary,
            CheckpointSummary {
                number: 2,
                stall_seconds: 1.0,
                stall_part: 0.1,
                encoding_seconds: 0.5,
                bytes: 200,
                sent_bytes: 20,
                risk_seconds: 7.5,
                unwritten: 0,
            }
        );
        assert!((summary.cost().get() - 0.75).abs() < 1e-12);
        let later = CheckpointSummary::new(&all, end(20.0)).unwrap();
        assert!((later.risk_seconds - 15.0).abs() < 1e-12);
        assert_eq!(CheckpointSummary::new(&[], end(20.0)), None);
    }
}
