//! What a run is configured by: layers, typed sections, and where each value came from.

mod background;
mod decode;
mod effective;
mod embedded;
mod experiment;
mod fault;
mod files;
mod layers;
mod policy;
mod quantity;
mod scheduler;
mod script;
mod sections;

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use simulator::Platform;

use crate::failure::Failure;
use crate::platform;
use crate::registry::Registry;
use crate::tree::Node;

pub(crate) use decode::decode;
pub(crate) use effective::{print, tree_of};
pub(crate) use embedded::{Embedded, load_embedded};
pub(crate) use experiment::Experiment;
pub(crate) use fault::{Fault, list, nearest};
pub use files::Files;
pub(crate) use layers::read;
pub(crate) use quantity::Unit as Quantity;
pub use quantity::Unit;
pub(crate) use scheduler::{Scenario, Scheduler};
pub(crate) use script::{rank, script};
pub(crate) use sections::{Model, TCP_WINDOW};

/// An experiment, its values' origins, and the folder its paths are relative to.
#[derive(Debug)]
pub(crate) struct Loaded {
    /// The typed values.
    pub(crate) experiment: Experiment,
    /// The merged layers, as written.
    pub(crate) written: Node,
    /// The folder of the experiment file.
    pub(crate) folder: PathBuf,
    /// Source of its platform.
    platform: PlatformSource,
}

/// Source of a platform.
#[derive(Clone, Debug)]
enum PlatformSource {
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
pub(crate) fn load(
    file: &Path,
    assignments: &[String],
    registry: &Registry,
) -> Result<Loaded, Failure> {
    load_over(Experiment::defaults(), file, assignments, registry)
}

/// The same for the hosts of a cluster: the experiment need not name a platform.
///
/// # Errors
///
/// As [`load`].
pub(crate) fn load_for_cluster(
    file: &Path,
    assignments: &[String],
    registry: &Registry,
) -> Result<Loaded, Failure> {
    let hosts = layers::parse(CLUSTER, "the cluster").map_err(Failure::input)?;
    let defaults = layers::merge(&[Experiment::defaults(), hosts]).map_err(Failure::input)?;
    load_over(defaults, file, assignments, registry)
}

fn load_over(
    defaults: Node,
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
    let from_file = layers::parse(&text, &file.display().to_string()).map_err(Failure::input)?;
    let from_environment = layers::environment(env::vars_os(), &registry.names())?;
    let from_arguments = layers::assignments(assignments)?;
    let written = layers::merge(&[defaults, from_file, from_environment, from_arguments])
        .map_err(Failure::input)?;
    let experiment = Experiment::new(&written, registry)?;
    let folder = file.parent().map(Path::to_path_buf).unwrap_or_default();
    Ok(Loaded {
        experiment,
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
pub(crate) fn submitted(
    text: &str,
    platform: String,
    registry: &Registry,
) -> Result<Loaded, Failure> {
    let from_client = layers::parse(text, "the experiment").map_err(Failure::input)?;
    let written = layers::merge(&[Experiment::defaults(), from_client]).map_err(Failure::input)?;
    Ok(Loaded {
        experiment: Experiment::new(&written, registry)?,
        written,
        folder: PathBuf::new(),
        platform: PlatformSource::Cluster(platform),
    })
}

/// The merged layers of `file` and the environment.
///
/// # Errors
///
/// If the file cannot be read, or one of them is no configuration.
pub(crate) fn layered(file: &Path) -> Result<Node, Failure> {
    let text = read(file).map_err(Failure::input)?;
    let from_file = layers::parse(&text, &file.display().to_string()).map_err(Failure::input)?;
    let from_environment = layers::environment(env::vars_os(), &[])?;
    layers::merge(&[from_file, from_environment]).map_err(Failure::input)
}

/// The section `[scheduler]` with `assignments` (`scheduler.key=value`) and defaults.
///
/// # Errors
///
/// The first invalid key or value.
pub(crate) fn scheduler(assignments: &[String]) -> Result<Scheduler, Fault> {
    let written = layers::assignments(assignments)?;
    let empty = Node::empty_table();
    Scheduler::new(written.get("scheduler").unwrap_or(&empty))
}

impl Loaded {
    /// The platform, with the background load of the run's seed.
    ///
    /// # Errors
    ///
    /// If its file describes no platform, or the experiment names something that is not there.
    pub(crate) fn platform(&self) -> Result<Platform, Failure> {
        let file = self.platform_file();
        let platform = match &self.platform {
            PlatformSource::File => platform::load(&file)?,
            PlatformSource::Text(text) => platform::parse(text, &file)?,
            PlatformSource::Cluster(text) => Platform::from_toml(text).map_err(|error| {
                Failure::Input(format!("the hosts of the cluster: {}", error.fault))
            })?,
        };
        let (load, congestion) = (&self.experiment.load, &self.experiment.congestion);
        let seed = self.experiment.run.seed;
        let platform = load.apply(platform, seed, &self.written)?;
        Ok(congestion.apply(platform, seed, &self.written)?)
    }

    /// The description of the platform.
    ///
    /// # Errors
    ///
    /// If its file cannot be read.
    pub(crate) fn platform_text(&self) -> Result<Vec<u8>, Failure> {
        match &self.platform {
            PlatformSource::File => fs::read(self.platform_file()).map_err(Failure::input),
            PlatformSource::Text(text) => Ok(text.as_bytes().to_vec()),
            PlatformSource::Cluster(text) => Ok(text.clone().into_bytes()),
        }
    }

    /// The platform file.
    pub(crate) fn platform_file(&self) -> PathBuf {
        let files = Files::new(&self.folder, &self.written);
        files.path("platform.file", &self.experiment.platform.file)
    }
}

/// Placeholder for a platform in experiments on real hosts that name none.
const CLUSTER: &str = "[platform]\nfile = \"cluster\"";
