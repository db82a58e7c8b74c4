//! Being told to end.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use tokio::signal::unix::{SignalKind, signal};

/// The signal that came, if one did.
#[derive(Clone, Debug, Default)]
pub(crate) struct Told(Arc<AtomicU8>);

impl Told {
    /// The number of the signal.
    pub(crate) fn signal(&self) -> Option<u8> {
        match self.0.load(Ordering::Relaxed) {
            0 => None,
            number => Some(number),
        }
    }

    /// Ready when SIGINT, SIGTERM or SIGHUP has come.
    pub(crate) async fn comes(self) {
        let kinds = [
            SignalKind::interrupt(),
            SignalKind::terminate(),
            SignalKind::hangup(),
        ];
        let [Ok(mut interrupt), Ok(mut terminate), Ok(mut hangup)] = kinds.map(signal) else {
            // Whoever cannot be told is ended by the system.
            return std::future::pending().await;
        };
        let kind = tokio::select! {
            _ = interrupt.recv() => SignalKind::interrupt(),
            _ = terminate.recv() => SignalKind::terminate(),
            _ = hangup.recv() => SignalKind::hangup(),
        };
        let number = u8::try_from(kind.as_raw_value()).unwrap_or(u8::MAX);
        self.0.store(number, Ordering::Relaxed);
    }
}
