//! The nodes of a run, and the client's connection to them.

use std::env;
use std::path::PathBuf;

use protocol::Member;
use protocol::identity::{Identity, Role};

use crate::live::identity;
use experiments::Failure;
use experiments::cluster::Cluster;

/// The nodes of a cluster, Set by Set, and the identity of the client.
#[derive(Debug)]
pub(crate) struct ClusterMembers {
    pub(crate) members: Vec<Member>,
    pub(crate) client: Identity,
}

/// Location of a cluster and of the client's certificate.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct ClusterArguments {
    /// The hosts, in the syntax of Open MPI's hostfiles [default: those that Slurm gave]
    #[arg(long, visible_alias = "hostfile", value_name = "FILE")]
    cluster: Option<PathBuf>,
    /// Folder of the client's certificate and key [default: ~/.config/migbsp]
    #[arg(long, value_name = "DIR")]
    identity: Option<PathBuf>,
    /// Name of the client, if the folder has several
    #[arg(long = "as", value_name = "NAME")]
    name: Option<protocol::identity::Name>,
}

impl ClusterArguments {
    /// Whether any of them is given.
    pub(crate) const fn is_given(&self) -> bool {
        self.cluster.is_some() || self.identity.is_some() || self.name.is_some()
    }
}

impl ClusterMembers {
    /// The cluster that the arguments, or Slurm, name.
    ///
    /// # Errors
    ///
    /// If there is no cluster, or no certificate of a client.
    pub(crate) fn find(arguments: &ClusterArguments) -> Result<Self, Failure> {
        let cluster = match &arguments.cluster {
            Some(file) => Cluster::load(file)?,
            None => {
                let slurm = Cluster::from_slurm(|name| env::var(name).ok())?;
                slurm.ok_or_else(|| Failure::Usage(NO_CLUSTER.to_owned()))?
            }
        };
        let folder = arguments.identity.as_deref();
        Ok(Self {
            members: members(&cluster),
            client: identity::find(folder, arguments.name.as_ref(), Role::Client)?,
        })
    }
}

/// The role of each member: the first of a Set is its Manager.
pub(crate) fn roles(members: &[Member]) -> impl Iterator<Item = Role> {
    members.iter().enumerate().map(|(index, member)| {
        let before = &members[..index];
        let is_first = before.iter().all(|other| other.set != member.set);
        if is_first {
            Role::SetManager
        } else {
            Role::Node
        }
    })
}

fn members(cluster: &Cluster) -> Vec<Member> {
    let member = |member: &experiments::cluster::Member| Member {
        name: member.name.to_string(),
        address: member.address.clone(),
        set: cluster.sets()[member.set].clone(),
        slots: member.slots,
        speed: member.speed,
    };
    cluster.members().iter().map(member).collect()
}

const NO_CLUSTER: &str = "--cluster FILE is missing, and this is no job of Slurm: name a file with a line per host, as \
                          `node-1 slots=4 set=left`; or try `{bin} up --local 4 -- run FILE`";
