//! What turns records and results into answers: reports as data, as text and as pictures.
//!
//! Nothing here reads arguments or writes to stdout; a command calls a module and prints what it returns.

pub mod advice;
pub mod advise;
mod amortisation;
pub mod bench;
pub mod certificates;
pub mod chart;
pub mod checkpoints;
pub mod compare;
pub mod explain;
pub mod export;
pub mod joined;
pub mod known_best;
pub mod live;
mod move_report;
pub mod page;
mod pictures;
pub mod platform;
mod refused;
pub mod report;
mod resumed;
pub mod simulate;
pub mod sweep;
pub mod text;
mod verdict;
pub mod verify;
mod view;
