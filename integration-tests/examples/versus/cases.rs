//! What is compared, and the table.

use std::path::Path;

use anyhow::ensure;

use crate::mpi::Mpi;
use crate::{line, ours, say};

/// Processes of ours.
pub(crate) const PROCESSES: u32 = 16;

/// What is computed.
#[derive(Clone, Copy)]
pub(crate) enum Application {
    Heat,
    Lattice,
}

impl Application {
    /// The workload.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Heat => "heat",
            Self::Lattice => "lbm-kernel",
        }
    }

    /// Width and height.
    pub(crate) const fn size(self) -> [u32; 2] {
        match self {
            Self::Heat => [1500; 2],
            Self::Lattice => [512; 2],
        }
    }

    /// Files of its outputs, which together are the result.
    pub(crate) const fn files(self) -> &'static [&'static str] {
        match self {
            Self::Heat => &["plate.npy"],
            Self::Lattice => &["density.npy", "velocity.npy"],
        }
    }
}

/// Nodes, by the parts of a processor that they have: equal, and with a slower one.
struct Nodes {
    name: &'static str,
    equal: &'static [f64],
    slow: &'static [f64],
    steps: u64,
}

const NODES: [Nodes; 3] = [
    Nodes {
        name: "A",
        equal: &[1.0, 1.0],
        slow: &[1.0, 0.4],
        steps: 400,
    },
    Nodes {
        name: "B",
        equal: &[0.25, 0.25],
        slow: &[0.25, 0.1],
        steps: 200,
    },
    Nodes {
        name: "C",
        equal: &[0.2; 4],
        slow: &[0.2, 0.2, 0.2, 0.08],
        steps: 200,
    },
];

/// The makespans of a round, seconds: with equal nodes, and with a slower one.
struct Round {
    none: [f64; 2],
    adaptive: [f64; 2],
    /// The best placement, with a slower node.
    ideal: f64,
    /// By implementation.
    mpi: Vec<[f64; 2]>,
}

pub(crate) fn measure(is_quick: bool, only: Option<&str>) -> anyhow::Result<()> {
    let (rounds, divisor) = if is_quick { (1, 4) } else { (5, 1) };
    let folder = tempfile::tempdir()?;
    let mpi = Mpi::installed(folder.path());
    let mut head = "| nodes (with a slower one) | program | none / MPI, equal | adaptive / none, equal \
         | adaptive / none, slower | adaptive / MPI, slower | part of the gain |\n|---|---|---|---|---|---|---|"
        .to_owned();
    for nodes in NODES {
        for application in [Application::Heat, Application::Lattice] {
            let name = format!("{} {}", nodes.name, application.name());
            if only.is_some_and(|word| !name.contains(word)) {
                continue;
            }
            let steps = nodes.steps / divisor;
            let case = (application, steps);
            let (mut measured, mut digest) = (Vec::new(), None);
            for number in 1..=rounds {
                say(&format!("measuring: {name}, {number} of {rounds}"));
                measured.push(round(case, &nodes, &mpi, folder.path(), &mut digest)?);
            }
            if !head.is_empty() {
                line(&std::mem::take(&mut head));
            }
            line(&row(&nodes, application, &mpi, &measured));
        }
    }
    ensure!(
        head.is_empty(),
        "no case has this word in its name: names are as `A heat` and `C lbm-kernel`"
    );
    line("\nRatios of makespans: median (least to greatest). Results of all runs were equal.");
    Ok(())
}

/// All runs of a case, one after the other. Outputs of ours have this `digest` once it is known.
fn round(
    case: (Application, u64),
    nodes: &Nodes,
    mpi: &[Mpi],
    folder: &Path,
    digest: &mut Option<String>,
) -> anyhow::Result<Round> {
    let (kernel, expected) = ours::kernel(case)?;
    let both = [nodes.equal, nodes.slow];
    let others = mpi.iter().map(|implementation| {
        let run = |speeds| implementation.run(case, speeds, folder, &expected);
        Ok([run(both[0])?, run(both[1])?])
    });
    let others = others.collect::<anyhow::Result<_>>()?;
    let mut live = |policy| {
        let mut run =
            |speeds| ours::run(case, speeds, policy, folder, (&expected[..], &mut *digest));
        anyhow::Ok([run(both[0])?, run(both[1])?])
    };
    Ok(Round {
        none: live("none")?,
        adaptive: live("adaptive")?,
        ideal: kernel * slowest(nodes.slow),
        mpi: others,
    })
}

/// How much longer than a whole processor the nodes take for all processes, if these are placed as well as they can be.
fn slowest(speeds: &[f64]) -> f64 {
    let mut counts = vec![0_u32; speeds.len()];
    let time = |count: u32, speed: f64| f64::from(count) / f64::from(PROCESSES) / speed;
    for _ in 0..PROCESSES {
        let next = counts.iter_mut().zip(speeds);
        let next = next.min_by(|(one, fast), (other, slow)| {
            time(**one + 1, **fast).total_cmp(&time(**other + 1, **slow))
        });
        if let Some((count, _)) = next {
            *count += 1;
        }
    }
    let times = counts.iter().zip(speeds);
    times
        .map(|(count, speed)| time(*count, *speed))
        .fold(0.0, f64::max)
}

fn row(nodes: &Nodes, application: Application, mpi: &[Mpi], rounds: &[Round]) -> String {
    let text = |values: Vec<f64>| {
        let least = values.iter().copied().fold(f64::INFINITY, f64::min);
        let greatest = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let median = model::median(values).unwrap_or(f64::NAN);
        format!("{median:.2} ({least:.2} to {greatest:.2})")
    };
    let ratio = |of: &dyn Fn(&Round) -> f64| text(rounds.iter().map(of).collect());
    let beside = |of: &dyn Fn(&Round, [f64; 2]) -> f64| {
        let each = mpi.iter().enumerate().map(|(index, implementation)| {
            let ratio = ratio(&|round| of(round, round.mpi[index]));
            format!("{}: {ratio}", implementation.name)
        });
        let all: Vec<String> = each.collect();
        if all.is_empty() {
            "-".to_owned()
        } else {
            all.join("; ")
        }
    };
    let speeds = |speeds: &[f64]| {
        let words: Vec<String> = speeds.iter().map(f64::to_string).collect();
        words.join(", ")
    };
    format!(
        "| {}: {} ({}) | {} | {} | {} | {} | {} | {} |",
        nodes.name,
        speeds(nodes.equal),
        nodes.slow[nodes.slow.len() - 1],
        application.name(),
        beside(&|round, mpi| round.none[0] / mpi[0]),
        ratio(&|round| round.adaptive[0] / round.none[0]),
        ratio(&|round| round.adaptive[1] / round.none[1]),
        beside(&|round, mpi| round.adaptive[1] / mpi[1]),
        ratio(&|round| (round.none[1] - round.adaptive[1]) / (round.none[1] - round.ideal)),
    )
}
