//! What turns records and results into answers: reports as data, as text and as pictures.
//!
//! Nothing here reads arguments or writes to stdout; a command calls a module and prints what it returns.

pub mod advise;
pub mod certificates;
pub mod chart;
pub mod compare;
pub mod document;
pub mod explain;
pub mod export;
pub mod known_best;
pub mod live;
pub mod page;
mod pictures;
pub mod platform;
pub mod report;
mod run;
#[cfg(feature = "schemas")]
pub mod schemas;
pub mod sentences;
pub mod simulate;
pub mod sweep;
pub mod text;
pub mod verify;

/// What a cluster is capable of, from the events of jobs.
pub mod bench {
    pub mod migration;
    pub mod superstep;
}
