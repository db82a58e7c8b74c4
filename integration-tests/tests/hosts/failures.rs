//! Whatever goes wrong ends the run with a message, and the cluster is free again.

use std::sync::Arc;

use agents::{ProgramType, Programs, Scheduler, Setup, Shape};
use bsp::reference::{self, Limit};
use bsp::{BoxError, HostId, Program, Rank, Step, Superstep};
use hosts::run;
use machines::JobError;
use machines::client::Request;
use protocol::Fault;
use protocol::identity::{Identity, Role};
use record::Event;
use serde::{Deserialize, Serialize};
use simulated::simulate;

use crate::cluster::Cluster;

/// Counts to three; process 2 does something else in superstep 1.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Counter(Flaw);

/// What is wrong with it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
enum Flaw {
    Nothing,
    Panics,
    Fails,
    SendsToNobody,
    SendsToTheDead,
    NeverHalts,
}

impl Program for Counter {
    type Message = u64;
    type Output = u64;

    fn superstep(&mut self, ctx: &mut Superstep<'_, u64>) -> Result<Step<u64>, BoxError> {
        let is_it = ctx.rank() == Rank(2) && ctx.index() == 1;
        match self.0 {
            Flaw::Panics if is_it => panic!("on purpose"),
            Flaw::Fails if is_it => return Err("no more".into()),
            Flaw::SendsToNobody if is_it => ctx.send(Rank(9), 1),
            Flaw::SendsToTheDead if ctx.index() == 1 && ctx.rank() == Rank(0) => {
                return Ok(Step::Halt(0));
            }
            Flaw::SendsToTheDead if is_it => ctx.send(Rank(0), 1),
            // The lowest rank that is still running is named, not the first.
            Flaw::NeverHalts if ctx.rank() != Rank(0) => return Ok(Step::Continue),
            _ => {}
        }
        if ctx.index() < 3 {
            Ok(Step::Continue)
        } else {
            Ok(Step::Halt(ctx.index()))
        }
    }
}

fn counters(flaw: Flaw) -> Vec<Counter> {
    vec![Counter(flaw); 5]
}

fn setup(cluster: &Cluster) -> Setup {
    cluster.setup(5, Shape::Hierarchical, None)
}

/// A cluster that did its work before still does.
#[track_caller]
fn works(cluster: &Cluster) {
    let setup = setup(cluster);
    let (finished, _) = cluster.run(&setup, counters(Flaw::Nothing)).unwrap();
    assert_eq!(finished.outputs.typed::<Counter>(), [3; 5]);
}

#[test]
fn program_failures_are_reported_as_by_the_reference_runner() {
    let cluster = Cluster::start(&[2, 1]);
    for flaw in [
        Flaw::Panics,
        Flaw::Fails,
        Flaw::SendsToNobody,
        Flaw::SendsToTheDead,
        Flaw::NeverHalts,
    ] {
        let expected = reference::run(counters(flaw), Limit(20)).unwrap_err();
        let setup = Setup {
            elasticity: None,
            awaited: None,
            checkpointing: None,
            superstep_limit: 20,
            ..setup(&cluster)
        };
        let error = cluster.run(&setup, counters(flaw)).unwrap_err();
        assert_eq!(error.fault, Fault::Program, "{error}");
        // Which host it was is known where there are several.
        let host = match flaw {
            Flaw::Panics | Flaw::Fails => "n2: ",
            _ => "",
        };
        assert_eq!(error.message, format!("{host}{expected}"));
    }
    works(&cluster);
}

/// Counts as [`Counter`] does; its state can be encoded only if it says so.
#[derive(Clone, Serialize, Deserialize)]
struct Bare {
    #[serde(serialize_with = "unless_refused")]
    is_refused: bool,
}

fn unless_refused<S: serde::Serializer>(
    is_refused: &bool,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    if *is_refused {
        return Err(serde::ser::Error::custom("not this one"));
    }
    is_refused.serialize(serializer)
}

impl Program for Bare {
    type Message = ();
    type Output = u64;

    fn superstep(&mut self, _: &mut Superstep<'_, ()>) -> Result<Step<u64>, BoxError> {
        Ok(Step::Halt(1))
    }
}

#[test]
fn a_process_that_cannot_be_built_ends_the_job_before_it_begins() {
    let cluster = Cluster::start(&[2]);
    let setup = cluster.setup(5, Shape::Hierarchical, Some(Scheduler::default()));
    let fails = |build: fn(Rank) -> Result<Bare, JobError>| {
        cluster.prepare_building(&setup, build);
        let mut events = Vec::new();
        let ran = run(
            cluster.identity(Role::Client, "tester"),
            &cluster.request(&setup),
            ProgramType::new::<Bare>(),
            &mut |event: &Event| {
                events.push(event.clone());
                Ok(())
            },
            std::future::pending(),
        );
        assert_eq!(events, []);
        works(&cluster);
        let error = ran.unwrap_err();
        (error.fault, error.message)
    };
    let plain = Bare { is_refused: false };
    let (fault, message) = fails(|rank| match rank {
        Rank(3) => Err(JobError::input("n1: m.csv cannot be read")),
        _ => Ok(Bare { is_refused: false }),
    });
    assert_eq!(fault, Fault::Input);
    assert_eq!(message, "n1: m.csv cannot be read");
    let (fault, message) = fails(|rank| match rank {
        Rank(4) => panic!("on purpose"),
        _ => Ok(Bare { is_refused: false }),
    });
    assert_eq!(fault, Fault::Program);
    let begin =
        "building a process panicked: on purpose, at integration-tests/tests/hosts/failures.rs:";
    assert!(message.starts_with(begin), "{message}");
    let (fault, message) = fails(|rank| {
        Ok(Bare {
            is_refused: rank == Rank(2),
        })
    });
    assert_eq!(fault, Fault::Program);
    assert_eq!(message, "the state of p3 cannot be encoded: not this one");
    let (finished, _) = cluster.run(&setup, vec![plain; 5]).unwrap();
    assert_eq!(finished.outputs.typed::<Bare>(), [1; 5]);
}

/// A run on `members` ends with a fault of the cluster and says `expected`.
#[track_caller]
fn check(cluster: &Cluster, client: Identity, request: &Request, expected: &str) {
    let ran = run(
        client,
        request,
        ProgramType::new::<Counter>(),
        &mut |_: &Event| Ok(()),
        std::future::pending(),
    );
    let error = ran.unwrap_err();
    assert_eq!(error.fault, Fault::Cluster, "{error}");
    assert!(error.message.contains(expected), "{error}");
    works(cluster);
}

#[test]
fn what_cannot_be_run_anywhere_is_refused_as_it_is_when_simulated() {
    let cluster = Cluster::start(&[2]);
    let request = cluster.request(&setup(&cluster));
    let refused = |request: &Request, count| {
        let client = cluster.identity(Role::Client, "tester");
        let programs = vec![Counter(Flaw::Nothing); count];
        let never = std::future::pending();
        let error = run(
            client,
            request,
            ProgramType::new::<Counter>(),
            &mut |_: &Event| Ok(()),
            never,
        )
        .unwrap_err();
        assert_eq!(error.fault, Fault::Input, "{error}");
        let simulated = simulate(&request.setup, Programs::new(programs), &mut |_| ());
        (
            error.message,
            simulated.err().map(|error| error.to_string()),
        )
    };
    let check = |setup: Setup, count, expected: &str| {
        let request = Request {
            setup,
            ..request.clone()
        };
        let both = (expected.to_owned(), Some(expected.to_owned()));
        assert_eq!(refused(&request, count), both);
    };
    let (none, far) = (Vec::new(), vec![HostId(0), HostId(7)]);
    let placed = |placement| Setup {
        placement,
        ..request.setup.clone()
    };
    check(
        placed(none),
        0,
        "there are no processes; at least one is needed",
    );
    check(
        placed(far),
        2,
        "p2 is placed on host 7, but the platform has only 2 hosts",
    );
    let mut fewer = request.clone();
    fewer.members.pop();
    let alone = "the platform has 2 hosts, the list of hosts has 1";
    assert_eq!(refused(&fewer, 5), (alone.to_owned(), None));
    works(&cluster);
}

#[test]
fn a_node_that_is_not_there_or_is_another_is_named() {
    let cluster = Cluster::start(&[3]);
    let request = cluster.request(&setup(&cluster));
    let client = || cluster.identity(Role::Client, "tester");
    let mut absent = request.clone();
    // No process listens at the discard port.
    absent.members[2].address = "127.0.0.1:9".to_owned();
    let expected = "connecting to node n2 at 127.0.0.1:9: its host says that";
    check(&cluster, client(), &absent, expected);
    let mut other = request.clone();
    other.members[2].address = request.members[1].address.clone();
    check(&cluster, client(), &other, "connecting to node n2 at ");
    let mut unknown = request;
    unknown.members[1].address = "no-such-host.invalid:7447".to_owned();
    check(&cluster, client(), &unknown, "no-such-host.invalid:7447: ");
}

#[test]
fn unauthenticated_peers_are_refused() {
    let cluster = Cluster::start(&[1]);
    let request = cluster.request(&setup(&cluster));
    let other = Cluster::start(&[1]);
    check(
        &cluster,
        other.identity(Role::Client, "tester"),
        &request,
        "connecting to set-manager n0 at ",
    );
    check(&cluster, cluster.identity(Role::Node, "n7"), &request, "n0");
}

#[test]
fn a_node_that_panics_says_so() {
    let cluster = Cluster::start(&[2]);
    // Nodes believe that there is one host, and one of them is the second.
    let fewer = Cluster::start(&[1]);
    cluster.prepare(
        &Setup {
            platform: Arc::clone(&fewer.platform),
            ..setup(&cluster)
        },
        counters(Flaw::Nothing),
    );
    let client = cluster.identity(Role::Client, "tester");
    let request = cluster.request(&setup(&cluster));
    check(&cluster, client, &request, "see its log");
}
