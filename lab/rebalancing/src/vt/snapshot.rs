//! A phase of all ranks: tasks, blocks, memory, and what tasks exchange.

use std::collections::BTreeMap;
use std::fmt;

use experiments::Failure;
use serde_json::Value;
use serde_json::value::RawValue;
use settings::{Fault, nearest};

use crate::instance::{json_problem, shortened};
use crate::vt::dump::{Dump, Object, RawPhase};

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

/// The communications of a phase.
#[derive(Clone, Debug, Default)]
pub(super) struct Traffic {
    /// The positions of two tasks, the lower one first, and the bytes of each communication between them.
    between: BTreeMap<(usize, usize), Vec<f64>>,
    count: usize,
    /// Number of those that are not used, by reason.
    unused: BTreeMap<String, usize>,
}

/// The ends of a communication.
#[derive(Clone, Debug, PartialEq)]
struct Communication {
    /// The sender and the receiver, if both are tasks by their ids.
    ends: Option<(TaskId, TaskId)>,
    kind: String,
    bytes: f64,
}

impl Communication {
    /// The communication whose text is `raw`, of the file of `rank`; `positions` has the tasks of the phase.
    ///
    /// # Errors
    ///
    /// If a value is missing or invalid.
    fn read(
        item: Item<'_>,
        raw: &RawValue,
        rank: usize,
        positions: &BTreeMap<TaskId, usize>,
    ) -> Result<Self, Fault> {
        let value = item.parse(raw)?;
        let root = Spot::root(item, &value).object_of(&COMMUNICATION_KEYS)?;
        let (from, to) = (root.get("from"), root.get("to"));
        let (from, to) = (from.object_of(&ENTITY_KEYS)?, to.object_of(&ENTITY_KEYS)?);
        let is_object = |end: &Spot<'_>| Ok::<_, Fault>(end.get("type").text()? == "object");
        let are_objects = is_object(&from)? && is_object(&to)?;
        Ok(Self {
            ends: match are_objects {
                true => Some((
                    TaskId::of_end(&from, rank, positions)?,
                    TaskId::of_end(&to, rank, positions)?,
                )),
                false => None,
            },
            kind: root.get("type").text()?.to_owned(),
            bytes: root.get("bytes").amount("bytes")?,
        })
    }
}

impl Traffic {
    /// Adds a communication; `positions` has the tasks' positions.
    ///
    /// As in LBAF and in the balancers of vt, only `SendRecv` counts: a broadcast goes along a tree of ranks.
    fn add(&mut self, one: &Communication, positions: &BTreeMap<TaskId, usize>) {
        self.count += 1;
        let reason = match one.ends {
            Some((from, to)) if one.kind == USED => {
                match (from.position(positions), to.position(positions)) {
                    (Some(from), Some(to)) if from == to => "within a task",
                    (Some(from), Some(to)) => {
                        let pair = (from.min(to), from.max(to));
                        self.between.entry(pair).or_default().push(one.bytes);
                        return;
                    }
                    _ => "with an end that is no task of the phase",
                }
            }
            _ => one.kind.as_str(),
        };
        *self.unused.entry(reason.to_owned()).or_default() += 1;
    }

    /// The positions of two tasks, the lower one first, and the bytes between them, both ways together. The same sums
    /// for the same communications in any order.
    pub(super) fn edges(&self) -> impl Iterator<Item = ((usize, usize), f64)> {
        self.between.iter().map(|(pair, bytes)| {
            let mut bytes = bytes.clone();
            bytes.sort_by(f64::total_cmp);
            (*pair, bytes.iter().sum())
        })
    }
}

/// How many communications are not used, and why; empty: all are.
impl fmt::Display for Traffic {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let unused: usize = self.unused.values().sum();
        if unused == 0 {
            return Ok(());
        }
        let reasons = self.unused.iter();
        let reasons: Vec<String> = reasons.map(|(why, n)| format!("{n} {why}")).collect();
        let (count, reasons) = (self.count, reasons.join(", "));
        write!(
            formatter,
            "{unused} of {count} communications are no exchange of two tasks: {reasons}"
        )
    }
}

/// The kind of communications between two tasks.
const USED: &str = "SendRecv";

/// The keys of a communication, as vt's schema has them.
const COMMUNICATION_KEYS: [&str; 5] = ["type", "from", "to", "messages", "bytes"];

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
    fn of(entity: &Spot<'_>, rank: usize) -> Result<Self, Fault> {
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
    fn of_end(
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
    fn position(self, positions: &BTreeMap<Self, usize>) -> Option<usize> {
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
    fn read(item: Item<'_>, raw: &RawValue, rank: usize) -> Result<Self, Fault> {
        let value = item.parse(raw)?;
        let root = Spot::root(item, &value).object_of(&TASK_KEYS)?;
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
const TASK_KEYS: [&str; 7] = [
    "entity",
    "node",
    "resource",
    "subphases",
    "time",
    "user_defined",
    "attributes",
];

/// The keys of a task's entity, and of an end of a communication.
const ENTITY_KEYS: [&str; 8] = [
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

/// An item of a list of a phase.
#[derive(Clone, Copy, Debug)]
struct Item<'a> {
    /// The file's path.
    file: &'a str,
    /// The phase's position in its file.
    phase: usize,
    /// `tasks` or `communications`.
    list: &'static str,
    /// The item's position in the list.
    number: usize,
}

/// A value inside an item, or its absence.
#[derive(Clone, Copy, Debug)]
struct Spot<'a> {
    item: Item<'a>,
    value: Option<&'a Value>,
    within: Option<(&'a Self, &'static str)>,
}

impl Item<'_> {
    /// The value of the item, whose text is `raw`.
    ///
    /// # Errors
    ///
    /// If a number is beyond all ranges, or lists are nested too deeply.
    fn parse(&self, raw: &RawValue) -> Result<Value, Fault> {
        serde_json::from_str(raw.get())
            .map_err(|error| Fault::new(Some(self.file), &self.name(), json_problem(&error)))
    }

    fn name(&self) -> String {
        format!("phases[{}].{}[{}]", self.phase, self.list, self.number)
    }
}

impl<'a> Spot<'a> {
    /// The whole item.
    const fn root(item: Item<'a>, value: &'a Value) -> Self {
        Self {
            item,
            value: Some(value),
            within: None,
        }
    }

    /// The value of `key`; null is as none.
    fn get(&'a self, key: &'static str) -> Self {
        let value = self.value.and_then(|value| value.get(key));
        Self {
            item: self.item,
            value: value.filter(|value| !value.is_null()),
            within: Some((self, key)),
        }
    }

    const fn is_absent(&self) -> bool {
        self.value.is_none()
    }

    /// The value, if it is an object.
    fn object(self) -> Result<Self, Fault> {
        self.required("an object", |value| value.is_object().then_some(()))?;
        Ok(self)
    }

    /// [`Self::object`], in which no key is a misspelt one of `known`.
    fn object_of(self, known: &[&'static str]) -> Result<Self, Fault> {
        let object = self.object()?;
        match object.similar_key(known) {
            Some((key, _)) => {
                let key = format!("{}.{key}", object.name());
                Err(Fault::unknown_key(Some(object.item.file), &key, known))
            }
            None => Ok(object),
        }
    }

    /// The first key of the object that is none of `known` and similar to one that is not there.
    fn similar_key(&self, known: &[&'static str]) -> Option<(String, &'static str)> {
        let keys = self.value?.as_object()?.keys();
        misspelt(&keys.map(String::as_str), known)
    }

    /// An object, or nothing.
    fn optional_object(self) -> Result<Self, Fault> {
        if self.is_absent() {
            Ok(self)
        } else {
            self.object()
        }
    }

    fn text(&self) -> Result<&'a str, Fault> {
        self.required("a string", Value::as_str)
    }

    fn boolean(&self) -> Result<bool, Fault> {
        self.required("true or false", Value::as_bool)
    }

    /// A whole number of at least 0.
    fn whole(&self) -> Result<u64, Fault> {
        self.required("a whole number of at least 0", Value::as_u64)
    }

    /// [`Self::whole`], or nothing.
    fn optional_whole(&self) -> Result<Option<u64>, Fault> {
        if self.is_absent() {
            return Ok(None);
        }
        self.whole().map(Some)
    }

    /// Whole numbers of at least 0, or nothing.
    fn optional_wholes(&self) -> Result<Option<Vec<u64>>, Fault> {
        if self.is_absent() {
            return Ok(None);
        }
        let numbers = |value: &Value| value.as_array()?.iter().map(Value::as_u64).collect();
        self.required("a list of whole numbers of at least 0", numbers)
            .map(Some)
    }

    /// A number of at least 0, of `unit`.
    fn amount(&self, unit: &str) -> Result<f64, Fault> {
        let rule = format!("a number of {unit}, 0 or from {LOW:e} to {HIGH:e}");
        let amount = |value: &Value| {
            let number = value.as_f64()?;
            let is_valid = number == 0.0 || (LOW..=HIGH).contains(&number);
            // Without the sign of -0.
            is_valid.then_some(number + 0.0)
        };
        self.required(&rule, amount)
    }

    /// [`Self::amount`], or nothing.
    fn optional_amount(&self, unit: &str) -> Result<Option<f64>, Fault> {
        if self.is_absent() {
            return Ok(None);
        }
        self.amount(unit).map(Some)
    }

    /// The number of a block; `None` if there is none, or it is below 0, which stands for none in LBAF.
    fn block(&self) -> Result<Option<u64>, Fault> {
        if self.is_absent() {
            return Ok(None);
        }
        // vt writes what a user's program gives, which may be a float.
        self.required("a whole number; below 0: none", |value| {
            let number = value.as_f64()?;
            match value.as_u64() {
                Some(number) => Some(Some(number)),
                None if number < 0.0 => Some(None),
                None => number.to_string().parse().ok().map(Some),
            }
        })
    }

    /// `problem`, at this place.
    fn fault(&self, problem: impl Into<String>) -> Fault {
        Fault::new(Some(self.item.file), &self.name(), problem.into())
    }

    /// The value does not keep `rule`.
    fn invalid(&self, rule: &str) -> Fault {
        let found = self.value.map_or_else(|| "null".to_owned(), shown);
        Fault::invalid(
            Some(self.item.file),
            &self.name(),
            found,
            format!("must be {rule}"),
        )
    }

    fn required<T>(
        &self,
        rule: &str,
        read: impl FnOnce(&'a Value) -> Option<T>,
    ) -> Result<T, Fault> {
        match self.value {
            None => Err(Fault::missing(Some(self.item.file), &self.name())),
            Some(value) => read(value).ok_or_else(|| self.invalid(rule)),
        }
    }

    fn name(&self) -> String {
        match self.within {
            None => self.item.name(),
            Some((outer, key)) => format!("{}.{key}", outer.name()),
        }
    }
}

/// The first of `keys` that is none of `known` and differs by few letters from one of them that is not among the keys.
/// Others are notes of other tools, or of other versions of the format.
pub(super) fn misspelt<'a>(
    keys: &(impl Iterator<Item = &'a str> + Clone),
    known: &[&'static str],
) -> Option<(String, &'static str)> {
    let is_alike = |key: &str, meant: &str| {
        SHORT < key.len() && key.len().abs_diff(meant.len()) <= LENGTHS_DIFFER
    };
    let unknown = keys.clone().filter(|key| !known.contains(key));
    unknown
        .filter_map(|key| Some((key.to_owned(), nearest(key, known)?)))
        .find(|(key, meant)| is_alike(key, meant) && keys.clone().all(|key| key != *meant))
}

/// `value` in a line of a message.
fn shown(value: &Value) -> String {
    let text = match value {
        Value::Array(_) => return "[…]".to_owned(),
        Value::Object(_) => return "{…}".to_owned(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.to_string(),
    };
    shortened(&text)
}

/// A key of so few letters is alike to too many.
const SHORT: usize = 3;

/// Letters by which a misspelt key is longer or shorter at most.
const LENGTHS_DIFFER: usize = 2;

/// The range of amounts that an instance takes, for seconds and bytes.
const LOW: f64 = 1e-9;
const HIGH: f64 = 1e15;
