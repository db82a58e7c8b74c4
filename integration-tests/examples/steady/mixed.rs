//! Programs of many shapes on two and three Sets.

use crate::draws::Draws;
use crate::experiment::{Dynamics, Experiment, Link, Placement, Set};
use crate::rings::loads;

/// The experiment `seed` of this kind; with `is_drifting`, some of its processes get slowly heavier.
pub(crate) fn mixed(seed: u64, is_drifting: bool) -> Experiment {
    let mut draws = Draws::new(seed, b"examples::steady::mixed ");
    let sets = sets(&mut draws);
    let links = links(&mut draws, sets.len());
    let per_host = draws.whole(1, 4);
    let is_scattered = draws.chance(50);
    let hosts: u32 = sets.iter().map(|set| set.hosts).sum();
    let room = (hosts * per_host).min(PROCESSES_MAX);
    let (processes, pattern) = pattern(&mut draws, room);
    let slowest = sets.iter().map(|set| set.speed).fold(f64::MAX, f64::min);
    let seconds = draws.log_uniform(0.02, 0.4);
    let instructions = loads(&mut draws, slowest * seconds / f64::from(per_host));
    let (bytes, memory) = (draws.log_uniform(1e3, 1e6), draws.log_uniform(1e3, 64e3));
    let drift = Dynamics::Drift {
        share: draws.uniform(0.1, 0.5),
        factor: draws.uniform(1.5, 3.0),
    };
    let kind = if is_drifting { "mixed-drift" } else { "mixed" };
    Experiment {
        name: format!("{kind}-{seed:03}"),
        sets,
        links,
        processes,
        supersteps: 300,
        instructions,
        bytes,
        memory,
        pattern,
        dynamics: is_drifting.then_some(drift),
        placement: Placement {
            is_scattered,
            per_host,
        },
        load: None,
        scheduler: String::new(),
        seed,
    }
}

fn sets(draws: &mut Draws) -> Vec<Set> {
    let slow = draws.uniform(800.0, 2000.0);
    let count = draws.whole(2, 3);
    (0..count)
        .map(|_| Set {
            hosts: draws.whole(4, 16),
            cores: if draws.chance(70) {
                1
            } else {
                2 * draws.whole(1, 2)
            },
            speed: slow * draws.uniform(1.0, 3.0),
            bandwidth: if draws.chance(50) { 1000.0 } else { 10_000.0 },
            latency: draws.uniform(10.0, 50.0),
        })
        .collect()
}

/// A link between every two Sets, each of its own.
fn links(draws: &mut Draws, sets: usize) -> Vec<Link> {
    let pairs = (0..sets).flat_map(|left| (left + 1..sets).map(move |right| (left, right)));
    pairs
        .map(|between| Link {
            between,
            bandwidth: draws.log_uniform(100.0, 10_000.0),
            latency: draws.log_uniform(100.0, 50_000.0),
        })
        .collect()
}

/// At most `room` processes, and which of them send to each other.
fn pattern(draws: &mut Draws, room: u32) -> (u32, String) {
    let table = |text: String| format!("\n[application.synthetic.pattern]\n{text}\n");
    match draws.whole(0, 6) {
        0 => (room, "shifts = [-1, 1]\nring = true\n".to_owned()),
        1 => (room, "shifts = [-1, 1]\nring = false\n".to_owned()),
        2 => {
            let rows = draws.whole(2, 8).min(room / 2);
            let columns = room / rows;
            let torus = draws.chance(50);
            let text =
                format!("kind = \"grid\"\ndimensions = [{rows}, {columns}]\ntorus = {torus}");
            (rows * columns, table(text))
        }
        3 => {
            let rows = draws.whole(2, 4).min(room / 4);
            let columns = draws.whole(2, 4).min(room / rows / 2);
            let layers = room / rows / columns;
            let text = format!("kind = \"grid\"\ndimensions = [{layers}, {rows}, {columns}]");
            (rows * columns * layers, table(text))
        }
        4 => {
            let size = draws.whole(3, 8);
            (room, table(format!("kind = \"groups\"\nsize = {size}")))
        }
        5 => {
            let arity = draws.whole(2, 4);
            (room, table(format!("kind = \"tree\"\narity = {arity}")))
        }
        _ => {
            let (links, seed) = (draws.whole(1, 3), draws.whole(1, 1000));
            let text = format!("kind = \"random\"\nlinks = {links}\nseed = {seed}");
            (room, table(text))
        }
    }
}

/// Most processes of an experiment: more would take long to simulate.
const PROCESSES_MAX: u32 = 96;
