//! Nodes and clients of other builds take part only where both ends allow it.

use agents::{ProgramType, Shape};
use bsp::{BoxError, Program, Step, Superstep};
use hosts::{inquire, run};
use machines::Builds;
use machines::client::Request;
use protocol::identity::Role;
use protocol::{Build, Fault};
use record::Event;
use serde::{Deserialize, Serialize};

use crate::cluster::{Cluster, NodeOptions, build};

/// Halts in its second superstep.
#[derive(Clone, Serialize, Deserialize)]
struct Short;

impl Program for Short {
    type Message = ();
    type Output = u64;

    fn superstep(&mut self, ctx: &mut Superstep<'_, ()>) -> Result<Step<u64>, BoxError> {
        match ctx.index() {
            0 => Ok(Step::Continue),
            index => Ok(Step::Halt(index)),
        }
    }
}

fn builds(own: Build, are_mixed_allowed: bool) -> Builds {
    Builds {
        own,
        are_mixed_allowed,
    }
}

/// A cluster of three nodes, of which the last has other `builds`.
fn cluster(node: &Builds) -> Cluster {
    Cluster::with(&[3], |index| {
        let options = NodeOptions::default();
        let builds = if index == 2 {
            node.clone()
        } else {
            options.builds
        };
        NodeOptions { builds, ..options }
    })
}

/// The message of a run by `client`, if it fails; it has to be about the builds.
fn message(cluster: &Cluster, client: Builds) -> Option<String> {
    let setup = cluster.setup(6, Shape::Hierarchical, None);
    cluster.prepare(&setup, vec![Short; 6]);
    let request = Request {
        builds: client,
        ..cluster.request(&setup)
    };
    let identity = cluster.identity(Role::Client, "tester");
    let programs = ProgramType::new::<Short>();
    let never = std::future::pending();
    match run(identity, &request, programs, &mut |_: &Event| Ok(()), never) {
        Ok(outcome) => {
            assert_eq!(outcome.outputs.typed::<Short>(), [1; 6]);
            let third = outcome.builds[2].clone();
            assert_eq!(
                outcome.builds,
                [build("counter", 0), build("counter", 0), third]
            );
            None
        }
        Err(error) => {
            assert_eq!(error.fault, Fault::Build, "{error}");
            Some(error.message)
        }
    }
}

#[test]
fn a_node_of_another_build_is_refused_by_the_client_and_named() {
    let other = build("counter", 1);
    let cluster = cluster(&builds(other.clone(), true));
    let own = build("counter", 0);
    let refused = message(&cluster, Builds::same_as(own.clone())).unwrap();
    let expected = format!(
        "node n2 runs {other}, this client runs {own}: install one build on all hosts, or start nodes and client with \
         --allow-mixed-builds if their machines are of different kinds"
    );
    assert_eq!(refused, expected);
}

#[test]
fn nodes_decide_for_their_side() {
    let other = build("counter", 1);
    let (odd, own) = (Builds::same_as(other.clone()), build("counter", 0));
    let cluster = cluster(&odd);
    // The client allows it, the odd node does not.
    let refused = message(&cluster, builds(own.clone(), true)).unwrap();
    assert!(refused.contains(&own.to_string()), "{refused}");
    assert!(refused.contains(&other.to_string()), "{refused}");
    assert!(refused.contains("--allow-mixed-builds"), "{refused}");
    // It accepts a client of its own build; the other nodes do not.
    let refused = message(&cluster, builds(other, true)).unwrap();
    assert!(refused.contains("client tester at"), "{refused}");
}

#[test]
fn a_node_refuses_nodes_of_other_builds() {
    // The odd node and the client allow all; the other nodes refuse the odd one when it connects.
    let other = build("counter", 1);
    let cluster = cluster(&builds(other.clone(), true));
    let refused = message(&cluster, builds(build("counter", 0), true)).unwrap();
    assert!(refused.contains("n2 runs"), "{refused}");
    assert!(refused.contains(&other.to_string()), "{refused}");
}

#[test]
fn builds_are_mixed_where_all_allow_it() {
    let cluster = Cluster::with(&[3], |index| NodeOptions {
        builds: builds(build("counter", u8::from(index == 2)), true),
        ..NodeOptions::default()
    });
    assert_eq!(message(&cluster, builds(build("counter", 0), true)), None);
}

#[test]
fn a_client_of_another_program_is_told_which_one_to_start() {
    let cluster = Cluster::start(&[2]);
    let setup = cluster.setup(2, Shape::Hierarchical, None);
    let refused = |workload: &str| {
        let request = Request {
            builds: Builds::same_as(build("pagerank", 2)),
            workload: workload.to_owned(),
            ..cluster.request(&setup)
        };
        let identity = cluster.identity(Role::Client, "tester");
        let programs = ProgramType::new::<Short>();
        let never = std::future::pending();
        let refused = run(identity, &request, programs, &mut |_: &Event| Ok(()), never);
        refused.unwrap_err().message
    };
    let own = build("counter", 0);
    assert_eq!(
        refused("pagerank"),
        format!(
            "nodes n0, n1 run {own} and have no workload `pagerank`: start `pagerank node` there"
        )
    );
    assert!(refused("counter").contains("start the nodes from the program of the client"));
}

#[test]
fn nodes_of_other_builds_tell_their_status() {
    let other = build("counter", 1);
    let cluster = cluster(&Builds::same_as(other.clone()));
    let roles = [Role::SetManager, Role::Node, Role::Node];
    let members = cluster.members.iter().cloned().zip(roles).collect();
    let identity = cluster.identity(Role::Client, "tester");
    let answers = inquire(identity, &build("pagerank", 9), members).unwrap();
    let found: Vec<_> = answers
        .iter()
        .map(|answer| answer.build.clone().unwrap())
        .collect();
    let own = build("counter", 0);
    assert_eq!(found, [own.clone(), own, other]);
    for answer in answers {
        assert_eq!(answer.status.unwrap().workloads, ["counter"]);
    }
}
