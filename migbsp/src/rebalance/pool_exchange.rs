//! What two machines exchange with others while their processes are shared out anew.

use crate::rebalance::annealing_state::AnnealingState;

/// What changes on two machines when some processes of theirs change sides.
#[derive(Debug)]
pub(super) struct PoolExchange {
    /// What a byte adds to the load of each machine.
    per_byte: (f64, f64),
    /// By process: whether it is on the first machine.
    sides: Vec<bool>,
    /// By process: the bytes that it exchanges with processes that stay on the first machine, on the second, and
    /// elsewhere.
    outside: Vec<[f64; 3]>,
    /// Process × process: the bytes that both exchange.
    inside: Vec<Vec<f64>>,
    /// By how much more bytes each machine exchanges with others than before.
    more: (f64, f64),
}

impl PoolExchange {
    /// For some processes of two machines, and where each would go; `None` if what processes exchange has no weight.
    pub(super) fn new(
        state: &AnnealingState<'_>,
        members: impl Iterator<Item = (usize, usize)>,
        (first, second): (usize, usize),
    ) -> Option<Self> {
        let communication = state.communication()?;
        let (processes, goals): (Vec<usize>, Vec<usize>) = members.unzip();
        let mut outside = vec![[0.0; 3]; processes.len()];
        let mut inside = vec![vec![0.0; processes.len()]; processes.len()];
        for (at, &process) in processes.iter().enumerate() {
            for (other, bytes) in communication.of(process) {
                let place = state.places()[other];
                let is_between = place == first || place == second;
                let within = processes.iter().position(|&member| member == other);
                match within.filter(|_| is_between) {
                    Some(within) => inside[at][within] += bytes,
                    None if place == first => outside[at][0] += bytes,
                    None if place == second => outside[at][1] += bytes,
                    None => outside[at][2] += bytes,
                }
            }
        }
        Some(Self {
            per_byte: (state.per_byte(first), state.per_byte(second)),
            sides: goals.iter().map(|goal| *goal == second).collect(),
            outside,
            inside,
            more: (0.0, 0.0),
        })
    }

    /// The process at `at` changes sides. Returns what the loads of both machines are higher by than before any did.
    pub(super) fn change_side(&mut self, at: usize) -> (f64, f64) {
        let [mut first, mut second, elsewhere] = self.outside[at];
        for (bytes, is_on_first) in self.inside[at].iter().zip(&self.sides) {
            if *is_on_first {
                first += bytes;
            } else {
                second += bytes;
            }
        }
        // What it exchanged with its own machine becomes an exchange of both, and the other way round.
        let both = first - second;
        if self.sides[at] {
            self.more.0 += both - elsewhere;
            self.more.1 += both + elsewhere;
        } else {
            self.more.0 += elsewhere - both;
            self.more.1 -= both + elsewhere;
        }
        self.sides[at] = !self.sides[at];
        (self.per_byte.0 * self.more.0, self.per_byte.1 * self.more.1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rebalance::tests::drawn;

    #[test]
    fn what_changes_is_what_moves_of_the_same_processes_change() {
        let problem = drawn(16, 40, 1);
        let processes = problem.residents().len();
        let edges: Vec<(usize, usize, f64)> = (0..processes)
            .flat_map(|from| {
                (0..from).map(move |to| (from, to, f64::from(u8::try_from(from * to % 7).unwrap())))
            })
            .collect();
        let problem = problem.with_communication(&edges, 0.5).unwrap();
        let mut state = AnnealingState::new(&problem, 90.0, &problem.homes());
        let (first, second) = (0, 1);
        let members = [first, second].map(|machine| state.members(machine).to_vec());
        // One process of the first machine stays.
        let pool: Vec<(usize, usize)> = (members[0][1..].iter().map(|process| (*process, second)))
            .chain(members[1].iter().map(|process| (*process, first)))
            .collect();
        let mut exchange =
            PoolExchange::new(&state, pool.iter().copied(), (first, second)).unwrap();
        let work = |state: &AnnealingState<'_>, machine: usize| {
            let members = state.members(machine).iter();
            state.excess(machine) - members.map(|own| state.workload(*own)).sum::<f64>()
        };
        let before = (work(&state, first), work(&state, second));
        for at in (0..pool.len()).cycle().take(3 * pool.len() + 1) {
            let more = exchange.change_side(at);
            let (process, _) = pool[at];
            let place = state.places()[process];
            state.relocate(process, first + second - place);
            assert!((work(&state, first) - before.0 - more.0).abs() < 1e-9);
            assert!((work(&state, second) - before.1 - more.1).abs() < 1e-9);
        }
    }
}
