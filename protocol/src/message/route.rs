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
    /// A node: of the Set of the [`End::Manager`] at the other end, otherwise any.
    Node,
    /// The Manager of any Set; two of them are different ones.
    Manager,
    /// The first Manager, whose orders may be for any node or other Manager.
    First,
    /// A process or a node that arrives at the barrier of the [`End::Above`] at the other end.
    Below,
    /// The Manager that ends the supersteps of the [`End::Below`] at the other end.
    Above,
}

/// The runs in which a [`Route`] is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// All.
    Always,
    /// Each Manager ends the supersteps of its Set.
    EachEnds,
    /// There are rescheduling calls.
    Calling,
    /// There are calls, which the first Manager begins, because it ends all supersteps.
    FirstEndsCalling,
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
            Self::Below => matches!(agent, Address::Process(_) | Address::Node(_)),
            Self::Node => matches!(agent, Address::Node(_)),
            Self::Manager | Self::First | Self::Above => matches!(agent, Address::SetManager(_)),
        }
    }
}
