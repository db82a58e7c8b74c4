//! `migbsp check FILE`: whether a program keeps the laws of programs.

use std::path::Path;

use analysis::text::{Layout, counted, data};
use experiments::{CsvTable, Failure, Provenance, Published, Unlawful};
use serde::Serialize;

use crate::command::{Context, Overrides};
use crate::failure::CommandFailure;
use crate::output::{Format, print, print_json, print_text};

/// What was found of a program.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub(crate) struct Report {
    /// Name of the workload.
    workload: String,
    /// Number of processes.
    processes: u32,
    /// Number of supersteps.
    supersteps: u64,
    /// How often a process was moved.
    moves: u64,
    /// The length of the longest encoded state.
    state_bytes_max: u64,
    /// What the program says of its outputs.
    #[serde(skip_serializing_if = "Option::is_none")]
    verified: Option<String>,
    /// SHA-256 of the SHA-256 of each output, in rank order.
    #[cfg_attr(feature = "schemas", schemars(pattern("^[0-9a-f]{64}$")))]
    outputs_sha256: String,
}

impl Published for Report {
    const SCHEMA: &'static str = "migbsp.check-program/1";
}

/// Checks the program of the experiment `file`.
///
/// # Errors
///
/// If the experiment is invalid, or the program breaks a law.
pub(crate) fn check(
    file: &Path,
    overrides: &Overrides,
    format: Format,
    context: &Context<'_>,
) -> Result<(), CommandFailure> {
    let registry = context.registry();
    let loaded = experiments::load(file, &overrides.assignments(), registry)?;
    let application = &loaded.experiment.application;
    let entry = registry.find(&application.workload, None)?;
    let order = loaded.build_input();
    let limit = loaded.experiment.run.superstep_limit;
    let checked = entry
        .check_laws(order, limit)
        .map_err(|error| match error {
            Unlawful::Parameters(fault) => Failure::from(fault),
            broken @ (Unlawful::Law(_) | Unlawful::Panicked(_)) => {
                Failure::Verification(broken.to_string())
            }
        })?;
    let verified = entry
        .verify(order, &checked.outputs)
        .map_err(Failure::from)?;
    let report = Report {
        workload: application.workload.clone(),
        processes: application.processes,
        supersteps: checked.supersteps,
        moves: checked.moves,
        state_bytes_max: checked.state_max.0,
        verified: verified.statement,
        outputs_sha256: verified.digest,
    };
    let provenance = || Provenance::of_experiment(&loaded, registry);
    match format {
        Format::Table => print_text(true, |layout| report.text(layout))?,
        Format::Json => print_json(&provenance()?, &report)?,
        Format::Csv => print(&report.csv(&provenance()?)?)?,
    }
    Ok(())
}

impl Report {
    fn text(&self, layout: Layout) -> String {
        let Self {
            workload,
            processes,
            supersteps,
            moves,
            ..
        } = self;
        let many = |number: u64, name: &str| counted(bsp::numbers::position(number), name);
        let (processes, supersteps) = (
            many((*processes).into(), "process"),
            many(*supersteps, "superstep"),
        );
        let longest = data(bsp::numbers::real(self.state_bytes_max));
        let mut text = layout.paragraph(&format!(
            "{workload} keeps the laws of programs: {processes}, {supersteps}. Executed again, and with a process moved {}, it \
             computed, sent and charged the same. The longest state has {longest}.",
            many(*moves, "time"),
        ));
        if let Some(verified) = &self.verified {
            text.push_str("\n\n");
            text.push_str(&layout.paragraph(&format!("Outputs: {verified}.")));
        }
        text.push('\n');
        text
    }

    fn csv(&self, provenance: &Provenance) -> Result<String, Failure> {
        let header = [
            "workload",
            "processes",
            "supersteps",
            "moves",
            "state_bytes_max",
            "outputs_sha256",
        ];
        let mut table = CsvTable::with_header(Self::SCHEMA, provenance, header)?;
        table.push([
            self.workload.clone(),
            self.processes.to_string(),
            self.supersteps.to_string(),
            self.moves.to_string(),
            self.state_bytes_max.to_string(),
            self.outputs_sha256.clone(),
        ])?;
        table.text()
    }
}
