//! The page of a run, rendered at most once for all viewers.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use hyper::body::Bytes;
use record::Event;

use super::bounds::Bounds;
use super::live_page::LivePage;
use experiments::Failure;

/// The page of a run. Its version is the number of events that it has seen.
#[derive(Debug)]
pub(super) struct PageCache<P> {
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
    pub(super) fn new(page: P, bounds: Bounds) -> Result<Self, Failure> {
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
    pub(super) fn observe(&self, event: &Event) {
        lock(&self.page).observe(event);
        self.version.fetch_add(1, Ordering::Relaxed);
    }

    /// The page, which is as recent as the time that rendering takes allows.
    pub(super) fn html(&self) -> Bytes {
        let mut rendered = lock(&self.rendered);
        let version = self.version.load(Ordering::Relaxed);
        if rendered.version != version && self.is_due(&rendered) {
            self.render(&mut rendered, version);
        }
        rendered.html.clone()
    }

    /// The version that [`Self::html`] has now, if it is not `seen`.
    pub(super) fn news_since(&self, seen: Option<u64>) -> Option<u64> {
        let rendered = lock(&self.rendered);
        let version = if self.is_due(&rendered) {
            self.version.load(Ordering::Relaxed)
        } else {
            rendered.version
        };
        Some(version).filter(|version| Some(*version) != seen)
    }

    /// No event follows: the page is rendered once more, however short ago it was.
    pub(super) fn complete(&self) {
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
