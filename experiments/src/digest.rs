//! The digest of everything that the result of a simulated run depends on.

use std::fmt::{self, Write as _};
use std::fs;

use sha2::{Digest, Sha256};

use crate::failure::Failure;
use crate::prepared::PreparedExperiment;
use crate::registry::Registry;
use crate::scheduler::Scenario;
use settings::{Files, Node, Value, canonical};

impl PreparedExperiment {
    /// A digest that differs if a run of `scenario` may: of the build, the configuration with its seed, the
    /// platform as it was read, and the files that the workload's parameters name. What a run of `scenario` is not given
    /// is no part of it: without a policy, `[scheduler]`.
    ///
    /// # Errors
    ///
    /// If such a file cannot be read, or the binary.
    pub fn digest(&self, scenario: Scenario, registry: &Registry) -> Result<String, Failure> {
        let build = registry.build()?;
        let experiment = &self.loaded.experiment;
        let application = &experiment.application;
        let mut digest = Hashed(Sha256::new());
        let is_scheduled = self.setup(scenario).scheduler.is_some();
        let effective = experiment.decisive(is_scheduled);
        let platform = &self.platform;
        let scenario = scenario.name();
        write!(digest, "{build:?}\n{scenario}\n{effective}\n{platform:?}\n")
            .map_err(Failure::run)?;
        let files = Files::new(&self.loaded.folder, &application.written);
        digest.add_files("", &application.effective, files)?;
        Ok(hex::encode(digest.0.finalize()))
    }
}

impl PreparedExperiment {
    /// A digest of all that the length of a superstep depends on under a given placement, if all supersteps are alike:
    /// the application without its length, the platform, network and barrier, the files that the application names, and
    /// where processes start, because Managers run there.
    ///
    /// It is the same in all builds, for any scheduler and seed.
    ///
    /// # Errors
    ///
    /// If a file cannot be read.
    pub fn steady_digest(&self) -> Result<String, Failure> {
        let experiment = &self.loaded.experiment;
        let application = &experiment.application;
        let effective = experiment.effective();
        let mut digest = Hashed(Sha256::new());
        for (section, node) in effective.entries() {
            let left_out: &[&str] = match section.as_str() {
                "scheduler" | "placement" | "run" => continue,
                "elasticity" if experiment.elasticity.pool.is_empty() => continue,
                "checkpoint" if !experiment.checkpoint.is_on() => continue,
                "application" => &["supersteps"],
                "platform" => &["file"],
                _ => &[],
            };
            let entries = node.entries().iter();
            let kept = entries.filter(|(key, _)| !left_out.contains(&key.as_str()));
            let kept = Node {
                value: Value::Table(kept.cloned().collect()),
                origin: None,
            };
            let text = canonical(&kept);
            writeln!(digest, "{section} {text}").map_err(Failure::run)?;
        }
        for host in &self.placement {
            writeln!(digest, "{}", host.index()).map_err(Failure::run)?;
        }
        digest.0.update(self.loaded.platform_text()?);
        let files = Files::new(&self.loaded.folder, &application.written);
        digest.add_files("", &application.effective, files)?;
        Ok(hex::encode(digest.0.finalize()))
    }
}

/// A digest of formatted text.
struct Hashed(Sha256);

impl fmt::Write for Hashed {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.update(text.as_bytes());
        Ok(())
    }
}

impl Hashed {
    /// Adds the contents of every file that a value in `node` names.
    fn add_files(&mut self, path: &str, node: &Node, files: Files<'_>) -> Result<(), Failure> {
        for (key, value) in node.entries() {
            let path = if path.is_empty() {
                key.clone()
            } else {
                format!("{path}.{key}")
            };
            if let Value::Text(name) = &value.value {
                let file = files.path(&path, name);
                if file.is_file() {
                    let place = |error| Failure::Input(format!("{}: {error}", file.display()));
                    self.0.update(fs::read(&file).map_err(place)?);
                }
            }
            self.add_files(&path, value, files)?;
        }
        Ok(())
    }
}
