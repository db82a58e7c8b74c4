//! The file of a rank as its phases, and the phase that all ranks have.

use std::collections::BTreeSet;

use experiments::Failure;
use serde::Deserialize;
use serde_json::value::RawValue;
use settings::Fault;

use crate::rebalance::vt::document::Object;
use crate::rebalance::vt::files::{RankFile, RankFiles};

/// What vt wrote of a rank.
#[derive(Clone, Debug)]
pub(super) struct Dump<'a> {
    pub(super) file: &'a RankFile,
    pub(super) rank: usize,
    /// The entries of the file.
    pub(super) entries: Object<'a>,
    /// The machine that the rank ran on (`metadata.shared_node.id`), if the file says.
    pub(super) shared_node: Option<u64>,
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

/// What describes the file.
#[derive(Debug, Default, Deserialize)]
struct Metadata {
    #[serde(rename = "type")]
    kind: Option<String>,
    rank: Option<u64>,
    shared_node: Option<SharedNode>,
}

/// The machine that the rank ran on.
#[derive(Debug, Deserialize)]
struct SharedNode {
    id: Option<u64>,
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
        let entries: Object<'a> = serde_json::from_str(&file.text).map_err(|error| {
            let problem = error.to_string();
            let problem = problem.split(" at line ").next().unwrap_or_default();
            let (line, column) = (error.line(), error.column());
            let problem = format!("invalid JSON: {problem}\n  --> {path}:{line}:{column}");
            Failure::input(problem)
        })?;
        let metadata = metadata(path, &entries)?;
        if metadata.kind.as_deref().is_some_and(|kind| kind != KIND) {
            let met = metadata.kind.unwrap_or_default();
            return Err(invalid(path, "type", &met, "must be `LBDatafile`").into());
        }
        if let Some(met) = metadata.rank.filter(|met| u64::try_from(rank) != Ok(*met)) {
            let rule = format!("must be {rank}, the rank in the file's name");
            return Err(invalid(path, "metadata.rank", &met.to_string(), &rule).into());
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
            shared_node: metadata.shared_node.and_then(|node| node.id),
            phases,
        })
    }

    /// The phase `id`.
    ///
    /// # Errors
    ///
    /// If the file does not have it.
    pub(super) fn phase(&self, id: u64) -> Result<&RawPhase<'a>, Fault> {
        let found = self.phases.iter().find(|phase| phase.id == id);
        found.ok_or_else(|| {
            let known = ranges(&self.ids());
            let problem = format!("there is no phase {id}: {known}");
            Fault::new(Some(&self.file.path), "phases", problem)
        })
    }

    fn ids(&self) -> BTreeSet<u64> {
        self.phases.iter().map(|phase| phase.id).collect()
    }
}

impl<'a> RawPhase<'a> {
    fn of(file: &'a str, number: usize, raw: &'a RawValue) -> Result<Self, Fault> {
        let key = format!("phases[{number}]");
        let entries: Object<'a> = serde_json::from_str(raw.get())
            .map_err(|_| Fault::new(Some(file), &key, "must be an object"))?;
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

/// `metadata`, with the `type` that older files have beside it.
fn metadata(path: &str, entries: &Object<'_>) -> Result<Metadata, Fault> {
    let read = |raw: &RawValue| {
        serde_json::from_str::<Metadata>(raw.get())
            .map_err(|error| Fault::new(Some(path), "metadata", error))
    };
    let mut metadata = entries
        .get("metadata")
        .map_or_else(|| Ok(Metadata::default()), read)?;
    if let (None, Some(kind)) = (&metadata.kind, entries.get("type")) {
        metadata.kind = Some(kind.get().trim_matches('"').to_owned());
    }
    Ok(metadata)
}

fn list<'a>(path: &str, key: &str, raw: &'a RawValue) -> Result<Vec<&'a RawValue>, Fault> {
    serde_json::from_str(raw.get()).map_err(|_| Fault::new(Some(path), key, "must be a list"))
}

fn invalid(path: &str, key: &str, met: &str, rule: &str) -> Fault {
    Fault::invalid(Some(path), key, met, rule)
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

/// Ranges of phases that a message names.
const RANGES_MAX: usize = 10;

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
}
