//! `migbsp platform`: what a platform file describes.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use analysis::platform::{Flows, PlatformView, whole_bytes};
use bsp::HostId;
use bsp::units::Bytes;
use clap::{Args, Subcommand, ValueEnum};
use experiments::platform::{is_simgrid, load, parse, platform_section};
use experiments::{Failure, Provenance, Registry};
use settings::{name_of, read};
use simulator::{NetworkModel, Platform};

use crate::command::{Command, Context};
use crate::failure::CommandFailure;
use crate::output::{self, Format, print};

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
        PlatformCommand::Flows(arguments) => flows(arguments, context.registry()),
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
    output::show(&view, (format, true), provenance)
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

How to write one: docs/reference/platforms.md.";

const SHOW_HELP: &str = "\
Examples:
  {bin} platform show conf/platforms/testbed.toml
  {bin} platform show conf/platforms/testbed.toml --format json

A route is that from the first host of a Set to the last one of another. How to write a platform:
docs/reference/platforms.md.";

/// How the network shares its bandwidth.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum ModelArgument {
    /// SimGrid's default: factors that fit TCP
    Lv08,
    /// Latencies and bandwidths as the platform names them
    Ideal,
}

impl From<ModelArgument> for NetworkModel {
    fn from(model: ModelArgument) -> Self {
        match model {
            ModelArgument::Lv08 => Self::Lv08,
            ModelArgument::Ideal => Self::Ideal,
        }
    }
}

/// Arguments of `platform flows`.
#[derive(Debug, Args)]
pub(crate) struct FlowArguments {
    /// TOML, or SimGrid XML
    #[arg(value_name = "PLATFORM")]
    platform: PathBuf,
    /// CSV with the columns src, dst, bytes, start
    #[arg(value_name = "FLOWS")]
    flows: PathBuf,
    /// Model of bandwidth sharing; by default that of the platform's `<config>`, or lv08
    #[arg(long, value_enum)]
    model: Option<ModelArgument>,
    /// Maximum amount of unacknowledged data, with an optional unit, as in "64 KiB"; by default that of the platform's
    /// `<config>`, or 4 MiB
    #[arg(long, value_name = "BYTES", value_parser = window)]
    tcp_window: Option<u64>,
    /// Do not let data slow down data in the opposite direction
    #[arg(long)]
    no_cross_traffic: bool,
}

/// `migbsp platform flows PLATFORM FLOWS`.
///
/// # Errors
///
/// [`Failure::Input`] if one of the files is invalid, or a flow never ends.
fn flows(arguments: &FlowArguments, registry: &Registry) -> Result<(), CommandFailure> {
    let described = read(&arguments.platform).map_err(Failure::input)?;
    let platform = Arc::new(parse(&described, &arguments.platform)?);
    let text = read(&arguments.flows).map_err(Failure::input)?;
    let flows = Flows::read(&text, &arguments.flows, &platform)?;
    let mut section = platform_section(&platform);
    section.file = arguments.platform.display().to_string();
    let network = &mut section.network;
    network.model = arguments.model.map_or(network.model, NetworkModel::from);
    network.tcp_window = arguments.tcp_window.map_or(network.tcp_window, Bytes);
    network.cross_traffic &= !arguments.no_cross_traffic;
    let provenance = Provenance::of_program(registry)?
        .with_platform(described.as_bytes())
        .with_configuration(&section.effective());
    print(&flows.timed(platform, section.network, &provenance)?)
}

fn window(text: &str) -> Result<u64, String> {
    match whole_bytes(text)? {
        0 => Err("must be at least 1 byte".to_owned()),
        bytes => Ok(bytes),
    }
}

const FLOWS_ABOUT: &str = "\
Time concurrent messages on a platform.

FLOWS is a CSV file whose header names the columns src, dst (hosts), bytes and start (seconds), in any \
order, with optional further ones. The output is the file with two more columns: end and \
duration, in seconds at full precision.";

const FLOWS_HELP: &str = "\
Example: the second message takes its share of the first one's link.
  printf 'src,dst,bytes,start\\nlabtec-1,corisco-1,1e6,0\\nlabtec-1,corisco-2,1e6,0.005\\n' > flows.csv
  {bin} platform flows conf/platforms/five.xml flows.csv
  {bin} platform flows conf/platforms/five.xml flows.csv --model ideal --tcp-window \"64 KiB\"";
