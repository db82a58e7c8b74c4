//! The description of a run, without its programs.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bsp::units::{Bytes, Instant, Seconds};
use bsp::{HostId, Rank, Round, SetId};
use model::{Entry, Selection};
use serde::{Deserialize, Serialize};
use simulator::{NetworkOptions, Platform};

use crate::barrier::{Barrier, BarrierTree};
use crate::checkpointing::Checkpointing;
use crate::message_check::check;
use crate::mutant::{self, Mutant};
use crate::outcome::RunError;

/// Everything that determines a run except its programs. On real hosts, the properties of the network are not used.
#[derive(Clone, Debug)]
pub struct Setup {
    /// Hosts and the network between them.
    pub platform: Arc<Platform>,
    /// How the network shares its bandwidth.
    pub network: NetworkOptions,
    /// When a message may start.
    pub start: TransferStart,
    /// Where each process starts, by rank.
    pub placement: Vec<HostId>,
    /// The barrier that ends supersteps.
    pub barrier: Barrier,
    /// The scheduler; `None` to never reschedule.
    pub scheduler: Option<Scheduler>,
    /// In simulations: hosts that join while it runs. `None`: all hosts are there from the start.
    pub elasticity: Option<Elasticity>,
    /// On real hosts: hosts that take part later. `None`: none is awaited.
    pub awaited: Option<AwaitedHosts>,
    /// Checkpoints. `None`: the state is never saved.
    pub checkpointing: Option<Checkpointing>,
    /// The number of supersteps after which a computation counts as endless.
    pub superstep_limit: u64,
    /// Whether each process records each of its supersteps.
    pub traced: bool,
    /// In simulations: whether a superstep that repeats an earlier one passes without being simulated again. Records and
    /// results are the same, byte for byte.
    pub repeats: bool,
    /// On real hosts: the state in which the run begins, if it resumes another one. Simulations never do.
    pub resumed: Option<Resumed>,
}

impl Setup {
    /// Checks that `programs` programs can be run.
    ///
    /// # Errors
    ///
    /// If there are none, if their number is not that of the placement, if the placement names a host that does not
    /// exist, or if they cannot begin in the state of the job that is resumed.
    pub fn check(&self, programs: usize) -> Result<(), RunError> {
        if programs == 0 {
            return Err(RunError::NoProcesses);
        }
        let places = self.placement.len();
        if programs != places {
            return Err(RunError::Places { programs, places });
        }
        if let Some(resumed) = &self.resumed {
            resumed.check(places).map_err(RunError::Resumption)?;
        }
        let hosts = self.platform.hosts().len();
        match self.places().find(|(_, host)| hosts <= host.index()) {
            Some((rank, host)) => Err(RunError::NoSuchHost { rank, host, hosts }),
            None => Ok(()),
        }
    }

    /// Every process with each host that the setup names for it: where it starts, and where a script moves it.
    fn places(&self) -> impl Iterator<Item = (Rank, HostId)> {
        let starts = (0..).map(Rank).zip(self.placement.iter().copied());
        let script = self.scheduler.as_ref().and_then(|s| s.script.as_ref());
        let moves = script.into_iter().flat_map(|script| script.0.values());
        starts.chain(moves.flatten().copied())
    }

    /// The incarnation of the job on real hosts: 0, or more if it resumes another one.
    pub fn incarnation(&self) -> u64 {
        let resumed = self.resumed.as_ref();
        resumed.map_or(0, |resumed| resumed.incarnation)
    }

    /// Whether messages count for the Set in which their sender started.
    #[must_use]
    pub fn senders_stay(&self) -> bool {
        let scheduler = self.scheduler.as_ref();
        scheduler.is_some_and(|s| s.model.parameters().sender_set == model::SenderSet::Initial)
    }
}

/// When a message may start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TransferStart {
    /// As soon as it has been sent.
    #[default]
    Eager,
    /// When it has been sent and its receiver is waiting for it.
    Rendezvous,
}

/// What making a plan takes in simulations. Plans of real hosts take what they take.
///
/// A plan takes so long for each process, and for each host that is looked at for a process
/// ([`PlanningEffort`](model::PlanningEffort)). Both are the same on every machine.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PlanningTime {
    /// For each process.
    pub per_process: Seconds,
    /// For each host that is looked at for a process.
    pub per_candidate: Seconds,
}

impl PlanningTime {
    /// The time of a plan that has taken this `effort`.
    #[must_use]
    pub fn of(&self, effort: model::PlanningEffort) -> Seconds {
        let time =
            |number, each: Seconds| Seconds::bounded(bsp::numbers::real(number) * each.get());
        time(effort.processes, self.per_process) + time(effort.candidates, self.per_candidate)
    }
}

impl Default for PlanningTime {
    /// What calls of `adaptive` take on a core of the machine of `docs/performance.md`, by least squares of relative errors over the
    /// cases of `cargo bench -p migbsp-model --bench planning -- call`.
    fn default() -> Self {
        Self {
            per_process: Seconds::bounded(0.6e-6),
            per_candidate: Seconds::bounded(0.3e-6),
        }
    }
}

/// How processes are rescheduled.
///
/// It is read and written as a part of the section `[scheduler]` of an experiment: the settings that every policy has.
/// The fields that are skipped have keys of their own there, or none.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Scheduler {
    /// When to call, what to plan, and whether to carry a plan out.
    #[serde(skip)]
    pub policy: model::Policy,
    /// The parameters of the model, and of MigBSP.
    #[serde(skip)]
    pub model: model::Config,
    /// The parameters of policies whose plans name processors.
    #[serde(skip)]
    pub planning: model::Planning,
    /// Whether programs are asked how many supersteps are left; `None`: if plans name processors. Then no gain is counted
    /// beyond the end, and no call is held shortly before it.
    pub horizon_known: Option<bool>,
    /// The time over which external load is averaged.
    pub load_window: Seconds,
    /// The payment for migrations.
    pub payment: Payment,
    /// In simulations with [`Payment::Transfer`]: bytes that cross the network for each byte of an image that moves,
    /// `α1` of equation `COST`. It stands for packing and unpacking that the network waits for. `None`: one.
    pub transfer_factor: Option<f64>,
    /// In simulations: what making a plan takes.
    pub planning_time: PlanningTime,
    /// In simulations: how the bandwidths between hosts are measured, if they are. `None`: links have their nominal ones.
    pub link_probes: Option<LinkProbing>,
    /// A superstep with a rescheduling call lasts at least this long, the call included.
    pub window: Seconds,
    /// The meaning of the window for a call that migrates.
    pub window_after_migration: WindowRule,
    /// Whether decisions are carried out; if `false`, they are computed and charged, but no process moves.
    #[serde(skip)]
    pub moves: bool,
    /// Moves that are given in advance: in a call, they replace the candidates that the model selects, or the plan.
    /// `None`: the policy decides.
    #[serde(skip)]
    pub script: Option<Script>,
}

impl Default for Scheduler {
    /// MigBSP with the papers' parameters. Decisions are carried out, images cross the network, and calls have no
    /// minimum duration.
    fn default() -> Self {
        Self {
            policy: model::Policy::MIGBSP,
            model: model::Config::default(),
            planning: model::Planning::default(),
            horizon_known: None,
            load_window: Seconds::new(900.0).expect("a quarter of an hour is finite"),
            payment: Payment::default(),
            transfer_factor: None,
            planning_time: PlanningTime::default(),
            link_probes: None,
            window: Seconds::ZERO,
            window_after_migration: WindowRule::default(),
            moves: true,
            script: None,
        }
    }
}

impl Scheduler {
    /// Whether plans name processors, so that Managers do not negotiate.
    #[must_use]
    pub fn plans(&self) -> bool {
        self.policy.names_processors() && self.script.is_none()
    }

    /// Whether processes report their loads: to policies whose plans name processors, also if a script takes the place of
    /// the plan.
    pub(crate) fn reports_loads(&self) -> bool {
        if mutant::is(Mutant::RefuseScriptedLoads) {
            return self.plans();
        }
        self.policy.names_processors()
    }

    /// Whether the script moves a process after `completed` supersteps. A call is held then, even if none is due.
    #[must_use]
    pub fn is_scripted(&self, completed: u64) -> bool {
        let script = self.script.as_ref();
        script.is_some_and(|script| !script.orders(completed).is_empty())
    }

    /// The bytes that cross the simulated network for an image of this size.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "factors are not negative, and the conversion saturates"
    )]
    pub fn bytes_on_network(&self, image: Bytes) -> Bytes {
        self.transfer_factor.map_or(image, |factor| {
            Bytes((image.as_f64() * factor).round() as u64)
        })
    }

    /// The planner of the first Manager; `None`: Managers negotiate.
    #[must_use]
    pub fn planner(&self) -> Option<model::Planner> {
        let migration_time = self.payment.migration_time();
        let planner =
            model::Planner::new(&self.policy, &self.model, &self.planning, migration_time);
        planner.filter(|_| self.plans())
    }
}

/// How the bandwidths between simulated hosts are measured; an experiment has the interval alone.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct LinkProbing {
    /// The time between two probes of a link, above zero.
    pub interval: Seconds,
    /// From which the errors of probes are drawn: the seed of the run.
    #[serde(skip)]
    pub seed: u64,
}

/// The payment for migrations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Payment {
    /// All processes pay: the image crosses the network, and the next superstep starts when it has arrived.
    #[default]
    Transfer,
    /// Only the process that migrates pays: `Mem(i, j)` at the start of its next superstep, as in the papers.
    Migrant,
}

impl Payment {
    /// The time that simultaneous moves take.
    #[must_use]
    pub const fn migration_time(self) -> model::MigrationTime {
        match self {
            Self::Transfer => model::MigrationTime::SharedLinks,
            Self::Migrant => model::MigrationTime::PerProcess,
        }
    }
}

/// The meaning of the window for a rescheduling call that migrates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WindowRule {
    /// The same as for any other.
    #[default]
    AtLeast,
    /// It is added to the superstep's own time.
    Added,
}

/// The data that all agents of a run have from the start.
#[derive(Debug)]
pub struct Rules {
    /// The barrier that ends supersteps.
    pub barrier: BarrierTree,
    /// The scheduler, if there is one.
    pub scheduler: Option<Scheduler>,
    /// The host of each Set's Manager, by Set.
    pub managers: Vec<HostId>,
    /// The Set of each host, by host.
    pub sets: Vec<SetId>,
    /// Where each process starts, by rank.
    pub placement: Arc<[HostId]>,
    /// The number of processes that start on each host, by host.
    pub on_host: Vec<u32>,
    /// The number of processes that start in each Set, by Set, without those that have halted before.
    pub in_set: Vec<u32>,
    /// The first Manager: that of the Set in which the first process starts.
    pub first: SetId,
    /// The hosts that are not there at the start.
    pub absent: BTreeSet<HostId>,
    /// Whether there are checkpoints.
    pub checkpoints: bool,
    /// Whether each process records each of its supersteps.
    pub traced: bool,
    /// The supersteps of the program that belong together: calls are held after the last of them.
    pub round: Round,
    /// The state in which the run begins, if it resumes another one.
    pub resumed: Option<Resumed>,
}

impl Rules {
    /// The rules of a run on `setup` of a program whose supersteps are rounds: each Manager runs on the host of the lowest rank of its Set, or on the first host
    /// of the Set that is there at the start if no process starts there.
    ///
    /// # Panics
    ///
    /// If a process is placed on a host that the platform does not have, or no host of a Set is there at the start.
    #[must_use]
    pub fn new(setup: &Setup) -> Self {
        let pool = setup
            .elasticity
            .iter()
            .flat_map(|elasticity| &elasticity.pool);
        let absent: BTreeSet<HostId> = pool.map(|pooled| pooled.host).collect();
        let sets: Vec<SetId> = setup.platform.hosts().iter().map(|host| host.set).collect();
        let mut managers: Vec<Option<HostId>> = vec![None; setup.platform.sets().len()];
        let mut on_host = vec![0; sets.len()];
        let mut in_set = vec![0; managers.len()];
        let resumed = setup.resumed.as_ref();
        for (rank, host) in (0..).map(Rank).zip(&setup.placement) {
            let set = sets[host.index()];
            managers[set.index()].get_or_insert(*host);
            on_host[host.index()] += 1;
            let has_halted = resumed.is_some_and(|resumed| resumed.has_halted(rank));
            in_set[set.index()] += u32::from(!has_halted);
        }
        let managers = managers
            .into_iter()
            .zip(setup.platform.sets())
            .map(|(manager, set)| {
                let mut present = set.hosts.iter().filter(|host| !absent.contains(host));
                manager.unwrap_or_else(|| *present.next().expect("a host of the Set is there"))
            })
            .collect();
        let first = setup
            .placement
            .first()
            .map_or(SetId(0), |host| sets[host.index()]);
        Self {
            barrier: BarrierTree::new(setup.barrier, first, setup.platform.sets().len()),
            scheduler: setup.scheduler.clone(),
            managers,
            sets,
            placement: setup.placement.as_slice().into(),
            on_host,
            in_set,
            first,
            absent,
            checkpoints: setup.checkpointing.is_some(),
            traced: setup.traced,
            round: Round::SUPERSTEP,
            resumed: setup.resumed.clone(),
        }
    }

    /// The same rules for a program whose supersteps belong together in rounds.
    pub fn in_rounds(self, round: Round) -> Self {
        Self { round, ..self }
    }

    /// The moves of the script in the call after `completed` supersteps, if there is a script.
    #[must_use]
    pub fn orders(&self, completed: u64) -> Option<&[(Rank, HostId)]> {
        let script = self.scheduler.as_ref()?.script.as_ref()?;
        Some(script.orders(completed))
    }

    /// The superstep with which the run begins.
    pub fn first_superstep(&self) -> u64 {
        self.resumed.as_ref().map_or(0, |resumed| resumed.superstep)
    }

    /// The processes that have not halted when the run begins, with the hosts where they start.
    pub fn running(&self) -> impl Iterator<Item = (Rank, HostId)> + '_ {
        let starts = (0..).map(Rank).zip(self.placement.iter().copied());
        starts.filter(|(rank, _)| {
            let resumed = self.resumed.as_ref();
            resumed.is_none_or(|resumed| !resumed.has_halted(*rank))
        })
    }

    /// The host of the first Manager.
    #[must_use]
    pub fn first_host(&self) -> HostId {
        self.managers[self.first.index()]
    }
}

/// Moves that are given in advance, in order, by the number of complete supersteps. A call is held then, even if none
/// is due. A process that has halted, or already runs on the host, does not move. Of several moves of one process in
/// one call the first counts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Script(pub BTreeMap<u64, Vec<(Rank, HostId)>>);

impl Script {
    /// The moves in the call after `completed` supersteps.
    pub(crate) fn orders(&self, completed: u64) -> &[(Rank, HostId)] {
        self.0.get(&completed).map_or(&[], Vec::as_slice)
    }
}

/// The new host of each process; of several moves of one process the first counts.
pub(crate) fn scripted_places(orders: &[(Rank, HostId)]) -> BTreeMap<Rank, HostId> {
    orders.iter().rev().copied().collect()
}

/// The scripted moves of a call as candidates: of the processes in `list` that do not run there already.
pub(crate) fn scripted_candidates(
    orders: &[(Rank, HostId)],
    list: &[Entry],
    set: impl Fn(HostId) -> SetId,
    lives: impl Fn(Rank) -> HostId,
) -> Selection {
    let mut listed: BTreeMap<Rank, &Entry> = list.iter().map(|entry| (entry.rank, entry)).collect();
    let candidate = |(rank, host): &(Rank, HostId)| {
        let entry = listed.remove(rank)?;
        let target = set(*host);
        (lives(*rank) != *host).then_some(Entry { target, ..*entry })
    };
    let candidates = orders.iter().filter_map(candidate).collect();
    Selection {
        candidates,
        ..Selection::default()
    }
}

/// The state in which a job begins that resumes another one, without its programs.
///
/// The scheduler is not part of it: histories, calls and what was learned begin anew.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resumed {
    /// The incarnation of the job: greater than that of the checkpoint.
    pub incarnation: u64,
    /// The superstep with which the job begins: that of the checkpoint.
    pub superstep: u64,
    /// The superstep in which each process has halted, by rank, if it has.
    pub halted: Vec<Option<u64>>,
}

impl Resumed {
    /// Checks that a job of `processes` processes can begin in this state.
    ///
    /// # Errors
    ///
    /// Why it cannot.
    pub fn check(&self, processes: usize) -> Result<(), String> {
        let Self {
            incarnation,
            superstep,
            halted,
        } = self;
        check(0 < *incarnation && 0 < *superstep, || {
            format!("a job cannot resume as incarnation {incarnation} in superstep {superstep}")
        })?;
        let count = halted.len();
        check(count == processes, || {
            format!("the state of {count} processes is that of another job, which has {processes}")
        })?;
        check(halted.contains(&None), || {
            "all processes have halted: there is nothing to resume".to_owned()
        })?;
        let last = halted.iter().flatten().max();
        check(last.is_none_or(|last| last < superstep), || {
            format!("a process has halted by superstep {superstep}, but not before it")
        })
    }

    /// Whether a process has halted before the job begins.
    pub fn has_halted(&self, rank: Rank) -> bool {
        self.halted.get(rank.index()).copied().flatten().is_some()
    }
}

/// Hosts that are not there at the start, and when they join.
///
/// A process whose host is one of them is on standby ([`bsp::Superstep::is_standby`]): it starts on another host, and moves
/// when its host joins.
#[derive(Clone, Debug, PartialEq)]
pub struct Elasticity {
    /// The hosts that are not there at the start, in the order in which they join.
    pub pool: Vec<PooledHost>,
    /// The number of them that join.
    pub take: usize,
    /// When they are asked to join: at the end of the superstep in which this is reached.
    pub at: JoinTime,
    /// What the processes do while a host is prepared.
    pub preparation: Preparation,
    /// Whether hosts join only if that pays (equation `JOIN`).
    pub guard: bool,
    /// The processes on standby, with the hosts for which they wait.
    pub standby: BTreeMap<Rank, HostId>,
}

/// Hosts that are to join a job on real hosts, and the processes that wait for them.
///
/// The job goes on in another view when one joins. The hosts of a view do not change, so the processes on standby are the same in all
/// supersteps of a view.
#[derive(Clone, Debug, PartialEq)]
pub struct AwaitedHosts {
    /// The names of the hosts that are not there at the start, in the order in which they are asked.
    pub pool: Vec<String>,
    /// The number of them that join.
    pub take: usize,
    /// When they are asked.
    pub at: JoinTime,
    /// Whether hosts join only if that pays (equation `JOIN`).
    pub guard: bool,
    /// The processes on standby in the present view, in rank order.
    pub standby: Arc<[Rank]>,
}

/// A host that is not there at the start.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PooledHost {
    /// The host.
    pub host: HostId,
    /// How long its preparation takes.
    pub creation: Seconds,
}

/// When hosts are asked to join.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum JoinTime {
    /// When this part of the computation has been done ([`bsp::Program::progress`]).
    Part(f64),
    /// After this number of supersteps.
    Superstep(u64),
    /// At this date.
    Date(Instant),
}

/// What the processes do while hosts are prepared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Preparation {
    /// They wait, while one host after the other is prepared (Santana and Souza).
    Blocking,
    /// They go on. All hosts are prepared at the same time, and each joins after the superstep in which it is ready.
    #[default]
    Concurrent,
}

/// The hosts that join after a superstep.
#[derive(Clone, Debug, PartialEq)]
pub struct Joining {
    /// The hosts.
    pub hosts: Vec<HostId>,
    /// How long the processes wait until they are prepared.
    pub wait: Seconds,
    /// The processes that move to them, with their present hosts.
    pub moves: Vec<Relocation>,
    /// What is recorded of each host.
    pub records: Vec<record::Join>,
}

/// A process that moves to the host for which it waited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Relocation {
    /// The process.
    pub rank: Rank,
    /// Its present host.
    pub from: HostId,
    /// The host that joins.
    pub to: HostId,
}

/// The most supersteps that any of some processes executes, if all know; of no process, none.
pub fn most(processes: impl IntoIterator<Item = Option<u64>>) -> Option<u64> {
    let mut processes = processes.into_iter();
    processes.try_fold(0, |most, remaining| Some(most.max(remaining?)))
}

/// Whether a call can pay after `completed` supersteps of a run that ends after `end`; `None`: the end is not known.
pub(crate) fn can_pay(completed: u64, end: Option<u64>) -> bool {
    end.is_none_or(|end| completed.saturating_add(LEAST) <= end)
}

impl Scheduler {
    /// The supersteps that are left, for a policy that asks for them.
    pub(crate) fn asked(&self, remaining: impl FnOnce() -> Option<u64>) -> Option<u64> {
        let asks = self.horizon_known;
        let asks = asks.unwrap_or_else(|| self.policy.names_processors());
        asks.then(remaining).flatten()
    }
}

/// The fewest supersteps that a new placement is worth.
const LEAST: u64 = 2;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_is_that_of_the_last_process_if_all_know() {
        assert_eq!(most([Some(3), Some(7), Some(0)]), Some(7));
        assert_eq!(most([Some(3), None]), None);
        assert_eq!(most([]), Some(0));
    }

    #[test]
    fn a_call_can_pay_until_two_supersteps_before_the_end() {
        assert!(can_pay(8, Some(10)));
        assert!(!can_pay(9, Some(10)));
        assert!(can_pay(9, None));
        assert!(!can_pay(u64::MAX, Some(3)));
    }
}
