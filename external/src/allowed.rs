//! What this process of the operating system may start.

use std::collections::BTreeMap;
use std::num::NonZeroU64;
use std::sync::OnceLock;

/// The external programs that may be started here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Allowed {
    /// Any command that an experiment names: a client that may submit experiments then has as much as a shell.
    Any,
    /// Those of this list, by name: an experiment names one of them, and its own command does not matter.
    Listed(BTreeMap<String, Listed>),
    /// None.
    None,
}

/// A program that may be started.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listed {
    /// Program and arguments.
    pub command: Vec<String>,
    /// What is put before the command: a sandbox.
    pub wrapper: Vec<String>,
    /// The most memory of an executor, in bytes.
    pub memory: Option<NonZeroU64>,
}

static ALLOWED: OnceLock<Allowed> = OnceLock::new();

/// Says what may be started, once and for all. Before that, any command may.
pub fn allow(what: Allowed) {
    // The first one counts.
    drop(ALLOWED.set(what));
}

/// What may be started.
#[must_use]
pub fn allowed() -> &'static Allowed {
    ALLOWED.get().unwrap_or(&Allowed::Any)
}
