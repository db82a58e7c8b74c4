//! Memory for frames of which only a part has arrived.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::Limits;
use crate::transport::Refusal;

/// The memory that the incomplete frames of several connections share.
///
/// A frame that needs more waits until others are complete. One frame at a time, the one that has waited longest, may
/// exceed the budget, so that frames of which each has a part do not wait for each other.
#[derive(Clone, Debug)]
pub(super) struct FrameBudget {
    /// Free bytes.
    free: Arc<Semaphore>,
    /// The right to exceed the budget.
    first: Arc<Semaphore>,
}

/// Bytes of incomplete frames on all connections of one member.
#[derive(Clone, Debug)]
pub(super) struct MemberFrames {
    bytes: Arc<AtomicU64>,
    limit: u64,
}

/// How long the frames of a peer may be, and the budget from which they take memory.
#[derive(Debug)]
pub(super) struct FrameRules {
    pub(super) limits: Limits,
    /// The first bytes of a frame, which are not counted.
    pub(super) uncounted: u64,
    pub(super) budget: FrameBudget,
    pub(super) member: MemberFrames,
}

/// The part of a budget that the incomplete frame of a connection takes.
#[derive(Debug)]
pub(super) struct FrameShare {
    budget: FrameBudget,
    member: MemberFrames,
    taken: u64,
    permit: Option<OwnedSemaphorePermit>,
    first: Option<OwnedSemaphorePermit>,
}

impl FrameBudget {
    pub(super) fn new(bytes: u32) -> Self {
        let bytes = usize::try_from(bytes).expect("32 bits fit a usize");
        Self {
            free: Arc::new(Semaphore::new(bytes)),
            first: Arc::new(Semaphore::new(1)),
        }
    }
}

impl MemberFrames {
    /// Frames that take `bytes` now, and may take `limit`.
    pub(super) const fn new(bytes: Arc<AtomicU64>, limit: u64) -> Self {
        Self { bytes, limit }
    }
}

impl FrameShare {
    /// Nothing of the budget of `rules`.
    pub(super) fn new(rules: &FrameRules) -> Self {
        Self {
            budget: rules.budget.clone(),
            member: rules.member.clone(),
            taken: 0,
            permit: None,
            first: None,
        }
    }

    /// Waits until the frame may take `bytes`. Dropping the future takes nothing.
    ///
    /// # Errors
    ///
    /// If the frames of the member take too much together.
    pub(super) async fn grow_to(&mut self, bytes: u64) -> Result<(), Refusal> {
        let more = bytes.saturating_sub(self.taken);
        if more == 0 {
            return Ok(());
        }
        if self.first.is_none() {
            self.wait_for(more).await;
        }
        let MemberFrames {
            bytes: all, limit, ..
        } = &self.member;
        let before = all.fetch_add(more, Ordering::Relaxed);
        self.taken += more;
        if *limit < before + more {
            return Err(Refusal::Share { limit: *limit });
        }
        Ok(())
    }

    /// Gives everything back: the frame is complete.
    pub(super) fn release(&mut self) {
        if 0 < self.taken {
            self.member.bytes.fetch_sub(self.taken, Ordering::Relaxed);
            self.taken = 0;
            self.permit = None;
            self.first = None;
        }
    }

    /// Takes `more` bytes of the budget, or the right to exceed it.
    async fn wait_for(&mut self, more: u64) {
        let free = Arc::clone(&self.budget.free);
        let first = Arc::clone(&self.budget.first);
        let more = u32::try_from(more).unwrap_or(u32::MAX);
        // Neither semaphore is ever closed.
        tokio::select! {
            biased;
            Ok(permit) = free.acquire_many_owned(more) => match &mut self.permit {
                Some(taken) => taken.merge(permit),
                None => self.permit = Some(permit),
            },
            Ok(permit) = first.acquire_owned() => self.first = Some(permit),
            else => {}
        }
    }
}

impl Drop for FrameShare {
    fn drop(&mut self) {
        self.release();
    }
}

#[cfg(test)]
mod tests {
    use std::future::Future;
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    use super::*;

    fn share_of(budget: &FrameBudget, member: MemberFrames) -> FrameShare {
        FrameShare::new(&FrameRules {
            limits: Limits::default(),
            uncounted: 0,
            budget: budget.clone(),
            member,
        })
    }

    fn share(budget: &FrameBudget) -> FrameShare {
        share_of(budget, MemberFrames::new(Arc::default(), 1000))
    }

    /// Whether `share` may grow to `bytes` now.
    fn may_grow(share: &mut FrameShare, bytes: u64) -> bool {
        let growing = pin!(share.grow_to(bytes));
        let mut context = Context::from_waker(Waker::noop());
        growing.poll(&mut context) == Poll::Ready(Ok(()))
    }

    #[test]
    fn one_frame_at_a_time_may_exceed_the_budget() {
        let budget = FrameBudget::new(100);
        let [mut a, mut b, mut c] = [0; 3].map(|_| share(&budget));
        assert!(may_grow(&mut a, 60) && may_grow(&mut b, 40));
        assert!(may_grow(&mut b, 500) && may_grow(&mut b, 900));
        assert!(!may_grow(&mut a, 61) && !may_grow(&mut c, 1));
        b.release();
        assert!(may_grow(&mut c, 10) && may_grow(&mut a, 90));
        assert!(may_grow(&mut a, 91) && !may_grow(&mut c, 11));
        drop(a);
        assert!(may_grow(&mut c, 100));
        drop(c);
        assert_eq!(budget.free.available_permits(), 100);
        assert_eq!(budget.first.available_permits(), 1);
    }

    #[test]
    fn frames_of_one_member_are_limited_together() {
        let budget = FrameBudget::new(1000);
        let member = MemberFrames::new(Arc::default(), 100);
        let [mut a, mut b] = [0; 2].map(|_| share_of(&budget, member.clone()));
        assert!(may_grow(&mut a, 60) && may_grow(&mut b, 40));
        assert!(!may_grow(&mut b, 41));
        a.release();
        drop(b);
        assert!(may_grow(&mut a, 100));
    }
}
