use super::*;

const PIECES: &str = "00000000000000ab/1-20/1.pieces";
const MANIFEST: &str = "00000000000000ab/1-20/manifest.json";
const DESCRIPTION: &str = "00000000000000ab/job.json";

fn read(store: &mut Store<SimulatedFiles>, path: &str) -> Vec<u8> {
    store.files.read(path).unwrap()
}

/// Replaces a file of the newest of two checkpoints: the other one is found, with a warning that begins as expected.
fn check(path: &str, change: impl Fn(&mut Store<SimulatedFiles>) -> Vec<u8>, expected: &str) {
    let mut both = store(&[10, 20]);
    let changed = change(&mut both);
    both.files.replace(path, changed.clone());
    let (superstep, damaged) = latest(&mut both).unwrap();
    assert_eq!((superstep, damaged.len()), (10, 1), "{damaged:?}");
    let expected = format!("{path}, byte {expected}");
    assert!(damaged[0].starts_with(&expected), "{damaged:?}");
    let mut alone = store(&[20]);
    alone.files.replace(path, changed);
    let error = latest(&mut alone).unwrap_err().to_string();
    let expected = format!(". has no intact checkpoint: {expected}");
    assert!(error.starts_with(&expected), "{error}");
}

#[test]
fn damaged_files_are_named_with_the_place_of_the_damage() {
    check(
        PIECES,
        |store| read(store, PIECES)[..100].to_vec(),
        "100: it has 100 bytes, expected 65874",
    );
    let flip = |path: &'static str, at: usize| {
        move |store: &mut Store<SimulatedFiles>| {
            let mut bytes = read(store, path);
            bytes[at] ^= 1;
            bytes
        }
    };
    check(PIECES, flip(PIECES, 0), "0: this is not a file of pieces");
    let version = "8: format version 0, expected 1; a newer build wrote it";
    check(PIECES, flip(PIECES, 8), version);
    check(PIECES, flip(PIECES, 30), "0: the checksum of the head");
    let head = "64: the checksum of the head of a piece";
    check(PIECES, flip(PIECES, 70), head);
    let chunk = "192: the checksum of a chunk of the piece of p2";
    check(PIECES, flip(PIECES, 200), chunk);
    check(MANIFEST, flip(MANIFEST, 5), "5: this is not the manifest");
    let version = "31: format version 0, expected 1; a newer build wrote it";
    check(MANIFEST, flip(MANIFEST, 31), version);
    let digest = "125: the checksum of the manifest does not match";
    check(MANIFEST, flip(MANIFEST, 60), digest);
    check(MANIFEST, flip(MANIFEST, 150), digest);
    check(
        MANIFEST,
        |_| Vec::new(),
        "0: the file ends inside the manifest",
    );
    let cut = |store: &mut Store<SimulatedFiles>| read(store, MANIFEST)[..200].to_vec();
    check(MANIFEST, cut, "200: the file ends inside the manifest");
}

#[test]
fn files_of_other_places_are_refused() {
    let of = |path: &'static str| move |store: &mut Store<SimulatedFiles>| read(store, path);
    let older = of("00000000000000ab/1-10/1.pieces");
    check(PIECES, older, "24: found checkpoint 1-10, expected 1-20");
    let older = of("00000000000000ab/1-10/manifest.json");
    check(MANIFEST, older, "0: found checkpoint 1-10, expected 1-20");
    check(MANIFEST, of(DESCRIPTION), "114: this is not the manifest");
    let mut swapped = store(&[10, 20]);
    let [one, other] = ["0", "1"].map(|host| format!("00000000000000ab/1-20/{host}.pieces"));
    let (first, second) = (read(&mut swapped, &one), read(&mut swapped, &other));
    swapped.files.replace(&one, second);
    swapped.files.replace(&other, first);
    let (superstep, damaged) = latest(&mut swapped).unwrap();
    assert_eq!(superstep, 10);
    let expected = format!("{one}, byte 65874: it has 65874 bytes, expected ");
    assert!(damaged[0].starts_with(&expected), "{damaged:?}");
}

#[test]
fn files_of_other_hosts_and_jobs_are_refused() {
    let (id, of) = (description().job, generation(20));
    let place = |id, host| Place {
        job: id,
        generation: of,
        host: HostId(host),
    };
    let pieces = [piece(id, of, 1)];
    let mut bytes = Vec::new();
    let emit = |part: &[u8]| {
        bytes.extend_from_slice(part);
        Ok(())
    };
    layout::encode_pieces(place(id, 1), &[&pieces[0]], emit).unwrap();
    let decode = |place| layout::decode_pieces(place, bytes.clone().into());
    assert_eq!(decode(place(id, 1)), Ok(pieces.to_vec()));
    let flaw = decode(place(id, 2)).unwrap_err();
    let text = (flaw.offset, flaw.problem.to_string());
    assert_eq!(text, (12, "found host 1, expected 2".to_owned()));
    let flaw = decode(place(job(7), 1)).unwrap_err();
    let expected = "found job 00000000000000ab, expected 0000000000000007";
    assert_eq!(
        (flaw.offset, flaw.problem.to_string()),
        (16, expected.to_owned())
    );
    for cut in 0..bytes.len() {
        let cut_off = layout::decode_pieces(place(id, 1), bytes[..cut].to_vec().into());
        assert!(cut_off.is_err(), "{cut}");
    }
    bytes.push(0);
    let flaw = layout::decode_pieces(place(id, 1), bytes.into()).unwrap_err();
    assert_eq!(flaw.problem, Problem::Longer);
}

#[test]
fn missing_files_and_unreadable_experiments_are_named() {
    for (path, problem) in [
        (PIECES, "byte 0: the file is missing"),
        (DESCRIPTION, "byte 0: the file is missing"),
        (
            "00000000000000ab/experiment.toml",
            "byte 0: the file is missing",
        ),
    ] {
        let mut store = store(&[20]);
        store.files.remove(path).unwrap();
        let error = latest(&mut store).unwrap_err().to_string();
        let expected = format!(". has no intact checkpoint: {path}, {problem}");
        assert_eq!(error, expected);
    }
    let mut store = store(&[20]);
    let path = "00000000000000ab/experiment.toml";
    let other = description().experiment.replace("heat", "cold");
    store.files.replace(path, other.into_bytes());
    let error = latest(&mut store).unwrap_err().to_string();
    let expected = format!(
        ". has no intact checkpoint: {path}, byte 0: the checksum of the file does not match"
    );
    assert_eq!(error, expected);
    let mut empty = self::store(&[]);
    let error = latest(&mut empty).unwrap_err().to_string();
    assert_eq!(error, ". has no complete checkpoint");
}

#[test]
fn every_flipped_bit_of_a_manifest_is_refused() {
    let mut store = store(&[20]);
    let manifest = read(&mut store, MANIFEST);
    for bit in 0..8 * manifest.len() {
        let mut flipped = manifest.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        let opened: Result<Manifest, _> = layout::open(&flipped);
        assert!(opened.is_err(), "bit {bit}");
    }
}
