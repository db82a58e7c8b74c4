//! The search for an assignment: its target, its budget, and what is found.

use std::fmt;
use std::str::FromStr;
use std::time::Instant;

use model::rebalance::{Budget, Problem, SearchResult, Solution};
use rebalancing_algorithms::{bound_while, lowest};
use settings::Unit as Quantity;

use crate::algorithm::Algorithm;
use crate::instance::{AMOUNT, Cost, RATE};

/// How to look for assignments.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Search {
    /// How long.
    pub limit: Limit,
    /// Where random choices begin.
    pub seed: u64,
    /// What a move costs.
    pub cost: Cost,
    /// The highest cost of an assignment with the lowest level.
    pub cost_max: f64,
}

/// The result for a target.
#[derive(Clone, Debug)]
pub(super) struct Found {
    pub(super) solution: Solution,
    pub(super) seconds: f64,
    /// Whether the search ended before the budget did.
    pub(super) is_exhausted: bool,
    /// The levels that are reached without a limit of the instance, if the target is not met.
    pub(super) relaxed: Vec<Relaxed>,
}

/// What is found without one of the limits of an instance.
#[derive(Clone, Debug)]
pub(super) struct Relaxed {
    /// What is not limited, as `memory`.
    pub(super) what: &'static str,
    pub(super) level: f64,
}

impl Search {
    /// The same with a budget of its own for each of as many searches on as many threads.
    pub(super) fn of_each(self, searches: usize, threads: usize) -> Self {
        let limit = self.limit.of_each(searches, threads);
        Self { limit, ..self }
    }

    /// The result of `algorithm` for `problem` and `target`.
    ///
    /// If the target is not met, and the problem has limits or an exchange of weight, a part of the budget goes to the lowest
    /// level, and another to the same without each limit, to find out which of them is the reason.
    pub(super) fn find(self, algorithm: &Algorithm, problem: &Problem, target: Target) -> Found {
        let began = Instant::now();
        let limits = without_limits(problem);
        let count = f64::from(u8::try_from(limits.len()).unwrap_or(u8::MAX));
        let of_lowest = if limits.is_empty() && !problem.weighs_exchange() {
            0.0
        } else {
            OF_MISS
        };
        let look = |problem: &Problem, target: Target, part: f64| {
            let limit = self.limit.part(part);
            limit.spend(|budget| self.look(algorithm, problem, target, budget))
        };
        let main = 1.0 - of_lowest - OF_MISS * count;
        let (found, seconds) = look(problem, target, main);
        let is_exhausted = match self.limit.part(main) {
            Limit::Steps(steps) => found.steps < steps,
            Limit::Seconds(limit) => seconds < limit,
        };
        let mut solution = found.solution;
        let mut relaxed = Vec::new();
        if let (Some(level), false) = (target.level(problem.ideal()), solution.feasible) {
            if 0.0 < of_lowest {
                let (lowest, _) = look(problem, Target::Lowest, of_lowest);
                if lowest.solution.level < solution.level {
                    solution = Solution::of(problem, level, lowest.solution.assignment);
                }
            }
            relaxed.extend(limits.into_iter().map(|(what, problem)| {
                let (found, _) = look(&problem, Target::Lowest, OF_MISS);
                let level = found.solution.level;
                Relaxed { what, level }
            }));
        }
        Found {
            is_exhausted,
            solution,
            seconds: began.elapsed().as_secs_f64(),
            relaxed,
        }
    }

    fn look(
        self,
        algorithm: &Algorithm,
        problem: &Problem,
        target: Target,
        budget: Budget<'_>,
    ) -> SearchResult {
        match target.level(problem.ideal()) {
            Some(level) => algorithm.search(problem, level, budget, self.seed),
            None => lowest(problem, self.cost_max, budget, |level, budget| {
                algorithm.search(problem, level, budget, self.seed)
            }),
        }
    }
}

/// The problem without each of the limits that it has.
fn without_limits(problem: &Problem) -> Vec<(&'static str, Problem)> {
    let mut problems = Vec::new();
    if problem.has_pins() {
        problems.push((
            "processes that may not move",
            problem.clone().without_pins(),
        ));
    }
    if problem.memory().is_some() {
        problems.push(("limits of memory", problem.clone().without_memory()));
    }
    problems
}

/// Lower bound of the cost of an assignment that meets `target`; none: no assignment meets it. With a limit of time,
/// it takes no longer than that, but for a first value.
pub fn lower_bound(problem: &Problem, target: f64, limit: Option<Limit>) -> Option<f64> {
    let initial = Solution::of(problem, target, problem.initial_assignment());
    if initial.feasible && problem.begins_within_memory() {
        // No process has to move, whatever rounding says.
        return Some(0.0);
    }
    let began = Instant::now();
    let cost = bound_while(problem, target, &|| match limit {
        Some(Limit::Seconds(seconds)) => began.elapsed().as_secs_f64() < seconds,
        Some(Limit::Steps(_)) | None => true,
    });
    cost.is_finite().then_some(cost)
}

/// The part of the budget of each search after a target was missed.
const OF_MISS: f64 = 0.1;

/// A budget.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Limit {
    /// A number of moves and exchanges for each search: the same result everywhere.
    Steps(u64),
    /// A number of seconds for all searches together.
    Seconds(f64),
}

impl Limit {
    /// The budget of each of as many searches on as many threads.
    fn of_each(self, searches: usize, threads: usize) -> Self {
        let rounds = searches.div_ceil(threads.max(1)).max(1);
        match self {
            Self::Steps(_) => self,
            Self::Seconds(seconds) => {
                Self::Seconds(seconds / f64::from(u32::try_from(rounds).unwrap_or(u32::MAX)))
            }
        }
    }

    /// This part of the budget, from 0 to 1.
    fn part(self, part: f64) -> Self {
        match self {
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                clippy::cast_precision_loss,
                clippy::as_conversions,
                reason = "up to `STEPS_MAX` every whole number is a float"
            )]
            Self::Steps(steps) => Self::Steps(((steps as f64 * part) as u64).max(1)),
            Self::Seconds(seconds) => Self::Seconds(seconds * part),
        }
    }

    /// The result of `work` within this budget, and the seconds that it took.
    pub fn spend<T>(self, work: impl FnOnce(Budget<'_>) -> T) -> (T, f64) {
        let began = Instant::now();
        let found = match self {
            Self::Steps(steps) => work(Budget::Steps(steps)),
            Self::Seconds(seconds) => {
                work(Budget::Spent(&|| began.elapsed().as_secs_f64() / seconds))
            }
        };
        (found, began.elapsed().as_secs_f64())
    }
}

/// The text form.
impl fmt::Display for Limit {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Steps(steps) => write!(formatter, "{steps} steps"),
            Self::Seconds(seconds) if *seconds < 1.0 => {
                write!(formatter, "{} ms", round(seconds * 1e3))
            }
            Self::Seconds(seconds) => write!(formatter, "{seconds} s"),
        }
    }
}

impl FromStr for Limit {
    type Err = String;

    /// Reads `100 ms`, `2.5` (seconds), `2000000 steps`, `2 Msteps`.
    fn from_str(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let unit = text.trim_start_matches(|character: char| !character.is_ascii_alphabetic());
        let stem = text
            .strip_suffix("steps")
            .or_else(|| text.strip_suffix("step"));
        if let Some(number) = stem {
            return steps(number.trim());
        }
        let seconds = Quantity::Seconds.read(text).map_err(|_| {
            let hint = if unit.to_lowercase().contains("st") {
                "; did you mean `steps`?"
            } else {
                ""
            };
            format!("must be {EXPECTED}{hint}")
        })?;
        if seconds.is_finite() && 0.0 < seconds {
            Ok(Self::Seconds(seconds))
        } else {
            Err(format!("must be more than 0: {EXPECTED}"))
        }
    }
}

fn steps(number: &str) -> Result<Limit, String> {
    let (digits, factor) = match number.char_indices().next_back() {
        Some((at, 'k')) => (number[..at].trim(), 1e3),
        Some((at, 'M')) => (number[..at].trim(), 1e6),
        Some((at, 'G')) => (number[..at].trim(), 1e9),
        _ => (number, 1.0),
    };
    let starts = digits.starts_with(|first: char| first.is_ascii_digit());
    let count = digits.parse::<f64>().ok().filter(|_| starts);
    let count = count.map(|count| count * factor);
    let whole = count.filter(|count| (1.0..=STEPS_MAX).contains(count) && count.fract() == 0.0);
    let Some(count) = whole else {
        return Err(format!(
            "must be a whole number of steps from 1 to {STEPS_MAX:e}, or time: {EXPECTED}"
        ));
    };
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::as_conversions,
        reason = "whole and in range, as checked just above"
    )]
    let count = count as u64;
    Ok(Limit::Steps(count))
}

/// `number` without rounding noise.
fn round(number: f64) -> f64 {
    format!("{number:.9}").parse().unwrap_or(number)
}

/// Up to this limit every whole number is a float.
const STEPS_MAX: f64 = 9e15;

const EXPECTED: &str = "\"100 ms\" or \"2.5 s\" of time, or \"2e6 steps\" (2 Msteps)";

/// What is looked for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Target {
    /// The cheapest assignment where no machine is above this level.
    Level(f64),
    /// The same, as a percentage of the ideal level.
    OfIdeal(f64),
    /// The assignment with the lowest level that is found.
    Lowest,
}

impl Target {
    /// The level that no machine may be above; `None`: the lowest.
    pub(crate) fn level(self, ideal: f64) -> Option<f64> {
        match self {
            Self::Level(level) => Some(level),
            Self::OfIdeal(percent) => Some(ideal * percent / 100.0),
            Self::Lowest => None,
        }
    }
}

/// The text of the argument.
impl fmt::Display for Target {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Level(level) => level.fmt(formatter),
            Self::OfIdeal(percent) => write!(formatter, "{percent}%"),
            Self::Lowest => formatter.pad(LOWEST),
        }
    }
}

impl FromStr for Target {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text.trim() == LOWEST {
            return Ok(Self::Lowest);
        }
        read_target(text).map_err(|error| format!("{error}, or `{LOWEST}`"))
    }
}

/// The target that `text` gives, a level or a percentage of the ideal one.
///
/// # Errors
///
/// If `text` is neither.
pub(crate) fn read_target(text: &str) -> Result<Target, String> {
    let Some(percent) = text.trim().strip_suffix('%') else {
        let level = read_level(text);
        return level
            .map(Target::Level)
            .map_err(|error| format!("{error}, a percentage of the ideal level, as `105%`"));
    };
    let number = percent.trim().parse().ok();
    number
        .filter(|number| RATE.holds(*number))
        .map(Target::OfIdeal)
        .ok_or_else(|| {
            let expected = RATE.expected();
            format!("not `{text}`: must be a percentage of the ideal level, {expected}")
        })
}

/// The level that `text` gives.
///
/// # Errors
///
/// If `text` is no level.
pub(crate) fn read_level(text: &str) -> Result<f64, String> {
    let number = text.trim().parse().ok();
    number.filter(|number| RATE.holds(*number)).ok_or_else(|| {
        format!(
            "not `{text}`: must be a level, workload by capacity, {}",
            RATE.expected()
        )
    })
}

/// The cost that `text` gives.
///
/// # Errors
///
/// If `text` is no cost.
pub(crate) fn read_cost(text: &str) -> Result<f64, String> {
    amount(text, "a cost")
}

/// The weight that `text` gives.
///
/// # Errors
///
/// If `text` is no weight.
pub(crate) fn read_weight(text: &str) -> Result<f64, String> {
    amount(text, "a level for each byte")
}

fn amount(text: &str, what: &str) -> Result<f64, String> {
    let number = text.trim().parse().ok();
    number
        .filter(|number| AMOUNT.holds(*number))
        .ok_or_else(|| {
            let expected = AMOUNT.expected();
            format!("not `{text}`: must be {what}, {expected}")
        })
}

/// What stands for the lowest level.
const LOWEST: &str = "min";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_is_time_or_steps() {
        let read = |text: &str| text.parse::<Limit>().unwrap();
        assert_eq!(read("100ms"), Limit::Seconds(0.1));
        assert_eq!(read("2.5"), Limit::Seconds(2.5));
        assert_eq!(read("1 min"), Limit::Seconds(60.0));
        assert_eq!(read("2000000 steps"), Limit::Steps(2_000_000));
        assert_eq!(read("2e6steps"), Limit::Steps(2_000_000));
        assert_eq!(read("1.5 Msteps"), Limit::Steps(1_500_000));
        assert_eq!(read("1 step"), Limit::Steps(1));
        for text in ["100 ms", "2.5 s", "2000000 steps"] {
            assert_eq!(read(text).to_string(), text);
        }
    }

    #[test]
    fn an_invalid_budget_is_refused() {
        for (text, words) in [
            ("", "must be \"100 ms\""),
            ("0", "must be more than 0"),
            ("0 s", "must be more than 0"),
            ("-1 s", "must be more than 0"),
            ("1e999", "must be \"100 ms\""),
            ("nan", "must be \"100 ms\""),
            ("0 steps", "whole number of steps from 1"),
            ("-5 steps", "whole number of steps from 1"),
            ("1.5 steps", "whole number of steps from 1"),
            ("inf steps", "whole number of steps from 1"),
            ("1e99 steps", "whole number of steps from 1"),
            ("ksteps", "whole number of steps from 1"),
            ("5 stps", "did you mean `steps`?"),
            ("5 parsecs", "must be \"100 ms\""),
        ] {
            let fault = text.parse::<Limit>().unwrap_err();
            assert!(fault.contains(words), "{text}: {fault}");
        }
    }

    #[test]
    fn a_target_is_a_level_a_share_of_the_ideal_one_or_the_lowest() {
        for (text, target, level) in [
            ("80", Target::Level(80.0), Some(80.0)),
            (" 105 % ", Target::OfIdeal(105.0), Some(42.0)),
            ("100%", Target::OfIdeal(100.0), Some(40.0)),
            ("min", Target::Lowest, None),
        ] {
            let read: Target = text.parse().unwrap();
            assert_eq!(read, target);
            assert_eq!(read.level(40.0), level);
            assert_eq!(read.to_string().parse(), Ok(target));
        }
        for text in ["", "%", "-5%", "0%", "5%%", "minimum", "1e400%", "nan%"] {
            let error = text.parse::<Target>().unwrap_err();
            assert!(error.contains("percentage of the ideal level"), "{error}");
        }
    }
}
