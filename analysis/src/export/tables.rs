//! The tables of a record, row by row.

use std::collections::BTreeMap;
use std::io::Write;

use bsp::units::{Instant, Seconds};
use bsp::{HostId, Note, Rank, SetId};
use experiments::{CsvTable, Failure, Provenance};
use model::{Answer, Entry};
use record::{Call, Migration, Moved, Superstep, Traced};
use serde_json::Value;

use crate::document::{Columns, push};
use crate::export::{Happening, Reading, phases, refused};
use crate::run::{Disposition, Rules};

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
    /// A row for each name under which processes noted something in a superstep.
    Notes,
    /// A row for each process and superstep, of runs that are traced.
    Traces,
}

impl Table {
    /// All tables.
    pub const ALL: [Self; 6] = [
        Self::Supersteps,
        Self::Calls,
        Self::Candidates,
        Self::Moves,
        Self::Notes,
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
            Self::Notes => "notes",
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
            Self::Notes => "migbsp.export.notes/1",
            Self::Traces => "migbsp.export.traces/1",
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
        let table = (self.schema(), provenance);
        match self {
            Self::Supersteps => supersteps(reading, table, output),
            Self::Calls => calls(reading, table, output),
            Self::Candidates => candidates(reading, table, output),
            Self::Moves => moves(reading, table, output),
            Self::Notes => notes(reading, table, output),
            Self::Traces => traces(reading, table, output),
        }
    }
}

/// Writes a table row by row. Times are in seconds since the run began, durations in seconds, sizes in bytes.
struct Rows<'a, R> {
    table: CsvTable<&'a mut dyn Write>,
    columns: &'a Columns<'a, 'a, R>,
}

impl<'a, R> Rows<'a, R> {
    fn begin(
        (schema, provenance): (&'static str, &Provenance),
        output: &'a mut dyn Write,
        columns: &'a Columns<'a, 'a, R>,
    ) -> Result<Self, Failure> {
        let header = columns.iter().map(|(name, _)| *name);
        let table = CsvTable::streamed(schema, provenance, header, output).map_err(refused)?;
        Ok(Self { table, columns })
    }

    fn push(&mut self, row: &R) -> Result<(), Failure> {
        push(&mut self.table, self.columns, row)
    }

    fn finish(self) -> Result<(), Failure> {
        self.table.finish().map_err(refused)
    }
}

type Form<'a> = (&'static str, &'a Provenance);

fn supersteps(reading: Reading, form: Form<'_>, output: &mut dyn Write) -> Result<(), Failure> {
    let columns: &Columns<'_, '_, Superstep> = &[
        ("superstep", &|superstep| superstep.index.into()),
        ("started", &|superstep| superstep.started.get().into()),
        ("ended", &|superstep| superstep.ended.get().into()),
        ("slowest", &|superstep| superstep.slowest.to_string().into()),
        ("computation", &|superstep| {
            superstep.computation.get().into()
        }),
        ("computation_mean", &|superstep| {
            superstep.mean.map(Seconds::get).into()
        }),
        ("messages", &|superstep| superstep.messages.into()),
    ];
    let mut rows = Rows::begin(form, output, columns)?;
    reading.each(&mut |happening| match happening {
        Happening::Superstep(superstep, _) => rows.push(superstep),
        _ => Ok(()),
    })?;
    rows.finish()
}

fn calls(reading: Reading, form: Form<'_>, output: &mut dyn Write) -> Result<(), Failure> {
    let columns: &Columns<'_, '_, Call> = &[
        ("superstep", &|call| call.superstep.into()),
        ("at", &|call| call.at.get().into()),
        ("cost", &|call| call.cost.get().into()),
        ("interval", &|call| call.interval.into()),
        ("tolerance", &|call| call.tolerance.into()),
        ("threshold", &|call| call.threshold.map(Seconds::get).into()),
        ("listed", &|call| call.list.len().into()),
        ("candidates", &|call| call.considered.len().into()),
        ("moves", &|call| call.migrations.len().into()),
    ];
    let mut rows = Rows::begin(form, output, columns)?;
    reading.each(&mut |happening| match happening {
        Happening::Call(call) => rows.push(call),
        _ => Ok(()),
    })?;
    rows.finish()
}

/// A process in the list of a call.
struct Candidate {
    superstep: u64,
    position: usize,
    entry: Entry,
    disposition: &'static str,
    t1: Option<Seconds>,
    t2: Option<Seconds>,
}

fn candidates(reading: Reading, form: Form<'_>, output: &mut dyn Write) -> Result<(), Failure> {
    let rules = Rules::of_record(&reading.folder)?;
    let sets = reading.run.sets.clone();
    let set = |id: SetId| sets[id.index()].as_str().into();
    let columns: &Columns<'_, '_, Candidate> = &[
        ("superstep", &|row| row.superstep.into()),
        ("position", &|row| row.position.into()),
        ("process", &|row| row.entry.rank.to_string().into()),
        ("own", &|row| set(row.entry.own)),
        ("target", &|row| set(row.entry.target)),
        ("potential", &|row| row.entry.potential.get().into()),
        ("disposition", &|row| row.disposition.into()),
        ("t1", &|row| row.t1.map(Seconds::get).into()),
        ("t2", &|row| row.t2.map(Seconds::get).into()),
    ];
    let mut rows = Rows::begin(form, output, columns)?;
    reading.each(&mut |happening| {
        let Happening::Call(call) = happening else {
            return Ok(());
        };
        let dispositions = Disposition::all(call, &rules);
        let considered = call.considered.iter();
        let times: BTreeMap<Rank, _> = considered
            .map(|considered| {
                let t1 = match considered.answer {
                    Answer::Offer { t1, .. } => Some(t1),
                    Answer::Refuse(_) => None,
                };
                (considered.entry.rank, (t1, considered.request.t2))
            })
            .collect();
        (1..).zip(&call.list).try_for_each(|(position, entry)| {
            let times = times.get(&entry.rank);
            rows.push(&Candidate {
                superstep: call.superstep,
                position,
                entry: *entry,
                disposition: dispositions[&entry.rank].name(),
                t1: times.and_then(|(t1, _)| *t1),
                t2: times.map(|(_, t2)| *t2),
            })
        })
    })?;
    rows.finish()
}

fn moves(reading: Reading, form: Form<'_>, output: &mut dyn Write) -> Result<(), Failure> {
    let hosts = reading.run.hosts.clone();
    let host = |id: HostId| hosts[id.index()].as_str().into();
    let columns: &Columns<'_, '_, (u64, Migration, Option<Moved>)> = &[
        ("superstep", &|(superstep, ..)| (*superstep).into()),
        ("process", &|(_, migration, _)| {
            migration.rank.to_string().into()
        }),
        ("from", &|(_, migration, _)| host(migration.from)),
        ("to", &|(_, migration, _)| host(migration.to)),
        ("potential", &|(_, migration, _)| {
            migration.potential.map(Seconds::get).into()
        }),
        ("t1", &|(_, migration, _)| migration.t1.get().into()),
        ("t2", &|(_, migration, _)| migration.t2.get().into()),
        ("predicted", &|(_, migration, _)| {
            migration.cost.get().into()
        }),
        ("arrived", &|(.., moved)| {
            moved.map(|moved| moved.at.get()).into()
        }),
        ("took", &|(.., moved)| {
            moved.map(|moved| moved.took.get()).into()
        }),
        ("bytes", &|(.., moved)| {
            moved.map(|moved| moved.bytes.0).into()
        }),
    ];
    let mut rows = Rows::begin(form, output, columns)?;
    let mut arrived: BTreeMap<Rank, Moved> = BTreeMap::new();
    reading.each(&mut |happening| match happening {
        Happening::Moved(moved, _) => {
            arrived.insert(moved.rank, *moved);
            Ok(())
        }
        Happening::Call(call) => {
            let arrived = std::mem::take(&mut arrived);
            call.migrations.iter().try_for_each(|migration| {
                let moved = arrived.get(&migration.rank).copied();
                rows.push(&(call.superstep, *migration, moved))
            })
        }
        _ => Ok(()),
    })?;
    rows.finish()
}

fn notes(reading: Reading, form: Form<'_>, output: &mut dyn Write) -> Result<(), Failure> {
    // What is no number of JSON is a text, as pandas and R read it.
    let number = |value: f64| -> Value {
        if value.is_finite() {
            value.into()
        } else {
            value.to_string().into()
        }
    };
    let columns: &Columns<'_, '_, (u64, String, Note)> = &[
        ("superstep", &|(superstep, ..)| (*superstep).into()),
        ("note", &|(_, name, _)| name.as_str().into()),
        ("count", &|(.., note)| note.count.into()),
        ("sum", &|(.., note)| number(note.sum)),
        ("min", &|(.., note)| number(note.min)),
        ("max", &|(.., note)| number(note.max)),
    ];
    let mut rows = Rows::begin(form, output, columns)?;
    reading.each(&mut |happening| {
        let Happening::Superstep(superstep, _) = happening else {
            return Ok(());
        };
        let mut notes = superstep.notes.iter();
        notes.try_for_each(|(name, note)| rows.push(&(superstep.index, name.to_owned(), *note)))
    })?;
    rows.finish()
}

fn traces(reading: Reading, form: Form<'_>, output: &mut dyn Write) -> Result<(), Failure> {
    let hosts = reading.run.hosts.clone();
    let columns: &Columns<'_, '_, (Traced, Instant)> = &[
        ("superstep", &|(traced, _)| traced.superstep.into()),
        ("process", &|(traced, _)| traced.rank.to_string().into()),
        ("host", &|(traced, _)| {
            hosts[traced.host.index()].as_str().into()
        }),
        ("started", &|(traced, _)| traced.started.get().into()),
        ("computation", &|(traced, _)| {
            traced.computation.get().into()
        }),
        ("exchange", &|(traced, _)| traced.exchange.get().into()),
        ("waiting", &|(traced, ended)| {
            let [_, _, waiting] = phases(traced, *ended);
            (waiting.nanoseconds() as f64 / 1e9).into()
        }),
        ("sent", &|(traced, _)| traced.sent.0.into()),
        ("received", &|(traced, _)| traced.received.0.into()),
    ];
    let mut rows = Rows::begin(form, output, columns)?;
    if !reading.is_traced() {
        return Err(Failure::input(format!(
            "{}: has no trace.bin: the run was not traced\n  help: run it again with --trace",
            reading.folder.display()
        )));
    }
    reading.each(&mut |happening| {
        let Happening::Superstep(superstep, Some(traced)) = happening else {
            return Ok(());
        };
        let mut processes = traced.processes.iter().flatten();
        processes.try_for_each(|traced| rows.push(&(*traced, superstep.ended)))
    })?;
    rows.finish()
}
