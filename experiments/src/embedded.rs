//! Experiments that are in the binary.

use std::path::Path;

use crate::experiment::Experiment;
use crate::failure::Failure;
use crate::loaded::{Loaded, PlatformSource};
use crate::registry::Registry;

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
    let mut layers = vec![settings::parse(embedded.text, embedded.name).map_err(Failure::input)?];
    layers.extend(settings::assignments(assignments)?);
    let written = settings::merge(&layers);
    let folder = Path::new(embedded.name).parent().map(Path::to_path_buf);
    Ok(Loaded {
        experiment: Experiment::new(&written, registry)?,
        overrides: settings::overrides(&written),
        written,
        folder: folder.unwrap_or_default(),
        platform: PlatformSource::Text(embedded.platform),
    })
}
