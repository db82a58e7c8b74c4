//! A process of an external program, as a program.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bsp::units::{Bytes as Amount, Instructions};
use bsp::{BoxError, MemorySize, Program, Rank, Step, Superstep};
use bytes::Bytes;
use serde::de::{self, Deserializer};
use serde::ser::{self, Serializer};
use serde::{Deserialize, Serialize};

use crate::data::{Blob, Output};
use crate::executor::ExecutorError;
use crate::executors::{self, Executors, Ready, Seat};
use crate::frame::UNKNOWN;
use crate::step::{Done, step};

/// A process of an external program.
///
/// Its state is in an executor, or is bytes that no executor has yet: where a process arrives, the first superstep or
/// the next move needs the executor, and not the arrival.
pub struct External {
    executors: Arc<Executors>,
    rank: Rank,
    place: Mutex<Place>,
    known: Known,
}

/// Where the state of a process is.
enum Place {
    /// In an executor.
    Live(Seat),
    /// Here.
    Frozen(Bytes),
}

/// What the program has said of a process.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Known {
    /// The length of the state; 0 if it is not known.
    length: u64,
    /// The superstep before which it halts at the latest; [`UNKNOWN`] if it is not known.
    end: u64,
    /// The part of the whole computation that is done; not a number if it is not known.
    progress: f64,
}

impl fmt::Debug for External {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("External")
            .field("rank", &self.rank)
            .field("known", &self.known)
            .finish_non_exhaustive()
    }
}

impl External {
    /// Process `rank`, as the program makes it.
    ///
    /// # Errors
    ///
    /// If the program does not.
    pub fn new(executors: &Arc<Executors>, rank: Rank) -> Result<Self, ExecutorError> {
        let seat = executors.seat()?;
        let made = seat.start(rank);
        let process = |known, seat| Self {
            executors: Arc::clone(executors),
            rank,
            place: Mutex::new(Place::Live(seat)),
            known,
        };
        match made {
            Ok(Ready { length, left }) => Ok(process(
                Known {
                    length: length.unwrap_or(0),
                    end: left.unwrap_or(UNKNOWN),
                    progress: f64::NAN,
                },
                seat,
            )),
            Err(error) => {
                executors.leave(&seat);
                Err(error)
            }
        }
    }

    fn place(&self) -> MutexGuard<'_, Place> {
        self.place.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The place of the process in an executor, which it gets now if it has none.
    fn seat(&mut self) -> Result<&Seat, ExecutorError> {
        let place = self.place.get_mut().unwrap_or_else(PoisonError::into_inner);
        if let Place::Frozen(state) = place {
            let seat = self.executors.seat()?;
            if let Err(error) = seat.load(self.rank, state) {
                self.executors.leave(&seat);
                return Err(error);
            }
            *place = Place::Live(seat);
        }
        match place {
            Place::Live(seat) => Ok(seat),
            Place::Frozen(_) => unreachable!("it has just been loaded"),
        }
    }

    /// The state, of which a copy is made if an executor has it.
    fn state(&self) -> Result<Bytes, ExecutorError> {
        match &*self.place() {
            Place::Frozen(state) => Ok(state.clone()),
            Place::Live(seat) => seat.save(self.known.length),
        }
    }
}

impl Drop for External {
    fn drop(&mut self) {
        let place = self.place.get_mut().unwrap_or_else(PoisonError::into_inner);
        if let Place::Live(seat) = place {
            self.executors.leave(seat);
        }
    }
}

impl Serialize for External {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let welcome = self.executors.welcome().map_err(ser::Error::custom)?;
        if !welcome.can_save {
            let name = &self.executors.recipe().name;
            return Err(ser::Error::custom(format!(
                "{name} cannot save its processes: it has no functions that save and load them"
            )));
        }
        let state = self.state().map_err(ser::Error::custom)?;
        (self.executors.key(), self.rank, self.known, Blob(state)).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for External {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (key, rank, known, Blob(state)) = Deserialize::deserialize(deserializer)?;
        let executors = executors::find(key);
        let executors = executors.ok_or_else(|| {
            de::Error::custom(
                "it is a state of another program, or of other parameters, than the job's",
            )
        })?;
        Ok(Self {
            executors,
            rank,
            place: Mutex::new(Place::Frozen(state)),
            known,
        })
    }
}

/// What the encoding of a process has beside its state, at most.
const ENVELOPE: u64 = 64;

impl Program for External {
    type Message = Blob;
    type Output = Output;

    fn superstep(&mut self, ctx: &mut Superstep<'_, Blob>) -> Result<Step<Output>, BoxError> {
        let executors = Arc::clone(&self.executors);
        let recipe = executors.recipe();
        let seat = self.seat()?;
        let mut done = seat.step(
            |handle| step(handle, ctx),
            recipe.superstep_timeout,
            Done::read,
        )?;
        done.carry_out(ctx)?;
        if done.has_looked {
            executors.look();
        }
        ctx.computed_elsewhere(done.busy);
        ctx.charge(match recipe.measured {
            Some(speed) => Instructions(bsp::numbers::whole(done.busy.get() * speed)),
            None => done.charge,
        });
        self.known = Known {
            length: done.length.unwrap_or(0),
            end: done
                .left
                .map_or(UNKNOWN, |left| (ctx.index() + 1).saturating_add(left)),
            progress: done.progress.unwrap_or(f64::NAN),
        };
        Ok(done.output.map_or(Step::Continue, Step::Halt))
    }

    fn memory(&self) -> Option<MemorySize> {
        // Asked for often: the program is not asked to save itself for that.
        Some(Amount(self.known.length + ENVELOPE).into())
    }

    fn remaining(&self, completed: u64) -> Option<u64> {
        (self.known.end != UNKNOWN).then(|| self.known.end.saturating_sub(completed))
    }

    fn progress(&self) -> Option<f64> {
        (!self.known.progress.is_nan()).then_some(self.known.progress)
    }
}
