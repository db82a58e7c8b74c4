use bsp::reference;
use proptest::prelude::*;

use super::*;

fn read(text: &str) -> Parameters {
    toml::from_str(text).unwrap()
}

fn common(processes: u32, supersteps: u64) -> Common {
    Common {
        processes,
        supersteps: Some(supersteps),
        seed: 7,
    }
}

fn run(text: &str, common: Common) -> Vec<Tally> {
    let processes = processes(&read(text), common).unwrap();
    let run = reference::run(processes, reference::Limit::default()).unwrap();
    assert_eq!(Some(run.supersteps), common.supersteps);
    run.outputs
}

/// Work of each process, in superstep `0..supersteps`.
fn works(parameters: &Parameters, common: Common) -> Vec<Vec<u64>> {
    let mut processes = processes(parameters, common).unwrap();
    let work = |process: &mut Synthetic, superstep| match &mut process.variation {
        None => process.work.0,
        Some(variation) => variation.work(process.work, superstep).0,
    };
    let of = |process: &mut Synthetic| {
        (0..common.supersteps.unwrap())
            .map(|superstep| work(&mut *process, superstep))
            .collect()
    };
    processes.iter_mut().map(of).collect()
}

#[test]
fn the_defaults_are_a_chain() {
    let outputs = run("", common(3, 5));
    let work = Instructions(5 * 100_000_000);
    for (rank, tally) in outputs.iter().enumerate() {
        let messages = if rank == 0 { 0 } else { 4 };
        let expected = Tally {
            supersteps: 5,
            work,
            received: Bytes(messages * 100_000),
            messages,
            digest: tally.digest,
        };
        assert_eq!(*tally, expected);
    }
    let process = &processes(&Parameters::default(), common(1, 1)).unwrap()[0];
    assert_eq!(process.memory(), Some(MemorySize::from(Bytes(900_000))));
}

#[test]
fn lists_repeat_by_rank() {
    let outputs = run(
        "instructions = [1e3, 2e3, 3e3]\nbytes = [1, 10]\nshifts = [1]",
        common(5, 2),
    );
    let work: Vec<u64> = outputs.iter().map(|tally| tally.work.0).collect();
    let received: Vec<u64> = outputs.iter().map(|tally| tally.received.0).collect();
    assert_eq!(work, [2_000, 4_000, 6_000, 2_000, 4_000]);
    assert_eq!(received, [0, 1, 10, 1, 10]);
}

#[test]
fn shifts_give_the_receivers() {
    let check = |text: &str, rank: u32, expected: &[u32]| {
        let expected: Vec<Rank> = expected.iter().copied().map(Rank).collect();
        assert_eq!(
            *receivers(&read(text), Rank(rank), 5),
            *expected,
            "{text}, rank {rank}"
        );
    };
    check("shifts = [1, -1, 3]", 0, &[1, 3]);
    check("shifts = [1, -1, 3]", 2, &[3, 1]);
    check("shifts = [1, -1, 3]", 4, &[3]);
    check("shifts = [1, -1, 3]\nring = true", 0, &[1, 4, 3]);
    check("shifts = [0, 2, 2]", 1, &[1, 3, 3]);
    check("shifts = [5, -10, -6]\nring = true", 3, &[3, 3, 2]);
    check("shifts = []", 3, &[]);
    check(
        "shifts = [9223372036854775807, -9223372036854775808]",
        3,
        &[],
    );
    // 2⁶³ - 1 is 2 modulo 5, and -2⁶³ is 2 as well.
    check(
        "shifts = [9223372036854775807, -9223372036854775808]\nring = true",
        3,
        &[0, 0],
    );
}

#[test]
fn messages_from_a_host_to_itself_arrive() {
    let outputs = run("shifts = [0, 0]", common(1, 3));
    assert_eq!(
        (outputs[0].messages, outputs[0].received),
        (4, Bytes(400_000))
    );
}

#[test]
fn errors_name_the_parameter() {
    let check = |text: &str, expected: &str| {
        let error = processes(&read(text), common(2, 2)).unwrap_err();
        assert_eq!(error.to_string(), expected);
    };
    check(
        "instructions = []",
        "invalid value `[]` for `instructions`: must have at least one number",
    );
    check(
        "bytes = []",
        "invalid value `[]` for `bytes`: must have at least one number",
    );
    check(
        "instructions = [1, -2.5]",
        "invalid value `-2.5` for `instructions[1]`: must be a number from 0 to 2^63",
    );
    check(
        "bytes = [nan]",
        "invalid value `NaN` for `bytes[0]`: must be a number from 0 to 2^63",
    );
    check(
        "memory = -inf",
        "invalid value `-inf` for `memory`: must be a number from 0 to 2^63",
    );
    check(
        "instructions = [5e18]\ndynamics = { kind = 'jump' }",
        "invalid value `5e18` for `instructions[0]`: grows to 1e19 with `dynamics`, must be at most 2^63; choose a smaller `dynamics.factor` or fewer instructions",
    );
    check(
        "dynamics = { kind = 'jump', factor = inf }",
        "invalid value `inf` for `dynamics.factor`: must be a number from 0",
    );
    check(
        "dynamics = { jitter = 2 }",
        "invalid value `2.0` for `dynamics.jitter`: must be a number from 0 to 1",
    );
    for unknown in [
        "shift = [1]",
        "dynamics = { kinds = 'jump' }",
        "shifts = [1.5]",
    ] {
        assert!(toml::from_str::<Parameters>(unknown).is_err(), "{unknown}");
    }
    assert_eq!(
        processes(&Parameters::default(), common(0, 1))
            .unwrap_err()
            .to_string(),
        "invalid value `0` for `processes`: must be at least 1"
    );
    assert_eq!(
        processes(&Parameters::default(), common(1, 0))
            .unwrap_err()
            .to_string(),
        "invalid value `0` for `supersteps`: must be at least 1"
    );
}

#[test]
fn parameters_read_back_what_they_write() {
    let text =
        "instructions = [1e8, 3.5]\nshifts = [-2, 7]\nring = true\n[dynamics]\nkind = 'hotspot'";
    let parameters = read(text);
    assert_eq!(read(&toml::to_string(&parameters).unwrap()), parameters);
    let defaults = Parameters::default();
    assert_eq!(read(&toml::to_string(&defaults).unwrap()), defaults);
}

#[test]
fn instructions_are_rounded_after_all_factors() {
    let parameters = read("instructions = [3]\ndynamics = { kind = 'drift', factor = 2, end = 4 }");
    let works = works(&parameters, common(2, 6));
    assert_eq!(works[0], [3, 4, 5, 5, 6, 6]);
    assert_eq!(works[1], [3; 6]);
}

#[test]
fn steady_processes_store_no_variation() {
    let parameters = read("dynamics = { kind = 'jump', share = 0.5 }");
    let processes = processes(&parameters, common(4, 1)).unwrap();
    let changes: Vec<bool> = processes
        .iter()
        .map(|process| process.variation.is_some())
        .collect();
    assert_eq!(changes, [true, true, false, false]);
}

#[test]
fn a_million_processes_fit() {
    assert!(
        size_of::<Synthetic>() <= 104,
        "{} bytes",
        size_of::<Synthetic>()
    );
}

fn dynamics() -> impl Strategy<Value = Dynamics> {
    let every = 1_u64..20;
    let shared = || (0.0..=1.0, 0.0..4.0);
    let change = prop_oneof![
        Just(Change::Steady),
        (shared(), 0_u64..30, prop::option::of(31_u64..60)).prop_map(
            |((share, factor), start, end)| Change::Drift {
                share,
                factor,
                start,
                end
            }
        ),
        (shared(), 0_u64..30, prop::option::of(every.clone())).prop_map(
            |((share, factor), start, every)| Change::Jump {
                share,
                factor,
                start,
                every
            }
        ),
        (shared(), 0_u64..40, every).prop_map(|((share, factor), step, every)| Change::Hotspot {
            share,
            factor,
            step,
            every
        }),
    ];
    let choice = prop_oneof![Just(Choice::First), Just(Choice::Drawn)];
    (change, choice, 0.0..=1.0).prop_map(|(change, choice, jitter)| Dynamics {
        // A steady load has no ranks to choose.
        choice: if change == Change::Steady {
            Choice::First
        } else {
            choice
        },
        change,
        jitter,
    })
}

proptest! {
    #[test]
    fn the_configuration_survives_being_written(dynamics in dynamics()) {
        let parameters = Parameters { dynamics, ..Parameters::default() };
        prop_assert_eq!(read(&toml::to_string(&parameters).unwrap()), parameters);
    }

    #[test]
    fn the_load_stays_between_what_the_factors_allow(dynamics in dynamics(), size in 1_u32..20) {
        let parameters = Parameters { dynamics, ..Parameters::default() };
        let factor = match dynamics.change {
            Change::Steady => 1.0,
            Change::Drift { factor, .. }
            | Change::Jump { factor, .. }
            | Change::Hotspot { factor, .. } => factor,
        };
        let least = 1e8 * factor.min(1.0) * (1.0 - dynamics.jitter);
        let greatest = 1e8 * factor.max(1.0) * (1.0 + dynamics.jitter);
        for work in works(&parameters, common(size, 40)).into_iter().flatten() {
            let work = Instructions(work).as_f64();
            prop_assert!(least - 1.0 <= work && work <= greatest + 1.0, "{work}");
        }
    }

    #[test]
    fn a_hotspot_moves_the_load_and_changes_no_sum(
        (size, step, every) in (1_u32..30, 0_u64..50, 1_u64..20),
        (share, is_drawn) in (0.0..=1.0, any::<bool>()),
    ) {
        let change = Change::Hotspot { share, factor: 3.0, step, every };
        let choice = if is_drawn { Choice::Drawn } else { Choice::First };
        let dynamics = Dynamics { change, choice, jitter: 0.0 };
        let works = works(&Parameters { dynamics, ..Parameters::default() }, common(size, 60));
        let sum = |superstep: usize| works.iter().map(|work| work[superstep]).sum::<u64>();
        prop_assert!((0..60).all(|superstep| sum(superstep) == sum(0)));
    }

    #[test]
    fn noise_does_not_depend_on_the_number_of_processes(
        (few, more) in (1_u32..10, 10_u32..20),
        (seed, jitter) in (any::<u64>(), 0.01..=1.0),
    ) {
        let parameters = Parameters {
            dynamics: Dynamics { change: Change::Steady, choice: Choice::First, jitter },
            ..Parameters::default()
        };
        let of = |processes| works(&parameters, Common { processes, supersteps: Some(40), seed });
        let (few, more) = (of(few), of(more));
        prop_assert_eq!(&few[..], &more[..few.len()]);
        prop_assert_ne!(&more[0], &more[1]);
    }
}

#[test]
fn a_pattern_takes_the_place_of_shifts() {
    let outputs = run(
        "bytes = [10]\n[pattern]\nkind = 'grid'\ndimensions = [2, 3]",
        common(6, 2),
    );
    let received: Vec<u64> = outputs.iter().map(|tally| tally.received.0).collect();
    assert_eq!(received, [20, 30, 20, 20, 30, 20]);
    let check = |text: &str, expected: &str| {
        let error = processes(&read(text), common(6, 2)).unwrap_err();
        assert_eq!(error.to_string(), expected);
    };
    let tree = "[pattern]\nkind = 'tree'";
    check(
        &format!("shifts = [1, 2]\n{tree}"),
        "`shifts`: has no meaning beside `pattern`; remove one of them",
    );
    check(
        &format!("ring = true\n{tree}"),
        "`ring`: has no meaning beside `pattern`; remove one of them",
    );
}

#[test]
fn patterns_have_defaults_and_read_back_what_they_write() {
    let patterns = [
        ("shifts", Pattern::Shifts),
        ("groups", Pattern::Groups { size: 4 }),
        ("tree", Pattern::Tree { arity: 2 }),
        ("random", Pattern::Random { links: 2, seed: 1 }),
    ];
    for (kind, pattern) in patterns {
        let parameters = read(&format!("[pattern]\nkind = '{kind}'"));
        assert_eq!(parameters.pattern, pattern);
        let written = toml::to_string(&parameters).unwrap();
        assert_eq!(read(&written), parameters, "{written}");
        assert_eq!(written.contains("pattern"), kind != "shifts", "{written}");
    }
    let misplaced = |text: &str, expected: &str| {
        let error = toml::from_str::<Parameters>(text).unwrap_err();
        assert!(error.message().contains(expected), "{error}");
    };
    misplaced(
        "[pattern]\nkind = 'tree'\nsize = 3",
        "`kind = \"tree\"` takes no `size`; it takes arity",
    );
    misplaced(
        "[pattern]\narity = 3",
        "`kind = \"shifts\"` takes no `arity`; it takes no other keys",
    );
    misplaced("[pattern]\nkind = 'torus'", "unknown variant `torus`");
}
