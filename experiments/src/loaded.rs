//! What a run is configured by: layers, typed sections, and where each value came from; and what of it real hosts refuse.

use std::env;
use std::ffi::OsString;
use std::fmt::Display;
use std::path::{Path, PathBuf};

use agents::{Collection, Payment, Shape};
use model::Policies;
use settings::{
    DataFolder, Fault, Files, Layer, Node, Override, Value, folder_of, merge, name_of, parse, read,
    read_bytes,
};
use simulator::Platform;

use crate::experiment::Experiment;
use crate::failure::Failure;
use crate::platform;
use crate::record::tolerant;
use crate::registry::{BuildInput, Common, Registry};
use crate::scheduler::Scheduler;

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
    /// The hosts of a cluster: the name of each Set, and those of its hosts.
    Cluster(Vec<(String, Vec<String>)>),
}

/// The experiment in `file`, changed by the environment and by `assignments` (`section.key=value`).
///
/// # Errors
///
/// [`Failure::Input`] for the file's faults, [`Failure::Usage`] for those of the other two layers.
pub fn load(file: &Path, assignments: &[String], registry: &Registry) -> Result<Loaded, Failure> {
    load_over(Vec::new(), file, assignments, registry)
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
    load_over(cluster_layers()?, file, assignments, registry)
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
    load_over(
        vec![of_cluster(CLUSTER_POLICY)?],
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
    let mut layers = cluster_layers()?;
    layers.push(parse(text, name).map_err(Failure::input)?);
    let written = merge(&layers);
    Ok(Loaded {
        experiment: Experiment::new(&written, registry)?,
        overrides: Vec::new(),
        written,
        folder: PathBuf::new(),
        platform: PlatformSource::File,
    })
}

/// What an experiment on the hosts of a cluster has unless it says otherwise.
fn cluster_layers() -> Result<Vec<Layer>, Failure> {
    Ok(vec![of_cluster(CLUSTER)?, of_cluster(CLUSTER_POLICY)?])
}

fn of_cluster(text: &str) -> Result<Layer, Failure> {
    parse(text, "the cluster").map_err(Failure::input)
}

/// The layers of the environment and of `assignments`, in this order.
fn own_layers(assignments: &[String], registry: &Registry) -> Result<Vec<Layer>, Failure> {
    let names = registry.names().into_iter();
    let sections: Vec<String> = names.map(|name| format!("application.{name}")).collect();
    let mut layers = settings::environment(variables(|of_node| !of_node), &sections)?;
    layers.extend(settings::assignments(assignments)?);
    Ok(layers)
}

/// The variables of the environment for which this holds, given whether they are of the section `[node]`: a script may set those of
/// nodes and of experiments, and each program reads its own.
fn variables(are_read: impl Fn(bool) -> bool) -> impl Iterator<Item = (OsString, OsString)> {
    env::vars_os().filter(move |(name, _)| {
        let name = name.to_string_lossy();
        let start = name.get(..NODE_VARIABLE.len());
        are_read(start.is_some_and(|start| start.eq_ignore_ascii_case(NODE_VARIABLE)))
    })
}

/// How variables of `[node]` begin.
const NODE_VARIABLE: &str = "MIGBSP__NODE__";

/// The experiment in `file` over the layers `below`.
fn load_over(
    below: Vec<Layer>,
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
    let folder = folder_of(file);
    let place_of_platform = below.len();
    let mut layers = below;
    layers.push(parse(&text, &name_of(file)).map_err(Failure::input)?);
    layers.extend(own_layers(assignments, registry)?);
    // What names the platform is known when all layers are.
    if let Some(layer) = platform::layer(&merge(&layers), &folder) {
        layers.insert(place_of_platform, layer);
    }
    let written = merge(&layers);
    let experiment = Experiment::new(&written, registry)?;
    Ok(Loaded {
        experiment,
        overrides: settings::overrides(&written),
        written,
        folder,
        platform: PlatformSource::File,
    })
}

/// The experiment in `text`, as a client submits it; its hosts are those of `sets`, each with its
/// name.
///
/// # Errors
///
/// The first fault of it.
pub(crate) fn submitted(
    text: &str,
    sets: Vec<(String, Vec<String>)>,
    registry: &Registry,
) -> Result<Loaded, Failure> {
    let written = merge(&[parse(text, "the experiment").map_err(Failure::input)?]);
    let loaded = Loaded {
        experiment: Experiment::new(&written, registry)?,
        overrides: Vec::new(),
        written,
        folder: PathBuf::new(),
        platform: PlatformSource::Cluster(sets),
    };
    check_submitted(&loaded)?;
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
    Ok(settings::overrides(&merge(&own_layers(
        assignments,
        registry,
    )?)))
}

/// The merged layers of `file` and the environment.
///
/// # Errors
///
/// If the file cannot be read, or one of them is no configuration.
pub fn layered(file: &Path) -> Result<Node, Failure> {
    let mut layers = vec![layer_of(file)?];
    layers.extend(settings::environment(variables(|of_node| !of_node), &[])?);
    Ok(merge(&layers))
}

/// The configuration of a node: the merged layers of `file`, if there is one, and of its variables in the environment.
///
/// # Errors
///
/// If the file cannot be read, or one of them is no configuration.
pub fn node_configuration(file: Option<&Path>) -> Result<Node, Failure> {
    let mut layers = Vec::from_iter(file.map(layer_of).transpose()?);
    layers.extend(settings::environment(variables(|of_node| of_node), &[])?);
    Ok(merge(&layers))
}

fn layer_of(file: &Path) -> Result<Layer, Failure> {
    let text = read(file).map_err(Failure::input)?;
    parse(&text, &name_of(file)).map_err(Failure::input)
}

/// The section `[scheduler]` with `assignments` (`scheduler.key=value`) and defaults.
///
/// # Errors
///
/// The first invalid key or value.
pub fn scheduler(assignments: &[String], policies: &Policies) -> Result<Scheduler, Fault> {
    let written = merge(&settings::assignments(assignments)?);
    let empty = Node::empty_table();
    Scheduler::new(written.get("scheduler").unwrap_or(&empty), policies)
}

impl Loaded {
    /// What the workload of this experiment is to be built from.
    pub fn build_input(&self) -> BuildInput<'_> {
        const NOTHING: &Node = &Node::empty_table();
        let application = &self.experiment.application;
        BuildInput {
            application: self.written.get("application").unwrap_or(NOTHING),
            common: Common {
                processes: application.processes,
                supersteps: application.supersteps,
                seed: self.experiment.run.seed,
            },
            folder: DataFolder::OfExperiment(&self.folder),
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
            PlatformSource::Cluster(sets) => of_sets(sets)?,
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
            PlatformSource::Cluster(sets) => serde_json::to_vec(sets).map_err(Failure::run),
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

/// The platform of a cluster of these Sets, each with its name and those of its hosts.
///
/// # Errors
///
/// If names are none, or equal.
pub(crate) fn of_sets(sets: &[(String, Vec<String>)]) -> Result<Platform, Failure> {
    let named = sets
        .iter()
        .map(|(set, hosts)| (set.as_str(), hosts.as_slice()));
    Platform::of_names(named)
        .map_err(|problem| Failure::Input(format!("the hosts of the cluster: {problem}")))
}

/// Placeholder for a platform in experiments on real hosts that name none.
const CLUSTER: &str = "[platform]\nfile = \"cluster\"\n[scheduler.migration]\nsource = \"learnt\"";
/// The policy of experiments on real hosts that name none: it moves processes within a Set, too.
const CLUSTER_POLICY: &str = "[scheduler]\npolicy = \"adaptive\"";

/// An experiment that is in the binary, with its platform.
#[derive(Clone, Copy, Debug)]
pub struct Embedded {
    /// Its file in the sources.
    pub name: &'static str,
    /// Contents of that file.
    pub text: &'static str,
    /// Contents of the platform file that it names, TOML.
    pub platform: &'static str,
}

/// The experiment in `embedded`, changed by `assignments` (`section.key=value`) only:
/// the environment is left aside, so that the same experiment is run everywhere.
///
/// # Errors
///
/// The first fault of the experiment or of the assignments.
pub fn load_embedded(
    embedded: &Embedded,
    assignments: &[String],
    registry: &Registry,
) -> Result<Loaded, Failure> {
    let mut layers = vec![parse(embedded.text, embedded.name).map_err(Failure::input)?];
    layers.extend(settings::assignments(assignments)?);
    let written = merge(&layers);
    let folder = Path::new(embedded.name).parent().map(Path::to_path_buf);
    Ok(Loaded {
        experiment: Experiment::new(&written, registry)?,
        overrides: settings::overrides(&written),
        written,
        folder: folder.unwrap_or_default(),
        platform: PlatformSource::Text(embedded.platform),
    })
}

/// Refuses settings that need a simulated platform, and warns about ignored ones; with `plays`, background load is not
/// ignored.
///
/// # Errors
///
/// If the experiment has a different meaning on real hosts.
pub(crate) fn check_for_hosts(loaded: &Loaded, plays: bool) -> Result<(), Failure> {
    refuse(loaded)?;
    if loaded.experiment.barrier.collection == Collection::ByRank {
        tracing::warn!(
            "barrier.collection = \"by-rank\": real hosts process messages in order of arrival"
        );
    }
    for section in ["load", "congestion"] {
        let written = loaded.written.get(section);
        if !plays && written.is_some_and(|node| !node.entries().is_empty()) {
            tracing::warn!(
                "[{section}] is ignored: it is for simulated platforms, and for `up --play`"
            );
        }
    }
    Ok(())
}

/// Refuses what no client submits: sections of a simulated platform, which [`without_others`] leaves out and which name
/// files, and settings that [`check_for_hosts`] refuses. Nothing that the experiment names has been opened.
///
/// # Errors
///
/// If it has any of them.
fn check_submitted(loaded: &Loaded) -> Result<(), Failure> {
    for section in SIMULATED {
        if let Some(node) = loaded.written.get(section) {
            let problem = "is of a simulated platform, and clients leave it out";
            return Err(Fault::new(node.place(), section, problem).into());
        }
    }
    refuse(loaded)
}

/// Refuses settings that need a simulated platform.
fn refuse(loaded: &Loaded) -> Result<(), Failure> {
    let experiment = &loaded.experiment;
    let refuse = |key: &str, found: &dyn Display, rule: &str| {
        let rule = format!("needs a simulated platform{rule}");
        Err(Failure::input(loaded.written.invalid("", key, found, rule)))
    };
    let shape = experiment.barrier.shape;
    if !shape.is_real() {
        let name = |shape: Shape| toml::Value::try_from(shape).map(|name| name.to_string());
        let real = Shape::ALL.into_iter().filter(|shape| shape.is_real());
        let real: Vec<String> = real.flat_map(name).collect();
        let found = name(shape).unwrap_or_default();
        let rule = format!(", must be {}", real.join(" or "));
        return refuse("barrier.shape", &found, &rule);
    }
    if experiment.scheduler.settings.payment == Payment::Migrant {
        let rule = ", must be \"transfer\"";
        return refuse("scheduler.payment", &"\"migrant\"", rule);
    }
    if let Some((key, found)) = experiment.elasticity.prepared() {
        let rule = ": on real hosts, preparing a host takes what it takes, and processes wait that long; leave it out";
        return refuse(key, &found, rule);
    }
    if let Some(factor) = experiment.scheduler.settings.transfer_factor {
        let rule = ": on real hosts, moves take what they take";
        return refuse("scheduler.transfer_factor", &factor, rule);
    }
    Ok(())
}

/// The experiment in effect without the background load of simulated hosts and links, and without hosts that join if none does.
pub(crate) fn without_others(loaded: &Loaded) -> Node {
    let effective = loaded.experiment.effective();
    let entries = effective.entries().iter();
    let has_checkpoints = loaded.experiment.checkpoint.is_on();
    let kept = entries.filter(|(key, _)| match key.as_str() {
        section if SIMULATED.contains(&section) => false,
        "elasticity" => !loaded.experiment.elasticity.pool.is_empty(),
        "checkpoint" => has_checkpoints,
        // The client decides.
        "recovery" => false,
        _ => true,
    });
    Node::table(kept.cloned().collect())
}

/// The sections of a simulated platform.
const SIMULATED: [&str; 2] = ["load", "congestion"];
