//! Where the tasks of an endpoint run: those that drive its socket and connections, and those that write.

use std::future::Future;
use std::io;
use std::net::UdpSocket;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Instant;

use quinn::{AsyncTimer, AsyncUdpSocket, Runtime, TokioRuntime};
use tokio::sync::mpsc;
use tokio::task;

/// Where the tasks of an endpoint run.
#[derive(Clone, Debug)]
pub(super) enum Tasks {
    /// In the tokio runtime.
    Runtime,
    /// In a [`LocalSet`](task::LocalSet), whose tasks start those that arrive here: they may come from elsewhere in its runtime.
    Local(mpsc::UnboundedSender<Pin<Box<dyn Future<Output = ()> + Send>>>),
}

impl Tasks {
    /// Those of the `LocalSet` of the caller.
    ///
    /// # Panics
    ///
    /// If there is none.
    pub(super) fn local() -> Self {
        let (sender, mut started) = mpsc::unbounded_channel();
        drop(task::spawn_local(async move {
            while let Some(started) = started.recv().await {
                drop(task::spawn_local(started));
            }
        }));
        Self::Local(sender)
    }

    /// Starts a task.
    pub(super) fn start(&self, task: impl Future<Output = ()> + Send + 'static) {
        match self {
            Self::Runtime => drop(tokio::spawn(task)),
            // A set that has ended runs nothing.
            Self::Local(started) => drop(started.send(Box::pin(task))),
        }
    }
}

impl Runtime for Tasks {
    fn new_timer(&self, at: Instant) -> Pin<Box<dyn AsyncTimer>> {
        TokioRuntime.new_timer(at)
    }

    fn spawn(&self, task: Pin<Box<dyn Future<Output = ()> + Send>>) {
        self.start(task);
    }

    fn wrap_udp_socket(&self, socket: UdpSocket) -> io::Result<Arc<dyn AsyncUdpSocket>> {
        TokioRuntime.wrap_udp_socket(socket)
    }

    fn now(&self) -> Instant {
        TokioRuntime.now()
    }
}
