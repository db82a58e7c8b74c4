//! What the paper states of its speedups, and what is wanted of ours.

use serde::Serialize;

use crate::santana::{CURVES, SIZES, Trial};

/// A statement, and whether it holds.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub(super) struct Check {
    /// Its id.
    pub(super) id: &'static str,
    /// What is compared.
    pub(super) claim: &'static str,
    /// Whose statement it is.
    pub(super) source: Source,
    /// Whether it holds; `None`: it cannot be checked.
    pub(super) holds: Option<bool>,
    /// Our value.
    pub(super) value: Option<f64>,
    /// Its limit.
    pub(super) limit: Option<f64>,
}

/// Whose statement a check is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub(super) enum Source {
    /// The paper states it.
    Paper,
    /// It is inferred from what the paper does not name.
    Inferred,
    /// It is wanted of our rules.
    Ours,
}

/// The speedups of one set of rules, by curve and size.
struct Speedups<'a>(&'a [Vec<Trial>]);

impl Speedups<'_> {
    fn of(&self, curve: &str, size: u32) -> f64 {
        let row = CURVES.iter().position(|found| found.name == curve);
        let row = &self.0[row.expect("a curve of the paper")];
        let trial = row.iter().find(|trial| trial.size == size);
        trial.expect("a size of the paper").speedup
    }

    /// The least of a ratio over sizes.
    fn least(&self, sizes: &[u32], curve: &str, other: &str) -> f64 {
        let ratios = sizes
            .iter()
            .map(|size| self.of(curve, *size) / self.of(other, *size));
        ratios.fold(f64::INFINITY, f64::min)
    }
}

/// All checks: those of the paper on runs with its rules, those of ours on runs with ours.
pub(super) fn checks(
    paper: &[Vec<Trial>],
    ours: &[Vec<Trial>],
    tuned: &[(u32, f64)],
) -> Vec<Check> {
    let mut all = of_paper(paper);
    all.extend(of_ours(&Speedups(ours), tuned));
    all
}

/// The checks of the paper on runs with its rules.
pub(super) fn of_paper(paper: &[Vec<Trial>]) -> Vec<Check> {
    let mut all = of_balance(paper).to_vec();
    all.extend(of_fixed_clusters(&Speedups(paper)));
    all.extend(of_joining(paper));
    all
}

impl Check {
    /// By which part its value is beyond its limit; below zero if it does not hold. `None`: the paper does not state it.
    pub(super) fn margin(&self) -> Option<f64> {
        let (value, limit) = (self.value?, self.limit?);
        let distance = (value / limit - 1.0).abs();
        let stated = self.holds.filter(|_| self.source == Source::Paper)?;
        Some(if stated { distance } else { -distance })
    }
}

fn of_balance(paper: &[Vec<Trial>]) -> [Check; 2] {
    let worst = |joins: bool| {
        let rows = CURVES.iter().zip(paper);
        let rows = rows.filter(|(curve, _)| curve.joining.is_empty() != joins);
        let points = rows
            .flat_map(|(_, row)| row)
            .filter_map(|trial| trial.imbalance);
        points.fold(0.0, f64::max)
    };
    [
        below(
            "C1",
            "shares against normalised powers, static, in points",
            worst(false),
            1.0,
        ),
        below("C1-joined", "the same, if hosts join", worst(true), 3.0),
    ]
}

fn of_fixed_clusters(paper: &Speedups<'_>) -> Vec<Check> {
    let rising = [900, 1000, 1200, 1500, 1800];
    let steps = [("4", "3"), ("5", "4"), ("6", "5")];
    let least = steps.map(|(more, fewer)| paper.least(&rising, more, fewer));
    let at = |size, curve| paper.of(curve, size) / paper.of("4", size);
    let small = [at(300, "3"), at(300, "5"), at(300, "6")];
    vec![
        above(
            "S1",
            "a machine more, but for N = 300, 600 and 2000: least ratio",
            least.into_iter().fold(f64::INFINITY, f64::min),
            1.0,
        ),
        Check {
            id: "S1-2000",
            claim: "N = 2000: the paper does not say which cluster is the exception",
            source: Source::Paper,
            holds: None,
            value: None,
            limit: None,
        },
        below(
            "S2",
            "N = 300: 3, 5 and 6 machines against 4: greatest ratio",
            small.into_iter().fold(0.0, f64::max),
            1.0,
        ),
        below("S3", "N = 600: 5 machines against 4", at(600, "5"), 1.0),
        Check {
            source: Source::Inferred,
            ..above("S3b", "N = 600: 6 machines against 4", at(600, "6"), 1.0)
        },
    ]
}

fn of_joining(paper: &[Vec<Trial>]) -> Vec<Check> {
    let speedups = Speedups(paper);
    let others = ["3 + 1", "3 + 2", "4 + 1", "5 + 1"];
    let worst = others.map(|other| speedups.least(&SIZES, other, "3 + 3"));
    let falling = [("3 + 1", "3 + 2"), ("3 + 2", "3 + 3")];
    let falling = falling.map(|(fewer, more)| speedups.least(&SIZES, fewer, more));
    let wait = |name: &str| {
        let mut waits = paper.iter().flatten().flat_map(|trial| &trial.waits);
        let found = waits.find(|(host, _)| host == name);
        found.map_or(f64::NAN, |(_, seconds)| *seconds)
    };
    let waits = ["worker03", "worker05", "worker04"].map(wait);
    let growth = (waits[1] / waits[0]).min(waits[2] / waits[1]);
    let minimum = |values: [f64; 2]| values[0].min(values[1]);
    vec![
        above(
            "D1",
            "3 + 1 against 3, but for N = 300: least ratio",
            speedups.least(&SIZES[1..], "3 + 1", "3"),
            1.0,
        ),
        below(
            "D1x",
            "N = 300: 3 + 1 against 3",
            speedups.of("3 + 1", 300) / speedups.of("3", 300),
            1.0,
        ),
        above(
            "D3",
            "other clusters that hosts join against 3 + 3: least ratio",
            worst.into_iter().fold(f64::INFINITY, f64::min),
            1.0,
        ),
        above(
            "D4",
            "3 + 1 against 3 + 2, and 3 + 2 against 3 + 3: least ratio",
            minimum(falling),
            1.0,
        ),
        above(
            "D5",
            "4 + 1 against 5 + 1: least ratio",
            speedups.least(&SIZES, "4 + 1", "5 + 1"),
            1.0,
        ),
        above(
            "D6",
            "creating processes on worker05 against worker03, and worker04 against worker05",
            growth,
            1.0,
        ),
    ]
}

fn of_ours(ours: &Speedups<'_>, tuned: &[(u32, f64)]) -> Vec<Check> {
    let goal = |curve: &str, goals: [(u32, f64); 4]| {
        let ratios = goals.map(|(size, goal)| ours.of(curve, size) / goal);
        ratios.into_iter().fold(f64::INFINITY, f64::min)
    };
    let fixed = goal("6", [(300, 2.0), (600, 2.55), (1200, 2.95), (2000, 3.1)]);
    let joined = goal(
        "3 + 3",
        [(300, 1.57), (600, 2.21), (1200, 2.63), (2000, 2.8)],
    );
    let alone = [
        ("3 + 1", "3"),
        ("3 + 2", "3"),
        ("3 + 3", "3"),
        ("4 + 1", "4"),
        ("5 + 1", "5"),
    ];
    let alone = alone.map(|(joined, fixed)| ours.least(&SIZES, joined, fixed));
    let tuned = tuned
        .iter()
        .map(|(size, tuned)| ours.of("6", *size) / tuned);
    let tuned = tuned.fold(f64::INFINITY, f64::min);
    let ours = |check: Check| Check {
        source: Source::Ours,
        ..check
    };
    vec![
        ours(above(
            "W1",
            "weighted, 6 machines, against 2.0, 2.55, 2.95 and 3.1: least ratio",
            fixed,
            1.0,
        )),
        ours(above(
            "W2",
            "weighted, 3 + 3, against 1.57, 2.21, 2.63 and 2.8: least ratio",
            joined,
            1.0,
        )),
        ours(above(
            "W3",
            "weighted, hosts join, against no host joins: least ratio",
            alone.into_iter().fold(f64::INFINITY, f64::min),
            0.99,
        )),
        ours(above(
            "W4",
            "weighted, 6 machines, against block-cyclic with the best block: least ratio",
            tuned,
            1.0,
        )),
    ]
}

fn above(id: &'static str, claim: &'static str, value: f64, limit: f64) -> Check {
    check(id, claim, value, limit, limit <= value)
}

fn below(id: &'static str, claim: &'static str, value: f64, limit: f64) -> Check {
    check(id, claim, value, limit, value <= limit)
}

fn check(id: &'static str, claim: &'static str, value: f64, limit: f64, holds: bool) -> Check {
    Check {
        id,
        claim,
        source: Source::Paper,
        holds: Some(holds),
        value: Some(value),
        limit: Some(limit),
    }
}
