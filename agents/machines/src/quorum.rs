//! Who leads a job, and which of its nodes go on.
//!
//! A job has one leader: its client, or one of its nodes, when the client is lost or has left. The leader decides which nodes
//! take part in the next view. When a node loses its leader, it leaves the session. Then a member that may lead asks all members
//! to obey it:
//!
//! | rule | reason |
//! |---|---|
//! | a node obeys one peer at a time, until the connection to it is lost | no two candidates have one vote |
//! | a node asks to lead from the last complete view that it knows, and is obeyed by the members that know no later one | a node that has been left out does not come back |
//! | they say which views they have accepted since, and the next one has a higher number than all of them | a view that has been accepted is not passed over |
//! | the members of the next view are a quorum of those of each of these views, and all of them have to accept it | two next views share a node, which accepts one of them |
//! | no superstep ends before all members of a view have done theirs | a view that has lost a member stands still |
//!
//! A node that joins in a view does not ask to lead before it knows that the view is complete: then no quorum of the view before can
//! go on without it. Until then it only obeys a candidate, which knows that.
//!
//! A view is complete when all of its members have accepted it; its leader says so (`Meet`). Before, the view before it counts as
//! well: other nodes may still go on from that one. So a leader that loses a member while it waits for the others does not go on
//! with a quorum of the new view alone.
//!
//! So at any time at most one view of a job makes progress. Nothing of this is on disk: a node that is started again does not
//! know the job. No date decides anything; the time limits only have candidates try again.

use std::collections::BTreeSet;

use agents::mutant::{self, Mutant};
use protocol::AcceptedView;

/// Whether so many of the members of a view decide the next one: more than half of them, or half of them and the tie-breaker. That
/// is the client that leads the view, or the node that does.
///
/// # Examples
///
/// ```
/// use machines::quorum;
///
/// assert!(quorum(2, 3, false));
/// assert!(quorum(2, 4, true));
/// assert!(!quorum(2, 4, false));
/// ```
#[must_use]
pub const fn quorum(votes: usize, members: usize, has_tie_breaker: bool) -> bool {
    members < 2 * votes || (has_tie_breaker && members == 2 * votes)
}

/// Whether the members of a view that follows `view` may be those of `next` that are members of it. `by_client`: whether the
/// client submits it.
#[must_use]
pub fn may_follow<N: Ord>(view: &AcceptedView<N>, next: &BTreeSet<N>, by_client: bool) -> bool {
    let votes = view.members.iter().filter(|member| next.contains(member));
    let has_tie_breaker = match &view.leader {
        None => by_client,
        Some(leader) => next.contains(leader),
    };
    let votes = votes.count() + usize::from(mutant::is(Mutant::DecideWithFewer));
    quorum(votes, view.members.len(), has_tie_breaker)
}

/// The views of a job that a node has accepted. `N` names nodes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AcceptedViews<N = String> {
    /// In the order in which it has accepted them; there is one at least.
    views: Vec<AcceptedView<N>>,
    /// The place of the last one that is complete, as the node knows; `None`: it has joined, and knows of none.
    complete: Option<usize>,
}

impl<N: Ord + Clone> AcceptedViews<N> {
    /// Those of a node that has accepted the first view of a job, which counts as complete: without one of its members there is no
    /// job yet.
    #[must_use]
    pub fn new(first: AcceptedView<N>) -> Self {
        Self {
            views: vec![first],
            complete: Some(0),
        }
    }

    /// Those of a node that joins with this view. The view before counts until this one is complete, and the node does not know it: so
    /// it asks to lead no earlier than that.
    #[must_use]
    pub fn joining(view: AcceptedView<N>) -> Self {
        Self {
            complete: None,
            ..Self::new(view)
        }
    }

    /// The node accepts the next view.
    pub fn accept(&mut self, next: AcceptedView<N>) {
        self.views.push(next);
        while VIEWS_MAX < self.views.len()
            && let Some(complete) = self.complete.filter(|complete| 0 < *complete)
        {
            self.views.remove(0);
            self.complete = Some(complete - 1);
        }
    }

    /// All members have accepted the last view.
    pub const fn complete_last(&mut self) {
        self.complete = Some(self.views.len() - 1);
    }

    /// The last view.
    #[must_use]
    pub fn last(&self) -> &AcceptedView<N> {
        &self.views[self.views.len() - 1]
    }

    /// The last view that is complete, as the node knows, if it knows of one: this node asks to lead from that.
    #[must_use]
    pub fn complete(&self) -> Option<&AcceptedView<N>> {
        Some(&self.views[self.complete?])
    }

    /// If this node may obey the candidate of this name, which asks to lead from the view of `session`, that this node knows, and of
    /// which no later one is complete: that view, and those that this node has accepted since.
    #[must_use]
    pub fn since(
        &self,
        session: u64,
        candidate: &N,
    ) -> Option<(&AcceptedView<N>, &[AcceptedView<N>])> {
        let place = self.views.iter().position(|view| view.session == session)?;
        let view = &self.views[place];
        if mutant::is(Mutant::ObeyOlderView) {
            return Some((view, &[]));
        }
        // A candidate knows that the view of which it asks is complete.
        let may_lead = self.complete <= Some(place) && view.members.contains(candidate);
        may_lead.then_some((view, &self.views[place + 1..]))
    }
}

/// The most views that a node remembers, unless more are incomplete.
const VIEWS_MAX: usize = 8;

#[cfg(test)]
mod tests;
