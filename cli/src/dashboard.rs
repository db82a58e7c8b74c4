//! The page of a run, served over HTTP while the run goes on.
//!
//! The run shows its events to a [`Dashboard`] and goes on. A thread of its own serves the page, which is rendered for
//! viewers alone, and so seldom that this takes a hundredth of a processor.
//!
//! Rendering begins with a copy of the page (`LivePage`), so the run waits for the copy alone. It is done once for all
//! viewers, and then rests a hundred times as long (`page_cache`). Streams of news carry a version and no content, so a
//! viewer that does not read has one event waiting; browsers fetch the page and replace the sections whose HTML has
//! changed. Nothing of a viewer lasts: every connection and stream ends after a bounded time (`bounds`).
//! `request_check` decides alone which requests are answered.

mod address;
mod bounds;
mod connection;
mod event_stream;
mod live_page;
mod page_cache;
mod request_check;
mod response;
mod server;

pub(crate) use address::DashboardAddress;
pub(crate) use server::{Dashboard, Listening};
