//! The outcome of a call for a process.

use std::collections::BTreeMap;

use bsp::{HostId, Rank};
use migbsp::{Answer, NotSelected, Refusal};
use record::{Call, Migration};

use crate::explain::rules::Rules;

/// The outcome of a call for a process.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Disposition {
    /// It moved.
    Moved(Migration),
    /// It would have moved in a scenario in which processes migrate.
    Offered(HostId),
    /// The Manager of the target Set refused it.
    Refused(Refusal),
    /// It was no candidate.
    PassedOver(NotSelected),
    /// The plan did not move it, or was not carried out.
    NotPlanned,
    /// The script did not move it.
    NotScripted,
}

impl Disposition {
    /// The outcome for every process that took part in `call`.
    pub(crate) fn all(call: &Call, rules: &Rules) -> BTreeMap<Rank, Self> {
        let left = || match call.assessment {
            None if rules.is_scripted => Self::NotScripted,
            _ => Self::NotPlanned,
        };
        let mut dispositions: BTreeMap<Rank, Self> =
            call.list.iter().map(|entry| (entry.rank, left())).collect();
        for (entry, why) in &call.passed_over {
            dispositions.insert(entry.rank, Self::PassedOver(*why));
        }
        for considered in &call.considered {
            let disposition = match considered.answer {
                Answer::Offer { host, .. } => Self::Offered(host),
                Answer::Refuse(refusal) => Self::Refused(refusal),
            };
            dispositions.insert(considered.entry.rank, disposition);
        }
        for migration in &call.migrations {
            dispositions.insert(migration.rank, Self::Moved(*migration));
        }
        dispositions
    }

    /// Its name in JSON and CSV.
    pub(crate) const fn name(&self) -> &'static str {
        match self {
            Self::Moved(_) => "moved",
            Self::Offered(_) => "offered",
            Self::Refused(Refusal::NoFasterPlace { .. }) => "no-faster-place",
            Self::Refused(Refusal::Idle) => "idle",
            Self::Refused(Refusal::NoProcessor) => "no-processor",
            Self::PassedOver(NotSelected::OwnSet) => "own-set",
            Self::PassedOver(NotSelected::NotPositive) => "not-positive",
            Self::PassedOver(NotSelected::BelowThreshold) => "below-threshold",
            Self::PassedOver(NotSelected::NotFirst) => "not-first",
            Self::NotPlanned => "not-planned",
            Self::NotScripted => "not-scripted",
        }
    }

    /// Distance from moving: the higher, the nearer.
    pub(super) const fn nearness(&self) -> u32 {
        match self {
            Self::Moved(_) => 8,
            Self::Offered(_) => 7,
            Self::Refused(Refusal::NoFasterPlace { .. }) => 6,
            Self::Refused(Refusal::NoProcessor | Refusal::Idle) => 5,
            Self::PassedOver(NotSelected::NotFirst | NotSelected::BelowThreshold) => 4,
            Self::PassedOver(NotSelected::NotPositive) => 3,
            Self::PassedOver(NotSelected::OwnSet) => 2,
            Self::NotPlanned | Self::NotScripted => 1,
        }
    }
}

/// The meaning of a disposition's name, for `number` processes.
pub(super) fn meaning(name: &str, number: usize) -> &'static str {
    match (name, number) {
        ("moved", _) => "moved",
        ("offered", _) => "would have moved",
        ("no-faster-place", 1) => "was refused: no processor is faster",
        ("no-faster-place", _) => "were refused: no processor is faster",
        ("idle", 1) => "was refused: it did not compute",
        ("idle", _) => "were refused: they did not compute",
        ("no-processor", 1) => "was refused: no processor is left",
        ("no-processor", _) => "were refused: no processor is left",
        ("own-set", 1) => "prefers its own Set",
        ("own-set", _) => "prefer their own Set",
        ("not-positive", _) => "would gain nothing in any Set",
        ("below-threshold", 1) => "is not above the threshold",
        ("below-threshold", _) => "are not above the threshold",
        ("not-first", 1) => "is not first on the list",
        ("not-first", _) => "are not first on the list",
        ("not-planned", 1) => "is left where it is",
        ("not-planned", _) => "are left where they are",
        ("not-scripted", 1) => "is not named by the script",
        (_, _) => "are not named by the script",
    }
}
