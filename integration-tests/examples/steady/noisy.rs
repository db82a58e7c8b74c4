//! A steady program on a few hosts that other programs disturb: equal or unequal hosts, and noise of several kinds.

use crate::draws::Draws;
use crate::experiment::{Dynamics, Experiment, Link, Placement, Set, Trace};
use crate::rings::loads;

/// The experiment `seed` of this kind, whose name says which noise it has and whether its hosts are equal.
///
/// Where hosts are equal, so are processes: nothing can be won there. In half of all experiments a call takes longer than a
/// superstep, and in a third the price of moves is wrong.
pub(crate) fn noisy(seed: u64) -> Experiment {
    let mut draws = Draws::new(seed, b"examples::steady::noisy ");
    let is_equal = draws.chance(40);
    let (sets, links) = cluster(&mut draws, is_equal);
    let (fast, slow) = (sets[0].speed, sets.last().map_or(0.0, |set| set.speed));
    let hosts: u32 = sets.iter().map(|set| set.hosts).sum();
    let per_host = draws.whole(2, 4);
    // What all processes of a fast host compute takes this long, in seconds.
    let seconds = draws.log_uniform(0.01, 0.2);
    let heaviest = fast * seconds / f64::from(per_host);
    let instructions = if is_equal {
        vec![heaviest]
    } else {
        loads(&mut draws, heaviest)
    };
    let superstep = seconds * fast / slow;
    let (kind, dynamics, load) = noise(&mut draws, superstep, hosts);
    let scheduler = scheduler(&mut draws, superstep);
    let hosts_are = if is_equal { "equal" } else { "unequal" };
    Experiment {
        name: format!("noisy-{kind}-{hosts_are}-{seed:03}"),
        sets,
        links,
        processes: hosts * per_host,
        supersteps: 400,
        instructions,
        bytes: draws.log_uniform(1e3, 1e5),
        memory: draws.log_uniform(100.0, 16e3),
        pattern: "shifts = [-1, 1]\nring = true\n".to_owned(),
        dynamics,
        placement: Placement {
            is_scattered: false,
            per_host,
        },
        load,
        scheduler,
        seed,
    }
}

/// Four to eight hosts, one or two of which are slower unless all are equal.
fn cluster(draws: &mut Draws, is_equal: bool) -> (Vec<Set>, Vec<Link>) {
    let (hosts, slower) = (draws.whole(4, 8), draws.whole(1, 2));
    let speed = draws.uniform(1000.0, 3000.0);
    let factor = draws.uniform(0.3, 0.8);
    let set = |hosts, speed| Set {
        hosts,
        cores: 1,
        speed,
        bandwidth: 10_000.0,
        latency: 20.0,
    };
    if is_equal {
        return (vec![set(hosts, speed)], Vec::new());
    }
    let link = Link {
        between: (0, 1),
        bandwidth: 10_000.0,
        latency: 20.0,
    };
    let sets = vec![set(hosts - slower, speed), set(slower, speed * factor)];
    (sets, vec![link])
}

/// The noise of one experiment, of which supersteps take some `superstep` seconds on `hosts` hosts, and its name.
fn noise(
    draws: &mut Draws,
    superstep: f64,
    hosts: u32,
) -> (&'static str, Option<Dynamics>, Option<Trace>) {
    let jitter = Dynamics::Noise {
        jitter: draws.uniform(0.1, 0.6),
    };
    let deviation = draws.log_uniform(0.05, 0.6);
    let part = draws.uniform(0.05, 0.3);
    let duration = draws.log_uniform(2.0, 40.0);
    let steps = 600;
    let slices = |draws: &mut Draws| Trace {
        step: superstep,
        taken: (0..hosts)
            .map(|_| (0..steps).map(|_| taken(draws, deviation)).collect())
            .collect(),
    };
    let bursts = |draws: &mut Draws| Trace {
        step: superstep,
        taken: (0..hosts)
            .map(|_| burst(draws, part, duration, steps))
            .collect(),
    };
    match draws.whole(0, 3) {
        0 => ("jitter", Some(jitter), None),
        1 => ("slices", None, Some(slices(draws))),
        2 => ("bursts", None, Some(bursts(draws))),
        _ => ("all", Some(jitter), Some(slices(draws))),
    }
}

/// What other programs take of a host in one step, if computations last longer by a factor whose logarithm has this
/// standard deviation.
fn taken(draws: &mut Draws, deviation: f64) -> f64 {
    // The sum of twelve uniform numbers is nearly normal.
    let normal: f64 = (0..12).map(|_| draws.uniform(0.0, 1.0)).sum::<f64>() - 6.0;
    1.0 - libm::exp(-deviation * normal.abs())
}

/// A half of a host in bursts that take `part` of the time and last for `duration` steps in the mean, and else nothing.
fn burst(draws: &mut Draws, part: f64, duration: f64, steps: usize) -> Vec<f64> {
    let ends = 1.0 / duration;
    let begins = ends * part / (1.0 - part);
    let mut is_busy = false;
    let step = |_| {
        let changes = if is_busy { ends } else { begins };
        is_busy ^= draws.uniform(0.0, 1.0) < changes;
        if is_busy { 0.5 } else { 0.0 }
    };
    (0..steps).map(step).collect()
}

/// What calls cost, and what moves are thought to cost.
fn scheduler(draws: &mut Draws, superstep: f64) -> String {
    let window = superstep * draws.uniform(1.2, 5.0);
    let overlap = draws.log_uniform(0.2, 20.0);
    let mut text = String::new();
    if draws.chance(50) {
        text += &format!("window = {window:.4}\n");
    }
    if draws.chance(33) {
        text += &format!("\n[scheduler.migration]\noverlap = {overlap:.2}\n");
    }
    text
}
