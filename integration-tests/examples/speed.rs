//! How fast the simulator is: CPU time and memory of the cases that SimGrid was measured on, and of
//! larger ones.
//!
//! ```text
//! cargo run --release -p integration-tests --example speed
//! ```
//!
//! Every case runs in a process of its own (Linux: the kernel's own accounting of it), several times; the median is
//! printed. It runs twice: as it is, and with every superstep simulated, although the program repeats. With
//! `SIMGRID_BSP` naming the program built from `simgrid/bsp.cpp`, SimGrid runs the same cases on this machine in
//! between; without it, the figures of SimGrid 4.1 that are printed beside ours come from another machine of the kind.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::Arc;
use std::time::Instant;

use agents::{Barrier, PlacementOptions, Programs, Setup, Shape, TransferStart, placement};
use anyhow::{Context, ensure};
use simulated::simulate;
use simulator::{NetworkOptions, Platform};
use workloads::{Common, lbm};

/// How often each case runs.
const REPEATS: usize = 5;

/// A run of the Lattice Boltzmann model.
struct Case {
    platform: &'static str,
    processes: u32,
    supersteps: u64,
    shape: Shape,
    /// CPU seconds of SimGrid 4.1 built with `-O3` and link-time optimisation, where measured.
    simgrid: Option<f64>,
}

const fn case(
    platform: &'static str,
    processes: u32,
    supersteps: u64,
    shape: Shape,
    simgrid: Option<f64>,
) -> Case {
    Case {
        platform,
        processes,
        supersteps,
        shape,
        simgrid,
    }
}

const CASES: [Case; 10] = [
    case("five.xml", 10, 2000, Shape::Central, Some(0.146)),
    case("five.xml", 200, 2000, Shape::Central, Some(4.2)),
    case("grid_10_100.xml", 1000, 20, Shape::Central, Some(0.36)),
    case("grid_10_1000.xml", 10_000, 10, Shape::Central, Some(6.0)),
    case("grid_10_100.xml", 1000, 1000, Shape::Central, None),
    case("hosts_100000.toml", 100_000, 1, Shape::Central, None),
    case("hosts_100000.toml", 100_000, 11, Shape::Central, None),
    case("hosts_100000.toml", 10, 11, Shape::Central, None),
    case("hosts_100000.toml", 100_000, 11, Shape::Ideal, None),
    case("hosts_100000.toml", 1_000_000, 5, Shape::Ideal, None),
];

/// What the kernel says of a process that ran a case.
#[derive(Clone, Copy)]
struct Usage {
    cpu_seconds: f64,
    peak_bytes: f64,
    /// The simulated time of the run.
    makespan: f64,
}

fn main() -> anyhow::Result<ExitCode> {
    match (env::args().nth(1), env::args().nth(2)) {
        (Some(index), Some(repeats)) => run_one(&CASES[index.parse::<usize>()?], repeats.parse()?),
        _ => report(),
    }?;
    Ok(ExitCode::SUCCESS)
}

/// Runs a case in this process and prints what it used.
fn run_one(case: &Case, repeats: bool) -> anyhow::Result<()> {
    let platform = Arc::new(load(case.platform)?);
    let setup = Setup {
        network: NetworkOptions::default(),
        start: TransferStart::Eager,
        placement: placement(&platform, &PlacementOptions::default(), case.processes)?,
        platform,
        barrier: Barrier {
            shape: case.shape,
            ..Barrier::default()
        },
        scheduler: None,
        elasticity: None,
        awaited: None,
        checkpointing: None,
        superstep_limit: u64::MAX,
        traced: false,
        repeats,
        resumed: None,
    };
    let common = Common {
        processes: case.processes,
        supersteps: Some(case.supersteps),
        seed: 1,
    };
    let programs = lbm::processes(&lbm::Parameters::default(), common)?;
    let outcome = simulate(&setup, Programs::new(programs), &mut |_| {})?;
    ensure!(
        outcome.end.supersteps == case.supersteps,
        "the run ended early"
    );
    let cpu = fs::read_to_string("/proc/self/schedstat")?;
    let cpu: f64 = cpu
        .split_whitespace()
        .next()
        .context("no CPU time")?
        .parse()?;
    let status = fs::read_to_string("/proc/self/status")?;
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let peak: f64 = peak
        .context("no peak")?
        .trim()
        .trim_end_matches(" kB")
        .parse()?;
    let makespan = outcome.end.seconds.get();
    print(&format!("{} {} {makespan}", cpu / 1e9, peak * 1024.0));
    Ok(())
}

/// Runs all cases and prints the table.
fn report() -> anyhow::Result<()> {
    let simgrid = env::var_os("SIMGRID_BSP").map(PathBuf::from);
    print(&format!(
        "{:>9} {:>10} {:<9} {:>9} {:>10} {:>11} {:>9} {:>9} {:>9} {:>7}",
        "processes",
        "supersteps",
        "barrier",
        "CPU s",
        "ns each",
        "simulated s",
        "ns each",
        "MiB",
        "SimGrid s",
        "ratio"
    ));
    let mut usages = Vec::new();
    for (index, case) in CASES.iter().enumerate() {
        let mut ours = Vec::new();
        let mut simulated = Vec::new();
        let mut theirs = Vec::new();
        for _ in 0..REPEATS {
            ours.push(measure(index, true)?);
            simulated.push(measure(index, false)?);
            if let (Some(program), Some(_)) = (&simgrid, case.simgrid) {
                theirs.push(measure_simgrid(program, case)?);
            }
        }
        let (usage, simulated) = (median(&mut ours), median(&mut simulated));
        ensure!(
            usage.makespan.to_bits() == simulated.makespan.to_bits(),
            "a repeated superstep takes otherwise than a simulated one: {} and {} s",
            usage.makespan,
            simulated.makespan
        );
        let simgrid = model::median(theirs).or(case.simgrid);
        let each = |usage: Usage| {
            usage.cpu_seconds / f64::from(case.processes) / case.supersteps as f64 * 1e9
        };
        let (simgrid_text, ratio) = simgrid.map_or_else(
            || ("-".to_owned(), "-".to_owned()),
            |seconds| {
                (
                    format!("{seconds:.3}"),
                    format!("{:.1}", seconds / usage.cpu_seconds),
                )
            },
        );
        print(&format!(
            "{:>9} {:>10} {:<9} {:>9.3} {:>10.0} {:>11.3} {:>9.0} {:>9.1} {:>9} {:>7}",
            case.processes,
            case.supersteps,
            format!("{:?}", case.shape).to_lowercase(),
            usage.cpu_seconds,
            each(usage),
            simulated.cpu_seconds,
            each(simulated),
            usage.peak_bytes / 1048576.0,
            simgrid_text,
            ratio
        ));
        usages.push(simulated);
    }
    summarise(&usages);
    Ok(())
}

/// How cost and memory grow with the number of processes, start-up left out, with every superstep simulated.
fn summarise(usages: &[Usage]) {
    let marginal = |longer: usize, shorter: usize| {
        let supersteps = (CASES[longer].supersteps - CASES[shorter].supersteps) as f64;
        let seconds = usages[longer].cpu_seconds - usages[shorter].cpu_seconds;
        seconds / supersteps / f64::from(CASES[longer].processes) * 1e9
    };
    let small = marginal(4, 2);
    let large = marginal(6, 5);
    let memory = (usages[6].peak_bytes - usages[7].peak_bytes) / 100_000.0;
    print(&format!(
        "\na further process-superstep costs {small:.0} ns with 1000 processes and {large:.0} ns with \
         100000 ({:.2} times as much)\nmemory per process beyond the platform's, with 100000: {memory:.0} B",
        large / small
    ));
}

fn measure(index: usize, repeats: bool) -> anyhow::Result<Usage> {
    let output = Command::new(env::current_exe()?)
        .arg(index.to_string())
        .arg(repeats.to_string())
        .output()?;
    ensure!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let text = String::from_utf8(output.stdout)?;
    let mut words = text.split_whitespace().map(str::parse::<f64>);
    let mut next = || words.next().context("a figure is missing");
    Ok(Usage {
        cpu_seconds: next()??,
        peak_bytes: next()??,
        makespan: next()??,
    })
}

/// Wall time of SimGrid on the same case; it computes on one core.
fn measure_simgrid(program: &Path, case: &Case) -> anyhow::Result<f64> {
    let work = 1e10 / f64::from(case.processes);
    let began = Instant::now();
    let output = Command::new(program)
        .arg(platforms().join(case.platform))
        .arg(format!("-P={}", case.processes))
        .arg(format!("-S={}", case.supersteps))
        .arg(format!("-F={work}"))
        .arg("-B=1e5")
        .arg("--mode=eager")
        .output()?;
    ensure!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(began.elapsed().as_secs_f64())
}

fn median(usages: &mut [Usage]) -> Usage {
    usages.sort_by(|a, b| a.cpu_seconds.total_cmp(&b.cpu_seconds));
    usages[usages.len() / 2]
}

fn load(name: &str) -> anyhow::Result<Platform> {
    let path = platforms().join(name);
    let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
    Ok(
        if path.extension().is_some_and(|extension| extension == "xml") {
            Platform::from_simgrid_xml(&text, &mut |file| Err(format!("{file} is not needed")))?
        } else {
            Platform::from_toml(&text)?
        },
    )
}

fn platforms() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../conf/platforms")
}

#[expect(clippy::print_stdout, reason = "this is what the program is for")]
fn print(line: &str) {
    println!("{line}");
}
