//! Which state, and how large it is.

use serde::{Deserialize, Serialize};

use crate::parameters::{Error, instructions, within};

/// Which program runs, how large its state is, and how much it computes in a superstep.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Parameters {
    /// The program.
    pub kind: Kind,
    /// The least and the most bytes of a round's data, from which they are drawn for every round. Their logarithm is
    /// uniform.
    pub state: [f64; 2],
    /// Instructions of a superstep, about.
    pub instructions: f64,
}

/// A program, by the kind of its state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Solves dense systems of linear equations: one large array.
    #[default]
    Linpack,
    /// Sorts keys in a binary tree: many small nodes.
    Bitonic,
    /// Compresses text: a small state, whatever the length of the text.
    Gzip,
    /// Factors six matrices, one after the other: a size that changes.
    Xlintims,
}

impl Default for Parameters {
    fn default() -> Self {
        Self {
            kind: Kind::default(),
            state: [4e5, 4e6],
            instructions: 2e7,
        }
    }
}

/// The range of the bytes of a round's data, and the instructions of a superstep.
///
/// # Errors
///
/// If a number is none, too small or too large, or if the range ends before it begins.
pub(super) fn checked(parameters: &Parameters) -> Result<([f64; 2], u64), Error> {
    let expected = "a number from 1 kB to 64 GB";
    let [least, most] = parameters.state;
    within(("state[0]", least), BYTES.0, BYTES.1, expected)?;
    within(
        ("state[1]", most),
        least,
        BYTES.1,
        "a number from the first one to 64 GB",
    )?;
    let budget = instructions("instructions", parameters.instructions)?;
    Ok(([least, most], budget.0.max(1)))
}

/// Bytes of a round's data.
const BYTES: (f64, f64) = (1e3, 64e9);
