//! A superstep that never ends can be ended by its client; its thread cannot, and its node says so.

use std::hint::spin_loop;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use agents::ProgramType;
use agents::Shape;
use bsp::{BoxError, Program, Rank, Step, Superstep};
use hosts::{inquire, run};
use machines::JobError;
use protocol::identity::Role;
use protocol::{Abandoned, Fault};
use record::Event;
use serde::{Deserialize, Serialize};

use crate::cluster::{Cluster, NodeOptions};

/// Halts in superstep 3, but process 1 does not end superstep 2 until its gate is opened.
#[derive(Clone, Serialize, Deserialize)]
struct Endless {
    /// Which gate; `None`: it does not wait.
    gate: Option<usize>,
}

/// How far each test is: 0 before the superstep, 1 in it, 2 once it may end.
static GATES: [AtomicU64; 2] = [AtomicU64::new(0), AtomicU64::new(0)];

impl Program for Endless {
    type Message = ();
    type Output = u64;

    fn superstep(&mut self, ctx: &mut Superstep<'_, ()>) -> Result<Step<u64>, BoxError> {
        let gate = self
            .gate
            .filter(|_| ctx.rank() == Rank(1) && ctx.index() == 2);
        if let Some(gate) = gate.map(|gate| &GATES[gate]) {
            // If it is open already, it stays open.
            gate.fetch_max(1, Ordering::SeqCst);
            while gate.load(Ordering::SeqCst) < 2 {
                spin_loop();
            }
        }
        match ctx.index() {
            3 => Ok(Step::Halt(3)),
            _ => Ok(Step::Continue),
        }
    }
}

/// Runs the processes, and interrupts the run when the superstep executes.
fn interrupted(cluster: &Cluster, gate: usize) -> JobError {
    let setup = cluster.setup(2, Shape::Hierarchical, None);
    cluster.prepare(&setup, vec![Endless { gate: Some(gate) }; 2]);
    let identity = cluster.identity(Role::Client, "tester");
    let programs = ProgramType::new::<Endless>();
    let interrupt = async move {
        while GATES[gate].load(Ordering::SeqCst) == 0 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    let request = cluster.request(&setup);
    run(
        identity,
        &request,
        programs,
        &mut |_: &Event| Ok(()),
        interrupt,
    )
    .unwrap_err()
}

/// Runs the processes without waiting.
fn finished(cluster: &Cluster) -> Result<Vec<u64>, JobError> {
    let setup = cluster.setup(2, Shape::Hierarchical, None);
    let (outcome, _) = cluster.run(&setup, vec![Endless { gate: None }; 2])?;
    Ok(outcome.outputs.typed::<Endless>().to_vec())
}

/// The superstep that goes on at the second node.
fn abandoned(cluster: &Cluster) -> Option<Abandoned> {
    let members = vec![(cluster.members[1].clone(), Role::Node)];
    let identity = cluster.identity(Role::Client, "tester");
    let builds = cluster
        .request(&cluster.setup(2, Shape::Hierarchical, None))
        .builds;
    let mut answers = inquire(identity, &builds.own, members).unwrap();
    answers.remove(0).status.unwrap().abandoned
}

#[test]
fn an_endless_superstep_is_ended_by_its_client_and_its_node_refuses_jobs_until_its_thread_is_gone()
{
    let cluster = Cluster::start(&[2]);
    let began = Instant::now();
    assert_eq!(interrupted(&cluster, 0).message, "interrupted");
    assert!(
        began.elapsed() < Duration::from_secs(10),
        "{:?}",
        began.elapsed()
    );
    let refused = finished(&cluster).unwrap_err();
    assert_eq!(refused.fault, Fault::Cluster, "{refused}");
    let message = refused.message;
    assert!(
        message.starts_with("n1 has executed superstep 2 of p2 for "),
        "{message}"
    );
    assert!(
        message.ends_with("restart the node if it never does"),
        "{message}"
    );
    let shown = abandoned(&cluster).unwrap();
    assert_eq!((shown.rank, shown.superstep), (Rank(1), 2));
    GATES[0].store(2, Ordering::SeqCst);
    assert_eq!(finished(&cluster).unwrap(), [3, 3]);
    assert_eq!(abandoned(&cluster), None);
}

#[test]
fn a_node_that_may_not_be_stuck_ends_itself() {
    let mut cluster = Cluster::with(&[2], |_| NodeOptions {
        exit_when_stuck: Some(Duration::from_millis(300)),
        ..NodeOptions::default()
    });
    assert_eq!(interrupted(&cluster, 1).message, "interrupted");
    let reason = cluster.end_of(1).unwrap_err().to_string();
    GATES[1].store(2, Ordering::SeqCst);
    assert!(
        reason.starts_with("n1 has executed superstep 2 of p2 for 0 s"),
        "{reason}"
    );
    assert!(
        reason.ends_with("longer than --exit-when-stuck allows"),
        "{reason}"
    );
}
