//! `migbsp explain`: why processes moved or stayed, and what migrations gained, from a record.

mod call;
mod csv;
mod fate;
mod forces;
mod history;
mod overview;
mod payback;
mod process;
mod question;
mod report;
mod story;
mod text;

use std::path::PathBuf;

use clap::Args;

use crate::explain::history::History;
use crate::explain::question::Question;
use crate::failure::Failure;
use crate::file::write;
use crate::output::{Format, print, print_json};
use crate::record;

/// Arguments of `explain`.
#[derive(Debug, Args)]
pub(crate) struct ExplainArguments {
    /// Folder of a record, as `simulate --out DIR` writes to DIR/iii; DIR stands for DIR/iii
    #[arg(value_name = "RUN")]
    pub(crate) run: PathBuf,
    /// Process to explain; p1 is the first
    #[arg(long, value_name = "PROCESS")]
    pub(crate) process: Option<String>,
    /// Call to explain: the number of supersteps completed before it
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u64).range(0..))]
    pub(crate) superstep: Option<u64>,
    /// Format of the answer
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
    /// File for a chart: the forces, or the superstep times of a whole run
    #[arg(long, value_name = "FILE")]
    pub(crate) svg: Option<PathBuf>,
}

/// Answers the question.
///
/// # Errors
///
/// If there is no such record, process or call, or the answer cannot be written.
pub(crate) fn command(arguments: &ExplainArguments) -> Result<(), Failure> {
    let folder = record::find(&arguments.run)?;
    let run = history::head(&folder)?;
    let rank = question::rank(arguments.process.as_deref(), &run)?;
    let history = History::read(&folder, rank)?;
    let question = Question::new(&history, rank, arguments.superstep)?;
    if arguments.format == Format::Csv {
        if let Some(file) = &arguments.svg {
            write(file, &report::answer(&history, &question)?.svg(&history))?;
        }
        return print(&csv::rows(&history, rank, arguments.superstep)?);
    }
    let explanation = report::answer(&history, &question)?;
    if let Some(file) = &arguments.svg {
        write(file, &explanation.svg(&history))?;
    }
    match arguments.format {
        Format::Json => print_json(&explanation),
        Format::Table | Format::Csv => print(&text::text(&explanation)),
    }
}
