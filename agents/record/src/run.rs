//! The beginning of a run.

use bsp::{Round, SetId};
use serde::{Deserialize, Serialize};

use super::resumed_run::ResumedRun;

/// A run begins.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// [`SCHEMA`](super::SCHEMA).
    pub schema: String,
    /// The scenario of the experiment: i, ii or iii.
    pub scenario: String,
    /// Names of the Sets, by Set.
    pub sets: Vec<String>,
    /// Names of the hosts, by host.
    pub hosts: Vec<String>,
    /// The Sets of the hosts, in their order: a Set, and the number of consecutive hosts of it. Earlier versions do not say
    /// it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub members: Vec<(SetId, u32)>,
    /// The host where every process starts: its name, by rank.
    pub placement: Vec<String>,
    /// The supersteps that belong together, if a round has several.
    #[serde(default, skip_serializing_if = "Round::is_superstep")]
    pub round: Round,
    /// The checkpoint in whose state the run begins, if it resumes another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resumed: Option<ResumedRun>,
}

impl Run {
    /// The superstep with which the run begins.
    #[must_use]
    pub fn first_superstep(&self) -> u64 {
        self.resumed.as_ref().map_or(0, |resumed| resumed.superstep)
    }

    /// The Set of every host, in the order of `hosts`; nothing if the record does not say it.
    pub fn sets_of_hosts(&self) -> impl Iterator<Item = SetId> {
        let sets = self.members.iter();
        sets.flat_map(|(set, hosts)| (0..*hosts).map(move |_| *set))
    }

    /// [`Self::members`], of hosts with these Sets.
    #[must_use]
    pub fn members_of(sets: impl IntoIterator<Item = SetId>) -> Vec<(SetId, u32)> {
        let mut members: Vec<(SetId, u32)> = Vec::new();
        for set in sets {
            match members.last_mut() {
                Some((last, hosts)) if *last == set => *hosts += 1,
                _ => members.push((set, 1)),
            }
        }
        members
    }
}
