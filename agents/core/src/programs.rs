//! Programs whose type is erased, once for both worlds.

mod hosted;
mod simulated;

use std::fmt;
use std::io;
use std::ops::Range;

use bsp::numbers::index;
use bsp::reduction::Outline;
use bsp::units::{self, Instructions};
use bsp::{Program, Rank, Reductions, Round, Snapshot};
use bytes::Bytes;
use hosted::TypedProgram;
use serde::Serialize;
use serde::de::DeserializeOwned;
use simulated::TypedPrograms;

use crate::chunks::{ChunkReader, ChunkSink, ChunkWriter};
use crate::outcome::{Outputs, RunError};

pub use hosted::{Content, Executed, HostedProgram, Incoming, Turn};
pub use simulated::SimulatedPrograms;

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

/// `program` for a node that executes it.
pub fn hosted<P: Program>(program: P) -> Box<dyn HostedProgram> {
    Box::new(TypedProgram::new(program))
}

/// Encoded programs, each made when it is taken.
pub type States = Box<dyn Iterator<Item = Result<Vec<u8>, RunError>> + Send>;

/// Decodes the encoded outputs of all processes, by rank.
pub type DecodeOutputs = fn(Vec<Bytes>) -> Result<Outputs, RunError>;

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

fn decode_outputs<P: Program>(outputs: Vec<Bytes>) -> Result<Outputs, RunError> {
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
                Ok(hosted(program))
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
        let mut source = vec![Bytes::copy_from_slice(bytes)].into_iter();
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

/// What the processes did in a superstep, by rank: known before simulated time passes for it, because
/// when the first process starts a superstep, all inboxes are complete.
#[derive(Clone, Debug, Default)]
pub struct SuperstepPlan {
    /// Computation charged.
    pub work: Vec<Instructions>,
    /// Whether it was the last superstep of the process.
    pub halts: Vec<bool>,
    /// How many messages are addressed to the process.
    pub expected: Vec<u32>,
    /// The receivers of messages, in the order sent, by sender.
    pub receivers: Vec<Rank>,
    /// Their sizes.
    pub sizes: Vec<units::Bytes>,
    /// Their senders.
    pub senders: Vec<Rank>,
    /// Where the messages of each process begin among them, and where the last one's end.
    pub first_send: Vec<u32>,
    /// The messages, as numbers, that are one value to several processes: it travels once to each host.
    pub broadcasts: Vec<Range<u32>>,
    /// What processes wrote, by rank.
    pub snapshots: Vec<Snapshot>,
    /// Contributions to reductions, by rank; empty if no process contributes.
    pub reductions: Vec<Reductions>,
    /// The length of what the superstep before has reduced.
    pub reduced: units::Bytes,
}

/// What repeats if a superstep does: a plan of a superstep in which no process halts.
#[derive(Debug, Default)]
pub struct RepeatedPlan {
    work: Vec<Instructions>,
    receivers: Vec<Rank>,
    sizes: Vec<units::Bytes>,
    first_send: Vec<u32>,
    broadcasts: Vec<Range<u32>>,
    /// By what the contributions to reductions are charged.
    contributions: Vec<Outline>,
    /// The length of what the superstep before has reduced.
    reduced: units::Bytes,
}

impl SuperstepPlan {
    /// Begins the plan of another superstep of `size` processes. The messages of the superstep before are kept until
    /// all programs have been executed.
    fn begin(&mut self, size: usize) {
        self.work.clear();
        self.work.resize(size, Instructions::ZERO);
        self.halts.clear();
        self.halts.resize(size, false);
        self.first_send.clear();
        self.snapshots.clear();
        self.reductions.clear();
    }

    /// Removes the messages of the superstep before, to add `count` others.
    fn begin_messages(&mut self, count: usize) {
        self.expected.clear();
        self.expected.resize(self.work.len(), 0);
        self.receivers.clear();
        self.receivers.reserve_exact(count);
        self.sizes.clear();
        self.sizes.reserve_exact(count);
        self.senders.clear();
        self.senders.reserve_exact(count);
        for (from, end) in (0..self.work.len()).zip(&self.first_send[1..]) {
            self.senders.resize(index(*end), Rank::from_index(from));
        }
    }

    /// The numbers of the messages that `rank` sends.
    #[inline]
    pub fn sends_of(&self, rank: Rank) -> Range<u32> {
        self.first_send[rank.index()]..self.first_send[rank.index() + 1]
    }

    /// Sender, receiver and size of a message.
    #[inline]
    pub fn message(&self, number: u32) -> (Rank, Rank, units::Bytes) {
        let at = index(number);
        (self.senders[at], self.receivers[at], self.sizes[at])
    }

    /// The first message of the broadcast that a message is part of.
    #[inline]
    pub fn broadcast_of(&self, number: u32) -> Option<u32> {
        let following = self.broadcasts.partition_point(|range| range.end <= number);
        let range = self.broadcasts.get(following)?;
        range.contains(&number).then_some(range.start)
    }

    /// Bytes of the messages that `rank` sends.
    pub fn bytes_sent(&self, rank: Rank) -> units::Bytes {
        let sends = self.sends_of(rank);
        let sizes = &self.sizes[index(sends.start)..index(sends.end)];
        sizes.iter().copied().sum()
    }

    /// Whether it is the last superstep of a process.
    pub fn has_halts(&self) -> bool {
        self.halts.contains(&true)
    }

    /// By what the contributions to reductions are charged, by rank; empty if no process contributes.
    pub fn contributions(&self) -> Vec<Outline> {
        self.reductions.iter().map(Reductions::outline).collect()
    }

    /// What repeats if the processes do the same again, whose `contributions` were these: once a superstep is under way, its plan
    /// does not have them any more.
    ///
    /// # Panics
    ///
    /// If a process halts.
    pub fn repeated(&self, contributions: Vec<Outline>) -> RepeatedPlan {
        assert!(!self.has_halts(), "a process halts once");
        RepeatedPlan {
            work: self.work.clone(),
            receivers: self.receivers.clone(),
            sizes: self.sizes.clone(),
            first_send: self.first_send.clone(),
            broadcasts: self.broadcasts.clone(),
            contributions,
            reduced: self.reduced,
        }
    }
}

impl RepeatedPlan {
    /// Whether the processes do in the superstep of `plan`, in which none halts, what they did in this one.
    pub fn equals(&self, plan: &SuperstepPlan) -> bool {
        self.work == plan.work
            && self.receivers == plan.receivers
            && self.sizes == plan.sizes
            && self.first_send == plan.first_send
            && self.broadcasts == plan.broadcasts
            && self.reduced == plan.reduced
            && self.contributes(&plan.reductions)
    }

    /// Whether `reductions` are charged for as those of this superstep, process by process.
    fn contributes(&self, reductions: &[Reductions]) -> bool {
        let mut pairs = self.contributions.iter().zip(reductions);
        self.contributions.len() == reductions.len()
            && pairs.all(|(outline, reductions)| outline.is_of(reductions))
    }

    /// The number of its processes, messages, and contributions to reductions.
    pub fn size(&self) -> usize {
        let contributions = self.contributions.iter().map(Outline::len).sum::<usize>();
        self.work.len() + self.receivers.len() + contributions
    }
}

/// Checks that a fork of `program` is encoded as the program is, if it can be forked.
///
/// # Errors
///
/// If the encodings differ, or there is none.
pub fn check_fork(rank: Rank, program: &dyn HostedProgram) -> Result<(), RunError> {
    let Some(fork) = program.fork() else {
        return Ok(());
    };
    if digest(rank, &*fork)? == digest(rank, program)? {
        return Ok(());
    }
    let problem = "its fork is encoded otherwise than the program: see `Program::fork`";
    Err(RunError::encoding("the state of", rank, "saved", &problem))
}

/// Checks that `program` can be encoded, and returns the length of its encoding.
///
/// # Errors
///
/// If it cannot.
pub fn check_encoding(rank: Rank, program: &dyn HostedProgram) -> Result<u64, RunError> {
    Ok(digest(rank, program)?.0)
}

/// The length and the CRC-32 of the encoded program.
fn digest(rank: Rank, program: &dyn HostedProgram) -> Result<(u64, u32), RunError> {
    let mut encoding = Encoding::default();
    let mut chunks = ChunkWriter::new(&mut encoding);
    program.pack(rank, &mut chunks)?;
    let finished = chunks.finish();
    finished.map_err(|error| RunError::encoding("the state of", rank, "encoded", &error))?;
    Ok((encoding.length, encoding.checksum.finalize()))
}

/// An encoding, of which no more is kept than its length and its CRC-32.
#[derive(Default)]
struct Encoding {
    length: u64,
    checksum: crc32fast::Hasher,
}

impl ChunkSink for Encoding {
    fn send(&mut self, chunk: Bytes) -> io::Result<()> {
        self.length += u64::try_from(chunk.len()).expect("lengths fit 64 bits");
        self.checksum.update(&chunk);
        Ok(())
    }
}

/// Appends `value`, which is `what` (as "the state of") `rank`, to `bytes`.
///
/// # Errors
///
/// If its type cannot be encoded, or `bytes` accepts no more.
pub(crate) fn encode_into(
    bytes: &mut impl io::Write,
    what: &'static str,
    rank: Rank,
    value: &impl Serialize,
) -> Result<(), RunError> {
    rmp_serde::encode::write(bytes, value)
        .map_err(|error| RunError::encoding(what, rank, "encoded", &error))
}

/// The value that is `what` (as "the state of") `rank`.
///
/// # Errors
///
/// If `bytes` are not its encoding.
pub fn decode<T: DeserializeOwned>(
    what: &'static str,
    rank: Rank,
    bytes: &[u8],
) -> Result<T, RunError> {
    rmp_serde::from_slice(bytes).map_err(|error| RunError::encoding(what, rank, "decoded", &error))
}

/// The value that is `what` (as "the state of") `rank`, and is next in `bytes`.
///
/// # Errors
///
/// If the next bytes are not its encoding.
pub(crate) fn decode_from<T: DeserializeOwned>(
    what: &'static str,
    rank: Rank,
    bytes: impl io::Read,
) -> Result<T, RunError> {
    rmp_serde::from_read(bytes).map_err(|error| RunError::encoding(what, rank, "decoded", &error))
}

/// The length of a value's encoding.
pub(crate) fn encoded_len(value: &impl Serialize) -> units::Bytes {
    // The encoding itself reports a value that cannot be encoded.
    bsp::encoded_len(value).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use bsp::{BoxError, Step, Superstep};
    use serde::{Deserialize, Serialize};

    use super::*;

    #[derive(Serialize, Deserialize)]
    struct Number(u8);

    impl Program for Number {
        type Message = ();
        type Output = u8;

        fn superstep(&mut self, _: &mut Superstep<'_, ()>) -> Result<Step<u8>, BoxError> {
            Ok(Step::Halt(self.0))
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
        let error = decode_outputs(vec![Bytes::from_static(b"\xc1")]).unwrap_err();
        let expect = "the output of p1 cannot be decoded: ";
        assert!(error.to_string().starts_with(expect), "{error}");
    }

    mod fork_check {
        use super::*;
        use bsp::{BoxError, Program, Step, Superstep};
        use serde::{Deserialize, Serialize};

        /// Its fork is the next even number.
        #[derive(Serialize, Deserialize)]
        struct Counter(u64);

        impl Program for Counter {
            type Message = ();
            type Output = ();

            fn superstep(&mut self, _: &mut Superstep<'_, ()>) -> Result<Step<()>, BoxError> {
                Ok(Step::Halt(()))
            }

            fn fork(&self) -> Option<Self> {
                Some(Self(self.0.next_multiple_of(2)))
            }
        }

        #[test]
        fn forks_that_differ_from_their_programs_are_refused() {
            for (number, is_sound) in [(2, true), (3, false)] {
                let encoded = rmp_serde::to_vec(&Counter(number)).unwrap();
                let program = ProgramType::new::<Counter>().decode_bytes(Rank(1), &encoded);
                let checked = check_fork(Rank(1), &*program.unwrap());
                assert_eq!(checked.is_ok(), is_sound, "{checked:?}");
                if let Err(error) = checked {
                    assert!(error.to_string().contains("its fork"), "{error}");
                }
            }
        }
    }
}
