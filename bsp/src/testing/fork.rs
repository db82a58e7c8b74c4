//! Forks, which have to keep the state from which they were taken.

use super::encoding::encode;
use super::error::{Error, Subject};
use crate::ids::Rank;
use crate::program::Program;
use crate::reference::Computation;

/// A fork of a process, and the encoding of the process when it was taken.
#[derive(Debug)]
pub(super) struct Fork<P> {
    rank: Rank,
    program: P,
    encoding: Vec<u8>,
}

impl<P: Program> Fork<P> {
    /// Forks every process that has not halted, and can be forked.
    ///
    /// # Errors
    ///
    /// [`Error::Fork`], if a fork is encoded otherwise than its process.
    pub(super) fn all(computation: &Computation<P>, superstep: u64) -> Result<Vec<Self>, Error> {
        let mut forks = Vec::new();
        let processes = computation.processes.iter().zip(&computation.outputs);
        for (index, (process, output)) in processes.enumerate() {
            if output.is_some() {
                continue;
            }
            let rank = Rank::from_index(index);
            if let Some(program) = process.fork() {
                let encoding = encode(process, rank, Subject::State, superstep)?;
                let fork = Self {
                    rank,
                    program,
                    encoding,
                };
                if !fork.is_equal(superstep)? {
                    return Err(Error::Fork { rank, superstep });
                }
                forks.push(fork);
            }
        }
        Ok(forks)
    }

    /// Checks that the process has not changed its fork in `superstep`.
    ///
    /// # Errors
    ///
    /// [`Error::SharedFork`].
    pub(super) fn check(&self, superstep: u64) -> Result<(), Error> {
        if self.is_equal(superstep)? {
            return Ok(());
        }
        let rank = self.rank;
        Err(Error::SharedFork { rank, superstep })
    }

    fn is_equal(&self, superstep: u64) -> Result<bool, Error> {
        let encoding = encode(&self.program, self.rank, Subject::State, superstep)?;
        Ok(encoding == self.encoding)
    }
}
