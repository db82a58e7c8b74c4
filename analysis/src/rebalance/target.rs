//! Targets: the level that no machine may be above.

use std::fmt;
use std::str::FromStr;

use crate::rebalance::instance::{AMOUNT, RATE};

/// What is looked for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Target {
    /// The cheapest assignment where no machine is above this level.
    Level(f64),
    /// The assignment with the lowest level that is found.
    Lowest,
}

/// The text of the argument.
impl fmt::Display for Target {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Level(level) => level.fmt(formatter),
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
        let level = read_level(text).map_err(|error| format!("{error}, or `{LOWEST}`"))?;
        Ok(Self::Level(level))
    }
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
