//! The tables of a record, row by row.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::Write;

use bsp::units::{Instant, Seconds};
use bsp::{HostId, Rank, SetId};
use experiments::{CsvTable, Failure, Provenance};
use migbsp::Answer;
use record::{Call, Moved};
use serde::Serialize;

use crate::explain::{Disposition, Rules};
use crate::export::{Happening, Reading, phases, process_name, refused};

/// A table of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Table {
    /// A row for each superstep.
    Supersteps,
    /// A row for each call.
    Calls,
    /// A row for each process in the list of each call.
    Candidates,
    /// A row for each move.
    Moves,
    /// A row for each process and superstep, of runs that are traced.
    Traces,
}

impl Table {
    /// All tables.
    pub const ALL: [Self; 5] = [
        Self::Supersteps,
        Self::Calls,
        Self::Candidates,
        Self::Moves,
        Self::Traces,
    ];

    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Supersteps => "supersteps",
            Self::Calls => "calls",
            Self::Candidates => "candidates",
            Self::Moves => "moves",
            Self::Traces => "traces",
        }
    }

    /// Name and version of its form.
    const fn schema(self) -> &'static str {
        match self {
            Self::Supersteps => "migbsp.export.supersteps/1",
            Self::Calls => "migbsp.export.calls/1",
            Self::Candidates => "migbsp.export.candidates/1",
            Self::Moves => "migbsp.export.moves/1",
            Self::Traces => "migbsp.export.traces/1",
        }
    }

    /// Its columns. Times are in seconds since the run began, durations in seconds, sizes in bytes.
    const fn columns(self) -> &'static [&'static str] {
        match self {
            Self::Supersteps => &[
                "superstep",
                "started",
                "ended",
                "slowest",
                "computation",
                "computation_mean",
                "messages",
            ],
            Self::Calls => &[
                "superstep",
                "at",
                "cost",
                "interval",
                "tolerance",
                "threshold",
                "listed",
                "candidates",
                "moves",
            ],
            Self::Candidates => &[
                "superstep",
                "position",
                "process",
                "own",
                "target",
                "potential",
                "disposition",
                "t1",
                "t2",
            ],
            Self::Moves => &[
                "superstep",
                "process",
                "from",
                "to",
                "potential",
                "t1",
                "t2",
                "predicted",
                "arrived",
                "took",
                "bytes",
            ],
            Self::Traces => &[
                "superstep",
                "process",
                "host",
                "started",
                "computation",
                "exchange",
                "waiting",
                "sent",
                "received",
            ],
        }
    }

    /// Writes it as comma-separated values.
    ///
    /// # Errors
    ///
    /// If the record cannot be read or is not traced, or `output` refuses.
    pub(super) fn write(
        self,
        reading: Reading,
        provenance: &Provenance,
        output: &mut dyn Write,
    ) -> Result<(), Failure> {
        let columns = self.columns().iter().copied();
        let begun = CsvTable::streamed(self.schema(), provenance, columns, output);
        let mut table = begun.map_err(refused)?;
        match self {
            Self::Supersteps => supersteps(reading, &mut table),
            Self::Calls => calls(reading, &mut table),
            Self::Candidates => candidates(reading, &mut table),
            Self::Moves => moves(reading, &mut table),
            Self::Traces => traces(reading, &mut table),
        }?;
        table.finish().map_err(refused)
    }
}

/// A value of a row.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub(crate) enum Cell<'a> {
    Integer(u64),
    Real(f64),
    Text(Cow<'a, str>),
    Missing,
}

fn supersteps(reading: Reading, table: &mut CsvTable<&mut dyn Write>) -> Result<(), Failure> {
    reading.each(&mut |happening| match happening {
        Happening::Superstep(superstep, _) => table.push([
            Cell::Integer(superstep.index),
            instant(superstep.started),
            instant(superstep.ended),
            process(superstep.slowest),
            seconds(superstep.computation),
            maybe(superstep.mean),
            Cell::Integer(superstep.messages),
        ]),
        _ => Ok(()),
    })
}

fn calls(reading: Reading, table: &mut CsvTable<&mut dyn Write>) -> Result<(), Failure> {
    reading.each(&mut |happening| match happening {
        Happening::Call(call) => table.push([
            Cell::Integer(call.superstep),
            instant(call.at),
            seconds(call.cost),
            call.interval
                .map_or(Cell::Missing, |interval| Cell::Integer(interval.into())),
            call.tolerance.map_or(Cell::Missing, Cell::Real),
            maybe(call.threshold),
            count(call.list.len()),
            count(call.considered.len()),
            count(call.migrations.len()),
        ]),
        _ => Ok(()),
    })
}

fn candidates(reading: Reading, table: &mut CsvTable<&mut dyn Write>) -> Result<(), Failure> {
    let rules = Rules::of_record(&reading.folder)?;
    let sets = reading.run.sets.clone();
    let set = |id: SetId| Cell::Text(sets[id.index()].as_str().into());
    reading.each(&mut |happening| {
        let Happening::Call(call) = happening else {
            return Ok(());
        };
        let dispositions = Disposition::all(call, &rules);
        let times: BTreeMap<Rank, _> = call
            .considered
            .iter()
            .map(|considered| {
                let t1 = match considered.answer {
                    Answer::Offer { t1, .. } => Some(t1),
                    Answer::Refuse(_) => None,
                };
                (considered.entry.rank, (t1, considered.request.t2))
            })
            .collect();
        call.list
            .iter()
            .enumerate()
            .try_for_each(|(position, entry)| {
                let (t1, t2) = times
                    .get(&entry.rank)
                    .map_or((None, None), |(t1, t2)| (*t1, Some(*t2)));
                table.push([
                    Cell::Integer(call.superstep),
                    count(position + 1),
                    process(entry.rank),
                    set(entry.own),
                    set(entry.target),
                    seconds(entry.potential),
                    Cell::Text(dispositions[&entry.rank].name().into()),
                    maybe(t1),
                    maybe(t2),
                ])
            })
    })
}

fn moves(reading: Reading, table: &mut CsvTable<&mut dyn Write>) -> Result<(), Failure> {
    let hosts = reading.run.hosts.clone();
    let host = |id: HostId| Cell::Text(hosts[id.index()].as_str().into());
    let mut arrived: BTreeMap<Rank, Moved> = BTreeMap::new();
    reading.each(&mut |happening| match happening {
        Happening::Moved(moved, _) => {
            arrived.insert(moved.rank, *moved);
            Ok(())
        }
        Happening::Call(call) => {
            let arrived = std::mem::take(&mut arrived);
            moves_of(call, &arrived, &host, table)
        }
        _ => Ok(()),
    })
}

fn moves_of<'a>(
    call: &Call,
    arrived: &BTreeMap<Rank, Moved>,
    host: &dyn Fn(HostId) -> Cell<'a>,
    table: &mut CsvTable<&mut dyn Write>,
) -> Result<(), Failure> {
    call.migrations.iter().try_for_each(|migration| {
        let moved = arrived.get(&migration.rank);
        table.push([
            Cell::Integer(call.superstep),
            process(migration.rank),
            host(migration.from),
            host(migration.to),
            maybe(migration.potential),
            seconds(migration.t1),
            seconds(migration.t2),
            seconds(migration.cost),
            moved.map_or(Cell::Missing, |moved| instant(moved.at)),
            maybe(moved.map(|moved| moved.took)),
            moved.map_or(Cell::Missing, |moved| Cell::Integer(moved.bytes.0)),
        ])
    })
}

fn traces(reading: Reading, table: &mut CsvTable<&mut dyn Write>) -> Result<(), Failure> {
    if !reading.is_traced() {
        return Err(Failure::input(format!(
            "{}: has no trace.bin: the run was not traced\n  help: run it again with --trace",
            reading.folder.display()
        )));
    }
    let hosts = reading.run.hosts.clone();
    reading.each(&mut |happening| {
        let Happening::Superstep(superstep, Some(traced)) = happening else {
            return Ok(());
        };
        traced.processes.iter().flatten().try_for_each(|traced| {
            let [_, _, waiting] = phases(traced, superstep.ended);
            table.push([
                Cell::Integer(traced.superstep),
                process(traced.rank),
                Cell::Text(hosts[traced.host.index()].as_str().into()),
                instant(traced.started),
                seconds(traced.computation),
                seconds(traced.exchange),
                Cell::Real(waiting.nanoseconds() as f64 / 1e9),
                Cell::Integer(traced.sent.0),
                Cell::Integer(traced.received.0),
            ])
        })
    })
}

fn process(rank: Rank) -> Cell<'static> {
    Cell::Text(process_name(rank).into())
}

fn instant(instant: Instant) -> Cell<'static> {
    Cell::Real(instant.get())
}

fn seconds(time: Seconds) -> Cell<'static> {
    Cell::Real(time.get())
}

fn maybe(time: Option<Seconds>) -> Cell<'static> {
    time.map_or(Cell::Missing, seconds)
}

fn count(number: usize) -> Cell<'static> {
    Cell::Integer(u64::try_from(number).unwrap_or(u64::MAX))
}
