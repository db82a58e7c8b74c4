//! Several plans, and the best of them.

use crate::plan::draft::{Alternative, Draft, Plan};
use crate::plan::greedy_refine::{GreedyRefine, greedy};
use crate::plan::partition::partitions;
use crate::plan::search::search;
use crate::plan::trim::trim;
use crate::rule::Rule;
use crate::{Assignment, Snapshot};

/// Makes several plans, drops the moves that do not pay, and proposes the plan whose supersteps and moves take least
/// over the horizon, of nearly equal ones the one with fewest moves; the present placement is always one of them.
///
/// Moves are dropped from the plans with the shortest supersteps first, and from none that would be no better without
/// any cost.
///
/// [`GreedyRefine`], a greedy assignment from scratch, the graph divided among Sets, and local search from the present
/// placement and from the best of all others.
#[derive(Clone, Copy, Debug, Default)]
pub struct Portfolio;

/// The best plan so far.
struct Best {
    /// The least objective so far.
    objective: f64,
    /// How many processes the plan moves.
    moves: u32,
    places: Vec<usize>,
    alternatives: Vec<Alternative>,
    /// Every plan with its objective.
    seeds: Vec<(f64, Vec<usize>)>,
    /// How many messages may still be looked at to drop moves.
    messages: usize,
}

impl Plan for Portfolio {
    fn draft(&mut self, snapshot: &Snapshot) -> Draft {
        let mut best = Best {
            objective: Assignment::present(snapshot).objective(),
            moves: 0,
            places: snapshot.places().to_vec(),
            alternatives: Vec::new(),
            seeds: Vec::new(),
            messages: MESSAGES_MAX,
        };
        let plans = plans(snapshot).into_iter();
        let assign =
            |(name, places): (&'static str, Vec<usize>)| (name, Assignment::new(snapshot, &places));
        let mut plans: Vec<(&str, Assignment<'_>)> = plans.map(assign).collect();
        plans.sort_by(|one, other| one.1.longest().total_cmp(&other.1.longest()));
        let shortest = plans.first();
        let shortest = shortest.map(|(name, assignment)| Alternative::new(name, assignment));
        for (name, assignment) in plans {
            best.consider(name, snapshot, assignment);
        }
        best.search(snapshot);
        Draft {
            places: best.places,
            alternatives: best.alternatives,
            choice: None,
            shortest,
        }
    }
}

/// All plans from which searches may begin, none twice.
fn plans(snapshot: &Snapshot) -> Vec<(&'static str, Vec<usize>)> {
    let greedy = greedy(snapshot);
    let refined = GreedyRefine::new(TOLERANCE).refine(&greedy, snapshot);
    let greedy = [
        ("greedy-refine", refined),
        ("greedy", greedy.places().to_vec()),
    ];
    let mut plans: Vec<(&'static str, Vec<usize>)> = Vec::new();
    for (name, places) in greedy.into_iter().chain(partitions(snapshot)) {
        if plans.iter().all(|(_, other)| *other != places) {
            plans.push((name, places));
        }
    }
    plans
}

impl Best {
    fn consider(&mut self, name: &str, snapshot: &Snapshot, mut assignment: Assignment<'_>) {
        // Even without any cost it would be no better than the best one.
        let is_hopeless = self.objective <= snapshot.horizon() * assignment.longest();
        // A move changes the messages of all processes of two hosts.
        let of_host = snapshot.graph().messages() / snapshot.hosts().len().max(1);
        let messages = assignment.moved().count() * (1 + of_host);
        if !is_hopeless && messages <= self.messages {
            self.messages -= messages;
            trim(snapshot, &mut assignment);
        }
        let alternative = Alternative::new(name, &assignment);
        let objective = snapshot.horizon() * alternative.superstep.get() + alternative.cost.get();
        self.seeds.push((objective, assignment.places().to_vec()));
        let is_better = objective < self.objective * (1.0 - EQUAL);
        let is_simpler =
            objective <= self.objective * (1.0 + EQUAL) && alternative.moves < self.moves;
        if is_better || is_simpler {
            self.objective = self.objective.min(objective);
            self.moves = alternative.moves;
            self.places = assignment.places().to_vec();
        }
        self.alternatives.push(alternative);
    }

    /// Searches from the present placement, and from the best plans.
    fn search(&mut self, snapshot: &Snapshot) {
        let mut seeds = std::mem::take(&mut self.seeds);
        seeds.sort_by(|one, other| one.0.total_cmp(&other.0));
        let mut searched = vec![snapshot.places().to_vec()];
        for (_, places) in seeds {
            if searched.len() <= SEARCHED && !searched.contains(&places) {
                searched.push(places);
            }
        }
        for places in searched {
            let mut assignment = Assignment::new(snapshot, &places);
            search(snapshot, &mut assignment);
            self.consider("search", snapshot, assignment);
        }
    }
}

/// Part by which objectives may differ that count as equal; then the plan with fewer moves is the better one.
const EQUAL: f64 = 1e-3;

/// How many plans a search begins from, in addition to the present placement.
const SEARCHED: usize = 3;

/// Messages that are looked at to drop moves from all plans.
const MESSAGES_MAX: usize = 1_000_000;

/// `portfolio`.
pub(crate) const RULE: Rule<dyn Plan> = Rule::new(
    "portfolio",
    "makes several plans and takes the best, the present placement included",
    |_| Box::new(Portfolio),
);

/// Tolerance of [`GreedyRefine`].
const TOLERANCE: f64 = 1.03;

#[cfg(test)]
mod tests {
    use crate::plan::tests::{check, check_objective, snapshot};

    use super::*;

    #[test]
    fn processes_on_one_host_are_spread_over_all_hosts_by_speed() {
        let snapshot = snapshot(&[1.0, 1.0, 2.0], &[(0, 1.0); 8]);
        let draft = Portfolio.draft(&snapshot);
        let on = |host: usize| draft.places.iter().filter(|place| **place == host).count();
        assert_eq!([on(0), on(1), on(2)], [2, 2, 4]);
    }

    #[test]
    fn no_process_moves_if_moves_cost_more_than_they_gain() {
        let mut expensive = snapshot(&[1.0, 1.0], &[(0, 1.0), (0, 1.0)]);
        expensive.make_moves_cost(1e6);
        assert_eq!(Portfolio.draft(&expensive).places, [0, 0]);
    }

    #[test]
    fn every_process_is_kept_once() {
        check(|| Box::new(Portfolio));
    }

    #[test]
    fn no_plan_is_worse_than_none() {
        check_objective(|| Box::new(Portfolio));
    }
}
