#![no_main]

#[path = "../../protocol/tests/protocol/fuzz/input.rs"]
mod input;
#[expect(
    dead_code,
    reason = "agents/checkpoint/tests/checkpoint/growth.rs uses the rest of it"
)]
#[path = "../../agents/checkpoint/tests/checkpoint/mutation.rs"]
mod mutation;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| mutation::check(bytes));
