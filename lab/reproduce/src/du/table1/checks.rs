//! What must hold.

use bsp::numbers::{length, real};
use serde::Serialize;

use crate::du::table1::{Condition, Discipline, Network, Strategy, Table};

/// A claim, and the number that decides it.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub(super) struct Check {
    /// Its id.
    pub(super) id: String,
    /// What is compared, and whether it must be at least or at most the limit.
    pub(super) claim: String,
    /// Whether it holds.
    pub(super) holds: bool,
    /// The number, the nearest to the limit of those that the claim is about.
    pub(super) value: f64,
    /// What it is compared with.
    pub(super) limit: f64,
}

/// The checks of one condition; only those of a busy network under the paper's discipline are about single rows.
pub(super) fn checks(table: &Table) -> Vec<Check> {
    let Condition {
        network,
        discipline,
    } = table.condition;
    let mut checks = Vec::new();
    if network == Network::Busy && discipline == Discipline::Preemptive {
        checks.extend(of_rows(table));
    }
    if network == Network::Busy {
        checks.extend(of_order(table, discipline.name()));
    }
    checks
}

/// Ratios to DSA in single rows.
fn of_rows(table: &Table) -> [Check; 7] {
    let all = |_: &str| true;
    let in_linpack = |name: &str| ["linpack 3", "linpack 4"].contains(&name);
    let in_xlintims = |name: &str| name.starts_with("xlintims");
    let is_short = |name: &str| in_linpack(name) || name == "xlintims 2";
    let ratios = |strategy: Strategy, is_meant: &dyn Fn(&str) -> bool| -> Vec<f64> {
        let rows = table.rows.iter().filter(|row| is_meant(row.name));
        rows.map(|row| row.cell(strategy).to_dsa).collect()
    };
    let least = |ratios: Vec<f64>| ratios.into_iter().fold(f64::INFINITY, f64::min);
    let most = |ratios: Vec<f64>| ratios.into_iter().fold(0.0, f64::max);
    let mcm = least(ratios(Strategy::Mcm, &all));
    let random = least(ratios(Strategy::Rs, &all));
    let etm = least(ratios(Strategy::Etm, &all));
    let etm_linpack = least(ratios(Strategy::Etm, &in_linpack));
    let etm_xlintims = ratios(Strategy::Etm, &in_xlintims);
    let etm_xlintims = most(
        etm_xlintims
            .iter()
            .map(|ratio| (ratio - 1.0).abs())
            .collect(),
    );
    let plus = most(ratios(Strategy::DsaPlus, &all));
    let plus_short = ratios(Strategy::DsaPlus, &is_short);
    let logarithms = plus_short.iter().map(|ratio| ratio.ln()).sum::<f64>();
    let plus_short = (logarithms / real(length(plus_short.len()))).exp();
    [
        at_least("mcm", "MCM / DSA in every row", mcm, 1.08),
        at_least("rs", "RS / DSA in every row", random, 1.35),
        at_least("etm", "ETM / DSA in every row", etm, 0.99),
        at_least(
            "etm-linpack",
            "ETM / DSA in linpack 3 and 4",
            etm_linpack,
            1.03,
        ),
        at_most(
            "etm-xlintims",
            "|ETM / DSA - 1| in xlintims",
            etm_xlintims,
            0.01,
        ),
        at_most("dsa-plus", "DSA+ / DSA in every row", plus, 1.01),
        at_most(
            "dsa-plus-short",
            "DSA+ / DSA, mean of linpack 3, 4 and xlintims 2",
            plus_short,
            0.98,
        ),
    ]
}

/// The order of the strategies.
fn of_order(table: &Table, discipline: &str) -> [Check; 2] {
    let order = [Strategy::Dsa, Strategy::Etm, Strategy::Mcm, Strategy::Rs];
    let least = |figure: &dyn Fn(Strategy) -> f64| {
        let pairs = order
            .windows(2)
            .map(|pair| figure(pair[1]) - figure(pair[0]));
        pairs.fold(f64::INFINITY, f64::min)
    };
    let shares = least(&|strategy| -table.mean(strategy, |cell| cell.bands[0]));
    let ratios = least(&|strategy| table.mean(strategy, |cell| cell.to_dsa));
    [
        at_least(
            &format!("{discipline}-shares"),
            "trials within 5 % of the best: DSA > ETM > MCM > RS, least difference",
            shares,
            0.0,
        ),
        at_least(
            &format!("{discipline}-order"),
            "mean ratio over rows: DSA < ETM < MCM < RS, least difference",
            ratios,
            0.0,
        ),
    ]
}

fn at_least(id: &str, claim: &str, value: f64, limit: f64) -> Check {
    Check {
        id: id.to_owned(),
        claim: format!("{claim}, at least"),
        holds: limit <= value,
        value,
        limit,
    }
}

fn at_most(id: &str, claim: &str, value: f64, limit: f64) -> Check {
    Check {
        id: id.to_owned(),
        claim: format!("{claim}, at most"),
        holds: value <= limit,
        value,
        limit,
    }
}
