//! Fits the network of the papers' testbed, and nothing else, to scenario i of Tables 1 to 5, 7, 9 and
//! Fig. 16.
//!
//! ```text
//! cargo run --release -p integration-tests --example fit
//! ```
//!
//! The cells used are the forty-nine of scenario i (the application alone, no scheduler): Lattice
//! Boltzmann on 10 to 200 processes and for 10 to 2000 supersteps, Smith-Waterman of order 10 to 200, LU of
//! order 500 to 5000. Scenarios ii and iii are never looked at. What is fitted is four numbers: bandwidth
//! of a Fast Ethernet cable, of a host or of a cluster, bandwidth of one message between clusters,
//! and what a message between the barrier's master and another host takes whatever its size, there and
//! back, on Fast Ethernet and on Gigabit. Hosts and clusters have no bandwidths of their own, because these
//! cells do not tell them apart: anything from 17 to 30 MB/s for a cluster's cable is as good. Speeds of
//! hosts, Gigabit's cables, the split of the last two (64 % collecting, 36 % releasing) and everything else
//! stay as in `conf/platforms/testbed.toml`.
//!
//! One number after the other is varied by a shrinking factor as long as the mean absolute relative error
//! falls (coordinate descent). Two of the applications are regular, and their long runs are put together
//! from short ones: Lattice Boltzmann's supersteps are all alike, and what a stage of LU takes depends on
//! the order of what is left of the matrix, quadratically in pieces.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;

use agents::{Barrier, Collection, PlacementOptions, Programs, Setup, TransferStart, placement};
use anyhow::{Context, bail};
use bsp::Program;
use simulated::simulate;
use simulator::{NetworkModel, NetworkOptions, Platform};
use toml_edit::{DocumentMut, Item, value};
use workloads::{Common, lbm, lu, smith_waterman};

/// The clusters on Fast Ethernet; the others are on Gigabit.
const FAST_ETHERNET: [&str; 3] = ["labtec", "corisco", "frontal"];
/// How much of what the barrier's messages take is spent collecting.
const COLLECTING: f64 = 0.64;
const FACTORS: [f64; 4] = [1.3, 1.08, 1.03, 1.01];
/// The number of stages of LU after which the same processes compute: 20 rows of processes and 10 columns.
const STAGES: u64 = 20;
/// Orders at which stages of LU are simulated; between them a parabola stands in.
const ORDERS: [u32; 8] = [20, 100, 250, 500, 1000, 2000, 3500, 5000];
/// Where the descent begins: what Fast Ethernet says that it carries, and something below that for what goes far.
const START: Network = Network {
    cable: 12.5e6,
    message: 7.5e6,
    fast_ethernet: 40e-6,
    gigabit: 80e-6,
};

/// What is fitted, in base units.
#[derive(Clone, Copy, Debug)]
struct Network {
    /// Of a host or a cluster on Fast Ethernet, B/s.
    cable: f64,
    /// What one message between clusters gets at most, B/s.
    message: f64,
    /// To the master's cluster and back, s.
    fast_ethernet: f64,
    /// Between hosts of the Gigabit clusters and the master, s.
    gigabit: f64,
}

/// One of the papers' applications.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Application {
    LatticeBoltzmann,
    SmithWaterman,
    Lu,
}

/// One cell of scenario i.
#[derive(Clone, Copy, Debug)]
struct Cell {
    application: Application,
    processes: u32,
    /// Supersteps of Lattice Boltzmann, order of the matrix else.
    size: u32,
    seconds: f64,
}

fn main() -> anyhow::Result<()> {
    let template = fs::read_to_string(root().join("conf/platforms/testbed.toml"))?;
    let cells = cells()?;
    print(&format!("{} cells of scenario i", cells.len()));
    let (network, error) = descend(&template, &cells)?;
    print("\napplication       processes   size      paper       ours   error");
    for (cell, seconds) in cells.iter().zip(predict(&template, &network, &cells)?) {
        print(&format!(
            "{:<16}  {:>9}  {:>5} {:>10.2} {:>10.2} {:>+6.2} %",
            format!("{:?}", cell.application),
            cell.processes,
            cell.size,
            cell.seconds,
            seconds,
            (seconds / cell.seconds - 1.0) * 100.0
        ));
    }
    print(&format!(
        "\nmean absolute relative error: {:.3} %",
        error * 100.0
    ));
    if std::env::args().any(|argument| argument == "--write") {
        let path = root().join("conf/platforms/testbed.toml");
        fs::write(&path, platform_text(&template, &network.rounded())?)?;
        print(&format!("written to {}", path.display()));
    } else {
        print(
            "with --write, conf/platforms/testbed.toml takes these values, rounded to three digits",
        );
    }
    Ok(())
}

/// The network with the least error that coordinate descent finds, and that error.
fn descend(template: &str, cells: &[Cell]) -> anyhow::Result<(Network, f64)> {
    let mut network = START;
    let mut error = mean_error(template, &network, cells)?;
    print(&format!("{:8.4} %  {network:?}  (start)", error * 100.0));
    for factor in FACTORS {
        loop {
            let before = error;
            for (index, step) in (0..4).flat_map(|index| [(index, factor), (index, 1.0 / factor)]) {
                let tried = network.with(index, step);
                let tried_error = mean_error(template, &tried, cells)?;
                if tried_error < error {
                    (network, error) = (tried, tried_error);
                }
            }
            if before <= error {
                break;
            }
        }
        let percent = error * 100.0;
        print(&format!("{percent:8.4} %  {network:?}  (factor {factor})"));
    }
    Ok((network, error))
}

impl Network {
    fn values(&mut self) -> [&mut f64; 4] {
        [
            &mut self.cable,
            &mut self.message,
            &mut self.fast_ethernet,
            &mut self.gigabit,
        ]
    }

    fn with(mut self, index: usize, factor: f64) -> Self {
        *self.values()[index] *= factor;
        self
    }

    /// To three significant digits.
    fn rounded(mut self) -> Self {
        for value in self.values() {
            let text = format!("{value:.2e}");
            *value = text.parse().expect("a number that was just written");
        }
        self
    }
}

/// The cells of scenario i in the papers' tables.
fn cells() -> anyhow::Result<Vec<Cell>> {
    use Application::{LatticeBoltzmann, Lu, SmithWaterman};
    let tables = (1..=5).map(|table| (format!("table{table}"), LatticeBoltzmann));
    let others = [("table7", SmithWaterman), ("table9", Lu), ("fig16", Lu)];
    let others = others.map(|(table, application)| (table.to_owned(), application));
    let mut cells = Vec::new();
    for (table, application) in tables.chain(others) {
        let mut reader = csv::Reader::from_path(folder().join(format!("{table}.csv")))?;
        for record in reader.records() {
            let record = record?;
            if &record[4] == "i" {
                cells.push(Cell {
                    application,
                    size: record[1].parse()?,
                    processes: record[2].parse()?,
                    seconds: record[5].parse()?,
                });
            }
        }
    }
    Ok(cells)
}

fn mean_error(template: &str, network: &Network, cells: &[Cell]) -> anyhow::Result<f64> {
    let predicted = predict(template, network, cells)?;
    let errors = cells
        .iter()
        .zip(&predicted)
        .map(|(cell, ours)| (ours / cell.seconds - 1.0).abs());
    Ok(errors.sum::<f64>() / cells.len() as f64)
}

/// What our runs take, cell by cell.
fn predict(template: &str, network: &Network, cells: &[Cell]) -> anyhow::Result<Vec<f64>> {
    let platform = Arc::new(Platform::from_toml(&platform_text(template, network)?)?);
    let (lattices, wavefronts, decompositions) = thread::scope(|scope| {
        let lattices = scope.spawn(|| {
            by_processes(cells, Application::LatticeBoltzmann, |processes| {
                let short = lattice_boltzmann(&platform, processes, 4)?;
                let long = lattice_boltzmann(&platform, processes, 8)?;
                Ok((short, (long - short) / 4.0))
            })
        });
        let wavefronts = scope.spawn(|| {
            by_processes(cells, Application::SmithWaterman, |processes| {
                smith_waterman(&platform, processes)
            })
        });
        let decompositions = by_processes(cells, Application::Lu, |processes| {
            Stages::new(&platform, processes)
        });
        (lattices.join(), wavefronts.join(), decompositions)
    });
    let lattices = lattices.expect("a thread that panics ends the program")?;
    let wavefronts = wavefronts.expect("a thread that panics ends the program")?;
    let decompositions = decompositions?;
    let time = |cell: &Cell| match cell.application {
        Application::LatticeBoltzmann => {
            let (short, each) = lattices[&cell.processes];
            short + (f64::from(cell.size) - 4.0) * each
        }
        Application::SmithWaterman => wavefronts[&cell.processes],
        Application::Lu => decompositions[&cell.processes].all(cell.size),
    };
    Ok(cells.iter().map(time).collect())
}

/// What `simulate` answers for each number of processes on which the application has cells.
fn by_processes<T>(
    cells: &[Cell],
    application: Application,
    simulate: impl Fn(u32) -> anyhow::Result<T>,
) -> anyhow::Result<BTreeMap<u32, T>> {
    let of_application = cells.iter().filter(|cell| cell.application == application);
    let numbers: BTreeSet<u32> = of_application.map(|cell| cell.processes).collect();
    let answered = numbers
        .into_iter()
        .map(|processes| Ok((processes, simulate(processes)?)));
    answered.collect()
}

fn lattice_boltzmann(
    platform: &Arc<Platform>,
    processes: u32,
    supersteps: u64,
) -> anyhow::Result<f64> {
    let common = common(processes, Some(supersteps));
    makespan(
        platform,
        lbm::processes(&lbm::Parameters::default(), common)?,
    )
}

fn smith_waterman(platform: &Arc<Platform>, processes: u32) -> anyhow::Result<f64> {
    let parameters = smith_waterman::Parameters::default();
    let programs = smith_waterman::processes(&parameters, common(processes, None))?;
    makespan(platform, programs)
}

/// What LU's stages take on some processes, by the order of what is left of the matrix.
struct Stages {
    /// The superstep before all stages, s.
    first: f64,
    /// Mean order of the rest after some stages, and the duration of each of them (s).
    known: Vec<(f64, f64)>,
}

impl Stages {
    fn new(platform: &Arc<Platform>, processes: u32) -> anyhow::Result<Self> {
        let run = |order, supersteps| {
            let parameters = lu::Parameters {
                order,
                ..lu::Parameters::default()
            };
            let programs = lu::processes(&parameters, common(processes, Some(supersteps)))?;
            makespan(platform, programs)
        };
        let stages = STAGES as f64;
        let first = run(ORDERS[0], 1)?;
        let mut known = Vec::new();
        for order in ORDERS {
            let left = f64::from(order) - (stages + 1.0) / 2.0;
            known.push((left, (run(order, 2 * STAGES + 1)? - first) / stages));
        }
        Ok(Self { first, known })
    }

    /// What all stages of a matrix take.
    fn all(&self, order: u32) -> f64 {
        self.first + (0..order).map(|left| self.one(left.into())).sum::<f64>()
    }

    /// What the stage takes that leaves a matrix of an order: Lagrange's parabola through three
    /// neighbours.
    fn one(&self, left: f64) -> f64 {
        let above = self.known.iter().position(|(known, _)| left <= *known);
        let last = self.known.len() - 1;
        let middle = above.unwrap_or(last).clamp(1, last - 1);
        let three = &self.known[middle - 1..=middle + 1];
        let term = |(index, (x, y)): (usize, &(f64, f64))| {
            let others = three
                .iter()
                .enumerate()
                .filter(|(other, _)| *other != index);
            y * others
                .map(|(_, (z, _))| (left - z) / (x - z))
                .product::<f64>()
        };
        three.iter().enumerate().map(term).sum()
    }
}

const fn common(processes: u32, supersteps: Option<u64>) -> Common {
    Common {
        processes,
        supersteps,
        seed: 1,
    }
}

fn makespan<P>(platform: &Arc<Platform>, programs: Vec<P>) -> anyhow::Result<f64>
where
    P: Program<Message = ()> + 'static,
{
    let processes = u32::try_from(programs.len())?;
    let setup = Setup {
        network: NetworkOptions {
            model: NetworkModel::Ideal,
            cross_traffic: false,
            ..NetworkOptions::default()
        },
        start: TransferStart::Rendezvous,
        placement: placement(platform, &PlacementOptions::default(), processes)?,
        platform: Arc::clone(platform),
        barrier: Barrier {
            collection: Collection::ByRank,
            ..Barrier::default()
        },
        scheduler: None,
        elasticity: None,
        awaited: None,
        checkpointing: None,
        superstep_limit: u64::MAX,
        traced: false,
        repeats: true,
        resumed: None,
    };
    Ok(simulate(&setup, Programs::new(programs), &mut |_| {})?
        .end
        .seconds
        .get())
}

/// The testbed with another network.
fn platform_text(template: &str, network: &Network) -> anyhow::Result<String> {
    let mut document: DocumentMut = template.parse()?;
    document["core"]["bandwidth"] = value(megabytes(network.message));
    let Some(Item::ArrayOfTables(sets)) = document.get_mut("set") else {
        bail!("no Sets")
    };
    for set in sets.iter_mut() {
        if FAST_ETHERNET.contains(&set["name"].as_str().context("a name")?) {
            for cable in ["link", "uplink"] {
                set[cable]["bandwidth"] = value(megabytes(network.cable));
            }
        }
    }
    let Some(Item::ArrayOfTables(links)) = document.get_mut("link") else {
        bail!("no links")
    };
    for link in links.iter_mut() {
        let seconds = match link["name"].as_str().context("a name")? {
            "fast_to_master" => network.fast_ethernet * COLLECTING,
            "master_to_fast" => network.fast_ethernet * (1.0 - COLLECTING),
            "gigabit_to_master" => network.gigabit * COLLECTING,
            "master_to_gigabit" => network.gigabit * (1.0 - COLLECTING),
            other => bail!("unknown link {other}"),
        };
        link["latency"] = value(format!("{} us", trimmed(seconds * 1e6)));
    }
    Ok(document.to_string())
}

fn megabytes(bandwidth: f64) -> String {
    format!("{} MBps", trimmed(bandwidth / 1e6))
}

/// To four digits behind the point, without zeros at the end.
fn trimmed(number: f64) -> String {
    let text = format!("{number:.4}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Where the papers' tables are.
fn folder() -> PathBuf {
    root().join("lab/reproduce/data/tables")
}

#[expect(clippy::print_stdout, reason = "this is what the program is for")]
fn print(line: &str) {
    println!("{line}");
}
