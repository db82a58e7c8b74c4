use super::*;

fn plot() -> Plot {
    let rows = ["p1", "p2", "p3"].map(str::to_owned).to_vec();
    let cell = |row: usize, from: f64, to: f64| Cell { row, from, to };
    Plot {
        title: "a < b".to_owned(),
        description: "What it shows, in words.".to_owned(),
        supersteps: (0, 2_000),
        panels: vec![
            Panel {
                label: "process".to_owned(),
                rows: Some(rows),
                is_compact: false,
                is_log: false,
                layers: vec![Layer::Cells {
                    colour: 1,
                    strength: 0.5,
                    cells: vec![cell(0, 0.0, 2_000.0), cell(2, 0.0, 4.0)],
                }],
            },
            Panel {
                label: "seconds".to_owned(),
                rows: None,
                is_compact: false,
                is_log: false,
                layers: vec![
                    Layer::Area {
                        colour: 0,
                        strength: 0.2,
                        points: vec![(0.0, 0.1, 0.4), (1_000.0, 0.1, 0.3)],
                    },
                    Layer::Line {
                        colour: 0,
                        is_dashed: true,
                        points: vec![(0.0, 0.3), (1_000.0, 0.2)],
                    },
                    Layer::Points {
                        colour: 1,
                        is_ring: true,
                        radius: 4,
                        points: vec![(4.0, 0.3)],
                    },
                ],
            },
        ],
        ..Plot::default()
    }
}

/// The numbers of an attribute of the root.
fn numbers(svg: &str, name: &str) -> Vec<i32> {
    let (_, rest) = svg.split_once(&format!("{name}=\"")).unwrap();
    let (value, _) = rest.split_once('"').unwrap();
    let numbers = value.split([' ', ',']);
    numbers.map(|number| number.parse().unwrap()).collect()
}

#[test]
fn data_are_where_the_attributes_say() {
    let svg = plot().svg();
    let x = numbers(&svg, "data-x");
    let panels = numbers(&svg, "data-panels");
    assert_eq!(numbers(&svg, "data-supersteps"), [0, 2_000]);
    let [top, bottom, rows] = panels[..3] else {
        panic!("{svg}")
    };
    assert_eq!(rows, 3);
    // The first cell is as wide as the axis, in twentieths of a pixel.
    let (_, data) = svg
        .split_once("<g class=\"data\" transform=\"scale(0.05)\">")
        .unwrap();
    let (_, cell) = data.split_once("<rect ").unwrap();
    let attribute = |name: &str| -> i32 {
        let (_, rest) = cell.split_once(&format!("{name}=\"")).unwrap();
        rest.split('"').next().unwrap().parse().unwrap()
    };
    assert_eq!(attribute("x"), x[0] * FINE);
    assert_eq!(attribute("width"), (x[1] - x[0]) * FINE);
    assert!(top * FINE <= attribute("y"), "{svg}");
    assert!(
        attribute("y") + attribute("height") <= bottom * FINE,
        "{svg}"
    );
    // The second panel is below the first.
    assert!(bottom < panels[3] && panels[3] < panels[4], "{svg}");
}

#[test]
fn every_row_and_layer_is_drawn() {
    let svg = plot().svg();
    assert!(svg.contains("<title>a &lt; b</title>"), "{svg}");
    for text in ["p1", "p2", "p3", "process", "seconds", "superstep", "200"] {
        assert!(svg.contains(&format!("\n{text}\n")), "{text}: {svg}");
    }
    assert_eq!(svg.matches("<polygon").count(), 1, "{svg}");
    assert_eq!(svg.matches("stroke-dasharray").count(), 1, "{svg}");
    assert_eq!(svg.matches("<circle").count(), 1, "{svg}");
    assert_eq!(svg.matches("<svg").count(), 1, "{svg}");
    assert!(svg.ends_with("</svg>\n"), "{svg}");
}

#[test]
fn a_logarithmic_axis_gives_early_supersteps_more_room() {
    let mut plot = plot();
    plot.is_log = true;
    let svg = plot.svg();
    let x = numbers(&svg, "data-x");
    let (_, cells) = svg.split_once("<rect ").unwrap();
    let (_, second) = cells.split_once("<rect ").unwrap();
    let (_, width) = second.split_once("width=\"").unwrap();
    let width: i32 = width.split('"').next().unwrap().parse().unwrap();
    assert!((x[1] - x[0]) * FINE < width * 10, "{width}");
    assert!(svg.contains("data-scale=\"log\""), "{svg}");
    assert!(svg.contains("\nsuperstep, logarithmic\n"), "{svg}");
}

#[test]
fn many_rows_fit_and_no_data_give_an_empty_chart() {
    let mut plot = plot();
    plot.panels[0].rows = Some((0..200).map(|row| format!("p{row}")).collect());
    let svg = plot.svg();
    let panels = numbers(&svg, "data-panels");
    assert_eq!(panels[1] - panels[0], 600, "{svg}");
    assert!(!svg.contains("\np1\n"), "{svg}");
    assert!(Plot::default().svg().ends_with("</svg>\n"));
}

#[test]
fn a_panel_with_rows_is_as_high_as_its_label_is_long() {
    let panel = Panel {
        label: "slowest process".to_owned(),
        rows: Some(vec!["h0".to_owned()]),
        is_compact: true,
        is_log: false,
        layers: Vec::new(),
    };
    assert!(text_width(&panel.label) <= panel.height());
}

fn labels(supersteps: (u64, u64), is_log: bool) -> Vec<String> {
    let axis = SuperstepAxis::new(supersteps, is_log);
    let places = axis.places((0, 900)).into_iter();
    places.map(|(label, _)| label).collect()
}

#[test]
fn labels_are_round_numbers_that_do_not_overlap() {
    assert_eq!(labels((0, 4), false), ["0", "1", "2", "3", "4"]);
    assert_eq!(labels((0, 2_000), false)[..3], ["0", "200", "400"]);
    assert_eq!(labels((990, 2_000), false)[..2], ["1000", "1200"]);
    let logarithmic = labels((0, 2_000), true);
    assert_eq!(logarithmic[..4], ["0", "1", "2", "5"]);
    assert_eq!(logarithmic.last().unwrap(), "2000");
    for supersteps in [(0, 0), (5, 5), (0, u64::MAX), (u64::MAX - 1, u64::MAX)] {
        for is_log in [false, true] {
            assert!(labels(supersteps, is_log).len() < 40, "{supersteps:?}");
        }
    }
}

#[test]
fn both_scales_begin_and_end_at_the_same_places() {
    for is_log in [false, true] {
        let axis = SuperstepAxis::new((100, 300), is_log);
        assert_eq!(axis.map(&100.0, (20, 900)), 20);
        assert_eq!(axis.map(&300.0, (20, 900)), 900);
        assert!(axis.map(&110.0, (20, 900)) < axis.map(&120.0, (20, 900)));
    }
}
