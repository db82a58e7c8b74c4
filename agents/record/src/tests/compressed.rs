//! Records whose events are compressed.

use super::*;

/// Writes a record with compressed events into a folder in `folder`, and flushes it after `flushed` of them.
fn compress(folder: &Path, events: &[Event], flushed: usize) -> Writer {
    let options = WriteOptions {
        compresses: true,
        ..WriteOptions::default()
    };
    let mut writer = Writer::create(folder, &"description", options).unwrap();
    for (index, event) in events.iter().enumerate() {
        writer.append(event).unwrap();
        if index + 1 == flushed {
            writer.flush().unwrap();
        }
    }
    writer
}

fn superstep(index: u64) -> Event {
    Event::Superstep(Superstep {
        index,
        started: Instant::START,
        ended: Instant::START,
        slowest: Rank(1),
        computation: Seconds::ZERO,
        mean: None,
        took: None,
        messages: 0,
        notes: Notes::default(),
    })
}

fn events() -> Vec<Event> {
    let supersteps = (0..500).map(superstep);
    let all = [run()].into_iter().chain(supersteps);
    all.chain([end_after(500)]).collect()
}

#[test]
fn a_compressed_record_is_read_as_one_that_is_text_and_is_always_the_same() {
    let (one, other) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    for folder in [&one, &other] {
        let writer = compress(folder.path(), &events(), 1);
        writer.finish(&"manifest").unwrap();
        let (manifest, read) = read::<String>(folder.path()).unwrap();
        assert_eq!((manifest.as_str(), read), ("manifest", events()));
        assert_eq!(Event::Run(head(folder.path()).unwrap()), run());
        assert!(is_record(folder.path()) && !folder.path().join("events.jsonl").exists());
    }
    let bytes = |folder: &TempDir| fs::read(folder.path().join("events.jsonl.gz")).unwrap();
    assert_eq!(bytes(&one), bytes(&other));
    // RFC 1952: magic number, deflate, no flags, no date, the fastest, an unknown system.
    assert_eq!(bytes(&one)[..10], [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 4, 255]);
    let text: usize = events().iter().map(|event| line(event).len()).sum();
    assert!(
        bytes(&one).len() * 8 < text,
        "{} of {text}",
        bytes(&one).len()
    );
}

#[test]
fn a_compressed_record_that_is_cut_off_is_read_as_far_as_it_goes() {
    let folder = TempDir::new().unwrap();
    let all = events();
    let writer = compress(folder.path(), &all, 101);
    // While it is written, everything that was flushed is there.
    let scanned = scan(folder.path(), |_| true, |_| {}).unwrap();
    assert!(100 <= scanned.supersteps, "{scanned:?}");
    drop(writer);
    let scanned = scan(folder.path(), |_| true, |_| {}).unwrap();
    assert!(scanned.has_end && !scanned.is_complete);
    let path = folder.path().join("events.jsonl.gz");
    let whole = fs::read(&path).unwrap();
    let mut supersteps = Vec::new();
    for end in (whole.len() / 2..whole.len()).step_by(97) {
        fs::write(&path, &whole[..end]).unwrap();
        supersteps.push(scan(folder.path(), |_| true, |_| {}).unwrap().supersteps);
    }
    assert!(
        supersteps.is_sorted() && 100 <= supersteps[0],
        "{supersteps:?}"
    );
    // A record that says that it is complete is not.
    fs::write(folder.path().join("run.json"), "\"manifest\"").unwrap();
    let found = fault(folder.path());
    assert!(found.contains("the record is cut off here"), "{found}");
}

#[test]
fn a_record_is_not_written_twice_in_different_forms() {
    let folder = TempDir::new().unwrap();
    let writer = compress(folder.path(), &events(), 1);
    let error = create(folder.path(), "other").unwrap_err();
    assert!(matches!(error, WriteError::InUse { .. }), "{error}");
    writer.finish(&"manifest").unwrap();
    let mut writer = replace(folder.path(), "other").unwrap();
    writer.append(&run()).unwrap();
    writer.append(&end()).unwrap();
    writer.finish(&"other").unwrap();
    assert_eq!(read::<String>(folder.path()).unwrap().1.len(), 2);
    assert!(!folder.path().join("events.jsonl.gz").exists());
}
