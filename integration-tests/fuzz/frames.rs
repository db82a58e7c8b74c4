#![no_main]

#[path = "../../protocol/tests/protocol/fuzz/frames.rs"]
mod frames;
#[path = "../../protocol/tests/protocol/fuzz/input.rs"]
mod input;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| frames::check(bytes));
