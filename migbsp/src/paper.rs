//! The model of the papers: the history of a process, its potentials, selection and negotiation.

mod config;
mod destination;
mod digest;
mod evaluation;
mod memory;
mod migrants;
mod observation;
mod parameters;
mod potential;
mod process;
mod selection;
mod times;

pub use config::{Config, ConfigError};
pub use destination::{Answer, Processors, Refusal, Request};
pub use digest::Digest;
pub use evaluation::{Evaluation, SetView, Situation};
pub use memory::Memory;
pub use migrants::Migrants;
pub use observation::{Observation, Reception};
pub use parameters::{
    BestStays, BytesSuperstep, CandidateOrder, CandidateWork, EmptySuperstep, Heuristic,
    IdleCandidate, IdleProcesses, IdleResident, OccupiedBy, OwnSet, Parameters, Patterns,
    ProcessTime, SenderSet, SetIndex, SetLoad, ThresholdOver, TieBreak, ToleranceFloor,
};
pub use potential::Potential;
pub use process::Process;
pub use selection::{Entry, NotSelected, Selection, merge, select};
pub use times::ProcessTimes;
