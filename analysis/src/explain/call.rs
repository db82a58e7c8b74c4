//! The decisions of a call.

use bsp::units::Seconds;
use migbsp::{Alternative, PlanAssessment, Refusal, Verdict};
use record::Call;

use crate::explain::choice::{ChoiceReport, no_idle_host};
use crate::explain::disposition::{Disposition, meaning};
use crate::explain::forces::Forces;
use crate::explain::history::{Detail, ExplainedCall, History};
use crate::explain::moves;
use crate::explain::payback::Payback;
use crate::explain::report::{AlternativeReport, AssessmentReport, CallReport, Explanation, Row};
use crate::text::{counted, rounded};

/// The decisions of the call at position `index`, of which `detail` has the findings.
pub(super) fn explain(answer: &mut Explanation, history: &History, index: usize, detail: &Detail) {
    let explained = &history.calls[index];
    answer.calls.push(report(history, index));
    answer.list = rows(history, &detail.call);
    answer.sentences.push(outcome(explained, history));
    answer.sentences.extend(weighing(explained));
    let made = explained.assessment.as_ref();
    let choice = made.and_then(|made| made.choice.as_ref());
    answer
        .sentences
        .extend(choice.and_then(|choice| no_idle_host(choice, history)));
    answer
        .sentences
        .extend(why_none(history, explained, detail));
    if let Some(head) = explained.head {
        answer.forces = Forces::of(history, detail, &head);
        let (folder, superstep) = (&answer.record, explained.summary.superstep);
        answer.next.push(format!(
            "explain {folder} --process {} --superstep {superstep}",
            head.rank
        ));
    }
}

/// The call at position `index`.
pub(super) fn report(history: &History, index: usize) -> CallReport {
    let call = &history.calls[index];
    CallReport {
        summary: call.summary.clone(),
        threshold: call.threshold.map(Seconds::get),
        processes: call.listed,
        candidates: call.candidates,
        dispositions: call.dispositions.clone(),
        moved: moves::moves(history, call),
        payback: Payback::of(history, index),
        assessment: call
            .assessment
            .as_ref()
            .map(|made| assessment(made, call, history)),
    }
}

/// The list of a call with the outcome of each process.
pub(super) fn rows(history: &History, call: &Call) -> Vec<Row> {
    let dispositions = Disposition::all(call, &history.rules);
    let rows = call.list.iter().enumerate().map(|(index, entry)| {
        let disposition = &dispositions[&entry.rank];
        Row {
            position: index + 1,
            process: entry.rank.to_string(),
            own: history.set(entry.own),
            target: history.set(entry.target),
            potential: entry.potential.get(),
            disposition: disposition.name(),
            note: note(history, disposition),
        }
    });
    rows.collect()
}

/// The outcome of a process, in a few words.
fn note(history: &History, disposition: &Disposition) -> String {
    match disposition {
        Disposition::Moved(moved) => format!("moves to {}", history.host(moved.to)),
        Disposition::Offered(host) => format!("would move to {}", history.host(*host)),
        Disposition::Refused(Refusal::NoFasterPlace { host, t1, t2 }) => format!(
            "refused: t1 {} on {}, t2 {}",
            rounded(t1.get(), 4),
            history.host(*host),
            rounded(t2.get(), 4)
        ),
        other => meaning(other.name(), 1).to_owned(),
    }
}

/// The processes that moved, in one sentence.
fn outcome(call: &ExplainedCall, history: &History) -> String {
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
            history.run.scenario
        ),
        [] => format!("No process moved {after}."),
        [moved] => format!(
            "{} moved from {} to {} {after}, which took {} s.",
            moved.rank,
            history.host(moved.from),
            history.host(moved.to),
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
fn why_none(history: &History, call: &ExplainedCall, detail: &Detail) -> Option<String> {
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
        history.set(head.target)
    );
    if head.own == head.target {
        if history.rules.one_candidate {
            text.push_str(", and only the first process of the list can be a candidate");
        }
        let entries = detail.call.list.iter();
        let elsewhere = entries.filter_map(|entry| {
            let forces = Forces::of(history, detail, entry)?;
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
pub(super) fn weighing(call: &ExplainedCall) -> Option<String> {
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

fn assessment(
    assessment: &PlanAssessment,
    call: &ExplainedCall,
    history: &History,
) -> AssessmentReport {
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
            ChoiceReport::new(choice, moved.map(|moved| moved.to), history)
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
