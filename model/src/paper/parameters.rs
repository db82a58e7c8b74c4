//! What can be set: the papers' parameters, and two readings of their text between which experiments differ.

use bsp::units::Seconds;
use serde::{Deserialize, Serialize};

use crate::MigrationCost;

/// Parameters of the model; [`Default`] gives the papers' values.
///
/// Nothing here is checked: [`Config::new`] does that.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Parameters {
    /// Supersteps before the first call, and the least between two calls (α); at least 1.
    pub interval: u32,
    /// How far the slowest and the fastest process may be from the mean time, as a part of it, while
    /// the processes count as balanced (initial D); between 0 and 1.
    pub tolerance: f64,
    /// Consecutive calls without a migration before the tolerance grows (ω); at least 1.
    pub omega: u32,
    /// How far a prediction of instructions may be off in a regular superstep (δ), as a part of
    /// them; at least 0.
    pub delta: f64,
    /// How far a prediction of received bytes may be off (β). The papers name no value; theirs for δ is taken.
    pub beta: f64,
    /// Which processes of the merged list are candidates.
    pub heuristic: Heuristic,
    /// What part of the highest potential a candidate has to exceed under [`Heuristic::Above`] (x);
    /// at least 0 and below 1.
    pub x: f64,
    /// Which process comes first among equal potentials.
    pub tie_break: TieBreak,
    /// Potentials that differ by no more than this are equal: enough for the rounding of dates late
    /// in a long run, and less than a message takes.
    pub tie_width: Seconds,
    /// For which Set a message counts whose sender has moved.
    pub sender_set: SenderSet,
    /// What moving a process costs.
    pub migration: MigrationCost,
}

/// Which processes of the merged list are candidates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Heuristic {
    /// Every process above `x` times the highest potential (the papers' first heuristic).
    Above,
    /// The process with the highest potential alone (the second).
    #[default]
    Best,
}

/// Which process comes first among equal potentials.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TieBreak {
    /// The lowest rank.
    #[default]
    Rank,
    /// The one that spends least time receiving, then the lowest rank.
    ReceiveTime,
}

/// For which Set a message counts whose sender has moved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SenderSet {
    /// For the Set where the sender runs when the message arrives.
    #[default]
    Present,
    /// For the Set where the sender was when the run began.
    Initial,
}

impl Default for Parameters {
    fn default() -> Self {
        Self {
            interval: 4,
            tolerance: 0.5,
            omega: 3,
            delta: 0.01,
            beta: 0.01,
            heuristic: Heuristic::default(),
            x: 0.8,
            tie_break: TieBreak::default(),
            tie_width: Seconds::new(1e-9).expect("a nanosecond is finite"),
            sender_set: SenderSet::default(),
            migration: MigrationCost::default(),
        }
    }
}

/// Checked [`Parameters`].
///
/// Invariant: every value lies in the range its parameter documents.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Parameters", into = "Parameters")]
pub struct Config(Parameters);

/// A parameter out of its range.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("invalid value `{value}` for `{key}`: {rule}")]
pub struct ConfigError {
    /// The name of the parameter in a configuration file.
    pub key: &'static str,
    /// Its value.
    pub value: String,
    /// The rule that it breaks, as "must be at least 1".
    pub rule: &'static str,
}

impl Config {
    /// # Errors
    ///
    /// If a parameter is out of its range; the first such in the order of the fields.
    pub fn new(parameters: Parameters) -> Result<Self, ConfigError> {
        let Parameters {
            interval,
            tolerance,
            omega,
            delta,
            beta,
            x,
            tie_width,
            migration,
            ..
        } = parameters;
        let whole = |key, value: u32| (key, f64::from(value), 1.0 <= f64::from(value), ONE);
        let ratio = |key, value: f64| (key, value, value.is_finite() && 0.0 <= value, SOME);
        let checks = [
            Some(whole("interval", interval)),
            Some((
                "tolerance",
                tolerance,
                0.0 < tolerance && tolerance < 1.0,
                "must be a number above 0 and below 1",
            )),
            Some(whole("omega", omega)),
            Some(ratio("delta", delta)),
            Some(ratio("beta", beta)),
            Some((
                "x",
                x,
                (0.0..1.0).contains(&x),
                "must be a number of at least 0 and below 1",
            )),
            Some(ratio("tie_width", tie_width.get())),
            migration
                .data_rate
                .map(|rate| ratio("migration.data_rate", rate)),
            migration
                .fixed_rate
                .map(|rate| ratio("migration.fixed_rate", rate)),
            migration
                .base
                .map(|base| ratio("migration.base", base.get())),
            migration
                .overlap
                .map(|overlap| ratio("migration.overlap", overlap)),
        ];
        match checks.into_iter().flatten().find(|check| !check.2) {
            None => Ok(Self(parameters)),
            Some((key, value, _, rule)) => Err(ConfigError {
                key,
                value: value.to_string(),
                rule,
            }),
        }
    }

    /// The parameters.
    #[must_use]
    #[inline]
    pub const fn parameters(&self) -> &Parameters {
        &self.0
    }
}

impl TryFrom<Parameters> for Config {
    type Error = ConfigError;

    fn try_from(parameters: Parameters) -> Result<Self, ConfigError> {
        Self::new(parameters)
    }
}

impl From<Config> for Parameters {
    fn from(config: Config) -> Self {
        config.0
    }
}

const ONE: &str = "must be at least 1";
const SOME: &str = "must be a finite number of at least 0";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_file_leaves_out_is_the_default() {
        let text =
            r#"{ "interval": 16, "tie_break": "receive-time", "migration": { "base": 0.5 } }"#;
        let expected = Parameters {
            interval: 16,
            tie_break: TieBreak::ReceiveTime,
            migration: MigrationCost {
                base: Some(Seconds::new(0.5).unwrap()),
                ..MigrationCost::default()
            },
            ..Parameters::default()
        };
        assert_eq!(serde_json::from_str::<Parameters>(text).unwrap(), expected);
    }

    #[test]
    fn a_key_that_is_none_is_refused() {
        let error = serde_json::from_str::<Parameters>(r#"{ "alpha": 4 }"#).unwrap_err();
        assert!(error.to_string().starts_with("unknown field `alpha`"));
    }

    #[test]
    fn parameters_survive_encoding() {
        let text = serde_json::to_string(&Parameters::default()).unwrap();
        let decoded: Parameters = serde_json::from_str(&text).unwrap();
        assert_eq!(decoded, Parameters::default());
    }

    #[test]
    fn the_defaults_are_in_range() {
        assert_eq!(Config::new(Parameters::default()), Ok(Config::default()));
    }

    #[test]
    fn a_parameter_out_of_range_is_named() {
        let check = |change: fn(&mut Parameters), text: &str| {
            let mut parameters = Parameters::default();
            change(&mut parameters);
            assert_eq!(Config::new(parameters).unwrap_err().to_string(), text);
        };
        check(
            |p| p.interval = 0,
            "invalid value `0` for `interval`: must be at least 1",
        );
        check(
            |p| p.tolerance = 1.0,
            "invalid value `1` for `tolerance`: must be a number above 0 and below 1",
        );
        check(
            |p| p.x = f64::NAN,
            "invalid value `NaN` for `x`: must be a number of at least 0 and below 1",
        );
        check(
            |p| p.migration.data_rate = Some(-1.0),
            "invalid value `-1` for `migration.data_rate`: must be a finite number of at least 0",
        );
    }
}
