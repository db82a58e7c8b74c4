//! Plans beside noise, and plans that seem to cost too much.

use super::*;

/// `hosts`, and the noise of all processes on them.
fn noisy(hosts: [u32; 4], noise: f64) -> Inventory {
    let mut set = inventory(hosts);
    for load in &mut set.loads {
        load.noise = noise;
    }
    set
}

#[test]
fn a_difference_that_noise_explains_moves_nothing() {
    // Three seconds and one; two and two gain a second. The variances of the hosts are 3 c^2 and c^2, so that the slower one
    // differs from another by sqrt(5) c in one superstep: sqrt(2 ln 2) sqrt(5) c / sqrt(n) is 1 for c = 0.7597 if n is 4.
    let moves = |window: f64, supersteps: u64, noise: f64| {
        let mut run = Run::new(MigrationTime::SharedLinks, |planning| {
            planning.load_window = Seconds::new(window).unwrap();
        });
        let decision = run.call_with(supersteps, 3.0, noisy([0, 0, 0, 1], noise));
        decision.moves.len()
    };
    // A second holds less than four supersteps.
    assert_eq!(moves(1.0, 10, 0.0), 1);
    assert_eq!(moves(1.0, 10, 0.75), 1);
    assert_eq!(moves(1.0, 10, 0.77), 0);
    // Ten halve it but for sqrt(10 / 16), and no more than there have been count.
    assert_eq!(moves(1e3, 10, 1.19), 1);
    assert_eq!(moves(1e3, 10, 1.22), 0);
    assert_eq!(moves(1e3, 4, 0.77), 0);
}

#[test]
fn a_plan_is_not_undone_for_noise() {
    let is_undone = |noise: f64| {
        let mut run = Run::sharing_links();
        let decision = run.call_with(10, 4.0, noisy(CROWDED, noise));
        let mut hosts = CROWDED;
        for planned in &decision.moves {
            hosts[planned.step.rank.index()] = 1;
        }
        run.conclude(1.0, true);
        // Two seconds were predicted, and four were measured before: supersteps have become longer by a second. Hosts
        // differ by 2 c in one of them, and by sqrt(2 ln 2) c in the mean of four.
        !run.call_with(10, 5.0, noisy(hosts, noise)).moves.is_empty()
    };
    assert!(is_undone(0.0));
    assert!(is_undone(0.84));
    assert!(!is_undone(0.86));
}

#[test]
fn a_plan_that_seems_to_cost_too_much_is_tried_when_it_has_missed_that() {
    let planning = Planning {
        horizon: 10.0,
        ..Planning::default()
    };
    let policy: Policy = "fixed+portfolio+amortised".parse().unwrap();
    let planner = Planner::new(
        &policy,
        &Config::default(),
        &planning,
        MigrationTime::SharedLinks,
    );
    let mut planner = planner.unwrap();
    let (mut now, mut over) = (0.0, 0);
    let mut call = |completed: u64, took: f64| {
        let cost = MigrationCost {
            data_rate: Some(0.0),
            fixed_rate: Some(0.0),
            overlap: None,
            base: Some(Seconds::new(30.0).unwrap()),
            ..MigrationCost::default()
        };
        now += 4.0 * count(completed - over);
        over = completed;
        let sets = vec![inventory(CROWDED)];
        let began = Instant::new(now).unwrap();
        let decision = planner.decide(start(completed, began), sets, cost.into());
        now += took;
        planner.conclude(Seconds::new(took).unwrap(), !decision.moves.is_empty());
        decision
    };
    // Two moves of 30 seconds gain 2 seconds in each of 10 supersteps.
    assert_eq!(goals(&call(10, 50.0)), [0; 0]);
    let second = call(20, 50.0);
    assert_eq!(goals(&second), [0; 0]);
    // The budget would pause for 100 / 0.01 seconds. The moves and a call have been missed 55 supersteps after the first.
    assert_eq!((second.spacing.pause, second.spacing.again), (45, 45));
    assert_eq!(goals(&call(39, 0.0)), [0; 0]);
    let tried = call(65, 60.0);
    assert_eq!(goals(&tried), [1, 1]);
    close(tried.assessment.balance.horizon, 55.0);
}
