//! The file of a rank: what it says of itself, its phases, and the phase that all ranks have.

use std::collections::BTreeSet;
use std::fmt;

use experiments::Failure;
use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::json;
use serde_json::value::RawValue;
use settings::Fault;

use crate::instance::{invalid_json, quoted};
use crate::vt::files::{RankFile, RankFiles};
use crate::vt::snapshot::misspelt;

/// What vt wrote of a rank.
#[derive(Clone, Debug)]
pub(super) struct Dump<'a> {
    pub(super) file: &'a RankFile,
    pub(super) rank: usize,
    /// The entries of the file.
    pub(super) entries: Object<'a>,
    pub(super) metadata: Metadata,
    /// Those that have data.
    pub(super) phases: Vec<RawPhase<'a>>,
}

/// A phase of a rank.
#[derive(Clone, Debug)]
pub(super) struct RawPhase<'a> {
    file: &'a str,
    /// Its position in the file.
    pub(super) number: usize,
    pub(super) id: u64,
    pub(super) entries: Object<'a>,
}

impl<'a> Dump<'a> {
    /// The dumps of all ranks.
    ///
    /// # Errors
    ///
    /// If a file is not JSON, no LB data, of another rank, or has a phase twice.
    pub(super) fn all(files: &'a RankFiles) -> Result<Vec<Self>, Failure> {
        let files = files.files.iter().enumerate();
        files.map(|(rank, file)| Self::of(file, rank)).collect()
    }

    fn of(file: &'a RankFile, rank: usize) -> Result<Self, Failure> {
        let path = &file.path;
        let entries: Object<'a> =
            serde_json::from_str(&file.text).map_err(|error| invalid_json(path, &error))?;
        let metadata = Metadata::read(path, &entries)?;
        if let Some(found) = metadata.kind.as_deref().filter(|kind| *kind != KIND) {
            return Err(invalid(path, "type", found, "must be `LBDatafile`").into());
        }
        if let Some(found) = metadata
            .rank
            .filter(|found| u64::try_from(rank) != Ok(*found))
        {
            let rule = format!("must be {rank}, the rank in the file's name");
            return Err(invalid(path, "metadata.rank", &found.to_string(), &rule).into());
        }
        let phases = entries
            .get("phases")
            .ok_or_else(|| Fault::missing(Some(path), "phases"))?;
        let phases = list(path, "phases", phases)?.into_iter().enumerate();
        let phases = phases.map(|(number, raw)| RawPhase::of(path, number, raw));
        let phases: Vec<RawPhase<'a>> = phases.collect::<Result<_, _>>()?;
        let mut ids = BTreeSet::new();
        if let Some(twice) = phases.iter().find(|phase| !ids.insert(phase.id)) {
            let key = format!("phases[{}].id", twice.number);
            let rule = "must not be the id of another phase";
            return Err(invalid(path, &key, &twice.id.to_string(), rule).into());
        }
        Ok(Self {
            file,
            rank,
            entries,
            metadata,
            phases,
        })
    }

    /// What has the data of phase `id`: the phase, or the one before it that it is identical to.
    ///
    /// # Errors
    ///
    /// If the file has neither.
    pub(super) fn phase(&self, id: u64) -> Result<&RawPhase<'a>, Fault> {
        self.source(id).ok_or_else(|| {
            let known = ranges(&self.ids());
            let why = if self.metadata.skipped.contains(&id) {
                "phase {id} was skipped"
            } else if self.metadata.identical.contains(&id) {
                "phase {id} is identical to the one before it, and no phase before it has data"
            } else {
                "there is no phase {id}"
            };
            let problem = format!("{}: {known}", why.replace("{id}", &id.to_string()));
            Fault::new(Some(&self.file.path), "phases", problem)
        })
    }

    /// As [`phase`](Self::phase), if there is one. As in vt, a phase with data is not identical to another, and of the
    /// phases before it those without data do not count.
    fn source(&self, id: u64) -> Option<&RawPhase<'a>> {
        let own = self.phases.iter().find(|phase| phase.id == id);
        own.or_else(|| {
            let is_identical = self.metadata.identical.contains(&id);
            let before = self.phases.iter().filter(|phase| phase.id < id);
            before.max_by_key(|phase| phase.id).filter(|_| is_identical)
        })
    }

    /// The first phase after `id` that is identical to it.
    pub(super) fn repetition(&self, id: u64) -> Option<u64> {
        let next = self.phases.iter().map(|phase| phase.id);
        let next = next.filter(|next| id < *next).min().unwrap_or(u64::MAX);
        let mut after = self.metadata.identical.range(id.saturating_add(1)..);
        after.next().copied().filter(|found| *found < next)
    }

    fn ids(&self) -> BTreeSet<u64> {
        let mut ids: BTreeSet<u64> = self.phases.iter().map(|phase| phase.id).collect();
        if let Some(first) = ids.first().copied() {
            ids.extend(self.metadata.identical.range(first..));
        }
        ids
    }
}

impl<'a> RawPhase<'a> {
    fn of(file: &'a str, number: usize, raw: &'a RawValue) -> Result<Self, Fault> {
        let key = format!("phases[{number}]");
        let entries: Object<'a> = serde_json::from_str(raw.get())
            .map_err(|_| Fault::new(Some(file), &key, "must be an object"))?;
        check_keys(file, &key, &entries, &PHASE_KEYS)?;
        let key = format!("{key}.id");
        let id = entries
            .get("id")
            .ok_or_else(|| Fault::missing(Some(file), &key))?;
        Ok(Self {
            file,
            number,
            id: id.get().parse().map_err(|_| {
                invalid(file, &key, id.get(), "must be a whole number of at least 0")
            })?,
            entries,
        })
    }

    /// The items of the list `key`; none if there is no such list, as in a phase in which a rank had no tasks.
    ///
    /// # Errors
    ///
    /// If it is no list.
    pub(super) fn items(&self, key: &str) -> Result<Vec<&'a RawValue>, Fault> {
        let name = format!("phases[{}].{key}", self.number);
        let raw = self.entries.get(key);
        raw.map_or(Ok(Vec::new()), |raw| list(self.file, &name, raw))
    }

    /// The entries of the object `key`, if there is one.
    ///
    /// # Errors
    ///
    /// If it is no object.
    pub(super) fn object(&self, key: &str) -> Result<Option<Object<'a>>, Fault> {
        let Some(raw) = self.entries.get(key) else {
            return Ok(None);
        };
        let name = format!("phases[{}].{key}", self.number);
        serde_json::from_str(raw.get())
            .map(Some)
            .map_err(|_| Fault::new(Some(self.file), &name, "must be an object"))
    }
}

/// The phase that `asked` names, or the last one that all ranks have.
///
/// # Errors
///
/// If a rank does not have the one that is asked for, or there is none that all ranks have.
pub(super) fn chosen(dumps: &[Dump<'_>], asked: Option<u64>) -> Result<u64, Failure> {
    if let Some(asked) = asked {
        for dump in dumps {
            dump.phase(asked)?;
        }
        return Ok(asked);
    }
    let mut common = dumps.first().map(Dump::ids).unwrap_or_default();
    for dump in dumps {
        let ids = dump.ids();
        common.retain(|id| ids.contains(id));
        if common.is_empty() {
            let known = ranges(&ids);
            let before = match dump.rank {
                0 => String::new(),
                rank => format!(", none of which all ranks before {rank} have"),
            };
            let problem = format!("there is no phase that all ranks have: {known}{before}");
            return Err(Fault::new(Some(&dump.file.path), "phases", problem).into());
        }
    }
    Ok(common.into_iter().next_back().unwrap_or_default())
}

fn list<'a>(path: &str, key: &str, raw: &'a RawValue) -> Result<Vec<&'a RawValue>, Fault> {
    serde_json::from_str(raw.get()).map_err(|_| Fault::new(Some(path), key, "must be a list"))
}

fn invalid(path: &str, key: &str, found: &str, rule: &str) -> Fault {
    Fault::invalid(Some(path), key, found, rule)
}

/// `ids` in a sentence: `it has 0 to 3, 7`.
fn ranges(ids: &BTreeSet<u64>) -> String {
    let mut ranges: Vec<(u64, u64)> = Vec::new();
    for &id in ids {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == id => *last = id,
            _ => ranges.push((id, id)),
        }
    }
    let mut texts: Vec<String> = ranges
        .iter()
        .take(RANGES_MAX)
        .map(|range| match range {
            (first, last) if first == last => first.to_string(),
            (first, last) => format!("{first} to {last}"),
        })
        .collect();
    if RANGES_MAX < ranges.len() {
        texts.push(format!("and others up to {}", ranges[ranges.len() - 1].1));
    }
    if texts.is_empty() {
        return "it has none".to_owned();
    }
    format!("it has {}", texts.join(", "))
}

/// `type` of LB data.
const KIND: &str = "LBDatafile";

/// The keys of a phase, as vt's schema has them.
const PHASE_KEYS: [&str; 5] = [
    "id",
    "tasks",
    "communications",
    "user_defined",
    "lb_iterations",
];

/// Ranges of phases that a message names.
const RANGES_MAX: usize = 10;

/// What describes a file.
#[derive(Clone, Debug, Default)]
pub(super) struct Metadata {
    kind: Option<String>,
    rank: Option<u64>,
    /// The machine that the rank ran on (`shared_node.id`).
    pub(super) shared_node: Option<u64>,
    /// Phases without data (`phases.skipped`).
    skipped: BTreeSet<u64>,
    /// Phases that are as the last one before them with data (`phases.identical_to_previous`).
    pub(super) identical: BTreeSet<u64>,
}

#[derive(Debug, Default, Deserialize)]
struct Written {
    #[serde(rename = "type")]
    kind: Option<String>,
    rank: Option<u64>,
    shared_node: Option<SharedNode>,
    phases: Option<Phases>,
}

#[derive(Debug, Deserialize)]
struct SharedNode {
    id: Option<u64>,
}

#[derive(Debug, Deserialize)]
struct Phases {
    skipped: Option<Numbers>,
    identical_to_previous: Option<Numbers>,
}

/// Numbers of phases: one by one, and ranges with both ends.
#[derive(Debug, Default, Deserialize)]
struct Numbers {
    #[serde(default)]
    list: Vec<u64>,
    #[serde(default)]
    range: Vec<[u64; 2]>,
}

impl Metadata {
    /// `metadata` of the file `path` with these `entries`; older files have `type` beside it.
    ///
    /// # Errors
    ///
    /// If a value is invalid or a key misspelt.
    fn read(path: &str, entries: &Object<'_>) -> Result<Self, Fault> {
        check_keys(path, "", entries, &FILE_KEYS)?;
        let mut written = match entries.get(METADATA) {
            None => Written::default(),
            Some(raw) => {
                let fault = |error| Fault::new(Some(path), METADATA, error);
                let inner: Object<'_> = serde_json::from_str(raw.get()).map_err(fault)?;
                check_keys(path, METADATA, &inner, &METADATA_KEYS)?;
                if let Some(phases) = inner.get(PHASES).and_then(object) {
                    check_keys(path, "metadata.phases", &phases, &PHASES_KEYS)?;
                }
                serde_json::from_str(raw.get()).map_err(fault)?
            }
        };
        if let (None, Some(kind)) = (&written.kind, entries.get("type")) {
            written.kind = Some(kind.get().trim_matches('"').to_owned());
        }
        let (skipped, identical) = match written.phases {
            None => (BTreeSet::new(), BTreeSet::new()),
            Some(phases) => (
                numbers(path, SKIPPED, phases.skipped)?,
                numbers(path, IDENTICAL, phases.identical_to_previous)?,
            ),
        };
        Ok(Self {
            kind: written.kind,
            rank: written.rank,
            shared_node: written.shared_node.and_then(|node| node.id),
            skipped,
            identical,
        })
    }

    /// The text of `metadata` where `identical` are the phases that are as the one before, all else as in `raw`.
    pub(super) fn text(raw: &RawValue, identical: &BTreeSet<u64>) -> String {
        let (list, range) = compressed(identical);
        let numbers = json!({"list": list, "range": range}).to_string();
        let change = |raw, key, value: String| match object(raw) {
            Some(object) => object.text(|own, _| (own == key).then(|| value.clone())),
            None => raw.get().to_owned(),
        };
        let inner = object(raw).and_then(|own| own.get(PHASES));
        match inner {
            Some(phases) => change(raw, PHASES, change(phases, IDENTICAL, numbers)),
            None => raw.get().to_owned(),
        }
    }
}

/// No key of `object` may be a misspelt one of `known`.
///
/// # Errors
///
/// If one is.
fn check_keys(
    path: &str,
    at: &str,
    object: &Object<'_>,
    known: &[&'static str],
) -> Result<(), Fault> {
    let keys = object.0.iter().map(|(key, _)| key.as_str());
    match misspelt(&keys, known) {
        None => Ok(()),
        Some((key, _)) => {
            let name = match at {
                "" => key,
                at => format!("{at}.{key}"),
            };
            Err(Fault::unknown_key(Some(path), &name, known))
        }
    }
}

fn object(raw: &RawValue) -> Option<Object<'_>> {
    serde_json::from_str(raw.get()).ok()
}

fn numbers(path: &str, key: &str, written: Option<Numbers>) -> Result<BTreeSet<u64>, Fault> {
    let Numbers { list, range } = written.unwrap_or_default();
    let mut numbers: BTreeSet<u64> = list.into_iter().collect();
    for [first, last] in range {
        if last.saturating_sub(first) >= PHASES_MAX {
            return Err(Fault::invalid(
                Some(path),
                &format!("metadata.phases.{key}.range"),
                format!("[{first}, {last}]"),
                format!("must be at most {PHASES_MAX} phases"),
            ));
        }
        numbers.extend(first..=last);
    }
    Ok(numbers)
}

/// As vt writes numbers: single ones, and ranges of consecutive ones with both ends.
fn compressed(numbers: &BTreeSet<u64>) -> (Vec<u64>, Vec<[u64; 2]>) {
    let numbers: Vec<u64> = numbers.iter().copied().collect();
    let (mut list, mut range) = (Vec::new(), Vec::new());
    for run in numbers.chunk_by(|one, next| one.checked_add(1) == Some(*next)) {
        match run {
            [only] => list.push(*only),
            run => range.push([run[0], run[run.len() - 1]]),
        }
    }
    (list, range)
}

/// The key of what describes a file.
pub(super) const METADATA: &str = "metadata";

const PHASES: &str = "phases";
const SKIPPED: &str = "skipped";
const IDENTICAL: &str = "identical_to_previous";

/// The keys of a file, of `metadata` and of `metadata.phases`, as vt's schema has them.
const FILE_KEYS: [&str; 3] = ["type", METADATA, PHASES];
const METADATA_KEYS: [&str; 6] = [
    "type",
    "rank",
    "rank_alpha",
    "shared_node",
    PHASES,
    "attributes",
];
const PHASES_KEYS: [&str; 3] = ["count", SKIPPED, IDENTICAL];

/// Phases in a range, far more than a run has.
const PHASES_MAX: u64 = 10_000_000;

/// An object: its entries in the order of the text, each value as its text.
#[derive(Clone, Debug)]
pub(super) struct Object<'a>(pub(super) Vec<(String, &'a RawValue)>);

impl<'a> Object<'a> {
    /// The value of `key`, the last one if there are several, as other readers have it; `None` as well if it is null.
    pub(super) fn get(&self, key: &str) -> Option<&'a RawValue> {
        let entry = self.0.iter().rev().find(|(name, _)| name == key);
        entry
            .map(|(_, value)| *value)
            .filter(|value| value.get() != "null")
    }

    /// The object as text, with other values where `change` returns one for a key.
    pub(super) fn text(&self, change: impl Fn(&str, &'a RawValue) -> Option<String>) -> String {
        let entries = self.0.iter().map(|(key, value)| {
            let value = change(key, value).unwrap_or_else(|| value.get().to_owned());
            format!("{}:{value}", quoted(key))
        });
        format!("{{{}}}", entries.collect::<Vec<_>>().join(","))
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Object<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Entries;

        impl<'de> Visitor<'de> for Entries {
            type Value = Object<'de>;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut entries = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    entries.push(entry);
                }
                Ok(Object(entries))
            }
        }

        deserializer.deserialize_map(Entries)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phases_are_listed_as_ranges() {
        let text = |ids: &[u64]| ranges(&ids.iter().copied().collect());
        assert_eq!(text(&[]), "it has none");
        assert_eq!(text(&[0, 1, 2, 3, 7, 9, 10]), "it has 0 to 3, 7, 9 to 10");
        let spread: Vec<u64> = (0..30).map(|number| number * 50).collect();
        let text = text(&spread);
        assert!(text.ends_with("400, 450, and others up to 1450"), "{text}");
    }

    #[test]
    fn phases_are_listed_as_vt_lists_them() {
        let numbers = BTreeSet::from([1, 3, 4, 5, 8]);
        assert_eq!(compressed(&numbers), (vec![1, 8], vec![[3, 5]]));
        let raw: &RawValue = serde_json::from_str(
            r#"{"rank": 0, "phases": {"skipped": {"list": [2], "range": []}, "identical_to_previous": {}}, "x": 1.0}"#,
        )
        .unwrap();
        assert_eq!(
            Metadata::text(raw, &numbers),
            r#"{"rank":0,"phases":{"skipped":{"list": [2], "range": []},"identical_to_previous":{"list":[1,8],"range":[[3,5]]}},"x":1.0}"#
        );
    }

    #[test]
    fn a_range_of_phases_is_bounded() {
        let text = r#"{"metadata": {"phases": {"skipped": {"list": [1], "range": [[4, 6]]}, "identical_to_previous":
            {"list": [], "range": [[0, 99999999999]]}}}}"#;
        let entries: Object<'_> = serde_json::from_str(text).unwrap();
        let fault = Metadata::read("f", &entries).unwrap_err();
        assert_eq!(
            fault.to_string(),
            "invalid value `[0, 99999999999]` for `metadata.phases.identical_to_previous.range`: must be at most \
             10000000 phases\n  --> f"
        );
        let text = text.replace("99999999999", "1");
        let entries: Object<'_> = serde_json::from_str(&text).unwrap();
        let metadata = Metadata::read("f", &entries).unwrap();
        assert_eq!(metadata.skipped, BTreeSet::from([1, 4, 5, 6]));
        assert_eq!(metadata.identical, BTreeSet::from([0, 1]));
    }

    #[test]
    fn only_what_changes_is_written_anew() {
        let text = r#"{"b":1.50e+3, "a" : [ 1, 2.0 ],"u\u0041":18446744073709551616,"b":null}"#;
        let object: Object<'_> = serde_json::from_str(text).unwrap();
        assert_eq!(
            object.text(|_, _| None),
            r#"{"b":1.50e+3,"a":[ 1, 2.0 ],"uA":18446744073709551616,"b":null}"#
        );
        let changed = object.text(|key, _| (key == "a").then(|| "0".to_owned()));
        assert_eq!(
            changed,
            r#"{"b":1.50e+3,"a":0,"uA":18446744073709551616,"b":null}"#
        );
        assert!(object.get("b").is_none());
        assert!(object.get("c").is_none());
        assert_eq!(object.get("a").unwrap().get(), "[ 1, 2.0 ]");
    }
}
