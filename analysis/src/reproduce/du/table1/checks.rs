//! What must hold.

use serde::Serialize;

use super::condition::{Condition, Discipline, Network};
use super::strategy::Strategy;
use super::table::Table;

/// A claim, and the number that decides it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Check {
    pub(super) id: String,
    pub(super) claim: String,
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
    if network != Network::Busy {
        return checks;
    }
    let prefix = discipline.name();
    if discipline == Discipline::Preemptive {
        let each = |strategy| table.rows.iter().map(move |row| row.cell(strategy).to_dsa);
        let least = |strategy| each(strategy).fold(f64::INFINITY, f64::min);
        let most = |strategy| each(strategy).fold(0.0, f64::max);
        checks.push(at_least(
            "mcm",
            "MCM / DSA in every row",
            least(Strategy::Mcm),
            1.08,
        ));
        checks.push(at_least(
            "rs",
            "RS / DSA in every row",
            least(Strategy::Rs),
            1.35,
        ));
        checks.push(at_least(
            "etm",
            "ETM / DSA in every row",
            least(Strategy::Etm),
            0.99,
        ));
        let of = |rows: &[&str], strategy| -> Vec<f64> {
            let rows = table.rows.iter().filter(|row| rows.contains(&row.name));
            rows.map(|row| row.cell(strategy).to_dsa).collect()
        };
        let linpack = of(&["linpack 3", "linpack 4"], Strategy::Etm);
        let linpack = linpack.into_iter().fold(f64::INFINITY, f64::min);
        checks.push(at_least(
            "etm-linpack",
            "ETM / DSA in linpack 3 and 4",
            linpack,
            1.03,
        ));
        let light = of(&["xlintims 1", "xlintims 2", "xlintims 3"], Strategy::Etm);
        let light = light.into_iter().map(|ratio| (ratio - 1.0).abs());
        let light = light.fold(0.0, f64::max);
        checks.push(at_most(
            "etm-xlintims",
            "|ETM / DSA - 1| in xlintims",
            light,
            0.01,
        ));
        checks.push(at_most(
            "dsa-plus",
            "DSA+ / DSA in every row",
            most(Strategy::DsaPlus),
            1.01,
        ));
        let short = of(&["linpack 3", "linpack 4", "xlintims 2"], Strategy::DsaPlus);
        let short = short.iter().map(|ratio| ratio.ln()).sum::<f64>() / 3.0;
        checks.push(at_most(
            "dsa-plus-short",
            "DSA+ / DSA, mean of linpack 3, 4 and xlintims 2",
            short.exp(),
            0.98,
        ));
    }
    let order = [Strategy::Dsa, Strategy::Etm, Strategy::Mcm, Strategy::Rs];
    let pairs = || order.windows(2).map(|pair| (pair[0], pair[1]));
    let within = |strategy: Strategy| table.mean(strategy, |cell| cell.bands[0]);
    let shares = pairs().map(|(better, worse)| within(better) - within(worse));
    let shares = shares.fold(f64::INFINITY, f64::min);
    let claim = "trials within 5 % of the best: DSA > ETM > MCM > RS, least difference";
    checks.push(at_least(&format!("{prefix}-shares"), claim, shares, 0.0));
    let ratio = |strategy: Strategy| table.mean(strategy, |cell| cell.to_dsa);
    let ratios = pairs().map(|(better, worse)| ratio(worse) - ratio(better));
    let ratios = ratios.fold(f64::INFINITY, f64::min);
    let claim = "mean ratio over rows: DSA < ETM < MCM < RS, least difference";
    checks.push(at_least(&format!("{prefix}-order"), claim, ratios, 0.0));
    checks
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
