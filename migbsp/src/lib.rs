//! The MigBSP rescheduling model: when to reschedule, which processes move, and where to.
//!
//! Pure: told what happened, it answers what to do. It never waits, reads or sends, and only [`rebalance`]
//! draws random numbers, from the seed it is given: so the same model runs in a unit test, in a
//! simulation and on real hosts. Reading order:
//! [`Parameters`]; a [`Process`] and what it [observes](Observation); [`When`] to call; the
//! [`Evaluation`] of a process; [`merge`] and [`select`]; and the [`Processors`] of a target Set.
//! That is MigBSP. Beside it, a [`Policy`] may call by another rule, and have a [`Plan`] made of the
//! whole [`Scene`], which a [`Gate`] lets through. Every equation is in `docs/model.md`.

#![warn(clippy::as_conversions, clippy::wildcard_enum_match_arm)]

mod acceptance;
mod bounded;
mod knowledge;
mod paper;
mod plan;
mod planner;
mod planning;
mod policy;
pub mod rebalance;
mod when;

pub use acceptance::{Amortised, CostBenefit, Gate, Open, Verdict};
pub use knowledge::{
    Bill, Burden, Contention, Filling, Forecast, Host, Load, Mapping, Move, Outlook, Received,
    Scene, Sharing, Traffic,
};
pub use paper::{
    Answer, BestStays, CandidateOrder, CandidateWork, Config, ConfigError, Digest, EmptySuperstep,
    Entry, Evaluation, Heuristic, IdleProcesses, IdleResident, MigrationCost, NotSelected,
    Observation, OwnSet, Parameters, Patterns, Potential, Process, ProcessTime, ProcessTimes,
    Processor, Processors, Reception, Refusal, Request, Selection, SenderSet, SetIndex, SetView,
    Situation, TieBreak, ToleranceFloor, capacity, merge, select,
};
pub use plan::{
    Alternative, BonordenCentral, BonordenDistributed, Draft, GreedyRefine, List, Plan, Portfolio,
    Rebalanced,
};
pub use planner::{Decision, Inventory, PlannedMove, Planner, Weighed};
pub use planning::Planning;
pub use policy::{GATES, GateRule, NAMED, PLANS, PlanRule, Policy, PolicyError, WHENS, WhenRule};
pub use when::{
    Boulmier, Concluded, Either, Elapsed, Fixed, Interval, Menon, MetaLb, Pace, Rested, Spacing,
    Thrifty, When, is_balanced,
};
