//! Traces are read as they were written, and files that are none are refused.

use std::fs;

use proptest::prelude::*;
use tempfile::TempDir;

use crate::reader::COMPLETE;
use crate::trace::*;

/// A host, three times in nanoseconds, and bytes.
type Row = (u32, [u32; 3], u64);

/// Per superstep and process, or none.
type Rows = Vec<Vec<Option<Row>>>;

fn time(nanoseconds: u32) -> Seconds {
    Seconds::new(f64::from(nanoseconds) / 1e9).unwrap()
}

fn instant(seconds: Seconds) -> Instant {
    Instant::new(seconds.get()).unwrap()
}

/// The supersteps that `rows` describe: each lasts ten seconds.
fn supersteps(rows: &Rows) -> Vec<TracedSuperstep> {
    let superstep = |(index, rows): (u32, &Vec<_>)| {
        let started = Seconds::new(f64::from(index) * 10.0).unwrap();
        let traced = |(rank, row): (usize, &Option<Row>)| {
            row.map(|(host, [delay, computation, exchange], bytes)| Traced {
                superstep: u64::from(index),
                rank: Rank::from_index(rank),
                host: HostId(host),
                started: instant(started + time(delay)),
                computation: time(computation),
                exchange: time(exchange),
                sent: Bytes(bytes),
                received: Bytes(bytes / 2),
                halted: bytes % 3 == 0,
            })
        };
        TracedSuperstep {
            index: u64::from(index),
            started: instant(started),
            ended: instant(started + Seconds::new(10.0).unwrap()),
            processes: rows.iter().enumerate().map(traced).collect(),
        }
    };
    (0..).zip(rows).map(superstep).collect()
}

fn write(supersteps: &[TracedSuperstep], processes: usize) -> Vec<u8> {
    let mut writer = TraceWriter::new(Vec::new(), processes).unwrap();
    for superstep in supersteps {
        superstep
            .processes
            .iter()
            .flatten()
            .for_each(|traced| writer.add(*traced));
        let ended = Superstep {
            index: superstep.index,
            started: superstep.started,
            ended: superstep.ended,
            slowest: Rank(0),
            computation: Seconds::ZERO,
            mean: None,
            took: None,
            messages: 0,
            notes: bsp::Notes::default(),
        };
        writer.end(&ended).unwrap();
    }
    std::mem::take(writer.output())
}

fn read(folder: &Path, processes: usize) -> Result<Vec<TracedSuperstep>, String> {
    let text = |error: TraceError| format!("byte {}: {}", error.offset, error.message);
    let mut reader = TraceReader::open(folder, processes).map_err(text)?.unwrap();
    let mut read = Vec::new();
    while let Some(superstep) = reader.next_superstep().map_err(text)? {
        read.push(superstep.clone());
    }
    Ok(read)
}

/// A folder with a trace, of a run that has ended or not.
fn folder(bytes: &[u8], is_complete: bool) -> TempDir {
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join(TRACE), bytes).unwrap();
    if is_complete {
        fs::write(folder.path().join(COMPLETE), "{}").unwrap();
    }
    folder
}

fn rows(processes: usize) -> impl Strategy<Value = Rows> {
    let row = prop::option::weighted(0.9, (any::<u32>(), any::<[u32; 3]>(), any::<u64>()));
    prop::collection::vec(prop::collection::vec(row, processes), 0..6)
}

/// Three supersteps of two processes; the second has halted before the last.
fn example() -> Vec<TracedSuperstep> {
    let row = |exchange| Some((4, [0, 250_000_000, exchange], 800));
    supersteps(&vec![
        vec![row(0), row(70_000)],
        vec![row(0), row(70_000)],
        vec![row(0), None],
    ])
}

proptest! {
    #[test]
    fn a_trace_is_read_to_the_nanosecond(rows in rows(3)) {
        let written = supersteps(&rows);
        let folder = folder(&write(&written, 3), true);
        let read = read(folder.path(), 3).unwrap();
        prop_assert_eq!(read.len(), written.len());
        for (read, written) in read.iter().zip(&written) {
            prop_assert_eq!(read.index, written.index);
            for (read, written) in read.processes.iter().zip(&written.processes) {
                let (Some(read), Some(written)) = (read, written) else {
                    prop_assert_eq!(read.is_some(), written.is_some());
                    continue;
                };
                let exact = |traced: &Traced| (traced.rank, traced.host, traced.sent, traced.received, traced.halted);
                prop_assert_eq!(exact(read), exact(written));
                for (read, written) in [
                    (read.started - Instant::START, written.started - Instant::START),
                    (read.computation, written.computation),
                    (read.exchange, written.exchange),
                ] {
                    prop_assert!((read - written).get().abs() < 1.1e-9, "{read:?} {written:?}");
                }
            }
        }
    }

    #[test]
    fn a_changed_byte_is_refused(rows in rows(2), place in any::<prop::sample::Index>(), bit in 0..8_u32) {
        let mut bytes = write(&supersteps(&rows), 2);
        let place = place.index(bytes.len());
        bytes[place] ^= 1 << bit;
        let folder = folder(&bytes, true);
        prop_assert!(read(folder.path(), 2).is_err(), "byte {place}");
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let mut trace = write(&[], 2);
        let checksum = crc32fast::hash(&bytes);
        trace.extend(u32::try_from(bytes.len()).unwrap().to_le_bytes());
        trace.extend(checksum.to_le_bytes());
        trace.extend(bytes);
        // Whatever it is, it is no panic.
        drop(read(folder(&trace, true).path(), 2));
    }
}

#[test]
fn what_repeats_takes_a_byte_per_value() {
    let example = example();
    let lengths: Vec<usize> = (1..=3).map(|n| write(&example[..n], 2).len()).collect();
    // Head and checksum of a block, the superstep and its times, and the values of two processes.
    let heads = 8 + (1 + 5 + 5);
    assert_eq!(lengths[1] - lengths[0], heads + 2 * 6);
    assert_eq!(lengths[2] - lengths[1], heads + 6 + 1);
}

#[test]
fn a_trace_that_is_cut_off_ends_with_its_last_superstep_if_the_run_did_not_end() {
    let example = example();
    let bytes = write(&example, 2);
    let whole = write(&example[..2], 2).len();
    for length in whole..bytes.len() {
        let cut = &bytes[..length];
        assert_eq!(read(folder(cut, false).path(), 2).unwrap(), example[..2]);
        let complete = read(folder(cut, true).path(), 2);
        if length == whole {
            // The events say how many supersteps there are.
            assert_eq!(complete.unwrap().len(), 2);
        } else {
            assert_eq!(
                complete.unwrap_err(),
                format!("byte {whole}: it is cut off")
            );
        }
    }
}

#[test]
fn what_is_no_trace_of_this_record_is_refused() {
    let bytes = write(&example(), 2);
    let refused =
        |bytes: &[u8], processes| read(folder(bytes, true).path(), processes).unwrap_err();
    assert_eq!(
        refused(&bytes, 3),
        "byte 16: it is of 2 processes, and the record of 3"
    );
    let other = [b"migbsp.trace/2\n\0", &bytes[16..]].concat();
    assert!(refused(&other, 2).contains("another version"), "{other:?}");
    assert!(refused(&bytes[..10], 2).contains("no head of a trace"));
    let huge = [&bytes[..20], &u32::MAX.to_le_bytes(), &[0; 4]].concat();
    assert_eq!(
        refused(&huge, 2),
        "byte 20: a superstep of 4294967295 bytes is too long"
    );
    let first = write(&example()[..1], 2);
    let twice = [&first[..], &first[20..]].concat();
    assert!(refused(&twice, 2).contains("superstep 0 is out of order"));
    let none = TempDir::new().unwrap();
    assert!(TraceReader::open(none.path(), 2).unwrap().is_none());
}
