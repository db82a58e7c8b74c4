//! Which agents a peer may speak for, and which messages each kind of agent may send.

use std::collections::BTreeSet;

use bsp::{HostId, SetId};

use crate::identity::{Role, Subject};
use crate::transport::Refusal;
use crate::{Address, AgentMessage, CallMessage, JobMessage, Message, NodeMessage, variant};

/// The hosts and Sets for which a peer may speak in its job. For processes, the placement decides.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SpeakingRights {
    /// The hosts of the peer.
    pub hosts: BTreeSet<HostId>,
    /// The Sets that it manages.
    pub sets: BTreeSet<SetId>,
}

/// Checks that `peer` may send `message` in the name of `from`, on a connection with or without a job. Within its job, it
/// speaks for the agents of `rights`, once they are known.
///
/// # Errors
///
/// If it may not.
pub fn check_message(
    peer: &Subject,
    (has_job, rights): (bool, Option<&SpeakingRights>),
    from: Address,
    message: &Message,
) -> Result<(), Refusal> {
    // A state also travels between a client and a node: the initial process and its output.
    let may_be_either = matches!(message, Message::Agent(AgentMessage::State(_)));
    let is_of_a_job = if may_be_either {
        has_job
    } else {
        !matches!(message, Message::Job(_))
    };
    if is_of_a_job != has_job {
        let message = name(message);
        return Err(Refusal::Connection { message, has_job });
    }
    check(peer.role, from, message)?;
    let is_own = rights.is_none_or(|rights| match from {
        Address::Process(_) | Address::Client => true,
        Address::Node(host) => rights.hosts.contains(&host),
        Address::SetManager(set) => rights.sets.contains(&set),
    });
    let name = peer.name.clone();
    is_own.then_some(()).ok_or(Refusal::Agent { name, from })
}

/// Checks that a peer in this role may send `message` in the name of `from`.
fn check(role: Role, from: Address, message: &Message) -> Result<(), Refusal> {
    if speaks_for(role, from) && may_send(from, message) {
        Ok(())
    } else {
        Err(denied(role, from, message))
    }
}

pub(super) fn denied(role: Role, from: Address, message: &Message) -> Refusal {
    Refusal::Rights {
        role,
        from,
        message: name(message),
    }
}

fn speaks_for(role: Role, from: Address) -> bool {
    match (role, from) {
        (Role::Client, Address::Client)
        | (Role::SetManager, Address::SetManager(_))
        | (Role::SetManager | Role::Node, Address::Process(_) | Address::Node(_)) => true,
        (Role::Client, _)
        | (Role::SetManager | Role::Node, Address::Client)
        | (Role::Node, Address::SetManager(_)) => false,
    }
}

/// Whether an agent like `from` may send `message`: Set Managers send orders, processes and nodes send reports, clients
/// submit jobs.
fn may_send(from: Address, message: &Message) -> bool {
    let (process, node, manager) = match message {
        Message::Agent(message) => match message {
            AgentMessage::Start(_)
            | AgentMessage::Finish
            | AgentMessage::StartCall(_)
            | AgentMessage::Measure(_)
            | AgentMessage::Evaluate(_)
            | AgentMessage::ProbeLink(_)
            | AgentMessage::Migrate(_) => (false, false, true),
            AgentMessage::Arrived(_) | AgentMessage::Installed(_) => (true, true, true),
            AgentMessage::Reported(_) | AgentMessage::Halted(_) => (true, false, false),
            // A client sends processes that have not started.
            AgentMessage::State(_) if from == Address::Client => return true,
            AgentMessage::State(_) => (true, true, false),
            AgentMessage::Call(message) => may_send_in_call(message),
        },
        Message::Call(message) => may_send_in_call(message),
        Message::Node(message) => match message {
            NodeMessage::Placed(_) => (false, false, true),
            NodeMessage::Batch(_)
            | NodeMessage::BatchAcknowledged(_)
            | NodeMessage::Probe(_)
            | NodeMessage::Checkpoint(..) => (false, true, false),
        },
        Message::Job(message) => {
            return match from {
                Address::Client => is_from_client(message),
                Address::Node(_) => !is_from_client(message),
                Address::Process(_) | Address::SetManager(_) => false,
            };
        }
    };
    match from {
        Address::Process(_) => process,
        Address::Node(_) => node,
        Address::SetManager(_) => manager,
        Address::Client => false,
    }
}

/// Whether processes, nodes and Set Managers may send `message`.
const fn may_send_in_call(message: &CallMessage) -> (bool, bool, bool) {
    match message {
        CallMessage::Measured(_)
        | CallMessage::Reports(_)
        | CallMessage::ReportsBefore(_)
        | CallMessage::LinkProbed(_) => (false, true, false),
        CallMessage::Capacity(_)
        | CallMessage::SetReport(_)
        | CallMessage::Ask(_)
        | CallMessage::Answered(_)
        | CallMessage::Decided(_)
        | CallMessage::Planned(_) => (false, false, true),
    }
}

/// Whether the client sends it, and not the node.
fn is_from_client(message: &JobMessage) -> bool {
    match message {
        JobMessage::Submit(_)
        | JobMessage::Meet { .. }
        | JobMessage::Begin
        | JobMessage::Inquire
        | JobMessage::Stop => true,
        JobMessage::Accepted { .. }
        | JobMessage::Ready
        | JobMessage::Recorded(_)
        | JobMessage::Ended(_)
        | JobMessage::Failed(_)
        | JobMessage::Status(_) => false,
    }
}

/// The name of `message`.
fn name(message: &Message) -> String {
    match message {
        Message::Call(message) | Message::Agent(AgentMessage::Call(message)) => variant(message),
        Message::Agent(message) => variant(message),
        Message::Node(message) => variant(message),
        Message::Job(message) => variant(message),
    }
}

#[cfg(test)]
mod tests {
    use bsp::{HostId, Rank, SetId};
    use bytes::Bytes;

    use super::*;
    use crate::{Limits, decode};

    /// An example of every message.
    fn messages() -> Vec<Message> {
        let pinned = include_str!("../../tests/protocol/wire/pinned.txt")
            .lines()
            .skip(1);
        let message = |line: &str| {
            let hex = &line[10..];
            let byte = |at: usize| u8::from_str_radix(&hex[at..at + 2], 16).unwrap();
            let frame: Bytes = (0..hex.len()).step_by(2).map(byte).collect();
            decode(frame, &Limits::default()).unwrap().2
        };
        pinned.map(message).collect()
    }

    fn allowed(role: Role, from: Address) -> Vec<String> {
        let messages = messages();
        let allowed = messages
            .iter()
            .filter(|message| check(role, from, message).is_ok());
        let mut names: Vec<_> = allowed.map(name).collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    #[test]
    fn roles_limit_the_messages_of_agents() {
        let [process, node, manager] = [
            Address::Process(Rank(1)),
            Address::Node(HostId(1)),
            Address::SetManager(SetId(1)),
        ];
        let reports = ["Arrived", "Halted", "Installed", "Reported", "State"];
        let of_hosts = [
            "Accepted",
            "Arrived",
            "Batch",
            "BatchAcknowledged",
            "Checkpoint",
            "Ended",
            "Failed",
            "Installed",
            "LinkProbed",
            "Measured",
            "Probe",
            "Ready",
            "Recorded",
            "Reports",
            "ReportsBefore",
            "State",
            "Status",
        ];
        let orders = [
            "Answered",
            "Arrived",
            "Ask",
            "Capacity",
            "Decided",
            "Evaluate",
            "Finish",
            "Installed",
            "Measure",
            "Migrate",
            "Placed",
            "Planned",
            "ProbeLink",
            "SetReport",
            "Start",
            "StartCall",
        ];
        for role in [Role::Node, Role::SetManager] {
            assert_eq!(allowed(role, process), reports);
            assert_eq!(allowed(role, node), of_hosts);
        }
        assert_eq!(allowed(Role::SetManager, manager), orders);
        assert!(allowed(Role::Node, manager).is_empty());
        for from in [process, node, manager] {
            assert!(allowed(Role::Client, from).is_empty());
        }
        let jobs = ["Begin", "Inquire", "Meet", "State", "Stop", "Submit"];
        assert_eq!(allowed(Role::Client, Address::Client), jobs);
        for role in [Role::Node, Role::SetManager] {
            assert!(allowed(role, Address::Client).is_empty());
        }
    }
}
