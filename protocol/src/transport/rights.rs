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
