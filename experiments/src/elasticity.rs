//! `[elasticity]`: hosts that join while a simulated run goes on.

use std::collections::{BTreeMap, BTreeSet};

use agents::{Elasticity, JoinTime, PooledHost, Preparation};
use bsp::numbers::index;
use bsp::units::{Instant, Seconds};
use bsp::{HostId, Rank};
use serde::{Deserialize, Serialize};
use simulator::Platform;

use crate::platform::find_host;
use settings::{Fault, Node, Unit, decode};

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
        let section: Self = decode(node, "elasticity", unit)?;
        section.check(node)?;
        Ok(section)
    }

    fn check(&self, node: &Node) -> Result<(), Fault> {
        let place = |key: &str| node.get(key).unwrap_or(node).place();
        let invalid = |key: &str, met: &dyn std::fmt::Display, rule: &str| {
            let path = format!("elasticity.{key}");
            Err(Fault::invalid(place(key), &path, met, rule))
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

fn unit(key: &str) -> Unit {
    match key {
        "date" | "creation" => Unit::Seconds,
        _ => Unit::None,
    }
}
