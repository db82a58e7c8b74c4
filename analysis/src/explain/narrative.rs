//! Why a process moved or stayed, in sentences.

use migbsp::{Entry, NotSelected, Refusal, Verdict};

use crate::explain::against::Against;
use crate::explain::call::first_of;
use crate::explain::disposition::Disposition;
use crate::explain::forces::Forces;
use crate::explain::history::{Detail, History};
use crate::explain::payback::PaybackVerdict;
use crate::explain::report::ProcessReport;
use crate::text::{duration, rounded};

/// Facts about a process in a call.
pub(super) struct Narrative<'a> {
    pub(super) history: &'a History,
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
                self.history.host(moved.from),
                self.history.host(moved.to),
                self.why_it_moved()
            ),
            Disposition::Offered(host) => format!(
                "{name} would have moved to {} {after}, but processes do not migrate in scenario {}: {}.",
                self.history.host(*host),
                self.history.run.scenario,
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
        let rules = &self.history.rules;
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
        if self.history.rules.is_scripted {
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
        let rules = &self.history.rules;
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
                self.history.host(host),
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
                let best = best.map_or_else(String::new, |best| {
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
                call.threshold
                    .map_or_else(String::new, |least| rounded(least.get(), 4))
            ),
            NotSelected::NotFirst => {
                let head = call.list.first().copied().unwrap_or(self.entry);
                format!(
                    "its potential of {potential} s for {target} is number {} of {all}, and only the first process of the list can be a candidate: {}, with {} s for {}",
                    self.process.position.unwrap_or_default(),
                    head.rank,
                    rounded(head.potential.get(), 4),
                    if head.own == head.target {
                        format!("its own Set, {}", self.history.set(head.target))
                    } else {
                        self.history.set(head.target)
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
    pub(super) fn what_it_won(&self) -> Option<String> {
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
        let supersteps = &self.history.supersteps;
        let begin = self.history.place(self.process.superstep);
        let before = begin
            .checked_sub(1)
            .and_then(|before| supersteps.get(before));
        match (before, supersteps.get(begin)) {
            (Some(before), Some(after)) if before.slowest == after.slowest => format!(
                "; the slowest process was {} both before and after the move",
                after.slowest
            ),
            (Some(before), Some(after)) => format!(
                "; the slowest process was {} before the move and {} after it",
                before.slowest, after.slowest
            ),
            _ => String::new(),
        }
    }

    fn target(&self) -> String {
        self.history.set(self.entry.target)
    }
}
