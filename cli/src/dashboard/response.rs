//! Responses, all of which forbid what the page does not need.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use hyper::body::{Body, Bytes, Frame, SizeHint};
use hyper::header::{
    ALLOW, CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderName, HeaderValue,
    REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use hyper::{Response, StatusCode};
use tokio::sync::mpsc;

use super::request_check::Refusal;

/// The body of a response.
#[derive(Debug)]
pub(super) enum Content {
    /// All of it; `None`: nothing is left.
    Whole(Option<Bytes>),
    /// It arrives bit by bit, and ends when its sender is dropped.
    Stream(mpsc::Receiver<Bytes>),
}

impl Body for Content {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        ctx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let data = match &mut *self {
            Self::Whole(whole) => Poll::Ready(whole.take()),
            Self::Stream(arriving) => arriving.poll_recv(ctx),
        };
        data.map(|data| data.map(|data| Ok(Frame::data(data))))
    }

    fn is_end_stream(&self) -> bool {
        matches!(self, Self::Whole(None))
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Whole(whole) => {
                let length = whole.as_ref().map_or(0, Bytes::len);
                SizeHint::with_exact(u64::try_from(length).unwrap_or(u64::MAX))
            }
            Self::Stream(_) => SizeHint::default(),
        }
    }
}

/// The whole of something.
pub(super) fn whole(kind: &'static str, content: impl Into<Bytes>) -> Response<Content> {
    guarded(kind, Content::Whole(Some(content.into())))
}

/// News, as they arrive.
pub(super) fn stream(news: mpsc::Receiver<Bytes>) -> Response<Content> {
    guarded("text/event-stream", Content::Stream(news))
}

/// Why there is nothing.
pub(super) fn refusal(refusal: Refusal) -> Response<Content> {
    let mut response = whole("text/plain; charset=utf-8", format!("{}\n", refusal.reason));
    *response.status_mut() = refusal.status;
    if refusal.status == StatusCode::METHOD_NOT_ALLOWED {
        let allowed = HeaderValue::from_static("GET, HEAD");
        response.headers_mut().insert(ALLOW, allowed);
    }
    response
}

fn guarded(kind: &'static str, content: Content) -> Response<Content> {
    let mut response = Response::new(content);
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    for (name, value) in GUARDS {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}

/// What browsers must not do with a response.
const GUARDS: [(HeaderName, &str); 7] = [
    (
        CONTENT_SECURITY_POLICY,
        "default-src 'none'; script-src 'self'; style-src 'unsafe-inline'; img-src data:; connect-src 'self'; \
         base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    ),
    (X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (X_FRAME_OPTIONS, "DENY"),
    (REFERRER_POLICY, "no-referrer"),
    (CACHE_CONTROL, "no-store"),
    (
        HeaderName::from_static("cross-origin-opener-policy"),
        "same-origin",
    ),
    (
        HeaderName::from_static("cross-origin-resource-policy"),
        "same-origin",
    ),
];
