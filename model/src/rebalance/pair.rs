//! What two machines may do for the one with the higher level.

use crate::rebalance::state::{Entry, State};

/// A process goes to another machine, and another may come back for it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Exchange {
    /// Where the level is to fall, and where it is going to rise.
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) process: usize,
    pub(super) back: Option<usize>,
    /// The higher one of the two levels, afterwards.
    pub(super) level: f64,
    /// The same with penalties: the less, the better.
    merit: f64,
}

/// Which moves are allowed, and which are penalised.
pub(super) trait Rule {
    /// Whether `process` may go to `machine`.
    fn allows(&self, process: usize, machine: usize) -> bool;

    /// How many units of level it has to make good if it does: at least 0.
    fn penalty(&self, process: usize, machine: usize) -> f64;
}

impl Exchange {
    /// Does it.
    pub(super) fn make(&self, state: &mut State<'_>) {
        state.relocate(self.process, self.to);
        if let Some(back) = self.back {
            state.relocate(back, self.from);
        }
    }

    /// The best of what brings both levels below `bound`, and how many were looked at.
    ///
    /// The procedure `F` of Chen, Wang and Lau 2008, sections 3.2 and 3.3. Work `w` that goes over leaves
    /// the levels `(d₁ − w)/c₁` and `(d₂ + w)/c₂`; both are equal at `w = (d₁c₂ − d₂c₁)/(c₁ + c₂)`, and on
    /// either side of it the higher one grows. So for each process that may go, those that may come
    /// back are looked at from the ideal difference on in both directions, for as long as the levels
    /// alone are worth it. The rule is asked in that order, too, and of no process further on.
    pub(super) fn best(
        state: &State<'_>,
        (from, to): (usize, usize),
        bound: f64,
        rule: &impl Rule,
    ) -> (Option<Self>, u64) {
        let mut search = Search::between(state, (from, to), bound);
        let ideal = search.ideal();
        let residents = state.list(to);
        let mut refused = Refused::none_of(residents.len());
        for entry in state.list(from) {
            let process = entry.process;
            if entry.workload <= 0.0 || !rule.allows(process, to) {
                continue;
            }
            let penalty = rule.penalty(process, to);
            if state.fits(process, None, to) {
                search.look(entry.workload, (process, None), penalty, || 0.0);
            }
            let middle = entry.workload - ideal;
            let middle = residents.partition_point(|other| other.workload < middle);
            let mut ask = |other: &Entry| {
                let back = other.process;
                if entry.workload <= other.workload {
                    return Answer::Enough;
                }
                if !rule.allows(back, from) {
                    return Answer::Refused;
                }
                if !state.fits(process, Some(back), to) || !state.fits(back, Some(process), from) {
                    search.looked += 1;
                    return Answer::GoOn;
                }
                let processes = (process, Some(back));
                let more = || rule.penalty(back, from);
                if search.look(entry.workload - other.workload, processes, penalty, more) {
                    Answer::GoOn
                } else {
                    Answer::Enough
                }
            };
            let mut at = refused.skip_up(middle);
            while let Some(other) = residents.get(at) {
                match ask(other) {
                    Answer::GoOn => {}
                    Answer::Refused => refused.note(at),
                    Answer::Enough => break,
                }
                at = refused.skip_up(at + 1);
            }
            // Of equal levels, the ideal difference may be below 0 by rounding. A process not below `entry` then
            // ends the search, even if it would be skipped.
            let below = residents[..middle].last();
            if below.is_some_and(|other| entry.workload <= other.workload) {
                continue;
            }
            let mut end = refused.skip_down(middle);
            while let Some(at) = end.checked_sub(1) {
                match ask(&residents[at]) {
                    Answer::GoOn => {}
                    Answer::Refused => refused.note(at),
                    Answer::Enough => break,
                }
                end = refused.skip_down(at);
            }
        }
        (search.best, search.looked)
    }

    /// The same, if no process may come back.
    pub(super) fn one_way(
        state: &State<'_>,
        (from, to): (usize, usize),
        bound: f64,
        rule: &impl Rule,
    ) -> (Option<Self>, u64) {
        let mut search = Search::between(state, (from, to), bound);
        for entry in state.list(from) {
            let process = entry.process;
            let is_allowed = rule.allows(process, to) && state.fits(process, None, to);
            if 0.0 < entry.workload && is_allowed {
                let penalty = rule.penalty(process, to);
                search.look(entry.workload, (process, None), penalty, || 0.0);
            }
        }
        (search.best, search.looked)
    }
}

/// Whether a process may come back.
enum Answer {
    GoOn,
    Refused,
    /// No process further on is worth it.
    Enough,
}

/// The processes on a list that may not move, so that long rows of them are skipped in one step.
///
/// Remembering takes a walk over the list: it begins when that is no more than was walked already.
struct Refused {
    residents: usize,
    /// How many processes were refused before it began.
    times: usize,
    /// By place: itself, or if it is refused, a place further up; one more place than residents, and empty
    /// before it begins.
    up: Vec<usize>,
    /// The same downwards; a place here is one more than on the list, so that 0 is the end.
    down: Vec<usize>,
}

impl Refused {
    const fn none_of(residents: usize) -> Self {
        Self {
            residents,
            times: 0,
            up: Vec::new(),
            down: Vec::new(),
        }
    }

    /// The process at `at` may not move.
    #[inline]
    fn note(&mut self, at: usize) {
        if self.times < self.residents.max(REFUSALS_MIN) {
            self.times += 1;
            return;
        }
        if self.up.is_empty() {
            self.up = (0..=self.residents).collect();
            self.down = (0..=self.residents).collect();
        }
        self.up[at] = at + 1;
        self.down[at + 1] = at;
    }

    /// The first place from `at` upwards that is not known to be refused, or the list's length.
    #[inline]
    fn skip_up(&mut self, at: usize) -> usize {
        if self.up.is_empty() {
            at
        } else {
            follow(&mut self.up, at)
        }
    }

    /// The same for what is below `end`; one more than the place, or 0.
    #[inline]
    fn skip_down(&mut self, end: usize) -> usize {
        if self.down.is_empty() {
            end
        } else {
            follow(&mut self.down, end)
        }
    }
}

/// Where `links` lead from `at`; ways become shorter as they are gone.
fn follow(links: &mut [usize], mut at: usize) -> usize {
    while links[at] != at {
        links[at] = links[links[at]];
        at = links[at];
    }
    at
}

/// The two machines, and the best so far.
struct Search {
    pair: (usize, usize),
    loads: (f64, f64),
    /// What a unit of work takes on them.
    times: (f64, f64),
    bound: f64,
    best: Option<Exchange>,
    merit: f64,
    looked: u64,
}

impl Search {
    fn between(state: &State<'_>, (from, to): (usize, usize), bound: f64) -> Self {
        let machines = state.problem().machines();
        Self {
            pair: (from, to),
            loads: (state.load(from), state.load(to)),
            times: (1.0 / machines[from].capacity, 1.0 / machines[to].capacity),
            bound,
            best: None,
            merit: f64::INFINITY,
            looked: 0,
        }
    }

    /// Looks at what happens if `work` goes over: whether its levels alone are worth it.
    #[inline]
    fn look(
        &mut self,
        work: f64,
        (process, back): (usize, Option<usize>),
        penalty: f64,
        more: impl FnOnce() -> f64,
    ) -> bool {
        self.looked += 1;
        let level = self.level(work);
        if self.bound <= level || self.merit <= level + penalty {
            return false;
        }
        let merit = level + (penalty + more());
        if merit < self.merit {
            let (from, to) = self.pair;
            self.merit = merit;
            self.best = Some(Exchange {
                from,
                to,
                process,
                back,
                level,
                merit,
            });
        }
        true
    }

    #[inline]
    fn level(&self, work: f64) -> f64 {
        let left = (self.loads.0 - work) * self.times.0;
        let entered = (self.loads.1 + work) * self.times.1;
        left.max(entered)
    }

    /// The work that has to go over for both levels to be equal.
    fn ideal(&self) -> f64 {
        let difference = self.loads.0 * self.times.0 - self.loads.1 * self.times.1;
        difference / (self.times.0 + self.times.1)
    }
}

/// What a level has to be below to be lower than `level` by more than sums may differ in their last digits.
pub(super) fn below(level: f64) -> f64 {
    level * (1.0 - 1e-10)
}

/// Up to this number, refusals cost less than remembering them.
const REFUSALS_MIN: usize = 64;

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use proptest::prelude::*;

    use super::*;
    use crate::rebalance::{Machine, MoveCost, Problem, Resident};

    /// Allowed up to a cost, penalised by a table.
    struct Table<'a> {
        problem: &'a Problem,
        threshold: f64,
        penalties: Vec<f64>,
    }

    impl Rule for Table<'_> {
        fn allows(&self, process: usize, machine: usize) -> bool {
            self.problem.cost(process, machine) <= self.threshold
        }

        fn penalty(&self, process: usize, machine: usize) -> f64 {
            let at = process * self.problem.machines().len() + machine;
            self.penalties[at % self.penalties.len()]
        }
    }

    /// Nearly all on the second machine stay there.
    struct Stubborn {
        asked: Cell<usize>,
    }

    impl Rule for Stubborn {
        fn allows(&self, process: usize, machine: usize) -> bool {
            self.asked.set(self.asked.get() + 1);
            machine == 1 || process % 100 == 50
        }

        fn penalty(&self, _process: usize, _machine: usize) -> f64 {
            0.0
        }
    }

    /// The least merit of all moves and exchanges, and how many bring both levels below `bound`.
    fn by_force(
        state: &State<'_>,
        (from, to): (usize, usize),
        bound: f64,
        rule: &impl Rule,
    ) -> (f64, usize) {
        let residents = state.problem().residents();
        let on = |machine| {
            let all = state.assignment().iter().enumerate();
            all.filter(move |&(_, &other)| other == machine)
                .map(|(process, _)| process)
        };
        let mut merits = Vec::new();
        for process in on(from).filter(|&process| rule.allows(process, to)) {
            let backs = on(to).filter(|&back| rule.allows(back, from)).map(Some);
            for back in backs.chain([None]) {
                let returned = back.map_or(0.0, |back| residents[back].workload);
                let work = residents[process].workload - returned;
                let machines = state.problem().machines();
                let left = (state.load(from) - work) / machines[from].capacity;
                let level = left.max((state.load(to) + work) / machines[to].capacity);
                if 0.0 < work && level < bound {
                    let more = back.map_or(0.0, |back| rule.penalty(back, from));
                    merits.push(level + (rule.penalty(process, to) + more));
                }
            }
        }
        let least = merits.iter().copied().fold(f64::INFINITY, f64::min);
        (least, merits.len())
    }

    fn problem(machines: &[(f64, usize)], residents: &[(f64, f64, usize)]) -> Problem {
        let move_cost = |from: usize, to: usize| MoveCost {
            fixed: 0.25,
            per_size: if from == to { 0.1 } else { 1.0 },
        };
        let machine = |&(capacity, group): &(f64, usize)| Machine { capacity, group };
        let resident = |&(workload, size, initial_machine): &(f64, f64, usize)| Resident {
            workload,
            size,
            initial_machine: initial_machine % machines.len(),
        };
        Problem::new(
            machines.iter().map(machine).collect(),
            residents.iter().map(resident).collect(),
            vec![
                vec![move_cost(0, 0), move_cost(0, 1)],
                vec![move_cost(1, 0), move_cost(1, 1)],
            ],
        )
        .unwrap()
    }

    #[test]
    fn refused_processes_are_not_asked_again() {
        let resident = |process: u32| {
            if process < 300 {
                (f64::from(10 + process % 7), 1.0, 0)
            } else {
                (f64::from(process % 9), 1.0, 1)
            }
        };
        let residents: Vec<(f64, f64, usize)> = (0..500).map(resident).collect();
        let problem = problem(&[(1.0, 0), (1.0, 1)], &residents);
        let state = State::at_start(&problem);
        let bound = below(state.level());
        let rule = Stubborn {
            asked: Cell::new(0),
        };
        let (best, _) = Exchange::best(&state, (0, 1), bound, &rule);
        assert!(rule.asked.get() < 3000, "{}", rule.asked.get());
        let (least, _) = by_force(&state, (0, 1), bound, &rule);
        assert!((best.unwrap().merit - least).abs() <= 1e-9 * least);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        #[test]
        fn nothing_between_two_machines_is_better_than_the_best(
            machines in prop::collection::vec((0.5..3.0, 0..2_usize), 2..4),
            residents in prop::collection::vec((0.0..9.0, 0.0..5.0, 0..3_usize), 1..20),
            places in prop::collection::vec(0..3_usize, 20),
            threshold in prop_oneof![Just(f64::INFINITY), 0.0..5.0],
            penalties in prop::collection::vec(prop_oneof![Just(0.0), 0.0..3.0], 1..40),
            is_bounded: bool,
        ) {
            let problem = problem(&machines, &residents);
            let places = places.iter().map(|place| place % machines.len());
            let state = State::of(&problem, places.take(residents.len()).collect());
            let rule = Table { problem: &problem, threshold, penalties };
            let pair = (state.ranking()[0], state.ranking()[1]);
            let bound = if is_bounded { below(state.level()) } else { f64::INFINITY };
            let (best, looked) = Exchange::best(&state, pair, bound, &rule);
            let (least, count) = by_force(&state, pair, bound, &rule);
            prop_assert_eq!(best.is_some(), 0 < count);
            let Some(best) = best else { return Ok(()) };
            prop_assert!((best.merit - least).abs() <= 1e-9 * least, "{:?}, {}", best, least);
            prop_assert!(0 < looked);
            let mut state = state;
            best.make(&mut state);
            let level = state.level_of(pair.0).max(state.level_of(pair.1));
            prop_assert!((level - best.level).abs() <= 1e-9 * level);
        }
    }
}
