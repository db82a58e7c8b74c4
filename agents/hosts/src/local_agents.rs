//! The agents of one host, as actors with mailboxes.

use std::collections::{BTreeMap, VecDeque};
use std::convert::Infallible;
use std::rc::Rc;

use actix::{Actor, Addr, Handler};
use agents::{
    AgentContext, Delivery, Event, Handed, Node, NodeAgent, Process, ProcessAgent, SetManager,
    SetManagerAgent,
};
use bsp::{HostId, Rank, SetId};
use machines::node::action::StartedJob;
use machines::{JobError, Residents};
use protocol::{Address, variant};
use tokio::sync::mpsc;

/// The agents of one host.
pub(super) struct LocalAgents {
    own: HostId,
    context: Rc<AgentContext>,
    processes: BTreeMap<Rank, Addr<ProcessAgent>>,
    node: Addr<NodeAgent>,
    /// The Manager of the host's Set, if it runs here.
    manager: Option<(SetId, Addr<SetManagerAgent>)>,
}

impl LocalAgents {
    /// The agents that start on `own`.
    pub(super) fn new(started: StartedJob) -> Self {
        let StartedJob {
            own,
            rules,
            world,
            processes,
            ..
        } = started;
        let context = Rc::new(AgentContext { rules, world });
        let rules = &context.rules;
        let Residents { ranks, manager } = Residents::of(rules, own);
        let process = |(rank, process)| (rank, ProcessAgent::new(process, &context).start());
        let processes = processes.into_iter().map(process).collect();
        let manager = manager.map(|(set, hosts)| {
            let manager = SetManager::new(rules, set, hosts);
            (set, SetManagerAgent::new(manager, &context).start())
        });
        let node = Node::new(rules, own, ranks);
        Self {
            own,
            processes,
            node: NodeAgent::new(node, &context).start(),
            manager,
            context,
        }
    }

    /// Processes have left, or are done.
    pub(super) fn release(&mut self, ranks: Vec<Rank>) {
        for rank in ranks {
            self.processes.remove(&rank);
        }
    }

    /// Delivers events to agents, in this order to each of them, and waits until all have been handled.
    ///
    /// They are sent together, because waiting for a mailbox costs more than most events.
    pub(super) async fn deliver(&mut self, deliveries: VecDeque<Delivery>) -> Result<(), JobError> {
        let agents: Vec<Address> = deliveries.iter().map(|delivery| delivery.to).collect();
        let (waited_for, mut handled) = mpsc::channel(1);
        for delivery in deliveries {
            self.hand(delivery, &waited_for)?;
        }
        drop(waited_for);
        // No value is sent: the channel closes when all events have been handled.
        let None = handled.recv().await;
        let failed = agents.into_iter().find(|agent| !self.lives(*agent));
        // An actor that is not connected has panicked; the message of the panic is in this node's log.
        failed.map_or(Ok(()), |agent| {
            Err(JobError::cluster(format!(
                "the agent {agent:?} has failed; see the log of its node"
            )))
        })
    }

    fn hand(&mut self, delivery: Delivery, waited_for: &Token) -> Result<(), JobError> {
        let Delivery { to, event } = delivery;
        if let (Address::Process(rank), Event::Moved(_)) = (to, &event) {
            let process = Process::new(&self.context.rules, rank, self.own);
            let agent = ProcessAgent::new(process, &self.context);
            self.processes.insert(rank, agent.start());
        }
        let handed = Handed {
            event,
            _waited_for: waited_for.clone(),
        };
        match to {
            Address::Process(rank) => tell(self.processes.get(&rank), to, handed),
            Address::Node(_) => tell(self.node(to), to, handed),
            Address::SetManager(_) => tell(self.manager(to), to, handed),
            Address::Client => tell::<NodeAgent>(None, to, handed),
        }
    }

    fn lives(&self, agent: Address) -> bool {
        match agent {
            Address::Process(rank) => self.processes.get(&rank).is_some_and(Addr::connected),
            Address::Node(_) => self.node(agent).is_some_and(Addr::connected),
            Address::SetManager(_) => self.manager(agent).is_some_and(Addr::connected),
            Address::Client => false,
        }
    }

    fn node(&self, agent: Address) -> Option<&Addr<NodeAgent>> {
        Some(&self.node).filter(|_| agent == Address::Node(self.own))
    }

    fn manager(&self, agent: Address) -> Option<&Addr<SetManagerAgent>> {
        let (set, manager) = self.manager.as_ref()?;
        (agent == Address::SetManager(*set)).then_some(manager)
    }
}

/// Held by each event until its agent has handled it.
type Token = mpsc::Sender<Infallible>;

fn tell<A>(agent: Option<&Addr<A>>, to: Address, handed: Handed) -> Result<(), JobError>
where
    A: Actor<Context = actix::Context<A>> + Handler<Handed>,
{
    let Some(agent) = agent else {
        let event = variant(&handed.event);
        let problem = format!("{event} for {to:?}, which is not here");
        return Err(JobError::cluster(problem));
    };
    agent.do_send(handed);
    Ok(())
}
