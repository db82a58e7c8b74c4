//! The sections of an experiment file that are plain values.

use agents::{Barrier, Collection, PlacementOptions, PlacementOrder, Shape, TransferStart};
use bsp::reference::Limit;
use bsp::units::Bytes;
use serde::{Deserialize, Serialize};
use simulator::{NetworkModel, NetworkOptions};

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
        self.model.options(self.cross_traffic, self.tcp_window)
    }
}

impl Model {
    /// The value for the simulator.
    pub fn options(self, cross_traffic: bool, tcp_window: Bytes) -> NetworkOptions {
        let model = match self {
            Self::Lv08 => NetworkModel::Lv08,
            Self::Ideal => NetworkModel::Ideal,
        };
        NetworkOptions {
            model,
            cross_traffic,
            tcp_window,
        }
    }
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
pub const TCP_WINDOW: Bytes = Bytes(4_194_304);
