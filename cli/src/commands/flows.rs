//! `platform flows`: the durations of concurrent messages.

use std::path::PathBuf;
use std::sync::Arc;

use analysis::platform::{Flows, whole_bytes};
use bsp::units::Bytes;
use clap::{Args, ValueEnum};

use crate::failure::CommandFailure;
use crate::output::print;
use experiments::platform::{parse, platform_section};
use experiments::{Failure, Provenance, Registry};
use settings::read;
use simulator::NetworkModel;

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
pub(super) fn execute(
    arguments: &FlowArguments,
    registry: &Registry,
) -> Result<(), CommandFailure> {
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

pub(crate) const FLOWS_ABOUT: &str = "\
Time concurrent messages on a platform.

FLOWS is a CSV file whose header names the columns src, dst (hosts), bytes and start (seconds), in any \
order, with optional further ones. The output is the file with two more columns: end and \
duration, in seconds at full precision.";

pub(crate) const FLOWS_HELP: &str = "\
Example: the second message takes its share of the first one's link.
  printf 'src,dst,bytes,start\\nlabtec-1,corisco-1,1e6,0\\nlabtec-1,corisco-2,1e6,0.005\\n' > flows.csv
  {bin} platform flows conf/platforms/five.xml flows.csv
  {bin} platform flows conf/platforms/five.xml flows.csv --model ideal --tcp-window \"64 KiB\"";
