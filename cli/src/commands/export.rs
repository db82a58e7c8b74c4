//! `migbsp export`: a record in the formats of other tools.

use std::fs;
use std::path::{Path, PathBuf};

use analysis::export::{Export, Table, Timeline};
use bsp::units::Bytes;
use clap::{Args, ValueEnum};
use experiments::{Failure, Provenance, record};

use crate::command::{Command, Context};
#[cfg(feature = "otlp")]
use crate::commands::push::push;
use crate::failure::CommandFailure;
use crate::file::{check_folder, write_with};
use crate::output::print;

/// Arguments of `export`.
#[derive(Debug, Args)]
pub(crate) struct ExportArguments {
    /// Folder of a record, as `simulate --out DIR` writes to DIR/iii; DIR stands for DIR/iii
    #[arg(value_name = "RUN")]
    run: PathBuf,
    /// The format
    #[arg(long, value_enum)]
    format: ExportFormat,
    /// The table, of formats that are tables [default: all, into a folder]
    #[arg(long, value_enum)]
    table: Option<TableName>,
    /// The file; without --table, of tables: the folder for supersteps.csv and the others; of spans: a file, or the address of a collector
    /// of OpenTelemetry, such as `http://localhost:4318`
    #[arg(short, long, value_name = "FILE")]
    out: PathBuf,
}

/// `--format`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ExportFormat {
    /// Trace events as JSON: open it at ui.perfetto.dev
    Perfetto,
    /// Paje: for `pj_dump` and other viewers
    Paje,
    /// Spans of OpenTelemetry as JSON (OTLP): for Jaeger, Tempo and others
    Otlp,
    /// Tables for R, Excel, pandas, polars
    Csv,
}

/// `--table`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum TableName {
    /// A row for each superstep
    Supersteps,
    /// A row for each call
    Calls,
    /// A row for each process in the list of each call
    Candidates,
    /// A row for each move
    Moves,
    /// A row for each name under which the program noted something in a superstep
    Notes,
    /// A row for each process and superstep, of runs with --trace
    Traces,
}

/// The command `export`.
pub(crate) fn command() -> Command {
    Command::new(
        "export",
        "Write a record in the formats of other tools: Perfetto, Paje, OpenTelemetry, tables",
        execute,
    )
    .long_about(EXPORT_ABOUT)
    .after_long_help(EXPORT_HELP)
}

/// Writes the record in the format.
///
/// # Errors
///
/// If there is no such record, it lacks what is asked for, or the file cannot be written.
fn execute(arguments: &ExportArguments, context: &Context<'_>) -> Result<(), CommandFailure> {
    let registry = context.registry();
    let folder = record::find(&arguments.run)?;
    let manifest = record::manifest(&folder)?;
    let provenance = Provenance::of_record(&manifest, registry)?;
    let export = Export::new(&folder, provenance, &manifest);
    let out = &arguments.out;
    if let Some(address) = address(out) {
        return match arguments.format {
            ExportFormat::Otlp => push(&export, &folder, address),
            ExportFormat::Perfetto | ExportFormat::Paje | ExportFormat::Csv => {
                let problem = format!("--out {address}: only --format otlp is for a collector");
                Err(Failure::Usage(problem).into())
            }
        };
    }
    match (arguments.format.timeline(), arguments.table) {
        (Some(_), Some(_)) => Err(Failure::Usage(
            "--table: this format is no table; leave it out, or use --format csv".to_owned(),
        )
        .into()),
        (Some(timeline), None) => {
            write_with(out, |file| export.timeline(timeline, file))?;
            written(out)
        }
        (None, Some(table)) => {
            write_with(out, |file| export.table(table.table(), file))?;
            written(out)
        }
        (None, None) => write_all(&export, out),
    }
}

/// The address that a user means by `out`, unless it is a file.
fn address(out: &Path) -> Option<&str> {
    let text = out.to_str()?;
    let schemes = ["http://", "https://"];
    schemes
        .iter()
        .any(|scheme| text.starts_with(scheme))
        .then_some(text)
}

/// Sends the spans of the record to a collector, which this program cannot.
#[cfg(not(feature = "otlp"))]
fn push(_: &Export, _: &Path, address: &str) -> Result<(), CommandFailure> {
    Err(Failure::Usage(format!(
        "--out {address}: this program has been built without the feature `otlp`, which sends spans to a collector: build it with \
         --features otlp, or write them to a file"
    ))
    .into())
}

/// Writes all tables that the record has into a folder.
fn write_all(export: &Export, folder: &Path) -> Result<(), CommandFailure> {
    check_folder(folder)?;
    let is_traced = export.is_traced()?;
    fs::create_dir_all(folder)
        .map_err(|error| Failure::Run(format!("{}: cannot be made: {error}", folder.display())))?;
    let tables = Table::ALL.into_iter();
    for table in tables.filter(|table| is_traced || *table != Table::Traces) {
        let file = folder.join(format!("{}.csv", table.name()));
        write_with(&file, |file| export.table(table, file))?;
        written(&file)?;
    }
    Ok(())
}

/// Names a file that was written, unless it is stdout itself or another pipe.
fn written(file: &Path) -> Result<(), CommandFailure> {
    if !file.is_file() {
        return Ok(());
    }
    let length = fs::metadata(file).map_or(0, |metadata| metadata.len());
    print(&format!("{}: {}\n", file.display(), Bytes(length)))
}

impl ExportFormat {
    /// The timeline, unless it is tables.
    const fn timeline(self) -> Option<Timeline> {
        match self {
            Self::Perfetto => Some(Timeline::Perfetto),
            Self::Paje => Some(Timeline::Paje),
            Self::Otlp => Some(Timeline::Otlp),
            Self::Csv => None,
        }
    }
}

impl TableName {
    const fn table(self) -> Table {
        match self {
            Self::Supersteps => Table::Supersteps,
            Self::Calls => Table::Calls,
            Self::Candidates => Table::Candidates,
            Self::Moves => Table::Moves,
            Self::Notes => Table::Notes,
            Self::Traces => Table::Traces,
        }
    }
}

const EXPORT_ABOUT: &str = "\
Write a record in the formats of other tools: timelines for trace viewers, tables for data analysis.

Every record has supersteps, calls, moves and what the program noted. What each process did in each superstep is in records of \
`simulate --out DIR --trace` and `run --out DIR --trace`; without it, timelines show where processes were, and there is \
no table `traces`. The record of a run that did not end is exported as far as it goes.";

const EXPORT_HELP: &str = "\
Tables, by --table; times in seconds since the run began, durations in seconds, sizes in bytes:
  supersteps  superstep, started, ended, slowest, computation, computation_mean, messages
  calls       superstep, at, cost, interval, tolerance, threshold, listed, candidates, moves
  candidates  superstep, position, process, own, target, potential, disposition, t1, t2
  moves       superstep, process, from, to, potential, t1, t2, predicted, arrived, took, bytes
  notes       superstep, note, count, sum, min, max
  traces      superstep, process, host, started, computation, exchange, waiting, sent, received

Examples:
  {bin} simulate conf/lbm.toml --out runs/traced --trace
  {bin} export runs/traced --format perfetto -o lbm.json       open it at ui.perfetto.dev
  {bin} export runs/traced --format csv -o tables/             tables/supersteps.csv and others
  {bin} export runs/traced --format csv --table moves -o moves.csv
  {bin} export runs/traced --format paje -o lbm.paje && pj_dump lbm.paje
  {bin} export runs/heat --format otlp -o http://localhost:4318          of a run on hosts; built with --features otlp";
