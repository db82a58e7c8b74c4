//! Programs for Open MPI on this machine.

use std::path::Path;
use std::process::Command;

/// Compiles `source` for MPI; whether there is a compiler that does.
pub(crate) fn compile(compiler: &str, options: &[&str], source: &Path, program: &Path) -> bool {
    let mut command = Command::new(compiler);
    let command = command.args(options).arg("-o").args([program, source]);
    command.status().is_ok_and(|status| status.success())
}

/// The beginning of a command that runs a program as `ranks` ranks, which may be more than there are processors, and which
/// communicate over TCP as those of several machines do.
pub(crate) fn mpirun(ranks: usize) -> Command {
    let mut command = Command::new("mpirun");
    command
        .args(["--allow-run-as-root", "--oversubscribe"])
        .args(["--mca", "pml", "ob1", "--mca", "btl", "tcp,self", "-n"])
        .arg(ranks.to_string());
    command
}
