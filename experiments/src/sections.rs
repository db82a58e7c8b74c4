//! The sections of an experiment file that are plain values; those of `[placement]` and `[barrier]` are the agents'.

use agents::TransferStart;
use bsp::reference::Limit;
use serde::{Deserialize, Serialize};
use settings::{Fault, Node, Unit, Value, decode_part, keys_of, refuse_unknown, tree_of};
use simulator::{NetworkOptions, NetworkSetting};

/// `[platform]`: where the computation runs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PlatformSection {
    /// TOML or SimGrid XML, relative to the experiment file.
    pub file: String,
    /// How the network shares its bandwidth.
    pub network: NetworkOptions,
}

/// The key of `[platform]` that is no option of the network.
#[derive(Default, Serialize, Deserialize)]
#[serde(default)]
struct PlatformFile {
    file: String,
}

/// `[network]`: when messages start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct NetworkSection {
    /// When a message may start.
    pub start: TransferStart,
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
    /// The section as written.
    ///
    /// # Errors
    ///
    /// The first invalid key or value.
    pub fn new(section: &Node) -> Result<Self, Fault> {
        const PATH: &str = "platform";
        refuse_unknown(section, PATH, &Self::keys())?;
        let PlatformFile { file } = decode_part(section, PATH, Unit::of_key)?;
        let network = decode_part(section, PATH, Unit::of_key)?;
        Ok(Self { file, network })
    }

    /// The keys of the section.
    pub(crate) fn keys() -> Vec<&'static str> {
        [keys_of::<PlatformFile>(), keys_of::<NetworkOptions>()].concat()
    }

    /// The section as it is in effect.
    #[must_use]
    pub fn effective(&self) -> Node {
        let file = self.file.clone();
        let mut entries = tree_of(&PlatformFile { file }).entries().to_vec();
        entries.extend_from_slice(tree_of(&self.network).entries());
        Node {
            value: Value::Table(entries),
            origin: None,
        }
    }

    /// The factors of the model that are out of their range: key, value and rule.
    pub(crate) fn invalid_factor(&self) -> Option<(&'static str, f64, &'static str)> {
        let factors = [
            (
                "latency_factor",
                self.network.latency_factor,
                NetworkSetting::LATENCY_FACTORS,
                "must be from 0 to 10000",
            ),
            (
                "bandwidth_factor",
                self.network.bandwidth_factor,
                NetworkSetting::BANDWIDTH_FACTORS,
                "must be from 0.001 to 1000",
            ),
            (
                "weight_size",
                self.network.weight_size,
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
