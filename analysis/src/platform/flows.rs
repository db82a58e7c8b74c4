//! The durations of concurrent messages on a platform, from a table in CSV.

use std::path::Path;
use std::sync::Arc;

use bsp::HostId;
use bsp::units::{Bytes, Instant, Seconds};
use csv::StringRecord;
use experiments::platform::find_host;
use experiments::{CsvTable, Failure, Provenance};
use settings::{Fault, Unit};
use simulator::{Activity, Engine, NetworkOptions, Platform};

/// A message between two hosts.
#[derive(Clone, Copy, Debug)]
struct Flow {
    from: HostId,
    to: HostId,
    bytes: Bytes,
    start: Instant,
}

/// Messages between hosts: the rows of a table as text, and the flows that they describe.
#[derive(Debug)]
pub struct Flows {
    header: StringRecord,
    rows: Vec<StringRecord>,
    flows: Vec<Flow>,
}

impl Flows {
    /// The flows in `text`, which `file` holds: CSV with the columns `src`, `dst`, `bytes` and `start`, and any others.
    ///
    /// # Errors
    ///
    /// The line and the column of the first value that is invalid on `platform`.
    pub fn read(text: &str, file: &Path, platform: &Platform) -> Result<Self, Fault> {
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

    /// The table with the columns `end` and `duration`, in seconds.
    ///
    /// # Errors
    ///
    /// If a flow never ends.
    pub fn timed(
        &self,
        platform: Arc<Platform>,
        options: NetworkOptions,
        provenance: &Provenance,
    ) -> Result<String, Failure> {
        let ends = time(&self.flows, platform, options)?;
        if let Some(index) = ends.iter().position(Option::is_none) {
            let row = index + 1;
            let problem = format!("flow {row} never ends: a link on its way has no bandwidth left");
            return Err(Failure::Input(problem));
        }
        self.with_ends(&ends, provenance)
    }

    fn with_ends(
        &self,
        ends: &[Option<Instant>],
        provenance: &Provenance,
    ) -> Result<String, Failure> {
        let header = self.header.iter().chain(["end", "duration"]);
        let mut table = CsvTable::with_header(SCHEMA, provenance, header)?;
        for ((row, flow), end) in self.rows.iter().zip(&self.flows).zip(ends) {
            let end = end.expect("a flow that never ends has been refused");
            let (end, duration) = (end.get().to_string(), (end - flow.start).get().to_string());
            let row: Vec<&str> = row
                .iter()
                .chain([end.as_str(), duration.as_str()])
                .collect();
            table.push(row)?;
        }
        table.text()
    }
}

impl Flow {
    fn read(
        [from, to, bytes, start]: [&str; 4],
        platform: &Platform,
        place: &str,
    ) -> Result<Self, Fault> {
        let invalid = |column: &str, found: &str, problem| {
            Fault::invalid(Some(place), column, found, problem)
        };
        let host = |name: &str| find_host(name, platform);
        let flow = Self {
            from: host(from).map_err(|problem| invalid("src", from, problem))?,
            to: host(to).map_err(|problem| invalid("dst", to, problem))?,
            bytes: Bytes(whole_bytes(bytes).map_err(|problem| invalid("bytes", bytes, problem))?),
            start: date(start).map_err(|problem| invalid("start", start, problem))?,
        };
        let mut links = Vec::new();
        let route = platform.route(flow.from, flow.to, &mut links);
        route.map_err(|error| Fault::new(Some(place), "", error))?;
        Ok(flow)
    }
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
        *column = header
            .iter()
            .position(|found| found == name)
            .ok_or_else(|| {
                let found: Vec<&str> = header.iter().collect();
                let found = found.join(",");
                format!(
                    "missing column `{name}`: the header is `{found}`, must be src,dst,bytes,start"
                )
            })?;
        if header
            .iter()
            .filter(|found| *found == name)
            .nth(1)
            .is_some()
        {
            return Err(format!("there are two columns `{name}`"));
        }
    }
    Ok(columns)
}

/// A whole number of bytes, with an optional unit.
///
/// # Errors
///
/// If `text` is not a number of bytes, or not a whole one.
pub fn whole_bytes(text: &str) -> Result<u64, String> {
    if let Ok(whole) = text.parse() {
        return Ok(whole);
    }
    let number = Unit::Bytes.read(text)?;
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
    let number: f64 = Unit::Seconds.read(text)?;
    Seconds::new(number)
        .and_then(|seconds| Instant::new(seconds.get()))
        .map_err(|_| "must be at least 0 s".to_owned())
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

/// The form of the output.
const SCHEMA: &str = "migbsp.flows/1";

/// Up to this limit every whole number is a float.
const MAX_EXACT: f64 = 9_007_199_254_740_992.0;
