//! `platform flows`: the durations of concurrent messages.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use bsp::HostId;
use bsp::units::{Bytes, Instant, Seconds};
use clap::{Args, ValueEnum};
use csv::StringRecord;
use simulator::{Activity, Engine, NetworkOptions, Platform};

use crate::failure::CommandFailure;
use crate::output::print;
use experiments::Failure;
use experiments::Model;
use experiments::TCP_WINDOW;
use experiments::platform::find_host;
use experiments::platform::load;
use settings::Fault;
use settings::Unit as Quantity;
use settings::read;

/// How the network shares its bandwidth.
#[derive(Clone, Copy, Debug, Default, ValueEnum)]
enum ModelArgument {
    /// SimGrid's default: factors that fit TCP
    #[default]
    Lv08,
    /// Latencies and bandwidths as the platform names them
    Ideal,
}

impl From<ModelArgument> for Model {
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
    /// Model of bandwidth sharing
    #[arg(long, value_enum, default_value_t)]
    model: ModelArgument,
    /// Maximum amount of unacknowledged data, with an optional unit, as in "64 KiB"
    #[arg(long, value_name = "BYTES", default_value_t = TCP_WINDOW.0, value_parser = window)]
    tcp_window: u64,
    /// Do not let data slow down data in the opposite direction
    #[arg(long)]
    no_cross_traffic: bool,
}

/// A message between two hosts.
#[derive(Clone, Copy, Debug)]
struct Flow {
    from: HostId,
    to: HostId,
    bytes: Bytes,
    start: Instant,
}

/// The rows as text, and the flows that they describe.
#[derive(Debug)]
struct Flows {
    header: StringRecord,
    rows: Vec<StringRecord>,
    flows: Vec<Flow>,
}

/// `migbsp platform flows PLATFORM FLOWS`.
///
/// # Errors
///
/// [`Failure::Input`] if one of the files is invalid, or a flow never ends.
pub(crate) fn command(arguments: &FlowArguments) -> Result<(), CommandFailure> {
    let platform = Arc::new(load(&arguments.platform)?);
    let text = read(&arguments.flows).map_err(Failure::input)?;
    let flows = Flows::read(&text, &arguments.flows, &platform)?;
    let options = Model::from(arguments.model)
        .options(!arguments.no_cross_traffic, Bytes(arguments.tcp_window));
    let ends = time(&flows.flows, platform, options)?;
    let missing = ends.iter().position(Option::is_none);
    if let Some(index) = missing {
        let row = index + 1;
        let problem = format!("flow {row} never ends: a link on its way has no bandwidth left");
        return Err(Failure::Input(problem).into());
    }
    print(&flows.with_ends(&ends).map_err(Failure::run)?)
}

/// The time at which each flow ends, if it does.
fn time(
    flows: &[Flow],
    platform: Arc<Platform>,
    options: NetworkOptions,
) -> Result<Vec<Option<Instant>>, Failure> {
    let mut engine = Engine::new(platform, options);
    let token = |index: usize| u64::try_from(index).expect("a row number fits 64 bits");
    let starts = token(flows.len());
    for (index, flow) in flows.iter().enumerate() {
        engine.wake(flow.start - Instant::START, Activity(token(index)));
    }
    let mut ends = vec![None; flows.len()];
    let mut ended = Vec::new();
    while let Some(now) = engine.advance(&mut ended) {
        for Activity(activity) in ended.drain(..) {
            let index = usize::try_from(activity % starts).expect("it was a row number");
            if activity < starts {
                let flow = flows[index];
                let token = Activity(starts + activity);
                engine
                    .transfer(flow.from, flow.to, flow.bytes, token)
                    .map_err(Failure::input)?;
            } else {
                ends[index] = Some(now);
            }
        }
    }
    Ok(ends)
}

impl Flows {
    fn read(text: &str, file: &Path, platform: &Platform) -> Result<Self, Fault> {
        let name = file.display().to_string();
        let mut reader = csv::ReaderBuilder::new()
            .trim(csv::Trim::All)
            .comment(Some(b'#'))
            .from_reader(text.as_bytes());
        let located = |error: &csv::Error| {
            let line = error.position().map_or(1, csv::Position::line);
            Fault::new(Some(&format!("{name}:{line}")), "", csv_problem(error))
        };
        let header = reader.headers().map_err(|error| located(&error))?.clone();
        let columns = columns(&header)
            .map_err(|problem| Fault::new(Some(&format!("{name}:1")), "", problem))?;
        let (mut rows, mut flows) = (Vec::new(), Vec::new());
        for row in reader.records() {
            let row = row.map_err(|error| located(&error))?;
            let line = row.position().map_or(0, csv::Position::line);
            let place = format!("{name}:{line}");
            let flow = Flow::read(columns.map(|column| &row[column]), platform, &place)?;
            flows.push(flow);
            rows.push(row);
        }
        Ok(Self {
            header,
            rows,
            flows,
        })
    }

    fn with_ends(&self, ends: &[Option<Instant>]) -> Result<String, csv::Error> {
        let mut writer = csv::Writer::from_writer(Vec::new());
        writer.write_record(self.header.iter().chain(["end", "duration"]))?;
        for ((row, flow), end) in self.rows.iter().zip(&self.flows).zip(ends) {
            let end = end.expect("a flow that never ends has been refused");
            let (end, duration) = (end.get().to_string(), (end - flow.start).get().to_string());
            writer.write_record(row.iter().chain([end.as_str(), duration.as_str()]))?;
        }
        let bytes = writer
            .into_inner()
            .map_err(csv::IntoInnerError::into_error)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }
}

impl Flow {
    fn read(
        [from, to, bytes, start]: [&str; 4],
        platform: &Platform,
        place: &str,
    ) -> Result<Self, Fault> {
        let invalid =
            |column: &str, met: &str, problem| Fault::invalid(Some(place), column, met, problem);
        let host = |name: &str| find_host(name, platform);
        let flow = Self {
            from: host(from).map_err(|problem| invalid("src", from, problem))?,
            to: host(to).map_err(|problem| invalid("dst", to, problem))?,
            bytes: Bytes(whole(bytes).map_err(|problem| invalid("bytes", bytes, problem))?),
            start: date(start).map_err(|problem| invalid("start", start, problem))?,
        };
        let mut links = Vec::new();
        let route = platform.route(flow.from, flow.to, &mut links);
        route.map_err(|error| Fault::new(Some(place), "", error))?;
        Ok(flow)
    }
}

fn columns(header: &StringRecord) -> Result<[usize; 4], String> {
    let wanted = ["src", "dst", "bytes", "start"];
    if let Some(taken) = header
        .iter()
        .find(|name| ["end", "duration"].contains(name))
    {
        return Err(format!("the output adds the column `{taken}`; remove it"));
    }
    let mut columns = [0; 4];
    for (column, name) in columns.iter_mut().zip(wanted) {
        *column = header.iter().position(|met| met == name).ok_or_else(|| {
            let met: Vec<&str> = header.iter().collect();
            let met = met.join(",");
            format!("missing column `{name}`: the header is `{met}`, must be src,dst,bytes,start")
        })?;
        if header.iter().filter(|met| *met == name).nth(1).is_some() {
            return Err(format!("there are two columns `{name}`"));
        }
    }
    Ok(columns)
}

fn whole(text: &str) -> Result<u64, String> {
    if let Ok(whole) = text.parse() {
        return Ok(whole);
    }
    let number = Quantity::Bytes.read(text)?;
    if !(0.0..=MAX_EXACT).contains(&number) || number.fract() != 0.0 {
        return Err("must be a whole number of bytes, at least 0".to_owned());
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::as_conversions,
        reason = "whole and in range, as checked just above"
    )]
    let whole = number as u64;
    Ok(whole)
}

fn date(text: &str) -> Result<Instant, String> {
    let number: f64 = Quantity::Seconds.read(text)?;
    Seconds::new(number)
        .and_then(|seconds| Instant::new(seconds.get()))
        .map_err(|_| "must be at least 0 s".to_owned())
}

fn window(text: &str) -> Result<u64, String> {
    match whole(text)? {
        0 => Err("must be at least 1 byte".to_owned()),
        bytes => Ok(bytes),
    }
}

fn csv_problem(error: &csv::Error) -> String {
    match error.kind() {
        csv::ErrorKind::UnequalLengths {
            expected_len, len, ..
        } => {
            format!("{len} columns, must be {expected_len} as in the header")
        }
        _ => error.to_string(),
    }
}

/// Up to this limit every whole number is a float.
const MAX_EXACT: f64 = 9_007_199_254_740_992.0;

pub(crate) const FLOWS_ABOUT: &str = "\
Time concurrent messages on a platform.

FLOWS is a CSV file whose header names the columns src, dst (hosts), bytes and start (seconds), in any \
order, with optional further ones. The output is the file with two more columns: end and \
duration, in seconds at full precision.";

pub(crate) const FLOWS_HELP: &str = "\
Example: the second message takes its share of the first one's link.
  printf 'src,dst,bytes,start\\nlabtec-1,corisco-1,1e6,0\\nlabtec-1,corisco-2,1e6,0.005\\n' > flows.csv
  migbsp platform flows conf/platforms/five.xml flows.csv
  migbsp platform flows conf/platforms/five.xml flows.csv --model ideal --tcp-window \"64 KiB\"";
