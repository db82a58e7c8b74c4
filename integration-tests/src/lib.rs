//! What crosses crates: tests live in `tests/`, benchmarks in `benches/`.
