//! The actix actors: shells around the machines, without decisions of their own.

use std::cell::RefCell;
use std::fmt;
use std::rc::Rc;
use std::sync::Arc;

use actix::{Actor, Context, Handler, Message};

use crate::node::Node;
use crate::process::Process;
use crate::set_manager::SetManager;
use crate::setup::Rules;
use crate::world::{Event, World};

/// An event for an actor: the one message that all actors handle.
#[derive(Debug)]
pub struct Deliver(pub Event);

impl Message for Deliver {
    type Result = ();
}

/// What every actor holds beside its machine.
pub struct AgentContext {
    /// What all agents of the run know.
    pub rules: Arc<Rules>,
    /// The world of the agent.
    pub world: Rc<RefCell<dyn World>>,
}

impl fmt::Debug for AgentContext {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("AgentContext")
            .field("rules", &self.rules)
            .finish_non_exhaustive()
    }
}

macro_rules! agents {
    ($($(#[$doc:meta])* $agent:ident hosts $machine:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Debug)]
        pub struct $agent {
            /// What decides.
            pub machine: $machine,
            context: Rc<AgentContext>,
        }

        impl $agent {
            /// An actor that has `machine` handle its events.
            pub fn new(machine: $machine, context: &Rc<AgentContext>) -> Self {
                Self { machine, context: Rc::clone(context) }
            }
        }

        impl Actor for $agent {
            type Context = Context<Self>;
        }

        impl Handler<Deliver> for $agent {
            type Result = ();

            fn handle(&mut self, Deliver(event): Deliver, _: &mut Context<Self>) {
                let AgentContext { rules, world } = &*self.context;
                self.machine.handle(rules, event, &mut *world.borrow_mut());
            }
        }
    )*};
}

agents! {
    /// The actor of one process; keeps its rank wherever it runs.
    ProcessAgent hosts Process;
    /// The actor of one host.
    NodeAgent hosts Node;
    /// The actor that manages one Set.
    SetManagerAgent hosts SetManager;
}
