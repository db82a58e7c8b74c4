//! Advice about task farms: the rule by which tasks are dealt, replayed with the rates and costs of a record.

mod rules;

use bsp::Interaction;
use bsp::farm::{Dealer, Dealing};
use bsp::units::Seconds;
use experiments::{DealingParameters, Failure};
use model::median;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use serde::Deserialize;
use serde_json::Value;
use statrs::distribution::{ContinuousCDF, Normal};

use crate::advise::Reading;
use crate::advise::report::{FarmReport, Loss, Report, WorkerReport};
use crate::compare::statistics::mean;
use crate::explain::History;
use crate::text::counted;

/// The advice about the farm whose record `reading` is.
///
/// # Errors
///
/// If the record has no times of workers, or its rule is not known.
pub(super) fn advise(reading: &Reading) -> Result<Report, Failure> {
    let farm = Farm::of(reading)?;
    let model = farm.model();
    let report = farm.report(reading.seconds());
    let recommendations = if report.is_faithful() {
        let noise = farm.rates.noise;
        let rule = (&farm.dealing, farm.table.as_str());
        rules::recommendations((&model, noise), rule, &farm.parts)
    } else {
        Vec::new()
    };
    Ok(Report {
        record: reading.history.folder.display().to_string(),
        scenario: reading.manifest.scenario.clone(),
        workload: reading.workload().to_owned(),
        seconds: reading.seconds(),
        ideal_seconds: farm.parts.ideal,
        losses: farm.parts.losses(),
        notes: farm.notes(reading, &report),
        farm: Some(report),
        recommendations,
        rejected: Vec::new(),
    })
}

/// What a record says about a farm.
#[derive(Debug)]
struct Farm {
    interactions: Vec<TimedInteraction>,
    rates: Rates,
    costs: Costs,
    parts: Parts,
    dealing: Dealing,
    /// The path of its keys, as `application.task-farm.dealing`.
    table: String,
}

impl Farm {
    fn of(reading: &Reading) -> Result<Self, Failure> {
        let (table, dealing) = rule(reading)?;
        let history = &reading.history;
        let timed = |one| TimedInteraction::new(one, history);
        let interactions: Option<Vec<_>> = history.interactions.iter().map(timed).collect();
        let interactions = interactions.ok_or_else(|| {
            reading.fault("an interaction has supersteps that the record does not have")
        })?;
        let rates = Rates::of(&interactions);
        if rates.workers.iter().all(Option::is_none) {
            return Err(reading.fault(
                "no interaction has the time of a worker, so no rates are known\n  help: a task has to take \
                 time: `Work::charge` says how much in a simulation",
            ));
        }
        let costs = Costs::of(&interactions);
        let parts = Parts::recorded(
            &interactions,
            history,
            reading.seconds(),
            (&costs, rates.sum()),
        );
        Ok(Self {
            interactions,
            rates,
            costs,
            parts,
            dealing,
            table,
        })
    }

    /// The farm for replays. Workers are present from the time on at which they were dealt tasks in the record.
    fn model(&self) -> Model {
        let mut rates = Vec::new();
        let mut present_from = Vec::new();
        for (worker, rate) in self.rates.workers.iter().enumerate() {
            let Some(rate) = rate else { continue };
            rates.push(rate.rate());
            let first = self
                .interactions
                .iter()
                .position(|one| one.dealt.get(worker).is_some_and(|dealt| 0 < *dealt));
            let joined = first.filter(|first| 0 < *first);
            // Clocks of a replay differ a little from those of the record.
            present_from.push(joined.map_or(0.0, |first| {
                f64::midpoint(self.clock_before(first - 1), self.clock_before(first))
            }));
        }
        Model {
            tasks: self.interactions.iter().map(TimedInteraction::tasks).sum(),
            rates,
            present_from,
            noise_of_task: self.rates.noise_of_task,
            costs: self.costs,
            sharing: self.parts.sharing,
            rest: self.parts.rest,
        }
    }

    /// The time at which interaction `number` began, without time that belongs to no interaction.
    fn clock_before(&self, number: usize) -> f64 {
        let before = self.interactions[..number].iter();
        let parts = before.map(|one| self.costs.deal.at(one.tasks()) + one.execute + one.tell);
        self.parts.sharing + parts.sum::<f64>()
    }

    fn report(&self, seconds: f64) -> FarmReport {
        let replayed_seconds = self.model().replay(&self.dealing).seconds();
        let workers = self.rates.workers.iter().enumerate();
        FarmReport {
            tasks: self.interactions.iter().map(TimedInteraction::tasks).sum(),
            interactions: self.interactions.len(),
            dealing: rules::table(&self.dealing).into(),
            workers: workers
                .map(|(worker, rate)| WorkerReport {
                    process: process(worker),
                    tasks: rate.map_or(0, |rate| rate.tasks),
                    seconds: rate.map_or(0.0, |rate| rate.seconds),
                    rate: rate.map(WorkerRate::rate),
                })
                .collect(),
            noise: self.rates.noise,
            deal_seconds: self.costs.deal.base,
            deal_seconds_per_task: self.costs.deal.per_task,
            outcomes_seconds: self.costs.outcomes.base,
            outcomes_seconds_per_task: self.costs.outcomes.per_task,
            tell_seconds: self.costs.tell,
            replayed_seconds,
            replay_error: replayed_seconds / seconds - 1.0,
        }
    }

    /// What limits the advice.
    fn notes(&self, reading: &Reading, report: &FarmReport) -> Vec<String> {
        let mut notes = vec![format!("The rule is {}.", rules::in_words(&self.dealing))];
        if !report.is_faithful() {
            notes.push(format!(
                "The replay of the rule differs from the record by more than {:.0} %, as it does where neighbouring \
                 tasks have similar times and others do not: no other rule is predicted.",
                FarmReport::MOST_ERROR * 100.0
            ));
        }
        let unknown: Vec<String> = self
            .rates
            .workers
            .iter()
            .enumerate()
            .filter(|(_, rate)| rate.is_none())
            .map(|(worker, _)| process(worker))
            .collect();
        if !unknown.is_empty() {
            notes.push(format!(
                "{} executed no task, so the rates of {} are unknown, and predictions are without {}.",
                unknown.join(", "),
                if unknown.len() == 1 { "this worker" } else { "these workers" },
                if unknown.len() == 1 { "it" } else { "them" },
            ));
        }
        if reading.history.joins.iter().any(|join| join.joined) {
            notes.push(
                "Hosts joined during the run. The rates of their workers are those of the interactions they took part \
                 in. The ideal is with all workers from the start on; predictions are for workers that join when they \
                 did in the record."
                    .to_owned(),
            );
        }
        if self.costs.is_deal_assumed {
            notes.push(
                "With a single interaction, the time to send tasks is part of sharing. Predictions assume that a task \
                 takes as long to send as an outcome."
                    .to_owned(),
            );
        }
        if self.interactions.len() == 1 {
            let workers = self.rates.workers.iter().flatten().count();
            notes.push(format!(
                "The record has one interaction of {}: tasks are assumed to take equal times, without noise.",
                counted(workers, "worker")
            ));
        }
        notes
    }
}

/// The table with the rule of the record, and the rule.
fn rule(reading: &Reading) -> Result<(String, Dealing), Failure> {
    let workload = reading.workload();
    let section = &reading.manifest.configuration["application"][workload];
    let is_rule = |value: &Value| value.get("kind").is_some_and(Value::is_string);
    let named = section.get("dealing").map(|value| ("dealing", value));
    let tables = section.as_object().into_iter().flatten();
    let tables = tables.map(|(key, value)| (key.as_str(), value));
    let found = named.into_iter().chain(tables).find_map(|(key, value)| {
        let parameters = DealingParameters::deserialize(value).ok()?;
        is_rule(value).then_some((key, parameters))
    });
    let Some((key, parameters)) = found else {
        return Err(reading.fault(&format!(
            "run.json has no rule by which tasks are dealt in `application.{workload}`\n  help: a workload keeps it in a \
             table `dealing`, as docs/task-farms.md shows"
        )));
    };
    let dealing = parameters
        .dealing()
        .map_err(|error| reading.fault(&format!("run.json: {error}")))?;
    Ok((format!("application.{workload}.{key}"), dealing))
}

/// The process of a worker: p1 deals.
fn process(worker: usize) -> String {
    format!("p{}", worker + 2)
}

/// An interaction, with the durations of its three supersteps in seconds.
#[derive(Clone, Debug, PartialEq)]
struct TimedInteraction {
    /// The superstep in which it was dealt.
    superstep: u64,
    /// Tasks dealt, by worker.
    dealt: Vec<u64>,
    /// How long workers executed them.
    took: Vec<f64>,
    /// The superstep in which tasks were dealt.
    deal: f64,
    /// The superstep in which they were executed.
    execute: f64,
    /// The superstep in which workers sent their times.
    tell: f64,
}

impl TimedInteraction {
    /// `interaction` with its supersteps; `None` if one of them is missing.
    fn new(interaction: &Interaction, history: &History) -> Option<Self> {
        let seconds = |later: u64| {
            let superstep = interaction.superstep.checked_add(later)?;
            // A run that resumes a job begins with a later superstep.
            superstep.checked_sub(history.run.first_superstep())?;
            let superstep = history.supersteps.get(history.place(superstep))?;
            Some(superstep.seconds)
        };
        Some(Self {
            superstep: interaction.superstep,
            dealt: interaction.dealt.clone(),
            took: interaction.took.iter().copied().map(Seconds::get).collect(),
            deal: seconds(0)?,
            execute: seconds(1)?,
            tell: seconds(2)?,
        })
    }

    /// All tasks.
    fn tasks(&self) -> u64 {
        self.dealt.iter().sum()
    }

    /// The longest time of a worker.
    fn longest(&self) -> f64 {
        self.took.iter().copied().fold(0.0, f64::max)
    }
}

/// How fast workers executed their tasks.
#[derive(Clone, Debug, PartialEq)]
struct Rates {
    /// By worker; `None`: it executed no task.
    workers: Vec<Option<WorkerRate>>,
    /// The relative standard deviation of the time per task of a worker between interactions, over all workers.
    noise: f64,
    /// The same for interactions of a single task, if tasks vary independently.
    noise_of_task: f64,
}

/// What a worker executed.
#[derive(Clone, Copy, Debug, PartialEq)]
struct WorkerRate {
    /// Tasks of all interactions.
    tasks: u64,
    /// The time that they took.
    seconds: f64,
}

impl WorkerRate {
    /// Tasks per second.
    fn rate(self) -> f64 {
        self.tasks as f64 / self.seconds
    }
}

impl Rates {
    /// The rates that `interactions` show.
    fn of(interactions: &[TimedInteraction]) -> Self {
        let number = interactions.iter().map(|one| one.dealt.len()).max();
        let (mut squares, mut squares_of_tasks, mut degrees) = (0.0, 0.0, 0_usize);
        let mut workers = Vec::new();
        for worker in 0..number.unwrap_or(0) {
            let shares: Vec<(f64, f64)> = interactions
                .iter()
                .filter_map(|one| Some((*one.dealt.get(worker)?, *one.took.get(worker)?)))
                .filter(|(dealt, took)| 0 < *dealt && 0.0 < *took)
                .map(|(dealt, took)| (dealt as f64, took))
                .collect();
            let tasks: f64 = shares.iter().map(|(dealt, _)| dealt).sum();
            let seconds: f64 = shares.iter().map(|(_, took)| took).sum();
            if shares.is_empty() {
                workers.push(None);
                continue;
            }
            let mean = seconds / tasks;
            for (dealt, took) in &shares {
                let deviation = took / dealt / mean - 1.0;
                squares += deviation * deviation;
                squares_of_tasks += dealt * deviation * deviation;
            }
            degrees += shares.len() - 1;
            let dealt = interactions
                .iter()
                .filter_map(|one| one.dealt.get(worker).zip(one.took.get(worker)));
            let tasks = dealt.filter(|(_, took)| 0.0 < **took);
            workers.push(Some(WorkerRate {
                tasks: tasks.map(|(dealt, _)| dealt).sum(),
                seconds,
            }));
        }
        let deviation = |squares: f64| match degrees {
            0 => 0.0,
            degrees => (squares / degrees as f64).sqrt(),
        };
        let noise = deviation(squares);
        let is_rounding = noise < ROUNDED_NOISE;
        Self {
            workers,
            noise: if is_rounding { 0.0 } else { noise },
            noise_of_task: if is_rounding {
                0.0
            } else {
                deviation(squares_of_tasks)
            },
        }
    }

    /// The sum of all rates.
    fn sum(&self) -> f64 {
        self.workers.iter().flatten().map(|one| one.rate()).sum()
    }
}

/// Deviations below this part are of floating-point numbers.
const ROUNDED_NOISE: f64 = 1e-6;

/// What the supersteps of an interaction take beside the execution of tasks, in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Costs {
    /// A superstep in which tasks are dealt.
    deal: Line,
    /// The outcomes: they reach the master one after the other, those of each worker when it has executed its tasks.
    outcomes: Line,
    /// The superstep in which workers send their times.
    tell: f64,
    /// Whether dealing is known only together with the sharing before it, and is assumed to take what outcomes take.
    is_deal_assumed: bool,
}

/// `base` seconds, and `per_task` for each task.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Line {
    base: f64,
    per_task: f64,
}

impl Line {
    /// The seconds for this number of tasks.
    fn at(self, tasks: u64) -> f64 {
        self.base + self.per_task * tasks as f64
    }
}

impl Costs {
    /// The costs that `interactions` show.
    fn of(interactions: &[TimedInteraction]) -> Self {
        let times: Vec<f64> = interactions.iter().map(|one| one.tell).collect();
        let tell = if times.is_empty() { 0.0 } else { mean(&times) };
        let outcomes = outcomes(interactions);
        // Workers pass on what they share while the first interaction is dealt.
        let later = interactions.get(1..).unwrap_or_default();
        let points: Vec<(f64, f64)> = later
            .iter()
            .map(|one| (one.tasks() as f64, one.deal))
            .collect();
        let is_deal_assumed = points.is_empty();
        let deal = if is_deal_assumed {
            Line {
                base: tell,
                per_task: outcomes.per_task,
            }
        } else {
            line(&points, tell)
        };
        Self {
            deal,
            outcomes,
            tell,
            is_deal_assumed,
        }
    }

    /// How long a superstep takes in which workers execute `dealt` tasks in `took` seconds.
    fn execute(&self, dealt: &[u64], took: &[f64]) -> f64 {
        received(dealt, took, self.outcomes.per_task) + self.outcomes.base
    }
}

/// The time when the master has all outcomes, if each takes `per_task`.
fn received(dealt: &[u64], took: &[f64], per_task: f64) -> f64 {
    let mut workers: Vec<(f64, u64)> = took.iter().copied().zip(dealt.iter().copied()).collect();
    workers.sort_by(|one, other| one.0.total_cmp(&other.0));
    workers.iter().fold(0.0, |clock: f64, (took, dealt)| {
        clock.max(*took) + per_task * *dealt as f64
    })
}

/// The line of outcomes with the least absolute errors.
fn outcomes(interactions: &[TimedInteraction]) -> Line {
    let bound = |one: &TimedInteraction| {
        let longest = one.longest();
        let shares = one.took.iter().zip(&one.dealt);
        let last = shares.filter(|(took, _)| longest <= **took);
        let tasks: u64 = last.map(|(_, dealt)| *dealt).sum();
        (one.execute - longest).max(0.0) / tasks.max(1) as f64
    };
    let mut most = interactions.iter().map(bound).fold(0.0, f64::max);
    let mut least = 0.0;
    let mut best = (f64::INFINITY, Line::default());
    for _ in 0..REFINEMENTS {
        let step = (most - least) / f64::from(STEPS);
        for number in 0..=STEPS {
            let per_task = least + step * f64::from(number);
            let rests: Vec<f64> = interactions
                .iter()
                .map(|one| one.execute - received(&one.dealt, &one.took, per_task))
                .collect();
            let base = median(rests.clone()).unwrap_or_default().max(0.0);
            let error: f64 = rests.iter().map(|rest| (rest - base).abs()).sum();
            if error < best.0 {
                best = (error, Line { base, per_task });
            }
        }
        let found = best.1.per_task;
        (least, most) = ((found - step).max(0.0), found + step);
    }
    best.1
}

/// A line through `points`: the median of the slopes between any two, by the distance of the two, and the median of what
/// is left. Without two different numbers of tasks, through `base`.
fn line(points: &[(f64, f64)], base: f64) -> Line {
    let few = spread(points);
    let mut slopes = Vec::new();
    for (index, (tasks, seconds)) in few.iter().enumerate() {
        for (other_tasks, other_seconds) in &few[..index] {
            let distance = tasks - other_tasks;
            if 0.5 < distance.abs() {
                slopes.push(((seconds - other_seconds) / distance, distance.abs()));
            }
        }
    }
    let per_task = if slopes.is_empty() {
        let slope = |(tasks, seconds): &(f64, f64)| (seconds - base) / tasks.max(1.0);
        median(few.iter().map(slope).collect()).unwrap_or_default()
    } else {
        weighted_median(slopes)
    };
    let per_task = per_task.max(0.0);
    let rest = |(tasks, seconds): &(f64, f64)| seconds - per_task * tasks;
    Line {
        base: median(points.iter().map(rest).collect())
            .unwrap_or_default()
            .max(0.0),
        per_task,
    }
}

/// At most some hundred of `points`, evenly taken.
fn spread(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let step = points.len().div_ceil(POINTS).max(1);
    let mut few: Vec<_> = points.iter().copied().step_by(step).collect();
    // The last interaction is the one that differs most.
    few.extend(points.last().filter(|_| 1 < step));
    few
}

/// The least value below and at which half of the weight is; 0 of nothing.
fn weighted_median(mut values: Vec<(f64, f64)>) -> f64 {
    values.sort_by(|one, other| one.0.total_cmp(&other.0));
    let half: f64 = values.iter().map(|(_, weight)| weight).sum::<f64>() / 2.0;
    let mut weight = 0.0;
    let found = values.iter().find(|(_, more)| {
        weight += more;
        half <= weight
    });
    found
        .or_else(|| values.last())
        .map_or(0.0, |(value, _)| *value)
}

/// How many values of a range are tried.
const STEPS: u32 = 64;

/// How often the range around the best value is divided again.
const REFINEMENTS: usize = 3;

/// The most points whose slopes are compared.
const POINTS: usize = 200;

/// The parts of the makespan of a farm, in seconds. Their sum is the makespan.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Parts {
    /// All tasks at the rates of all workers together.
    ideal: f64,
    /// Before the first interaction: the workers receive what they share.
    sharing: f64,
    /// Workers that waited for the slowest one in the first interaction.
    first: f64,
    /// The same in all others but the last one.
    middle: f64,
    /// The same in the last one.
    last: f64,
    /// Tasks that were sent.
    dealing: f64,
    /// Outcomes that were sent after the slowest worker had executed its tasks.
    collecting: f64,
    /// Times that were sent.
    telling: f64,
    /// Supersteps that belong to no interaction, and the time between supersteps, as for calls.
    rest: f64,
}

impl Parts {
    /// The parts of a recorded run that took `seconds`, at the sum of rates `rate`.
    fn recorded(
        interactions: &[TimedInteraction],
        history: &History,
        seconds: f64,
        (costs, rate): (&Costs, f64),
    ) -> Self {
        let mut parts = Self::default();
        let first = interactions.first().map_or(0, |one| one.superstep);
        for (number, one) in interactions.iter().enumerate() {
            parts.add(Place::of(number, interactions.len()), one, rate);
        }
        if let Some(one) = interactions.first() {
            // The rest of what workers share arrives with the first tasks.
            let excess = (one.deal - costs.deal.at(one.tasks())).max(0.0);
            parts.sharing += excess;
            parts.dealing -= excess;
        }
        let of_interactions: Vec<u64> = interactions
            .iter()
            .flat_map(|one| one.superstep..one.superstep.saturating_add(3))
            .collect();
        for (index, superstep) in (history.run.first_superstep()..).zip(&history.supersteps) {
            if index < first {
                parts.sharing += superstep.seconds;
            } else if of_interactions.binary_search(&index).is_err() {
                parts.rest += superstep.seconds;
            }
        }
        let all: f64 = history.supersteps.iter().map(|one| one.seconds).sum();
        parts.rest += seconds - all;
        parts
    }

    /// Adds an interaction.
    fn add(&mut self, place: Place, one: &TimedInteraction, rate: f64) {
        let longest = one.longest();
        let ideal = one.tasks() as f64 / rate;
        self.ideal += ideal;
        match place {
            Place::First => self.first += longest - ideal,
            Place::Middle => self.middle += longest - ideal,
            Place::Last => self.last += longest - ideal,
        }
        self.dealing += one.deal;
        self.collecting += one.execute - longest;
        self.telling += one.tell;
    }

    /// All parts as losses, in the order of a run; without the ideal.
    fn losses(&self) -> Vec<Loss> {
        let seconds = self.seconds();
        self.named()
            .into_iter()
            .map(|(part, value)| Loss::new(part, value, seconds))
            .collect()
    }

    /// All parts but the ideal, with their names.
    fn named(&self) -> [(&'static str, f64); 8] {
        [
            (SHARING, self.sharing),
            (FIRST, self.first),
            (MIDDLE, self.middle),
            (LAST, self.last),
            ("sending of tasks", self.dealing),
            ("sending of outcomes", self.collecting),
            ("sending of times", self.telling),
            ("the rest", self.rest),
        ]
    }

    /// The makespan.
    fn seconds(&self) -> f64 {
        let losses = self.named().into_iter().map(|(_, value)| value);
        self.ideal + losses.sum::<f64>()
    }

    /// The sum of both, part by part.
    fn plus(&self, other: &Self) -> Self {
        self.with(other, |one, other| one + other)
    }

    /// Each part times `factor`.
    fn times(&self, factor: f64) -> Self {
        self.with(self, |part, _| part * factor)
    }

    /// Each part made of those of both.
    fn with(&self, other: &Self, part: impl Fn(f64, f64) -> f64) -> Self {
        Self {
            ideal: part(self.ideal, other.ideal),
            sharing: part(self.sharing, other.sharing),
            first: part(self.first, other.first),
            middle: part(self.middle, other.middle),
            last: part(self.last, other.last),
            dealing: part(self.dealing, other.dealing),
            collecting: part(self.collecting, other.collecting),
            telling: part(self.telling, other.telling),
            rest: part(self.rest, other.rest),
        }
    }
}

/// The place of an interaction in a run. The only one is the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    First,
    Middle,
    Last,
}

impl Place {
    /// The place of interaction `number` of `all`.
    fn of(number: usize, all: usize) -> Self {
        if number + 1 == all {
            Self::Last
        } else if number == 0 {
            Self::First
        } else {
            Self::Middle
        }
    }
}

const SHARING: &str = "sharing, before the first interaction";
const FIRST: &str = "imbalance of the first interaction";
const MIDDLE: &str = "imbalance of the interactions between";
const LAST: &str = "imbalance of the last interaction";

/// A farm with the rates and costs of a record.
#[derive(Clone, Debug, PartialEq)]
struct Model {
    /// All tasks.
    tasks: u64,
    /// Tasks per second, by worker.
    rates: Vec<f64>,
    /// The time from which on each worker is present; zero for all that did not join.
    present_from: Vec<f64>,
    /// The relative standard deviation of the time of a task.
    noise_of_task: f64,
    /// What the supersteps take in addition.
    costs: Costs,
    /// The time before the first interaction.
    sharing: f64,
    /// The time that belongs to no interaction.
    rest: f64,
}

impl Model {
    /// The parts of the makespan with the rule `dealing`; with noise, the means over some draws, the same for all rules.
    fn replay(&self, dealing: &Dealing) -> Parts {
        let draws = if 0.0 < self.noise_of_task { DRAWS } else { 1 };
        let all = (0..draws).map(|draw| self.once(dealing, draw));
        let sum = all.fold(Parts::default(), |sum, parts| sum.plus(&parts));
        sum.times(1.0 / draws as f64)
    }

    fn once(&self, dealing: &Dealing, draw: u64) -> Parts {
        let number = u32::try_from(self.rates.len()).unwrap_or(u32::MAX);
        let mut dealer = Dealer::new(dealing.clone(), self.tasks, number);
        let rate: f64 = self.rates.iter().sum();
        let mut parts = Parts {
            sharing: self.sharing,
            rest: self.rest,
            ..Parts::default()
        };
        let mut clock = self.sharing;
        let mut interaction = 0;
        loop {
            let is_present: Vec<bool> = self.present_from.iter().map(|at| *at <= clock).collect();
            let dealt = dealer.deal(interaction, &is_present);
            if dealt.iter().all(|dealt| *dealt == 0) {
                return parts;
            }
            let took: Vec<f64> = (0..)
                .zip(dealt.iter().zip(&self.rates))
                .map(|(worker, (dealt, rate))| {
                    let seconds = *dealt as f64 / rate;
                    seconds * self.factor(*dealt, [draw, interaction, worker])
                })
                .collect();
            for (worker, (dealt, took)) in dealt.iter().zip(&took).enumerate() {
                if 0 < *dealt {
                    dealer.observe(worker, Seconds::new(*took).unwrap_or(Seconds::ZERO));
                }
            }
            let one = TimedInteraction {
                superstep: interaction,
                deal: self.costs.deal.at(dealt.iter().sum()),
                execute: self.costs.execute(&dealt, &took),
                tell: self.costs.tell,
                dealt,
                took,
            };
            clock += one.deal + one.execute + one.tell;
            let place = match (interaction, dealer.left()) {
                (_, 0) => Place::Last,
                (0, _) => Place::First,
                _ => Place::Middle,
            };
            parts.add(place, &one, rate);
            interaction += 1;
        }
    }

    /// How much longer than at its rate a worker takes for `dealt` tasks that vary independently.
    fn factor(&self, dealt: u64, place: [u64; 3]) -> f64 {
        if dealt == 0 {
            return 1.0;
        }
        // Times of equal tasks differ by rounding, which matters to thresholds without width.
        let deviation = self.noise_of_task / (dealt as f64).sqrt() + ROUNDING;
        (1.0 + deviation * normal(place)).max(LEAST_FACTOR)
    }
}

/// A number of the standard normal distribution; always the same for the same place.
fn normal(place: [u64; 3]) -> f64 {
    let mut seed = [0; 32];
    for (bytes, part) in seed.chunks_mut(8).zip(place) {
        bytes.copy_from_slice(&part.to_le_bytes());
    }
    let drawn = ChaCha8Rng::from_seed(seed).next_u32();
    // In the middle of its part of the numbers from 0 to 1, so it is neither.
    let uniform = (f64::from(drawn) + 0.5) / (f64::from(u32::MAX) + 1.0);
    Normal::standard().inverse_cdf(uniform)
}

/// The relative standard deviation of times that differ by rounding alone.
const ROUNDING: f64 = 1e-12;

/// How often a farm with noise is replayed.
const DRAWS: u64 = 8;

/// No worker is more than ten times as fast as at its rate.
const LEAST_FACTOR: f64 = 0.1;

#[cfg(test)]
mod tests;
