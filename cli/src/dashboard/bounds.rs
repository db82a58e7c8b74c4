//! What a server gives its viewers at most.

use std::time::Duration;

/// What a server gives its viewers at most.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    /// Connections at a time. More are closed unread.
    pub(super) connections: usize,
    /// Streams of news at a time, one for each open page.
    pub(super) viewers: usize,
    /// Bytes of the head of a request.
    pub(super) head: usize,
    /// Time in which the head of the next request has to arrive.
    pub(super) head_time: Duration,
    /// Age of a connection after which it takes no further request.
    pub(super) connection_time: Duration,
    /// Time that is left then for the response under way.
    pub(super) last_response_time: Duration,
    /// Age at which a stream of news ends; a page that is open asks for the next one.
    pub(super) stream_time: Duration,
    /// Time between two news, at least.
    pub(super) news: Duration,
    /// The time until the next rendering, as a multiple of what the last one took.
    pub(super) rest: u32,
    /// Time after the run in which open pages may ask for the last state.
    pub(super) last_view: Duration,
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
