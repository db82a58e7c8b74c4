//! Nodes on other hosts for as long as a command takes: `srun` or a remote shell starts them.
//!
//! A launcher process starts the node of one host or of several, and is the way to them: what is written to its stdin reaches the nodes,
//! and what they write to stdout comes back. Each node receives its certificate and key that way, so no key is ever in a file. Each
//! listens on a port that its system chooses, so nodes of other jobs on the same host are no hindrance. When the stdin of a launcher ends,
//! for which the end of this process is enough, its nodes end.

use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::env;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv6Addr, SocketAddr};
use std::ops::Range;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use clap::Args;
use experiments::Failure;
use hosts::{HUGE_PAGES, Share};
use protocol::Member;
use protocol::identity::Role;
use rustix::process::{Pid, Signal, kill_process};

use crate::failure::CommandFailure;
use crate::live::cluster::ClusterMembers;
use crate::live::local_nodes::JobAuthority;
use crate::live::node::{NodeConfiguration, NodeLine};
use crate::signals::TerminationSignal;

/// Options about the nodes of a command that launches them.
#[derive(Clone, Debug, Args)]
pub(crate) struct LaunchArguments {
    /// Folder on each host with the input files of the job [default: where the client says]
    #[arg(long, value_name = "FOLDER")]
    node_data: Option<PathBuf>,
    /// Folder on each host for the files that processes leave there [default: none]
    #[arg(long, value_name = "FOLDER")]
    node_outputs: Option<PathBuf>,
    /// UDP port of all nodes, where a firewall asks for one; then no other job may use it there [default: free ones]
    #[arg(long, value_name = "PORT", value_parser = clap::value_parser!(u16).range(1..))]
    node_port: Option<u16>,
    /// Seconds in which all nodes have to start [default: 60]
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=86_400))]
    start_within: Option<u64>,
}

impl LaunchArguments {
    /// Whether any of them is given.
    pub(crate) const fn is_given(&self) -> bool {
        self.node_data.is_some()
            || self.node_outputs.is_some()
            || self.node_port.is_some()
            || self.start_within.is_some()
    }
}

/// The remote shell of a command that launches nodes by one.
#[derive(Clone, Debug, Args)]
pub(crate) struct ShellArgument {
    /// Command that starts a process on a host, with its options: the host and the command line follow
    #[arg(long, value_name = "COMMAND")]
    shell: Option<String>,
}

impl ShellArgument {
    /// Whether it is given.
    pub(crate) const fn is_given(&self) -> bool {
        self.shell.is_some()
    }

    /// What starts nodes by it, or by `default`.
    ///
    /// # Errors
    ///
    /// If nodes are known not to start by it.
    pub(crate) fn launcher(&self, default: &str) -> Result<Launcher, Failure> {
        let shell = self.shell.as_deref().unwrap_or(default);
        let words: Vec<String> = shell.split_whitespace().map(str::to_owned).collect();
        let program = words.first().map(Path::new).and_then(Path::file_name);
        // It executes its words without a shell, with an empty stdin, and their stdout is that of the job.
        if program.is_some_and(|program| program == "pbs_tmrsh") {
            return Err(Failure::Usage(format!(
                "--shell {shell}: pbs_tmrsh passes no stdin on, by which a node receives its key: leave it out for ssh, or name \
                 another remote shell"
            )));
        }
        Ok(Launcher::Shell(words))
    }
}

/// What starts processes on other hosts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Launcher {
    /// `srun`, in a job of Slurm: a step for each component of the job, which is a Set.
    Srun {
        /// Whether the job has several components.
        is_heterogeneous: bool,
    },
    /// A remote shell, such as `ssh`: a process for each host. Its words, before those of the host and of the command.
    Shell(Vec<String>),
}

/// The nodes that are to be launched.
#[derive(Debug)]
pub(crate) struct LaunchPlan<'a> {
    /// They stand Set by Set, each with its host as its address.
    pub(crate) members: Vec<Member>,
    pub(crate) launcher: Launcher,
    pub(crate) options: &'a LaunchArguments,
    /// The folders to which they may write checkpoints; `None`: any.
    pub(crate) checkpoints: Option<Vec<String>>,
    pub(crate) allow_mixed_builds: bool,
    /// Whether a node has no more slots than processors.
    pub(crate) limits_slots: bool,
}

/// Nodes that have been launched, which end when this is dropped.
pub(crate) struct LaunchedNodes {
    launchers: Vec<RunningLauncher>,
}

/// A process that has launched nodes.
struct RunningLauncher {
    child: Child,
    /// Its stdin ends with this.
    stdin: Option<mpsc::Sender<Infallible>>,
}

/// What a launcher, by its number, brings from its nodes.
enum Heard {
    Line(NodeLine),
    /// Nothing more comes.
    Ended(usize),
}

impl Launcher {
    /// The commands that start the nodes of `members` with the binary `program`, each with those members whose nodes it starts.
    fn commands(&self, members: &[Member], program: &Path) -> Vec<(Command, Range<usize>)> {
        let mut commands = Vec::new();
        match self {
            Self::Srun { is_heterogeneous } => {
                let mut begin = 0;
                for (number, set) in members
                    .chunk_by(|one, next| one.set == next.set)
                    .enumerate()
                {
                    let end = begin + set.len();
                    let component = is_heterogeneous.then_some(number);
                    let mut command = srun(set.len(), component);
                    command.arg(program).args(NODE);
                    commands.push((command, begin..end));
                    begin = end;
                }
            }
            Self::Shell(words) => {
                let (shell, options) = match words.split_first() {
                    Some((shell, options)) => (shell.as_str(), options),
                    None => ("ssh", &words[..]),
                };
                for (index, member) in members.iter().enumerate() {
                    let mut command = Command::new(shell);
                    // The shell there takes the rest for one line.
                    let line = format!("exec {} {}", quoted(program), NODE.join(" "));
                    command.args(options).arg(host_of(member)).arg(line);
                    commands.push((command, index..index + 1));
                }
            }
        }
        commands
    }
}

/// The arguments of a node whose parent is at its stdin.
const NODE: [&str; 3] = ["-q", "node", "--stdin"];

/// The command `srun` for a node on each of `hosts` hosts, all of those of the job or of a component of it.
///
/// The step has all processors and all memory that the job has on its hosts, beside other steps, and goes on without a host or a node
/// that is lost.
fn srun(hosts: usize, component: Option<usize>) -> Command {
    let mut command = Command::new("srun");
    command
        .arg(format!("--nodes={hosts}"))
        .arg(format!("--ntasks={hosts}"))
        .args([
            "--ntasks-per-node=1",
            "--overlap",
            "--cpu-bind=none",
            "--mem=0",
            "--mpi=none",
            "--no-kill",
            "--kill-on-bad-exit=0",
            "--wait=0",
            "--input=all",
            "--output=all",
            "--quiet",
        ]);
    if let Some(component) = component {
        command.arg(format!("--het-group={component}"));
    }
    for variable in OF_THE_JOB {
        command.env_remove(variable);
    }
    command
}

/// Variables in which `sbatch` hands its options on to steps, and that contradict those of [`srun`], or leave its nodes a part of what
/// the job has.
const OF_THE_JOB: [&str; 16] = [
    "SLURM_CPUS_PER_TASK",
    "SRUN_CPUS_PER_TASK",
    "SLURM_TRES_PER_TASK",
    "SLURM_NTASKS",
    "SLURM_NPROCS",
    "SLURM_NTASKS_PER_NODE",
    "SLURM_NTASKS_PER_CORE",
    "SLURM_NTASKS_PER_SOCKET",
    "SLURM_MEM_PER_CPU",
    "SLURM_MEM_PER_GPU",
    "SLURM_MEM_PER_NODE",
    "SLURM_EXACT",
    "SLURM_EXCLUSIVE",
    "SLURM_CPU_BIND",
    "SLURM_DISTRIBUTION",
    "SLURM_STDINMODE",
];

/// The host of a member that is to be launched: its address without the port.
fn host_of(member: &Member) -> &str {
    let host = member.address.rsplit_once(':').map(|(host, _)| host);
    let host = host.unwrap_or(&member.address);
    host.trim_start_matches('[').trim_end_matches(']')
}

/// `path` as one word of a shell.
fn quoted(path: &Path) -> String {
    format!("'{}'", path.display().to_string().replace('\'', "'\\''"))
}

/// Launches the nodes, with an authority of their own whose key is not kept, and waits until all of them wait for clients. A signal that
/// reaches a node later is one to `termination`.
///
/// # Errors
///
/// If a node does not start, or a signal ends the command before.
pub(crate) fn launch(
    plan: LaunchPlan<'_>,
    termination: &TerminationSignal,
) -> Result<(LaunchedNodes, ClusterMembers), CommandFailure> {
    let LaunchPlan {
        mut members,
        launcher,
        options,
        checkpoints,
        allow_mixed_builds,
        limits_slots,
    } = plan;
    let authority = JobAuthority::new("job")?;
    let configuration = |member: &Member| {
        let identity = authority.issue(Role::SetManager, &member.name)?.to_pem();
        Ok::<_, Failure>(NodeConfiguration {
            certificates: identity.certificates,
            key: identity.key,
            listen: SocketAddr::from((Ipv6Addr::UNSPECIFIED, options.node_port.unwrap_or(0))),
            routes: BTreeMap::new(),
            speed: None,
            share: Share::WHOLE.get(),
            play: None,
            allow_mixed_builds,
            checkpoints: checkpoints.clone(),
            data: options.node_data.clone(),
            outputs: options.node_outputs.clone(),
            join: None,
            is_launched: true,
        })
    };
    let program = env::current_exe().map_err(Failure::run)?;
    let (lines, heard) = mpsc::channel();
    let mut nodes = LaunchedNodes {
        launchers: Vec::new(),
    };
    let mut launched = Vec::new();
    for (command, of) in launcher.commands(&members, &program) {
        let configurations = members[of.clone()].iter();
        let configurations = configurations.map(|it| Ok((it.name.clone(), configuration(it)?)));
        let configurations = configurations.collect::<Result<BTreeMap<_, _>, Failure>>()?;
        let line = serde_json::to_string(&configurations).expect("text and numbers");
        let number = nodes.launchers.len();
        let launcher = RunningLauncher::start(command, line, (number, lines.clone()))?;
        nodes.launchers.push(launcher);
        launched.push(of);
    }
    drop(lines);
    let limit = options.start_within.map_or(STARTING, Duration::from_secs);
    let ready = await_nodes(&members, &launched, &heard, (limit, termination))?;
    for member in &mut members {
        let (port, processors) = ready[&member.name];
        let (host, _) = member.address.rsplit_once(':').unwrap_or_default();
        member.address = format!("{host}:{port}");
        if limits_slots && processors < member.slots {
            tracing::warn!(
                "{} may use {processors} of the {} processors that the job has there, and has as many slots",
                member.name,
                member.slots
            );
            member.slots = processors;
        }
    }
    let termination = termination.clone();
    let hearing = thread::Builder::new().name("nodes".to_owned());
    let heard = hearing.spawn(move || {
        for heard in heard {
            if let Heard::Line(NodeLine::Signal(number)) = heard {
                termination.raise(number);
            }
        }
    });
    drop(heard.map_err(Failure::run)?);
    let client = authority.issue(Role::Client, "client")?;
    let cluster = ClusterMembers {
        members,
        pool: Vec::new(),
        client,
    };
    Ok((nodes, cluster))
}

/// The ports of all nodes and the numbers of their processors, by name, once all of them wait for clients.
///
/// # Errors
///
/// If a launcher ends or time is over before, or a signal ends the command.
fn await_nodes(
    members: &[Member],
    launched: &[Range<usize>],
    heard: &mpsc::Receiver<Heard>,
    (limit, termination): (Duration, &TerminationSignal),
) -> Result<BTreeMap<String, (u16, u32)>, CommandFailure> {
    let began = Instant::now();
    let known: BTreeSet<&str> = members.iter().map(|member| member.name.as_str()).collect();
    let mut ready = BTreeMap::new();
    while ready.len() < members.len() {
        if let Some(signal) = termination.number() {
            return Err(CommandFailure::Interrupted(signal));
        }
        let missing = |of: &[Member], ready: &BTreeMap<String, _>| {
            let missing = of.iter().filter(|member| !ready.contains_key(&member.name));
            let missing: Vec<&str> = missing.map(|member| member.name.as_str()).collect();
            missing.join(", ")
        };
        match heard.recv_timeout(LOOK) {
            Ok(Heard::Line(NodeLine::Ready {
                name,
                address,
                processors,
            })) => {
                if known.contains(name.as_str()) {
                    ready.insert(name, (address.port(), processors.get()));
                }
            }
            Ok(Heard::Line(NodeLine::Signal(number))) => termination.raise(number),
            Ok(Heard::Ended(number)) => {
                let missing = missing(&members[launched[number].clone()], &ready);
                if !missing.is_empty() {
                    let problem = format!("no node starts on {missing}: see above");
                    return Err(Failure::Cluster(problem).into());
                }
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => {
                return Err(Failure::Cluster("no node starts: see above".to_owned()).into());
            }
        }
        if limit <= began.elapsed() && ready.len() < members.len() {
            let (missing, limit) = (missing(members, &ready), limit.as_secs());
            return Err(Failure::Cluster(format!(
                "no node has started on {missing} in {limit} s; --start-within gives them more time"
            ))
            .into());
        }
    }
    Ok(ready)
}

impl RunningLauncher {
    /// Starts `command`, whose nodes receive `line`, and says what they write as its number.
    fn start(
        mut command: Command,
        line: String,
        (number, lines): (usize, mpsc::Sender<Heard>),
    ) -> Result<Self, Failure> {
        let (variable, value) = HUGE_PAGES;
        command
            .env(
                variable,
                env::var_os(variable).unwrap_or_else(|| value.into()),
            )
            // Ctrl-C on a terminal is for the client, which ends the job.
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        let program = command.get_program().to_string_lossy().into_owned();
        let started = command.spawn();
        let mut child = started.map_err(|error| Failure::Cluster(format!("{program}: {error}")))?;
        let (stdin, ended) = mpsc::channel();
        if let Some(pipe) = child.stdin.take() {
            thread::spawn(move || feed(pipe, &line, &ended));
        }
        if let Some(pipe) = child.stdout.take() {
            thread::spawn(move || hear(pipe, (number, &lines)));
        }
        Ok(Self {
            child,
            stdin: Some(stdin),
        })
    }
}

/// Writes `line` to the stdin of a launcher, and keeps that open until the other end of `ended` is gone.
fn feed(mut pipe: ChildStdin, line: &str, ended: &mpsc::Receiver<Infallible>) {
    // That the launcher has ended is heard from its stdout.
    let written = pipe
        .write_all(line.as_bytes())
        .and_then(|()| pipe.write_all(b"\n"));
    if written.and_then(|()| pipe.flush()).is_ok() {
        let Err(_left) = ended.recv();
    }
}

/// Brings what nodes say, until the launcher ends. Other lines, as of prologues, are passed over.
fn hear(pipe: ChildStdout, (number, lines): (usize, &mpsc::Sender<Heard>)) {
    let mut reader = BufReader::new(pipe);
    let mut line = Vec::new();
    loop {
        line.clear();
        let read = reader.by_ref().take(LINE_MAX).read_until(b'\n', &mut line);
        if !read.is_ok_and(|length| 0 < length) {
            break;
        }
        if let Ok(said) = serde_json::from_slice(&line)
            && lines.send(Heard::Line(said)).is_err()
        {
            return;
        }
    }
    // No node is waited for any more.
    drop(lines.send(Heard::Ended(number)));
}

/// The bytes of a line at most: what nodes say is short.
const LINE_MAX: u64 = 4096;

impl Drop for LaunchedNodes {
    /// Nodes leave when their stdin ends, and then launchers end. One that does not is told to end its nodes.
    fn drop(&mut self) {
        for launcher in &mut self.launchers {
            drop(launcher.stdin.take());
        }
        let asked = Instant::now();
        for (signal, limit) in [
            (None, LEAVING),
            (Some(Signal::TERM), LEAVING + TERMINATING),
            (Some(Signal::KILL), LEAVING + TERMINATING),
        ] {
            for launcher in &mut self.launchers {
                let child = &mut launcher.child;
                if let (Some(signal), Ok(None)) = (signal, child.try_wait()) {
                    // It may have ended.
                    let _told = kill_process(Pid::from_child(child), signal);
                }
            }
            for launcher in &mut self.launchers {
                while matches!(launcher.child.try_wait(), Ok(None)) && asked.elapsed() < limit {
                    thread::sleep(Duration::from_millis(10));
                }
            }
        }
        for launcher in &mut self.launchers {
            drop(launcher.child.wait());
        }
    }
}

/// Time for all nodes to start, unless another is given: Slurm may take some to start a step.
const STARTING: Duration = Duration::from_secs(60);
/// How often a command that waits for nodes looks for signals.
const LOOK: Duration = Duration::from_millis(100);
/// Time for nodes to leave; a superstep under way is executed to its end, or its node ends with it.
const LEAVING: Duration = Duration::from_secs(10);
/// Time for launchers to end nodes that have not left.
const TERMINATING: Duration = Duration::from_secs(3);

#[cfg(test)]
mod tests {
    use super::*;

    fn member(name: &str, set: &str, host: &str) -> Member {
        Member {
            name: name.to_owned(),
            set: set.to_owned(),
            slots: 4,
            speed: 1.0,
            address: format!("{host}:7447"),
        }
    }

    /// The words of a command.
    fn words(command: &Command) -> Vec<String> {
        let program = [command.get_program()].into_iter();
        let words = program.chain(command.get_args());
        words
            .map(|word| word.to_string_lossy().into_owned())
            .collect()
    }

    #[test]
    fn a_job_of_slurm_has_a_step_for_each_component() {
        let members = [
            member("n1", "group-0", "n1"),
            member("n2", "group-0", "n2"),
            member("gpu-1", "group-1", "GPU_1"),
        ];
        let launcher = Launcher::Srun {
            is_heterogeneous: true,
        };
        let commands = launcher.commands(&members, Path::new("/bin/program"));
        assert_eq!(commands.len(), 2);
        for ((command, of), (hosts, component, expected)) in
            commands.iter().zip([(2, 0, 0..2), (1, 1, 2..3)])
        {
            assert_eq!(*of, expected);
            let words = words(command);
            for option in [
                format!("--nodes={hosts}"),
                format!("--ntasks={hosts}"),
                format!("--het-group={component}"),
                "--overlap".to_owned(),
                "--kill-on-bad-exit=0".to_owned(),
            ] {
                assert!(words.contains(&option), "{option}: {words:?}");
            }
            assert!(words.ends_with(&["/bin/program", "-q", "node", "--stdin"].map(str::to_owned)));
        }
        let launcher = Launcher::Srun {
            is_heterogeneous: false,
        };
        let commands = launcher.commands(&members[..2], Path::new("/bin/program"));
        assert_eq!(commands.len(), 1);
        let words = words(&commands[0].0);
        assert!(!words.iter().any(|word| word.starts_with("--het-group")));
    }

    #[test]
    fn a_remote_shell_starts_a_process_for_each_host() {
        let members = [
            member("n1", "cluster", "N_1"),
            member("n2", "cluster", "[fd00::2]"),
        ];
        let shell = ["ssh", "-o", "BatchMode=yes"].map(str::to_owned).to_vec();
        let commands = Launcher::Shell(shell).commands(&members, Path::new("/a b/it's"));
        let expected = "exec '/a b/it'\\''s' -q node --stdin";
        assert_eq!(
            words(&commands[0].0),
            ["ssh", "-o", "BatchMode=yes", "N_1", expected]
        );
        assert_eq!(words(&commands[1].0)[3], "fd00::2");
        assert_eq!(commands[1].1, 1..2);
    }
}
