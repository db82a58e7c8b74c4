//! A plan, read again and written into the files that vt wrote: each task in the file of its new rank.

use std::collections::BTreeMap;
use std::path::PathBuf;

use experiments::{Failure, OutputFile, Published};
use serde::Deserialize;
use serde_json::value::RawValue;
use settings::Fault;

use crate::instance::{json_problem, quoted};
use crate::search::Target;
use crate::solve::Report;
use crate::vt::dump::{Dump, METADATA, Metadata, Object, RawPhase, chosen};
use crate::vt::files::{RankFiles, compress};
use crate::vt::snapshot::{COMMUNICATIONS, RANK_BYTES, Snapshot, TASKS, Task, TaskId, highest};

/// The files after a plan.
#[derive(Clone, Debug)]
pub(crate) struct Exported {
    /// One for each rank, with the name of the file that was read, and compressed if that was.
    pub files: Vec<OutputFile>,
    /// Number of tasks of the phase.
    pub tasks: usize,
    /// Number of those that have another rank.
    pub moved: usize,
}

/// What an export is asked for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PlanSource<'a> {
    /// The name of the plan's file in messages.
    pub name: &'a str,
    /// The plan: results of a search in an imported instance, as JSON.
    pub text: &'a str,
    /// The target whose solution is meant; `None`: there is one.
    pub target: Option<Target>,
    /// The phase that was imported; `None`: the last one that all ranks have.
    pub phase: Option<u64>,
}

/// The files in `paths`, one for each rank, after the plan: its phase has each task in the file of its new rank, with
/// `node` and the `rank_working_bytes` of that rank. A communication goes with the task in whose file it was, the
/// sender first. All else is as it was, in the same characters.
///
/// # Errors
///
/// If a file or the plan is invalid, the plan is of other tasks, or it moves a task that may not migrate.
pub(crate) fn export(plan: PlanSource<'_>, paths: &[PathBuf]) -> Result<Exported, Failure> {
    let PlanSource {
        name,
        text,
        target,
        phase,
    } = plan;
    let plan = Plan::read(name, text, target)?;
    let files = RankFiles::read(paths)?;
    let dumps = Dump::all(&files)?;
    let id = chosen(&dumps, phase)?;
    let snapshot = Snapshot::read(&dumps, id)?;
    let fault = |problem: String| Fault::new(Some(name), "", problem);
    let names = snapshot.tasks.iter().map(|task| task.name.as_str());
    plan.check(&snapshot.loads(), &names.collect::<Vec<_>>())
        .map_err(fault)?;
    let mut moved = snapshot.tasks.iter().zip(&plan.ranks);
    if let Some((task, rank)) =
        moved.find(|(task, rank)| task.rank != **rank && !task.is_migratable)
    {
        let (task, from) = (&task.name, task.rank);
        let problem = format!(
            "the plan moves task `{task}` from rank {from} to {rank}, and it is not migratable"
        );
        return Err(fault(problem).into());
    }
    let phases = dumps.iter().map(|dump| dump.phase(id));
    let phases: Vec<&RawPhase<'_>> = phases.collect::<Result<_, _>>()?;
    let arrangement = Arrangement::new(&snapshot, &phases, &plan.ranks)?;
    let rewritten = dumps.iter().zip(&phases).map(|(dump, phase)| {
        let text = match arrangement.is_same(dump.rank) {
            true => dump.file.text.clone(),
            false => arrangement.file(dump, phase, id)?,
        };
        let contents = match dump.file.is_compressed {
            true => compress(&text),
            false => text.into_bytes(),
        };
        Ok(OutputFile::new(&dump.file.name, contents))
    });
    let moved = snapshot.tasks.iter().zip(&plan.ranks);
    Ok(Exported {
        files: rewritten.collect::<Result<_, Failure>>()?,
        tasks: plan.ranks.len(),
        moved: moved.filter(|(task, rank)| task.rank != **rank).count(),
    })
}

/// The contents of a phase after a plan.
struct Arrangement<'a> {
    snapshot: &'a Snapshot,
    /// By old rank: the texts of the tasks.
    tasks: Vec<Vec<&'a RawValue>>,
    /// By new rank, in the order of their old places: tasks.
    placed: Vec<Vec<&'a Task>>,
    /// By new rank: texts of communications.
    communications: Vec<Vec<&'a RawValue>>,
}

impl<'a> Arrangement<'a> {
    /// The arrangement in which each task of `snapshot` is on its rank of `ranks`.
    fn new(
        snapshot: &'a Snapshot,
        phases: &[&RawPhase<'a>],
        ranks: &[usize],
    ) -> Result<Self, Fault> {
        let places = snapshot.tasks.iter().zip(ranks);
        let new_ranks: BTreeMap<TaskId, (usize, usize)> = places
            .clone()
            .map(|(task, rank)| (task.id, (task.rank, *rank)))
            .collect();
        let mut placed: Vec<Vec<&Task>> = vec![Vec::new(); phases.len()];
        for (task, rank) in places {
            placed[*rank].push(task);
        }
        for (rank, tasks) in placed.iter_mut().enumerate() {
            // Those that stay first.
            tasks.sort_by_key(|task| (task.rank != rank, task.rank, task.number));
        }
        let mut communications: Vec<Vec<&RawValue>> = vec![Vec::new(); phases.len()];
        for (rank, phase) in phases.iter().enumerate() {
            let texts = phase.items(COMMUNICATIONS)?;
            for (text, ends) in texts.into_iter().zip(&snapshot.ends[rank]) {
                let ends = ends.iter().flat_map(|(from, to)| [from, to]);
                let mut known = ends.filter_map(|end| new_ranks.get(end));
                let own = known.find(|(old, _)| *old == rank);
                communications[own.map_or(rank, |(_, new)| *new)].push(text);
            }
        }
        let tasks = phases.iter().map(|phase| phase.items(TASKS));
        Ok(Self {
            snapshot,
            tasks: tasks.collect::<Result<_, _>>()?,
            placed,
            communications,
        })
    }

    /// Whether the file of `rank` is as it was.
    fn is_same(&self, rank: usize) -> bool {
        let all_stay = self.placed[rank].iter().all(|task| task.rank == rank);
        let were_these = self.placed[rank].len() == self.tasks[rank].len();
        all_stay && were_these && self.communications[rank].len() == self.snapshot.ends[rank].len()
    }

    /// The text of the file of `dump`, in which phase `id` changes, whose data `phase` has.
    ///
    /// Phases are identical to the one before them, so both `id` and the one that repeats it get data of their own.
    fn file(&self, dump: &Dump<'a>, phase: &RawPhase<'a>, id: u64) -> Result<String, Fault> {
        let changed = self.phase(dump, phase)?;
        let mut written = Vec::new();
        for one in &dump.phases {
            let is_source = one.number == phase.number;
            if !is_source || one.id != id {
                written.push(one.entries.text(|_, _| None));
            }
            if is_source {
                let object: Object<'_> = serde_json::from_str(&changed).map_err(unread)?;
                written.push(numbered(&object, id));
                written.extend(dump.repetition(id).map(|next| numbered(&one.entries, next)));
            }
        }
        let phases = array(written.into_iter());
        let mut identical = dump.metadata.identical.clone();
        identical.remove(&id);
        if let Some(next) = dump.repetition(id) {
            identical.remove(&next);
        }
        let is_new = identical != dump.metadata.identical;
        Ok(dump.entries.text(|key, raw| match key {
            "phases" => Some(phases.clone()),
            METADATA if is_new => Some(Metadata::text(raw, &identical)),
            _ => None,
        }))
    }

    fn phase(&self, dump: &Dump<'a>, phase: &RawPhase<'a>) -> Result<String, Fault> {
        let placed = &self.placed[dump.rank];
        let tasks: Result<Vec<String>, Fault> = placed
            .iter()
            .map(|task| self.task(task, dump.rank))
            .collect();
        let tasks = array(tasks?.into_iter());
        let raw = self.communications[dump.rank].iter();
        let communications = array(raw.map(|raw| raw.get().to_owned()));
        let user = self.user_defined(dump.rank, phase)?;
        let mut new = BTreeMap::from([(TASKS, tasks), (COMMUNICATIONS, communications)]);
        new.extend(user.map(|user| (USER, user)));
        let text = phase.entries.text(|key, _| new.get(key).cloned());
        // Keys that the phase did not have.
        new.retain(|key, value| {
            value != "[]" && !phase.entries.0.iter().any(|(own, _)| own == key)
        });
        let added = new
            .iter()
            .map(|(key, value)| format!(",{}:{value}", quoted(key)));
        let inner = text.strip_suffix('}').unwrap_or(&text);
        Ok(format!("{inner}{}}}", added.collect::<String>()))
    }

    /// The text of `task` on `rank`.
    fn task(&self, task: &Task, rank: usize) -> Result<String, Fault> {
        let raw = self.tasks[task.rank][task.number];
        if task.rank == rank {
            return Ok(raw.get().to_owned());
        }
        let object = read(raw)?;
        let base = self.snapshot.bases[rank];
        let user = object.get(USER).map(read).transpose()?;
        let user = user.map(|user| user.text(|key, _| (key == RANK_BYTES).then(|| number(base))));
        Ok(object.text(|key, _| match key {
            "node" => Some(rank.to_string()),
            USER => user.clone(),
            _ => None,
        }))
    }

    /// `user_defined` of `phase`, if it has to say what `rank` occupies because its tasks do not.
    fn user_defined(&self, rank: usize, phase: &RawPhase<'a>) -> Result<Option<String>, Fault> {
        let base = self.snapshot.bases[rank];
        let said = self.placed[rank]
            .iter()
            .filter_map(|task| match task.rank == rank {
                true => task.rank_working,
                false => task.rank_working.map(|_| base),
            });
        let own = phase.object(USER)?;
        let is_there = own
            .as_ref()
            .is_some_and(|own| own.get(RANK_BYTES).is_some());
        if is_there || highest(said).total_cmp(&base).is_eq() {
            return Ok(None);
        }
        let entry = format!("{}:{}", quoted(RANK_BYTES), number(base));
        let kept = own.map_or_else(String::new, |own| {
            let others = Object(
                own.0
                    .into_iter()
                    .filter(|(key, _)| key != RANK_BYTES)
                    .collect(),
            );
            others.text(|_, _| None)
        });
        let kept = kept
            .strip_prefix('{')
            .and_then(|kept| kept.strip_suffix('}'));
        Ok(Some(match kept.unwrap_or_default() {
            "" => format!("{{{entry}}}"),
            kept => format!("{{{kept},{entry}}}"),
        }))
    }
}

/// The text of a phase as that of phase `id`.
fn numbered(phase: &Object<'_>, id: u64) -> String {
    phase.text(|key, raw| {
        let has_other = key == "id" && raw.get() != id.to_string();
        has_other.then(|| id.to_string())
    })
}

/// An object that has been read once.
fn read(raw: &RawValue) -> Result<Object<'_>, Fault> {
    serde_json::from_str(raw.get()).map_err(unread)
}

fn unread(error: serde_json::Error) -> Fault {
    Fault::new(None, "", error)
}

/// `number` as JSON, with a point, as vt and LBAF write bytes.
fn number(number: f64) -> String {
    serde_json::Value::from(number).to_string()
}

fn array(items: impl Iterator<Item = String>) -> String {
    format!("[{}]", items.collect::<Vec<_>>().join(","))
}

/// What users add to a task or a phase.
const USER: &str = "user_defined";

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
struct Plan {
    ranks: Vec<usize>,
    /// The seconds of each rank before any move.
    loads_initial: Vec<f64>,
    /// Names of the processes; none: the plan has no names.
    processes: Vec<String>,
}

impl Plan {
    /// The plan in `text` for `target`, which need not be given if there is one; messages call its file `name`.
    ///
    /// # Errors
    ///
    /// If it is no result of a search in an imported instance, or does not have the target.
    fn read(name: &str, text: &str, target: Option<Target>) -> Result<Self, Failure> {
        let results: Results = serde_json::from_str(text).map_err(|error| {
            let (problem, line, column) = (json_problem(&error), error.line(), error.column());
            Failure::input(format!(
                "the plan is invalid: {problem}; must be the output of `migbsp rebalance INSTANCE --format json`\n  --> \
                 {name}:{line}:{column}"
            ))
        })?;
        let fault = |key: &str, problem: String| Fault::new(Some(name), key, problem);
        if results.schema != Report::SCHEMA {
            let (found, known) = (&results.schema, Report::SCHEMA);
            let problem = format!("the plan is `{found}`, must be `{known}`");
            return Err(fault("schema", problem).into());
        }
        let named = results.machines.iter().enumerate();
        let mut named = named.map(|(rank, name)| (rank.to_string() == **name, name));
        if let Some((_, machine)) = named.find(|(is_rank, _)| !is_rank) {
            let problem = format!("machine `{machine}`, must be the number of a rank");
            return Err(fault("machines", problem).into());
        }
        let ranks = results.machines.len();
        let (at, solution) = solution_for(&results.solutions, target)
            .map_err(|problem| fault("solutions", problem))?;
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
    fn check(&self, loads: &[f64], tasks: &[&str]) -> Result<(), String> {
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
fn solution_for(
    solutions: &[Solution],
    target: Option<Target>,
) -> Result<(usize, &Solution), String> {
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

const ADVICE: &str = "must be the plan of an import of these files and of this phase";

/// Relative difference of equal loads.
const TOLERANCE: f64 = 1e-9;

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"{"schema": "migbsp.rebalance/1", "machines": ["0", "1"], "processes": ["a", "b", "c"], "loads_initial": [3.0, 1.0], "solutions": [
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
            &TEXT.replace("balance/1", "balance-sweep/1"),
            None,
            "must be `migbsp.rebalance/1`",
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
