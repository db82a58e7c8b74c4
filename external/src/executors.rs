//! The executors of a program on this machine, and which process is in which of them.

use std::collections::BTreeMap;
use std::num::NonZeroU64;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::thread;
use std::time::Duration;

use bsp::Rank;
use bytes::Bytes;
use sha2::{Digest, Sha256};

use crate::data::Output;
use crate::executor::{Executor, ExecutorError, Group, Welcome};
use crate::frame::{EXECUTOR, FrameError, Reader, UNKNOWN, VERSION, Writer, reply, request};
use crate::launch::Start;

/// Where processes are executed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum World {
    /// In a simulation, all on this machine.
    #[default]
    Simulation,
    /// On hosts.
    Hosts,
    /// To check the program.
    Check,
}

/// How the processes of a program are executed.
#[derive(Clone, Debug)]
pub struct Recipe {
    /// The program's name, in messages and logs.
    pub name: String,
    /// Program and arguments.
    pub command: Vec<String>,
    /// The socket at which an executor waits that is there already, in place of the command.
    pub connect: Option<PathBuf>,
    /// What is put before the command: a sandbox.
    pub wrapper: Vec<String>,
    /// The folder in which executors are started; `None`: one of their own, which is empty.
    pub folder: Option<PathBuf>,
    /// The most memory of an executor, in bytes.
    pub memory: Option<NonZeroU64>,
    /// How many threads the libraries of the program may use.
    pub threads: u32,
    /// The parameters: a JSON object.
    pub parameters: String,
    /// The number of processes.
    pub processes: u32,
    /// The seed of the experiment.
    pub seed: u64,
    /// The number of supersteps, if it is given.
    pub supersteps: Option<u64>,
    /// Where.
    pub world: World,
    /// The most processes in an executor; `None`: one on hosts, and any number elsewhere.
    pub per_executor: Option<u32>,
    /// How long an executor may take to start.
    pub start_timeout: Duration,
    /// How long a superstep may take.
    pub superstep_timeout: Option<Duration>,
    /// Instructions a second of this machine, where processor time is the charge; `None`: the program charges.
    pub measured: Option<f64>,
}

impl Recipe {
    /// What the states of its processes are marked with: what they compute follows from this and from the program, not where.
    pub(crate) fn key(&self) -> u64 {
        let mut digest = Sha256::new();
        for text in [&self.name, &self.parameters] {
            digest.update(bsp::numbers::length(text.len()).to_le_bytes());
            digest.update(text.as_bytes());
        }
        digest.update(self.processes.to_le_bytes());
        digest.update(self.seed.to_le_bytes());
        let digest = digest.finalize();
        digest[..8]
            .iter()
            .fold(0, |key, byte| key << 8 | u64::from(*byte))
    }

    fn start(&self, folder: PathBuf) -> Start {
        let threads = self.threads.max(1).to_string();
        let limited = THREADS
            .iter()
            .map(|name| ((*name).to_owned(), threads.clone()));
        Start {
            command: self.wrapper.iter().chain(&self.command).cloned().collect(),
            folder,
            memory: self.memory,
            may_gain_rights: !self.wrapper.is_empty(),
            is_on_node: self.world == World::Hosts,
            environment: limited.collect(),
        }
    }

    fn hello(&self) -> Writer {
        let mut hello = Writer::new(request::HELLO, EXECUTOR);
        hello.u16(VERSION);
        hello.u16(VERSION);
        hello.u32(self.processes);
        hello.u64(self.seed);
        hello.u64(self.supersteps.unwrap_or(0));
        hello.u32(match self.world {
            World::Simulation => 0,
            World::Hosts => 1,
            World::Check => 2,
        });
        let text = Bytes::from(format!("{{\"parameters\": {}}}", self.parameters));
        hello.u32(u32::try_from(text.len()).unwrap_or(u32::MAX));
        hello.part(&text);
        hello
    }
}

/// Variables by which libraries are told how many threads they may use.
const THREADS: [&str; 5] = [
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
];

/// The executors of one program on this machine: processes, and jobs, of the same program with the same parameters share
/// them. They end with the last that has them.
#[derive(Debug)]
pub struct Executors {
    recipe: Recipe,
    key: u64,
    open: Mutex<Vec<Open>>,
    group: Group,
    next_handle: AtomicU32,
    /// Whether the program has looked at times or at who is on standby.
    has_looked: AtomicBool,
    /// Where they are started, if that is a folder of their own.
    own_folder: Option<tempfile::TempDir>,
    /// What the first one said of the program.
    welcome: OnceLock<Welcome>,
    /// Held while some are started: what needs one waits for those.
    starting: Mutex<()>,
    /// The number of [`Guard`]s.
    guards: AtomicU32,
}

/// A use of executors, with whose end they may be killed.
#[derive(Debug)]
pub struct Guard(Arc<Executors>);

/// An executor, and how many processes are in it.
#[derive(Debug)]
struct Open {
    executor: Arc<Mutex<Executor>>,
    is_sound: Arc<AtomicBool>,
    processes: u32,
}

impl Open {
    /// The number of processes that it can have in addition.
    fn free(&self, capacity: u32) -> u32 {
        if self.is_sound.load(Ordering::Relaxed) {
            capacity.saturating_sub(self.processes)
        } else {
            0
        }
    }
}

/// A process in an executor.
#[derive(Debug)]
pub(crate) struct Seat {
    executor: Arc<Mutex<Executor>>,
    handle: u32,
}

/// What an executor says of a process that it has made.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ready {
    pub(crate) length: Option<u64>,
    pub(crate) left: Option<u64>,
}

/// What a program says of outputs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It does not check them.
    Unchecked,
    /// They are right.
    Accepted(String),
    /// The input is at fault.
    Input(String),
    /// They are wrong.
    Rejected(String),
}

/// The programs that have executors here, by the mark of their states.
static ALL: Mutex<BTreeMap<u64, Weak<Executors>>> = Mutex::new(BTreeMap::new());

/// The executors of the program whose states have this mark.
pub(crate) fn find(key: u64) -> Option<Arc<Executors>> {
    let all = ALL.lock().unwrap_or_else(PoisonError::into_inner);
    all.get(&key).and_then(Weak::upgrade)
}

impl Drop for Guard {
    /// With the last one, executors are killed: a process that is still in a superstep does not keep a node busy.
    fn drop(&mut self) {
        if self.0.guards.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.0.kill();
        }
    }
}

impl Executors {
    /// Those of `recipe`. They are started when they are needed.
    ///
    /// # Errors
    ///
    /// If there is no folder for them.
    pub fn of(recipe: Recipe) -> Result<Arc<Self>, ExecutorError> {
        let key = recipe.key();
        if let Some(found) = find(key)
            && found.recipe.command == recipe.command
            && found.recipe.connect == recipe.connect
            && found.recipe.folder == recipe.folder
            && found.recipe.world == recipe.world
        {
            return Ok(found);
        }
        let own_folder = match recipe.folder {
            Some(_) => None,
            None => {
                let made = tempfile::Builder::new()
                    .prefix("migbsp-executor-")
                    .tempdir();
                Some(made.map_err(|error| ExecutorError::Unstarted {
                    command: recipe.command.join(" "),
                    error,
                })?)
            }
        };
        let executors = Arc::new(Self {
            recipe,
            key,
            open: Mutex::default(),
            group: Group::default(),
            next_handle: AtomicU32::new(0),
            has_looked: AtomicBool::new(false),
            own_folder,
            welcome: OnceLock::new(),
            starting: Mutex::default(),
            guards: AtomicU32::new(0),
        });
        let mut all = ALL.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|_, executors| 0 < executors.strong_count());
        all.insert(key, Arc::downgrade(&executors));
        Ok(executors)
    }

    /// Has them be killed when this, and every other guard of them, is dropped. So many processes, and one that is spare, need
    /// executors, which are started meanwhile: what needs one waits for them.
    #[must_use]
    pub fn guard(self: &Arc<Self>, processes: u32) -> Guard {
        self.guards.fetch_add(1, Ordering::AcqRel);
        self.warm(processes);
        Guard(Arc::clone(self))
    }

    fn warm(self: &Arc<Self>, processes: u32) {
        let executors = Arc::clone(self);
        let named = thread::Builder::new().name("executors-start".to_owned());
        let spawned = named.spawn(move || {
            let started = executors.reserve(processes.saturating_add(1));
            // They are killed with the job.
            let is_over = executors.guards.load(Ordering::Acquire) == 0;
            if is_over {
                executors.kill();
            } else if let Err(error) = started {
                tracing::warn!(program = executors.recipe.name, %error, "executors do not start");
            }
        });
        drop(spawned);
    }

    /// The mark of the states of its processes.
    pub(crate) const fn key(&self) -> u64 {
        self.key
    }

    /// How they are executed.
    #[must_use]
    pub const fn recipe(&self) -> &Recipe {
        &self.recipe
    }

    /// What the program says of itself: an executor is started for that, unless there is one.
    ///
    /// # Errors
    ///
    /// If it does not start.
    pub fn welcome(&self) -> Result<&Welcome, ExecutorError> {
        self.welcome.get().map_or_else(|| self.reserve(1), Ok)
    }

    /// The version of the program here, by the digest that it says; 0 if it says none.
    pub(crate) fn version(&self) -> u64 {
        let digest = self
            .welcome
            .get()
            .map_or("", |welcome| &welcome.about.digest);
        if digest.is_empty() {
            return 0;
        }
        let digest = Sha256::digest(digest.as_bytes());
        let folded = digest[..8]
            .iter()
            .fold(0, |number, byte| number << 8 | u64::from(*byte));
        u64::max(folded, 1)
    }

    /// Whether a process of the program has looked at times or at who is on standby.
    #[must_use]
    pub fn has_looked(&self) -> bool {
        self.has_looked.load(Ordering::Relaxed)
    }

    pub(crate) fn look(&self) {
        self.has_looked.store(true, Ordering::Relaxed);
    }

    /// The executors, as processes of the operating system.
    #[must_use]
    pub fn processes(&self) -> Vec<u32> {
        self.group.processes()
    }

    /// Kills them. Processes that are in them fail.
    pub fn kill(&self) {
        self.group.kill();
        // Those without a process serve none any more.
        let idle: Vec<Open> = self
            .lock()
            .extract_if(.., |open| open.processes == 0)
            .collect();
        // They end without the lock.
        drop(idle);
    }

    /// Has an executor for each of so many processes more, so that they need not wait for one another. What the program says of
    /// itself.
    ///
    /// # Errors
    ///
    /// If one cannot be started.
    #[expect(
        clippy::missing_panics_doc,
        reason = "one is begun if one is asked for"
    )]
    pub fn reserve(&self, processes: u32) -> Result<&Welcome, ExecutorError> {
        let _starting = self.starting.lock().unwrap_or_else(PoisonError::into_inner);
        let welcome = if let Some(welcome) = self.welcome.get() {
            welcome
        } else {
            // The first one says how many processes it holds.
            let first = self.begin(1)?.pop().expect("one is begun");
            let welcome = self.welcome.get_or_init(|| first.welcome.clone());
            self.add(vec![first]);
            welcome
        };
        let capacity = self.capacity();
        let mut missing = processes;
        for open in &*self.lock() {
            missing = missing.saturating_sub(open.free(capacity));
        }
        let started = self.begin(missing.div_ceil(capacity))?;
        self.add(started);
        Ok(welcome)
    }

    /// Starts executors, and waits until all of them answer.
    fn begin(&self, count: u32) -> Result<Vec<Executor>, ExecutorError> {
        let folder = match (&self.recipe.folder, &self.own_folder) {
            (Some(folder), _) => folder.clone(),
            (None, own) => own
                .as_ref()
                .map(|own| own.path().to_path_buf())
                .unwrap_or_default(),
        };
        let start = || match &self.recipe.connect {
            Some(socket) => Executor::connect(socket),
            None => {
                let start = self.recipe.start(folder.clone());
                Executor::start(&self.recipe.name, start, &self.group)
            }
        };
        let mut started = (0..count).map(|_| start()).collect::<Result<Vec<_>, _>>()?;
        for executor in &mut started {
            executor.greet(self.recipe.hello(), self.recipe.start_timeout)?;
        }
        Ok(started)
    }

    fn add(&self, executors: Vec<Executor>) {
        let open = executors.into_iter().map(|executor| Open {
            is_sound: executor.soundness(),
            executor: Arc::new(Mutex::new(executor)),
            processes: 0,
        });
        self.lock().extend(open);
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Open>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The most processes in an executor.
    fn capacity(&self) -> u32 {
        if !self.welcome.get().is_some_and(|welcome| welcome.holds_many) {
            return 1;
        }
        if self.recipe.connect.is_some() {
            return u32::MAX;
        }
        let many = match self.recipe.world {
            World::Hosts => 1,
            World::Simulation | World::Check => u32::MAX,
        };
        self.recipe.per_executor.unwrap_or(many).max(1)
    }

    /// A place for a process, in an executor that may have to be started.
    pub(crate) fn seat(&self) -> Result<Seat, ExecutorError> {
        loop {
            if let Some(seat) = self.free_seat() {
                return Ok(seat);
            }
            self.reserve(1)?;
        }
    }

    fn free_seat(&self) -> Option<Seat> {
        let capacity = self.capacity();
        let mut open = self.lock();
        let free = open.iter_mut().find(|open| 0 < open.free(capacity))?;
        free.processes += 1;
        Some(Seat {
            executor: Arc::clone(&free.executor),
            handle: self.next_handle.fetch_add(1, Ordering::Relaxed) % (u32::MAX / 2),
        })
    }

    /// Gives a place back.
    pub(crate) fn leave(&self, seat: &Seat) {
        let is_reusable = {
            let mut executor = seat.lock();
            let drop_it = Writer::new(request::DROP, seat.handle);
            // One that holds a single process ends with it.
            executor.soundness().load(Ordering::Relaxed)
                && executor.welcome.holds_many
                && executor
                    .ask(drop_it, seat.handle, reply::OK, Some(MOMENT))
                    .is_ok()
        };
        self.give_back(seat, is_reusable);
    }

    /// Has the place of a process be free again. An executor that is not to be used any more ends with the last of its processes.
    fn give_back(&self, seat: &Seat, is_reusable: bool) {
        let mut left = Vec::new();
        let mut spares = 0;
        let is_own = |open: &Open| Arc::ptr_eq(&open.executor, &seat.executor);
        let mut open = self.lock();
        open.retain_mut(|open| {
            let is_own = is_own(open);
            open.processes -= u32::from(is_own);
            if 0 < open.processes {
                return true;
            }
            spares += 1;
            let is_kept = (is_reusable || !is_own) && spares <= SPARES;
            if !is_kept {
                left.push(Arc::clone(&open.executor));
            }
            is_kept
        });
        drop(open);
        // They end without the lock.
        drop(left);
    }

    /// What the program says of the outputs of all processes.
    ///
    /// # Errors
    ///
    /// If the executor does not answer.
    pub fn verify(&self, outputs: &[Output]) -> Result<Verdict, ExecutorError> {
        if !self.welcome()?.verifies {
            return Ok(Verdict::Unchecked);
        }
        let seat = self.seat()?;
        let mut asked = Writer::new(request::VERIFY, EXECUTOR);
        asked.u64(bsp::numbers::length(outputs.len()));
        asked.u64(0);
        for output in outputs {
            asked.u64(bsp::numbers::length(output.encoded().len()));
        }
        asked.pad();
        for output in outputs {
            asked.part(output.encoded());
        }
        let verdict = seat.lock().ask(asked, EXECUTOR, reply::VERDICT, None);
        let mut open = self.lock();
        if let Some(own) = open
            .iter_mut()
            .find(|open| Arc::ptr_eq(&open.executor, &seat.executor))
        {
            own.processes -= 1;
        }
        drop(open);
        let mut body = Reader::new(verdict?.body);
        let mut read = || {
            let code = body.u32()?;
            let length = body.u32()?;
            body.u64()?;
            let text = body.lossy_text(length.into())?;
            match code {
                0 => Ok(Verdict::Unchecked),
                1 => Ok(Verdict::Accepted(text)),
                2 => Ok(Verdict::Input(text)),
                3 => Ok(Verdict::Rejected(text)),
                _ => Err(FrameError::Contradiction(format!("verdict {code}"))),
            }
        };
        read().map_err(|error| seat.lock().fails(&error, None))
    }
}

/// The executors without a process that are kept: one is ready for a process that arrives.
const SPARES: usize = 1;

/// How long an executor may take to forget a process.
const MOMENT: Duration = Duration::from_secs(60);

impl Seat {
    fn lock(&self) -> MutexGuard<'_, Executor> {
        self.executor.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes process `rank`.
    pub(crate) fn start(&self, rank: Rank) -> Result<Ready, ExecutorError> {
        let mut start = Writer::new(request::START, self.handle);
        start.u32(rank.0);
        start.pad();
        self.ready(start, None)
    }

    /// Makes process `rank` from its state.
    pub(crate) fn load(&self, rank: Rank, state: &Bytes) -> Result<Ready, ExecutorError> {
        let mut load = Writer::new(request::LOAD, self.handle);
        load.u32(rank.0);
        load.pad();
        load.rest(state);
        self.ready(load, Some(time_for(bsp::numbers::length(state.len()))))
    }

    fn ready(&self, request: Writer, within: Option<Duration>) -> Result<Ready, ExecutorError> {
        let mut executor = self.lock();
        let frame = executor.ask(request, self.handle, reply::READY, within)?;
        let mut body = Reader::new(frame.body);
        let read = body.u64().and_then(|length| Ok((length, body.u64()?)));
        let (length, left) = read
            .and_then(|read| body.end().map(|()| read))
            .map_err(|error| executor.fails(&error, within))?;
        Ok(Ready {
            length: (length != 0).then_some(length),
            left: (left != UNKNOWN).then_some(left),
        })
    }

    /// The state of the process.
    pub(crate) fn save(&self, length: u64) -> Result<Bytes, ExecutorError> {
        let save = Writer::new(request::SAVE, self.handle);
        let within = Some(time_for(length));
        let saved = self.lock().ask(save, self.handle, reply::SAVED, within)?;
        Ok(saved.body)
    }

    /// Executes a superstep, whose request `step` makes for the handle of the process, and reads the reply by `read`.
    pub(crate) fn step<T>(
        &self,
        step: impl FnOnce(u32) -> Writer,
        within: Option<Duration>,
        read: impl FnOnce(Bytes) -> Result<T, FrameError>,
    ) -> Result<T, ExecutorError> {
        let mut executor = self.lock();
        let done = executor.ask(step(self.handle), self.handle, reply::DONE, within)?;
        read(done.body).map_err(|error| executor.fails(&error, within))
    }
}

/// How long it may take to save or to load a state: a minute, and a second for each 10 MB.
fn time_for(length: u64) -> Duration {
    Duration::from_secs(60 + length / 10_000_000)
}
