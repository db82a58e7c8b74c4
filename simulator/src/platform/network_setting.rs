//! Settings of the network model that a platform file makes.

use bsp::units::Bytes;

use crate::network::NetworkModel;

/// One of the [`NetworkOptions`](crate::NetworkOptions), set by a platform file.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum NetworkSetting {
    /// The model.
    Model(NetworkModel),
    /// What latencies are multiplied with.
    LatencyFactor(f64),
    /// What bandwidths are multiplied with.
    BandwidthFactor(f64),
    /// Bytes that, over a link's bandwidth, are added to the weight of a message.
    WeightSize(f64),
    /// Most data in flight.
    TcpWindow(Bytes),
    /// Whether acknowledgements take a part of the way back.
    CrossTraffic(bool),
}

impl NetworkSetting {
    /// Factors of latencies with which a simulation can count.
    pub const LATENCY_FACTORS: (f64, f64) = (0.0, 1e4);
    /// Factors of bandwidths with which a simulation can count.
    pub const BANDWIDTH_FACTORS: (f64, f64) = (1e-3, 1e3);
    /// Bytes in the weight of a message with which a simulation can count.
    pub const WEIGHT_SIZES: (f64, f64) = (0.0, 1e12);
}

/// A setting and its line in the text.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ConfiguredSetting {
    /// What is set.
    pub setting: NetworkSetting,
    /// From one.
    pub line: usize,
}
