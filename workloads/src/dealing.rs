//! How the tasks of a farm are dealt, as an experiment file says it.

use bsp::farm::{BlockCyclic, Dealing, Reference, Weighted};
use serde::{Deserialize, Serialize};

use crate::parameters::{Error, MisplacedKey};

/// How the tasks of a farm are dealt: a rule and its numbers. What is not set has the rule's default.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Written", into = "Written")]
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
    reference: Option<Reference>,
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

impl DealingParameters {
    /// The rule.
    ///
    /// # Errors
    ///
    /// If a number is out of its range, or the lower threshold above the upper one.
    pub fn dealing(&self) -> Result<Dealing, Error> {
        let written = &self.0;
        let least = written.least.unwrap_or(1);
        let dealing = match written.kind {
            Kind::Weighted => {
                let default = Weighted::default();
                Dealing::Weighted(Weighted {
                    fraction: written.fraction.unwrap_or(default.fraction),
                    least: written.least.unwrap_or(default.least),
                })
            }
            Kind::BlockCyclic => {
                let default = BlockCyclic::default();
                Dealing::BlockCyclic(BlockCyclic {
                    block: written.block.unwrap_or(default.block),
                    threshold_min: written.threshold_min.unwrap_or(default.threshold_min),
                    threshold_max: written.threshold_max.unwrap_or(default.threshold_max),
                    reference: written.reference.unwrap_or(default.reference),
                })
            }
            Kind::Static => Dealing::Static,
            Kind::SelfScheduling => Dealing::SelfScheduling {
                chunk: written.chunk.unwrap_or(1),
            },
            Kind::Guided => Dealing::Guided { least },
            Kind::Factoring => Dealing::Factoring { least },
        };
        dealing.check()?;
        Ok(dealing)
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
    fn a_rule_is_written_as_it_is_read() {
        for kind in [
            "weighted",
            "block-cyclic",
            "static",
            "self",
            "guided",
            "factoring",
        ] {
            let written = format!("kind = \"{kind}\"\n");
            let parameters: DealingParameters = toml::from_str(&written).unwrap();
            assert_eq!(toml::to_string(&parameters).unwrap(), written);
            assert!(parameters.dealing().is_ok(), "{kind}");
        }
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
            "invalid value `1.1` for `dealing.threshold_min`: must be at most `dealing.threshold_max`, which is 0.9",
        );
    }
}
