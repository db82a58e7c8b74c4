//! The commands: what each reads from its arguments, and where its results go.

pub(crate) mod rebalance;
pub(crate) mod reproduce;
