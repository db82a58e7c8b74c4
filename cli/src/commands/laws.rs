//! `migbsp check FILE`: whether a program keeps the laws of programs.

use std::path::Path;

use analysis::document::{Answer, Document, csv_of_fields};
use analysis::text::{counted, data};
use experiments::{Failure, Provenance, Published, Unlawful};
use serde::Serialize;

use crate::command::{Context, Overrides};
use crate::failure::CommandFailure;
use crate::output::{Format, show};

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
    show(&report, (format, true), || {
        Provenance::of_experiment(&loaded, registry)
    })
}

impl Answer for Report {
    fn document(&self) -> Document {
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
        let mut document = Document::default();
        document.paragraph(format!(
            "{workload} keeps the laws of programs: {processes}, {supersteps}. Executed again, and with a process moved {}, it \
             computed, sent and charged the same. The longest state has {longest}.",
            many(*moves, "time"),
        ));
        if let Some(verified) = &self.verified {
            document.paragraph(format!("Outputs: {verified}."));
        }
        document
    }

    fn csv(&self, provenance: &Provenance) -> Result<String, Failure> {
        csv_of_fields::<Self, _>(provenance, [Row::of(self)])
    }
}

/// A row of the CSV.
#[derive(Serialize)]
struct Row<'a> {
    workload: &'a str,
    processes: u32,
    supersteps: u64,
    moves: u64,
    state_bytes_max: u64,
    outputs_sha256: &'a str,
}

impl<'a> Row<'a> {
    fn of(report: &'a Report) -> Self {
        Self {
            workload: &report.workload,
            processes: report.processes,
            supersteps: report.supersteps,
            moves: report.moves,
            state_bytes_max: report.state_bytes_max,
            outputs_sha256: &report.outputs_sha256,
        }
    }
}
