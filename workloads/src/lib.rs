//! The workloads of this project: each is a [`bsp::Program`] that represents an application.
//!
//! A *model* charges the instructions and sends the bytes of the application it represents, and
//! computes nothing: a state of some hundred bytes a process, so that a million of them fit into one
//! simulation. What each process did and received comes back as a [`Tally`], whose digest changes
//! when a message is lost, doubled or reordered.
//!
//! A *kernel* is the application itself on the model's decomposition: real data, and a result that
//! can be checked. It charges instructions by counting its operations.

pub mod background;
mod cyclic;
mod dealing;
mod draws;
pub mod h_relation;
pub mod heat;
pub mod lbm;
pub mod lu;
mod matrix;
pub mod matrix_product;
mod parameters;
pub mod smith_waterman;
pub mod state_kinds;
pub mod synthetic;
mod tally;
pub mod task_farm;

pub use dealing::DealingParameters;
pub use matrix::{Error as MatrixError, Matrix};
pub use parameters::{Common, Error, ParameterError};
pub use tally::Tally;
