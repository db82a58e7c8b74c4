//! The result of a bench of supersteps, as `--format json` and `csv` show it.

use experiments::{CsvTable, Failure, Provenance, Published};
use serde::Serialize;

use super::fit::Fit;
use super::samples::Samples;

/// The result of a bench of supersteps.
#[derive(Debug, Serialize)]
pub struct Report {
    /// p.
    pub(super) processes: u32,
    /// The nodes on which they were.
    pub(super) nodes: usize,
    /// r: floating-point operations per second of the slowest process.
    pub(super) flops_per_second: Option<f64>,
    /// How often each h-relation was counted.
    pub(super) repetitions: u32,
    /// All processes together.
    #[serde(flatten)]
    pub(super) all: Measured,
    /// Two processes, on a node of each of two Sets.
    pub(super) pairs: Vec<Pair>,
}

/// A process on a node of each of two Sets.
#[derive(Debug, Serialize)]
pub struct Pair {
    pub(super) sets: [String; 2],
    pub(super) nodes: [String; 2],
    #[serde(flatten)]
    pub(super) measured: Measured,
}

/// g and l with the times that they were fitted to. What is not set could not be measured.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Measured {
    /// g: seconds of a word.
    pub(super) g_seconds: Option<f64>,
    /// l: seconds of a superstep without words, by the fit.
    pub(super) l_seconds: Option<f64>,
    /// g in the time of a floating-point operation.
    pub(super) g_flops: Option<f64>,
    /// l in the same unit.
    pub(super) l_flops: Option<f64>,
    /// The median distance of a time from the fit, as a part of the time.
    pub(super) residual: Option<f64>,
    /// Seconds of a superstep without words, as it was measured.
    pub(super) empty_seconds: Option<f64>,
    /// The least number of words that the fit takes into account: the number of processes.
    pub(super) fitted_from: u32,
    /// By the number of words.
    pub(super) each: Vec<Relation>,
}

/// An h-relation.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(super) struct Relation {
    /// h: words that each process sends and receives.
    pub(super) words: u32,
    /// The median time of its supersteps.
    pub(super) seconds: f64,
    /// The time by the fit.
    pub(super) fitted_seconds: Option<f64>,
}

/// A row of the CSV.
#[derive(Serialize)]
struct Row<'a> {
    /// Not set for all processes together.
    set: Option<&'a str>,
    other_set: Option<&'a str>,
    processes: u32,
    words: u32,
    seconds: f64,
    fitted_seconds: Option<f64>,
}

impl Measured {
    /// What `samples` of `processes` say, where a process computes at `rate`.
    fn new(processes: u32, samples: &Samples, rate: Option<f64>) -> Self {
        let medians: Vec<(u32, f64)> = samples.medians().collect();
        let fitted = medians.iter().filter(|(words, _)| processes <= *words);
        let points: Vec<(f64, f64)> = fitted
            .map(|(words, seconds)| (f64::from(*words), *seconds))
            .collect();
        let fit = Fit::of(&points);
        let in_flops = |seconds: Option<f64>| Some(seconds? * rate?);
        let (g, l) = (fit.map(|fit| fit.g), fit.map(|fit| fit.l));
        let empty = medians.iter().find(|(words, _)| *words == 0);
        let each = medians.iter().map(|(words, seconds)| Relation {
            words: *words,
            seconds: *seconds,
            fitted_seconds: fit.map(|fit| fit.at(f64::from(*words))),
        });
        Self {
            g_seconds: g,
            l_seconds: l,
            g_flops: in_flops(g),
            l_flops: in_flops(l),
            residual: fit.map(|fit| fit.residual),
            empty_seconds: empty.map(|(_, seconds)| *seconds),
            fitted_from: processes,
            each: each.collect(),
        }
    }
}

impl Report {
    /// The report of `processes` on `nodes` nodes.
    #[must_use]
    pub fn new(processes: u32, nodes: usize, samples: &Samples) -> Self {
        let rate = samples.flops_per_second();
        Self {
            processes,
            nodes,
            flops_per_second: rate,
            repetitions: samples.repetitions(),
            all: Measured::new(processes, samples, rate),
            pairs: Vec::new(),
        }
    }

    /// Adds the times of two processes, on `nodes` of two `sets`. Its g and l count operations at the rate of the
    /// slowest of all processes, so that they compare.
    pub fn add_pair(&mut self, sets: [String; 2], nodes: [String; 2], samples: &Samples) {
        self.pairs.push(Pair {
            sets,
            nodes,
            measured: Measured::new(2, samples, self.flops_per_second),
        });
    }

    /// One row per number of words, of all processes and then of each pair of Sets.
    ///
    /// # Errors
    ///
    /// If the writer fails, which a buffer in memory does not.
    pub fn csv(&self, provenance: &Provenance) -> Result<String, Failure> {
        let mut table = CsvTable::new(Self::SCHEMA, provenance);
        let all = ([None; 2], self.processes, &self.all);
        let pairs = self.pairs.iter().map(|pair| {
            let sets = pair.sets.each_ref().map(|set| Some(set.as_str()));
            (sets, 2, &pair.measured)
        });
        for ([set, other_set], processes, measured) in std::iter::once(all).chain(pairs) {
            for relation in &measured.each {
                table.push(Row {
                    set,
                    other_set,
                    processes,
                    words: relation.words,
                    seconds: relation.seconds,
                    fitted_seconds: relation.fitted_seconds,
                })?;
            }
        }
        table.text()
    }
}

impl Published for Report {
    const SCHEMA: &'static str = "migbsp.bench-superstep/1";
}

#[cfg(test)]
mod tests {
    use bsp::Rank;
    use bsp::units::{Instant, Seconds};
    use record::{Event, Superstep};
    use serde_json::{Value, json};

    use super::super::rounds::Rounds;
    use super::*;

    /// A job in which a superstep with h words takes what `time` says of h, and a computation takes 2^24 ns.
    fn samples(rounds: &Rounds, time: impl Fn(f64) -> f64) -> Samples {
        let mut samples = Samples::new(rounds.clone());
        let words = rounds.words_of_round();
        let mut now = 0.0;
        for (index, words) in (0..rounds.supersteps()).zip(words.iter().cycle()) {
            let started = Instant::new(now).unwrap();
            now += time(f64::from(*words));
            samples.observe(&Event::Superstep(Superstep {
                index,
                started,
                ended: Instant::new(now).unwrap(),
                slowest: Rank(0),
                computation: Seconds::new(0.016_777_216).unwrap(),
                mean: None,
                took: None,
                messages: 0,
            }));
        }
        samples
    }

    #[track_caller]
    fn close(value: &Value, expected: f64) {
        let value = value.as_f64().unwrap();
        assert!(
            (value / expected - 1.0).abs() < 1e-6,
            "{value}, not {expected}"
        );
    }

    #[test]
    fn r_g_and_l_come_out_of_the_events_of_a_job() {
        let rounds = Rounds::new(100, 3);
        // Below the number of processes, messages are fewer than later.
        let samples = samples(&rounds, |words| {
            let l = if words < 4.0 { 1e-3 } else { 2e-3 };
            1e-5 * words + l
        });
        let mut report = Report::new(4, 2, &samples);
        report.add_pair(
            ["a", "b"].map(Into::into),
            ["n", "m"].map(Into::into),
            &samples,
        );
        let json = serde_json::to_value(&report).unwrap();
        close(&json["flops_per_second"], 1e9);
        close(&json["g_seconds"], 1e-5);
        close(&json["l_seconds"], 2e-3);
        close(&json["g_flops"], 1e4);
        close(&json["l_flops"], 2e6);
        close(&json["empty_seconds"], 1e-3);
        assert_eq!(json["repetitions"], 3);
        assert_eq!(json["each"].as_array().unwrap().len(), 65);
        let pair = &json["pairs"][0];
        assert_eq!(
            (&pair["sets"], &pair["fitted_from"]),
            (&json!(["a", "b"]), &json!(2))
        );
        assert!(pair["g_flops"].is_number());
    }

    #[test]
    fn what_could_not_be_measured_is_not_set() {
        let of_nothing = Samples::new(Rounds::new(10, 1));
        let instant = samples(&Rounds::new(10, 1), |_| 0.0);
        for samples in [of_nothing, instant] {
            let report = Report::new(1, 1, &samples);
            let json = serde_json::to_value(&report).unwrap();
            for key in ["g_seconds", "l_seconds", "g_flops", "l_flops", "residual"] {
                assert_eq!(json[key], Value::Null, "{key}: {json}");
            }
            let text = report.text(crate::text::Layout::default());
            assert!(!text.contains("NaN"), "{text}");
        }
        let equal = Report::new(1, 1, &samples(&Rounds::new(10, 2), |_| 0.25));
        assert_eq!(equal.all.g_seconds, Some(0.0));
        assert_eq!(equal.all.l_seconds, Some(0.25));
    }
}
