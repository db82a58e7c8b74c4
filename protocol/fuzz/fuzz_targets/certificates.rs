#![no_main]

#[path = "../../tests/protocol/fuzz/certificates.rs"]
mod certificates;
#[path = "../../tests/protocol/fuzz/drawn.rs"]
mod drawn;

libfuzzer_sys::fuzz_target!(|drawn: &[u8]| certificates::check(drawn));
