//! One superstep of one process, and where its messages may go.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::error::Error;
use crate::ids::Rank;
use crate::program::{Program, Step};
use crate::superstep::{Conditions, GaveUp, Inbox, MESSAGE_MAX, Outbox, Superstep};
use crate::units::Bytes;

/// Checks that the message `from` → `to` can be received: `to` exists and will read it.
///
/// `halted` tells in which superstep a process halted. A message that is only a size may go to a
/// process that halts in the same superstep: it is traffic, and nothing in it is lost.
///
/// # Errors
///
/// [`Error::NoSuchRank`] and [`Error::Halted`].
///
/// # Panics
///
/// If there are 2³² processes or more.
#[inline]
pub fn check_receiver(
    (from, to): (Rank, Rank),
    is_sized: bool,
    superstep: u64,
    halted: &[Option<u64>],
) -> Result<(), Error> {
    match halted.get(to.index()) {
        None => {
            let size = u32::try_from(halted.len()).expect("ranks fit 32 bits");
            Err(Error::NoSuchRank {
                from,
                to,
                superstep,
                size,
            })
        }
        Some(&Some(halted)) if halted < superstep || !is_sized => Err(Error::Halted {
            from,
            to,
            superstep,
            halted,
        }),
        Some(_) => Ok(()),
    }
}

/// Checks that the message `from` → `to` of `length`, sent in `superstep`, is not longer than a message may be.
///
/// # Errors
///
/// [`Error::TooLong`].
#[inline]
pub const fn check_length(
    (from, to): (Rank, Rank),
    length: Bytes,
    superstep: u64,
) -> Result<(), Error> {
    if length.0 <= MESSAGE_MAX.0 {
        return Ok(());
    }
    Err(Error::TooLong {
        from,
        to,
        superstep,
        length,
    })
}

/// Executes one superstep of one process, and turns a panic into an error.
///
/// # Errors
///
/// [`Error::Panicked`] and [`Error::GaveUp`].
pub fn execute<P: Program>(
    program: &mut P,
    (rank, size): (Rank, u32),
    conditions: Conditions<'_>,
    inbox: &mut Inbox<P::Message>,
    outbox: &mut Outbox<P::Message>,
) -> Result<Step<P::Output>, Error> {
    catch_unwind(AssertUnwindSafe(|| {
        let who = (rank, size);
        program.superstep(&mut Superstep::new(who, conditions, inbox, outbox))
    }))
    .map_err(|panic| {
        let superstep = conditions.index;
        let panic = match panic.downcast::<GaveUp>() {
            Ok(gave_up) => {
                return Error::GaveUp {
                    rank,
                    superstep,
                    message: gave_up.0,
                };
            }
            Err(panic) => panic,
        };
        Error::Panicked {
            rank,
            superstep,
            message: panic_message(&*panic),
        }
    })
}

/// What a panic says.
#[must_use]
pub fn panic_message(panic: &(dyn Any + Send)) -> String {
    panic
        .downcast_ref::<&str>()
        .map(ToString::to_string)
        .or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "no message".to_owned())
}
