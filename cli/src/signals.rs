//! Signals that end a process.

use std::process;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock, mpsc};
use std::thread;

use experiments::Failure;
use tokio::runtime;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{oneshot, watch};

/// SIGINT, SIGTERM, SIGHUP or SIGUSR1, once the process has received one. Clones share it.
#[derive(Clone, Debug, Default)]
pub(crate) struct TerminationSignal(Arc<State>);

#[derive(Debug, Default)]
struct State {
    /// The number of the signal; 0 before there is one.
    number: watch::Sender<u8>,
    /// The number of [`Waiting`].
    waiting: AtomicUsize,
    /// Set once a thread listens.
    is_heard: OnceLock<()>,
    handling: Handling,
    /// How often SIGHUP has asked to read files again.
    reloads: watch::Sender<u64>,
    /// Whether the number was [raised](TerminationSignal::raise), and the process has not received a signal.
    is_raised: AtomicBool,
}

/// What the signals of a process do.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) enum Handling {
    /// Each of them ends it.
    #[default]
    End,
    /// SIGHUP asks to read files again. SIGUSR1 has no effect: resource managers send it to all processes of a job before its time is
    /// over.
    Serve,
    /// They are reported by their number, and the parent of the process ends it.
    Report(fn(u8)),
}

/// While this lives, the first signal does not end the process.
#[derive(Debug)]
pub(crate) struct Waiting(TerminationSignal);

impl TerminationSignal {
    /// That of a process whose signals do something else.
    pub(crate) fn handled(handling: Handling) -> Self {
        Self(Arc::new(State {
            handling,
            ..State::default()
        }))
    }

    /// Another process of the same job has received the signal of this number: acts as if this one had, unless it has received one. The
    /// next one that it receives is the same, or one that follows it, and does not end it at once.
    pub(crate) fn raise(&self, number: u8) {
        if self.number().is_none() {
            self.0.is_raised.store(true, Ordering::Relaxed);
            self.0.number.send_replace(number);
        }
    }

    /// The number of the signal, if one was received.
    pub(crate) fn number(&self) -> Option<u8> {
        match *self.0.number.borrow() {
            0 => None,
            number => Some(number),
        }
    }

    /// Ready when a signal has been received. After that, or while nothing waits, a signal ends the process
    /// immediately.
    pub(crate) async fn received(self) {
        let waiting = self.wait();
        let mut number = self.0.number.subscribe();
        // The sender is in `self`.
        drop(number.wait_for(|number| *number != 0).await);
        drop(waiting);
    }

    /// Changes each time that SIGHUP asks to read files again, if the signals of this process are [`Handling::Serve`].
    pub(crate) fn reloads(&self) -> watch::Receiver<u64> {
        self.0.reloads.subscribe()
    }

    /// Takes the first signal from now on, also where no task waits for it.
    pub(crate) fn wait(&self) -> Waiting {
        self.0.waiting.fetch_add(1, Ordering::Relaxed);
        self.0.is_heard.get_or_init(|| {
            let signal = self.clone();
            let thread = thread::Builder::new().name("signals".to_owned());
            let (hears, heard) = mpsc::channel();
            // Without a handler, the system ends the process.
            drop(thread.spawn(move || signal.listen(&hears)));
            let _is_heard = heard.recv();
        });
        Waiting(self.clone())
    }

    /// Handles signals, and says so once it does.
    fn listen(&self, hears: &mpsc::Sender<()>) {
        let built = runtime::Builder::new_current_thread().enable_all().build();
        let Ok(runtime) = built else { return };
        let _entered = runtime.enter();
        let kinds = [
            SignalKind::interrupt(),
            SignalKind::terminate(),
            SignalKind::hangup(),
            SignalKind::user_defined1(),
        ];
        let [
            Ok(mut interrupt),
            Ok(mut terminate),
            Ok(mut hangup),
            Ok(mut user),
        ] = kinds.map(signal)
        else {
            return;
        };
        let _waits = hears.send(());
        loop {
            let [interrupted, terminated, hung_up, told] = kinds;
            let kind = runtime.block_on(async {
                tokio::select! {
                    _ = interrupt.recv() => interrupted,
                    _ = terminate.recv() => terminated,
                    _ = hangup.recv() => hung_up,
                    _ = user.recv() => told,
                }
            });
            let number = u8::try_from(kind.as_raw_value()).unwrap_or(u8::MAX);
            match self.0.handling {
                Handling::End => {}
                Handling::Serve if kind == hung_up => {
                    self.0.reloads.send_modify(|reloads| *reloads += 1);
                    continue;
                }
                Handling::Serve if kind == told => continue,
                Handling::Serve => {}
                Handling::Report(report) => {
                    report(number);
                    continue;
                }
            }
            if self.0.is_raised.swap(false, Ordering::Relaxed) {
                continue;
            }
            if self.number().is_some() || self.0.waiting.load(Ordering::Relaxed) == 0 {
                process::exit(128_i32.saturating_add(number.into()));
            }
            self.0.number.send_replace(number);
        }
    }
}

/// The result of `work`, on a thread of its own; `None` as soon as a signal asks to end, after which the work is not waited
/// for.
///
/// # Errors
///
/// If the thread that waits cannot be made.
pub(crate) fn until<Done: Send + 'static>(
    termination: &TerminationSignal,
    work: impl FnOnce() -> Done + Send + 'static,
) -> Result<Option<Done>, Failure> {
    let (sender, done) = oneshot::channel();
    let working = thread::spawn(move || drop(sender.send(work())));
    let runtime = runtime::Builder::new_current_thread().build();
    let ended = runtime.map_err(Failure::run)?.block_on(async {
        tokio::select! {
            biased;
            done = done => Some(done),
            () = termination.clone().received() => None,
        }
    });
    match ended {
        None => Ok(None),
        Some(Ok(done)) => Ok(Some(done)),
        Some(Err(_)) => match working.join() {
            Err(panic) => std::panic::resume_unwind(panic),
            Ok(()) => Err(Failure::Run("the work ended without a result".to_owned())),
        },
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.0.waiting.fetch_sub(1, Ordering::Relaxed);
    }
}
