//! Whatever the bytes of an instance are: an answer, or a fault with its place; never a panic.

use proptest::prelude::*;
use proptest::test_runner::Config;

use crate::invocation::Folder;
use crate::rebalance::SMALL;

/// A change of a text.
#[derive(Clone, Debug)]
enum Change {
    Cut(usize, usize),
    Insert(usize, Vec<u8>),
    Repeat(usize, usize),
}

fn change() -> impl Strategy<Value = Change> {
    let at = 0..SMALL.len();
    let pieces = [
        "0",
        "-",
        "1e308",
        "1e-308",
        "1e15",
        "0.5",
        "99999999999999999999",
        ",",
        "[",
        "]",
        "{",
        "}",
        "\"",
        ":",
        "null",
        "\\",
        "true",
        "\"targets\":",
        "\"intra\":0,",
        "[],",
        "\u{0}",
        "é",
    ];
    let piece = prop_oneof![
        prop::sample::select(pieces.to_vec()).prop_map(|piece| piece.as_bytes().to_vec()),
        prop::collection::vec(any::<u8>(), 1..4),
    ];
    prop_oneof![
        (at.clone(), 0_usize..8).prop_map(|(from, length)| Change::Cut(from, length)),
        (at.clone(), piece).prop_map(|(at, piece)| Change::Insert(at, piece)),
        (at, 0_usize..30).prop_map(|(from, length)| Change::Repeat(from, length)),
    ]
}

fn changed(changes: &[Change]) -> Vec<u8> {
    let mut bytes = SMALL.as_bytes().to_vec();
    for change in changes {
        let end = bytes.len();
        match change {
            Change::Cut(from, length) => {
                let from = (*from).min(end);
                bytes.drain(from..(from + length).min(end));
            }
            Change::Insert(at, piece) => {
                let at = (*at).min(end);
                bytes.splice(at..at, piece.iter().copied());
            }
            Change::Repeat(from, length) => {
                let from = (*from).min(end);
                let piece = bytes[from..(from + length).min(end)].to_vec();
                bytes.splice(from..from, piece);
            }
        }
    }
    bytes
}

proptest! {
    #![proptest_config(Config { cases: 60, failure_persistence: None, ..Config::default() })]

    #[test]
    fn mangled_instances_are_located_or_solved(changes in prop::collection::vec(change(), 1..4)) {
        let folder = Folder::new().with("i.json", changed(&changes));
        let ended = folder.run(&["rebalance", "i.json", "--target", "70", "--budget", "2 ksteps"]);
        match ended.code {
            Some(0) => prop_assert_eq!(ended.stderr, ""),
            Some(3) => prop_assert!(ended.stderr.contains("target 70 "), "{:?}", ended),
            Some(4) => {
                prop_assert_eq!(&ended.stdout, "");
                prop_assert!(ended.stderr.starts_with("error: ") && ended.stderr.contains("i.json"), "{:?}", ended);
            }
            _ => prop_assert!(false, "{:?}", ended),
        }
    }
}
