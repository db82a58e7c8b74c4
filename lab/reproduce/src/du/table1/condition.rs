//! What the network and the owners do.

use serde::Serialize;

/// What the network and the owners do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Condition {
    pub(super) network: Network,
    pub(super) discipline: Discipline,
}

/// How much of links others use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Network {
    /// 30 to 100 % are left.
    Light,
    /// 5 to 100 % are left.
    Mixed,
    /// 2 to 50 % are left.
    Busy,
}

/// What jobs of owners leave to the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Discipline {
    /// Nothing: the paper's model.
    Preemptive,
    /// An equal share.
    Shared,
}

/// All conditions, the paper's discipline first.
pub(super) fn all() -> impl Iterator<Item = Condition> {
    let networks = [Network::Busy, Network::Mixed, Network::Light];
    [Discipline::Preemptive, Discipline::Shared]
        .into_iter()
        .flat_map(move |discipline| {
            networks.map(|network| Condition {
                network,
                discipline,
            })
        })
}

impl Condition {
    /// The values of an experiment under this condition, with a seed.
    pub(super) fn assignments(self, seed: u64) -> [String; 3] {
        let [low, high] = self.network.available();
        [
            format!("run.seed={seed}"),
            format!("congestion.available=[{low}, {high}]"),
            format!("load.discipline={}", self.discipline.name()),
        ]
    }

    /// As texts show it: `busy, preemptive`.
    pub(super) fn name(self) -> String {
        format!(
            "{} network, {}",
            self.network.name(),
            self.discipline.name()
        )
    }
}

impl Network {
    /// The range of the part of a link that is left.
    pub(super) const fn available(self) -> [f64; 2] {
        match self {
            Self::Light => [0.3, 1.0],
            Self::Mixed => [0.05, 1.0],
            Self::Busy => [0.02, 0.5],
        }
    }

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Light => "light",
            Self::Mixed => "mixed",
            Self::Busy => "busy",
        }
    }
}

impl Discipline {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Preemptive => "preemptive",
            Self::Shared => "shared",
        }
    }
}
