//! `migbsp up`: a cluster of node processes on this machine, for as long as a command takes.

use std::collections::BTreeSet;
use std::env;
use std::fs::{self, DirBuilder, File, Metadata, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use clap::error::ErrorKind;
use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand};
use experiments::{Failure, Registry};
use hosts::Share;
use protocol::Member;
use protocol::identity::files::write_identity;
use record::Event;

use crate::command::{Command, Context, knowing_policies, taking_negative_numbers};
use crate::commands::compare::{COMPARE_ABOUT, COMPARE_HELP, CompareArguments};
use crate::commands::named_help;
use crate::dashboard::Listening;
use crate::failure::CommandFailure;
use crate::live::bench::{self, BenchArguments};
use crate::live::check::{self, CheckArguments};
use crate::live::cluster::ClusterMembers;
use crate::live::compare;
use crate::live::help::{UP_ABOUT, UP_HELP};
use crate::live::launch::{LaunchArguments, LaunchPlan, ShellArgument, launch};
use crate::live::links::BetweenArguments;
use crate::live::local_nodes::{Disturbances, Joins, NodesAt, PlannedNodes, Stop, start};
use crate::live::node::check_folder;
use crate::live::play::Play;
use crate::live::run::{Following, RunArguments, follow};
use crate::live::status::{StatusArguments, show};
use crate::signals::TerminationSignal;
use crate::{file, misuse, output};

/// Arguments of `up`.
#[derive(Debug, Args)]
struct UpArguments {
    /// Number of nodes, each a process of this machine [default: 4; with --play, as many as the platform has hosts]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=256))]
    local: Option<u32>,
    /// Hosts on which to start the nodes instead, by a remote shell, in the syntax of Open MPI's hostfiles
    #[arg(
        long,
        value_name = "FILE",
        conflicts_with_all = ["local", "sets", "slow", "kill", "stop", "drain", "join", "between", "play", "data", "outputs"]
    )]
    hosts: Option<PathBuf>,
    #[command(flatten)]
    launched: LaunchArguments,
    #[command(flatten)]
    shell: ShellArgument,
    /// In how many Sets, consecutive nodes together [default: 1; with --play, those of the platform]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=256))]
    sets: Option<u32>,
    /// Node, counted from 1, and fraction of its speed to hold it to; can be given several times
    #[arg(long, value_name = "NODE:FRACTION")]
    slow: Vec<Slow>,
    /// Node, counted from 1, or `all`, to kill once this superstep of the run is over, counted from 0; can be given
    /// several times
    #[arg(long, value_name = "NODE@SUPERSTEP")]
    kill: Vec<NodesAt>,
    /// The same for a node to stop (SIGSTOP) for this time, after which it goes on (SIGCONT); can be given several times
    #[arg(long, value_name = "NODE@SUPERSTEP:SECONDS")]
    stop: Vec<Stop>,
    /// The same for a node that receives SIGTERM: it leaves the run, which goes on without it and repeats nothing
    #[arg(long, value_name = "NODE@SUPERSTEP")]
    drain: Vec<NodesAt>,
    /// Number of nodes to start once this superstep of the run is over, which join it; can be given several times
    #[arg(long, value_name = "COUNT@SUPERSTEP", conflicts_with_all = ["between", "play"])]
    join: Vec<Joins>,
    #[command(flatten)]
    between: BetweenArguments,
    /// Play the platform of the experiment: the speeds and the load of its hosts and the links between its Sets
    #[arg(long, conflicts_with_all = ["slow", "between"])]
    play: bool,
    /// Folder with the input files of jobs; FOLDER/node-1 is that of the first node, if there is one [default: where the
    /// client says]
    #[arg(long, value_name = "FOLDER")]
    data: Option<PathBuf>,
    /// Folder for the files that processes leave on nodes; FOLDER/node-1 is that of the first node, if there is one
    /// [default: none]
    #[arg(long, value_name = "FOLDER")]
    outputs: Option<PathBuf>,
    /// Let the nodes and the command accept other builds, for clients that are started elsewhere
    #[arg(long)]
    allow_mixed_builds: bool,
    /// Command to execute there: `run FILE ...`, `compare FILE ... --live N`, `bench ...`, `status` or `check`; without it, the
    /// nodes wait for an interrupt
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,
}

/// A node that is held to a fraction of its speed.
#[derive(Clone, Copy, Debug)]
struct Slow {
    /// Counted from 1.
    node: u32,
    share: Share,
}

impl FromStr for Slow {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let expected = "must be NODE:FRACTION, such as 4:0.4 or 4:40%";
        let (node, share) = text.split_once(':').ok_or(expected)?;
        let node = node.parse().ok().filter(|node| 0 < *node).ok_or(expected)?;
        let number = |text: &str| text.trim().parse::<f64>().ok();
        let share = match share.trim().strip_suffix('%') {
            Some(percent) => number(percent).map(|percent| percent / 100.0),
            None => number(share),
        };
        let share = share.and_then(Share::new).ok_or_else(|| {
            let least = Share::LEAST;
            format!("must have a fraction from {least} to 1, such as 4:0.4 or 4:40%")
        })?;
        Ok(Self { node, share })
    }
}

/// Commands for a running cluster.
#[derive(Debug, Parser)]
#[command(name = "up --", no_binary_name = true)]
struct UpAction {
    #[command(subcommand)]
    command: UpSubcommand,
}

#[derive(Debug, Subcommand)]
enum UpSubcommand {
    /// Run an experiment there
    Run(Box<RunArguments>),
    /// Show how the nodes are
    Status(StatusArguments),
    /// Check that they fit and reach each other
    Check(CheckArguments),
    /// Run experiments there under several policies, in turn
    #[command(long_about = COMPARE_ABOUT, after_help = COMPARE_HELP)]
    Compare(Box<CompareArguments>),
    /// Measure what they are capable of
    Bench(Box<BenchArguments>),
}

/// The command `up`.
pub(crate) fn command() -> Command {
    Command::new(
        "up",
        "Start a cluster of node processes on this machine for one command",
        execute,
    )
    .long_about(UP_ABOUT)
    .after_long_help(UP_HELP)
    .example(
        "up --local 4 --sets 2 --slow 4:0.4 -- run conf/heat-local.toml",
        "on real processes: docs/guide/cluster.md",
    )
}

/// Starts the nodes, executes the command, and ends them.
///
/// # Errors
///
/// The failure of the command, or if a node cannot be started.
fn execute(arguments: &UpArguments, context: &Context<'_>) -> Result<(), CommandFailure> {
    let registry = context.registry();
    let action = match &arguments.command[..] {
        [] => None,
        words => match action(words, registry) {
            Ok(action) => Some(action),
            Err(help) if !help.use_stderr() => return output::print(&help.to_string()),
            Err(error) => return Err(refusal(&error, words).into()),
        },
    };
    let elsewhere = match &action {
        Some(UpSubcommand::Run(run)) => run.cluster.is_given(),
        Some(UpSubcommand::Status(status)) => status.cluster.is_given(),
        Some(UpSubcommand::Check(check)) => check.cluster.is_given(),
        Some(UpSubcommand::Compare(comparison)) => comparison.cluster.is_given(),
        Some(UpSubcommand::Bench(bench)) => bench.cluster().is_given(),
        None => false,
    };
    if elsewhere {
        let problem = "--cluster, --identity, --as and --wait are for another cluster than the one that is up; leave them out";
        return Err(Failure::Usage(problem.to_owned()).into());
    }
    if let Some(UpSubcommand::Run(run)) = &action
        && run.detach
    {
        let problem = "--detach: the nodes of `up` end with its command; start `up` alone, and `run --detach` in another terminal";
        return Err(Failure::Usage(problem.to_owned()).into());
    }
    for (option, is_given) in [
        ("--kill", !arguments.kill.is_empty()),
        ("--drain", !arguments.drain.is_empty()),
        ("--join", !arguments.join.is_empty()),
        ("--stop", !arguments.stop.is_empty()),
    ] {
        if is_given && !matches!(action, Some(UpSubcommand::Run(_))) {
            return Err(Failure::Usage(format!(
                "{option}: there is no run whose supersteps could be over: add `-- run FILE`"
            ))
            .into());
        }
    }
    if let Some(UpSubcommand::Compare(comparison)) = &action {
        comparison.check()?;
        if comparison.live.is_none() {
            let problem =
                "compare: on the nodes of `up` it needs --live N; without `up`, it simulates";
            return Err(Failure::Usage(problem.to_owned()).into());
        }
    }
    let dashboard = match &action {
        Some(UpSubcommand::Run(run)) => run.dashboard()?,
        _ => None,
    };
    if let Some(file) = &arguments.hosts {
        return on_hosts(file, arguments, (action, dashboard), context);
    }
    if arguments.launched.is_given() || arguments.shell.is_given() {
        let problem = "--shell, --start-within and --node-... are for the nodes of --hosts FILE";
        return Err(Failure::Usage(problem.to_owned()).into());
    }
    let mut planned = nodes(arguments, action.as_ref(), context)?;
    planned.checkpoints = checkpoint_folders(action.as_ref())?;
    for (option, given, planned) in [
        ("--data", &arguments.data, &mut planned.data),
        ("--outputs", &arguments.outputs, &mut planned.outputs),
    ] {
        let folder = given.as_deref().map(check_folder).transpose();
        *planned = folder.map_err(|problem| Failure::Usage(format!("{option}: {problem}")))?;
    }
    planned.joins.clone_from(&arguments.join);
    let count = planned.members.len();
    for kill in &arguments.kill {
        kill.check("--kill", count)?;
    }
    for drain in &arguments.drain {
        drain.check("--drain", count)?;
    }
    for stop in &arguments.stop {
        stop.at.check("--stop", count)?;
    }
    remove_stale();
    let simulated = planned.play.as_ref().map(|play| play.simulated().clone());
    let (mut nodes, cluster) = start(planned, arguments.allow_mixed_builds)?;
    let names: Vec<String> = cluster
        .members
        .iter()
        .map(|member| member.name.clone())
        .collect();
    let mut disturbances = Disturbances::new(
        (&arguments.kill, &arguments.drain),
        &arguments.join,
        &arguments.stop,
    );
    let following = Following {
        simulated: simulated.as_ref(),
        dashboard,
        termination: TerminationSignal::default(),
        spectator: &mut |event: &Event| disturbances.observe(event, &mut nodes),
    };
    let result = act(action, (arguments, cluster), context, following);
    let result = result.inspect(|()| disturbances.warn_of_pending());
    let result = result.map_err(|failure| nodes.explain(failure, &names));
    drop(nodes);
    result
}

/// Executes the command on the nodes, or waits; `following` is for `run`.
///
/// # Errors
///
/// The failure of the command.
fn act(
    action: Option<UpSubcommand>,
    (arguments, cluster): (&UpArguments, ClusterMembers),
    context: &Context<'_>,
    following: Following<'_>,
) -> Result<(), CommandFailure> {
    match action {
        Some(UpSubcommand::Run(mut run)) => {
            run.allow_mixed_builds |= arguments.allow_mixed_builds;
            follow(&run, cluster, context, following)
        }
        Some(UpSubcommand::Status(status)) => show(&status, cluster, context.registry()),
        Some(UpSubcommand::Check(check)) => check::show(&check, cluster, context),
        Some(UpSubcommand::Compare(comparison)) => {
            let repetitions = comparison.live.unwrap_or(1);
            compare::follow(&comparison, repetitions, &cluster, context)
        }
        Some(UpSubcommand::Bench(bench)) => bench::follow(&bench, &cluster, context),
        None => wait(&cluster, context.program()),
    }
}

/// Starts nodes on the hosts of `file`, executes the command there, and ends them.
///
/// # Errors
///
/// The failure of the command, or if a node cannot be started.
fn on_hosts(
    file: &Path,
    arguments: &UpArguments,
    (action, dashboard): (Option<UpSubcommand>, Option<Listening>),
    context: &Context<'_>,
) -> Result<(), CommandFailure> {
    if let Some(UpSubcommand::Bench(bench)) = &action {
        bench.check(context.registry())?;
    }
    remove_stale();
    let hosts = experiments::cluster::load(file)?;
    if let Some(host) = hosts.pool.first() {
        return Err(Failure::Input(format!(
            "{}: {}: `pool=yes` is for nodes that others start; leave it out: all nodes that are started here take part",
            file.display(),
            host.name
        ))
        .into());
    }
    let plan = LaunchPlan {
        members: hosts.members,
        launcher: arguments.shell.launcher("ssh")?,
        options: &arguments.launched,
        checkpoints: checkpoint_folders(action.as_ref())?,
        allow_mixed_builds: arguments.allow_mixed_builds,
        limits_slots: false,
    };
    let termination = TerminationSignal::default();
    let heard = termination.wait();
    let (nodes, cluster) = launch(plan, &termination)?;
    // Commands handle signals themselves.
    drop(heard);
    let following = Following {
        simulated: None,
        dashboard,
        termination,
        spectator: &mut |_| {},
    };
    let result = act(action, (arguments, cluster), context, following);
    drop(nodes);
    result
}

/// The command to execute on the nodes.
fn action(words: &[String], registry: &Registry) -> Result<UpSubcommand, clap::Error> {
    let program = registry.program();
    let command = UpAction::command().bin_name(format!("{program} up --"));
    let command = knowing_policies(command, registry.policies());
    let mut command = taking_negative_numbers(named_help(command, program));
    let matches = command.try_get_matches_from_mut(words);
    matches
        .and_then(|matches| UpAction::from_arg_matches(&matches).map(|action| action.command))
        .map_err(|error| misuse::explained(error, &command, words, (&[], &[])))
}

/// Why `words` are no command for the nodes.
fn refusal(error: &clap::Error, words: &[String]) -> Failure {
    let first = words.first().map_or("", String::as_str);
    let known = ["run", "compare", "status", "check", "bench"];
    if error.kind() == ErrorKind::InvalidSubcommand && !known.contains(&first) {
        return Failure::Usage(format!(
            "unknown command `{first}` after `up --`: must be `run FILE ...`, `compare FILE ... --live N`, `bench ...`, `status` or `check`"
        ));
    }
    let text = error.to_string();
    let problem = text.strip_prefix("error: ").unwrap_or(&text);
    Failure::Usage(problem.trim_end().to_owned())
}

/// The nodes that the arguments ask for.
///
/// # Errors
///
/// If they contradict each other, or nodes cannot play the platform.
fn nodes(
    arguments: &UpArguments,
    action: Option<&UpSubcommand>,
    context: &Context<'_>,
) -> Result<PlannedNodes, Failure> {
    if arguments.play {
        return playing_nodes(arguments, action, context);
    }
    let (local, sets) = (arguments.local.unwrap_or(4), arguments.sets.unwrap_or(1));
    if local < sets {
        return Err(Failure::Usage(format!(
            "--sets {sets}: more than the {local} nodes of --local"
        )));
    }
    if let Some(slow) = arguments.slow.iter().find(|slow| local < slow.node) {
        let (node, share) = (slow.node, slow.share.get());
        return Err(Failure::Usage(format!(
            "--slow {node}:{share}: there are only {local} nodes"
        )));
    }
    let mut slowed = BTreeSet::new();
    if let Some(twice) = arguments.slow.iter().find(|slow| !slowed.insert(slow.node)) {
        let node = twice.node;
        return Err(Failure::Usage(format!(
            "--slow {node}:{}: node {node} has a share by another --slow; must be one for each node",
            twice.share.get()
        )));
    }
    let links = arguments.between.links(sets)?;
    let links = match action {
        Some(UpSubcommand::Bench(bench)) => {
            bench.check(context.registry())?;
            bench.links(links)?
        }
        _ => links,
    };
    let member = |index: u32| Member {
        name: format!("node-{}", index + 1),
        address: String::new(),
        set: format!("set-{}", index * sets / local + 1),
        slots: 1,
        speed: 1.0,
    };
    let share = |number| {
        let slow = arguments.slow.iter().find(|slow| slow.node == number);
        slow.map_or(Share::WHOLE, |slow| slow.share)
    };
    Ok(PlannedNodes {
        members: (0..local).map(member).collect(),
        shares: (1..=local).map(share).collect(),
        links,
        play: None,
        checkpoints: Some(Vec::new()),
        data: None,
        outputs: None,
        joins: Vec::new(),
    })
}

/// The folders to which the nodes may write checkpoints: that of the run. Nodes that wait for clients may write to any,
/// because their only client's key is for this user alone, who runs them.
fn checkpoint_folders(action: Option<&UpSubcommand>) -> Result<Option<Vec<String>>, Failure> {
    Ok(match action {
        None => None,
        Some(UpSubcommand::Run(run)) => Some(run.checkpoints.used()?.into_iter().collect()),
        Some(
            UpSubcommand::Status(_)
            | UpSubcommand::Check(_)
            | UpSubcommand::Compare(_)
            | UpSubcommand::Bench(_),
        ) => Some(Vec::new()),
    })
}

/// The nodes that play the platform of an experiment.
fn playing_nodes(
    arguments: &UpArguments,
    action: Option<&UpSubcommand>,
    context: &Context<'_>,
) -> Result<PlannedNodes, Failure> {
    let Some(UpSubcommand::Run(run)) = action else {
        let problem = "--play: there is no experiment to play: add `-- run FILE`";
        return Err(Failure::Usage(problem.to_owned()));
    };
    let play = Play::new(run, context.registry(), context.has_progress())?;
    let members = play.members();
    let sets: BTreeSet<&str> = members.iter().map(|member| member.set.as_str()).collect();
    for (option, given, there, what) in [
        ("--local", arguments.local, members.len(), "hosts"),
        ("--sets", arguments.sets, sets.len(), "Sets"),
    ] {
        let is_other = |given: &u32| usize::try_from(*given) != Ok(there);
        if let Some(given) = given.filter(is_other) {
            let file = play.simulated().platform.display();
            return Err(Failure::Usage(format!(
                "{option} {given}: with --play there are the {there} {what} of {file}; leave it out"
            )));
        }
    }
    Ok(PlannedNodes {
        shares: vec![Share::WHOLE; members.len()],
        links: play.links()?,
        members,
        play: Some(play),
        checkpoints: Some(Vec::new()),
        data: None,
        outputs: None,
        joins: Vec::new(),
    })
}

/// Waits to be interrupted; meanwhile others may use the cluster.
fn wait(cluster: &ClusterMembers, program: &str) -> Result<(), CommandFailure> {
    let folder = UpFolder::new()?;
    let waited = offer(cluster, folder.path(), program);
    // The keys in it are useless without the nodes.
    let removed = folder.remove();
    waited.and_then(|()| removed.map_err(CommandFailure::from))
}

fn offer(cluster: &ClusterMembers, folder: &Path, program: &str) -> Result<(), CommandFailure> {
    write_identity(folder, &cluster.client).map_err(Failure::chain)?;
    let hosts = folder.join("hosts");
    let lines = cluster.members.iter().map(|member| {
        let Member {
            name,
            set,
            slots,
            address,
            ..
        } = member;
        format!("{name} slots={slots} set={set} addr={address}\n")
    });
    file::write(&hosts, &lines.collect::<String>())?;
    let options = format!(
        "--cluster {} --identity {}",
        hosts.display(),
        folder.display()
    );
    let text = format!(
        "{} nodes are up. In another terminal:\n\n  {program} status {options}\n  {program} run FILE {options}\n\n\
         Ctrl-C ends them.\n",
        cluster.members.len()
    );
    output::print(&text)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    runtime
        .map_err(Failure::run)?
        .block_on(TerminationSignal::default().received());
    Ok(())
}

/// A folder of the temporary ones, with a lock that ends with this process however it ends.
#[derive(Debug)]
pub(crate) struct UpFolder {
    path: PathBuf,
    /// Held for its lock.
    _lock: File,
}

impl UpFolder {
    /// Makes it, for this user alone.
    ///
    /// # Errors
    ///
    /// If the operating system refuses.
    pub(crate) fn new() -> Result<Self, Failure> {
        let path = env::temp_dir().join(format!("{PREFIX}{}", std::process::id()));
        let made = || -> io::Result<File> {
            let mut builder = DirBuilder::new();
            #[cfg(unix)]
            std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
            builder.create(&path)?;
            let lock = File::create_new(path.join(LOCK))?;
            lock.lock()?;
            Ok(lock)
        };
        match made() {
            Ok(lock) => Ok(Self { path, _lock: lock }),
            Err(error) => Err(problem(&path, &error)),
        }
    }

    /// Its name.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Removes it and its files.
    ///
    /// # Errors
    ///
    /// If the operating system refuses.
    pub(crate) fn remove(self) -> Result<(), Failure> {
        fs::remove_dir_all(&self.path).map_err(|error| problem(&self.path, &error))
    }
}

/// Removes the folders that processes of this user left when they were killed.
fn remove_stale() {
    remove_stale_in(&env::temp_dir(), AGE_MIN);
}

/// The same in `parent`, if the folders have not changed for `age`: a new one is not locked yet.
fn remove_stale_in(parent: &Path, age: Duration) {
    let Ok(own) = tempfile::tempfile_in(parent).and_then(|file| file.metadata()) else {
        return;
    };
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let number = name.to_str().and_then(|name| name.strip_prefix(PREFIX));
        let is_named = number.is_some_and(|number| number.parse::<u32>().is_ok());
        let path = entry.path();
        let is_old = |data: &Metadata| {
            let changed = data.modified().ok();
            changed.is_some_and(|time| time.elapsed().is_ok_and(|passed| age <= passed))
        };
        let data = path.symlink_metadata();
        let is_ours =
            data.is_ok_and(|data| data.is_dir() && is_owner_equal(&data, &own) && is_old(&data));
        if is_named
            && is_ours
            && !is_locked(&path.join(LOCK))
            && let Err(error) = fs::remove_dir_all(&path)
        {
            tracing::warn!(folder = %path.display(), "cannot be removed: {error}");
        }
    }
}

/// Whether a process holds the lock of this file.
fn is_locked(file: &Path) -> bool {
    let file = File::open(file);
    file.is_ok_and(|file| matches!(file.try_lock(), Err(TryLockError::WouldBlock)))
}

#[cfg(unix)]
fn is_owner_equal(one: &Metadata, other: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    one.uid() == other.uid()
}

#[cfg(not(unix))]
fn is_owner_equal(_: &Metadata, _: &Metadata) -> bool {
    true
}

fn problem(path: &Path, error: &io::Error) -> Failure {
    Failure::run(format!("{}: {error}", path.display()))
}

/// The name of such a folder, before the number of its process.
const PREFIX: &str = "migbsp-up-";
/// The file in it that is locked.
const LOCK: &str = "in-use";
/// Between the making of a folder and its lock less time passes.
const AGE_MIN: Duration = Duration::from_secs(10);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_whose_process_is_gone_are_removed_and_no_others() {
        let parent = tempfile::tempdir().unwrap();
        let folder = |name: &str| {
            let folder = parent.path().join(name);
            fs::create_dir(&folder).unwrap();
            fs::write(folder.join("client.key"), "secret").unwrap();
            folder
        };
        let stale = ["migbsp-up-1", "migbsp-up-4294967295"].map(folder);
        let [lost, used] = ["migbsp-up-2", "migbsp-up-3"].map(folder);
        let others = ["migbsp-up-", "migbsp-up-x", "migbsp-up-1.old", "up-1"].map(folder);
        // A lock that is not held is none.
        fs::write(lost.join(LOCK), "").unwrap();
        let lock = File::create_new(used.join(LOCK)).unwrap();
        lock.lock().unwrap();
        fs::write(parent.path().join("migbsp-up-5"), "a file").unwrap();
        remove_stale_in(parent.path(), Duration::from_secs(3600));
        assert!(stale.iter().all(|folder| folder.exists()));
        remove_stale_in(parent.path(), Duration::ZERO);
        assert!(!stale.iter().any(|folder| folder.exists()));
        assert!(!lost.exists());
        assert!(used.exists() && others.iter().all(|folder| folder.exists()));
        assert!(parent.path().join("migbsp-up-5").exists());
        drop(lock);
        remove_stale_in(parent.path(), Duration::ZERO);
        assert!(!used.exists());
    }
}
