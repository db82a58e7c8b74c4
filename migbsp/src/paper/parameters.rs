//! What can be set: the papers' parameters, and the switches for what their text leaves open.

use bsp::units::Seconds;
use serde::{Deserialize, Serialize};

use crate::MigrationCost;

/// Parameters of the model; [`Default`] gives the papers' values and the decided readings.
///
/// Nothing here is checked: [`Config::new`](crate::Config::new) does that.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Parameters {
    /// Supersteps before the first call, and the least between two calls (α); at least 1.
    pub interval: u32,
    /// How far the slowest and the fastest process may be from the mean time, as a part of it, while
    /// the processes count as balanced (initial D); between 0 and 1.
    pub tolerance: f64,
    /// Consecutive calls without a migration before the tolerance grows (ω); at least 1.
    pub omega: u32,
    /// How far a prediction of instructions may be off in a regular superstep (δ), as a part of
    /// them; at least 0.
    pub delta: f64,
    /// How far a prediction of received bytes may be off (β). The papers name no value; theirs for δ is taken.
    pub beta: f64,
    /// Which processes of the merged list are candidates.
    pub heuristic: Heuristic,
    /// What part of the highest potential a candidate has to exceed under [`Heuristic::Above`] (x);
    /// at least 0 and below 1.
    pub x: f64,
    /// Which process comes first among equal potentials.
    pub tie_break: TieBreak,
    /// Potentials that differ by no more than this are equal: enough for the rounding of dates late
    /// in a long run, and less than a message takes.
    pub tie_width: Seconds,
    /// What of the merged list the threshold of [`Heuristic::Above`] is a part of.
    pub threshold_over: ThresholdOver,
    /// Whether a processor takes at most one migrated process, for as long as [`OccupiedBy`] says.
    pub one_migrant_per_processor: bool,
    /// Which processes that migrated occupy a processor, so that it takes no other.
    pub occupied_by: OccupiedBy,
    /// Whether a process's own Set competes with the others for its highest potential.
    pub own_set: OwnSet,
    /// What follows under [`Heuristic::Best`] if the head of the list prefers its own Set.
    pub best_stays: BestStays,
    /// What a Set's capacity is compared with.
    pub set_index: SetIndex,
    /// How background load enters the capacity of a Set.
    pub set_load: SetLoad,
    /// Whether a candidate is judged that did not compute in the last superstep.
    pub idle_candidate: IdleCandidate,
    /// Whether the time of a target processor includes the candidate's own work.
    pub candidate_work: CandidateWork,
    /// What a process that did not compute in the last superstep adds to its processor's time.
    pub idle_resident: IdleResident,
    /// In which order candidates are negotiated.
    pub candidate_order: CandidateOrder,
    /// What the time of a process in a superstep is made of.
    pub process_time: ProcessTime,
    /// Whether processes that did not compute count in the balance of a superstep.
    pub idle_processes: IdleProcesses,
    /// How a superstep counts in which no process computed.
    pub empty_superstep: EmptySuperstep,
    /// How far the tolerance goes down after a call that migrated.
    pub tolerance_floor: ToleranceFloor,
    /// Whether the patterns of regularity outlive a call.
    pub patterns: Patterns,
    /// Which superstep's bytes the pattern of communication judges.
    pub bytes_superstep: BytesSuperstep,
    /// For which Set a message counts whose sender has moved.
    pub sender_set: SenderSet,
    /// What moving a process costs.
    pub migration: MigrationCost,
}

/// Which processes of the merged list are candidates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Heuristic {
    /// Every process above `x` times the highest potential (the papers' first heuristic).
    Above,
    /// The process with the highest potential alone (the second).
    #[default]
    Best,
}

/// Which process comes first among equal potentials.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TieBreak {
    /// The lowest rank.
    #[default]
    Rank,
    /// The one that spends least time receiving, then the lowest rank.
    ReceiveTime,
}

/// What of the merged list the threshold of [`Heuristic::Above`] is a part of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ThresholdOver {
    /// The highest potential of all processes.
    #[default]
    All,
    /// The highest potential of the processes that prefer another Set than their own.
    Movers,
}

/// Which processes that migrated occupy a processor, so that it takes no other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OccupiedBy {
    /// Any that went there in this run: the processor never takes another one.
    #[default]
    AnyMigrant,
    /// Those that are there and computed in the last superstep: the processor is free again when its migrant is idle,
    /// has halted or has left.
    ComputingMigrant,
    /// Any that went there, while one that went to its Set computes: all processors of a Set are free again when none
    /// of its migrants computed in the last superstep.
    ComputingSet,
}

/// Whether a process's own Set competes with the others for its highest potential.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OwnSet {
    /// It does: a process that is best where it is stays.
    #[default]
    Competes,
    /// It does not: every process names the best of the other Sets.
    Ignored,
}

/// What follows under [`Heuristic::Best`] if the head of the list prefers its own Set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BestStays {
    /// No process moves: the process with the highest potential of all is the only possible candidate.
    #[default]
    Blocks,
    /// The first process of the list that prefers another Set is the candidate.
    Skipped,
}

/// What a Set's capacity is compared with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SetIndex {
    /// With the capacity of the process's own Set, whose index is then 1.
    #[default]
    Own,
    /// With the greatest capacity of all Sets, so that no index exceeds 1.
    Best,
    /// As [`SetIndex::Own`], a Set's capacity being shared by the processes on each processor where
    /// there are more processes than processors.
    SharedByProcesses,
}

/// How background load enters the capacity of a Set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SetLoad {
    /// What it leaves of a processor counts, as in equation `TIME`.
    #[default]
    Subtracted,
    /// The load is multiplied by the speed of the processor, as the text is written. Sets without load have no
    /// capacity then, and where no Set has any, all are alike.
    Multiplied,
}

/// Whether a candidate is judged that did not compute in the last superstep.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum IdleCandidate {
    /// It is refused.
    #[default]
    Refused,
    /// It is judged by `T1` and `T2`, as every candidate, with the work of an idle resident ([`IdleResident`]).
    Judged,
}

/// Whether the time of a target processor includes the candidate's own work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CandidateWork {
    /// It does not: only processes already there count, as the equation is written.
    #[default]
    Excluded,
    /// It does, as if the candidate were there.
    Included,
}

/// What a process that did not compute in the last superstep adds to its processor's time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum IdleResident {
    /// The work of the last superstep in which it did compute.
    #[default]
    LastNonzero,
    /// Nothing.
    Zero,
}

/// In which order candidates are negotiated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CandidateOrder {
    /// By decreasing potential, ties as [`TieBreak`] says.
    #[default]
    Potential,
    /// By increasing rank.
    Rank,
}

/// What the time of a process in a superstep is made of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProcessTime {
    /// Its computation, the mean reception and the cost of the barrier: the last two are common to
    /// all processes, so that they soften what differences of computation weigh.
    #[default]
    Whole,
    /// Its computation, its own longest reception and the cost of the barrier, which is common to all.
    Own,
    /// Its computation and its own longest reception.
    OwnWithoutBarrier,
    /// Its computation alone.
    Computation,
}

/// Whether processes that did not compute count in the balance of a superstep.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum IdleProcesses {
    /// They do not.
    #[default]
    Ignored,
    /// They do, with a computation of no time.
    Counted,
}

/// How a superstep counts in which no process computed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EmptySuperstep {
    /// Not balanced.
    #[default]
    Unbalanced,
    /// Balanced.
    Balanced,
}

/// How far the tolerance goes down after a call that migrated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ToleranceFloor {
    /// To one half, but not below the initial tolerance.
    #[default]
    Clamped,
    /// To one half, whatever that is.
    Halved,
}

/// Whether the patterns of regularity outlive a call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Patterns {
    /// They go on from where they are.
    #[default]
    Persist,
    /// They begin again at 1.
    Restart,
}

/// Which superstep's bytes the pattern of communication judges.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BytesSuperstep {
    /// The current one's, as the pattern of computation does.
    #[default]
    Current,
    /// Those of the first superstep after a call, as figure 6 prints its index. Their prediction is equal to them, so
    /// that the pattern never falls.
    First,
}

/// For which Set a message counts whose sender has moved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SenderSet {
    /// For the Set where the sender runs when the message arrives.
    #[default]
    Present,
    /// For the Set where the sender was when the run began.
    Initial,
}

impl Default for Parameters {
    fn default() -> Self {
        Self {
            interval: 4,
            tolerance: 0.5,
            omega: 3,
            delta: 0.01,
            beta: 0.01,
            heuristic: Heuristic::default(),
            x: 0.8,
            tie_break: TieBreak::default(),
            tie_width: Seconds::new(1e-9).expect("a nanosecond is finite"),
            threshold_over: ThresholdOver::default(),
            one_migrant_per_processor: true,
            occupied_by: OccupiedBy::default(),
            own_set: OwnSet::default(),
            best_stays: BestStays::default(),
            set_index: SetIndex::default(),
            set_load: SetLoad::default(),
            idle_candidate: IdleCandidate::default(),
            candidate_work: CandidateWork::default(),
            idle_resident: IdleResident::default(),
            candidate_order: CandidateOrder::default(),
            process_time: ProcessTime::default(),
            idle_processes: IdleProcesses::default(),
            empty_superstep: EmptySuperstep::default(),
            tolerance_floor: ToleranceFloor::default(),
            patterns: Patterns::default(),
            bytes_superstep: BytesSuperstep::default(),
            sender_set: SenderSet::default(),
            migration: MigrationCost::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_file_leaves_out_is_the_default() {
        let text =
            r#"{ "interval": 16, "tie_break": "receive-time", "migration": { "base": 0.5 } }"#;
        let expected = Parameters {
            interval: 16,
            tie_break: TieBreak::ReceiveTime,
            migration: MigrationCost {
                base: Some(Seconds::new(0.5).unwrap()),
                ..MigrationCost::default()
            },
            ..Parameters::default()
        };
        assert_eq!(serde_json::from_str::<Parameters>(text).unwrap(), expected);
    }

    #[test]
    fn a_key_that_is_none_is_refused() {
        let error = serde_json::from_str::<Parameters>(r#"{ "alpha": 4 }"#).unwrap_err();
        assert!(error.to_string().starts_with("unknown field `alpha`"));
    }

    #[test]
    fn parameters_survive_encoding() {
        let text = serde_json::to_string(&Parameters::default()).unwrap();
        let decoded: Parameters = serde_json::from_str(&text).unwrap();
        assert_eq!(decoded, Parameters::default());
    }
}
