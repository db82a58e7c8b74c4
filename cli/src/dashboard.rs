//! The page of a run, served over HTTP while the run goes on.
//!
//! The run shows its events to a [`Dashboard`] and goes on. A thread of its own serves the page, which is rendered for
//! viewers alone, and so seldom that this takes a hundredth of a processor.
//!
//! Rendering begins with a copy of the page (`LivePage`), so the run waits for the copy alone. It is done once for all
//! viewers, and then rests a hundred times as long (`PageCache`). Streams of news carry a version and no content, so a
//! viewer that does not read has one event waiting; browsers fetch the page and replace the sections whose HTML has
//! changed. Nothing of a viewer lasts: every connection and stream ends after a bounded time (`Bounds`).
//! `requests` decides alone which requests are answered.

mod requests;

use std::convert::Infallible;
use std::fmt;
use std::io;
use std::net::TcpListener;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use analysis::report::LiveRun;
use experiments::Failure;
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use record::Event;
use tokio::net::TcpStream;
use tokio::runtime;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, watch};
use tokio::time::{sleep, timeout};

use crate::dashboard::requests::{
    Content, OwnNames, Refusal, Resource, check, refusal, stream, whole,
};
use crate::output;

pub(crate) use requests::DashboardAddress;

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

    /// Shows another page from now on.
    pub(crate) fn replace(&self, page: P) {
        self.page.replace(page);
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

/// What connections have in common.
struct Service<P> {
    page: Arc<PageCache<P>>,
    own: OwnNames,
    ending: Ending,
    bounds: Bounds,
    /// Places for streams of news.
    viewers: Arc<Semaphore>,
}

/// Answers the requests of a connection. It ends in a bounded time, whatever the other end does.
async fn serve<P: LivePage>(stream: TcpStream, service: Arc<Service<P>>) {
    let (bounds, mut ending) = (service.bounds, service.ending.clone());
    // News are small: they are not to wait for each other.
    drop(stream.set_nodelay(true));
    let answering = service_fn(move |request| {
        let response = service.answer(&request);
        async move { Ok::<_, Infallible>(response) }
    });
    // After the end, it is for the last state of the page.
    let is_last = ending.borrow_and_update().is_some();
    let mut builder = http1::Builder::new();
    builder
        .keep_alive(!is_last)
        .timer(TokioTimer::new())
        .header_read_timeout(bounds.head_time)
        .max_buf_size(bounds.head);
    let mut connection = pin!(builder.serve_connection(TokioIo::new(stream), answering));
    tokio::select! {
        biased;
        // That of a viewer is no error of the run.
        _ended = connection.as_mut() => return,
        _over = ending.wait_for(Option::is_some), if !is_last => {}
        () = sleep(bounds.connection_time) => {}
    }
    connection.as_mut().graceful_shutdown();
    drop(timeout(bounds.last_response_time, connection).await);
}

impl<P: LivePage> Service<P> {
    fn answer(&self, request: &Request<Incoming>) -> Response<Content> {
        match check(request, &self.own) {
            Ok(Resource::Page) => whole("text/html; charset=utf-8", self.page.html()),
            Ok(Resource::Script(script)) => {
                let scripts = [SCRIPT, P::SCRIPT];
                whole("text/javascript; charset=utf-8", scripts[script])
            }
            Ok(Resource::Events) => self.news(),
            Err(refused) => refusal(refused),
        }
    }

    fn news(&self) -> Response<Content> {
        let Ok(permit) = Arc::clone(&self.viewers).try_acquire_owned() else {
            return refusal(Refusal {
                status: StatusCode::SERVICE_UNAVAILABLE,
                reason: "too many pages of this run are open: close one",
            });
        };
        let (viewer, news) = mpsc::channel(1);
        let (page, ending) = (Arc::clone(&self.page), self.ending.clone());
        drop(tokio::spawn(send_news(
            page,
            ending,
            viewer,
            (self.bounds, permit),
        )));
        stream(news)
    }
}

const SCRIPT: &str = include_str!("dashboard/live.js");

/// How a run has ended, once it has.
type Ending = watch::Receiver<Option<Arc<str>>>;

/// Sends the news of `page` to a viewer until the run or the stream ends, or the viewer leaves. A viewer that does not
/// read has one event waiting for it, whatever happens.
async fn send_news<P: LivePage>(
    page: Arc<PageCache<P>>,
    mut ending: Ending,
    viewer: mpsc::Sender<Bytes>,
    (bounds, _permit): (Bounds, OwnedSemaphorePermit),
) {
    let end = Instant::now() + bounds.stream_time;
    let mut seen = None;
    let is_sent = |event: String| {
        let viewer = &viewer;
        async move { viewer.send(event.into()).await.is_ok() }
    };
    while Instant::now() < end {
        let ended = ending.borrow_and_update().clone();
        if let Some(how) = ended {
            if is_sent(format!("event: end\ndata: {}\n\n", quoted(&how))).await {
                // It asks for the last state of the page, and leaves.
                drop(timeout(bounds.last_view, viewer.closed()).await);
            }
            return;
        }
        if let Some(version) = page.news_since(seen) {
            if !is_sent(format!("data: {version}\n\n")).await {
                return;
            }
            seen = Some(version);
        }
        tokio::select! {
            biased;
            () = viewer.closed() => return,
            changed = ending.changed() => if changed.is_err() { return },
            () = sleep(bounds.news) => {}
        }
    }
}

/// `text` as a JSON string, which has no line breaks.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// The page of a run. Its version is the number of events that it has seen.
#[derive(Debug)]
struct PageCache<P> {
    page: Mutex<P>,
    version: AtomicU64,
    /// Whether no event follows.
    is_over: AtomicBool,
    rendered: Mutex<Rendered>,
    bounds: Bounds,
}

/// The page as it was rendered last.
#[derive(Debug)]
struct Rendered {
    html: Bytes,
    version: u64,
    /// When it may be rendered again.
    due: Instant,
}

impl<P: LivePage> PageCache<P> {
    /// The page before the first event.
    ///
    /// # Errors
    ///
    /// If it cannot be drawn.
    fn new(page: P, bounds: Bounds) -> Result<Self, Failure> {
        let rendered = Rendered {
            html: page.clone().html()?.into(),
            version: 0,
            due: Instant::now(),
        };
        Ok(Self {
            page: Mutex::new(page),
            version: AtomicU64::new(0),
            is_over: AtomicBool::new(false),
            rendered: Mutex::new(rendered),
            bounds,
        })
    }

    /// Handles an event. It waits at most for the copy of the page that is rendered.
    fn observe(&self, event: &Event) {
        lock(&self.page).observe(event);
        self.version.fetch_add(1, Ordering::Relaxed);
    }

    /// Shows another page from now on.
    fn replace(&self, page: P) {
        *lock(&self.page) = page;
        self.version.fetch_add(1, Ordering::Relaxed);
    }

    /// The page, which is as recent as the time that rendering takes allows.
    fn html(&self) -> Bytes {
        let mut rendered = lock(&self.rendered);
        let version = self.version.load(Ordering::Relaxed);
        if rendered.version != version && self.is_due(&rendered) {
            self.render(&mut rendered, version);
        }
        rendered.html.clone()
    }

    /// The version that [`Self::html`] has now, if it is not `seen`.
    fn news_since(&self, seen: Option<u64>) -> Option<u64> {
        let rendered = lock(&self.rendered);
        let version = if self.is_due(&rendered) {
            self.version.load(Ordering::Relaxed)
        } else {
            rendered.version
        };
        Some(version).filter(|version| Some(*version) != seen)
    }

    /// No event follows: the page is rendered once more, however short ago it was.
    fn complete(&self) {
        self.is_over.store(true, Ordering::Relaxed);
    }

    fn is_due(&self, rendered: &Rendered) -> bool {
        self.is_over.load(Ordering::Relaxed) || rendered.due <= Instant::now()
    }

    fn render(&self, rendered: &mut Rendered, version: u64) {
        let began = Instant::now();
        let page = lock(&self.page).clone();
        match page.html() {
            Ok(html) => rendered.html = html.into(),
            Err(failure) => tracing::warn!("the page of the run cannot be drawn: {failure}"),
        }
        let rest = began.elapsed().saturating_mul(self.bounds.rest);
        rendered.version = version;
        rendered.due = began + rest.min(REST_MAX).max(self.bounds.news / 2);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// No page is older.
const REST_MAX: Duration = Duration::from_secs(60);

/// A page about a run that goes on.
///
/// The page loads the scripts of [`SCRIPTS`]. The first one replaces the sections of it that have changed whenever there
/// are news: each `section` of `main`, which is found by its `id` or `aria-labelledby`.
pub(crate) trait LivePage: Clone + Send + 'static {
    /// The second script, the page's own.
    const SCRIPT: &'static str;

    /// Handles an event of the run, in the order of the record.
    fn observe(&mut self, event: &Event);

    /// The page after the events so far, as HTML.
    ///
    /// # Errors
    ///
    /// If it cannot be drawn.
    fn html(self) -> Result<String, Failure>;
}

impl LivePage for LiveRun {
    const SCRIPT: &'static str = Self::SCRIPT;

    fn observe(&mut self, event: &Event) {
        Self::observe(self, event);
    }

    fn html(self) -> Result<String, Failure> {
        self.page(&SCRIPTS)
    }
}

/// The paths of the scripts.
const SCRIPTS: [&str; 2] = ["/live.js", "/page.js"];

/// What a server gives its viewers at most.
#[derive(Clone, Copy, Debug)]
struct Bounds {
    /// Connections at a time. More are closed unread.
    connections: usize,
    /// Streams of news at a time, one for each open page.
    viewers: usize,
    /// Bytes of the head of a request.
    head: usize,
    /// Time in which the head of the next request has to arrive.
    head_time: Duration,
    /// Age of a connection after which it takes no further request.
    connection_time: Duration,
    /// Time that is left then for the response under way.
    last_response_time: Duration,
    /// Age at which a stream of news ends; a page that is open asks for the next one.
    stream_time: Duration,
    /// Time between two news, at least.
    news: Duration,
    /// The time until the next rendering, as a multiple of what the last one took.
    rest: u32,
    /// Time after the run in which open pages may ask for the last state.
    last_view: Duration,
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            connections: 64,
            viewers: 32,
            // Programs of any kind share the cookies of `localhost`.
            head: 64 << 10,
            head_time: Duration::from_secs(10),
            connection_time: Duration::from_secs(30),
            last_response_time: Duration::from_secs(45),
            stream_time: Duration::from_secs(60),
            news: Duration::from_millis(500),
            rest: 100,
            last_view: Duration::from_secs(5),
        }
    }
}

#[cfg(test)]
mod tests;
