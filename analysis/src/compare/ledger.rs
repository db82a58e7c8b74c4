//! Runs of a comparison that are done, in memory and in a file.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, OpenOptions, TryLockError};
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
    kept: BTreeMap<String, Kept>,
    done: BTreeMap<Place, Run>,
    recalled: usize,
}

/// A run in the file.
#[derive(Debug)]
struct Kept {
    run: Run,
    /// Experiment and policy of each line that has it.
    names: BTreeSet<(String, String)>,
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
    /// Whether its result depends on the seed.
    pub(super) draws: bool,
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

/// A line of the file, as it is read.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Line {
    /// Of everything that the run depends on.
    pub(crate) digest: String,
    /// The experiment, as it was named.
    pub(crate) experiment: String,
    /// Whether its result depends on the seed; earlier versions did not write that.
    #[serde(default)]
    pub(crate) draws: bool,
    /// Label of the policy.
    pub(crate) policy: String,
    /// The result.
    #[serde(flatten)]
    pub(crate) run: Run,
}

/// The schema of a line.
pub(super) const LEDGER_SCHEMA: &str = "migbsp.compare-runs/2";

/// The whole lines of `text`, which is that of the file `path`, each with its text; lines of other schemas are left
/// out.
///
/// # Errors
///
/// If a line is no run of a comparison.
pub(crate) fn read_lines<'a>(path: &Path, text: &'a str) -> Result<Vec<(&'a str, Line)>, Failure> {
    // A run that was noted when the process ended has no whole line.
    let whole = text.rfind('\n').map_or("", |end| &text[..end]);
    let mut lines = Vec::new();
    for (index, line) in whole.lines().enumerate() {
        let unreadable = |error: serde_json::Error| {
            let (place, number) = (path.display(), index + 1);
            Failure::Input(format!(
                "{place}:{number}: is no run of a comparison: {error}"
            ))
        };
        let head: Head = serde_json::from_str(line).map_err(unreadable)?;
        if head.schema == LEDGER_SCHEMA {
            lines.push((line, serde_json::from_str(line).map_err(unreadable)?));
        }
    }
    Ok(lines)
}

impl Ledger {
    /// The file in a folder that has the runs.
    pub const FILE: &str = "runs.jsonl";

    /// The ledger in `folder`, which is made if there is none. No other process can open it as long as it exists.
    ///
    /// # Errors
    ///
    /// If the folder cannot be written to, its file is no ledger, or another process has it.
    pub fn open(folder: &Path) -> Result<Self, Failure> {
        let path = folder.join(Self::FILE);
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
        // File systems without locks have ledgers, too.
        if let Err(TryLockError::WouldBlock) = file.try_lock() {
            let problem =
                "another process adds runs to it; name another folder, or wait for its end";
            return Err(Failure::Usage(format!("{}: {problem}", path.display())));
        }
        let text = io::read_to_string(&mut file)
            .map_err(|error| Failure::Input(format!("{}: {error}", path.display())))?;
        let mut kept = BTreeMap::new();
        for (_, line) in read_lines(&path, &text)? {
            let (run, names) = (line.run, BTreeSet::new());
            let kept = kept.entry(line.digest).or_insert(Kept { run, names });
            kept.names.insert((line.experiment, line.policy));
        }
        let whole = text.rfind('\n').map_or(0, |end| end + 1);
        let length = u64::try_from(whole).unwrap_or(u64::MAX);
        file.set_len(length).map_err(unwritable)?;
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

    /// The run with this digest, if the file has it.
    pub(super) fn recall(&self, digest: &str) -> Option<Run> {
        let mut state = self.state();
        let run = state.kept.get(digest)?.run.clone();
        state.recalled += 1;
        Some(run)
    }

    /// Notes that the run at `place` is done. A line that the file has is not written again.
    ///
    /// # Errors
    ///
    /// If the file does not take it.
    pub(super) fn note(&self, place: Place, entry: &Entry) -> Result<(), Failure> {
        let mut line = serde_json::to_string(entry).expect("a run is numbers and text");
        line.push('\n');
        let names = (entry.experiment.clone(), entry.policy.clone());
        let mut state = self.state();
        state.done.insert(place, entry.run.clone());
        let kept = state.kept.get(&entry.digest);
        if kept.is_some_and(|kept| kept.names.contains(&names)) {
            return Ok(());
        }
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
            draws: true,
            policy: "none".to_owned(),
            run: results.of(0, 0)[0].clone(),
        }
    }

    fn text(folder: &Path) -> String {
        fs::read_to_string(folder.join(Ledger::FILE)).unwrap()
    }

    #[test]
    fn runs_with_the_same_digest_are_taken_from_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let first = Ledger::open(folder.path()).unwrap();
        assert!(first.recall("a").is_none());
        first.note((0, 0, 1), &entry("a", 2.5)).unwrap();
        drop(first);
        let written = text(folder.path());
        let second = Ledger::open(folder.path()).unwrap();
        assert!(second.is_empty() && second.recall("b").is_none());
        let run = second.recall("a").unwrap();
        assert_eq!(run.seconds.to_bits(), 2.5_f64.to_bits());
        second.note((3, 1, 7), &entry("a", 2.5)).unwrap();
        assert_eq!(second.done((3, 1, 7)).unwrap(), run);
        assert_eq!((second.len(), second.recalled()), (1, 1));
        assert_eq!(text(folder.path()), written);
    }

    #[test]
    fn a_run_has_a_line_for_every_name_and_no_line_twice() {
        let folder = tempfile::tempdir().unwrap();
        for _ in 0..2 {
            let ledger = Ledger::open(folder.path()).unwrap();
            for name in ["e.toml", "./e.toml"] {
                let experiment = name.to_owned();
                let entry = entry("a", 2.5);
                let entry = Entry {
                    experiment,
                    ..entry
                };
                ledger.note((0, 0, 1), &entry).unwrap();
            }
        }
        assert_eq!(text(folder.path()).lines().count(), 2);
    }

    #[test]
    fn two_processes_do_not_add_to_the_same_file() {
        let folder = tempfile::tempdir().unwrap();
        let first = Ledger::open(folder.path()).unwrap();
        let problem = Ledger::open(folder.path()).unwrap_err().to_string();
        assert!(problem.contains("another process adds runs"), "{problem}");
        drop(first);
        Ledger::open(folder.path()).unwrap();
    }

    #[test]
    fn a_line_that_was_cut_off_is_written_again() {
        let folder = tempfile::tempdir().unwrap();
        let ledger = Ledger::open(folder.path()).unwrap();
        ledger.note((0, 0, 1), &entry("a", 2.5)).unwrap();
        ledger.note((0, 0, 2), &entry("b", 2.5)).unwrap();
        drop(ledger);
        let whole = text(folder.path());
        fs::write(folder.path().join(Ledger::FILE), &whole[..whole.len() - 5]).unwrap();
        let ledger = Ledger::open(folder.path()).unwrap();
        assert!(ledger.recall("a").is_some() && ledger.recall("b").is_none());
        ledger.note((0, 0, 2), &entry("b", 2.5)).unwrap();
        assert_eq!(text(folder.path()), whole);
    }

    #[test]
    fn lines_of_another_schema_are_ignored() {
        let folder = tempfile::tempdir().unwrap();
        let earlier = "{\"schema\": \"migbsp.compare-runs/1\", \"digest\": \"a\"}\n";
        fs::write(folder.path().join(Ledger::FILE), earlier).unwrap();
        let ledger = Ledger::open(folder.path()).unwrap();
        assert!(ledger.recall("a").is_none());
    }

    #[test]
    fn another_file_is_no_ledger() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join(Ledger::FILE), "{}\n").unwrap();
        let problem = Ledger::open(folder.path()).unwrap_err().to_string();
        assert!(
            problem.contains("runs.jsonl:1: is no run of a comparison"),
            "{problem}"
        );
    }
}
