//! `migbsp record`: what an external program does, in a file that simulations replay without the program.

use std::path::PathBuf;

use analysis::text::{counted, data};
use clap::Args;
use experiments::Failure;

use crate::command::{Command, Context, Overrides};
use crate::failure::CommandFailure;
use crate::file;
use crate::output::print_text;

/// Arguments of `record`.
#[derive(Debug, Args)]
struct RecordArguments {
    /// Experiment file, TOML, with workload = "external"; `-` reads stdin
    #[arg(value_name = "FILE")]
    file: PathBuf,
    #[command(flatten)]
    overrides: Overrides,
    /// File for the program trace
    #[arg(short, long, value_name = "TRACE")]
    out: PathBuf,
}

/// The command `record`.
pub(crate) fn command() -> Command {
    Command::new(
        "record",
        "Execute a program in another language once, and keep what it does",
        execute,
    )
    .long_about(ABOUT)
    .after_help(HELP)
    .example("record heat.toml -o heat.trace", "")
    .example(
        "record heat.toml -o heat.trace -n 64 --set application.external.charge=measured",
        "",
    )
}

const ABOUT: &str = "Executes the program of an experiment once, and writes to a file what each of its processes charges, sends, \
reduces and notes in each superstep, how long its state is, and its output.

An experiment with `workload = \"recorded\"` and this file is simulated without the program, on machines that do not have it: results are \
those of the program. Charges that were measured are then the same in all simulations.";

const HELP: &str = "\
[application]
workload = \"recorded\"
processes = 8                    # as many as were recorded
recorded.file = \"heat.trace\"
";

fn execute(arguments: &RecordArguments, context: &Context<'_>) -> Result<(), CommandFailure> {
    let registry = context.registry();
    file::check_writable(&arguments.out)?;
    let assignments = arguments.overrides.assignments();
    let loaded = experiments::load(&arguments.file, &assignments, registry)?;
    let workload = &loaded.experiment.application.workload;
    let entry = registry.find(workload, None)?;
    let trace = entry.record(loaded.build_input())?.ok_or_else(|| {
        Failure::Input(format!(
            "{}: workload `{workload}` is not recorded: programs in Rust are executed in each simulation",
            arguments.file.display()
        ))
    })?;
    if let Some(problem) = trace.failure() {
        return Err(Failure::Run(problem.to_owned()).into());
    }
    let mut bytes = Vec::new();
    trace.write(&mut bytes).map_err(Failure::run)?;
    file::write(&arguments.out, &bytes)?;
    let (path, length) = (
        arguments.out.display(),
        data(bsp::numbers::real(bsp::numbers::length(bytes.len()))),
    );
    let about = trace.about();
    let name = [&about.name, workload]
        .into_iter()
        .find(|name| !name.is_empty());
    let text = format!(
        "{path}: {}, {} of {}, {length}\n",
        name.map_or("", |name| name.as_str()),
        counted(bsp::numbers::position(trace.supersteps()), "superstep"),
        counted(trace.len(), "process"),
    );
    print_text(true, |_| text)
}
