//! How the network is modelled, and what platform files say of it.

use serde::{Deserialize, Serialize};

use bsp::units::Bytes;

/// How the network is modelled.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct NetworkOptions {
    /// Which factors apply to latencies and bandwidths.
    pub model: NetworkModel,
    /// Whether the acknowledgements of a message take a twentieth of its rate on the way back.
    pub cross_traffic: bool,
    /// Most data in flight of one message; with the route's latency it limits the message's rate.
    pub tcp_window: Bytes,
    /// What latencies are multiplied with, instead of the model's factor.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub latency_factor: Option<f64>,
    /// What bandwidths are multiplied with, instead of the model's factor.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bandwidth_factor: Option<f64>,
    /// Bytes that, over a link's bandwidth, are added to the weight of a message, instead of the model's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weight_size: Option<f64>,
}

/// Factors that turn a platform's nominal values into those of messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NetworkModel {
    /// SimGrid's default, fitted to TCP (Velho and Legrand, 2009): latencies times 13.01,
    /// bandwidths times 0.97, and 20537 B over the bandwidth added to the weight of a link.
    #[default]
    Lv08,
    /// Nominal values (SimGrid's CM02).
    Ideal,
}

impl NetworkOptions {
    /// The same with `setting`.
    #[must_use]
    pub const fn with(mut self, setting: NetworkSetting) -> Self {
        match setting {
            NetworkSetting::Model(model) => self.model = model,
            NetworkSetting::LatencyFactor(factor) => self.latency_factor = Some(factor),
            NetworkSetting::BandwidthFactor(factor) => self.bandwidth_factor = Some(factor),
            NetworkSetting::WeightSize(bytes) => self.weight_size = Some(bytes),
            NetworkSetting::TcpWindow(bytes) => self.tcp_window = bytes,
            NetworkSetting::CrossTraffic(is_on) => self.cross_traffic = is_on,
        }
        self
    }
}

impl NetworkModel {
    /// What a platform's latencies are multiplied with.
    #[must_use]
    pub fn latency_factor(self) -> f64 {
        match self {
            Self::Lv08 => 13.01,
            Self::Ideal => 1.0,
        }
    }
}

impl Default for NetworkOptions {
    fn default() -> Self {
        Self {
            model: NetworkModel::Lv08,
            latency_factor: None,
            bandwidth_factor: None,
            weight_size: None,
            cross_traffic: true,
            tcp_window: Bytes(4_194_304),
        }
    }
}

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
