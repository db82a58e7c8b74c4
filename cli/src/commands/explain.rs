//! `migbsp explain`: from a record, why processes moved or stayed, and what that won.

use std::path::PathBuf;

use clap::Args;
use experiments::{Failure, record};

use crate::file::write;
use crate::output::{Format, print, print_json};
use analysis::explain::{Inquiry, text};

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
    let process = arguments.process.as_deref();
    let inquiry = Inquiry::new(&folder, process, arguments.superstep)?;
    if arguments.format == Format::Csv {
        if let Some(file) = &arguments.svg {
            write(file, &inquiry.svg(&inquiry.answer()?))?;
        }
        return print(&inquiry.csv()?);
    }
    let answer = inquiry.answer()?;
    if let Some(file) = &arguments.svg {
        write(file, &inquiry.svg(&answer))?;
    }
    match arguments.format {
        Format::Json => print_json(&answer),
        Format::Table | Format::Csv => print(&text(&answer)),
    }
}

pub(crate) const EXPLAIN_ABOUT: &str = "\
Say from a record why processes moved or stayed, and what that won.

RUN is the folder of a record, as `migbsp simulate FILE --out DIR` leaves it in DIR/iii. Without options \
the answer is about the whole run: its calls, who moved in them, and what that won. With --process it is \
about the first call in which the process moved or, if it never did, the one in which it came nearest to \
that; with --superstep, about the call that was held when so many supersteps were over.";

pub(crate) const EXPLAIN_HELP: &str = "\
What is shown of a process in a call:
  every term of its potential of migration PM for every Set, and the Set that it preferred
  its place in the list that the Set Managers agreed on, and who is around it
  t1, t2 and the second best processor; or why it was no candidate, or refused
  what the move promised, what supersteps took before and after it, and when it had paid for the call

Formats:
  table  a sentence that answers, tables, and the forces as bars
  json   one object, schema migbsp.explain/1, times in seconds at full precision
  csv    one row per call, process and Set: all terms of PM

Examples:
  migbsp simulate conf/lbm.toml --out runs/lbm
  migbsp explain runs/lbm                                   what happened
  migbsp explain runs/lbm --process p21                     why did p21 move?
  migbsp explain runs/lbm --process p1                      why did p1 never?
  migbsp explain runs/lbm --superstep 252                   why did nobody move then?
  migbsp explain runs/lbm --process p22 --superstep 4 --svg forces.svg
  migbsp explain runs/lbm --format csv > potentials.csv

Symbols and equations: docs/model.md. How to read the answers: docs/explain.md.";
