//! Advice about programs whose processes are rescheduled.
//!
//! A rule assesses the [`Evidence`] of a run and the [`Settings`] in effect, and gives advice only if the evidence
//! supports it. A run that is balanced, or whose policy already is the one to try, gets none. Commands that run an
//! experiment have its events alone. [`advise`] has the record, which says more: what moves saved, and where the time went.

use std::collections::{BTreeMap, BTreeSet};

use bsp::Rank;
use bsp::units::Seconds;
use experiments::{Failure, Provenance, Published, Scenario, Scheduler};
use model::median;
use record::Event;
use serde::Serialize;
use serde_json::{Value, json};

use crate::advise::report::{Loss, Recommendation, Report, shown};
use crate::document::{Answer, Document};
use crate::explain::{SettledCall, settled_calls};
use crate::run::{RunCall, RunModel};
use crate::simulate;
use crate::text::{counted, duration, rounded};

/// What the events of a run say about its speed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Evidence {
    /// The makespan; 0 until the run has ended.
    pub seconds: f64,
    /// The number of supersteps.
    pub supersteps: u64,
    /// Computation that the best mapping of every superstep would have saved, in seconds, if it is known.
    pub attainable_seconds: Option<f64>,
    /// Number of calls.
    pub calls: usize,
    /// Time for which calls delayed the processes, in seconds.
    pub call_seconds: f64,
    /// Supersteps that were over at the last call, if calls come when they are due and not by an interval.
    pub called_when_due: Option<u64>,
    /// The number of supersteps in which a process had the longest computation, by process; one of equals counts.
    pub slowest: BTreeMap<Rank, u64>,
    /// Processes that have moved.
    pub moved: BTreeSet<Rank>,
}

impl Evidence {
    /// Adds the next event of the run.
    pub fn observe(&mut self, event: &Event) {
        match event {
            Event::Superstep(superstep) => {
                *self.slowest.entry(superstep.slowest).or_default() += 1;
            }
            Event::Call(call) => {
                self.calls += 1;
                self.called_when_due = call.interval.is_none().then_some(call.superstep);
                self.call_seconds += call.cost.get();
                self.moved
                    .extend(call.migrations.iter().map(|migration| migration.rank));
            }
            Event::End(end) => {
                self.seconds = end.seconds.get();
                self.supersteps = end.supersteps;
                self.attainable_seconds = end.attainable.map(Seconds::get);
            }
            _ => {}
        }
    }
}

/// The settings of a run that advice depends on.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// The name of the policy.
    pub policy: String,
    /// Supersteps before the first call.
    pub interval: u32,
    /// The part of the run that calls without moves may take.
    pub overhead: f64,
    /// Whether the policy was free to move processes, or was absent: neither scripted nor kept by the scenario from
    /// moving them.
    pub can_be_advised: bool,
}

impl Settings {
    /// The settings of a run of `scenario`.
    pub fn new(scheduler: &Scheduler, scenario: Scenario) -> Self {
        let is_free = scenario == Scenario::Iii || scheduler.policy.is_none();
        Self {
            policy: scheduler.policy_name(),
            interval: scheduler.settings.model.parameters().interval,
            overhead: scheduler.settings.planning.overhead,
            can_be_advised: is_free && scheduler.orders.is_empty(),
        }
    }

    /// The settings of a recorded run.
    fn recorded(model: &RunModel) -> Self {
        let scheduler = &model.manifest.configuration["scheduler"];
        let script = scheduler["script"].as_array();
        let is_free = Scenario::named(&model.manifest.scenario) == Some(Scenario::Iii);
        let interval = scheduler["interval"].as_u64().unwrap_or_default();
        Self {
            policy: model.manifest.policy().unwrap_or_default().to_owned(),
            interval: u32::try_from(interval).unwrap_or(u32::MAX),
            overhead: scheduler["planning"]["overhead"].as_f64().unwrap_or(1.0),
            can_be_advised: is_free && script.is_none_or(Vec::is_empty),
        }
    }
}

/// What delays a run, and what to try.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Advice {
    /// The evidence, in words and figures.
    pub reason: String,
    /// Options for the command that ran the experiment.
    #[serde(rename = "try")]
    pub options: String,
    /// The time that the cause takes from the run, in seconds: an upper bound of what the options can save.
    pub seconds: f64,
}

impl Advice {
    /// The advice as a sentence.
    pub fn sentence(&self) -> String {
        format!("{}; try `{}`.", self.reason, self.options)
    }
}

/// Results of a simulation with advice about its last scenario.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct AdvisedReport<'a> {
    /// The results.
    #[serde(flatten)]
    pub report: &'a experiments::Report,
    /// What to try next, the most valuable first.
    pub advice: &'a [Advice],
    /// The command that compares other policies, for the text, if that is worth its time.
    #[serde(skip)]
    pub comparison: Option<String>,
}

impl Published for AdvisedReport<'_> {
    const SCHEMA: &'static str = experiments::Report::SCHEMA;
}

impl Answer for AdvisedReport<'_> {
    fn document(&self) -> Document {
        let mut document = simulate::document(self.report);
        for advice in self.advice {
            document.say(advice.sentence());
        }
        if let Some(command) = &self.comparison {
            document.say(format!(
                "Other policies may save more: `{command}` compares them."
            ));
        }
        document
    }

    fn csv(&self, provenance: &Provenance) -> Result<String, Failure> {
        self.report.csv(provenance)
    }
}

/// What to try next, the most valuable first; of a run that has not ended, none.
pub fn advice(evidence: &Evidence, settings: &Settings) -> Vec<Advice> {
    if !settings.can_be_advised {
        return Vec::new();
    }
    let interval = longer_interval(evidence, settings).map(|(_, advice)| advice);
    let rules = [
        better_mapping(evidence, settings),
        interval,
        larger_budget(evidence, settings),
    ];
    let mut all: Vec<Advice> = rules.into_iter().flatten().collect();
    all.sort_by(|one, other| other.seconds.total_cmp(&one.seconds));
    all
}

/// A policy that plans for all processes together, if the placements of the run leave much to save.
fn better_mapping(evidence: &Evidence, settings: &Settings) -> Option<Advice> {
    let left = evidence.attainable_seconds?;
    let is_much = 0.0 < evidence.seconds && LEAST_MAPPING_SHARE * evidence.seconds <= left;
    if !is_much || evidence.supersteps < LEAST_SUPERSTEPS || settings.policy == ADAPTIVE {
        return None;
    }
    let share = left / evidence.seconds * 100.0;
    let slowest = evidence.slowest.iter();
    let (rank, supersteps) = slowest.max_by_key(|(_, supersteps)| **supersteps)?;
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

/// A longer first interval, if calls took much of the run and the interval did not grow by itself.
fn longer_interval(evidence: &Evidence, settings: &Settings) -> Option<(u32, Advice)> {
    let is_much =
        0.0 < evidence.seconds && LEAST_CALL_SHARE * evidence.seconds <= evidence.call_seconds;
    if !is_much || settings.policy != NEGOTIATED || evidence.supersteps < LEAST_SUPERSTEPS {
        return None;
    }
    let calls = u64::try_from(evidence.calls).ok()?;
    let spacing = evidence.supersteps.checked_div(calls)?;
    let interval = settings.interval.checked_mul(LONGER)?;
    if u64::from(interval) < spacing || evidence.supersteps < u64::from(interval) * LONGEST_PART {
        return None;
    }
    let share = evidence.call_seconds / evidence.seconds * 100.0;
    let advice = Advice {
        reason: format!(
            "{} took {} s ({share:.1} %) of this run, one every {spacing} supersteps on average",
            counted(evidence.calls, "call"),
            rounded(evidence.call_seconds, 3),
        ),
        options: format!("--set scheduler.interval={interval}"),
        seconds: evidence.call_seconds,
    };
    Some((interval, advice))
}

/// A larger overhead budget, if the first calls had spent it and no other was held for most of the run.
fn larger_budget(evidence: &Evidence, settings: &Settings) -> Option<Advice> {
    let last = evidence.called_when_due?;
    let budget = settings.overhead * evidence.seconds;
    if evidence.supersteps < LEAST_SUPERSTEPS
        || evidence.supersteps.checked_div(LEAST_PART)? < last
        || evidence.call_seconds <= budget
    {
        return None;
    }
    let overhead = (settings.overhead * LARGER).min(1.0);
    let share = rounded(settings.overhead * 100.0, 0);
    Some(Advice {
        reason: format!(
            "{} took {}, more than the {share} % of the run that calls without moves may take, and none was held after \
             superstep {last} of {}",
            counted(evidence.calls, "call"),
            duration(evidence.call_seconds),
            evidence.supersteps
        ),
        options: format!("--set scheduler.planning.overhead={overhead}"),
        seconds: 0.0,
    })
}

/// The advice about a run.
pub(super) fn advise(model: &RunModel) -> Report {
    let times = Times::of(model);
    let workload = &model.manifest.configuration["application"]["workload"];
    let workload = workload.as_str().unwrap_or_default();
    let case = Case {
        model,
        times,
        settings: Settings::recorded(model),
        settled: settled_calls(model),
    };
    let mut recommendations = case.recommendations();
    recommendations.retain(|one| LEAST_GAIN < one.predicted_gain);
    recommendations.sort_by(|one, other| other.predicted_gain.total_cmp(&one.predicted_gain));
    Report {
        record: model.folder.display().to_string(),
        scenario: model.manifest.scenario.clone(),
        workload: workload.to_owned(),
        seconds: model.end.seconds.get(),
        ideal_seconds: times.mean,
        losses: times.losses(),
        notes: case.notes(),
        recommendations,
        rejected: Vec::new(),
    }
}

/// A record, as the rules assess it.
struct Case<'a> {
    model: &'a RunModel,
    times: Times,
    settings: Settings,
    /// What the calls with moves saved; `None` if it is not known.
    settled: Option<Vec<SettledCall>>,
}

impl Case<'_> {
    /// The makespan.
    fn seconds(&self) -> f64 {
        self.model.end.seconds.get()
    }

    /// The recommendations of all rules.
    fn recommendations(&self) -> Vec<Recommendation> {
        if !self.settings.can_be_advised {
            return Vec::new();
        }
        let rules = [
            self.plan_together(),
            self.call_less_often(),
            self.move_less(),
            self.shorter_load_window(),
        ];
        rules.into_iter().flatten().collect()
    }

    /// What limits the advice.
    fn notes(&self) -> Vec<String> {
        let mut notes = vec![format!("The policy is {}.", self.settings.policy)];
        let mut note = |text: &str| notes.push(text.to_owned());
        if self.settings.can_be_advised {
            note("Gains are upper bounds: what the cause of a recommendation took from the run.");
            if self.settled.is_none() {
                note(
                    "Without the record of scenario i beside this one, it is not known whether moves paid.",
                );
            }
        } else {
            note(
                "Advice is about runs in which the policy may move processes: scenario iii, without a script.",
            );
        }
        notes
    }

    /// A recommendation to set `key` to `better`, which saves `seconds` at most.
    fn bound(&self, key: &str, better: Value, reason: String, seconds: f64) -> Recommendation {
        let pointer = format!("/{}", key.replace('.', "/"));
        let now = self.model.manifest.configuration.pointer(&pointer);
        let makespan = self.seconds();
        let seconds = seconds.min(makespan);
        Recommendation {
            key: key.to_owned(),
            now: now.cloned().unwrap_or_default(),
            set: format!("{key}={}", shown(&better)),
            better,
            predicted_gain: seconds / makespan,
            predicted_seconds: makespan - seconds,
            reason,
            measured: None,
        }
    }

    /// The computation that better mappings would have saved.
    fn imbalance(&self) -> f64 {
        let attainable = self.model.evidence.attainable_seconds;
        attainable.unwrap_or(self.times.imbalance)
    }

    /// The policy `adaptive`, if what placements can change took much of the run.
    ///
    /// MigBSP moves processes by their computation and by the bytes from one Set. `adaptive` predicts supersteps with
    /// the messages of all processes, so that communication counts, too, where MigBSP decided.
    fn plan_together(&self) -> Option<Recommendation> {
        let key = "scheduler.policy";
        let evidence = &self.model.evidence;
        let found = better_mapping(evidence, &self.settings);
        if self.settings.policy != NEGOTIATED {
            let found = found?;
            return Some(self.bound(key, json!(ADAPTIVE), found.reason, found.seconds));
        }
        let imbalance = self.imbalance();
        let seconds = imbalance + self.times.communication.max(0.0);
        let is_much = LEAST_MAPPING_SHARE * self.seconds() <= seconds;
        if !is_much || evidence.supersteps < LEAST_SUPERSTEPS {
            return None;
        }
        let communication = format!(
            "communication and waiting took {} s",
            rounded(self.times.communication, 3)
        );
        let reason = match found {
            Some(found) => format!("{}; {communication}", found.reason),
            None => format!(
                "Better mappings would save up to {} s of computation, {communication}, and {} moved in {}",
                rounded(imbalance, 3),
                counted(evidence.moved.len(), "process"),
                counted(evidence.calls, "call"),
            ),
        };
        Some(self.bound(key, json!(ADAPTIVE), reason, seconds))
    }

    /// A longer interval, if most of the cost is of calls that moved no process.
    fn call_less_often(&self) -> Option<Recommendation> {
        let (interval, found) = longer_interval(&self.model.evidence, &self.settings)?;
        let calls = &self.model.calls;
        let idle = calls.iter().filter(|call| call.migrations.is_empty());
        let (number, seconds) = idle.fold((0, 0.0), |(number, seconds), call| {
            (number + 1, seconds + call.summary.cost_seconds)
        });
        if seconds < LEAST_IDLE * found.seconds {
            return None;
        }
        let reason = format!(
            "{}; {} of them moved no process and took {} s",
            found.reason,
            counted(number, "call"),
            rounded(seconds, 3)
        );
        Some(self.bound("scheduler.interval", json!(interval), reason, seconds))
    }

    /// If moves did not pay: a gate for plans that have none; else, if all moves together lost much and took much longer
    /// than predicted, the cost that they really had.
    fn move_less(&self) -> Option<Recommendation> {
        let settled = self.settled.as_ref()?;
        let unpaid = settled.iter().filter(|call| call.net_seconds < 0.0);
        let lost: f64 = unpaid.clone().map(|call| -call.net_seconds).sum();
        let supersteps: Vec<u64> = unpaid.map(|call| call.superstep).collect();
        if supersteps.is_empty() {
            return None;
        }
        let reason = format!(
            "The moves of {} of {} had not saved what the calls cost by the next moves, and {} s were lost",
            supersteps.len(),
            counted(settled.len(), "call"),
            rounded(lost, 3)
        );
        let policy = &self.settings.policy;
        if policy.split('+').count() == WITHOUT_GATE {
            let better = format!("{policy}+amortised");
            let reason = format!("{reason}; the policy has no gate");
            return Some(self.bound("scheduler.policy", json!(better), reason, lost));
        }
        let net: f64 = settled.iter().map(|call| call.net_seconds).sum();
        let calls = self.model.calls.iter();
        let unpaid = calls.filter(|call| supersteps.contains(&call.summary.superstep));
        let (predicted, took, median) = move_costs(unpaid)?;
        let is_much = LEAST_LOST_SHARE * self.seconds() <= -net;
        if !is_much || took < LEAST_RATIO * predicted || median <= 0.0 {
            return None;
        }
        let base = &self.model.manifest.configuration["scheduler"]["migration"]["base"];
        let base = base.as_f64().unwrap_or_default() + median;
        let reason = format!(
            "{reason}. Their moves took {} s, and {} s were predicted",
            rounded(took, 3),
            rounded(predicted, 3)
        );
        let better = json!((base * 1e3).round() / 1e3);
        Some(self.bound("scheduler.migration.base", better, reason, -net))
    }

    /// A shorter window, if that of MigBSP is longer than the run, so that the load of a host is the mean since the
    /// start, and imbalance is left on hosts with background load.
    fn shorter_load_window(&self) -> Option<Recommendation> {
        let configuration = &self.model.manifest.configuration;
        let window = configuration["scheduler"]["load_window"].as_f64()?;
        let kind = configuration["load"]["kind"].as_str();
        let makespan = self.seconds();
        let has_load = kind.is_some_and(|kind| kind != "none");
        if self.settings.policy != NEGOTIATED || !has_load || window < makespan {
            return None;
        }
        let left = self.imbalance();
        if left < LEAST_MAPPING_SHARE * makespan {
            return None;
        }
        let better = json!((makespan / WINDOWS).round().max(1.0));
        let reason = format!(
            "The load of hosts is averaged over {} s, longer than the run, while better mappings would save up to {} s",
            rounded(window, 0),
            rounded(left, 3)
        );
        Some(self.bound("scheduler.load_window", better, reason, left))
    }
}

/// What the moves of `calls` were predicted to take and took, in seconds, and the median of the differences.
fn move_costs<'a>(calls: impl Iterator<Item = &'a RunCall>) -> Option<(f64, f64, f64)> {
    let mut pairs = Vec::new();
    for call in calls {
        for migration in &call.migrations {
            let mut arrivals = call.arrivals.iter();
            let moved = arrivals.find(|moved| moved.rank == migration.rank);
            // A migrant that pays for its move is sent for free.
            if let Some(moved) = moved.filter(|moved| 0.0 < moved.took.get()) {
                pairs.push((migration.cost.get(), moved.took.get()));
            }
        }
    }
    let differences = pairs.iter().map(|(cost, took)| took - cost);
    let median = median(differences.collect())?;
    let predicted = pairs.iter().map(|(cost, _)| cost).sum();
    let took = pairs.iter().map(|(_, took)| took).sum();
    Some((predicted, took, median))
}

/// The parts of the makespan of a program with calls, in seconds. Their sum is the makespan.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Times {
    /// The mean computation of the processes; the longest one where the mean is not recorded.
    mean: f64,
    /// The longest computation, less the mean.
    imbalance: f64,
    /// Supersteps, less the longest computation.
    communication: f64,
    /// Calls, with their moves.
    calls: f64,
    /// All other time between supersteps.
    rest: f64,
}

impl Times {
    /// The parts of the recorded makespan.
    fn of(model: &RunModel) -> Self {
        let parts = model.parts;
        let calls = model.calls.iter();
        let mut times = Self {
            mean: parts.mean,
            imbalance: parts.imbalance,
            communication: parts.communication,
            calls: calls.map(|call| call.summary.cost_seconds).sum(),
            rest: 0.0,
        };
        let known = times.mean + times.imbalance + times.communication + times.calls;
        times.rest = model.end.seconds.get() - known;
        times
    }

    /// All parts but the mean computation.
    fn losses(&self) -> Vec<Loss> {
        let parts = [
            ("imbalance of computation", self.imbalance),
            ("communication and waiting", self.communication),
            ("calls and moves", self.calls),
            ("the rest", self.rest),
        ];
        let seconds = self.mean + parts.iter().map(|(_, value)| value).sum::<f64>();
        let loss = |(part, value)| Loss::new(part, value, seconds);
        parts.into_iter().map(loss).collect()
    }
}

/// The policy that plans for all processes together.
const ADAPTIVE: &str = "adaptive";

/// The policy whose Managers negotiate, and whose calls follow `scheduler.interval` alone.
const NEGOTIATED: &str = "migbsp";

/// The part of the run that better mappings must be able to save. Below it, costs of communication and of calls, which
/// the best mapping ignores, decide whether another policy is faster.
const LEAST_MAPPING_SHARE: f64 = 0.1;

/// The number of supersteps below which the calls and moves of another policy may not pay.
const LEAST_SUPERSTEPS: u64 = 100;

/// The part of the run that calls must have taken.
const LEAST_CALL_SHARE: f64 = 0.05;

/// How many times longer the interval becomes.
const LONGER: u32 = 4;

/// The new interval is at most the inverse of this part of the run, so that processes still move early.
const LONGEST_PART: u64 = 16;

/// The part of the cost of calls that those without moves must have.
const LEAST_IDLE: f64 = 0.5;

/// How many times larger the budget becomes.
const LARGER: f64 = 5.0;

/// The last call was in the first part of the run; this is its inverse.
const LEAST_PART: u64 = 4;

/// The least part of the makespan that a recommendation has to save.
const LEAST_GAIN: f64 = 0.01;

/// Parts of the name of a policy without a gate: when and plan.
const WITHOUT_GATE: usize = 2;

/// The part of the run that all moves together must have lost: processes hardly move any more at their real cost.
const LEAST_LOST_SHARE: f64 = 0.05;

/// How many times the predicted cost moves must have taken.
const LEAST_RATIO: f64 = 2.0;

/// The load window becomes this part of the run.
const WINDOWS: f64 = 20.0;

#[cfg(test)]
mod tests;
