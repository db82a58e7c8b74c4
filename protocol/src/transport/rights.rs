//! Which agents a role speaks for, and what each kind of agent says.

use crate::identity::Role;
use crate::transport::Refusal;
use crate::{Address, Errand, Message};

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

/// Orders come from Set Managers, reports from those they are about; jobs come from clients.
fn says(from: Address, message: &Message) -> bool {
    if let Message::Errand(errand) = message {
        return match from {
            Address::Client => is_asked(errand),
            Address::Node(_) => !is_asked(errand),
            Address::Process(_) | Address::SetManager(_) => false,
        };
    }
    let (process, node, manager) = match message {
        Message::Start(_)
        | Message::Finish
        | Message::Confer(_)
        | Message::Measure(_)
        | Message::Capacity(_)
        | Message::Evaluate(_)
        | Message::Standing(_)
        | Message::Ask(_)
        | Message::Answered(_)
        | Message::Decided(_)
        | Message::Planned(_)
        | Message::Migrate(_)
        | Message::Placed(_) => (false, false, true),
        Message::Arrived(_) | Message::Installed(_) => (true, true, true),
        Message::Measured(_)
        | Message::Reports(_)
        | Message::ReportsBefore(_)
        | Message::Parcel(_)
        | Message::Taken(_)
        | Message::Probe(_) => (false, true, false),
        Message::Reported(_) | Message::Halted(_) => (true, false, false),
        Message::State(_) => (true, true, false),
        Message::Errand(_) => unreachable!("looked at above"),
    };
    match from {
        Address::Process(_) => process,
        Address::Node(_) => node,
        Address::SetManager(_) => manager,
        // A process that has not begun.
        Address::Client => matches!(message, Message::State(_)),
    }
}

/// Whether it is the client who says it, and not the node.
fn is_asked(errand: &Errand) -> bool {
    match errand {
        Errand::Submit(_) | Errand::Meet { .. } | Errand::Begin | Errand::Inquire => true,
        Errand::Accepted { .. }
        | Errand::Ready
        | Errand::Recorded(_)
        | Errand::Ended(_)
        | Errand::Failed(_)
        | Errand::Status(_) => false,
    }
}

pub(super) fn name(message: &Message) -> &'static str {
    match message {
        Message::Start(_) => "Start",
        Message::Finish => "Finish",
        Message::Arrived(_) => "Arrived",
        Message::Confer(_) => "Confer",
        Message::Measure(_) => "Measure",
        Message::Measured(_) => "Measured",
        Message::Capacity(_) => "Capacity",
        Message::Evaluate(_) => "Evaluate",
        Message::Reported(_) => "Reported",
        Message::Reports(_) => "Reports",
        Message::ReportsBefore(_) => "ReportsBefore",
        Message::Standing(_) => "Standing",
        Message::Ask(_) => "Ask",
        Message::Answered(_) => "Answered",
        Message::Decided(_) => "Decided",
        Message::Planned(_) => "Planned",
        Message::Migrate(_) => "Migrate",
        Message::State(_) => "State",
        Message::Installed(_) => "Installed",
        Message::Halted(_) => "Halted",
        Message::Parcel(_) => "Parcel",
        Message::Taken(_) => "Taken",
        Message::Placed(_) => "Placed",
        Message::Probe(_) => "Probe",
        Message::Errand(errand) => match **errand {
            Errand::Submit(_) => "Submit",
            Errand::Accepted { .. } => "Accepted",
            Errand::Meet { .. } => "Meet",
            Errand::Ready => "Ready",
            Errand::Begin => "Begin",
            Errand::Recorded(_) => "Recorded",
            Errand::Ended(_) => "Ended",
            Errand::Failed(_) => "Failed",
            Errand::Inquire => "Inquire",
            Errand::Status(_) => "Status",
        },
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
        let reports = ["Arrived", "Halted", "Installed", "Reported", "State"];
        let of_hosts = [
            "Accepted",
            "Arrived",
            "Ended",
            "Failed",
            "Installed",
            "Measured",
            "Parcel",
            "Probe",
            "Ready",
            "Recorded",
            "Reports",
            "ReportsBefore",
            "State",
            "Status",
            "Taken",
        ];
        let orders = [
            "Answered",
            "Arrived",
            "Ask",
            "Capacity",
            "Confer",
            "Decided",
            "Evaluate",
            "Finish",
            "Installed",
            "Measure",
            "Migrate",
            "Placed",
            "Planned",
            "Standing",
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
        let jobs = ["Begin", "Inquire", "Meet", "State", "Submit"];
        assert_eq!(allowed(Role::Client, Address::Client), jobs);
        for role in [Role::Node, Role::SetManager] {
            assert!(allowed(role, Address::Client).is_empty());
        }
    }
}
