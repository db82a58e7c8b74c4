//! `migbsp platform`: what a platform file describes.

use std::path::{Path, PathBuf};

use crate::command::{Command, Context};
use crate::failure::CommandFailure;
use bsp::HostId;
use clap::{Args, Subcommand};
use experiments::platform::{is_simgrid, load, parse};
use experiments::{Failure, Provenance, Registry};
use simulator::Platform;

use settings::{name_of, read};

use crate::commands::flows::{self, FLOWS_ABOUT, FLOWS_HELP, FlowArguments};
use crate::output::{Format, print, print_json, print_text};
use analysis::platform::PlatformView;

/// Arguments of `platform`.
#[derive(Debug, Args)]
struct PlatformArguments {
    #[command(subcommand)]
    command: PlatformCommand,
}

/// What `platform` does.
#[derive(Debug, Subcommand)]
enum PlatformCommand {
    /// Check a platform file and summarise it
    #[command(after_help = CHECK_HELP)]
    Check {
        /// TOML, or SimGrid XML; `-` reads stdin
        #[arg(value_name = "FILE")]
        file: PathBuf,
    },
    /// Show the Sets of a platform and the network between them
    #[command(after_help = SHOW_HELP)]
    Show {
        /// TOML, or SimGrid XML; `-` reads stdin
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

/// The command `platform`.
pub(super) fn command() -> Command {
    Command::new(
        "platform",
        "Check or show a platform, or time messages on it",
        execute,
    )
    .example("platform show conf/platforms/testbed.toml", "")
    .opening("xml", "platform show")
}

/// Does it.
///
/// # Errors
///
/// If a file is at fault, or stdout takes nothing.
fn execute(arguments: &PlatformArguments, context: &Context<'_>) -> Result<(), CommandFailure> {
    match &arguments.command {
        PlatformCommand::Check { file } => check(file),
        PlatformCommand::Show { file, format } => show(file, *format, context.registry()),
        PlatformCommand::Flows(arguments) => flows::execute(arguments, context.registry()),
    }
}

/// `migbsp platform check FILE`.
///
/// # Errors
///
/// [`Failure::Input`] if the file describes no platform.
fn check(file: &Path) -> Result<(), CommandFailure> {
    let platform = load(file)?;
    let mut text = format!("{}: a platform\n\n", name_of(file));
    let mut profiles = 0;
    for host in platform.hosts() {
        profiles += usize::from(host.availability.is_some()) + usize::from(host.load.is_some());
    }
    for link in platform.links() {
        profiles += usize::from(link.bandwidth_profile.is_some());
        profiles += usize::from(link.latency_profile.is_some());
    }
    text.push_str(&format!("  Sets      {}\n", platform.sets().len()));
    text.push_str(&format!("  hosts     {}\n", platform.hosts().len()));
    text.push_str(&format!("  links     {}\n", platform.links().len()));
    text.push_str(&format!("  profiles  {profiles}\n"));
    if !platform.idle_hosts().is_empty() {
        let names = shortened(platform.idle_hosts());
        text.push_str(&format!("  speed 0   {names}: no process runs there\n"));
    }
    for warning in platform.warnings() {
        text.push_str(&format!("\nwarning: {warning}\n"));
    }
    if let Some(unrouted) = unrouted(&platform) {
        text.push_str(&format!("\nwarning: {unrouted}"));
    }
    if is_simgrid(file) {
        text.push_str(FIDELITY);
    }
    print(&text)
}

/// The first names of a list, and how many more there are.
fn shortened(names: &[String]) -> String {
    let shown = names.len().min(NAMED_MAX);
    let more = match names.len() - shown {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!("{}{more}", names[..shown].join(", "))
}

/// Which hosts no route connects: how many pairs, and of each pair of Sets the first.
fn unrouted(platform: &Platform) -> Option<String> {
    let found = platform.unrouted();
    if found.unrouted == 0 {
        return None;
    }
    let (at_least, pairs) = if found.is_complete {
        ("", found.pairs)
    } else {
        let hosts = u64::try_from(platform.hosts().len()).ok()?;
        ("at least ", hosts.saturating_mul(hosts))
    };
    let mut text = format!(
        "{at_least}{} of {pairs} pairs of hosts have no route; a message between them ends the run\n",
        found.unrouted
    );
    let host = |id: HostId| platform.host(id).name.as_str();
    for sets in found.sets.iter().take(NAMED_MAX) {
        let (from, to) = (&platform.set(sets.from).name, &platform.set(sets.to).name);
        let place = if sets.from == sets.to {
            format!("in zone {from}")
        } else {
            format!("from zone {from} to zone {to}")
        };
        let (from, to) = sets.first;
        let pair = if from == to {
            format!("from {} to itself", host(from))
        } else {
            format!("from {} to {}", host(from), host(to))
        };
        let more = match sets.unrouted - 1 {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        text.push_str(&format!("  {place}: {pair}{more}\n"));
    }
    match found.sets.len().saturating_sub(NAMED_MAX) {
        0 => {}
        more => text.push_str(&format!("  and of {more} more pairs of zones\n")),
    }
    Some(text)
}

/// `migbsp platform show FILE`.
///
/// # Errors
///
/// [`Failure::Input`] if the file describes no platform.
fn show(file: &Path, format: Format, registry: &Registry) -> Result<(), CommandFailure> {
    let text = read(file).map_err(Failure::input)?;
    let platform = parse(&text, file)?;
    let view = PlatformView::new(&platform, &name_of(file));
    let provenance = || -> Result<Provenance, Failure> {
        Ok(Provenance::of_program(registry)?.with_platform(text.as_bytes()))
    };
    match format {
        Format::Json => print_json(&provenance()?, &view),
        Format::Csv => print(&view.csv(&provenance()?)?),
        Format::Table => print_text(true, |layout| view.text(layout)),
    }
}

/// Most names and pairs of zones that are listed.
const NAMED_MAX: usize = 5;

const FIDELITY: &str = "
note: read as SimGrid reads it. Routes, sharing policies and the LV08 and CM02 network models follow
SimGrid, with exact max-min sharing; disks, Wifi and energy are not simulated.
";

const CHECK_HELP: &str = "\
Example:
  {bin} platform check conf/platforms/five.xml

How to write one: docs/platforms.md.";

const SHOW_HELP: &str = "\
Examples:
  {bin} platform show conf/platforms/testbed.toml
  {bin} platform show conf/platforms/testbed.toml --format json

A route is that from the first host of a Set to the last one of another. How to write a platform:
docs/platforms.md.";
