//! The cables of a topology as a platform declares them.

/// A cable of a topology.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::platform) struct NamedCable {
    pub(in crate::platform) name: String,
    /// Its bandwidth, in bandwidths of the cluster's cables.
    pub(in crate::platform) width: u32,
}
