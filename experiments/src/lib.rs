//! What turns an experiment file into a run, in either world.
//!
//! A user's program implements [`bsp::Program`] and [`Workload`]; a [`Registry`] holds the workloads
//! and the rules of policies that a binary knows. [`load`] reads an experiment file under the layers of
//! the configuration, [`PreparedExperiment`] places its processes on its platform and runs it in
//! simulation, [`submission`] makes a job for real hosts of it, and [`Recorder`] keeps the record.
//! `docs/guide/custom-programs.md` is a guide.

mod background;
pub mod batch;
mod binary;
pub mod cluster;
mod experiment;
mod failure;
mod files;
mod loaded;
mod outputs;
pub mod platform;
mod prepared;
mod provenance;
pub mod record;
mod recorder;
mod registry;
mod report;
mod scheduler;
#[cfg(feature = "schemas")]
pub mod schemas;
mod sections;
mod shipped;
pub mod submission;

pub use background::BackgroundSection;
pub use experiment::{Application, Experiment};
pub use failure::Failure;
pub use loaded::{
    Embedded, Loaded, layered, load, load_embedded, load_for_cluster, load_text_for_cluster,
    load_to_play, node_configuration, overrides, recorded, scheduler,
};
pub use outputs::{Numbers, OutputFile, OutputsError, OutputsFormat};
pub use prepared::{
    Finished, PreparedExperiment, RejectedOutputs, RunFailure, Verified, VerifyError,
};
pub use provenance::{Attributed, CsvTable, Provenance, Published, platform_digest};
pub use recorder::{Recorder, beginning, record_name, refuse_records};
pub use registry::{
    BuildError, BuildInput, Common, DealingParameters, Entry, Lawful, ParameterError, Registry,
    Rejection, Resources, Supersteps, Unbuilt, Unlawful, Workload,
};
pub use report::{
    CallReport, CallSummary, CheckpointSummary, JoinSummary, MigrationReport, NamedMove, Report,
    RunReport, TransferReport, csv as csv_of_run,
};
pub use scheduler::{Scenario, Scheduler, ScriptedMove, rank, script};
pub use sections::{
    CheckpointSection, CheckpointTime, ElasticitySection, NetworkSection, PlatformSection,
    RecoverySection, RunSection,
};
pub use settings::{DataFolder, Files, InputFileError, Override, Unit};
pub use submission::{SavedExperiment, SavedJob, absolute, next_view};
