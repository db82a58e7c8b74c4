//! What a run is configured by: layers, typed sections, and where each value came from.

use std::env;
use std::path::{Path, PathBuf};

use migbsp::Policies;
use simulator::Platform;

use crate::experiment::Experiment;
use crate::failure::Failure;
use crate::limits;
use crate::platform;
use crate::record::tolerant;
use crate::registry::{BuildInput, Registry};
use crate::scheduler::Scheduler;
use crate::workload::Common;
use settings::{Fault, Files, Node, Override, Value, folder_of, name_of, read, read_bytes};

/// An experiment, its values' origins, and the folder its paths are relative to.
#[derive(Debug)]
pub struct Loaded {
    /// The typed values.
    pub experiment: Experiment,
    /// The merged layers, as written.
    pub written: Node,
    /// The values that the environment and the command line have set.
    pub overrides: Vec<Override>,
    /// The folder of the experiment file.
    pub folder: PathBuf,
    /// Source of its platform.
    pub(crate) platform: PlatformSource,
}

/// Source of a platform.
#[derive(Clone, Debug)]
pub(crate) enum PlatformSource {
    /// In the file that the experiment names.
    File,
    /// In this text, TOML, which is in the binary.
    Text(&'static str),
    /// In this text, TOML: the hosts of a cluster.
    Cluster(String),
}

/// The experiment in `file`, changed by the environment and by `assignments` (`section.key=value`).
///
/// # Errors
///
/// [`Failure::Input`] for the file's faults, [`Failure::Usage`] for those of the other two layers.
pub fn load(file: &Path, assignments: &[String], registry: &Registry) -> Result<Loaded, Failure> {
    load_over(&Experiment::defaults(), file, assignments, registry)
}

/// The same for the hosts of a cluster: the experiment need not name a platform, and its policy is `adaptive` unless it
/// names another.
///
/// # Errors
///
/// As [`load`].
pub fn load_for_cluster(
    file: &Path,
    assignments: &[String],
    registry: &Registry,
) -> Result<Loaded, Failure> {
    load_over(&cluster_defaults()?, file, assignments, registry)
}

/// The same for nodes that play its platform: the policy is that of a cluster.
///
/// # Errors
///
/// As [`load`].
pub fn load_to_play(
    file: &Path,
    assignments: &[String],
    registry: &Registry,
) -> Result<Loaded, Failure> {
    let policy = settings::parse(CLUSTER_POLICY, "the cluster").map_err(Failure::input)?;
    let defaults = settings::merge(&[Experiment::defaults(), policy]);
    load_over(
        &defaults.map_err(Failure::input)?,
        file,
        assignments,
        registry,
    )
}

/// The experiment in `text` for the hosts of a cluster; `name` is what errors call it.
///
/// # Errors
///
/// As [`load`].
pub fn load_text_for_cluster(
    text: &str,
    name: &str,
    registry: &Registry,
) -> Result<Loaded, Failure> {
    let from_text = settings::parse(text, name).map_err(Failure::input)?;
    let written = settings::merge(&[cluster_defaults()?, from_text]).map_err(Failure::input)?;
    Ok(Loaded {
        experiment: Experiment::new(&written, registry)?,
        overrides: Vec::new(),
        written,
        folder: PathBuf::new(),
        platform: PlatformSource::File,
    })
}

/// The defaults of an experiment on the hosts of a cluster.
fn cluster_defaults() -> Result<Node, Failure> {
    let parsed = |text: &str| settings::parse(text, "the cluster").map_err(Failure::input);
    let (hosts, policy) = (parsed(CLUSTER)?, parsed(CLUSTER_POLICY)?);
    settings::merge(&[Experiment::defaults(), hosts, policy]).map_err(Failure::input)
}

fn load_over(
    defaults: &Node,
    file: &Path,
    assignments: &[String],
    registry: &Registry,
) -> Result<Loaded, Failure> {
    if file.extension().is_some_and(|ending| ending == "xml") {
        let name = file.display();
        let problem = "is a platform; an experiment is a TOML file that names it in platform.file";
        return Err(Failure::Input(format!("{name}: {problem}")));
    }
    let text = read(file).map_err(Failure::input)?;
    let from_file = settings::parse(&text, &name_of(file)).map_err(Failure::input)?;
    let from_environment = settings::environment(env::vars_os(), &registry.names())?;
    let from_arguments = settings::assignments(assignments)?;
    let folder = folder_of(file);
    let own = [from_file, from_environment, from_arguments];
    let merged = |platform: Node| {
        let layers: Vec<Node> = [defaults.clone(), platform]
            .into_iter()
            .chain(own.clone())
            .collect();
        settings::merge(&layers).map_err(Failure::input)
    };
    let written = merged(Node::empty_table())?;
    let written = merged(platform::layer(&written, &folder))?;
    let experiment = Experiment::new(&written, registry)?;
    Ok(Loaded {
        experiment,
        overrides: settings::overrides(&written),
        written,
        folder,
        platform: PlatformSource::File,
    })
}

/// The experiment in `text`, as a client submits it; its hosts are those that `platform` describes, TOML.
///
/// # Errors
///
/// The first fault of it.
pub fn submitted(text: &str, platform: String, registry: &Registry) -> Result<Loaded, Failure> {
    let from_client = settings::parse(text, "the experiment").map_err(Failure::input)?;
    let layers = [Experiment::defaults(), from_client.clone()];
    let written = settings::merge(&layers).map_err(Failure::input)?;
    let loaded = Loaded {
        experiment: Experiment::new(&written, registry)?,
        overrides: Vec::new(),
        written,
        folder: PathBuf::new(),
        platform: PlatformSource::Cluster(platform),
    };
    limits::check_submitted(&from_client, &loaded)?;
    Ok(loaded)
}

/// The experiment with the `configuration` of a record; its paths are relative to `folder`.
///
/// # Errors
///
/// The first fault of it.
pub fn recorded(
    configuration: &Node,
    folder: PathBuf,
    registry: &Registry,
) -> Result<Loaded, Failure> {
    let written = without_unset(configuration);
    let read = |node: &Node| Experiment::new(node, registry);
    Ok(Loaded {
        experiment: tolerant(&folder, ("", &written), read)?,
        overrides: Vec::new(),
        written,
        folder,
        platform: PlatformSource::File,
    })
}

/// `node` without the entries that are not set.
fn without_unset(node: &Node) -> Node {
    let Value::Table(entries) = &node.value else {
        return node.clone();
    };
    let set = entries
        .iter()
        .filter(|(_, entry)| entry.value != Value::Nil);
    let entries = set.map(|(key, entry)| (key.clone(), without_unset(entry)));
    Node {
        value: Value::Table(entries.collect()),
        origin: node.origin.clone(),
    }
}

/// The values that the environment and `assignments` set in every experiment.
///
/// # Errors
///
/// If a variable or an assignment is malformed.
pub fn overrides(assignments: &[String], registry: &Registry) -> Result<Vec<Override>, Failure> {
    let from_environment = settings::environment(env::vars_os(), &registry.names())?;
    let from_arguments = settings::assignments(assignments)?;
    let written = settings::merge(&[from_environment, from_arguments]).map_err(Failure::input)?;
    Ok(settings::overrides(&written))
}

/// The merged layers of `file` and the environment.
///
/// # Errors
///
/// If the file cannot be read, or one of them is no configuration.
pub fn layered(file: &Path) -> Result<Node, Failure> {
    let text = read(file).map_err(Failure::input)?;
    let from_file = settings::parse(&text, &name_of(file)).map_err(Failure::input)?;
    let from_environment = settings::environment(env::vars_os(), &[])?;
    settings::merge(&[from_file, from_environment]).map_err(Failure::input)
}

/// The section `[scheduler]` with `assignments` (`scheduler.key=value`) and defaults.
///
/// # Errors
///
/// The first invalid key or value.
pub fn scheduler(assignments: &[String], policies: &Policies) -> Result<Scheduler, Fault> {
    let written = settings::assignments(assignments)?;
    let empty = Node::empty_table();
    Scheduler::new(written.get("scheduler").unwrap_or(&empty), policies)
}

impl Loaded {
    /// What the workload of this experiment is to be built from.
    pub fn build_input(&self) -> BuildInput<'_> {
        let application = &self.experiment.application;
        BuildInput {
            written: &application.written,
            common: Common {
                processes: application.processes,
                supersteps: application.supersteps,
                seed: self.experiment.run.seed,
            },
            folder: &self.folder,
        }
    }

    /// The platform, with the background load of the run's seed.
    ///
    /// # Errors
    ///
    /// If its file describes no platform, or the experiment names something that is not there.
    pub fn platform(&self) -> Result<Platform, Failure> {
        let file = self.platform_file();
        let platform = match &self.platform {
            PlatformSource::File => platform::load(&file)?,
            PlatformSource::Text(text) => platform::parse(text, &file)?,
            PlatformSource::Cluster(text) => Platform::from_toml(text).map_err(|error| {
                Failure::Input(format!("the hosts of the cluster: {}", error.kind))
            })?,
        };
        let (load, congestion) = (&self.experiment.load, &self.experiment.congestion);
        let seed = self.experiment.run.seed;
        let source = (&self.written, &*self.folder);
        let platform = load.apply(platform, seed, source)?;
        Ok(congestion.apply(platform, seed, source)?)
    }

    /// The description of the platform.
    ///
    /// # Errors
    ///
    /// If its file cannot be read.
    pub fn platform_text(&self) -> Result<Vec<u8>, Failure> {
        match &self.platform {
            PlatformSource::File => read_bytes(&self.platform_file()).map_err(Failure::input),
            PlatformSource::Text(text) => Ok(text.as_bytes().to_vec()),
            PlatformSource::Cluster(text) => Ok(text.clone().into_bytes()),
        }
    }

    /// Whether its hosts are those of a cluster, where times are measured.
    pub(crate) const fn is_of_cluster(&self) -> bool {
        matches!(self.platform, PlatformSource::Cluster(_))
    }

    /// The platform file.
    pub fn platform_file(&self) -> PathBuf {
        let files = Files::new(&self.folder, &self.written);
        files.path("platform.file", &self.experiment.platform.file)
    }
}

/// Placeholder for a platform in experiments on real hosts that name none.
const CLUSTER: &str = "[platform]\nfile = \"cluster\"\n[scheduler.migration]\nsource = \"learnt\"";
/// The policy of experiments on real hosts that name none: it moves processes within a Set, too.
const CLUSTER_POLICY: &str = "[scheduler]\npolicy = \"adaptive\"";
