//! An experiment: what its file, the environment and the command line say, checked.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use workloads::background::Target;

use crate::configuration::background::BackgroundSection;
use crate::configuration::decode::decode;
use crate::configuration::effective::tree_of;
use crate::configuration::fault::Fault;
use crate::configuration::quantity::Unit;
use crate::configuration::scheduler::Scheduler;
use crate::configuration::sections::{
    BarrierSection, NetworkSection, PlacementSection, PlatformSection, RunSection,
};
use crate::registry::{Entry, Registry};
use crate::tree::{Node, Value};
use crate::workload::Supersteps;

/// Everything a run is told.
///
/// Invariant: every value is of its type and in its range.
#[derive(Clone, Debug)]
pub(crate) struct Experiment {
    pub(crate) application: Application,
    pub(crate) platform: PlatformSection,
    pub(crate) load: BackgroundSection,
    pub(crate) congestion: BackgroundSection,
    pub(crate) placement: PlacementSection,
    pub(crate) network: NetworkSection,
    pub(crate) barrier: BarrierSection,
    pub(crate) scheduler: Scheduler,
    pub(crate) run: RunSection,
}

/// `[application]`: what computes.
#[derive(Clone, Debug)]
pub(crate) struct Application {
    /// Name of the workload.
    pub(crate) workload: String,
    /// How many processes.
    pub(crate) processes: u32,
    /// How many supersteps at most; `None`: until the program ends by itself.
    pub(crate) supersteps: Option<u64>,
    /// The workload's own parameters, as written.
    pub(crate) written: Node,
    /// The same, those left out included.
    pub(crate) effective: Node,
}

/// What every workload has; each may be missing before it is checked.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Common {
    workload: Option<String>,
    processes: Option<u32>,
    supersteps: Option<u64>,
}

impl Experiment {
    /// The merged layers, checked.
    ///
    /// # Errors
    ///
    /// The first key or value that will not do: where it was written, what was met, what would do.
    pub(crate) fn new(written: &Node, registry: &Registry) -> Result<Self, Fault> {
        for (name, node) in written.entries() {
            if !SECTIONS.contains(&name.as_str()) {
                return Err(Fault::unknown_key(node.place(), name, &SECTIONS));
            }
        }
        let empty = Node::empty_table();
        let scheduler = written.get("scheduler").unwrap_or(&empty);
        let experiment = Self {
            application: Application::new(written.get("application").unwrap_or(&empty), registry)?,
            platform: section(written, "platform")?,
            load: BackgroundSection::new(written, Target::Hosts)?,
            congestion: BackgroundSection::new(written, Target::Links)?,
            placement: section(written, "placement")?,
            network: section(written, "network")?,
            barrier: section(written, "barrier")?,
            scheduler: Scheduler::new(scheduler, registry.policies())?,
            run: section(written, "run")?,
        };
        experiment.check(written)?;
        Ok(experiment)
    }

    /// The first layer: what holds unless somebody says otherwise. Workloads have their own.
    pub(crate) fn defaults() -> Node {
        let sections = [
            ("platform", tree_of(&PlatformSection::default())),
            ("placement", tree_of(&PlacementSection::default())),
            ("network", tree_of(&NetworkSection::default())),
            ("barrier", tree_of(&BarrierSection::default())),
            ("run", tree_of(&RunSection::default())),
        ];
        Node {
            value: Value::Table(sections.map(|(name, node)| (name.to_owned(), node)).into()),
            origin: None,
        }
    }

    /// All sections as they are in effect, in the order they are shown.
    pub(crate) fn effective(&self) -> Node {
        let sections = [
            ("application", self.application.effective()),
            ("platform", tree_of(&self.platform)),
            ("load", self.load.effective()),
            ("congestion", self.congestion.effective()),
            ("placement", tree_of(&self.placement)),
            ("network", tree_of(&self.network)),
            ("barrier", tree_of(&self.barrier)),
            ("scheduler", self.scheduler.effective()),
            ("run", tree_of(&self.run)),
        ];
        Node {
            value: Value::Table(sections.map(|(name, node)| (name.to_owned(), node)).into()),
            origin: None,
        }
    }

    /// Whether its seed makes any difference.
    ///
    /// # Errors
    ///
    /// None: its workload has been found before.
    pub(crate) fn draws(&self, registry: &Registry) -> Result<bool, Fault> {
        let application = &self.application;
        let entry = registry.find(&application.workload, None)?;
        Ok(self.load.draws() || self.congestion.draws() || entry.draws(&application.written)?)
    }

    fn check(&self, written: &Node) -> Result<(), Fault> {
        let at_least_one = [
            (
                "application.processes",
                u64::from(self.application.processes),
            ),
            (
                "application.supersteps",
                self.application.supersteps.unwrap_or(1),
            ),
            ("platform.tcp_window", self.platform.tcp_window.0),
            ("placement.per_host", u64::from(self.placement.per_host)),
            (
                "placement.max_per_host",
                self.placement.max_per_host.map_or(1, u64::from),
            ),
            ("run.superstep_limit", self.run.superstep_limit),
        ];
        for (key, value) in at_least_one {
            if value == 0 {
                let place = written.find(key).and_then(Node::place);
                return Err(Fault::new(
                    place,
                    key,
                    "met 0, expected a whole number of at least 1",
                ));
            }
        }
        let place = |key: &str| written.find(key).and_then(Node::place);
        if PROCESSES_MAX < self.application.processes {
            let met = self.application.processes;
            let problem = format!("met {met}, expected at most {PROCESSES_MAX} in one simulation");
            let key = "application.processes";
            return Err(Fault::new(place(key), key, problem));
        }
        let limit = self.run.superstep_limit;
        if let Some(supersteps) = self.application.supersteps
            && limit < supersteps
        {
            let key = "application.supersteps";
            let problem = format!(
                "met {supersteps}, but run.superstep_limit ends runs after {limit}; raise it"
            );
            return Err(Fault::new(place(key), key, problem));
        }
        if self.platform.file.is_empty() {
            let mut fault = missing("platform.file", "platforms/testbed.toml");
            fault.origin = place("platform.file").map(str::to_owned);
            return Err(fault);
        }
        Ok(())
    }
}

impl Application {
    fn new(section: &Node, registry: &Registry) -> Result<Self, Fault> {
        if !matches!(section.value, Value::Table(_)) {
            let problem = format!("met {section}, expected a section");
            return Err(Fault::new(section.place(), "application", problem));
        }
        let names = registry.names();
        let (tables, common): (Vec<_>, Vec<_>) = section
            .entries()
            .iter()
            .cloned()
            .partition(|(key, _)| names.contains(&key.as_str()));
        let common_keys = ["workload", "processes", "supersteps"];
        let known: Vec<&str> = common_keys.iter().chain(&names).copied().collect();
        if let Some((key, node)) = common
            .iter()
            .find(|(key, _)| !known.contains(&key.as_str()))
        {
            let path = format!("application.{key}");
            return Err(Fault::unknown_key(node.place(), &path, &known));
        }
        let common = Node {
            value: Value::Table(common),
            origin: section.origin.clone(),
        };
        let Common {
            workload,
            processes,
            supersteps,
        } = decode(&common, "application", Unit::of_key)?;
        let workload = workload.ok_or_else(|| missing("application.workload", "lbm"))?;
        let place = section.get("workload").and_then(Node::place);
        let entry = registry.find(&workload, place)?;
        // What is written for workloads that are not run has to be right, too.
        for (name, node) in &tables {
            registry.find(name, node.place())?.effective(node)?;
        }
        let written = section
            .get(&workload)
            .cloned()
            .unwrap_or_else(Node::empty_table);
        Ok(Self {
            processes: processes.ok_or_else(|| missing("application.processes", "25"))?,
            supersteps: check_supersteps(entry, supersteps, section)?,
            effective: entry.effective(&written)?,
            written,
            workload,
        })
    }

    fn effective(&self) -> Node {
        let common = Common {
            workload: Some(self.workload.clone()),
            processes: Some(self.processes),
            supersteps: self.supersteps,
        };
        let mut entries = tree_of(&common).entries().to_vec();
        entries.push((self.workload.clone(), self.effective.clone()));
        Node {
            value: Value::Table(entries),
            origin: None,
        }
    }
}

/// `supersteps`, if the workload is content with what `section` says of them.
fn check_supersteps(
    entry: &dyn Entry,
    supersteps: Option<u64>,
    section: &Node,
) -> Result<Option<u64>, Fault> {
    const KEY: &str = "application.supersteps";
    match (entry.supersteps(), supersteps) {
        (Supersteps::Required, None) => Err(missing(KEY, "2000")),
        (Supersteps::Refused, Some(met)) => {
            let place = section.get("supersteps").and_then(Node::place);
            let name = entry.name();
            let problem = format!("met {met}, but {name} ends by itself; leave it out");
            Err(Fault::new(place, KEY, problem))
        }
        (Supersteps::Required | Supersteps::Optional, Some(_))
        | (Supersteps::Optional | Supersteps::Refused, None) => Ok(supersteps),
    }
}

fn section<T: DeserializeOwned + Default>(written: &Node, name: &str) -> Result<T, Fault> {
    written
        .get(name)
        .map_or_else(|| Ok(T::default()), |node| decode(node, name, Unit::of_key))
}

fn missing(key: &str, example: &str) -> Fault {
    Fault::new(
        None,
        key,
        format!("is missing; write it in the experiment file or give it as --set {key}={example}"),
    )
}

/// What a simulation may be asked for: 2²⁴ processes take some 30 GB.
const PROCESSES_MAX: u32 = 16_777_216;

const SECTIONS: [&str; 9] = [
    "application",
    "platform",
    "load",
    "congestion",
    "placement",
    "network",
    "barrier",
    "scheduler",
    "run",
];
