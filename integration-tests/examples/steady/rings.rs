//! The first experiment of a newcomer: a steady ring on two clusters with a slow link between them.

use crate::draws::Draws;
use crate::experiment::{Experiment, Link, Placement, Set};

/// The experiment `seed` of this kind.
pub(crate) fn rings(seed: u64) -> Experiment {
    let mut draws = Draws::new(seed, b"examples::steady::rings ");
    let slow = draws.uniform(1000.0, 2000.0);
    let fast = slow * draws.uniform(1.0, 3.0);
    let speeds = if draws.chance(50) {
        [slow, fast]
    } else {
        [fast, slow]
    };
    let sets: Vec<Set> = speeds
        .into_iter()
        .map(|speed| Set {
            hosts: draws.whole(8, 24),
            cores: 1,
            speed,
            bandwidth: if draws.chance(50) { 1000.0 } else { 10_000.0 },
            latency: draws.uniform(10.0, 50.0),
        })
        .collect();
    let links = vec![Link {
        between: (0, 1),
        bandwidth: draws.log_uniform(100.0, 10_000.0),
        latency: draws.log_uniform(200.0, 15_000.0),
    }];
    let per_host = draws.whole(1, 2);
    let hosts: u32 = sets.iter().map(|set| set.hosts).sum();
    // What all processes of a slow host compute takes this long, in seconds.
    let seconds = draws.log_uniform(0.05, 0.4);
    let heaviest = slow * seconds / f64::from(per_host);
    let instructions = loads(&mut draws, heaviest);
    let shifts = if draws.chance(50) { "1" } else { "-1, 1" };
    let ring = draws.chance(50);
    Experiment {
        name: format!("rings-{seed:03}"),
        sets,
        links,
        processes: hosts * per_host,
        supersteps: 300,
        instructions,
        bytes: draws.log_uniform(1e3, 1e6),
        memory: draws.log_uniform(1e3, 64e3),
        pattern: format!("shifts = [{shifts}]\nring = {ring}\n"),
        dynamics: None,
        placement: Placement {
            is_scattered: false,
            per_host,
        },
        load: None,
        scheduler: String::new(),
        seed,
    }
}

/// One to four loads, the first of which is `heaviest`.
pub(crate) fn loads(draws: &mut Draws, heaviest: f64) -> Vec<f64> {
    let others = draws.whole(0, 3);
    let mut loads = vec![heaviest];
    loads.extend((0..others).map(|_| heaviest * draws.uniform(0.3, 1.0)));
    loads
}
