//! The model of the papers: the history of a process, its potentials, selection and negotiation.

mod destination;
mod digest;
mod evaluation;
mod history;
mod parameters;
mod rows;
mod selection;

pub use destination::{Answer, Processors, Refusal, Request};
pub use digest::{Digest, ProcessTimes, Times};
pub use evaluation::{Evaluation, Potential, SetView, Situation};
pub use history::{Memory, Observation, ProcessHistory, Reception};
pub use parameters::{Config, ConfigError, Heuristic, Parameters, SenderSet, TieBreak};
pub use selection::{Entry, NotSelected, Selection, merge, select};
