//! Platforms, processor sharing and max-min fair networks under a simulated clock.
//!
//! The crate is told when computations and messages start, and says when they end. It reads no
//! file, knows no clock but its own, and draws no random numbers. Reading order: [`Platform`], what
//! there is; [`Engine`], what happens on it; [`NetworkOptions`], how the network shares itself.

mod activity;
mod calendar;
mod engine;
mod event;
mod network;
mod platform;
mod processor;
mod profile;

pub use activity::Activity;
pub use engine::Engine;
pub use network::{NetworkModel, NetworkOptions};
pub use platform::{
    Host, Link, LinkId, NoRoute, Overhead, Platform, PlatformError, PlatformErrorKind,
    QuantityError, Set, Sharing,
};
pub use profile::{Point, Profile, ProfileError};
