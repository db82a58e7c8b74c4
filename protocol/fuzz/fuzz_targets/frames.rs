#![no_main]

#[path = "../../tests/protocol/fuzz/drawn.rs"]
mod drawn;
#[path = "../../tests/protocol/fuzz/frames.rs"]
mod frames;

libfuzzer_sys::fuzz_target!(|drawn: &[u8]| frames::check(drawn));
