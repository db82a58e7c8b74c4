use super::*;

fn refused(store: &mut Store<SimulatedFiles>, job: &JobDescription, expected: &str) {
    let before: Vec<String> = store.files.paths().map(str::to_owned).collect();
    let error = store.begin(job).unwrap_err();
    assert_eq!(error.to_string(), expected);
    let after: Vec<String> = store.files.paths().map(str::to_owned).collect();
    assert_eq!(before, after, "written before it was refused");
}

fn put(store: &mut Store<SimulatedFiles>, path: &str, bytes: &[u8]) {
    store.files.create(path).unwrap();
    store.files.write(path, bytes).unwrap();
    store.files.sync(path).unwrap();
}

#[test]
fn a_job_begins_once_however_often_it_is_begun() {
    let mut store = store(&[10]);
    store.begin(&description()).unwrap();
    store.writer = HostId(3);
    store.begin(&description()).unwrap();
    assert_eq!(latest(&mut store), Ok((10, vec![])));
    let other = JobDescription {
        workload: "lbm".to_owned(),
        ..description()
    };
    let expected = ". has another description of job 00000000000000ab; name another folder";
    refused(&mut store, &other, expected);
}

#[test]
fn folders_of_other_things_are_refused() {
    let mut store = Store::new(SimulatedFiles::default(), HostId(0));
    store.files.create_dir("").unwrap();
    put(&mut store, "thesis.tex", b"chapter 1");
    let expected = ". has `thesis.tex`, which is no checkpoint; name an empty folder";
    refused(&mut store, &description(), expected);
    store.files.remove("thesis.tex").unwrap();
    store.files.create_dir("00000000000000ff").unwrap();
    put(&mut store, "00000000000000ff/notes", b"");
    let expected = ". has `00000000000000ff/notes`, which is no checkpoint; name an empty folder";
    refused(&mut store, &description(), expected);
    store.files.remove("00000000000000ff/notes").unwrap();
    store.begin(&description()).unwrap();
}

#[test]
fn folders_of_other_experiments_and_of_newer_checkpoints_are_refused() {
    let mut store = store(&[10]);
    let other = JobDescription {
        job: job(7),
        incarnation: 9,
        experiment: "[application]\nworkload = \"lbm\"\n".to_owned(),
        ..description()
    };
    let expected =
        ". has checkpoints of job 00000000000000ab, another experiment; name another folder";
    refused(&mut store, &other, expected);
    let again = JobDescription {
        job: job(7),
        ..description()
    };
    let expected =
        ". has checkpoint 1-10 of job 00000000000000ab; resume it, or name another folder";
    refused(&mut store, &again, expected);
    store
        .files
        .replace("00000000000000ab/job.json", b"{}".to_vec());
    let expected = "00000000000000ab/job.json, byte 1: this is not the description of a job of a \
                    checkpoint; name another folder";
    refused(&mut store, &again, expected);
}

#[test]
fn a_folder_without_a_complete_checkpoint_is_of_no_experiment() {
    let mut store = store(&[]);
    let old = description();
    store
        .write_pieces(
            old.job,
            generation(10),
            &[piece(old.job, generation(10), 4)],
        )
        .unwrap();
    let other = JobDescription {
        job: job(7),
        incarnation: 0,
        experiment: "[application]\nworkload = \"lbm\"\n".to_owned(),
        ..description()
    };
    store.begin(&other).unwrap();
    let again = JobDescription {
        job: job(8),
        ..description()
    };
    store.begin(&again).unwrap();
}

#[test]
fn entries_of_the_file_system_are_passed_over() {
    let mut store = Store::new(SimulatedFiles::default(), HostId(0));
    store.files.create_dir("").unwrap();
    for folder in ["lost+found", ".snapshot"] {
        store.files.create_dir(folder).unwrap();
    }
    let description = description();
    store.begin(&description).unwrap();
    put(&mut store, "00000000000000ab/.nfs0000001", b"removed");
    for superstep in [10, 20] {
        write(&mut store, description.job, generation(superstep)).unwrap();
    }
    put(&mut store, "00000000000000ab/1-10/.nfs0000002", b"removed");
    store.begin(&description).unwrap();
    store.prune(generation(20), ONE).unwrap();
    assert_eq!(latest(&mut store), Ok((20, vec![])));
    let rest = store.files.list("00000000000000ab/1-10").unwrap();
    assert_eq!(rest.len(), 1, "{rest:?}");
    // It is gone once the file system lets it go.
    store
        .files
        .remove("00000000000000ab/1-10/.nfs0000002")
        .unwrap();
    store.prune(generation(20), ONE).unwrap();
    assert!(store.files.list("00000000000000ab/1-10").is_err());
}

#[test]
fn descriptions_that_cannot_be_written_are_refused() {
    let mut store = Store::new(SimulatedFiles::default(), HostId(0));
    for workload in ["a\\b".to_owned(), "\u{7}".to_owned(), "a".repeat(1100)] {
        let job = JobDescription {
            workload,
            ..description()
        };
        assert!(matches!(store.begin(&job), Err(BeginError::Description)));
    }
}

#[cfg(unix)]
#[test]
fn folders_that_cannot_be_written_to_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    std::fs::write(&file, "").unwrap();
    for path in [file.clone(), file.join("below")] {
        let mut store = Store::new(DiskFiles::new(&path), HostId(0));
        let error = store.begin(&description()).unwrap_err().to_string();
        let expected = format!("cannot write checkpoints to {}: ", path.display());
        assert!(error.starts_with(&expected), "{error}");
        let remedy = "; name a folder that this user may write to";
        assert!(error.ends_with(remedy), "{error}");
    }
}

#[test]
fn checkpoints_on_a_disk_are_read_as_they_were_written() {
    let folder = tempfile::tempdir().unwrap();
    let files = DiskFiles::new(&folder.path().join("checkpoints"));
    let mut store = Store::new(files, HostId(4));
    let description = description();
    store.begin(&description).unwrap();
    let (id, of) = (description.job, generation(10));
    let pieces: Vec<Piece> = (0..PROCESSES).map(|rank| piece(id, of, rank)).collect();
    let written = store.write_pieces(id, of, &pieces).unwrap();
    let files = BTreeMap::from([(HostId(4), written)]);
    store.complete(id, of, PROCESSES, &files).unwrap();
    let Latest {
        checkpoint,
        damaged,
        ..
    } = store.latest().unwrap();
    assert_eq!((&checkpoint.job, damaged), (&description, vec![]));
    assert_eq!(store.pieces(&checkpoint, HostId(4)).unwrap(), pieces);
    store.prune(generation(20), ONE).unwrap();
    assert!(store.latest().is_ok());
    let mut store = Store::new(DiskFiles::new(&folder.path().join("none")), HostId(0));
    let error = store.latest().unwrap_err().to_string();
    assert!(error.starts_with("cannot read "), "{error}");
}
