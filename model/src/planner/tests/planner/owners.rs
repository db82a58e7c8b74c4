//! Hosts whose owners run jobs.

use super::*;
use crate::ExternalLoad;

/// Owners whose jobs use these parts of the hosts, none of which runs now.
fn owned(mut set: Inventory, utilisations: [f64; 2]) -> Inventory {
    let external = |(host, utilisation)| ExternalLoad {
        host: HostId(host),
        utilisation,
        since: 0.0,
        arrivals: 1e-3,
        present: 0.0,
        ages: Vec::new(),
    };
    set.measured.external = (0..).zip(utilisations).map(external).collect();
    set
}

#[test]
fn no_process_moves_to_a_host_that_is_not_idle_unless_none_is() {
    let goals_with = |utilisations| {
        let set = owned(inventory(CROWDED), utilisations);
        goals(&Run::sharing_links().call_with(10, 4.0, set))
    };
    assert_eq!(goals_with([0.0, 0.3]), [1, 1]);
    assert_eq!(goals_with([0.3, 0.85]), [0; 0]);
    assert_eq!(goals_with([0.97, 0.85]), [1, 1]);
}

#[test]
fn supersteps_that_owners_interrupted_are_no_failure_of_a_plan() {
    let mut run = Run::sharing_links();
    let calm = || owned(inventory(CROWDED), [0.0, 0.1]);
    assert_eq!(goals(&run.call_with(10, 4.0, calm())), [1, 1]);
    run.conclude(0.2, true);
    // Two seconds of computation, and eight of the owner's jobs.
    let mut interrupted = owned(inventory(EVEN), [0.0, 0.1]);
    interrupted.measured.external[1].since = 0.8;
    let decision = run.call_with(10, 10.0, interrupted);
    assert_eq!(decision.assessment.verdict, Verdict::Unchanged);
    close(decision.assessment.measured.get(), 10.0);
    run.conclude(0.0, false);
    // The same plan is made again: it has not failed.
    assert_eq!(goals(&run.call_with(10, 4.0, calm())), [1, 1]);
}
