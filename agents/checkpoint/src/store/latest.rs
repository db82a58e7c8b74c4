//! The newest checkpoint that is complete.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use agents::Resumed;
use bsp::units::Instructions;
use bsp::{HostId, Rank};
use protocol::transport::JobId;

use super::super::piece::{Condition, Content, Generation, Piece, PieceHead};
use super::description::JobDescription;
use super::files::Files;
use super::flaw::{Damage, Problem};
use super::layout;
use super::manifest::ListedFile;
use super::pieces_file::Place;
use super::{reading, survey};

/// A complete checkpoint on disk, all of whose files were read and found as they were written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checkpoint {
    /// What it is a checkpoint of.
    pub job: JobDescription,
    /// Which one.
    pub generation: Generation,
    files: BTreeMap<u32, ListedFile>,
    /// The heads of the pieces in each file, by host and rank.
    heads: BTreeMap<u32, Vec<KnownPiece>>,
}

/// What differs between the heads of the pieces of a checkpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct KnownPiece {
    rank: Rank,
    condition: Condition,
    work: Instructions,
}

/// The newest complete checkpoint of a folder, and newer ones that are damaged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Latest {
    /// The checkpoint.
    pub checkpoint: Checkpoint,
    /// What is wrong with newer checkpoints, from the newest on. Those that were not completed are not among them.
    pub damaged: Vec<Damage>,
    /// The newest incarnation that has begun a checkpoint in the folder.
    pub incarnation: u64,
}

/// There is no complete checkpoint.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub struct NoCheckpoint {
    /// The folder.
    pub folder: PathBuf,
    /// What is wrong with its checkpoints, from the newest on.
    pub damaged: Vec<Damage>,
    /// Why the folder cannot be read, if so.
    pub unreadable: Option<String>,
}

impl fmt::Display for NoCheckpoint {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let folder = self.folder.display();
        match (&self.unreadable, self.damaged.first()) {
            (Some(error), _) => write!(formatter, "cannot read {folder}: {error}"),
            (None, Some(damage)) => {
                write!(formatter, "{folder} has no intact checkpoint: {damage}")
            }
            (None, None) => write!(formatter, "{folder} has no complete checkpoint"),
        }
    }
}

impl Latest {
    /// The state in which a job begins that resumes the checkpoint, if a job can. Its incarnation is newer than all in the
    /// folder.
    ///
    /// # Errors
    ///
    /// Why no job can begin in the state of the checkpoint.
    pub fn resumed(&self) -> Result<Resumed, String> {
        let heads = self.checkpoint.heads();
        let halted = |head: &PieceHead| match head.condition {
            Condition::Running => None,
            Condition::Halted { superstep } => Some(superstep),
        };
        let resumed = Resumed {
            incarnation: self.incarnation.saturating_add(1),
            superstep: self.checkpoint.generation.superstep,
            halted: heads.iter().map(halted).collect(),
        };
        resumed.check(heads.len())?;
        Ok(resumed)
    }
}

impl Checkpoint {
    /// The hosts that wrote its files.
    pub fn hosts(&self) -> impl Iterator<Item = HostId> {
        self.files.keys().copied().map(HostId)
    }

    /// What is known of each process without its content, by rank.
    #[must_use]
    pub fn heads(&self) -> Vec<PieceHead> {
        let known = self.heads.values().flatten();
        let heads = known.map(|known| PieceHead {
            job: self.job.job,
            generation: self.generation,
            rank: known.rank,
            condition: known.condition,
            work: known.work,
        });
        let mut heads: Vec<PieceHead> = heads.collect();
        heads.sort_by_key(|head| head.rank);
        heads
    }

    /// All processes in the order of the files.
    pub(crate) fn ranks_by_file(&self) -> impl Iterator<Item = Rank> {
        self.heads.values().flatten().map(|head| head.rank)
    }

    /// Reads the pieces of one of its hosts.
    ///
    /// # Errors
    ///
    /// If the file has changed since the checkpoint was found.
    ///
    /// # Panics
    ///
    /// If `host` is none of its hosts.
    pub(super) fn pieces(
        &self,
        files: &mut impl Files,
        host: HostId,
    ) -> Result<Vec<Piece>, Damage> {
        let listed = self.files.get(&host.0).expect("a host of the checkpoint");
        let place = Place {
            job: self.job.job,
            generation: self.generation,
            host,
        };
        reading::pieces(files, place, listed)
    }
}

/// Finds the newest complete checkpoint, and reads all of it once.
pub(super) fn latest(files: &mut impl Files) -> Result<Latest, NoCheckpoint> {
    let mut damaged = Vec::new();
    let unreadable = match survey::all(files) {
        Ok(all) => {
            let incarnations = all.iter().map(|(generation, _)| generation.incarnation);
            let incarnation = incarnations.max().unwrap_or_default();
            for (generation, job) in all {
                match checkpoint(files, job, generation) {
                    Ok(Some(checkpoint)) => {
                        return Ok(Latest {
                            checkpoint,
                            damaged,
                            incarnation,
                        });
                    }
                    Ok(None) => {}
                    Err(damage) => damaged.push(damage),
                }
            }
            None
        }
        Err(error) => Some(error.to_string()),
    };
    Err(NoCheckpoint {
        folder: files.locate(""),
        damaged,
        unreadable,
    })
}

/// A checkpoint; `None`: it was not completed.
fn checkpoint(
    files: &mut impl Files,
    job: JobId,
    generation: Generation,
) -> Result<Option<Checkpoint>, Damage> {
    let Some(manifest) = reading::manifest(files, job, generation)? else {
        return Ok(None);
    };
    let file = files.locate(&layout::manifest(job, generation));
    let wrong = |problem| Damage {
        file,
        offset: 0,
        problem,
    };
    let description = reading::description(files, job)?;
    let (found, expected) = (manifest.processes(), description.processes);
    if found != expected {
        let problem = Problem::Other {
            what: "number of processes",
            found: found.to_string(),
            expected: expected.to_string(),
        };
        return Err(wrong(problem));
    }
    let mut checkpoint = Checkpoint {
        job: description,
        generation,
        files: manifest.into_files(),
        heads: BTreeMap::new(),
    };
    let hosts: Vec<HostId> = checkpoint.hosts().collect();
    for host in hosts {
        let mut pieces = checkpoint.pieces(files, host)?;
        // The file is in memory as long as the content of a piece is.
        for piece in &mut pieces {
            piece.content = Content::default();
        }
        let heads = pieces.iter().map(|piece| KnownPiece {
            rank: piece.head.rank,
            condition: piece.head.condition,
            work: piece.head.work,
        });
        let heads = heads.collect();
        checkpoint.heads.insert(host.0, heads);
    }
    let mut ranks: Vec<Rank> = checkpoint.ranks_by_file().collect();
    match check_ranks(&mut ranks, expected) {
        Ok(()) => Ok(Some(checkpoint)),
        Err(problem) => Err(wrong(problem)),
    }
}

/// Checks that `ranks` are those of all processes, each once.
pub(super) fn check_ranks(ranks: &mut [Rank], processes: u32) -> Result<(), Problem> {
    ranks.sort_unstable();
    for (expected, rank) in (0..).map(Rank).zip(ranks.iter()) {
        if expected < *rank {
            return Err(Problem::NoPiece(expected));
        } else if *rank < expected || processes <= rank.0 {
            return Err(Problem::Order(*rank));
        }
    }
    match u32::try_from(ranks.len()) {
        Ok(count) if count < processes => Err(Problem::NoPiece(Rank(count))),
        _ => Ok(()),
    }
}
