use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use crate::transport::Bounds;
use crate::transport::connection_permits::ConnectionPermits;
use crate::transport::frame_budget::{FrameBudget, FrameRules, MemberFrames};
use crate::transport::log_limit::LogLimit;
use crate::transport::standing::Standing;

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
