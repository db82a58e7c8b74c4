//! The server of a dashboard, and its thread.

use std::fmt;
use std::io;
use std::net::TcpListener;
use std::pin::pin;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use record::Event;
use tokio::runtime;
use tokio::sync::{Semaphore, watch};
use tokio::time::{sleep, timeout};

use super::address::{DashboardAddress, OwnNames};
use super::bounds::Bounds;
use super::connection::{Service, serve};
use super::event_stream::Ending;
use super::live_page::LivePage;
use super::page_cache::PageCache;
use crate::output;
use experiments::Failure;

/// A socket at the address of a dashboard, before there is anything to be seen.
#[derive(Debug)]
pub(crate) struct Listening {
    listener: TcpListener,
    own: OwnNames,
}

/// The page of a run that is served. Without [`Self::finish`], the server ends when this is dropped.
pub(crate) struct Dashboard<P> {
    page: Arc<PageCache<P>>,
    ending: watch::Sender<Option<Arc<str>>>,
    thread: JoinHandle<()>,
}

impl Listening {
    /// Listens at `address`, and says so on stderr.
    ///
    /// # Errors
    ///
    /// If it is in use, or no address of this machine.
    pub(crate) fn at(address: &DashboardAddress) -> Result<Self, Failure> {
        let listener = address.bind()?;
        let bound = listener.local_addr().map_err(Failure::run)?;
        listener.set_nonblocking(true).map_err(Failure::run)?;
        output::warn(&format!("dashboard: http://{bound}/ until the run ends"));
        if !bound.ip().is_loopback() {
            tracing::warn!(
                "the dashboard at {bound} has no password: all machines that reach it can read the page. For one viewer, \
                 leave the address out and use a tunnel: ssh -L 7448:127.0.0.1:7448 HOST"
            );
        }
        let own = address.names(bound.ip());
        Ok(Self { listener, own })
    }

    /// Serves `page`, by a thread of its own.
    ///
    /// # Errors
    ///
    /// If the system gives no thread.
    pub(crate) fn serve<P: LivePage>(self, page: P) -> Result<Dashboard<P>, Failure> {
        self.serve_within(page, Bounds::default())
    }

    fn serve_within<P: LivePage>(self, page: P, bounds: Bounds) -> Result<Dashboard<P>, Failure> {
        let page = Arc::new(PageCache::new(page, bounds)?);
        let (ending, ended) = watch::channel(None);
        let service = Service {
            page: Arc::clone(&page),
            own: self.own,
            ending: ended,
            bounds,
            viewers: Arc::new(Semaphore::new(bounds.viewers)),
        };
        let runtime = runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(Failure::run)?;
        let listener = self.listener;
        let thread = thread::Builder::new().name("dashboard".to_owned());
        let thread = thread.spawn(move || {
            let served = runtime.block_on(accept(listener, Arc::new(service)));
            if let Err(error) = served {
                tracing::warn!(%error, "the dashboard has ended");
            }
        });
        let thread = thread.map_err(Failure::run)?;
        Ok(Dashboard {
            page,
            ending,
            thread,
        })
    }
}

impl<P: LivePage> Dashboard<P> {
    /// Shows an event of the run.
    pub(crate) fn observe(&self, event: &Event) {
        self.page.observe(event);
    }

    /// Ends the server, once all open pages have the last state; `how` says how the run has ended.
    pub(crate) fn finish(self, how: &str) {
        self.page.complete();
        self.ending.send_replace(Some(how.into()));
        // Its panic concerns nothing but the page.
        drop(self.thread.join());
    }
}

impl<P> fmt::Debug for Dashboard<P> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Dashboard").finish_non_exhaustive()
    }
}

/// Accepts connections until the run has ended and no connection is left, or the time for the last view is over.
async fn accept<P: LivePage>(listener: TcpListener, service: Arc<Service<P>>) -> io::Result<()> {
    let listener = tokio::net::TcpListener::from_std(listener)?;
    let connections = Arc::new(Semaphore::new(service.bounds.connections));
    let mut over = pin!(is_over(
        service.ending.clone(),
        service.bounds,
        &connections
    ));
    loop {
        tokio::select! {
            biased;
            () = &mut over => return Ok(()),
            accepted = listener.accept() => {
                let Ok((stream, _)) = accepted else {
                    // Such as too many open files: others may close theirs.
                    sleep(RETRY).await;
                    continue;
                };
                let Ok(permit) = Arc::clone(&connections).try_acquire_owned() else {
                    continue;
                };
                let service = Arc::clone(&service);
                drop(tokio::spawn(async move {
                    serve(stream, service).await;
                    drop(permit);
                }));
            }
        }
    }
}

async fn is_over(mut ending: Ending, bounds: Bounds, connections: &Semaphore) {
    if ending.wait_for(Option::is_some).await.is_err() {
        return;
    }
    let leaving = async {
        while connections.available_permits() < bounds.connections {
            sleep(LOOK).await;
        }
    };
    drop(timeout(bounds.last_view + CLOSING, leaving).await);
}

/// The time after which a connection is accepted again, when none could be.
const RETRY: Duration = Duration::from_millis(100);
/// Time for the ends of streams whose viewers did not leave.
const CLOSING: Duration = Duration::from_millis(500);
/// The time between two looks at the number of connections.
const LOOK: Duration = Duration::from_millis(10);

#[cfg(test)]
mod tests;
