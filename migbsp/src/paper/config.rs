//! Parameters that have been checked.

use serde::{Deserialize, Serialize};

use crate::Parameters;

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
