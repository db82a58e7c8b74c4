//! What turns an experiment file into a run, in either world.
//!
//! A user's program implements [`bsp::Program`] and [`Workload`]; a [`Registry`] holds the workloads
//! and the rules of policies that a binary knows. [`load`] reads an experiment file under the layers of
//! the configuration, [`PreparedExperiment`] places its processes on its platform and runs it in
//! simulation, [`submission`] makes a job for real hosts of it, and [`Recorder`] keeps the record.
//! `docs/custom-programs.md` is a guide.

mod attributed;
mod background;
pub mod batch;
mod binary;
mod checkpoint;
mod checkpoint_summary;
pub mod cluster;
mod digest;
mod elasticity;
mod embedded;
mod experiment;
mod failure;
mod finished;
mod limits;
mod loaded;
mod outputs;
pub mod platform;
mod policy;
mod prepared;
mod provenance;
pub mod record;
mod recorder;
mod registry;
mod report;
mod saved_job;
mod scheduler;
mod script;
mod sections;
mod shipped;
pub mod submission;
mod verified;
mod workload;

pub use attributed::{Attributed, CsvTable, Published};
pub use background::BackgroundSection;
pub use checkpoint::{CheckpointSection, CheckpointTime};
pub use checkpoint_summary::CheckpointSummary;
pub use elasticity::ElasticitySection;
pub use embedded::{Embedded, load_embedded};
pub use experiment::{Application, Experiment};
pub use failure::Failure;
pub use finished::{Finished, RejectedOutputs, RunFailure};
pub use loaded::{
    Loaded, layered, load, load_for_cluster, load_text_for_cluster, load_to_play, overrides,
    recorded, scheduler,
};
pub use outputs::{Numbers, OutputFile, OutputsError, OutputsFormat};
pub use prepared::PreparedExperiment;
pub use provenance::{Provenance, platform_digest};
pub use recorder::{Recorder, beginning, refuse_records};
pub use registry::{BuildInput, Entry, Registry};
pub use report::{
    CallReport, CallSummary, JoinSummary, MigrationReport, NamedMove, Report, RunReport,
    TransferReport, csv as csv_of_run,
};
pub use saved_job::{SavedJob, absolute};
pub use scheduler::{Scenario, Scheduler};
pub use script::{ScriptedMove, rank, script};
pub use sections::{NetworkSection, PlatformSection, RunSection};
pub use settings::{Files, Override, Unit};
pub use verified::{Verified, VerifyError};
pub use workload::{Common, DealingParameters, Rejection, Supersteps, Unbuilt, Workload};
