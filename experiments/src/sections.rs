//! The sections of an experiment file that are plain values.

use agents::{Barrier, Collection, PlacementOptions, PlacementOrder, Shape, TransferStart};
use bsp::reference::Limit;
use bsp::units::Bytes;
use serde::{Deserialize, Serialize};
use simulator::{NetworkModel, NetworkOptions, NetworkSetting};

/// `[platform]`: where the computation runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PlatformSection {
    /// TOML or SimGrid XML, relative to the experiment file.
    pub file: String,
    /// How the network shares its bandwidth.
    pub model: Model,
    /// Whether data slows down data in the opposite direction, as acknowledgements do.
    pub cross_traffic: bool,
    /// The most that TCP sends before it is acknowledged, in bytes.
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

/// How the network shares its bandwidth.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Model {
    /// SimGrid's default: factors that fit TCP.
    #[default]
    Lv08,
    /// Latencies and bandwidths as the platform names them.
    Ideal,
}

/// `[placement]`: where processes start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PlacementSection {
    /// Host after host, or Set after Set.
    pub order: PlacementOrder,
    /// Number of consecutive ranks that share a host.
    pub per_host: u32,
    /// Number of hosts that are skipped first.
    pub offset: u32,
    /// More processes than this on a host are an error; not set: any number.
    pub max_per_host: Option<u32>,
}

/// `[network]`: when messages start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct NetworkSection {
    /// When a message may start.
    pub start: TransferStart,
}

/// `[barrier]`: how supersteps end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct BarrierSection {
    /// The shape of a barrier's messages.
    pub shape: Shape,
    /// Size of one message of the barrier.
    pub message: Bytes,
    /// In which order the messages of a central barrier are taken.
    pub collection: Collection,
}

/// `[run]`: options of the run as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RunSection {
    /// All random numbers derive from it.
    pub seed: u64,
    /// A computation that takes longer counts as one that never halts.
    pub superstep_limit: u64,
    /// Whether a record of the run has what each process did in each superstep.
    pub trace: bool,
}

impl PlatformSection {
    /// The value for the simulator.
    pub fn network(&self) -> NetworkOptions {
        NetworkOptions {
            model: match self.model {
                Model::Lv08 => NetworkModel::Lv08,
                Model::Ideal => NetworkModel::Ideal,
            },
            latency_factor: self.latency_factor,
            bandwidth_factor: self.bandwidth_factor,
            weight_size: self.weight_size,
            cross_traffic: self.cross_traffic,
            tcp_window: self.tcp_window,
        }
    }

    /// The factors of the model that are out of their range: key, value and rule.
    pub(crate) fn invalid_factor(&self) -> Option<(&'static str, f64, &'static str)> {
        let factors = [
            (
                "latency_factor",
                self.latency_factor,
                NetworkSetting::LATENCY_FACTORS,
                "must be from 0 to 10000",
            ),
            (
                "bandwidth_factor",
                self.bandwidth_factor,
                NetworkSetting::BANDWIDTH_FACTORS,
                "must be from 0.001 to 1000",
            ),
            (
                "weight_size",
                self.weight_size,
                NetworkSetting::WEIGHT_SIZES,
                "must be from 0 to 1e12 bytes",
            ),
        ];
        let mut factors = factors.into_iter();
        factors.find_map(|(key, factor, (least, most), rule)| {
            let factor = factor.filter(|factor| !(least..=most).contains(factor))?;
            Some((key, factor, rule))
        })
    }

    /// Keys that are not set by default.
    pub(crate) const OPTIONAL: [&str; 3] = ["latency_factor", "bandwidth_factor", "weight_size"];
}

impl PlacementSection {
    /// The value for the agents.
    pub const fn options(&self) -> PlacementOptions {
        PlacementOptions {
            order: self.order,
            per_host: self.per_host,
            offset: self.offset,
            max_per_host: self.max_per_host,
        }
    }
}

impl BarrierSection {
    /// The value for the agents.
    pub const fn options(&self) -> Barrier {
        Barrier {
            shape: self.shape,
            message: self.message,
            collection: self.collection,
        }
    }
}

impl Default for PlatformSection {
    fn default() -> Self {
        Self {
            file: String::new(),
            model: Model::default(),
            cross_traffic: true,
            tcp_window: TCP_WINDOW,
            latency_factor: None,
            bandwidth_factor: None,
            weight_size: None,
        }
    }
}

impl Default for PlacementSection {
    fn default() -> Self {
        let PlacementOptions {
            order,
            per_host,
            offset,
            max_per_host,
        } = PlacementOptions::default();
        Self {
            order,
            per_host,
            offset,
            max_per_host,
        }
    }
}

impl Default for BarrierSection {
    fn default() -> Self {
        Self {
            shape: Shape::default(),
            message: Bytes(8),
            collection: Collection::default(),
        }
    }
}

impl Default for RunSection {
    fn default() -> Self {
        Self {
            seed: 1,
            superstep_limit: Limit::default().0,
            trace: false,
        }
    }
}

/// 4 MiB, the default of SimGrid.
const TCP_WINDOW: Bytes = Bytes(4_194_304);
