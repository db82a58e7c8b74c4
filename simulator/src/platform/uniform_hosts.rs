//! Hosts that differ in their own links only.

/// Consecutive hosts of one cluster and one Set whose own links have the same values. Their routes to a host outside
/// differ in their own links only, and so do their routes to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct UniformHosts {
    /// Number of the first host.
    pub(crate) first: u32,
    /// Number of hosts.
    pub(crate) count: u32,
    /// Number of the first host's first link; the other hosts' links follow.
    pub(crate) first_link: u32,
    pub(crate) links_per_host: u32,
}
