//! Reading an instance file: the text, its values with their places, and the rules that they keep.

use std::collections::BTreeSet;
use std::iter;
use std::path::Path;

use bsp::check_name;
use experiments::Failure;
use settings::{Fault, Node, Value, list};

use crate::instance::{AMOUNT, Edge, Instance, Item, Phase, Process, RATE, Range, positions};

/// The instance in `source`.
pub(super) fn read(source: &Source) -> Result<Instance, Fault> {
    let root = Place::root(source);
    let entries = root.entries("an instance", &KEYS, &NOTES)?;
    let capacities = entries.required("capacities")?.numbers(RATE)?;
    let clusters = clusters(&entries.required("cluster")?, capacities.len())?;
    let bandwidth = entries.required("bandwidth")?;
    let bandwidth = bandwidth.entries("bandwidth", &["intra", "inter"], &[])?;
    let blocks = optional_list(&entries, "blocks", |place| place.number(AMOUNT))?;
    let places = entries.required("processes")?;
    let mut taken = BTreeSet::new();
    let processes: Vec<Process> = places
        .items(&format!("a list of {ROW}"))?
        .map(|place| process(&place, (capacities.len(), blocks.len()), &mut taken))
        .collect::<Result<_, _>>()?;
    let count = processes.len();
    let instance = Instance {
        name: match entries.optional("name") {
            Some(name) => name.shown()?.to_owned(),
            None => source.stem(),
        },
        bandwidth_intra: bandwidth.required("intra")?.number(RATE)?,
        bandwidth_inter: bandwidth.required("inter")?.number(RATE)?,
        processes,
        memory: match entries.optional("memory") {
            Some(place) => Some(one_each(&place, capacities.len(), "machine")?),
            None => None,
        },
        blocks,
        edges: optional_list(&entries, "edges", |place| edge(place, count))?,
        weight: match entries.optional("weight") {
            Some(place) => place.number(AMOUNT)?,
            None => 0.0,
        },
        phases: phases(&entries, count)?,
        targets: match entries.optional("targets") {
            Some(place) => place.some_numbers(RATE)?,
            None => Vec::new(),
        },
        machines: match entries.optional("machines") {
            Some(place) => names(&place, capacities.len())?,
            None => positions(capacities.len()),
        },
        capacities,
        clusters,
    };
    let Some((item, problem)) = instance.memory_exceeded() else {
        return Ok(instance);
    };
    let (key, number) = match item {
        Some(Item::Process(process)) => ("processes", Some(process)),
        Some(Item::Machine(machine)) => ("memory", Some(machine)),
        None => ("memory", None),
    };
    let place = entries.required(key)?;
    Err(match number.and_then(|number| place.item(number)) {
        Some(item) => item.fault(problem),
        None => place.fault(problem),
    })
}

/// The items of the list `key`, each read by `read`; none if there is no such key or the list is empty.
fn optional_list<T>(
    entries: &Entries<'_>,
    key: &'static str,
    read: impl Fn(&Place<'_>) -> Result<T, Fault>,
) -> Result<Vec<T>, Fault> {
    let Some(place) = entries.optional(key) else {
        return Ok(Vec::new());
    };
    if place.is_empty_list() {
        return Ok(Vec::new());
    }
    let items = place.items("a list")?;
    items.map(|place| read(&place)).collect()
}

/// A list with a number for each of `count` things, which are called `what`.
fn one_each(place: &Place<'_>, count: usize, what: &str) -> Result<Vec<f64>, Fault> {
    let numbers = place.numbers(AMOUNT)?;
    if numbers.len() != count {
        let found = numbers.len();
        return Err(place.fault(format!(
            "{found} numbers, must be one for each {what}: {count}"
        )));
    }
    Ok(numbers)
}

/// The name of each machine.
fn names(place: &Place<'_>, machines: usize) -> Result<Vec<String>, Fault> {
    let (mut names, mut taken) = (Vec::new(), BTreeSet::new());
    for place in place.items("a list with the name of each machine")? {
        let name = place.shown()?;
        if !taken.insert(name) {
            return Err(place.invalid("must not be the name of another machine".to_owned()));
        }
        names.push(name.to_owned());
    }
    if names.len() != machines {
        return Err(place.fault(format!(
            "{} names for {machines} capacities, must be one for each machine",
            names.len()
        )));
    }
    Ok(names)
}

/// One cluster for each machine.
fn clusters(place: &Place<'_>, machines: usize) -> Result<Vec<u64>, Fault> {
    let clusters: Vec<u64> = place
        .items("a list with the cluster of each machine")?
        .map(|place| place.whole(u64::MAX, ""))
        .collect::<Result<_, _>>()?;
    if clusters.len() != machines {
        return Err(place.fault(format!(
            "{} clusters for {machines} capacities, must be one for each machine",
            clusters.len()
        )));
    }
    let mut distinct = clusters.clone();
    distinct.sort_unstable();
    distinct.dedup();
    if CLUSTERS_MAX < distinct.len() {
        return Err(place.fault(format!(
            "{} clusters, must be at most {CLUSTERS_MAX}",
            distinct.len()
        )));
    }
    Ok(clusters)
}

/// A process on one of as many machines, with as many blocks; its name is none of those `taken` before.
fn process(
    place: &Place<'_>,
    (machines, blocks): (usize, usize),
    taken: &mut BTreeSet<String>,
) -> Result<Process, Fault> {
    if !place.is_object() {
        return row(place, machines);
    }
    let entries = place.entries("a process", &PROCESS_KEYS, &[])?;
    let machine = entries.required("machine")?;
    let name = match entries.optional("name") {
        Some(place) => {
            let name = place.shown()?;
            if !taken.insert(name.to_owned()) {
                return Err(place.invalid("must not be the name of another process".to_owned()));
            }
            Some(name.to_owned())
        }
        None => None,
    };
    let mut used = optional_list(&entries, "blocks", |place| {
        position(place, blocks, "an index into `blocks`")
    })?;
    used.sort_unstable();
    used.dedup();
    Ok(Process {
        name,
        workload: entries.required("workload")?.number(AMOUNT)?,
        size: entries.required("size")?.number(AMOUNT)?,
        machine: position(&machine, machines, MACHINE)?,
        movable: match entries.optional("movable") {
            Some(place) => place.boolean()?,
            None => true,
        },
        memory: match entries.optional("memory") {
            Some(place) => place.number(AMOUNT)?,
            None => 0.0,
        },
        blocks: used,
    })
}

/// `[workload, size, machine]`.
fn row(place: &Place<'_>, machines: usize) -> Result<Process, Fault> {
    let mut items = place.items(ROW)?;
    let (Some(workload), Some(size), Some(machine), None) =
        (items.next(), items.next(), items.next(), items.next())
    else {
        let found = place.items(ROW)?.count();
        return Err(place.fault(format!("{found} values, must be {ROW}")));
    };
    let machine = position(&machine, machines, MACHINE)?;
    Ok(Process::new(
        workload.number(AMOUNT)?,
        size.number(AMOUNT)?,
        machine,
    ))
}

/// `[process, process, bytes]`, of as many processes.
fn edge(place: &Place<'_>, processes: usize) -> Result<Edge, Fault> {
    let mut items = place.items(EDGE)?;
    let (Some(from), Some(to), Some(bytes), None) =
        (items.next(), items.next(), items.next(), items.next())
    else {
        let found = place.items(EDGE)?.count();
        return Err(place.fault(format!("{found} values, must be {EDGE}")));
    };
    let end = |place: &Place<'_>| position(place, processes, "an index into `processes`");
    Ok(Edge {
        processes: (end(&from)?, end(&to)?),
        bytes: bytes.number(AMOUNT)?,
    })
}

/// The phases of as many processes.
fn phases(entries: &Entries<'_>, processes: usize) -> Result<Vec<Phase>, Fault> {
    let phases = optional_list(entries, "phases", |place| {
        let entries = place.entries("a phase", &["name", "workloads", "edges"], &[])?;
        Ok(Phase {
            name: entries.required("name")?.shown()?.to_owned(),
            workloads: one_each(&entries.required("workloads")?, processes, "process")?,
            edges: optional_list(&entries, "edges", |place| edge(place, processes))?,
        })
    })?;
    let mut names = BTreeSet::new();
    if let Some(twice) = phases.iter().find(|phase| !names.insert(&phase.name)) {
        let place = entries.required("phases")?;
        return Err(place.fault(format!("two phases have the name `{}`", twice.name)));
    }
    Ok(phases)
}

/// A position below `count`, which is `what`.
fn position(place: &Place<'_>, count: usize, what: &'static str) -> Result<usize, Fault> {
    let Some(last) = count.checked_sub(1) else {
        return Err(place.invalid(format!("must be {what}, which has no items")));
    };
    let position = place.whole(u64::try_from(last).unwrap_or(u64::MAX), what)?;
    Ok(usize::try_from(position).expect("it is below a length"))
}

/// Keys of an instance.
const KEYS: [&str; 12] = [
    "name",
    "capacities",
    "machines",
    "cluster",
    "bandwidth",
    "memory",
    "blocks",
    "processes",
    "edges",
    "weight",
    "phases",
    "targets",
];

/// Keys of a process.
const PROCESS_KEYS: [&str; 7] = [
    "name", "workload", "size", "machine", "movable", "memory", "blocks",
];

/// Keys with notes, which are ignored.
const NOTES: [&str; 7] = [
    "best_known_cost",
    "comment",
    "dc_initial",
    "dc_optimal",
    "imlp_cost",
    "lower_bound",
    "proved_optimal",
];

const ROW: &str = "[workload, size in MB, machine]";
const EDGE: &str = "[process, process, bytes]";
const MACHINE: &str = "an index into `capacities`";

/// Maximum number of clusters: there is a path from each to each.
const CLUSTERS_MAX: usize = 1024;

/// A value, and the path to it.
#[derive(Clone, Copy, Debug)]
struct Place<'a> {
    source: &'a Source,
    node: &'a Node,
    within: Option<&'a Self>,
    /// The number of the entry or item.
    number: usize,
    /// The key, if it is an entry.
    key: Option<&'a str>,
}

/// The entries of an object, none of which is unknown or duplicated.
#[derive(Debug)]
struct Entries<'a> {
    place: &'a Place<'a>,
    entries: &'a [(String, Node)],
}

impl<'a> Place<'a> {
    /// The whole file.
    const fn root(source: &'a Source) -> Self {
        Self {
            source,
            node: &source.tree,
            within: None,
            number: 0,
            key: None,
        }
    }

    /// The entries, all of which have to be of `keys` or `notes`.
    fn entries(
        &'a self,
        what: &str,
        keys: &'static [&'static str],
        notes: &[&str],
    ) -> Result<Entries<'a>, Fault> {
        let Value::Table(entries) = &self.node.value else {
            let known = list(keys);
            return Err(self.invalid(format!("must be {what}: an object with {known}")));
        };
        for (number, (key, node)) in entries.iter().enumerate() {
            let place = self.entry(number, key, node);
            if !keys.contains(&key.as_str()) && !notes.contains(&key.as_str()) {
                return Err(Fault::unknown_key(
                    Some(&place.origin()),
                    &place.name(),
                    keys,
                ));
            }
            if let Some(first) = entries[..number].iter().position(|(other, _)| other == key) {
                let first = self.source.place(&self.entry(first, key, node).path());
                return Err(place.fault(format!("duplicate key, first in {first}")));
            }
        }
        Ok(Entries {
            place: self,
            entries,
        })
    }

    /// The items of a list.
    fn items(&'a self, expected: &str) -> Result<impl Iterator<Item = Place<'a>>, Fault> {
        let Value::Array(items) = &self.node.value else {
            return Err(self.invalid(format!("must be {expected}")));
        };
        if items.is_empty() {
            return Err(self.invalid(format!("must be {expected}")));
        }
        let item = move |(number, node)| Place {
            source: self.source,
            node,
            within: Some(self),
            number,
            key: None,
        };
        Ok(items.iter().enumerate().map(item))
    }

    /// A list of at least one number within `range`.
    fn numbers(&self, range: Range) -> Result<Vec<f64>, Fault> {
        self.items("a list of numbers")?
            .map(|place| place.number(range))
            .collect()
    }

    /// A list of numbers within `range`, which may be empty.
    fn some_numbers(&self, range: Range) -> Result<Vec<f64>, Fault> {
        match &self.node.value {
            Value::Array(items) if items.is_empty() => Ok(Vec::new()),
            _ => self.numbers(range),
        }
    }

    /// A number within `range`.
    fn number(&self, range: Range) -> Result<f64, Fault> {
        let number = match self.node.value {
            Value::Float(number) => Some(number),
            #[expect(
                clippy::as_conversions,
                clippy::cast_precision_loss,
                reason = "a whole number beyond what a float holds is beyond the range, too"
            )]
            Value::Integer(number) => Some(number as f64),
            _ => None,
        };
        number
            .filter(|number| range.holds(*number))
            .ok_or_else(|| self.invalid(format!("must be {}", range.expected())))
    }

    /// Item `number` of a list, if it is one and has it.
    fn item(&'a self, number: usize) -> Option<Self> {
        self.items("").ok()?.nth(number)
    }

    /// Whether it is a list without items.
    const fn is_empty_list(&self) -> bool {
        matches!(&self.node.value, Value::Array(items) if items.is_empty())
    }

    /// Whether it is an object.
    const fn is_object(&self) -> bool {
        matches!(&self.node.value, Value::Table(_))
    }

    /// `true` or `false`.
    fn boolean(&self) -> Result<bool, Fault> {
        match self.node.value {
            Value::Boolean(value) => Ok(value),
            _ => Err(self.invalid("must be true or false".to_owned())),
        }
    }

    /// A whole number up to `max`, which is `what`.
    fn whole(&self, max: u64, what: &str) -> Result<u64, Fault> {
        let number = match &self.node.value {
            Value::Integer(number) => u64::try_from(*number).ok(),
            _ => None,
        };
        number.filter(|number| *number <= max).ok_or_else(|| {
            let range = match max {
                u64::MAX => "a whole number of at least 0".to_owned(),
                max => format!("a whole number from 0 to {max}: {what}"),
            };
            self.invalid(format!("must be {range}"))
        })
    }

    /// A string.
    fn text(&self) -> Result<&'a str, Fault> {
        match &self.node.value {
            Value::Text(text) => Ok(text),
            _ => Err(self.invalid("must be a string".to_owned())),
        }
    }

    /// A string without control characters.
    fn shown(&self) -> Result<&'a str, Fault> {
        let text = self.text()?;
        check_name(text).map_err(|fault| self.fault(fault.to_string()))?;
        Ok(text)
    }

    /// `problem`, at this place.
    fn fault(&self, problem: String) -> Fault {
        Fault::new(Some(&self.origin()), &self.name(), problem)
    }

    /// The value does not keep `rule`.
    fn invalid(&self, rule: String) -> Fault {
        Fault::invalid(Some(&self.origin()), &self.name(), self.shown_value(), rule)
    }

    fn entry(&'a self, number: usize, key: &'a str, node: &'a Node) -> Self {
        Self {
            source: self.source,
            node,
            within: Some(self),
            number,
            key: Some(key),
        }
    }

    /// From this value outwards to the whole file.
    fn outwards(&self) -> impl Iterator<Item = &Self> {
        iter::successors(Some(self), |place| place.within)
    }

    fn path(&self) -> Vec<usize> {
        let inside = self.outwards().filter(|place| place.within.is_some());
        let mut path: Vec<usize> = inside.map(|place| place.number).collect();
        path.reverse();
        path
    }

    fn origin(&self) -> String {
        self.source.place(&self.path())
    }

    /// `processes[3][0]`, `bandwidth.intra`.
    fn name(&self) -> String {
        let mut places: Vec<&Self> = self.outwards().collect();
        places.reverse();
        places
            .iter()
            .skip(1)
            .fold(String::new(), |name, place| match place.key {
                Some(key) if name.is_empty() => shortened(key),
                Some(key) => format!("{name}.{}", shortened(key)),
                None => format!("{name}[{}]", place.number),
            })
    }

    /// The name of the entry `key`.
    fn key_of(&self, key: &str) -> String {
        match self.name() {
            name if name.is_empty() => key.to_owned(),
            name => format!("{name}.{key}"),
        }
    }

    fn shown_value(&self) -> String {
        match &self.node.value {
            Value::Nil => "null".to_owned(),
            Value::Array(items) if items.is_empty() => "[]".to_owned(),
            Value::Array(_) => "[…]".to_owned(),
            Value::Table(_) => "{…}".to_owned(),
            value @ (Value::Boolean(_) | Value::Integer(_) | Value::Float(_) | Value::Text(_)) => {
                shortened(&value.to_string())
            }
        }
    }
}

impl<'a> Entries<'a> {
    /// The value of `key`.
    fn required(&self, key: &'static str) -> Result<Place<'a>, Fault> {
        self.optional(key).ok_or_else(|| {
            let key = self.place.key_of(key);
            Fault::missing(Some(&self.place.origin()), &key)
        })
    }

    /// The value of `key`, if there is one.
    fn optional(&self, key: &'static str) -> Option<Place<'a>> {
        let number = self.entries.iter().position(|(name, _)| name == key)?;
        Some(self.place.entry(number, key, &self.entries[number].1))
    }
}

/// `text`, cut to the length that fits a line of a message.
pub(crate) fn shortened(text: &str) -> String {
    if text.chars().count() <= SHOWN_MAX {
        return text.to_owned();
    }
    text.chars().take(SHOWN_MAX).chain(['…']).collect()
}

/// Characters of an invalid value that a message shows.
const SHOWN_MAX: usize = 40;

/// A JSON text and its value.
#[derive(Debug)]
pub(super) struct Source {
    /// Its name in messages.
    name: String,
    text: String,
    tree: Node,
}

impl Source {
    /// `text`, which is from `name`.
    pub(super) fn new(name: &str, text: String) -> Result<Self, Failure> {
        let tree = serde_json::from_str(&text).map_err(|error| invalid_json(name, &error))?;
        Ok(Self {
            name: name.to_owned(),
            text,
            tree,
        })
    }

    /// Name of an instance that has none of its own.
    fn stem(&self) -> String {
        let stem = Path::new(&self.name).file_stem();
        stem.map_or_else(
            || self.name.clone(),
            |stem| stem.to_string_lossy().into_owned(),
        )
    }

    /// File and line of the value at `path`: the number of an entry or item for each level, outermost
    /// first.
    fn place(&self, path: &[usize]) -> String {
        let bytes = self.text.as_bytes();
        let start = bytes
            .iter()
            .take_while(|byte| byte.is_ascii_whitespace())
            .count();
        let at = path
            .iter()
            .fold(start, |at, number| child(bytes, at, *number));
        let line = 1 + bytes[..at].iter().filter(|byte| **byte == b'\n').count();
        format!("{}:{line}", self.name)
    }
}

/// That the text of `name` is no JSON.
pub(crate) fn invalid_json(name: &str, error: &serde_json::Error) -> Failure {
    let (problem, line, column) = (json_problem(error), error.line(), error.column());
    Failure::input(format!(
        "invalid JSON: {problem}\n  --> {name}:{line}:{column}"
    ))
}

/// What is wrong with a JSON text, without the place.
pub(crate) fn json_problem(error: &serde_json::Error) -> String {
    let problem = error.to_string();
    match problem.rsplit_once(" at line ") {
        Some((problem, _)) => problem.to_owned(),
        None => problem,
    }
}

/// Start of the entry or item `number` in the value, or the entry's value, that starts `at`.
///
/// The text is valid JSON.
fn child(bytes: &[u8], mut at: usize, number: usize) -> usize {
    let (mut depth, mut commas, mut is_quoted) = (0_usize, 0, false);
    while let Some(byte) = bytes.get(at) {
        at += 1;
        match byte {
            b'\\' if is_quoted => at += 1,
            b'"' => is_quoted = !is_quoted,
            _ if is_quoted => {}
            b'[' | b'{' => depth += 1,
            b']' | b'}' => depth = depth.saturating_sub(1),
            b',' if depth == 1 => commas += 1,
            _ => {}
        }
        let begins = !is_quoted && depth == 1 && matches!(byte, b'[' | b'{' | b',');
        if begins && commas == number {
            let rest = bytes[at..].iter();
            return at + rest.take_while(|byte| byte.is_ascii_whitespace()).count();
        }
    }
    at.min(bytes.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_has_a_line() {
        let text = "\n{\"a\\\"{\": [1,\n [2, \"],\"], {}\n, 3],\n\"b\": {\n\"c\": 0}}";
        let source = Source::new("f", text.to_owned()).unwrap();
        for (path, line) in [
            (&[][..], "f:2"),
            (&[0], "f:2"),
            (&[0, 0], "f:2"),
            (&[0, 1], "f:3"),
            (&[0, 1, 1], "f:3"),
            (&[0, 2], "f:3"),
            (&[0, 3], "f:4"),
            (&[1], "f:5"),
            (&[1, 0], "f:6"),
            (&[7, 7], "f:6"),
        ] {
            assert_eq!(source.place(path), line, "{path:?}");
        }
    }

    #[test]
    fn invalid_json_is_located() {
        let fault = Source::new("f", "{\n\"a\": NaN}".to_owned()).unwrap_err();
        assert_eq!(
            fault.to_string(),
            "invalid JSON: expected value\n  --> f:2:6"
        );
    }
}
