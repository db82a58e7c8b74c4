//! Estimators of bandwidth, side by side: what the same moves would have been predicted to take with each of them.

use bsp::{HostId, SetId};
use migbsp::{BandwidthForecast, CallMove, MigrationModel};
use serde::Serialize;

use super::score::Errors;
use super::timeline::TimedMove;

/// An estimator of the bandwidth that the next move meets, with the errors of predictions made with it.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Estimator {
    pub(super) estimator: &'static str,
    #[serde(flatten)]
    pub(super) errors: Errors,
}

/// What the bandwidth of a move is estimated from.
#[derive(Clone, Copy, Debug)]
enum Source {
    /// What the move was priced by: a probe just before it, unless it confirmed what earlier moves had met.
    Used,
    /// A probe just before it or, where there was none, the forecast.
    Probe,
    /// The forecast of the node that it left, from probes and messages before.
    Forecast,
    /// The predictor of [`BandwidthForecast::NAMES`] with this number, from the moves before.
    Predictor(usize),
}

/// The errors with each estimator. The moves of each of `kinds` are predicted one after the other, each from those before
/// it.
pub(super) fn compare(kinds: &[&[TimedMove]]) -> Vec<Estimator> {
    let predictors = BandwidthForecast::NAMES.iter().enumerate();
    // Moves have no estimate of the transport.
    let predictors = predictors.filter(|(_, name)| **name != "transport");
    let predictors = predictors.map(|(index, name)| (*name, Source::Predictor(index)));
    let live = [
        ("used", Source::Used),
        ("probe", Source::Probe),
        ("forecast", Source::Forecast),
    ];
    let compared = live
        .into_iter()
        .chain(predictors)
        .filter_map(|(estimator, source)| {
            let errors = kinds.iter().flat_map(|moves| errors(moves, source));
            let errors = Errors::of(errors.collect())?;
            Some(Estimator { estimator, errors })
        });
    compared.collect()
}

/// The errors of predictions of `moves` with bandwidths from `source`.
fn errors(moves: &[TimedMove], source: Source) -> Vec<f64> {
    let mut model = MigrationModel::default();
    let mut met = BandwidthForecast::default();
    let mut errors = Vec::new();
    for timed in moves {
        let measured = timed.moved.measured();
        let forecast = timed.forecast.unwrap_or(timed.per_byte);
        let per_byte = match source {
            Source::Used => timed.per_byte,
            Source::Probe => timed.probed.map_or(forecast, |link| link.per_byte),
            Source::Forecast => forecast,
            Source::Predictor(index) => met
                .predictions()
                .map_or(forecast, |predictions| predictions[index].recip()),
        };
        let predicted = model.coefficients().predict(measured.bytes, per_byte).get();
        let took = measured.took.get();
        errors.push(((predicted - took) / took).abs());
        let startup = model.coefficients().startup.get();
        met.observe(measured.bytes.as_f64() / (took - startup));
        // Two hosts, wherever they are: there is one move at a time.
        model.observe(&[CallMove {
            measured,
            per_byte,
            from: (HostId(0), SetId(0)),
            to: (HostId(1), SetId(1)),
        }]);
    }
    errors
}

#[cfg(test)]
mod tests {
    use bsp::Rank;
    use bsp::units::{Bytes, Instant, Seconds};
    use migbsp::ProbedLink;
    use record::Moved;

    use super::*;

    /// A move of a megabyte over a link that takes `met` seconds per byte.
    fn timed(met: f64, probed: Option<f64>, forecast: f64) -> TimedMove {
        TimedMove {
            superstep: 1,
            moved: Moved {
                at: Instant::START,
                rank: Rank(0),
                host: HostId(1),
                epoch: 1,
                bytes: Bytes(1_000_000),
                took: Seconds::new(1e6 * met).unwrap(),
                times: None,
                parts: None,
                declared: None,
            },
            predicted: 0.0,
            per_byte: probed.unwrap_or(forecast),
            probed: probed.map(|per_byte| ProbedLink {
                from: HostId(0),
                to: HostId(1),
                per_byte,
                took: Seconds::ZERO,
            }),
            forecast: Some(forecast),
        }
    }

    #[test]
    fn a_link_that_changes_is_known_to_a_probe_and_not_to_what_was_met_before() {
        let rates = [1e-7, 1e-7, 5e-7, 5e-7, 1e-7, 1e-7, 5e-7, 5e-7];
        let moves: Vec<_> = rates.map(|rate| timed(rate, Some(rate), 3e-7)).to_vec();
        let all = compare(&[&moves]);
        let of = |name: &str| {
            let mut all = all.iter();
            all.find(|one| one.estimator == name)
                .unwrap()
                .errors
                .mean_error
        };
        assert!(of("probe") < 1e-6 && of("used") < 1e-6, "{all:?}");
        assert!(
            0.1 < of("last") && 0.1 < of("forecast") && 0.1 < of("mean-10"),
            "{all:?}"
        );
        let names: Vec<_> = all.iter().map(|one| one.estimator).collect();
        assert_eq!(
            names,
            [
                "used", "probe", "forecast", "last", "median-3", "median-5", "mean", "mean-10"
            ]
        );
    }

    #[test]
    fn a_steady_link_is_known_to_all_after_the_first_move() {
        let moves = [1e-7; 20].map(|rate| timed(rate, None, rate));
        for one in compare(&[&moves]) {
            assert!(one.errors.mean_error < 1e-6, "{one:?}");
        }
        assert!(compare(&[]).is_empty());
    }
}
