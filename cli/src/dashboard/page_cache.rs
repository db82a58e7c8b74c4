//! The page of a run, rendered at most once for all viewers.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use agents::record::Event;
use hyper::body::Bytes;

use super::bounds::Bounds;
use super::live_page::LivePage;

/// The page of a run. Its version is the number of events that it has seen.
#[derive(Debug)]
pub(super) struct PageCache<P> {
    page: Mutex<P>,
    version: AtomicU64,
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
    pub(super) fn new(page: P, bounds: Bounds) -> Self {
        let rendered = Rendered {
            html: page.html().into(),
            version: 0,
            due: Instant::now(),
        };
        Self {
            page: Mutex::new(page),
            version: AtomicU64::new(0),
            rendered: Mutex::new(rendered),
            bounds,
        }
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
        if rendered.version != version && rendered.due <= Instant::now() {
            *rendered = self.render(version);
        }
        rendered.html.clone()
    }

    /// The version that [`Self::html`] has now, if it is not `seen`.
    pub(super) fn news_since(&self, seen: Option<u64>) -> Option<u64> {
        let rendered = lock(&self.rendered);
        let is_due = rendered.due <= Instant::now();
        let version = if is_due {
            self.version.load(Ordering::Relaxed)
        } else {
            rendered.version
        };
        Some(version).filter(|version| Some(*version) != seen)
    }

    /// Renders the page for the last time, however long ago that was done before.
    pub(super) fn complete(&self) {
        let version = self.version.load(Ordering::Relaxed);
        *lock(&self.rendered) = self.render(version);
    }

    fn render(&self, version: u64) -> Rendered {
        let began = Instant::now();
        let page = lock(&self.page).clone();
        let html = page.html().into();
        let took = began.elapsed();
        let rest = took.saturating_mul(self.bounds.rest).min(REST_MAX);
        Rendered {
            html,
            version,
            due: began + rest.max(self.bounds.news / 2),
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// No page is older.
const REST_MAX: Duration = Duration::from_secs(60);
