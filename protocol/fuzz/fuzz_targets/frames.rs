#![no_main]

#[path = "../../tests/fuzz/drawn.rs"]
mod drawn;
#[path = "../../tests/fuzz/frames.rs"]
mod frames;

libfuzzer_sys::fuzz_target!(|drawn: &[u8]| frames::check(drawn));
