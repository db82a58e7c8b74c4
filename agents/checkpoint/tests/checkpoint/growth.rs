use checkpoint::{Delta, Generation, SimulatedFiles};

use super::mutation::{
    MANIFEST, PATHS, PIECES, check_folder, folder, list, measured, repair_pieces, repair_sealed,
};

/// A file of many pieces of no or one byte, with right checksums, that announces `announced` of them.
fn many_pieces(length: usize, count: u32, announced: u32) -> Vec<u8> {
    let (_, seeds) = folder();
    let mut file = seeds[PIECES][..64].to_vec();
    file[40..44].copy_from_slice(&announced.to_le_bytes());
    for rank in 0..count {
        let mut head = [0; 128];
        head[..4].copy_from_slice(&rank.to_le_bytes());
        head[24..32].copy_from_slice(&u64::try_from(length).unwrap().to_le_bytes());
        file.extend_from_slice(&head);
        if 0 < length {
            file.extend(std::iter::repeat_n(7, 4 + length));
        }
    }
    repair_pieces(&mut file);
    file
}

#[test]
fn many_short_pieces_take_bounded_memory() {
    for (length, announced) in [(0, 8193), (1, 8193), (0, u32::MAX), (1, u32::MAX)] {
        let (mut folder, seeds) = folder();
        let file = many_pieces(length, 8193, announced);
        folder.replace(PATHS[MANIFEST], list(&seeds[MANIFEST], &file));
        folder.replace(PATHS[PIECES], file);
        // The description says three processes.
        let problem = match announced {
            8193 => "p4 is there twice, or out of order",
            _ => "the file ends inside the head of a piece",
        };
        refused(folder, problem);
    }
}

#[test]
fn announced_lengths_reserve_nothing() {
    for at in [40, 64 + 24, 64 + 128 + 24] {
        let (mut folder, seeds) = folder();
        let mut file = seeds[PIECES].clone();
        file[at..at + 4].fill(0xff);
        repair_pieces(&mut file);
        folder.replace(PATHS[MANIFEST], list(&seeds[MANIFEST], &file));
        folder.replace(PATHS[PIECES], file);
        refused(folder, "the file ends inside ");
    }
}

/// The checkpoint before is found, and the newer one has this problem.
fn refused(folder: SimulatedFiles, problem: &str) {
    let (found, damaged) = check_folder(folder);
    let expected = Generation {
        incarnation: 0,
        superstep: 10,
    };
    assert_eq!(found, Some(expected));
    let damage = damaged[0].to_string();
    assert!(damage.contains(problem), "{damage}");
}

/// A manifest with `value` in place of its own, and its problem.
fn check_manifest(value: &str, problem: &str) {
    let (mut folder, seeds) = folder();
    let start = seeds[MANIFEST]
        .windows(4)
        .position(|it| it == b"\": {")
        .unwrap()
        + 3;
    let mut manifest = seeds[MANIFEST][..start].to_vec();
    manifest.extend_from_slice(value.as_bytes());
    manifest.extend_from_slice(b"\n}\n");
    repair_sealed(&mut manifest);
    folder.replace(PATHS[MANIFEST], manifest);
    refused(folder, problem);
}

#[test]
fn long_manifests_take_bounded_memory() {
    let digest = "0".repeat(64);
    let start = r#"{"job":171,"incarnation":0,"superstep":20,"processes":3,"files":{"#;
    let files = (0..8193).map(|host| format!(r#""{host}":{{"length":0,"sha256":"{digest}"}}"#));
    let files = files.collect::<Vec<_>>().join(",");
    check_manifest(&format!("{start}{files}}}}}"), "0.pieces, byte 0: it has ");
    let long = "a text is too long, or has a backslash";
    check_manifest(&format!("{{\"{}\":0}}", "a".repeat(1 << 20)), long);
    check_manifest(&format!("{{\"{}\":0}}", "\\n".repeat(1 << 20)), long);
    check_manifest(&format!("{{\"job\":{}}}", "1".repeat(1 << 20)), long);
    check_manifest(&"[".repeat(1 << 20), long);
    check_manifest(&"{\"job\":".repeat(1 << 20), "invalid type: map");
}

#[test]
fn announced_chunks_reserve_nothing() {
    let mut delta = vec![0xff; 1 << 20];
    delta[..8].copy_from_slice(b"mbcd\x01\0\0\0");
    delta[36..48].fill(0);
    delta[72..76].copy_from_slice(&1_u32.to_le_bytes());
    let checksum = crc32fast::hash(&delta[..104]);
    delta[104..108].copy_from_slice(&checksum.to_le_bytes());
    let delta = delta.into();
    let error = measured(1 << 20, || Delta::decode(&delta)).unwrap_err();
    let expected = "byte 108 of the delta: more chunks are announced than follow";
    assert_eq!(error.to_string(), expected);
}
