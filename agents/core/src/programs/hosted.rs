//! A program on a node, whose messages are encoded.

use std::cell::Cell;
use std::fmt;
use std::sync::Arc;

use bsp::units::{Bytes, Instructions, Seconds};
use bsp::{
    Conditions, Envelope, Inbox, MemorySize, Outbox, Program, Rank, Reductions, Snapshot, Step,
    reference,
};
use serde::{Deserialize, Serialize};

use crate::chunks::ChunkWriter;
use crate::outcome::RunError;
use crate::programs::{decode, encode_into, encoded_len};

/// A process's program on a host.
pub trait HostedProgram: Send + fmt::Debug {
    /// Executes one superstep.
    ///
    /// # Errors
    ///
    /// If the program is at fault, or its messages or its output cannot be encoded.
    fn execute(&mut self, turn: Turn) -> Result<Executed, RunError>;

    /// Appends the encoded program to `state`.
    ///
    /// # Errors
    ///
    /// If it cannot be encoded, or `state` takes no more.
    fn pack(&self, rank: Rank, state: &mut ChunkWriter<'_>) -> Result<(), RunError>;

    /// The memory that the program occupies: as it declares, or its encoded length.
    fn memory(&self) -> MemorySize;

    /// The memory that the program declares, if it does.
    fn declared(&self) -> Option<MemorySize>;

    /// The most supersteps that follow the first `completed`, if the program knows.
    fn remaining(&self, completed: u64) -> Option<u64>;

    /// The part of the whole computation that has been done, if the program knows.
    fn progress(&self) -> Option<f64>;

    /// An equal program, to be packed while this one goes on computing, if the program can be forked.
    fn fork(&self) -> Option<Box<dyn HostedProgram>>;
}

/// A superstep that a process is to execute.
#[derive(Debug)]
pub struct Turn {
    /// The process.
    pub rank: Rank,
    /// The number of processes.
    pub size: u32,
    /// The superstep, from 0.
    pub superstep: u64,
    /// How long the process computed in the superstep before.
    pub elapsed: Seconds,
    /// The messages that it receives, ordered by (sender's rank, order sent).
    pub inbox: Vec<Incoming>,
    /// The processes on standby, in rank order.
    pub standby: Arc<[Rank]>,
    /// What the superstep before has reduced.
    pub reduced: Option<Arc<Reductions>>,
}

/// A message for a process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Incoming {
    /// The sender.
    pub from: Rank,
    /// What was sent.
    pub content: Content,
    /// The time in transfer of a message that arrived after its superstep was complete here. It counts in the next one.
    pub late: Option<Seconds>,
}

/// The content of a message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Content {
    /// A value, encoded.
    Value(bytes::Bytes),
    /// A length in bytes, without a value.
    Sized(u64),
}

/// The result of a superstep of one process.
#[derive(Debug)]
pub struct Executed {
    /// The messages that it sent, in order.
    pub sends: Vec<(Rank, Content)>,
    /// Its encoded output, if it halted.
    pub output: Option<bytes::Bytes>,
    /// The computation that it charged.
    pub charged: Instructions,
    /// The processor time that other processes of the operating system took for it.
    pub elsewhere: Seconds,
    /// Its contributions to reductions.
    pub reductions: Reductions,
    /// Its snapshots.
    pub snapshots: Vec<Snapshot>,
}

impl Content {
    /// Its length in bytes.
    #[expect(clippy::missing_panics_doc, reason = "lengths fit 64 bits")]
    pub fn size(&self) -> u64 {
        match self {
            Self::Value(bytes) => u64::try_from(bytes.len()).expect("lengths fit 64 bits"),
            Self::Sized(bytes) => *bytes,
        }
    }
}

pub(super) struct TypedProgram<P> {
    program: P,
    /// The length of its encoding, and the number of supersteps here after which it was measured.
    length: Cell<Option<(Bytes, u64)>>,
    /// Supersteps executed here.
    executed: u64,
}

impl<P> fmt::Debug for TypedProgram<P> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("TypedProgram")
            .field("length", &self.length)
            .field("executed", &self.executed)
            .finish_non_exhaustive()
    }
}

impl<P> TypedProgram<P> {
    pub(super) const fn new(program: P) -> Self {
        Self {
            program,
            length: Cell::new(None),
            executed: 0,
        }
    }
}

impl<P: Program> HostedProgram for TypedProgram<P> {
    fn execute(&mut self, turn: Turn) -> Result<Executed, RunError> {
        self.executed += 1;
        let rank = turn.rank;
        let mut inbox = Inbox::default();
        for Incoming { from, content, .. } in turn.inbox {
            match content {
                Content::Value(bytes) => {
                    let message = decode("a message to", rank, &bytes)?;
                    inbox.messages.push((from, message));
                }
                Content::Sized(bytes) => inbox.sized.push((from, Bytes(bytes))),
            }
        }
        let mut outbox = Outbox::default();
        let who = (rank, turn.size);
        let step = reference::execute(
            &mut self.program,
            who,
            Conditions {
                index: turn.superstep,
                elapsed: turn.elapsed,
                standby: &turn.standby,
                reduced: turn.reduced.as_deref(),
            },
            &mut inbox,
            &mut outbox,
        )?;
        let mut buffer = Vec::new();
        let mut sends = Vec::with_capacity(outbox.sends.len());
        let mut values = Vec::new();
        for (to, envelope) in outbox.sends {
            match envelope {
                Envelope::Value(message) => {
                    encode_into(&mut buffer, "a message of", rank, &message)?;
                    values.push((sends.len(), buffer.len()));
                    sends.push((to, Content::Value(bytes::Bytes::new())));
                }
                Envelope::Encoded(bytes) => sends.push((to, Content::Value(bytes))),
                Envelope::Sized(bytes) => sends.push((to, Content::Sized(bytes.0))),
            }
        }
        // All values share one allocation.
        let mut buffer = bytes::Bytes::from(buffer);
        let mut begin = 0;
        for (index, end) in values {
            sends[index].1 = Content::Value(buffer.split_to(end - begin));
            begin = end;
        }
        let output = match step {
            Step::Continue => None,
            Step::Halt(output) => {
                let mut encoded = Vec::new();
                encode_into(&mut encoded, "the output of", rank, &output)?;
                Some(encoded.into())
            }
        };
        Ok(Executed {
            sends,
            output,
            charged: outbox.work,
            elsewhere: outbox.elsewhere,
            reductions: outbox.reductions,
            snapshots: outbox.snapshots.take(),
        })
    }

    fn pack(&self, rank: Rank, state: &mut ChunkWriter<'_>) -> Result<(), RunError> {
        encode_into(state, "the state of", rank, &self.program)
    }

    fn memory(&self) -> MemorySize {
        if let Some(declared) = self.declared() {
            return declared;
        }
        let known = self.length.get();
        let recent = known.filter(|(_, at)| self.executed < at + LENGTH_LASTS);
        let (length, at) = recent.unwrap_or_else(|| (encoded_len(&self.program), self.executed));
        self.length.set(Some((length, at)));
        length.into()
    }

    fn declared(&self) -> Option<MemorySize> {
        self.program.memory()
    }

    fn remaining(&self, completed: u64) -> Option<u64> {
        self.program.remaining(completed)
    }

    fn progress(&self) -> Option<f64> {
        self.program.progress()
    }

    fn fork(&self) -> Option<Box<dyn HostedProgram>> {
        Some(Box::new(Self {
            program: self.program.fork()?,
            length: self.length.clone(),
            executed: self.executed,
        }))
    }
}

/// Supersteps after which the length of a state is measured again, which takes as long as encoding it.
const LENGTH_LASTS: u64 = 100;

#[cfg(test)]
mod tests {
    use bsp::{BoxError, Superstep};

    use super::*;
    use crate::programs::ProgramType;

    /// Sends what it has received to the next process, and its length; halts when it receives "end".
    #[derive(Serialize, Deserialize)]
    struct Echo(String);

    impl Program for Echo {
        type Message = String;
        type Output = String;

        fn superstep(&mut self, ctx: &mut Superstep<'_, String>) -> Result<Step<String>, BoxError> {
            for (_, said) in ctx.receive() {
                ctx.send_sized(Rank(0), Bytes(7));
                ctx.send(Rank(1), said.clone());
                self.0 = said;
            }
            if self.0 == "end" {
                return Ok(Step::Halt(self.0.clone()));
            }
            Ok(Step::Continue)
        }
    }

    fn said(text: &str) -> Incoming {
        let mut encoded = Vec::new();
        encode_into(&mut encoded, "", Rank(0), &text).unwrap();
        let content = Content::Value(encoded.into());
        Incoming {
            from: Rank(2),
            content,
            late: None,
        }
    }

    fn packed(program: &dyn HostedProgram) -> Vec<u8> {
        let mut chunks: Vec<bytes::Bytes> = Vec::new();
        let mut writer = ChunkWriter::new(&mut chunks);
        program.pack(Rank(0), &mut writer).unwrap();
        writer.finish().unwrap();
        chunks.concat()
    }

    fn turn(inbox: Vec<Incoming>) -> Turn {
        Turn {
            rank: Rank(0),
            size: 3,
            superstep: 4,
            elapsed: Seconds::ZERO,
            inbox,
            standby: Arc::default(),
            reduced: None,
        }
    }

    #[test]
    fn a_program_whose_type_is_forgotten_receives_sends_halts_and_moves() {
        let program_type = ProgramType::new::<Echo>();
        let state = packed(&TypedProgram::new(Echo("a".to_owned())));
        let mut program = program_type.decode_bytes(Rank(0), &state).unwrap();
        let executed = program.execute(turn(vec![said("b"), said("c")])).unwrap();
        let sized = (Rank(0), Content::Sized(7));
        let value = |text| (Rank(1), said(text).content);
        assert_eq!(
            executed.sends,
            [sized.clone(), value("b"), sized, value("c")]
        );
        assert_eq!(executed.output, None);
        let state = packed(&*program);
        assert_eq!(program.memory(), encoded_len(&"c").into());
        let mut program = program_type.decode_bytes(Rank(0), &state).unwrap();
        let executed = program.execute(turn(vec![said("end")])).unwrap();
        assert_eq!(executed.output, Some(bytes::Bytes::from_static(b"\xa3end")));
    }

    /// Counts its supersteps.
    #[derive(Clone, Serialize, Deserialize)]
    struct Count(u8);

    impl Program for Count {
        type Message = ();
        type Output = ();

        fn superstep(&mut self, _: &mut Superstep<'_, ()>) -> Result<Step<()>, BoxError> {
            self.0 += 1;
            Ok(Step::Continue)
        }

        bsp::fork_by_clone!();
    }

    #[test]
    fn a_fork_keeps_the_state_of_its_program() {
        let mut program = TypedProgram::new(Count(3));
        let fork = program.fork().unwrap();
        program.execute(turn(Vec::new())).unwrap();
        assert_eq!((packed(&*fork), packed(&program)), (vec![3], vec![4]));
        assert_eq!(fork.memory(), Bytes(1).into());
        assert!(TypedProgram::new(Echo("a".to_owned())).fork().is_none());
    }

    #[test]
    fn what_is_no_state_and_no_message_is_an_error_that_says_whose() {
        let error = ProgramType::new::<Echo>()
            .decode_bytes(Rank(3), b"\xc1")
            .err()
            .unwrap();
        let expect = "the state of p4 cannot be decoded: ";
        assert!(error.to_string().starts_with(expect), "{error}");
        let mut program = TypedProgram::new(Echo(String::new()));
        let broken = Incoming {
            from: Rank(1),
            content: Content::Value(bytes::Bytes::from_static(b"\x01")),
            late: None,
        };
        let error = program.execute(turn(vec![broken])).unwrap_err();
        let expect = "a message to p1 cannot be decoded: ";
        assert!(error.to_string().starts_with(expect), "{error}");
    }
}
