//! A list of processes by what they would win, and as many of them as is best.

use crate::plan::greedy_refine::heaviest_first;
use crate::{Alternative, Draft, Mapping, Plan, Scene};

/// Moves the first so many of a list of potentials, how many a prediction says.
///
/// In the manner of `AutoMig` and `MigPF`, which go on from MigBSP: imbalance is that of processors and not
/// of processes, several plans are thought of, each one move longer than the one before, and the one is
/// taken whose supersteps and moves are predicted to take least over the horizon. A process's potential is
/// what its host takes, less what the host takes that would end first with it, less its migration over the
/// horizon. A reading of what is published about them, equation `LIST` of `docs/model.md`.
#[derive(Clone, Copy, Debug, Default)]
pub struct List;

impl Plan for List {
    fn draft(&mut self, scene: &Scene) -> Draft {
        let mut mapping = Mapping::present(scene);
        let mut best = (scene.objective(&mapping), mapping.places().to_vec());
        let mut alternatives = Vec::new();
        for process in by_potential(scene, &mapping) {
            let present = mapping.places()[process];
            let host = ends_first(scene, &mapping, process);
            if host == present {
                continue;
            }
            mapping.put(process, host);
            let objective = scene.objective(&mapping);
            if objective < best.0 {
                best = (objective, mapping.places().to_vec());
                alternatives.push(Alternative::new("list", scene, mapping.places()));
            }
        }
        let first = alternatives.len().saturating_sub(SHOWN);
        Draft {
            places: best.1,
            alternatives: alternatives.split_off(first),
        }
    }
}

/// Processes with a positive potential, the highest first, then the heaviest.
fn by_potential(scene: &Scene, mapping: &Mapping<'_>) -> Vec<usize> {
    let potential = |process: usize| {
        let present = mapping.places()[process];
        let host = ends_first(scene, mapping, process);
        let gain = mapping.time(present) - mapping.after_move(process, host);
        gain - scene.migration(process, host) / scene.horizon().max(1.0)
    };
    let heaviest = heaviest_first(scene).into_iter();
    let mut list: Vec<(f64, usize)> = heaviest
        .map(|process| (potential(process), process))
        .filter(|(potential, _)| 0.0 < *potential)
        .collect();
    // A stable sort: the heaviest first among equals.
    list.sort_by(|one, other| other.0.total_cmp(&one.0));
    list.into_iter().map(|(_, process)| process).collect()
}

/// The host that would end first with `process`; where it is if that is no later.
fn ends_first(scene: &Scene, mapping: &Mapping<'_>, process: usize) -> usize {
    let present = mapping.places()[process];
    let mut best = (mapping.time(present), present);
    for host in (0..scene.hosts().len()).filter(|host| *host != present) {
        let time = mapping.after_move(process, host);
        if time < best.0 {
            best = (time, host);
        }
    }
    best.1
}

/// How many of the plans that were each better than those before are shown.
const SHOWN: usize = 8;

#[cfg(test)]
mod tests {
    use crate::plan::tests::{check, check_objective, scene};

    use super::*;

    #[test]
    fn as_many_move_as_pay() {
        // Four of one second each on the first of two hosts: two go, the third would only change sides.
        let scene = scene(&[1.0, 1.0], &[(0, 1.0); 4]);
        let draft = List.draft(&scene);
        assert_eq!(draft.places.iter().filter(|host| **host == 1).count(), 2);
    }

    #[test]
    fn every_process_is_kept_once() {
        check(|| Box::new(List));
    }

    #[test]
    fn no_plan_is_worse_than_none() {
        check_objective(|| Box::new(List));
    }
}
