#![no_main]

#[path = "../../protocol/tests/protocol/fuzz/certificates.rs"]
mod certificates;
#[path = "../../protocol/tests/protocol/fuzz/input.rs"]
mod input;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| certificates::check(bytes));
