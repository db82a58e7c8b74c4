//! The slowest process to the host where it is expected to be complete first.

use crate::plan::chosen::best;
use crate::plan::destination::Aim;
use crate::plan::draft::{Draft, Plan};
use crate::rule::{Need, Rule};
use crate::{Planning, Snapshot};

/// The dynamic scheduling algorithm of Du, Sun and Wu (2007, figure 2): the slowest process moves to the host on the idle
/// list with the least sum of the time of the move, `C`, and of the expected time of the rest, `E[T]`.
///
/// With ages, `E[T]` counts what owners' jobs that run now are expected to take still.
#[derive(Clone, Copy, Debug)]
struct Dsa {
    planning: Planning,
    counts_ages: bool,
}

impl Plan for Dsa {
    fn draft(&mut self, snapshot: &Snapshot) -> Draft {
        let name = if self.counts_ages {
            PLUS.name()
        } else {
            RULE.name()
        };
        best(
            name,
            (snapshot, &self.planning),
            Aim::Completion,
            self.counts_ages,
        )
    }
}

/// `dsa`.
pub(super) const RULE: Rule<dyn Plan> = Rule::<dyn Plan>::new(
    "dsa",
    "moves the slowest process to the host where it is expected to be complete first (Du, Sun and Wu, 2007)",
    |settings| {
        Box::new(Dsa {
            planning: *settings.planning,
            counts_ages: false,
        })
    },
)
.with_need(Need::Utilisation);

/// `dsa-plus`.
pub(super) const PLUS: Rule<dyn Plan> = Rule::<dyn Plan>::new(
    "dsa-plus",
    "as dsa, and expects jobs of owners to go on for as long again as they have run",
    |settings| {
        Box::new(Dsa {
            planning: *settings.planning,
            counts_ages: true,
        })
    },
)
.with_need(Need::Utilisation);
