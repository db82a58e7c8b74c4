//! How a load changes during the run, as configured.

use bsp::units::Instructions;
use serde::{Deserialize, Serialize};

use crate::parameters::{AMOUNT_MAX, Error, MisplacedKey, at_least_one, instructions, within};

/// How the instructions of a superstep change: a factor that depends on rank and superstep, and noise
/// on top of it.
///
/// Written as a table with the key `kind` (`steady`, `drift`, `jump`, `hotspot` or `noise`) beside
/// those of the [`Change`]. `jitter` goes with every kind; `noise` is a steady load with a jitter of
/// 0.1 by default. A key that does not belong to the kind is an error.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "WrittenDynamics", into = "WrittenDynamics")]
pub struct Dynamics {
    /// What changes, and when.
    pub change: Change,
    /// Which ranks it happens to.
    pub choice: Choice,
    /// Noise from 0 to 1: each process draws in each superstep a factor that is spread evenly over
    /// `1 - jitter` to `1 + jitter`. What it draws depends on seed, rank and superstep alone.
    pub jitter: f64,
}

impl Dynamics {
    /// Whether anything depends on the run's seed.
    #[must_use]
    pub fn draws(&self) -> bool {
        let is_drawn = self.change != Change::Steady && self.choice == Choice::Drawn;
        is_drawn || 0.0 < self.jitter
    }

    /// `value` as instructions that fit at their heaviest, too.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfRange`] and [`Error::Peak`].
    pub(super) fn check_peak(&self, key: String, value: f64) -> Result<Instructions, Error> {
        let work = instructions(key.as_str(), value)?;
        let factor = match self.change {
            Change::Steady => 1.0,
            Change::Drift { factor, .. }
            | Change::Jump { factor, .. }
            | Change::Hotspot { factor, .. } => factor.max(1.0),
        };
        let peak = work.as_f64() * factor * (1.0 + self.jitter);
        // Factors that are out of range themselves are for `check` to name.
        if AMOUNT_MAX < peak && factor.is_finite() && self.jitter.is_finite() {
            return Err(Error::Peak { key, value, peak });
        }
        Ok(work)
    }

    /// Nothing, if all numbers are in range.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfRange`], [`Error::Zero`] and [`Error::EndsBeforeStart`].
    pub(super) fn check(&self) -> Result<(), Error> {
        let shared = |share, factor| -> Result<(), Error> {
            within(("dynamics.share", share), 0.0, 1.0, "a number from 0 to 1")?;
            within(
                ("dynamics.factor", factor),
                0.0,
                f64::MAX,
                "a number from 0",
            )?;
            Ok(())
        };
        within(
            ("dynamics.jitter", self.jitter),
            0.0,
            1.0,
            "a number from 0 to 1",
        )?;
        match self.change {
            Change::Steady => Ok(()),
            Change::Drift {
                share,
                factor,
                start,
                end,
            } => {
                shared(share, factor)?;
                match end {
                    Some(value) if value <= start => Err(Error::EndsBeforeStart {
                        key: "dynamics.end",
                        value,
                        start_key: "dynamics.start",
                        start,
                    }),
                    _ => Ok(()),
                }
            }
            Change::Jump {
                share,
                factor,
                every,
                ..
            } => {
                shared(share, factor)?;
                at_least_one("dynamics.every", every.unwrap_or(1))
            }
            Change::Hotspot {
                share,
                factor,
                every,
                ..
            } => {
                shared(share, factor)?;
                at_least_one("dynamics.every", every)
            }
        }
    }
}

/// Which ranks a [`Change`] happens to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Choice {
    /// The lowest; a hotspot begins at rank 0.
    #[default]
    First,
    /// Drawn from the run's seed, each as probable as any other; so is the rank where a hotspot begins.
    Drawn,
}

/// What changes, and when.
///
/// A `share` is a part of the ranks, from 0 to 1: `share` · processes of them, rounded, and one at
/// least if the share is above zero. [`Choice`] selects them. A `factor` multiplies their instructions.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Change {
    /// Nothing, ever.
    #[default]
    Steady,
    /// The load of a share of the ranks grows or shrinks slowly.
    Drift {
        /// Share of the ranks; by default 0.5.
        share: f64,
        /// The factor reached in the end; by default 2.
        factor: f64,
        /// The last superstep without change; by default 0. From here the factor grows linearly.
        start: u64,
        /// The first superstep with the whole factor, which then stays; by default the run's last.
        end: Option<u64>,
    },
    /// A share of the ranks changes from one superstep to the next.
    Jump {
        /// Share of the ranks; by default 0.5.
        share: f64,
        /// The factor; by default 2.
        factor: f64,
        /// The first superstep with the factor; by default 100.
        start: u64,
        /// Number of supersteps after which the factor is removed, then applied again, and so on; by
        /// default it stays.
        every: Option<u64>,
    },
    /// A window of consecutive ranks is heavier, and wanders over all of them, around the end.
    Hotspot {
        /// Width of the window; by default a tenth of the ranks.
        share: f64,
        /// The factor; by default 2.
        factor: f64,
        /// By how many ranks it moves at a time; by default 1.
        step: u64,
        /// Number of supersteps between moves; by default 10.
        every: u64,
    },
}

/// The table as it is written: flat, and with gaps.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct WrittenDynamics {
    kind: DynamicsKind,
    #[serde(skip_serializing_if = "Option::is_none")]
    choice: Option<Choice>,
    #[serde(skip_serializing_if = "Option::is_none")]
    share: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    factor: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    start: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    end: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    step: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    every: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    jitter: Option<f64>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum DynamicsKind {
    #[default]
    Steady,
    Drift,
    Jump,
    Hotspot,
    Noise,
}

impl DynamicsKind {
    const fn name(self) -> &'static str {
        match self {
            Self::Steady => "steady",
            Self::Drift => "drift",
            Self::Jump => "jump",
            Self::Hotspot => "hotspot",
            Self::Noise => "noise",
        }
    }

    const fn keys(self) -> &'static [&'static str] {
        match self {
            Self::Steady | Self::Noise => &["jitter"],
            Self::Drift => &["choice", "share", "factor", "start", "end", "jitter"],
            Self::Jump => &["choice", "share", "factor", "start", "every", "jitter"],
            Self::Hotspot => &["choice", "share", "factor", "step", "every", "jitter"],
        }
    }
}

impl TryFrom<WrittenDynamics> for Dynamics {
    type Error = MisplacedKey;

    /// Fills gaps with the defaults of the kind, if that takes all keys that are written.
    fn try_from(written: WrittenDynamics) -> Result<Self, MisplacedKey> {
        let keys = [
            ("choice", written.choice.is_some()),
            ("share", written.share.is_some()),
            ("factor", written.factor.is_some()),
            ("start", written.start.is_some()),
            ("end", written.end.is_some()),
            ("step", written.step.is_some()),
            ("every", written.every.is_some()),
        ];
        MisplacedKey::check(written.kind.name(), written.kind.keys(), &keys)?;
        let factor = written.factor.unwrap_or(2.0);
        let change = match written.kind {
            DynamicsKind::Steady | DynamicsKind::Noise => Change::Steady,
            DynamicsKind::Drift => Change::Drift {
                share: written.share.unwrap_or(0.5),
                factor,
                start: written.start.unwrap_or(0),
                end: written.end,
            },
            DynamicsKind::Jump => Change::Jump {
                share: written.share.unwrap_or(0.5),
                factor,
                start: written.start.unwrap_or(100),
                every: written.every,
            },
            DynamicsKind::Hotspot => Change::Hotspot {
                share: written.share.unwrap_or(0.1),
                factor,
                step: written.step.unwrap_or(1),
                every: written.every.unwrap_or(10),
            },
        };
        let is_noise = written.kind == DynamicsKind::Noise;
        Ok(Self {
            change,
            choice: written.choice.unwrap_or_default(),
            jitter: written.jitter.unwrap_or(if is_noise { 0.1 } else { 0.0 }),
        })
    }
}

impl From<Dynamics> for WrittenDynamics {
    /// The table of a change, without gaps.
    fn from(dynamics: Dynamics) -> Self {
        let Dynamics {
            change,
            choice,
            jitter,
        } = dynamics;
        let is_steady = change == Change::Steady;
        let blank = Self {
            choice: (!is_steady).then_some(choice),
            jitter: Some(jitter),
            ..Self::default()
        };
        match change {
            Change::Steady => Self {
                kind: if jitter == 0.0 {
                    DynamicsKind::Steady
                } else {
                    DynamicsKind::Noise
                },
                ..blank
            },
            Change::Drift {
                share,
                factor,
                start,
                end,
            } => Self {
                kind: DynamicsKind::Drift,
                share: Some(share),
                factor: Some(factor),
                start: Some(start),
                end,
                ..blank
            },
            Change::Jump {
                share,
                factor,
                start,
                every,
            } => Self {
                kind: DynamicsKind::Jump,
                share: Some(share),
                factor: Some(factor),
                start: Some(start),
                every,
                ..blank
            },
            Change::Hotspot {
                share,
                factor,
                step,
                every,
            } => Self {
                kind: DynamicsKind::Hotspot,
                share: Some(share),
                factor: Some(factor),
                step: Some(step),
                every: Some(every),
                ..blank
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Dynamics {
        toml::from_str(text).unwrap()
    }

    #[test]
    fn every_kind_has_defaults_and_reads_back_what_it_writes() {
        let defaults = [
            ("", Change::Steady, 0.0),
            ("kind = 'steady'", Change::Steady, 0.0),
            ("kind = 'noise'", Change::Steady, 0.1),
            (
                "kind = 'drift'",
                Change::Drift {
                    share: 0.5,
                    factor: 2.0,
                    start: 0,
                    end: None,
                },
                0.0,
            ),
            (
                "kind = 'jump'",
                Change::Jump {
                    share: 0.5,
                    factor: 2.0,
                    start: 100,
                    every: None,
                },
                0.0,
            ),
            (
                "kind = 'hotspot'",
                Change::Hotspot {
                    share: 0.1,
                    factor: 2.0,
                    step: 1,
                    every: 10,
                },
                0.0,
            ),
            (
                "kind = 'jump'\nshare = 0.25\nfactor = 3\nstart = 5\nevery = 7\njitter = 0.2",
                Change::Jump {
                    share: 0.25,
                    factor: 3.0,
                    start: 5,
                    every: Some(7),
                },
                0.2,
            ),
        ];
        for (text, change, jitter) in defaults {
            let dynamics = read(text);
            let expected = Dynamics {
                change,
                choice: Choice::First,
                jitter,
            };
            assert_eq!(dynamics, expected, "{text}");
            assert_eq!(
                read(&toml::to_string(&dynamics).unwrap()),
                dynamics,
                "{text}"
            );
        }
    }

    #[test]
    fn undrawn_steady_loads_draw_no_random_numbers() {
        for text in ["", "kind = 'drift'", "kind = 'noise'\njitter = 0.0"] {
            assert!(!read(text).draws(), "{text}");
        }
        for text in [
            "kind = 'noise'",
            "kind = 'jump'\nchoice = 'drawn'",
            "jitter = 0.1",
        ] {
            assert!(read(text).draws(), "{text}");
        }
    }

    #[test]
    fn keys_of_another_kind_are_refused() {
        let error = toml::from_str::<Dynamics>("kind = 'drift'\nevery = 3").unwrap_err();
        let expected = "`kind = \"drift\"` takes no `every`; it takes choice, share, factor, start, end, jitter";
        assert!(error.message().contains(expected), "{error}");
        assert!(toml::from_str::<Dynamics>("kind = 'noise'\nchoice = 'drawn'").is_err());
        assert!(toml::from_str::<Dynamics>("kind = 'drif'").is_err());
        assert!(toml::from_str::<Dynamics>("kind = 'drift'\nfactr = 3").is_err());
    }

    #[test]
    fn numbers_out_of_range_are_named() {
        let check = |text: &str, expected: &str| {
            assert_eq!(read(text).check().unwrap_err().to_string(), expected);
        };
        check(
            "jitter = 1.5",
            "invalid value `1.5` for `dynamics.jitter`: must be a number from 0 to 1",
        );
        check(
            "jitter = nan",
            "invalid value `NaN` for `dynamics.jitter`: must be a number from 0 to 1",
        );
        check(
            "kind = 'drift'\nshare = -0.5",
            "invalid value `-0.5` for `dynamics.share`: must be a number from 0 to 1",
        );
        check(
            "kind = 'jump'\nfactor = inf",
            "invalid value `inf` for `dynamics.factor`: must be a number from 0",
        );
        check(
            "kind = 'jump'\nevery = 0",
            "invalid value `0` for `dynamics.every`: must be at least 1",
        );
        check(
            "kind = 'hotspot'\nevery = 0",
            "invalid value `0` for `dynamics.every`: must be at least 1",
        );
        check(
            "kind = 'drift'\nstart = 10\nend = 10",
            "invalid value `10` for `dynamics.end`: must be greater than `dynamics.start`, which is 10",
        );
    }
}
