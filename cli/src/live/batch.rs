//! `migbsp slurm`, `migbsp pbs` and `migbsp oar`: the command for one line of a job script.

use std::env;
use std::process::{Command as Process, Stdio};

use clap::Args;
use experiments::Failure;
use experiments::cluster::ResourceManager;

use crate::command::{Command, Context};
use crate::failure::CommandFailure;
use crate::live::cluster::{check_task, hosts_of};
use crate::live::help::{OAR_ABOUT, PBS_ABOUT, REQUEUES, SHELL_HELP, SLURM_ABOUT, SLURM_HELP};
use crate::live::launch::{LaunchArguments, LaunchPlan, Launcher, ShellArgument, launch};
use crate::live::run::{Following, RunArguments, follow};
use crate::signals::TerminationSignal;

/// Arguments of `slurm`.
#[derive(Clone, Debug, Args)]
struct SlurmArguments {
    #[command(flatten)]
    run: RunArguments,
    #[command(flatten)]
    nodes: LaunchArguments,
    /// Requeue the job, at most so often, when a signal comes before its time is over, after a last checkpoint, or when the run fails
    /// because the cluster does [default without a value: 100]
    #[arg(
        long,
        value_name = "TIMES",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = REQUEUES,
        requires = "checkpoint"
    )]
    requeue: Option<u32>,
}

/// Arguments of `pbs` and `oar`.
#[derive(Clone, Debug, Args)]
struct ShellJobArguments {
    #[command(flatten)]
    run: RunArguments,
    #[command(flatten)]
    nodes: LaunchArguments,
    #[command(flatten)]
    shell: ShellArgument,
}

/// The command `slurm`.
pub(crate) fn slurm_command() -> Command {
    Command::new(
        "slurm",
        "Run an experiment on the hosts of this job of Slurm: nodes, run, and their end",
        slurm,
    )
    .long_about(SLURM_ABOUT)
    .after_long_help(SLURM_HELP)
    .hiding(&OF_ANOTHER_CLUSTER)
}

/// The command `pbs`.
pub(crate) fn pbs_command() -> Command {
    Command::new(
        "pbs",
        "Run an experiment on the hosts of this job of PBS, as `slurm` does",
        |arguments, context| in_shells(ResourceManager::Pbs, "ssh", arguments, context),
    )
    .long_about(PBS_ABOUT)
    .after_long_help(SHELL_HELP)
    .hiding(&OF_ANOTHER_CLUSTER)
}

/// The command `oar`.
pub(crate) fn oar_command() -> Command {
    Command::new(
        "oar",
        "Run an experiment on the hosts of this job of OAR, as `slurm` does",
        |arguments, context| in_shells(ResourceManager::Oar, "oarsh", arguments, context),
    )
    .long_about(OAR_ABOUT)
    .after_long_help(SHELL_HELP)
    .hiding(&OF_ANOTHER_CLUSTER)
}

/// Arguments of `run` that name another cluster than that of the job, or leave its nodes alone.
const OF_ANOTHER_CLUSTER: [&str; 5] = ["cluster", "identity", "name", "wait", "detach"];

fn slurm(arguments: &SlurmArguments, context: &Context<'_>) -> Result<(), CommandFailure> {
    let is_heterogeneous = env::var("SLURM_HET_SIZE").is_ok_and(|size| size.trim() != "1");
    let launcher = Launcher::Srun { is_heterogeneous };
    let termination = TerminationSignal::default();
    // From now on, a signal ends the nodes before it ends this process.
    let _heard = termination.wait();
    let result = in_job(
        (ResourceManager::Slurm, launcher),
        (&arguments.run, &arguments.nodes),
        &termination,
        context,
    );
    if let Some(times) = arguments.requeue {
        requeue(times, &result);
    }
    result
}

fn in_shells(
    manager: ResourceManager,
    shell: &str,
    arguments: &ShellJobArguments,
    context: &Context<'_>,
) -> Result<(), CommandFailure> {
    let launcher = arguments.shell.launcher(shell)?;
    let termination = TerminationSignal::default();
    let _heard = termination.wait();
    in_job(
        (manager, launcher),
        (&arguments.run, &arguments.nodes),
        &termination,
        context,
    )
}

/// Launches nodes on the hosts of the job, runs the experiment there from its newest checkpoint on, if it has a folder with one, and ends
/// the nodes.
///
/// # Errors
///
/// If this is no job, nodes do not start, or the run fails.
fn in_job(
    (manager, launcher): (ResourceManager, Launcher),
    (run, nodes): (&RunArguments, &LaunchArguments),
    termination: &TerminationSignal,
    context: &Context<'_>,
) -> Result<(), CommandFailure> {
    let members = hosts_of(manager)?.ok_or_else(|| {
        let (name, program) = (manager.name(), context.program());
        Failure::Usage(format!(
            "this is no job of {name}: write the command into a job script, or try `{program} up --local 4 -- run FILE`"
        ))
    })?;
    check_task(|name| env::var(name).ok())?;
    let run = run.in_job()?;
    let dashboard = run.dashboard()?;
    let plan = LaunchPlan {
        members,
        launcher,
        options: nodes,
        checkpoints: Some(run.checkpoints.used()?.into_iter().collect()),
        allow_mixed_builds: run.allow_mixed_builds,
        limits_slots: true,
    };
    let (nodes, cluster) = launch(plan, termination)?;
    let following = Following {
        simulated: None,
        dashboard,
        termination: termination.clone(),
        spectator: &mut |_| {},
    };
    let result = follow(&run, cluster, context, following);
    drop(nodes);
    result
}

/// Requeues this job of Slurm if that can help after `result`, unless it has been so often.
fn requeue(times: u32, result: &Result<(), CommandFailure>) {
    let Some(job) = env::var("SLURM_JOB_ID").ok() else {
        return;
    };
    let can_help = match result {
        Err(CommandFailure::Failure(Failure::Cluster(_))) => true,
        // A job that was cancelled is not to come back.
        Err(CommandFailure::Interrupted(_)) => is_running(&job),
        _ => false,
    };
    if !can_help {
        return;
    }
    let before = env::var("SLURM_RESTART_COUNT").ok();
    let before: u32 = before.and_then(|count| count.parse().ok()).unwrap_or(0);
    if times <= before {
        tracing::warn!("the job is not requeued: it has been {before} times");
        return;
    }
    let requeued = Process::new("scontrol")
        .args(["requeue", &job])
        .stdin(Stdio::null())
        .status();
    match requeued {
        Ok(status) if status.success() => {
            tracing::warn!("the job is requeued, and goes on from its newest checkpoint");
        }
        Ok(_) => tracing::warn!("the job is not requeued: see above"),
        Err(error) => tracing::warn!("the job is not requeued: scontrol: {error}"),
    }
}

/// Whether Slurm takes the job for one that runs: not when it has cancelled it, or its time is over.
fn is_running(job: &str) -> bool {
    let asked = Process::new("squeue")
        .args(["--noheader", "--format=%T", "--jobs", job])
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output();
    match asked {
        Ok(output) => {
            let states = String::from_utf8_lossy(&output.stdout);
            states.lines().any(|state| state.trim() == "RUNNING")
        }
        Err(error) => {
            tracing::warn!("squeue: {error}");
            false
        }
    }
}
