//! The command line.

use std::env;
use std::io::{self, IsTerminal};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{ArgAction, Args, CommandFactory, FromArgMatches, Parser, Subcommand};
use clap_complete::Shell;
use tracing_subscriber::EnvFilter;

use crate::cert::{self, CertCommand};
use crate::compare::{self, CompareArguments};
use crate::explain::{self, ExplainArguments};
use crate::failure::{EXIT_CODES, Failure};
use crate::live::{self, NodeArguments, RunArguments, StatusArguments, UpArguments};
use crate::output::{self, Format};
use crate::platform::{self, FlowArguments};
use crate::rebalance::{self, REBALANCE_ABOUT, REBALANCE_HELP, RebalanceArguments};
use crate::registry::Registry;
use crate::reproduce::{self, ReproduceArguments};
use crate::simulate;
use crate::verify::{self, VerifyArguments};

/// Runs the command that the arguments of this process ask for.
///
/// Results go to stdout, everything else to stderr; the exit codes are those of
/// `migbsp help exit-codes`.
#[must_use]
pub fn run(registry: &Registry) -> ExitCode {
    let command = with_workloads(Arguments::command(), registry);
    let mut command = taking_negative_numbers(command);
    let parsed = command
        .try_get_matches_from_mut(env::args_os())
        .and_then(|matches| Arguments::from_arg_matches(&matches));
    let arguments = match parsed {
        Ok(arguments) => arguments,
        Err(error) => {
            // A closed stdout is no error of help.
            let _unread = error.print();
            return ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2));
        }
    };
    log_to_stderr(arguments.verbose, arguments.quiet);
    match execute(arguments, command, registry) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) if failure.is_broken_pipe() => ExitCode::SUCCESS,
        Err(failure) => {
            output::warn(&format!("error: {failure}"));
            failure.exit_code()
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
    #[command(long_about = SIMULATE_ABOUT)]
    Simulate(SimulateArguments),
    /// Compare policies on experiments, with several seeds
    #[command(long_about = COMPARE_ABOUT, after_help = COMPARE_HELP)]
    Compare(CompareArguments),
    /// Explain from a record why processes moved or stayed, and what migrations gained
    #[command(long_about = EXPLAIN_ABOUT, after_long_help = EXPLAIN_HELP)]
    Explain(ExplainArguments),
    /// Verify the decisions of a recorded run by recomputing them
    #[command(long_about = VERIFY_ABOUT, after_long_help = VERIFY_HELP)]
    Verify(VerifyArguments),
    /// Reproduce the published tables
    #[command(long_about = REPRODUCE_ABOUT, after_long_help = REPRODUCE_HELP)]
    Reproduce(ReproduceArguments),
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
    /// List the exit codes
    #[command(name = "exit-codes", hide = true, long_about = EXIT_CODES, help_template = "{about}\n")]
    ExitCodes,
}

/// Arguments of `simulate`.
#[derive(Debug, Args)]
pub(crate) struct SimulateArguments {
    /// Experiment file, TOML
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Value to set in the experiment; can be given several times
    #[arg(long, value_name = "SECTION.KEY=VALUE")]
    pub(crate) set: Vec<String>,
    /// Format of the results
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
    /// Folder for the records of the runs: DIR/i, DIR/ii, DIR/iii
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Show the configuration in effect, with the origin of each value, instead of running it
    #[arg(long)]
    pub(crate) print_config: bool,
    /// Whether to show a progress bar on stderr.
    #[arg(skip)]
    pub(crate) progress: bool,
}

#[derive(Debug, Subcommand)]
enum PlatformCommand {
    /// Check a platform file and summarise it
    #[command(after_help = CHECK_HELP)]
    Check {
        /// TOML, or SimGrid XML
        #[arg(value_name = "FILE")]
        file: PathBuf,
    },
    /// Show the Sets of a platform and the network between them
    #[command(after_help = SHOW_HELP)]
    Show {
        /// TOML, or SimGrid XML
        #[arg(value_name = "FILE")]
        file: PathBuf,
        /// Format of the results
        #[arg(long, value_enum, default_value_t)]
        format: Format,
    },
    /// Time concurrent messages on a platform
    #[command(long_about = FLOWS_ABOUT, after_long_help = FLOWS_HELP)]
    Flows(FlowArguments),
}

fn execute(
    arguments: Arguments,
    mut command: clap::Command,
    registry: &Registry,
) -> Result<(), Failure> {
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
        Command::Explain(arguments) => explain::command(&arguments),
        Command::Verify(arguments) => verify::command(&arguments),
        Command::Reproduce(mut reproduction) => {
            reproduction.progress = progress;
            reproduce::command(&reproduction)
        }
        Command::Rebalance(mut rebalancing) => {
            rebalancing.progress = progress;
            rebalance::command(&rebalancing)
        }
        Command::Node(arguments) => live::node(&arguments, registry.clone()),
        Command::Run(mut run) => {
            run.progress = progress;
            live::run(&run, registry)
        }
        Command::Up(mut up) => {
            up.progress = progress;
            live::up(&up, registry)
        }
        Command::Status(arguments) => live::status(&arguments),
        Command::Platform(PlatformCommand::Check { file }) => platform::check(&file),
        Command::Platform(PlatformCommand::Show { file, format }) => platform::show(&file, format),
        Command::Platform(PlatformCommand::Flows(flows)) => platform::flows(&flows),
        Command::Cert(command) => cert::command(&command),
        Command::Completions { shell } => {
            let name = command.get_bin_name().unwrap_or("migbsp").to_owned();
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut command, name, &mut script);
            output::print(&String::from_utf8_lossy(&script))
        }
        Command::ExitCodes => output::print(&format!("{EXIT_CODES}\n")),
    }
}

/// The help of `simulate` with the workloads that this binary knows.
fn with_workloads(command: clap::Command, registry: &Registry) -> clap::Command {
    let width = registry
        .names()
        .iter()
        .map(|name| name.len())
        .max()
        .unwrap_or(0);
    let list: String = registry
        .descriptions()
        .map(|(name, about)| format!("  {name:width$}  {about}\n"))
        .collect();
    let help = format!("Workloads:\n{list}\n{SIMULATE_HELP}");
    command.mut_subcommand("simulate", |simulate| simulate.after_help(help))
}

/// Takes `-1` after an option for its value, so that the value's parser reports the error.
pub(crate) fn taking_negative_numbers(command: clap::Command) -> clap::Command {
    let command = command.mut_args(|argument| {
        let is_option = !argument.is_positional() && argument.get_action().takes_values();
        argument.allow_negative_numbers(is_option)
    });
    command.mut_subcommands(taking_negative_numbers)
}

fn log_to_stderr(verbose: u8, quiet: bool) {
    let level = match (quiet, verbose) {
        (true, _) => "error",
        (false, 0) => "warn",
        (false, 1) => "info",
        (false, _) => "debug",
    };
    let filter = match EnvFilter::try_from_default_env() {
        Ok(filter) if !quiet && verbose == 0 => filter,
        _ => EnvFilter::new(level),
    };
    let subscriber = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(io::stderr)
        .with_ansi(io::stderr().is_terminal() && env::var_os("NO_COLOR").is_none())
        .without_time()
        .with_target(false);
    // An existing subscriber is used.
    let _already_set = subscriber.try_init();
}

const AFTER_HELP: &str = "\
Examples:
  migbsp simulate conf/lbm.toml                      with and without rescheduling, compared
  migbsp simulate conf/lbm.toml --set scheduler.interval=8
  migbsp simulate conf/lbm.toml --print-config       every key, its value, where it comes from
  migbsp compare conf/dynamic/*.toml --seeds 1..5    which policy is better
  migbsp explain runs/lbm --process p21              why did it move? (from simulate --out runs/lbm)
  migbsp verify runs/lbm                             recompute all decisions of a run
  migbsp reproduce table2                            a published table beside ours
  migbsp rebalance sweep conf/rebalance/small.json   the cost of lower levels
  migbsp platform show conf/platforms/testbed.toml
  migbsp up --local 4 --sets 2 --slow 4:0.4 -- run conf/heat-local.toml
                                                     on real processes: docs/cluster.md
  migbsp cert init --cluster lab                     an authority for a cluster: docs/cluster.md

See also: `migbsp help simulate`, `migbsp help exit-codes`, README.md, docs/model.md.";

const SIMULATE_ABOUT: &str = "\
Run an experiment on a simulated platform, under a simulated clock.

The experiment names the program, the platform and the policy. Scenario i is the application alone; in ii \
calls are held and paid for, but no process migrates; in iii processes migrate. `scenario = \"all\"` runs \
all three, and shows the gain of rescheduling.";

const SIMULATE_HELP: &str = "\
Configuration, later sources override earlier ones:
  built-in defaults < FILE < environment MIGBSP__SECTION__KEY=VALUE < --set SECTION.KEY=VALUE
Paths in FILE are relative to FILE. Values are TOML; strings need no quotes in --set.

Units: bare numbers are bytes, instructions, seconds. Or with a unit, as a string: \"900 kB\",
  \"4 MiB\", \"100 Minstr\", \"50 us\", \"15 min\"; \"0.21 us/B\" for the rates of [scheduler.migration].

Formats:
  table  the scenarios, the calls with migrations, and the gain compared with the possible gain
  json   one object, schema migbsp.simulate/1, times in seconds at full precision
  csv    one row per migration, and one per scenario without any; the scenario's totals in every row

Examples:
  migbsp simulate conf/lbm.toml --set application.processes=100 --set scheduler.scenario=iii
  migbsp simulate conf/synthetic.toml --set 'application.synthetic.instructions=[1e8, 4e8]'
  MIGBSP__SCHEDULER__INTERVAL=16 migbsp simulate conf/lbm.toml --format json --out runs/lbm
  migbsp simulate conf/scripted.toml                 what if? scripted migrations

Every key is explained in docs/experiments.md; what a call decides, in docs/model.md.";

const EXPLAIN_ABOUT: &str = "\
Explain from a record why processes moved or stayed, and what migrations gained.

RUN is the folder of a record, as `migbsp simulate FILE --out DIR` writes to DIR/iii. Without options \
the answer is about the whole run: its calls, their migrations and their gain. With --process it is \
about the first call in which the process moved or, if it never did, the one in which it came nearest \
to moving; with --superstep, about the call after this number of supersteps.";

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
  migbsp simulate conf/lbm.toml --out runs/lbm
  migbsp explain runs/lbm                                   what happened
  migbsp explain runs/lbm --process p21                     why did p21 move?
  migbsp explain runs/lbm --process p1                      why did p1 never?
  migbsp explain runs/lbm --superstep 252                   why did no process move?
  migbsp explain runs/lbm --process p22 --superstep 4 --svg forces.svg
  migbsp explain runs/lbm --format csv > potentials.csv

Symbols and equations: docs/model.md. How to read the answers: docs/explain.md.";

const VERIFY_ABOUT: &str = "\
Verify the decisions of a recorded run by recomputing them.

RUN is the folder of a record, as `migbsp simulate FILE --out DIR` writes to DIR/iii. The record has the inputs of \
every call: free capacity of hosts, distances between Sets, measurements of processes, durations of \
supersteps. From these alone the model recomputes when calls are held, all potentials, the list, the \
candidates, each negotiation or the plan, the migrations, and the interval to the next call. Values are \
compared to the last digit.";

const VERIFY_HELP: &str = "\
A line per call says `verified`, or shows a difference as recorded and as recomputed. A line for a superstep \
without a call says that one was due.

The measurements of a process in each single superstep are not in the record and cannot be verified: a call \
has their patterns and predictions (P_comp, P_comm, CTP, BTP) and, over all processes, sums and extremes.

Formats:
  table  a line per call
  json   one object, schema migbsp.verify/1, with all differences
  csv    one row per difference, and one per call without any

Exit codes: 0 all is verified; 3 a decision differs; 4 the record is broken, or of another version.

Examples:
  migbsp simulate conf/lbm.toml --out runs/lbm
  migbsp verify runs/lbm                            all calls of scenario iii
  migbsp verify runs/lbm/ii --format json           another scenario, all differences
  migbsp verify runs/lbm && echo verified

The model: docs/model.md. The comparison: docs/verify.md.";

const COMPARE_ABOUT: &str = "\
Compare policies on experiments, with several seeds.

Every experiment is simulated under every policy with every seed, on all cores: alone (scenario i) for \
`none`, else with migrations (scenario iii). Seeds vary what an experiment draws at random: loads, jitter, \
background load on hosts and links. An experiment that draws nothing is run once.

Makespans are compared in pairs of equal experiment and seed, with `none` if it is given, else with the \
first policy. The results do not depend on the number of cores.";

const COMPARE_HELP: &str = "\
Policies:
  none                             no rescheduling
  migbsp                           with the parameters of the experiment
  adaptive                         calls when they pay, plans by processor: docs/policies.md
  migbsp:interval=8,x=0.9          with other parameters: keys of [scheduler]
  migbsp:scenario=ii               calls are held and paid for, no process migrates
  menon+greedy-refine+amortised    when to call, what to plan, when to accept
  adaptive:planning.horizon=20

Claims: `A <= B`, `A < B`, `A <= 0.8 * B`, `A <= B * 1.01` compare makespans of policies, as --policy names
  them: their geometric means over seeds, and with --assert over experiments. If one
  does not hold, the exit code is 3.

Formats:
  table  per experiment and over all: makespan, gain, share of the possible gain, calls, moves, significant differences
  json   one object, schema migbsp.compare/1, with experiments, runs, summaries, overall, pairs, claims
  csv    one row per run

Examples:
  migbsp compare conf/lbm.toml conf/lu.toml --policy none --policy migbsp --policy migbsp:interval=16
  migbsp compare conf/dynamic/*.toml --seeds 1..30 --svg gains.svg
  migbsp compare conf/dynamic/drift.toml --seeds 1..5 --assert 'adaptive <= migbsp' --format csv

Every key of [scheduler] and every value of the results is explained in docs/experiments.md.";

const REPRODUCE_ABOUT: &str = "\
Reproduce the published tables.

Shows every published number for Lattice Boltzmann, Smith-Waterman and LU, that of our run, and the \
relative error. The experiments are those of conf/paper, which are in this binary: nothing is read, and \
MIGBSP__ variables change nothing.

Scenario i is the application alone, ii pays for rescheduling without migrations, in iii processes migrate. \
The papers' scenario iii is compared with up to three runs: iii breaks ties between equal potentials by \
rank, iii-receive-time by reception time, and iii-forced makes the migrations that the papers \
state and no others. Numbers that contradict other numbers of the papers are flagged; means are given \
with them and without.";

const REPRODUCE_HELP: &str = "\
Formats:
  table  every number, then the means, the gains, and the number of published migrations that agree
  json   one object, schema migbsp.reproduce/1: cells, means, gains, migrations, agreement
  csv    one row per number; of `migrations` one row per published migration

The chen2008 parts are about `migbsp rebalance` (Chen, Wang and Lau 2008) and not in `all`: means over
instances drawn anew, --instances of each group (the paper has 100). Algorithms have the steps of sixteen
first iterations of IMLP each; but mparv runs to its end, and best has a million steps. Neither --ties nor
--summary is for them. Schema migbsp.reproduce-chen2008/1, one row per number.

Examples:
  migbsp reproduce table2                            Lattice Boltzmann on 25 processes
  migbsp reproduce table7 --ties rank --format csv
  migbsp reproduce migrations                        processes, calls and hosts
  migbsp reproduce --html tables.html                all of it, with charts
  migbsp reproduce chen2008-table4 --instances 100   how many moves rebalancing needs

The columns, and how published migrations are forced: docs/tables.md.";

const FLOWS_ABOUT: &str = "\
Time concurrent messages on a platform.

FLOWS is a CSV file whose header names the columns src, dst (hosts), bytes and start (seconds), in any \
order, with optional further ones. The output is the file with two more columns: end and \
duration, in seconds at full precision.";

const FLOWS_HELP: &str = "\
Example: the second message takes its share of the first one's link.
  printf 'src,dst,bytes,start\\nlabtec-1,corisco-1,1e6,0\\nlabtec-1,corisco-2,1e6,0.005\\n' > flows.csv
  migbsp platform flows conf/platforms/five.xml flows.csv
  migbsp platform flows conf/platforms/five.xml flows.csv --model ideal --tcp-window \"64 KiB\"";

const CHECK_HELP: &str = "\
Example:
  migbsp platform check conf/platforms/five.xml

How to write one: docs/platforms.md.";

const SHOW_HELP: &str = "\
Examples:
  migbsp platform show conf/platforms/testbed.toml
  migbsp platform show conf/platforms/testbed.toml --format json

A route is that from the first host of a Set to the last one of another. How to write a platform:
docs/platforms.md.";

const COMPLETIONS_HELP: &str = "\
Examples:
  migbsp completions bash > ~/.local/share/bash-completion/completions/migbsp
  migbsp completions zsh > ~/.zfunc/_migbsp
  migbsp completions fish > ~/.config/fish/completions/migbsp.fish";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Arguments::command().debug_assert();
    }
}
