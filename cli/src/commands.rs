//! The commands: their arguments, their help, what they print.

pub(crate) mod advise;
pub(crate) mod chaos;
pub(crate) mod compare;
pub(crate) mod completions;
pub(crate) mod explain;
pub(crate) mod export;
mod flows;
pub(crate) mod man;
pub(crate) mod platform;
pub(crate) mod rebalance;
pub(crate) mod report;
pub(crate) mod reproduce;
mod runs;
pub(crate) mod simulate;
pub(crate) mod sweep;
pub(crate) mod verify;
