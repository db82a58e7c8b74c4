#![no_main]

#[path = "../../tests/protocol/fuzz/input.rs"]
mod input;
#[path = "../../tests/protocol/fuzz/frames.rs"]
mod frames;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| frames::check(bytes));
