//! The folder of a sweep: what it is, and the runs that are done.

use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use experiments::record::RecordedBuild;
use experiments::{Failure, Provenance, Published};
use serde::Deserialize;
use settings::Override;

use crate::compare::{DoneRun, Ledger, Line, Results, Subject, read_lines};
use crate::sweep::grid::Point;
use crate::sweep::plan::Plan;
use crate::sweep::swept::Swept;

/// A sweep, or a shard of one, in a folder.
#[derive(Debug)]
pub struct SweepFolder {
    /// The folder.
    pub path: PathBuf,
    /// What the sweep is.
    pub plan: Plan,
    /// The build that made it.
    pub build: RecordedBuild,
    /// Name and version of the program.
    pub(super) version: String,
    /// The values that the environment set.
    pub overrides: Vec<Override>,
    /// Lines of `runs.jsonl` with their texts, by experiment, policy and seed.
    pub(super) lines: BTreeMap<(String, String, u64), (String, Line)>,
}

/// `plan.json`, as it is read.
#[derive(Debug, Deserialize)]
struct Written {
    version: String,
    build: RecordedBuild,
    overrides: Vec<Override>,
    #[serde(flatten)]
    plan: Plan,
}

/// As much of a file as says whether it is of this schema.
#[derive(Debug, Deserialize)]
struct Head {
    schema: String,
}

impl SweepFolder {
    /// The file that says what the sweep is.
    pub const PLAN: &str = "plan.json";
    /// The table of the runs of a complete sweep.
    pub const TABLE: &str = "runs.csv";

    /// The sweep in the folder `path`.
    ///
    /// # Errors
    ///
    /// If there is none, or a file of it has another form.
    pub fn read(path: &Path) -> Result<Self, Failure> {
        let Some(written) = written(path)? else {
            return Err(Failure::Input(format!(
                "{}: has no {}: it is no folder of a sweep, which `sweep --out DIR` makes",
                path.display(),
                Self::PLAN
            )));
        };
        let file = path.join(Ledger::FILE);
        let text = match fs::read_to_string(&file) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                return Err(Failure::Input(format!("{}: {error}", file.display())));
            }
            text => text.unwrap_or_default(),
        };
        let mut lines = BTreeMap::new();
        for (text, line) in read_lines(&file, &text)? {
            let name = &line.name;
            let key = (
                name.experiment.clone(),
                name.policy.clone(),
                line.outcome.seed(),
            );
            lines.insert(key, (text.to_owned(), line));
        }
        Ok(Self {
            path: path.to_owned(),
            plan: written.plan,
            build: written.build,
            version: written.version,
            overrides: written.overrides,
            lines,
        })
    }

    /// What made the runs.
    ///
    /// # Errors
    ///
    /// If the build of `plan.json` is none.
    pub fn provenance(&self) -> Result<Provenance, Failure> {
        let version = self.version.clone();
        let provenance = Provenance::recorded(version, &self.build, self.overrides.clone());
        provenance.map_err(|problem| {
            Failure::Input(format!(
                "{}: {problem}",
                self.path.join(Self::PLAN).display()
            ))
        })
    }

    /// The runs that are done under all policies, in the order of combinations, policies and seeds.
    pub fn swept(&self) -> Swept {
        let grid = &self.plan.grid;
        let (mut points, mut experiments, mut runs) = (Vec::new(), Vec::new(), Vec::new());
        for point in grid.points() {
            let (done, draws) = self.done(&point);
            let Some(seeds) = done.first().filter(|runs| !runs.is_empty()) else {
                continue;
            };
            experiments.push(Subject {
                name: point.name.clone(),
                label: point.label.clone(),
                draws,
                seeds: seeds.iter().map(|run| run.outcome.seed()).collect(),
                best_placement: None,
            });
            runs.push(done);
            points.push(point);
        }
        let mut policies = self.plan.policies.iter();
        let reference = policies.position(|policy| Some(policy) == self.plan.reference.as_ref());
        Swept {
            plan: self.plan.clone(),
            version: self.version.clone(),
            build: self.build.sha256.clone(),
            points,
            results: Results {
                experiments,
                policies: self.plan.policies.clone(),
                reference: reference.unwrap_or(0),
                against_reference: false,
                runs,
            },
        }
    }

    /// The runs of each policy with the seeds of `point` that are done under all, and whether they depend on the seed.
    fn done(&self, point: &Point) -> (Vec<Vec<DoneRun>>, bool) {
        let policies = &self.plan.policies;
        let line = |policy: &String, seed: u64| {
            let key = (point.name.clone(), policy.clone(), seed);
            self.lines.get(&key).map(|(_, line)| line)
        };
        let (mut runs, mut draws) = (vec![Vec::new(); policies.len()], false);
        for seed in &point.seeds {
            let of_seed = policies.iter().map(|policy| line(policy, *seed));
            let Some(of_seed) = of_seed.collect::<Option<Vec<&Line>>>() else {
                continue;
            };
            for (runs, line) in runs.iter_mut().zip(of_seed) {
                draws |= line.name.draws;
                runs.push(DoneRun {
                    run_sha256: line.name.digest.clone(),
                    outcome: line.outcome.clone(),
                });
            }
        }
        (runs, draws)
    }
}

/// Whether the sweep `plan` can go on in the folder `path`, or begin there; `false`: it begins.
///
/// # Errors
///
/// If the folder has another sweep, or runs of no sweep.
pub fn check_folder(path: &Path, plan: &Plan, provenance: &Provenance) -> Result<bool, Failure> {
    let advice = "name another folder with --out, or give the command that made this one";
    let Some(written) = written(path)? else {
        let ledger = path.join(Ledger::FILE);
        if fs::metadata(&ledger).is_ok_and(|file| 0 < file.len()) {
            return Err(Failure::Usage(format!(
                "{} has runs of a comparison ({}), and no sweep\n  help: name another folder with --out",
                path.display(),
                Ledger::FILE
            )));
        }
        return Ok(false);
    };
    let overrides = provenance.overrides();
    let differences = differences(
        (&written.build, &written.overrides, &written.plan),
        (&provenance.recorded_build(), overrides, plan),
        false,
    );
    if differences.is_empty() {
        return Ok(true);
    }
    Err(Failure::Usage(format!(
        "{} has another sweep\n  {}\n  help: {advice}",
        path.display(),
        differences.join("\n  ")
    )))
}

/// In what the sweep `here` differs from the one `there`; shards of the same sweep do not if `is_shard` is set.
pub(super) fn differences(
    there: (&RecordedBuild, &[Override], &Plan),
    here: (&RecordedBuild, &[Override], &Plan),
    is_shard: bool,
) -> Vec<String> {
    let build = |build: &RecordedBuild| {
        let digits: String = build.sha256.chars().take(12).collect();
        format!("{} {} (build {digits})", build.program, build.version)
    };
    let variables = |overrides: &[Override]| {
        let one = |set: &Override| format!("{} = {} from {}", set.key, set.value, set.from);
        let all: Vec<String> = overrides.iter().map(one).collect();
        if all.is_empty() {
            "none".to_owned()
        } else {
            all.join(", ")
        }
    };
    let mut lines = Vec::new();
    if there.0 != here.0 {
        let (there, here) = (build(there.0), build(here.0));
        lines.push(format!("program: {there} there, {here} here"));
    }
    let (set_there, set_here) = (variables(there.1), variables(here.1));
    if set_there != set_here {
        lines.push(format!("variables: {set_there} there, {set_here} here"));
    }
    let of_plan = there.2.differences(here.2, is_shard);
    // Inputs have another digest for another program or other variables.
    let is_of_inputs = |line: &String| line.ends_with(" is not the same");
    if lines.is_empty() || !of_plan.iter().all(is_of_inputs) {
        lines.extend(of_plan);
    }
    lines
}

/// `plan.json` in the folder `path`, if there is one.
fn written(path: &Path) -> Result<Option<Written>, Failure> {
    let file = path.join(SweepFolder::PLAN);
    let text = match fs::read_to_string(&file) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(Failure::Input(format!("{}: {error}", file.display()))),
    };
    let fault = |problem: String| Failure::Input(format!("{}: {problem}", file.display()));
    let unreadable = |error: serde_json::Error| fault(error.to_string());
    let head: Head = serde_json::from_str(&text).map_err(unreadable)?;
    if head.schema != Plan::SCHEMA {
        let (met, expected) = (head.schema, Plan::SCHEMA);
        return Err(fault(format!(
            "invalid value `{met}` for `schema`: must be {expected}"
        )));
    }
    serde_json::from_str(&text).map_err(unreadable).map(Some)
}
