//! Runs of a comparison that are done, in memory and in a file.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};

use crate::compare::results::Run;
use experiments::{Failure, Provenance};

/// The runs of a comparison that are done.
///
/// With a folder, every run is a line of its file `runs.jsonl` as soon as it is done, and a later comparison
/// takes from there what has the same digest.
#[derive(Debug, Default)]
pub struct Ledger {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    file: Option<(PathBuf, File)>,
    /// Earlier runs, by digest.
    kept: BTreeMap<String, Run>,
    done: BTreeMap<Place, Run>,
    recalled: usize,
}

/// Number of the experiment, number of the policy, seed.
pub(super) type Place = (usize, usize, u64);

/// A line of the file, as it is written.
#[derive(Debug, Serialize)]
pub(super) struct Entry {
    /// [`LEDGER_SCHEMA`].
    pub(super) schema: &'static str,
    /// What made the run. Its policy, its seed and the digest of its configuration are fields of their own.
    #[serde(flatten)]
    pub(super) provenance: Provenance,
    /// Of everything that the run depends on, in hexadecimal digits.
    pub(super) digest: String,
    /// The experiment, as it was named.
    pub(super) experiment: String,
    /// Label of the policy.
    pub(super) policy: String,
    /// The result.
    #[serde(flatten)]
    pub(super) run: Run,
}

/// As much of a line as says whether it is one of this schema.
#[derive(Debug, Deserialize)]
struct Head {
    schema: String,
}

/// As much of a line as a later comparison needs.
#[derive(Debug, Deserialize)]
struct Kept {
    digest: String,
    #[serde(flatten)]
    run: Run,
}

/// The schema of a line.
pub(super) const LEDGER_SCHEMA: &str = "migbsp.compare-runs/2";

impl Ledger {
    /// The ledger in `folder`, which is made if there is none.
    ///
    /// # Errors
    ///
    /// If the folder cannot be written to, or its file is no ledger.
    pub fn open(folder: &Path) -> Result<Self, Failure> {
        let path = folder.join("runs.jsonl");
        let unwritable = |error: io::Error| {
            Failure::Run(format!("{}: cannot be written: {error}", path.display()))
        };
        fs::create_dir_all(folder).map_err(unwritable)?;
        let mut file = OpenOptions::new()
            .read(true)
            .append(true)
            .create(true)
            .open(&path)
            .map_err(unwritable)?;
        let text = io::read_to_string(&mut file)
            .map_err(|error| Failure::Input(format!("{}: {error}", path.display())))?;
        // A run that was noted when the process ended has no whole line.
        let whole = text.rfind('\n').map_or(0, |end| end + 1);
        let length = u64::try_from(whole).unwrap_or(u64::MAX);
        file.set_len(length).map_err(unwritable)?;
        let mut kept = BTreeMap::new();
        for (index, line) in text[..whole].lines().enumerate() {
            let unreadable = |error: serde_json::Error| {
                let (place, number) = (path.display(), index + 1);
                Failure::Input(format!(
                    "{place}:{number}: is no run of a comparison: {error}"
                ))
            };
            let head: Head = serde_json::from_str(line).map_err(unreadable)?;
            if head.schema == LEDGER_SCHEMA {
                let entry: Kept = serde_json::from_str(line).map_err(unreadable)?;
                kept.insert(entry.digest, entry.run);
            }
        }
        Ok(Self {
            state: Mutex::new(State {
                file: Some((path, file)),
                kept,
                ..State::default()
            }),
        })
    }

    /// Number of runs that are done.
    pub fn len(&self) -> usize {
        self.state().done.len()
    }

    /// Whether no run is done.
    pub fn is_empty(&self) -> bool {
        self.state().done.is_empty()
    }

    /// Number of runs that were taken from the file.
    pub fn recalled(&self) -> usize {
        self.state().recalled
    }

    /// The run at `place`, if it is done.
    pub(super) fn done(&self, place: Place) -> Option<Run> {
        self.state().done.get(&place).cloned()
    }

    /// Whether the file has the run with this digest, which then is done.
    pub(super) fn recall(&self, digest: &str, place: Place) -> bool {
        let mut state = self.state();
        let Some(run) = state.kept.get(digest).cloned() else {
            return false;
        };
        state.done.insert(place, run);
        state.recalled += 1;
        true
    }

    /// Notes that the run at `place` is done.
    ///
    /// # Errors
    ///
    /// If the file does not take it.
    pub(super) fn note(&self, place: Place, entry: &Entry) -> Result<(), Failure> {
        let mut line = serde_json::to_string(entry).expect("a run is numbers and text");
        line.push('\n');
        let mut state = self.state();
        state.done.insert(place, entry.run.clone());
        let Some((path, file)) = &mut state.file else {
            return Ok(());
        };
        file.write_all(line.as_bytes()).map_err(|error| {
            Failure::Run(format!("{}: cannot be written: {error}", path.display()))
        })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::results::tests::results;
    use experiments::Registry;

    fn entry(digest: &str, seconds: f64) -> Entry {
        let results = results(&[(true, &[&[seconds]])]);
        Entry {
            schema: LEDGER_SCHEMA,
            provenance: Provenance::of_program(&Registry::new()).unwrap(),
            digest: digest.to_owned(),
            experiment: "e.toml".to_owned(),
            policy: "none".to_owned(),
            run: results.of(0, 0)[0].clone(),
        }
    }

    #[test]
    fn runs_with_the_same_digest_are_taken_from_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let first = Ledger::open(folder.path()).unwrap();
        assert!(!first.recall("a", (0, 0, 1)));
        first.note((0, 0, 1), &entry("a", 2.5)).unwrap();
        let second = Ledger::open(folder.path()).unwrap();
        assert!(second.is_empty());
        assert!(second.recall("a", (3, 1, 7)) && !second.recall("b", (0, 0, 1)));
        assert_eq!(
            second.done((3, 1, 7)).unwrap().seconds.to_bits(),
            2.5_f64.to_bits()
        );
        assert_eq!((second.len(), second.recalled()), (1, 1));
    }

    #[test]
    fn a_line_that_was_cut_off_is_written_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("runs.jsonl");
        let ledger = Ledger::open(folder.path()).unwrap();
        ledger.note((0, 0, 1), &entry("a", 2.5)).unwrap();
        ledger.note((0, 0, 2), &entry("b", 2.5)).unwrap();
        let text = fs::read_to_string(&path).unwrap();
        fs::write(&path, &text[..text.len() - 5]).unwrap();
        let ledger = Ledger::open(folder.path()).unwrap();
        assert!(ledger.recall("a", (0, 0, 1)) && !ledger.recall("b", (0, 0, 2)));
        ledger.note((0, 0, 2), &entry("b", 2.5)).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), text);
    }

    #[test]
    fn lines_of_another_schema_are_ignored() {
        let folder = tempfile::tempdir().unwrap();
        let earlier = "{\"schema\": \"migbsp.compare-runs/1\", \"digest\": \"a\"}\n";
        fs::write(folder.path().join("runs.jsonl"), earlier).unwrap();
        let ledger = Ledger::open(folder.path()).unwrap();
        assert!(!ledger.recall("a", (0, 0, 1)));
    }

    #[test]
    fn another_file_is_no_ledger() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("runs.jsonl"), "{}\n").unwrap();
        let problem = Ledger::open(folder.path()).unwrap_err().to_string();
        assert!(
            problem.contains("runs.jsonl:1: is no run of a comparison"),
            "{problem}"
        );
    }
}
