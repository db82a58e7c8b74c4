//! Targets: the level that no machine may be above.

use std::fmt;
use std::str::FromStr;

use crate::instance::{AMOUNT, RATE};

/// What is looked for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Target {
    /// The cheapest assignment where no machine is above this level.
    Level(f64),
    /// The same, as a percentage of the ideal level.
    OfIdeal(f64),
    /// The assignment with the lowest level that is found.
    Lowest,
}

impl Target {
    /// The level that no machine may be above; `None`: the lowest.
    pub fn level(self, ideal: f64) -> Option<f64> {
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
pub fn read_target(text: &str) -> Result<Target, String> {
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
pub fn read_level(text: &str) -> Result<f64, String> {
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
pub fn read_cost(text: &str) -> Result<f64, String> {
    amount(text, "a cost")
}

/// The weight that `text` gives.
///
/// # Errors
///
/// If `text` is no weight.
pub fn read_weight(text: &str) -> Result<f64, String> {
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
