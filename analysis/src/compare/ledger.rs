//! Runs of a comparison that are done, in memory and in a file.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use bsp::numbers::length;
use experiments::{Failure, Provenance};
use serde::{Deserialize, Serialize};

use crate::compare::results::{DoneRun, FailedRun, Outcome, Run};

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
    /// Runs that are over, by digest.
    kept: BTreeMap<String, Kept>,
    /// Runs that are under way, by digest: the places that wait for each.
    under_way: BTreeMap<String, Vec<(Place, NamedRun)>>,
    done: BTreeMap<Place, DoneRun>,
    from_file: usize,
}

/// A run that is over.
#[derive(Debug)]
struct Kept {
    outcome: Outcome,
    /// Whether the file had it.
    is_from_file: bool,
    /// Experiment and policy of each line that has it.
    names: BTreeSet<(String, String)>,
}

/// Number of the experiment, number of the policy, seed.
pub(super) type Place = (usize, usize, u64);

/// A run by its names, of which several may be the same run.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub(super) struct NamedRun {
    /// What makes the run. Its policy, its seed and the digest of its configuration are fields of their own.
    #[serde(flatten)]
    pub(super) provenance: Provenance,
    /// Of everything that the run depends on, in hexadecimal digits.
    #[cfg_attr(feature = "schemas", schemars(pattern("^[0-9a-f]{64}$")))]
    pub(super) digest: String,
    /// The experiment, as it was named.
    pub(super) experiment: String,
    /// Whether its result depends on the seed.
    pub(super) draws: bool,
    /// Label of the policy.
    pub(super) policy: String,
    /// SHA-256 of its configuration.
    #[serde(skip)]
    pub(super) configuration_sha256: String,
}

/// A line of `runs.jsonl`, as it is written: a run with a result, or without one.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub(crate) struct Entry<'a, T> {
    /// [`LEDGER_SCHEMA`] or [`FAILURE_SCHEMA`].
    schema: &'static str,
    #[serde(flatten)]
    named: &'a NamedRun,
    #[serde(flatten)]
    outcome: &'a T,
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
        let mut kept: BTreeMap<String, Kept> = BTreeMap::new();
        for (_, Line { name, outcome }) in read_lines(&path, &text)? {
            let entry = kept.entry(name.digest).or_insert_with(|| Kept {
                outcome: outcome.clone(),
                is_from_file: true,
                names: BTreeSet::new(),
            });
            if entry.outcome.run().is_some() != outcome.run().is_some() {
                // A run that failed was made again: lines before this one are out of date.
                entry.names.clear();
            }
            entry.outcome = outcome;
            entry.names.insert((name.experiment, name.policy));
        }
        let whole = text.rfind('\n').map_or(0, |end| end + 1);
        let length = length(whole);
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
    pub fn from_file(&self) -> usize {
        self.state().from_file
    }

    /// Forgets the runs that failed, so that they are made again.
    pub fn forget_failures(&self) {
        let kept = &mut self.state().kept;
        kept.retain(|_, kept| kept.outcome.run().is_some());
    }

    /// The run at `place`, if it is over.
    pub(super) fn done(&self, place: Place) -> Option<DoneRun> {
        self.state().done.get(&place).cloned()
    }

    /// Asks whether the run at `place` is to be made, which [`Self::finish`] ends. If it is over already, or under way at
    /// another place, it is or will be noted here, too.
    ///
    /// # Errors
    ///
    /// If the file does not take it.
    pub(super) fn begin(&self, place: Place, named: NamedRun) -> Result<bool, Failure> {
        let mut state = self.state();
        if let Some(kept) = state.kept.get(&named.digest) {
            let outcome = kept.outcome.clone();
            state.from_file += usize::from(kept.is_from_file);
            state.note(place, &named, &outcome)?;
            return Ok(false);
        }
        if let Some(places) = state.under_way.get_mut(&named.digest) {
            places.push((place, named));
            return Ok(false);
        }
        let digest = named.digest.clone();
        state.under_way.insert(digest, vec![(place, named)]);
        Ok(true)
    }

    /// Notes how the run with this digest ended, at each place that waits for it.
    ///
    /// # Errors
    ///
    /// If the file does not take it.
    pub(super) fn finish(&self, digest: &str, outcome: &Outcome) -> Result<(), Failure> {
        let mut state = self.state();
        let kept = Kept {
            outcome: outcome.clone(),
            is_from_file: false,
            names: BTreeSet::new(),
        };
        state.kept.insert(digest.to_owned(), kept);
        let places = state.under_way.remove(digest).unwrap_or_default();
        places
            .iter()
            .try_for_each(|(place, named)| state.note(*place, named, outcome))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Notes that the run at `place` is over. A line that the file has is not written again.
    fn note(&mut self, place: Place, named: &NamedRun, outcome: &Outcome) -> Result<(), Failure> {
        let outcome = outcome.with_configuration(&named.configuration_sha256);
        let line = match &outcome {
            Outcome::Finished(run) => written(LEDGER_SCHEMA, named, run),
            Outcome::Failed(failed) => written(FAILURE_SCHEMA, named, failed),
        };
        let run_sha256 = named.digest.clone();
        self.done.insert(
            place,
            DoneRun {
                run_sha256,
                outcome,
            },
        );
        let names = (named.experiment.clone(), named.policy.clone());
        let kept = self.kept.get_mut(&named.digest);
        if !kept.is_none_or(|kept| kept.names.insert(names)) {
            return Ok(());
        }
        let Some((path, file)) = &mut self.file else {
            return Ok(());
        };
        file.write_all(line.as_bytes()).map_err(|error| {
            Failure::Run(format!("{}: cannot be written: {error}", path.display()))
        })
    }
}

/// A line about the run `named`.
fn written(schema: &'static str, named: &NamedRun, outcome: &impl Serialize) -> String {
    let entry = Entry {
        schema,
        named,
        outcome,
    };
    let mut line = serde_json::to_string(&entry).expect("a run is numbers and text");
    line.push('\n');
    line
}

/// As much of a line as says whether it is one of these schemas.
#[derive(Debug, Deserialize)]
struct Head {
    schema: String,
}

/// A line of the file, as it is read.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    pub(crate) name: Name,
    pub(crate) outcome: Outcome,
}

/// The names of a run.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Name {
    /// Of everything that the run depends on.
    pub(crate) digest: String,
    /// The experiment, as it was named.
    pub(crate) experiment: String,
    /// Whether its result depends on the seed.
    pub(crate) draws: bool,
    /// Label of the policy.
    pub(crate) policy: String,
}

/// The schema of a line with a result.
pub(crate) const LEDGER_SCHEMA: &str = "migbsp.compare-runs/1";

/// The schema of a line about a run without one.
pub(crate) const FAILURE_SCHEMA: &str = "migbsp.compare-failures/1";

/// The whole lines of `text`, which is that of the file `path`, each with its text; lines of other schemas are left
/// out. Of two lines about the same run, the later one counts.
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
        let outcome = match &*head.schema {
            LEDGER_SCHEMA => serde_json::from_str::<Run>(line).map(Outcome::Finished),
            FAILURE_SCHEMA => serde_json::from_str::<FailedRun>(line).map(Outcome::Failed),
            _ => continue,
        };
        let outcome = outcome.map_err(unreadable)?;
        let name = serde_json::from_str(line).map_err(unreadable)?;
        lines.push((line, Line { name, outcome }));
    }
    Ok(lines)
}

#[cfg(test)]
mod tests {
    use super::*;
    use experiments::Registry;

    use crate::compare::results::FailedRun;
    use crate::compare::results::tests::results;

    fn named(digest: &str) -> NamedRun {
        NamedRun {
            provenance: Provenance::of_program(&Registry::new()).unwrap(),
            digest: digest.to_owned(),
            experiment: "e.toml".to_owned(),
            draws: true,
            policy: "none".to_owned(),
            configuration_sha256: "ab12".to_owned(),
        }
    }

    /// Makes the run `named` at `place`, unless it is there already; whether it is made.
    fn make(ledger: &Ledger, place: Place, named: NamedRun) -> bool {
        let digest = named.digest.clone();
        let is_made = ledger.begin(place, named).unwrap();
        if is_made {
            let results = results(&[(true, &[&[2.5]])]);
            ledger
                .finish(&digest, &results.runs[0][0][0].outcome)
                .unwrap();
        }
        is_made
    }

    fn text(folder: &Path) -> String {
        fs::read_to_string(folder.join(Ledger::FILE)).unwrap()
    }

    #[test]
    fn runs_with_the_same_digest_are_taken_from_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let first = Ledger::open(folder.path()).unwrap();
        assert!(make(&first, (0, 0, 1), named("a")));
        drop(first);
        let written = text(folder.path());
        let second = Ledger::open(folder.path()).unwrap();
        assert!(second.is_empty());
        assert!(!make(&second, (3, 1, 7), named("a")));
        let run = second.done((3, 1, 7)).unwrap();
        let seconds = run.outcome.run().unwrap().seconds;
        assert_eq!(seconds.to_bits(), 2.5_f64.to_bits());
        assert_eq!((second.len(), second.from_file()), (1, 1));
        assert_eq!(text(folder.path()), written);
        assert!(make(&second, (0, 0, 1), named("b")));
    }

    #[test]
    fn a_run_has_a_line_for_every_name_and_no_line_twice() {
        let folder = tempfile::tempdir().unwrap();
        for _ in 0..2 {
            let ledger = Ledger::open(folder.path()).unwrap();
            for experiment in ["e.toml", "./e.toml"].map(str::to_owned) {
                let named = NamedRun {
                    experiment,
                    ..named("a")
                };
                make(&ledger, (0, 0, 1), named);
            }
        }
        assert_eq!(text(folder.path()).lines().count(), 2);
    }

    #[test]
    fn a_run_that_is_under_way_is_made_once_and_keeps_its_configurations() {
        let folder = tempfile::tempdir().unwrap();
        let ledger = Ledger::open(folder.path()).unwrap();
        let other = NamedRun {
            experiment: "e.toml x=2".to_owned(),
            configuration_sha256: "cd34".to_owned(),
            ..named("a")
        };
        assert!(ledger.begin((0, 0, 1), named("a")).unwrap());
        assert!(!ledger.begin((1, 0, 1), other.clone()).unwrap());
        assert_eq!(ledger.len(), 0);
        let results = results(&[(true, &[&[2.5]])]);
        ledger.finish("a", &results.runs[0][0][0].outcome).unwrap();
        assert!(!ledger.begin((2, 0, 1), other).unwrap());
        let of = |experiment| ledger.done((experiment, 0, 1)).unwrap();
        assert_eq!(of(0).run_sha256, of(1).run_sha256);
        let configurations = [0, 1, 2].map(of);
        let configurations = configurations
            .each_ref()
            .map(|run| run.outcome.configuration_sha256());
        assert_eq!(configurations, ["ab12", "cd34", "cd34"]);
        assert_eq!(text(folder.path()).lines().count(), 2);
        assert_eq!(ledger.from_file(), 0);
    }

    #[test]
    fn a_run_that_failed_is_kept_until_it_is_asked_for_again() {
        let folder = tempfile::tempdir().unwrap();
        let ledger = Ledger::open(folder.path()).unwrap();
        assert!(ledger.begin((0, 0, 1), named("a")).unwrap());
        let failed = Outcome::Failed(FailedRun {
            seed: 1,
            error: "out of road".to_owned(),
            configuration_sha256: "ab12".to_owned(),
        });
        ledger.finish("a", &failed).unwrap();
        drop(ledger);
        let again = Ledger::open(folder.path()).unwrap();
        assert!(!make(&again, (0, 0, 1), named("a")));
        assert_eq!(again.done((0, 0, 1)).unwrap().outcome, failed);
        drop(again);
        let retried = Ledger::open(folder.path()).unwrap();
        retried.forget_failures();
        assert!(make(&retried, (0, 0, 1), named("a")));
        drop(retried);
        // The later line counts.
        let last = Ledger::open(folder.path()).unwrap();
        last.forget_failures();
        assert!(!make(&last, (0, 0, 1), named("a")));
        assert!(last.done((0, 0, 1)).unwrap().outcome.run().is_some());
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
        for digest in ["a", "b"] {
            assert!(make(&ledger, (0, 0, 1), named(digest)));
        }
        drop(ledger);
        let whole = text(folder.path());
        fs::write(folder.path().join(Ledger::FILE), &whole[..whole.len() - 5]).unwrap();
        let ledger = Ledger::open(folder.path()).unwrap();
        assert!(!make(&ledger, (0, 0, 1), named("a")));
        assert!(make(&ledger, (0, 0, 2), named("b")));
        assert_eq!(text(folder.path()), whole);
    }

    #[test]
    fn lines_of_another_schema_are_ignored() {
        let folder = tempfile::tempdir().unwrap();
        let earlier = "{\"schema\": \"migbsp.compare-runs/0\", \"digest\": \"a\"}\n";
        fs::write(folder.path().join(Ledger::FILE), earlier).unwrap();
        let ledger = Ledger::open(folder.path()).unwrap();
        assert!(make(&ledger, (0, 0, 1), named("a")));
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
