//! The external load of a host over the past.

use bsp::HostId;
use bsp::units::Seconds;
use serde::{Deserialize, Serialize};

/// The external load of a host over longer times than the last moment, and the processes that cause it.
///
/// A host that had none of it reports none.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ExternalLoad {
    /// The host.
    pub host: HostId,
    /// The part of its cores that other programs used over `planning.owner_window`, its utilisation by its owner, `ρ`, in
    /// `[0, 1]`.
    pub utilisation: f64,
    /// The part of a core that a process would have been without since the last call, or since the run began.
    pub since: f64,
    /// How often per second, in the same window as the utilisation, other programs began to keep a core busy on the idle
    /// host: `λ`.
    pub arrivals: f64,
    /// The part of a core that one process more would not have on the host now, in `[0, 1]`.
    pub present: f64,
    /// The processor time that each process of other programs has had that keeps a core busy now, the longest first.
    pub ages: Vec<Seconds>,
}

impl ExternalLoad {
    /// Whether there is anything to report.
    #[must_use]
    pub fn is_any(&self) -> bool {
        let loads = [self.utilisation, self.since];
        !self.ages.is_empty() || loads.iter().any(|load| 0.0 < *load)
    }

    /// Whether these are loads: fractions, and times that are not negative, no more of them than
    /// [`ExternalLoad::AGES_MAX`].
    #[must_use]
    pub fn is_sound(&self) -> bool {
        let loads = [self.utilisation, self.since, self.present];
        loads.iter().all(|load| (0.0..=1.0).contains(load))
            && (0.0..f64::INFINITY).contains(&self.arrivals)
            && self.ages.iter().all(|age| Seconds::ZERO <= *age)
            && self.ages.len() <= Self::AGES_MAX
    }

    /// Whether `loads` are those of hosts that `is_own`, each once and by host.
    #[must_use]
    pub fn are_sound(loads: &[Self], is_own: impl Fn(HostId) -> bool) -> bool {
        loads.is_sorted_by(|one, other| one.host < other.host)
            && loads
                .iter()
                .all(|load| is_own(load.host) && load.is_sound())
    }

    /// How many processes of other programs are reported, the longest ones.
    pub const AGES_MAX: usize = 64;
}
