//! The model of the papers: what a process remembers, its potential, selection and destination.

mod config;
mod destination;
mod digest;
mod parameters;
mod potential;
mod process;
mod selection;
mod times;

pub use config::{Config, ConfigError};
pub use destination::{Answer, Processor, Processors, Refusal, Request, capacity};
pub use digest::Digest;
pub use parameters::{
    BestStays, CandidateOrder, CandidateWork, EmptySuperstep, Heuristic, IdleProcesses,
    IdleResident, MigrationCost, OwnSet, Parameters, Patterns, ProcessTime, SenderSet, SetIndex,
    TieBreak, ToleranceFloor,
};
pub use potential::{Evaluation, Potential, SetView, Situation};
pub use process::{Observation, Process, Reception};
pub use selection::{Entry, NotSelected, Selection, merge, select};
pub use times::ProcessTimes;
