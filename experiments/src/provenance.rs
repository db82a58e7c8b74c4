//! What made a result: the program, its build, and the configuration.

use protocol::Build;
use serde::Serialize;
use settings::{Node, Override, canonical, tree_of};
use sha2::{Digest, Sha256};

use crate::failure::Failure;
use crate::loaded::Loaded;
use crate::record::{Manifest, RecordedBuild};
use crate::registry::Registry;

/// What made a result. It is at the head of every result that programs read, as JSON or CSV.
///
/// What does not apply to a result is absent: a reproduction has no configuration, a comparison has many.
#[derive(Clone, Debug, Serialize)]
pub struct Provenance {
    /// Name and version of the program, as `--version` prints them.
    version: String,
    /// The build of the program.
    build: Build,
    /// SHA-256 of the configuration in effect, as JSON without spaces, the entries of every section by key.
    #[serde(skip_serializing_if = "Option::is_none")]
    configuration_sha256: Option<String>,
    /// SHA-256 of the description of the platform.
    #[serde(skip_serializing_if = "Option::is_none")]
    platform_sha256: Option<String>,
    /// The policy of the configuration.
    #[serde(skip_serializing_if = "Option::is_none")]
    policy: Option<String>,
    /// The values that the environment and the command line have set.
    #[serde(skip_serializing_if = "Option::is_none")]
    overrides: Option<Vec<Override>>,
    /// Seed of all random numbers.
    #[serde(skip_serializing_if = "Option::is_none")]
    seed: Option<u64>,
    /// The build that made the record, if the result is about one; the configuration is that of the record.
    #[serde(skip_serializing_if = "Option::is_none")]
    recorded_by: Option<RecordedBuild>,
}

impl Provenance {
    /// A result of the program of `registry` alone.
    ///
    /// # Errors
    ///
    /// If the binary of this process cannot be read.
    pub fn of_program(registry: &Registry) -> Result<Self, Failure> {
        Ok(Self {
            version: format!("{} {}", registry.program(), registry.version()),
            build: registry.build()?,
            configuration_sha256: None,
            platform_sha256: None,
            policy: None,
            overrides: None,
            seed: None,
            recorded_by: None,
        })
    }

    /// A result of an experiment.
    ///
    /// # Errors
    ///
    /// If the binary of this process, or the platform, cannot be read.
    pub fn of_experiment(loaded: &Loaded, registry: &Registry) -> Result<Self, Failure> {
        let experiment = &loaded.experiment;
        let provenance = Self::of_program(registry)?
            .with_platform(&loaded.platform_text()?)
            .with_configuration(&experiment.effective())
            .with_overrides(loaded.overrides.clone())
            .with_seed(experiment.run.seed);
        Ok(Self {
            policy: Some(experiment.scheduler.policy_name()),
            ..provenance
        })
    }

    /// A result of the program `version` that another process has made, as a file says.
    ///
    /// # Errors
    ///
    /// If `build` is none.
    pub fn recorded(
        version: String,
        build: &RecordedBuild,
        overrides: Vec<Override>,
    ) -> Result<Self, String> {
        Ok(Self {
            version,
            build: build.build()?,
            configuration_sha256: None,
            platform_sha256: None,
            policy: None,
            overrides: Some(overrides),
            seed: None,
            recorded_by: None,
        })
    }

    /// A result about the record that `manifest` describes.
    ///
    /// # Errors
    ///
    /// If the binary of this process cannot be read.
    pub fn of_record(manifest: &Manifest, registry: &Registry) -> Result<Self, Failure> {
        let configuration = tree_of(&manifest.configuration);
        let provenance = Self::of_program(registry)?.with_configuration(&configuration);
        Ok(Self {
            platform_sha256: manifest.platform_sha256.clone(),
            policy: manifest.policy().map(str::to_owned),
            overrides: manifest.overrides.clone(),
            seed: manifest.seed,
            recorded_by: manifest.build.clone(),
            ..provenance
        })
    }

    /// The same, of this configuration.
    #[must_use]
    pub fn with_configuration(self, configuration: &Node) -> Self {
        Self {
            configuration_sha256: Some(configuration_digest(configuration)),
            ..self
        }
    }

    /// The same, on the platform with this description.
    #[must_use]
    pub fn with_platform(self, description: &[u8]) -> Self {
        Self {
            platform_sha256: Some(platform_digest(description)),
            ..self
        }
    }

    /// The same, with these values set.
    #[must_use]
    pub fn with_overrides(self, overrides: Vec<Override>) -> Self {
        Self {
            overrides: Some(overrides),
            ..self
        }
    }

    /// The same, with this seed.
    #[must_use]
    pub fn with_seed(self, seed: u64) -> Self {
        Self {
            seed: Some(seed),
            ..self
        }
    }

    /// The same, about what `build` has made.
    #[must_use]
    pub fn with_recorded_by(self, build: RecordedBuild) -> Self {
        Self {
            recorded_by: Some(build),
            ..self
        }
    }

    /// The values that the environment and the command line have set, if they are known.
    #[must_use]
    pub fn overrides(&self) -> &[Override] {
        self.overrides.as_deref().unwrap_or_default()
    }

    /// The build of the program, as files have it.
    #[must_use]
    pub fn recorded_build(&self) -> RecordedBuild {
        RecordedBuild {
            program: self.build.program().to_owned(),
            version: self.build.version().to_owned(),
            sha256: self.build.sha256(),
        }
    }

    /// The build of the program.
    #[must_use]
    pub const fn build(&self) -> &Build {
        &self.build
    }
}

/// SHA-256 of the description of a platform, as provenances have it.
#[must_use]
pub fn platform_digest(description: &[u8]) -> String {
    hex::encode(Sha256::digest(description))
}

/// SHA-256 of `configuration` as JSON without spaces, the entries of every section by key, in hexadecimal digits.
///
/// Unlike the digest of a run, it has no part in the build of the program and the files that the configuration names.
pub(crate) fn configuration_digest(configuration: &Node) -> String {
    hex::encode(Sha256::digest(canonical(configuration).as_bytes()))
}
