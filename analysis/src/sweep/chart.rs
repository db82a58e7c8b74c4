//! A sweep over one or two of its parameters as a chart.

use experiments::Failure;
use settings::{list, nearest};

use crate::chart::{Group, HeatMap, HeatPanel, Interval, Intervals, Lines, Scale, Series, Style};
use crate::sweep::grid::Grid;
use crate::sweep::mean::{gain, groups, makespan, spread};
use crate::sweep::parameter::{Parameter, shown};
use crate::sweep::swept::Swept;
use crate::text::counted;

/// The places of the one or two parameters that a chart shows: those that are `named`, else those that vary.
///
/// # Errors
///
/// If a name is no parameter that varies or is given twice, or there are none or more than two.
pub fn chart_parameters(grid: &Grid, named: &[String]) -> Result<Vec<usize>, Failure> {
    let varying: Vec<(usize, &str)> = grid
        .varying()
        .map(|(place, parameter)| (place, parameter.key()))
        .collect();
    let keys: Vec<&str> = varying.iter().map(|(_, key)| *key).collect();
    let known = || {
        if keys.is_empty() {
            "none".to_owned()
        } else {
            list(&keys)
        }
    };
    let mut places = Vec::new();
    for name in named {
        let Some((place, _)) = varying.iter().find(|(_, key)| key == name) else {
            let help = match nearest(name, &keys) {
                Some(nearest) => format!("did you mean `{nearest}`?"),
                None => format!("parameters with several values: {}", known()),
            };
            let problem =
                format!("--over {name}: no parameter with several values\n  help: {help}");
            return Err(Failure::Usage(problem));
        };
        if places.contains(place) {
            return Err(Failure::Usage(format!("--over {name} is given twice")));
        }
        places.push(*place);
    }
    if named.is_empty() {
        places = varying.iter().map(|(place, _)| *place).collect();
    }
    match places.len() {
        1 | 2 => Ok(places),
        0 => Err(Failure::Usage(
            "--svg shows one or two parameters, and none has several values".to_owned(),
        )),
        count => Err(Failure::Usage(format!(
            "--svg shows one or two parameters, not {count}\n  \
             help: choose with --over KEY, or --over KEY --over KEY: {}",
            known()
        ))),
    }
}

/// The chart over the parameters at these one or two places, as SVG: the others are averaged.
pub fn chart(swept: &Swept, over: &[usize]) -> String {
    match over {
        [x, y, ..] => heat_map(swept, *x, *y).svg(),
        [x] => match swept.plan.grid.parameters[*x].numbers() {
            Some(numbers) => lines(swept, *x, &numbers).svg(),
            None => intervals(swept, *x).svg(),
        },
        [] => Lines::default().svg(),
    }
}

/// Makespans over a parameter whose values are numbers, a line for each policy.
fn lines(swept: &Swept, over: usize, numbers: &[f64]) -> Lines {
    let parameter = &swept.plan.grid.parameters[over];
    let groups = groups(&swept.points, &[over]);
    let mut by_number: Vec<(f64, &Vec<usize>)> = groups
        .iter()
        .map(|(place, points)| (numbers[place[0]], points))
        .collect();
    by_number.sort_by(|left, right| left.0.total_cmp(&right.0));
    let results = &swept.results;
    let (mut series, mut heights) = (Vec::new(), Vec::new());
    for (policy, name) in results.policies.iter().enumerate() {
        let point = |(x, points): &(f64, &Vec<usize>)| (*x, makespan(results, points, policy));
        let points: Vec<(f64, f64)> = by_number.iter().map(point).collect();
        heights.extend(points.iter().map(|(_, height)| *height));
        series.push(Series {
            name: name.clone(),
            points,
            ..Series::default()
        });
        let ends = by_number.iter().filter_map(|(x, points)| {
            let (low, high) = spread(results, points, policy)?;
            Some([(*x, low), (*x, high)])
        });
        series.push(Series {
            points: ends.flatten().collect(),
            style: Style::Spread,
            is_paired: true,
            ..Series::default()
        });
    }
    Lines {
        title: format!("Makespan over {}", parameter.key()),
        note: note(swept, &[over], "Bars: the least and the greatest over"),
        x_label: parameter.key().to_owned(),
        y_label: "seconds".to_owned(),
        x_is_log: is_log(by_number.iter().map(|(x, _)| *x)),
        y_scale: Scale::of(&heights),
        series,
    }
}

/// Whether ascending numbers are positive and further and further apart, as 1, 2, 4, 8 are.
fn is_log(numbers: impl Iterator<Item = f64>) -> bool {
    let numbers: Vec<f64> = numbers.collect();
    let ([first, second, ..], [.., before, last]) = (&numbers[..], &numbers[..]) else {
        return false;
    };
    0.0 < *first && APART * (second - first) <= last - before
}

/// Makespans over a parameter whose values are no numbers, a bar for each policy.
fn intervals(swept: &Swept, over: usize) -> Intervals {
    let parameter = &swept.plan.grid.parameters[over];
    let results = &swept.results;
    let groups = groups(&swept.points, &[over]).into_iter();
    let group = |(place, points): (Vec<usize>, Vec<usize>)| {
        let row = |(policy, name): (usize, &String)| {
            let (low, high) = spread(results, &points, policy).unwrap_or((f64::NAN, f64::NAN));
            Interval {
                name: name.clone(),
                colour: policy,
                mean: makespan(results, &points, policy),
                low,
                high,
            }
        };
        Group {
            name: shown(&parameter.values()[place[0]]),
            rows: results.policies.iter().enumerate().map(row).collect(),
        }
    };
    Intervals {
        title: format!(
            "Makespan over {}, least and greatest over seeds",
            parameter.key()
        ),
        unit: "seconds".to_owned(),
        groups: groups.map(group).collect(),
    }
}

/// Gains over two parameters, or makespans if there is no scenario i; a panel for each policy.
fn heat_map(swept: &Swept, x: usize, y: usize) -> HeatMap {
    let grid = &swept.plan.grid;
    let results = &swept.results;
    let groups = groups(&swept.points, &[x, y]);
    let reference = swept.plan.reference.as_ref();
    let count = |parameter: usize| grid.parameters[parameter].values().len();
    let panel = |(policy, name): (usize, &String)| {
        let cell = |row: usize, column: usize| match groups.get(&vec![column, row]) {
            None => f64::NAN,
            Some(points) if reference.is_some() => 100.0 * gain(results, points, policy),
            Some(points) => makespan(results, points, policy),
        };
        let cells = |row| (0..count(x)).map(|column| cell(row, column)).collect();
        HeatPanel {
            name: name.clone(),
            cells: (0..count(y)).map(cells).collect(),
        }
    };
    let shown_policies = results.policies.iter().enumerate();
    let shown_policies = shown_policies.filter(|(_, name)| Some(*name) != reference);
    let names = |parameter: &Parameter| parameter.values().iter().map(shown).collect();
    let (x_label, y_label) = (grid.parameters[x].key(), grid.parameters[y].key());
    let (what, unit) = match reference {
        Some(reference) => (
            format!("Gain against {reference}"),
            format!("gain, % of the makespan of {reference}"),
        ),
        None => ("Makespan".to_owned(), "makespan in seconds".to_owned()),
    };
    HeatMap {
        title: what,
        note: note(swept, &[x, y], "Geometric mean over"),
        unit,
        x_label: x_label.to_owned(),
        y_label: y_label.to_owned(),
        columns: names(&grid.parameters[x]),
        rows: names(&grid.parameters[y]),
        panels: shown_policies.map(panel).collect(),
        is_around_zero: reference.is_some(),
    }
}

/// What is averaged in a chart over these parameters; `of_seeds` is said of the seeds, if there are several.
fn note(swept: &Swept, over: &[usize], of_seeds: &str) -> String {
    let grid = &swept.plan.grid;
    let mut sentences = Vec::new();
    if let [experiment] = &grid.experiments[..] {
        sentences.push(format!("{experiment}."));
    }
    let others = grid.varying().filter(|(place, _)| !over.contains(place));
    let mut others: Vec<&str> = others.map(|(_, parameter)| parameter.key()).collect();
    if 1 < grid.experiments.len() {
        others.push("experiments");
    }
    if !others.is_empty() {
        sentences.push(format!("Geometric mean over {}.", others.join(", ")));
    }
    if swept
        .results
        .experiments
        .iter()
        .any(|subject| 1 < subject.seeds.len())
    {
        sentences.push(format!("{of_seeds} {}.", counted(grid.seeds.len(), "seed")));
    }
    sentences.join(" ")
}

/// By how much larger the last distance of numbers on a logarithmic axis is than the first.
const APART: f64 = 3.0;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sweep::grid::tests::grid;
    use crate::sweep::swept::tests::swept;

    const TWO: [&[&[f64]]; 4] = [
        &[&[10.0, 12.0], &[9.0, 10.0]],
        &[&[10.0, 12.0], &[8.0, 9.0]],
        &[&[10.0, 12.0], &[7.0, 8.0]],
        &[&[10.0, 12.0], &[11.0, 13.0]],
    ];

    #[test]
    fn a_chart_shows_one_or_two_parameters() {
        let three = grid(&["a.toml"], &["a.x=1,2", "a.y=1", "a.z=1,2", "a.w=1,2"], 1);
        let named = |names: &[&str]| {
            let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
            chart_parameters(&three, &names).map_err(|failure| failure.to_string())
        };
        assert_eq!(named(&["a.w", "a.x"]), Ok(vec![3, 0]));
        let fault = |names: &[&str]| named(names).unwrap_err();
        assert!(fault(&[]).contains("not 3\n  help: choose with --over KEY"));
        assert!(fault(&["other"]).contains("with several values: `a.x`, `a.z`, `a.w`"));
        assert!(fault(&["a.x", "a.x"]).contains("--over a.x is given twice"));
        assert!(fault(&["a.x", "a.w", "a.z"]).contains("not 3"));
        let one = grid(&["a.toml"], &["scheduler.interval=1,2"], 1);
        assert_eq!(chart_parameters(&one, &[]).unwrap(), [0]);
        let problem = chart_parameters(&one, &["scheduler.intervall".to_owned()]);
        let problem = problem.unwrap_err().to_string();
        assert!(
            problem.contains("did you mean `scheduler.interval`?"),
            "{problem}"
        );
        let none = chart_parameters(&grid(&["a.toml"], &["a.x=1"], 1), &[]);
        assert!(
            none.unwrap_err()
                .to_string()
                .contains("none has several values")
        );
    }

    #[test]
    fn numbers_are_lines_with_their_spread() {
        let swept = swept(&["a.x=8,2", "a.y=1,2"], &TWO);
        let drawn = lines(&swept, 0, &[8.0, 2.0]);
        assert_eq!(drawn.title, "Makespan over a.x");
        let note =
            "a.toml. Geometric mean over a.y. Bars: the least and the greatest over 2 seeds.";
        assert_eq!(drawn.note, note);
        let adaptive = &drawn.series[2];
        assert_eq!(adaptive.name, "adaptive");
        // By ascending x: the values 2 come last in the list.
        let expected = [
            (2.0, (7.0 * 8.0 * 11.0 * 13.0_f64).powf(0.25)),
            (8.0, (9.0 * 10.0 * 8.0 * 9.0_f64).powf(0.25)),
        ];
        for ((x, y), (expected_x, expected_y)) in adaptive.points.iter().zip(expected) {
            assert!((x - expected_x).abs() < 1e-9 && (y - expected_y).abs() < 1e-9);
        }
        assert_eq!(drawn.series[3].points.len(), 4);
        assert!(chart(&swept, &[0]).contains("Makespan over a.x"));
    }

    #[test]
    fn powers_have_a_logarithmic_axis() {
        let is_log = |numbers: &[f64]| is_log(numbers.iter().copied());
        assert!(is_log(&[2.0, 4.0, 8.0, 16.0]) && is_log(&[1.0, 10.0, 100.0]));
        for numbers in [
            &[][..],
            &[1.0],
            &[1.0, 100.0],
            &[2.0, 4.0, 8.0],
            &[0.0, 1.0, 10.0],
        ] {
            assert!(!is_log(numbers), "{numbers:?}");
        }
        assert!(!is_log(&[16.0, 32.0, 48.0, 64.0]));
    }

    #[test]
    fn texts_are_bars() {
        let svg = chart(&swept(&["a.x=1 s,t", "a.y=1,2"], &TWO), &[0]);
        assert!(
            svg.contains("\n&quot;1 s&quot;\n") && svg.contains("\nt\n"),
            "{svg}"
        );
        assert!(svg.contains("\nadaptive\n"), "{svg}");
    }

    #[test]
    fn two_parameters_are_a_map_of_gains() {
        let mut swept = swept(&["a.x=1,2", "a.y=u,v"], &TWO);
        let map = heat_map(&swept, 0, 1);
        assert_eq!(map.panels.len(), 1, "none is the reference");
        let gain = |left: f64, right: f64| 100.0 * (1.0 - (left * right / 120.0).sqrt());
        let expected = [
            [gain(9.0, 10.0), gain(7.0, 8.0)],
            [gain(8.0, 9.0), gain(11.0, 13.0)],
        ];
        for (row, expected) in map.panels[0].cells.iter().zip(expected) {
            for (cell, expected) in row.iter().zip(expected) {
                assert!((cell - expected).abs() < 1e-9, "{map:?}");
            }
        }
        assert_eq!((&*map.x_label, &*map.y_label), ("a.x", "a.y"));
        swept.plan.reference = None;
        let map = heat_map(&swept, 0, 1);
        assert_eq!(map.panels.len(), 2);
        assert!((map.panels[0].cells[0][0] - 120.0_f64.sqrt()).abs() < 1e-9);
    }

    #[test]
    fn a_sweep_without_runs_has_an_empty_chart() {
        let empty = swept(&["a.x=1,2", "a.y=u,v"], &[]);
        for over in [&[0][..], &[1], &[0, 1]] {
            assert!(chart(&empty, over).ends_with("</svg>\n"));
        }
    }
}
