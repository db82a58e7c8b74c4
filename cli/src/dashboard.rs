//! The page of a run, served over HTTP while the run goes on.
//!
//! The run shows its events to a [`Dashboard`] and goes on. A thread of its own serves the page, which is rendered for
//! viewers alone, and so seldom that this takes a hundredth of a processor.

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
