//! The result of a search, read again.

use experiments::Failure;
use serde::Deserialize;
use settings::Fault;

use crate::target::Target;

/// What of the JSON of `migbsp rebalance INSTANCE` says where processes go.
#[derive(Clone, Debug, Deserialize)]
struct Results {
    schema: String,
    machines: Vec<String>,
    /// Names of the processes, if they have any.
    processes: Option<Vec<String>>,
    loads_initial: Vec<f64>,
    solutions: Vec<Solution>,
}

/// An assignment for a target.
#[derive(Clone, Debug, Deserialize)]
struct Solution {
    target: f64,
    /// If the target was given so.
    percent_of_ideal: Option<f64>,
    assignment: Vec<String>,
}

/// The rank of each process.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Plan {
    pub(super) ranks: Vec<usize>,
    /// The seconds of each rank before any move.
    pub(super) loads_initial: Vec<f64>,
    /// Names of the processes; none: the plan has no names.
    pub(super) processes: Vec<String>,
}

impl Plan {
    /// The plan in `text` for `target`, which need not be given if there is one; messages call its file `name`.
    ///
    /// # Errors
    ///
    /// If it is no result of a search in an imported instance, or does not have the target.
    pub(super) fn read(name: &str, text: &str, target: Option<Target>) -> Result<Self, Failure> {
        let results: Results = serde_json::from_str(text).map_err(|error| {
            let problem = error.to_string();
            let problem = problem.split(" at line ").next().unwrap_or_default();
            let (line, column) = (error.line(), error.column());
            Failure::input(format!(
                "the plan is invalid: {problem}; must be the output of `migbsp rebalance INSTANCE --format json`\n  --> \
                 {name}:{line}:{column}"
            ))
        })?;
        let fault = |key: &str, problem: String| Fault::new(Some(name), key, problem);
        if !results.schema.starts_with(SCHEMA) {
            let met = &results.schema;
            let problem = format!("the plan is `{met}`, must be `{SCHEMA}` and its version");
            return Err(fault("schema", problem).into());
        }
        let named = results.machines.iter().enumerate();
        let mut named = named.map(|(rank, name)| (rank.to_string() == **name, name));
        if let Some((_, machine)) = named.find(|(is_rank, _)| !is_rank) {
            let problem = format!("machine `{machine}`, must be the number of a rank");
            return Err(fault("machines", problem).into());
        }
        let ranks = results.machines.len();
        let (at, solution) =
            chosen(&results.solutions, target).map_err(|problem| fault("solutions", problem))?;
        let rank = |machine: &String| {
            let rank = machine.parse().ok().filter(|rank| *rank < ranks);
            rank.ok_or_else(|| {
                let key = format!("solutions[{at}].assignment");
                fault(&key, format!("there is no machine `{machine}`"))
            })
        };
        Ok(Self {
            ranks: solution
                .assignment
                .iter()
                .map(rank)
                .collect::<Result<_, _>>()?,
            loads_initial: results.loads_initial,
            processes: results.processes.unwrap_or_default(),
        })
    }

    /// Compares the plan with what it is to be applied to: the loads, and the names of the tasks.
    ///
    /// # Errors
    ///
    /// What differs.
    pub(super) fn check(&self, loads: &[f64], tasks: &[&str]) -> Result<(), String> {
        if (self.loads_initial.len(), self.ranks.len()) != (loads.len(), tasks.len()) {
            return Err(format!(
                "the plan is for {} processes on {} machines, and the phase has {} tasks on {} ranks; {ADVICE}",
                self.ranks.len(),
                self.loads_initial.len(),
                tasks.len(),
                loads.len()
            ));
        }
        let mut names = self.processes.iter().zip(tasks);
        if let Some((name, task)) = names.find(|(name, task)| name != *task) {
            return Err(format!(
                "the plan is of process `{name}`, and the phase has task `{task}` there; {ADVICE}"
            ));
        }
        let pairs = self.loads_initial.iter().zip(loads).enumerate();
        let mut unequal = pairs.filter(|(_, (own, load))| {
            let scale = own.abs().max(load.abs());
            // The sums may have been added up in another order.
            TOLERANCE * scale < (*own - *load).abs()
        });
        match unequal.next() {
            Some((rank, (own, load))) => Err(format!(
                "the plan begins with {own} s on rank {rank}, and the phase has {load} s there; {ADVICE}"
            )),
            None => Ok(()),
        }
    }
}

/// The solution for `target`, and its position.
fn chosen(solutions: &[Solution], target: Option<Target>) -> Result<(usize, &Solution), String> {
    let targets: Vec<String> = solutions.iter().map(Solution::target).collect();
    let targets = targets.join(", ");
    let mut all = solutions.iter().enumerate();
    match (target, solutions) {
        (None, [one]) => Ok((0, one)),
        (None, []) => Err("the plan has no solution".to_owned()),
        (None, _) => Err(format!(
            "the plan has solutions for {targets}; --target LEVEL must name one"
        )),
        (Some(target), _) => all
            .find(|(_, one)| one.is_for(target))
            .ok_or_else(|| format!("the plan has no solution for {target}, only for {targets}")),
    }
}

impl Solution {
    /// The target as it was given.
    fn target(&self) -> String {
        match self.percent_of_ideal {
            Some(percent) => Target::OfIdeal(percent).to_string(),
            None => self.target.to_string(),
        }
    }

    fn is_for(&self, target: Target) -> bool {
        match target {
            Target::Level(level) => self.target.total_cmp(&level).is_eq(),
            Target::OfIdeal(percent) => {
                let own = self.percent_of_ideal;
                own.is_some_and(|own| own.total_cmp(&percent).is_eq())
            }
            Target::Lowest => false,
        }
    }
}

/// What results of a search have as their schema, before the version.
const SCHEMA: &str = "migbsp.rebalance/";

const ADVICE: &str = "must be the plan of an import of these files and of this phase";

/// Relative difference of equal loads.
const TOLERANCE: f64 = 1e-9;

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"{"schema": "migbsp.rebalance/2", "machines": ["0", "1"], "processes": ["a", "b", "c"], "loads_initial": [3.0, 1.0], "solutions": [
        {"target": 2.0, "assignment": ["0", "1", "1"], "dc": 2.0},
        {"target": 3.0, "assignment": ["0", "0", "1"], "dc": 3.0}]}"#;

    fn check(text: &str, target: Option<f64>, words: &str) {
        let target = target.map(Target::Level);
        let fault = Plan::read("plan.json", text, target).unwrap_err();
        let text = fault.to_string();
        assert!(text.contains(words), "{text}");
        assert!(text.contains("--> plan.json"), "{text}");
    }

    #[test]
    fn a_plan_is_the_solution_for_a_target() {
        let plan = Plan::read("plan.json", TEXT, Some(Target::Level(2.0))).unwrap();
        assert_eq!(plan.ranks, [0, 1, 1]);
        plan.check(&[3.0, 1.0], &["a", "b", "c"]).unwrap();
        let fault = plan.check(&[3.0, 1.1], &["a", "b", "c"]).unwrap_err();
        assert!(
            fault.contains("1 s on rank 1, and the phase has 1.1 s"),
            "{fault}"
        );
        let fault = plan.check(&[3.0, 1.0], &["a", "b", "c", "d"]).unwrap_err();
        assert!(
            fault.contains("3 processes on 2 machines, and the phase has 4 tasks"),
            "{fault}"
        );
        let fault = plan.check(&[3.0, 1.0], &["a", "b", "d"]).unwrap_err();
        assert!(
            fault.contains("of process `c`, and the phase has task `d`"),
            "{fault}"
        );
    }

    #[test]
    fn what_is_no_plan_is_refused() {
        check(
            TEXT,
            None,
            "solutions for 2, 3; --target LEVEL must name one",
        );
        check(TEXT, Some(2.5), "no solution for 2.5, only for 2, 3");
        check("{", None, "the plan is invalid: EOF");
        check("{}", None, "missing field `schema`; must be the output of");
        check(
            &TEXT.replace("balance/2", "balance-sweep/1"),
            None,
            "must be `migbsp.rebalance/`",
        );
        check(
            &TEXT.replace(r#"["0", "1"]"#, r#"["a", "1"]"#),
            None,
            "machine `a`, must be the number",
        );
        check(
            &TEXT.replace(r#""1", "1"]"#, r#""1", "2"]"#),
            Some(2.0),
            "no machine `2`",
        );
    }
}
