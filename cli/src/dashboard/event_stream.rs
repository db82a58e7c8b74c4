//! The stream of news of one viewer, as server-sent events.

use std::sync::Arc;
use std::time::Instant;

use hyper::body::Bytes;
use tokio::sync::{OwnedSemaphorePermit, mpsc, watch};
use tokio::time::{sleep, timeout};

use super::bounds::Bounds;
use super::live_page::LivePage;
use super::page_cache::PageCache;

/// How a run has ended, once it has.
pub(super) type Ending = watch::Receiver<Option<Arc<str>>>;

/// Sends the news of `page` to a viewer until the run or the stream ends, or the viewer leaves. A viewer that does not
/// read has one event waiting for it, whatever happens.
pub(super) async fn send_news<P: LivePage>(
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
