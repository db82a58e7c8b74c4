//! Table 1: the choice of a host for a process that has to leave its own.

mod checks;
mod text;

use std::collections::BTreeMap;

use agents::Script;
use analysis::compare::Seeds;
use analysis::compare::statistics::Estimate;
use bsp::numbers::{length, real};
use bsp::{HostId, Rank};
use experiments::batch::Batch;
use experiments::{
    CsvTable, Embedded, Failure, PreparedExperiment, Provenance, Published, Registry, Scenario,
    load_embedded,
};
use model::Policy;
use serde::{Deserialize, Serialize};
use settings::{Unit, decode};

use crate::du::table1::checks::{Check, checks};

pub(crate) use crate::du::table1::text::document;

/// Runs all rows of the table with all `seeds`, on networks and under disciplines of all kinds, and compares. `registry`
/// has the plans that the paper compares.
///
/// # Errors
///
/// If a run fails.
pub(crate) fn reproduce(
    seeds: &Seeds,
    registry: &Registry,
    batch: Batch<'_>,
) -> Result<Report, Failure> {
    let draws: Vec<_> = conditions()
        .flat_map(|condition| seeds.all().iter().map(move |seed| (condition, *seed)))
        .collect();
    let trials = batch.run(&draws, |(condition, seed)| {
        complete_all(*condition, *seed, registry)
    })?;
    let drawn = draws.into_iter().map(|(condition, _)| condition);
    let trials: Vec<_> = drawn.zip(trials).collect();
    let parameters = Parameters::of(&ROWS[0], registry)?;
    Ok(Report::new(seeds, parameters, &trials))
}

/// Choices of a host beside the paper's.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub(crate) struct Report {
    /// `table1`.
    #[cfg_attr(feature = "schemas", schemars(extend("const" = "table1")))]
    part: &'static str,
    /// How many seeds there are.
    seeds: usize,
    /// Parameters that the paper does not state.
    parameters: Parameters,
    /// By discipline and network.
    tables: Vec<Table>,
    /// Claims and whether they hold.
    checks: Vec<Check>,
}

/// Parameters that the paper does not state; those of the experiments are in their files.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
struct Parameters {
    /// The range in which the utilisation of each host by its owner is drawn.
    utilisation: [f64; 2],
    /// Seconds of the shortest job.
    lifetime: f64,
    /// The longest job as a multiple of that.
    longest: f64,
    /// The range in which a factor of the lifetimes of each host is drawn.
    spread: [f64; 2],
}

impl Parameters {
    /// Those of the experiment of a row; all rows have the same.
    ///
    /// # Errors
    ///
    /// If the experiment cannot be read.
    fn of(row: &Row, registry: &Registry) -> Result<Self, Failure> {
        let load = load_embedded(&row.experiment, &[], registry)?
            .experiment
            .load;
        Ok(decode(&load.effective(), "load", |_| Unit::None)?)
    }
}

/// A row of the CSV table.
#[derive(Serialize)]
struct CsvRow<'a> {
    network: &'a str,
    discipline: &'a str,
    row: &'a str,
    strategy: &'a str,
    seconds: f64,
    margin: Option<f64>,
    to_dsa: f64,
    to_dsa_low: Option<f64>,
    to_dsa_high: Option<f64>,
    to_best: f64,
    within_5: f64,
    within_20: f64,
    within_50: f64,
    above_50: f64,
    paper_seconds: Option<f64>,
}

impl Report {
    /// The report on `trials`, each with its condition: completions by row.
    fn new(
        seeds: &Seeds,
        parameters: Parameters,
        trials: &[(Condition, [Completions; 7])],
    ) -> Self {
        let table = |condition| {
            let trials = trials.iter().filter(|(found, _)| *found == condition);
            let trials: Vec<&[Completions; 7]> = trials.map(|(_, trial)| trial).collect();
            let rows = ROWS.iter().enumerate().map(|(number, row)| {
                let trials: Vec<Completions> = trials.iter().map(|trial| trial[number]).collect();
                let cell = |strategy: Strategy| {
                    let printed = row.printed.get(strategy.index()).copied();
                    Cell::new(strategy, &trials, printed)
                };
                TableRow {
                    name: row.name,
                    work_seconds: row.work,
                    state_megabytes: row.state,
                    cells: Strategy::ALL.map(cell).to_vec(),
                }
            });
            Table {
                condition,
                rows: rows.collect(),
            }
        };
        let tables: Vec<Table> = conditions().map(table).collect();
        Self {
            part: "table1",
            seeds: seeds.all().len(),
            parameters,
            checks: tables.iter().flat_map(checks).collect(),
            tables,
        }
    }

    /// One row for each strategy, row of the table and condition.
    pub(crate) fn csv(&self, provenance: &Provenance) -> Result<String, Failure> {
        let mut csv = CsvTable::new(Self::SCHEMA, provenance);
        for table in &self.tables {
            for row in &table.rows {
                for cell in &row.cells {
                    csv.push(&CsvRow {
                        network: table.condition.network.name(),
                        discipline: table.condition.discipline.name(),
                        row: row.name,
                        strategy: cell.strategy.name(),
                        seconds: cell.seconds.value,
                        margin: cell.seconds.margin,
                        to_dsa: cell.to_dsa,
                        to_dsa_low: cell.to_dsa_range.map(|range| range[0]),
                        to_dsa_high: cell.to_dsa_range.map(|range| range[1]),
                        to_best: cell.to_best,
                        within_5: cell.bands[0],
                        within_20: cell.bands[1],
                        within_50: cell.bands[2],
                        above_50: cell.bands[3],
                        paper_seconds: cell.paper,
                    })?;
                }
            }
        }
        csv.text()
    }
}

impl Published for Report {
    const SCHEMA: &'static str = "migbsp.reproduce-du2007-table1/1";
}

/// All rows under one condition.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
struct Table {
    #[serde(flatten)]
    condition: Condition,
    /// All strategies, by row.
    rows: Vec<TableRow>,
}

/// All strategies on one row.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
struct TableRow {
    /// Its name.
    name: &'static str,
    /// Seconds of work left at the decision, on a server.
    work_seconds: f64,
    /// Size of the state of the process, in megabytes of 10⁶ bytes.
    state_megabytes: f64,
    /// By strategy.
    cells: Vec<Cell>,
}

impl Table {
    /// The mean over rows of a figure of a strategy.
    fn mean(&self, strategy: Strategy, figure: impl Fn(&Cell) -> f64) -> f64 {
        let sum: f64 = self.rows.iter().map(|row| figure(row.cell(strategy))).sum();
        sum / real(length(self.rows.len()))
    }
}

impl TableRow {
    fn cell(&self, strategy: Strategy) -> &Cell {
        &self.cells[strategy.index()]
    }
}

/// A number with half the width of its 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
struct Figure {
    /// The number.
    value: f64,
    /// Half the width of its 95 % interval; `None`: there is a single seed.
    margin: Option<f64>,
}

/// A strategy on one row.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
struct Cell {
    /// The strategy.
    strategy: Strategy,
    /// The mean of the seconds from the decision to the end.
    seconds: Figure,
    /// The geometric mean of the ratios to DSA with the same seed.
    to_dsa: f64,
    /// The ends of its 95 % interval; `None`: there is a single seed.
    to_dsa_range: Option<[f64; 2]>,
    /// The mean of the ratios to the best strategy of the paper with the same seed.
    to_best: f64,
    /// Shares of the trials that are at most 5 %, 20 % and 50 % above that, and more.
    bands: [f64; 4],
    /// What the paper prints.
    paper: Option<f64>,
}

impl Cell {
    fn new(strategy: Strategy, trials: &[Completions], paper: Option<f64>) -> Self {
        let index = strategy.index();
        let of = |figure: &dyn Fn(&Completions) -> f64| -> Vec<f64> {
            trials.iter().map(figure).collect()
        };
        let seconds = Estimate::of(&of(&|trial| trial[index]));
        let logarithms = of(&|trial| (trial[index] / trial[Strategy::Dsa.index()]).ln());
        let ratio = Estimate::of(&logarithms);
        let above = of(&|trial| {
            let best = Strategy::PAPER.map(|strategy| trial[strategy.index()]);
            trial[index] / best.into_iter().fold(f64::INFINITY, f64::min)
        });
        Self {
            strategy,
            seconds: Figure {
                value: seconds.mean,
                margin: seconds.margin,
            },
            to_dsa: ratio.mean.exp(),
            to_dsa_range: ratio
                .margin
                .map(|margin| [-1.0, 1.0].map(|side| (ratio.mean + side * margin).exp())),
            to_best: above.iter().sum::<f64>() / real(length(above.len())),
            bands: bands(&above),
            paper,
        }
    }
}

/// The shares of `above` in each band.
fn bands(above: &[f64]) -> [f64; 4] {
    let mut bands = [0.0; 4];
    for ratio in above {
        let band = BANDS.iter().position(|most| *ratio <= 1.0 + most);
        bands[band.unwrap_or(BANDS.len())] += 1.0 / real(length(above.len()));
    }
    bands
}

/// The paper's bands: how far above the best.
const BANDS: [f64; 3] = [0.05, 0.2, 0.5];

/// Seconds from the decision to the end, by strategy.
type Completions = [f64; 6];

/// The completions of one seed, by row.
fn complete_all(
    condition: Condition,
    seed: u64,
    registry: &Registry,
) -> Result<[Completions; 7], Failure> {
    let mut all = [[0.0; 6]; 7];
    for (row, completions) in ROWS.iter().zip(&mut all) {
        *completions = complete(row, condition, seed, registry)?;
    }
    Ok(all)
}

fn complete(
    row: &Row,
    condition: Condition,
    seed: u64,
    registry: &Registry,
) -> Result<Completions, Failure> {
    let draws = format!("scheduler.random.seed={seed}");
    let mut assignments = condition.assignments(seed).to_vec();
    assignments.push(draws);
    let loaded = load_embedded(&row.experiment, &assignments, registry)?;
    let mut prepared = PreparedExperiment::new(loaded)?;
    let mut completions = [f64::INFINITY; 6];
    // The host of a move determines when the run ends.
    let mut known: BTreeMap<HostId, f64> = BTreeMap::new();
    for strategy in Strategy::ALL {
        let Some(policy) = strategy.policy() else {
            continue;
        };
        let policy = registry.policies().policy(policy);
        let policy = policy.map_err(|error| Failure::Usage(error.to_string()))?;
        let policy = with_arguments(policy, seed)?;
        prepared.loaded.experiment.scheduler.policy = Some(policy);
        let (host, seconds) = run(&prepared, row, registry)?;
        known.insert(host, seconds);
        completions[strategy.index()] = seconds;
    }
    let others = prepared.platform.hosts().iter().enumerate();
    let others: Vec<HostId> = others
        .map(|(number, _)| HostId::from_index(number))
        .filter(|host| !prepared.placement.contains(host) && !known.contains_key(host))
        .collect();
    let mut best = known.into_values().fold(f64::INFINITY, f64::min);
    for host in others {
        // Nowhere is the process complete sooner than without moves and owners.
        let speed = prepared.platform.host(host).speed.get();
        if best <= row.work * SERVER / speed {
            continue;
        }
        let order = BTreeMap::from([(1, vec![(Rank(0), host)])]);
        prepared.script = Some(Script(order));
        let (_, seconds) = run(&prepared, row, registry)?;
        best = best.min(seconds);
    }
    completions[Strategy::Clairvoyant.index()] = best;
    Ok(completions)
}

/// Instructions per second of a server, by which the work of rows is stated.
const SERVER: f64 = 1e9;

/// `policy`, with the call after the first superstep and the draws of a seed.
fn with_arguments(policy: Policy, seed: u64) -> Result<Policy, Failure> {
    let arguments = policy.arguments();
    let draws = seed as f64;
    let values = [("once", "after", 1.0), ("random", "seed", draws)];
    values
        .into_iter()
        .try_fold(policy, |policy, (rule, name, value)| {
            if arguments.iter().all(|(known, ..)| *known != rule) {
                return Ok(policy);
            }
            let set = policy.with_argument(rule, name, value);
            set.map_err(|error| Failure::Usage(format!("seed {seed}: {error}")))
        })
}

/// The new host of the process, and seconds from the call to the end.
fn run(
    prepared: &PreparedExperiment,
    row: &Row,
    registry: &Registry,
) -> Result<(HostId, f64), Failure> {
    let finished = prepared.run(Scenario::Iii, registry, &mut |_| {})?;
    let end = finished.end.seconds;
    let [call] = &finished.calls[..] else {
        let number = finished.calls.len();
        return Err(Failure::run(format!(
            "{}: {number} calls instead of 1",
            row.name
        )));
    };
    let Some(moved) = call.migrations.first() else {
        return Err(Failure::run(format!(
            "{}: the process does not move",
            row.name
        )));
    };
    Ok((moved.to, (end - call.at).get()))
}

/// What the network and the owners do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
struct Condition {
    /// How much of links others use.
    network: Network,
    /// What jobs of owners leave to the process.
    discipline: Discipline,
}

/// How much of links others use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
enum Network {
    /// 30 to 100 % are left.
    Light,
    /// 5 to 100 % are left.
    Mixed,
    /// 2 to 50 % are left.
    Busy,
}

/// What jobs of owners leave to the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
enum Discipline {
    /// Nothing: the paper's model.
    Preemptive,
    /// An equal share.
    Shared,
}

/// All conditions, the paper's discipline first.
fn conditions() -> impl Iterator<Item = Condition> {
    let networks = [Network::Busy, Network::Mixed, Network::Light];
    [Discipline::Preemptive, Discipline::Shared]
        .into_iter()
        .flat_map(move |discipline| {
            networks.map(|network| Condition {
                network,
                discipline,
            })
        })
}

impl Condition {
    /// The values of an experiment under this condition, with a seed.
    fn assignments(self, seed: u64) -> [String; 3] {
        let [low, high] = self.network.available();
        [
            format!("run.seed={seed}"),
            format!("congestion.available=[{low}, {high}]"),
            format!("load.discipline={}", self.discipline.name()),
        ]
    }

    /// As texts show it: `busy, preemptive`.
    fn name(self) -> String {
        format!(
            "{} network, {}",
            self.network.name(),
            self.discipline.name()
        )
    }
}

impl Network {
    /// The range of the part of a link that is left.
    const fn available(self) -> [f64; 2] {
        match self {
            Self::Light => [0.3, 1.0],
            Self::Mixed => [0.05, 1.0],
            Self::Busy => [0.02, 0.5],
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Light => "light",
            Self::Mixed => "mixed",
            Self::Busy => "busy",
        }
    }
}

impl Discipline {
    const fn name(self) -> &'static str {
        match self {
            Self::Preemptive => "preemptive",
            Self::Shared => "shared",
        }
    }
}

/// How a host is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
enum Strategy {
    /// The least expected completion.
    Dsa,
    /// The least time of the move.
    Mcm,
    /// The least expected time of execution.
    Etm,
    /// Any.
    Rs,
    /// As DSA, with the ages of jobs.
    DsaPlus,
    /// The host that turns out to be the best.
    Clairvoyant,
}

impl Strategy {
    /// Those of the paper, in its order, and then ours.
    const ALL: [Self; 6] = [
        Self::Dsa,
        Self::Mcm,
        Self::Etm,
        Self::Rs,
        Self::DsaPlus,
        Self::Clairvoyant,
    ];

    /// Those of the paper, in its order.
    const PAPER: [Self; 4] = [Self::Dsa, Self::Mcm, Self::Etm, Self::Rs];

    /// The policy that chooses so; `None`: no policy can.
    const fn policy(self) -> Option<&'static str> {
        match self {
            Self::Dsa => Some("once+dsa"),
            Self::Mcm => Some("once+mcm"),
            Self::Etm => Some("once+etm"),
            Self::Rs => Some("once+random"),
            Self::DsaPlus => Some("once+dsa-plus"),
            Self::Clairvoyant => None,
        }
    }

    /// As the paper writes it.
    const fn name(self) -> &'static str {
        match self {
            Self::Dsa => "DSA",
            Self::Mcm => "MCM",
            Self::Etm => "ETM",
            Self::Rs => "RS",
            Self::DsaPlus => "DSA+",
            Self::Clairvoyant => "clairvoyant",
        }
    }

    /// Its place in [`Self::ALL`].
    const fn index(self) -> usize {
        self as usize
    }
}

/// A row of the table.
#[derive(Debug)]
struct Row {
    /// As the paper writes it.
    name: &'static str,
    /// Seconds of work left on a server, ours.
    work: f64,
    /// Megabytes of the state, ours.
    state: f64,
    /// Seconds of DSA, MCM, ETM and RS, as printed.
    printed: [f64; 4],
    experiment: Embedded,
}

macro_rules! row {
    ($name:literal, $file:literal, $platform:literal, $work:literal, $state:literal, $printed:expr) => {
        Row {
            name: $name,
            work: $work,
            state: $state,
            printed: $printed,
            experiment: Embedded {
                name: concat!("conf/du2007/", $file, ".toml"),
                text: include_str!(concat!("../../conf/du2007/", $file, ".toml")),
                platform: include_str!(concat!("../../conf/platforms/", $platform, ".toml")),
            },
        }
    };
}

/// In the order of the table.
static ROWS: [Row; 7] = [
    row!(
        "linpack 1",
        "linpack-1",
        "sunwulf-large",
        2395.0,
        635.22,
        [2395.33, 2578.52, 2468.12, 4174.63]
    ),
    row!(
        "linpack 2",
        "linpack-2",
        "sunwulf-large",
        495.0,
        224.3,
        [494.91, 619.49, 553.46, 526.54]
    ),
    row!(
        "linpack 3",
        "linpack-3",
        "sunwulf",
        66.0,
        58.4,
        [65.83, 89.42, 81.29, 90.82]
    ),
    row!(
        "linpack 4",
        "linpack-4",
        "sunwulf",
        21.5,
        27.7,
        [21.52, 23.60, 25.02, 76.81]
    ),
    row!(
        "xlintims 1",
        "xlintims-1",
        "sunwulf-xlintims",
        540.0,
        1.5,
        [557.78, 1359.56, 557.81, 557.72]
    ),
    row!(
        "xlintims 2",
        "xlintims-2",
        "sunwulf-xlintims",
        52.0,
        1.5,
        [57.18, 67.45, 69.54, 92.83]
    ),
    row!(
        "xlintims 3",
        "xlintims-3",
        "sunwulf-xlintims",
        590.0,
        1.5,
        [615.97, 1489.73, 616.15, 1466.6]
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_rows_have_the_same_owners() {
        let registry = Registry::shipped().with_plans(lab_rules::PLANS);
        let parameters = |row| Parameters::of(row, &registry).unwrap();
        let first = parameters(&ROWS[0]);
        assert!(0.0 < first.lifetime && 1.0 < first.longest, "{first:?}");
        assert!(ROWS.iter().all(|row| parameters(row) == first));
    }

    fn close(bands: [f64; 4], expected: [f64; 4]) {
        let differ = |(found, expected): (f64, f64)| 1e-12 < (found - expected).abs();
        assert!(!bands.into_iter().zip(expected).any(differ), "{bands:?}");
    }

    #[test]
    fn ratios_are_paired_by_seed() {
        let trials = [
            [1.0, 2.0, 1.0, 4.0, 1.0, 1.0],
            [10.0, 10.0, 9.0, 40.0, 9.0, 8.0],
        ];
        let cell = Cell::new(Strategy::Mcm, &trials, Some(3.0));
        assert!((cell.seconds.value - 6.0).abs() < 1e-12);
        assert!((cell.to_dsa - 2.0_f64.sqrt()).abs() < 1e-12);
        assert!((cell.to_best - f64::midpoint(2.0, 10.0 / 9.0)).abs() < 1e-12);
        close(cell.bands, [0.0, 0.5, 0.0, 0.5]);
        // A choice of ours may be better than the best of the paper.
        let beyond = Cell::new(Strategy::Clairvoyant, &trials, None);
        close(beyond.bands, [1.0, 0.0, 0.0, 0.0]);
    }
}
