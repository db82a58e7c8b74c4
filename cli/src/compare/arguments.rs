//! Arguments of `compare`.

use std::path::{Path, PathBuf};

use clap::Args;

use crate::compare::claim::Claim;
use crate::compare::contender::Contender;
use crate::compare::seeds::Seeds;
use crate::failure::Failure;
use crate::output::Format;

/// Arguments of `compare`.
#[derive(Debug, Args)]
pub(crate) struct CompareArguments {
    /// Experiment files, TOML
    #[arg(value_name = "EXPERIMENT", required = true)]
    pub(super) experiments: Vec<PathBuf>,
    /// Policy, with parameters of [scheduler]; can be given several times
    #[arg(long = "policy", value_name = "NAME[:KEY=VALUE,...]", default_values = ["none", "migbsp", "adaptive"])]
    pub(super) policies: Vec<Contender>,
    /// Seeds: 7, or 1,2,5, or 1..30 with both ends
    #[arg(long, value_name = "SEEDS", default_value = "1..10")]
    pub(super) seeds: Seeds,
    /// Value to set in all experiments; can be given several times
    #[arg(long, value_name = "SECTION.KEY=VALUE")]
    pub(super) set: Vec<String>,
    /// Format of the results
    #[arg(long, value_enum, default_value_t)]
    pub(super) format: Format,
    /// File for a chart of the gains with their confidence intervals
    #[arg(long, value_name = "FILE")]
    pub(super) svg: Option<PathBuf>,
    /// Claim about all experiments together, as 'migbsp <= none'; can be given several times
    #[arg(long = "assert", value_name = "CLAIM")]
    pub(super) claims: Vec<Claim>,
    /// Claim about every single experiment; can be given several times
    #[arg(long = "assert-each", value_name = "CLAIM")]
    pub(super) claims_each: Vec<Claim>,
    /// Whether to show a progress bar on stderr.
    #[arg(skip)]
    pub(crate) progress: bool,
}

impl CompareArguments {
    /// Checks the arguments against one another.
    ///
    /// # Errors
    ///
    /// The first argument that contradicts another one.
    pub(super) fn check(&self) -> Result<(), Failure> {
        let labels: Vec<&str> = self
            .policies
            .iter()
            .map(|policy| policy.label.as_str())
            .collect();
        if let Some((first, second)) = same_file(&self.experiments) {
            let (name, first) = (second.display(), first.display());
            let again = if first.to_string() == name.to_string() {
                String::new()
            } else {
                format!(", first as {first}")
            };
            return Err(Failure::Usage(format!(
                "{name} is given twice{again}; --seeds sets the number of runs"
            )));
        }
        if let Some(label) = twice(&labels) {
            return Err(Failure::Usage(format!("--policy {label} is given twice")));
        }
        for claim in self.claims.iter().chain(&self.claims_each) {
            for label in [&claim.left, &claim.right] {
                if !labels.contains(&label.as_str()) {
                    let list = labels.join(", ");
                    let problem =
                        format!("`{claim}`: unknown policy `{label}`, must be one of {list}");
                    return Err(Failure::Usage(problem));
                }
            }
        }
        for assignment in &self.set {
            let key = assignment.split('=').next().unwrap_or_default().trim();
            if let Some((_, instead)) = DECIDED.iter().find(|(decided, _)| *decided == key) {
                return Err(Failure::Usage(format!(
                    "--set {key}: cannot be set for all runs; {instead}"
                )));
            }
        }
        Ok(())
    }
}

/// The first two of `files` that are the same file.
fn same_file(files: &[PathBuf]) -> Option<(&Path, &Path)> {
    // A missing file is reported when it is read.
    let real = |file: &PathBuf| file.canonicalize().unwrap_or_else(|_| file.clone());
    let real: Vec<PathBuf> = files.iter().map(real).collect();
    let mut numbered = real.iter().enumerate();
    numbered.find_map(|(index, file)| {
        let first = real[..index].iter().position(|other| other == file)?;
        Some((files[first].as_path(), files[index].as_path()))
    })
}

/// A duplicate.
fn twice<T: PartialEq>(items: &[T]) -> Option<&T> {
    let mut numbered = items.iter().enumerate();
    numbered.find_map(|(index, item)| items[..index].contains(item).then_some(item))
}

/// Keys that differ from run to run, and what to use instead.
const DECIDED: [(&str, &str); 4] = [
    ("run.seed", "use --seeds"),
    ("scheduler.policy", "use --policy"),
    (
        "scheduler.scenario",
        "set it for a policy, as in --policy migbsp:scenario=ii",
    ),
    ("scheduler.script", "policies decide which processes move"),
];
