//! Platforms, processor sharing and max-min fair networks under a simulated clock.
//!
//! The caller starts computations and messages, and the crate reports when they end. It reads no
//! files, has no clock but the simulated one, and draws no random numbers. Reading order: [`Platform`],
//! the hosts and links; [`Engine`], what runs on them; [`NetworkOptions`], how bandwidth is shared.

mod calendar;
mod emptied;
mod engine;
mod jobs;
mod network;
mod network_options;
mod platform;
mod processor;
mod profile;

pub use calendar::Activity;
pub use engine::{Engine, Span};
pub use jobs::{Discipline, Job, Jobs, JobsError};
pub use network_options::{ConfiguredSetting, NetworkModel, NetworkOptions, NetworkSetting};
pub use platform::{
    Host, Link, LinkId, NoRoute, Overhead, Platform, PlatformError, PlatformErrorKind,
    QuantityError, QuantityProblem, Set, Sharing, TopologyProblem, UnitSpelling, Unrouted,
    UnroutedSets, bandwidth, expand, measures, time,
};
pub use profile::{Point, Profile, ProfileError};
