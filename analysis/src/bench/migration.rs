//! `migbsp bench migration`: what moving a process costs on a cluster, and how well that is predicted.

use bsp::{HostId, SetId};
use experiments::{Failure, Provenance, Published};
use model::{BandwidthForecast, CallMove, CostCoefficients, MigrationModel, ProbedLink, median};
use record::{Evaluated, Event, Moved};
use serde::Serialize;

use crate::chart::{Lines, Scale, Series, Style};
use crate::document::{Answer, Document, Table, csv};
use crate::text::{counted, data, maybe, rounded};

/// The numbers of complete supersteps after which `moves` moves are made: three to eight supersteps apart, drawn from
/// `seed`.
#[must_use]
pub fn superstep_numbers(seed: u64, moves: u32) -> Vec<u64> {
    use rand_chacha::ChaCha8Rng;
    use rand_chacha::rand_core::{Rng, SeedableRng};

    let mut numbers = ChaCha8Rng::seed_from_u64(seed);
    let mut superstep = 0;
    let mut next = || {
        superstep += 3 + u64::from(numbers.next_u32() % 6);
        superstep
    };
    (0..moves).map(|_| next()).collect()
}

/// The supersteps and moves of a job with one process.
#[derive(Clone, Debug, Default)]
pub struct Timeline {
    /// When each superstep ended, in seconds.
    ended: Vec<f64>,
    /// What the Managers knew in the call that is being held.
    evaluated: Vec<Evaluated>,
    /// The process has arrived, but the call has not ended.
    arrived: Option<Moved>,
    /// The moves, in their order.
    moves: Vec<TimedMove>,
    /// What was learned before the last call.
    learned: Option<CostCoefficients>,
    /// Speeds of processors, by Set, as the last call knew them, in instructions per second.
    speeds: Vec<f64>,
}

/// A move, with what was known before it.
#[derive(Clone, Copy, Debug)]
struct TimedMove {
    /// The number of complete supersteps.
    superstep: u64,
    moved: Moved,
    /// The predicted seconds of the move, by which the call was held.
    predicted: f64,
    /// Seconds per byte that were predicted for it.
    per_byte: f64,
    /// What a probe found just before it, and the seconds per byte that were predicted without one.
    probed: Option<ProbedLink>,
    forecast: Option<f64>,
}

impl Timeline {
    /// Takes what is needed from an event.
    pub fn observe(&mut self, event: &Event) {
        match event {
            Event::Superstep(superstep) => self.ended.push(superstep.ended.get()),
            Event::Evaluated(evaluated) => self.evaluated.push(evaluated.clone()),
            Event::Moved(moved) => self.arrived = Some(*moved),
            Event::Call(call) => {
                self.learned = call.learned;
                let evaluated = std::mem::take(&mut self.evaluated);
                let hosts = evaluated.iter().filter_map(|set| set.hosts.first());
                self.speeds = hosts.map(|hosts| hosts.speed.get()).collect();
                let migration = call.migrations.first();
                let Some((migration, moved)) = migration.zip(self.arrived.take()) else {
                    return;
                };
                let (from, to) = (migration.from, migration.to);
                let is_on_way = |link: (HostId, HostId)| link == (from, to);
                let mut links = evaluated.iter().flat_map(|evaluated| &evaluated.links);
                let mut probed = call.probed.iter();
                self.moves.push(TimedMove {
                    superstep: call.superstep,
                    moved,
                    predicted: migration.cost.get(),
                    per_byte: migration.per_byte.unwrap_or_default(),
                    probed: probed.find(|link| is_on_way((link.from, link.to))).copied(),
                    forecast: links
                        .find(|link| is_on_way((link.from, link.to)))
                        .map(|link| link.per_byte),
                });
            }
            _ => {}
        }
    }

    /// Seconds from the end of the superstep before the call after `completed` supersteps to the end of the superstep
    /// after it.
    fn around(&self, completed: u64) -> Option<f64> {
        let after = usize::try_from(completed).ok()?;
        Some(self.ended.get(after)? - self.ended.get(after.checked_sub(1)?)?)
    }
}

/// The result of a bench of migrations.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Report {
    #[serde(flatten)]
    settings: Settings,
    /// By kind of state.
    kinds: Vec<KindReport>,
    /// Over all moves.
    all: Summary,
    /// What had been learned in the end of the last kind.
    model: Option<Model>,
    /// Estimators of bandwidth, if they are compared.
    #[serde(skip_serializing_if = "Option::is_none")]
    estimators: Option<Vec<Estimator>>,
    /// Kinds whose outputs were equal to those of the same job without moves, and all kinds.
    equal_outputs: [usize; 2],
}

/// What a bench was asked for.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Settings {
    /// The nodes between which states are moved.
    pub nodes: [String; 2],
    /// The least and the most bytes of a problem's data, as they were written.
    pub state: [String; 2],
    /// Levels of the link between Sets, as they were written, if the bench has set them.
    pub level: Option<String>,
    /// The mean time for which a drawn level is held.
    pub dwell_seconds: Option<f64>,
}

/// The moves of one kind of state.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct KindReport {
    /// The kind of state.
    kind: String,
    #[serde(flatten)]
    summary: Summary,
    /// What had been learned of the cost of moves; `None`: nothing.
    model: Option<Model>,
    /// Every move.
    each: Vec<Scored>,
    /// Whether the outputs were equal to those without moves.
    is_equal: bool,
    #[serde(skip)]
    timeline: Timeline,
}

/// How near the predictions of some moves were.
#[derive(Clone, Copy, Debug, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
struct Summary {
    /// The number of moves.
    moves: usize,
    /// Errors of the time for which processes were frozen.
    #[serde(flatten)]
    errors: Option<Errors>,
    /// Errors of the time that moves added to the run, and the moves that they are of.
    of_added: Option<OfAdded>,
    /// The mean error that Du, Sun and Wu (2007) report.
    paper: Option<f64>,
}

/// Errors of the time that moves added to the run.
#[derive(Clone, Copy, Debug, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
struct OfAdded {
    /// The moves whose added time is known and above zero.
    moves: usize,
    #[serde(flatten)]
    errors: Errors,
}

/// Coefficients of the cost of moves.
#[derive(Clone, Copy, Debug, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
struct Model {
    /// α0.
    startup_seconds: f64,
    /// α1.
    overlap: f64,
    /// Bytes per second of packing and unpacking; not set: no move was delayed by it.
    processing_rate: Option<f64>,
}

impl Summary {
    fn of(moves: &[&Scored], kind: &str) -> Self {
        let of_added = moves.iter().filter_map(|one| one.error_of_added());
        let of_added = Errors::of(of_added.collect());
        Self {
            moves: moves.len(),
            errors: Errors::of(moves.iter().map(|one| one.error).collect()),
            of_added: of_added.map(|errors| OfAdded {
                moves: errors.number,
                errors,
            }),
            paper: paper_error(kind),
        }
    }
}

impl Model {
    fn of(learned: CostCoefficients) -> Self {
        Self {
            startup_seconds: learned.startup.get(),
            overlap: learned.overlap,
            processing_rate: Some(learned.processing.recip()).filter(|rate| rate.is_finite()),
        }
    }
}

impl KindReport {
    /// The moves of `moved`, compared with `baselines`, which are the same job without moves.
    #[must_use]
    pub fn new(kind: &str, moved: Timeline, baselines: &[Timeline], is_equal: bool) -> Self {
        let each = Scored::all(&moved, baselines);
        Self {
            kind: kind.to_owned(),
            summary: Summary::of(&each.iter().collect::<Vec<_>>(), kind),
            model: moved.learned.map(Model::of),
            each,
            is_equal,
            timeline: moved,
        }
    }
}

impl Report {
    /// The report of all kinds.
    #[must_use]
    pub fn new(settings: Settings, kinds: Vec<KindReport>) -> Self {
        let moves: Vec<&Scored> = kinds.iter().flat_map(|kind| &kind.each).collect();
        Self {
            settings,
            all: Summary::of(&moves, "all"),
            model: kinds.last().and_then(|kind| kind.model),
            estimators: None,
            equal_outputs: [
                kinds.iter().filter(|kind| kind.is_equal).count(),
                kinds.len(),
            ],
            kinds,
        }
    }

    /// The same with estimators of bandwidth side by side.
    #[must_use]
    pub fn with_estimators(self) -> Self {
        let moves = self.kinds.iter().map(|kind| &kind.timeline.moves[..]);
        let estimators = compare(&moves.collect::<Vec<&[TimedMove]>>());
        Self {
            estimators: Some(estimators),
            ..self
        }
    }
}

impl Published for Report {
    const SCHEMA: &'static str = "migbsp.bench-migration/1";
}

/// A move with its prediction and its cost by two definitions; all times in seconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
struct Scored {
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
    fn all(moved: &Timeline, baselines: &[Timeline]) -> Vec<Self> {
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
    fn error_of_added(&self) -> Option<f64> {
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
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
struct Errors {
    /// The number of errors.
    #[serde(skip)]
    number: usize,
    /// Their mean.
    mean_error: f64,
    /// Their median.
    median_error: f64,
    /// Their 90th percentile.
    p90_error: f64,
}

impl Errors {
    /// Of no errors there is nothing to say.
    fn of(mut errors: Vec<f64>) -> Option<Self> {
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
fn paper_error(kind: &str) -> Option<f64> {
    match kind {
        "linpack" => Some(0.0819),
        "bitonic" => Some(0.0576),
        "gzip" => Some(0.0651),
        "xlintims" => Some(0.0251),
        "all" => Some(0.0574),
        _ => None,
    }
}

/// An estimator of the bandwidth that the next move meets, with the errors of predictions made with it.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
struct Estimator {
    /// What the bandwidth is estimated from.
    estimator: &'static str,
    #[serde(flatten)]
    errors: Errors,
}

/// What the bandwidth of a move is estimated from.
#[derive(Clone, Copy, Debug)]
enum Source {
    /// What the move was priced by: a probe just before it, unless it confirmed what earlier moves had found.
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
fn compare(kinds: &[&[TimedMove]]) -> Vec<Estimator> {
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
    let mut found = BandwidthForecast::default();
    let mut errors = Vec::new();
    for timed in moves {
        let measured = timed.moved.measured();
        let forecast = timed.forecast.unwrap_or(timed.per_byte);
        let per_byte = match source {
            Source::Used => timed.per_byte,
            Source::Probe => timed.probed.map_or(forecast, |link| link.per_byte),
            Source::Forecast => forecast,
            Source::Predictor(index) => found
                .predictions()
                .map_or(forecast, |predictions| predictions[index].recip()),
        };
        let predicted = model.coefficients().predict(measured.bytes, per_byte).get();
        let took = measured.took.get();
        errors.push(((predicted - took) / took).abs());
        let startup = model.coefficients().startup.get();
        found.observe(measured.bytes.as_f64() / (took - startup));
        // Any two hosts will do: there is one move at a time.
        model.observe(&[CallMove {
            measured,
            per_byte,
            from: (HostId(0), SetId(0)),
            to: (HostId(1), SetId(1)),
        }]);
    }
    errors
}

impl Answer for Report {
    /// A row per kind of state, and what was learned.
    fn document(&self) -> Document {
        let Settings {
            nodes: [from, to],
            state: [least, most],
            level,
            dwell_seconds,
        } = &self.settings;
        let level = maybe(level.as_ref(), |level| {
            format!("; level of the link {level}")
        });
        let dwell = maybe(*dwell_seconds, |dwell| {
            format!(", held for {} s on average", rounded(dwell, 3))
        });
        let mut document = Document::default();
        document.say(format!(
            "{} of {} of state between {from} and {to}, each predicted from the moves before it\nProblems of {least} to {most}{level}{dwell}",
            counted(self.all.moves, "move"),
            counted(self.kinds.len(), "kind"),
        ));
        let headers = [
            "kind",
            "moves",
            "state",
            "predicted s",
            "frozen s",
            "error: mean",
            "median",
            "p90",
            "of added time",
            "paper",
        ];
        let all = summary_row("all", &self.all, [const { String::new() }; 3]);
        let rows = self.kinds.iter().map(row).chain([all]);
        document.table(Table::new(headers, rows).dispensing(&[8, 3, 4, 9]));
        if let Some(estimators) = &self.estimators {
            document.table(Table::of(
                estimators,
                &[
                    ("bandwidth from", &|one| one.estimator.to_owned()),
                    ("error: mean", &|one| percent(one.errors.mean_error)),
                    ("median", &|one| percent(one.errors.median_error)),
                    ("p90", &|one| percent(one.errors.p90_error)),
                ],
            ));
        }
        let learned = self.kinds.iter().filter_map(|kind| {
            let model = kind.model.as_ref()?;
            let processing = maybe(model.processing_rate, |rate| {
                format!(", packing {}/s", data(rate))
            });
            Some(format!(
                "{}: α0 = {} ms, α1 = {}{processing}",
                kind.kind,
                rounded(model.startup_seconds * 1e3, 3),
                rounded(model.overlap, 3),
            ))
        });
        let learned: Vec<String> = learned.collect();
        if !learned.is_empty() {
            document.say(learned.join("\n"));
        }
        let [equal, all] = self.equal_outputs;
        let mut legend = format!(
            "Moved or not, outputs were equal: {equal} of {all}. `of added time` is the mean error against what moves added to the\n\
             run with the probe (Du, Sun and Wu 2007, 3-2), and `paper` the one that they report."
        );
        let added = self.all.of_added.map_or(0, |of_added| of_added.moves);
        if added < self.all.moves {
            legend.push_str(&format!(
                "\n{} added no time that could be told from noise.",
                counted(self.all.moves - added, "move")
            ));
        }
        document.say(legend);
        document
    }

    /// One row per move.
    fn csv(&self, provenance: &Provenance) -> Result<String, Failure> {
        let rows = self.kinds.iter().flat_map(|kind| {
            let name = kind.kind.as_str();
            kind.each.iter().map(move |one| (name, one))
        });
        csv::<Self, _>(
            provenance,
            rows,
            &[
                ("kind", &|(kind, _)| (*kind).into()),
                ("superstep", &|(_, one)| one.superstep.into()),
                ("bytes", &|(_, one)| one.bytes.into()),
                ("probe_seconds", &|(_, one)| one.probe_seconds.into()),
                ("predicted_seconds", &|(_, one)| {
                    one.predicted_seconds.into()
                }),
                ("frozen_seconds", &|(_, one)| one.frozen_seconds.into()),
                ("added_seconds", &|(_, one)| one.added_seconds.into()),
                ("error", &|(_, one)| one.error.into()),
            ],
        )
    }
}

fn row(kind: &KindReport) -> Vec<String> {
    let range = |values: &dyn Fn(&Scored) -> f64| {
        let least = kind.each.iter().map(values).fold(f64::INFINITY, f64::min);
        let most = kind.each.iter().map(values).fold(0.0, f64::max);
        (least, most)
    };
    let (small, large) = range(&|one| bsp::units::Bytes(one.bytes).as_f64());
    let seconds =
        |(least, most): (f64, f64)| format!("{} to {}", rounded(least, 4), rounded(most, 4));
    if kind.each.is_empty() {
        return summary_row(&kind.kind, &kind.summary, [const { String::new() }; 3]);
    }
    let ranges = [
        format!("{} to {}", data(small), data(large)),
        seconds(range(&|one| one.predicted_seconds)),
        seconds(range(&|one| one.frozen_seconds)),
    ];
    summary_row(&kind.kind, &kind.summary, ranges)
}

fn percent(part: f64) -> String {
    format!("{} %", rounded(part * 1e2, 2))
}

fn summary_row(name: &str, summary: &Summary, ranges: [String; 3]) -> Vec<String> {
    let of = |errors: Option<Errors>, which: fn(Errors) -> f64| {
        maybe(errors, |errors| percent(which(errors)))
    };
    let [state, predicted, frozen] = ranges;
    vec![
        name.to_owned(),
        summary.moves.to_string(),
        state,
        predicted,
        frozen,
        of(summary.errors, |errors| errors.mean_error),
        of(summary.errors, |errors| errors.median_error),
        of(summary.errors, |errors| errors.p90_error),
        of(summary.of_added.map(|of_added| of_added.errors), |errors| {
            errors.mean_error
        }),
        maybe(summary.paper, percent),
    ]
}

impl Report {
    /// A point for each move, and the line on which prediction and measurement agree.
    #[must_use]
    pub fn svg(&self) -> String {
        let all = || self.kinds.iter().flat_map(|kind| &kind.each);
        let times = || all().flat_map(|one| [one.predicted_seconds, one.frozen_seconds]);
        let least = times()
            .filter(|time| 0.0 < *time)
            .fold(f64::INFINITY, f64::min);
        let most = times().fold(0.0, f64::max);
        let kinds = self.kinds.iter().enumerate().map(|(index, kind)| Series {
            name: kind.kind.clone(),
            points: kind
                .each
                .iter()
                .map(|one| (one.predicted_seconds, one.frozen_seconds))
                .collect(),
            style: if index % 2 == 0 {
                Style::Marks
            } else {
                Style::Rings
            },
            is_paired: false,
        });
        let agreement = Series {
            name: "as predicted".to_owned(),
            points: vec![(least, least), (most, most)],
            style: Style::Dashed,
            is_paired: false,
        };
        let [from, to] = &self.settings.nodes;
        let chart = Lines {
            title: format!("Moves between {from} and {to}"),
            note: "Each was predicted from the moves before it.".to_owned(),
            x_label: "predicted, seconds".to_owned(),
            y_label: "frozen, seconds".to_owned(),
            x_is_log: true,
            y_scale: Scale::Logarithmic,
            series: kinds.chain([agreement]).collect(),
            ..Lines::default()
        };
        chart.svg()
    }
}

/// A node of the bench, for a simulated platform.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    /// The name of its Set.
    pub set: &'a str,
    /// Its processors.
    pub cores: u32,
}

impl Report {
    /// A platform with two hosts and the link between them, and in comments what an experiment on it states of the cost of
    /// moves. `None`: no move has been measured.
    ///
    /// The bandwidth of the link is the median of those that moves had, its latency half of the shortest round trip.
    #[must_use]
    pub fn platform(&self, places: [Place<'_>; 2]) -> Option<String> {
        let moves = self.kinds.iter().flat_map(|kind| &kind.timeline.moves);
        let startup = self.model?.startup_seconds;
        let found = moves.clone().filter_map(|timed| {
            let seconds = timed.moved.took.get() - startup;
            (startup < seconds).then(|| timed.moved.bytes.as_f64() / seconds)
        });
        let bandwidth = median(found.collect())?;
        let trips = moves.filter_map(|timed| timed.moved.times);
        let trips = trips.map(|times| times.round_trip.get());
        let latency = trips.reduce(f64::min)? / 2.0;
        let speeds: Vec<f64> = self.kinds.last()?.timeline.speeds.clone();
        let speed = |index: usize| speeds.get(index).copied().unwrap_or(FLOPS);
        let link = format!(
            "bandwidth = \"{:.0} Bps\"\nlatency = \"{} us\"",
            bandwidth,
            rounded(latency * 1e6, 3)
        );
        let [from, to] = &self.settings.nodes;
        let mut text = format!(
            "# Measured by `bench migration` between {from} and {to}. An experiment on this platform states\n#\n\
             #   [scheduler.migration]\n#   base = \"{} ms\"\n\n",
            rounded(startup * 1e3, 4)
        );
        let set = |name: &str, hosts: u32, cores: u32, speed: f64, inside: &str| {
            let name = serde_json::Value::from(name);
            format!(
                "[[set]]\nname = {name}\nhosts = {hosts}\ncores = {cores}\nspeed = \"{speed:.0} f\"\nlink = {{ {inside} }}\n\n"
            )
        };
        let [one, other] = places;
        if one.set == other.set {
            let inside = link.replace('\n', ", ");
            text.push_str(&set(one.set, 2, one.cores, speed(0), &inside));
            return Some(text);
        }
        for (index, place) in places.iter().enumerate() {
            text.push_str(&set(place.set, 1, place.cores, speed(index), INSIDE));
        }
        let sets = serde_json::Value::from(places.map(|place| place.set).to_vec());
        text.push_str(&format!(
            "[[link]]\nname = \"measured\"\nbetween = {sets}\n{link}\nduplex = \"split\"\n"
        ));
        Some(text)
    }
}

/// The link of a host inside its Set, which the bench does not measure: much faster than the link between the Sets.
const INSIDE: &str = "bandwidth = \"100 Gbps\", latency = \"0 us\"";

/// The speed of a host that no call has measured.
const FLOPS: f64 = 1e9;

#[cfg(test)]
mod tests {
    use super::*;
    use bsp::Rank;
    use bsp::units::{Bytes, Instant, Seconds};
    use model::ProbedLink;
    use record::Moved;
    use simulator::Platform;

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

    /// A move of a megabyte over a link that takes `found` seconds per byte.
    fn timed(found: f64, probed: Option<f64>, forecast: f64) -> TimedMove {
        TimedMove {
            superstep: 1,
            moved: Moved {
                at: Instant::START,
                rank: Rank(0),
                host: HostId(1),
                epoch: 1,
                bytes: Bytes(1_000_000),
                took: Seconds::new(1e6 * found).unwrap(),
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

    #[test]
    fn without_a_move_there_is_nothing_to_write() {
        let settings = Settings {
            nodes: ["a".to_owned(), "b".to_owned()],
            state: ["1MB".to_owned(), "2MB".to_owned()],
            level: None,
            dwell_seconds: None,
        };
        let place = Place { set: "s", cores: 1 };
        assert_eq!(Report::new(settings, Vec::new()).platform([place; 2]), None);
        // The link inside a Set is one that platforms can have.
        let text = format!(
            "[[set]]\nname = \"s\"\nhosts = 1\ncores = 1\nspeed = \"1 Gf\"\nlink = {{ {} }}\n",
            INSIDE
        );
        assert!(Platform::from_toml(&text).is_ok(), "{text}");
    }
}
