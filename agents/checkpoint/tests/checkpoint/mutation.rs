use std::collections::BTreeMap;
use std::num::NonZeroU64;
use std::sync::LazyLock;

use bsp::units::Instructions;
use bsp::{HostId, Rank};
use bytes::Bytes;
use checkpoint::{
    Condition, Content, Damage, Delta, Files, Generation, JobDescription, Latest, NoCheckpoint,
    Piece, PieceHead, SimulatedFiles, Store,
};
use protocol::transport::JobId;
use sha2::{Digest, Sha256};

use super::input::Input;

/// A folder with two checkpoints.
static FOLDER: LazyLock<SimulatedFiles> = LazyLock::new(|| {
    let mut store = Store::new(SimulatedFiles::default(), HOST);
    store.begin(&description()).unwrap();
    for superstep in [10, 20] {
        let pieces = pieces(superstep);
        let of = pieces[0].head.generation;
        let written = store.write_pieces(JOB, of, &pieces).unwrap();
        let files = BTreeMap::from([(HOST, written)]);
        store.complete(JOB, of, PROCESSES, &files).unwrap();
    }
    store.files().clone()
});

/// The files of the newer one, and those of the job.
static SEEDS: LazyLock<Vec<Vec<u8>>> = LazyLock::new(|| {
    let mut folder = FOLDER.clone();
    PATHS.map(|path| folder.read(path).unwrap()).to_vec()
});

static DELTAS: LazyLock<Vec<Vec<u8>>> = LazyLock::new(|| {
    let (before, after) = (pieces(10), pieces(20));
    let changed = (0..3).map(|rank| after[rank].delta_from(Some(&before[rank])));
    let all = (0..3).map(|rank| after[rank].delta_from(None));
    let encoded = |delta: Delta| delta.encode().collect::<Vec<_>>().concat();
    changed.chain(all).map(encoded).collect()
});

/// Decodes a delta or a folder that `bytes` select and change.
pub(crate) fn check(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let (kind, is_repaired) = (input.byte() % 8, input.below(4) != 0);
    if kind < 3 {
        let mut delta = input.mutated(&DELTAS);
        if is_repaired {
            repair_delta(&mut delta);
        }
        check_delta(&delta.into());
        return;
    }
    let at = usize::from(kind) % PATHS.len();
    let mut file = match kind {
        3 => input.rest(),
        _ => input.mutated(&SEEDS[at..=at]),
    };
    let mut folder = FOLDER.clone();
    if is_repaired {
        if at == PIECES {
            repair_pieces(&mut file);
            let manifest = list(&SEEDS[MANIFEST], &file);
            folder.replace(PATHS[MANIFEST], manifest);
        } else {
            repair_sealed(&mut file);
        }
    }
    folder.replace(PATHS[at], file);
    check_folder(folder);
}

/// A delta that is accepted keeps its meaning, and applies or does not.
fn check_delta(bytes: &Bytes) {
    let decoded = measured(bytes.len(), || Delta::decode(bytes));
    match decoded {
        Ok(delta) => {
            let again: Bytes = delta.encode().collect::<Vec<_>>().concat().into();
            assert_eq!(again, bytes);
            for before in pieces(10) {
                // The result is checked before it is returned.
                drop(delta.clone().apply(Some(&before)));
            }
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}

/// What is found is a checkpoint all of whose pieces can be read; or the file and the place of the damage are named.
pub(crate) fn check_folder(folder: SimulatedFiles) -> (Option<Generation>, Vec<Damage>) {
    let longest = longest(&folder);
    let mut store = Store::new(folder, HOST);
    match measured(longest, || store.latest()) {
        Ok(Latest {
            checkpoint,
            damaged,
            ..
        }) => {
            let mut ranks = Vec::new();
            for host in checkpoint.hosts() {
                let pieces = measured(longest, || store.pieces(&checkpoint, host)).unwrap();
                for piece in pieces {
                    assert_eq!(piece.head.generation, checkpoint.generation);
                    ranks.push(piece.head.rank);
                }
            }
            let expected = (0..checkpoint.job.processes).map(Rank);
            assert!(ranks.into_iter().eq(expected));
            assert!(damaged.iter().all(|damage| !damage.to_string().is_empty()));
            (Some(checkpoint.generation), damaged)
        }
        Err(NoCheckpoint { damaged, .. }) => {
            assert!(!damaged.is_empty());
            (None, damaged)
        }
    }
}

/// The length of the longest file.
fn longest(folder: &SimulatedFiles) -> usize {
    let mut folder = folder.clone();
    let paths: Vec<String> = folder.paths().map(str::to_owned).collect();
    let lengths = paths.iter().map(|path| folder.len(path).unwrap());
    usize::try_from(lengths.max().unwrap()).unwrap()
}

/// The result of `decode`, which takes a bounded amount of memory for `length` bytes.
pub(crate) fn measured<T>(length: usize, decode: impl FnOnce() -> T) -> T {
    let mut decoded = None;
    let taken = allocation_counter::measure(|| decoded = Some(decode()));
    let taken = usize::try_from(taken.bytes_max).unwrap();
    let limit = 2 * length + MEMORY;
    assert!(taken <= limit, "{taken} bytes for a file of {length}");
    decoded.unwrap()
}

/// Sets the checksums of a delta, so that what they protect is decoded.
fn repair_delta(delta: &mut [u8]) {
    if let Some((_, chunk)) = delta.split_at_mut_checked(DELTA_HEAD) {
        if let Some((chunk_head, bytes)) = chunk.split_at_mut_checked(8) {
            chunk_head[4..].copy_from_slice(&crc32fast::hash(bytes).to_le_bytes());
        }
        end_head(&mut delta[..DELTA_HEAD]);
    }
}

/// Sets the checksums of a file of pieces.
pub(crate) fn repair_pieces(file: &mut [u8]) {
    let Some((head, mut rest)) = file.split_at_mut_checked(64) else {
        return;
    };
    end_head(head);
    while let Some((head, content)) = rest.split_at_mut_checked(128) {
        end_head(head);
        let length = u64::from_le_bytes(head[24..32].try_into().unwrap());
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        if length == 0 {
            rest = content;
            continue;
        }
        let Some((checksum, bytes)) = content.split_at_mut_checked(4) else {
            return;
        };
        let Some((bytes, following)) = bytes.split_at_mut_checked(length) else {
            return;
        };
        checksum.copy_from_slice(&crc32fast::hash(bytes).to_le_bytes());
        rest = following;
    }
}

fn end_head(head: &mut [u8]) {
    let (fields, checksum) = head.split_at_mut(head.len() - 4);
    checksum.copy_from_slice(&crc32fast::hash(fields).to_le_bytes());
}

/// Sets the digest of a manifest or description.
pub(crate) fn repair_sealed(file: &mut [u8]) {
    let Some(digest) = find(file, b"sha256\": \"").map(|at| at + 10) else {
        return;
    };
    let Some(value) = find(&file[digest..], b"\": ").map(|at| digest + at + 3) else {
        return;
    };
    let end = file.len().saturating_sub(3);
    if let (Some(value), true) = (file.get(value..end), digest + 64 <= file.len()) {
        let digits = digits(value);
        file[digest..digest + 64].copy_from_slice(digits.as_bytes());
    }
}

fn find(bytes: &[u8], text: &[u8]) -> Option<usize> {
    bytes.windows(text.len()).position(|window| window == text)
}

/// The manifest with another file of pieces.
pub(crate) fn list(manifest: &[u8], file: &[u8]) -> Vec<u8> {
    let original = &SEEDS[PIECES];
    let mut manifest = String::from_utf8(manifest.to_vec()).unwrap();
    let length = |file: &[u8]| format!("\"length\": {}", file.len());
    for (from, to) in [
        (length(original), length(file)),
        (digits(original), digits(file)),
    ] {
        assert!(manifest.contains(&from));
        manifest = manifest.replace(&from, &to);
    }
    let mut manifest = manifest.into_bytes();
    repair_sealed(&mut manifest);
    manifest
}

fn digits(bytes: &[u8]) -> String {
    let digest = Sha256::digest(bytes);
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A copy of the folder, and its files.
pub(crate) fn folder() -> (SimulatedFiles, &'static [Vec<u8>]) {
    (FOLDER.clone(), &SEEDS)
}

fn description() -> JobDescription {
    JobDescription {
        job: JOB,
        incarnation: 0,
        workload: "heat".to_owned(),
        processes: PROCESSES,
        program: "migbsp".to_owned(),
        version: "0.1.0".to_owned(),
        build: "08e8d9e6ecb1".to_owned(),
        experiment: "[application]\nworkload = \"heat\"\n".to_owned(),
        files: None,
    }
}

fn pieces(superstep: u64) -> Vec<Piece> {
    let piece = |(rank, length): (u32, usize)| {
        let value = u8::try_from(superstep).unwrap();
        let content = Content::new(vec![value; length].into());
        let head = PieceHead {
            job: JOB,
            generation: Generation {
                incarnation: 0,
                superstep,
            },
            rank: Rank(rank),
            condition: Condition::Running,
            work: Instructions(1),
        };
        Piece { head, content }
    };
    [(0, 0), (1, 10), (2, 300)].map(piece).to_vec()
}

pub(crate) const PATHS: [&str; 4] = [
    "00000000000000ab/0-20/0.pieces",
    "00000000000000ab/0-20/manifest.json",
    "00000000000000ab/job.json",
    "00000000000000ab/experiment.toml",
];
pub(crate) const PIECES: usize = 0;
pub(crate) const MANIFEST: usize = 1;
pub(crate) const HOST: HostId = HostId(0);
const JOB: JobId = JobId(NonZeroU64::new(0xab).unwrap());
const PROCESSES: u32 = 3;
const DELTA_HEAD: usize = 108;
/// Bytes that decoding may take in addition.
const MEMORY: usize = 64 << 10;
