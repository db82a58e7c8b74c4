//! Which agents a role speaks for, and what each kind of agent says.

use crate::identity::Role;
use crate::transport::Refusal;
use crate::{Address, AgentMessage, CallMessage, JobMessage, Message, NodeMessage};

/// Whether a peer in this role may send `message` as `from`.
pub(super) fn check(role: Role, from: Address, message: &Message) -> Result<(), Refusal> {
    if speaks_for(role, from) && says(from, message) {
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
fn says(from: Address, message: &Message) -> bool {
    let (process, node, manager) = match message {
        Message::Agent(message) => match message {
            AgentMessage::Start(_)
            | AgentMessage::Finish
            | AgentMessage::StartCall(_)
            | AgentMessage::Measure(_)
            | AgentMessage::Evaluate(_)
            | AgentMessage::Migrate(_) => (false, false, true),
            AgentMessage::Arrived(_) | AgentMessage::Installed(_) => (true, true, true),
            AgentMessage::Reported(_) | AgentMessage::Halted(_) => (true, false, false),
            // A client sends processes that have not started.
            AgentMessage::ProcessImage(_) if from == Address::Client => return true,
            AgentMessage::ProcessImage(_) => (true, true, false),
            AgentMessage::Call(message) => may_send_in_call(message),
        },
        Message::Call(message) => may_send_in_call(message),
        Message::Node(message) => match message {
            NodeMessage::Placed(_) => (false, false, true),
            NodeMessage::Batch(_) | NodeMessage::BatchAcknowledged(_) | NodeMessage::Probe(_) => {
                (false, true, false)
            }
        },
        Message::Job(message) => {
            return match from {
                Address::Client => is_asked(message),
                Address::Node(_) => !is_asked(message),
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
        CallMessage::Measured(_) | CallMessage::Reports(_) | CallMessage::ReportsBefore(_) => {
            (false, true, false)
        }
        CallMessage::Capacity(_)
        | CallMessage::SetReport(_)
        | CallMessage::Ask(_)
        | CallMessage::Answered(_)
        | CallMessage::Decided(_)
        | CallMessage::Planned(_) => (false, false, true),
    }
}

/// Whether it is the client who says it, and not the node.
fn is_asked(message: &JobMessage) -> bool {
    match message {
        JobMessage::Submit(_)
        | JobMessage::Meet { .. }
        | JobMessage::Begin
        | JobMessage::Inquire => true,
        JobMessage::Accepted { .. }
        | JobMessage::Ready
        | JobMessage::Recorded(_)
        | JobMessage::Ended(_)
        | JobMessage::Failed(_)
        | JobMessage::Status(_) => false,
    }
}

/// The name of `message`.
pub(super) const fn name(message: &Message) -> &'static str {
    match message {
        Message::Call(message) => call_name(message),
        Message::Agent(message) => match message {
            AgentMessage::Start(_) => "Start",
            AgentMessage::Finish => "Finish",
            AgentMessage::Arrived(_) => "Arrived",
            AgentMessage::StartCall(_) => "StartCall",
            AgentMessage::Measure(_) => "Measure",
            AgentMessage::Evaluate(_) => "Evaluate",
            AgentMessage::Reported(_) => "Reported",
            AgentMessage::Call(message) => call_name(message),
            AgentMessage::Migrate(_) => "Migrate",
            AgentMessage::ProcessImage(_) => "ProcessImage",
            AgentMessage::Installed(_) => "Installed",
            AgentMessage::Halted(_) => "Halted",
        },
        Message::Node(message) => match message {
            NodeMessage::Batch(_) => "Batch",
            NodeMessage::BatchAcknowledged(_) => "BatchAcknowledged",
            NodeMessage::Placed(_) => "Placed",
            NodeMessage::Probe(_) => "Probe",
        },
        Message::Job(message) => match **message {
            JobMessage::Submit(_) => "Submit",
            JobMessage::Accepted { .. } => "Accepted",
            JobMessage::Meet { .. } => "Meet",
            JobMessage::Ready => "Ready",
            JobMessage::Begin => "Begin",
            JobMessage::Recorded(_) => "Recorded",
            JobMessage::Ended(_) => "Ended",
            JobMessage::Failed(_) => "Failed",
            JobMessage::Inquire => "Inquire",
            JobMessage::Status(_) => "Status",
        },
    }
}

const fn call_name(message: &CallMessage) -> &'static str {
    match message {
        CallMessage::Measured(_) => "Measured",
        CallMessage::Capacity(_) => "Capacity",
        CallMessage::Reports(_) => "Reports",
        CallMessage::ReportsBefore(_) => "ReportsBefore",
        CallMessage::SetReport(_) => "SetReport",
        CallMessage::Ask(_) => "Ask",
        CallMessage::Answered(_) => "Answered",
        CallMessage::Decided(_) => "Decided",
        CallMessage::Planned(_) => "Planned",
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

    fn allowed(role: Role, from: Address) -> Vec<&'static str> {
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
    fn orders_come_from_set_managers_and_reports_from_those_they_are_about() {
        let [process, node, manager] = [
            Address::Process(Rank(1)),
            Address::Node(HostId(1)),
            Address::SetManager(SetId(1)),
        ];
        let reports = ["Arrived", "Halted", "Installed", "Reported", "ProcessImage"];
        let of_hosts = [
            "Accepted",
            "Arrived",
            "Ended",
            "Failed",
            "Installed",
            "Measured",
            "Batch",
            "Probe",
            "Ready",
            "Recorded",
            "Reports",
            "ReportsBefore",
            "ProcessImage",
            "Status",
            "BatchAcknowledged",
        ];
        let orders = [
            "Answered",
            "Arrived",
            "Ask",
            "Capacity",
            "StartCall",
            "Decided",
            "Evaluate",
            "Finish",
            "Installed",
            "Measure",
            "Migrate",
            "Placed",
            "Planned",
            "SetReport",
            "Start",
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
        let jobs = ["Begin", "Inquire", "Meet", "ProcessImage", "Submit"];
        assert_eq!(allowed(Role::Client, Address::Client), jobs);
        for role in [Role::Node, Role::SetManager] {
            assert!(allowed(role, Address::Client).is_empty());
        }
    }
}
