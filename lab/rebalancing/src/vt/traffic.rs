//! What tasks exchange, and the communications of a phase that are no exchange of two tasks.

use std::collections::BTreeMap;
use std::fmt;

use serde_json::value::RawValue;
use settings::Fault;

use crate::vt::spot::{Item, Spot};
use crate::vt::task::{ENTITY_KEYS, TaskId};

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
pub(super) struct Communication {
    /// The sender and the receiver, if both are tasks by their ids.
    pub(super) ends: Option<(TaskId, TaskId)>,
    kind: String,
    bytes: f64,
}

impl Communication {
    /// The communication whose text is `raw`, of the file of `rank`; `positions` has the tasks of the phase.
    ///
    /// # Errors
    ///
    /// If a value is missing or invalid.
    pub(super) fn read(
        item: Item<'_>,
        raw: &RawValue,
        rank: usize,
        positions: &BTreeMap<TaskId, usize>,
    ) -> Result<Self, Fault> {
        let value = item.parse(raw)?;
        let root = Spot::root(item, &value).object_of(&KEYS)?;
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
    pub(super) fn add(&mut self, one: &Communication, positions: &BTreeMap<TaskId, usize>) {
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
const KEYS: [&str; 5] = ["type", "from", "to", "messages", "bytes"];
