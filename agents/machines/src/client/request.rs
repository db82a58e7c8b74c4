//! A job for a cluster, as a client submits it.

use agents::Setup;
use protocol::Member;

use crate::builds::Builds;

/// A job for a cluster.
#[derive(Clone, Debug)]
pub struct Request {
    /// The build of the client, and whether nodes may run others.
    pub builds: Builds,
    /// The workload that the nodes must have.
    pub workload: String,
    /// The nodes that take part, by host. Those of a Set are adjacent, the node of its Manager first.
    pub members: Vec<Member>,
    /// The experiment with all its values, for the nodes.
    pub experiment: String,
    /// The folder to which its checkpoints are written, an absolute path, if they are. The client and all nodes share it.
    pub checkpoint: Option<String>,
    /// The setup that the nodes derive from the experiment; its hosts are those of the cluster.
    pub setup: Setup,
}
