//! The barrier that ends supersteps: its shapes, the way of its messages, and what a Manager waits for.
//!
//! [`Barrier`] is what a setup says about it. [`BarrierTree`] is made from it once, and answers every question of agents:
//! to whom a process reports, who ends a superstep, what a message costs. A shape is a row of [`Shape::paths`]; no other
//! file knows the shapes apart. [`Arrivals`] is the state of the barrier at one Manager.

use std::collections::BTreeMap;
use std::iter;

use bsp::units::Bytes;
use bsp::{HostId, Rank, SetId};
use model::BarrierTime;
use protocol::{Address, Arrived, Migrate};
use serde::{Deserialize, Serialize};

use crate::message_check::check;
use crate::setup::Rules;
use crate::world::Cost;

/// The barrier that ends supersteps, as the section `[barrier]` of an experiment has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Barrier {
    /// The paths of its messages.
    pub shape: Shape,
    /// Size of a message of the barrier on the network.
    pub message: Bytes,
    /// The order in which the first Manager receives the messages of a central barrier.
    pub collection: Collection,
}

/// The order in which the first Manager receives the messages of a central barrier.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Collection {
    /// The order of arrival.
    #[default]
    AsTheyCome,
    /// By rank, as by a master that receives from one process after the other: a message starts when those of all lower
    /// ranks have been received. Answers are sent by rank, too: an answer starts when the one before has arrived.
    ByRank,
}

/// The paths of the messages that end a superstep.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Shape {
    /// Every process reports to the first Manager, which answers each of them: one message per process and direction,
    /// on the network even within a host. Only the messages of the first process are free, as long as it runs on the
    /// host of the first Manager.
    #[default]
    Central,
    /// Processes report to their node, nodes to their Manager, Managers to each other; the answers take the same paths
    /// back.
    Hierarchical,
    /// All processes continue immediately, without cost.
    Ideal,
}

/// What distinguishes one shape from the others.
#[derive(Clone, Copy, Debug)]
struct Paths {
    reports: Reports,
    end: End,
    price: Price,
}

/// To whom processes report that they have arrived, and who has them start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reports {
    /// The Manager that ends their supersteps.
    ToManager,
    /// The node of their host, which reports to that Manager when all have arrived.
    ToNode,
}

/// Who ends a superstep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// The first Manager, for all processes.
    ByFirst,
    /// Each Manager, for its Set, when it knows from all others that their Sets have arrived.
    ByEach,
}

/// Which messages cross the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Price {
    /// None.
    Nothing,
    /// Those between hosts.
    BetweenHosts,
    /// All, even within a host, but those of the master: the first process, while it runs on the host of the first
    /// Manager. The Manager receives once the master has arrived, and releases it when all others have their messages.
    AllButMaster,
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

impl Shape {
    /// All shapes.
    pub const ALL: [Self; 3] = [Self::Central, Self::Hierarchical, Self::Ideal];

    /// The table of the shapes.
    const fn paths(self) -> Paths {
        let (reports, end, price) = match self {
            Self::Central => (Reports::ToManager, End::ByFirst, Price::AllButMaster),
            Self::Hierarchical => (Reports::ToNode, End::ByEach, Price::BetweenHosts),
            Self::Ideal => (Reports::ToManager, End::ByFirst, Price::Nothing),
        };
        Paths {
            reports,
            end,
            price,
        }
    }

    /// Whether real hosts can have such a barrier: its messages take time.
    #[must_use]
    pub fn is_real(self) -> bool {
        self.paths().price != Price::Nothing
    }
}

/// The way of the messages of a run's barrier: arrivals go up from processes, starts come down.
#[derive(Clone, Copy, Debug)]
pub struct BarrierTree {
    options: Barrier,
    paths: Paths,
    /// The first Manager.
    first: SetId,
    /// Whether there is one Set.
    has_one_set: bool,
}

impl BarrierTree {
    /// The barrier that `options` describe, in a run of this number of Sets with this first Manager.
    pub(crate) const fn new(options: Barrier, first: SetId, sets: usize) -> Self {
        Self {
            options,
            paths: options.shape.paths(),
            first,
            has_one_set: sets == 1,
        }
    }

    /// What the setup says about it.
    #[must_use]
    pub const fn options(&self) -> Barrier {
        self.options
    }

    /// Whether one Manager ends each superstep, for all processes together. Otherwise each Set has its own, and they do so one
    /// after the other.
    #[must_use]
    pub fn has_one_end(&self) -> bool {
        self.has_one_set || !self.ends_in_each_set()
    }

    /// Whether each Manager ends the supersteps of its Set, and knows by itself that all processes have arrived.
    pub fn ends_in_each_set(&self) -> bool {
        self.paths.end == End::ByEach
    }

    /// The Manager that ends and starts the supersteps of the processes on hosts of `set`.
    pub fn root(&self, set: SetId) -> SetId {
        if self.ends_in_each_set() {
            set
        } else {
            self.first
        }
    }

    /// Whether the nodes of hosts collect arrivals and pass starts down.
    pub(crate) fn has_nodes(&self) -> bool {
        self.paths.reports == Reports::ToNode
    }

    /// The agent to which a process reports that runs on `host` of `set`, and which has it start.
    pub fn parent(&self, host: HostId, set: SetId) -> Address {
        if self.has_nodes() {
            Address::Node(host)
        } else {
            Address::SetManager(self.root(set))
        }
    }

    /// The cost of a message between `child` and the agent above it, which `are_together` if they are on one host.
    pub(crate) fn cost(&self, child: Address, are_together: impl FnOnce() -> bool) -> Cost {
        let is_free = match self.paths.price {
            Price::Nothing => true,
            Price::BetweenHosts => are_together(),
            Price::AllButMaster => child == Address::Process(Rank(0)) && are_together(),
        };
        if is_free { Cost::Free } else { self.network() }
    }

    /// The cost of a message between hosts.
    pub(crate) fn network(&self) -> Cost {
        match self.paths.price {
            Price::Nothing => Cost::Free,
            Price::BetweenHosts | Price::AllButMaster => Cost::Network(self.options.message),
        }
    }

    /// Whether the first process is the master of the barrier while it runs on the host of the first Manager.
    pub fn has_master(&self) -> bool {
        self.paths.price == Price::AllButMaster
    }

    /// Whether the master handles one process after the other.
    pub fn is_by_rank(&self) -> bool {
        self.has_master() && self.options.collection == Collection::ByRank
    }

    /// What the barrier adds for the processes of a Set, if messages from the first Manager to it take `release` seconds, and
    /// back `arrival`.
    pub(crate) fn time(&self, release: f64, arrival: f64) -> BarrierTime {
        match self.paths.price {
            Price::Nothing => BarrierTime::Ideal,
            _ if self.ends_in_each_set() => BarrierTime::Hierarchical,
            _ if self.is_by_rank() => BarrierTime::ByRank {
                process: release + arrival,
            },
            _ => BarrierTime::Central { release, arrival },
        }
    }

    /// Whether `below`, a process or a node, arrives at the barrier of the Manager of `above`. The Set of a host is that in
    /// `sets`.
    pub(crate) fn is_edge(&self, above: SetId, below: Address, sets: &[SetId]) -> bool {
        match below {
            Address::Process(_) => !self.has_nodes() && self.root(above) == above,
            Address::Node(host) => self.has_nodes() && self.root(sets[host.index()]) == above,
            Address::SetManager(_) | Address::Client => false,
        }
    }
}

/// The agents that a Manager waits for at the barrier, and that it releases afterwards.
///
/// An arrival at the Manager of a Set from itself stands for those of all agents below it. Only a world may send it that
/// knows what all of them do.
#[derive(Debug)]
pub(crate) struct Arrivals {
    /// The Set of the Manager.
    set: SetId,
    below: Below,
    /// The number of processes below that have not halted.
    living: u32,
    /// Reports from below so far.
    own: Option<Arrived>,
    /// The other Managers, if each ends supersteps.
    others: Option<Others>,
}

/// The agents below a Manager.
#[derive(Debug)]
enum Below {
    /// Processes, by rank.
    Processes(Vec<Participation>),
    /// Hosts with their processes; hosts without processes are omitted.
    Hosts(BTreeMap<HostId, Residents>),
}

/// The Managers that a Manager waits for, once its own Set has arrived.
#[derive(Debug)]
struct Others {
    /// The number of processes that have not halted in each Set, by Set.
    living: Vec<u32>,
    /// Reports of whole Sets so far, the own one included.
    arrived: Option<Arrived>,
    /// The Sets that have arrived, with the number of their processes that halted in this superstep.
    leaving: Vec<(SetId, u32)>,
}

/// The processes on one host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Residents {
    /// The number of processes that have not halted.
    living: u32,
    /// The number of processes that halted in the superstep that is ending.
    leaving: u32,
    /// Whether they have arrived at the end of this superstep.
    have_arrived: bool,
}

/// Whether a process takes part in the next superstep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Participation {
    Living,
    /// It has arrived at the end of this superstep.
    Arrived,
    /// It halted in the superstep that is ending.
    Leaving,
    /// It has halted, or is not below this Manager.
    Gone,
}

impl Arrivals {
    /// What the Manager of `set` waits for at the start.
    pub(crate) fn new(rules: &Rules, set: SetId) -> Self {
        let barrier = &rules.barrier;
        let is_below = |host: HostId| barrier.root(rules.sets[host.index()]) == set;
        let running = rules.running().filter(|(_, host)| is_below(*host));
        let mut living = 0;
        let below = if barrier.has_nodes() {
            let mut hosts: BTreeMap<HostId, Residents> = BTreeMap::new();
            for (_, host) in running {
                hosts.entry(host).or_default().living += 1;
                living += 1;
            }
            Below::Hosts(hosts)
        } else if barrier.root(set) == set {
            let mut processes = vec![Participation::Gone; rules.placement.len()];
            for (rank, _) in running {
                processes[rank.index()] = Participation::Living;
                living += 1;
            }
            Below::Processes(processes)
        } else {
            Below::Processes(Vec::new())
        };
        Self {
            set,
            below,
            living,
            own: None,
            others: barrier.ends_in_each_set().then(|| Others {
                living: rules.in_set.clone(),
                arrived: None,
                leaving: Vec::new(),
            }),
        }
    }

    /// Moves a process that has not halted.
    pub(crate) fn moved(&mut self, rules: &Rules, order: &Migrate) {
        let Migrate { rank, from, to, .. } = *order;
        let (from_set, to_set) = (rules.sets[from.index()], rules.sets[to.index()]);
        if let Some(others) = &mut self.others {
            others.living[from_set.index()] -= 1;
            others.living[to_set.index()] += 1;
        }
        let is_below = |set: SetId| rules.barrier.root(set) == self.set;
        let (leaves, comes) = (is_below(from_set), is_below(to_set));
        if leaves != comes {
            self.living = if comes {
                self.living + 1
            } else {
                self.living - 1
            };
        }
        match &mut self.below {
            Below::Processes(processes) if leaves != comes => {
                processes[rank.index()] = if comes {
                    Participation::Living
                } else {
                    Participation::Gone
                };
            }
            Below::Processes(_) => {}
            Below::Hosts(hosts) => {
                if leaves {
                    let here = hosts.get_mut(&from).expect("a process lived there");
                    here.living -= 1;
                    if here.living == 0 && here.leaving == 0 {
                        // No process arrived there, so none waits for the next superstep.
                        hosts.remove(&from);
                    }
                }
                if comes {
                    hosts.entry(to).or_default().living += 1;
                }
            }
        }
    }

    /// Whether a process that has not halted can move from a host and a Set.
    pub(crate) fn can_move(&self, rules: &Rules, from: HostId) -> bool {
        let set = rules.sets[from.index()];
        let is_there = match &self.below {
            Below::Hosts(hosts) if rules.barrier.root(set) == self.set => {
                hosts.get(&from).is_some_and(|here| 0 < here.living)
            }
            Below::Hosts(_) | Below::Processes(_) => true,
        };
        let others = self.others.as_ref();
        is_there && others.is_none_or(|others| 0 < others.living[set.index()])
    }

    /// The Set whose Manager informs the others with its arrival whether a checkpoint is due: the `first`, or if it has no
    /// processes any more the lowest that has.
    pub(crate) fn deciding(&self, first: SetId) -> SetId {
        let Some(Others { living, .. }) = &self.others else {
            return first;
        };
        let has_processes = |set: &SetId| 0 < living[set.index()];
        let mut all = iter::once(first).chain((0..living.len()).map(SetId::from_index));
        all.find(has_processes).unwrap_or(first)
    }

    /// Checks that `report` is what `from` may report now. It names processes that exist.
    pub(crate) fn check(
        &self,
        rules: &Rules,
        from: Address,
        report: &Arrived,
    ) -> Result<(), String> {
        let expected = match (&self.below, from) {
            (Below::Processes(processes), Address::Process(rank)) => {
                let participation = processes.get(rank.index());
                let is_living = participation == Some(&Participation::Living);
                u32::from(is_living && report.slowest.1 == rank)
            }
            (Below::Hosts(hosts), Address::Node(host)) => {
                let here = hosts.get(&host).filter(|here| !here.have_arrived);
                here.map_or(0, |here| here.living)
            }
            (_, Address::SetManager(set)) if set == self.set => {
                let is_possible = self.own.is_none() && report.halted == 0;
                u32::from(is_possible) * self.living
            }
            (_, Address::SetManager(set)) => {
                let others = self.others.as_ref();
                let has_arrived =
                    |others: &&Others| others.leaving.iter().any(|(arrived, _)| *arrived == set);
                let others = others.filter(|others| !has_arrived(others));
                others.map_or(0, |others| others.living[set.index()])
            }
            _ => 0,
        };
        let decides = from == Address::SetManager(self.deciding(rules.first));
        check(!report.checkpoint || decides, || {
            format!("{from:?} does not decide about checkpoints")
        })?;
        let &Arrived {
            superstep,
            processes,
            halted,
            ..
        } = report;
        let is_expected = 0 < expected && processes == expected && halted <= processes;
        check(is_expected, || {
            format!("{processes} processes arrived in superstep {superstep}, expected {expected}")
        })
    }

    /// Adds a report that [`Self::check`] accepts. When it completes what is below, returns the report to the other
    /// Managers, if they wait for it.
    pub(crate) fn arrive(&mut self, from: Address, report: Arrived) -> Option<Arrived> {
        match (&mut self.below, from) {
            (_, Address::SetManager(set)) if set != self.set => {
                let others = self.others.as_mut();
                others.expect("other Managers report").add(set, report);
                return None;
            }
            (_, Address::SetManager(_)) => {}
            (Below::Processes(processes), Address::Process(rank)) => {
                processes[rank.index()] = if report.halted == 1 {
                    Participation::Leaving
                } else {
                    Participation::Arrived
                };
            }
            (Below::Hosts(hosts), Address::Node(host)) => {
                let here = hosts.get_mut(&host).expect("a process lives there");
                here.living -= report.halted;
                here.leaving += report.halted;
                here.have_arrived = true;
            }
            (Below::Processes(_) | Below::Hosts(_), _) => {
                unreachable!("{from:?} does not report here")
            }
        }
        let own = report.add_to(&mut self.own);
        let others = self.others.as_mut()?;
        if own.processes < self.living {
            return None;
        }
        // What has been reduced here goes to the other Managers and to the sum of all Sets; their number stays.
        let reductions = std::mem::take(&mut own.reductions);
        let together = Arrived { reductions, ..*own };
        others.add(self.set, together.clone());
        Some(together)
    }

    /// The sum of all arrivals, once all processes have arrived.
    pub(crate) fn complete(&mut self) -> Option<Arrived> {
        let together = match &mut self.others {
            None => {
                let own = self.own.as_mut()?;
                if own.processes != self.living {
                    return None;
                }
                let reductions = std::mem::take(&mut own.reductions);
                Arrived { reductions, ..*own }
            }
            Some(others) => {
                let expected: u32 = others.living.iter().sum();
                let all = others.arrived.take_if(|all| all.processes == expected)?;
                for (set, halted) in others.leaving.drain(..) {
                    others.living[set.index()] -= halted;
                }
                all
            }
        };
        self.living -= self.own.take().map_or(0, |own| own.halted);
        Some(together)
    }

    /// Calls `send` for each agent that arrived or has moved here since, in order, with whether it has halted.
    pub(crate) fn release(&mut self, mut send: impl FnMut(Address, bool)) {
        match &mut self.below {
            Below::Processes(processes) => {
                for (index, presence) in processes.iter_mut().enumerate() {
                    let to = Address::Process(Rank::from_index(index));
                    match presence {
                        Participation::Living | Participation::Arrived => {
                            *presence = Participation::Living;
                            send(to, false);
                        }
                        Participation::Leaving => {
                            *presence = Participation::Gone;
                            send(to, true);
                        }
                        Participation::Gone => {}
                    }
                }
            }
            Below::Hosts(hosts) => {
                hosts.retain(|host, here| {
                    send(Address::Node(*host), here.living == 0);
                    here.leaving = 0;
                    here.have_arrived = false;
                    0 < here.living
                });
            }
        }
    }

    /// Whether all processes have halted for which this Manager ends supersteps.
    pub(crate) fn is_over(&self) -> bool {
        match &self.others {
            None => self.living == 0,
            Some(others) => others.living.iter().all(|living| *living == 0),
        }
    }
}

impl Others {
    /// All processes of `set` have arrived.
    fn add(&mut self, set: SetId, report: Arrived) {
        self.leaving.push((set, report.halted));
        report.add_to(&mut self.arrived);
    }
}

#[cfg(test)]
mod tests;
