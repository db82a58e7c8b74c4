//! The agents of one host, as actors with mailboxes.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::sync::Arc;

use actix::{Actor, Addr, Handler};
use bsp::{HostId, Rank, SetId};
use protocol::Address;

use super::failure::JobError;
use super::world::HostWorld;
use crate::actors::{Deliver, NodeAgent, ProcessAgent, SetManagerAgent, Surroundings};
use crate::node::Node;
use crate::process::Process;
use crate::set_manager::SetManager;
use crate::setup::Rules;
use crate::world::{Delivery, Event, World};

/// The agents of one host.
pub(super) struct Cast {
    own: HostId,
    surroundings: Rc<Surroundings>,
    processes: BTreeMap<Rank, Addr<ProcessAgent>>,
    node: Addr<NodeAgent>,
    /// The Manager of the host's Set, if it lives here.
    manager: Option<(SetId, Addr<SetManagerAgent>)>,
}

impl Cast {
    /// The agents that start on `own`.
    pub(super) fn new(own: HostId, rules: &Arc<Rules>, world: &Rc<RefCell<HostWorld>>) -> Self {
        let world: Rc<RefCell<dyn World>> = Rc::clone(world) as Rc<RefCell<dyn World>>;
        let surroundings = Rc::new(Surroundings {
            rules: Arc::clone(rules),
            world,
        });
        let placement = rules.placement.iter().enumerate();
        let here = placement.filter(|(_, host)| **host == own);
        let residents: BTreeSet<Rank> = here.map(|(index, _)| Rank::from_index(index)).collect();
        let process = |rank: &Rank| {
            let process = Process::new(rules, *rank, own);
            (*rank, ProcessAgent::new(process, &surroundings).start())
        };
        let processes = residents.iter().map(process).collect();
        let set = rules.sets[own.index()];
        let manager = (rules.managers[set.index()] == own).then(|| {
            let hosts = (0..rules.sets.len()).map(HostId::from_index);
            let hosts = hosts
                .filter(|host| rules.sets[host.index()] == set)
                .collect();
            let manager = SetManager::new(rules, set, hosts);
            (set, SetManagerAgent::new(manager, &surroundings).start())
        });
        let node = Node::new(rules, own, residents);
        Self {
            own,
            processes,
            node: NodeAgent::new(node, &surroundings).start(),
            manager,
            surroundings,
        }
    }

    /// The processes whose agents are here.
    pub(super) fn ranks(&self) -> Vec<Rank> {
        self.processes.keys().copied().collect()
    }

    /// Processes have left, or are done.
    pub(super) fn release(&mut self, ranks: Vec<Rank>) {
        for rank in ranks {
            self.processes.remove(&rank);
        }
    }

    /// Tells an agent what happens, and waits until it has done what follows.
    pub(super) async fn deliver(&mut self, delivery: Delivery) -> Result<(), JobError> {
        let Delivery { to, event } = delivery;
        match to {
            Address::Process(rank) => {
                if matches!(event, Event::Moved(_)) {
                    let process = Process::new(&self.surroundings.rules, rank, self.own);
                    let agent = ProcessAgent::new(process, &self.surroundings);
                    self.processes.insert(rank, agent.start());
                }
                tell(self.processes.get(&rank), to, event).await
            }
            Address::Node(host) => {
                let node = Some(&self.node).filter(|_| host == self.own);
                tell(node, to, event).await
            }
            Address::SetManager(set) => {
                let manager = self.manager.as_ref().filter(|(own, _)| *own == set);
                tell(manager.map(|(_, manager)| manager), to, event).await
            }
            Address::Client => tell::<NodeAgent>(None, to, event).await,
        }
    }
}

async fn tell<A>(agent: Option<&Addr<A>>, to: Address, event: Event) -> Result<(), JobError>
where
    A: Actor<Context = actix::Context<A>> + Handler<Deliver>,
{
    let Some(agent) = agent else {
        let problem = format!("a message for {to:?}, which is not here: {event:?}");
        return Err(JobError::cluster(problem));
    };
    // A closed mailbox is an actor that panicked; the panic's own words are in this node's log.
    let told = agent.send(Deliver(event)).await;
    told.map_err(|_| {
        JobError::cluster(format!(
            "the agent {to:?} has failed; see the log of its node"
        ))
    })
}
