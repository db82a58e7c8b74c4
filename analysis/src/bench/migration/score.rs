//! How near the predictions of moves were.

use migbsp::median;
use serde::Serialize;

use super::timeline::Timeline;

/// A move with its prediction and its cost by two definitions; all times in seconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(super) struct Scored {
    /// The number of complete supersteps.
    pub superstep: u64,
    /// Bytes of the image.
    pub bytes: u64,
    /// How long the link was probed just before it; not set: it was not.
    pub probe_seconds: Option<f64>,
    /// The prediction, made from the moves before.
    pub predicted_seconds: f64,
    /// From the time when the process left its thread until it was unpacked.
    pub frozen_seconds: f64,
    /// The error of the prediction, as a part of the time for which the process was frozen.
    pub error: f64,
    /// What the move added to the time until the end of the next superstep, compared with runs without moves (Du, Sun and
    /// Wu 2007, 3-2); not set: a superstep of theirs is missing.
    pub added_seconds: Option<f64>,
}

impl Scored {
    /// The moves of `moved`, compared with `baselines`, which are the same job without moves.
    pub(super) fn all(moved: &Timeline, baselines: &[Timeline]) -> Vec<Self> {
        let moves = moved.moves.iter();
        let scored = moves.map(|timed| {
            let superstep = timed.superstep;
            let times = timed.moved.times;
            let frozen = times.map_or(timed.moved.took, |times| times.frozen);
            let without = baselines.iter().map(|one| one.around(superstep));
            let without: Option<Vec<f64>> = without.collect();
            let without = without.and_then(median);
            let with = moved.around(superstep);
            let (predicted_seconds, frozen_seconds) = (timed.predicted, frozen.get());
            Self {
                superstep,
                bytes: timed.moved.bytes.0,
                probe_seconds: timed.probed.map(|link| link.took.get()),
                predicted_seconds,
                frozen_seconds,
                error: relative(predicted_seconds, frozen_seconds),
                added_seconds: with.zip(without).map(|(with, without)| with - without),
            }
        });
        scored.collect()
    }

    /// The error as a part of the time that the move added, where the probe is a part of the prediction: what it took is
    /// known by then. `None`: no such time is known, or noise has made it less than nothing.
    pub(super) fn error_of_added(&self) -> Option<f64> {
        let added = self.added_seconds.filter(|added| 0.0 < *added)?;
        let probe = self.probe_seconds.unwrap_or_default();
        Some(relative(self.predicted_seconds + probe, added))
    }
}

fn relative(predicted: f64, took: f64) -> f64 {
    ((predicted - took) / took).abs()
}

/// Mean, median and 90th percentile of errors.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(super) struct Errors {
    /// The number of errors.
    #[serde(skip)]
    pub(super) number: usize,
    pub(super) mean_error: f64,
    pub(super) median_error: f64,
    pub(super) p90_error: f64,
}

impl Errors {
    /// Of no errors there is nothing to say.
    pub(super) fn of(mut errors: Vec<f64>) -> Option<Self> {
        errors.sort_by(f64::total_cmp);
        let rank = (errors.len() * 9).div_ceil(10).checked_sub(1)?;
        let p90_error = errors.get(rank).copied()?;
        let count = f64::from(u32::try_from(errors.len()).ok()?);
        Some(Self {
            number: errors.len(),
            mean_error: errors.iter().sum::<f64>() / count,
            median_error: median(errors)?,
            p90_error,
        })
    }
}

/// The mean error that Du, Sun and Wu report for a program, or, of `all`, for all four (figures 3 to 6).
pub(super) fn paper_error(kind: &str) -> Option<f64> {
    match kind {
        "linpack" => Some(0.0819),
        "bitonic" => Some(0.0576),
        "gzip" => Some(0.0651),
        "xlintims" => Some(0.0251),
        "all" => Some(0.0574),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(value: f64, expected: f64) {
        assert!((value - expected).abs() < 1e-12, "{value}, not {expected}");
    }

    fn scored(predicted_seconds: f64, frozen_seconds: f64, added_seconds: Option<f64>) -> Scored {
        Scored {
            superstep: 3,
            bytes: 1000,
            probe_seconds: None,
            predicted_seconds,
            frozen_seconds,
            error: relative(predicted_seconds, frozen_seconds),
            added_seconds,
        }
    }

    #[test]
    fn errors_are_parts_of_what_was_measured() {
        let one = scored(0.3, 0.4, Some(0.2));
        close(one.error, 0.25);
        close(one.error_of_added().unwrap(), 0.5);
        for added in [None, Some(0.0), Some(-0.1)] {
            assert_eq!(scored(0.3, 0.4, added).error_of_added(), None);
        }
    }

    #[test]
    fn the_median_of_an_even_number_is_between_the_two_in_the_middle() {
        let errors = Errors::of(vec![0.4, 0.1, 0.9, 0.2]).unwrap();
        close(errors.mean_error, 0.4);
        close(errors.median_error, 0.3);
        close(errors.p90_error, 0.9);
        let ten = Errors::of((1..=10).map(f64::from).collect()).unwrap();
        close(ten.median_error, 5.5);
        close(ten.p90_error, 9.0);
        assert_eq!(Errors::of(Vec::new()), None);
    }
}
