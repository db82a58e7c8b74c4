//! The record of a run, written during the run.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use ::record::{
    Event, ResumedRun, Run, SCHEMA, ViewChange, WriteError, WriteOptions, Writer, is_complete,
    set_record_aside,
};
use bsp::HostId;
use bsp::reference::chain;
use protocol::transport::JobId;
use serde::Serialize;

use crate::failure::Failure;
use crate::files::FilesIndex;
use crate::prepared::{Finished, PreparedExperiment};
use crate::provenance::Provenance;
use crate::record;
use crate::record::RecordedFailure;
use crate::registry::Registry;
use crate::report::RunReport;
use crate::scheduler::Scenario;
use settings::Node;

/// Writer of a record, which begins with the first event: a run that never started leaves none.
#[derive(Debug)]
pub struct Recorder {
    folder: PathBuf,
    options: WriteOptions,
    description: Description,
    head: Event,
    /// The names of the hosts.
    hosts: Vec<String>,
    /// Present from the first event on.
    writer: Option<Writer>,
    /// The error that lost events, if there was one.
    lost: Option<WriteError>,
    /// The files that processes have left.
    files: FilesIndex,
}

/// The experiment.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
struct Description {
    /// Name and version of this form.
    schema: &'static str,
    /// What made the record; on real hosts, the build is that of the client.
    #[serde(flatten)]
    provenance: Provenance,
    /// Which scenario was run.
    #[cfg_attr(feature = "schemas", schemars(extend("enum" = ["i", "ii", "iii"])))]
    scenario: &'static str,
    /// Whether its times were measured on real hosts.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    measured: bool,
    /// The number of its job there, which `status` and the logs of nodes have.
    #[serde(skip_serializing_if = "Option::is_none")]
    job: Option<String>,
    /// When the run began, in seconds since 1970, by the clock of the client.
    #[serde(skip_serializing_if = "Option::is_none")]
    began: Option<f64>,
    /// The checkpoint that the run resumes, if it does.
    #[serde(skip_serializing_if = "Option::is_none")]
    resumed: Option<ResumedRun>,
    /// The experiment with all its values, by section, in basic units; `configuration_sha256` is its digest.
    #[cfg_attr(feature = "schemas", schemars(extend("type" = "object")))]
    configuration: Node,
}

/// `run.json` of a record, and `run.json.partial` as long as there is no result: the experiment, and the result or why there is
/// none.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub(crate) struct Manifest<'a> {
    #[serde(flatten)]
    description: &'a Description,
    /// The result, once there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    results: Option<&'a RunReport>,
    /// Why there is none, of a run that has failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    failure: Option<&'a RecordedFailure>,
}

impl Recorder {
    /// The record of a scenario, in a folder of its own inside `folder`.
    ///
    /// # Errors
    ///
    /// If the platform or the binary cannot be read.
    pub fn new(
        folder: &Path,
        scenario: Scenario,
        prepared: &PreparedExperiment,
        registry: &Registry,
    ) -> Result<Self, Failure> {
        let head = head(scenario, prepared, registry)?;
        Ok(Self {
            folder: folder.join(record_name(scenario, prepared.view.as_ref())),
            options: WriteOptions::default(),
            description: description(scenario, prepared, registry)?,
            hosts: head.hosts.clone(),
            head: Event::Run(head),
            writer: None,
            lost: None,
            files: FilesIndex::default(),
        })
    }

    /// The same recorder; if `is_forced`, it also replaces a complete record.
    #[must_use]
    pub fn replacing(mut self, is_forced: bool) -> Self {
        self.options.replaces_complete = is_forced;
        self
    }

    /// The same recorder; if `is_wanted`, its events are compressed.
    #[must_use]
    pub fn compressing(mut self, is_wanted: bool) -> Self {
        self.options.compresses = is_wanted;
        self
    }

    /// The folder of the record.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Whether an event has been recorded.
    #[must_use]
    pub const fn has_begun(&self) -> bool {
        self.writer.is_some()
    }

    /// Handles an event.
    pub fn observe(&mut self, event: &Event) {
        if self.lost.is_none() {
            self.lost = self.append(event).err();
        }
    }

    fn append(&mut self, event: &Event) -> Result<(), WriteError> {
        if self.writer.is_none() {
            self.writer = Some(self.begin()?);
        }
        let Some(writer) = &mut self.writer else {
            return Ok(());
        };
        if let Event::Snapshot(snapshot) = event {
            if let Some(contents) = &snapshot.contents {
                writer.add_file(&snapshot.path(), contents)?;
            }
            let node = self.hosts.get(snapshot.host.index());
            self.files
                .add_snapshot(snapshot, node.map_or("", String::as_str));
        }
        writer.append(event)
    }

    fn begin(&self) -> Result<Writer, WriteError> {
        if matches!(&self.head, Event::Run(run) if run.view.is_none()) {
            set_views_aside(&self.folder)?;
        }
        let mut writer = Writer::create(&self.folder, &self.description, self.options)?;
        if let Some(aside) = writer.set_aside() {
            tracing::warn!(
                "{} had the record of a run that did not end: it is in {} now",
                self.folder.display(),
                aside.display()
            );
        }
        writer.append(&self.head)?;
        // However the run ends, the record names its processes.
        writer.flush()?;
        Ok(writer)
    }

    /// Flushes events to the system, so that a full disk is reported and other processes can read them.
    pub fn flush(&mut self) {
        if let (None, Some(writer)) = (&self.lost, &mut self.writer) {
            self.lost = writer.flush().err();
        }
    }

    /// The error that lost events, if there was one.
    pub fn lost(&self) -> Option<String> {
        self.lost.as_ref().map(|error| chain(error))
    }

    /// Ends the record of a run that has failed with the reason, if it has begun.
    ///
    /// # Errors
    ///
    /// If the disk does not take it.
    pub fn fail(mut self, failure: &RecordedFailure) -> Result<(), Failure> {
        let mut indexed = Ok(());
        if let Some(writer) = &mut self.writer {
            indexed = add_index(writer, &mut self.files, &self.description.provenance);
        }
        let manifest = Manifest {
            description: &self.description,
            results: None,
            failure: Some(failure),
        };
        let written = self.writer.map(|writer| writer.fail(&manifest));
        written.unwrap_or(Ok(())).map_err(Failure::chain)?;
        indexed
    }

    /// The number of the job that the run is, on real hosts. It is for a record that has not begun.
    pub fn set_job(&mut self, job: JobId) {
        self.description.job = Some(format!("{:016x}", job.0));
    }

    /// The run began at this time, in seconds since 1970. It is for a record that has not begun.
    pub const fn set_began(&mut self, began: f64) {
        self.description.began = Some(began);
    }

    /// The nodes of the run write files into these folders, by their names.
    pub fn set_folders(&mut self, folders: BTreeMap<String, String>) {
        self.files.set_folders(folders);
    }

    /// Adds the files with the outputs of a run, if they are on its nodes, to the index that the record will have.
    pub fn add_outputs(&mut self, finished: &Finished) {
        self.files.add_outputs(finished);
    }

    /// Completes the record at the end of the run.
    ///
    /// # Errors
    ///
    /// If the disk did not take an event, or does not take the rest, or the run has not ended.
    pub fn finish(mut self, report: &RunReport) -> Result<(), Failure> {
        if let Some(error) = self.lost {
            return Err(Failure::chain(error));
        }
        let directory = self.folder;
        let mut writer = self.writer.ok_or(WriteError::Unended { directory });
        if let Ok(writer) = &mut writer {
            add_index(writer, &mut self.files, &self.description.provenance)?;
        }
        let manifest = Manifest {
            description: &self.description,
            results: Some(report),
            failure: None,
        };
        let finished = writer.and_then(|writer| writer.finish(&manifest));
        finished.map_err(Failure::chain)
    }
}

/// The name of the folder of the record of a scenario, in a later view of its job if there is one.
pub fn record_name(scenario: Scenario, view: Option<&ViewChange>) -> String {
    let name = scenario.name();
    match view {
        None => name.to_owned(),
        Some(view) => record::view_name(name, view.number),
    }
}

/// Sets the records of later views aside that a run before has left: those of the run that begins in `folder` are others.
fn set_views_aside(folder: &Path) -> Result<(), WriteError> {
    for view in record::views(folder) {
        let path = view.clone();
        set_record_aside(&view).map_err(|source| WriteError::Io { path, source })?;
    }
    Ok(())
}

/// Adds the index of the files that processes have left to a record, if there are any.
fn add_index(
    writer: &mut Writer,
    files: &mut FilesIndex,
    provenance: &Provenance,
) -> Result<(), Failure> {
    for (name, contents) in files.contents(provenance)? {
        writer.add_file(name, &contents).map_err(Failure::chain)?;
    }
    Ok(())
}

/// What the record of a scenario begins with, as readers of records have it: its description, and the start of the run.
///
/// # Errors
///
/// If the platform or the binary cannot be read.
pub fn beginning(
    scenario: Scenario,
    prepared: &PreparedExperiment,
    registry: &Registry,
) -> Result<(record::Manifest, Run), Failure> {
    let written = serde_json::to_value(description(scenario, prepared, registry)?);
    let manifest = written.and_then(serde_json::from_value);
    Ok((
        manifest.map_err(Failure::run)?,
        head(scenario, prepared, registry)?,
    ))
}

fn description(
    scenario: Scenario,
    prepared: &PreparedExperiment,
    registry: &Registry,
) -> Result<Description, Failure> {
    Ok(Description {
        schema: record::SCHEMA,
        provenance: Provenance::of_experiment(&prepared.loaded, registry)?,
        scenario: scenario.name(),
        measured: prepared.loaded.is_of_cluster(),
        job: None,
        began: None,
        resumed: prepared.resumed.clone(),
        configuration: prepared.loaded.experiment.effective(),
    })
}

/// The first line of a record.
fn head(
    scenario: Scenario,
    prepared: &PreparedExperiment,
    registry: &Registry,
) -> Result<Run, Failure> {
    let workload = &prepared.loaded.experiment.application.workload;
    let round = registry.find(workload, None)?.program_type().round();
    let platform = &prepared.platform;
    let host = |id: &HostId| platform.host(*id).name.clone();
    let sets = platform.sets().iter().map(|set| set.name.clone());
    let hosts = platform.hosts().iter().map(|host| host.name.clone());
    Ok(Run {
        schema: SCHEMA.to_owned(),
        scenario: scenario.name().to_owned(),
        sets: sets.collect(),
        hosts: hosts.collect(),
        members: Run::members_of(platform.hosts().iter().map(|host| host.set)),
        placement: prepared.placement.iter().map(host).collect(),
        round,
        resumed: prepared.resumed.clone(),
        view: prepared.view.clone(),
    })
}

/// No scenario is run if one of them has no place for its record.
///
/// # Errors
///
/// If one of the folders holds a complete record.
pub fn refuse_records(folder: &Path, scenarios: &[Scenario]) -> Result<(), Failure> {
    for scenario in scenarios {
        let directory = folder.join(scenario.name());
        let views = record::views(&directory);
        let mut all = std::iter::once(directory).chain(views);
        if let Some(directory) = all.find(|directory| is_complete(directory)) {
            let taken = WriteError::Complete { directory };
            return Err(Failure::Usage(format!("--out: {taken}")));
        }
    }
    Ok(())
}
