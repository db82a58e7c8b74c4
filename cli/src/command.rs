//! The command line.

use std::env;
use std::fs::File;
use std::io::{self, IsTerminal};
use std::process::ExitCode;

use clap::{ArgAction, CommandFactory, FromArgMatches, Parser, Subcommand};

use crate::arguments::{knowing_policies, taking_negative_numbers};
use crate::cert::{self, CertCommand};
use crate::commands::advise::{ADVISE_ABOUT, ADVISE_HELP, AdviseArguments};
use crate::commands::chaos::{CHAOS_ABOUT, CHAOS_HELP, ChaosArguments};
use crate::commands::compare::{COMPARE_ABOUT, COMPARE_HELP, CompareArguments};
use crate::commands::completions::{COMPLETIONS_HELP, Shell};
use crate::commands::explain::{EXPLAIN_ABOUT, EXPLAIN_HELP, ExplainArguments};
use crate::commands::export::{EXPORT_ABOUT, EXPORT_HELP, ExportArguments};
use crate::commands::man::{MAN_HELP, ManArguments};
use crate::commands::platform::PlatformCommand;
use crate::commands::rebalance::{REBALANCE_ABOUT, REBALANCE_HELP, RebalanceArguments};
use crate::commands::report::{REPORT_ABOUT, REPORT_HELP, ReportArguments};
use crate::commands::reproduce::{REPRODUCE_ABOUT, REPRODUCE_HELP, ReproduceArguments};
use crate::commands::simulate::{SIMULATE_ABOUT, SIMULATE_HELP, SimulateArguments};
use crate::commands::sweep::{SWEEP_ABOUT, SWEEP_HELP, SweepArguments};
use crate::commands::verify::{VERIFY_ABOUT, VERIFY_HELP, VerifyArguments};
use crate::commands::{
    advise, chaos, compare, completions, explain, export, man, platform, rebalance, report,
    reproduce, simulate, sweep, verify,
};
use crate::environment::warn_of_unknown_variables;
use crate::exit::exit_code;
use crate::failure::CommandFailure;
use crate::live::{
    self, BenchArguments, NodeArguments, RunArguments, StatusArguments, UpArguments,
};
use crate::log::Log;
use crate::misuse;
use crate::output::{self};
use crate::own_name::OwnName;
use crate::topics::{topic, with_topics};
use experiments::{Failure, Registry};

/// Runs the command that the arguments of this process ask for.
///
/// Results go to stdout, everything else to stderr; the exit codes are those of
/// `migbsp help exit-codes`.
#[must_use]
pub fn run(registry: &Registry) -> ExitCode {
    let command = with_topics(Arguments::command(), registry);
    let command = knowing_policies(command, registry.policies());
    let own_name = OwnName::new(registry.program(), &command);
    let command = own_name.in_help(command);
    let command = command.name(registry.program()).version(registry.version());
    let mut command = taking_negative_numbers(command);
    let parsed = command
        .try_get_matches_from_mut(env::args_os())
        .and_then(|matches| Arguments::from_arg_matches(&matches))
        .map_err(|error| {
            let words = env::args_os().skip(1);
            let words: Vec<String> = words
                .map(|word| word.to_string_lossy().into_owned())
                .collect();
            misuse::explained(error, &command, &words)
        });
    let arguments = match parsed {
        Ok(arguments) => arguments,
        Err(error) => {
            // A closed stdout is no error of help.
            let _unread = error.print();
            return ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2));
        }
    };
    let log = Log {
        verbose: arguments.verbose,
        quiet: arguments.quiet,
        node: match &arguments.command {
            Command::Node(node) => node.log_format(),
            _ => None,
        },
    };
    log.begin();
    warn_of_unknown_variables(registry);
    match execute(arguments, command, registry, &own_name) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) if failure.is_broken_pipe() => ExitCode::SUCCESS,
        Err(failure) => {
            log.report(&own_name.in_text(&failure.to_string()));
            exit_code(&failure)
        }
    }
}

/// Live rescheduling of bulk-synchronous parallel processes
#[derive(Debug, Parser)]
#[command(name = "migbsp", version, after_help = AFTER_HELP, max_term_width = 100)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
    /// Log to stderr: calls and migrations (-v), supersteps (-vv)
    #[arg(short, long, global = true, action = ArgAction::Count)]
    verbose: u8,
    /// Log only errors, and show no progress
    #[arg(short, long, global = true)]
    quiet: bool,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run an experiment on a simulated platform
    #[command(long_about = SIMULATE_ABOUT, after_help = SIMULATE_HELP)]
    Simulate(SimulateArguments),
    /// Compare policies on experiments, with several seeds
    #[command(long_about = COMPARE_ABOUT, after_help = COMPARE_HELP)]
    Compare(CompareArguments),
    /// Run experiments with every combination of values, policies and seeds
    #[command(long_about = SWEEP_ABOUT, after_long_help = SWEEP_HELP)]
    Sweep(SweepArguments),
    /// Explain from a record why processes moved or stayed, and what migrations gained
    #[command(long_about = EXPLAIN_ABOUT, after_long_help = EXPLAIN_HELP)]
    Explain(ExplainArguments),
    /// Write a record in the formats of other tools: Perfetto, Paje, OpenTelemetry, tables
    #[command(long_about = EXPORT_ABOUT, after_long_help = EXPORT_HELP)]
    Export(ExportArguments),
    /// Draw from records what runs look like, as a page or as pictures
    #[command(long_about = REPORT_ABOUT, after_long_help = REPORT_HELP)]
    Report(ReportArguments),
    /// Say from a record where time was lost, and which keys would shorten the run
    #[command(long_about = ADVISE_ABOUT, after_long_help = ADVISE_HELP)]
    Advise(AdviseArguments),
    /// Verify the decisions of a recorded run by recomputing them
    #[command(long_about = VERIFY_ABOUT, after_long_help = VERIFY_HELP)]
    Verify(VerifyArguments),
    /// Reproduce the published tables
    #[command(long_about = REPRODUCE_ABOUT, after_long_help = REPRODUCE_HELP)]
    Reproduce(ReproduceArguments),
    /// Simulate nodes and a client with faults, and check what they promise
    #[command(long_about = CHAOS_ABOUT, after_long_help = CHAOS_HELP)]
    Chaos(ChaosArguments),
    /// Find the cheapest migrations after which no machine is above a level
    #[command(long_about = REBALANCE_ABOUT, after_long_help = REBALANCE_HELP)]
    Rebalance(RebalanceArguments),
    /// Run a node daemon that serves jobs from clients
    #[command(long_about = live::NODE_ABOUT, after_long_help = live::NODE_HELP)]
    Node(NodeArguments),
    /// Run an experiment on the hosts of a cluster
    #[command(long_about = live::RUN_ABOUT, after_long_help = live::RUN_HELP)]
    Run(RunArguments),
    /// Start a cluster of node processes on this machine for one command
    #[command(long_about = live::UP_ABOUT, after_long_help = live::UP_HELP)]
    Up(UpArguments),
    /// Measure what a cluster is capable of
    Bench(BenchArguments),
    /// Show the state of a cluster's nodes
    #[command(after_long_help = live::STATUS_HELP)]
    Status(StatusArguments),
    /// Check or show a platform, or time messages on it
    #[command(subcommand)]
    Platform(PlatformCommand),
    /// Manage the certificates that authenticate the hosts of a cluster
    #[command(subcommand)]
    Cert(CertCommand),
    /// Write a completion script for a shell to stdout
    #[command(after_help = COMPLETIONS_HELP)]
    Completions {
        /// The shell
        shell: Shell,
    },
    /// Write manual pages
    #[command(after_help = MAN_HELP)]
    Man(ManArguments),
    /// List the exit codes
    #[command(name = "exit-codes", hide = true, help_template = TOPIC)]
    ExitCodes,
    /// List the workloads and their parameters
    #[command(hide = true, help_template = TOPIC)]
    Workloads,
    /// List the policies and the rules that they are made of
    #[command(hide = true, help_template = TOPIC)]
    Policies,
    /// List the units of numbers
    #[command(hide = true, help_template = TOPIC)]
    Units,
    /// List the formats of results
    #[command(hide = true, help_template = TOPIC)]
    Formats,
}

fn execute(
    arguments: Arguments,
    command: clap::Command,
    registry: &Registry,
    own_name: &OwnName,
) -> Result<(), CommandFailure> {
    check_open_files()?;
    // A progress bar and log lines would overwrite each other.
    let silent = arguments.verbose == 0 && env::var_os("RUST_LOG").is_none();
    let progress = silent && !arguments.quiet && io::stderr().is_terminal();
    match arguments.command {
        Command::Simulate(mut simulation) => {
            simulation.progress = progress;
            simulate::command(&simulation, registry)
        }
        Command::Compare(mut comparison) => {
            comparison.progress = progress;
            compare::command(&comparison, registry)
        }
        Command::Sweep(mut arguments) => {
            arguments.progress = progress;
            sweep::command(&arguments, registry)
        }
        Command::Explain(arguments) => explain::command(&arguments, registry, own_name),
        Command::Export(arguments) => export::command(&arguments, registry),
        Command::Advise(mut arguments) => {
            arguments.progress = progress;
            advise::command(&arguments, registry, own_name)
        }
        Command::Report(arguments) => report::command(&arguments, registry),
        Command::Verify(arguments) => verify::command(&arguments, registry),
        Command::Reproduce(mut reproduction) => {
            reproduction.progress = progress;
            reproduce::command(&reproduction, registry, own_name)
        }
        Command::Chaos(mut arguments) => {
            arguments.progress = progress;
            chaos::command(&arguments, registry, own_name)
        }
        Command::Rebalance(mut rebalancing) => {
            rebalancing.progress = progress;
            rebalance::command(&rebalancing, registry)
        }
        Command::Node(arguments) => Ok(live::node(&arguments, registry.clone())?),
        Command::Run(mut run) => {
            run.progress = progress;
            live::run(&run, registry)
        }
        Command::Up(mut up) => {
            up.progress = progress;
            live::up(&up, registry, own_name)
        }
        Command::Bench(mut arguments) => {
            arguments.progress = progress;
            live::bench(&arguments, registry)
        }
        Command::Status(arguments) => live::status(&arguments, registry),
        Command::Platform(command) => platform::command(&command, registry),
        Command::Cert(command) => cert::command(&command, registry, own_name),
        Command::Completions { shell } => completions::command(shell, command),
        Command::Man(arguments) => man::command(&arguments, command),
        Command::ExitCodes => output::print(&topic(&command, "exit-codes")),
        Command::Workloads => output::print(&topic(&command, "workloads")),
        Command::Policies => output::print(&topic(&command, "policies")),
        Command::Units => output::print(&topic(&command, "units")),
        Command::Formats => output::print(&topic(&command, "formats")),
    }
}

/// Checks that this process may open the files and sockets that every run needs: libraries panic without them.
fn check_open_files() -> Result<(), Failure> {
    let opened: io::Result<Vec<File>> = (0..OPEN_FILES_MIN)
        .map(|_| File::open("/dev/null"))
        .collect();
    opened.map(drop).map_err(|error| {
        Failure::Usage(format!(
            "this process may open too few files: {error}: raise the limit, for example with `ulimit -n 1024`"
        ))
    })
}

/// Files and sockets that a run without any peer opens, beside standard input and outputs.
const OPEN_FILES_MIN: usize = 12;

const AFTER_HELP: &str = "\
Examples:
  migbsp simulate conf/lbm.toml                      with and without rescheduling, compared
  migbsp simulate conf/lbm.toml --set scheduler.interval=8
  migbsp simulate conf/lbm.toml --print-config       every key, its value, where it comes from
  migbsp compare conf/dynamic/*.toml --seeds 1..5    which policy is better
  migbsp sweep conf/lbm.toml --set scheduler.interval=2,4,8 --seeds 1..3 -o runs/sweep
                                                     every combination, as a table
  migbsp explain runs/lbm --process p21              why did it move? (from simulate --out runs/lbm)
  migbsp advise runs/lbm                             what lost time, and what to change
  migbsp verify runs/lbm                             recompute all decisions of a run
  migbsp reproduce table2                            a published table beside ours
  migbsp rebalance sweep conf/rebalance/small.json   the cost of lower levels
  migbsp platform show conf/platforms/testbed.toml
  migbsp up --local 4 --sets 2 --slow 4:0.4 -- run conf/heat-local.toml
                                                     on real processes: docs/cluster.md
  migbsp cert init --cluster lab                     an authority for a cluster: docs/cluster.md

Topics: migbsp help workloads, policies, units, formats, exit-codes.
See also: `migbsp help simulate`, README.md, docs/model.md.";

/// The help of a topic is its text alone.
const TOPIC: &str = "{about}\n";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Arguments::command().debug_assert();
    }
}
