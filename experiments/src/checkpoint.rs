//! `[checkpoint]`: when the state of a run is saved.

mod interval;

use std::collections::BTreeSet;

use agents::{CheckpointCosts, Checkpointing, Elasticity, buddies};
use bsp::units::{Bytes, BytesPerSecond, Seconds};
use serde::{Deserialize, Serialize};
use settings::{Fault, Node, Unit, decode};
use simulator::Platform;

pub use interval::CheckpointTime;

/// When the state of a run is saved, and what that takes in a simulation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CheckpointSection {
    /// The time or the supersteps from one checkpoint to the next.
    pub interval: CheckpointTime,
    /// The mean time between two failures of one node.
    pub mtbf: Seconds,
    /// Whether each host sends its states to its buddy.
    pub copies: bool,
    /// Bytes per second that a processor encodes.
    pub encoding: BytesPerSecond,
    /// Bytes per second that a processor copies in memory.
    pub fork: BytesPerSecond,
    /// Whether processes copy their states in memory and go on while the copies are encoded.
    pub forks: bool,
    /// The size of the state of a process; `None`: what its program declares, or its encoded state.
    pub bytes: Option<Bytes>,
    /// The part of a state that differs from one checkpoint to the next.
    pub change: f64,
}

impl Default for CheckpointSection {
    /// No checkpoints.
    fn default() -> Self {
        let rate = |rate| BytesPerSecond::new(rate).expect("it is above zero");
        Self {
            interval: CheckpointTime::Never,
            mtbf: Seconds::new(MTBF).expect("30 days are finite"),
            copies: true,
            encoding: rate(ENCODING),
            fork: rate(FORK),
            forks: true,
            bytes: None,
            change: 1.0,
        }
    }
}

impl CheckpointSection {
    /// The section out of the merged layers.
    ///
    /// # Errors
    ///
    /// The first invalid key or value.
    pub fn new(written: &Node) -> Result<Self, Fault> {
        let node = written.get("checkpoint");
        node.map_or_else(|| Ok(Self::default()), Self::of)
    }

    /// The section out of its own layer.
    ///
    /// # Errors
    ///
    /// The first invalid key or value.
    pub fn of(node: &Node) -> Result<Self, Fault> {
        let section: Self = decode(node, "checkpoint", unit)?;
        let invalid = |key: &str, met: f64, rule: &str| {
            let place = node.get(key).unwrap_or(node).place();
            let path = format!("checkpoint.{key}");
            Err(Fault::invalid(place, &path, met, rule))
        };
        if section.mtbf <= Seconds::ZERO {
            return invalid("mtbf", section.mtbf.get(), "must be above 0 s");
        }
        if !(0.0..=1.0).contains(&section.change) {
            return invalid("change", section.change, "must be a number from 0 to 1");
        }
        Ok(section)
    }

    /// Whether there are checkpoints.
    #[must_use]
    pub fn is_on(&self) -> bool {
        self.interval != CheckpointTime::Never
    }

    /// What the agents of a run need. `None`: no checkpoints.
    #[must_use]
    pub fn options(&self) -> Option<Checkpointing> {
        Some(Checkpointing {
            interval: self.interval.agents()?,
            mtbf: self.mtbf,
            copies: self.copies,
            costs: CheckpointCosts {
                encoding: self.encoding,
                fork: self.fork,
                forks: self.forks,
                bytes: self.bytes,
                change: self.change,
            },
        })
    }

    /// The same in a run on `platform`, where the hosts of `elasticity` are not there at the start.
    ///
    /// # Errors
    ///
    /// If a host has no buddy for its copies.
    pub(crate) fn agents(
        &self,
        (platform, written): (&Platform, &Node),
        elasticity: Option<&Elasticity>,
    ) -> Result<Option<Checkpointing>, Fault> {
        let pool = elasticity
            .into_iter()
            .flat_map(|elasticity| &elasticity.pool);
        let absent: BTreeSet<_> = pool.map(|pooled| pooled.host).collect();
        let sets: Vec<_> = platform.hosts().iter().map(|host| host.set).collect();
        let has_buddies = buddies(&sets, &absent).iter().any(Option::is_some);
        if self.is_on() && self.copies && !has_buddies {
            let node = written.find("checkpoint.copies");
            let place = node.and_then(Node::place);
            let rule = "a single host has no buddy for the copies of its states";
            let mut fault = Fault::invalid(place, "checkpoint.copies", true, rule);
            fault.help = Some("set `checkpoint.copies = false`".to_owned());
            return Err(fault);
        }
        Ok(self.options())
    }
}

fn unit(key: &str) -> Unit {
    match key {
        "mtbf" => Unit::Seconds,
        "encoding" | "fork" => Unit::BytesPerSecond,
        "bytes" => Unit::Bytes,
        _ => Unit::None,
    }
}

/// 30 days.
const MTBF: f64 = 2_592_000.0;
/// What a processor encodes of arrays of bytes, the slowest states (`docs/checkpoints.md`).
const ENCODING: f64 = 320e6;
/// What it copies into fresh memory.
const FORK: f64 = 1.2e9;

#[cfg(test)]
mod tests;
