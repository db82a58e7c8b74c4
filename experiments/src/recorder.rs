//! The record of a run, written during the run.

use std::fs;
use std::path::Path;

use agents::record::{Event, Run, SCHEMA, WriteError, Writer};
use bsp::HostId;
use protocol::Build;
use serde::Serialize;
use sha2::{Digest, Sha256};

use crate::failure::Failure;
use crate::prepared::PreparedExperiment;
use crate::record;
use crate::registry::Registry;
use crate::report::RunReport;
use crate::scheduler::Scenario;
use settings::Node;

/// Writer of a record.
#[derive(Debug)]
pub struct Recorder {
    writer: Writer,
    build: Build,
    platform_digest: String,
    /// The error that lost events, if there was one.
    lost: Option<WriteError>,
}

/// The head of a record: the experiment and its result.
#[derive(Debug, Serialize)]
struct Manifest<'a> {
    schema: &'static str,
    version: &'static str,
    /// The build that made the record; on real hosts, that of the client.
    build: &'a Build,
    scenario: &'static str,
    seed: u64,
    configuration: &'a Node,
    platform_sha256: &'a str,
    results: &'a RunReport,
}

impl Recorder {
    /// The record of a scenario, in a folder of its own inside `folder`.
    ///
    /// # Errors
    ///
    /// If that folder is not empty or cannot be written to, or the platform or the binary cannot be read.
    pub fn new(
        folder: &Path,
        scenario: Scenario,
        prepared: &PreparedExperiment,
        registry: &Registry,
    ) -> Result<Self, Failure> {
        let build = registry.build()?;
        let bytes = prepared.loaded.platform_text()?;
        let folder = folder.join(scenario.name());
        let mut writer = Writer::create(&folder).map_err(Failure::chain)?;
        writer
            .append(&head(scenario, prepared))
            .map_err(Failure::chain)?;
        Ok(Self {
            writer,
            build,
            platform_digest: hex::encode(Sha256::digest(&bytes)),
            lost: None,
        })
    }

    /// Handles an event.
    pub fn observe(&mut self, event: &Event) {
        if self.lost.is_none() {
            self.lost = self.writer.append(event).err();
        }
    }

    /// Flushes events to the system, so that a full disk is reported and other processes can read them.
    pub fn flush(&mut self) {
        if self.lost.is_none() {
            self.lost = self.writer.flush().err();
        }
    }

    /// The error that lost events, if there was one.
    pub fn lost(&self) -> Option<String> {
        self.lost
            .as_ref()
            .map(|error| Failure::chain(error).to_string())
    }

    /// Completes the record at the end of the run.
    ///
    /// # Errors
    ///
    /// If the disk did not take an event, or does not take the rest.
    pub fn finish(self, prepared: &PreparedExperiment, report: &RunReport) -> Result<(), Failure> {
        if let Some(error) = self.lost {
            return Err(Failure::chain(error));
        }
        let experiment = &prepared.loaded.experiment;
        let manifest = Manifest {
            schema: record::SCHEMA,
            version: env!("CARGO_PKG_VERSION"),
            build: &self.build,
            scenario: report.scenario,
            seed: experiment.run.seed,
            configuration: &experiment.effective(),
            platform_sha256: &self.platform_digest,
            results: report,
        };
        self.writer.finish(&manifest).map_err(Failure::chain)
    }
}

/// The first line of a record.
fn head(scenario: Scenario, prepared: &PreparedExperiment) -> Event {
    let platform = &prepared.platform;
    let host = |id: &HostId| platform.host(*id).name.clone();
    let sets = platform.sets().iter().map(|set| set.name.clone());
    let hosts = platform.hosts().iter().map(|host| host.name.clone());
    Event::Run(Run {
        schema: SCHEMA.to_owned(),
        scenario: scenario.name().to_owned(),
        sets: sets.collect(),
        hosts: hosts.collect(),
        placement: prepared.placement.iter().map(host).collect(),
    })
}

/// No scenario is run if one of them has no place for its record.
///
/// # Errors
///
/// If one of the folders is not empty.
pub fn refuse_records(folder: &Path, scenarios: &[Scenario]) -> Result<(), Failure> {
    for scenario in scenarios {
        let place = folder.join(scenario.name());
        let taken = fs::read_dir(&place).is_ok_and(|mut entries| entries.next().is_some());
        if taken {
            let directory = place;
            return Err(Failure::chain(WriteError::NotEmpty { directory }));
        }
    }
    Ok(())
}
