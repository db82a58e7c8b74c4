//! The rules of a run that an explanation depends on.

/// The rules of a run that an explanation depends on.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Rules {
    /// Whether a script decides instead of the policy.
    pub(super) is_scripted: bool,
    /// Whether only the first of the list is a candidate.
    pub(super) one_candidate: bool,
    /// Whether the migrant pays for its move in the superstep after the call.
    pub(super) migrant_pays: bool,
    /// Whether `t1` includes the candidate's own work.
    pub(super) own_work_counts: bool,
    /// Whether the shortest reception breaks ties between potentials, instead of the lowest rank.
    pub(super) ties_by_reception: bool,
    /// Potentials that differ by less than this are equal.
    pub(super) tie_width: f64,
}
