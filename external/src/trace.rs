//! Program traces: what each process of a program did in each superstep, which takes the place of the program in simulations.
//!
//! Where processes are changes no message, no charge and no output, by the laws of programs. So a program is executed once, and all
//! scenarios, policies and seeds of a simulation replay what it did. A program that looks at times or at who is on standby
//! cannot be replayed.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read, Write};
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};
use std::thread;

use bsp::reference::{Error, Limit};
use bsp::units::{Bytes as Amount, Instructions};
use bsp::{Rank, Superstep, Threads};
use bytes::Bytes;
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::data::{Blob, Output};
use crate::executor::{About, ExecutorError};
use crate::executors::{Executors, Recipe};
use crate::frame::ALL;
use crate::program::{External, Known};
use crate::step::{Done, Item, Sent};

/// What the processes of a program did.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ProgramTrace {
    about: About,
    /// Whether charges are processor times.
    is_measured: bool,
    /// By rank.
    processes: Vec<Traced>,
    /// Why the program did not come to its end.
    failure: Option<Failure>,
    /// By what states of its processes are found.
    #[serde(skip)]
    key: OnceLock<u64>,
}

/// What a process did.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Traced {
    /// What was known of it before its first superstep.
    start: Known,
    acts: Vec<Act>,
}

/// What a process did in a superstep.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Act {
    pub(crate) charge: Instructions,
    pub(crate) sends: Vec<Posted>,
    pub(crate) items: Vec<Item>,
    pub(crate) known: Known,
    pub(crate) output: Option<Output>,
}

/// A message without its content.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Posted {
    /// The receiver, or all other processes.
    pub(crate) to: u32,
    /// The length of its encoding.
    pub(crate) length: u64,
}

/// Why a program did not come to its end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Failure {
    /// The process, if one is at fault, and the superstep.
    at: Option<(u32, u64)>,
    message: String,
}

/// What a process does, while it is recorded.
#[derive(Clone, Debug, Default)]
pub(crate) struct Recording(Arc<Mutex<Vec<Act>>>);

impl Recording {
    /// What the process has done.
    pub(crate) fn add(&self, done: &Done, charge: Instructions, known: Known) {
        let sends = done.sends.iter().map(|(to, sent)| Posted {
            to: *to,
            length: match sent {
                Sent::Content(content) => encoded_len(content),
                Sent::Sized(length) => *length,
            },
        });
        let act = Act {
            charge,
            sends: sends.collect(),
            items: done.items.clone(),
            known,
            output: done.output.clone(),
        };
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(act);
    }
}

/// The length of a message with this content: that of its encoding.
fn encoded_len(content: &Bytes) -> u64 {
    let length = bsp::numbers::length(content.len());
    length
        + match length {
            ..=0xff => 2,
            0x100..=0xffff => 3,
            _ => 5,
        }
}

/// The traces by which states of processes are found.
static ALL_TRACES: Mutex<BTreeMap<u64, Weak<ProgramTrace>>> = Mutex::new(BTreeMap::new());

/// The trace whose states have this mark.
pub(crate) fn find(key: u64) -> Option<Arc<ProgramTrace>> {
    let all = ALL_TRACES.lock().unwrap_or_else(PoisonError::into_inner);
    all.get(&key).and_then(Weak::upgrade)
}

/// Programs that have been executed here, by what they follow from.
type Recorded = Mutex<BTreeMap<String, Arc<Mutex<Option<Option<Arc<ProgramTrace>>>>>>>;

impl ProgramTrace {
    /// Executes the program of `recipe`, unless this process of the operating system has done so before. `None` if it looks at
    /// times or at who is on standby: then its processes differ from simulation to simulation.
    ///
    /// # Errors
    ///
    /// If the program does not start. A program that fails later has a trace, which ends with that.
    pub fn of(recipe: &Recipe) -> Result<Option<Arc<Self>>, ExecutorError> {
        static RECORDED: Recorded = Mutex::new(BTreeMap::new());
        let entry = {
            let mut recorded = RECORDED.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(recorded.entry(format!("{recipe:?}")).or_default())
        };
        // Scenarios are simulated side by side: one has the program executed, and the others wait.
        let mut entry = entry.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(trace) = &*entry {
            return Ok(trace.clone());
        }
        let trace = Self::record(recipe)?;
        Ok(entry.insert(trace).clone())
    }

    fn record(recipe: &Recipe) -> Result<Option<Arc<Self>>, ExecutorError> {
        let threads = thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
        let threads = u32::try_from(threads.get()).unwrap_or(u32::MAX);
        let shared = recipe.processes.div_ceil(threads).max(1);
        let executors = Executors::of(Recipe {
            per_executor: Some(recipe.per_executor.unwrap_or(shared)),
            ..recipe.clone()
        })?;
        executors.reserve(recipe.processes)?;
        let recordings: Vec<Recording> = (0..recipe.processes)
            .map(|_| Recording::default())
            .collect();
        let processes = (0..).map(Rank).zip(&recordings).map(|(rank, recording)| {
            Ok(External::new(&executors, rank)?.recorded(recording.clone()))
        });
        let processes: Vec<External> = processes.collect::<Result<_, ExecutorError>>()?;
        let starts: Vec<Known> = processes.iter().map(External::known).collect();
        let run = Threads::available().run(processes, Limit::default());
        if executors.has_looked() {
            return Ok(None);
        }
        let about = executors.welcome()?.about.clone();
        let traced = recordings
            .into_iter()
            .zip(starts)
            .map(|(recording, start)| {
                let mut acts = recording.0.lock().unwrap_or_else(PoisonError::into_inner);
                let acts = std::mem::take(&mut *acts);
                Traced { start, acts }
            });
        Ok(Some(Arc::new(Self {
            about,
            is_measured: recipe.measured.is_some(),
            processes: traced.collect(),
            failure: run.err().map(|error| failure(&error)),
            key: OnceLock::new(),
        })))
    }

    /// A trace in which processes do this, by rank and superstep. States of its processes are found by `key`.
    pub(crate) fn of_acts(about: About, key: u64, processes: Vec<Vec<Act>>) -> Self {
        let traced = processes.into_iter().map(|acts| Traced {
            start: Known::NOTHING,
            acts,
        });
        Self {
            about,
            is_measured: false,
            processes: traced.collect(),
            failure: None,
            key: OnceLock::from(key),
        }
    }

    /// Its processes, which do again what they did.
    pub fn processes(self: &Arc<Self>) -> Vec<External> {
        let ranks = (0..self.processes.len()).map(Rank::from_index);
        ranks.map(self.process_builder()).collect()
    }

    /// Gives a process of each rank, which does again what it did.
    pub fn process_builder(self: &Arc<Self>) -> impl Fn(Rank) -> External + use<> {
        let key = self.key();
        let mut all = ALL_TRACES.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|_, trace| 0 < trace.strong_count());
        all.insert(key, Arc::downgrade(self));
        let trace = Arc::clone(self);
        move |rank| External::replayed(&trace, rank, trace.processes[rank.index()].start)
    }

    /// The number of processes.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.processes.len()
    }

    /// Whether there are no processes.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.processes.is_empty()
    }

    /// The number of supersteps.
    #[must_use]
    pub fn supersteps(&self) -> u64 {
        let lengths = self.processes.iter().map(|traced| traced.acts.len());
        bsp::numbers::length(lengths.max().unwrap_or(0))
    }

    /// What the program said of itself.
    #[must_use]
    pub const fn about(&self) -> &About {
        &self.about
    }

    /// Whether charges are processor times.
    #[must_use]
    pub const fn is_measured(&self) -> bool {
        self.is_measured
    }

    /// Why the program did not come to its end, if it did not.
    #[must_use]
    pub fn failure(&self) -> Option<&str> {
        self.failure.as_ref().map(|failure| &*failure.message)
    }

    pub(crate) fn key(&self) -> u64 {
        *self.key.get_or_init(|| {
            let mut digest = Sha256::new();
            digest.update(format!("{:?}{:?}", self.about, self.failure));
            for traced in &self.processes {
                digest.update(format!("{traced:?}"));
            }
            let digest = digest.finalize();
            digest[..8]
                .iter()
                .fold(0, |key, byte| key << 8 | u64::from(*byte))
        })
    }

    /// Has a process do what it did in this superstep. What it gave back then, and what was known of it afterwards.
    pub(crate) fn replay(
        &self,
        ctx: &mut Superstep<'_, Blob>,
    ) -> Result<(Known, Option<Output>), String> {
        let rank = ctx.rank();
        if let Some(failure) = &self.failure
            && failure.at.is_none_or(|at| at == (rank.0, ctx.index()))
        {
            return Err(failure.message.clone());
        }
        let acts = &self.processes[rank.index()].acts;
        let act = acts.get(bsp::numbers::position(ctx.index()));
        let Some(act) = act else {
            // Another process fails in this superstep.
            return Ok((Known::NOTHING, None));
        };
        ctx.charge(act.charge);
        for Posted { to, length } in &act.sends {
            if *to == ALL {
                let content = Bytes::from(vec![0; bsp::numbers::position(content_len(*length))]);
                let sent = ctx.broadcast(&Blob(content));
                sent.map_err(|error| error.to_string())?;
            } else {
                ctx.send_sized(Rank(*to), Amount(*length));
            }
        }
        for item in &act.items {
            item.clone().carry_out(ctx)?;
        }
        Ok((act.known, act.output.clone()))
    }

    /// What a process did in each superstep.
    #[cfg(test)]
    pub(crate) fn acts(&self, rank: usize) -> &[Act] {
        &self.processes[rank].acts
    }

    /// Writes it: `MessagePack`, compressed, after a line that says what it is.
    ///
    /// # Errors
    ///
    /// If that fails.
    pub fn write(&self, mut to: impl Write) -> io::Result<()> {
        to.write_all(MAGIC)?;
        let mut compressed = GzEncoder::new(to, Compression::default());
        let written = rmp_serde::encode::write(&mut compressed, self);
        written.map_err(io::Error::other)?;
        compressed.finish()?.flush()
    }

    /// Reads a file that [`Self::write`] wrote, or a time-independent trace of SimGrid ([`Self::of_simgrid`]), as its first bytes
    /// say. `file` is open at the beginning of `path`.
    ///
    /// # Errors
    ///
    /// If it is neither.
    pub fn read_file(mut file: File, path: &Path) -> io::Result<Arc<Self>> {
        let mut head = Vec::new();
        let length = bsp::numbers::length(MAGIC.len());
        Read::by_ref(&mut file)
            .take(length)
            .read_to_end(&mut head)?;
        // A trace of another version is refused as that, not as one of SimGrid.
        if head.starts_with(KIND) {
            return Self::read(head.chain(file));
        }
        let trace = Self::of_simgrid(path);
        trace.map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
    }

    /// Reads what [`Self::write`] wrote.
    ///
    /// # Errors
    ///
    /// If it is not that.
    pub fn read(mut from: impl Read) -> io::Result<Arc<Self>> {
        let mut magic = [0; MAGIC.len()];
        from.read_exact(&mut magic)?;
        if magic != *MAGIC {
            let problem = if magic.starts_with(KIND) {
                "is a program trace of another version; `record` of this one writes it again"
            } else {
                "is no program trace, which `record` writes"
            };
            return Err(io::Error::new(io::ErrorKind::InvalidData, problem));
        }
        let read = rmp_serde::from_read(io::BufReader::new(GzDecoder::new(from)));
        let trace: Self =
            read.map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
        Ok(Arc::new(trace))
    }
}

/// How files with program traces begin: with their version.
const MAGIC: &[u8; 24] = b"migbsp program trace 1\n\0";
/// How those of all versions begin.
const KIND: &[u8] = b"migbsp program trace ";

/// The length of the content of a message whose encoding has this length.
const fn content_len(length: u64) -> u64 {
    match length {
        ..0x102 => length.saturating_sub(2),
        0x102..0x10003 => length - 3,
        _ => length - 5,
    }
}

fn failure(error: &Error) -> Failure {
    if let Error::Failed {
        rank,
        superstep,
        message,
    } = error
    {
        // The runner that replays it says who failed and when.
        return Failure {
            at: Some((rank.0, *superstep)),
            message: message.clone(),
        };
    }
    Failure {
        at: None,
        message: error.to_string(),
    }
}
