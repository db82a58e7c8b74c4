//! The command line.

use std::env;
use std::io::{self, IsTerminal};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{ArgAction, Args, CommandFactory, FromArgMatches, Parser, Subcommand};
use clap_complete::Shell;
use tracing_subscriber::EnvFilter;

use crate::cert::{self, CertCommand};
use crate::commands::rebalance::{self, REBALANCE_ABOUT, REBALANCE_HELP, RebalanceArguments};
use crate::commands::reproduce::{self, REPRODUCE_ABOUT, REPRODUCE_HELP, ReproduceArguments};
use crate::compare::{self, CompareArguments, Contender};
use crate::exit::{EXIT_CODES, exit_code};
use crate::explain::{self, ExplainArguments};
use crate::live::{self, NodeArguments, RunArguments, StatusArguments, UpArguments};
use crate::output::{self, Format};
use crate::platform::{self, FlowArguments};
use crate::simulate;
use crate::verify::{self, VerifyArguments};
use experiments::Failure;
use experiments::Registry;

/// Runs the command that the arguments of this process ask for.
///
/// Results go to stdout, everything else to stderr; the exit codes are those of
/// `migbsp help exit-codes`.
#[must_use]
pub fn run(registry: &Registry) -> ExitCode {
    let command = with_workloads(Arguments::command(), registry);
    let command = with_policies(command, registry);
    let mut command = taking_negative_numbers(command);
    let parsed = command
        .try_get_matches_from_mut(env::args_os())
        .and_then(|matches| Arguments::from_arg_matches(&matches));
    let arguments = match parsed {
        Ok(arguments) => arguments,
        Err(error) => {
            // A closed stdout is as good a reader of help as any.
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
    /// Say more on stderr: calls and migrations (-v), supersteps (-vv)
    #[arg(short, long, global = true, action = ArgAction::Count)]
    verbose: u8,
    /// Say nothing on stderr but errors, and show no progress
    #[arg(short, long, global = true)]
    quiet: bool,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run an experiment on a simulated platform
    #[command(long_about = SIMULATE_ABOUT)]
    Simulate(SimulateArguments),
    /// Run experiments under several policies with several seeds, and say which are better
    #[command(long_about = COMPARE_ABOUT, after_help = COMPARE_HELP)]
    Compare(CompareArguments),
    /// Say from a record why processes moved or stayed, and what that won
    #[command(long_about = EXPLAIN_ABOUT, after_long_help = EXPLAIN_HELP)]
    Explain(ExplainArguments),
    /// Decide a recorded run again from what it observed, and say whether that comes out the same
    #[command(long_about = VERIFY_ABOUT, after_long_help = VERIFY_HELP)]
    Verify(VerifyArguments),
    /// Set the tables of the papers beside what our runs say
    #[command(long_about = REPRODUCE_ABOUT, after_long_help = REPRODUCE_HELP)]
    Reproduce(ReproduceArguments),
    /// Say which processes to move so that no machine is above a level, and moving costs least
    #[command(long_about = REBALANCE_ABOUT, after_long_help = REBALANCE_HELP)]
    Rebalance(RebalanceArguments),
    /// Be one host of a cluster, and wait for clients
    #[command(long_about = live::NODE_ABOUT, after_long_help = live::NODE_HELP)]
    Node(NodeArguments),
    /// Run an experiment on the hosts of a cluster
    #[command(long_about = live::RUN_ABOUT, after_long_help = live::RUN_HELP)]
    Run(RunArguments),
    /// Start a cluster of node processes on this machine, do something there, and end it
    #[command(long_about = live::UP_ABOUT, after_long_help = live::UP_HELP)]
    Up(UpArguments),
    /// Show how the nodes of a cluster are
    #[command(after_long_help = live::STATUS_HELP)]
    Status(StatusArguments),
    /// Look at a platform, or time messages on it
    #[command(subcommand)]
    Platform(PlatformCommand),
    /// Make and look at the certificates by which the hosts of a cluster know each other
    #[command(subcommand)]
    Cert(CertCommand),
    /// Write a completion script for a shell to stdout
    #[command(after_help = COMPLETIONS_HELP)]
    Completions {
        /// The shell
        shell: Shell,
    },
    /// What the exit codes mean
    #[command(name = "exit-codes", hide = true, long_about = EXIT_CODES, help_template = "{about}\n")]
    ExitCodes,
}

/// What `simulate` is told.
#[derive(Debug, Args)]
pub(crate) struct SimulateArguments {
    /// The experiment, a TOML file
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Change a value of the experiment; may be given several times
    #[arg(long, value_name = "SECTION.KEY=VALUE")]
    pub(crate) set: Vec<String>,
    /// How to show the results
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
    /// Keep the record of each run in a folder of this one: DIR/i, DIR/ii, DIR/iii
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Show the configuration in effect, and where each value comes from, instead of running it
    #[arg(long)]
    pub(crate) print_config: bool,
    /// Whether a bar on stderr is wanted.
    #[arg(skip)]
    pub(crate) progress: bool,
}

#[derive(Debug, Subcommand)]
enum PlatformCommand {
    /// Say what a platform file describes, or where it is wrong
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
        /// How to show them
        #[arg(long, value_enum, default_value_t)]
        format: Format,
    },
    /// Time messages on a platform, all on their way together
    #[command(long_about = FLOWS_ABOUT, after_long_help = FLOWS_HELP)]
    Flows(FlowArguments),
}

fn execute(
    arguments: Arguments,
    mut command: clap::Command,
    registry: &Registry,
) -> Result<(), Failure> {
    // A bar and lines of a log would write over each other.
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
        Command::Verify(arguments) => verify::command(&arguments, registry),
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

/// `compare` with the rules of policies that this binary knows: read after `--policy`, and listed in its help.
fn with_policies(command: clap::Command, registry: &Registry) -> clap::Command {
    let rules = registry.policies().descriptions();
    let width = rules.iter().map(|rule| rule.name.len()).max().unwrap_or(0);
    let mut list = String::new();
    let mut kind = "";
    for rule in &rules {
        if rule.kind != kind {
            kind = rule.kind;
            list.push_str(&format!("  {kind}:\n"));
        }
        list.push_str(&format!("    {:width$}  {}\n", rule.name, rule.help));
        for parameter in rule.parameters {
            let name = format!("{}.{}", rule.name, parameter.name);
            let (help, default) = (parameter.help, parameter.default);
            list.push_str(&format!("    {name:width$}  {help} [default: {default}]\n"));
        }
    }
    let help = COMPARE_HELP.replace(
        "\nClaims:",
        &format!("\nRules of policies:\n{list}\nClaims:"),
    );
    let policies = registry.policies().clone();
    command.mut_subcommand("compare", |compare| {
        let compare = compare.after_help(help);
        compare.mut_arg("policies", |argument| {
            argument.value_parser(move |text: &str| Contender::new(text, &policies))
        })
    })
}

/// Takes `-1` after an option for its value, so that whoever reads the value says what is wrong with it.
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
    // Somebody else's subscriber, if there is one, is as good.
    let _already_set = subscriber.try_init();
}

const AFTER_HELP: &str = "\
Examples:
  migbsp simulate conf/lbm.toml                      with and without rescheduling, compared
  migbsp simulate conf/lbm.toml --set scheduler.interval=8
  migbsp simulate conf/lbm.toml --print-config       every key, its value, where it comes from
  migbsp compare conf/dynamic/*.toml --seeds 1..5    which policy is better
  migbsp explain runs/lbm --process p21              why did it move? (from simulate --out runs/lbm)
  migbsp verify runs/lbm                             were all decisions made as they should be?
  migbsp reproduce table2                            a table of the papers, and ours beside it
  migbsp rebalance sweep conf/rebalance/small.json   what would a lower level cost?
  migbsp platform show conf/platforms/testbed.toml
  migbsp up --local 4 --sets 2 --slow 4:0.4 -- run conf/heat-local.toml
                                                     the same on real processes, live: docs/cluster.md
  migbsp cert init --cluster lab                     who may take part in a cluster: docs/cluster.md

Read on: `migbsp help simulate`, `migbsp help exit-codes`, README.md, docs/model.md.";

const SIMULATE_ABOUT: &str = "\
Run an experiment on a simulated platform, under a simulated clock.

The experiment says what computes, where, and who reschedules. Scenario i is the application alone; in ii \
everything is computed and paid for but nobody moves; in iii processes migrate. `scenario = \"all\"` runs \
one after the other and says what rescheduling won.";

const SIMULATE_HELP: &str = "\
Configuration, the later winning:
  built-in defaults < FILE < environment MIGBSP__SECTION__KEY=VALUE < --set SECTION.KEY=VALUE
Paths in FILE are relative to FILE. Values are TOML; strings need no quotes in --set.

Units: bare numbers are bytes, instructions, seconds. Or with a unit, as a string: \"900 kB\",
  \"4 MiB\", \"100 Minstr\", \"50 us\", \"15 min\"; \"0.21 us/B\" for the rates of [scheduler.migration].

Formats:
  table  the scenarios, the calls that moved somebody, and what was won of what could be won
  json   one object, schema migbsp.simulate/1, times in seconds at full precision
  csv    one row per migration, and one per scenario without any; the scenario's totals in every row

Examples:
  migbsp simulate conf/lbm.toml --set application.processes=100 --set scheduler.scenario=iii
  migbsp simulate conf/synthetic.toml --set 'application.synthetic.instructions=[1e8, 4e8]'
  MIGBSP__SCHEDULER__INTERVAL=16 migbsp simulate conf/lbm.toml --format json --out runs/lbm
  migbsp simulate conf/scripted.toml                 what if? moves that you decide

Every key is explained in docs/experiments.md; what a call decides, in docs/model.md.";

const EXPLAIN_ABOUT: &str = "\
Say from a record why processes moved or stayed, and what that won.

RUN is the folder of a record, as `migbsp simulate FILE --out DIR` leaves it in DIR/iii. Without options \
the answer is about the whole run: its calls, who moved in them, and what that won. With --process it is \
about the first call in which the process moved or, if it never did, the one in which it came nearest to \
that; with --superstep, about the call that was held when so many supersteps were over.";

const EXPLAIN_HELP: &str = "\
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

const VERIFY_ABOUT: &str = "\
Decide a recorded run again from what it observed, and say whether that comes out the same.

RUN is the folder of a record, as `migbsp simulate FILE --out DIR` leaves it in DIR/iii. The record says what every \
call was decided from: what hosts had left, how far Sets are from each other, what processes measured, what \
supersteps took. From that alone the model computes anew when calls come, all potentials, the list, who is a \
candidate, each negotiation or the plan, who moves, and the pace of the calls to come. Nothing is compared \
with itself, and everything to the last digit.";

const VERIFY_HELP: &str = "\
A line per call says `verified`, or what differs, as the record has it and as it comes out. A line for a superstep \
without a call says that one was due there.

What no record says is taken as observed: what a process measured in each single superstep, of which a call \
has the patterns and predictions (P_comp, P_comm, CTP, BTP) and, over all processes, the sums and extremes.

Formats:
  table  a line per call
  json   one object, schema migbsp.verify/1, with all differences
  csv    one row per difference, and one per call without any

Exit codes: 0 all is verified; 3 something differs; 4 the record is broken, or of another version.

Examples:
  migbsp simulate conf/lbm.toml --out runs/lbm
  migbsp verify runs/lbm                            all calls of scenario iii
  migbsp verify runs/lbm/ii --format json           of another scenario, every difference
  migbsp verify runs/lbm && echo as decided

What is computed: docs/model.md. What is compared: docs/verify.md.";

const COMPARE_ABOUT: &str = "\
Run experiments under several policies with several seeds, and say which are better.

Every experiment is simulated under every policy with every seed, on all cores: alone (scenario i) for \
`none`, else with migrations (scenario iii). Seeds vary what an experiment draws at random: loads, jitter, \
what others do to hosts and links. An experiment that draws nothing is run once.

Makespans are compared in pairs, same experiment and same seed, with `none` if it takes part, else with the \
first policy. The results are the same however many cores there are.";

const COMPARE_HELP: &str = "\
Policies:
  none                             nobody reschedules
  migbsp                           with the parameters of the experiment
  adaptive                         calls when it is worth it, plans by processor: docs/policies.md
  migbsp:interval=8,x=0.9          with others: keys of [scheduler]
  migbsp:scenario=ii               calls are held and paid for, nobody moves
  menon+greedy-refine+amortised    when to call, what to plan, whether it is worth it
  adaptive:planning.horizon=20

Claims: `A <= B`, `A < B`, `A <= 0.8 * B`, `A <= B * 1.01` hold makespans of policies, as --policy names
  them, against each other: their geometric means over seeds, and with --assert over experiments. If one
  does not hold, the exit code is 3.

Formats:
  table  per experiment and over all: makespan, gain, share of what could be won, calls, moves, who differs
  json   one object, schema migbsp.compare/1, with experiments, runs, summaries, overall, pairs, claims
  csv    one row per run

Examples:
  migbsp compare conf/lbm.toml conf/lu.toml --policy none --policy migbsp --policy migbsp:interval=16
  migbsp compare conf/dynamic/*.toml --seeds 1..30 --svg gains.svg
  migbsp compare conf/dynamic/drift.toml --seeds 1..5 --assert 'adaptive <= migbsp' --format csv

Every key of [scheduler] and every value of the results is explained in docs/experiments.md.";

const FLOWS_ABOUT: &str = "\
Time messages on a platform, all on their way together.

FLOWS is a CSV file whose header names the columns src, dst (hosts), bytes and start (seconds), in any \
order, others beside them. All of it goes to stdout again, each row with two more columns: end and \
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
