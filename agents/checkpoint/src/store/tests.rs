mod damage;
mod folders;
mod power;
use std::num::NonZeroU64;

use protocol::transport::CHUNK_LEN;

use super::*;

const PROCESSES: u32 = 5;

/// The newest checkpoint alone stays.
const ONE: NonZeroU32 = NonZeroU32::MIN;

fn job(number: u64) -> JobId {
    JobId(NonZeroU64::new(number).unwrap())
}

fn description() -> JobDescription {
    JobDescription {
        job: job(0xab),
        incarnation: 1,
        workload: "heat".to_owned(),
        processes: PROCESSES,
        program: "migbsp".to_owned(),
        version: "0.1.0".to_owned(),
        build: "08e8d9e6ecb1".to_owned(),
        experiment: "[application]\nworkload = \"heat\"\n".to_owned(),
        files: None,
    }
}

fn generation(superstep: u64) -> Generation {
    Generation {
        incarnation: 1,
        superstep,
    }
}

/// The piece of `rank` before `superstep`: some are empty, some have several chunks.
fn piece(job: JobId, generation: Generation, rank: u32) -> Piece {
    let length = [0, 10, CHUNK_LEN, 2 * CHUNK_LEN + 7, 300][usize::try_from(rank).unwrap()];
    let value = u8::try_from(generation.superstep % 251).unwrap();
    let content = Content::new(vec![value; length].into());
    let condition = match rank {
        0 => Condition::Halted { superstep: 7 },
        _ => Condition::Running,
    };
    let head = PieceHead {
        job,
        generation,
        rank: Rank(rank),
        condition,
        work: Instructions(100 + u64::from(rank)),
    };
    Piece { head, content }
}

/// The processes of each of the three hosts.
const RANKS: [&[u32]; 3] = [&[0, 3], &[1, 2], &[4]];

/// Writes the checkpoint of all hosts.
fn write(
    store: &mut Store<SimulatedFiles>,
    job: JobId,
    generation: Generation,
) -> Result<(), CompleteError> {
    let mut files = BTreeMap::new();
    for (host, ranks) in (0..).map(HostId).zip(RANKS) {
        let pieces = ranks.iter().map(|rank| piece(job, generation, *rank));
        let pieces: Vec<Piece> = pieces.collect();
        store.writer = host;
        files.insert(host, store.write_pieces(job, generation, &pieces)?);
    }
    store.writer = HostId(0);
    store.complete(job, generation, PROCESSES, &files)
}

/// A store in which the checkpoints before these supersteps are complete.
fn store(supersteps: &[u64]) -> Store<SimulatedFiles> {
    let mut store = Store::new(SimulatedFiles::default(), HostId(0));
    let description = description();
    store.begin(&description).unwrap();
    for superstep in supersteps {
        write(&mut store, description.job, generation(*superstep)).unwrap();
    }
    store
}

/// The latest checkpoint, if it is whole, and what is wrong with newer ones.
fn latest(store: &mut Store<SimulatedFiles>) -> Result<(u64, Vec<String>), NoCheckpoint> {
    let Latest {
        checkpoint,
        damaged,
        ..
    } = store.latest()?;
    assert_eq!(checkpoint.job.experiment, description().experiment);
    let mut pieces = Vec::new();
    for host in checkpoint.hosts() {
        pieces.extend(store.pieces(&checkpoint, host).unwrap());
    }
    pieces.sort_by_key(|piece| piece.head.rank);
    let written = (0..PROCESSES).map(|rank| piece(checkpoint.job.job, checkpoint.generation, rank));
    assert_eq!(pieces, written.collect::<Vec<_>>());
    let damaged = damaged.iter().map(Damage::to_string).collect();
    Ok((checkpoint.generation.superstep, damaged))
}

#[test]
fn the_newest_checkpoint_is_found() {
    let mut store = store(&[10, 20]);
    assert_eq!(latest(&mut store), Ok((20, vec![])));
    let found = store.latest().unwrap().checkpoint;
    assert_eq!(found.job, description());
    assert_eq!(found.generation, generation(20));
    let hosts: Vec<HostId> = found.hosts().collect();
    assert_eq!(hosts, [0, 1, 2].map(HostId));
    let paths: Vec<&str> = store.files.paths().collect();
    let expected = [
        "00000000000000ab/1-10/0.pieces",
        "00000000000000ab/1-10/1.pieces",
        "00000000000000ab/1-10/2.pieces",
        "00000000000000ab/1-10/manifest.json",
        "00000000000000ab/1-20/0.pieces",
        "00000000000000ab/1-20/1.pieces",
        "00000000000000ab/1-20/2.pieces",
        "00000000000000ab/1-20/manifest.json",
        "00000000000000ab/experiment.toml",
        "00000000000000ab/job.json",
    ];
    assert_eq!(paths, expected);
}

#[test]
fn a_checkpoint_without_a_process_is_not_completed() {
    let mut store = store(&[10]);
    let id = description().job;
    let pieces = [0, 1, 3].map(|rank| piece(id, generation(20), rank));
    let written = store.write_pieces(id, generation(20), &pieces).unwrap();
    let files = BTreeMap::from([(HostId(0), written.clone())]);
    let error = store.complete(id, generation(20), 4, &files).unwrap_err();
    let expected = "checkpoint 1-20 is not complete: p3 is in no file";
    assert_eq!(error.to_string(), expected);
    let twice = BTreeMap::from([(HostId(0), written.clone()), (HostId(1), written)]);
    let error = store.complete(id, generation(20), 4, &twice).unwrap_err();
    let expected = "checkpoint 1-20 is not complete: p1 is there twice, or out of order";
    assert_eq!(error.to_string(), expected);
    assert_eq!(latest(&mut store), Ok((10, vec![])));
    let error = store.write_pieces(id, generation(10), &[]).unwrap_err();
    let expected = "cannot write 00000000000000ab/1-10: the checkpoint is complete already";
    assert_eq!(error.to_string(), expected);
}

#[test]
fn older_checkpoints_are_removed_and_the_newest_complete_one_stays() {
    let mut store = store(&[10, 20, 30]);
    let id = description().job;
    store.write_pieces(id, generation(25), &[]).unwrap();
    store.write_pieces(id, generation(40), &[]).unwrap();
    store.prune(generation(20), ONE).unwrap();
    let folders = |store: &mut Store<SimulatedFiles>| {
        let entries = store.files.list("00000000000000ab").unwrap().into_iter();
        let folders = entries.filter(|entry| entry.is_dir);
        folders.map(|entry| entry.name).collect::<Vec<_>>()
    };
    assert_eq!(folders(&mut store), ["1-20", "1-25", "1-30", "1-40"]);
    store.prune(generation(50), ONE).unwrap();
    assert_eq!(folders(&mut store), ["1-30"]);
    assert_eq!(latest(&mut store), Ok((30, vec![])));
}

#[test]
fn as_many_complete_checkpoints_stay_as_are_to_be_kept() {
    let mut store = store(&[10, 20, 30]);
    let id = description().job;
    store.write_pieces(id, generation(25), &[]).unwrap();
    store
        .prune(generation(30), NonZeroU32::new(2).unwrap())
        .unwrap();
    let entries = store.files.list("00000000000000ab").unwrap().into_iter();
    let folders = entries.filter(|entry| entry.is_dir);
    let folders: Vec<String> = folders.map(|entry| entry.name).collect();
    assert_eq!(folders, ["1-20", "1-30"]);
}

#[test]
fn the_checkpoint_of_a_resumed_job_is_newer() {
    let mut store = store(&[10, 20]);
    let resumed = JobDescription {
        job: job(7),
        incarnation: 2,
        ..description()
    };
    store.begin(&resumed).unwrap();
    let first = Generation {
        incarnation: 2,
        superstep: 15,
    };
    write(&mut store, resumed.job, first).unwrap();
    assert_eq!(latest(&mut store), Ok((15, vec![])));
    store.prune(first, ONE).unwrap();
    assert_eq!(latest(&mut store), Ok((15, vec![])));
    assert_eq!(store.latest().unwrap().checkpoint.job, resumed);
}
