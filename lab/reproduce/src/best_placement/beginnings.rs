//! Placements at which the search begins.

use bsp::HostId;
use simulator::Platform;

use crate::best_placement::graph::Graph;

/// Where processes start, where a policy has placed them, and for every sequence of Sets the processes in several
/// orders, cut into a block for each Set in proportion to its speed.
///
/// `start` is the placement of the experiment. Each placement occurs once.
pub(super) fn beginnings(graph: &Graph, start: &[HostId], platform: &Platform) -> Vec<Vec<HostId>> {
    let by_rank: Vec<usize> = (0..graph.work.len()).collect();
    let near = graph.breadth_first(0);
    let farthest = near.last().copied().unwrap_or(0);
    let orders = [by_rank, graph.breadth_first(farthest), near];
    let mut placements = vec![start.to_vec(), graph.final_placement.clone()];
    for sets in sequences(platform.sets().len()) {
        for order in &orders {
            placements.push(in_blocks(graph, order, &sets, platform));
        }
    }
    let mut distinct: Vec<Vec<HostId>> = Vec::new();
    for placement in placements {
        if !distinct.contains(&placement) {
            distinct.push(placement);
        }
    }
    distinct
}

/// Every choice of Sets in every order; with many Sets, each alone and all of them.
fn sequences(sets: usize) -> Vec<Vec<usize>> {
    if SETS_MAX < sets {
        let mut all: Vec<Vec<usize>> = (0..sets).map(|set| vec![set]).collect();
        all.push((0..sets).collect());
        return all;
    }
    let mut all: Vec<Vec<usize>> = Vec::new();
    let mut longest: Vec<Vec<usize>> = vec![Vec::new()];
    for _ in 0..sets {
        let longer = longest.iter().flat_map(|sequence| {
            let others = (0..sets).filter(|set| !sequence.contains(set));
            others.map(|set| [sequence.as_slice(), &[set]].concat())
        });
        longest = longer.collect();
        all.extend(longest.iter().cloned());
    }
    all
}

/// The processes in this `order`, cut into a block for each of `sets`, and each block on the hosts of its Set.
fn in_blocks(graph: &Graph, order: &[usize], sets: &[usize], platform: &Platform) -> Vec<HostId> {
    let speed = |set: usize| -> f64 {
        let hosts = platform.sets()[set].hosts.iter();
        hosts.map(|host| speed_of(platform, *host)).sum()
    };
    let speed_of_all: f64 = sets.iter().map(|set| speed(*set)).sum();
    let work_of_all: f64 = graph.work.iter().sum();
    let mut placement = vec![HostId::from_index(0); order.len()];
    let (mut next, mut end, mut done) = (0, 0.0, 0.0);
    for (place, &set) in sets.iter().enumerate() {
        end += work_of_all * speed(set) / speed_of_all;
        let first = next;
        while next < order.len() && (place + 1 == sets.len() || done < end) {
            done += graph.work[order[next]];
            next += 1;
        }
        let hosts = &platform.sets()[set].hosts;
        heaviest_first(graph, &order[first..next], hosts, platform, &mut placement);
    }
    placement
}

/// Puts `block` on `hosts`, the heaviest process first, each where it ends earliest.
fn heaviest_first(
    graph: &Graph,
    block: &[usize],
    hosts: &[HostId],
    platform: &Platform,
    placement: &mut [HostId],
) {
    let mut block = block.to_vec();
    block.sort_by(|a, b| graph.work[*b].total_cmp(&graph.work[*a]).then(a.cmp(b)));
    let mut work = vec![0.0; hosts.len()];
    for process in block {
        let time = |host: usize| {
            let with = work[host] + graph.work[process];
            with / speed_of(platform, hosts[host])
        };
        let best = (0..hosts.len()).min_by(|a, b| time(*a).total_cmp(&time(*b)));
        if let Some(best) = best {
            work[best] += graph.work[process];
            placement[process] = hosts[best];
        }
    }
}

/// Speed of all cores of a host.
fn speed_of(platform: &Platform, host: HostId) -> f64 {
    let host = platform.host(host);
    host.speed.get() * f64::from(host.cores)
}

/// Most Sets of which all sequences are tried: 64 sequences.
const SETS_MAX: usize = 4;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sequences_are_all_choices_of_sets_in_all_orders() {
        assert_eq!(sequences(2), [vec![0], vec![1], vec![0, 1], vec![1, 0]]);
        assert_eq!(sequences(4).len(), 64);
        assert_eq!(sequences(5).len(), 6);
    }
}
