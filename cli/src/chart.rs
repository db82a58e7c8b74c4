//! Charts: as SVG for a page, and as text for a terminal.
//!
//! The same data give the same characters on every machine: no font is looked up, and widths of
//! texts are estimates. Numbers that are not finite leave gaps.

mod axis;
mod bars;
mod frame;
mod intervals;
mod lines;
mod terminal;

pub(crate) use bars::Bars;
pub(crate) use intervals::{Interval, Intervals};
pub(crate) use lines::{Lines, Series, Style};
pub(crate) use terminal::text_bars;
