//! The largest job.

/// More hosts than in any cluster; a list may be short and name billions.
pub(super) const HOSTS_MAX: usize = 65_536;
