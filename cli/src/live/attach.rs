//! `migbsp attach`, `migbsp end` and `migbsp drain`: jobs that go on without the client that submitted them, or without a node.

use std::num::NonZeroU64;

use clap::Args;
use experiments::{Failure, RunFailure};
use hosts::Attachment;
use machines::JobError;
use protocol::identity::Name;
use protocol::transport::JobId;

use crate::command::{Command, Context};
use crate::failure::CommandFailure;
use crate::live::cluster::{ClusterArguments, ClusterMembers, roles};
use crate::live::help::{ATTACH_ABOUT, ATTACH_HELP, DRAIN_ABOUT, DRAIN_HELP, END_ABOUT};
use crate::live::run::{CheckpointArguments, Following, ResultArguments, RunJob, Shown};
use crate::output::print;
use crate::signals::TerminationSignal;

/// Arguments of `attach`.
#[derive(Clone, Debug, Args)]
struct AttachArguments {
    /// The number of the job, 16 hexadecimal digits, as `run --detach` and `status` say it
    #[arg(value_name = "JOB", value_parser = job_number)]
    job: JobId,
    #[command(flatten)]
    cluster: ClusterArguments,
    #[command(flatten)]
    results: ResultArguments,
}

/// Arguments of `end`.
#[derive(Clone, Debug, Args)]
struct EndArguments {
    /// The number of the job, 16 hexadecimal digits, as `run --detach` and `status` say it
    #[arg(value_name = "JOB", value_parser = job_number)]
    job: JobId,
    #[command(flatten)]
    cluster: ClusterArguments,
}

/// Arguments of `drain`.
#[derive(Clone, Debug, Args)]
struct DrainArguments {
    /// The name of the node, as the list of hosts has it; can be given several times
    #[arg(value_name = "NODE", required = true)]
    nodes: Vec<Name>,
    #[command(flatten)]
    cluster: ClusterArguments,
}

/// The command `attach`.
pub(crate) fn attach_command() -> Command {
    Command::new(
        "attach",
        "Follow a run that a node leads, and fetch its results",
        attach,
    )
    .long_about(ATTACH_ABOUT)
    .after_long_help(ATTACH_HELP)
}

/// The command `end`.
pub(crate) fn end_command() -> Command {
    Command::new("end", "End a run that a node leads", end).long_about(END_ABOUT)
}

/// The command `drain`.
pub(crate) fn drain_command() -> Command {
    Command::new("drain", "Have a node leave its job, and end it", drain)
        .long_about(DRAIN_ABOUT)
        .after_long_help(DRAIN_HELP)
}

fn attach(arguments: &AttachArguments, context: &Context<'_>) -> Result<(), CommandFailure> {
    let ClusterMembers { members, client } =
        ClusterMembers::find(&arguments.cluster, context.registry())?;
    let dashboard = arguments.results.dashboard()?;
    let build = context.registry().build()?;
    let roles = roles(&members).collect::<Vec<_>>();
    let asked = members.into_iter().zip(roles).collect();
    let attachment: Attachment =
        hosts::attach(client.clone(), &build, asked, arguments.job).map_err(failed)?;
    let job = RunJob::of_attachment(attachment, context.registry())?;
    let shown = Shown {
        name: arguments.job.to_string(),
        results: &arguments.results,
        checkpoints: &CheckpointArguments::default(),
    };
    let following = Following {
        simulated: None,
        dashboard,
        termination: TerminationSignal::default(),
        spectator: &mut |_| {},
    };
    shown.follow(job, client, context, following)
}

fn end(arguments: &EndArguments, context: &Context<'_>) -> Result<(), CommandFailure> {
    let ClusterMembers { members, client } =
        ClusterMembers::find(&arguments.cluster, context.registry())?;
    let build = context.registry().build()?;
    let roles = roles(&members).collect::<Vec<_>>();
    let asked = members.into_iter().zip(roles).collect();
    hosts::end(client, &build, asked, arguments.job).map_err(failed)?;
    print(&format!("{} ends\n", arguments.job))?;
    Ok(())
}

fn drain(arguments: &DrainArguments, context: &Context<'_>) -> Result<(), CommandFailure> {
    let ClusterMembers { members, client } =
        ClusterMembers::find(&arguments.cluster, context.registry())?;
    let build = context.registry().build()?;
    let roles = roles(&members).collect::<Vec<_>>();
    for name in &arguments.nodes {
        let name = name.as_str();
        let place = members.iter().position(|member| member.name == name);
        let place = place
            .ok_or_else(|| Failure::Usage(format!("{name}: the list of hosts has no such node")))?;
        hosts::drain(client.clone(), &build, (&members[place], roles[place])).map_err(failed)?;
        print(&format!("{name} has ended\n"))?;
    }
    Ok(())
}

fn failed(error: JobError) -> CommandFailure {
    CommandFailure::Failure(RunFailure::from(error).into())
}

/// The number of a job.
fn job_number(text: &str) -> Result<JobId, String> {
    let number = (text.len() == 16).then(|| u64::from_str_radix(text, 16).ok());
    let number = number.flatten().and_then(NonZeroU64::new);
    let rule = "must be 16 hexadecimal digits, as `status` shows it";
    number.map(JobId).ok_or_else(|| rule.to_owned())
}
