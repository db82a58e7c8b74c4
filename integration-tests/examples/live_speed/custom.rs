//! One case, of the command line.

use std::io::{Write, stdout};
use std::str::FromStr;
use std::time::Duration;

use anyhow::{Context, bail};

use crate::cases::{costs, median, supersteps};
use crate::cluster::Cluster;
use crate::job::{Calls, Case, Reduces};

/// A case in words of the form `key=number`.
#[derive(Clone)]
pub(crate) struct CustomCase {
    nodes: usize,
    sets: usize,
    /// How often the case is run, on the same nodes.
    runs: u32,
    case: Case,
}

impl FromStr for CustomCase {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> anyhow::Result<Self> {
        let (mut nodes, mut sets, mut runs) = (2, 1, 1);
        let mut case = Case::empty(8, 2000);
        for word in text.split_whitespace() {
            let (key, value) = word.split_once('=').context("key=number is expected")?;
            let number: u64 = value.parse().with_context(|| word.to_owned())?;
            match key {
                "nodes" => nodes = usize::try_from(number)?,
                "sets" => sets = usize::try_from(number)?,
                "runs" => runs = u32::try_from(number)?,
                "processes" => case.processes = u32::try_from(number)?,
                "supersteps" => case.supersteps = number,
                "central" => case.is_central = number != 0,
                "sends" => case.sends = usize::try_from(number)?,
                "sums" => case.reduces = Reduces::Sum(usize::try_from(number)?),
                "spins" => case.spins = Duration::from_micros(number),
                "state" => case.state = usize::try_from(number)?,
                "unmoved" => case.calls = Calls::Unmoved(u32::try_from(number)?),
                "moving" => case.calls = Calls::Moving(u32::try_from(number)?),
                _ => bail!("{key}: no such key"),
            }
        }
        Ok(Self {
            nodes,
            sets,
            runs,
            case,
        })
    }
}

/// Runs the case, and prints a line for each run.
pub(crate) fn measure(custom: &CustomCase) -> anyhow::Result<()> {
    let cluster = Cluster::start(custom.nodes, custom.sets)?;
    for _ in 0..custom.runs {
        let before = cluster.processor_time();
        let events = cluster.run(&custom.case)?.0;
        // With the start of the job and its end.
        let processor_time = cluster.processor_time() - before;
        let mut times = supersteps(&events);
        times.sort_by(f64::total_cmp);
        let at = |part: usize| {
            let time = times.get(times.len() * part / 100);
            time.copied().unwrap_or(f64::NAN) * 1e6
        };
        let each = processor_time / custom.case.supersteps as f64 * 1e6;
        let mut line = format!(
            "superstep: p10 {:.1} median {:.1} p90 {:.1} us, processor time of all nodes {each:.1} us",
            at(10),
            at(50),
            at(90)
        );
        let costs = costs(&events);
        if !costs.is_empty() {
            let count = costs.len();
            line += &format!("; {count} calls: median {:.1} us", median(costs) * 1e6);
        }
        writeln!(stdout(), "{line}")?;
    }
    Ok(())
}
