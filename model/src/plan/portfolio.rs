//! Several plans, and the best of them; local search, and dropping of moves that do not pay.

use super::bound::least_superstep;
use super::greedy_refine::{GreedyRefine, greedy};
use super::partition::partitions;
use super::{Alternative, Draft, Plan};
use crate::rule::Rule;
use crate::{Assignment, MigrationSchedule, Snapshot};

/// Makes several plans, drops the moves that do not pay, and proposes the plan whose supersteps and moves take least
/// over the horizon, of nearly equal ones the one with fewest moves; the present placement is always one of them.
///
/// Moves are dropped from the plans with the shortest supersteps first, and from none that would be no better without
/// any cost.
///
/// [`GreedyRefine`], a greedy assignment from scratch, the graph divided among Sets, and local search from the present
/// placement and from the best of all others. The graph is not divided among Sets on which no placement would be better
/// than the present one.
///
/// Nothing is searched for if no placement would make supersteps noticeably shorter than the present one
/// ([`Snapshot::least_gain`]): no superstep is shorter than equation `BOUND` of `docs/model.md` says, so none that could be found
/// would gain more, and one that gains no more is never carried out.
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

/// A plan that may be looked at again.
struct Drafted {
    longest: f64,
    alternative: Alternative,
    places: Vec<usize>,
}

impl Drafted {
    fn new(name: &str, assignment: &Assignment<'_>) -> Self {
        Self {
            longest: assignment.longest(),
            alternative: Alternative::new(name, assignment),
            places: assignment.places().to_vec(),
        }
    }
}

impl Plan for Portfolio {
    fn draft(&mut self, snapshot: &Snapshot) -> Draft {
        let present = Assignment::present(snapshot);
        if may_gain(snapshot, present.longest()) {
            return Self::search(snapshot, present);
        }
        Draft {
            places: snapshot.places().to_vec(),
            alternatives: Vec::new(),
            choice: None,
            shortest: None,
        }
    }
}

impl Portfolio {
    /// The best plan, searched for although there may be none.
    pub(crate) fn search<'a>(snapshot: &'a Snapshot, present: Assignment<'a>) -> Draft {
        let mut best = Best {
            objective: present.objective(),
            moves: 0,
            places: snapshot.places().to_vec(),
            alternatives: Vec::new(),
            seeds: Vec::new(),
            messages: MESSAGES_MAX,
        };
        let plans = plans(snapshot, present.longest()).into_iter();
        let uninterrupted = present.longest() - present.interrupted();
        drop(present);
        // One after the other: they take more memory than the places.
        let drafted =
            plans.map(|(name, places)| Drafted::new(name, &Assignment::new(snapshot, &places)));
        let mut drafted: Vec<Drafted> = drafted.collect();
        drafted.sort_by(|one, other| one.longest.total_cmp(&other.longest));
        let shortest = drafted.first().map(|plan| plan.alternative.clone());
        for plan in drafted {
            let places = plan.places.clone();
            best.consider(snapshot, plan, || Assignment::new(snapshot, &places));
        }
        if best.moves == 0 {
            best.consider_parts(snapshot, uninterrupted);
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

/// Whether some plan may be chosen and carried out where supersteps take `present` seconds.
fn may_gain(snapshot: &Snapshot, present: f64) -> bool {
    let least = snapshot.least_gain().max(EQUAL * present);
    least < present - least_superstep(snapshot, |_| true)
}

/// All plans from which searches may begin where supersteps take `present` seconds, none twice.
fn plans(snapshot: &Snapshot, present: f64) -> Vec<(&'static str, Vec<usize>)> {
    let greedy = greedy(snapshot);
    let refined = GreedyRefine::new(TOLERANCE).refine(&greedy, snapshot);
    let greedy = [("greedy-refine", refined), ("greedy", greedy.into_places())];
    let mut plans: Vec<(&'static str, Vec<usize>)> = Vec::new();
    for (name, places) in greedy.into_iter().chain(partitions(snapshot, present)) {
        if plans.iter().all(|(_, other)| *other != places) {
            plans.push((name, places));
        }
    }
    plans
}

impl Best {
    /// Drops the moves of `plan`, which is the `assignment`, that do not pay, and takes it if it is the best one.
    fn consider<'a>(
        &mut self,
        snapshot: &'a Snapshot,
        mut plan: Drafted,
        assignment: impl FnOnce() -> Assignment<'a>,
    ) {
        // Even without any cost it would be no better than the best one.
        let is_hopeless = self.objective <= snapshot.horizon() * plan.longest;
        // A move changes the messages of all processes of two hosts.
        let of_host = snapshot.graph().messages() / snapshot.hosts().len().max(1);
        let moves = usize::try_from(plan.alternative.moves).unwrap_or(usize::MAX);
        let messages = moves.saturating_mul(1 + of_host);
        if 0 < moves && !is_hopeless && messages <= self.messages {
            self.messages -= messages;
            let mut assignment = assignment();
            trim(snapshot, &mut assignment);
            plan.alternative = Alternative::new(&plan.alternative.name, &assignment);
            plan.places = assignment.places().to_vec();
        }
        let Drafted {
            alternative,
            places,
            ..
        } = plan;
        let objective = snapshot.horizon() * alternative.superstep.get() + alternative.cost.get();
        let is_better = objective < self.objective * (1.0 - EQUAL);
        let is_simpler =
            objective <= self.objective * (1.0 + EQUAL) && alternative.moves < self.moves;
        if is_better || is_simpler {
            self.objective = self.objective.min(objective);
            self.moves = alternative.moves;
            self.places.clone_from(&places);
        }
        self.seeds.push((objective, places));
        self.alternatives.push(alternative);
    }

    /// Considers plans that relieve the slowest hosts alone: where moves share a link, what all of them cost may be more than
    /// they gain, and the gain of the first ones more than what these cost. Their supersteps lie at equal ratios between that of
    /// the greedy assignment and the present one, which takes `present` seconds without interruptions.
    fn consider_parts(&mut self, snapshot: &Snapshot, present: f64) {
        let greedy = greedy(snapshot);
        let ratio = present / greedy.uninterrupted();
        let step = libm::pow(ratio, 1.0 / f64::from(PARTS));
        if !(TOLERANCE..f64::INFINITY).contains(&step) {
            return;
        }
        let mut tolerance = 1.0;
        for _ in 1..PARTS {
            tolerance *= step;
            let places = GreedyRefine::new(tolerance).refine(&greedy, snapshot);
            let part = Assignment::new(snapshot, &places);
            self.consider(snapshot, Drafted::new("greedy-refine", &part), || part);
        }
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
            let plan = Drafted::new("search", &assignment);
            self.consider(snapshot, plan, || assignment);
        }
    }
}

/// Part by which objectives may differ that count as equal; then the plan with fewer moves is the better one.
pub(super) const EQUAL: f64 = 1e-3;

/// How many plans a search begins from, in addition to the present placement.
const SEARCHED: usize = 3;

/// Messages that are looked at to drop moves from all plans.
const MESSAGES_MAX: usize = 1_000_000;

/// `portfolio`.
pub(crate) const PORTFOLIO: Rule<dyn Plan> = Rule::new(
    "portfolio",
    "makes several plans and takes the best, the present placement included",
    |_| Box::new(Portfolio),
);

/// Tolerance of [`GreedyRefine`].
const TOLERANCE: f64 = 1.03;

/// How many steps plans that relieve the slowest hosts alone have from the shortest superstep to the present one.
const PARTS: u32 = 8;

/// Moves and swaps processes as long as a step makes the slowest host, or the slowest link between Sets, faster without
/// making another as slow, and returns to the best assignment found by the snapshot's objective.
///
/// Candidates are the processes of the slowest host and those that they send to, or the processes whose messages cross
/// the slowest link; they go to the hosts of those that they exchange messages with, and to the hosts of each Set that
/// have least to do. Of all such moves the one is made whose slowest host and migration take least over the horizon; two
/// processes are swapped only if there is no such move.
pub(super) fn search(snapshot: &Snapshot, assignment: &mut Assignment<'_>) {
    let mut schedule = MigrationSchedule::new(snapshot, assignment.places());
    let objective = |assignment: &Assignment<'_>, schedule: &MigrationSchedule<'_>| {
        snapshot.horizon() * assignment.longest() + schedule.total()
    };
    let mut best = objective(assignment, &schedule);
    let mut since_best = Vec::new();
    let mut without_gain = 0;
    let mut evaluated = 0;
    for _ in 0..STEPS_PER_HOST * snapshot.hosts().len() {
        let before = assignment.longest();
        let critical = Critical::new(snapshot, assignment);
        let step = critical.best_move(snapshot, assignment, &mut evaluated);
        let step = step.or_else(|| critical.best_swap(snapshot, assignment, &mut evaluated));
        let step = step.or_else(|| critical.shelter(snapshot, assignment, &mut evaluated));
        let Some(step) = step else {
            break;
        };
        for (process, host) in step.into_iter().flatten() {
            let from = assignment.places()[process];
            since_best.push((process, from));
            schedule.redirect(process, from, host);
            assignment.put(process, host);
        }
        let now = objective(assignment, &schedule);
        without_gain += 1;
        if now < best {
            best = now;
            since_best.clear();
            without_gain = 0;
        }
        let is_worse = before < assignment.longest();
        if is_worse || WITHOUT_GAIN_MAX < without_gain || EVALUATED_MAX < evaluated {
            break;
        }
    }
    for (process, host) in since_best.into_iter().rev() {
        assignment.put(process, host);
    }
}

/// One or two processes, each with its new host.
type Step = [Option<(usize, usize)>; 2];

/// What makes supersteps long.
struct Critical {
    /// Seconds.
    time: f64,
    /// The processes whose moves may help.
    processes: Vec<usize>,
    /// The hosts of each Set that have least to do.
    idlest: Vec<usize>,
}

impl Critical {
    fn new(snapshot: &Snapshot, assignment: &Assignment<'_>) -> Self {
        let graph = snapshot.graph();
        let places = assignment.places();
        let set = |process: usize| snapshot.hosts()[places[process]].set;
        let slowest = assignment.slowest();
        let mut processes = Vec::new();
        let mut time = assignment.time(slowest);
        if let Some((link, busy)) = assignment.slowest_link() {
            time = busy;
            for process in (0..places.len()).filter(|process| set(*process) == link.0) {
                let crossing = graph.outgoing(process).iter();
                let crossing = crossing.filter(|message| set(message.other) == link.1);
                for message in crossing {
                    processes.extend([process, message.other]);
                }
                if CROSSING_MAX < processes.len() {
                    break;
                }
            }
        } else {
            let residents = assignment.residents(slowest);
            processes.extend(residents);
            for resident in residents {
                let receivers = graph
                    .outgoing(*resident)
                    .iter()
                    .map(|message| message.other);
                processes.extend(receivers.filter(|other| places[*other] != slowest));
            }
        }
        processes.sort_unstable();
        processes.dedup();
        Self {
            time,
            processes,
            idlest: idlest(snapshot, assignment),
        }
    }

    /// The hosts that `process` may go to.
    fn targets(
        &self,
        snapshot: &Snapshot,
        assignment: &Assignment<'_>,
        process: usize,
    ) -> Vec<usize> {
        let places = assignment.places();
        let neighbours = snapshot.graph().neighbours(process);
        let near = neighbours.map(|message| places[message.other]);
        let present = snapshot.places()[process];
        let mut targets: Vec<usize> = near
            .chain(self.idlest.iter().copied())
            .chain([present])
            .collect();
        targets.sort_unstable();
        targets.dedup();
        targets.retain(|host| *host != places[process]);
        targets
    }

    /// The best move; `None`: none helps.
    fn best_move(
        &self,
        snapshot: &Snapshot,
        assignment: &Assignment<'_>,
        evaluated: &mut usize,
    ) -> Option<Step> {
        let limit = self.time * NOTICEABLE;
        let mut best = (f64::INFINITY, None);
        for process in &self.processes {
            if EVALUATED_MAX < *evaluated {
                break;
            }
            for host in self.targets(snapshot, assignment, *process) {
                *evaluated += 1;
                let cost = snapshot.migration(*process, host);
                let longer = assignment.interruption_after_move(*process, host);
                let score = |after: f64| snapshot.horizon() * (after + longer) + cost;
                let is_too_long = |after: f64| {
                    limit <= after || limit <= after + longer || best.0 <= score(after)
                };
                // What the work of both hosts says is often enough.
                if is_too_long(assignment.least_after_move(*process, host)) {
                    continue;
                }
                let after = assignment.after_move_unless(*process, host, is_too_long);
                if !is_too_long(after) {
                    best = (score(after), Some([Some((*process, host)), None]));
                }
            }
        }
        best.1
    }

    /// The best move away from a host that its owner interrupts, even if it makes the slowest host slower; `None`: none
    /// pays.
    fn shelter(
        &self,
        snapshot: &Snapshot,
        assignment: &Assignment<'_>,
        evaluated: &mut usize,
    ) -> Option<Step> {
        let mut best = (0.0, None);
        for host in assignment.most_interrupted(INTERRUPTED_MAX) {
            for process in assignment.residents(host) {
                if EVALUATED_MAX < *evaluated {
                    return best.1;
                }
                let moved = snapshot.migration(*process, host);
                for target in self.targets(snapshot, assignment, *process) {
                    let longer = assignment.interruption_after_move(*process, target);
                    let cost = snapshot.migration(*process, target) - moved;
                    let score = snapshot.horizon() * longer + cost;
                    if best.0 <= score {
                        continue;
                    }
                    *evaluated += 1;
                    let slower = assignment.after_move(*process, target) - self.time;
                    let score = score + snapshot.horizon() * slower.max(0.0);
                    if score < best.0 {
                        best = (score, Some([Some((*process, target)), None]));
                    }
                }
            }
        }
        best.1
    }

    /// The best exchange of a process for one of another host; `None`: none helps.
    fn best_swap(
        &self,
        snapshot: &Snapshot,
        assignment: &Assignment<'_>,
        evaluated: &mut usize,
    ) -> Option<Step> {
        let places = assignment.places();
        let mut best = (self.time * NOTICEABLE, None);
        'processes: for process in &self.processes {
            let own = places[*process];
            for host in self.targets(snapshot, assignment, *process) {
                if EVALUATED_MAX < *evaluated {
                    break 'processes;
                }
                for other in assignment.residents(host) {
                    *evaluated += 1;
                    if best.0 <= assignment.least_after_swap(*process, *other) {
                        continue;
                    }
                    let after = assignment.after_swap(*process, *other);
                    if after < best.0 {
                        best = (after, Some([Some((*process, host)), Some((*other, own))]));
                    }
                }
            }
        }
        best.1
    }
}

/// The hosts of each Set that have least to do, and of small Sets all.
fn idlest(snapshot: &Snapshot, assignment: &Assignment<'_>) -> Vec<usize> {
    let sets = (0..snapshot.sets()).map(bsp::SetId::from_index);
    let number = (IDLEST / snapshot.sets().max(1)).max(IDLEST_OF_SET);
    sets.flat_map(|set| assignment.idlest(set, number))
        .collect()
}

/// A step has to bring what is slowest below this part of its time.
const NOTICEABLE: f64 = 1.0 - 1e-6;

/// Bounds the search; a host seldom takes part in more steps.
const STEPS_PER_HOST: usize = 8;

/// Steps in a row that gain nothing.
const WITHOUT_GAIN_MAX: usize = 16;

/// Moves and swaps that a search looks at.
const EVALUATED_MAX: usize = 2_000;

/// Processes of a link that are looked at.
const CROSSING_MAX: usize = 64;

/// Hosts that are looked at because their owners interrupt processes most.
const INTERRUPTED_MAX: usize = 16;

/// Hosts that are looked at because they have least to do, and how many of a Set at least.
const IDLEST: usize = 32;
const IDLEST_OF_SET: usize = 2;

/// Drops the moves to `assignment` that do not pay, the most expensive first.
///
/// A move is dropped if supersteps and moves take no longer over the horizon without it. Supersteps that are longer than
/// the shortest ones so far by less than their noise count as no longer.
pub(super) fn trim(snapshot: &Snapshot, assignment: &mut Assignment<'_>) {
    let mut schedule = MigrationSchedule::new(snapshot, assignment.places());
    let moved = assignment.moved();
    let mut moved: Vec<(f64, usize)> = moved
        .map(|process| {
            let to = assignment.places()[process];
            (snapshot.migration(process, to), process)
        })
        .collect();
    moved.sort_by(|one, other| other.0.total_cmp(&one.0).then(one.1.cmp(&other.1)));
    let supersteps = |longest: f64, shortest: f64| {
        snapshot.horizon() * longest.max(shortest.min(longest) + snapshot.noise())
    };
    let mut shortest = assignment.longest();
    let mut objective = supersteps(shortest, shortest) + schedule.total();
    for (_, process) in moved {
        let (from, to) = (snapshot.places()[process], assignment.places()[process]);
        // The hosts and links concerned alone would take longer.
        let is_too_long = |after: f64| objective < supersteps(after, shortest);
        if is_too_long(assignment.least_after_move(process, from))
            || is_too_long(assignment.after_move_unless(process, from, is_too_long))
        {
            continue;
        }
        assignment.put(process, from);
        schedule.redirect(process, to, from);
        let longest = assignment.longest();
        let without = supersteps(longest, shortest) + schedule.total();
        if without <= objective {
            shortest = shortest.min(longest);
            objective = without;
        } else {
            assignment.put(process, to);
            schedule.redirect(process, from, to);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::tests::{check, check_objective, snapshot};

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
    fn a_part_of_a_plan_is_made_if_the_whole_is_too_dear() {
        // All moves share the link of the fast host. Half of the others have three times as many processes as the rest: to
        // relieve these by a process each shortens supersteps by as much as to relieve all, for half of the cost.
        let mut speeds = vec![1.0; 40];
        speeds.push(1000.0);
        let processes = (0..40).flat_map(|host| vec![(host, 1.0); if host < 20 { 30 } else { 10 }]);
        let mut snapshot = snapshot(&speeds, &processes.collect::<Vec<_>>());
        snapshot.make_moves_cost(0.04 * snapshot.horizon());
        let draft = Portfolio.draft(&snapshot);
        let planned = Assignment::new(&snapshot, &draft.places);
        let moves: Vec<usize> = planned.moved().collect();
        assert!((300..=400).contains(&moves.len()), "{}", moves.len());
        assert!(moves.iter().all(|process| snapshot.places()[*process] < 20));
        assert!(planned.objective() < 0.9 * Assignment::present(&snapshot).objective());
    }

    #[test]
    fn every_process_is_kept_once() {
        check(|| Box::new(Portfolio));
    }

    #[test]
    fn no_plan_is_worse_than_none() {
        check_objective(|| Box::new(Portfolio));
    }

    fn places(snapshot: &Snapshot) -> Vec<usize> {
        let mut assignment = Assignment::present(snapshot);
        search(snapshot, &mut assignment);
        assignment.places().to_vec()
    }

    #[test]
    fn the_slowest_host_gives_to_the_one_that_ends_first() {
        let snapshot = snapshot(&[1.0, 1.0, 2.0], &[(0, 2.0), (0, 2.0), (1, 1.0)]);
        assert_eq!(places(&snapshot), [2, 0, 1]);
    }

    #[test]
    fn processes_are_swapped_if_no_move_helps() {
        // 5 + 4 against 2 + 3: moving the 4 makes it 5 against 9; the 4 for the 2 makes it 7 against 7.
        let snapshot = snapshot(&[1.0, 1.0], &[(0, 5.0), (0, 4.0), (1, 2.0), (1, 3.0)]);
        let after = places(&snapshot);
        let superstep = Assignment::new(&snapshot, &after).superstep();
        assert!((superstep.get() - 7.0).abs() < 1e-9, "{superstep:?}");
    }

    #[test]
    fn steps_that_do_not_pay_are_undone() {
        let mut expensive = snapshot(&[1.0, 1.0], &[(0, 1.0), (0, 1.0)]);
        expensive.make_moves_cost(1e6);
        assert_eq!(places(&expensive), [0, 0]);
    }

    #[test]
    fn a_move_without_gain_is_dropped() {
        // The third host decides; that the first two changed places wins nothing.
        let snapshot = snapshot(&[1.0, 1.0, 1.0], &[(0, 1.0), (1, 1.0), (2, 5.0)]);
        let mut assignment = Assignment::new(&snapshot, &[1, 0, 2]);
        trim(&snapshot, &mut assignment);
        assert_eq!(assignment.places(), [0, 1, 2]);
    }

    #[test]
    fn a_move_that_pays_is_kept() {
        let snapshot = snapshot(&[1.0, 1.0], &[(0, 1.0), (0, 1.0)]);
        let mut assignment = Assignment::new(&snapshot, &[1, 0]);
        trim(&snapshot, &mut assignment);
        assert_eq!(assignment.places(), [1, 0]);
    }
}
