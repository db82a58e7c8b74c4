//! Records of runs that did not end.

use super::*;

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

/// How far the record in `folder` goes, and the number of its events.
fn extent(folder: &Path) -> (Extent, usize) {
    let mut events = 0;
    let extent = scan(folder, |_| true, |_| events += 1).unwrap();
    (extent, events)
}

#[test]
fn the_record_of_a_run_that_did_not_end_is_read_as_far_as_it_goes() {
    let folder = write(&[run(), superstep(0), superstep(1)], false);
    let manifest: String = manifest(folder.path()).unwrap();
    assert_eq!(manifest, "description");
    let unended = Extent {
        is_complete: false,
        has_end: false,
        supersteps: 2,
        is_torn: false,
    };
    assert_eq!(extent(folder.path()), (unended, 3));
    // Wherever the last line is cut off, the lines before it count.
    let path = folder.path().join("events.jsonl");
    let text = fs::read(&path).unwrap();
    let third = text.len() - line(&superstep(1)).len();
    for end in third + 1..text.len() {
        fs::write(&path, &text[..end]).unwrap();
        let torn = Extent {
            supersteps: 1,
            is_torn: true,
            ..unended
        };
        assert_eq!(extent(folder.path()), (torn, 2));
    }
    // A torn line may end within a character.
    fs::write(&path, [&text[..third], b"{\"\xc3"].concat()).unwrap();
    assert!(extent(folder.path()).0.is_torn);
}

#[test]
fn a_run_that_ended_without_a_result_is_read() {
    let folder = write(&[run(), superstep(0), end_after(1)], false);
    let extent = extent(folder.path()).0;
    assert!(extent.has_end && !extent.is_complete, "{extent:?}");
}

#[test]
fn a_broken_line_is_no_torn_line() {
    let folder = write(&[run(), superstep(0)], false);
    let path = folder.path().join("events.jsonl");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, format!("{text}garbage\n")).unwrap();
    let found = fault(folder.path());
    assert!(
        found.starts_with("events.jsonl:3: expected value"),
        "{found}"
    );
    // Without its first line nothing is known.
    for text in ["", "{\"event\":\"run\""] {
        fs::write(&path, text).unwrap();
        assert!(fault(folder.path()).starts_with("events.jsonl:1: "));
    }
}

#[test]
fn a_complete_record_has_no_description_beside_it_and_must_have_an_end() {
    let folder = write(&[run(), end()], true);
    let files = |folder: &Path| {
        let entries = fs::read_dir(folder).unwrap();
        let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        names
    };
    assert_eq!(files(folder.path()), ["events.jsonl", "run.json"]);
    assert!(extent(folder.path()).0.is_complete);
    fs::write(folder.path().join("events.jsonl"), line(&run())).unwrap();
    assert_eq!(
        fault(folder.path()),
        "events.jsonl:1: the record ends before the run does"
    );
}

#[test]
fn the_record_of_a_run_that_did_not_end_is_set_aside() {
    let folder = TempDir::new().unwrap();
    let record = folder.path().join("iii");
    let aside = |number| folder.path().join(format!("iii.{number}"));
    let attempt = |description: &str, supersteps: u64| {
        let mut writer = create(&record, description).unwrap();
        writer.append(&run()).unwrap();
        for index in 0..supersteps {
            writer.append(&superstep(index)).unwrap();
        }
        writer.flush().unwrap();
        writer
    };
    let first = attempt("first", 2);
    assert_eq!(first.set_aside(), None);
    // While it is written, another run has no place there.
    let error = replace(&record, "other").unwrap_err();
    assert!(matches!(error, WriteError::InUse { .. }), "{error}");
    drop(first);
    fs::write(record.join("notes.txt"), "kept").unwrap();
    let second = attempt("second", 1);
    assert_eq!(second.set_aside(), Some(&*aside(1)));
    drop(second);
    // Even by a run that may replace complete records.
    let third = replace(&record, "third").unwrap();
    assert_eq!(third.set_aside(), Some(&*aside(2)));
    drop(third);
    // It has no event.
    assert_eq!(create(&record, "fourth").unwrap().set_aside(), None);
    for (place, description, supersteps) in [(aside(1), "first", 2), (aside(2), "second", 1)] {
        assert_eq!(manifest::<String>(&place).unwrap(), description);
        assert_eq!(extent(&place).0.supersteps, supersteps);
    }
    assert_eq!(
        fs::read_to_string(record.join("notes.txt")).unwrap(),
        "kept"
    );
    assert!(!aside(3).exists());
}

#[test]
fn the_record_of_a_run_that_failed_says_why() {
    let folder = TempDir::new().unwrap();
    let mut writer = create(folder.path(), "description").unwrap();
    writer.append(&run()).unwrap();
    writer.append(&superstep(0)).unwrap();
    writer.fail(&"failed").unwrap();
    assert_eq!(manifest::<String>(folder.path()).unwrap(), "failed");
    let extent = extent(folder.path()).0;
    assert_eq!((extent.supersteps, extent.is_complete), (1, false));
}

#[test]
fn events_without_a_description_are_not_read() {
    let folder = write(&[run()], false);
    fs::remove_file(folder.path().join("run.json.partial")).unwrap();
    assert_eq!(
        fault(folder.path()),
        format!(
            "{} holds no record that can be read: neither run.json nor run.json.partial describes the run",
            folder.path().display()
        )
    );
}
