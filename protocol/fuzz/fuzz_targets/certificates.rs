#![no_main]

#[path = "../../tests/fuzz/certificates.rs"]
mod certificates;
#[path = "../../tests/fuzz/drawn.rs"]
mod drawn;

libfuzzer_sys::fuzz_target!(|drawn: &[u8]| certificates::check(drawn));
