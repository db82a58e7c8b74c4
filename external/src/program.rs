//! A process of an external program, as a program.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

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
use crate::trace::{self, ProgramTrace, Recording};

/// A process of an external program.
///
/// Its state is in an executor, or is bytes that no executor has yet: where a process arrives, the first superstep or
/// the next move needs the executor, and not the arrival.
pub struct External {
    rank: Rank,
    known: Known,
    /// Of the program that has made or saved the process; 0 if it does not say.
    version: u64,
    body: Body,
}

/// What executes a process.
enum Body {
    /// An executor.
    Executed {
        executors: Arc<Executors>,
        place: Mutex<Place>,
        /// Where what it does is recorded, if it is.
        recording: Option<Recording>,
    },
    /// Nothing: it does again what it did before.
    Replayed(Arc<ProgramTrace>),
}

/// Where the state of a process is.
enum Place {
    /// In an executor.
    Live(Seat),
    /// Here.
    Frozen(Bytes),
}

/// What the program has said of a process.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Known {
    /// The length of the state; 0 if it is not known.
    length: u64,
    /// The superstep before which it halts at the latest; [`UNKNOWN`] if it is not known.
    end: u64,
    /// The part of the whole computation that is done; not a number if it is not known.
    progress: f64,
}

impl Known {
    /// Nothing is known.
    pub(crate) const NOTHING: Self = Self {
        length: 0,
        end: UNKNOWN,
        progress: f64::NAN,
    };
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
        match seat.start(rank) {
            Ok(Ready { length, left }) => Ok(Self {
                rank,
                version: executors.version(),
                known: Known {
                    length: length.unwrap_or(0),
                    end: left.unwrap_or(UNKNOWN),
                    ..Known::NOTHING
                },
                body: Body::Executed {
                    executors: Arc::clone(executors),
                    place: Mutex::new(Place::Live(seat)),
                    recording: None,
                },
            }),
            Err(error) => {
                executors.leave(&seat);
                Err(error)
            }
        }
    }

    /// The same process, what it does being recorded.
    pub(crate) fn recorded(mut self, to: Recording) -> Self {
        if let Body::Executed { recording, .. } = &mut self.body {
            *recording = Some(to);
        }
        self
    }

    /// What the program has said of the process.
    pub(crate) const fn known(&self) -> Known {
        self.known
    }

    /// Process `rank` of `trace`, which does again what it did.
    pub(crate) fn replayed(trace: &Arc<ProgramTrace>, rank: Rank, known: Known) -> Self {
        Self {
            rank,
            known,
            version: 0,
            body: Body::Replayed(Arc::clone(trace)),
        }
    }
}

/// The place of a process in an executor, which it gets now if it has none.
fn seat<'a>(
    executors: &Executors,
    place: &'a mut Mutex<Place>,
    (rank, version): (Rank, u64),
) -> Result<&'a Seat, ExecutorError> {
    let place = place.get_mut().unwrap_or_else(PoisonError::into_inner);
    if let Place::Frozen(state) = place {
        let seat = executors.seat()?;
        let own = executors.version();
        if own != version && own != 0 && version != 0 {
            executors.leave(&seat);
            let name = executors.recipe().name.clone();
            return Err(ExecutorError::OtherVersion { name });
        }
        if let Err(error) = seat.load(rank, state) {
            executors.leave(&seat);
            return Err(error);
        }
        *place = Place::Live(seat);
    }
    match place {
        Place::Live(seat) => Ok(seat),
        Place::Frozen(_) => unreachable!("it has just been loaded"),
    }
}

/// The state of a process, of which a copy is made if an executor has it.
fn state(place: &Mutex<Place>, known: Known) -> Result<Bytes, ExecutorError> {
    match &*place.lock().unwrap_or_else(PoisonError::into_inner) {
        Place::Frozen(state) => Ok(state.clone()),
        Place::Live(seat) => seat.save(known.length),
    }
}

impl Drop for External {
    fn drop(&mut self) {
        if let Body::Executed {
            executors, place, ..
        } = &mut self.body
        {
            let place = place.get_mut().unwrap_or_else(PoisonError::into_inner);
            if let Place::Live(seat) = place {
                executors.leave(seat);
            }
        }
    }
}

impl Serialize for External {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (key, state) = match &self.body {
            Body::Replayed(trace) => (trace.key(), Bytes::new()),
            Body::Executed {
                executors, place, ..
            } => {
                let welcome = executors.welcome().map_err(ser::Error::custom)?;
                if !welcome.can_save {
                    let name = &executors.recipe().name;
                    return Err(ser::Error::custom(format!(
                        "{name} has no functions that save and load its processes, so they cannot move or be saved: give it those, or run it \
                         with `--policy none --set checkpoint.copies=false`"
                    )));
                }
                let state = state(place, self.known).map_err(ser::Error::custom)?;
                (executors.key(), state)
            }
        };
        (key, self.rank, self.version, self.known, Blob(state)).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for External {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (key, rank, version, known, Blob(state)) = Deserialize::deserialize(deserializer)?;
        let body = if let Some(executors) = executors::find(key) {
            Body::Executed {
                executors,
                place: Mutex::new(Place::Frozen(state)),
                recording: None,
            }
        } else if let Some(trace) = trace::find(key) {
            Body::Replayed(trace)
        } else {
            return Err(de::Error::custom(
                "it is a state of another program, or of other parameters, than the job's",
            ));
        };
        Ok(Self {
            rank,
            known,
            version,
            body,
        })
    }
}

/// What the encoding of a process has beside its state, at most.
const ENVELOPE: u64 = 64;

impl Program for External {
    type Message = Blob;
    type Output = Output;

    fn superstep(&mut self, ctx: &mut Superstep<'_, Blob>) -> Result<Step<Output>, BoxError> {
        let (executors, place, recording) = match &mut self.body {
            Body::Executed {
                executors,
                place,
                recording,
            } => (executors, place, recording),
            Body::Replayed(trace) => {
                let (known, output) = trace.replay(ctx)?;
                self.known = known;
                return Ok(output.map_or(Step::Continue, Step::Halt));
            }
        };
        let recipe = executors.recipe();
        let seat = seat(executors, place, (self.rank, self.version))?;
        let within = recipe.superstep_timeout;
        let mut done = seat.step(|handle| step(handle, ctx), within, Done::read)?;
        if done.has_looked {
            executors.look();
        }
        let charge = match recipe.measured {
            Some(speed) => Instructions(bsp::numbers::whole(done.busy.get() * speed)),
            None => done.charge,
        };
        self.known = Known {
            length: done.length.unwrap_or(0),
            end: done
                .left
                .map_or(UNKNOWN, |left| (ctx.index() + 1).saturating_add(left)),
            progress: done.progress.unwrap_or(f64::NAN),
        };
        if let Some(recording) = recording {
            recording.add(&done, charge, self.known);
        }
        ctx.computed_elsewhere(done.busy);
        ctx.charge(charge);
        done.carry_out(ctx)?;
        Ok(done.output.map_or(Step::Continue, Step::Halt))
    }

    fn memory(&self) -> Option<MemorySize> {
        // Asked for often: a program that says it after each superstep is not asked to save itself for that.
        let length = self.known.length;
        (length != 0).then(|| Amount(length.saturating_add(ENVELOPE)).into())
    }

    fn remaining(&self, completed: u64) -> Option<u64> {
        (self.known.end != UNKNOWN).then(|| self.known.end.saturating_sub(completed))
    }

    fn progress(&self) -> Option<f64> {
        (!self.known.progress.is_nan()).then_some(self.known.progress)
    }
}
