//! A plan written into the files that vt wrote: each task in the file of its new rank.

use std::collections::BTreeMap;
use std::path::PathBuf;

use experiments::{Failure, OutputFile};
use serde_json::value::RawValue;
use settings::Fault;

use crate::target::Target;
use crate::vt::compression::compress;
use crate::vt::document::{Object, quoted};
use crate::vt::dump::{Dump, RawPhase, chosen};
use crate::vt::files::RankFiles;
use crate::vt::metadata::{METADATA, Metadata};
use crate::vt::plan::Plan;
use crate::vt::snapshot::{COMMUNICATIONS, RANK_BYTES, Snapshot, TASKS, highest};
use crate::vt::task::{Task, TaskId};

/// The files after a plan.
#[derive(Clone, Debug)]
pub struct Exported {
    /// One for each rank, with the name of the file that was read, and compressed if that was.
    pub files: Vec<OutputFile>,
    /// Number of tasks of the phase.
    pub tasks: usize,
    /// Number of those that have another rank.
    pub moved: usize,
}

/// What an export is asked for.
#[derive(Clone, Copy, Debug)]
pub struct PlanSource<'a> {
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
pub fn export(plan: PlanSource<'_>, paths: &[PathBuf]) -> Result<Exported, Failure> {
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
