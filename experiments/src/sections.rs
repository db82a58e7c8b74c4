//! The sections of an experiment file that are plain values, `[elasticity]` and `[checkpoint]` among them; those of
//! `[placement]` and `[barrier]` are the agents'.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::num::NonZeroU32;
use std::str::FromStr;
use std::sync::Arc;

use agents::{
    AwaitedHosts, CheckpointCosts, CheckpointInterval, Checkpointing, Elasticity, JoinTime,
    PooledHost, Preparation, TransferStart, buddies,
};
use bsp::numbers::index;
use bsp::reference::Limit;
use bsp::units::{Bytes, BytesPerSecond, Instant, Seconds};
use bsp::{HostId, Rank};
use serde::de::{self, Deserializer, Visitor};
use serde::{Deserialize, Serialize, Serializer};
use settings::{Fault, Node, Unit, decode, decode_part, keys_of, refuse_unknown, tree_of};
use simulator::{NetworkOptions, NetworkSetting, Platform};

use crate::platform::find_host;

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
        Node::table(entries)
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

/// Hosts that are not there at the start, and when they join.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ElasticitySection {
    /// Names of the hosts that are not there at the start, in the order in which they join.
    pub pool: Vec<String>,
    /// How many of them join; `None`: all.
    pub take: Option<u32>,
    /// They join when this part of the work has been done.
    pub part: Option<f64>,
    /// They join after this number of supersteps.
    pub superstep: Option<u64>,
    /// They join at this date.
    pub date: Option<Seconds>,
    /// How long the preparation of each host takes; a single time is that of all.
    pub creation: Vec<Seconds>,
    /// What processes do meanwhile.
    pub preparation: Preparation,
    /// Whether hosts join only if that pays.
    pub guard: bool,
}

impl Default for ElasticitySection {
    /// No hosts join.
    fn default() -> Self {
        Self {
            pool: Vec::new(),
            take: None,
            part: None,
            superstep: None,
            date: None,
            creation: vec![Seconds::ZERO],
            preparation: Preparation::default(),
            guard: true,
        }
    }
}

impl ElasticitySection {
    /// The section out of the merged layers.
    ///
    /// # Errors
    ///
    /// The first invalid key or value.
    pub fn new(written: &Node) -> Result<Self, Fault> {
        let Some(node) = written.get("elasticity") else {
            return Ok(Self::default());
        };
        let section: Self = decode(node, "elasticity", elasticity_unit)?;
        section.check(node)?;
        Ok(section)
    }

    fn check(&self, node: &Node) -> Result<(), Fault> {
        let place = |key: &str| node.get(key).unwrap_or(node).place();
        let invalid = |key, found: &dyn fmt::Display, rule: &str| {
            Err(node.invalid("elasticity", key, found, rule))
        };
        let times = [
            ("part", self.part.is_some()),
            ("superstep", self.superstep.is_some()),
            ("date", self.date.is_some()),
        ];
        let mut times = times
            .iter()
            .filter(|(_, is_set)| *is_set)
            .map(|(key, _)| *key);
        let (time, second) = (times.next(), times.next());
        if let Some(part) = self.part.filter(|part| !(0.0..=1.0).contains(part)) {
            return invalid("part", &part, "must be a number from 0 to 1");
        }
        if let Some(date) = self.date.filter(|date| *date < Seconds::ZERO) {
            return invalid("date", &date.get(), "must be at least 0 s");
        }
        let negative = |time: &&Seconds| **time < Seconds::ZERO;
        if let Some(creation) = self.creation.iter().find(negative) {
            return invalid("creation", &creation.get(), "must be at least 0 s");
        }
        if self.pool.is_empty() {
            // `--set elasticity.pool=[]` switches joining off.
            return Ok(());
        }
        if let (Some(first), Some(second)) = (time, second) {
            let path = format!("elasticity.{second}");
            let problem =
                format!("`elasticity.{first}` says already when hosts join; remove one of them");
            return Err(Fault::new(place(second), &path, problem));
        }
        if time.is_none() {
            let mut fault = Fault::missing(place("pool"), "elasticity.part");
            let help = "set when hosts join: `part`, as 0.1 of the work, `superstep` or `date`";
            fault.help = Some(help.to_owned());
            return Err(fault);
        }
        let hosts = self.pool.len();
        if let Some(take) = self
            .take
            .filter(|take| !(1..=hosts).contains(&index(*take)))
        {
            let rule = format!("must be from 1 to {hosts}, the number of hosts in `pool`");
            return invalid("take", &take, &rule);
        }
        if ![1, hosts].contains(&self.creation.len()) {
            let rule = format!("must be one time, or one for each of the {hosts} hosts in `pool`");
            return invalid("creation", &format!("{} times", self.creation.len()), &rule);
        }
        Ok(())
    }

    /// The hosts that join, and where processes start: `placement` is that with all hosts there, and is changed. A process
    /// whose host is not there starts on a host of its Set that is. `None`: no hosts join.
    ///
    /// # Errors
    ///
    /// If a host does not exist or is there already, or a Set would be without a host.
    pub(crate) fn agents(
        &self,
        (platform, written): (&Platform, &Node),
        placement: &mut [HostId],
    ) -> Result<Option<Elasticity>, Fault> {
        let Some(at) = self.time().filter(|_| !self.pool.is_empty()) else {
            return Ok(None);
        };
        let fault = |index: usize, problem: String| {
            let node = written.find("elasticity.pool");
            let place = node.and_then(Node::place);
            Fault::new(place, &format!("elasticity.pool[{index}]"), problem)
        };
        let mut absent = BTreeSet::new();
        let mut pool = Vec::new();
        for (index, name) in self.pool.iter().enumerate() {
            let host = find_host(name, platform).map_err(|problem| fault(index, problem))?;
            if !absent.insert(host) {
                let problem = format!("{name} has joined already: it is named twice");
                return Err(fault(index, problem));
            }
            if placement.first() == Some(&host) {
                let problem = format!("{name} is there already: p1 starts on it");
                return Err(fault(index, problem));
            }
            let creation = self.creation.get(index).unwrap_or(&self.creation[0]);
            pool.push(PooledHost {
                host,
                creation: *creation,
            });
        }
        for set in platform.sets() {
            if set.hosts.iter().all(|host| absent.contains(host)) {
                let is_last = |pooled: &PooledHost| set.hosts.contains(&pooled.host);
                let index = pool.iter().rposition(is_last).unwrap_or_default();
                let problem = format!(
                    "Set {} would have no host for its Manager; leave out {}, or another host of the Set",
                    set.name, self.pool[index]
                );
                return Err(fault(index, problem));
            }
        }
        let take = self.take.map_or(pool.len(), index);
        Ok(Some(Elasticity {
            standby: standby(platform, &absent, placement),
            pool,
            take,
            at,
            preparation: self.preparation,
            guard: self.guard,
        }))
    }

    /// A key that says how hosts are prepared in a simulation, and its value, if one is set.
    pub(crate) fn prepared(&self) -> Option<(&'static str, String)> {
        if self.preparation == Preparation::Blocking {
            return Some(("elasticity.preparation", "\"blocking\"".to_owned()));
        }
        let creation = self.creation.iter().find(|time| **time != Seconds::ZERO);
        creation.map(|time| ("elasticity.creation", time.get().to_string()))
    }

    /// The hosts that a job on real hosts awaits, with these processes on standby. `None`: none.
    pub(crate) fn awaited(&self, standby: Arc<[Rank]>) -> Option<AwaitedHosts> {
        let at = self.time().filter(|_| !self.pool.is_empty())?;
        Some(AwaitedHosts {
            pool: self.pool.clone(),
            take: self.take.map_or(self.pool.len(), index),
            at,
            guard: self.guard,
            standby,
        })
    }

    fn time(&self) -> Option<JoinTime> {
        let part = self.part.map(JoinTime::Part);
        let superstep = self.superstep.map(JoinTime::Superstep);
        let date = self.date.map(|date| JoinTime::Date(Instant::START + date));
        part.or(superstep).or(date)
    }
}

/// The processes whose hosts are `absent`, with these hosts; each is placed on a host of the same Set that is there, one
/// after the other.
fn standby(
    platform: &Platform,
    absent: &BTreeSet<HostId>,
    placement: &mut [HostId],
) -> BTreeMap<Rank, HostId> {
    let mut standby = BTreeMap::new();
    let mut placed = vec![0; platform.sets().len()];
    for (index, host) in placement.iter_mut().enumerate() {
        if !absent.contains(host) {
            continue;
        }
        standby.insert(Rank::from_index(index), *host);
        let set = platform.host(*host).set;
        let present = platform.set(set).hosts.iter();
        let present: Vec<_> = present.filter(|host| !absent.contains(host)).collect();
        let turn = &mut placed[set.index()];
        *host = *present[*turn % present.len()];
        *turn += 1;
    }
    standby
}

fn elasticity_unit(key: &str) -> Unit {
    match key {
        "date" | "creation" => Unit::Seconds,
        _ => Unit::None,
    }
}

/// When the state of a run is saved, and what that takes in a simulation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CheckpointSection {
    /// The time or the supersteps from one checkpoint to the next.
    pub interval: CheckpointTime,
    /// With the interval "optimal": the time until the first checkpoint, which shows what checkpoints cost.
    pub first: Seconds,
    /// The mean time between two failures of one node.
    pub mtbf: Seconds,
    /// Whether each host sends its states to its buddy.
    pub copies: bool,
    /// On real hosts: how many complete checkpoints stay on disk.
    pub keep: NonZeroU32,
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
            first: Seconds::new(FIRST).expect("a second is finite"),
            mtbf: Seconds::new(MTBF).expect("30 days are finite"),
            copies: true,
            keep: NonZeroU32::MIN,
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
        let section: Self = decode(node, "checkpoint", checkpoint_unit)?;
        let invalid = |key, found: f64, rule| Err(node.invalid("checkpoint", key, found, rule));
        if section.first <= Seconds::ZERO {
            return invalid("first", section.first.get(), "must be above 0 s");
        }
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
            first: self.first,
            mtbf: self.mtbf,
            copies: self.copies,
            keep: self.keep,
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
            let rule = "a single host has no buddy for the copies of its states";
            let mut fault = written.invalid("", "checkpoint.copies", true, rule);
            fault.help = Some("set `checkpoint.copies = false`".to_owned());
            return Err(fault);
        }
        Ok(self.options())
    }
}

/// `[recovery]`: whether a run on real hosts goes on when a node is lost.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RecoverySection {
    /// Whether it does.
    pub enabled: bool,
    /// The part of the free memory of a node, at the start, that checkpoints may take.
    pub memory: f64,
    /// How long a node waits for a leader when that of its job is lost.
    pub wait: Seconds,
}

impl Default for RecoverySection {
    fn default() -> Self {
        Self {
            enabled: true,
            memory: 0.5,
            wait: Seconds::new(WAIT).expect("a minute is finite"),
        }
    }
}

impl RecoverySection {
    /// The section out of the merged layers.
    ///
    /// # Errors
    ///
    /// The first invalid key or value.
    pub fn new(written: &Node) -> Result<Self, Fault> {
        let Some(node) = written.get("recovery") else {
            return Ok(Self::default());
        };
        let unit = |key: &str| match key {
            "wait" => Unit::Seconds,
            _ => Unit::None,
        };
        let section: Self = decode(node, "recovery", unit)?;
        if !(0.0..=WAIT_MAX).contains(&section.wait.get()) {
            let rule = "must be a time from 0 s to 30 days";
            return Err(node.invalid("recovery", "wait", section.wait, rule));
        }
        if !(0.0..=1.0).contains(&section.memory) {
            let rule = "must be a number from 0 to 1";
            return Err(node.invalid("recovery", "memory", section.memory, rule));
        }
        Ok(section)
    }
}

fn checkpoint_unit(key: &str) -> Unit {
    match key {
        "first" | "mtbf" => Unit::Seconds,
        "encoding" | "fork" => Unit::BytesPerSecond,
        "bytes" => Unit::Bytes,
        _ => Unit::None,
    }
}

/// Seconds until the first checkpoint, if the interval is the optimal one.
const FIRST: f64 = 1.0;
/// How long a node waits for a leader: a minute.
const WAIT: f64 = 60.0;
/// 30 days.
const WAIT_MAX: f64 = MTBF;
/// 30 days.
const MTBF: f64 = 2_592_000.0;
/// What a processor encodes of arrays of bytes, the slowest states (`docs/reference/recovery.md`).
const ENCODING: f64 = 320e6;
/// What it copies into fresh memory.
const FORK: f64 = 1.2e9;

/// The time or the supersteps from one checkpoint to the next: `"10 s"`, `"20 supersteps"`, `"optimal"` or `"never"`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum CheckpointTime {
    /// There are no checkpoints.
    #[default]
    Never,
    /// This time, above zero.
    Time(Seconds),
    /// This number of supersteps, at least one.
    Supersteps(u64),
    /// The time that loses least.
    Optimal,
}

impl CheckpointTime {
    /// The value for agents. `None`: never.
    pub(super) const fn agents(self) -> Option<CheckpointInterval> {
        Some(match self {
            Self::Never => return None,
            Self::Time(time) => CheckpointInterval::Time(time),
            Self::Supersteps(supersteps) => CheckpointInterval::Supersteps(supersteps),
            Self::Optimal => CheckpointInterval::Optimal,
        })
    }

    fn parse(text: &str) -> Option<Self> {
        match text.trim() {
            "never" => return Some(Self::Never),
            "optimal" => return Some(Self::Optimal),
            _ => {}
        }
        let number = ["supersteps", "superstep"]
            .iter()
            .find_map(|unit| text.trim().strip_suffix(unit));
        match number {
            Some(number) => {
                let supersteps = number.trim().parse().ok();
                supersteps
                    .filter(|number| 0 < *number)
                    .map(Self::Supersteps)
            }
            None => Unit::Seconds.read(text).ok().and_then(Self::time),
        }
    }

    fn time(seconds: f64) -> Option<Self> {
        let time = Seconds::new(seconds).ok();
        time.filter(|time| Seconds::ZERO < *time).map(Self::Time)
    }
}

impl FromStr for CheckpointTime {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::parse(text).ok_or_else(|| format!("must be {EXPECTED}"))
    }
}

impl fmt::Display for CheckpointTime {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Never => formatter.write_str("never"),
            Self::Time(time) => write!(formatter, "{} s", time.get()),
            Self::Supersteps(supersteps) => write!(formatter, "{supersteps} supersteps"),
            Self::Optimal => formatter.write_str("optimal"),
        }
    }
}

impl Serialize for CheckpointTime {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for CheckpointTime {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Written)
    }
}

/// A text, or a bare number of seconds.
struct Written;

impl Visitor<'_> for Written {
    type Value = CheckpointTime;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(EXPECTED)
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<CheckpointTime, E> {
        CheckpointTime::parse(text)
            .ok_or_else(|| E::invalid_value(de::Unexpected::Str(text), &self))
    }

    fn visit_f64<E: de::Error>(self, seconds: f64) -> Result<CheckpointTime, E> {
        let time = CheckpointTime::time(seconds);
        time.ok_or_else(|| E::invalid_value(de::Unexpected::Float(seconds), &self))
    }

    #[expect(clippy::as_conversions, reason = "seconds beyond 2^53 may be rounded")]
    fn visit_i64<E: de::Error>(self, seconds: i64) -> Result<CheckpointTime, E> {
        self.visit_f64(seconds as f64)
    }
}

const EXPECTED: &str = "a time above 0 s such as \"10 s\", a number of supersteps such as \"20 supersteps\", \
                        \"optimal\" or \"never\"";

#[cfg(test)]
mod tests;
