//! A phase of all ranks: tasks, blocks, memory, and what tasks exchange.

use std::collections::BTreeMap;

use experiments::Failure;
use settings::Fault;

use crate::vt::document::Object;
use crate::vt::dump::{Dump, RawPhase};
use crate::vt::spot::Item;
use crate::vt::task::{Task, TaskId};
use crate::vt::traffic::{Communication, Traffic};

/// A phase of all ranks. Amounts are seconds and bytes.
#[derive(Clone, Debug)]
pub(super) struct Snapshot {
    /// By [`TaskId`], so that their order does not depend on where they are.
    pub(super) tasks: Vec<Task>,
    /// By rank: memory that it occupies without tasks.
    pub(super) bases: Vec<f64>,
    /// By `shared_id`: bytes.
    pub(super) blocks: BTreeMap<u64, f64>,
    pub(super) traffic: Traffic,
    /// By rank and position in its file: sender and receiver, if both are objects.
    pub(super) ends: Vec<Vec<Option<(TaskId, TaskId)>>>,
}

impl Snapshot {
    /// The phase `id` of `dumps`.
    ///
    /// # Errors
    ///
    /// If a value is invalid, a task is on two ranks, a block has two sizes, or there is no task.
    pub(super) fn read(dumps: &[Dump<'_>], id: u64) -> Result<Self, Failure> {
        let mut tasks = Vec::new();
        let mut bases = Vec::new();
        for dump in dumps {
            let phase = dump.phase(id)?;
            let own = tasks_of(dump, phase)?;
            bases.push(base(dump, phase, &own)?);
            tasks.extend(own);
        }
        tasks.sort_by_key(|task| task.id);
        if tasks.is_empty() {
            let problem = format!("there is no task in phase {id}, on any rank");
            return Err(Failure::input(problem));
        }
        let twice = tasks.windows(2).find(|pair| pair[0].id == pair[1].id);
        if let Some([first, second]) = twice {
            return Err(duplicate(dumps, first, second).into());
        }
        let positions = tasks.iter().enumerate();
        let positions = positions.map(|(at, task)| (task.id, at)).collect();
        let (traffic, ends) = exchanged(dumps, id, &positions)?;
        Ok(Self {
            blocks: blocks(dumps, &tasks)?,
            tasks,
            bases,
            traffic,
            ends,
        })
    }

    /// By rank: the seconds of its tasks.
    pub(super) fn loads(&self) -> Vec<f64> {
        let mut loads = vec![0.0; self.bases.len()];
        for task in &self.tasks {
            loads[task.rank] += task.seconds;
        }
        loads
    }
}

/// The memory that a rank occupies without tasks: `rank_working_bytes` of the phase, which a rank has if its tasks
/// do not say, or else the highest of its tasks.
///
/// vt repeats it at each task of the rank. LBAF takes the last one, and keeps those of tasks that it moved here.
fn base(dump: &Dump<'_>, phase: &RawPhase<'_>, tasks: &[Task]) -> Result<f64, Fault> {
    let own = phase.object("user_defined")?;
    match own
        .as_ref()
        .and_then(|own: &Object<'_>| own.get(RANK_BYTES))
    {
        Some(raw) => {
            let bytes = raw.get().parse().ok();
            let bytes = bytes.filter(|bytes: &f64| bytes.is_finite() && 0.0 <= *bytes);
            bytes.ok_or_else(|| {
                let key = format!("phases[{}].user_defined.{RANK_BYTES}", phase.number);
                let rule = "must be a number of bytes of at least 0";
                Fault::invalid(Some(&dump.file.path), &key, raw.get(), rule)
            })
        }
        None => Ok(highest(tasks.iter().filter_map(|task| task.rank_working))),
    }
}

/// The highest of `amounts`; 0: there are none.
pub(super) fn highest(amounts: impl Iterator<Item = f64>) -> f64 {
    amounts.fold(0.0, f64::max)
}

fn tasks_of(dump: &Dump<'_>, phase: &RawPhase<'_>) -> Result<Vec<Task>, Fault> {
    let items = phase.items(TASKS)?.into_iter().enumerate();
    items
        .map(|(number, raw)| {
            let item = Item {
                file: &dump.file.path,
                phase: phase.number,
                list: TASKS,
                number,
            };
            Task::read(item, raw, dump.rank)
        })
        .collect()
}

/// The communications of all ranks, and the ends of each.
#[expect(
    clippy::type_complexity,
    reason = "the second is the field `ends`, as it is"
)]
fn exchanged(
    dumps: &[Dump<'_>],
    id: u64,
    positions: &BTreeMap<TaskId, usize>,
) -> Result<(Traffic, Vec<Vec<Option<(TaskId, TaskId)>>>), Fault> {
    let mut traffic = Traffic::default();
    let mut all = Vec::new();
    for dump in dumps {
        let phase = dump.phase(id)?;
        let mut ends = Vec::new();
        for (number, raw) in phase.items(COMMUNICATIONS)?.into_iter().enumerate() {
            let item = Item {
                file: &dump.file.path,
                phase: phase.number,
                list: COMMUNICATIONS,
                number,
            };
            let one = Communication::read(item, raw, dump.rank, positions)?;
            traffic.add(&one, positions);
            ends.push(one.ends);
        }
        all.push(ends);
    }
    Ok((traffic, all))
}

/// The size of each block.
fn blocks(dumps: &[Dump<'_>], tasks: &[Task]) -> Result<BTreeMap<u64, f64>, Fault> {
    let mut blocks: BTreeMap<u64, (f64, &Task)> = BTreeMap::new();
    for task in tasks {
        let Some((block, bytes)) = task.block else {
            continue;
        };
        let (size, first) = blocks.entry(block).or_insert((bytes, task));
        if size.total_cmp(&bytes).is_ne() {
            let other = &dumps[first.rank].file.path;
            let (name, own) = (&first.name, &task.name);
            return Err(Fault::new(
                Some(&dumps[task.rank].file.path),
                "shared_bytes",
                format!(
                    "block {block} has {bytes} bytes at task `{own}`, and {size} at task `{name}` in {other}; must be the \
                     same for all its tasks"
                ),
            ));
        }
    }
    let sizes = blocks.into_iter();
    Ok(sizes.map(|(block, (size, _))| (block, size)).collect())
}

fn duplicate(dumps: &[Dump<'_>], first: &Task, second: &Task) -> Fault {
    let other = &dumps[first.rank].file.path;
    let name = &second.name;
    Fault::new(
        Some(&dumps[second.rank].file.path),
        "tasks",
        format!("task `{name}` is in {other} as well; must be on one rank, once"),
    )
}

/// The list of tasks of a phase.
pub(super) const TASKS: &str = "tasks";

/// The list of communications of a phase.
pub(super) const COMMUNICATIONS: &str = "communications";

/// The key, of a task or phase, with the memory that a rank occupies without tasks.
pub(super) const RANK_BYTES: &str = "rank_working_bytes";
