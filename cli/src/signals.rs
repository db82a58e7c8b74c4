//! Signals that end a process.

use std::process;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::thread;

use experiments::Failure;
use tokio::runtime;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::oneshot;

/// SIGINT, SIGTERM or SIGHUP, once the process has received one.
#[derive(Clone, Debug, Default)]
pub(crate) struct TerminationSignal {
    number: Arc<AtomicU8>,
    /// No task waits for a signal any more.
    is_late: Arc<AtomicBool>,
}

/// Records, when dropped, that no task waits any more.
struct Waiting(TerminationSignal);

impl TerminationSignal {
    /// The number of the signal, if one was received.
    pub(crate) fn number(&self) -> Option<u8> {
        match self.number.load(Ordering::Relaxed) {
            0 => None,
            number => Some(number),
        }
    }

    /// Ready when a signal has been received. After that, or after this future is dropped, a signal ends the
    /// process immediately.
    pub(crate) async fn received(self) {
        let waiting = Waiting(self.clone());
        let (sender, receiver) = oneshot::channel();
        let listening = thread::Builder::new().name("signals".to_owned());
        if listening.spawn(move || self.listen(sender)).is_err() || receiver.await.is_err() {
            // Without a handler, the system ends the process.
            std::future::pending::<()>().await;
        }
        drop(waiting);
    }

    fn listen(&self, sender: oneshot::Sender<()>) {
        let built = runtime::Builder::new_current_thread().enable_all().build();
        let Ok(runtime) = built else { return };
        let _entered = runtime.enter();
        let kinds = [
            SignalKind::interrupt(),
            SignalKind::terminate(),
            SignalKind::hangup(),
        ];
        let [Ok(mut interrupt), Ok(mut terminate), Ok(mut hangup)] = kinds.map(signal) else {
            return;
        };
        let mut sender = Some(sender);
        loop {
            let [interrupted, terminated, hung_up] = kinds;
            let kind = runtime.block_on(async {
                tokio::select! {
                    _ = interrupt.recv() => interrupted,
                    _ = terminate.recv() => terminated,
                    _ = hangup.recv() => hung_up,
                }
            });
            let number = u8::try_from(kind.as_raw_value()).unwrap_or(u8::MAX);
            let waiting = sender
                .take()
                .filter(|_| !self.is_late.load(Ordering::Relaxed));
            let Some(waiting) = waiting else {
                process::exit(128_i32.saturating_add(number.into()));
            };
            self.number.store(number, Ordering::Relaxed);
            // The task may just have stopped waiting; then the next signal ends the process.
            waiting.send(()).unwrap_or_default();
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
        self.0.is_late.store(true, Ordering::Relaxed);
    }
}
