//! A checked experiment, from its file, the environment and the command line.

use agents::{Barrier, PlacementOptions};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use settings::{Fault, Node, Unit, Value, decode, decode_part, keys_of, refuse_unknown, tree_of};
use workloads::background::Target;

use crate::background::BackgroundSection;
use crate::provenance::configuration_digest;
use crate::registry::{Entry, Registry, Supersteps};
use crate::scheduler::Scheduler;
use crate::sections::{
    CheckpointSection, ElasticitySection, NetworkSection, PlatformSection, RecoverySection,
    RunSection,
};

/// The configuration of a run.
///
/// Invariant: every value is of its type and in its range.
#[derive(Clone, Debug)]
pub struct Experiment {
    /// `[application]`.
    pub application: Application,
    /// `[platform]`.
    pub platform: PlatformSection,
    /// `[load]`.
    pub load: BackgroundSection,
    /// `[congestion]`.
    pub congestion: BackgroundSection,
    /// `[elasticity]`.
    pub elasticity: ElasticitySection,
    /// `[checkpoint]`.
    pub checkpoint: CheckpointSection,
    /// `[recovery]`.
    pub recovery: RecoverySection,
    /// `[placement]`.
    pub placement: PlacementOptions,
    /// `[network]`.
    pub network: NetworkSection,
    /// `[barrier]`.
    pub barrier: Barrier,
    /// `[scheduler]`.
    pub scheduler: Scheduler,
    /// `[run]`.
    pub run: RunSection,
}

/// `[application]`: the program that is run.
#[derive(Clone, Debug)]
pub struct Application {
    /// Name of the workload.
    pub workload: String,
    /// Number of processes.
    pub processes: u32,
    /// Maximum number of supersteps; `None`: until the program ends.
    pub supersteps: Option<u64>,
    /// The workload's own parameters, as written.
    pub written: Node,
    /// The parameters in effect, defaults included.
    pub effective: Node,
}

/// Keys that every workload has, before they are checked.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
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
    /// The first invalid key or value.
    pub fn new(written: &Node, registry: &Registry) -> Result<Self, Fault> {
        refuse_unknown(written, "", &SECTIONS)?;
        let empty = Node::empty_table();
        let scheduler = written.get("scheduler").unwrap_or(&empty);
        let experiment = Self {
            application: Application::new(written.get("application").unwrap_or(&empty), registry)?,
            platform: PlatformSection::new(written.get("platform").unwrap_or(&empty))?,
            load: BackgroundSection::new(written, Target::Hosts)?,
            congestion: BackgroundSection::new(written, Target::Links)?,
            elasticity: ElasticitySection::new(written)?,
            checkpoint: CheckpointSection::new(written)?,
            recovery: RecoverySection::new(written)?,
            placement: section(written, "placement")?,
            network: section(written, "network")?,
            barrier: section(written, "barrier")?,
            scheduler: Scheduler::new(scheduler, registry.policies())?,
            run: section(written, "run")?,
        };
        experiment.check(written)?;
        Ok(experiment)
    }

    /// The keys that every experiment may have, `section.key`; workloads and rules of policies have more.
    pub fn keys() -> Vec<String> {
        let sections = [
            ("application", keys_of::<Common>().to_vec()),
            ("platform", PlatformSection::keys()),
            ("elasticity", keys_of::<ElasticitySection>().to_vec()),
            ("checkpoint", keys_of::<CheckpointSection>().to_vec()),
            ("recovery", keys_of::<RecoverySection>().to_vec()),
            ("placement", keys_of::<PlacementOptions>().to_vec()),
            ("network", keys_of::<NetworkSection>().to_vec()),
            ("barrier", keys_of::<Barrier>().to_vec()),
            ("scheduler", Scheduler::keys()),
            ("run", keys_of::<RunSection>().to_vec()),
        ];
        let sections = sections.into_iter();
        sections
            .flat_map(|(name, keys)| keys.into_iter().map(move |key| format!("{name}.{key}")))
            .collect()
    }

    /// All sections as they are in effect, in the order they are shown.
    pub fn effective(&self) -> Node {
        let sections = [
            ("application", self.application.effective()),
            ("platform", self.platform.effective()),
            ("load", self.load.effective()),
            ("congestion", self.congestion.effective()),
            ("elasticity", tree_of(&self.elasticity)),
            ("checkpoint", tree_of(&self.checkpoint)),
            ("recovery", tree_of(&self.recovery)),
            ("placement", tree_of(&self.placement)),
            ("network", tree_of(&self.network)),
            ("barrier", tree_of(&self.barrier)),
            ("scheduler", self.scheduler.effective()),
            ("run", tree_of(&self.run)),
        ];
        Node::table(sections.map(|(name, node)| (name.to_owned(), node)).into())
    }

    /// The digest of what results depend on.
    #[must_use]
    pub fn digest(&self) -> String {
        configuration_digest(&self.decisive(true))
    }

    /// [`Self::effective`] without what no result depends on: `[elasticity]` if no host joins, `[checkpoint]` if there are
    /// no checkpoints, `[recovery]`, `[scheduler]` unless there is one, and `run.trace`.
    pub(crate) fn decisive(&self, is_scheduled: bool) -> Node {
        let mut effective = self.effective();
        if let Value::Table(entries) = &mut effective.value {
            entries.retain(|(name, _)| match name.as_str() {
                "elasticity" => !self.elasticity.pool.is_empty(),
                "checkpoint" => self.checkpoint.is_on(),
                "recovery" => false,
                "scheduler" => is_scheduled,
                _ => true,
            });
            let run = entries.iter_mut().find(|(name, _)| name == "run");
            if let Some(Value::Table(keys)) = run.map(|(_, section)| &mut section.value) {
                keys.retain(|(key, _)| key != "trace");
            }
        }
        effective
    }

    /// Whether its result depends on the seed.
    ///
    /// # Errors
    ///
    /// None: the workload is known to exist.
    pub fn draws(&self, registry: &Registry) -> Result<bool, Fault> {
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
            ("platform.tcp_window", self.platform.network.tcp_window.0),
            ("placement.per_host", u64::from(self.placement.per_host)),
            (
                "placement.max_per_host",
                self.placement.max_per_host.map_or(1, u64::from),
            ),
            ("run.superstep_limit", self.run.superstep_limit),
        ];
        for (key, value) in at_least_one {
            if value == 0 {
                return Err(written.invalid("", key, 0, "must be at least 1"));
            }
        }
        if PROCESSES_MAX < self.application.processes {
            let found = self.application.processes;
            let rule = format!("must be at most {PROCESSES_MAX} in a simulation");
            return Err(written.invalid("", "application.processes", found, rule));
        }
        if let Some((key, factor, rule)) = self.platform.invalid_factor() {
            let key = format!("platform.{key}");
            return Err(written.invalid("", &key, factor, rule));
        }
        let limit = self.run.superstep_limit;
        if let Some(supersteps) = self.application.supersteps
            && limit < supersteps
        {
            let rule = format!("must be at most {limit}, the value of `run.superstep_limit`");
            let mut fault = written.invalid("", "application.supersteps", supersteps, rule);
            fault.help = Some("raise `run.superstep_limit`".to_owned());
            return Err(fault);
        }
        if self.platform.file.is_empty() {
            let mut fault = missing("platform.file", "platforms/testbed.toml");
            let place = written.find("platform.file").and_then(Node::place);
            fault.origin = place.map(str::to_owned);
            return Err(fault);
        }
        Ok(())
    }
}

impl Application {
    fn new(section: &Node, registry: &Registry) -> Result<Self, Fault> {
        if !matches!(section.value, Value::Table(_)) {
            let (place, rule) = (section.place(), "must be a section");
            return Err(Fault::invalid(place, "application", section, rule));
        }
        let names = registry.names();
        refuse_unknown(
            section,
            "application",
            &[keys_of::<Common>(), &names].concat(),
        )?;
        let Common {
            workload,
            processes,
            supersteps,
        } = decode_part(section, "application", Unit::of_key)?;
        let workload = workload.ok_or_else(|| missing("application.workload", "lbm"))?;
        let place = section.get("workload").and_then(Node::place);
        let entry = registry.find(&workload, place)?;
        // The sections of other workloads are checked as well.
        let entries = section.entries().iter();
        for (name, node) in entries.filter(|(key, _)| names.contains(&key.as_str())) {
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
        Node::table(entries)
    }
}

/// `supersteps`, if the workload takes the number that `section` has.
fn check_supersteps(
    entry: &dyn Entry,
    supersteps: Option<u64>,
    section: &Node,
) -> Result<Option<u64>, Fault> {
    const KEY: &str = "application.supersteps";
    match (entry.supersteps(), supersteps) {
        (Supersteps::Required, None) => Err(missing(KEY, "2000")),
        (Supersteps::Refused, Some(found)) => {
            let rule = format!("`{}` determines its own length", entry.name());
            let mut fault = section.invalid("application", "supersteps", found, rule);
            fault.help = Some(format!("remove `{KEY}`"));
            Err(fault)
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
    let mut fault = Fault::missing(None, key);
    let help = format!("set it in the experiment file or with `--set {key}={example}`");
    fault.help = Some(help);
    fault
}

/// Maximum number of processes in a simulation: 2²⁴ processes take about 30 GB.
const PROCESSES_MAX: u32 = 16_777_216;

const SECTIONS: [&str; 12] = [
    "application",
    "platform",
    "load",
    "congestion",
    "elasticity",
    "checkpoint",
    "recovery",
    "placement",
    "network",
    "barrier",
    "scheduler",
    "run",
];
