//! The slowest process to the host where the rest is expected to take least.

use crate::plan::chosen::best;
use crate::plan::destination::Aim;
use crate::plan::draft::{Draft, Plan};
use crate::rule::{Need, Rule};
use crate::{Planning, Snapshot};

/// Execution-time minimum (Du, Sun and Wu 2007, section 5): the slowest process moves to the host on the idle list where
/// the rest is expected to take least, whatever the move takes.
#[derive(Clone, Copy, Debug)]
struct Etm(Planning);

impl Plan for Etm {
    fn draft(&mut self, snapshot: &Snapshot) -> Draft {
        best(RULE.name(), (snapshot, &self.0), Aim::Execution, false)
    }
}

/// `etm`.
pub(super) const RULE: Rule<dyn Plan> = Rule::<dyn Plan>::new(
    "etm",
    "moves the slowest process to the host where the rest takes least (Du, Sun and Wu, 2007)",
    |settings| Box::new(Etm(*settings.planning)),
)
.with_need(Need::Utilisation);
