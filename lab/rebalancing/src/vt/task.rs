//! A task of a phase.

use std::collections::BTreeMap;
use std::fmt;

use serde_json::value::RawValue;
use settings::Fault;

use crate::vt::spot::{Item, Spot};

/// What identifies a task.
///
/// Ids are unique among all ranks, as LBAF takes them: `id` has the home rank in its bits, `seq_id` is a number that a
/// generator chose. The order is that of an instance's processes, and does not depend on where tasks are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum TaskId {
    /// `id`: kind, home rank and number in one.
    Packed(u64),
    /// `seq_id`.
    Sequence(u64),
    /// `id` 0 that is not migratable, vt's `no_element_id`: what a rank did outside all elements. Each rank may have one.
    /// (Generated files have 0 as the id of a migratable task.)
    NoElement(usize),
}

/// A task. Amounts are seconds and bytes.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Task {
    pub(super) id: TaskId,
    /// Its text for people, which no other task has.
    pub(super) name: String,
    /// The rank that it ran on.
    pub(super) rank: usize,
    /// Its position in the list of its file.
    pub(super) number: usize,
    pub(super) is_migratable: bool,
    pub(super) seconds: f64,
    /// `task_serialized_bytes`.
    pub(super) serialized: Option<f64>,
    /// `task_footprint_bytes`.
    pub(super) footprint: Option<f64>,
    /// `task_working_bytes`.
    pub(super) working: f64,
    /// `rank_working_bytes`.
    pub(super) rank_working: Option<f64>,
    /// `shared_id` and `shared_bytes`.
    pub(super) block: Option<(u64, f64)>,
    /// A key of `user_defined` that is not used, and a similar one that is.
    pub(super) similar: Option<(String, &'static str)>,
}

impl TaskId {
    /// The id in `entity`; `rank` is that of its file.
    pub(super) fn of(entity: &Spot<'_>, rank: usize) -> Result<Self, Fault> {
        let (packed, sequence) = (entity.get("id"), entity.get("seq_id"));
        match (packed.optional_whole()?, sequence.optional_whole()?) {
            (Some(0), _) if !is_migratable(entity)? => Ok(Self::NoElement(rank)),
            (Some(id), _) => Ok(Self::Packed(id)),
            (None, Some(id)) => Ok(Self::Sequence(id)),
            (None, None) => Err(entity.fault("missing key `id` or `seq_id`")),
        }
    }
}

impl TaskId {
    /// The id of an end of a communication in the file of `rank`, whose phase has the tasks of `positions`.
    ///
    /// `migratable` is optional there. Without it, id 0 is the phase's task 0, if there is one, as in LBAF.
    pub(super) fn of_end(
        entity: &Spot<'_>,
        rank: usize,
        positions: &BTreeMap<Self, usize>,
    ) -> Result<Self, Fault> {
        let id = Self::of(entity, rank)?;
        if !matches!(id, Self::NoElement(_)) {
            return Ok(id);
        }
        let task = Self::Packed(0);
        if entity.get("migratable").is_absent() && positions.contains_key(&task) {
            return Ok(task);
        }
        Ok(Self::only_no_element(positions).unwrap_or(id))
    }

    /// The position of the task; `None`: there is none, or several ranks have a task of this id.
    pub(super) fn position(self, positions: &BTreeMap<Self, usize>) -> Option<usize> {
        let is_ambiguous =
            matches!(self, Self::NoElement(_)) && Self::only_no_element(positions) != Some(self);
        (!is_ambiguous).then(|| positions.get(&self).copied())?
    }

    /// The task with id 0 that is not migratable, if one rank has it.
    fn only_no_element(positions: &BTreeMap<Self, usize>) -> Option<Self> {
        let of_ranks = Self::NoElement(0)..=Self::NoElement(usize::MAX);
        let mut tasks = positions.range(of_ranks).map(|(id, _)| *id);
        tasks.next().filter(|_| tasks.next().is_none())
    }
}

impl fmt::Display for TaskId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Packed(id) => write!(formatter, "{id}"),
            Self::Sequence(id) => write!(formatter, "seq {id}"),
            Self::NoElement(rank) => write!(formatter, "0 of rank {rank}"),
        }
    }
}

impl Task {
    /// The task whose text is `raw`, of the file of `rank`.
    ///
    /// # Errors
    ///
    /// If a value is missing or invalid.
    pub(super) fn read(item: Item<'_>, raw: &RawValue, rank: usize) -> Result<Self, Fault> {
        let value = item.parse(raw)?;
        let root = Spot::root(item, &value).object_of(&KEYS)?;
        let entity = root.get("entity");
        let entity = entity.object_of(&ENTITY_KEYS)?;
        let kind = entity.get("type");
        if kind.text()? != "object" {
            return Err(kind.invalid("`object`"));
        }
        let node = root.get("node");
        if u64::try_from(rank) != Ok(node.whole()?) {
            return Err(node.invalid(&format!("{rank}, the rank in the file's name")));
        }
        let id = TaskId::of(&entity, rank)?;
        let user = root.get("user_defined");
        let user = user.optional_object()?;
        let similar = user.similar_key(&USER_KEYS);
        let bytes = |key| user.get(key).optional_amount("bytes");
        let shared_bytes = bytes("shared_bytes")?;
        let block = user.get("shared_id").block()?;
        Ok(Self {
            id,
            name: name(id, &entity)?,
            rank,
            number: item.number,
            is_migratable: entity.get("migratable").boolean()?,
            seconds: root.get("time").amount("seconds")?,
            serialized: bytes("task_serialized_bytes")?,
            footprint: bytes("task_footprint_bytes")?,
            working: bytes("task_working_bytes")?.unwrap_or(0.0),
            rank_working: bytes("rank_working_bytes")?,
            block: block.map(|block| (block, shared_bytes.unwrap_or(0.0))),
            similar,
        })
    }
}

/// Whether `entity` says that it may migrate.
fn is_migratable(entity: &Spot<'_>) -> Result<bool, Fault> {
    let value = entity.get("migratable");
    if value.is_absent() {
        return Ok(false);
    }
    value.boolean()
}

/// `3407875 (7[0,3])`: the id, and collection and index if there are.
fn name(id: TaskId, entity: &Spot<'_>) -> Result<String, Fault> {
    let collection = entity.get("collection_id").optional_whole()?;
    let index = entity.get("index").optional_wholes()?;
    let index = index.map_or_else(String::new, |index| {
        let index: Vec<String> = index.iter().map(ToString::to_string).collect();
        format!("[{}]", index.join(","))
    });
    Ok(match collection {
        Some(collection) => format!("{id} ({collection}{index})"),
        None => id.to_string(),
    })
}

/// The keys of a task, as vt's schema has them.
const KEYS: [&str; 7] = [
    "entity",
    "node",
    "resource",
    "subphases",
    "time",
    "user_defined",
    "attributes",
];

/// The keys of a task's entity, and of an end of a communication.
pub(super) const ENTITY_KEYS: [&str; 8] = [
    "type",
    "id",
    "seq_id",
    "home",
    "migratable",
    "collection_id",
    "objgroup_id",
    "index",
];

/// The keys of `user_defined` that are used.
const USER_KEYS: [&str; 6] = [
    "task_serialized_bytes",
    "task_footprint_bytes",
    "task_working_bytes",
    "rank_working_bytes",
    "shared_id",
    "shared_bytes",
];
