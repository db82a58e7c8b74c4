//! Which agents a peer may speak for, and which messages each kind of agent may send.

use std::collections::BTreeSet;

use bsp::{HostId, SetId};

use crate::identity::{Role, Subject};
use crate::transport::Refusal;
use crate::{Address, AgentMessage, JobMessage, Message, NodeMessage, variant};

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
    if has_job && from == Address::Client && peer.role != Role::Client {
        return Err(denied(peer.role, from, message));
    }
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
    // Any node may ask which view a job is in, offer to take part in one, and measure the way to another node.
    let asks = (role, from) == (Role::Node, Address::Client)
        && matches!(
            message,
            Message::Job(message) if matches!(**message, JobMessage::Lead(_) | JobMessage::Offer(_) | JobMessage::Fill(_))
        );
    if asks || (speaks_for(role, from) && may_send(from, message)) {
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
        // A node with this certificate may lead a job, and speaks as its client does then.
        (Role::Client | Role::SetManager, Address::Client)
        | (Role::SetManager, Address::SetManager(_))
        | (Role::SetManager | Role::Node, Address::Process(_) | Address::Node(_)) => true,
        (Role::Client, _) | (Role::Node, Address::Client | Address::SetManager(_)) => false,
    }
}

/// Whether an agent like `from` may send `message` to another machine.
fn may_send(from: Address, message: &Message) -> bool {
    match message {
        // A client sends processes that have not started.
        Message::Agent(AgentMessage::State(_)) if from == Address::Client => true,
        Message::Agent(message) => {
            let mut routes = message.routes().iter();
            routes.any(|route| route.from.is_like(from))
        }
        Message::Node(NodeMessage::Placed(_)) => matches!(from, Address::SetManager(_)),
        Message::Node(_) => matches!(from, Address::Node(_)),
        Message::Job(message) => match from {
            Address::Client => is_from_client(message),
            Address::Node(_) => !is_from_client(message),
            Address::Process(_) | Address::SetManager(_) => false,
        },
    }
}

/// Whether the client sends it, and not the node.
fn is_from_client(message: &JobMessage) -> bool {
    match message {
        JobMessage::Submit(_)
        | JobMessage::Meet { .. }
        | JobMessage::Begin { .. }
        | JobMessage::Inquire
        | JobMessage::Suspend
        | JobMessage::Hold
        | JobMessage::Drain
        | JobMessage::Offer(_)
        | JobMessage::Leave
        | JobMessage::Lead(_)
        | JobMessage::Attach(_)
        | JobMessage::Reach(_)
        | JobMessage::Transfer(_)
        | JobMessage::Fill(_)
        | JobMessage::End(_)
        | JobMessage::Stop => true,
        JobMessage::Accepted { .. }
        | JobMessage::Built
        | JobMessage::Ready { .. }
        | JobMessage::Recorded(_)
        | JobMessage::Ended(_)
        | JobMessage::Failed(_)
        | JobMessage::Status(_)
        | JobMessage::Suspended(_)
        | JobMessage::Leaving(_)
        | JobMessage::Offered(_)
        | JobMessage::Declined(_)
        | JobMessage::Attached(_)
        | JobMessage::Followed(_)
        | JobMessage::Reached(_)
        | JobMessage::Transferred(_)
        | JobMessage::Filled
        | JobMessage::Ending
        | JobMessage::Progressed(_)
        | JobMessage::OutputWritten(_) => false,
    }
}

/// The name of `message`.
fn name(message: &Message) -> String {
    match message {
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
        let pinned = include_str!("../../tests/protocol/wire/pinned.txt");
        let frames = pinned.lines().skip(1);
        let message = |line: &str| {
            let (_, hex) = line.split_once(' ').unwrap();
            let byte = |at: usize| u8::from_str_radix(&hex[at..at + 2], 16).unwrap();
            let frame: Bytes = (0..hex.len()).step_by(2).map(byte).collect();
            decode(frame, &Limits::default()).unwrap().2
        };
        frames.map(message).collect()
    }

    /// The messages that a peer in this role may send in the name of `from`.
    fn allowed(role: Role, from: Address) -> BTreeSet<String> {
        let messages = messages();
        let is_allowed = |message: &&Message| check(role, from, message).is_ok();
        messages.iter().filter(is_allowed).map(name).collect()
    }

    /// The messages between agents that the table lets agents like `from` send.
    fn in_table(from: Address) -> BTreeSet<String> {
        let messages = messages();
        let may_send = |message: &&Message| {
            let Message::Agent(message) = message else {
                return false;
            };
            message
                .routes()
                .iter()
                .any(|route| route.from.is_like(from))
        };
        messages.iter().filter(may_send).map(name).collect()
    }

    fn names<const N: usize>(names: [&str; N]) -> BTreeSet<String> {
        names.map(str::to_owned).into()
    }

    #[test]
    fn roles_limit_the_messages_of_agents() {
        let [process, node, manager] = [
            Address::Process(Rank(1)),
            Address::Node(HostId(1)),
            Address::SetManager(SetId(1)),
        ];
        let of_nodes = names([
            "Accepted",
            "Attached",
            "Batch",
            "BatchAcknowledged",
            "Built",
            "Checkpoint",
            "Declined",
            "Ended",
            "Ending",
            "Failed",
            "Filled",
            "Followed",
            "Leaving",
            "Offered",
            "OutputWritten",
            "Probe",
            "Progressed",
            "Reached",
            "Ready",
            "Recorded",
            "Status",
            "Suspended",
            "Transferred",
        ]);
        for role in [Role::Node, Role::SetManager] {
            assert_eq!(allowed(role, process), names(["Arrived"]));
            assert_eq!(allowed(role, node), &in_table(node) | &of_nodes);
        }
        let orders = &in_table(manager) | &names(["Placed"]);
        assert_eq!(allowed(Role::SetManager, manager), orders);
        for order in [
            "Start",
            "Finish",
            "StartCall",
            "Measure",
            "Migrate",
            "Planned",
        ] {
            assert!(orders.contains(order) && !in_table(node).contains(order));
        }
        assert!(allowed(Role::Node, manager).is_empty());
        for from in [process, node, manager] {
            assert!(allowed(Role::Client, from).is_empty());
        }
        let jobs = names([
            "Attach", "Begin", "Drain", "End", "Fill", "Hold", "Inquire", "Lead", "Leave", "Meet",
            "Offer", "Reach", "State", "Stop", "Submit", "Suspend", "Transfer",
        ]);
        for role in [Role::Client, Role::SetManager] {
            assert_eq!(allowed(role, Address::Client), jobs);
        }
        assert_eq!(
            allowed(Role::Node, Address::Client),
            names(["Fill", "Lead", "Offer"])
        );
    }
}
