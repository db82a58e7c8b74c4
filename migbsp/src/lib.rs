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

mod bill;
mod bounded;
mod config;
mod contention;
mod destination;
mod digest;
mod filling;
mod forecast;
mod gate;
mod mapping;
mod parameters;
mod plan;
mod planner;
mod planning;
mod policy;
mod potential;
mod process;
mod promise;
pub mod rebalance;
mod scene;
mod seats;
mod selection;
mod thrift;
mod times;
mod traffic;
mod when;

pub use bill::Bill;
pub use config::{Config, ConfigError};
pub use contention::{Contention, Sharing};
pub use destination::{Answer, Processor, Processors, Refusal, Request, capacity};
pub use digest::Digest;
pub use filling::Filling;
pub use forecast::Forecast;
pub use gate::{Amortised, CostBenefit, Gate, Open, Verdict};
pub use mapping::Mapping;
pub use parameters::{
    BestStays, CandidateOrder, CandidateWork, EmptySuperstep, Heuristic, IdleProcesses,
    IdleResident, MigrationCost, OwnSet, Parameters, Patterns, ProcessTime, SenderSet, SetIndex,
    TieBreak, ToleranceFloor,
};
pub use plan::{
    Alternative, BonordenCentral, BonordenDistributed, Draft, GreedyRefine, List, Plan, Portfolio,
    Rebalanced,
};
pub use planner::{Decision, Inventory, PlannedMove, Planner, Weighed};
pub use planning::Planning;
pub use policy::{GATES, GateRule, NAMED, PLANS, PlanRule, Policy, PolicyError, WHENS, WhenRule};
pub use potential::{Evaluation, Potential, SetView, Situation};
pub use process::{Observation, Process, Reception};
pub use scene::{Burden, Host, Load, Move, Outlook, Received, Scene};
pub use selection::{Entry, NotSelected, Selection, merge, select};
pub use times::ProcessTimes;
pub use traffic::Traffic;
pub use when::{
    Boulmier, Concluded, Either, Elapsed, Fixed, Interval, Menon, MetaLb, Pace, Rested, Spacing,
    Thrifty, When, is_balanced,
};
