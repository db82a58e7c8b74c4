//! Budgets: how long to look for an assignment, and looking that long.

use std::fmt;
use std::str::FromStr;
use std::time::Instant;

use migbsp::rebalance::Budget;

use settings::Unit as Quantity;

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
    pub(super) fn of_each(self, searches: usize, threads: usize) -> Self {
        let rounds = searches.div_ceil(threads.max(1)).max(1);
        match self {
            Self::Steps(_) => self,
            Self::Seconds(seconds) => {
                Self::Seconds(seconds / f64::from(u32::try_from(rounds).unwrap_or(u32::MAX)))
            }
        }
    }

    /// This part of the budget, from 0 to 1.
    pub(super) fn part(self, part: f64) -> Self {
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
}
