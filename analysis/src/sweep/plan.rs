//! What a sweep is, and its folder, which keeps that and the runs that are done.

use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use experiments::record::RecordedBuild;
use experiments::{Failure, PreparedExperiment, Provenance, Published, Registry};
use serde::{Deserialize, Serialize};
use settings::{Files, Override, Value};
use sha2::{Digest, Sha256};

use crate::compare::{Contender, DoneRun, Ledger, Line, Results, Subject, read_lines};
use crate::sweep::grid::{Grid, Parameter, Point, Shard};
use crate::sweep::report::Swept;

/// A sweep, or a shard of one, as `plan.json` has it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Plan {
    /// Its combinations.
    #[serde(flatten)]
    pub grid: Grid,
    /// Labels of the policies.
    pub policies: Vec<String>,
    /// Label of the policy that runs scenario i, which gains are related to; `None`: there is none.
    pub reference: Option<String>,
    /// Of each experiment, the digest of it and of the files that it and the values name.
    #[cfg_attr(feature = "schemas", schemars(inner(pattern("^[0-9a-f]{64}$"))))]
    pub inputs: Vec<String>,
    /// Number of runs.
    pub runs: u64,
}

impl Published for Plan {
    const SCHEMA: &'static str = "migbsp.sweep-plan/1";
}

impl Plan {
    /// In what another plan differs from this one, a line for each: what there is in `there` and in `here`. Shards and
    /// their numbers of runs may differ if `is_shard` is set.
    pub(super) fn differences(&self, other: &Self, is_shard: bool) -> Vec<String> {
        let mut lines = Vec::new();
        let mut compare = |what: &str, there: String, here: String| {
            if there != here {
                lines.push(format!("{what}: {there} there, {here} here"));
            }
        };
        let (there, here) = (&self.grid, &other.grid);
        compare(
            "experiments",
            there.experiments.join(", "),
            here.experiments.join(", "),
        );
        let keys = |grid: &Grid| {
            let keys: Vec<&str> = grid.parameters.iter().map(Parameter::key).collect();
            if keys.is_empty() {
                "none".to_owned()
            } else {
                keys.join(", ")
            }
        };
        compare("parameters", keys(there), keys(here));
        if keys(there) == keys(here) {
            for (there, here) in there.parameters.iter().zip(&here.parameters) {
                compare(there.key(), there.list(), here.list());
            }
        }
        compare(
            "--policy",
            self.policies.join(", "),
            other.policies.join(", "),
        );
        compare("--seeds", seeds(&there.seeds), seeds(&here.seeds));
        let shard = |grid: &Grid| {
            grid.shard
                .map_or_else(|| "none".to_owned(), |shard| shard.to_string())
        };
        if !is_shard {
            compare("--shard", shard(there), shard(here));
        }
        if lines.is_empty() {
            let inputs = self.inputs.iter().zip(&other.inputs);
            for (name, (there, here)) in there.experiments.iter().zip(inputs) {
                if there != here {
                    lines.push(format!(
                        "{name}: the file, or one that it names, is not the same"
                    ));
                }
            }
        }
        if lines.is_empty() && !is_shard && self.runs != other.runs {
            lines.push(format!("runs: {} there, {} here", self.runs, other.runs));
        }
        lines
    }
}

/// Seeds in a line, a range where they are one.
pub(super) fn seeds(seeds: &[u64]) -> String {
    let is_range = seeds
        .windows(2)
        .all(|pair| pair[0].checked_add(1) == Some(pair[1]));
    match seeds {
        [first, .., last] if is_range => format!("{first}..{last}"),
        _ => seeds
            .iter()
            .map(u64::to_string)
            .collect::<Vec<_>>()
            .join(", "),
    }
}

/// Of each experiment of `grid`, a digest of all that its first runs under `policies` depend on, with the contents of the
/// files that values of parameters name.
///
/// # Errors
///
/// If the first combination of an experiment is invalid, or a file cannot be read.
pub fn inputs(
    grid: &Grid,
    policies: &[Contender],
    registry: &Registry,
) -> Result<Vec<String>, Failure> {
    let of = |experiment: usize| {
        let point = grid.first(experiment);
        let variant = grid.variant(&point);
        let mut digest = Sha256::new();
        for policy in policies {
            let mut assignments = variant.set.clone();
            assignments.extend_from_slice(&policy.assignments);
            assignments.push(format!("run.seed={}", grid.seeds[0]));
            let loaded = experiments::load(&variant.file, &assignments, registry)?;
            let prepared = PreparedExperiment::new(loaded)?;
            digest.update(prepared.digest(policy.scenario, registry)?);
        }
        let loaded = experiments::load(&variant.file, &variant.set, registry)?;
        let files = Files::new(&loaded.folder, &loaded.written);
        for (path, bytes) in contents(grid, files)? {
            digest.update(path);
            digest.update(bytes);
        }
        Ok(hex::encode(digest.finalize()))
    };
    let experiments = 0..grid.experiments.len();
    let named = |experiment: usize| {
        of(experiment).map_err(|failure: Failure| failure.of(&grid.first(experiment).name))
    };
    experiments.map(named).collect()
}

/// The contents of the files that values of `grid` name, by these names.
fn contents<'a>(grid: &'a Grid, files: Files<'_>) -> Result<BTreeMap<&'a str, Vec<u8>>, Failure> {
    let mut contents = BTreeMap::new();
    for (_, parameter) in grid.varying() {
        for value in parameter.values() {
            let Value::Text(name) = &value.value else {
                continue;
            };
            let path = files.path(parameter.key(), name);
            if path.is_file() {
                let unreadable = |error| Failure::Input(format!("{}: {error}", path.display()));
                contents.insert(name.as_str(), fs::read(&path).map_err(unreadable)?);
            }
        }
    }
    Ok(contents)
}

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
        let (found, expected) = (head.schema, Plan::SCHEMA);
        return Err(fault(format!(
            "invalid value `{found}` for `schema`: must be {expected}"
        )));
    }
    serde_json::from_str(&text).map_err(unreadable).map(Some)
}

/// The shards of a sweep together.
#[derive(Debug)]
pub struct Merged {
    /// What the sweep is.
    pub plan: Plan,
    /// `runs.jsonl` of it, in the order of combinations, seeds and policies.
    pub lines: String,
}

/// Merges the shards in `folders`.
///
/// # Errors
///
/// If a folder has no shard, shards are of different sweeps, the same, incomplete or missing.
pub fn merge(folders: &[SweepFolder]) -> Result<Merged, Failure> {
    let mut shards: BTreeMap<Shard, &SweepFolder> = BTreeMap::new();
    for folder in folders {
        let name = folder.path.display();
        let Some(shard) = folder.plan.grid.shard else {
            return Err(Failure::Input(format!(
                "{name}: has a whole sweep, no shard; `compare --from {name}` and the command that made it read it"
            )));
        };
        if let Some(first) = shards.insert(shard, folder) {
            let first = first.path.display();
            return Err(Failure::Input(format!(
                "{name}: has shard {shard}, as {first} has; each shard is named once"
            )));
        }
    }
    let Some(first) = folders.first() else {
        return Err(Failure::Usage("no shards to merge".to_owned()));
    };
    for folder in &folders[1..] {
        check_is_same(first, folder)?;
    }
    check_all_are_there(&shards)?;
    check_completeness(&shards)?;
    let mut plan = first.plan.clone();
    plan.grid.shard = None;
    plan.runs = folders.iter().map(|folder| folder.plan.runs).sum();
    let mut lines = String::new();
    for point in plan.grid.points() {
        for seed in point.seeds {
            for policy in &plan.policies {
                let key = (point.name.clone(), policy.clone(), seed);
                let found = folders.iter().find_map(|folder| folder.lines.get(&key));
                if let Some((text, _)) = found {
                    lines.push_str(text);
                    lines.push('\n');
                }
            }
        }
    }
    Ok(Merged { plan, lines })
}

fn check_is_same(first: &SweepFolder, other: &SweepFolder) -> Result<(), Failure> {
    let parts = |folder: &'_ SweepFolder| -> (_, _, _) {
        (
            folder.build.clone(),
            folder.overrides.clone(),
            folder.plan.clone(),
        )
    };
    let ((build, overrides, plan), here) = (parts(first), parts(other));
    let there = (&build, &*overrides, &plan);
    let mut lines = differences(there, (&here.0, &here.1, &here.2), true);
    let count = |folder: &SweepFolder| folder.plan.grid.shard.map_or(0, Shard::of);
    let (all, of) = (count(first), count(other));
    if all != of {
        lines.push(format!("--shard: {all} shards there, {of} here"));
    }
    if lines.is_empty() {
        return Ok(());
    }
    let (there, here) = (first.path.display(), other.path.display());
    Err(Failure::Input(format!(
        "{here}: has a shard of another sweep than {there}\n  {}",
        lines.join("\n  ")
    )))
}

fn check_all_are_there(shards: &BTreeMap<Shard, &SweepFolder>) -> Result<(), Failure> {
    let Some(of) = shards.keys().next().map(|shard| shard.of()) else {
        return Ok(());
    };
    let numbers: Vec<u64> = shards.keys().map(|shard| shard.number()).collect();
    let mut missing = (1..=of).filter(|number| numbers.binary_search(number).is_err());
    let first: Vec<String> = missing
        .by_ref()
        .take(FEW)
        .map(|number| format!("{number}/{of}"))
        .collect();
    if first.is_empty() {
        return Ok(());
    }
    let rest = match of - numbers.len() as u64 - first.len() as u64 {
        0 => String::new(),
        rest => format!(" and {rest} more"),
    };
    Err(Failure::Input(format!(
        "of {of} shards these are missing: {}{rest}\n  help: name their folders, too",
        first.join(", ")
    )))
}

fn check_completeness(shards: &BTreeMap<Shard, &SweepFolder>) -> Result<(), Failure> {
    let mut lines = Vec::new();
    for (shard, folder) in shards {
        let swept = folder.swept();
        if !swept.is_complete() {
            let (name, done, all) = (folder.path.display(), swept.runs(), folder.plan.runs);
            lines.push(format!("{name}: shard {shard} has {done} of {all} runs"));
        }
    }
    if lines.is_empty() {
        return Ok(());
    }
    Err(Failure::Input(format!(
        "{}\n  help: the command that made it goes on where it stopped",
        lines.join("\n")
    )))
}

/// Shards that a message names.
const FEW: usize = 10;

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::sweep::grid::tests::grid;

    pub(crate) fn plan(set: &[&str], seeds_count: u64) -> Plan {
        let grid = grid(&["a.toml"], set, seeds_count);
        Plan {
            runs: u64::try_from(grid.pairs() * 2).unwrap(),
            grid,
            policies: vec!["none".to_owned(), "adaptive".to_owned()],
            reference: Some("none".to_owned()),
            inputs: vec!["ab12".to_owned()],
        }
    }

    #[test]
    fn a_plan_reads_back_as_it_was_written() {
        let mut plan = plan(&["a.x=1,2.5,1 s", "a.y=[1, 2],{ z = true }"], 3);
        plan.grid.shard = Some("2/3".parse().unwrap());
        let text = serde_json::to_string(&plan).unwrap();
        assert_eq!(serde_json::from_str::<Plan>(&text).unwrap(), plan);
        assert!(text.contains("\"shard\":\"2/3\""), "{text}");
    }

    #[test]
    fn differences_are_named() {
        let first = plan(&["a.x=1,2", "a.y=3"], 5);
        assert_eq!(first.differences(&first, false), [""; 0]);
        let second = plan(&["a.x=1,3", "a.y=3"], 4);
        let lines = [
            "a.x: 1, 2 there, 1, 3 here",
            "--seeds: 1..5 there, 1..4 here",
        ];
        assert_eq!(first.differences(&second, false), lines);
        let third = plan(&["a.x=1,2"], 5);
        let lines = ["parameters: a.x, a.y there, a.x here"];
        assert_eq!(first.differences(&third, false), lines);
        let mut shard = first.clone();
        shard.grid.shard = Some("1/2".parse().unwrap());
        shard.runs = 10;
        assert_eq!(
            first.differences(&shard, false),
            ["--shard: none there, 1/2 here"]
        );
        assert_eq!(first.differences(&shard, true), [""; 0]);
        let mut changed = first.clone();
        changed.inputs = vec!["cd34".to_owned()];
        let lines = ["a.toml: the file, or one that it names, is not the same"];
        assert_eq!(first.differences(&changed, true), lines);
    }

    #[test]
    fn consecutive_seeds_are_a_range() {
        assert_eq!(seeds(&[1, 2, 3]), "1..3");
        assert_eq!(seeds(&[3, 2, 1]), "3, 2, 1");
        assert_eq!(seeds(&[7]), "7");
        assert_eq!(seeds(&[u64::MAX, 0]), "18446744073709551615, 0");
    }
}
