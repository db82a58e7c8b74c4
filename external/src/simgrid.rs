//! Time-independent traces of SimGrid (format `TI`, which `smpi_replay` replays), as program traces.
//!
//! Such a trace lists what each process of an MPI program did, in order: `3 compute 1e9`, `3 isend 4 0 1000 6`. It is one file for all
//! processes, or a file that lists one file for each. A reader in two stages makes supersteps of it:
//!
//! ```text
//! lines ──► actions of each process ──► superstep of each action ──► ProgramTrace
//! ```
//!
//! # Supersteps
//!
//! A process begins in superstep 0. A message that is sent in superstep `s` is there in superstep `s + 1`, and not before. So:
//!
//! - `compute`, `send` and `isend` take place in the current superstep of their process.
//! - `recv`, `wait` and `waitall` go on in the first superstep in which all messages that they complete are there. That is the current
//!   superstep if their senders are behind, and the end of the current one if they are in the same superstep.
//! - A collective takes place in the greatest current superstep of all processes, and ends it for all of them. Processes that arrive in
//!   an earlier superstep do nothing in between, so collectives line up.
//!
//! The first two rules give each action the least superstep in which its data can be there: a stencil needs one superstep for each
//! exchange, and a pipeline one for each stage. The usual iteration (`irecv`, `isend`, `waitall`, `compute`, `allreduce`) takes two:
//!
//! | superstep | a process |
//! |---|---|
//! | 2 i | sends to its neighbours |
//! | 2 i + 1 | computes, and contributes to the reduction |
//!
//! Without the reduction it takes one: the computation of an iteration and the sends of the next one are in the same superstep.
//!
//! # Collectives
//!
//! | action | becomes |
//! |---|---|
//! | `barrier` | nothing but the end of the superstep |
//! | `reduce`, `allreduce`, `scan`, `exscan` | a sum of as many bytes of doubles, up to [`REDUCTIONS_MAX`]; above that messages along a binary tree, upwards, and for all but `reduce` downwards too |
//! | `bcast`, `scatter`, `scatterv` | a message from the root to each other process |
//! | `gather`, `gatherv` | a message from each other process to the root |
//! | `allgather`, `allgatherv`, `alltoall`, `alltoallv`, `reducescatter` | a message from each process to each other one |
//!
//! The computation that a reduction names is charged in the superstep after it, when the values are there.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use bsp::reduction::REDUCTIONS_MAX;
use bsp::units::Instructions;
use bytes::Bytes;
use sha2::{Digest, Sha256};

use crate::data::Output;
use crate::executor::About;
use crate::program::Known;
use crate::step::Item;
use crate::trace::{Act, Posted, ProgramTrace};

impl ProgramTrace {
    /// What a time-independent trace of SimGrid says that processes did.
    ///
    /// `path` is a file with a rank in front of each line, or a file that lists such files, one for each rank. Names in a list are
    /// relative to its folder. First folders of a name that are not there are left out, since SimGrid writes names relative to the
    /// folder in which it ran.
    ///
    /// # Errors
    ///
    /// If it is no such trace, or has what supersteps cannot express.
    pub fn of_simgrid(path: &Path) -> Result<Arc<Self>, SimgridError> {
        let read = Trace::read(path)?;
        let digest = read.digest;
        let processes = Mapping::of(&read)?.finish()?;
        let name = path.file_stem().unwrap_or_default();
        let about = About {
            name: name.to_string_lossy().into_owned(),
            language: "SimGrid".to_owned(),
            digest: digest.iter().map(|byte| format!("{byte:02x}")).collect(),
            ..About::default()
        };
        let key = digest[..8]
            .iter()
            .fold(0, |key, byte| key << 8 | u64::from(*byte));
        Ok(Arc::new(Self::of_acts(about, key, processes)))
    }
}

/// Why a trace of SimGrid cannot be replayed in supersteps.
#[derive(Debug, thiserror::Error)]
pub enum SimgridError {
    /// It is neither of the two kinds of files.
    #[error(
        "is no program trace, which `record` writes, and no time-independent trace of SimGrid: line {line} is neither `<rank> <action> …` \
         nor the name of a file beside it"
    )]
    Foreign {
        /// The first line that says something.
        line: u64,
    },
    /// A file cannot be read.
    #[error("cannot be replayed: {}: {error}", file.display())]
    Unread {
        /// The file.
        file: PathBuf,
        /// The system's reason.
        error: io::Error,
    },
    /// A process of the trace has no actions.
    #[error(
        "cannot be replayed: there are actions of rank {last}, and none of rank {missing}: ranks count from 0 without gaps"
    )]
    Gap {
        /// The greatest rank.
        last: u32,
        /// The least one without actions.
        missing: u32,
    },
    /// A line cannot be mapped.
    #[error("cannot be replayed: {place}: {fault}")]
    Line {
        /// Where it is.
        place: SimgridPlace,
        /// What is wrong with it.
        fault: SimgridFault,
    },
    /// There would be too much of it.
    #[error(
        "cannot be replayed: it has {processes} processes and {supersteps} supersteps, which are more than {ACTS_MAX} together: trace \
         fewer iterations"
    )]
    Supersteps {
        /// The number of processes.
        processes: usize,
        /// The number of supersteps.
        supersteps: u64,
    },
}

/// A line of a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SimgridPlace {
    /// The file.
    pub file: PathBuf,
    /// Counts from 1.
    pub line: u64,
}

impl fmt::Display for SimgridPlace {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:{}", self.file.display(), self.line)
    }
}

/// What is wrong with a line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SimgridFault {
    /// It is too long, or not text.
    #[error("the line is no text of at most {LINE_MAX} B")]
    NoText,
    /// It is not of the form `<rank> <action> …`.
    #[error("`{found}` is no rank and action, such as `0 compute 1e9`")]
    NoAction {
        /// The line, or its beginning.
        found: String,
    },
    /// A file of a list has a line of another process.
    #[error(
        "a line of rank {found} in the file of rank {expected}: list the files in the order of ranks, or one file for all"
    )]
    OtherRank {
        /// The rank in the line.
        found: u32,
        /// The rank of the file.
        expected: u32,
    },
    /// The action is not one of MPI that supersteps express.
    #[error(
        "`{action}` cannot be mapped to supersteps: nonblocking collectives, `waitany`, `testany`, persistent requests, windows and \
         files are not; use `isend`, `irecv`, `wait`, `waitall` and blocking collectives"
    )]
    Unknown {
        /// Its name.
        action: String,
    },
    /// A parameter is missing.
    #[error("`{action}` has no {parameter}: it is parameter {position}")]
    Missing {
        /// The action.
        action: String,
        /// What it lacks.
        parameter: &'static str,
        /// Where that belongs, counted from 1 after the action.
        position: usize,
    },
    /// A parameter is not what it should be.
    #[error("`{found}` is no {parameter} of `{action}`: {expected}")]
    Invalid {
        /// The action.
        action: String,
        /// The parameter.
        parameter: &'static str,
        /// What is there.
        found: String,
        /// What would do.
        expected: &'static str,
    },
    /// A rank is not one of the trace.
    #[error("`{action}` names rank {found}, but the ranks of the trace are 0 to {}", size - 1)]
    NoSuchRank {
        /// The action.
        action: String,
        /// The rank.
        found: i64,
        /// The number of processes.
        size: u32,
    },
    /// A message that any process could have sent.
    #[error(
        "`{action}` receives from any source or with any tag, so its sender is not in the trace: name source and tag in the program"
    )]
    AnySource {
        /// The action.
        action: String,
    },
    /// A communicator that is not the world.
    #[error(
        "`{action}` makes or has a communicator that is not the world: collectives are mapped for all {size} processes alone, so use \
         messages between its members"
    )]
    Communicator {
        /// The action.
        action: String,
        /// The number of processes.
        size: u32,
    },
    /// Time that passes without computation.
    #[error(
        "`sleep` takes time, but supersteps cost instructions: write `compute` with as many as fit in that time"
    )]
    Sleep,
    /// A request that only tests complete.
    #[error(
        "only `test` completes the receive of tag {tag} from rank {from}, and how often it is called depends on time: call `wait` for it"
    )]
    Tested {
        /// The sender.
        from: u32,
        /// The tag.
        tag: i64,
    },
    /// A receive without a send.
    #[error(
        "no send matches this receive of tag {tag} from rank {from}: the trace has {sends} such sends, so trace the program to its end"
    )]
    Unmatched {
        /// The sender.
        from: u32,
        /// The tag.
        tag: i64,
        /// The number of sends.
        sends: u64,
    },
    /// A receive that waits for itself.
    #[error(
        "the receive of tag {tag} from rank {from} never completes, because rank {from} itself waits before it sends: reorder a cycle of \
         receives, and use no collectives of communicators other than the world"
    )]
    Deadlock {
        /// The sender.
        from: u32,
        /// The tag.
        tag: i64,
    },
    /// Processes disagree about a collective.
    #[error(
        "{found}, while rank {rank} has {other} ({place}): all processes need the same collectives in the same order, and none of \
         communicators other than the world"
    )]
    OtherCollective {
        /// What is here.
        found: String,
        /// What is there.
        other: String,
        /// The other process.
        rank: u32,
        /// Its line.
        place: Box<SimgridPlace>,
    },
    /// There would be too many messages.
    #[error(
        "up to here there are more than {MESSAGES_MAX} messages: trace fewer iterations, or fewer processes"
    )]
    Messages,
}

/// An amount above which floats are not exact.
const AMOUNT_MAX: f64 = 9_007_199_254_740_992.0;

/// The longest line, in bytes: that of an `alltoallv` of a hundred thousand processes is half as long.
const LINE_MAX: u64 = 4 << 20;

/// The most supersteps of all processes together.
const ACTS_MAX: u64 = 1 << 24;

/// The most messages of a trace.
const MESSAGES_MAX: u64 = 1 << 26;

/// What a channel is found by: sender, receiver and tag.
type Key = (u32, u32, i64);

/// What a process did, as a line says it.
#[derive(Clone, Debug)]
enum Action {
    Compute(u64),
    Send {
        key: Key,
        bytes: u64,
        /// Whether a `wait` may follow.
        is_request: bool,
    },
    Receive {
        key: Key,
        /// Whether a `wait` completes it later.
        is_request: bool,
    },
    Test(Key),
    Wait(Key),
    WaitAll,
    Collective(Box<Collective>),
}

/// What a process contributes to a collective.
#[derive(Clone, Debug)]
struct Collective {
    kind: Kind,
    root: u32,
    /// To each other process that gets something.
    bytes: u64,
    /// By receiver, if these differ.
    counts: Vec<u64>,
    /// Charged after it.
    charge: u64,
}

/// A kind of collective.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Barrier,
    Bcast,
    Reduce,
    Allreduce,
    Scan,
    Exscan,
    Gather,
    Gatherv,
    Scatter,
    Scatterv,
    Allgather,
    Allgatherv,
    Alltoall,
    Alltoallv,
    ReduceScatter,
}

impl Kind {
    const ALL: [(&'static str, Self); 15] = [
        ("barrier", Self::Barrier),
        ("bcast", Self::Bcast),
        ("reduce", Self::Reduce),
        ("allreduce", Self::Allreduce),
        ("scan", Self::Scan),
        ("exscan", Self::Exscan),
        ("gather", Self::Gather),
        ("gatherv", Self::Gatherv),
        ("scatter", Self::Scatter),
        ("scatterv", Self::Scatterv),
        ("allgather", Self::Allgather),
        ("allgatherv", Self::Allgatherv),
        ("alltoall", Self::Alltoall),
        ("alltoallv", Self::Alltoallv),
        ("reducescatter", Self::ReduceScatter),
    ];

    fn name(self) -> &'static str {
        let mut all = Self::ALL.into_iter();
        let named = all.find(|(_, kind)| *kind == self);
        named.expect("all kinds are named").0
    }

    /// Whether all processes contribute as many bytes.
    const fn is_combined(self) -> bool {
        matches!(
            self,
            Self::Reduce | Self::Allreduce | Self::Scan | Self::Exscan
        )
    }
}

/// The actions of all processes.
#[derive(Debug)]
struct Trace {
    files: Vec<PathBuf>,
    /// By rank.
    processes: Vec<Vec<Listed>>,
    /// The file and the last line of each process.
    ends: Vec<(u32, u64)>,
    digest: [u8; 32],
}

/// An action and its line.
#[derive(Debug)]
struct Listed {
    action: Action,
    file: u32,
    line: u64,
}

impl Trace {
    fn read(path: &Path) -> Result<Self, SimgridError> {
        let (files, size) = match Self::list(path)? {
            Some(files) if 1 < files.len() => {
                let size = u32::try_from(files.len()).unwrap_or(u32::MAX);
                (files, size)
            }
            list => {
                let file = list.map_or_else(|| path.to_path_buf(), |mut files| files.remove(0));
                let size = size(&file)?;
                (vec![file], size)
            }
        };
        let mut digest = Sha256::new();
        let mut processes: Vec<Vec<Listed>> = (0..size).map(|_| Vec::new()).collect();
        // In bytes, until `init` says otherwise.
        let mut defaults = vec![1; processes.len()];
        let mut ends = vec![(0, 0); processes.len()];
        for (index, file) in (0..).zip(&files) {
            let mut lines = Lines::open(file)?;
            while let Some((line, words)) = lines.next(Some(&mut digest))? {
                let fault = |fault| SimgridError::Line {
                    place: SimgridPlace {
                        file: file.clone(),
                        line,
                    },
                    fault,
                };
                let (rank, words) = split(words).map_err(fault)?;
                if rank != index && 1 < files.len() {
                    return Err(fault(SimgridFault::OtherRank {
                        found: rank,
                        expected: index,
                    }));
                }
                let process = bsp::numbers::index(rank);
                let actions = processes
                    .get_mut(process)
                    .ok_or_else(|| fault(no_such_rank("line", rank.into(), size)))?;
                let words = Words {
                    words,
                    rank,
                    size,
                    default: defaults[process],
                };
                defaults[process] = words.default();
                ends[process] = (index, line);
                let add = |action| {
                    actions.push(Listed {
                        action,
                        file: index,
                        line,
                    });
                };
                words.actions().map_err(fault)?.into_iter().for_each(add);
            }
        }
        Ok(Self {
            files,
            processes,
            ends,
            digest: digest.finalize().into(),
        })
    }

    /// The files that a file lists; `None` if it is a trace itself.
    fn list(path: &Path) -> Result<Option<Vec<PathBuf>>, SimgridError> {
        let mut lines = Lines::open(path)?;
        let folder = path.parent().unwrap_or_else(|| Path::new(""));
        let mut files = Vec::new();
        loop {
            let (line, name) = match lines.next(None) {
                Ok(Some((line, name))) => (line, name),
                Ok(None) if files.is_empty() => return Err(SimgridError::Foreign { line: 1 }),
                Ok(None) => return Ok(Some(files)),
                Err(SimgridError::Line { place, .. }) if files.is_empty() => {
                    return Err(SimgridError::Foreign { line: place.line });
                }
                Err(error) => return Err(error),
            };
            if let Some(file) = beside(folder, Path::new(name)) {
                files.push(file);
            } else if !files.is_empty() {
                return Err(SimgridError::Unread {
                    file: folder.join(name),
                    error: io::ErrorKind::NotFound.into(),
                });
            } else if split(name).is_ok() {
                return Ok(None);
            } else {
                return Err(SimgridError::Foreign { line });
            }
        }
    }

    fn fault(&self, listed: &Listed, fault: SimgridFault) -> SimgridError {
        SimgridError::Line {
            place: self.place((listed.file, listed.line)),
            fault,
        }
    }

    fn place(&self, (file, line): (u32, u64)) -> SimgridPlace {
        SimgridPlace {
            file: self.files[bsp::numbers::index(file)].clone(),
            line,
        }
    }

    fn size(&self) -> u32 {
        u32::try_from(self.processes.len()).expect("ranks fit 32 bits")
    }
}

/// The file in `folder` that `name` means, without first folders that are not there. Nothing outside of `folder` is meant.
fn beside(folder: &Path, name: &Path) -> Option<PathBuf> {
    let components: Vec<Component<'_>> = name.components().collect();
    let here = match folder == Path::new("") {
        true => Path::new("."),
        false => folder,
    };
    let within = here.canonicalize().ok()?;
    let file = (0..components.len()).find_map(|first| {
        let inner: PathBuf = components[first..].iter().collect();
        let file = folder.join(&inner);
        (inner.is_relative() && file.is_file()).then_some(file)
    })?;
    // Links lead elsewhere, too.
    file.canonicalize()
        .ok()?
        .starts_with(within)
        .then_some(file)
}

/// The number of processes of a file with actions of all.
fn size(file: &Path) -> Result<u32, SimgridError> {
    let mut ranks = BTreeSet::new();
    let mut lines = Lines::open(file)?;
    while let Some((line, words)) = lines.next(None)? {
        let (rank, _) = split(words).map_err(|fault| SimgridError::Line {
            place: SimgridPlace {
                file: file.to_path_buf(),
                line,
            },
            fault,
        })?;
        ranks.insert(rank);
    }
    if let Some(last) = ranks.last()
        && let Some((missing, _)) = (0..).zip(&ranks).find(|(expected, rank)| expected != *rank)
    {
        return Err(SimgridError::Gap {
            last: *last,
            missing,
        });
    }
    match u32::try_from(ranks.len()) {
        Ok(0) | Err(_) => Err(SimgridError::Foreign { line: 1 }),
        Ok(size) => Ok(size),
    }
}

/// The lines of a file that say something.
struct Lines<'a> {
    file: &'a Path,
    reader: BufReader<File>,
    line: u64,
    bytes: Vec<u8>,
}

impl<'a> Lines<'a> {
    fn open(file: &'a Path) -> Result<Self, SimgridError> {
        let opened = File::open(file).map_err(|error| SimgridError::Unread {
            file: file.to_path_buf(),
            error,
        })?;
        Ok(Self {
            file,
            reader: BufReader::new(opened),
            line: 0,
            bytes: Vec::new(),
        })
    }

    /// The next one and its number.
    fn next(&mut self, digest: Option<&mut Sha256>) -> Result<Option<(u64, &str)>, SimgridError> {
        let mut digest = digest;
        loop {
            self.bytes.clear();
            let mut limited = self.reader.by_ref().take(LINE_MAX + 1);
            let read = limited.read_until(b'\n', &mut self.bytes);
            let read = read.map_err(|error| SimgridError::Unread {
                file: self.file.to_path_buf(),
                error,
            })?;
            if read == 0 {
                return Ok(None);
            }
            self.line += 1;
            if let Some(digest) = &mut digest {
                digest.update(&self.bytes);
            }
            let is_text = str::from_utf8(&self.bytes).is_ok_and(|text| !text.contains('\0'));
            if !is_text || LINE_MAX < bsp::numbers::length(self.bytes.len()) {
                return Err(SimgridError::Line {
                    place: SimgridPlace {
                        file: self.file.to_path_buf(),
                        line: self.line,
                    },
                    fault: SimgridFault::NoText,
                });
            }
            let trimmed = self.bytes.trim_ascii();
            if !trimmed.is_empty() && !trimmed.starts_with(b"#") {
                break;
            }
        }
        let text = str::from_utf8(self.bytes.trim_ascii()).expect("it has been checked");
        Ok(Some((self.line, text)))
    }
}

/// The rank of a line, and what follows it.
fn split(line: &str) -> Result<(u32, Vec<&str>), SimgridFault> {
    let mut words = line.split_ascii_whitespace();
    let rank = words.next().and_then(|word| word.parse().ok());
    let rest: Vec<&str> = words.collect();
    match rank {
        Some(rank) if !rest.is_empty() => Ok((rank, rest)),
        _ => Err(SimgridFault::NoAction {
            found: beginning(line),
        }),
    }
}

/// As much of a word of the file as a message shows.
fn beginning(word: &str) -> String {
    word.chars()
        .filter(|character| !character.is_control())
        .take(40)
        .collect()
}

fn no_such_rank(action: &str, found: i64, size: u32) -> SimgridFault {
    SimgridFault::NoSuchRank {
        action: beginning(action),
        found,
        size,
    }
}

/// An action and its parameters.
struct Words<'a> {
    /// The first one is the action.
    words: Vec<&'a str>,
    rank: u32,
    size: u32,
    /// The size of elements whose datatype is not said.
    default: u64,
}

impl Words<'_> {
    /// The size of elements whose datatype is not said, from here on: `init` says whether they are doubles.
    fn default(&self) -> u64 {
        match self.words[0] {
            "init" if 1 < self.words.len() => 8,
            "init" => 1,
            _ => self.default,
        }
    }

    /// What the process does.
    fn actions(&self) -> Result<Vec<Action>, SimgridFault> {
        let action = self.words[0];
        if let Some((_, kind)) = Kind::ALL.iter().find(|(name, _)| *name == action) {
            return Ok(vec![Action::Collective(Box::new(self.collective(*kind)?))]);
        }
        Ok(match action {
            "init" | "finalize" | "location" | "comm_dup" => Vec::new(),
            "compute" => vec![Action::Compute(self.amount(1, "number of flops")?)],
            "sleep" if self.amount(1, "time")? == 0 && self.words[1].parse() == Ok(0.0) => {
                Vec::new()
            }
            "sleep" => return Err(SimgridFault::Sleep),
            "comm_size" if self.amount(1, "size")? == u64::from(self.size) => Vec::new(),
            "comm_size" | "comm_split" => {
                return Err(SimgridFault::Communicator {
                    action: action.to_owned(),
                    size: self.size,
                });
            }
            "send" | "bsend" | "Ssend" | "isend" | "ibsend" | "ISsend" => {
                let to = self.rank(1, "receiver")?;
                let key = (self.rank, to, self.integer(2, "tag")?);
                vec![Action::Send {
                    key,
                    bytes: self.bytes((3, "size"), 4)?,
                    is_request: action.to_ascii_lowercase().starts_with('i'),
                }]
            }
            "recv" | "irecv" => {
                let (from, tag) = (self.integer(1, "sender")?, self.integer(2, "tag")?);
                if from < 0 || tag < 0 {
                    return Err(SimgridFault::AnySource {
                        action: action.to_owned(),
                    });
                }
                vec![Action::Receive {
                    key: (self.rank(1, "sender")?, self.rank, tag),
                    is_request: action == "irecv",
                }]
            }
            "sendRecv" => {
                let (to, from) = (self.rank(2, "receiver")?, self.rank(4, "sender")?);
                vec![
                    Action::Send {
                        key: (self.rank, to, 0),
                        bytes: self.bytes((1, "size"), 5)?,
                        is_request: false,
                    },
                    Action::Receive {
                        key: (from, self.rank, 0),
                        is_request: false,
                    },
                ]
            }
            "test" | "wait" => {
                let (from, to) = (self.rank(1, "sender")?, self.rank(2, "receiver")?);
                let key = (from, to, self.integer(3, "tag")?);
                vec![match action {
                    "test" => Action::Test(key),
                    _ => Action::Wait(key),
                }]
            }
            "waitall" => vec![Action::WaitAll],
            _ => {
                return Err(SimgridFault::Unknown {
                    action: beginning(action),
                });
            }
        })
    }

    fn collective(&self, kind: Kind) -> Result<Collective, SimgridFault> {
        let size = bsp::numbers::index(self.size);
        let mut collective = Collective {
            kind,
            root: 0,
            bytes: 0,
            counts: Vec::new(),
            charge: 0,
        };
        match kind {
            Kind::Barrier => {}
            Kind::Bcast => {
                collective.bytes = self.bytes((1, "size"), 3)?;
                collective.root = self.root(2)?;
            }
            Kind::Reduce => {
                collective.bytes = self.bytes((1, "size"), 4)?;
                collective.charge = self.amount(2, "number of flops")?;
                collective.root = self.root(3)?;
            }
            Kind::Allreduce | Kind::Scan | Kind::Exscan => {
                collective.bytes = self.bytes((1, "size"), 3)?;
                collective.charge = self.amount(2, "number of flops")?;
            }
            Kind::Gather | Kind::Scatter => {
                collective.bytes = self.bytes((1, "size"), 4)?;
                self.amount(2, "size of what is received")?;
                collective.root = self.root(3)?;
            }
            Kind::Allgather | Kind::Alltoall => {
                collective.bytes = self.bytes((1, "size"), 3)?;
                self.amount(2, "size of what is received")?;
            }
            Kind::Gatherv => {
                self.counts(2)?;
                collective.bytes = self.bytes((1, "size"), 3 + size)?;
                collective.root = self.root(2 + size)?;
            }
            Kind::Allgatherv => {
                self.counts(2)?;
                // Places in the receive buffer may follow in the place of the datatypes, or after them.
                let rest = self.words.len() - (2 + size);
                collective.bytes = match 2 < rest && rest <= size {
                    true => self.amount(1, "size")?.saturating_mul(self.default),
                    false => self.bytes((1, "size"), 2 + size)?,
                };
            }
            Kind::Scatterv => {
                self.amount(1 + size, "size of what is received")?;
                collective.counts = self.sized_counts(1, 3 + size)?;
                collective.root = self.root(2 + size)?;
            }
            Kind::Alltoallv => {
                self.counts(3 + size)?;
                collective.counts = self.sized_counts(2, 3 + 2 * size)?;
            }
            Kind::ReduceScatter => {
                collective.charge = self.amount(1 + size, "number of flops")?;
                collective.counts = self.sized_counts(1, 2 + size)?;
            }
        }
        Ok(collective)
    }

    fn word(&self, position: usize, parameter: &'static str) -> Result<&str, SimgridFault> {
        let word = self.words.get(position);
        word.copied().ok_or_else(|| SimgridFault::Missing {
            action: beginning(self.words[0]),
            parameter,
            position,
        })
    }

    fn invalid(
        &self,
        position: usize,
        parameter: &'static str,
        expected: &'static str,
    ) -> SimgridFault {
        SimgridFault::Invalid {
            action: beginning(self.words[0]),
            parameter,
            found: beginning(self.words[position]),
            expected,
        }
    }

    /// An amount, rounded.
    fn amount(&self, position: usize, parameter: &'static str) -> Result<u64, SimgridFault> {
        let number: Option<f64> = self.word(position, parameter)?.parse().ok();
        match number {
            Some(number) if (0.0..=AMOUNT_MAX).contains(&number) => {
                Ok(bsp::numbers::whole(number.round()))
            }
            _ => Err(self.invalid(position, parameter, "a number from 0 to 2^53")),
        }
    }

    fn integer(&self, position: usize, parameter: &'static str) -> Result<i64, SimgridFault> {
        let number = self.word(position, parameter)?.parse();
        let number = number.map(|number: i32| number.into());
        number.map_err(|_| self.invalid(position, parameter, "an integer"))
    }

    fn rank(&self, position: usize, parameter: &'static str) -> Result<u32, SimgridFault> {
        let found = self.integer(position, parameter)?;
        let rank = u32::try_from(found).ok().filter(|rank| *rank < self.size);
        rank.ok_or_else(|| no_such_rank(self.words[0], found, self.size))
    }

    fn root(&self, position: usize) -> Result<u32, SimgridFault> {
        match self.words.get(position) {
            Some(_) => self.rank(position, "root"),
            None => Ok(0),
        }
    }

    /// The bytes of as many elements as one parameter says, of the datatype that another one says.
    fn bytes(
        &self,
        (position, parameter): (usize, &'static str),
        datatype: usize,
    ) -> Result<u64, SimgridFault> {
        let elements = self.amount(position, parameter)?;
        Ok(elements.saturating_mul(self.element(datatype)?))
    }

    /// As many amounts as there are processes.
    fn counts(&self, first: usize) -> Result<Vec<u64>, SimgridFault> {
        let positions = first..first + bsp::numbers::index(self.size);
        let counts = positions.map(|position| self.amount(position, "count for each process"));
        counts.collect()
    }

    /// The same in bytes.
    fn sized_counts(&self, first: usize, datatype: usize) -> Result<Vec<u64>, SimgridFault> {
        let element = self.element(datatype)?;
        let counts = self.counts(first)?.into_iter();
        Ok(counts.map(|count| count.saturating_mul(element)).collect())
    }

    /// The size of an element of a datatype.
    fn element(&self, position: usize) -> Result<u64, SimgridFault> {
        let Some(word) = self.words.get(position) else {
            return Ok(self.default);
        };
        let size = word.parse().ok().and_then(|id: usize| DATATYPES.get(id));
        let expected = "one of MPI's basic types by its number, since a trace does not say how long others are";
        match size {
            Some(size) if 0 < *size => Ok(u64::from(*size)),
            _ => Err(self.invalid(position, "datatype", expected)),
        }
    }
}

/// The bytes of an element of each datatype, by its number in traces.
const DATATYPES: [u8; 60] = [
    8, 4, 1, 2, 8, 4, 1, 8, 1,
    1, // double, int, char, short, long, float, byte, long long, signed char, unsigned char
    2, 4, 8, 8, 16, 4, 1, 1, 2,
    4, // other unsigned ones, long double, wide char, bool, integers of 1, 2 and 4 bytes
    8, 1, 2, 4, 8, 8, 16, 32, 8,
    8, // integers of 8 to 8 bytes, complex ones, addresses, offsets
    8, 16, 16, 8, 8, 8, 16, 16, 4, 4, // pairs, and reals of Fortran
    8, 16, 8, 16, 16, 4, 2, 4, 8, 16, // reals, complex ones and integers of Fortran
    32, 1, 8, 16, 32, 0, 0, 1, 8,
    8, // those of C++, bounds that have no size, packed, pointers, counts
];

/// The messages of one sender, one receiver and one tag.
#[derive(Debug, Default)]
struct Channel {
    /// The superstep of each send.
    sent: Vec<u64>,
    /// The number of receives.
    received: u64,
    is_awaited: bool,
}

/// A message that a process receives.
#[derive(Clone, Copy, Debug)]
struct Incoming {
    key: Key,
    /// Which one of its channel.
    number: u64,
    /// The receive, among the actions of its process.
    action: usize,
}

/// An operation that a `wait` completes.
#[derive(Clone, Copy, Debug)]
enum Request {
    Send,
    Receive {
        incoming: Incoming,
        /// The first test of it, among the actions of its process.
        tested: Option<usize>,
    },
}

/// Where a process is.
#[derive(Debug, Default)]
struct Process {
    /// The next one of its actions.
    next: usize,
    superstep: u64,
    requests: BTreeMap<Key, VecDeque<Request>>,
    /// What it waits for.
    awaited: Vec<Incoming>,
    /// Supersteps in which it does something, ascending.
    acts: Vec<(u64, Act)>,
}

impl Process {
    /// What it does in a superstep, which is not before the last one in which it does something.
    fn act(&mut self, superstep: u64) -> &mut Act {
        if self.acts.last().is_none_or(|(last, _)| *last < superstep) {
            self.acts.push((superstep, idle()));
        }
        &mut self.acts.last_mut().expect("one has been added").1
    }
}

const fn idle() -> Act {
    Act {
        charge: Instructions(0),
        sends: Vec::new(),
        items: Vec::new(),
        known: Known::NOTHING,
        output: None,
    }
}

/// Gives each action its superstep.
///
/// Processes go on until they wait for a message that has not been sent, or for others at a collective. In which order they do so
/// changes no superstep.
#[derive(Debug)]
struct Mapping<'a> {
    trace: &'a Trace,
    processes: Vec<Process>,
    channels: BTreeMap<Key, Channel>,
    /// Processes that may go on.
    ready: VecDeque<u32>,
    /// Processes at the next collective.
    arrived: u32,
    messages: u64,
    /// The superstep after the last one in which something is sent.
    end: u64,
    /// Values of reductions, of which all are a part.
    zeros: Bytes,
}

impl<'a> Mapping<'a> {
    fn of(trace: &'a Trace) -> Result<Self, SimgridError> {
        let mut mapping = Self {
            trace,
            processes: trace.processes.iter().map(|_| Process::default()).collect(),
            channels: BTreeMap::new(),
            ready: (0..trace.size()).collect(),
            arrived: 0,
            messages: 0,
            end: 0,
            zeros: Bytes::from(vec![0; bsp::numbers::position(REDUCTIONS_MAX)]),
        };
        check_matches(trace)?;
        loop {
            while let Some(rank) = mapping.ready.pop_front() {
                mapping.advance(rank)?;
            }
            if mapping.arrived < trace.size() {
                break;
            }
            mapping.collective()?;
        }
        mapping.check_ended()?;
        Ok(mapping)
    }

    /// Lets a process go on as far as it can.
    fn advance(&mut self, rank: u32) -> Result<(), SimgridError> {
        let trace = self.trace;
        let index = bsp::numbers::index(rank);
        let actions = &trace.processes[index];
        loop {
            let process = &mut self.processes[index];
            while let Some(incoming) = process.awaited.last() {
                let channel = self.channels.entry(incoming.key).or_default();
                let Some(sent) = channel.sent.get(bsp::numbers::position(incoming.number)) else {
                    channel.is_awaited = true;
                    return Ok(());
                };
                process.superstep = process.superstep.max(sent + 1);
                process.awaited.pop();
            }
            let Some(listed) = actions.get(process.next) else {
                if process.requests.is_empty() {
                    return Ok(());
                }
                check_tests(trace, rank, process)?;
                wait_all(process);
                continue;
            };
            let action = process.next;
            match &listed.action {
                Action::Compute(amount) => {
                    process.act(process.superstep).charge += Instructions(*amount);
                }
                Action::Send {
                    key,
                    bytes,
                    is_request,
                } => {
                    self.messages += 1;
                    if MESSAGES_MAX < self.messages {
                        return Err(trace.fault(listed, SimgridFault::Messages));
                    }
                    let superstep = process.superstep;
                    let (_, to, _) = *key;
                    process
                        .act(superstep)
                        .sends
                        .push(Posted { to, length: *bytes });
                    if *is_request {
                        let requests = process.requests.entry(*key).or_default();
                        requests.push_back(Request::Send);
                    }
                    self.end = self.end.max(superstep + 1);
                    let channel = self.channels.entry(*key).or_default();
                    channel.sent.push(superstep);
                    if std::mem::take(&mut channel.is_awaited) {
                        self.ready.push_back(to);
                    }
                }
                Action::Receive { key, is_request } => {
                    let channel = self.channels.entry(*key).or_default();
                    let incoming = Incoming {
                        key: *key,
                        number: channel.received,
                        action,
                    };
                    channel.received += 1;
                    if *is_request {
                        let requests = process.requests.entry(*key).or_default();
                        requests.push_back(Request::Receive {
                            incoming,
                            tested: None,
                        });
                    } else {
                        process.awaited.push(incoming);
                    }
                }
                Action::Test(key) => {
                    let requests = process.requests.get_mut(key);
                    if let Some(Request::Receive { tested, .. }) =
                        requests.and_then(|requests| requests.front_mut())
                    {
                        tested.get_or_insert(action);
                    }
                }
                Action::Wait(key) => {
                    if let Some(requests) = process.requests.get_mut(key) {
                        if let Some(Request::Receive { incoming, .. }) = requests.pop_front() {
                            process.awaited.push(incoming);
                        }
                        if requests.is_empty() {
                            process.requests.remove(key);
                        }
                    }
                    // Others have been completed by a `waitall` before.
                }
                Action::WaitAll => wait_all(process),
                Action::Collective(_) => {
                    self.arrived += 1;
                    return Ok(());
                }
            }
            process.next += 1;
        }
    }

    /// The collective at which all processes are.
    fn collective(&mut self) -> Result<(), SimgridError> {
        let trace = self.trace;
        let mut contributions = Vec::with_capacity(self.processes.len());
        for (process, actions) in self.processes.iter().zip(&trace.processes) {
            let listed = &actions[process.next];
            let Action::Collective(collective) = &listed.action else {
                unreachable!("all processes have arrived at a collective");
            };
            contributions.push((listed, &**collective));
        }
        let (first_listed, first) = contributions[0];
        for (listed, other) in &contributions {
            let is_same = first.kind == other.kind
                && first.root == other.root
                && (!first.kind.is_combined() || first.bytes == other.bytes);
            if !is_same {
                return Err(trace.fault(
                    listed,
                    SimgridFault::OtherCollective {
                        found: describe(other),
                        other: describe(first),
                        rank: 0,
                        place: Box::new(trace.place((first_listed.file, first_listed.line))),
                    },
                ));
            }
        }
        if MESSAGES_MAX
            < self
                .messages
                .saturating_add(messages_max(first.kind, trace.size()))
        {
            return Err(trace.fault(first_listed, SimgridFault::Messages));
        }
        let current = self.processes.iter().map(|process| process.superstep);
        let superstep = current.max().unwrap_or(0);
        for (rank, (_, collective)) in (0..).zip(&contributions) {
            let sends = sends(rank, trace.size(), collective);
            let process = &mut self.processes[bsp::numbers::index(rank)];
            if !sends.is_empty() {
                self.messages += bsp::numbers::length(sends.len());
                self.end = self.end.max(superstep + 1);
                process.act(superstep).sends.extend(sends);
            }
            if is_item(collective) {
                let length = collective.bytes.next_multiple_of(8);
                let content = self.zeros.slice(..bsp::numbers::position(length));
                let item = Item::sum(collective.kind.name(), content);
                process.act(superstep).items.push(item);
            }
            process.superstep = superstep + 1;
            if 0 < collective.charge {
                process.act(superstep + 1).charge += Instructions(collective.charge);
            }
            process.next += 1;
            self.ready.push_back(rank);
        }
        self.arrived = 0;
        Ok(())
    }

    /// Whether all processes are at their end, when none can go on.
    fn check_ended(&self) -> Result<(), SimgridError> {
        let trace = self.trace;
        let mut at_collective = None;
        let mut ended = None;
        for (rank, (process, actions)) in (0..).zip(self.processes.iter().zip(&trace.processes)) {
            if let Some(Incoming {
                key: (from, _, tag),
                action,
                ..
            }) = process.awaited.last()
            {
                let fault = SimgridFault::Deadlock {
                    from: *from,
                    tag: *tag,
                };
                return Err(trace.fault(&actions[*action], fault));
            }
            match actions.get(process.next) {
                Some(listed) => at_collective = at_collective.or(Some(listed)),
                None => {
                    ended = ended.or_else(|| Some((rank, trace.ends[bsp::numbers::index(rank)])));
                }
            }
        }
        let (Some(listed), Some((rank, end))) = (at_collective, ended) else {
            return Ok(());
        };
        let Action::Collective(collective) = &listed.action else {
            unreachable!("processes wait for messages or at collectives");
        };
        let fault = SimgridFault::OtherCollective {
            found: describe(collective),
            other: "its end".to_owned(),
            rank,
            place: Box::new(trace.place(end)),
        };
        Err(trace.fault(listed, fault))
    }

    /// What each process does in each superstep.
    fn finish(self) -> Result<Vec<Vec<Act>>, SimgridError> {
        let last = self
            .processes
            .iter()
            .filter_map(|process| process.acts.last());
        let last = last.map(|(superstep, _)| *superstep);
        let supersteps = last.max().unwrap_or(0).max(self.end) + 1;
        let processes = self.processes.len();
        if ACTS_MAX < supersteps.saturating_mul(bsp::numbers::length(processes)) {
            return Err(SimgridError::Supersteps {
                processes,
                supersteps,
            });
        }
        let dense = self.processes.into_iter().map(|process| {
            let mut acts = process.acts.into_iter().peekable();
            let acts = (0..supersteps).map(|superstep| {
                let act = acts.next_if(|(own, _)| *own == superstep);
                let mut act = act.map_or_else(idle, |(_, act)| act);
                if superstep + 1 == supersteps {
                    act.output = Some(Output::of_bytes(Bytes::new()));
                }
                act
            });
            acts.collect()
        });
        Ok(dense.collect())
    }
}

/// Waits for all requests of a process.
fn wait_all(process: &mut Process) {
    let requests = std::mem::take(&mut process.requests);
    for request in requests.into_values().flatten() {
        if let Request::Receive { incoming, .. } = request {
            process.awaited.push(incoming);
        }
    }
}

/// Checks that a process at its end has no receive of which only tests say that it is complete.
fn check_tests(trace: &Trace, rank: u32, process: &Process) -> Result<(), SimgridError> {
    let tested = process.requests.iter().flat_map(|(key, requests)| {
        let tested = requests.iter().filter_map(|request| match request {
            Request::Receive { tested, .. } => *tested,
            Request::Send => None,
        });
        tested.map(|action| (action, *key))
    });
    match tested.min() {
        None => Ok(()),
        Some((action, (from, _, tag))) => {
            let listed = &trace.processes[bsp::numbers::index(rank)][action];
            Err(trace.fault(listed, SimgridFault::Tested { from, tag }))
        }
    }
}

/// Checks that a send matches each receive.
fn check_matches(trace: &Trace) -> Result<(), SimgridError> {
    let mut sends: BTreeMap<Key, u64> = BTreeMap::new();
    for listed in trace.processes.iter().flatten() {
        if let Action::Send { key, .. } = &listed.action {
            *sends.entry(*key).or_default() += 1;
        }
    }
    let mut receives: BTreeMap<Key, u64> = BTreeMap::new();
    for listed in trace.processes.iter().flatten() {
        if let Action::Receive { key, .. } = &listed.action {
            let sends = sends.get(key).copied().unwrap_or(0);
            let receives = receives.entry(*key).or_default();
            *receives += 1;
            if sends < *receives {
                let (from, _, tag) = *key;
                return Err(trace.fault(listed, SimgridFault::Unmatched { from, tag, sends }));
            }
        }
    }
    Ok(())
}

/// A collective in messages.
fn describe(collective: &Collective) -> String {
    let Collective {
        kind, root, bytes, ..
    } = collective;
    match kind {
        Kind::Reduce => format!("`{}` of {bytes} B to rank {root}", kind.name()),
        Kind::Allreduce | Kind::Scan | Kind::Exscan => format!("`{}` of {bytes} B", kind.name()),
        Kind::Bcast | Kind::Scatter | Kind::Scatterv => {
            format!("`{}` from rank {root}", kind.name())
        }
        Kind::Gather | Kind::Gatherv => format!("`{}` to rank {root}", kind.name()),
        Kind::Barrier
        | Kind::Allgather
        | Kind::Allgatherv
        | Kind::Alltoall
        | Kind::Alltoallv
        | Kind::ReduceScatter => format!("`{}`", kind.name()),
    }
}

/// Whether a collective is a reduction that travels with the barrier.
const fn is_item(collective: &Collective) -> bool {
    collective.kind.is_combined() && 0 < collective.bytes && collective.bytes <= REDUCTIONS_MAX
}

/// The most messages of a collective.
fn messages_max(kind: Kind, size: u32) -> u64 {
    let size = u64::from(size);
    match kind {
        Kind::Barrier => 0,
        Kind::Bcast
        | Kind::Scatter
        | Kind::Scatterv
        | Kind::Gather
        | Kind::Gatherv
        | Kind::Reduce => size,
        Kind::Allreduce | Kind::Scan | Kind::Exscan => 2 * size,
        Kind::Allgather
        | Kind::Allgatherv
        | Kind::Alltoall
        | Kind::Alltoallv
        | Kind::ReduceScatter => size * size,
    }
}

/// The messages of process `rank` for a collective.
fn sends(rank: u32, size: u32, collective: &Collective) -> Vec<Posted> {
    let Collective {
        kind,
        root,
        bytes,
        counts,
        ..
    } = collective;
    let one = |to| Posted { to, length: *bytes };
    let others = || (0..size).filter(move |to| *to != rank);
    let is_root = rank == *root;
    let sends: Vec<Posted> = match kind {
        Kind::Barrier => Vec::new(),
        Kind::Reduce | Kind::Allreduce | Kind::Scan | Kind::Exscan if is_item(collective) => {
            Vec::new()
        }
        Kind::Reduce => parent(rank, *root, size).map(one).into_iter().collect(),
        Kind::Allreduce | Kind::Scan | Kind::Exscan => parent(rank, *root, size)
            .into_iter()
            .chain(children(rank, *root, size))
            .map(one)
            .collect(),
        Kind::Gather | Kind::Gatherv if is_root => Vec::new(),
        Kind::Gather | Kind::Gatherv => vec![one(*root)],
        Kind::Bcast | Kind::Scatter | Kind::Scatterv if !is_root => Vec::new(),
        Kind::Bcast | Kind::Scatter | Kind::Allgather | Kind::Allgatherv | Kind::Alltoall => {
            others().map(one).collect()
        }
        Kind::Scatterv | Kind::Alltoallv | Kind::ReduceScatter => {
            let sized = others().map(|to| Posted {
                to,
                length: counts[bsp::numbers::index(to)],
            });
            sized.collect()
        }
    };
    sends.into_iter().filter(|sent| 0 < sent.length).collect()
}

/// The parent of a process in the binary tree of all with this root.
fn parent(rank: u32, root: u32, size: u32) -> Option<u32> {
    let place = place_of(rank, root, size);
    let parent = place.checked_sub(1)? / 2;
    Some(at(parent, root, size))
}

/// Its children.
fn children(rank: u32, root: u32, size: u32) -> impl Iterator<Item = u32> {
    let place = place_of(rank, root, size);
    let places = [2 * place + 1, 2 * place + 2].into_iter();
    places
        .filter(move |place| *place < u64::from(size))
        .map(move |place| at(place, root, size))
}

/// Places count from the root.
fn place_of(rank: u32, root: u32, size: u32) -> u64 {
    (u64::from(rank) + u64::from(size) - u64::from(root)) % u64::from(size)
}

fn at(place: u64, root: u32, size: u32) -> u32 {
    let rank = (place + u64::from(root)) % u64::from(size);
    u32::try_from(rank).expect("it is less than the number of processes")
}

#[cfg(test)]
mod tests {
    use bsp::Threads;
    use bsp::reference::Limit;
    use proptest::prelude::*;

    use super::*;

    /// Writes files, and reads the first one.
    fn read(files: &[(&str, &str)]) -> Result<Arc<ProgramTrace>, String> {
        let folder = tempfile::tempdir().unwrap();
        for (name, content) in files {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, content).unwrap();
        }
        let path = folder.path().join(files[0].0);
        ProgramTrace::of_simgrid(&path).map_err(|error| {
            let folder = format!("{}/", folder.path().display());
            error.to_string().replace(&folder, "")
        })
    }

    /// A line for each action of each process, in which `%` is the rank, `<` the one before and `>` the one after.
    fn all(size: u32, actions: &[&str]) -> String {
        let lines = (0..size).flat_map(|rank| {
            let (before, after) = ((rank + size - 1) % size, (rank + 1) % size);
            actions.iter().map(move |action| {
                let action = action.replace('%', &rank.to_string());
                let action = action.replace('<', &before.to_string());
                format!("{rank} {}\n", action.replace('>', &after.to_string()))
            })
        });
        lines.collect()
    }

    /// For each superstep: the instructions, the messages, the bytes in them and the bytes of reductions of all processes.
    fn totals(text: &str) -> Vec<(u64, usize, u64, u64)> {
        let trace = read(&[("trace.txt", text)]).unwrap();
        // It can be executed, and all messages arrive.
        let run = Threads::available().run(trace.processes(), Limit::default());
        assert_eq!(run.unwrap().outputs.len(), trace.len());
        let mut totals = vec![(0, 0, 0, 0); bsp::numbers::position(trace.supersteps())];
        for rank in 0..trace.len() {
            for (total, act) in totals.iter_mut().zip(trace.acts(rank)) {
                total.0 += act.charge.0;
                total.1 += act.sends.len();
                total.2 += act.sends.iter().map(|sent| sent.length).sum::<u64>();
                total.3 += act.items.iter().map(Item::len).sum::<u64>();
            }
        }
        totals
    }

    #[test]
    fn a_ring_takes_a_superstep_for_each_process() {
        let text = "\n# a ring\n0 init\n0 compute 10\n0 send 1 0 5\n0 recv 2 0 5\n0 finalize\n\
                    1 init\n1 recv 0 0 5\n1 compute 2e1\n1 send 2 0 5\n1 finalize\n\
                    2 init\n2 recv 1 0 5\n2 compute 30\n2 send 0 0 5\n2 finalize\n";
        assert_eq!(
            totals(text),
            [(10, 1, 5, 0), (20, 1, 5, 0), (30, 1, 5, 0), (0, 0, 0, 0)]
        );
    }

    #[test]
    fn a_stencil_takes_a_superstep_for_the_exchange_and_one_for_the_reduction() {
        let iteration = [
            "irecv < 1 100 0",
            "irecv > 2 100 0",
            "isend > 1 100 0",
            "isend < 2 100 0",
            "waitall 4",
            "compute 1000",
            "allreduce 2 7 0",
        ];
        let iterations = [&["init"], &iteration[..], &iteration[..], &["finalize"]].concat();
        let sends = 2 * 4;
        let bytes = 8 * 800;
        assert_eq!(
            totals(&all(4, &iterations)),
            [
                (0, sends, bytes, 0),
                (4000, 0, 0, 4 * 16),
                (4 * 7, sends, bytes, 0),
                (4000, 0, 0, 4 * 16),
                (4 * 7, 0, 0, 0),
            ]
        );
        // Without the reduction, an iteration is one superstep, also if each request is waited for.
        let iteration = [
            "compute 1000",
            "irecv < 1 100",
            "isend > 1 100",
            "wait % > 1",
            "test < % 1",
            "wait < % 1",
        ];
        let iterations = [&["init"], &iteration[..], &iteration[..]].concat();
        assert_eq!(
            totals(&all(3, &iterations)),
            [(3000, 3, 300, 0), (3000, 3, 300, 0), (0, 0, 0, 0)]
        );
    }

    #[test]
    fn collectives_line_up_and_end_supersteps() {
        // Rank 0 is two supersteps ahead of rank 2 when they meet.
        let text = "0 send 1 0 8\n0 recv 1 0 8\n0 compute 5\n0 barrier\n0 compute 1\n\
                    1 recv 0 0 8\n1 send 0 0 8\n1 barrier\n1 compute 1\n\
                    2 compute 3\n2 barrier\n2 compute 1\n";
        assert_eq!(
            totals(text),
            [(3, 1, 8, 0), (0, 1, 8, 0), (5, 0, 0, 0), (3, 0, 0, 0)]
        );
    }

    #[test]
    fn collectives_become_messages_whose_bytes_are_those_of_the_trace() {
        let check = |action: &str, messages, bytes, reduced| {
            let totals = totals(&all(4, &["init 1", action]));
            assert_eq!(totals[0], (0, messages, bytes, reduced), "{action}");
        };
        check("barrier", 0, 0, 0);
        check("bcast 10", 3, 3 * 80, 0);
        check("bcast 10 3 6", 3, 30, 0);
        check("gather 10 10 2 1 1", 3, 3 * 40, 0);
        check("gatherv 10 10 10 10 10 2 1 1", 3, 3 * 40, 0);
        check("scatter 10 10 1 6 6", 3, 30, 0);
        check("scatterv 1 2 4 8 4 1 6 6", 3, 13, 0);
        check("allgather 10 10 6 6", 12, 120, 0);
        check("allgatherv 10 10 10 10 10 6 6", 12, 120, 0);
        check("allgatherv 10 10 10 10 10 0 0 0 0", 12, 12 * 80, 0);
        check("allgatherv 10 10 10 10 10 6 6 0 0 0 0", 12, 120, 0);
        check("alltoall 500 500", 12, 12 * 4000, 0);
        // Each process keeps its own part.
        check("alltoallv 15 1 2 4 8 15 1 2 4 8 6 6", 12, 3 * 15, 0);
        check("reducescatter 1 2 4 8 0 6", 12, 3 * 15, 0);
        check("allreduce 3 0 1", 0, 0, 4 * 16);
        check("scan 3 0 1", 0, 0, 4 * 16);
        check("reduce 524288 0", 0, 0, 4 * (4 << 20));
        check("reduce 524289 0 2", 3, 3 * 8 * 524_289, 0);
        check("allreduce 524289 0", 6, 6 * 8 * 524_289, 0);
        check("sendRecv 10 > 10 < 6 6", 4, 40, 0);
        check("reduce 0 0", 0, 0, 0);
    }

    proptest! {
        #[test]
        fn bytes_and_charges_are_those_of_the_trace(
            actions in prop::collection::vec((0..3, 0..5_u32, 0..5_u32, 0..1000_u64), 0..60),
        ) {
            let mut lines: Vec<(u32, String)> = (0..5).map(|rank| (rank, "init".to_owned())).collect();
            let (mut charge, mut messages, mut bytes) = (0, 0, 0);
            for (action, from, to, amount) in actions {
                match action {
                    0 => {
                        lines.push((from, format!("compute {amount}")));
                        charge += amount;
                    }
                    1 => {
                        lines.push((from, format!("isend {to} 3 {amount}")));
                        lines.push((to, format!("irecv {from} 3 {amount}")));
                        lines.push((to, format!("wait {from} {to} 3")));
                        messages += 1;
                        bytes += amount;
                    }
                    _ => lines.extend((0..5).map(|rank| (rank, "barrier".to_owned()))),
                }
            }
            let text = |lines: &[(u32, String)]| -> String {
                lines.iter().map(|(rank, action)| format!("{rank} {action}\n")).collect()
            };
            let of_lines = totals(&text(&lines));
            let sum = of_lines.iter().fold((0, 0, 0), |sum, total| {
                (sum.0 + total.0, sum.1 + total.1, sum.2 + total.2)
            });
            prop_assert_eq!(sum, (charge, messages, bytes));
            // The order of processes in the file means nothing.
            lines.sort_by_key(|(rank, _)| *rank);
            prop_assert_eq!(totals(&text(&lines)), of_lines);
        }
    }

    #[test]
    fn the_tree_reaches_all_processes() {
        for (size, root) in [(1, 0), (2, 1), (7, 3), (8, 0)] {
            let mut parents = 0;
            for rank in 0..size {
                let children: Vec<u32> = children(rank, root, size).collect();
                for child in children {
                    assert_eq!(parent(child, root, size), Some(rank));
                    parents += 1;
                }
            }
            assert_eq!((parents, parent(root, root, size)), (size - 1, None));
        }
    }

    #[test]
    fn computation_of_collectives_is_charged() {
        let text = all(
            2,
            &[
                "compute 1.5",
                "reduce 1 20",
                "scan 1 300",
                "reducescatter 1 1 4000",
            ],
        );
        let charged: u64 = totals(&text).iter().map(|(charge, ..)| charge).sum();
        assert_eq!(charged, 2 * 4322);
    }

    #[test]
    fn a_list_of_files_is_read_as_one_file_is() {
        let [zero, one] = [
            "0 init\n0 send 1 0 8\n",
            "1 init\n1 recv 0 0 8\n1 compute 4\n",
        ];
        let lists = [
            "run.txt_files/0.txt\nrun.txt_files/1.txt\n",
            // As SimGrid writes it in another folder.
            "/tmp/there/run.txt_files/0.txt\nthere/run.txt_files/1.txt",
        ];
        let acts = |files: &[(&str, &str)]| {
            let trace = read(files).unwrap();
            let acts: Vec<Vec<Act>> = (0..2).map(|rank| trace.acts(rank).to_vec()).collect();
            format!("{acts:?}")
        };
        let single = acts(&[("run.txt", &[zero, one].concat())]);
        for list in lists {
            let files = [
                ("run.txt", list),
                ("run.txt_files/0.txt", zero),
                ("run.txt_files/1.txt", one),
            ];
            assert_eq!(acts(&files), single);
        }
        let shared = [
            ("run.txt", "all.txt\n"),
            ("all.txt", &*[one, zero].concat()),
        ];
        assert_eq!(acts(&shared), single);
        let swapped = [
            ("run.txt", "1.txt\n0.txt\n"),
            ("0.txt", zero),
            ("1.txt", one),
        ];
        assert!(
            read(&swapped)
                .unwrap_err()
                .contains("1.txt:1: a line of rank 1 in the file of rank 0")
        );
        let missing = [("run.txt", "0.txt\n1.txt\n"), ("0.txt", zero)];
        assert!(
            read(&missing)
                .unwrap_err()
                .contains("1.txt: entity not found")
        );
        let outside = [("run/list.txt", "../0.txt\n"), ("0.txt", zero)];
        assert!(read(&outside).unwrap_err().contains("line 1 is neither"));
    }

    #[test]
    fn what_supersteps_cannot_express_is_refused_with_its_line() {
        let check = |text: &str, expect: &str| {
            let error = read(&[("t", text)]).unwrap_err();
            assert!(error.contains(expect), "{error}");
        };
        check("", "is no program trace");
        check("[application]\nworkload = 1\n", "line 1 is neither");
        check("\n\0\0\n", "line 2 is neither");
        check(
            "0 init\nnonsense\n",
            "t:2: `nonsense` is no rank and action",
        );
        check("0 init\n2 init\n", "actions of rank 2, and none of rank 1");
        check("0 init\n4294967295 init\n", "none of rank 1");
        check("0 iallreduce 1 1\n", "t:1: `iallreduce` cannot be mapped");
        check("0 waitAny 2\n", "`waitAny` cannot be mapped");
        check("0 send 0 0\n", "t:1: `send` has no size: it is parameter 3");
        check("0 compute x\n", "`x` is no number of flops of `compute`");
        check("0 compute -1\n", "`-1` is no number of flops");
        check("0 compute nan\n", "`nan` is no number of flops");
        check("0 compute 1e300\n", "`1e300` is no number of flops");
        check(
            "0 send 1 0 1\n",
            "`send` names rank 1, but the ranks of the trace are 0 to 0",
        );
        check("0 recv -555 0 1\n", "t:1: `recv` receives from any source");
        check("0 send 0 0 1 -1\n", "`-1` is no datatype of `send`");
        check("0 send 0 0 1 99\n", "`99` is no datatype of `send`");
        check("0 comm_size 2\n", "`comm_size` makes or has a communicator");
        check("0 comm_split\n", "`comm_split` makes or has a communicator");
        check("0 sleep 0.5\n", "t:1: `sleep` takes time");
        check(
            "0 alltoallv 1 1\n",
            "`alltoallv` has no count for each process",
        );
        check(
            "0 init\n0 send 1 0 8\n1 recv 0 0 8\n1 recv 0 0 8\n",
            "t:4: no send matches this receive of tag 0 from rank 0: the trace has 1 such sends",
        );
        check(
            "0 send 1 5 8\n1 irecv 0 5 8\n1 test 0 1 5\n1 compute 3\n1 test 0 1 5\n",
            "t:3: only `test` completes the receive of tag 5 from rank 0",
        );
        check(
            "0 recv 1 0 8\n0 send 1 0 8\n1 recv 0 0 8\n1 send 0 0 8\n",
            "t:1: the receive of tag 0 from rank 1 never completes",
        );
        check(
            "0 allreduce 1 0\n1 allreduce 2 0\n",
            "t:2: `allreduce` of 2 B, while rank 0 has `allreduce` of 1 B (t:1)",
        );
        check(
            "0 bcast 1 1\n1 bcast 1\n",
            "`bcast` from rank 0, while rank 0 has `bcast` from rank 1",
        );
        check(
            "0 barrier\n1 init\n",
            "t:1: `barrier`, while rank 1 has its end (t:2)",
        );
    }

    #[test]
    fn sizes_of_hostile_traces_are_bounded() {
        let check = |text: &str, expect: &str| {
            let error = read(&[("t", text)]).unwrap_err();
            assert!(error.contains(expect), "{error}");
        };
        let trips = "0 send 1 0 1\n0 recv 1 0 1\n1 recv 0 0 1\n1 send 0 0 1\n".repeat(1000);
        let idle = all(9000, &["init"]);
        check(&(trips + &idle), "2001 supersteps, which are more than");
        check(
            &all(9000, &["alltoall 1 1"]),
            "there are more than 67108864 messages",
        );
        check(&"0 ".repeat(3 << 20), "line 1 is neither");
        // The largest sizes are added without an overflow.
        let text = all(
            2,
            &[
                "compute 9e15",
                "compute 9e15",
                "alltoall 9e15 1 27",
                "send > 0 9e15 27",
            ],
        );
        let trace = read(&[("t", &text)]).unwrap();
        let run = Threads::available().run(trace.processes(), Limit::default());
        assert!(run.is_ok());
    }
}
