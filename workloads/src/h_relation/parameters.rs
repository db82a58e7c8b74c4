//! How many words are exchanged, and how much is computed.

use serde::{Deserialize, Serialize};

use super::daxpy::FLOPS;
use crate::parameters::{Error, instructions, list, whole, within};

/// How many words every superstep exchanges, and how much it computes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Parameters {
    /// h: words of 8 bytes that every process sends and receives in a superstep. Superstep i takes element i modulo
    /// length; the last superstep sends none.
    pub words: Vec<f64>,
    /// Floating-point operations of a process in a superstep, taken in the same way; rounded up to whole passes of
    /// [`FLOPS_OF_A_PASS`](super::FLOPS_OF_A_PASS).
    pub flops: Vec<f64>,
}

impl Default for Parameters {
    fn default() -> Self {
        Self {
            words: vec![0.0, 1024.0],
            flops: vec![0.0],
        }
    }
}

/// The words, and the passes of the vectors, of the supersteps in turn.
///
/// # Errors
///
/// If a list is empty, or a number is none or out of its range.
pub(super) fn checked(parameters: &Parameters) -> Result<(Vec<u64>, Vec<u64>), Error> {
    let words = list("words", &parameters.words, |key, value| {
        let expected = "a number from 0 to 4194304";
        within((&key, value), 0.0, f64::from(WORDS_MAX), expected).map(whole)
    })?;
    let passes = list("flops", &parameters.flops, |key, value| {
        let passes = instructions(key, value)?.0.div_ceil(FLOPS);
        Ok(passes)
    })?;
    Ok((words, passes))
}

/// The most words that a process sends in a superstep: 32 MiB, half of the longest message between hosts.
pub const WORDS_MAX: u32 = 1 << 22;
