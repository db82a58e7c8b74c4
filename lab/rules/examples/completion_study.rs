//! How far predicted completion times are from those of a simulated queue.
//!
//! `cargo run --release -p migbsp-lab-rules --example completion_study` prints, for five distributions of the owner's jobs: the
//! errors of mean and variance in sixty cases, with their standard errors; the error of means if the host is busy;
//! and the error of `latest` for 4 and 16 tasks, each of the same time or each of a time that makes their means
//! equal. Takes a few minutes.

#![expect(clippy::print_stdout, reason = "a table on the terminal")]
#![expect(clippy::unwrap_used, reason = "a study ends where it cannot go on")]

#[path = "../tests/completion/law.rs"]
mod law;
#[path = "../tests/completion/measured.rs"]
mod measured;
#[path = "../tests/completion/queue.rs"]
mod queue;

use lab_rules::completion::latest;
use law::{Law, several, share};
use measured::Measured;
use queue::{Discipline, Queue};

fn main() {
    single();
    println!();
    starts();
    println!();
    last_tasks();
}

/// Mean and variance of one task.
fn single() {
    println!("jobs               ρ    d    tasks   mean   error       ±  variance   error       ±");
    let mut means = Errors::default();
    let mut variances = Errors::default();
    let mut seed = 11;
    for law in Law::ALL {
        for utilisation in [0.1, 0.3, 0.5, 0.7] {
            for dedicated in [1.0, 10.0, 100.0] {
                let task = law.task(dedicated, utilisation);
                seed += 1;
                let mut queue = Queue::new(law, utilisation, Discipline::OwnerFirst, seed);
                let draw = || {
                    queue.clear();
                    queue.finish(dedicated)
                };
                let met = Measured::until(task.mean().get(), 0.001, 0.01, draw);
                let mean = task.mean().get() / met.mean() - 1.0;
                let variance = task.variance() / met.variance() - 1.0;
                means.add(mean, met.mean_error());
                variances.add(variance, met.variance_error());
                println!(
                    "{:16} {utilisation:.1} {dedicated:4} {:8} {:6.2} {:6.2}% {:6.2}% {:9.1} {:6.2}% {:6.2}%",
                    format!("{law:?}"),
                    met.count(),
                    met.mean(),
                    100.0 * mean,
                    100.0 * met.mean_error(),
                    met.variance(),
                    100.0 * variance,
                    100.0 * met.variance_error(),
                );
            }
        }
    }
    means.print("mean");
    variances.print("variance");
}

/// Mean of a task that arrives at a host that has run for long, by which jobs it serves.
fn starts() {
    println!("jobs               ρ    d  owner first   error       ±  sharing   error       ±");
    for law in Law::ALL {
        for utilisation in [0.3, 0.7] {
            for dedicated in [2.0, 20.0] {
                let idle = law.task(dedicated, utilisation);
                let busy = idle.with_busy_start();
                // Long enough for the host to forget the task before.
                let pause = 20.0 * (1.0 + law.deviation().powi(2)) / (1.0 - utilisation).powi(2);
                let after = |discipline, expected: f64| {
                    let mut queue = Queue::new(law, utilisation, discipline, 23);
                    let met = Measured::until(expected, 0.003, f64::INFINITY, || {
                        queue.pass(pause);
                        queue.finish(dedicated)
                    });
                    let error = 100.0 * (expected / met.mean() - 1.0);
                    format!(
                        "{:7.2} {error:6.2}% {:6.2}%",
                        met.mean(),
                        100.0 * met.mean_error()
                    )
                };
                println!(
                    "{:16} {utilisation:.1} {dedicated:4}      {}  {}",
                    format!("{law:?}"),
                    after(Discipline::OwnerFirst, busy.mean().get()),
                    after(Discipline::Sharing, idle.mean().get()),
                );
            }
        }
    }
}

/// The last of several tasks.
fn last_tasks() {
    println!("jobs             tasks    d split       latest   error       ±");
    for law in Law::ALL {
        for count in [4_u32, 16] {
            for dedicated in [10.0, 100.0] {
                for has_equal_ends in [false, true] {
                    let tasks = several(law, dedicated, count, has_equal_ends);
                    let predicted = latest(&tasks).get();
                    let mut queues: Vec<_> = (0..count)
                        .map(|number| {
                            let (time, utilisation) =
                                share(dedicated, number, count, has_equal_ends);
                            let seed = 100 + u64::from(number);
                            (
                                time,
                                Queue::new(law, utilisation, Discipline::OwnerFirst, seed),
                            )
                        })
                        .collect();
                    let met = Measured::until(predicted, 0.0006, f64::INFINITY, || {
                        let ends = queues.iter_mut().map(|(time, queue)| {
                            queue.clear();
                            queue.finish(*time)
                        });
                        ends.fold(0.0, f64::max)
                    });
                    println!(
                        "{:16} {count:5} {dedicated:4} {} {:8.3} {:6.2}% {:6.2}%",
                        format!("{law:?}"),
                        if has_equal_ends {
                            "equal ends "
                        } else {
                            "equal times"
                        },
                        met.mean(),
                        100.0 * (predicted / met.mean() - 1.0),
                        100.0 * met.mean_error(),
                    );
                }
            }
        }
    }
}

#[derive(Default)]
struct Errors {
    sum: f64,
    highest: f64,
    /// The highest in standard errors.
    surest: f64,
    count: f64,
}

impl Errors {
    fn add(&mut self, error: f64, standard: f64) {
        self.sum += error.abs();
        self.highest = self.highest.max(error.abs());
        self.surest = self.surest.max((error / standard).abs());
        self.count += 1.0;
    }

    fn print(&self, name: &str) {
        println!(
            "{name}: mean error {:.3} %, highest {:.3} %, at most {:.1} standard errors",
            100.0 * self.sum / self.count,
            100.0 * self.highest,
            self.surest
        );
    }
}
