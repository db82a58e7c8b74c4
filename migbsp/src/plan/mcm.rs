//! The slowest process to the host that is reached soonest.

use crate::plan::chosen::best;
use crate::plan::destination::Aim;
use crate::plan::draft::{Draft, Plan};
use crate::rule::{Need, Rule};
use crate::{Planning, Snapshot};

/// Migration-cost minimum (Du, Sun and Wu 2007, section 5): the slowest process moves to the host on the idle list to which
/// the move takes least.
#[derive(Clone, Copy, Debug)]
struct Mcm(Planning);

impl Plan for Mcm {
    fn draft(&mut self, snapshot: &Snapshot) -> Draft {
        best(RULE.name(), (snapshot, &self.0), Aim::Cost, false)
    }
}

/// `mcm`.
pub(super) const RULE: Rule<dyn Plan> = Rule::<dyn Plan>::new(
    "mcm",
    "moves the slowest process to the host that is reached soonest (Du, Sun and Wu, 2007)",
    |settings| Box::new(Mcm(*settings.planning)),
)
.with_need(Need::Utilisation);
