//! The times of others on this machine: Open MPI, plain TCP; and a process that keeps a processor busy.

use std::env;
use std::fs;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::process::{Child, Command};
use std::time::Instant;

use anyhow::{Context, ensure};

use crate::open_mpi::{compile, mpirun};
use crate::table::say;

/// What Open MPI takes with 8 ranks, seconds: a barrier, a ring of 100 KB with a barrier, and the sum of 1 MiB of doubles.
#[derive(Clone, Copy)]
pub(crate) struct Mpi {
    pub(crate) barrier: f64,
    pub(crate) ring: f64,
    pub(crate) reduction: f64,
}

/// Measures Open MPI, if it is there.
pub(crate) fn mpi(rounds: u64) -> anyhow::Result<Option<Mpi>> {
    let folder = env::temp_dir().join(format!("live-speed-{}", std::process::id()));
    fs::create_dir_all(&folder)?;
    let (source, program) = (folder.join("ranks.c"), folder.join("ranks"));
    fs::write(&source, include_str!("ranks.c"))?;
    let has_mpi = compile("mpicc", &["-O2"], &source, &program);
    let measured = has_mpi.then(|| {
        let output = mpirun(8).arg(&program).arg(rounds.to_string()).output()?;
        let errors = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "mpirun: {errors}");
        let text = String::from_utf8(output.stdout)?;
        let mut words = text.split_whitespace().map(str::parse::<f64>);
        let mut next = || words.next().context("a figure is missing");
        Ok(Mpi {
            barrier: next()??,
            ring: next()??,
            reduction: next()??,
        })
    });
    drop(fs::remove_dir_all(&folder));
    if !has_mpi {
        say("SKIPPED: Open MPI is not installed (mpicc), so nothing is compared with it");
    }
    measured.transpose()
}

/// Seconds of rounds in which `others` processes send to this one over TCP and receive the answer.
pub(crate) fn tcp(others: usize, rounds: usize) -> anyhow::Result<Vec<f64>> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let address = listener.local_addr()?.to_string();
    let mut children = Vec::new();
    for _ in 0..others {
        let mut child = Command::new(env::current_exe()?);
        children.push(child.args(["--echo", &address]).spawn()?);
    }
    let mut streams = Vec::new();
    for _ in 0..others {
        let (stream, _) = listener.accept()?;
        stream.set_nodelay(true)?;
        streams.push(stream);
    }
    let mut took = Vec::new();
    for _ in 0..rounds {
        let began = Instant::now();
        for stream in &mut streams {
            stream.write_all(&[1])?;
        }
        for stream in &mut streams {
            stream.read_exact(&mut [0])?;
        }
        took.push(began.elapsed().as_secs_f64());
    }
    drop(streams);
    for mut child in children {
        child.wait()?;
    }
    Ok(took)
}

/// Answers every byte until there are no more.
pub(crate) fn echo(address: &str) -> anyhow::Result<()> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_nodelay(true)?;
    while stream.read_exact(&mut [0]).is_ok() {
        stream.write_all(&[1])?;
    }
    Ok(())
}

/// A process that computes, until this is dropped.
pub(crate) struct Spinner(Child);

impl Spinner {
    pub(crate) fn start() -> anyhow::Result<Self> {
        let child = Command::new(env::current_exe()?)
            .arg("--spin")
            .stdin(std::process::Stdio::piped())
            .spawn()?;
        Ok(Self(child))
    }
}

impl Drop for Spinner {
    fn drop(&mut self) {
        crate::cluster::end(std::slice::from_mut(&mut self.0));
    }
}

/// Computes until stdin ends.
pub(crate) fn spin() -> anyhow::Result<()> {
    crate::cluster::end_with_stdin();
    loop {
        std::hint::spin_loop();
    }
}
