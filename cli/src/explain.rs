//! `migbsp explain`: from a record, why processes moved or stayed, and what that won.

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
use crate::file::write;
use crate::output::{Format, print, print_json};
use experiments::Failure;
use experiments::record;

/// What `explain` is told.
#[derive(Debug, Args)]
pub(crate) struct ExplainArguments {
    /// A record, as `simulate --out DIR` leaves it in DIR/iii; of DIR itself, iii is taken
    #[arg(value_name = "RUN")]
    pub(crate) run: PathBuf,
    /// Why this process moved, or stayed; p1 is the first
    #[arg(long, value_name = "PROCESS")]
    pub(crate) process: Option<String>,
    /// What was decided in the call that was held when so many supersteps were over
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u64).range(0..))]
    pub(crate) superstep: Option<u64>,
    /// How to show the answer
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
    /// Draw the forces, or of a whole run how long its supersteps took, into this file
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
