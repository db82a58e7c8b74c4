//! Charts: as SVG for a page, and as text for a terminal.
//!
//! The same data give the same characters on every machine: no font is looked up, and widths of
//! texts are estimates. Numbers that are not finite leave gaps. Charts
//! have no page of their own, and are read on white and dark ones; they have a title and a description.

mod axis;
mod cartesian;
mod frame;
mod heat_map;
mod network;
mod plot;

pub use cartesian::{
    Band, Bands, Bars, Group, Interval, Intervals, Lines, Scale, Series, Style, text_bars,
};
pub use heat_map::{HeatMap, HeatPanel};
pub use network::{Arrow, Network, NetworkLink, NetworkNode};
pub use plot::{Cell, Layer, Mark, Panel, Plot};
