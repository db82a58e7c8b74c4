//! The file of a rank as its phases, and the phase that all ranks have.

use std::collections::BTreeSet;

use experiments::Failure;
use serde_json::value::RawValue;
use settings::Fault;

use crate::vt::document::Object;
use crate::vt::files::{RankFile, RankFiles};
use crate::vt::metadata::{Metadata, check_keys};

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
        let entries: Object<'a> = serde_json::from_str(&file.text).map_err(|error| {
            let problem = error.to_string();
            let problem = problem.split(" at line ").next().unwrap_or_default();
            let (line, column) = (error.line(), error.column());
            let problem = format!("invalid JSON: {problem}\n  --> {path}:{line}:{column}");
            Failure::input(problem)
        })?;
        let metadata = Metadata::read(path, &entries)?;
        if let Some(met) = metadata.kind.as_deref().filter(|kind| *kind != KIND) {
            return Err(invalid(path, "type", met, "must be `LBDatafile`").into());
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
        check_keys(file, &key, &entries, &KEYS)?;
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

/// The keys of a phase, as vt's schema has them.
const KEYS: [&str; 5] = [
    "id",
    "tasks",
    "communications",
    "user_defined",
    "lb_iterations",
];

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
