//! The simulated world: one thread, one clock, one queue of events that is every actor's mailbox.
//!
//! [`simulate`] runs programs on a platform and passes on every event of the record. The same setup and programs give the
//! same events, bit for bit, on any machine.
//!
//! The driver takes an event from the queue and calls the agent's handler. `simulate_in_mailboxes` sends the same
//! events through real mailboxes; tests compare the records, byte for byte.
//!
//! What agents do costs what it costs on real hosts. Messages of agents take the network with their encoded size, so a
//! call costs what its messages do. The state of a process that moves is encoded, moved and decoded, the agent's with
//! the program's.
//!
//! Programs of a superstep are executed when its first process starts it, or before it is released. All inboxes are
//! complete then. So only durations are left to the simulator, and the world knows how many messages each process waits
//! for.
//!
//! What the world knows is not kept twice, because events and messages of a barrier exist once or twice for each
//! process at a time. The queue of events and the network have a process and a kind for each (`world`,
//! `transfers`). The event itself is made when its agent is to handle it; a message that says something else than
//! the world would is kept as it is. A message of a program is its number in the plan of the superstep. The output of a
//! process takes the place of its program. What is observed of receptions is kept if a history or a trace needs it.
//! Large vectors that are empty most of the time give their memory back.
//!
//! In reading order: this file (the loop), `world` (what agents ask for, and the events that answer it), `supersteps` and `traffic`
//! (programs and their messages), `repetition`, `transfers` (messages of agents), `checkpoints`, `pool` (hosts that join).

mod attainable;
mod checkpoints;
mod link_probes;
mod pool;
mod repetition;
mod supersteps;
mod traffic;
mod transfers;
mod world;

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use actix::{Actor, Context, Handler};
use agents::{
    AgentContext, Deliver, Delivery, Event, Node, NodeAgent, Outcome, Process, ProcessAgent,
    Programs, Rules, RunError, SetManager, SetManagerAgent, Setup,
};
use bsp::{HostId, Rank, SetId};
use protocol::Address;
use world::SimulatedWorld;

/// Runs `programs` on the platform of `setup` and passes every event of the record to `observer`.
///
/// The same setup and programs give the same events, bit for bit, on any machine.
///
/// # Errors
///
/// If the programs are at fault, or the platform cannot carry them.
pub fn simulate(
    setup: &Setup,
    programs: Programs,
    observer: &mut dyn FnMut(&record::Event),
) -> Result<Outcome, RunError> {
    let mut simulation = Simulation::new(setup, programs)?;
    let Agents {
        mut processes,
        mut nodes,
        mut managers,
    } = simulation.agents(setup);
    // Handlers do not use their contexts, so actors without a mailbox share them.
    let mut process_context = Context::new();
    let mut node_context = Context::new();
    let mut manager_context = Context::new();
    let rules = Arc::clone(&simulation.rules);
    let next = |simulation: &mut Simulation,
                processes: &mut [ProcessAgent],
                observer: &mut dyn FnMut(&record::Event)| {
        simulation.next(observer, &mut |rank, event, world| {
            processes[rank.index()].machine.handle(&rules, event, world);
        })
    };
    while let Some(Delivery { to, event }) = next(&mut simulation, &mut processes, observer) {
        let deliver = Deliver(event);
        match to {
            Address::Process(rank) => processes[rank.index()].handle(deliver, &mut process_context),
            Address::Node(host) => nodes[host.index()].handle(deliver, &mut node_context),
            Address::SetManager(set) => managers[set.index()].handle(deliver, &mut manager_context),
            Address::Client => unreachable!("simulated jobs have no client"),
        }
    }
    simulation.end(observer)
}

/// The same as [`simulate`], every event going through the actor's real mailbox: slower, and with the
/// same result. No superstep passes as an earlier one did without being simulated.
///
/// # Errors
///
/// As [`simulate`].
///
/// # Panics
///
/// If called from within an actix system, or if an actor does.
pub fn simulate_in_mailboxes(
    setup: &Setup,
    programs: Programs,
    observer: &mut dyn FnMut(&record::Event),
) -> Result<Outcome, RunError> {
    actix_rt::System::new().block_on(async {
        let setup = &Setup {
            repeats: false,
            ..setup.clone()
        };
        let mut simulation = Simulation::new(setup, programs)?;
        let Agents {
            processes,
            nodes,
            managers,
        } = simulation.agents(setup);
        let processes: Vec<_> = processes.into_iter().map(Actor::start).collect();
        let nodes: Vec<_> = nodes.into_iter().map(Actor::start).collect();
        let managers: Vec<_> = managers.into_iter().map(Actor::start).collect();
        let never =
            &mut |_, _, _: &mut SimulatedWorld| unreachable!("every superstep is simulated");
        while let Some(Delivery { to, event }) = simulation.next(observer, never) {
            let deliver = Deliver(event);
            match to {
                Address::Process(rank) => processes[rank.index()].send(deliver).await,
                Address::Node(host) => nodes[host.index()].send(deliver).await,
                Address::SetManager(set) => managers[set.index()].send(deliver).await,
                Address::Client => unreachable!("simulated jobs have no client"),
            }
            .expect("a closed mailbox is an actor that panicked");
        }
        simulation.end(observer)
    })
}

/// A run in progress: the world and the agents.
struct Simulation {
    world: Rc<RefCell<SimulatedWorld>>,
    rules: Arc<Rules>,
}

struct Agents {
    processes: Vec<ProcessAgent>,
    nodes: Vec<NodeAgent>,
    managers: Vec<SetManagerAgent>,
}

impl Simulation {
    fn new(setup: &Setup, programs: Programs) -> Result<Self, RunError> {
        setup.check(programs.len())?;
        if setup.resumed.is_some() {
            let problem = "simulations resume no jobs: they begin with superstep 0";
            return Err(RunError::Resumption(problem.to_owned()));
        }
        let rules = Arc::new(Rules::new(setup).in_rounds(programs.round()));
        let programs = programs.into_simulated(setup.superstep_limit);
        let world = SimulatedWorld::new(setup, Arc::clone(&rules), programs);
        let world = Rc::new(RefCell::new(world));
        Ok(Self { world, rules })
    }

    /// The agents of the run, with the first superstep started.
    fn agents(&mut self, setup: &Setup) -> Agents {
        let rules = Arc::clone(&self.rules);
        let world: Rc<RefCell<dyn agents::World>> = self.world.clone();
        let context = Rc::new(AgentContext { rules, world });
        let rules = &context.rules;
        let mut processes = Vec::with_capacity(setup.placement.len());
        for (index, host) in setup.placement.iter().enumerate() {
            let rank = Rank::from_index(index);
            processes.push(ProcessAgent::new(
                Process::new(rules, rank, *host),
                &context,
            ));
        }
        self.world.borrow_mut().begin();
        let mut ranks: Vec<Rank> = (0..setup.placement.len()).map(Rank::from_index).collect();
        ranks.sort_by_key(|rank| setup.placement[rank.index()]);
        let mut ranks = ranks.into_iter();
        let hosts = rules.on_host.iter().enumerate();
        let nodes = hosts
            .map(|(index, count)| {
                let count = usize::try_from(*count).expect("u32 fits usize");
                let residents = ranks.by_ref().take(count);
                let node = Node::new(rules, HostId::from_index(index), residents);
                NodeAgent::new(node, &context)
            })
            .collect();
        let managers = setup
            .platform
            .sets()
            .iter()
            .enumerate()
            .map(|(index, set)| {
                let id = SetId::from_index(index);
                let present = set.hosts.iter().filter(|host| !rules.absent.contains(host));
                let manager = SetManager::new(rules, id, present.copied().collect());
                SetManagerAgent::new(manager, &context)
            })
            .collect();
        Agents {
            processes,
            nodes,
            managers,
        }
    }

    /// The next event and its agent; `None` when the run is over. `handle` has processes handle the events of a superstep
    /// that passes as an earlier one did.
    fn next(
        &mut self,
        observer: &mut dyn FnMut(&record::Event),
        handle: &mut dyn FnMut(Rank, Event, &mut SimulatedWorld),
    ) -> Option<Delivery> {
        let mut world = self.world.borrow_mut();
        let delivery = world.next(handle);
        world.observe(observer);
        delivery
    }

    fn end(self, observer: &mut dyn FnMut(&record::Event)) -> Result<Outcome, RunError> {
        let outcome = self.world.borrow_mut().end()?;
        observer(&record::Event::End(outcome.end));
        Ok(outcome)
    }
}
