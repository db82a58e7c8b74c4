//! The ways that messages between agents take from machine to machine.

use crate::message::Address;

/// One way of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Route {
    /// Its sender.
    pub from: End,
    /// Its receiver.
    pub to: End,
    /// The runs in which it travels there.
    pub when: When,
}

/// An end of a [`Route`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// Any process.
    Process,
    /// A node: of the Set of the [`End::Manager`] at the other end, otherwise any.
    Node,
    /// The Manager of any Set; two of them are different ones.
    Manager,
    /// The first Manager, whose orders may be for any process, node or other Manager.
    First,
}

/// The runs in which a [`Route`] is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// The barrier is hierarchical.
    Hierarchical,
    /// Processes arrive at the barrier of the first Manager.
    Flat,
    /// There are rescheduling calls.
    Calling,
    /// There are calls, and processes arrive at the barrier of the first Manager, who begins them.
    FlatCalling,
    /// There are calls, in which Managers negotiate.
    Negotiating,
    /// There are calls, in which the first Manager plans.
    Planning,
    /// There are calls, and what moves cost is learned.
    Learning,
    /// There are calls, in which the first Manager plans with the costs of moves that it has learned.
    LearningPlanner,
}

impl End {
    /// Whether an agent may be at this end, if the role of its Set does not matter.
    #[must_use]
    pub const fn is_like(self, agent: Address) -> bool {
        match self {
            Self::Process => matches!(agent, Address::Process(_)),
            Self::Node => matches!(agent, Address::Node(_)),
            Self::Manager | Self::First => matches!(agent, Address::SetManager(_)),
        }
    }
}
