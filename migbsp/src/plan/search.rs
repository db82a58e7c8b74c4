//! Local search: repeatedly take the move that most relieves what makes supersteps long.

use crate::{Assignment, MigrationSchedule, Snapshot};

/// Moves and swaps processes as long as a step makes the slowest host, or the slowest link between Sets, faster without
/// making another as slow, and returns to the best assignment met by the snapshot's objective.
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
        let home = snapshot.places()[process];
        let mut targets: Vec<usize> = near
            .chain(self.idlest.iter().copied())
            .chain([home])
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
                let after = assignment.after_move(*process, host);
                if limit <= after {
                    continue;
                }
                let longer = assignment.interruption_after_move(*process, host);
                if limit <= after + longer {
                    continue;
                }
                let score =
                    snapshot.horizon() * (after + longer) + snapshot.migration(*process, host);
                if score < best.0 {
                    best = (score, Some([Some((*process, host)), None]));
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
    let mut hosts = Vec::new();
    for set in sets {
        let mut members = snapshot.members(set).to_vec();
        if number < members.len() {
            let by_time = |a: &usize, b: &usize| {
                assignment
                    .time(*a)
                    .total_cmp(&assignment.time(*b))
                    .then(a.cmp(b))
            };
            members.select_nth_unstable_by(number - 1, by_time);
            members.truncate(number);
        }
        hosts.extend(members);
    }
    hosts
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

#[cfg(test)]
mod tests {
    use crate::plan::tests::snapshot;

    use super::*;

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
}
