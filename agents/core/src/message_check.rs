//! Checks of messages from other machines, before an agent handles them.
//!
//! The transport has checked the certificate and the role of the sender, and that it speaks for agents of its own. This
//! module checks that the message may travel between its two agents, and that all processes, hosts, Sets and supersteps
//! that it names exist and belong to its sender. Agents themselves check what depends on their state.
//!
//! A message passes these checks, the first ones before it is decoded:
//!
//! | check | where |
//! |---|---|
//! | certificate, role, job, epoch, number | `protocol::transport` |
//! | values of the head, counts and numbers | `protocol/src/frame.rs` |
//! | route and names | here |
//! | the state of the agent | the agent; `Mail::refuse` ends the connection of the sender |
//! | events of a node, at the client | `machines`, `client/event_check.rs` |
//! | a submission, at the node | `machines`, `members.rs`; `experiments`, `loaded.rs`: as the client checks it. It opens no file but those of its checkpoint folder (`hosts`, `checkpoints.rs`); another thread does that, without following links |
//!
//! Texts of peers are shortened and escaped before they are displayed (`protocol/src/text.rs`). A property test
//! delivers any valid message at any time to all agents (`set_manager/tests/hostile.rs`), and an independent peer
//! attacks real nodes (`integration-tests/tests/hosts/hostile.rs`).

use std::ops::RangeInclusive;

use bsp::units::Seconds;
use bsp::{HostId, Rank, SetId};
use model::{
    Answer, CostCoefficients, Entry, ExternalLoad, HostLink, Inventory, LinkProbe, Load,
    MeasuredMove, ProbedLink, Refusal,
};
use protocol::{Address, AgentMessage, Considered, End, Report, Reports, Route, SetReport, When};
use record::Names;

use crate::setup::{Rules, Scheduler};

/// The processes, hosts, Sets and supersteps of a run.
#[derive(Clone, Copy, Debug)]
pub struct RunShape<'a> {
    /// The agents of the run.
    pub rules: &'a Rules,
    /// The number of supersteps after which a computation counts as endless.
    pub superstep_limit: u64,
}

impl Names for RunShape<'_> {
    fn rank(&self, rank: Rank) -> Result<(), String> {
        exists("process", rank.index(), self.rules.placement.len())
    }

    fn host(&self, host: HostId) -> Result<(), String> {
        exists("host", host.index(), self.rules.sets.len())
    }

    fn set(&self, set: SetId) -> Result<(), String> {
        exists("Set", set.index(), self.rules.managers.len())
    }

    fn superstep(&self, superstep: u64) -> Result<(), String> {
        let limit = self.superstep_limit;
        check(superstep <= limit, || {
            format!("superstep {superstep}, beyond the limit of {limit}")
        })
    }
}

impl RunShape<'_> {
    /// Checks a message from an agent on another machine.
    ///
    /// # Errors
    ///
    /// Why the agent may not send it.
    pub fn check_message(
        &self,
        (from, to): (Address, Address),
        message: &AgentMessage,
    ) -> Result<(), String> {
        self.address(from)?;
        self.address(to)?;
        check(self.may_travel(from, to, message), || {
            let name = protocol::variant(message);
            format!("{name}, which {from:?} does not send to {to:?}")
        })?;
        if let Some(superstep) = message.superstep() {
            self.superstep(superstep)?;
        }
        self.content((from, to), message)
    }

    /// Whether agents on different machines exchange such messages in this run.
    fn may_travel(&self, from: Address, to: Address, message: &AgentMessage) -> bool {
        let mut routes = message.routes().iter();
        routes.any(|route| self.is_used(route.when) && self.connects(route, from, to))
    }

    /// Whether this run has the ways of messages that are for `when`.
    fn is_used(&self, when: When) -> bool {
        let each_ends = self.rules.barrier.ends_in_each_set();
        let scheduler = self.rules.scheduler.as_ref();
        match when {
            When::Always => true,
            When::EachEnds => each_ends,
            When::Calling => scheduler.is_some(),
            When::FirstEndsCalling => scheduler.is_some() && !each_ends,
            When::Negotiating => scheduler.is_some_and(|scheduler| !scheduler.plans()),
            When::Planning => scheduler.is_some_and(Scheduler::plans),
            When::Learning => self.learns(),
            When::LearningPlanner => self.learns() && scheduler.is_some_and(Scheduler::plans),
        }
    }

    /// Whether `from` and `to` are the ends of `route`.
    fn connects(&self, route: &Route, from: Address, to: Address) -> bool {
        let Rules {
            barrier,
            first,
            sets,
            ..
        } = self.rules;
        match (route.from, route.to, from, to) {
            (End::Above, End::Below, Address::SetManager(above), below)
            | (End::Below, End::Above, below, Address::SetManager(above)) => {
                barrier.is_edge(above, below, sets)
            }
            (End::First, End::Node, Address::SetManager(set), Address::Node(_))
            | (End::Node, End::First, Address::Node(_), Address::SetManager(set)) => set == *first,
            (End::Manager, End::Node, Address::SetManager(set), Address::Node(host))
            | (End::Node, End::Manager, Address::Node(host), Address::SetManager(set)) => {
                self.set_of(host) == set
            }
            (End::Manager, End::Manager, Address::SetManager(set), Address::SetManager(other)) => {
                set != other
            }
            (End::First, End::Manager, Address::SetManager(set), Address::SetManager(other)) => {
                set == *first && set != other
            }
            // Nothing else travels as a message: the state of a process has a stream of its own.
            _ => false,
        }
    }

    /// Checks what the message says, but for the superstep.
    fn content(
        &self,
        (from, to): (Address, Address),
        message: &AgentMessage,
    ) -> Result<(), String> {
        match message {
            AgentMessage::Start(start) => {
                check(start.interval != Some(0), || "an interval of 0".to_owned())?;
                let reduced = start.reduced.as_ref();
                reduced.map_or(Ok(()), |reduced| reduced.check(1))?;
                checkpoint(self.rules, start.checkpoint, 0 < start.superstep)
            }
            AgentMessage::Arrived(arrived) => {
                self.rank(arrived.slowest.1)?;
                arrived.reductions.check(arrived.processes)?;
                let is_set = matches!(from, Address::SetManager(_));
                checkpoint(self.rules, arrived.checkpoint, is_set)?;
                check(0.0 <= arrived.slowest.0.get(), || {
                    "a negative time of computation".to_owned()
                })
            }
            AgentMessage::Measured(measured) => {
                check(from == Address::Node(measured.host), || {
                    foreign(measured.host)
                })?;
                self.links(measured.host, &measured.more.links)?;
                external(&measured.more.external, |host| host == measured.host)?;
                cores(measured.cores)
            }
            AgentMessage::Capacity(capacity) => {
                own_set(from, capacity.set)?;
                let size = self.rules.placement.len();
                let processes = usize::try_from(capacity.processes);
                let is_possible = processes.is_ok_and(|processes| processes <= size);
                check(is_possible && 0.0 <= capacity.capacity, || {
                    format!("an impossible capacity of {}", capacity.set)
                })?;
                self.learned(capacity.learned.as_ref())
            }
            AgentMessage::Evaluate(order) => {
                self.one_per_set("views", order.sets.len())?;
                self.learned(order.learned.as_ref())
            }
            AgentMessage::Reports(reports) | AgentMessage::ReportsBefore(reports) => {
                self.reports(from, reports)
            }
            AgentMessage::SetReport(report) => self.set_report(from, report),
            AgentMessage::Ask(ask) => {
                own_set(from, ask.from)?;
                self.per_byte(ask.request.per_byte)?;
                self.rank(ask.request.rank)
            }
            AgentMessage::Answered(answered) => {
                self.rank(answered.rank)?;
                self.answer(&answered.answer)
            }
            AgentMessage::Decided(decided) => {
                own_set(from, decided.set)?;
                let mut considered = decided.considered.iter();
                considered.try_for_each(|considered| self.considered(decided.set, considered))?;
                let mut probed = decided.probed.iter();
                probed.try_for_each(|link| {
                    check(self.set_of(link.from) == decided.set, || foreign(link.from))?;
                    self.probed(link)
                })
            }
            AgentMessage::Planned(planned) => planned.moves.iter().try_for_each(|planned| {
                self.per_byte(planned.per_byte)?;
                self.rank(planned.step.rank)?;
                self.host(planned.step.from)?;
                self.host(planned.step.to)
            }),
            AgentMessage::ProbeLink(order) => {
                let LinkProbe {
                    from,
                    to: other,
                    budget,
                } = order.probe;
                self.host(other)?;
                let is_sound = to == Address::Node(from) && from != other;
                check(is_sound && Seconds::ZERO <= budget, || {
                    format!("an impossible probe: {:?}", order.probe)
                })
            }
            AgentMessage::LinkProbed(probed) => {
                let link = probed.link;
                check(from == Address::Node(link.from), || foreign(link.from))?;
                self.probed(&link)
            }
            AgentMessage::Migrate(order) => {
                self.rank(order.rank)?;
                self.host(order.to)?;
                check(to == Address::Node(order.from), || {
                    format!("an order for {}", order.from)
                })?;
                check(0.0 <= order.deferred_cost.get(), || {
                    "a negative cost".to_owned()
                })
            }
            AgentMessage::Installed(installed) => {
                self.rank(installed.rank)?;
                self.host(installed.host)?;
                let is_own = match from {
                    Address::SetManager(set) => self.set_of(installed.host) == set,
                    _ => from == Address::Node(installed.host),
                };
                check(is_own, || foreign(installed.host))?;
                self.measured(installed.measured.as_ref())
            }
            AgentMessage::Finish
            | AgentMessage::Halted(_)
            | AgentMessage::StartCall(_)
            | AgentMessage::Measure(_)
            | AgentMessage::Reported(_)
            | AgentMessage::State(_) => Ok(()),
        }
    }

    fn reports(&self, from: Address, reports: &Reports) -> Result<(), String> {
        let host = reports.host;
        check(from == Address::Node(host), || foreign(host))?;
        let scheduler = self.rules.scheduler.as_ref();
        let has_loads = scheduler.is_some_and(Scheduler::reports_loads);
        reports.reports.iter().try_for_each(|report| {
            let Report { rank, load, .. } = report;
            self.rank(*rank)?;
            self.entry(self.set_of(host), &report.entry)?;
            let potentials = &report.evaluation.potentials;
            self.one_per_set("potentials", potentials.len())?;
            let mut sets = potentials.iter().map(|potential| potential.set.index());
            let is_sound = report.host == host
                && report.entry.rank == *rank
                && report.evaluation.own == report.entry.own
                && report
                    .evaluation
                    .within
                    .is_none_or(|cost| Seconds::ZERO <= cost)
                && sets.by_ref().eq(0..potentials.len())
                && load.is_some() == has_loads
                && load
                    .as_ref()
                    .is_none_or(|load| load.rank == *rank && load.host == host);
            check(is_sound, || format!("a contradictory report of {rank}"))?;
            load.as_ref().map_or(Ok(()), |load| self.load(load))
        })
    }

    fn set_report(&self, from: Address, report: &SetReport) -> Result<(), String> {
        let set = report.set;
        own_set(from, set)?;
        for entry in report.entries.iter() {
            self.rank(entry.rank)?;
            self.entry(set, entry)?;
        }
        check(report.entries.is_sorted_by(|a, b| a.rank < b.rank), || {
            format!("the processes of {set} are not in rank order")
        })?;
        let inventory = report.inventory.as_ref();
        inventory.map_or(Ok(()), |inventory| self.inventory(set, inventory))
    }

    fn inventory(&self, set: SetId, inventory: &Inventory) -> Result<(), String> {
        let processors = &inventory.processors;
        for processor in processors {
            self.host(processor.host)?;
            cores(processor.cores)?;
            let is_sound = self.set_of(processor.host) == set
                && processor.residents.is_empty()
                && (0.0..=1.0).contains(&processor.load);
            check(is_sound, || format!("an impossible {}", processor.host))?;
        }
        let hosts = (0..self.rules.sets.len()).map(HostId::from_index);
        let expected = hosts.filter(|host| self.set_of(*host) == set);
        check(
            processors.iter().map(|other| other.host).eq(expected),
            || format!("the inventory of {set} has other hosts than the Set"),
        )?;
        for load in &inventory.loads {
            self.rank(load.rank)?;
            self.host(load.host)?;
            check(self.set_of(load.host) == set, || foreign(load.host))?;
            self.load(load)?;
        }
        check(inventory.loads.is_sorted_by(|a, b| a.rank < b.rank), || {
            format!("the loads of {set} are not in rank order")
        })?;
        let is_own = |host| {
            processors
                .binary_search_by_key(&host, |own| own.host)
                .is_ok()
        };
        external(&inventory.measured.external, is_own)?;
        for link in &inventory.measured.links {
            self.host(link.from)?;
            check(self.set_of(link.from) == set, || foreign(link.from))?;
            self.links(link.from, &[*link])?;
        }
        self.one_per_set("rates", inventory.rates.len())
    }

    fn load(&self, load: &Load) -> Result<(), String> {
        let mut received = load.received.iter();
        received.try_for_each(|received| self.set(received.set))
    }

    fn considered(&self, set: SetId, considered: &Considered) -> Result<(), String> {
        let rank = considered.entry.rank;
        self.rank(rank)?;
        self.host(considered.host)?;
        self.entry(set, &considered.entry)?;
        check(considered.request.rank == rank, || {
            format!("a request for another process than {rank}")
        })?;
        self.per_byte(considered.request.per_byte)?;
        self.answer(&considered.answer)
    }

    fn answer(&self, answer: &Answer) -> Result<(), String> {
        match answer {
            Answer::Offer {
                host, runner_up, ..
            } => {
                self.host(*host)?;
                runner_up.map_or(Ok(()), |(host, _)| self.host(host))
            }
            Answer::Refuse(Refusal::NoFasterPlace { host, .. }) => self.host(*host),
            Answer::Refuse(Refusal::Idle | Refusal::NoProcessor) => Ok(()),
        }
    }

    /// Checks a row of the list of potentials, of a process in `own`.
    fn entry(&self, own: SetId, entry: &Entry) -> Result<(), String> {
        self.set(entry.target)?;
        check(entry.own == own, || {
            format!("{} is reported in {}", entry.rank, entry.own)
        })
    }

    fn address(&self, address: Address) -> Result<(), String> {
        match address {
            Address::Process(rank) => self.rank(rank),
            Address::Node(host) => self.host(host),
            Address::SetManager(set) => self.set(set),
            Address::Client => Err("a message of agents to or from a client".to_owned()),
        }
    }

    /// Checks the links that `host` has measured: each once, in order.
    fn links(&self, host: HostId, links: &[HostLink]) -> Result<(), String> {
        for link in links {
            self.host(link.to)?;
            let is_sound = link.from == host && 0.0 < link.per_byte && link.per_byte.is_finite();
            check(is_sound && self.learns(), || {
                format!("an impossible link: {link:?}")
            })?;
        }
        check(links.is_sorted_by(|a, b| a.to < b.to), || {
            format!("the links of {host} are not in order")
        })
    }

    /// Checks what a probe has found.
    fn probed(&self, link: &ProbedLink) -> Result<(), String> {
        let ProbedLink {
            from,
            to,
            per_byte,
            took,
        } = *link;
        check(Seconds::ZERO <= took, || {
            format!("an impossible probe: {link:?}")
        })?;
        self.links(from, &[HostLink { from, to, per_byte }])
    }

    /// Checks what an agent has learned of the cost of moves: it is there if it is learned at all.
    fn learned(&self, learned: Option<&CostCoefficients>) -> Result<(), String> {
        let is_sound = learned.is_none_or(CostCoefficients::are_sound);
        check(is_sound && learned.is_some() == self.learns(), || {
            format!("an impossible cost of moves: {learned:?}")
        })
    }

    /// Checks what the move of a process took.
    fn measured(&self, measured: Option<&MeasuredMove>) -> Result<(), String> {
        let is_sound = measured.is_none_or(MeasuredMove::is_sound);
        check(is_sound && measured.is_some() == self.learns(), || {
            format!("an impossible move: {measured:?}")
        })
    }

    /// Checks the seconds per byte that were predicted for a move.
    fn per_byte(&self, per_byte: Option<f64>) -> Result<(), String> {
        let is_sound = per_byte.is_none_or(|time| (0.0..f64::INFINITY).contains(&time));
        check(is_sound && per_byte.is_some() == self.learns(), || {
            format!("an impossible rate of a move: {per_byte:?}")
        })
    }

    fn learns(&self) -> bool {
        let scheduler = self.rules.scheduler.as_ref();
        scheduler.is_some_and(Scheduler::learns)
    }

    fn one_per_set(&self, what: &str, found: usize) -> Result<(), String> {
        let expected = self.rules.managers.len();
        check(found == expected, || {
            format!("{found} {what}, expected one for each of {expected} Sets")
        })
    }

    fn set_of(&self, host: HostId) -> SetId {
        self.rules.sets[host.index()]
    }
}

fn own_set(from: Address, set: SetId) -> Result<(), String> {
    check(from == Address::SetManager(set), || {
        format!("a message in the name of {set}")
    })
}

fn foreign(host: HostId) -> String {
    format!("a message about {host}, where its sender does not run")
}

/// Checks that a run has checkpoints, and that one can be ordered by this message, if it `is_ordered`.
fn checkpoint(rules: &Rules, is_ordered: bool, can_be: bool) -> Result<(), String> {
    check(!is_ordered || can_be && rules.checkpoints, || {
        "an order of a checkpoint that cannot be".to_owned()
    })
}

/// Checks external loads of hosts that `is_own`.
fn external(loads: &[ExternalLoad], is_own: impl Fn(HostId) -> bool) -> Result<(), String> {
    let is_sound = ExternalLoad::are_sound(loads, is_own);
    check(is_sound, || "impossible external loads".to_owned())
}

/// Checks the number of processors of a host.
fn cores(found: u32) -> Result<(), String> {
    check(CORES.contains(&found), || {
        let (least, most) = (CORES.start(), CORES.end());
        format!("{found} processors of a host, expected {least} to {most}")
    })
}

/// The numbers of processors that a host may have.
const CORES: RangeInclusive<u32> = 1..=1 << 16;

/// Checks that there is a `what` with this index, of `count`.
fn exists(what: &str, index: usize, count: usize) -> Result<(), String> {
    check(index < count, || {
        format!("{what} {index}, but there are {count}, counted from 0")
    })
}

/// Returns `problem` as an error unless `holds`.
///
/// # Errors
///
/// `problem`, if it does not hold.
pub fn check(holds: bool, problem: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(problem()) }
}
