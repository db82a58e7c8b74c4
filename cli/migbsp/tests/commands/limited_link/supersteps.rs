//! What a record says of a ring: where its processes were, how long supersteps took, and what plans changed.

use std::fmt;
use std::fs;
use std::path::Path;

use model::median;
use serde_json::Value;

/// The supersteps and calls of a run.
pub(super) struct Trace {
    /// The Set of each process at the start, then after each call.
    sets: Vec<Vec<String>>,
    /// Seconds of each superstep, without the calls between them.
    lengths: Vec<f64>,
    calls: Vec<Call>,
    /// Seconds of the run.
    makespan: f64,
}

/// A rescheduling call.
struct Call {
    /// Supersteps that were complete.
    superstep: usize,
    /// Seconds for which it delayed the processes.
    cost: f64,
    /// Processes that it moved.
    moved: usize,
    /// A superstep before and after the plan, as predicted.
    predicted: Option<(f64, f64)>,
}

/// A call that moved processes.
pub(super) struct Plan {
    /// Supersteps that were complete.
    pub(super) superstep: usize,
    /// Supersteps from the plan on that were longer than before it, up to the first that was not.
    pub(super) longer: usize,
}

/// Errors of predictions.
pub(super) struct Errors {
    count: usize,
    pub(super) median: f64,
    /// The 95th percentile.
    high: f64,
}

impl Errors {
    pub(super) fn new(mut errors: Vec<f64>) -> Self {
        errors.sort_by(f64::total_cmp);
        let at = |part: usize| errors.get(errors.len() * part / 100).copied();
        Self {
            count: errors.len(),
            median: middle(&errors),
            high: at(95).unwrap_or_default(),
        }
    }
}

impl fmt::Display for Errors {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (median, high) = (percent(self.median), percent(self.high));
        let count = self.count;
        write!(
            formatter,
            "median {median}, 95th percentile {high} of {count}"
        )
    }
}

/// Supersteps before a plan whose median is the length before it.
const BEFORE: usize = 10;

/// Supersteps after a plan whose median is the length after it.
const AFTER: usize = 5;

/// A superstep is longer than before if it takes more than this many times as long.
const LONGER: f64 = 1.1;

impl Trace {
    /// Reads the events of a record.
    pub(super) fn read(events: &Path) -> Self {
        let text = fs::read_to_string(events).unwrap();
        let mut trace = Self {
            sets: Vec::new(),
            lengths: Vec::new(),
            calls: Vec::new(),
            makespan: 0.0,
        };
        let mut hosts: Vec<String> = Vec::new();
        for line in text.lines() {
            let event: Value = serde_json::from_str(line).unwrap();
            let seconds = |key: &str| event[key].as_f64().unwrap();
            match event["event"].as_str().unwrap() {
                "run" => {
                    hosts = names(&event["hosts"]);
                    let placement = names(&event["placement"]);
                    trace
                        .sets
                        .push(placement.iter().map(|host| set(host)).collect());
                }
                "superstep" => {
                    trace.lengths.push(seconds("ended") - seconds("started"));
                    trace.makespan = seconds("ended");
                }
                "call" => {
                    let mut sets = trace.sets.last().unwrap().clone();
                    let migrations = event["migrations"].as_array().unwrap();
                    for migration in migrations {
                        let to = number(&migration["to"]);
                        sets[number(&migration["rank"])] = set(&hosts[to]);
                    }
                    trace.sets.push(sets);
                    let balance = &event["assessment"]["balance"];
                    let present = balance["present"].as_f64();
                    trace.calls.push(Call {
                        superstep: number(&event["superstep"]),
                        cost: seconds("cost"),
                        moved: migrations.len(),
                        predicted: present.zip(balance["planned"].as_f64()),
                    });
                }
                _ => {}
            }
        }
        trace
    }

    /// Pairs of neighbours of the ring that are in different Sets at the end.
    pub(super) fn crossings_at_the_end(&self) -> usize {
        crossings(self.sets.last().unwrap())
    }

    /// The calls that moved processes.
    pub(super) fn plans(&self) -> Vec<Plan> {
        let calls = self.calls.iter().filter(|call| 0 < call.moved);
        calls
            .map(|call| Plan {
                superstep: call.superstep,
                longer: self.longer_after(call.superstep),
            })
            .collect()
    }

    /// How far predictions of the placement in force were from the supersteps before each call, as a part of these.
    pub(super) fn errors(&self) -> Vec<f64> {
        let calls = self.calls.iter().filter_map(|call| {
            let (present, _) = call.predicted?;
            Some(error(present, self.before(call.superstep)))
        });
        calls.collect()
    }

    /// The same of planned placements and the supersteps after each plan.
    pub(super) fn errors_of_plans(&self) -> Vec<f64> {
        let calls = self.calls.iter().filter(|call| 0 < call.moved);
        let calls = calls.filter_map(|call| {
            let (_, planned) = call.predicted?;
            Some(error(planned, self.after(call.superstep)?))
        });
        calls.collect()
    }

    /// The median superstep before a call.
    fn before(&self, superstep: usize) -> f64 {
        let before = &self.lengths[superstep.saturating_sub(BEFORE)..superstep];
        // Those before the last plan say nothing of the placement in force.
        let plans = self.calls.iter().filter(|call| 0 < call.moved);
        let latest = plans.map(|call| call.superstep).rfind(|at| *at < superstep);
        let since = superstep - latest.unwrap_or_default();
        middle(&before[before.len().saturating_sub(since)..])
    }

    /// The median of the supersteps after a call, if there are as many as a verdict takes.
    fn after(&self, superstep: usize) -> Option<f64> {
        self.lengths.get(superstep..superstep + AFTER).map(middle)
    }

    /// Supersteps from `superstep` on that are longer than those before it. A single one proves nothing, so each is
    /// judged by the median of three.
    fn longer_after(&self, superstep: usize) -> usize {
        let before = self.before(superstep);
        let after = self.lengths[superstep..].windows(3);
        after
            .take_while(|three| LONGER * before < middle(three))
            .count()
    }
}

impl fmt::Display for Trace {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (supersteps, calls) = (self.lengths.len(), self.calls.len());
        let (first, last) = (crossings(&self.sets[0]), self.crossings_at_the_end());
        let mut ordered: Vec<f64> = self.lengths.windows(5).map(middle).collect();
        ordered.sort_by(f64::total_cmp);
        let best = milliseconds(ordered.first().copied().unwrap_or_default());
        writeln!(
            formatter,
            "{first} -> {last} crossings, {supersteps} supersteps in {:.3} s, {calls} calls, best pace {best} ms",
            self.makespan
        )?;
        for (index, call) in self.calls.iter().enumerate() {
            let at = call.superstep;
            let (present, planned) = call.predicted.unwrap_or((f64::NAN, f64::NAN));
            write!(
                formatter,
                "  call after {at:>3}, {:>4} ms: superstep {} ms, predicted {} ms; ",
                milliseconds(call.cost),
                milliseconds(self.before(at)),
                milliseconds(present),
            )?;
            if call.moved == 0 {
                writeln!(formatter, "no moves")?;
                continue;
            }
            let (from, to) = (
                crossings(&self.sets[index]),
                crossings(&self.sets[index + 1]),
            );
            writeln!(
                formatter,
                "{} moves, {from} -> {to} crossings, predicted {} ms; {} longer",
                call.moved,
                milliseconds(planned),
                self.longer_after(at)
            )?;
            let window = at.saturating_sub(3)..(at + 12).min(self.lengths.len());
            let lengths: Vec<String> = window
                .map(|superstep| {
                    let mark = if superstep == at { "| " } else { "" };
                    format!("{mark}{}", milliseconds(self.lengths[superstep]))
                })
                .collect();
            writeln!(formatter, "    {}", lengths.join(" "))?;
        }
        Ok(())
    }
}

/// Pairs of neighbours of a ring that are in different Sets.
fn crossings(sets: &[String]) -> usize {
    let after = sets.iter().cycle().skip(1);
    sets.iter()
        .zip(after)
        .filter(|(one, next)| one != next)
        .count()
}

/// The Set of a host, which is named after it.
fn set(host: &str) -> String {
    host.split('-').next().unwrap().to_owned()
}

fn names(list: &Value) -> Vec<String> {
    let names = list.as_array().unwrap().iter();
    names
        .map(|name| name.as_str().unwrap().to_owned())
        .collect()
}

fn number(value: &Value) -> usize {
    usize::try_from(value.as_u64().unwrap()).unwrap()
}

fn middle(values: &[f64]) -> f64 {
    median(values.to_vec()).unwrap_or_default()
}

/// How far a prediction is from what was measured, as a part of it.
fn error(predicted: f64, measured: f64) -> f64 {
    (predicted / measured - 1.0).abs()
}

/// A part as a percentage.
pub(super) fn percent(part: f64) -> String {
    format!("{:.1} %", 100.0 * part)
}

fn milliseconds(seconds: f64) -> String {
    format!("{:.1}", seconds * 1e3)
}
