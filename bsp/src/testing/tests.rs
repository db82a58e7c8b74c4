use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use serde::{Deserialize, Serialize};

use super::*;
use crate::array::Array;
use crate::program::{BoxError, Step};
use crate::reference;
use crate::superstep::Superstep;

/// Breaks no law, or one of them in a superstep of its own.
#[derive(Clone, Serialize, Deserialize)]
struct Suspect {
    fault: Fault,
    sum: u64,
    #[serde(skip)]
    cache: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    sometimes: Option<u64>,
    #[serde(serialize_with = "as_it_likes")]
    moody: Cell<u64>,
    shared: Shared,
    last: u64,
}

/// A number that clones have in common.
#[derive(Clone, Debug, Default)]
struct Shared(Arc<AtomicU64>);

impl Serialize for Shared {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.load(Ordering::Relaxed).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Shared {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let number = u64::deserialize(deserializer)?;
        Ok(Self(Arc::new(number.into())))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
enum Fault {
    None,
    /// Needs what is not encoded.
    Cache,
    /// Needs a global counter.
    Counter,
    /// Leaves out a field.
    Sometimes,
    /// Is encoded in two ways.
    Moody,
    /// Declares one byte.
    Memory,
    /// Never halts.
    Endless,
    /// Names an end that is too early.
    Late,
    /// Counts long computation times.
    Clock,
    /// Forks another program.
    Fork,
    /// Changes what its fork has in common with it.
    SharedFork,
}

fn as_it_likes<S: serde::Serializer>(moody: &Cell<u64>, serializer: S) -> Result<S::Ok, S::Error> {
    let value = moody.get();
    serializer.serialize_u64(value.saturating_sub(1))
}

static COUNTER: AtomicU64 = AtomicU64::new(0);

impl Program for Suspect {
    type Message = u64;
    type Output = u64;

    fn superstep(&mut self, ctx: &mut Superstep<'_, u64>) -> Result<Step<u64>, BoxError> {
        self.sum += ctx.receive().map(|(_, value)| value).sum::<u64>();
        let is_third = ctx.rank() == Rank(2) && 3 <= ctx.index();
        if is_third {
            match self.fault {
                Fault::Cache => self.sum += self.cache,
                Fault::Counter => self.sum += COUNTER.fetch_add(1, Ordering::Relaxed),
                Fault::Sometimes => self.sometimes = None,
                Fault::Moody => self.moody.set(5),
                Fault::Clock if 0.1 < ctx.elapsed().get() => self.sum += 1,
                Fault::SharedFork => self.shared.0.store(9, Ordering::Relaxed),
                Fault::None
                | Fault::Memory
                | Fault::Late
                | Fault::Endless
                | Fault::Clock
                | Fault::Fork => {}
            }
        }
        self.cache = 1;
        self.sum += 1;
        ctx.charge(crate::units::Instructions(self.sum));
        if ctx.index() == 6 && self.fault != Fault::Endless {
            return Ok(Step::Halt(self.sum));
        }
        if let Some(right) = ctx.right() {
            ctx.send(right, self.sum);
            ctx.send_sized(right, Bytes(self.sum));
        }
        Ok(Step::Continue)
    }

    fn memory(&self) -> Option<MemorySize> {
        (self.fault == Fault::Memory).then(|| Bytes(1).into())
    }

    fn remaining(&self, completed: u64) -> Option<u64> {
        match self.fault {
            Fault::None => Some(7_u64.saturating_sub(completed)),
            Fault::Late => Some(5_u64.saturating_sub(completed)),
            Fault::Cache
            | Fault::Counter
            | Fault::Sometimes
            | Fault::Moody
            | Fault::Memory
            | Fault::Clock
            | Fault::Fork
            | Fault::SharedFork
            | Fault::Endless => None,
        }
    }

    fn fork(&self) -> Option<Self> {
        let mut fork = self.clone();
        match self.fault {
            Fault::None | Fault::SharedFork => {}
            // The last process after its first superstep.
            Fault::Fork if self.last == 10 && self.cache == 1 => fork.sum += 1,
            Fault::Fork => {}
            Fault::Cache
            | Fault::Counter
            | Fault::Sometimes
            | Fault::Moody
            | Fault::Memory
            | Fault::Clock
            | Fault::Late
            | Fault::Endless => return None,
        }
        Some(fork)
    }
}

fn suspects(fault: Fault) -> Vec<Suspect> {
    let suspect = Suspect {
        fault,
        sum: 0,
        cache: 0,
        sometimes: Some(3),
        moody: Cell::new(0),
        shared: Shared::default(),
        last: 7,
    };
    let of_rank = |last| Suspect {
        last,
        shared: Shared::default(),
        ..suspect.clone()
    };
    (7..11).map(of_rank).collect()
}

fn check(fault: Fault, expected: &str) {
    let error = verify(|| suspects(fault), Limit(50)).unwrap_err();
    assert_eq!(error.to_string(), expected);
}

#[test]
fn lawful_programs_give_the_results_of_the_reference() {
    let checked = super::check(|| suspects(Fault::None));
    let expected = reference::run(suspects(Fault::None), Limit::default()).unwrap();
    assert_eq!(checked.run, expected);
    assert_eq!(checked.moves, 4 * 7);
    assert!(Bytes(4) < checked.state_max, "{:?}", checked.state_max);
}

#[test]
fn stale_caches_are_reported_in_the_superstep_that_reads_them() {
    check(
        Fault::Cache,
        "with every process moved before every superstep: p3's charge of superstep 3 is another; \
         a field that is skipped has to be rebuilt from the others",
    );
}

#[test]
fn outside_state_is_reported() {
    check(
        Fault::Counter,
        "run again: p3's charge of superstep 3 is another; nothing but the state and the inbox may \
         matter: no clock, no random numbers from outside",
    );
    let calls = AtomicU64::new(0);
    let build = || {
        let call = calls.fetch_add(1, Ordering::Relaxed);
        let mut suspects = suspects(Fault::None);
        suspects[1].sum = call / 2;
        suspects
    };
    assert_eq!(
        verify(build, Limit(50)).unwrap_err().to_string(),
        "run again: p2's state before superstep 0 is another; nothing but the state and the inbox may \
         matter: no clock, no random numbers from outside",
    );
}

#[test]
fn outputs_that_depend_on_times_are_reported() {
    check(
        Fault::Clock,
        "with computation times at random: p3's output of superstep 6 is another; `Superstep::elapsed` may decide \
         what is computed where, and no output",
    );
}

#[test]
fn sometimes_skipped_fields_cannot_be_decoded() {
    let error = verify(|| suspects(Fault::Sometimes), Limit(50)).unwrap_err();
    let text = error.to_string();
    assert!(
        text.starts_with("p3's state before superstep 4 cannot be decoded from its encoding: "),
        "{text}"
    );
}

#[test]
fn unstable_encodings_are_reported() {
    check(
        Fault::Moody,
        "p3's state before superstep 4 is encoded otherwise once it has been decoded; \
         a `HashMap` has no order, a `BTreeMap` has one",
    );
}

#[test]
fn declared_memory_below_the_encoded_state_is_refused() {
    let error = verify(|| suspects(Fault::Memory), Limit(50)).unwrap_err();
    let text = error.to_string();
    assert!(
        text.starts_with(
            "p1 declares 1 B of memory before superstep 0, but its encoded state takes "
        ),
        "{text}"
    );
}

#[test]
fn a_process_that_goes_on_after_the_end_that_it_named_is_reported() {
    check(
        Fault::Late,
        "p1 executes superstep 5, but had said that it would have halted by then; \
         `Program::remaining` has to be the most supersteps that are left, or `None`",
    );
}

#[test]
fn a_fork_that_is_encoded_otherwise_is_reported() {
    check(
        Fault::Fork,
        "p4's fork before superstep 1 is encoded otherwise than the process; \
         `Program::fork` has to return an equal program, or `None`",
    );
}

#[test]
fn a_fork_that_the_process_changes_is_reported() {
    check(
        Fault::SharedFork,
        "p3 changes in superstep 3 what its fork is encoded to; \
         a fork may share only what no superstep changes",
    );
}

#[test]
fn endless_programs_are_refused() {
    check(
        Fault::Endless,
        "p1 had not halted after 50 supersteps; if it needs more, raise the limit (in experiments `run.superstep_limit`)",
    );
}

/// A message that is encoded as 4 095 blocks of zeros and so many zeros more, though it never has the memory of all of them.
#[derive(Clone)]
struct Vast(usize);

const BLOCKS: usize = 4095;
const BLOCK: usize = 1 << 20;

impl Serialize for Vast {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use serde::ser::SerializeSeq;

        let mut sequence = serializer.serialize_seq(Some(BLOCKS + 1))?;
        let block = Array::from(vec![0_u8; BLOCK]);
        (0..BLOCKS).try_for_each(|_| sequence.serialize_element(&block))?;
        sequence.serialize_element(&Array::from(vec![0_u8; self.0]))?;
        sequence.end()
    }
}

impl<'de> Deserialize<'de> for Vast {
    fn deserialize<D: serde::Deserializer<'de>>(_: D) -> Result<Self, D::Error> {
        Err(serde::de::Error::custom("nothing decodes it here"))
    }
}

/// Process 2 sends process 1 a message of so many zeros in superstep 1.
#[derive(Clone, Serialize, Deserialize)]
struct Sender(usize);

impl Program for Sender {
    type Message = Vast;
    type Output = ();

    fn superstep(&mut self, ctx: &mut Superstep<'_, Vast>) -> Result<Step<()>, BoxError> {
        if ctx.index() == 1 && ctx.rank() == Rank(1) {
            ctx.send(Rank(0), Vast(self.0));
            ctx.send_sized(Rank(0), Bytes(1 << 40));
        }
        if ctx.index() < 2 {
            Ok(Step::Continue)
        } else {
            Ok(Step::Halt(()))
        }
    }
}

#[test]
fn a_message_has_4_gib_at_most_wherever_it_goes() {
    // MessagePack has three bytes before the elements, and five before each of them: a marker, and four of the length.
    let longest = (1 << 32) - 1 - 3 - BLOCKS * (5 + BLOCK) - 5;
    let run = |zeros| reference::run(vec![Sender(zeros); 2], Limit::default());
    assert!(run(longest).is_ok());
    let expected = reference::Error::TooLong {
        from: Rank(1),
        to: Rank(0),
        superstep: 1,
        length: Bytes(1 << 32),
    };
    assert_eq!(run(longest + 1), Err(expected.clone()));
    assert_eq!(
        expected.to_string(),
        "p2 sent p1 a message of 4294967296 B in superstep 1; a message may have 4294967295 B, wherever its receiver is: \
         send it in parts"
    );
    let found = verify(|| vec![Sender(longest + 1); 2], Limit::default());
    assert_eq!(found, Err(Error::Plain(expected)));
}
