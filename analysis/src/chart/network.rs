//! Nodes in a circle, links between them, and arrows for what moved.

use std::f64::consts::{FRAC_PI_2, TAU};
use std::io;

use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, VPos};

use crate::chart::frame::{
    Frame, GRID, LABEL_SIZE, LINE_HEIGHT, clean, colour, shown, text_style, text_width,
};

/// Nodes in a circle, links between them, and arrows for what moved.
#[derive(Clone, Debug, Default)]
pub struct Network {
    /// Title of the chart.
    pub title: String,
    /// What the chart shows, in sentences below the title; may be empty.
    pub note: String,
    /// What the chart shows, in words: a description for readers without the picture.
    pub description: String,
    /// In the order of the circle, clockwise from the top.
    pub nodes: Vec<NetworkNode>,
    /// Links between nodes.
    pub links: Vec<NetworkLink>,
    /// What moved between nodes.
    pub arrows: Vec<Arrow>,
}

/// A node.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NetworkNode {
    /// Label.
    pub name: String,
    /// A second label.
    pub note: String,
    /// Its area, as a part of the largest one, in `[0, 1]`.
    pub size: f64,
    /// Number of its colour.
    pub colour: usize,
}

/// A link between two nodes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NetworkLink {
    /// The nodes by their positions.
    pub between: (usize, usize),
    /// Label.
    pub label: String,
}

/// What moved from a node to another.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Arrow {
    /// Where it began.
    pub from: usize,
    /// Where it ended.
    pub to: usize,
    /// Label.
    pub label: String,
    /// Its width, as a part of the widest one, in `(0, 1]`.
    pub width: f64,
}

/// A place in pixels.
type Place = (f64, f64);

impl Network {
    /// The chart.
    pub fn svg(&self) -> String {
        let frame = Frame {
            title: &self.title,
            description: self.description.clone(),
            note: &self.note,
            legend: Vec::new(),
            width: WIDTH.unsigned_abs(),
            height: self.height().unsigned_abs(),
        };
        frame.svg(|area| self.draw(area))
    }

    fn draw(
        &self,
        area: &DrawingArea<SVGBackend<'_>, Shift>,
    ) -> Result<(), DrawingAreaErrorKind<io::Error>> {
        let places: Vec<Place> = (0..self.nodes.len()).map(|node| self.place(node)).collect();
        let style = text_style(LABEL_SIZE, HPos::Center, VPos::Center);
        for link in &self.links {
            let (from, to) = (places[link.between.0], places[link.between.1]);
            area.draw(&PathElement::new(
                [pixel(from), pixel(to)],
                GRID.stroke_width(2),
            ))?;
            let has_arrow = |from: usize, to: usize| {
                let mut arrows = self.arrows.iter();
                arrows.any(|arrow| (arrow.from, arrow.to) == (from, to))
            };
            let (one, other) = link.between;
            // An arrow and its label are to the right of the line, in its direction.
            let aside = match (has_arrow(one, other), has_arrow(other, one)) {
                (false, false) => 0.0,
                (true, false) => -LABEL_ASIDE,
                (false, true) => LABEL_ASIDE,
                (true, true) => ASIDE + LABEL_ASIDE + ARROW_WIDTH,
            };
            let at = pixel(beside(from, to, (0.5, aside)));
            area.draw(&Text::new(clean(&link.label), at, style.clone()))?;
        }
        for arrow in &self.arrows {
            self.draw_arrow(area, arrow, &places)?;
        }
        for (node, place) in self.nodes.iter().zip(&places) {
            let at = pixel(*place);
            let radius = whole(radius(node));
            area.draw(&Circle::new(at, radius, colour(node.colour).filled()))?;
            let lines =
                [&node.name, &node.note].map(|text| shown(text, LABEL_WIDTH.unsigned_abs()));
            let widest = lines.iter().map(|text| text_width(text)).max();
            let is_above = place.1 < f64::from(self.height()) / 2.0;
            let (x, y) = label_place(*place, (radius, widest.unwrap_or_default()), is_above);
            for (text, y) in lines.into_iter().zip([y, y + LINE_HEIGHT]) {
                area.draw(&Text::new(text, (x, y), style.clone()))?;
            }
        }
        Ok(())
    }

    /// An arrow beside the line between its nodes, so that one in the other direction has a place, too.
    fn draw_arrow(
        &self,
        area: &DrawingArea<SVGBackend<'_>, Shift>,
        arrow: &Arrow,
        places: &[Place],
    ) -> Result<(), DrawingAreaErrorKind<io::Error>> {
        let (from, to) = (places[arrow.from], places[arrow.to]);
        let length = (to.0 - from.0).hypot(to.1 - from.1);
        if length <= 0.0 {
            return Ok(());
        }
        let at = |along: f64, aside: f64| beside(from, to, (along / length, aside));
        let width = 2.0 + ARROW_WIDTH * arrow.width;
        let head = HEAD + width;
        let begin = radius(&self.nodes[arrow.from]) + GAP;
        let end = length - radius(&self.nodes[arrow.to]) - GAP;
        let paint = colour(self.nodes[arrow.to].colour);
        let line = [pixel(at(begin, ASIDE)), pixel(at(end - head, ASIDE))];
        let stroke = paint.stroke_width(whole(width).unsigned_abs());
        area.draw(&PathElement::new(line, stroke))?;
        let corners = [
            (end, 0.0),
            (end - head, head / 2.0),
            (end - head, -head / 2.0),
        ];
        let corners = corners.map(|(along, aside)| pixel(at(along, ASIDE + aside)));
        area.draw(&Polygon::new(corners, paint.filled()))?;
        let label = pixel(at(begin + (end - begin) * 0.3, ASIDE + 12.0 + width / 2.0));
        let style = text_style(LABEL_SIZE, HPos::Center, VPos::Center);
        area.draw(&Text::new(clean(&arrow.label), label, style))
    }

    /// In pixels, without title and note.
    fn height(&self) -> i32 {
        // Two nodes are beside each other.
        if self.nodes.len() <= 2 { FLAT } else { HEIGHT }
    }

    /// Where a node is.
    fn place(&self, node: usize) -> Place {
        let (x, y) = (f64::from(WIDTH) / 2.0, f64::from(self.height()) / 2.0);
        let number = self.nodes.len();
        if number <= 1 {
            return (x, y);
        }
        let first = if number == 2 { -TAU / 2.0 } else { -FRAC_PI_2 };
        let angle = first + TAU * node as f64 / number as f64;
        (x + angle.cos() * RADII.0, y + angle.sin() * RADII.1)
    }
}

fn radius(node: &NetworkNode) -> f64 {
    NODE_RADII.0 + (NODE_RADII.1 - NODE_RADII.0) * node.size.clamp(0.0, 1.0).sqrt()
}

/// The place at a part of the line between two others, some pixels to the side.
fn beside(from: Place, to: Place, (share, aside): (f64, f64)) -> Place {
    let (x, y) = (to.0 - from.0, to.1 - from.1);
    let length = x.hypot(y).max(1.0);
    (
        from.0 + share * x - aside * y / length,
        from.1 + share * y + aside * x / length,
    )
}

/// The middle of the first of two lines of a label, at the outer side of its node.
fn label_place(node: Place, (radius, width): (i32, i32), is_above: bool) -> (i32, i32) {
    let (x, y) = pixel(node);
    let from_middle = (node.0 - f64::from(WIDTH) / 2.0) / RADII.0;
    if BESIDE < from_middle.abs() {
        let aside = radius + LINE_HEIGHT / 2 + width / 2;
        let aside = if from_middle < 0.0 { -aside } else { aside };
        return (x + aside, y - LINE_HEIGHT / 2);
    }
    let below = radius + LINE_HEIGHT / 2;
    let first = if is_above {
        -below - LINE_HEIGHT
    } else {
        below
    };
    (x, y + first)
}

fn pixel((x, y): Place) -> (i32, i32) {
    (whole(x), whole(y))
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "pixels are whole numbers of a chart that 16 bits hold"
)]
fn whole(number: f64) -> i32 {
    number.round() as i32
}

/// In pixels.
const WIDTH: i32 = 960;
/// In pixels, without title and note, of a chart with one or two nodes.
const FLAT: i32 = 140;
/// In pixels, without title and note.
const HEIGHT: i32 = 460;
/// Of the circle, in pixels.
const RADII: (f64, f64) = (300.0, 150.0);
/// The least and the greatest of nodes, in pixels.
const NODE_RADII: (f64, f64) = (8.0, 26.0);
/// Between nodes and arrows, in pixels.
const GAP: f64 = 6.0;
/// Of the widest arrow, in pixels.
const ARROW_WIDTH: f64 = 6.0;
/// Length of the head of an arrow, in pixels, in addition to its width.
const HEAD: f64 = 8.0;
/// From an arrow to the line between its nodes, in pixels.
const ASIDE: f64 = 8.0;
/// From a label to the line of a link that has an arrow, or to the arrow, in pixels.
const LABEL_ASIDE: f64 = 12.0;
/// Labels of nodes that are farther to a side, as a part of the circle, are beside them.
const BESIDE: f64 = 0.7;
/// Pixels of the longest label that is shown in full.
const LABEL_WIDTH: i32 = 240;

#[cfg(test)]
mod tests {
    use super::*;

    fn network(nodes: usize) -> Network {
        let node = |index: usize| NetworkNode {
            name: format!("Set {index}"),
            note: "1 → 2".to_owned(),
            size: 0.5,
            colour: index,
        };
        Network {
            title: "Sets".to_owned(),
            nodes: (0..nodes).map(node).collect(),
            links: vec![NetworkLink {
                between: (0, nodes - 1),
                label: "6.67 MB/s".to_owned(),
            }],
            arrows: vec![Arrow {
                from: 0,
                to: nodes - 1,
                label: "5".to_owned(),
                width: 1.0,
            }],
            ..Network::default()
        }
    }

    #[test]
    fn nodes_links_and_arrows_are_drawn_and_named() {
        let svg = network(5).svg();
        assert_eq!(svg.matches("<circle").count(), 5, "{svg}");
        assert_eq!(svg.matches("<polygon").count(), 1, "{svg}");
        assert_eq!(svg.matches("<polyline").count(), 2, "{svg}");
        for text in ["Set 0", "Set 4", "6.67 MB/s", "1 → 2", "5"] {
            assert!(svg.contains(&format!("\n{text}\n")), "{text}: {svg}");
        }
    }

    #[test]
    fn any_number_of_nodes_has_places_within_the_chart() {
        for nodes in [1, 2, 3, 40] {
            let network = network(nodes);
            for node in 0..nodes {
                let (x, y) = network.place(node);
                assert!(0.0 < x && x < f64::from(WIDTH), "{nodes}");
                assert!(0.0 < y && y < f64::from(network.height()), "{nodes}");
            }
            assert!(!network.svg().contains("NaN"));
        }
        assert!(Network::default().svg().ends_with("</svg>\n"));
    }

    #[test]
    fn the_label_of_a_link_is_beside_its_arrows() {
        let check = |ways: &[(usize, usize)]| {
            let arrow = |(from, to): &(usize, usize)| Arrow {
                from: *from,
                to: *to,
                label: "5".to_owned(),
                width: 1.0,
            };
            let two = Network {
                arrows: ways.iter().map(arrow).collect(),
                ..network(2)
            };
            let svg = two.svg();
            let (before, _) = svg.split_once("\n6.67 MB/s\n").unwrap();
            let (_, label) = before.rsplit_once(" y=\"").unwrap();
            let label: f64 = label.split_once('"').unwrap().0.parse().unwrap();
            let heads = svg.split("<polygon").skip(1).map(|head| {
                let (_, points) = head.split_once("points=\"").unwrap();
                let (_, y) = points.split_once(',').unwrap();
                let (y, _) = y.split_once(' ').unwrap();
                y.parse::<f64>().unwrap()
            });
            for arrow in heads {
                assert!(12.0 <= (label - arrow).abs(), "{label} and {arrow}: {svg}");
            }
        };
        check(&[(0, 1)]);
        check(&[(1, 0)]);
        check(&[(0, 1), (1, 0)]);
    }
}
