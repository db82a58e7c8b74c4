//! The interval between checkpoints, as it is written.

use std::fmt;
use std::str::FromStr;

use agents::CheckpointInterval;
use bsp::units::Seconds;
use serde::de::{self, Deserialize, Deserializer, Visitor};
use serde::{Serialize, Serializer};
use settings::Unit;

/// The time or the supersteps from one checkpoint to the next: `"10 s"`, `"20 supersteps"`, `"optimal"` or `"never"`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum CheckpointTime {
    /// There are no checkpoints.
    #[default]
    Never,
    /// This time, above zero.
    Time(Seconds),
    /// This number of supersteps, at least one.
    Supersteps(u64),
    /// The time that loses least.
    Optimal,
}

impl CheckpointTime {
    /// The value for agents. `None`: never.
    pub(super) const fn agents(self) -> Option<CheckpointInterval> {
        Some(match self {
            Self::Never => return None,
            Self::Time(time) => CheckpointInterval::Time(time),
            Self::Supersteps(supersteps) => CheckpointInterval::Supersteps(supersteps),
            Self::Optimal => CheckpointInterval::Optimal,
        })
    }

    fn parse(text: &str) -> Option<Self> {
        match text.trim() {
            "never" => return Some(Self::Never),
            "optimal" => return Some(Self::Optimal),
            _ => {}
        }
        let number = ["supersteps", "superstep"]
            .iter()
            .find_map(|unit| text.trim().strip_suffix(unit));
        match number {
            Some(number) => {
                let supersteps = number.trim().parse().ok();
                supersteps
                    .filter(|number| 0 < *number)
                    .map(Self::Supersteps)
            }
            None => Unit::Seconds.read(text).ok().and_then(Self::time),
        }
    }

    fn time(seconds: f64) -> Option<Self> {
        let time = Seconds::new(seconds).ok();
        time.filter(|time| Seconds::ZERO < *time).map(Self::Time)
    }
}

impl FromStr for CheckpointTime {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::parse(text).ok_or_else(|| format!("must be {EXPECTED}"))
    }
}

impl fmt::Display for CheckpointTime {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Never => formatter.write_str("never"),
            Self::Time(time) => write!(formatter, "{} s", time.get()),
            Self::Supersteps(supersteps) => write!(formatter, "{supersteps} supersteps"),
            Self::Optimal => formatter.write_str("optimal"),
        }
    }
}

impl Serialize for CheckpointTime {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for CheckpointTime {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Written)
    }
}

/// A text, or a bare number of seconds.
struct Written;

impl Visitor<'_> for Written {
    type Value = CheckpointTime;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(EXPECTED)
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<CheckpointTime, E> {
        CheckpointTime::parse(text)
            .ok_or_else(|| E::invalid_value(de::Unexpected::Str(text), &self))
    }

    fn visit_f64<E: de::Error>(self, seconds: f64) -> Result<CheckpointTime, E> {
        let time = CheckpointTime::time(seconds);
        time.ok_or_else(|| E::invalid_value(de::Unexpected::Float(seconds), &self))
    }

    #[expect(clippy::as_conversions, reason = "seconds beyond 2^53 may be rounded")]
    fn visit_i64<E: de::Error>(self, seconds: i64) -> Result<CheckpointTime, E> {
        self.visit_f64(seconds as f64)
    }
}

const EXPECTED: &str = "a time above 0 s such as \"10 s\", a number of supersteps such as \"20 supersteps\", \
                        \"optimal\" or \"never\"";
