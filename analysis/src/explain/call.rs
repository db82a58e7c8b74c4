//! The decisions of a call.

use bsp::units::Seconds;
use bsp::{HostId, SetId};
use model::{Alternative, DestinationChoice, PlanAssessment, Potential, Refusal, Verdict};
use record::Call;
use serde::Serialize;

use crate::chart::Bars;
use crate::document::{Figure, Table};
use crate::explain::report::{AlternativeReport, AssessmentReport, CallReport, Explanation, Row};
use crate::run::{Detail, Disposition, RunCall, RunModel};
use crate::text::{counted, rounded};

/// The decisions of the call at position `index`, of which `detail` has the findings.
pub(super) fn explain(answer: &mut Explanation, model: &RunModel, index: usize, detail: &Detail) {
    let explained = &model.calls[index];
    answer.calls.push(report(model, index));
    answer.list = rows(model, &detail.call);
    answer.sentences.push(outcome(explained, model));
    answer.sentences.extend(weighing(explained));
    let made = explained.assessment.as_ref();
    let choice = made.and_then(|made| made.choice.as_ref());
    answer
        .sentences
        .extend(choice.and_then(|choice| no_idle_host(choice, model)));
    answer.sentences.extend(why_none(model, explained, detail));
    if let Some(head) = explained.head {
        answer.forces = Forces::of(model, detail, &head);
        let (folder, superstep) = (&answer.record, explained.summary.superstep);
        answer.next.push(format!(
            "explain {folder} --process {} --superstep {superstep}",
            head.rank
        ));
    }
}

/// The call at position `index`.
pub(super) fn report(model: &RunModel, index: usize) -> CallReport {
    let call = &model.calls[index];
    CallReport {
        summary: call.summary.clone(),
        threshold: call.threshold.map(Seconds::get),
        processes: call.listed,
        candidates: call.candidates,
        dispositions: call.dispositions.clone(),
        moved: call.moves(|host| model.host(host)).collect(),
        payback: call.payback,
        assessment: call
            .assessment
            .as_ref()
            .map(|made| assessment(made, call, model)),
    }
}

/// The list of a call with the outcome of each process.
pub(super) fn rows(model: &RunModel, call: &Call) -> Vec<Row> {
    let dispositions = Disposition::all(call, &model.rules);
    let rows = call.list.iter().enumerate().map(|(index, entry)| {
        let disposition = &dispositions[&entry.rank];
        Row {
            position: index + 1,
            process: entry.rank.to_string(),
            own: model.set(entry.own),
            target: model.set(entry.target),
            potential: entry.potential.get(),
            disposition: disposition.name(),
            note: note(model, disposition),
        }
    });
    rows.collect()
}

/// The outcome of a process, in a few words.
fn note(model: &RunModel, disposition: &Disposition) -> String {
    match disposition {
        Disposition::Moved(moved) => format!("moves to {}", model.host(moved.to)),
        Disposition::Offered(host) => format!("would move to {}", model.host(*host)),
        Disposition::Refused(Refusal::NoFasterPlace { host, t1, t2 }) => format!(
            "refused: t1 {} on {}, t2 {}",
            rounded(t1.get(), 4),
            model.host(*host),
            rounded(t2.get(), 4)
        ),
        other => meaning(other.name(), 1).to_owned(),
    }
}

/// The processes that moved, in one sentence.
fn outcome(call: &RunCall, model: &RunModel) -> String {
    let after = format!("in the call after superstep {}", call.summary.superstep);
    let offered = call
        .dispositions
        .get("offered")
        .copied()
        .unwrap_or_default();
    match &call.migrations[..] {
        [] if 0 < offered => format!(
            "No process moved {after}: {} {}, but processes do not migrate in scenario {}.",
            counted(offered, "process"),
            meaning("offered", offered),
            model.run.scenario
        ),
        [] => format!("No process moved {after}."),
        [moved] => format!(
            "{} moved from {} to {} {after}, which took {} s.",
            moved.rank,
            model.host(moved.from),
            model.host(moved.to),
            rounded(call.summary.cost_seconds, 4)
        ),
        several => format!(
            "{} moved {after}, which took {} s: {}.",
            counted(several.len(), "process"),
            rounded(call.summary.cost_seconds, 4),
            first_of(several.iter().map(|moved| moved.rank.to_string()))
        ),
    }
}

/// Why no process moved, if none did and the list has the reason.
fn why_none(model: &RunModel, call: &RunCall, detail: &Detail) -> Option<String> {
    if !call.migrations.is_empty() || call.listed == 0 || call.assessment.is_some() {
        return None;
    }
    let reasons = call
        .dispositions
        .iter()
        .map(|(name, number)| format!("{number} {}", meaning(name, *number)));
    let reasons: Vec<String> = reasons.collect();
    let head = call.head?;
    let own = if head.own == head.target {
        "its own Set, "
    } else {
        ""
    };
    let all = counted(call.listed, "process");
    let found = match &reasons[..] {
        [_] => {
            let (name, number) = call.dispositions.first_key_value()?;
            if *number == 1 {
                format!("The only process {}", meaning(name, 1))
            } else {
                format!("All {all} {}", meaning(name, *number))
            }
        }
        several => format!("Of {all}, {}", several.join(", ")),
    };
    let mut text = format!(
        "{found}. The highest potential was that of {}, {} s for {own}{}",
        head.rank,
        rounded(head.potential.get(), 4),
        model.set(head.target)
    );
    if head.own == head.target {
        if model.rules.one_candidate {
            text.push_str(", and only the first process of the list can be a candidate");
        }
        let entries = detail.call.list.iter();
        let elsewhere = entries.filter_map(|entry| {
            let forces = Forces::of(model, detail, entry)?;
            let best = forces.best_elsewhere()?;
            Some((best.terms.potential, entry.rank, best.set.clone()))
        });
        // Of equal ones, the lowest rank.
        let best =
            elsewhere.max_by(|one, other| one.0.total_cmp(&other.0).then(other.1.cmp(&one.1)));
        if let Some((potential, rank, set)) = best {
            let potential = rounded(potential, 4);
            text.push_str(&format!(
                "; the highest for another Set was that of {rank}, {potential} s for {set}"
            ));
        }
    }
    Some(text + ".")
}

/// Costs and benefits of the plan, in one sentence.
pub(super) fn weighing(call: &RunCall) -> Option<String> {
    let assessment = call.assessment.as_ref()?;
    let balance = assessment.balance;
    let horizon = match call.remaining {
        Some(1) => "in the one superstep that was left".to_owned(),
        Some(left) if format!("{:.0}", balance.horizon) == left.to_string() => {
            format!("over the {left} supersteps that were left")
        }
        _ => format!("over an expected {:.0} supersteps", balance.horizon),
    };
    let plan = format!(
        "the plan was to shorten a superstep from {} to {} s for {} s, {horizon}",
        rounded(balance.present.get(), 4),
        rounded(balance.planned.get(), 4),
        rounded(balance.cost.get(), 4),
    );
    Some(match assessment.verdict {
        Verdict::Admitted => {
            format!("The policy accepted the plan: {plan}.")
        }
        Verdict::Unchanged => {
            "The policy found no plan that shortens a superstep noticeably.".to_owned()
        }
        Verdict::NotAmortised { pause } => format!(
            "The policy rejected the plan as too expensive and does not plan again for {pause} supersteps: {plan}."
        ),
    })
}

fn assessment(assessment: &PlanAssessment, call: &RunCall, model: &RunModel) -> AssessmentReport {
    let balance = assessment.balance;
    let (verdict, pause) = match assessment.verdict {
        Verdict::Admitted => ("admitted", None),
        Verdict::Unchanged => ("unchanged", None),
        Verdict::NotAmortised { pause } => ("not-amortised", Some(pause)),
    };
    // The plan without migrations has no name; equal plans are the same.
    let weighs = |alternative: &&Alternative| {
        0 < alternative.moves
            && (alternative.superstep, alternative.cost) == (balance.planned, balance.cost)
    };
    let chosen = assessment.alternatives.iter().find(weighs);
    let alternatives = assessment.alternatives.iter();
    let alternatives = alternatives.map(|alternative| AlternativeReport {
        name: alternative.name.clone(),
        superstep_seconds: alternative.superstep.get(),
        cost_seconds: alternative.cost.get(),
        moves: alternative.moves,
        chosen: chosen.is_some_and(|chosen| std::ptr::eq(chosen, alternative)),
    });
    AssessmentReport {
        present_seconds: balance.present.get(),
        planned_seconds: balance.planned.get(),
        measured_seconds: assessment.measured.get(),
        cost_seconds: balance.cost.get(),
        horizon: balance.horizon,
        verdict,
        pause,
        alternatives: alternatives.collect(),
        choice: assessment.choice.as_ref().map(|choice| {
            let mut moves = call.migrations.iter();
            let moved = moves.find(|moved| moved.rank == choice.rank);
            ChoiceReport::new(choice, moved.map(|moved| moved.to), model)
        }),
    }
}

/// The first of `names`, and the number of further ones.
pub(super) fn first_of(names: impl Iterator<Item = String>) -> String {
    let names: Vec<String> = names.collect();
    match names.len().saturating_sub(NAMES) {
        0 => names.join(", "),
        more => format!("{} and {more} more", names[..NAMES].join(", ")),
    }
}

/// Maximum number of names listed.
const NAMES: usize = 8;

/// The meaning of a disposition's name, for `number` processes.
pub(super) fn meaning(name: &str, number: usize) -> &'static str {
    match (name, number) {
        ("moved", _) => "moved",
        ("offered", _) => "would have moved",
        ("no-faster-place", 1) => "was refused: no processor is faster",
        ("no-faster-place", _) => "were refused: no processor is faster",
        ("idle", 1) => "was refused: it did not compute",
        ("idle", _) => "were refused: they did not compute",
        ("no-processor", 1) => "was refused: no processor is left",
        ("no-processor", _) => "were refused: no processor is left",
        ("own-set", 1) => "prefers its own Set",
        ("own-set", _) => "prefer their own Set",
        ("not-positive", _) => "would gain nothing in any Set",
        ("below-threshold", 1) => "is not above the threshold",
        ("below-threshold", _) => "are not above the threshold",
        ("not-first", 1) => "is not first on the list",
        ("not-first", _) => "are not first on the list",
        ("not-planned", 1) => "is left where it is",
        ("not-planned", _) => "are left where they are",
        ("not-scripted", 1) => "is not named by the script",
        (_, _) => "are not named by the script",
    }
}

/// The hosts that were compared for one process.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub(super) struct ChoiceReport {
    /// As `p21`.
    process: String,
    /// Its host.
    from: String,
    /// No host whose utilisation is higher is on the idle list.
    idle_below: f64,
    /// All other hosts.
    destinations: Vec<DestinationReport>,
}

/// A host that the process could move to.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
struct DestinationReport {
    /// The host.
    host: String,
    /// The part of its cores that other programs used.
    utilisation: f64,
    /// Whether it is on the idle list.
    is_idle: bool,
    /// `C`.
    cost_seconds: f64,
    /// `E[T]`.
    execution_seconds: f64,
    /// `C + E[T]`.
    completion_seconds: f64,
    /// Whether the process moved there.
    chosen: bool,
}

impl ChoiceReport {
    /// The report on `choice`, after which the process moved to `target`.
    pub(super) fn new(
        choice: &DestinationChoice,
        target: Option<HostId>,
        model: &RunModel,
    ) -> Self {
        let destinations = choice.destinations.iter();
        let destinations = destinations.map(|found| DestinationReport {
            host: model.host(found.host),
            utilisation: found.utilisation,
            is_idle: found.is_idle,
            cost_seconds: found.cost.get(),
            execution_seconds: found.execution.get(),
            completion_seconds: found.completion().get(),
            chosen: Some(found.host) == target,
        });
        Self {
            process: choice.rank.to_string(),
            from: model.host(choice.from),
            idle_below: choice.idle_below,
            destinations: destinations.collect(),
        }
    }

    /// The hosts that are compared, the nearest completion first; those that are not on the idle list last.
    pub(super) fn table(&self) -> Table {
        let mut found: Vec<&DestinationReport> = self.destinations.iter().collect();
        found.sort_by(|one, other| {
            let idle = other.is_idle.cmp(&one.is_idle);
            idle.then(one.completion_seconds.total_cmp(&other.completion_seconds))
        });
        let note = |found: &&&DestinationReport| {
            let note = match (found.chosen, found.is_idle) {
                (true, _) => "chosen",
                (false, true) => "",
                (false, false) => "not idle",
            };
            note.to_owned()
        };
        let caption = format!(
            "Hosts that were compared for {}, now on {} (seconds)",
            self.process, self.from
        );
        let more = found.len().saturating_sub(DESTINATIONS);
        let table = Table::of(
            found.iter().take(DESTINATIONS),
            &[
                ("host", &|found| found.host.clone()),
                ("utilisation", &|found| {
                    format!("{:.1} %", 100.0 * found.utilisation)
                }),
                ("C", &|found| rounded(found.cost_seconds, 4)),
                ("E[T]", &|found| rounded(found.execution_seconds, 4)),
                ("C + E[T]", &|found| rounded(found.completion_seconds, 4)),
                ("", &note),
            ],
        );
        table.captioned(caption).followed(match more {
            0 => String::new(),
            more => format!("\n{} more; --format json has all.", counted(more, "host")),
        })
    }
}

/// Why the process of `choice` stays, if no host is on the idle list.
fn no_idle_host(choice: &DestinationChoice, model: &RunModel) -> Option<String> {
    if choice.destinations.iter().any(|found| found.is_idle) {
        return None;
    }
    Some(format!(
        "{} stays on {}: no other host is on the idle list, because the utilisation of each is above {}.",
        choice.rank,
        model.host(choice.from),
        choice.idle_below
    ))
}

/// Number of hosts that are shown.
const DESTINATIONS: usize = 20;

/// The potentials of one process for every Set, term by term.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub(crate) struct Forces {
    /// As `p21`.
    #[cfg_attr(feature = "schemas", schemars(pattern("^p[1-9][0-9]*$")))]
    pub(super) process: String,
    /// Number of supersteps completed before the call.
    pub(super) superstep: u64,
    /// By Set.
    pub(super) sets: Vec<Force>,
}

/// The potential of a process for one Set.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub(super) struct Force {
    /// Name of the Set.
    pub(super) set: String,
    /// Whether the process runs there.
    pub(super) is_own: bool,
    /// Whether its potential is highest there.
    pub(super) is_target: bool,
    /// The terms of the potential.
    #[serde(flatten)]
    pub(super) terms: Terms,
}

impl Forces {
    /// The potentials of the process of `entry` in a call; `None` if it reported nothing.
    pub(super) fn of(model: &RunModel, detail: &Detail, entry: &model::Entry) -> Option<Self> {
        let evaluation = detail.evaluation(entry.rank)?;
        let potentials = evaluation.potentials.iter();
        Some(Self {
            process: entry.rank.to_string(),
            superstep: detail.call.superstep,
            sets: potentials
                .map(|potential| {
                    Force::new(
                        model.set(potential.set),
                        potential,
                        (entry.own, entry.target),
                    )
                })
                .collect(),
        })
    }

    /// The highest potential for a Set other than its own.
    pub(super) fn best_elsewhere(&self) -> Option<&Force> {
        let others = self.sets.iter().filter(|force| !force.is_own);
        others.max_by(|one, other| one.terms.potential.total_cmp(&other.terms.potential))
    }

    /// The potentials as bars; `is_planned`: they do not decide.
    pub(super) fn figure(&self, is_planned: bool) -> Figure {
        let decided = if is_planned {
            ", which do not decide"
        } else {
            ""
        };
        let lines = self.sets.iter().flat_map(|force| {
            let name = |term: &str| format!("{}  {term}", force.set);
            [
                (name("Comp"), force.terms.computation),
                (name("Comm"), force.terms.communication),
                (name("Mem"), 0.0 - force.terms.migration),
            ]
        });
        Figure {
            caption: format!(
                "Potentials of {} for each Set{decided} (seconds; the migration cost counts against a Set)",
                self.process
            ),
            lines: lines.collect(),
            width: BAR_WIDTH,
            bars: self.bars(),
        }
    }

    /// The chart.
    pub(crate) fn bars(&self) -> Bars {
        let term = |name: &str, value: &dyn Fn(&Force) -> f64| {
            (name.to_owned(), self.sets.iter().map(value).collect())
        };
        Bars {
            title: format!(
                "Potentials of {} for each Set after superstep {}",
                self.process, self.superstep
            ),
            unit: "seconds".to_owned(),
            categories: self.sets.iter().map(|force| force.set.clone()).collect(),
            series: vec![
                term("Comp", &|force| force.terms.computation),
                term("Comm", &|force| force.terms.communication),
                term("−Mem", &|force| 0.0 - force.terms.migration),
                term("PM", &|force| force.terms.potential),
            ],
        }
    }
}

impl Force {
    fn new(set: String, potential: &Potential, (own, target): (SetId, SetId)) -> Self {
        Self {
            set,
            is_own: potential.set == own,
            is_target: potential.set == target,
            terms: Terms::new(potential),
        }
    }
}

/// Characters of all bars in a terminal.
const BAR_WIDTH: usize = 48;

/// The potential of a process for a Set, term by term: equation `PM` of `docs/model.md`; times in seconds.
#[derive(Clone, Copy, Debug, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub(super) struct Terms {
    /// `P_comp(i)`.
    pub(super) pattern_computation: f64,
    /// `CTP(i)`.
    pub(super) prediction_computation: f64,
    /// `ISet(j)`.
    pub(super) set_index: f64,
    /// `Comp(i, j)`.
    pub(super) computation: f64,
    /// `P_comm(i, j)`.
    pub(super) pattern_communication: f64,
    /// `BTP(i, j)`.
    pub(super) prediction_communication: f64,
    /// `Comm(i, j)`.
    pub(super) communication: f64,
    /// `Mem(i, j)`.
    pub(super) migration: f64,
    /// `PM(i, j)`.
    pub(super) potential: f64,
}

impl Terms {
    /// The terms of `potential`.
    pub(super) fn new(potential: &Potential) -> Self {
        Self {
            pattern_computation: potential.pattern_computation,
            prediction_computation: potential.prediction_computation.get(),
            set_index: potential.set_index,
            computation: potential.computation.get(),
            pattern_communication: potential.pattern_communication,
            prediction_communication: potential.prediction_communication.get(),
            communication: potential.communication.get(),
            migration: potential.migration.get(),
            potential: potential.total().get(),
        }
    }
}
