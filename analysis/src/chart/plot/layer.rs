//! Data of a panel that are drawn alike.

use std::io;

use plotters::prelude::*;

use super::superstep_axis::SuperstepAxis;
use crate::chart::axis::Axis;
use crate::chart::frame::colour;

/// Data of a panel that are drawn alike. Positions are supersteps, heights are in the unit of the panel.
#[derive(Clone, Debug)]
pub enum Layer {
    /// Rectangles in rows.
    Cells {
        /// Number of the colour.
        colour: usize,
        /// How opaque they are, in `(0, 1]`.
        strength: f64,
        /// In any order.
        cells: Vec<Cell>,
    },
    /// The area between two lines: position, lower and upper height.
    Area {
        /// Number of the colour.
        colour: usize,
        /// How opaque it is, in `(0, 1]`.
        strength: f64,
        /// By position.
        points: Vec<(f64, f64, f64)>,
    },
    /// A line.
    Line {
        /// Number of the colour.
        colour: usize,
        /// Whether it is dashed.
        is_dashed: bool,
        /// By position.
        points: Vec<(f64, f64)>,
    },
    /// Points.
    Points {
        /// Number of the colour.
        colour: usize,
        /// Whether they are not filled.
        is_ring: bool,
        /// Their radius in pixels.
        radius: i32,
        /// Positions and heights.
        points: Vec<(f64, f64)>,
    },
}

/// A rectangle in a row of a panel.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cell {
    /// Its row, from the top.
    pub row: usize,
    /// Where it begins.
    pub from: f64,
    /// Where it ends.
    pub to: f64,
}

/// What a layer is drawn on.
type Plane<'a> = DrawingArea<SVGBackend<'a>, Cartesian2d<SuperstepAxis, Axis>>;

impl Layer {
    /// The heights that the axis has to hold.
    pub(super) fn heights(&self) -> Vec<f64> {
        match self {
            Self::Cells { .. } => Vec::new(),
            Self::Area { points, .. } => points.iter().map(|(_, _, high)| *high).collect(),
            Self::Line { points, .. } | Self::Points { points, .. } => {
                points.iter().map(|(_, height)| *height).collect()
            }
        }
    }

    /// Draws it.
    pub(super) fn draw(&self, area: &Plane<'_>) -> Result<(), DrawingAreaErrorKind<io::Error>> {
        let high = area.get_y_range().end;
        match self {
            Self::Cells {
                colour: number,
                strength,
                cells,
            } => {
                let style = colour(*number).mix(*strength).filled();
                for cell in cells {
                    let top = high - cell.row as f64;
                    let corners = [(cell.from, top - ROW_GAP), (cell.to, top - 1.0 + ROW_GAP)];
                    area.draw(&Rectangle::new(corners, style))?;
                }
            }
            Self::Area {
                colour: number,
                strength,
                points,
            } => {
                let upper = points.iter().map(|(x, _, high)| (*x, *high));
                let lower = points.iter().rev().map(|(x, low, _)| (*x, *low));
                let outline: Vec<(f64, f64)> = upper.chain(lower).collect();
                let style = colour(*number).mix(*strength).filled();
                area.draw(&Polygon::new(outline, style))?;
            }
            Self::Line {
                colour: number,
                points,
                ..
            } => {
                // A line through one point would not be seen.
                if let [lone] = points[..] {
                    let style = colour(*number).filled();
                    area.draw(&Circle::new(lone, LONE_RADIUS * FINE, style))?;
                } else {
                    let style = colour(*number).stroke_width(LINE_WIDTH * FINE.unsigned_abs());
                    area.draw(&PathElement::new(points.clone(), style))?;
                }
            }
            Self::Points {
                colour: number,
                is_ring,
                radius,
                points,
            } => {
                let style = if *is_ring {
                    colour(*number).stroke_width(RING_WIDTH * FINE.unsigned_abs())
                } else {
                    colour(*number).filled()
                };
                for point in points {
                    area.draw(&Circle::new(*point, radius * FINE, style))?;
                }
            }
        }
        Ok(())
    }

    /// `drawn` as a group. What its elements have in common is said once.
    pub(super) fn group(&self, drawn: &str) -> String {
        let is_dashed = matches!(
            self,
            Self::Line {
                is_dashed: true,
                ..
            }
        );
        if is_dashed {
            let (dash, gap) = (7 * FINE, 5 * FINE);
            return format!("<g stroke-dasharray=\"{dash} {gap}\">\n{drawn}</g>\n");
        }
        let Some(style) = shared_style(drawn) else {
            return format!("<g>\n{drawn}</g>\n");
        };
        let elements = drawn.replace(style, "");
        format!("<g{style}>\n{elements}</g>\n")
    }
}

/// The attributes of style with which all elements end, each of which is a line.
fn shared_style(drawn: &str) -> Option<&str> {
    let first = drawn.lines().next()?;
    let style = first.get(first.find(" opacity=")?..)?.strip_suffix("/>")?;
    let has_style = |line: &str| {
        line.strip_suffix("/>")
            .is_some_and(|line| line.ends_with(style))
    };
    (!style.contains("points=") && drawn.lines().all(has_style)).then_some(style)
}

/// Parts of a pixel in which layers are drawn, so that data stay in place when a program stretches the axis.
pub(super) const FINE: i32 = 20;
/// Part of a row above and below its rectangles.
const ROW_GAP: f64 = 0.06;
/// In pixels.
const LINE_WIDTH: u32 = 2;
/// In pixels.
const RING_WIDTH: u32 = 2;
/// Radius of a line's only point, in pixels.
const LONE_RADIUS: i32 = 3;
