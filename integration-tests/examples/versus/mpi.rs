//! Runs of the program for MPI.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread::available_parallelism;

use anyhow::{Context, ensure};

use crate::cases::Application;
use crate::open_mpi::{compile, mpirun};
use crate::say;

/// An implementation of MPI, with the program that has been compiled for it.
pub(crate) struct Mpi {
    pub(crate) name: &'static str,
    program: PathBuf,
}

impl Mpi {
    /// Those that are installed.
    pub(crate) fn installed(folder: &Path) -> Vec<Self> {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        let source = here.join("examples/versus/ranks.cpp");
        let kernels = here.join("../workloads/benches/kernels");
        let include = format!("-I{}", kernels.display());
        // No multiplication is joined with an addition, which would change the last digits.
        let options = ["-O3", "-ffp-contract=off", &include];
        let compilers = [("Open MPI", "mpicxx", "ranks"), ("AMPI", "ampicxx", "ampi")];
        let implementations = compilers.map(|(name, compiler, program)| {
            let program = folder.join(program);
            let is_there = compile(compiler, &options, &source, &program);
            if !is_there {
                say(&format!("SKIPPED: {name} is not installed ({compiler})"));
            }
            is_there.then_some(Self { name, program })
        });
        implementations.into_iter().flatten().collect()
    }

    /// Runs an application with a rank on each of the nodes of these speeds: the seconds that it takes. Its result has to be
    /// `expected`.
    pub(crate) fn run(
        &self,
        (application, steps): (Application, u64),
        speeds: &[f64],
        folder: &Path,
        expected: &[u8],
    ) -> anyhow::Result<f64> {
        let result = folder.join("result");
        let [width, height] = application.size();
        let mut command = self.command(speeds.len());
        command.arg(application.name());
        command.args([u64::from(width), u64::from(height), steps].map(|number| number.to_string()));
        command.arg(&result).args(speeds.iter().map(f64::to_string));
        let output = command.output()?;
        let errors = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "{command:?}: {errors}");
        let name = self.name;
        let is_expected = fs::read(result)? == expected;
        ensure!(is_expected, "{name} has other results on {speeds:?}");
        let text = String::from_utf8(output.stdout)?;
        let seconds = text.lines().find_map(|line| line.trim().parse().ok());
        seconds.context("no makespan was printed")
    }

    fn command(&self, ranks: usize) -> Command {
        if self.name == "AMPI" {
            // The compiler leaves a starter beside the program.
            let mut command = Command::new(self.program.with_file_name("charmrun"));
            command.arg("++local").arg(format!("+p{ranks}"));
            command.arg(&self.program).arg(format!("+vp{ranks}"));
            return command;
        }
        let mut command = mpirun(ranks);
        if available_parallelism().is_ok_and(|processors| processors.get() < ranks) {
            // Otherwise ranks that wait keep processors from those that compute.
            command.args(["--mca", "mpi_yield_when_idle", "1"]);
        }
        command.arg(&self.program);
        command
    }
}
