//! Local alignment of two sequences with affine gaps, by columns.
//!
//! The query's letters are the rows of the matrix, the subject's its columns. Each process owns a block
//! of neighbouring columns, and rows are taken in blocks: in superstep `t`, process `y` fills the rows
//! of block `t − y` in its columns, if there is such a block, and hands the edge of its last column to
//! `y + 1`. So the work crosses the matrix as a wave, and the first processes are done before the last
//! ones begin. Process `P − 1` then knows where the best alignment ends and sends that to all, and the
//! path is traced back by one process after the other, from right to left, as far as it leads.
//!
//! With `P` processes and `B` blocks of rows, filling takes `P + B − 1` supersteps, following the way
//! back one for each process on it, and one more if there are processes to its left.
//!
//! The alignment is the same for any number of processes and blocks. Of several that score highest,
//! it is the one that ends in the lowest row and then the lowest column; how it gets there is decided
//! cell by cell, in favour of pairs before gaps in the query before gaps in the subject, and of new
//! gaps before longer ones.

mod alignment;
mod block;
mod scoring;
mod sequence;

use std::borrow::Borrow;
use std::num::NonZero;
use std::ops::Range;

use bsp::numbers::{self, length};
use bsp::units::Instructions;
use bsp::{BoxError, Program, Rank, Step, Superstep};
use serde::{Deserialize, Serialize};

use crate::parameters::{Common, Error, at_least_one, collected, megabytes, whole, within};
use crate::smith_waterman::kernel::block::{Best, Block, Edge};
use block::{Cursor, Exit, Layer, trace};

pub use alignment::{Alignment, Misfit, Operation, Part, Path};
pub use scoring::{Scoring, Substitution};
pub use sequence::{Error as SequenceError, Pair, Sequence};

/// What is compared, and how.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Parameters {
    /// Which letters there are, and what two of them score.
    pub scoring: Substitution,
    /// What equal nucleotides score.
    pub match_score: i32,
    /// What different nucleotides score, at most 0.
    pub mismatch_score: i32,
    /// What a gap costs, whatever its length; not set: 11 for proteins, 5 for nucleotides.
    pub gap_open: Option<u32>,
    /// The additional penalty of each letter of a gap; not set: 1 for proteins, 2 for nucleotides.
    pub gap_extend: Option<u32>,
    /// Name of the FASTA file of the query; not set: both sequences are drawn.
    pub query: Option<String>,
    /// Name of the FASTA file of the subject.
    pub subject: Option<String>,
    /// The record of the query's file; not set: its only one.
    pub query_record: Option<String>,
    /// The record of the subject's file; not set: its only one.
    pub subject_record: Option<String>,
    /// How many letters a drawn query has.
    pub length: u32,
    /// How likely a letter of a drawn subject differs from the query's.
    pub divergence: f64,
    /// In how many blocks the rows are taken; not set: as many as there are processes.
    pub blocks: Option<u32>,
    /// Instructions of one cell that is filled, or passed on the way back.
    ///
    /// The default counts additions (5), comparisons (6), loads (4), stores (3), the assembling of how
    /// the cell was reached (3) and the loop (3).
    pub instructions_per_cell: f64,
}

impl Default for Parameters {
    /// Two related proteins of some 400 letters; nucleotides score as in BLASTN.
    fn default() -> Self {
        Self {
            scoring: Substitution::default(),
            match_score: 2,
            mismatch_score: -3,
            gap_open: None,
            gap_extend: None,
            query: None,
            subject: None,
            query_record: None,
            subject_record: None,
            length: 400,
            divergence: 0.3,
            blocks: None,
            instructions_per_cell: 24.0,
        }
    }
}

impl Parameters {
    /// What pairs and gaps are worth.
    ///
    /// # Errors
    ///
    /// If a score or a cost lies out of its range.
    pub fn scoring(&self) -> Result<Scoring, Error> {
        Scoring::new(
            self.scoring,
            (self.match_score, self.mismatch_score),
            (self.gap_open, self.gap_extend),
        )
    }

    /// The sequences that are drawn if no file is named.
    ///
    /// # Errors
    ///
    /// If there is to be no letter, the divergence is no probability, or there is no memory for the letters.
    pub fn drawn(&self, seed: u64) -> Result<Pair, Error> {
        let length = NonZero::new(self.length).ok_or(Error::Zero { key: "length" })?;
        let key = ("divergence", self.divergence);
        let divergence = within(key, 0.0, 1.0, "a number from 0 to 1")?;
        let pair = Pair::drawn(length, divergence, self.scoring, seed);
        pair.ok_or_else(|| {
            let letters = u128::from(self.length);
            self.too_large(format!("two sequences of {letters} letters"), 2 * letters)
        })
    }

    /// There is no memory for `what`, which takes `bytes` bytes.
    fn too_large(&self, what: String, bytes: u128) -> Error {
        Error::Memory {
            what,
            megabytes: megabytes(bytes),
            instead: match self.query {
                None => "a smaller `length`",
                Some(_) => "shorter sequences in the files of `query` and `subject`",
            },
        }
    }
}

/// One block of columns. Each process holds the whole query, and one byte for each cell it has filled.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SmithWaterman {
    scoring: Scoring,
    /// All letters of the query.
    query: Vec<u8>,
    /// In how many blocks the rows are taken.
    blocks: u32,
    block: Block,
    /// The best cell of the blocks further left, as far as it is known here; in the end of all.
    best: Best,
    instructions_per_cell: u64,
}

/// What processes send each other.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message(Content);

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Content {
    /// To the right: the edge of the sender's last column in one block of rows, and the best cell so
    /// far.
    Filled(Vec<Edge>, Best),
    /// To all: the best cell.
    Found(Best),
    /// To the left: the way back enters the receiver's last column.
    Enters(Cursor),
    /// To those further left: the way back does not come to them.
    Over,
}

/// One process for each rank, for the sequences of [`Parameters::drawn`] or of files.
///
/// Columns are shared as equally as possible, the lowest ranks having one more if need be. There may
/// be more processes than columns, and more blocks than rows: some of them are empty then.
///
/// # Errors
///
/// If there is no process or no block, if a score or a cost lies out of its range, if the number of
/// supersteps is given, which follows from the rest, or if there is no memory for the cells.
///
/// # Examples
///
/// ```
/// use bsp::reference;
/// use workloads::Common;
/// use workloads::smith_waterman::kernel::{self, Alignment, Parameters};
///
/// let parameters = Parameters { length: 60, ..Parameters::default() };
/// let common = Common { processes: 4, supersteps: None, seed: 1 };
/// let pair = parameters.drawn(common.seed)?;
/// let processes = kernel::processes(&parameters, &pair, common)?;
/// let run = reference::run(processes, reference::Limit::default()).expect("the program halts");
/// let alignment = Alignment::assemble(&run.outputs, &pair).expect("the outputs of one run");
/// let alignment = alignment.expect("the sequences are related");
/// assert_eq!(alignment.score, alignment.rescore(&pair, &parameters.scoring()?));
/// # Ok::<(), workloads::Error>(())
/// ```
pub fn processes(
    parameters: &Parameters,
    pair: &Pair,
    common: Common,
) -> Result<Vec<SmithWaterman>, Error> {
    common.build(builder(parameters, pair, common)?)
}

/// What builds each process, given its rank: [`processes`] without the states.
///
/// # Errors
///
/// As [`processes`].
pub fn builder<P: Borrow<Pair>>(
    parameters: &Parameters,
    pair: P,
    common: Common,
) -> Result<impl Fn(Rank) -> Result<SmithWaterman, Error>, Error> {
    common.refuse_supersteps()?;
    let scoring = parameters.scoring()?;
    let blocks = parameters.blocks.unwrap_or(common.processes);
    at_least_one("blocks", blocks.into())?;
    let per_cell = ("instructions_per_cell", parameters.instructions_per_cell);
    let instructions_per_cell = whole(within(per_cell, 0.0, 1e9, "a number from 0 to 10^9")?);
    common.check()?;
    let process = move |rank: Rank, pair: &Pair| {
        let (query, subject) = (pair.query.codes(), pair.subject.codes());
        let columns = span(subject.len(), common.processes, rank.0);
        let (first, letters) = (columns.start, &subject[columns]);
        Some(SmithWaterman {
            scoring,
            query: collected(query.len(), query.iter().copied())?,
            blocks,
            block: Block::new(first, letters, query.len(), &scoring)?,
            best: Best::default(),
            instructions_per_cell,
        })
    };
    Ok(move |rank| {
        let pair: &Pair = pair.borrow();
        process(rank, pair).ok_or_else(|| {
            let (what, bytes) = cells(pair.query.codes().len(), pair.subject.codes().len());
            parameters.too_large(what, bytes)
        })
    })
}

impl Program for SmithWaterman {
    type Message = Message;
    type Output = Part;

    fn superstep(&mut self, ctx: &mut Superstep<'_, Message>) -> Result<Step<Part>, BoxError> {
        let mut edges = Vec::new();
        for (_, Message(content)) in ctx.receive() {
            match content {
                Content::Filled(received, best) => {
                    self.best = best;
                    edges = received;
                }
                Content::Found(best) => return self.turn(ctx, best),
                Content::Enters(cursor) => {
                    let last = self.block.columns().end - 1;
                    return self.follow(ctx, cursor, last);
                }
                Content::Over => return self.halt(None),
            }
        }
        let wave = ctx.index().checked_sub(ctx.rank().0.into());
        let block = wave.and_then(|block| u32::try_from(block).ok());
        if let Some(block) = block.filter(|block| *block < self.blocks) {
            self.fill(ctx, block, edges)?;
        }
        Ok(Step::Continue)
    }

    bsp::fork_by_clone!();
}

impl SmithWaterman {
    /// Fills a block of rows from the edges at its left.
    fn fill(
        &mut self,
        ctx: &mut Superstep<'_, Message>,
        block: u32,
        mut edges: Vec<Edge>,
    ) -> Result<(), BoxError> {
        let rows = span(self.query.len(), self.blocks, block);
        if ctx.left().is_none() {
            edges.resize(rows.len(), Edge::outside(&self.scoring));
        }
        assert_eq!(edges.len(), rows.len(), "an edge for each row");
        if !self.block.reserve(rows.len()) {
            let (what, bytes) = cells(self.query.len(), self.block.columns().len());
            let needed = megabytes(bytes);
            return Err(format!(
                "not enough memory for {what}, {needed} MB on this host: choose shorter sequences or more hosts"
            )
            .into());
        }
        for (row, edge) in rows.zip(&mut edges) {
            *edge = self.block.fill(row, self.query[row], *edge, &self.scoring);
        }
        ctx.charge(self.work(edges.len() * self.block.columns().len()));
        let best = self.best.or(self.block.best());
        if let Some(right) = ctx.right() {
            ctx.send(right, Message(Content::Filled(edges, best)));
        } else if block + 1 == self.blocks {
            for rank in ctx.ranks() {
                ctx.send(rank, Message(Content::Found(best)));
            }
        }
        Ok(())
    }

    /// Goes the way back, waits for it, or is done, now that it is known where it begins.
    fn turn(
        &mut self,
        ctx: &mut Superstep<'_, Message>,
        best: Best,
    ) -> Result<Step<Part>, BoxError> {
        self.best = best;
        let columns = self.block.columns();
        if best.score == 0 || best.column < columns.start {
            return self.halt(None);
        }
        if columns.end <= best.column {
            return Ok(Step::Continue);
        }
        let cursor = Cursor {
            row: best.row,
            layer: Layer::Height,
        };
        self.follow(ctx, cursor, best.column)
    }

    /// Goes the way back through the own columns, from `cursor` in column number `column`.
    fn follow(
        &self,
        ctx: &mut Superstep<'_, Message>,
        cursor: Cursor,
        column: usize,
    ) -> Result<Step<Part>, BoxError> {
        let (path, exit) = trace(&self.block, &self.query, cursor, column);
        ctx.charge(self.work(path.places()));
        match exit {
            Exit::Left(cursor) => {
                let left = ctx.left().expect("columns further left have an owner");
                ctx.send(left, Message(Content::Enters(cursor)));
            }
            Exit::Start => {
                for rank in (0..ctx.rank().0).map(Rank) {
                    ctx.send(rank, Message(Content::Over));
                }
            }
        }
        self.halt((0 < path.places()).then_some(path))
    }

    const fn halt(&self, path: Option<Path>) -> Result<Step<Part>, BoxError> {
        let score = self.best.score;
        Ok(Step::Halt(Part { score, path }))
    }

    fn work(&self, cells: usize) -> Instructions {
        let cells = length(cells);
        Instructions(cells * self.instructions_per_cell)
    }
}

/// A name for the cells of `rows` rows and `columns` columns, and their size in bytes.
fn cells(rows: usize, columns: usize) -> (String, u128) {
    let [count, other] = [rows, columns].map(|count| u128::try_from(count).expect("a usize fits"));
    (format!("{rows} x {columns} cells"), count * other)
}

/// Number `index` of `parts` ranges side by side that share `0..total` as equally as possible, the
/// lowest ones being one longer if need be.
fn span(total: usize, parts: u32, index: u32) -> Range<usize> {
    let [parts, index] = [parts, index].map(numbers::index);
    let (each, longer) = (total / parts, total % parts);
    let start = |index: usize| index * each + index.min(longer);
    start(index)..start(index + 1)
}

#[cfg(test)]
mod tests;
