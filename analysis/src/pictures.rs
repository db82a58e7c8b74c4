//! Pictures of a run, each with the data that it shows.

mod breakdown;
mod colours;
mod hosts;
mod load;
mod picture;
mod sets;
mod supersteps;
mod timeline;

pub(crate) use breakdown::breakdown;
pub(crate) use hosts::hosts;
pub(crate) use load::load;
pub(crate) use picture::{Picture, Table};
pub(crate) use sets::sets;
pub(crate) use supersteps::{compared, supersteps};
pub(crate) use timeline::{timeline, timeline_with_supersteps};
