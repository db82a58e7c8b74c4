//! What a file says of itself: its rank, its machine, and the phases that it does not write.

use std::collections::BTreeSet;

use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;
use settings::Fault;

use crate::vt::document::Object;
use crate::vt::spot::misspelt;

/// What describes a file.
#[derive(Clone, Debug, Default)]
pub(super) struct Metadata {
    pub(super) kind: Option<String>,
    pub(super) rank: Option<u64>,
    /// The machine that the rank ran on (`shared_node.id`).
    pub(super) shared_node: Option<u64>,
    /// Phases without data (`phases.skipped`).
    pub(super) skipped: BTreeSet<u64>,
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
    pub(super) fn read(path: &str, entries: &Object<'_>) -> Result<Self, Fault> {
        check_keys(path, "", entries, &FILE_KEYS)?;
        let mut written = match entries.get(METADATA) {
            None => Written::default(),
            Some(raw) => {
                let fault = |error| Fault::new(Some(path), METADATA, error);
                let inner: Object<'_> = serde_json::from_str(raw.get()).map_err(fault)?;
                check_keys(path, METADATA, &inner, &KEYS)?;
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
pub(super) fn check_keys(
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
const KEYS: [&str; 6] = [
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

#[cfg(test)]
mod tests {
    use super::*;

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
}
