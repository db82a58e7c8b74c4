//! What peers may take of an endpoint: handshakes in progress, connections, memory for frames of which only a part has
//! arrived, and lines in the log; and which certificates are still accepted.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::time::Instant;

use crate::Limits;
use crate::identity::{Certificate, Identity, Revocations, Subject};
use crate::transport::link::CertificateEnd;
use crate::transport::{Bounds, Refusal};

/// Counts the handshakes in progress, in total and for each address.
#[derive(Debug)]
pub(super) struct Admission {
    bounds: Bounds,
    pending: Mutex<PendingHandshakes>,
}

/// Invariant: `total` is the sum of `from`, and no count in `from` is 0.
#[derive(Debug, Default)]
struct PendingHandshakes {
    total: u16,
    from: BTreeMap<Origin, u16>,
}

/// What to do with a peer that asks for a handshake.
#[derive(Debug)]
pub(super) enum Decision {
    /// Begin the handshake; the permit is held until it ends.
    Admit(HandshakePermit),
    /// Ask the peer to prove its address first.
    Retry,
    /// Refuse: too many handshakes are in progress.
    Refuse,
    /// Ignore: too many handshakes from its address are in progress.
    Ignore,
}

/// The right to one handshake; dropped when it ends.
#[derive(Debug)]
pub(super) struct HandshakePermit {
    admission: Arc<Admission>,
    origin: Origin,
}

/// The addresses that are counted together: an IPv4 address, or an IPv6 network of 64 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Origin(IpAddr);

impl Admission {
    pub(super) fn new(bounds: Bounds) -> Self {
        let pending = Mutex::default();
        Self { bounds, pending }
    }

    /// Decides about a handshake from `address`; `is_proved` says whether the peer has proved that address.
    ///
    /// An address that is not proved may be forged. Handshakes without proof take at most a quarter of the
    /// share of an address, so that forged packets cannot keep its owner out.
    pub(super) fn decide(self: &Arc<Self>, address: IpAddr, is_proved: bool) -> Decision {
        let origin = Origin::new(address);
        let mut pending = self.lock();
        let from = pending.from.get(&origin).copied().unwrap_or(0);
        let Bounds {
            handshakes,
            handshakes_per_address,
            retry_from,
            ..
        } = self.bounds;
        let retry_from_here = handshakes_per_address.div_ceil(4);
        if !is_proved && (retry_from <= pending.total || retry_from_here <= from) {
            return Decision::Retry;
        }
        if handshakes <= pending.total {
            return Decision::Refuse;
        }
        if handshakes_per_address <= from {
            return Decision::Ignore;
        }
        pending.total += 1;
        pending.from.insert(origin, from + 1);
        Decision::Admit(HandshakePermit {
            admission: Arc::clone(self),
            origin,
        })
    }

    fn lock(&self) -> MutexGuard<'_, PendingHandshakes> {
        // Assignments leave no partial value behind.
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for HandshakePermit {
    fn drop(&mut self) {
        let mut pending = self.admission.lock();
        let left = pending.from.remove(&self.origin).unwrap_or(0);
        if 1 < left {
            pending.from.insert(self.origin, left - 1);
        }
        pending.total -= 1;
    }
}

impl Origin {
    fn new(address: IpAddr) -> Self {
        Self(match address.to_canonical() {
            IpAddr::V6(address) => {
                let network = address.to_bits() & (u128::MAX << 64);
                Ipv6Addr::from_bits(network).into()
            }
            address @ IpAddr::V4(_) => address,
        })
    }
}

/// Counts the connections that members have opened to an endpoint.
#[derive(Debug)]
pub(super) struct ConnectionPermits {
    bounds: Bounds,
    open: Mutex<OpenConnections>,
}

/// Invariant: `total` is the sum of the counts in `of`, and none of them is 0.
#[derive(Debug, Default)]
struct OpenConnections {
    total: u16,
    of: BTreeMap<Subject, (u16, Arc<AtomicU64>)>,
}

/// The right to one connection; dropped when it ends.
#[derive(Debug)]
pub(super) struct ConnectionPermit {
    permits: Arc<ConnectionPermits>,
    member: Subject,
    frames: Arc<AtomicU64>,
}

/// Why a member may not open another connection.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum TooManyConnections {
    #[error("{member} has {limit} connections, the largest number: close one")]
    Member { member: String, limit: u16 },
    #[error("{limit} connections are open, the largest number: try again later")]
    All { limit: u16 },
}

impl ConnectionPermits {
    pub(super) fn new(bounds: Bounds) -> Self {
        let open = Mutex::default();
        Self { bounds, open }
    }

    /// A permit for a connection that `member` has opened.
    pub(super) fn take(
        self: &Arc<Self>,
        member: &Subject,
    ) -> Result<ConnectionPermit, TooManyConnections> {
        let mut open = self.lock();
        let limit = self.bounds.connections;
        if limit <= open.total {
            return Err(TooManyConnections::All { limit });
        }
        let limit = self.bounds.connections_per_member;
        let (count, frames) = open.of.get(member).cloned().unwrap_or_default();
        if limit <= count {
            let Subject { role, name, .. } = member;
            let member = format!("{role} {name}");
            return Err(TooManyConnections::Member { member, limit });
        }
        open.total += 1;
        let counted = (count + 1, Arc::clone(&frames));
        open.of.insert(member.clone(), counted);
        Ok(ConnectionPermit {
            permits: Arc::clone(self),
            member: member.clone(),
            frames,
        })
    }

    fn lock(&self) -> MutexGuard<'_, OpenConnections> {
        // Assignments leave no partial value behind.
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ConnectionPermit {
    /// Bytes of incomplete frames on all connections of the member.
    pub(super) fn frames(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.frames)
    }
}

impl Drop for ConnectionPermit {
    fn drop(&mut self) {
        let mut open = self.permits.lock();
        if let Some((count, frames)) = open.of.remove(&self.member)
            && 1 < count
        {
            open.of.insert(self.member.clone(), (count - 1, frames));
        }
        open.total -= 1;
    }
}

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

/// Lets a number of lines of one kind into the log in each period, then one that says how many more there were.
#[derive(Debug)]
pub struct LogLimit {
    /// The name of what the lines are about, in the plural.
    what: &'static str,
    period: Mutex<Option<LogPeriod>>,
}

/// A period that has begun with a line.
#[derive(Debug)]
struct LogPeriod {
    began: Instant,
    lines: u32,
    /// Lines that were left out.
    more: u64,
}

/// What to do with a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LineDecision {
    Write,
    /// Leave it out; it is the first one that is left out of the period that ends then.
    BeginCount(Instant),
    Count,
}

impl LogLimit {
    /// A limit for lines about `what`.
    #[must_use]
    pub fn new(what: &'static str) -> Self {
        let period = Mutex::default();
        Self { what, period }
    }

    /// Whether a line may be written now. Otherwise it is counted, and the count written when the period ends, by a task of the
    /// tokio runtime.
    pub fn admits(self: &Arc<Self>) -> bool {
        match self.decide(Instant::now()) {
            LineDecision::Write => true,
            LineDecision::Count => false,
            LineDecision::BeginCount(end) => {
                let limit = Arc::clone(self);
                drop(tokio::spawn(async move {
                    tokio::time::sleep_until(end).await;
                    let more = limit.end_period();
                    let what = limit.what;
                    tracing::warn!(more, "more {what} in {} s", PERIOD.as_secs());
                }));
                false
            }
        }
    }

    fn decide(&self, now: Instant) -> LineDecision {
        let mut period = self.lock();
        let has_ended = |period: &LogPeriod| period.more == 0 && period.began + PERIOD <= now;
        if period.as_ref().is_none_or(has_ended) {
            *period = Some(LogPeriod {
                began: now,
                lines: 0,
                more: 0,
            });
        }
        let Some(period) = &mut *period else {
            return LineDecision::Write;
        };
        if period.lines < LINES {
            period.lines += 1;
            return LineDecision::Write;
        }
        period.more += 1;
        if period.more == 1 {
            LineDecision::BeginCount(period.began + PERIOD)
        } else {
            LineDecision::Count
        }
    }

    /// Ends the period, and returns how many lines were left out of it.
    fn end_period(&self) -> u64 {
        self.lock().take().map_or(0, |period| period.more)
    }

    fn lock(&self) -> MutexGuard<'_, Option<LogPeriod>> {
        // Assignments leave no partial value behind.
        self.period.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Lines in a period.
const LINES: u32 = 10;
const PERIOD: Duration = Duration::from_secs(10);

/// What limits all connections of an endpoint together.
#[derive(Clone, Debug)]
pub(super) struct SharedBounds {
    pub(super) standing: Arc<Standing>,
    /// Whether a job starts.
    pub(super) patience: Arc<AtomicBool>,
    pub(super) permits: Arc<ConnectionPermits>,
    /// Lines about refused connections in the log.
    pub(super) connection_log: Arc<LogLimit>,
    /// Lines about refused frames in the log.
    pub(super) frame_log: Arc<LogLimit>,
    bounds: Bounds,
    frames: FrameBudget,
    visitor_frames: FrameBudget,
}

impl SharedBounds {
    pub(super) fn new(bounds: Bounds, standing: Standing) -> Self {
        Self {
            standing: Arc::new(standing),
            patience: Arc::default(),
            permits: Arc::new(ConnectionPermits::new(bounds)),
            connection_log: Arc::new(LogLimit::new("refused connections")),
            frame_log: Arc::new(LogLimit::new("refused frames")),
            bounds,
            frames: FrameBudget::new(bounds.frames),
            visitor_frames: FrameBudget::new(bounds.visitor_frames),
        }
    }

    /// The rules for frames of a member whose incomplete frames take `bytes` now.
    pub(super) fn frame_rules(&self, is_visitor: bool, bytes: Arc<AtomicU64>) -> FrameRules {
        let Bounds {
            frame,
            visitor_frame,
            ..
        } = self.bounds;
        if is_visitor {
            let head = u64::try_from(visitor_frame.head).expect("a length fits 64 bits");
            let longest = head.saturating_add(visitor_frame.payload);
            return FrameRules {
                limits: visitor_frame,
                uncounted: self.bounds.visitor_window.into(),
                budget: self.visitor_frames.clone(),
                member: MemberFrames::new(bytes, longest),
            };
        }
        FrameRules {
            limits: frame,
            uncounted: self.bounds.uncounted.into(),
            budget: self.frames.clone(),
            member: MemberFrames::new(bytes, self.bounds.member_frames.into()),
        }
    }
}

/// The identity of an endpoint, and which certificates it still accepts: those that have neither expired nor been revoked.
#[derive(Debug)]
pub(super) struct Standing {
    own: watch::Sender<Arc<Identity>>,
    revocations: Mutex<Option<Arc<Revocations>>>,
}

impl Standing {
    /// The standing of an endpoint with the identity `own`.
    pub(super) fn new(own: Identity, revocations: Option<Revocations>) -> Self {
        let (own, _) = watch::channel(Arc::new(own));
        let revocations = Mutex::new(revocations.map(Arc::new));
        Self { own, revocations }
    }

    /// The identity of the endpoint.
    pub(super) fn identity(&self) -> Arc<Identity> {
        Arc::clone(&self.own.borrow())
    }

    /// Learns when the identity is replaced.
    pub(super) fn renewals(&self) -> watch::Receiver<Arc<Identity>> {
        self.own.subscribe()
    }

    /// Replaces the identity by one of the same subject.
    pub(super) fn set_identity(&self, identity: Identity) {
        drop(self.own.send_replace(Arc::new(identity)));
    }

    /// The list of revocations in force.
    pub(super) fn revocations(&self) -> Option<Arc<Revocations>> {
        // Assignments leave no partial value behind.
        let revocations = self.revocations.lock();
        revocations.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Replaces the list of revocations.
    pub(super) fn set_revocations(&self, revocations: Revocations) {
        let current = self.revocations.lock();
        *current.unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(revocations));
    }

    /// Why the connection to a peer whose last certificate is `peer` may not go on at `now`, if so.
    pub(super) fn end(&self, peer: &Certificate, now: SystemTime) -> Option<CertificateEnd> {
        let (revocations, own) = (self.revocations(), self.identity());
        [peer, own.certificate()]
            .into_iter()
            .find_map(|certificate| {
                let Certificate {
                    subject,
                    validity,
                    serial,
                } = certificate;
                let subject = subject.clone();
                let is_revoked = |list: &Revocations| list.serials().contains(serial);
                if revocations.as_deref().is_some_and(is_revoked) {
                    return Some(CertificateEnd::Revoked { subject });
                }
                validity
                    .has_ended(now)
                    .then_some(CertificateEnd::Expired { subject })
            })
    }
}

#[cfg(test)]
mod tests {
    use std::future::Future;
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    use super::*;

    fn admission(handshakes: u16, per_address: u16, retry_from: u16) -> Arc<Admission> {
        Arc::new(Admission::new(Bounds {
            handshakes,
            handshakes_per_address: per_address,
            retry_from,
            ..Bounds::default()
        }))
    }

    /// Checks how many proved peers are admitted from `addresses`, in turn, and the decision about the next one.
    fn check(
        admission: &Arc<Admission>,
        addresses: &[&str],
        expect: usize,
        then: &str,
    ) -> Vec<HandshakePermit> {
        let mut permits = Vec::new();
        for address in addresses.iter().cycle() {
            match admission.decide(address.parse().unwrap(), true) {
                Decision::Admit(permit) => permits.push(permit),
                decision @ (Decision::Retry | Decision::Refuse | Decision::Ignore) => {
                    assert_eq!(format!("{decision:?}"), then);
                    break;
                }
            }
        }
        assert_eq!(permits.len(), expect);
        permits
    }

    #[test]
    fn handshakes_of_one_address_are_limited() {
        let admission = admission(100, 8, 100);
        let first = check(&admission, &["10.0.0.1"], 8, "Ignore");
        // The same address in its IPv6 form.
        check(&admission, &["::ffff:10.0.0.1"], 0, "Ignore");
        check(&admission, &["10.0.0.2"], 8, "Ignore");
        drop(first);
        check(&admission, &["10.0.0.1"], 8, "Ignore");
    }

    #[test]
    fn addresses_of_one_ipv6_network_share_a_limit() {
        let admission = admission(100, 8, 100);
        let _first = check(&admission, &["fd00::1", "fd00::2:0:0:3"], 8, "Ignore");
        check(&admission, &["fd00:0:0:1::1"], 8, "Ignore");
    }

    #[test]
    fn handshakes_of_all_addresses_are_limited() {
        let admission = admission(10, 8, 100);
        let permits = check(&admission, &["10.0.0.1", "10.0.0.2"], 10, "Refuse");
        drop(permits);
        assert_eq!(admission.lock().total, 0);
        assert!(admission.lock().from.is_empty());
    }

    #[test]
    fn unproved_addresses_take_a_quarter_of_a_share() {
        let admission = admission(100, 8, 100);
        let address = "10.0.0.1".parse().unwrap();
        let mut permits = Vec::new();
        while let Decision::Admit(permit) = admission.decide(address, false) {
            permits.push(permit);
        }
        assert_eq!(permits.len(), 2);
        assert!(matches!(admission.decide(address, false), Decision::Retry));
        check(&admission, &["10.0.0.1"], 6, "Ignore");
    }

    #[test]
    fn addresses_must_be_proved_under_load() {
        let admission = admission(100, 100, 3);
        let _places: Vec<_> = ["10.0.0.1", "10.0.0.2", "10.0.0.3"]
            .map(|address| admission.decide(address.parse().unwrap(), false))
            .into();
        let next = admission.decide("10.0.0.4".parse().unwrap(), false);
        assert!(matches!(next, Decision::Retry));
    }

    #[test]
    fn connections_are_limited_for_each_member_and_together() {
        let permits = Arc::new(ConnectionPermits::new(Bounds {
            connections_per_member: 2,
            connections: 3,
            ..Bounds::default()
        }));
        let [one, other]: [Subject; 2] = ["migbsp://lab/client/a", "migbsp://lab/node/a"]
            .map(|subject| subject.parse().unwrap());
        let first = permits.take(&one).unwrap();
        let _second = permits.take(&one).unwrap();
        let error = permits.take(&one).unwrap_err();
        let expect = "client a has 2 connections, the largest number: close one";
        assert_eq!(error.to_string(), expect);
        let third = permits.take(&other).unwrap();
        let error = permits.take(&other).unwrap_err();
        assert_eq!(error, TooManyConnections::All { limit: 3 });
        drop((first, third));
        assert!(permits.take(&one).is_ok());
        assert!(!permits.lock().of.contains_key(&other));
    }

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

    #[test]
    fn ten_lines_in_ten_seconds_are_written_and_the_rest_counted() {
        let limit = LogLimit::new("refused connections");
        let begin = Instant::now();
        let at = |seconds| begin + Duration::from_secs(seconds);
        let decided = |times: &[u64]| -> Vec<_> {
            let decide = |seconds: &u64| limit.decide(at(*seconds));
            times.iter().map(decide).collect()
        };
        assert_eq!(
            decided(&[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]),
            [LineDecision::Write; 10]
        );
        assert_eq!(decided(&[10]), [LineDecision::Write], "a new period");
        assert_eq!(decided(&[10; 9]), [LineDecision::Write; 9]);
        let (first, more) = (LineDecision::BeginCount(at(20)), LineDecision::Count);
        // Until the count is written, even if that is late, lines are counted.
        assert_eq!(decided(&[11, 12, 21]), [first, more, more]);
        assert_eq!(limit.end_period(), 3);
        assert_eq!(decided(&[21]), [LineDecision::Write]);
    }
}
