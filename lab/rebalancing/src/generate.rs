//! Instances like those of the paper, some with other sizes of processes, and some whose processes exchange bytes.

use std::str::FromStr;

use rebalancing_algorithms::{Exchanging, Group, Workloads};

use crate::instance::Instance;

/// A group of instances.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GroupName {
    /// Of the paper, or with other sizes.
    Group(Group),
    /// With processes that exchange bytes.
    Exchanging(Exchanging),
}

impl FromStr for GroupName {
    type Err = String;

    /// Reads `I3,5`; a point or a dash instead of the comma is unambiguous.
    fn from_str(text: &str) -> Result<Self, String> {
        let name = text.trim().to_uppercase().replace(['.', '-', '_'], ",");
        let group = name.parse().map(Self::Group);
        group
            .or_else(|_| name.parse().map(Self::Exchanging))
            .map_err(|_| {
                format!("unknown group `{text}`, must be from I1,1 to I4,5, from S1,1 to S8,5 or from X1,1 to X2,3")
            })
    }
}

/// The instance of `group` that `seed` draws, with `targets` that are to be met; if there are none, some within reach.
pub fn generate(group: GroupName, seed: u64, workloads: Workloads, targets: Vec<f64>) -> Instance {
    let (name, problem, usual) = match group {
        GroupName::Group(group) => {
            let how = match workloads {
                Workloads::Literal => " literal",
                Workloads::Swapped => "",
            };
            let problem = group.draw_with(seed, workloads);
            (format!("{group}{how}"), problem, vec![76.0, 80.0, 90.0])
        }
        GroupName::Exchanging(group) => {
            let problem = group.draw(seed);
            let initial = problem.level(&problem.initial_assignment());
            let usual = [0.8, 0.85, 0.9].map(|factor| (factor * initial).round());
            (group.to_string(), problem, usual.to_vec())
        }
    };
    let targets = if targets.is_empty() { usual } else { targets };
    Instance::drawn(format!("{name}, seed {seed}"), &problem, targets)
}
