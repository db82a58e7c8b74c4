//! `migbsp bench`: what a cluster is capable of.

mod migration;
mod superstep;

use clap::{Args, Subcommand};
use experiments::{Failure, Registry};
use indicatif::MultiProgress;

use crate::command::{Command, Context};
use crate::failure::CommandFailure;
use crate::live::cluster_members::{ClusterArguments, ClusterMembers};
use crate::live::help::{MIGRATION_ABOUT, MIGRATION_HELP, SUPERSTEP_ABOUT, SUPERSTEP_HELP};
use crate::live::job_runner::JobRunner;
use crate::live::set_links::SetLinks;
use crate::signals::TerminationSignal;
use migration::MigrationArguments;
use superstep::SuperstepArguments;

/// Arguments of `bench`.
#[derive(Clone, Debug, Args)]
pub(crate) struct BenchArguments {
    #[command(subcommand)]
    command: BenchCommand,
}

/// What is measured.
#[derive(Clone, Debug, Subcommand)]
enum BenchCommand {
    /// Move states between two nodes, and compare what that takes with what was predicted
    #[command(long_about = MIGRATION_ABOUT, after_long_help = MIGRATION_HELP)]
    Migration(MigrationArguments),
    /// Measure r, g and l, the parameters of the BSP cost model
    #[command(long_about = SUPERSTEP_ABOUT, after_long_help = SUPERSTEP_HELP)]
    Superstep(SuperstepArguments),
}

impl BenchArguments {
    /// The cluster that is named.
    pub(crate) const fn cluster(&self) -> &ClusterArguments {
        match &self.command {
            BenchCommand::Migration(migration) => &migration.cluster,
            BenchCommand::Superstep(superstep) => &superstep.cluster,
        }
    }

    /// Checks what can be known to be wrong before there is a cluster.
    ///
    /// # Errors
    ///
    /// What is wrong.
    pub(crate) fn check(&self, registry: &Registry) -> Result<(), Failure> {
        match &self.command {
            BenchCommand::Migration(migration) => migration.check(registry),
            BenchCommand::Superstep(_) => Ok(()),
        }
    }

    /// The links between the Sets of `up`, with the levels that the bench wants.
    ///
    /// # Errors
    ///
    /// If levels are wanted and there is no link, or a file of levels is invalid.
    pub(crate) fn links(&self, links: Option<SetLinks>) -> Result<Option<SetLinks>, Failure> {
        match &self.command {
            BenchCommand::Migration(migration) => migration.links(links),
            BenchCommand::Superstep(_) => Ok(links),
        }
    }
}

/// The command `bench`.
pub(crate) fn command() -> Command {
    Command::new("bench", "Measure what a cluster is capable of", execute)
}

/// Executes a bench on the cluster that is named.
///
/// # Errors
///
/// Whatever is wrong with the arguments, the cluster or a job.
fn execute(arguments: &BenchArguments, context: &Context<'_>) -> Result<(), CommandFailure> {
    arguments.check(context.registry())?;
    match &arguments.command {
        BenchCommand::Migration(migration) => migration.refuse_levels()?,
        BenchCommand::Superstep(_) => {}
    }
    let cluster = ClusterMembers::find(arguments.cluster())?;
    follow(arguments, &cluster, context)
}

/// The same, on a cluster that is known.
///
/// # Errors
///
/// As [`execute`].
pub(crate) fn follow(
    arguments: &BenchArguments,
    cluster: &ClusterMembers,
    context: &Context<'_>,
) -> Result<(), CommandFailure> {
    let bars = context.has_progress().then(MultiProgress::new);
    let runner = JobRunner {
        cluster,
        registry: context.registry(),
        termination: &TerminationSignal::default(),
        bars: bars.as_ref(),
    };
    match &arguments.command {
        BenchCommand::Migration(migration) => migration::execute(migration, &runner),
        BenchCommand::Superstep(superstep) => superstep::execute(superstep, &runner),
    }
}
