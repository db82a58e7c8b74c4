//! Advice about task farms: the rule by which tasks are dealt, replayed with the rates and costs of a record.

mod costs;
mod interactions;
mod parts;
mod rates;
mod recommend;
mod replay;
mod rules;

use bsp::farm::Dealing;
use experiments::{DealingParameters, Failure};
use serde::Deserialize;
use serde_json::Value;

use self::costs::Costs;
use self::interactions::TimedInteraction;
use self::parts::Parts;
use self::rates::Rates;
use self::replay::Model;
use crate::advise::reading::Reading;
use crate::advise::report::{FarmReport, Report, WorkerReport};
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
        recommend::recommendations((&model, noise), rule, &farm.parts)
    } else {
        Vec::new()
    };
    Ok(Report {
        record: reading.folder.display().to_string(),
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
        let timed = |one| TimedInteraction::new(one, &reading.supersteps);
        let interactions: Option<Vec<_>> = reading.interactions.iter().map(timed).collect();
        let interactions = interactions.ok_or_else(|| {
            reading.fault("an interaction has supersteps that the record does not have")
        })?;
        let rates = Rates::of(&interactions);
        if rates.workers.iter().all(Option::is_none) {
            return Err(reading.fault(
                "no interaction has the time of a worker, so there are no rates to judge\n  help: a task has to take \
                 time: `Work::charge` says how much in a simulation",
            ));
        }
        let costs = Costs::of(&interactions);
        let parts = Parts::recorded(
            &interactions,
            &reading.supersteps,
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
                    rate: rate.map(rates::WorkerRate::rate),
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
        let mut notes = vec![format!(
            "The rule is {}.",
            recommend::in_words(&self.dealing)
        )];
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
        if reading.has_joins {
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

#[cfg(test)]
mod tests;
