//! The keys of `[load]` and `[congestion]`.

use bsp::units::Seconds;
use serde::{Deserialize, Serialize};
use settings::Unit;
use simulator::Discipline;
use workloads::background::{
    Background, Levels, Lifetimes, OutOfRange, OwnerLoad, Pattern, Target,
};

use super::range::Range;

/// The section as it is written: with gaps.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Keys {
    pub(super) kind: Kind,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) sets: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) links: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) file: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) discipline: Option<Sharing>,
    #[serde(skip_serializing_if = "Option::is_none")]
    utilisation: Option<Range>,
    #[serde(skip_serializing_if = "Option::is_none")]
    lifetimes: Option<Law>,
    #[serde(skip_serializing_if = "Option::is_none")]
    lifetime: Option<Seconds>,
    #[serde(skip_serializing_if = "Option::is_none")]
    longest: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    spread: Option<Range>,
    #[serde(skip_serializing_if = "Option::is_none")]
    share: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    level: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    busy: Option<Seconds>,
    #[serde(skip_serializing_if = "Option::is_none")]
    idle: Option<Seconds>,
    #[serde(skip_serializing_if = "Option::is_none")]
    available: Option<Range>,
    #[serde(skip_serializing_if = "Option::is_none")]
    variation: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    memory: Option<Seconds>,
    #[serde(skip_serializing_if = "Option::is_none")]
    step: Option<Seconds>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) period: Option<Seconds>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Kind {
    /// No background load. The other keys are ignored, so that the kind alone switches a load off.
    #[default]
    None,
    OnOff,
    Walk,
    Wave,
    /// Owners' jobs, for hosts.
    Jobs,
    /// The load of a file, for hosts.
    Trace,
    /// Drawn levels, for links.
    Levels,
}

/// What owners' jobs and our processes leave each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Sharing {
    /// Jobs come first.
    Preemptive,
    /// An operating system shares the cores.
    #[default]
    Shared,
}

/// How lifetimes are distributed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Law {
    #[default]
    Pareto,
    Exponential,
}

impl Keys {
    /// With defaults for the keys that the kind takes and the section lacks.
    pub(super) fn completed(mut self) -> Self {
        let seconds = |value| Some(Seconds::new(value).expect("a finite number"));
        let kind = self.kind;
        if kind.is_pattern() {
            self.level = self.level.or(Some(0.5));
        }
        match kind {
            Kind::OnOff => {
                self.busy = self.busy.or_else(|| seconds(30.0));
                self.idle = self.idle.or_else(|| seconds(60.0));
            }
            Kind::Jobs => {
                self.utilisation = self.utilisation.or(Some(Range([0.0, 0.6])));
                let law = *self.lifetimes.get_or_insert_default();
                self.lifetime = self.lifetime.or_else(|| seconds(2.0));
                if law == Law::Pareto {
                    self.longest = self.longest.or(Some(100.0));
                }
                self.spread = self.spread.or(Some(Range([1.0, 1.0])));
                self.discipline.get_or_insert_default();
            }
            Kind::Levels => {
                self.available = self.available.or(Some(Range([0.1, 1.0])));
                self.variation = self.variation.or(Some(0.2));
                self.memory = self.memory.or_else(|| seconds(60.0));
            }
            Kind::None | Kind::Walk | Kind::Wave | Kind::Trace => {}
        }
        if kind.has_steps() {
            self.step = self.step.or_else(|| seconds(1.0));
        }
        if kind.is_drawn() {
            self.share = self.share.or(Some(1.0));
            self.period = self.period.or_else(|| seconds(3600.0));
        }
        self
    }

    /// What the completed keys of a section for `target` mean; `None`: nothing is drawn from the seed.
    pub(super) fn drawn(&self, target: Target) -> Result<Option<Drawn>, OutOfRange> {
        let number = |key: Option<f64>| key.expect("completed");
        let seconds = |key: Option<Seconds>| key.expect("completed");
        let range = |key: Option<Range>| key.expect("completed").0;
        let pattern = match self.kind {
            Kind::None | Kind::Trace => return Ok(None),
            Kind::Jobs => {
                let lifetime = seconds(self.lifetime);
                let lifetimes = match self.longest {
                    None => Lifetimes::Exponential { mean: lifetime },
                    Some(longest) => Lifetimes::Pareto {
                        shortest: lifetime,
                        longest,
                    },
                };
                let (utilisation, spread) = (range(self.utilisation), range(self.spread));
                let (share, period) = (number(self.share), seconds(self.period));
                let owners = OwnerLoad::new(utilisation, lifetimes, spread, share, period)?;
                let discipline = self.discipline.expect("completed");
                return Ok(Some(Drawn::Jobs(owners, discipline.into())));
            }
            Kind::Levels => {
                let (available, memory) = (range(self.available), seconds(self.memory));
                let levels = Levels::new(
                    available,
                    (number(self.variation), memory),
                    number(self.share),
                    (seconds(self.step), seconds(self.period)),
                )?;
                return Ok(Some(Drawn::Levels(levels)));
            }
            Kind::OnOff => Pattern::OnOff {
                level: self.level(target)?,
                busy: seconds(self.busy),
                idle: seconds(self.idle),
            },
            Kind::Walk => Pattern::Walk {
                level: self.level(target)?,
            },
            Kind::Wave => Pattern::Wave {
                level: self.level(target)?,
            },
        };
        let (step, period) = (seconds(self.step), seconds(self.period));
        let background = Background::new(pattern, number(self.share), step, period)?;
        Ok(Some(Drawn::Pattern(background)))
    }

    fn level(&self, target: Target) -> Result<f64, OutOfRange> {
        let level = self.level.expect("completed");
        if target == Target::Links && LEVEL_MAX < level {
            return Err(OutOfRange {
                key: "level",
                value: level,
                expected: "a number from 0 to 0.99: a link is never fully loaded",
            });
        }
        Ok(level)
    }

    /// The keys that a section of this kind for `target` takes.
    pub(super) fn known(&self, target: Target) -> Vec<&'static str> {
        let kind = self.kind;
        let mut known = vec!["kind"];
        if kind == Kind::Trace {
            known.extend(["file", "discipline", "period"]);
            return known;
        }
        known.push(match target {
            Target::Hosts => "sets",
            Target::Links => "links",
        });
        known.push("share");
        match kind {
            Kind::Jobs if self.lifetimes == Some(Law::Exponential) => {
                known.extend([
                    "utilisation",
                    "lifetimes",
                    "lifetime",
                    "spread",
                    "discipline",
                ]);
            }
            Kind::Jobs => known.extend([
                "utilisation",
                "lifetimes",
                "lifetime",
                "longest",
                "spread",
                "discipline",
            ]),
            Kind::Levels => known.extend(["available", "variation", "memory"]),
            Kind::OnOff => known.extend(["level", "busy", "idle"]),
            Kind::None | Kind::Walk | Kind::Wave | Kind::Trace => known.push("level"),
        }
        if kind.has_steps() {
            known.push("step");
        }
        known.push("period");
        known
    }
}

impl Kind {
    /// Why a section for `target` cannot be of this kind.
    pub(super) fn problem(self, target: Target) -> Option<&'static str> {
        match (self, target) {
            (Self::Jobs, Target::Links) => {
                Some("jobs run on hosts; links take `on-off`, `walk`, `wave` or `levels`")
            }
            (Self::Trace, Target::Links) => {
                Some("a trace is of hosts; links take `on-off`, `walk`, `wave` or `levels`")
            }
            (Self::Levels, Target::Hosts) => {
                Some("levels are of links; hosts take `on-off`, `walk`, `wave`, `jobs` or `trace`")
            }
            _ => None,
        }
    }

    const fn is_pattern(self) -> bool {
        matches!(self, Self::OnOff | Self::Walk | Self::Wave)
    }

    const fn has_steps(self) -> bool {
        self.is_pattern() || matches!(self, Self::Levels)
    }

    const fn is_drawn(self) -> bool {
        self.has_steps() || matches!(self, Self::Jobs)
    }
}

impl From<Sharing> for Discipline {
    fn from(sharing: Sharing) -> Self {
        match sharing {
            Sharing::Preemptive => Self::Preemptive,
            Sharing::Shared => Self::Shared,
        }
    }
}

/// The unit of a key.
pub(super) fn unit(key: &str) -> Unit {
    match key {
        "busy" | "idle" | "lifetime" | "memory" | "step" | "period" => Unit::Seconds,
        _ => Unit::None,
    }
}

/// Maximum share of a link that background load takes.
const LEVEL_MAX: f64 = 0.99;

/// What is drawn from the seed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Drawn {
    /// Fractions of hosts or links.
    Pattern(Background),
    /// Jobs on hosts.
    Jobs(OwnerLoad, Discipline),
    /// Levels of links.
    Levels(Levels),
}
