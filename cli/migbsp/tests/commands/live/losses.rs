//! Nodes that are killed while something else than a superstep is under way: each job goes on, with the outputs of one that lost none.

use std::fs;
use std::path::Path;
use std::thread;
use std::time::Duration;

use serde_json::Value;

use crate::invocation::Folder;
use crate::live::cluster::HEAT;
use crate::live::recovery::simulate;
use crate::live::under_way::{UnderWay, is_alive, signal};
use crate::live::up::begun;

/// States of two thirds of a megabyte: what is done with them takes some time.
const LARGE: [&str; 6] = [
    "--set",
    "application.supersteps=420",
    "--set",
    "application.heat.width=700",
    "--set",
    "application.heat.height=700",
];

/// What is under way when nodes are killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum During {
    /// Nothing that is aimed at.
    #[cfg(feature = "long-tests")]
    Superstep,
    /// A call without a move.
    Call,
    /// A call that moves three processes from other nodes to the last one.
    Moves,
    Checkpoint,
    /// The view after another loss begins.
    Restart,
}

/// A node, or several, that a run of four nodes in two Sets loses.
#[derive(Clone, Copy, Debug)]
struct Loss {
    during: During,
    /// Counted from 1.
    nodes: &'static [u32],
}

const fn loss(during: During, nodes: &'static [u32]) -> Loss {
    Loss { during, nodes }
}

/// The last node is the target of the moves.
#[cfg(feature = "long-tests")]
const ALL: [Loss; 15] = [
    loss(During::Superstep, &[1]),
    loss(During::Superstep, &[2]),
    loss(During::Superstep, &[3]),
    loss(During::Superstep, &[4]),
    loss(During::Superstep, &[1, 2]),
    loss(During::Call, &[1]),
    loss(During::Call, &[3]),
    loss(During::Moves, &[1]),
    loss(During::Moves, &[2]),
    loss(During::Moves, &[4]),
    loss(During::Checkpoint, &[1]),
    loss(During::Checkpoint, &[2]),
    loss(During::Checkpoint, &[3]),
    loss(During::Restart, &[3, 1]),
    loss(During::Restart, &[1, 4]),
];

impl Loss {
    /// Options of the run, and the superstep after which the node is killed, which differs from one number to the next.
    fn options(self, number: u64) -> (Vec<String>, u64) {
        let every = |key: &str, value: &str| vec!["--set".to_owned(), format!("{key}={value}")];
        let saved = |interval: &str| every("checkpoint.interval", interval);
        match self.during {
            #[cfg(feature = "long-tests")]
            During::Superstep => (saved("25 supersteps"), 90 + 7 * number),
            During::Restart => (saved("25 supersteps"), 90 + 7 * number),
            During::Call => {
                let calls = [
                    every("scheduler.policy", "migbsp"),
                    every("scheduler.interval", "10"),
                ];
                let interval = saved("25 supersteps");
                ([calls.concat(), interval].concat(), 99 + 10 * number)
            }
            During::Moves => {
                let at = 100 + 7 * number;
                let moves = ["p1", "p2", "p3"].map(|process| {
                    format!("{{superstep={at}, process=\"{process}\", to=\"node-4\"}}")
                });
                let script = every("scheduler.script", &format!("[{}]", moves.join(", ")));
                ([script, saved("25 supersteps")].concat(), at - 1)
            }
            During::Checkpoint => (saved("20 supersteps"), 99 + 20 * (number % 10)),
        }
    }

    /// Runs the job, and checks what it leaves. Returns whether what was aimed at was under way.
    fn happens(self, folder: &Folder, number: u64) -> bool {
        let name = format!("{:?}-{:?}-{number}", self.during, self.nodes);
        let (out, outputs) = (format!("{name}.runs"), format!("{name}.json"));
        let (options, superstep) = self.options(number);
        let kills: Vec<String> = match (self.during, self.nodes) {
            (During::Restart, [first, ..]) => vec![format!("{first}@{superstep}")],
            (_, nodes) => nodes
                .iter()
                .map(|node| format!("{node}@{superstep}"))
                .collect(),
        };
        let mut words = vec!["up", "--local", "4", "--sets", "2"];
        words.extend(kills.iter().flat_map(|kill| ["--kill", kill]));
        words.extend(["--", "run", "heat.toml", "--format", "json"]);
        words.extend(["--out", &out, "--outputs", &outputs]);
        words.extend(LARGE);
        words.extend(options.iter().map(String::as_str));
        let run = UnderWay::start(&mut folder.command(&words));
        if let (During::Restart, [first, second]) = (self.during, self.nodes) {
            let nodes = begun(&run, &folder.path().join(&out));
            let second = nodes[usize::try_from(second - 1).unwrap()];
            let first = nodes[usize::try_from(first - 1).unwrap()];
            while is_alive(first) {
                assert!(!run.is_over(), "{name}: {:?}", run.ends_within(0));
                thread::sleep(Duration::from_millis(2));
            }
            thread::sleep(Duration::from_millis(2400 + 15 * number));
            signal(second, "KILL");
        }
        let ended = run.ends_within(120);
        assert_eq!(ended.code, Some(0), "{name}: {ended:?}");
        let read = |name: &str| fs::read(folder.path().join(name)).unwrap();
        assert_eq!(read(&outputs), read("whole.json"), "{name}: {ended:?}");
        let shown: Value = serde_json::from_str(&ended.stdout).unwrap();
        let views = shown["views"].as_array().unwrap();
        let lost = views
            .iter()
            .flat_map(|view| view["lost"].as_array().unwrap());
        assert_eq!(lost.count(), self.nodes.len(), "{name}: {shown}");
        for view in views {
            // One that was over at once has none.
            let Some(record) = view["record"].as_str() else {
                continue;
            };
            let record = format!("{out}/{record}");
            for command in ["verify", "explain"] {
                let read = folder.run(&[command, &record]);
                assert_eq!(read.code, Some(0), "{name}: {read:?}");
            }
        }
        self.is_aim_hit(views, &folder.path().join(&out), superstep)
    }

    /// Whether the first record lacks what was under way when the node was killed, or a view lost two nodes.
    fn is_aim_hit(self, views: &[Value], out: &Path, superstep: u64) -> bool {
        let first = out.join(views[0]["record"].as_str().unwrap());
        let events = fs::read_to_string(first.join("events.jsonl")).unwrap();
        let has = |kind: &str| {
            events.lines().any(|line| {
                let event: Value = serde_json::from_str(line).unwrap();
                event["event"] == kind && event["superstep"] == superstep + 1
            })
        };
        match self.during {
            #[cfg(feature = "long-tests")]
            During::Superstep => true,
            During::Call | During::Moves => !has("call"),
            During::Checkpoint => !has("checkpoint"),
            // Both are lost in one, or the second one is lost before a superstep of the second is over.
            During::Restart => {
                views[1]["lost"].as_array().unwrap().len() == 2 || views[1]["record"].is_null()
            }
        }
    }
}

#[test]
fn a_run_goes_on_without_nodes_that_are_lost_in_a_call_moves_a_checkpoint_and_a_restart() {
    let folder = Folder::new().with("heat.toml", HEAT);
    simulate(&folder, &LARGE);
    let folder = &folder;
    thread::scope(|scope| {
        for loss in [
            loss(During::Call, &[1]),
            loss(During::Moves, &[4]),
            loss(During::Checkpoint, &[2]),
            loss(During::Restart, &[3, 1]),
        ] {
            scope.spawn(move || loss.happens(folder, 3));
        }
    });
}

/// Twenty runs of each loss `during` that, at different moments. Returns for each in how many it hit what was aimed at.
#[cfg(feature = "long-tests")]
fn twenty(during: During) -> Vec<(Loss, usize)> {
    let folder = Folder::new().with("heat.toml", HEAT);
    simulate(&folder, &LARGE);
    let folder = &folder;
    let losses = ALL.iter().filter(|loss| loss.during == during);
    let hits = losses.map(|loss| {
        let hits: usize = thread::scope(|scope| {
            let halves = [0, 1].map(|half| {
                let numbers = (0..20).filter(move |number| number % 2 == half);
                scope.spawn(move || {
                    numbers
                        .filter(|number| loss.happens(folder, *number))
                        .count()
                })
            });
            halves.into_iter().map(|half| half.join().unwrap()).sum()
        });
        assert!(0 < hits, "{loss:?}");
        (*loss, hits)
    });
    hits.collect()
}

#[cfg(feature = "long-tests")]
#[test]
fn runs_go_on_after_losses_at_any_moment() {
    println!("{:?}", twenty(During::Superstep));
}

#[cfg(feature = "long-tests")]
#[test]
fn runs_go_on_after_losses_in_calls() {
    println!("{:?}", twenty(During::Call));
}

#[cfg(feature = "long-tests")]
#[test]
fn runs_go_on_after_losses_while_processes_move() {
    println!("{:?}", twenty(During::Moves));
}

#[cfg(feature = "long-tests")]
#[test]
fn runs_go_on_after_losses_in_checkpoints() {
    println!("{:?}", twenty(During::Checkpoint));
}

#[cfg(feature = "long-tests")]
#[test]
fn runs_go_on_after_losses_after_losses() {
    println!("{:?}", twenty(During::Restart));
}
