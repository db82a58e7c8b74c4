//! One connection of a viewer.

use std::convert::Infallible;
use std::pin::pin;
use std::sync::Arc;

use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpStream;
use tokio::sync::{Semaphore, mpsc};
use tokio::time::{sleep, timeout};

use super::address::OwnNames;
use super::bounds::Bounds;
use super::event_stream::{Ending, send_news};
use super::live_page::LivePage;
use super::page_cache::PageCache;
use super::request_check::{Refusal, Resource, check};
use super::response::{Content, refusal, stream, whole};

/// What connections have in common.
pub(super) struct Service<P> {
    pub(super) page: Arc<PageCache<P>>,
    pub(super) own: OwnNames,
    pub(super) ending: Ending,
    pub(super) bounds: Bounds,
    /// Places for streams of news.
    pub(super) viewers: Arc<Semaphore>,
}

/// Answers the requests of a connection. It ends in a bounded time, whatever the other end does.
pub(super) async fn serve<P: LivePage>(stream: TcpStream, service: Arc<Service<P>>) {
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

const SCRIPT: &str = include_str!("live.js");
