//! Platforms, processor sharing and max-min fair networks under a simulated clock.
//!
//! The crate is told when computations and messages start, and says when they end. It reads no
//! file, knows no clock but its own, and draws no random numbers.

mod calendar;
pub mod engine;
pub mod network;
pub mod platform;
mod processor;
pub mod profile;
