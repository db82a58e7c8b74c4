//! Random bytes: decoding does not panic, uses memory in proportion to their length, and accepted messages are encoded and
//! decoded again.
//!
//! | file | what it asserts |
//! |---|---|
//! | `input.rs` | bytes from a fuzzer as decisions: which valid input to take, and how to change it |
//! | `frames.rs` | the decoder of frames |
//! | `certificates.rs` | the readers of certificates, keys and lists of revocations |
//! | `growth.rs` | both in the worst known cases |
//!
//! Here the bytes are random; `integration-tests/fuzz` runs the same two checks with libFuzzer. A longer run:
//! `PROPTEST_CASES=10000000 cargo test -p migbsp-protocol --test protocol fuzz::`.

mod certificates;
mod frames;
mod growth;
mod input;

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
    #![proptest_config(at_least(50_000))]

    #[test]
    fn random_frames_are_refused_or_keep_their_meaning(input in prop::collection::vec(any::<u8>(), 0..128)) {
        frames::check(&input);
    }
}

proptest! {
    #![proptest_config(at_least(5_000))]

    #[test]
    fn random_certificates_are_refused_or_keep_their_meaning(
        input in prop::collection::vec(any::<u8>(), 0..128),
    ) {
        certificates::check(&input);
    }
}
