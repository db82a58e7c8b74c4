//! How the tasks of a farm are dealt, as an experiment file says it.

use bsp::farm::{BlockCyclic, Dealing, FarmError, Reference, Weighted};
use serde::{Deserialize, Serialize};

use crate::misplaced_key::MisplacedKey;
use crate::parameters::{Error, at_least_one, within};

/// How the tasks of a farm are dealt: a rule and its numbers. What is not set has the rule's default.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, try_from = "Written", into = "Written")]
pub struct DealingParameters(Written);

/// The keys of all rules.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Written {
    kind: Kind,
    #[serde(skip_serializing_if = "Option::is_none")]
    fraction: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    least: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    block: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    threshold_min: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    threshold_max: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reference: Option<WrittenReference>,
    #[serde(skip_serializing_if = "Option::is_none")]
    chunk: Option<u64>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Kind {
    #[default]
    Weighted,
    BlockCyclic,
    Static,
    #[serde(rename = "self")]
    SelfScheduling,
    Guided,
    Factoring,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum WrittenReference {
    First,
    Last,
}

impl DealingParameters {
    /// The rule.
    ///
    /// # Errors
    ///
    /// If a number is out of its range, or the lower threshold above the upper one.
    pub fn dealing(&self) -> Result<Dealing, Error> {
        let written = &self.0;
        let count = |key: &'static str, value: Option<u64>, default: u64| {
            let value = value.unwrap_or(default);
            at_least_one(key, value).map(|()| value)
        };
        let least = || count("dealing.least", written.least, 1);
        Ok(match written.kind {
            Kind::Weighted => {
                let Weighted { fraction, least } = Weighted::default();
                Dealing::Weighted(Weighted {
                    fraction: count("dealing.fraction", written.fraction, fraction)?,
                    least: count("dealing.least", written.least, least)?,
                })
            }
            Kind::BlockCyclic => Dealing::BlockCyclic(written.block_cyclic()?),
            Kind::Static => Dealing::Static,
            Kind::SelfScheduling => Dealing::SelfScheduling {
                chunk: count("dealing.chunk", written.chunk, 1)?,
            },
            Kind::Guided => Dealing::Guided { least: least()? },
            Kind::Factoring => Dealing::Factoring { least: least()? },
        })
    }
}

impl Written {
    fn block_cyclic(&self) -> Result<BlockCyclic, Error> {
        let default = BlockCyclic::default();
        let threshold = |key: &'static str, value: Option<f64>, default: f64| {
            let value = value.unwrap_or(default);
            within((key, value), THRESHOLD_MIN, THRESHOLD_MAX, THRESHOLDS)
        };
        let block = self.block.unwrap_or(default.block);
        at_least_one("dealing.block", block)?;
        let min = ("dealing.threshold_min", self.threshold_min);
        let min = threshold(min.0, min.1, default.threshold_min)?;
        let max = ("dealing.threshold_max", self.threshold_max);
        let max = threshold(max.0, max.1, default.threshold_max)?;
        let rule = BlockCyclic {
            block,
            threshold_min: min,
            threshold_max: max,
            reference: match self.reference {
                None | Some(WrittenReference::First) => Reference::First,
                Some(WrittenReference::Last) => Reference::Last,
            },
        };
        Dealing::BlockCyclic(rule)
            .check()
            .map_err(FarmError::from)?;
        Ok(rule)
    }
}

impl TryFrom<Written> for DealingParameters {
    type Error = MisplacedKey;

    /// Refuses keys of other rules.
    fn try_from(written: Written) -> Result<Self, MisplacedKey> {
        let (kind, known): (&'static str, &'static [&'static str]) = match written.kind {
            Kind::Weighted => ("weighted", &["fraction", "least"]),
            Kind::BlockCyclic => (
                "block-cyclic",
                &["block", "threshold_min", "threshold_max", "reference"],
            ),
            Kind::Static => ("static", &[]),
            Kind::SelfScheduling => ("self", &["chunk"]),
            Kind::Guided => ("guided", &["least"]),
            Kind::Factoring => ("factoring", &["least"]),
        };
        let keys = [
            ("fraction", written.fraction.is_some()),
            ("least", written.least.is_some()),
            ("block", written.block.is_some()),
            ("threshold_min", written.threshold_min.is_some()),
            ("threshold_max", written.threshold_max.is_some()),
            ("reference", written.reference.is_some()),
            ("chunk", written.chunk.is_some()),
        ];
        MisplacedKey::check(kind, known, &keys)?;
        Ok(Self(written))
    }
}

impl From<DealingParameters> for Written {
    fn from(parameters: DealingParameters) -> Self {
        parameters.0
    }
}

/// Bounds of thresholds.
const THRESHOLD_MIN: f64 = 1e-3;
const THRESHOLD_MAX: f64 = 1e3;
const THRESHOLDS: &str = "a number from 0.001 to 1000";

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Dealing, String> {
        let parameters: DealingParameters =
            toml::from_str(text).map_err(|error| error.message().to_owned())?;
        parameters.dealing().map_err(|error| error.to_string())
    }

    #[test]
    fn rules_have_defaults() {
        assert_eq!(read(""), Ok(Dealing::default()));
        let block_cyclic = Dealing::BlockCyclic(BlockCyclic {
            block: 4,
            ..BlockCyclic::default()
        });
        assert_eq!(read("kind = \"block-cyclic\"\nblock = 4"), Ok(block_cyclic));
        let chunks = Dealing::SelfScheduling { chunk: 1 };
        assert_eq!(read("kind = \"self\""), Ok(chunks));
        let factoring = Dealing::Factoring { least: 3 };
        assert_eq!(read("kind = \"factoring\"\nleast = 3"), Ok(factoring));
    }

    #[test]
    fn invalid_rules_are_refused_with_the_reason() {
        let check = |text: &str, expected: &str| {
            assert_eq!(read(text).unwrap_err(), expected, "{text}");
        };
        check(
            "kind = \"static\"\nblock = 4",
            "`kind = \"static\"` takes no `block`; it takes no other keys",
        );
        check(
            "kind = \"self\"\nchunk = 0",
            "invalid value `0` for `dealing.chunk`: must be at least 1",
        );
        let cyclic = |rest: &str| format!("kind = \"block-cyclic\"\n{rest}");
        check(
            &cyclic("block = 0"),
            "invalid value `0` for `dealing.block`: must be at least 1",
        );
        check(
            &cyclic("threshold_min = -0.5"),
            "invalid value `-0.5` for `dealing.threshold_min`: must be a number from 0.001 to 1000",
        );
        check(
            &cyclic("threshold_max = nan"),
            "invalid value `NaN` for `dealing.threshold_max`: must be a number from 0.001 to 1000",
        );
        check(
            &cyclic("threshold_min = 1.1\nthreshold_max = 0.9"),
            "invalid value `1.1` for `threshold_min`: must be at most `threshold_max`, which is 0.9",
        );
    }
}
