//! An instance of what vt measured.

use std::collections::BTreeMap;
use std::path::PathBuf;

use experiments::Failure;

use crate::instance::{Edge, Instance, Process};
use crate::vt::dump::{Dump, chosen};
use crate::vt::files::RankFiles;
use crate::vt::snapshot::{Snapshot, Task, highest};

/// What an import needs to know and vt's files do not say.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ImportOptions {
    /// The phase; `None`: the last one that all ranks have.
    pub phase: Option<u64>,
    /// MB that each rank may occupy; `None`: any number.
    pub memory: Option<f64>,
}

/// An instance, and what of the files it does not show.
#[derive(Clone, Debug)]
pub(crate) struct Imported {
    /// The instance.
    pub instance: Instance,
    /// Sentences about the files, for people.
    pub notes: Vec<String>,
}

/// The instance of a phase that vt wrote: a machine of capacity 1 for each rank, a process for each task, its workload
/// the seconds that it took. `paths` are the files of all ranks, or folders of them.
///
/// # Errors
///
/// If a file cannot be read or is invalid, ranks disagree, or the memory of `options` does not hold what ranks have.
pub(crate) fn import(paths: &[PathBuf], options: ImportOptions) -> Result<Imported, Failure> {
    let files = RankFiles::read(paths)?;
    let dumps = Dump::all(&files)?;
    let phase = chosen(&dumps, options.phase)?;
    let snapshot = Snapshot::read(&dumps, phase)?;
    let (clusters, note) = clusters(&dumps);
    let instance = Instance {
        name: format!("{} phase {phase}", files.stem),
        clusters,
        ..instance(&snapshot, options)?
    };
    // What the reader of instances refuses is refused here, with the keys of the instance.
    let name = &instance.name;
    Instance::from_json(name, instance.json())?;
    let unsized_tasks = snapshot.tasks.iter().filter(|task| size(task).is_none());
    let mut notes = vec![snapshot.traffic.to_string()];
    notes.push(note);
    notes.push(match unsized_tasks.count() {
        0 => String::new(),
        count => format!(
            "{} neither task_serialized_bytes nor task_footprint_bytes; {} size is {} MB",
            tasks_have(count),
            if count == 1 { "its" } else { "their" },
            UNKNOWN_SIZE / MB
        ),
    });
    notes.push(unread(&snapshot));
    notes.retain(|note| !note.is_empty());
    Ok(Imported { instance, notes })
}

/// The instance of `snapshot`, without names of its own.
fn instance(snapshot: &Snapshot, options: ImportOptions) -> Result<Instance, Failure> {
    let numbers = snapshot.blocks.keys().enumerate();
    let numbers: BTreeMap<u64, usize> = numbers.map(|(at, block)| (*block, at)).collect();
    let process = |task: &Task| Process {
        name: Some(task.name.clone()),
        workload: task.seconds,
        size: size(task).unwrap_or(UNKNOWN_SIZE) / MB,
        machine: task.rank,
        movable: task.is_migratable,
        memory: task.footprint.unwrap_or(0.0) / MB,
        blocks: task.block.iter().map(|(block, _)| numbers[block]).collect(),
    };
    let edges = snapshot.traffic.edges();
    let ranks = snapshot.bases.len();
    let memory = options.memory.map(|limit| {
        let rest = reserved(snapshot).into_iter().enumerate();
        rest.map(|(rank, bytes)| left(limit, rank, bytes)).collect()
    });
    Ok(Instance {
        name: String::new(),
        capacities: vec![1.0; ranks],
        machines: (0..ranks).map(|rank| rank.to_string()).collect(),
        clusters: vec![0; ranks],
        bandwidth_intra: BANDWIDTH,
        bandwidth_inter: BANDWIDTH,
        memory: memory.transpose()?,
        blocks: snapshot.blocks.values().map(|bytes| bytes / MB).collect(),
        processes: snapshot.tasks.iter().map(process).collect(),
        edges: edges
            .map(|(processes, bytes)| Edge { processes, bytes })
            .collect(),
        weight: 0.0,
        phases: Vec::new(),
        targets: Vec::new(),
    })
}

/// By rank: bytes that are not there for tasks and blocks, wherever tasks are.
///
/// LBAF adds the largest `task_working_bytes` of the tasks of a rank, because one runs at a time. A sum has no largest, so
/// every rank reserves the largest of all tasks. That is never less, and the same if all are alike.
fn reserved(snapshot: &Snapshot) -> Vec<f64> {
    let working = highest(snapshot.tasks.iter().map(|task| task.working));
    snapshot.bases.iter().map(|base| base + working).collect()
}

/// MB that remain of `limit` MB on a rank that reserves these bytes.
fn left(limit: f64, rank: usize, bytes: f64) -> Result<f64, Failure> {
    let left = (limit * MB - bytes) / MB;
    if left < 0.0 {
        return Err(Failure::Usage(format!(
            "--memory {limit}: rank {rank} occupies {} MB without its tasks (rank_working_bytes, and the largest \
             task_working_bytes); must be more",
            bytes / MB
        )));
    }
    Ok(left)
}

/// Bytes that a move transfers; `None`: the file does not say.
fn size(task: &Task) -> Option<f64> {
    task.serialized.or(task.footprint)
}

/// That keys of `user_defined` are similar to ones that are used; empty: none are.
fn unread(snapshot: &Snapshot) -> String {
    let similar = snapshot
        .tasks
        .iter()
        .filter_map(|task| task.similar.as_ref());
    let count = similar.clone().count();
    similar.clone().next().map_or_else(String::new, |(key, meant)| {
        let tasks = tasks_have(count);
        format!("{tasks} keys in user_defined that are not used, as `{key}`; did you mean `{meant}`?")
    })
}

fn tasks_have(count: usize) -> String {
    match count {
        1 => "1 task has".to_owned(),
        count => format!("{count} tasks have"),
    }
}

/// The cluster of each rank: the machine that it ran on, if all files say, or else one for all. The second says what
/// was done if only some do.
fn clusters(dumps: &[Dump<'_>]) -> (Vec<u64>, String) {
    let known = dumps.iter().filter_map(|dump| dump.metadata.shared_node);
    let known: Vec<u64> = known.collect();
    if known.len() == dumps.len() {
        return (known, String::new());
    }
    let note = match known.len() {
        0 => String::new(),
        count => format!(
            "{count} of {} ranks have a shared_node, so all are in one cluster",
            dumps.len()
        ),
    };
    (vec![0; dumps.len()], note)
}

/// Bytes of a megabyte.
const MB: f64 = 1e6;

/// Bytes of a task whose size is not known, so that moves cost something.
const UNKNOWN_SIZE: f64 = 1e6;

/// MB/s between all ranks, of which vt says nothing.
const BANDWIDTH: f64 = 1000.0;
