//! What a program sees of the world during one superstep, and the lengths of messages.

use std::borrow::Cow;
use std::io;

use serde::Serialize;

use crate::ids::Rank;
use crate::numbers::length;
use crate::program::Payload;
use crate::reduction::{
    Partial, REDUCTION_NAME_MAX, Reduced, Reduction, ReductionError, Reductions,
};
use crate::snapshot::{SnapshotEncoding, SnapshotError, Snapshots};
use crate::units::{Bytes, Instructions, Seconds};

/// The context of one superstep of one process.
#[derive(Debug)]
pub struct Superstep<'a, Message> {
    rank: Rank,
    size: u32,
    conditions: Conditions<'a>,
    inbox: &'a mut Inbox<Message>,
    outbox: &'a mut Outbox<Message>,
}

/// What a runner knows of a superstep when a process starts it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Conditions<'a> {
    /// The superstep, from 0.
    pub index: u64,
    /// How long the process computed in the superstep before; zero in the first.
    pub elapsed: Seconds,
    /// The processes whose hosts have not joined, in rank order.
    pub standby: &'a [Rank],
    /// What the superstep before has reduced.
    pub reduced: Option<&'a Reductions>,
}

/// What a process receives in a superstep, ordered by (sender's rank, order sent).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inbox<Message> {
    /// Messages with a value.
    pub messages: Vec<(Rank, Message)>,
    /// Messages that are only a size.
    pub sized: Vec<(Rank, Bytes)>,
}

/// What a process did in a superstep.
#[derive(Clone, Debug, PartialEq)]
pub struct Outbox<Message> {
    /// Computation charged.
    pub work: Instructions,
    /// Processor time that other processes of the operating system took for it.
    pub elsewhere: Seconds,
    /// Messages in the order sent.
    pub sends: Vec<(Rank, Envelope<Message>)>,
    /// Its contributions to reductions, and its notes.
    pub reductions: Reductions,
    /// Its snapshots.
    pub snapshots: Snapshots,
}

/// One message on its way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Envelope<Message> {
    /// A value; its size is the length of its encoding.
    Value(Message),
    /// The encoding of a value that several processes receive.
    Encoded(bytes::Bytes),
    /// Nothing but a size, as models of applications send.
    Sized(Bytes),
}

impl<'a, Message> Superstep<'a, Message> {
    /// The context of a superstep for process `rank` of `size`; called by runners.
    ///
    /// # Panics
    ///
    /// If `rank` is not below `size`.
    #[must_use]
    pub fn new(
        (rank, size): (Rank, u32),
        conditions: Conditions<'a>,
        inbox: &'a mut Inbox<Message>,
        outbox: &'a mut Outbox<Message>,
    ) -> Self {
        assert!(rank.0 < size, "{rank} is not among {size} processes");
        Self {
            rank,
            size,
            conditions,
            inbox,
            outbox,
        }
    }

    /// Takes the messages sent to this process in the previous superstep, ordered by (sender's rank,
    /// order sent). A second call finds nothing.
    pub fn receive(&mut self) -> impl Iterator<Item = (Rank, Message)> + use<Message> {
        std::mem::take(&mut self.inbox.messages).into_iter()
    }

    /// Messages of the previous superstep that were only a size: sender and size.
    #[must_use]
    pub fn receive_sized(&self) -> &[(Rank, Bytes)] {
        &self.inbox.sized
    }

    /// Sends a value; it is received in the next superstep. Its encoding has at most [`MESSAGE_MAX`].
    pub fn send(&mut self, to: Rank, message: Message) {
        self.outbox.sends.push((to, Envelope::Value(message)));
    }

    /// Sends a value to all other processes, none of which may have halted; it is received in the next superstep.
    ///
    /// It is encoded once, and travels once to each node, also in simulations.
    ///
    /// # Errors
    ///
    /// If the type of the value refuses to be encoded.
    pub fn broadcast(&mut self, message: &Message) -> Result<(), rmp_serde::encode::Error>
    where
        Message: Serialize,
    {
        let encoded = bytes::Bytes::from(rmp_serde::to_vec(message)?);
        let own = self.rank;
        let others = (0..self.size).map(Rank).filter(|rank| *rank != own);
        let envelopes = others.map(|to| (to, Envelope::Encoded(encoded.clone())));
        self.outbox.sends.extend(envelopes);
        Ok(())
    }

    /// Sends `bytes` without content, to occupy the network as a real message would. A simulation takes any number of
    /// them, real hosts at most [`MESSAGE_MAX`].
    pub fn send_sized(&mut self, to: Rank, bytes: Bytes) {
        self.outbox.sends.push((to, Envelope::Sized(bytes)));
    }

    /// Adds to the computation of this superstep. A simulated host takes time for it; a real host
    /// takes the time it takes.
    pub fn charge(&mut self, work: Instructions) {
        self.outbox.work += work;
    }

    /// Says that another process of the operating system has computed for this superstep, and for how long it had a processor. A
    /// real host, which measures the thread that calls the program, counts it as time of this process.
    pub fn computed_elsewhere(&mut self, time: Seconds) {
        self.outbox.elsewhere += time;
    }

    /// Contributes to the reduction `name`. In the next superstep, every process has the combined value of all that contributed
    /// ([`reduced`](Self::reduced)).
    ///
    /// It costs no superstep and no message: contributions travel with the barrier ([`crate::reduction`]). A process may
    /// contribute to several, also in the superstep in which it halts, or to none. Of several contributions to one
    /// name, all count.
    ///
    /// # Panics
    ///
    /// If the name is longer than [`REDUCTION_NAME_MAX`].
    ///
    /// # Examples
    ///
    /// ```
    /// use bsp::{BoxError, Max, Program, Step, Sum, Superstep, reference};
    /// use serde::{Deserialize, Serialize};
    ///
    /// #[derive(Serialize, Deserialize)]
    /// struct Norm(f64);
    ///
    /// impl Program for Norm {
    ///     type Message = ();
    ///     type Output = (f64, f64);
    ///
    ///     fn superstep(&mut self, ctx: &mut Superstep<'_, ()>) -> Result<Step<(f64, f64)>, BoxError> {
    ///         if ctx.index() == 0 {
    ///             ctx.reduce("square", Sum(self.0 * self.0));
    ///             ctx.reduce("greatest", Max(self.0));
    ///             return Ok(Step::Continue);
    ///         }
    ///         let square: f64 = ctx.reduced::<Sum<f64>>("square")?;
    ///         Ok(Step::Halt((square.sqrt(), ctx.reduced::<Max<f64>>("greatest")?)))
    ///     }
    /// }
    ///
    /// let run = reference::run([3.0, 4.0].map(Norm).into(), reference::Limit::default()).unwrap();
    /// assert_eq!(run.outputs, [(5.0, 4.0); 2]);
    /// ```
    pub fn reduce(&mut self, name: impl Into<Cow<'static, str>>, contribution: impl Reduction) {
        self.contribute(name.into(), contribution.contribute());
    }

    /// The combined value of the reduction `name` of the previous superstep.
    ///
    /// # Errors
    ///
    /// If no process contributed, or it was reduced otherwise, or an integer does not hold the sum.
    pub fn reduced<R: Reduction>(&self, name: &str) -> Result<R::Value, ReductionError> {
        self.reductions(name)?.value::<R>(name)
    }

    /// Gives `value` to all processes, for an operation that [`reduce`](Self::reduce) does not have: in the next
    /// superstep, each has the values of all that gave one ([`gathered`](Self::gathered)), and may fold them.
    ///
    /// The values of all processes travel to the top of the barrier and to every process, so this is for short ones: all together take
    /// [`REDUCTIONS_MAX`](crate::reduction::REDUCTIONS_MAX) at most.
    ///
    /// # Errors
    ///
    /// If the type of the value refuses to be encoded.
    ///
    /// # Panics
    ///
    /// If the name is longer than [`REDUCTION_NAME_MAX`].
    pub fn gather(
        &mut self,
        name: impl Into<Cow<'static, str>>,
        value: &impl Serialize,
    ) -> Result<(), rmp_serde::encode::Error> {
        let contribution = Partial::gather(self.rank, value)?;
        self.contribute(name.into(), contribution);
        Ok(())
    }

    /// The values that processes gave as `name` in the previous superstep, in rank order.
    ///
    /// # Errors
    ///
    /// If no process gave one, it was reduced otherwise, or the values are of another type.
    pub fn gathered<T: Payload>(&self, name: &str) -> Result<Vec<(Rank, T)>, ReductionError> {
        self.reductions(name)?.gathered(name)
    }

    /// Notes `value` under `name`, for people: the record of the run has, for each superstep and name, the number of values that
    /// processes noted, their sum, the least and the greatest ([`Note`](crate::Note)).
    ///
    /// Notes are a curve of a residual, how many tasks are left, how often a cell was hit. They are shown by the commands about
    /// runs. No process has them: what the program itself needs it reduces ([`reduce`](Self::reduce)). Notes and reductions may
    /// have the same names. Of several values under one name, all count. Notes cost what reductions cost, and have the same
    /// limits: a note counts for 32 bytes and its name ([`REDUCTIONS_MAX`](crate::reduction::REDUCTIONS_MAX)).
    ///
    /// # Panics
    ///
    /// If the name is empty, longer than [`REDUCTION_NAME_MAX`] or has control characters.
    ///
    /// # Examples
    ///
    /// ```
    /// use bsp::{BoxError, Note, Program, Step, Superstep, reference};
    /// use serde::{Deserialize, Serialize};
    ///
    /// #[derive(Serialize, Deserialize)]
    /// struct Halving(f64);
    ///
    /// impl Program for Halving {
    ///     type Message = ();
    ///     type Output = ();
    ///
    ///     fn superstep(&mut self, ctx: &mut Superstep<'_, ()>) -> Result<Step<()>, BoxError> {
    ///         self.0 /= 2.0;
    ///         ctx.note("residual", self.0);
    ///         Ok(if self.0 <= 1.0 { Step::Halt(()) } else { Step::Continue })
    ///     }
    /// }
    ///
    /// let run = reference::run([4.0, 8.0].map(Halving).into(), reference::Limit::default()).unwrap();
    /// let residuals: Vec<Note> = run.notes.iter().map(|(_, notes)| *notes.get("residual").unwrap()).collect();
    /// assert_eq!(residuals[0], Note { count: 2, sum: 6.0, min: 2.0, max: 4.0 });
    /// assert_eq!(residuals[2], Note { count: 1, sum: 1.0, min: 1.0, max: 1.0 });
    /// ```
    pub fn note(&mut self, name: impl Into<Cow<'static, str>>, value: impl Into<f64>) {
        self.outbox.reductions.note(name.into(), value.into());
    }

    /// Writes `value` to a file, as `MessagePack`: `snapshots/NAME/SUPERSTEP/PROCESS.msgpack` in the folder of the run.
    ///
    /// Snapshots are for people and other programs: a field every hundred supersteps, the best solution so far. The file
    /// appears whole, where the process is in this superstep: on real hosts on its node, which has the superstep end when the
    /// file is on the disk. In simulations it takes no time, and the file is in the record. A superstep that is executed again
    /// after a restart replaces the file by an equal one. Where no files are kept, snapshots are dropped.
    ///
    /// A process may take [`SNAPSHOTS_MAX`](crate::SNAPSHOTS_MAX) in a superstep, each under another name, with
    /// [`SNAPSHOT_BYTES_MAX`](crate::SNAPSHOT_BYTES_MAX) together.
    ///
    /// # Errors
    ///
    /// If the name is none ([`SnapshotName`](crate::SnapshotName)), or has been given in this superstep, if there are too many or
    /// they are too long, or if the type of the value refuses to be encoded.
    ///
    /// # Examples
    ///
    /// ```
    /// use bsp::{BoxError, Program, Step, Superstep, reference};
    /// use serde::{Deserialize, Serialize};
    ///
    /// #[derive(Serialize, Deserialize)]
    /// struct Halving(f64);
    ///
    /// impl Program for Halving {
    ///     type Message = ();
    ///     type Output = ();
    ///
    ///     fn superstep(&mut self, ctx: &mut Superstep<'_, ()>) -> Result<Step<()>, BoxError> {
    ///         self.0 /= 2.0;
    ///         if ctx.index() % 2 == 0 {
    ///             ctx.snapshot("half", &self.0)?;
    ///         }
    ///         Ok(if self.0 <= 1.0 { Step::Halt(()) } else { Step::Continue })
    ///     }
    /// }
    ///
    /// let run = reference::run(vec![Halving(8.0)], reference::Limit::default()).unwrap();
    /// let [first, last] = &run.snapshots[..] else { panic!("supersteps 0 and 2") };
    /// assert_eq!((first.name.as_str(), first.superstep), ("half", 0));
    /// assert_eq!(rmp_serde::from_slice::<f64>(&last.contents).unwrap(), 1.0);
    /// ```
    pub fn snapshot(&mut self, name: &str, value: &impl Serialize) -> Result<(), SnapshotError> {
        let encode = || rmp_serde::to_vec(value).map(bytes::Bytes::from);
        self.take_snapshot(name, SnapshotEncoding::MessagePack, encode)
    }

    /// Writes `contents` to a file, as [`snapshot`](Self::snapshot) does, without an encoding of its own: the name of the file
    /// ends with `.bin`.
    ///
    /// # Errors
    ///
    /// As [`snapshot`](Self::snapshot).
    pub fn snapshot_bytes(
        &mut self,
        name: &str,
        contents: impl Into<bytes::Bytes>,
    ) -> Result<(), SnapshotError> {
        self.take_snapshot(name, SnapshotEncoding::Bytes, || Ok(contents.into()))
    }

    /// Writes a value that is encoded as `MessagePack` to a file, as [`snapshot`](Self::snapshot) does.
    ///
    /// # Errors
    ///
    /// As [`snapshot`](Self::snapshot).
    pub fn snapshot_encoded(
        &mut self,
        name: &str,
        encoded: impl Into<bytes::Bytes>,
    ) -> Result<(), SnapshotError> {
        self.take_snapshot(name, SnapshotEncoding::MessagePack, || Ok(encoded.into()))
    }

    fn take_snapshot(
        &mut self,
        name: &str,
        encoding: SnapshotEncoding,
        encode: impl FnOnce() -> Result<bytes::Bytes, rmp_serde::encode::Error>,
    ) -> Result<(), SnapshotError> {
        let taken = (self.conditions.index, self.rank);
        self.outbox.snapshots.add(taken, name, encoding, encode)
    }

    fn contribute(&mut self, name: Cow<'static, str>, contribution: Partial) {
        assert!(
            name.len() <= REDUCTION_NAME_MAX,
            "the name of a reduction has {REDUCTION_NAME_MAX} bytes at most: `{name}`"
        );
        self.outbox.reductions.add(name, contribution);
    }

    /// Contributes an encoded value to the values that are gathered as `name` ([`gather`](Self::gather)).
    ///
    /// # Panics
    ///
    /// If the name is longer than [`REDUCTION_NAME_MAX`].
    pub fn gather_encoded(&mut self, name: impl Into<Cow<'static, str>>, value: bytes::Bytes) {
        let contribution = Partial::Gather(vec![(self.rank, value)]);
        self.contribute(name.into(), contribution);
    }

    /// All results of the superstep before, by name: for programs that do not know in advance what is reduced.
    pub fn all_reduced(&self) -> impl Iterator<Item = (&'a str, Reduced<'a>)> + use<'a, Message> {
        let reduced = self.conditions.reduced.into_iter();
        reduced.flat_map(Reductions::results)
    }

    fn reductions(&self, name: &str) -> Result<&'a Reductions, ReductionError> {
        let reduced = self.conditions.reduced;
        reduced.ok_or_else(|| ReductionError::Absent(name.to_owned()))
    }

    /// Which process this is.
    #[must_use]
    pub const fn rank(&self) -> Rank {
        self.rank
    }

    /// How many processes there are.
    #[must_use]
    pub const fn size(&self) -> u32 {
        self.size
    }

    /// All processes, in rank order.
    pub fn ranks(&self) -> impl Iterator<Item = Rank> + use<Message> {
        (0..self.size).map(Rank)
    }

    /// Which superstep this is, from 0.
    #[must_use]
    pub const fn index(&self) -> u64 {
        self.conditions.index
    }

    /// How long this process computed in its last superstep, as its runner measured it; zero in the first.
    ///
    /// On a simulated host it is the simulated time, on a real one the time for which the process had a processor. It is for
    /// programs that divide their work by the speed of their processes. The outputs must not depend on it
    /// ([`Program`](crate::Program)).
    #[must_use]
    pub const fn elapsed(&self) -> Seconds {
        self.conditions.elapsed
    }

    /// Whether process `rank` is on standby: its host has not joined, and until then it runs on the host of another process.
    ///
    /// It is for programs that leave such processes without work. The outputs must not depend on it
    /// ([`Program`](crate::Program)).
    #[must_use]
    pub fn is_standby(&self, rank: Rank) -> bool {
        self.conditions.standby.binary_search(&rank).is_ok()
    }

    /// The processes on standby, in rank order ([`is_standby`](Self::is_standby)).
    #[must_use]
    pub const fn standby(&self) -> &'a [Rank] {
        self.conditions.standby
    }

    /// The process with the next lower rank, if there is one.
    #[must_use]
    pub fn left(&self) -> Option<Rank> {
        self.rank.0.checked_sub(1).map(Rank)
    }

    /// The process with the next higher rank, if there is one.
    #[must_use]
    pub fn right(&self) -> Option<Rank> {
        let right = self.rank.0 + 1;
        (right < self.size).then_some(Rank(right))
    }
}

impl<Message> Default for Inbox<Message> {
    fn default() -> Self {
        Self {
            messages: Vec::new(),
            sized: Vec::new(),
        }
    }
}

impl<Message> Default for Outbox<Message> {
    fn default() -> Self {
        Self {
            work: Instructions::ZERO,
            elsewhere: Seconds::ZERO,
            sends: Vec::new(),
            reductions: Reductions::default(),
            snapshots: Snapshots::default(),
        }
    }
}

/// The longest message that a process may send, in its encoding: the same in every runner, wherever its receiver is. Where a
/// process moves or is saved with its messages, the length of each has 32 bits.
pub const MESSAGE_MAX: Bytes = Bytes((1 << 32) - 1);

/// Bytes that `value` takes in compact `MessagePack`.
///
/// The value is encoded into a counter: nothing is allocated, and nothing is kept. That takes 2 to 4 times as long as
/// adding up lengths without an encoder, 60 ns for the report of a process, and a fifteenth of encoding it.
///
/// # Errors
///
/// If its type refuses to be encoded.
pub fn encoded_len(value: &impl Serialize) -> Result<Bytes, rmp_serde::encode::Error> {
    let mut length = Length(0);
    rmp_serde::encode::write(&mut length, value)?;
    Ok(Bytes(length.0))
}

/// Counts what is written into it.
struct Length(u64);

impl io::Write for Length {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.write_all(bytes)?;
        Ok(bytes.len())
    }

    /// Encoders call this for each number: what `Write` has in its place calls [`Self::write`] as long as bytes are left.
    #[inline]
    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.0 += length(bytes.len());
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
