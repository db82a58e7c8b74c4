//! `migbsp attach`, `migbsp end` and `migbsp drain`: jobs that go on without the client that submitted them, or without a node.

use std::num::{NonZeroU32, NonZeroU64};

use clap::Args;
use experiments::{Failure, RunFailure};
use hosts::Attachment;
use machines::JobError;
use protocol::Member;
use protocol::identity::Name;
use protocol::transport::JobId;

use crate::command::{Command, Context};
use crate::failure::CommandFailure;
use crate::live::cluster::{ClusterArguments, ClusterMembers};
use crate::live::help::{
    ADD_ABOUT, ADD_HELP, ATTACH_ABOUT, ATTACH_HELP, DRAIN_ABOUT, DRAIN_HELP, END_ABOUT,
};
use crate::live::node::NamedNode;
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

/// Arguments of `add`.
#[derive(Clone, Debug, Args)]
struct AddArguments {
    /// Node that is to join the job of the cluster [default address: NAME:7447]
    #[arg(value_name = "NAME[=HOST:PORT]")]
    node: NamedNode,
    /// Its Set [default: that of the first node of the job]
    #[arg(long, value_name = "NAME")]
    set: Option<String>,
    /// The number of processors that it gives the job [default: all]
    #[arg(long, value_name = "N")]
    slots: Option<NonZeroU32>,
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

/// The command `add`.
pub(crate) fn add_command() -> Command {
    Command::new("add", "Have a node join a running job", add)
        .long_about(ADD_ABOUT)
        .after_long_help(ADD_HELP)
}

fn add(arguments: &AddArguments, context: &Context<'_>) -> Result<(), CommandFailure> {
    let cluster = ClusterMembers::find(&arguments.cluster, context.registry())?;
    let build = context.registry().build()?;
    let node = Member {
        name: arguments.node.name.to_string(),
        address: arguments.node.address.clone(),
        set: arguments.set.clone().unwrap_or_default(),
        slots: arguments.slots.map_or(0, NonZeroU32::get),
        speed: 1.0,
    };
    let name = node.name.clone();
    let all = cluster.all();
    let job = hosts::add(cluster.client, &build, &all, node).map_err(failed)?;
    print(&format!("{name} takes part in job {:016x}\n", job.0))?;
    Ok(())
}

fn attach(arguments: &AttachArguments, context: &Context<'_>) -> Result<(), CommandFailure> {
    let cluster = ClusterMembers::find(&arguments.cluster, context.registry())?;
    let dashboard = arguments.results.dashboard()?;
    let build = context.registry().build()?;
    let (asked, client) = (cluster.all(), cluster.client);
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
    let cluster = ClusterMembers::find(&arguments.cluster, context.registry())?;
    let build = context.registry().build()?;
    let (asked, client) = (cluster.all(), cluster.client);
    hosts::end(client, &build, asked, arguments.job).map_err(failed)?;
    print(&format!("{} ends\n", arguments.job))?;
    Ok(())
}

fn drain(arguments: &DrainArguments, context: &Context<'_>) -> Result<(), CommandFailure> {
    let cluster = ClusterMembers::find(&arguments.cluster, context.registry())?;
    let build = context.registry().build()?;
    let all = cluster.all();
    for name in &arguments.nodes {
        let name = name.as_str();
        let node = all.iter().find(|(member, _)| member.name == name);
        let (member, role) = node
            .ok_or_else(|| Failure::Usage(format!("{name}: the list of hosts has no such node")))?;
        hosts::drain(cluster.client.clone(), &build, (member, *role)).map_err(failed)?;
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
