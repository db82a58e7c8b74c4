//! What the supervisor of a node is told: the notifications of systemd, which `NOTIFY_SOCKET` asks for.
//!
//! | notification | when |
//! |---|---|
//! | `READY=1` | the node waits for clients; after a reload, when that has been asked for |
//! | `RELOADING=1` | SIGHUP has the node read its certificate, its key and the list of revocations |
//! | `WATCHDOG=1` | each half of `WATCHDOG_USEC`, by the thread that carries messages |
//! | `STOPPING=1` | a signal or a client ends the node |

use hosts::Heartbeat;
use sd_notify::NotifyState;

/// The node waits for clients at `address`.
pub(super) fn ready(address: &str) {
    let status = format!("waits for clients at {address}");
    tell(&[NotifyState::Ready, NotifyState::Status(&status)]);
}

/// The node reads its files again, as `reload` has it do.
pub(super) fn reloading(reload: impl FnOnce()) {
    match NotifyState::monotonic_usec_now() {
        Ok(now) => tell(&[NotifyState::Reloading, now]),
        Err(error) => tracing::warn!("the supervisor is not told of a reload: {error}"),
    }
    reload();
    tell(&[NotifyState::Ready]);
}

/// The node is about to leave its job, and to end.
pub(super) fn stopping() {
    tell(&[NotifyState::Stopping]);
}

/// The sign of life that the supervisor wants, if it wants one.
pub(super) fn watchdog() -> Option<Heartbeat> {
    let period = sd_notify::watchdog_enabled()? / 2;
    let beat = Box::new(|| tell(&[NotifyState::Watchdog]));
    Some(Heartbeat { period, beat })
}

fn tell(states: &[NotifyState<'_>]) {
    // Without a supervisor that asks for it, nothing is sent.
    if let Err(error) = sd_notify::notify(states) {
        tracing::warn!("the supervisor cannot be told: NOTIFY_SOCKET: {error}");
    }
}
