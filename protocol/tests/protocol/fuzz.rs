//! Whatever bytes come: no panic, no memory beyond a multiple of them, and what is accepted means what
//! it says.
//!
//! | file | what it asserts |
//! |---|---|
//! | `drawn.rs` | bytes from a fuzzer, read as decisions: which valid thing to start from, and what to change |
//! | `frames.rs` | the decoder of frames |
//! | `certificates.rs` | the readers of certificates, keys and lists of revocations |
//! | `growth.rs` | the two in the worst cases that we know of |
//!
//! Bytes are drawn at random here; `protocol/fuzz` has libFuzzer draw them for the same two checks.
//! `PROPTEST_CASES=10000000 cargo test -p migbsp-protocol --test fuzz` draws longer.

mod certificates;
mod drawn;
mod frames;
mod growth;

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
    fn frames_are_refused_or_mean_what_they_say(drawn in prop::collection::vec(any::<u8>(), 0..128)) {
        frames::check(&drawn);
    }
}

proptest! {
    #![proptest_config(at_least(5_000))]

    #[test]
    fn certificates_are_refused_or_mean_what_they_say(
        drawn in prop::collection::vec(any::<u8>(), 0..128),
    ) {
        certificates::check(&drawn);
    }
}
