//! The MigBSP rescheduling model: when to reschedule, which processes move, and where to.
//!
//! Pure: told what happened, it answers what to do. It never waits, reads, sends or draws a random
//! number, so the same model runs in a unit test, in a simulation and on real hosts. Reading order:
//! [`Parameters`]; a [`Process`] and what it [observes](Observation); [`When`] to call; the
//! [`Evaluation`] of a process; [`merge`] and [`select`]; and the [`Processors`] of a target Set.
//! Every equation is in `docs/model.md`.

#![warn(clippy::as_conversions, clippy::wildcard_enum_match_arm)]

mod bounded;
mod config;
mod destination;
mod digest;
mod parameters;
mod potential;
mod process;
mod selection;
mod times;
mod when;

pub use config::{Config, ConfigError};
pub use destination::{Answer, Processor, Processors, Refusal, Request, capacity};
pub use digest::Digest;
pub use parameters::{
    BestStays, CandidateOrder, CandidateWork, EmptySuperstep, Heuristic, IdleProcesses,
    IdleResident, MigrationCost, OwnSet, Parameters, Patterns, ProcessTime, SetIndex, TieBreak,
    ToleranceFloor,
};
pub use potential::{Evaluation, Potential, SetView, Situation};
pub use process::{Observation, Process, Reception};
pub use selection::{Entry, NotSelected, Selection, merge, select};
pub use times::ProcessTimes;
pub use when::{When, is_balanced};
