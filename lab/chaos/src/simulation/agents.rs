//! The agents of one host, without mailboxes.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use agents::{Delivery, Event, Node, Process, Rules, SetManager, World};
use bsp::{HostId, Rank, SetId};
use machines::node::StartedJob;
use machines::{JobError, Residents};
use protocol::Address;

/// The agents of one host.
pub(super) struct DirectAgents {
    own: HostId,
    rules: Arc<Rules>,
    world: Rc<RefCell<dyn World>>,
    processes: BTreeMap<Rank, Process>,
    node: Node,
    manager: Option<(SetId, SetManager)>,
}

impl DirectAgents {
    pub(super) fn new(started: StartedJob) -> Self {
        let StartedJob {
            own,
            rules,
            world,
            processes,
            ..
        } = started;
        let Residents { ranks, manager } = Residents::of(&rules, own);
        let manages = |(set, hosts)| (set, SetManager::new(&rules, set, hosts));
        Self {
            own,
            world,
            processes,
            manager: manager.map(manages),
            node: Node::new(&rules, own, ranks),
            rules,
        }
    }

    /// Has an agent handle an event.
    pub(super) fn deliver(&mut self, delivery: Delivery) -> Result<(), JobError> {
        let Delivery { to, event } = delivery;
        if let (Address::Process(rank), Event::Moved(_)) = (to, &event) {
            let process = Process::new(&self.rules, rank, self.own);
            self.processes.insert(rank, process);
        }
        let (rules, world) = (&self.rules, &mut *self.world.borrow_mut());
        match to {
            Address::Process(rank) => {
                if let Some(process) = self.processes.get_mut(&rank) {
                    process.handle(rules, event, world);
                    return Ok(());
                }
            }
            Address::Node(host) if host == self.own => {
                self.node.handle(rules, event, world);
                return Ok(());
            }
            Address::SetManager(set) => {
                if let Some((own, manager)) = &mut self.manager
                    && *own == set
                {
                    manager.handle(rules, event, world);
                    return Ok(());
                }
            }
            Address::Node(_) | Address::Client => {}
        }
        Err(JobError::cluster(format!(
            "a message for {to:?}, which is not here: {event:?}"
        )))
    }

    /// Processes have left, or are done.
    pub(super) fn release(&mut self, ranks: &[Rank]) {
        for rank in ranks {
            self.processes.remove(rank);
        }
    }
}
