//! Why a process moved in a call, or stayed.

use std::collections::BTreeMap;

use bsp::units::Seconds;
use bsp::{HostId, Rank, SetId};
use model::{Answer, Entry, NotSelected, Refusal, Verdict};
use record::Call;
use serde::Serialize;

use crate::explain::call::{Forces, first_of, meaning, report, rows, weighing};
use crate::explain::report::{Explanation, Predicted, ProcessReport, Row, Time};
use crate::run::{Against, Detail, Disposition, PaybackVerdict, RunModel};
use crate::text::{counted, duration, maybe, rounded};

/// Why the process `rank` moved or stayed in the call at position `index`, which was named or
/// searched, and of which `detail` has the findings.
pub(super) fn explain(
    answer: &mut Explanation,
    model: &RunModel,
    (rank, index, is_named): (Rank, usize, bool),
    detail: &Detail,
) {
    let explained = &model.calls[index];
    let call = &detail.call;
    answer.calls.push(report(model, index));
    let position = call.list.iter().position(|entry| entry.rank == rank);
    let disposition = Disposition::all(call, &model.rules).remove(&rank);
    let entry = position.map(|position| call.list[position]);
    let process = describe(model, detail, (rank, index), disposition.as_ref());
    if !is_named {
        answer.sentences.extend(in_the_run(&process, model));
    }
    answer.forces = entry.and_then(|entry| Forces::of(model, detail, &entry));
    if let (Some(entry), Some(disposition)) = (entry, &disposition) {
        let narrative = Narrative {
            model,
            index,
            detail,
            entry,
            process: &process,
            forces: answer.forces.as_ref(),
        };
        answer.sentences.push(narrative.why(disposition));
        answer
            .sentences
            .extend(neighbours_sentence(rank, &process.neighbours));
        answer.sentences.extend(weighing(explained));
        answer.sentences.extend(narrative.what_it_won());
    } else {
        answer.sentences.push(format!(
            "{rank} took no part in the call after superstep {}: it had halted.",
            explained.summary.superstep
        ));
    }
    answer.list = around(rows(model, call), position);
    answer.process = Some(process);
    let (folder, superstep) = (&answer.record, explained.summary.superstep);
    answer
        .next
        .push(format!("explain {folder} --superstep {superstep}"));
}

fn describe(
    model: &RunModel,
    detail: &Detail,
    (rank, index): (Rank, usize),
    disposition: Option<&Disposition>,
) -> ProcessReport {
    let call = &detail.call;
    let position = call.list.iter().position(|entry| entry.rank == rank);
    let entry = position.map(|position| call.list[position]);
    let host = detail
        .evaluation(rank)
        .map(|evaluation| model.host(evaluation.host));
    let mut dispositions: BTreeMap<&'static str, usize> = BTreeMap::new();
    let mut moved_after = Vec::new();
    for explained in &model.calls {
        if let Some(asked) = &explained.asked {
            *dispositions.entry(asked.disposition.name()).or_default() += 1;
        }
        if explained.migrations.iter().any(|moved| moved.rank == rank) {
            moved_after.push(explained.summary.superstep);
        }
    }
    let moved = call.migrations.iter();
    let has_moved = matches!(disposition, Some(Disposition::Moved(_)));
    let others = moved.filter(|moved| has_moved && moved.rank != rank);
    ProcessReport {
        process: rank.to_string(),
        superstep: call.superstep,
        host,
        position: position.map(|position| position + 1),
        disposition: disposition.map(Disposition::name),
        target: entry.map(|entry| model.set(entry.target)),
        potential: entry.map(|entry| entry.potential.get()),
        times: times(model, detail, rank),
        predicted: predicted(call, rank),
        payback: model.calls[index].payback.filter(|_| has_moved),
        neighbours: neighbours(model, detail, rank),
        moved_with: others.map(|moved| moved.rank.to_string()).collect(),
        moved_after,
        dispositions,
    }
}

/// `t1`, `t2` and the runner-up, as far as they are known.
fn times(model: &RunModel, detail: &Detail, rank: Rank) -> Vec<Time> {
    let call = &detail.call;
    let mut considered = call.considered.iter();
    let Some(considered) = considered.find(|considered| considered.entry.rank == rank) else {
        let Some(moved) = call.migrations.iter().find(|moved| moved.rank == rank) else {
            return Vec::new();
        };
        let time = |name, host, seconds: Seconds| Time {
            name,
            host: model.host(host),
            computation: None,
            reception: None,
            migration: None,
            seconds: seconds.get(),
        };
        return vec![
            time("t1", moved.to, moved.t1),
            time("t2", moved.from, moved.t2),
        ];
    };
    let (entry, request) = (considered.entry, considered.request);
    let reception = |from| {
        let rate = detail.transfer_rate(from, entry.target)?;
        Some(request.bytes.as_f64() * rate)
    };
    let (there, here) = (reception(entry.target), reception(entry.own));
    let migration = request.migration.get();
    let arriving = |name, host, seconds: Seconds| Time {
        name,
        host: model.host(host),
        computation: there.map(|reception| rest(seconds.get(), reception + migration)),
        reception: there,
        migration: Some(migration),
        seconds: seconds.get(),
    };
    let staying = Time {
        name: "t2",
        host: model.host(considered.host),
        computation: here.map(|reception| rest(request.t2.get(), reception)),
        reception: here,
        migration: None,
        seconds: request.t2.get(),
    };
    match considered.answer {
        Answer::Offer {
            host,
            t1,
            runner_up,
        } => {
            let second = runner_up.map(|(host, time)| arriving("runner-up", host, time));
            let mut times = vec![arriving("t1", host, t1), staying];
            times.extend(second);
            times
        }
        Answer::Refuse(Refusal::NoFasterPlace { host, t1, .. }) => {
            vec![arriving("t1", host, t1), staying]
        }
        Answer::Refuse(Refusal::Idle | Refusal::NoProcessor) => vec![staying],
    }
}

/// The rest of a sum: zero where rounding leaves less than a billionth of it.
fn rest(sum: f64, part: f64) -> f64 {
    let rest = sum - part;
    if rest.abs() <= sum.abs() * 1e-9 {
        0.0
    } else {
        rest
    }
}

fn predicted(call: &Call, rank: Rank) -> Option<Predicted> {
    let mut considered = call.considered.iter();
    if let Some(considered) = considered.find(|considered| considered.entry.rank == rank) {
        let t1 = match considered.answer {
            Answer::Offer { t1, .. } | Answer::Refuse(Refusal::NoFasterPlace { t1, .. }) => t1,
            Answer::Refuse(Refusal::Idle | Refusal::NoProcessor) => return None,
        };
        let gain = (considered.request.t2 - t1).get();
        return Some(Predicted {
            first_seconds: Some(gain),
            later_seconds: gain + considered.request.migration.get(),
        });
    }
    let moved = call.migrations.iter().find(|moved| moved.rank == rank)?;
    Some(Predicted {
        first_seconds: None,
        later_seconds: (moved.t2 - moved.t1).get(),
    })
}

/// The outcome of the process in all calls, unless there was only one.
fn in_the_run(process: &ProcessReport, model: &RunModel) -> Option<String> {
    let calls = model.calls.len();
    let name = &process.process;
    match &process.moved_after[..] {
        [_] => None,
        [] if calls == 1 => None,
        [] => {
            let dispositions = process.dispositions.iter();
            let dispositions = dispositions.map(|(disposition, number)| {
                let all = if *number == calls { "all " } else { "" };
                format!("in {all}{number} it {}", meaning(disposition, 1))
            });
            Some(format!(
                "{name} never moved in {}: {}. It came nearest to moving after superstep {}.",
                counted(calls, "call"),
                dispositions.collect::<Vec<_>>().join(", "),
                process.superstep
            ))
        }
        [first, later @ ..] => Some(format!(
            "{name} moved {} times; this is the first time, after superstep {first}. Later times: {}.",
            later.len() + 1,
            first_of(later.iter().map(u64::to_string))
        )),
    }
}

/// The rows around `position`, and the first row.
fn around(rows: Vec<Row>, position: Option<usize>) -> Vec<Row> {
    let position = position.unwrap_or_default();
    let near = |index: usize| index == 0 || position.abs_diff(index) <= NEIGHBOURS;
    let rows = rows.into_iter().enumerate();
    rows.filter(|(index, _)| near(*index))
        .map(|(_, row)| row)
        .collect()
}

/// Number of rows of the list shown on either side.
const NEIGHBOURS: usize = 3;

/// Facts about a process in a call.
struct Narrative<'a> {
    pub(super) model: &'a RunModel,
    /// The position of the call.
    index: usize,
    pub(super) detail: &'a Detail,
    pub(super) entry: Entry,
    pub(super) process: &'a ProcessReport,
    pub(super) forces: Option<&'a Forces>,
}

impl Narrative<'_> {
    /// Why it moved or stayed.
    pub(super) fn why(&self, disposition: &Disposition) -> String {
        let name = &self.process.process;
        let after = format!("in the call after superstep {}", self.process.superstep);
        match disposition {
            Disposition::Moved(moved) => format!(
                "{name} moved from {} to {} {after}: {}.",
                self.model.host(moved.from),
                self.model.host(moved.to),
                self.why_it_moved()
            ),
            Disposition::Offered(host) => format!(
                "{name} would have moved to {} {after}, but processes do not migrate in scenario {}: {}.",
                self.model.host(*host),
                self.model.run.scenario,
                self.why_it_moved()
            ),
            Disposition::Refused(refusal) => format!(
                "{name} stayed {after}: {}, but {}.",
                self.list_position(),
                self.refusal(*refusal)
            ),
            Disposition::PassedOver(why) => {
                format!("{name} stayed {after}: {}.", self.no_candidate(*why))
            }
            Disposition::NotPlanned => format!("{name} stayed {after}: {}.", self.not_planned()),
            Disposition::NotScripted => {
                format!(
                    "{name} stayed {after}: a script decides in this run and does not name {name}."
                )
            }
        }
    }

    /// The reasons for the migration.
    fn why_it_moved(&self) -> String {
        let rules = &self.model.rules;
        let times = &self.process.times;
        let time = |name: &str| times.iter().find(|time| time.name == name);
        let compared = match (time("t1"), time("t2")) {
            (Some(t1), Some(t2)) => format!(
                "a superstep would take {} s on {}{}, and {} s on {}",
                rounded(t1.seconds, 4),
                t1.host,
                if t1.migration.is_some() {
                    ", migration included"
                } else {
                    ""
                },
                rounded(t2.seconds, 4),
                t2.host
            ),
            _ => "the record does not compare its times".to_owned(),
        };
        if rules.is_scripted {
            return format!("the script names it; {compared}");
        }
        if self.detail.call.assessment.is_some() {
            return format!("the plan of the policy moves it; {compared}");
        }
        format!("{}, and {compared}", self.list_position())
    }

    /// Its position in the list.
    fn list_position(&self) -> String {
        let call = &self.detail.call;
        let (potential, target) = (rounded(self.entry.potential.get(), 4), self.target());
        let potential = format!("its potential of {potential} s for {target}");
        let all = call.list.len();
        if self.model.rules.is_scripted {
            return format!("the script names it, {potential}");
        }
        match (self.process.position, call.threshold) {
            (Some(1), _) => format!("{potential} is the highest of {all}{}", self.ties()),
            (position, Some(threshold)) => format!(
                "{potential}, number {} of {all}, exceeds the threshold of {} s",
                position.unwrap_or_default(),
                rounded(threshold.get(), 4)
            ),
            (position, None) => {
                format!(
                    "{potential} is number {} of {all}",
                    position.unwrap_or_default()
                )
            }
        }
    }

    /// Processes with the same potential, and the rule that breaks the tie.
    fn ties(&self) -> String {
        let rules = &self.model.rules;
        let highest = self.entry.potential.get();
        let tied = self.detail.call.list.iter().filter(|entry| {
            entry.rank != self.entry.rank && highest - entry.potential.get() <= rules.tie_width
        });
        let names = first_of(tied.map(|entry| entry.rank.to_string()));
        if names.is_empty() {
            return String::new();
        }
        let first = if rules.ties_by_reception {
            "the shortest reception time breaks the tie"
        } else {
            "the lowest rank breaks the tie"
        };
        format!(" (so is that of {names}; {first})")
    }

    fn refusal(&self, refusal: Refusal) -> String {
        match refusal {
            Refusal::NoFasterPlace { host, t1, t2 } => format!(
                "the best processor there, {}, would take {} s, migration included, which is no less than the {} s on its own host",
                self.model.host(host),
                rounded(t1.get(), 4),
                rounded(t2.get(), 4)
            ),
            Refusal::Idle => {
                "it did not compute in the last superstep, so its times carry no information"
                    .to_owned()
            }
            Refusal::NoProcessor => format!(
                "every processor of {} has already received a process",
                self.target()
            ),
        }
    }

    fn no_candidate(&self, why: NotSelected) -> String {
        let call = &self.detail.call;
        let (potential, target) = (rounded(self.entry.potential.get(), 4), self.target());
        let all = call.list.len();
        match why {
            NotSelected::OwnSet => {
                let best = self.forces.and_then(Forces::best_elsewhere);
                let best = maybe(best, |best| {
                    let potential = rounded(best.terms.potential, 4);
                    format!("; the best other Set is {} with {potential} s", best.set)
                });
                format!("its potential is highest, {potential} s, for its own Set, {target}{best}")
            }
            NotSelected::NotPositive => format!(
                "it would gain nothing in any Set; its highest potential is {potential} s, for {target}"
            ),
            NotSelected::BelowThreshold => format!(
                "its potential of {potential} s for {target}, number {} of {all}, does not exceed the threshold of {} s",
                self.process.position.unwrap_or_default(),
                maybe(call.threshold, |least| rounded(least.get(), 4))
            ),
            NotSelected::NotFirst => {
                let head = call.list.first().copied().unwrap_or(self.entry);
                format!(
                    "its potential of {potential} s for {target} is number {} of {all}, and only the first process of the list can be a candidate: {}, with {} s for {}",
                    self.process.position.unwrap_or_default(),
                    head.rank,
                    rounded(head.potential.get(), 4),
                    if head.own == head.target {
                        format!("its own Set, {}", self.model.set(head.target))
                    } else {
                        self.model.set(head.target)
                    }
                )
            }
        }
    }

    fn not_planned(&self) -> &'static str {
        let assessment = self.detail.call.assessment.as_ref();
        match assessment.map(|assessment| assessment.verdict) {
            Some(Verdict::Admitted) if self.detail.call.migrations.is_empty() => {
                "processes do not migrate in this scenario"
            }
            Some(Verdict::Admitted) => "the plan of the policy does not move it",
            Some(Verdict::NotAmortised { .. }) => {
                "no process moved, because the plan was too expensive"
            }
            Some(Verdict::Unchanged) | None => "no process moved, because no plan was better",
        }
    }

    /// The gain of the migration, if there was one.
    fn what_it_won(&self) -> Option<String> {
        let payback = self.process.payback.as_ref()?;
        let it = if self.process.moved_with.is_empty() {
            "It".to_owned()
        } else {
            let others = first_of(self.process.moved_with.iter().cloned());
            format!("Together with {others}, which moved in the same call, it")
        };
        let seconds = |seconds: f64| {
            if payback.is_measured {
                duration(seconds)
            } else {
                format!("{} s", rounded(seconds, 4))
            }
        };
        let cost = seconds(payback.cost_seconds);
        let until = match payback.next_move {
            Some(superstep) => format!("the next move, after superstep {superstep}"),
            None => "the end of the run".to_owned(),
        };
        let (assumed, otherwise) = match payback.against {
            Against::ScenarioI => ("", "without it, as in scenario i"),
            Against::Before => (
                ", if supersteps had stayed as before",
                "if they had stayed as before",
            ),
        };
        let verdict = match payback.paid_after {
            _ if payback.verdict == PaybackVerdict::Unknown => format!(
                "{it} cost {cost}, the time of the call; whether supersteps saved that cannot be told: before and after it \
                 they are too few, or differ as much among each other"
            ),
            Some(1) => format!("{it} had paid the {cost} of the call after 1 superstep{assumed}"),
            Some(number) => {
                format!("{it} had paid the {cost} of the call after {number} supersteps{assumed}")
            }
            None if payback.saved_seconds <= 0.0 => {
                format!(
                    "{it} did not pay the {cost} of the call before {until}: supersteps took no less in \
                     total than they would have {otherwise}"
                )
            }
            None => format!(
                "{it} had not paid the {cost} of the call before {until}: {} were saved by then{assumed}",
                seconds(payback.saved_seconds)
            ),
        };
        Some(format!("{verdict}{}.", self.slowest()))
    }

    /// The slowest processes before and after the migration.
    fn slowest(&self) -> String {
        match self.model.calls[self.index].slowest {
            [Some(before), Some(after)] if before == after => {
                format!("; the slowest process was {after} both before and after the move")
            }
            [Some(before), Some(after)] => {
                format!("; the slowest process was {before} before the move and {after} after it")
            }
            _ => String::new(),
        }
    }

    fn target(&self) -> String {
        self.model.set(self.entry.target)
    }
}

/// What a process sends to and receives from another in a superstep, where plans name hosts.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub(super) struct Neighbour {
    /// As `p21`.
    #[cfg_attr(feature = "schemas", schemars(pattern("^p[1-9][0-9]*$")))]
    pub(super) process: String,
    /// Bytes in a superstep, both ways, as predicted.
    pub(super) bytes: f64,
    /// The host of the other process before the call, and after it.
    pub(super) before: String,
    /// The host after it.
    pub(super) after: String,
    /// Whether the messages cross from Set to Set before the call, and after it.
    crosses_before: bool,
    /// The same after it.
    crosses_after: bool,
}

/// The neighbours of `rank` in the call, the one with most bytes first.
pub(super) fn neighbours(model: &RunModel, detail: &Detail, rank: Rank) -> Vec<Neighbour> {
    let mut bytes: Vec<(Rank, f64)> = Vec::new();
    let mut add =
        |other: Rank, exchanged: f64| match bytes.iter_mut().find(|(known, _)| *known == other) {
            Some((_, sum)) => *sum += exchanged,
            None => bytes.push((other, exchanged)),
        };
    for observed in &detail.observed {
        for edge in &observed.edges {
            if observed.rank == rank && edge.from != rank {
                add(edge.from, edge.bytes.into());
            } else if edge.from == rank {
                add(observed.rank, edge.bytes.into());
            }
        }
    }
    bytes.sort_by(|one, other| other.1.total_cmp(&one.1).then(one.0.cmp(&other.0)));
    let set = |host: HostId| -> Option<SetId> {
        let mut sets = detail.evaluated.iter();
        let found = sets.find(|found| {
            found
                .hosts
                .iter()
                .any(|hosts| hosts.ids().any(|id| id == host))
        });
        found.map(|found| found.set)
    };
    let places = |rank: Rank| {
        let before = detail.evaluation(rank)?.host;
        let mut moves = detail.call.migrations.iter();
        let moved = moves.find(|moved| moved.rank == rank);
        Some([before, moved.map_or(before, |moved| moved.to)])
    };
    let Some(own) = places(rank) else {
        return Vec::new();
    };
    let described = bytes.into_iter().filter_map(|(other, bytes)| {
        let others = places(other)?;
        let crosses = |when: usize| set(own[when]) != set(others[when]);
        Some(Neighbour {
            process: other.to_string(),
            bytes,
            before: model.host(others[0]),
            after: model.host(others[1]),
            crosses_before: crosses(0),
            crosses_after: crosses(1),
        })
    });
    described.collect()
}

/// A sentence about the neighbours of the process `rank`; `None` without any.
fn neighbours_sentence(rank: Rank, neighbours: &[Neighbour]) -> Option<String> {
    let first = neighbours.first()?;
    let crossing =
        |crosses: fn(&Neighbour) -> bool| neighbours.iter().filter(|one| crosses(one)).count();
    let before = crossing(|one| one.crosses_before);
    let after = crossing(|one| one.crosses_after);
    let with = counted(neighbours.len(), "process");
    let crossings = if before == after {
        format!("{before} of them in another Set")
    } else {
        format!("{before} of them in another Set before the call, and {after} after it")
    };
    Some(format!(
        "{rank} exchanges messages with {with}, most of them with {}; {crossings}.",
        first.process
    ))
}
