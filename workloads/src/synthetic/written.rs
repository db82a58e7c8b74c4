//! The table `dynamics` as it is written in a configuration.

use serde::{Deserialize, Serialize};

use crate::misplaced_key::MisplacedKey;
use crate::synthetic::change::{Change, Choice};

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

impl WrittenDynamics {
    /// Nothing, if the kind takes all keys that are written.
    pub(super) fn check_keys(&self) -> Result<(), MisplacedKey> {
        let written = [
            ("choice", self.choice.is_some()),
            ("share", self.share.is_some()),
            ("factor", self.factor.is_some()),
            ("start", self.start.is_some()),
            ("end", self.end.is_some()),
            ("step", self.step.is_some()),
            ("every", self.every.is_some()),
        ];
        MisplacedKey::check(self.kind.name(), self.kind.keys(), &written)
    }

    /// What changes, with the defaults of the kind.
    pub(super) fn change(&self) -> Change {
        let factor = self.factor.unwrap_or(2.0);
        match self.kind {
            DynamicsKind::Steady | DynamicsKind::Noise => Change::Steady,
            DynamicsKind::Drift => Change::Drift {
                share: self.share.unwrap_or(0.5),
                factor,
                start: self.start.unwrap_or(0),
                end: self.end,
            },
            DynamicsKind::Jump => Change::Jump {
                share: self.share.unwrap_or(0.5),
                factor,
                start: self.start.unwrap_or(100),
                every: self.every,
            },
            DynamicsKind::Hotspot => Change::Hotspot {
                share: self.share.unwrap_or(0.1),
                factor,
                step: self.step.unwrap_or(1),
                every: self.every.unwrap_or(10),
            },
        }
    }

    /// Which ranks the change happens to.
    pub(super) fn choice(&self) -> Choice {
        self.choice.unwrap_or_default()
    }

    /// The noise, with the default of the kind.
    pub(super) fn jitter(&self) -> f64 {
        let default = if self.kind == DynamicsKind::Noise {
            0.1
        } else {
            0.0
        };
        self.jitter.unwrap_or(default)
    }

    /// The table of a change, without gaps.
    pub(super) fn new(change: Change, choice: Choice, jitter: f64) -> Self {
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
