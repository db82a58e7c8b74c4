//! Which hosts a run has: from a hostfile, or from Slurm.

mod address;
mod hostfile;
mod slurm;
mod words;

use std::collections::BTreeMap;
use std::path::Path;

use protocol::identity::Name;

use crate::cluster::hostfile::Line;

pub use address::PORT;

use crate::failure::Failure;

/// The hosts of a cluster.
///
/// Invariant: at least one member; each name and each address occurs once; members stand Set by Set,
/// in a Set as they were given; Sets stand in the order in which they were first mentioned. The first
/// member of a Set is its Set Manager.
#[derive(Clone, Debug, PartialEq)]
pub struct Cluster {
    members: Vec<Member>,
    sets: Vec<String>,
}

/// A host of a cluster.
#[derive(Clone, Debug, PartialEq)]
pub struct Member {
    /// Its name, in its certificate as well.
    pub name: Name,
    /// Index of its Set in [`Cluster::sets`].
    pub set: usize,
    /// Number of processes that fit there; at least one.
    pub slots: u32,
    /// Factor of the measured speed; positive and finite.
    pub speed: f64,
    /// Its address, as `host:port`.
    pub address: String,
}

impl Cluster {
    /// The cluster that the hostfile `path` describes.
    ///
    /// # Errors
    ///
    /// [`Failure::Input`] if it cannot be read, or describes none.
    pub fn load(path: &Path) -> Result<Self, Failure> {
        let text = settings::read(path).map_err(Failure::input)?;
        Self::parse(&text, &settings::name_of(path))
    }

    /// The cluster that the hostfile `text`, called `name` in messages, describes.
    ///
    /// # Errors
    ///
    /// [`Failure::Input`] with the line, if it describes none.
    pub fn parse(text: &str, name: &str) -> Result<Self, Failure> {
        let mut gathered = Gathered::default();
        let fault = |(number, problem)| Failure::Input(format!("{name}:{number}: {problem}"));
        for (number, words) in words::lines(text).map_err(fault)? {
            let hosts = hostfile::hosts(&words).map_err(|problem| fault((number, problem)))?;
            for line in hosts {
                let added = gathered.add(line, number);
                added.map_err(|problem| fault((number, problem)))?;
            }
        }
        gathered
            .cluster()
            .ok_or_else(|| Failure::Input(format!("{name}: no host; a line is `node-1 slots=4`")))
    }

    /// The cluster that Slurm gave this job, or this step of it; `None` without Slurm. `variable` is
    /// the value of a variable of the environment.
    ///
    /// # Errors
    ///
    /// [`Failure::Usage`] with the variable, if one contradicts Slurm's format.
    pub fn from_slurm(variable: impl Fn(&str) -> Option<String>) -> Result<Option<Self>, Failure> {
        let usage = |(name, problem)| Failure::Usage(format!("environment {name}: {problem}"));
        let Some(hosts) = slurm::hosts(variable).map_err(usage)? else {
            return Ok(None);
        };
        let mut gathered = Gathered::default();
        for (position, (name, slots)) in hosts.list.into_iter().enumerate() {
            let line = Line::new(name, slots);
            gathered
                .add(line, position + 1)
                .map_err(|problem| usage((hosts.variable, problem)))?;
        }
        Ok(gathered.cluster())
    }

    /// Its hosts, Set by Set.
    pub fn members(&self) -> &[Member] {
        &self.members
    }

    /// The names of its Sets.
    pub fn sets(&self) -> &[String] {
        &self.sets
    }
}

/// A cluster that is being read, line by line.
#[derive(Debug, Default)]
struct Gathered {
    members: Vec<Member>,
    sets: Vec<String>,
    /// Position in `members`, and the line that was first about it.
    names: BTreeMap<Name, (usize, usize)>,
    /// The line that claimed it.
    addresses: BTreeMap<String, usize>,
    slots: u32,
}

impl Gathered {
    /// Adds `line`, which has this `number`. A repeated host gets more slots.
    fn add(&mut self, line: Line, number: usize) -> Result<(), String> {
        let total = self.slots.checked_add(line.slots);
        self.slots = total.ok_or_else(|| format!("more than {} slots in all", u32::MAX))?;
        if let Some((index, first)) = self.names.get(&line.name) {
            let member = &mut self.members[*index];
            let set = &self.sets[member.set];
            if let Some(key) = line.contradicts(member, set) {
                return Err(format!(
                    "{} has another `{key}` in line {first}; a host that is mentioned again may get \
                     more slots, but stays what it is",
                    line.name
                ));
            }
            member.slots += line.slots;
            return Ok(());
        }
        let address = line.address();
        if let Some(first) = self.addresses.insert(address.clone(), number) {
            return Err(format!(
                "the address {address} is that of line {first} already; must be one per host, as in \
                 `addr=HOST:PORT`"
            ));
        }
        let set = line.set.as_deref().unwrap_or(SET);
        let set = self.sets.iter().position(|known| known == set);
        let set = set.unwrap_or_else(|| {
            self.sets.push(line.set.unwrap_or_else(|| SET.to_owned()));
            self.sets.len() - 1
        });
        self.names
            .insert(line.name.clone(), (self.members.len(), number));
        self.members.push(Member {
            name: line.name,
            set,
            slots: line.slots,
            speed: line.speed.unwrap_or(SPEED),
            address,
        });
        Ok(())
    }

    /// All of it; `None` if there was no host.
    fn cluster(mut self) -> Option<Cluster> {
        self.members.sort_by_key(|member| member.set);
        (!self.members.is_empty()).then_some(Cluster {
            members: self.members,
            sets: self.sets,
        })
    }
}

impl Line {
    /// A host with defaults.
    fn new(name: Name, slots: u32) -> Self {
        Self {
            name,
            slots,
            set: None,
            speed: None,
            address: None,
        }
    }

    fn address(&self) -> String {
        let default = || format!("{}:{PORT}", self.name);
        self.address.clone().unwrap_or_else(default)
    }

    /// The key in which this line contradicts an earlier one.
    fn contradicts(&self, member: &Member, set: &str) -> Option<&'static str> {
        let speed = self.speed.unwrap_or(member.speed);
        if self.set.as_deref().is_some_and(|own| own != set) {
            Some("set")
        } else if speed.total_cmp(&member.speed).is_ne() {
            Some("speed")
        } else if self.address.is_some() && self.address.as_ref() != Some(&member.address) {
            Some("addr")
        } else {
            None
        }
    }
}

/// The Set of hosts without one.
const SET: &str = "cluster";

/// Default factor of the measured speed.
const SPEED: f64 = 1.0;

#[cfg(test)]
mod tests;
