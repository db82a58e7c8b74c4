//! What a run is made of.

use std::sync::Arc;

use bsp::units::{Bytes, Seconds};
use bsp::{HostId, Rank, SetId};
use serde::{Deserialize, Serialize};
use simulator::{NetworkOptions, Platform};

use crate::error::RunError;
use crate::script::Script;

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
    /// How supersteps end.
    pub barrier: Barrier,
    /// The scheduler; `None` to never reschedule.
    pub scheduler: Option<Scheduler>,
    /// A computation that takes more supersteps than this counts as one that never halts.
    pub superstep_limit: u64,
}

impl Setup {
    /// Whether as many `programs` can be run as it says.
    ///
    /// # Errors
    ///
    /// If there are none, not as many as places, or a place is on no host.
    pub(crate) fn check(&self, programs: usize) -> Result<(), RunError> {
        if programs == 0 {
            return Err(RunError::NoProcesses);
        }
        let places = self.placement.len();
        if programs != places {
            return Err(RunError::Places { programs, places });
        }
        let hosts = self.platform.hosts().len();
        match self.places().find(|(_, host)| hosts <= host.index()) {
            Some((rank, host)) => Err(RunError::NoSuchHost { rank, host, hosts }),
            None => Ok(()),
        }
    }

    /// Every place that it speaks of: where processes start, and where a script moves them.
    fn places(&self) -> impl Iterator<Item = (Rank, HostId)> {
        let starts = (0..).map(Rank).zip(self.placement.iter().copied());
        let script = self.scheduler.as_ref().and_then(|s| s.script.as_ref());
        let moves = script.into_iter().flat_map(|script| script.0.values());
        starts.chain(moves.flatten().copied())
    }

    /// Whether messages count for the Set where their sender was when the run began.
    #[must_use]
    pub fn senders_stay(&self) -> bool {
        let scheduler = self.scheduler.as_ref();
        scheduler.is_some_and(|s| s.model.parameters().sender_set == migbsp::SenderSet::Initial)
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

/// How supersteps end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Barrier {
    /// The paths of its messages.
    pub shape: Shape,
    /// Size of a message of the barrier on the network.
    pub message: Bytes,
    /// In which order the first Manager takes the messages of a central barrier.
    pub collection: Collection,
}

impl Default for Barrier {
    /// Central, with messages of 8 bytes.
    fn default() -> Self {
        Self {
            shape: Shape::default(),
            message: Bytes(8),
            collection: Collection::default(),
        }
    }
}

/// In which order the first Manager takes the messages of a central barrier.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Collection {
    /// As they come.
    #[default]
    AsTheyCome,
    /// By rank, as a master that receives from one process after the other: a message starts when those of all lower ranks
    /// have been received. Answers go by rank, too: an answer starts when the one before has arrived.
    ByRank,
}

/// The paths of the messages that end a superstep.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Shape {
    /// Every process tells the first Manager, which answers each of them: one message per process
    /// and direction, on the network even within a host; only the first process, which the first
    /// Manager was put beside, speaks to it for nothing as long as it stays there.
    #[default]
    Central,
    /// Processes tell their node, nodes their Manager, Managers each other, and back down.
    Hierarchical,
    /// All processes know immediately, without cost.
    Ideal,
}

/// How processes are rescheduled.
#[derive(Clone, Debug)]
pub struct Scheduler {
    /// When to call, what to plan, and whether it is worth it.
    pub policy: migbsp::Policy,
    /// The parameters of the model, and of MigBSP.
    pub model: migbsp::Config,
    /// The parameters of policies whose plans name processors.
    pub planning: migbsp::Planning,
    /// Whether decisions are carried out; if `false`, they are computed and paid for, but no process moves.
    pub moves: bool,
    /// How migrations are paid for.
    pub payment: Payment,
    /// A superstep with a rescheduling call lasts at least this long, the call included.
    pub window: Seconds,
    /// What the window means for a call that migrates.
    pub window_after_migration: WindowRule,
    /// External load is its mean over this long.
    pub load_window: Seconds,
    /// Moves decided beforehand: in a call, they take the place of the candidates that the model
    /// selects, or of a plan. `None`: the policy decides.
    pub script: Option<Script>,
}

impl Default for Scheduler {
    /// MigBSP with the papers' parameters, moving what it decides; states cross the network, and a call
    /// takes what it takes.
    fn default() -> Self {
        Self {
            policy: migbsp::Policy::MIGBSP,
            model: migbsp::Config::default(),
            planning: migbsp::Planning::default(),
            moves: true,
            payment: Payment::default(),
            window: Seconds::ZERO,
            window_after_migration: WindowRule::default(),
            load_window: Seconds::new(900.0).expect("a quarter of an hour is finite"),
            script: None,
        }
    }
}

impl Scheduler {
    /// Whether moves are planned by processor, and not negotiated between Managers.
    #[must_use]
    pub fn plans(&self) -> bool {
        self.policy.names_processors() && self.script.is_none()
    }

    /// Whether the script moves a process after `completed` supersteps, so that a call is held, due or not.
    #[must_use]
    pub fn is_scripted(&self, completed: u64) -> bool {
        let script = self.script.as_ref();
        script.is_some_and(|script| !script.orders(completed).is_empty())
    }

    /// What the first Manager plans with; `None`: Managers negotiate.
    #[must_use]
    pub fn planner(&self) -> Option<migbsp::Planner> {
        let migration_time = self.payment.migration_time();
        let planner =
            migbsp::Planner::new(&self.policy, &self.model, &self.planning, migration_time);
        planner.filter(|_| self.plans())
    }
}

/// How migrations are paid for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Payment {
    /// By all processes: the image crosses the network, and the next superstep starts when it has arrived.
    #[default]
    Transfer,
    /// The migrant alone: it pays `Mem(i, j)` at the start of its next superstep, as in the papers.
    Migrant,
}

impl Payment {
    /// What moves that are made together take.
    #[must_use]
    pub const fn migration_time(self) -> migbsp::MigrationTime {
        match self {
            Self::Transfer => migbsp::MigrationTime::SharedLinks,
            Self::Migrant => migbsp::MigrationTime::PerProcess,
        }
    }
}

/// What the window means for a rescheduling call that migrates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WindowRule {
    /// The same as for any other.
    #[default]
    AtLeast,
    /// It comes on top of the superstep's own time.
    Added,
}

/// What all agents of a run know from the start.
#[derive(Debug)]
pub struct Rules {
    /// How supersteps end.
    pub barrier: Barrier,
    /// The scheduler, if there is one.
    pub scheduler: Option<Scheduler>,
    /// The host of each Set's Manager, by Set.
    pub managers: Vec<HostId>,
    /// The Set of each host, by host.
    pub sets: Vec<SetId>,
    /// Where each process starts, by rank.
    pub placement: Arc<[HostId]>,
    /// How many processes start on each host, by host.
    pub on_host: Vec<u32>,
    /// How many processes start in each Set, by Set.
    pub in_set: Vec<u32>,
    /// The first Manager: the one beside the first process, where that starts.
    pub first: SetId,
}

impl Rules {
    /// The rules of a run on `setup`: each Manager sits with the lowest rank of its Set, or on the
    /// Set's first host if no process starts there.
    ///
    /// # Panics
    ///
    /// If a process is placed on a host that the platform does not have.
    #[must_use]
    pub fn new(setup: &Setup) -> Self {
        let sets: Vec<SetId> = setup.platform.hosts().iter().map(|host| host.set).collect();
        let mut managers: Vec<Option<HostId>> = vec![None; setup.platform.sets().len()];
        let mut on_host = vec![0; sets.len()];
        let mut in_set = vec![0; managers.len()];
        for host in &setup.placement {
            let set = sets[host.index()];
            managers[set.index()].get_or_insert(*host);
            on_host[host.index()] += 1;
            in_set[set.index()] += 1;
        }
        let managers = managers
            .into_iter()
            .zip(setup.platform.sets())
            .map(|(manager, set)| manager.unwrap_or_else(|| set.hosts[0]))
            .collect();
        let first = setup
            .placement
            .first()
            .map_or(SetId(0), |host| sets[host.index()]);
        Self {
            barrier: setup.barrier,
            scheduler: setup.scheduler.clone(),
            managers,
            sets,
            placement: setup.placement.as_slice().into(),
            on_host,
            in_set,
            first,
        }
    }

    /// What the script says about the call after `completed` supersteps, if there is a script.
    #[must_use]
    pub fn orders(&self, completed: u64) -> Option<&[(Rank, HostId)]> {
        let script = self.scheduler.as_ref()?.script.as_ref()?;
        Some(script.orders(completed))
    }

    /// The host of the first Manager.
    #[must_use]
    pub fn first_host(&self) -> HostId {
        self.managers[self.first.index()]
    }
}
