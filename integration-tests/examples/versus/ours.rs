//! Runs of ours: on nodes, and by the reference runner.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, ensure};
use bsp::reference::{self, Limit};
use bsp::{Array, Program};
use rustix::time::{ClockId, clock_gettime};
use serde_json::Value;
use workloads::{Common, heat, lbm};

use crate::cases::{Application, PROCESSES};

/// Runs an application on nodes of these speeds: the seconds that it takes. Its outputs have to be `expected`: the first ones are
/// compared number by number, and later ones with the `digest` of those.
pub(crate) fn run(
    (application, steps): (Application, u64),
    speeds: &[f64],
    policy: &str,
    folder: &Path,
    (expected, digest): (&[u8], &mut Option<String>),
) -> anyhow::Result<f64> {
    let file = folder.join("experiment.toml");
    let (name, [width, height]) = (application.name(), application.size());
    let per_host = usize::try_from(PROCESSES)? / speeds.len();
    let experiment = format!(
        "[application]\nworkload = \"{name}\"\nprocesses = {PROCESSES}\nsupersteps = {steps}\n\
         [application.{name}]\nwidth = {width}\nheight = {height}\n\
         [placement]\nper_host = {per_host}\n[barrier]\nshape = \"hierarchical\"\n"
    );
    fs::write(&file, experiment)?;
    let outputs = folder.join("outputs/");
    if outputs.exists() {
        fs::remove_dir_all(&outputs)?;
    }
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["up", "-q", "--local", &speeds.len().to_string()]);
    for (index, speed) in speeds.iter().enumerate().filter(|(_, speed)| **speed < 1.0) {
        command.arg("--slow").arg(format!("{}:{speed}", index + 1));
    }
    command.args(["--", "run"]).arg(&file);
    command.args(["--policy", policy, "--format", "json"]);
    if digest.is_none() {
        command.arg("--outputs").arg(&outputs);
    }
    let output = command.output()?;
    let errors = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{command:?}: {errors}");
    let report: Value = serde_json::from_slice(&output.stdout)?;
    let (seconds, found) = (&report["run"]["seconds"], &report["run"]["outputs_sha256"]);
    let found = found.as_str().context("the report has no digest")?;
    let is_expected = if let Some(digest) = digest {
        digest == found
    } else {
        *digest = Some(found.to_owned());
        let mut result: Vec<u8> = Vec::new();
        for file in application.files() {
            result.extend(numbers(&fs::read(outputs.join(file))?)?);
        }
        result == expected
    };
    ensure!(is_expected, "{policy} has other results on {speeds:?}");
    seconds.as_f64().context("the report has no makespan")
}

/// What a file of `NumPy` has behind its head.
fn numbers(file: &[u8]) -> anyhow::Result<&[u8]> {
    let length = file.get(8..10).context("no array")?;
    let length = u16::from_le_bytes([length[0], length[1]]);
    file.get(10 + usize::from(length)..).context("no array")
}

/// Executes an application in this thread: the processor time that it takes, seconds, and its result.
pub(crate) fn kernel((application, steps): (Application, u64)) -> anyhow::Result<(f64, Vec<u8>)> {
    let common = Common {
        processes: PROCESSES,
        supersteps: Some(steps),
        seed: 1,
    };
    let [width, height] = application.size();
    let (seconds, result) = match application {
        Application::Heat => {
            let parameters = heat::Parameters {
                width,
                height,
                ..heat::Parameters::default()
            };
            let (seconds, strips) = executed(heat::processes(&parameters, common)?)?;
            (
                seconds,
                strips.into_iter().flat_map(Array::into_vec).collect(),
            )
        }
        Application::Lattice => {
            let parameters = lbm::kernel::Parameters {
                width,
                height,
                ..lbm::kernel::Parameters::default()
            };
            let (seconds, strips) = executed(lbm::kernel::processes(&parameters, common)?)?;
            let flow = lbm::kernel::Fields::assemble(strips);
            let cells = (0..flow.height()).flat_map(|y| (0..flow.width()).map(move |x| (x, y)));
            let densities = cells.clone().map(|(x, y)| flow.density(x, y));
            let velocities = cells.flat_map(|(x, y)| flow.velocity(x, y));
            (seconds, densities.chain(velocities).collect::<Vec<f64>>())
        }
    };
    let bytes = result.iter().flat_map(|number| number.to_le_bytes());
    Ok((seconds, bytes.collect()))
}

fn executed<P: Program>(processes: Vec<P>) -> anyhow::Result<(f64, Vec<P::Output>)> {
    let began = processor_time();
    let run = reference::run(processes, Limit::default())?;
    Ok((processor_time() - began, run.outputs))
}

fn processor_time() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 + 1e-9 * time.tv_nsec as f64
}
