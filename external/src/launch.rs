//! How executors are started: with limits, without what a service knows, and so that they end with the process that started them.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{self, PipeReader, PipeWriter};
use std::num::NonZeroU64;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, ExitCode};
use std::sync::mpsc::{self, Sender};
use std::sync::{OnceLock, mpsc::SyncSender};
use std::thread;

use rustix::process::{
    Pid, Resource, Rlimit, Signal, getppid, set_parent_process_death_signal, setrlimit,
};
use rustix::thread::set_no_new_privs;

/// The first argument of a binary that is to start an executor ([`launch`]).
pub const LAUNCH: &str = "launch-executor";

/// The binary that starts executors, once [`launch_through`] has named one.
static LAUNCHER: OnceLock<PathBuf> = OnceLock::new();

/// Has executors be started by `binary`, which calls [`launch`] if its first argument is [`LAUNCH`]. Without one, they are started
/// directly, and have no limits.
pub fn launch_through(binary: PathBuf) {
    // The first one counts.
    drop(LAUNCHER.set(binary));
}

/// A command that is started.
#[derive(Clone, Debug)]
pub(crate) struct Start {
    /// Program and arguments.
    pub(crate) command: Vec<String>,
    /// Where it is started.
    pub(crate) folder: PathBuf,
    /// The most memory that it may have.
    pub(crate) memory: Option<NonZeroU64>,
    /// Whether it may become another user, as wrappers may.
    pub(crate) may_gain_rights: bool,
    /// Whether it has the environment of a service, but for what programs need.
    pub(crate) is_on_node: bool,
    /// Variables that are set.
    pub(crate) environment: BTreeMap<String, String>,
}

/// Variables that programs on nodes have.
const KEPT: [&str; 12] = [
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "LANG",
    "TZ",
    "TMPDIR",
    "LD_LIBRARY_PATH",
    "PYTHONPATH",
    "VIRTUAL_ENV",
    "CONDA_PREFIX",
    "RUST_BACKTRACE",
];

impl Start {
    fn command(&self) -> Command {
        let mut command = match LAUNCHER.get() {
            Some(binary) => {
                let mut command = Command::new(binary);
                command.arg(LAUNCH).arg(std::process::id().to_string());
                let memory = self.memory.map_or(0, NonZeroU64::get);
                command.arg(memory.to_string());
                command.arg(u8::from(self.may_gain_rights).to_string());
                command.args(&self.command);
                command
            }
            None => {
                let mut command = Command::new(&self.command[0]);
                command.args(&self.command[1..]);
                command
            }
        };
        let is_kept = |name: &str| KEPT.contains(&name) || name.starts_with("LC_");
        let kept = std::env::vars_os().filter(|(name, _)| {
            let name = name.to_str().unwrap_or_default();
            !name.starts_with("MIGBSP_") && (!self.is_on_node || is_kept(name))
        });
        let kept: Vec<(OsString, OsString)> = kept.collect();
        command.env_clear().envs(kept).envs(&self.environment);
        command.env("MIGBSP_EXECUTOR", "1");
        command.current_dir(&self.folder).process_group(0);
        command
    }
}

/// A request to the thread that starts executors: stdin, and where stdout and stderr go.
type Request = (
    Start,
    OwnedFd,
    [PipeWriter; 2],
    SyncSender<io::Result<Child>>,
);

/// An executor that has been started: its process, the channel to it, and its log.
pub(crate) type Started = (Child, UnixStream, PipeReader);

/// Starts a command with a channel as its stdin. What it writes to stdout or stderr is its log.
///
/// An executor is killed when the thread ends that has started it, so one thread, which lasts, starts all of them.
pub(crate) fn start(start: Start) -> io::Result<Started> {
    static THREAD: OnceLock<Sender<Request>> = OnceLock::new();
    let (own, other) = UnixStream::pair()?;
    let (log, written) = io::pipe()?;
    let outputs = [written.try_clone()?, written];
    let requests = THREAD.get_or_init(|| {
        let (sender, receiver) = mpsc::channel::<Request>();
        let named = thread::Builder::new().name("executors".to_owned());
        let spawned = named.spawn(move || {
            for (start, input, [output, errors], answer) in receiver {
                let mut command = start.command();
                command.stdin(input).stdout(output).stderr(errors);
                let child = command.spawn();
                // The thread that asked may have ended.
                drop(answer.send(child));
            }
        });
        drop(spawned.expect("the system has room for a thread"));
        sender
    });
    let (answer, answered) = mpsc::sync_channel(1);
    let sent = requests.send((start, other.into(), outputs, answer));
    sent.map_err(|_| io::Error::other("the thread that starts executors has ended"))?;
    let child = answered.recv();
    let child =
        child.map_err(|_| io::Error::other("the thread that starts executors has ended"))?;
    Ok((child?, own, log))
}

/// Becomes an executor: `arguments` are those after [`LAUNCH`]. Returns only if that fails.
pub fn launch(arguments: &[OsString]) -> ExitCode {
    let problem = match become_executor(arguments) {
        Ok(never) => match never {},
        Err(problem) => problem,
    };
    #[expect(clippy::print_stderr, reason = "the log of an executor is its stderr")]
    {
        eprintln!("{problem}");
    }
    ExitCode::from(127)
}

enum Never {}

fn become_executor(arguments: &[OsString]) -> Result<Never, String> {
    let text = |index: usize| arguments.get(index).and_then(|argument| argument.to_str());
    let (Some(parent), Some(memory), Some(may_gain_rights), Some(program)) =
        (text(0), text(1), text(2), arguments.get(3))
    else {
        return Err(format!(
            "{LAUNCH} is for migbsp itself, which starts executors by it"
        ));
    };
    let says = |what: &str, error: &dyn std::fmt::Display| format!("{what}: {error}");
    set_parent_process_death_signal(Some(Signal::KILL))
        .map_err(|error| says("the end of the node cannot be waited for", &error))?;
    let parent = parent.parse().ok().and_then(Pid::from_raw);
    if parent.is_none() || getppid() != parent {
        return Err("the process that starts the executor has ended".to_owned());
    }
    let limit = |most: u64| Rlimit {
        current: Some(most),
        maximum: Some(most),
    };
    setrlimit(Resource::Core, limit(0)).map_err(|error| says("no limit of core files", &error))?;
    if let Some(memory) = memory.parse().ok().filter(|memory| 0 < *memory) {
        setrlimit(Resource::Data, limit(memory))
            .map_err(|error| says("no limit of memory", &error))?;
    }
    if may_gain_rights == "0" {
        set_no_new_privs(true).map_err(|error| says("rights cannot be given up", &error))?;
    }
    let error = Command::new(program).args(&arguments[4..]).exec();
    let name = program.to_string_lossy();
    Err(format!("{name} cannot be started: {error}"))
}
