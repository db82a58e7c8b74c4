//! The programs of a job without their type.

use std::fmt;

use bsp::{Program, Rank, Round};

use super::hosted::{HostedProgram, TypedProgram};
use super::outputs::Outputs;
use super::simulated::{SimulatedPrograms, TypedPrograms};
use crate::chunks::ChunkReader;
use crate::encoding::{decode, decode_from, encode_into};
use crate::error::RunError;

/// The programs of a job, by rank: values of one type that the worlds need not know.
pub struct Programs {
    programs: Box<dyn Erased>,
    len: usize,
    round: Round,
}

/// The type of a job's programs, for nodes, which only receive encoded states.
#[derive(Clone, Copy)]
pub struct ProgramType {
    decode: fn(Rank, &mut ChunkReader<'_>) -> Decoded,
    decode_outputs: DecodeOutputs,
    round: Round,
}

/// Encoded programs, each made when it is taken.
pub type States = Box<dyn Iterator<Item = Result<Vec<u8>, RunError>> + Send>;

/// Decodes the encoded outputs of all processes, by rank.
pub type DecodeOutputs = fn(Vec<bytes::Bytes>) -> Result<Outputs, RunError>;

type Decoded = Result<Box<dyn HostedProgram>, RunError>;

trait Erased {
    fn into_simulated(self: Box<Self>, limit: u64) -> Box<dyn SimulatedPrograms>;

    fn into_states(self: Box<Self>) -> (States, DecodeOutputs);
}

impl<P: Program> Erased for Vec<P> {
    fn into_simulated(self: Box<Self>, limit: u64) -> Box<dyn SimulatedPrograms> {
        Box::new(TypedPrograms::new(*self, limit))
    }

    fn into_states(self: Box<Self>) -> (States, DecodeOutputs) {
        let states = self.into_iter().enumerate().map(|(index, program)| {
            let mut state = Vec::new();
            let rank = Rank::from_index(index);
            encode_into(&mut state, "the state of", rank, &program)?;
            Ok(state)
        });
        (Box::new(states), decode_outputs::<P>)
    }
}

fn decode_outputs<P: Program>(outputs: Vec<bytes::Bytes>) -> Result<Outputs, RunError> {
    let outputs = outputs.into_iter().enumerate();
    let outputs =
        outputs.map(|(index, bytes)| decode("the output of", Rank::from_index(index), &bytes));
    let outputs: Result<Vec<P::Output>, _> = outputs.collect();
    Ok(Outputs::new::<P>(outputs?))
}

impl Programs {
    /// Process `r` runs element `r` of `programs`.
    #[must_use]
    pub fn new<P: Program>(programs: Vec<P>) -> Self {
        Self {
            len: programs.len(),
            round: P::ROUND,
            programs: Box::new(programs),
        }
    }

    /// The number of processes.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.len
    }

    /// The supersteps that belong together.
    #[must_use]
    pub const fn round(&self) -> Round {
        self.round
    }

    /// Whether there are no processes.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The programs for a simulation that fails at superstep `limit`.
    pub fn into_simulated(self, limit: u64) -> Box<dyn SimulatedPrograms> {
        self.programs.into_simulated(limit)
    }

    /// The encoded programs, by rank, and the decoder of the outputs that they send back.
    pub fn into_states(self) -> (States, DecodeOutputs) {
        self.programs.into_states()
    }
}

impl fmt::Debug for Programs {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = formatter.debug_struct("Programs");
        debug.field("len", &self.len).finish_non_exhaustive()
    }
}

impl ProgramType {
    /// The type `P`.
    #[must_use]
    pub fn new<P: Program>() -> Self {
        Self {
            decode: |rank, state| {
                let program: P = decode_from("the state of", rank, state)?;
                Ok(Box::new(TypedProgram::new(program)))
            },
            decode_outputs: decode_outputs::<P>,
            round: P::ROUND,
        }
    }

    /// The supersteps that belong together.
    #[must_use]
    pub const fn round(self) -> Round {
        self.round
    }

    /// The decoder of the outputs that nodes send back.
    pub fn output_decoder(self) -> DecodeOutputs {
        self.decode_outputs
    }

    /// The program of `rank` whose encoded state is next in `state`.
    ///
    /// # Errors
    ///
    /// If that is none.
    pub fn decode(self, rank: Rank, state: &mut ChunkReader<'_>) -> Decoded {
        (self.decode)(rank, state)
    }

    /// The program of `rank` that is encoded as `bytes`.
    #[cfg(test)]
    pub(crate) fn decode_bytes(self, rank: Rank, bytes: &[u8]) -> Decoded {
        let mut source = vec![bytes::Bytes::copy_from_slice(bytes)].into_iter();
        self.decode(rank, &mut ChunkReader::new(&mut source))
    }
}

impl fmt::Debug for ProgramType {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("ProgramType")
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use bsp::{Step, Superstep};
    use serde::{Deserialize, Serialize};

    use super::*;

    #[derive(Serialize, Deserialize)]
    struct Number(u8);

    impl Program for Number {
        type Message = ();
        type Output = u8;

        fn superstep(&mut self, _: &mut Superstep<'_, ()>) -> Step<u8> {
            Step::Halt(self.0)
        }
    }

    #[test]
    fn states_are_encoded_and_outputs_decoded_by_rank() {
        let programs = Programs::new(vec![Number(3), Number(4)]);
        assert_eq!((programs.len(), programs.is_empty()), (2, false));
        let (states, decode_outputs) = programs.into_states();
        let states: Vec<Vec<u8>> = states.map(Result::unwrap).collect();
        assert_eq!(states, [[3], [4]]);
        let outputs = states.into_iter().map(Into::into).collect();
        let outputs = decode_outputs(outputs).unwrap();
        assert_eq!(outputs.typed::<Number>(), [3, 4]);
        let error = decode_outputs(vec![bytes::Bytes::from_static(b"\xc1")]).unwrap_err();
        let expect = "the output of p1 cannot be decoded: ";
        assert!(error.to_string().starts_with(expect), "{error}");
    }
}
