//! Which agents a role speaks for, and what each kind of agent says.

use crate::identity::Role;
use crate::transport::Refusal;
use crate::{Address, Message};

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
        (Role::SetManager, _) | (Role::Node, Address::Process(_) | Address::Node(_)) => true,
        (Role::Node, Address::SetManager(_)) | (Role::Client, _) => false,
    }
}

/// Orders come from Set Managers, reports from those they are about.
fn says(from: Address, message: &Message) -> bool {
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
        | Message::Migrate(_) => (false, false, true),
        Message::Arrived(_) | Message::Installed(_) => (true, true, true),
        Message::Measured(_) | Message::Reports(_) => (false, true, false),
        Message::Reported(_) | Message::Halted(_) => (true, false, false),
        Message::State(_) => (true, true, false),
    };
    match from {
        Address::Process(_) => process,
        Address::Node(_) => node,
        Address::SetManager(_) => manager,
    }
}

fn name(message: &Message) -> &'static str {
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
        Message::Standing(_) => "Standing",
        Message::Ask(_) => "Ask",
        Message::Answered(_) => "Answered",
        Message::Decided(_) => "Decided",
        Message::Planned(_) => "Planned",
        Message::Migrate(_) => "Migrate",
        Message::State(_) => "State",
        Message::Installed(_) => "Installed",
        Message::Halted(_) => "Halted",
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
        let pinned = include_str!("../../tests/wire/pinned.txt").lines().skip(1);
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
        let of_hosts = ["Arrived", "Installed", "Measured", "Reports", "State"];
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
    }
}
