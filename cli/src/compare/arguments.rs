//! What `compare` is told.

use std::path::{Path, PathBuf};

use clap::Args;

use crate::compare::claim::Claim;
use crate::compare::contender::Contender;
use crate::compare::seeds::Seeds;
use crate::output::Format;
use experiments::Failure;

/// What `compare` is told.
#[derive(Debug, Args)]
pub(crate) struct CompareArguments {
    /// The experiments, TOML files
    #[arg(value_name = "EXPERIMENT", required = true)]
    pub(super) experiments: Vec<PathBuf>,
    /// A policy, and parameters of [scheduler] that it is to have; may be given several times
    #[arg(long = "policy", value_name = "NAME[:KEY=VALUE,...]", default_values = ["none", "migbsp", "adaptive"])]
    pub(super) policies: Vec<Contender>,
    /// Which seeds: 7, or 1,2,5, or 1..30 with both ends
    #[arg(long, value_name = "SEEDS", default_value = "1..10")]
    pub(super) seeds: Seeds,
    /// Change a value of all experiments; may be given several times
    #[arg(long, value_name = "SECTION.KEY=VALUE")]
    pub(super) set: Vec<String>,
    /// How to show the results
    #[arg(long, value_enum, default_value_t)]
    pub(super) format: Format,
    /// Draw the gains with their confidence intervals into this file
    #[arg(long, value_name = "FILE")]
    pub(super) svg: Option<PathBuf>,
    /// What has to hold over all experiments, as 'migbsp <= none'; may be given several times
    #[arg(long = "assert", value_name = "CLAIM")]
    pub(super) claims: Vec<Claim>,
    /// What has to hold on every single experiment; may be given several times
    #[arg(long = "assert-each", value_name = "CLAIM")]
    pub(super) claims_each: Vec<Claim>,
    /// Whether a bar on stderr is wanted.
    #[arg(skip)]
    pub(crate) progress: bool,
}

impl CompareArguments {
    /// Checks what one argument says against the others.
    ///
    /// # Errors
    ///
    /// The first argument that will not do beside the others.
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
                "{name} is given twice{again}; --seeds says how often it is run"
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
                        format!("`{claim}`: `{label}` takes no part; expected one of {list}");
                    return Err(Failure::Usage(problem));
                }
            }
        }
        for assignment in &self.set {
            let key = assignment.split('=').next().unwrap_or_default().trim();
            if let Some((_, instead)) = DECIDED.iter().find(|(decided, _)| *decided == key) {
                return Err(Failure::Usage(format!(
                    "--set {key}: is not for all runs; {instead}"
                )));
            }
        }
        Ok(())
    }
}

/// Two of `files` that are the same one, however they are called.
fn same_file(files: &[PathBuf]) -> Option<(&Path, &Path)> {
    // What is not there is refused when it is read.
    let real = |file: &PathBuf| file.canonicalize().unwrap_or_else(|_| file.clone());
    let real: Vec<PathBuf> = files.iter().map(real).collect();
    let mut numbered = real.iter().enumerate();
    numbered.find_map(|(index, file)| {
        let first = real[..index].iter().position(|other| other == file)?;
        Some((files[first].as_path(), files[index].as_path()))
    })
}

/// Something that is there twice.
fn twice<T: PartialEq>(items: &[T]) -> Option<&T> {
    let mut numbered = items.iter().enumerate();
    numbered.find_map(|(index, item)| items[..index].contains(item).then_some(item))
}

/// Keys that differ from run to run, and what says how.
const DECIDED: [(&str, &str); 4] = [
    ("run.seed", "give --seeds"),
    ("scheduler.policy", "give --policy"),
    (
        "scheduler.scenario",
        "give it to a policy, as in --policy migbsp:scenario=ii",
    ),
    ("scheduler.script", "policies decide who moves"),
];
