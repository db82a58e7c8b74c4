//! `migbsp bench superstep`: r, g and l of a cluster, as Bisseling's `bspbench` defines them.

use bsp::numbers::index;
use bsp::units::Instant;
use experiments::{Failure, Provenance, Published};
use model::median;
use record::Event;
use serde::Serialize;

use crate::document::{Answer, Document, Table, csv};
use crate::text::{counted, data, duration, rounded};

/// Rounds of supersteps: all numbers of words from none to the most, and one computation.
///
/// Each round begins with a superstep that only receives the words of the one before, so that neither the computation
/// nor the empty h-relation after it has to. The first round warms up and is not counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rounds {
    /// Ascending, from 0.
    words: Vec<u32>,
    repetitions: u32,
}

/// What is measured of a superstep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Measurement {
    /// Nothing.
    None,
    /// The time of its computation.
    Rate,
    /// The time of the superstep, an h-relation at this position among the numbers of words.
    Relation(usize),
}

impl Rounds {
    /// Rounds with up to `most` words, of which `repetitions` are counted.
    #[must_use]
    pub fn new(most: u32, repetitions: u32) -> Self {
        let steps = most.clamp(1, STEPS);
        let words = (0..=steps).map(|step| {
            let words = u64::from(most) * u64::from(step) / u64::from(steps);
            u32::try_from(words).unwrap_or(most)
        });
        let mut words: Vec<u32> = words.collect();
        words.dedup();
        Self { words, repetitions }
    }

    /// How often each number of words is counted.
    const fn repetitions(&self) -> u32 {
        self.repetitions
    }

    /// The numbers of words, ascending.
    fn words(&self) -> &[u32] {
        &self.words
    }

    /// The number of supersteps of a round.
    fn length(&self) -> u64 {
        u64::try_from(self.words.len() + BEFORE).expect("lengths fit 64 bits")
    }

    /// The number of supersteps in all.
    #[must_use]
    pub fn supersteps(&self) -> u64 {
        // One more receives the last words.
        self.length() * (u64::from(self.repetitions) + 1) + 1
    }

    /// Words of each superstep of a round, as the workload has them.
    #[must_use]
    pub fn words_of_round(&self) -> Vec<u32> {
        [&[0; BEFORE][..], &self.words].concat()
    }

    /// Floating-point operations of each superstep of a round.
    #[must_use]
    pub fn flops_of_round(&self) -> Vec<u32> {
        [&[0, FLOPS][..], &vec![0; self.words.len()]].concat()
    }

    /// What is measured of a superstep.
    fn measurement(&self, superstep: u64) -> Measurement {
        let (round, place) = (superstep / self.length(), superstep % self.length());
        if round == 0 || u64::from(self.repetitions) < round {
            return Measurement::None;
        }
        let place = usize::try_from(place).expect("a position in a list");
        match place.checked_sub(BEFORE) {
            Some(position) => Measurement::Relation(position),
            None if place + 1 == BEFORE => Measurement::Rate,
            None => Measurement::None,
        }
    }
}

/// Differences between the least and the most words, at most.
const STEPS: u32 = 64;

/// Supersteps of a round before the first h-relation: an empty one and a computation.
const BEFORE: usize = 2;

/// Floating-point operations of the computation: whole passes of the workload's vectors, some milliseconds.
const FLOPS: u32 = 1 << 24;

/// The times of the supersteps of a job, in seconds.
#[derive(Clone, Debug)]
pub struct Samples {
    rounds: Rounds,
    /// The end of the last superstep.
    ended: Option<Instant>,
    /// Times of h-relations, by the position of their number of words.
    relations: Vec<Vec<f64>>,
    /// Times of the slowest computation.
    computations: Vec<f64>,
}

impl Samples {
    /// No times yet of a job that executes `rounds`.
    #[must_use]
    pub fn new(rounds: Rounds) -> Self {
        Self {
            ended: None,
            relations: vec![Vec::new(); rounds.words().len()],
            computations: Vec::new(),
            rounds,
        }
    }

    /// Takes what is needed from an event. A superstep takes from the end of the one before until its own.
    pub fn observe(&mut self, event: &Event) {
        let Event::Superstep(superstep) = event else {
            return;
        };
        let before = self.ended.replace(superstep.ended);
        match self.rounds.measurement(superstep.index) {
            Measurement::None => {}
            Measurement::Rate => self.computations.push(superstep.computation.get()),
            Measurement::Relation(position) => {
                let took = before.map(|before| (superstep.ended - before).get());
                self.relations[position].extend(took);
            }
        }
    }

    /// How often each h-relation is counted.
    const fn repetitions(&self) -> u32 {
        self.rounds.repetitions()
    }

    /// Floating-point operations per second of the slowest process, if it has taken a time.
    fn flops_per_second(&self) -> Option<f64> {
        let seconds = median(self.computations.clone())?;
        Some(f64::from(FLOPS) / seconds).filter(|rate| rate.is_finite())
    }

    /// Numbers of words with the median of their times.
    fn medians(&self) -> impl Iterator<Item = (u32, f64)> {
        let words = self.rounds.words().iter().copied();
        let times = self.relations.iter().cloned().map(median);
        let both = words.zip(times);
        both.filter_map(|(words, time)| Some((words, time?)))
    }
}

/// A line, in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Fit {
    /// Seconds of a word.
    g: f64,
    /// Seconds of a superstep without words.
    l: f64,
    /// The median distance of a time from the line, as a part of the time.
    residual: f64,
}

impl Fit {
    /// The line through `points`, which are words and seconds, that makes the sum of the squares of relative residuals
    /// least. `None`: there are no two different numbers of words with a time.
    ///
    /// # Deviations
    ///
    /// `bspbench` takes absolute residuals. Here times span three orders of magnitude, and their noise grows with them:
    /// with absolute residuals, noise of the longest supersteps would decide about l. In addition, a point that is far
    /// too late has a small weight.
    fn of(points: &[(f64, f64)]) -> Option<Self> {
        let points = points.iter().copied();
        let points: Vec<(f64, f64)> = points
            .filter(|(_, seconds)| seconds.is_finite() && 0.0 < *seconds)
            .collect();
        let shortest = points.iter().map(|(_, seconds)| *seconds);
        let shortest = shortest.fold(f64::INFINITY, f64::min);
        // From 0 to 1, so that no sum overflows.
        let weighted = || {
            let each = points.iter();
            each.map(|(words, seconds)| ((shortest / seconds).powi(2), *words, *seconds))
        };
        let sum = weighted().map(|(weight, _, _)| weight).sum::<f64>();
        let words = weighted().map(|(weight, x, _)| weight * x).sum::<f64>() / sum;
        let seconds = weighted().map(|(weight, _, y)| weight * y).sum::<f64>() / sum;
        let spread = weighted().map(|(weight, x, _)| weight * (x - words).powi(2));
        let spread = spread.sum::<f64>();
        let common = weighted().map(|(weight, x, y)| weight * (x - words) * (y - seconds));
        let g = common.sum::<f64>() / spread;
        let l = seconds - g * words;
        let residuals = points.iter().map(|(x, y)| ((y - g * x - l) / y).abs());
        let residual = median(residuals.collect())?;
        let fit = Self { g, l, residual };
        let is_line = 0.0 < spread && [g, l, residual].iter().all(|number| number.is_finite());
        is_line.then_some(fit)
    }

    /// Seconds of a superstep with `words`.
    fn at(&self, words: f64) -> f64 {
        self.g * words + self.l
    }
}

/// The result of a bench of supersteps.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Report {
    /// p.
    processes: u32,
    /// The nodes on which they were.
    nodes: usize,
    /// r: floating-point operations per second of the slowest process.
    flops_per_second: Option<f64>,
    /// How often each h-relation was counted.
    repetitions: u32,
    /// All processes together.
    #[serde(flatten)]
    all: Measured,
    /// Two processes, on a node of each of two Sets.
    pairs: Vec<Pair>,
}

/// A process on a node of each of two Sets.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Pair {
    /// The Sets.
    sets: [String; 2],
    /// The first node of each.
    nodes: [String; 2],
    #[serde(flatten)]
    measured: Measured,
}

/// g and l with the times that they were fitted to. What is not set could not be measured.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Measured {
    /// g: seconds of a word.
    g_seconds: Option<f64>,
    /// l: seconds of a superstep without words, by the fit.
    l_seconds: Option<f64>,
    /// g in the time of a floating-point operation.
    g_flops: Option<f64>,
    /// l in the same unit.
    l_flops: Option<f64>,
    /// The median distance of a time from the fit, as a part of the time.
    residual: Option<f64>,
    /// Seconds of a superstep without words, as it was measured.
    empty_seconds: Option<f64>,
    /// The least number of words that the fit takes into account: the number of processes.
    fitted_from: u32,
    /// By the number of words.
    each: Vec<Relation>,
}

/// An h-relation.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
struct Relation {
    /// h: words that each process sends and receives.
    words: u32,
    /// The median time of its supersteps.
    seconds: f64,
    /// The time by the fit.
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
}

impl Published for Report {
    const SCHEMA: &'static str = "migbsp.bench-superstep/1";
}

impl Answer for Report {
    /// g and l of all processes and of pairs of Sets, and measured times beside the fit.
    fn document(&self) -> Document {
        let processes = index(self.processes);
        let rate = self.flops_per_second;
        let rate = rate.map_or_else(unknown, |rate| rounded(rate / 1e6, 1));
        let mut document = Document::default();
        document.say(format!(
            "p = {} on {}, r = {rate} Mflop/s, median of {}",
            counted(processes, "process"),
            counted(self.nodes, "node"),
            counted(index(self.repetitions), "repetition"),
        ));
        let pairs = self.pairs.iter();
        let pairs = pairs.map(|pair| (pair.sets.join(", "), &pair.measured));
        let rows = std::iter::once(("all processes".to_owned(), &self.all)).chain(pairs);
        let flops = |flops: Option<f64>| flops.map_or_else(unknown, |flops| rounded(flops, 1));
        let time = |seconds: Option<f64>| seconds.map_or_else(unknown, duration);
        let coefficients = Table::of(
            rows,
            &[
                ("between", &|(name, _)| name.clone()),
                ("g flop", &|(_, measured)| flops(measured.g_flops)),
                ("l flop", &|(_, measured)| flops(measured.l_flops)),
                ("g", &|(_, measured)| time(measured.g_seconds)),
                ("l", &|(_, measured)| time(measured.l_seconds)),
                ("h = 0", &|(_, measured)| time(measured.empty_seconds)),
                ("residual", &|(_, measured)| {
                    let residual = measured.residual;
                    residual.map_or_else(unknown, |part| format!("{} %", rounded(part * 1e2, 1)))
                }),
            ],
        );
        document.table(coefficients.dispensing(&[6, 5]));
        let relations = Table::of(
            &self.all.each,
            &[
                ("words", &|relation| relation.words.to_string()),
                ("data", &|relation| data(f64::from(relation.words) * 8.0)),
                ("measured", &|relation| duration(relation.seconds)),
                ("fit", &|relation| {
                    relation.fitted_seconds.map_or_else(unknown, duration)
                }),
            ],
        );
        document.table(relations.thinned(SHOWN));
        let mut legend =
            "A superstep of w flop and an h-relation takes (w + g·h + l) / r; a word has 8 bytes."
                .to_owned();
        let is_hidden = |measured: &Measured| measured.l_seconds.is_some_and(|l| l <= 0.0);
        let mut all =
            std::iter::once(&self.all).chain(self.pairs.iter().map(|pair| &pair.measured));
        if all.any(is_hidden) {
            legend.push_str(
                "\nAn l that is not above 0 is hidden by noise: take more --repetitions or a smaller --h.",
            );
        }
        document.say(legend);
        document
    }

    /// One row per number of words, of all processes and then of each pair of Sets.
    fn csv(&self, provenance: &Provenance) -> Result<String, Failure> {
        let all = ([None; 2], self.processes, &self.all);
        let pairs = self.pairs.iter().map(|pair| {
            let sets = pair.sets.each_ref().map(|set| Some(set.as_str()));
            (sets, 2, &pair.measured)
        });
        let rows = std::iter::once(all).chain(pairs);
        let rows = rows.flat_map(|(sets, processes, measured)| {
            measured
                .each
                .iter()
                .map(move |relation| (sets, processes, relation))
        });
        csv::<Self, _>(
            provenance,
            rows,
            &[
                ("set", &|(sets, ..)| sets[0].into()),
                ("other_set", &|(sets, ..)| sets[1].into()),
                ("processes", &|(_, processes, _)| (*processes).into()),
                ("words", &|(.., relation)| relation.words.into()),
                ("seconds", &|(.., relation)| relation.seconds.into()),
                ("fitted_seconds", &|(.., relation)| {
                    relation.fitted_seconds.into()
                }),
            ],
        )
    }
}

fn unknown() -> String {
    "-".to_owned()
}

/// Of this many numbers of words one is shown.
const SHOWN: usize = 8;

#[cfg(test)]
mod tests;
