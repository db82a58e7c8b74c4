//! `rebalance sweep`.

use std::fs;

use crate::charts::check_svg;
use crate::rebalance::{IMLP, folder, object, with_group};

#[test]
fn every_algorithm_has_a_point_at_every_level() {
    let folder = with_group("I3,1");
    let arguments = [
        "sweep",
        "drawn.json",
        "--algorithm",
        "imlp",
        "--algorithm",
        "imlp:levels=3,gamma=4",
        "--algorithm",
        "tabu",
        "--budget",
        "100 ksteps",
        "--points",
        "6",
    ];
    let json = object(&folder, &arguments);
    assert_eq!(json["schema"], "migbsp.rebalance-sweep/1");
    let points = json["points"].as_array().unwrap();
    assert_eq!(points.len(), 6 * 3);
    let mut last = 0.0;
    for level in points.chunks(3) {
        let target = level[0]["target"].as_f64().unwrap();
        assert!(last < target, "{target}");
        last = target;
        for (point, algorithm) in level.iter().zip(["imlp", "imlp:levels=3,gamma=4", "tabu"]) {
            assert_eq!(point["algorithm"], algorithm);
            assert_eq!(point["target"], target);
            if point["feasible"] == true {
                let bound = point["lower_bound"].as_f64().unwrap();
                assert!(bound <= point["cost"].as_f64().unwrap() + 1e-9, "{point}");
            }
        }
    }
    let furthest = points.last().unwrap();
    assert_eq!(furthest["target"], json["dc_initial"]);
    assert_eq!(furthest["cost"], 0.0);
    let csv = folder.csv(&[&["rebalance"], &arguments[..]].concat());
    assert!(
        csv.starts_with("target,algorithm,feasible,dc,cost,"),
        "{csv}"
    );
    assert_eq!(csv.lines().count(), 1 + 18);
}

#[test]
fn levels_are_given_or_made() {
    let folder = folder();
    let targets = |arguments: &[&str]| {
        let common = [
            "sweep",
            "small.json",
            "--budget",
            "1 ksteps",
            "--algorithm",
            "mlp",
        ];
        let json = object(&folder, &[&common[..], arguments].concat());
        let points = json["points"].as_array().unwrap().clone();
        let target = |point: &serde_json::Value| point["target"].as_f64().unwrap();
        points.iter().map(target).collect::<Vec<f64>>()
    };
    assert_eq!(targets(&["--target", "90", "--target", "50"]), [50.0, 90.0]);
    assert_eq!(targets(&["--points", "3"]), [45.9, 54.72, 150.0]);
    assert_eq!(targets(&["--points", "1"]), [150.0]);
}

#[test]
fn the_curve_is_drawn() {
    let folder = folder();
    let arguments = ["rebalance", "sweep", "small.json", "--budget", "1 ksteps"];
    folder.stdout(&[&arguments[..], &["--svg", "cost.svg"]].concat());
    let svg = fs::read_to_string(folder.path().join("cost.svg")).unwrap();
    for text in ["imlp", "best", "lower bound", "small: cost of each level"] {
        assert!(svg.contains(text), "{text}: {svg}");
    }
    check_svg(&svg);
    // Costs of this instance span more than a decade, and one of them is zero.
    assert!(
        svg.contains("cost of migration (seconds), logarithmic over"),
        "{svg}"
    );
    assert!(svg.contains("\n0\n"), "{svg}");
    folder.fails(
        &[&arguments[..], &["--svg", "nowhere/cost.svg"]].concat(),
        1,
        "nowhere/cost.svg: cannot be written: No such file or directory (os error 2)",
    );
}

#[test]
fn the_text_has_a_row_for_each_level() {
    let arguments = ["rebalance", "sweep", "small.json", "--points", "4"];
    let text = folder().stdout(&[&arguments[..], &IMLP[..]].concat());
    assert_eq!(text, EXPECTED, "{text}");
}

const EXPECTED: &str = "\
small: cost in seconds of migration, by highest allowed level of a machine

 target   imlp  at least  moves  spared
  45.90            0.211
  49.40            0.167
  66.49  0.140     0.130      2    86 %
 150.00  0.000     0.000      0     0 %

The initial highest level is 150.00, perfect balance 45.00. `at least` is a lower
bound, `moves` are those of the cheapest, `spared` is the part of the imbalance that goes. An empty place: not met.
Budget: 10000 steps for each number; seed 1.
";
