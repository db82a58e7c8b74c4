//! `migbsp explain`: why processes moved or stayed, and what migrations gained, from a record.

use std::path::PathBuf;

use crate::command::{Command, Context};
use crate::failure::CommandFailure;
use clap::Args;
use experiments::{Failure, Provenance, record};

use crate::file::{SVG, check_output, write};
use crate::output::{Format, print, print_json, print_text};
use analysis::explain::Inquiry;

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
    /// Folder of a record of scenario i of the same experiment, to compare with; by default the folder i beside RUN
    #[arg(long, value_name = "DIR")]
    pub(crate) against: Option<PathBuf>,
    /// Format of the answer
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
    /// File for a chart: superstep times and calls of the run; with --process or --superstep, the forces on the
    /// process or on the first of the call's list
    #[arg(long, value_name = "FILE")]
    pub(crate) svg: Option<PathBuf>,
}

/// The command `explain`.
pub(crate) fn command() -> Command {
    Command::new(
        "explain",
        "Explain from a record why processes moved or stayed, and what migrations gained",
        execute,
    )
    .long_about(EXPLAIN_ABOUT)
    .after_long_help(EXPLAIN_HELP)
    .example(
        "explain runs/lbm --process p21",
        "why did it move? (from simulate --out runs/lbm)",
    )
}

/// Answers the question.
///
/// # Errors
///
/// If there is no such record, process or call, or the answer cannot be written.
fn execute(arguments: &ExplainArguments, context: &Context<'_>) -> Result<(), CommandFailure> {
    let registry = context.registry();
    if let Some(file) = &arguments.svg {
        check_output(file, SVG)?;
    }
    let folder = record::find(&arguments.run)?;
    let process = arguments.process.as_deref();
    let against = arguments.against.as_deref();
    let against = against.map(record::find_baseline).transpose()?;
    let inquiry = Inquiry::new(
        &folder,
        against.as_deref(),
        (process, arguments.superstep),
        arguments.svg.is_some(),
    )?;
    let provenance = || -> Result<Provenance, Failure> {
        Provenance::of_record(&record::manifest(&folder)?, registry)
    };
    if arguments.format == Format::Csv {
        if let Some(file) = &arguments.svg {
            write(file, &inquiry.svg(&inquiry.answer(context.program())))?;
        }
        return print(&inquiry.csv(&provenance()?)?);
    }
    let answer = inquiry.answer(context.program());
    if let Some(file) = &arguments.svg {
        write(file, &inquiry.svg(&answer))?;
    }
    match arguments.format {
        Format::Json => print_json(&provenance()?, &answer),
        Format::Table | Format::Csv => print_text(false, |layout| answer.document().text(layout)),
    }
}

const EXPLAIN_ABOUT: &str = "\
Explain from a record why processes moved or stayed, and what migrations gained.

Gains are measured against scenario i, which runs the same experiment without calls and moves: its record is \
the folder i beside RUN, as `simulate --out` writes it, or --against DIR. Without it, a change of the load cannot \
be told from the effect of moves.

RUN is the folder of a record, as `{bin} simulate FILE --out DIR` writes to DIR/iii. Without options \
the answer is about the whole run: its calls, their migrations and their gain. With --process it is \
about the first call in which the process moved or, if it never did, the one in which it came nearest \
to moving; with --superstep, about the call after this number of supersteps. The record of a run that did not end is explained as far as it goes.";

const EXPLAIN_HELP: &str = "\
The answer about a process in a call shows:
  every term of its potential of migration PM for every Set, and the Set that it preferred
  its position in the list that the Set Managers agreed on, and its neighbours
  t1, t2 and the second best processor; or why it was no candidate, or refused
  predicted and measured superstep times, and when the savings paid for the call

Formats:
  table  the answer in a sentence, tables, and the potentials as bars
  json   one object, schema migbsp.explain/1, times in seconds at full precision
  csv    one row per call, process and Set: all terms of PM

Examples:
  {bin} simulate conf/lbm.toml --out runs/lbm
  {bin} explain runs/lbm                                    what happened
  {bin} explain runs/lbm --process p21                      why did p21 move?
  {bin} explain runs/lbm --process p1                       why did p1 never?
  {bin} explain runs/lbm --superstep 252                    why did no process move?
  {bin} explain runs/lbm --process p22 --superstep 4 --svg forces.svg
  {bin} explain runs/lbm --format csv > potentials.csv
  {bin} explain runs/other --against runs/lbm/i             what its moves gained

Symbols and equations: docs/model.md. How to read the answers: docs/guide/explain.md.";
