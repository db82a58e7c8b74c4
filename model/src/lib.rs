//! The MigBSP rescheduling model: when to reschedule, which processes move, and where to.
//!
//! Pure: it maps observations to decisions. It never waits, reads or sends, and only [`rebalance`]
//! draws random numbers, from the seed it is given: so the same model runs in a unit test, in a
//! simulation and on real hosts. Reading order:
//! [`Parameters`]; a [`ProcessHistory`] and its [`Observation`]s; [`When`] to call; the
//! [`Evaluation`] of a process; [`merge`] and [`select`]; and the [`Processors`] of a target Set.
//! That is MigBSP. A [`Policy`] may instead call by another rule, and make a [`Plan`] from a
//! [`Snapshot`] of all Sets, which a [`Gate`] accepts or refuses; [`Policies`] holds the rules that a binary knows.
//! Every equation is in `docs/model.md`.
//!
//! | folder | contents |
//! |---|---|
//! | `paper` | the papers' model: a process's history, patterns, potentials, list, candidates, negotiation |
//! | `knowledge` | what a plan knows: hosts, loads, forecasts, the communication graph (`Graph`), what messages take (`Network`), and `Assignment`: which process is on which host and how long a superstep takes |
//! | `when` | when to call |
//! | `plan` | where each process should run |
//! | `acceptance` | whether a plan is carried out |
//! | `planner` | what the planner learns: costs, lifetimes of plans, what owners' jobs take, errors of predictions; pacing and undoing |
//! | `rebalance` | one decision with everything known, as an assignment problem (`lab/docs/rebalancing.md`) |

#![warn(clippy::as_conversions, clippy::wildcard_enum_match_arm)]

mod acceptance;
mod bounded;
mod knowledge;
mod paper;
mod plan;
mod planner;
mod policies;
mod policy;
pub mod rebalance;
mod rule;
mod when;

pub use acceptance::{CostBenefit, Gate, Verdict};
pub use knowledge::{
    Assignment, BandwidthForecast, BarrierTime, CallMove, CostCoefficients, CostSource, Edge,
    ExternalLoad, Forecast, Graph, Host, HostLink, Incoming, Lesson, LinkProbe, Load, MeasuredMove,
    Measurements, Message, MigrationCost, MigrationModel, MigrationSchedule, MigrationTime, Move,
    MoveCost, Neighbours, Network, Noise, Path, PlanningAssumptions, PlanningEffort, PricedMove,
    ProbedLink, Processor, Received, Snapshot, SteadyRate, capacity, median,
};
pub use paper::{
    Answer, Config, ConfigError, Digest, Entry, Evaluation, Heuristic, Memory, NotSelected,
    Observation, Parameters, Potential, ProcessHistory, ProcessTimes, Processors, Reception,
    Refusal, Request, Selection, SenderSet, SetView, Situation, TieBreak, Times, merge, select,
};
pub use plan::{Alternative, Destination, DestinationChoice, Draft, GreedyRefine, Plan, Portfolio};
pub use planner::{CallStart, Decision, Inventory, PlanAssessment, PlannedMove, Planner};
pub use policies::{Description, Policies};
pub use policy::{Policy, PolicyError};
pub use rule::{LoadSource, Need, Parameter, Planning, Rule, Settings};
pub use when::{CallOutcome, CallSchedule, Elapsed, Interval, Spacing, When};
