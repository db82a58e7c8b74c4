//! Local search: whoever makes the slowest host faster, move by move.

use crate::{Bill, Mapping, Scene};

/// Moves and swaps processes of the slowest host as long as one of them makes it faster without making
/// another as slow, and goes back to the best that was met by the scene's objective.
///
/// Of all such moves the one is made whose slower host and migration take least over the horizon; only if
/// there is none, two processes change places.
pub(super) fn search(scene: &Scene, mapping: &mut Mapping<'_>) {
    let mut bill = billed(scene, mapping);
    let objective =
        |mapping: &Mapping<'_>, bill: &Bill<'_>| scene.horizon() * mapping.longest() + bill.total();
    let mut best = objective(mapping, &bill);
    let mut since_best = Vec::new();
    for _ in 0..STEPS_PER_HOST * scene.hosts().len() {
        let slowest = mapping.slowest();
        let before = mapping.longest();
        let Some(step) = best_move(scene, mapping, slowest).or_else(|| best_swap(mapping, slowest))
        else {
            break;
        };
        for (process, host) in step.into_iter().flatten() {
            let from = mapping.places()[process];
            since_best.push((process, from));
            bill.moves(process, from, host);
            mapping.put(process, host);
        }
        let now = objective(mapping, &bill);
        if now < best {
            best = now;
            since_best.clear();
        } else if before < mapping.longest() {
            // What a move does to third Sets was not looked at; it was no good.
            break;
        }
    }
    for (process, host) in since_best.into_iter().rev() {
        mapping.put(process, host);
    }
}

/// One or two processes, each with where it goes.
type Step = [Option<(usize, usize)>; 2];

/// The best move off `slowest`; `None`: none makes it faster.
fn best_move(scene: &Scene, mapping: &Mapping<'_>, slowest: usize) -> Option<Step> {
    let limit = mapping.time(slowest) * NOTICEABLE;
    let mut best = (f64::INFINITY, None);
    for process in mapping.residents(slowest) {
        for host in (0..scene.hosts().len()).filter(|host| *host != slowest) {
            let after = mapping.after_move(*process, host);
            if limit <= after {
                continue;
            }
            let score = scene.horizon() * after + scene.migration(*process, host);
            if score < best.0 {
                best = (score, Some([Some((*process, host)), None]));
            }
        }
    }
    best.1
}

/// The best exchange of a process of `slowest` for a lighter one; `None`: none makes it faster.
fn best_swap(mapping: &Mapping<'_>, slowest: usize) -> Option<Step> {
    let mut best = (mapping.time(slowest) * NOTICEABLE, None);
    for process in mapping.residents(slowest) {
        for (other, host) in mapping.places().iter().enumerate() {
            if *host == slowest || !mapping.is_lighter(other, *process) {
                continue;
            }
            let after = mapping.after_swap(*process, other);
            if after < best.0 {
                best = (
                    after,
                    Some([Some((*process, *host)), Some((other, slowest))]),
                );
            }
        }
    }
    best.1
}

/// The moves to `mapping` from the present placement.
pub(super) fn billed<'a>(scene: &'a Scene, mapping: &Mapping<'_>) -> Bill<'a> {
    let mut bill = Bill::new(scene);
    for (process, host) in mapping.places().iter().enumerate() {
        bill.moves(process, scene.places()[process], *host);
    }
    bill
}

/// Part of the slowest host's time that has to be left for a step to be worth while.
const NOTICEABLE: f64 = 1.0 - 1e-6;

/// Ends what would go on for long; a host seldom takes part in more steps.
const STEPS_PER_HOST: usize = 8;

#[cfg(test)]
mod tests {
    use crate::plan::tests::scene;

    use super::*;

    fn places(scene: &Scene) -> Vec<usize> {
        let mut mapping = Mapping::present(scene);
        search(scene, &mut mapping);
        mapping.places().to_vec()
    }

    #[test]
    fn the_slowest_host_gives_to_the_one_that_ends_first() {
        let scene = scene(&[1.0, 1.0, 2.0], &[(0, 2.0), (0, 2.0), (1, 1.0)]);
        assert_eq!(places(&scene), [2, 0, 1]);
    }

    #[test]
    fn processes_change_places_if_no_move_helps() {
        // 5 + 4 against 2 + 3: moving the 4 makes it 5 against 9; the 4 for the 2 makes it 7 against 7.
        let scene = scene(&[1.0, 1.0], &[(0, 5.0), (0, 4.0), (1, 2.0), (1, 3.0)]);
        let after = places(&scene);
        let superstep = Mapping::new(&scene, &after).superstep();
        assert!((superstep.get() - 7.0).abs() < 1e-9, "{superstep:?}");
    }

    #[test]
    fn what_would_not_pay_is_undone() {
        let mut dear = scene(&[1.0, 1.0], &[(0, 1.0), (0, 1.0)]);
        dear.make_moves_cost(1e6);
        assert_eq!(places(&dear), [0, 0]);
    }
}
