//! How long computations on a node last, compared with the processor time that they take.

use std::thread;
use std::time::{Duration, Instant};

use bsp::units::{Instructions, InstructionsPerSecond, Seconds};
use machines::time::seconds;

use super::played_host::PlayedHost;
use super::share::Share;

/// How long computations on a node last, compared with the processor time that they take.
#[derive(Clone, Debug)]
pub enum Pace {
    /// The node gives programs a fraction of its processors.
    Share(Share),
    /// The node plays a host of a platform.
    Played(PlayedHost),
}

/// A computation that a thread has executed.
pub(super) struct Computed {
    /// The processor time that it took.
    pub(super) busy: Duration,
    pub(super) work: Instructions,
    /// The time for which it has had a processor so far.
    pub(super) held: Seconds,
}

impl Pace {
    /// What a node whose processors execute `speed` offers programs.
    pub(super) fn offered(&self, speed: InstructionsPerSecond) -> InstructionsPerSecond {
        match self {
            Self::Share(share) => {
                InstructionsPerSecond::new(speed.get() * share.get()).expect("a part of a speed")
            }
            Self::Played(host) => host.speed(),
        }
    }

    /// Sleeps until these computations end, which a thread has begun at `began` and executed one after the other, and
    /// makes the time for which each has had a processor longer by that.
    ///
    /// Returns whether they end.
    pub(super) fn rest(&self, began: Instant, computed: &mut [Computed]) -> bool {
        match self {
            Self::Share(share) if *share == Share::WHOLE => {}
            Self::Share(share) => {
                let rests = computed.iter_mut().map(|computation| {
                    let rest = share.rest(computation.busy);
                    computation.held += seconds(rest);
                    rest
                });
                thread::sleep(rests.fold(Duration::ZERO, Duration::saturating_add));
            }
            Self::Played(host) => {
                let works: Vec<Instructions> = computed.iter().map(|done| done.work).collect();
                let Some(end) = host.end(began, &works) else {
                    return false;
                };
                thread::sleep(end.saturating_duration_since(Instant::now()));
                let all = works.iter().copied().sum::<Instructions>().as_f64();
                let took = seconds(began.elapsed());
                for computation in computed.iter_mut().filter(|_| 0.0 < all) {
                    computation.held = took * (computation.work.as_f64() / all);
                }
            }
        }
        true
    }

    /// The host that is played, if one is. Computations are then worth what programs charge, and not what this machine
    /// takes for them.
    pub(super) fn played(&self) -> Option<&PlayedHost> {
        match self {
            Self::Share(_) => None,
            Self::Played(host) => Some(host),
        }
    }
}
