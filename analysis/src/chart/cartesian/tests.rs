use super::*;

mod lines {
    use super::*;

    fn lines(x_is_log: bool) -> Lines {
        let series = |name: &str, style| Series {
            name: name.to_owned(),
            points: vec![
                (1.0, 2.0),
                (10.0, 4.0),
                (0.0, f64::NAN),
                (100.0, 3.0),
                (1e3, 2.5),
            ],
            style,
            is_paired: false,
        };
        Lines {
            title: "Supersteps".to_owned(),
            note: String::new(),
            x_label: "superstep".to_owned(),
            y_label: "seconds".to_owned(),
            x_is_log,
            y_scale: Scale::default(),
            series: vec![
                series("none", Style::Line),
                series("migbsp", Style::Dashed),
                series("paper", Style::Marks),
            ],
            ..Lines::default()
        }
    }

    #[test]
    fn every_series_is_drawn_and_named() {
        for x_is_log in [false, true] {
            let svg = lines(x_is_log).svg();
            for text in [
                "none",
                "migbsp",
                "paper",
                "superstep",
                "seconds",
                "Supersteps",
            ] {
                assert!(svg.contains(&format!("\n{text}\n")), "{text}: {svg}");
            }
            // One in the legend, and four numbers of five.
            assert_eq!(svg.matches("<circle").count(), 5, "{svg}");
            assert!(!svg.contains("NaN"), "{svg}");
        }
    }

    #[test]
    fn a_point_between_two_gaps_is_seen() {
        for style in [Style::Line, Style::Dashed] {
            let mut lines = lines(false);
            lines.series.truncate(1);
            let series = &mut lines.series[0];
            series.style = style;
            series.points = vec![(1.0, 2.0), (2.0, f64::NAN), (3.0, 4.0), (4.0, f64::NAN)];
            let svg = lines.svg();
            assert_eq!(svg.matches("<circle").count(), 2, "{svg}");
            lines.series[0].points = vec![(1.0, 2.0)];
            let svg = lines.svg();
            assert_eq!(svg.matches("<circle").count(), 1, "{svg}");
        }
    }

    #[test]
    fn values_over_more_than_a_decade_ask_for_a_logarithmic_axis() {
        let none = f64::NAN;
        assert_eq!(Scale::of(&[0.0, 0.2, none, 140.0]), Scale::Logarithmic);
        assert_eq!(Scale::of(&[0.0, 20.0, 140.0]), Scale::Linear);
        assert_eq!(Scale::of(&[-1.0, 0.2, 140.0]), Scale::Linear);
        for values in [&[][..], &[0.0], &[none], &[3.0]] {
            assert_eq!(Scale::of(values), Scale::Linear, "{values:?}");
        }
    }

    #[test]
    fn a_logarithmic_vertical_axis_has_a_place_for_zero() {
        let mut lines = lines(false);
        lines.y_scale = Scale::Logarithmic;
        lines.series.truncate(1);
        lines.series[0].style = Style::Marks;
        lines.series[0].points = vec![(0.0, 100.0), (1.0, 1.0), (2.0, 0.0), (3.0, -1.0)];
        let svg = lines.svg();
        // One in the legend, and all but the negative one.
        assert_eq!(svg.matches("<circle").count(), 4, "{svg}");
        for label in ["0", "1", "100"] {
            assert!(svg.contains(&format!("\n{label}\n")), "{label}: {svg}");
        }
        assert!(
            svg.contains("<desc>seconds, logarithmic over superstep."),
            "{svg}"
        );
    }

    #[test]
    fn series_that_belong_together_have_one_colour() {
        let mut lines = lines(false);
        assert_eq!(lines.colours(), [0, 1, 2]);
        lines.series[1].is_paired = true;
        assert_eq!(lines.colours(), [0, 0, 1]);
        lines.series[0].is_paired = true;
        assert_eq!(lines.colours(), [0, 0, 1]);
    }

    #[test]
    fn a_line_stands_at_the_value_that_others_are_compared_with() {
        let mut lines = Lines {
            y_scale: Scale::Around(1.0),
            ..lines(false)
        };
        let with = lines.svg().matches("<polyline").count();
        lines.y_scale = Scale::Linear;
        assert_eq!(with, lines.svg().matches("<polyline").count() + 1);
    }

    #[test]
    fn labels_of_bands_stand_above_each_other_where_they_would_overlap() {
        let plain = lines(false).svg();
        let band = |name: &str, from: f64| Band {
            name: name.to_owned(),
            from,
            to: from + 10.0,
        };
        let mut lines = lines(false);
        lines.bands = Bands {
            name: "without a node".to_owned(),
            bands: vec![
                band("node-1", 100.0),
                band("node-2, node-3", 120.0),
                band("node-4", 400.0),
                band("<a node with a long name>", 980.0),
            ],
        };
        let (x, y) = (Axis::linear([0.0, 1e3]), Axis::linear([0.0, 4.0]));
        let rows: Vec<i32> = lines
            .band_labels(&x, &y)
            .iter()
            .map(|label| label.row)
            .collect();
        assert_eq!(rows, [0, 0, 0, 1], "from the last to the first");
        let svg = lines.svg();
        let legend = 1;
        assert_eq!(
            svg.matches("<rect").count(),
            plain.matches("<rect").count() + 4 + legend
        );
        let words =
            "without a node: node-1 from 100.00 to 110.00; node-2, node-3 from 120.00 to 130.00; ";
        for words in [
            words,
            "\nwithout a node\n",
            "\n&lt;a node with a long name&gt;\n",
        ] {
            assert!(svg.contains(words), "{words}: {svg}");
        }
        // The chart is as wide as the last label needs.
        let width = |svg: &str| -> i32 {
            let (_, width) = svg.split_once("width=\"").unwrap();
            width.split('"').next().unwrap().parse().unwrap()
        };
        assert!(width(&plain) + 100 < width(&svg), "{svg}");
    }

    #[test]
    fn a_spread_is_a_bar_beside_a_line() {
        let mut lines = lines(false);
        lines.series.truncate(1);
        let ends = [(1.0, 1.5), (1.0, 2.5), (10.0, 3.0), (10.0, 4.5)];
        lines.series.push(Series {
            name: "hidden".to_owned(),
            points: ends.to_vec(),
            style: Style::Spread,
            is_paired: true,
        });
        let svg = lines.svg();
        assert_eq!(svg.matches("opacity=\"0.3\"").count(), 2, "{svg}");
        assert!(!svg.contains("hidden"), "{svg}");
    }

    #[test]
    fn no_data_gives_an_empty_chart() {
        assert!(Lines::default().svg().ends_with("</svg>\n"));
    }
}

mod intervals {
    use super::*;

    #[test]
    fn every_row_has_a_name_a_bar_and_a_whisker() {
        let row = |name: &str, colour, mean: f64, low: f64, high: f64| Interval {
            name: name.to_owned(),
            colour,
            mean,
            low,
            high,
        };
        let none = f64::NAN;
        let group = |name: &str, rows| Group {
            name: name.to_owned(),
            rows,
        };
        let intervals = Intervals {
            title: "Gain over none".to_owned(),
            unit: "%".to_owned(),
            groups: vec![
                group("all", vec![row("adaptive", 1, 8.0, none, none)]),
                group(
                    "drift",
                    vec![
                        row("adaptive", 1, 20.0, 17.5, 22.5),
                        row("migbsp", 0, -3.0, -4.0, -2.0),
                        row("unknown", 2, none, none, none),
                    ],
                ),
            ],
        };
        let svg = intervals.svg();
        // Every bar has its label beside it: there is no legend.
        assert_eq!(svg.matches("<rect").count(), 3, "{svg}");
        for text in ["adaptive", "migbsp", "unknown", "%", "all", "drift"] {
            assert!(svg.contains(&format!("\n{text}\n")), "{text}: {svg}");
        }
        let description = "Bars in %. all: adaptive 8.00. drift: adaptive 20.00 (17.50 to 22.50), \
                           migbsp -3.00 (-4.00 to -2.00), unknown none.";
        assert!(svg.contains(description), "{svg}");
        assert!(!svg.contains("NaN"), "{svg}");
        assert_eq!(intervals.svg(), svg);
    }

    #[test]
    fn no_data_gives_an_empty_chart() {
        assert!(Intervals::default().svg().ends_with("</svg>\n"));
    }
}

mod bars {
    use super::*;

    fn bars() -> Bars {
        Bars {
            title: "Forces on p21 <&> \"others\"".to_owned(),
            unit: "s".to_owned(),
            categories: ["labtec", "corisco", "aquario"].map(str::to_owned).to_vec(),
            series: vec![
                ("Comp".to_owned(), vec![0.3, 0.5, 0.1]),
                ("Mem".to_owned(), vec![-0.2, f64::NAN]),
            ],
        }
    }

    #[test]
    fn every_finite_value_has_a_bar_and_every_name_stands_there() {
        let svg = bars().svg();
        // Two keys of the legend, and four bars.
        assert_eq!(svg.matches("<rect").count(), 2 + 4, "{svg}");
        let description =
            "<desc>Bars in s. labtec: Comp 0.3000, Mem -0.2000. corisco: Comp 0.5000, Mem none.";
        assert!(svg.contains(description), "{svg}");
        for text in ["labtec", "corisco", "aquario", "Comp", "Mem"] {
            assert!(svg.contains(&format!("\n{text}\n")), "{text}: {svg}");
        }
        assert!(svg.starts_with("<svg "), "{svg}");
        assert!(svg.ends_with("</svg>\n"), "{svg}");
    }

    #[test]
    fn texts_are_escaped_and_nothing_else_changes_between_two_drawings() {
        let mut bars = bars();
        bars.categories[0] = "a\u{1}b".to_owned();
        let svg = bars.svg();
        assert!(
            svg.contains("Forces on p21 &lt;&amp;&gt; &quot;others&quot;"),
            "{svg}"
        );
        assert!(svg.contains("\na b\n"), "{svg}");
        assert_eq!(bars.svg(), svg);
    }

    #[test]
    fn names_that_do_not_fit_are_turned() {
        let mut bars = bars();
        // The unit is always turned.
        assert_eq!(bars.svg().matches("rotate(270,").count(), 1);
        bars.categories = (0..40)
            .map(|index| format!("a long name {index}"))
            .collect();
        assert_eq!(bars.svg().matches("rotate(270,").count(), 41);
    }

    #[test]
    fn no_data_gives_an_empty_chart() {
        let svg = Bars::default().svg();
        assert!(svg.ends_with("</svg>\n"), "{svg}");
    }

    fn rows(rows: &[(&str, f64)]) -> Vec<(String, f64)> {
        let row = |(name, value): &(&str, f64)| ((*name).to_owned(), *value);
        rows.iter().map(row).collect()
    }

    #[test]
    fn bars_grow_to_the_right_and_losses_to_the_left() {
        let rows = rows(&[("Comp", 0.75), ("Comm", 0.0), ("Mem", -0.25), ("PM", 0.3)]);
        let expected = " \
Comp   0.7500    │██████
 Comm   0.0000    │
 Mem   -0.2500  ██│
 PM     0.3000    │██▍
";
        assert_eq!(text_bars(&rows, 8, Layout::default()), expected);
    }

    #[test]
    fn a_nonzero_value_draws_at_least_one_eighth() {
        let rows = rows(&[("much", 1e6), ("little", 1e-3), ("least", -1e-3)]);
        let text = text_bars(&rows, 10, Layout::default());
        let bars: Vec<&str> = text
            .lines()
            .filter_map(|line| line.split("  ").last())
            .collect();
        assert_eq!(bars, [" │██████████", " │▏", "▐│"]);
    }

    #[test]
    fn bars_end_where_lines_do() {
        let rows = rows(&[("a long name", 0.7), ("b", -0.3)]);
        for width in [26, 30, 40] {
            let layout = Layout {
                width: Some(width),
                is_whole: false,
            };
            let text = text_bars(&rows, 48, layout);
            let longest = text.lines().map(|line| line.chars().count()).max();
            assert!(longest.is_some_and(|longest| longest <= width), "{text}");
            assert!(text.contains('█') || width == 26, "{text}");
        }
    }

    #[test]
    fn numbers_that_are_none_have_no_bar() {
        let text = text_bars(&rows(&[("a", f64::NAN), ("b", 0.0)]), 10, Layout::default());
        assert_eq!(text.lines().count(), 2, "{text}");
        assert!(!text.contains('█'), "{text}");
        assert_eq!(text_bars(&[], 10, Layout::default()), "");
    }
}
