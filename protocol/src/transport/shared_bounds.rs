use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use crate::identity::{Certificate, Revocations};
use crate::transport::Bounds;
use crate::transport::close::CertificateEnd;
use crate::transport::connection_permits::ConnectionPermits;
use crate::transport::frame_budget::{FrameBudget, FrameRules, MemberFrames};
use crate::transport::log_limit::LogLimit;

/// What limits all connections of an endpoint together.
#[derive(Clone, Debug)]
pub(super) struct SharedBounds {
    pub(super) standing: Arc<Standing>,
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

/// Which certificates an endpoint still accepts: those that have neither expired nor been revoked.
#[derive(Debug)]
pub(super) struct Standing {
    own: Certificate,
    revocations: Mutex<Option<Arc<Revocations>>>,
}

impl Standing {
    /// The standing of an endpoint with the certificate `own`.
    pub(super) fn new(own: Certificate, revocations: Option<Revocations>) -> Self {
        let revocations = Mutex::new(revocations.map(Arc::new));
        Self { own, revocations }
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

    /// Why the connection to the holder of `peer` may not go on at `now`, if so.
    pub(super) fn end(&self, peer: &Certificate, now: SystemTime) -> Option<CertificateEnd> {
        let revocations = self.revocations();
        [peer, &self.own].into_iter().find_map(|certificate| {
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
            // The last second belongs to the validity, as in the verification of certificates.
            let has_expired = validity.until() + Duration::from_secs(1) <= now;
            has_expired.then_some(CertificateEnd::Expired { subject })
        })
    }
}
