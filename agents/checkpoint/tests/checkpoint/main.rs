//! Random bytes in place of checkpoints: decoding does not panic, allocates no more than twice their length and 64 KiB, and
//! takes nothing for a checkpoint that was not written.
//!
//! | file | what it asserts |
//! |---|---|
//! | `mutation.rs` | deltas, manifests, descriptions and files of pieces, changed at random |
//! | `growth.rs` | the same with the values that take the most memory for each byte |
//!
//! Here the bytes are random; `integration-tests/fuzz` runs the first check with libFuzzer. A longer run:
//! `PROPTEST_CASES=1000000 cargo test --release -p migbsp-checkpoint --test checkpoint`.

#![cfg(test)]

mod growth;
#[path = "../../../../protocol/tests/protocol/fuzz/input.rs"]
mod input;
mod mutation;

use proptest::prelude::*;

fn at_least(cases: u32) -> ProptestConfig {
    let default = ProptestConfig::default();
    ProptestConfig {
        cases: default.cases.max(cases),
        failure_persistence: None,
        ..default
    }
}

proptest! {
    #![proptest_config(at_least(10_000))]

    #[test]
    fn random_checkpoints_are_refused_in_bounded_memory(input in prop::collection::vec(any::<u8>(), 0..128)) {
        mutation::check(&input);
    }
}
