//! A node of a cluster: it waits for clients, and takes part in one job at a time.

mod shell;

use std::collections::BTreeSet;
use std::fmt;
use std::future::Future;
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use bsp::units::InstructionsPerSecond;
use machines::node::{NodeParts, Prepare};
use machines::{Builds, Routes};
use protocol::identity::files::RevocationsFile;
use protocol::identity::{Identity, Role};
use protocol::transport::{Bounds, Endpoint, PeerPolicy};

use super::Machine;
use super::abandoned::AbandonedSupersteps;
use super::checkpoints::allowed::CheckpointFolders;
use super::counter::counted_speed;
use super::execution::Executions;
use super::meter::{LoadMeter, LoadScope, measured_speed, processors};
use super::node_error::NodeError;
use super::pace::Pace;
use super::pool::ProcessorSpeed;
use super::revocations::follow;
use shell::NodeShell;

/// A node of a cluster.
pub struct Node {
    /// Its certificate and key.
    pub identity: Identity,
    /// The file whose list of revocations replaces that of the identity when it changes.
    pub revocations: Option<RevocationsFile>,
    /// The address at which it listens; with port 0, the system chooses the port.
    pub address: SocketAddr,
    /// Where it reaches other nodes, if not at the addresses of a client's list.
    pub routes: Routes,
    /// The build that it runs, and whether its clients and other nodes may run others.
    pub builds: Builds,
    /// The workloads that its program knows, for clients of other programs.
    pub workloads: Vec<String>,
    /// The time for which a superstep may go on after the end of its job before the node ends itself; `None`: no limit.
    pub exit_when_stuck: Option<Duration>,
    /// Of one processor; `None`: it is measured.
    pub speed: Option<InstructionsPerSecond>,
    /// How long computations last, compared with the processor time that they take.
    pub pace: Pace,
    /// The processes of the operating system whose computation does not count as external load.
    pub scope: LoadScope,
    /// The folders to which it may write checkpoints.
    pub checkpoints: CheckpointFolders,
    /// What a job is made of.
    pub prepare: Box<Prepare>,
}

impl Node {
    /// Waits for clients until `leave` is ready; a job that runs then is ended. Tells `ready` where clients find it.
    ///
    /// The thread that calls it carries all messages from then on.
    ///
    /// # Errors
    ///
    /// If it cannot begin.
    pub fn run(
        self,
        ready: impl FnOnce(SocketAddr),
        leave: impl Future<Output = ()> + 'static,
    ) -> Result<(), NodeError> {
        let speed = self.speed.unwrap_or_else(measured_speed);
        let machine = Machine {
            processors: processors(),
            processor: ProcessorSpeed {
                speed,
                counted: counted_speed(),
            },
            pace: self.pace,
            load: LoadMeter::begin(self.scope),
            executions: Executions::default(),
        };
        let abandoned = AbandonedSupersteps::new(&machine.executions, self.exit_when_stuck);
        actix_rt::System::new().block_on(async move {
            let guests =
                PeerPolicy::Roles(BTreeSet::from([Role::Client, Role::Node, Role::SetManager]));
            let (bounds, build) = (Bounds::default(), self.builds.own.clone());
            let endpoint = Endpoint::bind(self.identity, self.address, guests, bounds, build)?;
            ready(endpoint.address()?);
            let endpoint = Arc::new(endpoint);
            if let Some(file) = self.revocations {
                drop(actix_rt::spawn(follow(Arc::clone(&endpoint), file)));
            }
            let name = endpoint.identity().certificate().subject.name.to_string();
            let parts = NodeParts {
                name,
                builds: self.builds,
                routes: self.routes,
                prepare: self.prepare,
                meter: Rc::new(machine.clone()),
            };
            let offer = (self.workloads, self.checkpoints);
            let (shell, events) = NodeShell::new(endpoint, (machine, abandoned), parts, offer);
            let shell = Rc::new(shell);
            tokio::select! {
                () = Rc::clone(&shell).serve(events) => {}
                () = shell.leave_after(leave) => {}
                reason = shell.stuck() => return Err(NodeError::Stuck(reason)),
            }
            Ok(())
        })
    }
}

impl fmt::Debug for Node {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Node")
            .field("identity", &self.identity)
            .field("address", &self.address)
            .field("builds", &self.builds)
            .finish_non_exhaustive()
    }
}
