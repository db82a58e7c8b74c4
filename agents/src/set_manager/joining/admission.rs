//! The state of hosts that are joining, at one Manager.

use std::collections::BTreeMap;

use bsp::Rank;
use protocol::{Installed, Migrate};

use crate::elasticity::Joining;

/// The hosts that are joining, as one Manager sees it.
#[derive(Debug)]
pub(in crate::set_manager) struct Admission {
    pub(super) joining: Joining,
    /// Whether a call follows.
    pub(super) is_due: bool,
    /// The moves, once they are ordered.
    pub(super) orders: Option<Vec<Migrate>>,
    /// The processes that have been installed.
    pub(super) installed: BTreeMap<Rank, Installed>,
}
