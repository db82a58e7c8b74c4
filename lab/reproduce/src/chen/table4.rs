//! Table 4: every move costs 1; which algorithms meet the target, with how many moves.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use bsp::numbers::{length, real};
use experiments::Failure;
use experiments::batch::Batch;
use rebalancing::Algorithm;
use rebalancing_algorithms::{Group, Method};

use crate::chen::{
    Cell, Claim, Quantity, Trial, Uniform, budget, mean, printed_uniform, trial, uniform,
};

const METHODS: [Method; 3] = [Method::Islp, Method::Mparv, Method::Tabu];

/// ISLP as in the paper's numbers: two processes swap only where no single move meets the target.
const NEEDED: &str = "islp:exchanges=needed";

/// MPARV with the units that algorithm 3 prints.
const WORKLOAD: &str = "mparv:opt=workload";

/// The algorithms on one instance.
#[derive(Clone, Copy, Debug)]
struct Case {
    group: Group,
    /// The number of the group's target, from 0.
    number: usize,
    target: f64,
    seed: u64,
}

pub(super) fn compare(
    instances: u32,
    batch: Batch<'_>,
) -> Result<(Vec<Cell>, Vec<Claim>), Failure> {
    let printed = printed_uniform();
    let blocks: Vec<&[(Group, Uniform)]> = printed.chunks(METHODS.len()).collect();
    let mut cases: Vec<Case> = Vec::new();
    for (number, block) in blocks.iter().enumerate() {
        let (group, Uniform { target, .. }) = block[0].clone();
        let case = |seed| Case {
            group,
            number,
            target,
            seed,
        };
        cases.extend((1..=u64::from(instances)).map(case));
    }
    // The longest first, so that no core ends with a long run.
    cases.sort_by_key(|case| {
        let work = case.group.machines() * case.group.processes();
        (Reverse(work), case.number, case.seed)
    });
    let outcomes = batch.run(&cases, |case| Ok(outcome(case)))?;
    let mut by_block: BTreeMap<usize, Vec<[Trial; 5]>> = BTreeMap::new();
    for (case, outcome) in cases.iter().zip(outcomes) {
        by_block.entry(case.number).or_default().push(outcome);
    }
    let mut cells = Vec::new();
    let mut numbers = Vec::new();
    for (number, block) in blocks.iter().enumerate() {
        let own = by_block.get(&number).map_or(&[][..], Vec::as_slice);
        for (index, (group, paper)) in block.iter().enumerate() {
            let trials = |index: usize| own.iter().map(move |all| all[index]);
            cells.extend(method(*group, &paper.algorithm, paper, trials(index)));
            if paper.algorithm == METHODS[0].to_string() {
                cells.extend(method(*group, NEEDED, paper, trials(METHODS.len())));
            }
            if paper.algorithm == METHODS[1].to_string() {
                cells.extend(method(*group, WORKLOAD, paper, trials(METHODS.len() + 1)));
            }
        }
        numbers.push([0, 1, 2].map(|index| {
            let reached = own
                .iter()
                .map(|all| all[index])
                .filter(|trial| trial.is_met);
            mean(reached.map(|trial| real(length(trial.migrations))))
        }));
    }
    let fewer = |left: Option<f64>, right: Option<f64>| match (left, right) {
        (Some(left), Some(right)) => left <= right,
        (Some(_), None) => true,
        (None, _) => false,
    };
    let claims = vec![
        Claim::new(
            "ISLP needs fewer migrations than TABU",
            numbers.iter().map(|[islp, _, tabu]| fewer(*islp, *tabu)),
        ),
        Claim::new(
            "MPARV needs more migrations than ISLP and TABU, or does not meet the target at all",
            numbers
                .iter()
                .map(|[islp, mparv, tabu]| fewer(*islp, *mparv) && fewer(*tabu, *mparv)),
        ),
    ];
    Ok((cells, claims))
}

/// Results of each of [`METHODS`], of [`NEEDED`] and of [`WORKLOAD`].
fn outcome(case: &Case) -> [Trial; 5] {
    let problem = uniform(&case.group.draw(case.seed));
    let steps = budget(&problem, case.target);
    let run =
        |algorithm: &Algorithm, steps| trial(algorithm, &problem, case.target, steps, case.seed);
    let [islp, mparv, tabu] = METHODS.map(Algorithm::from);
    let [needed, workload] =
        [NEEDED, WORKLOAD].map(|text| text.parse().expect("an algorithm with a parameter it has"));
    [
        run(&islp, steps),
        run(&mparv, STEPS_MPARV),
        run(&tabu, steps),
        run(&needed, steps),
        run(&workload, STEPS_MPARV),
    ]
}

/// The numbers of an algorithm beside those of the paper; migrations are means over the instances where the target is met.
fn method(
    group: Group,
    algorithm: &str,
    paper: &Uniform,
    trials: impl Iterator<Item = Trial> + Clone,
) -> [Cell; 3] {
    let success = trials
        .clone()
        .map(|trial| if trial.is_met { 100.0 } else { 0.0 });
    let reached = trials.clone().filter(|trial| trial.is_met);
    let migrations = reached.map(|trial| real(length(trial.migrations)));
    let seconds = trials.map(|trial| trial.seconds_to_best);
    let cell = |quantity, ours, paper_value| {
        Cell::new(group, quantity, ours)
            .of(&algorithm, paper.target)
            .beside(paper_value)
    };
    [
        cell(Quantity::Success, mean(success), Some(paper.success)),
        cell(Quantity::Migrations, mean(migrations), paper.migrations),
        cell(
            Quantity::SecondsToBest,
            mean(seconds),
            paper.milliseconds.map(|milliseconds| milliseconds / 1e3),
        ),
    ]
}

/// No limit: MPARV ends by itself. With the limit of the others, only the first few of its levels would
/// count.
const STEPS_MPARV: u64 = u64::MAX;
