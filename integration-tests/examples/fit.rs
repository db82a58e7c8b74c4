//! Fits the network of the papers' testbed, and nothing else, to scenario i of Tables 1 to 5.
//!
//! ```text
//! cargo run --release -p integration-tests --example fit
//! ```
//!
//! The cells used are the thirty of scenario i (the application alone, no scheduler): 10, 25, 50, 100
//! and 200 processes, 10 to 2000 supersteps. Scenarios ii and iii are never looked at. What is fitted
//! is six numbers: bandwidth of a host's link and of a cluster's uplink, for Fast Ethernet and for
//! Gigabit, and what a message of the barrier costs the master's host, from and to either; speeds of
//! hosts, the split of that cost (64 % collecting, 36 % releasing) and everything else stay as in
//! `conf/platforms/testbed.toml`. One number after the other is varied by a shrinking factor as long as
//! the mean absolute relative error falls (coordinate descent). The model is regular, so a run of n
//! supersteps is extrapolated from runs of 10 and 30.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use agents::{Barrier, Collection, PlacementOptions, Setup, TransferStart, placement, simulate};
use anyhow::{Context, bail};
use simulator::{NetworkModel, NetworkOptions, Platform};
use toml_edit::{DocumentMut, Item, value};
use workloads::{Common, lbm};

/// The clusters on Fast Ethernet; the others are on Gigabit.
const FAST_ETHERNET: [&str; 3] = ["labtec", "corisco", "frontal"];
/// The cluster of the barrier's master.
const MASTER: &str = "labtec";
const COLLECTING: f64 = 0.64;
const FACTORS: [f64; 5] = [1.5, 1.2, 1.08, 1.03, 1.01];

/// The range of what a message of the barrier may cost the master's host (s): what is plausible for a
/// message through an operating system of the time, not whatever serves the error.
const OVERHEADS: std::ops::RangeInclusive<f64> = 60e-6..=90e-6;

/// What is fitted, in base units.
#[derive(Clone, Copy, Debug)]
struct Network {
    fast_ethernet_link: f64,
    fast_ethernet_uplink: f64,
    gigabit_link: f64,
    gigabit_uplink: f64,
    fast_ethernet_overhead: f64,
    gigabit_overhead: f64,
}

/// One cell of scenario i.
#[derive(Clone, Copy, Debug)]
struct Cell {
    processes: u32,
    supersteps: u64,
    seconds: f64,
}

fn main() -> anyhow::Result<()> {
    let template = fs::read_to_string(root().join("conf/platforms/testbed.toml"))?;
    let cells = cells()?;
    let mut network = Network {
        fast_ethernet_link: 15e6,
        fast_ethernet_uplink: 12.8e6,
        gigabit_link: 175e6,
        gigabit_uplink: 125e6,
        fast_ethernet_overhead: 60e-6,
        gigabit_overhead: 87e-6,
    };
    let mut error = mean_error(&template, &network, &cells)?;
    print(&format!(
        "{} cells of scenario i, Tables 1 to 5",
        cells.len()
    ));
    print(&format!("{:8.4} %  {network:?}  (start)", error * 100.0));
    for factor in FACTORS {
        loop {
            let before = error;
            for index in 0..6 {
                for step in [factor, 1.0 / factor] {
                    let tried = network.with(index, step);
                    if !tried.is_plausible() {
                        continue;
                    }
                    let tried_error = mean_error(&template, &tried, &cells)?;
                    if tried_error < error {
                        (network, error) = (tried, tried_error);
                    }
                }
            }
            if before <= error {
                break;
            }
        }
        print(&format!(
            "{:8.4} %  {network:?}  (factor {factor})",
            error * 100.0
        ));
    }
    print("\nprocesses  supersteps      paper       ours   error");
    for (cell, seconds) in cells.iter().zip(predict(&template, &network, &cells)?) {
        print(&format!(
            "{:>9}  {:>10} {:>10.2} {:>10.2} {:>+6.2} %",
            cell.processes,
            cell.supersteps,
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

impl Network {
    fn values(&mut self) -> [&mut f64; 6] {
        [
            &mut self.fast_ethernet_link,
            &mut self.fast_ethernet_uplink,
            &mut self.gigabit_link,
            &mut self.gigabit_uplink,
            &mut self.fast_ethernet_overhead,
            &mut self.gigabit_overhead,
        ]
    }

    fn with(mut self, index: usize, factor: f64) -> Self {
        *self.values()[index] *= factor;
        self
    }

    fn is_plausible(&self) -> bool {
        OVERHEADS.contains(&self.fast_ethernet_overhead)
            && OVERHEADS.contains(&self.gigabit_overhead)
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
    let mut cells = Vec::new();
    for table in 1..=5 {
        let path = root().join(format!("cli/data/tables/table{table}.csv"));
        let mut reader = csv::Reader::from_path(&path)?;
        for record in reader.records() {
            let record = record?;
            if &record[4] == "i" {
                cells.push(Cell {
                    supersteps: record[1].parse()?,
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
    let mut known: Option<(u32, f64, f64)> = None;
    let mut predicted = Vec::new();
    for cell in cells {
        if known.is_none_or(|(processes, ..)| processes != cell.processes) {
            let short = makespan(&platform, cell.processes, 10)?;
            let long = makespan(&platform, cell.processes, 30)?;
            known = Some((cell.processes, short, (long - short) / 20.0));
        }
        let (_, short, each) = known.context("just computed")?;
        predicted.push(short + (cell.supersteps as f64 - 10.0) * each);
    }
    Ok(predicted)
}

fn makespan(platform: &Arc<Platform>, processes: u32, supersteps: u64) -> anyhow::Result<f64> {
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
        superstep_limit: u64::MAX,
    };
    let common = Common {
        processes,
        supersteps: Some(supersteps),
        seed: 1,
    };
    let programs = lbm::processes(&lbm::Parameters::default(), common)?;
    Ok(simulate(&setup, programs, &mut |_| {})?.seconds.get())
}

/// The testbed with another network.
fn platform_text(template: &str, network: &Network) -> anyhow::Result<String> {
    let mut document: DocumentMut = template.parse()?;
    let Some(Item::ArrayOfTables(sets)) = document.get_mut("set") else {
        bail!("no Sets")
    };
    for set in sets.iter_mut() {
        let is_fast_ethernet = is_fast_ethernet(set["name"].as_str().context("a name")?);
        let (link, uplink) = if is_fast_ethernet {
            (network.fast_ethernet_link, network.fast_ethernet_uplink)
        } else {
            (network.gigabit_link, network.gigabit_uplink)
        };
        set["link"]["bandwidth"] = value(format!("{} MBps", trimmed(link / 1e6)));
        set["uplink"]["bandwidth"] = value(format!("{} MBps", trimmed(uplink / 1e6)));
    }
    let Some(Item::ArrayOfTables(overheads)) = document.get_mut("overhead") else {
        bail!("no overheads")
    };
    for overhead in overheads.iter_mut() {
        let ends = overhead["between"].as_array().context("two Sets")?;
        let other = ends
            .iter()
            .filter_map(|end| end.as_str())
            .find(|end| *end != MASTER);
        let total = if is_fast_ethernet(other.context("another Set")?) {
            network.fast_ethernet_overhead
        } else {
            network.gigabit_overhead
        };
        for (key, share) in [("receive", COLLECTING), ("send", 1.0 - COLLECTING)] {
            if overhead.contains_key(key) {
                overhead[key] = value(format!("{} us", trimmed(total * share * 1e6)));
            }
        }
    }
    Ok(document.to_string())
}

/// To four digits behind the point, without zeros at the end.
fn trimmed(number: f64) -> String {
    let text = format!("{number:.4}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

fn is_fast_ethernet(set: &str) -> bool {
    FAST_ETHERNET.contains(&set)
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

#[expect(clippy::print_stdout, reason = "this is what the program is for")]
fn print(line: &str) {
    println!("{line}");
}
