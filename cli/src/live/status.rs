//! `migbsp status`: how the nodes of a cluster are.

mod report;
mod watch;
mod watched;

use clap::Args;
use hosts::inquire;

use crate::command::{Command, Context};
use crate::failure::CommandFailure;
use crate::live::cluster_members::{ClusterArguments, ClusterMembers, roles};
use crate::live::help::STATUS_HELP;
use crate::output::{Format, print, print_json, print_text};
use experiments::{Failure, Provenance, Registry};
use report::{Report, Row, csv, text};
use watch::{WatchArguments, watch};

/// Arguments of `status`.
#[derive(Clone, Debug, Args)]
pub(crate) struct StatusArguments {
    #[command(flatten)]
    pub(crate) cluster: ClusterArguments,
    /// Format of the results
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    #[command(flatten)]
    watch: WatchArguments,
}

/// The command `status`.
pub(crate) fn command() -> Command {
    Command::new("status", "Show the state of a cluster's nodes", execute)
        .after_long_help(STATUS_HELP)
}

/// Shows how the nodes of a cluster are.
///
/// # Errors
///
/// If there is no cluster, or a node does not answer; the others are shown first.
fn execute(arguments: &StatusArguments, context: &Context<'_>) -> Result<(), CommandFailure> {
    show(
        arguments,
        ClusterMembers::find(&arguments.cluster)?,
        context.registry(),
    )
}

/// The same, of a cluster that is known.
pub(crate) fn show(
    arguments: &StatusArguments,
    cluster: ClusterMembers,
    registry: &Registry,
) -> Result<(), CommandFailure> {
    let provenance = Provenance::of_program(registry)?;
    if arguments.watch.is_wanted() {
        return watch(&arguments.watch, arguments.format, cluster, &provenance);
    }
    let ClusterMembers { members, client } = cluster;
    let asked = members.iter().cloned().zip(roles(&members)).collect();
    let answers = inquire(client, provenance.build(), asked)
        .map_err(|error| Failure::Cluster(error.message))?;
    let nodes = members.iter().zip(answers);
    let nodes: Vec<Row> = nodes
        .map(|(member, answer)| Row::new(member, answer))
        .collect();
    let silent = nodes.iter().filter(|row| row.problem.is_some()).count();
    let report = Report {
        build: provenance.build().clone(),
        nodes,
    };
    match arguments.format {
        Format::Table => print_text(true, |layout| text(&report, layout))?,
        Format::Json => print_json(&provenance, &report)?,
        Format::Csv => print(&csv(&report, &provenance)?)?,
    }
    if silent == 0 {
        return Ok(());
    }
    let all = report.nodes.len();
    Err(Failure::Cluster(format!("{silent} of {all} nodes do not answer: see above")).into())
}
