//! What a superstep of a program in another language costs, and what moving one does.
//!
//! `cargo bench -p migbsp-external` prints a table: microseconds of a superstep for each process (the tenth percentile and the median), for
//! programs in Python and in C, with an executor for each process and with one for all. `RUNS` is how often each is measured (5), and
//! the rows are measured in turn. It needs `python3` and `cc`; what is missing is left out.

#![expect(clippy::print_stdout, reason = "the table is what it is for")]

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bsp::{Conditions, Inbox, Outbox, Program, Rank, Superstep};
use external::{Executors, External, Recipe, World};

/// As many processes as have been measured elsewhere.
const PROCESSES: u32 = 8;

/// A row of the table.
struct Row {
    name: String,
    recipe: Recipe,
    supersteps: u32,
    /// Microseconds of a superstep for each process.
    times: Vec<f64>,
}

fn main() -> Result<(), Box<dyn Error>> {
    // `cargo test --benches` only has it run once.
    let is_test = !std::env::args().any(|argument| argument == "--bench");
    let runs = std::env::var("RUNS")
        .ok()
        .and_then(|runs| runs.parse().ok());
    let runs: u32 = if is_test { 1 } else { runs.unwrap_or(5) };
    let folder = tempfile::tempdir()?;
    let commands = commands(folder.path());
    let mut rows = Vec::new();
    for (language, command) in &commands {
        for (bytes, supersteps) in [(0, 2000), (1 << 10, 2000), (64 << 10, 300), (1 << 20, 30)] {
            for shared in [false, true] {
                let executors = if shared {
                    "one executor"
                } else {
                    "own executors"
                };
                rows.push(Row {
                    name: format!("{language}, {bytes} B to both neighbours, {executors}"),
                    recipe: recipe(command, &format!("{{\"bytes\": {bytes}}}"), shared),
                    supersteps: if is_test { 2 } else { supersteps },
                    times: Vec::new(),
                });
            }
        }
    }
    for _ in 0..runs {
        for row in &mut rows {
            measure(row)?;
        }
    }
    println!(
        "{:>9} {:>9}  µs of a superstep for each of {PROCESSES} processes",
        "p10", "median"
    );
    for row in &mut rows {
        row.times.sort_by(f64::total_cmp);
        let at = |part: usize| row.times[row.times.len() * part / 100];
        println!("{:9.1} {:9.1}  {}", at(10), at(50), row.name);
    }
    for (language, command) in &commands {
        let state = if is_test { 1000 } else { 100_000_000 };
        let [save, load] = moves(command, state, runs)?;
        println!(
            "{save:9.1} {load:9.1}  ms to save and to load {state} B, {language}, least of {runs}"
        );
    }
    Ok(())
}

/// The commands of the programs that can be run here.
fn commands(folder: &Path) -> Vec<(&'static str, Vec<String>)> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..");
    let text = |path: PathBuf| path.display().to_string();
    let package = text(root.join("python/src"));
    let python = [
        "env",
        &format!("PYTHONPATH={package}"),
        "python3",
        &text(root.join("external/benches/ring.py")),
    ];
    let mut all = vec![("Python", python.map(str::to_owned).to_vec())];
    let binary = folder.join("ring");
    let built = Command::new("cc")
        .args(["-O2", "-I"])
        .arg(root.join("c"))
        .arg(root.join("external/benches/ring.c"))
        .arg("-o")
        .arg(&binary)
        .status();
    if built.is_ok_and(|status| status.success()) {
        all.push(("C", vec![text(binary)]));
    }
    all.retain(|(_, command)| {
        let program = command
            .iter()
            .find(|word| *word != "env" && !word.contains('='));
        let there = program.map(|program| Command::new("which").arg(program).output());
        there.is_some_and(|output| output.is_ok_and(|output| output.status.success()))
    });
    all
}

fn recipe(command: &[String], parameters: &str, shared: bool) -> Recipe {
    Recipe {
        name: "ring".to_owned(),
        command: command.to_vec(),
        connect: None,
        wrapper: Vec::new(),
        folder: Some(PathBuf::from(".")),
        memory: None,
        threads: 1,
        parameters: parameters.to_owned(),
        processes: PROCESSES,
        seed: u64::from(shared),
        supersteps: None,
        world: World::Simulation,
        per_executor: (!shared).then_some(1),
        start_timeout: Duration::from_secs(30),
        superstep_timeout: None,
        measured: None,
    }
}

type Message = <External as Program>::Message;

/// Executes supersteps, the processes one after the other.
fn measure(row: &mut Row) -> Result<(), Box<dyn Error>> {
    let executors = Executors::of(row.recipe.clone())?;
    let mut processes = begin(&executors)?;
    let mut inboxes: Vec<Inbox<Message>> = Vec::new();
    inboxes.resize_with(processes.len(), Inbox::default);
    for superstep in 0..row.supersteps + WARMING {
        let mut next: Vec<Inbox<Message>> = Vec::new();
        next.resize_with(processes.len(), Inbox::default);
        let began = Instant::now();
        for (rank, process) in processes.iter_mut().enumerate() {
            let rank = Rank::from_index(rank);
            let mut outbox = Outbox::default();
            let conditions = Conditions {
                index: superstep.into(),
                ..Conditions::default()
            };
            let inbox = &mut inboxes[rank.index()];
            let mut ctx = Superstep::new((rank, PROCESSES), conditions, inbox, &mut outbox);
            process
                .superstep(&mut ctx)
                .map_err(|error| error.to_string())?;
            for (to, envelope) in outbox.sends {
                if let bsp::Envelope::Value(message) = envelope {
                    next[to.index()].messages.push((rank, message));
                }
            }
        }
        let took = began.elapsed().as_secs_f64() * 1e6 / f64::from(PROCESSES);
        if WARMING <= superstep {
            row.times.push(took);
        }
        inboxes = next;
    }
    Ok(())
}

/// Supersteps that are not measured.
const WARMING: u32 = 5;

fn begin(executors: &Arc<Executors>) -> Result<Vec<External>, Box<dyn Error>> {
    let ranks = (0..PROCESSES).map(Rank);
    let processes = ranks.map(|rank| Ok(External::new(executors, rank)?));
    processes.collect()
}

/// The least milliseconds in which a state of this length is saved, and loaded.
fn moves(command: &[String], state: u64, runs: u32) -> Result<[f64; 2], Box<dyn Error>> {
    let parameters = format!("{{\"bytes\": 0, \"state\": {state}}}");
    let executors = Executors::of(Recipe {
        processes: 1,
        ..recipe(command, &parameters, false)
    })?;
    let mut least = [f64::INFINITY; 2];
    let mut process = External::new(&executors, Rank(0))?;
    for _ in 0..runs {
        let began = Instant::now();
        let saved = rmp_serde::to_vec(&process)?;
        least[0] = least[0].min(began.elapsed().as_secs_f64() * 1e3);
        let mut loaded: External = rmp_serde::from_slice(&saved)?;
        let began = Instant::now();
        // The first superstep loads it, and takes the microseconds of an empty one more.
        let (mut inbox, mut outbox) = (Inbox::default(), Outbox::default());
        let mut ctx = Superstep::new((Rank(0), 1), Conditions::default(), &mut inbox, &mut outbox);
        loaded
            .superstep(&mut ctx)
            .map_err(|error| error.to_string())?;
        least[1] = least[1].min(began.elapsed().as_secs_f64() * 1e3);
        process = loaded;
    }
    Ok(least)
}
