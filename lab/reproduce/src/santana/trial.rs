//! One run: a size on a cluster, with the rules of the paper or with ours.

use bsp::Interaction;
use experiments::{Embedded, Failure, PreparedExperiment, Registry, Scenario, load_embedded};
use record::Event;

use super::cluster::{Constants, Curve, WORKERS, power, serial};

/// Whose rules deal and admit hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rules {
    /// `block-cyclic`; hosts join while all wait.
    Paper,
    /// `weighted`; hosts are prepared beside the computation, if that pays.
    Ours,
}

/// The result of a run.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Trial {
    pub(super) size: u32,
    /// Seconds of worker02 alone by the seconds of the run.
    pub(super) speedup: f64,
    /// By how many points the share of a worker differs from that of its power at most, once blocks have settled; `None`:
    /// they do not.
    pub(super) imbalance: Option<f64>,
    /// Seconds that processes waited for each host that joined.
    pub(super) waits: Vec<(String, f64)>,
}

impl Trial {
    /// Runs a size on the cluster of `curve`.
    pub(super) fn run(
        constants: &Constants,
        rules: Rules,
        curve: &Curve,
        size: u32,
        registry: &Registry,
    ) -> Result<Self, Failure> {
        let embedded = match rules {
            Rules::Paper => &PAPER,
            Rules::Ours => &OURS,
        };
        let assignments = assignments(constants, rules, curve, size);
        let prepared = PreparedExperiment::new(load_embedded(embedded, &assignments, registry)?)?;
        let (mut interactions, mut joined) = (Vec::new(), Vec::new());
        let mut observe = |event: &Event| match event {
            Event::Interaction(interaction) => interactions.push(interaction.clone()),
            Event::Join(join) if join.joined => {
                let name = prepared.platform.host(join.host).name.clone();
                joined.push((name, join.creation.get()));
            }
            _ => {}
        };
        let finished = prepared.run(Scenario::I, registry, &mut observe)?;
        Ok(Self {
            size,
            speedup: serial(size) / finished.end.seconds.get(),
            imbalance: imbalance(&interactions, curve),
            waits: joined,
        })
    }
}

/// What the run changes of its experiment.
fn assignments(constants: &Constants, rules: Rules, curve: &Curve, size: u32) -> Vec<String> {
    let row = 8 * u64::from(size);
    let farm = |key: &str, value: u64| format!("application.task-farm.{key}={value}");
    let mut all = vec![
        format!("application.processes={}", 1 + curve.workers().count()),
        farm("tasks", size.into()),
        farm("instructions", 2 * u64::from(size).pow(2)),
        farm("shared", row * u64::from(size)),
        farm("task", row),
        farm("outcome", row),
    ];
    let names: Vec<&str> = curve
        .joining
        .iter()
        .map(|worker| WORKERS[*worker].0)
        .collect();
    all.push(format!("elasticity.pool={names:?}"));
    if !names.is_empty() {
        let creation: Vec<f64> = curve
            .joining
            .iter()
            .map(|worker| constants.creation[worker - 2])
            .collect();
        all.push(format!("elasticity.take={}", names.len()));
        all.push(format!("elasticity.creation={creation:?}"));
    }
    all.push(format!("elasticity.part={}", constants.part));
    if rules == Rules::Paper {
        let (least, most) = (1.0 - constants.threshold, 1.0 + constants.threshold);
        all.push(farm("dealing.block", constants.block.into()));
        all.push(format!(
            "application.task-farm.dealing.threshold_min={least}"
        ));
        all.push(format!(
            "application.task-farm.dealing.threshold_max={most}"
        ));
    }
    all
}

/// By how many points the shares of workers differ from those of their powers at most, in the last interaction but one;
/// `None`: a worker is in its first one there, or has none.
fn imbalance(interactions: &[Interaction], curve: &Curve) -> Option<f64> {
    let [before @ .., settled, _] = interactions else {
        return None;
    };
    let known = |worker: usize| {
        before
            .iter()
            .any(|interaction| 0 < interaction.dealt[worker])
    };
    let workers: Vec<usize> = curve.workers().collect();
    if !(0..workers.len()).all(known) {
        return None;
    }
    let dealt: u64 = settled.dealt.iter().sum();
    let powers: f64 = workers.iter().map(|worker| power(*worker)).sum();
    let points = settled.dealt.iter().zip(&workers).map(|(tasks, worker)| {
        let share = *tasks as f64 / dealt as f64;
        100.0 * (share - power(*worker) / powers).abs()
    });
    Some(points.fold(0.0, f64::max))
}

static PAPER: Embedded = Embedded {
    name: "conf/santana/hnow.toml",
    text: include_str!("../../../../conf/santana/hnow.toml"),
    platform: include_str!("../../../../conf/platforms/hnow.toml"),
};

static OURS: Embedded = Embedded {
    name: "conf/santana/weighted.toml",
    text: include_str!("../../../../conf/santana/weighted.toml"),
    platform: include_str!("../../../../conf/platforms/hnow.toml"),
};
