use proptest::prelude::*;

use super::super::*;

/// What is dealt in each interaction if workers execute tasks at these `rates`, per second.
fn dealt(dealing: Dealing, tasks: u64, rates: &[f64]) -> Vec<Vec<u64>> {
    let workers = u32::try_from(rates.len()).unwrap();
    let mut dealer = Dealer::new(dealing, tasks, workers);
    let mut all = Vec::new();
    while 0 < dealer.left() {
        let left = dealer.left();
        let numbers = dealer.deal(&vec![true; rates.len()]);
        assert_eq!(left - numbers.iter().sum::<u64>(), dealer.left());
        observe(&mut dealer, &numbers, rates);
        all.push(numbers);
    }
    all
}

/// Workers have executed what they were dealt at these `rates`.
fn observe(dealer: &mut Dealer, numbers: &[u64], rates: &[f64]) {
    for (worker, (number, rate)) in numbers.iter().zip(rates).enumerate() {
        if 0 < *number {
            dealer.observe(worker, Seconds::new(real(*number) / rate).unwrap());
        }
    }
}

fn block_cyclic(block: u64) -> Dealing {
    Dealing::BlockCyclic(BlockCyclic {
        block,
        ..BlockCyclic::default()
    })
}

/// Of 100 tasks and four processors, as Polychronopoulos and Kuck print them.
#[test]
fn guided_gives_the_sequence_of_its_paper() {
    let sequence = dealt(Dealing::Guided { least: 1 }, 100, &[1.0; 4]).concat();
    let printed = [25, 19, 14, 11, 8, 6, 5, 3, 3, 2, 1, 1, 1, 1, 0, 0];
    assert_eq!(sequence, printed);
}

/// Of 100 tasks and four processors, as Hummel, Schonberg and Flynn print them.
#[test]
fn factoring_gives_the_sequence_of_its_paper() {
    let sequence = dealt(Dealing::Factoring { least: 1 }, 100, &[1.0; 4]);
    assert_eq!(sequence, [[13; 4], [6; 4], [3; 4], [2; 4], [1; 4]]);
}

#[test]
fn equal_tasks_are_dealt_as_their_rules_say() {
    assert_eq!(dealt(Dealing::Static, 10, &[1.0, 9.0, 1.0]), [[4, 3, 3]]);
    let chunks = dealt(Dealing::SelfScheduling { chunk: 2 }, 11, &[1.0; 3]);
    assert_eq!(chunks, [[2, 2, 2], [2, 2, 1]]);
}

/// `ScaLAPACK`: with equal blocks, task `j` belongs to process `(j / block) mod P`.
#[test]
fn equal_blocks_are_the_block_cyclic_distribution() {
    for (block, tasks, workers) in [(1, 15, 4), (4, 57, 4), (8, 1000, 7), (64, 10, 3)] {
        let rates = vec![2.0; workers];
        let mut task = 0;
        for numbers in dealt(block_cyclic(block), tasks, &rates) {
            for (worker, number) in numbers.into_iter().enumerate() {
                for _ in 0..number {
                    assert_eq!(usize::try_from(task / block).unwrap() % workers, worker);
                    task += 1;
                }
            }
        }
        assert_eq!(task, tasks);
    }
}

/// Fifteen blocks on four processes, as in figure 3 of Santana and Souza.
#[test]
fn fifteen_blocks_go_round_four_processes() {
    let blocks = dealt(block_cyclic(1), 15, &[1.0; 4]);
    assert_eq!(
        blocks,
        [[1, 1, 1, 1], [1, 1, 1, 1], [1, 1, 1, 1], [1, 1, 1, 0]]
    );
}

/// By hand: the first interaction takes 8, 2 and 4 s. Blocks grow to 0.99 of eight seconds, rounded down.
#[test]
fn blocks_grow_to_the_lower_threshold() {
    let blocks = dealt(block_cyclic(8), 1000, &[1.0, 4.0, 2.0]);
    assert_eq!(blocks[0], [8, 8, 8]);
    assert_eq!(blocks[1], [8, 31, 15]);
    // 31 tasks take 7.75 s: 31.68 are wanted again. 15 take 7.5 s.
    assert_eq!(blocks[2], [8, 31, 15]);
}

/// By hand, with both reference times.
#[test]
fn blocks_follow_the_thresholds_of_either_reference() {
    let rule = BlockCyclic {
        block: 10,
        threshold_min: 0.5,
        threshold_max: 0.8,
        reference: Reference::First,
    };
    // 10 s and 5 s: the first one is to take 8 s.
    let blocks = dealt(Dealing::BlockCyclic(rule), 100, &[1.0, 2.0]);
    assert_eq!(blocks[1], [8, 10]);
    let last = BlockCyclic {
        reference: Reference::Last,
        threshold_max: 1.0,
        ..rule
    };
    let blocks = dealt(Dealing::BlockCyclic(last), 100, &[1.0, 3.0]);
    // 10 s and 3.3 s: the second is to take 5 s.
    assert_eq!(blocks[1], [10, 15]);
}

#[test]
fn shares_follow_rates_after_one_task_each() {
    let shares = dealt(Dealing::default(), 801, &[4.0, 2.0, 2.0, 0.0001]);
    assert_eq!(shares[0], [1, 1, 1, 1]);
    assert_eq!(shares[1], [16, 8, 8, 0]);
    assert_eq!(shares[2], [48, 24, 24, 0]);
    let last = shares.last().unwrap();
    assert!(last.iter().sum::<u64>() <= 48, "{last:?}");
}

/// `DEAL-10` by hand: equal blocks on workers that do 1, 4 and 2 of seven tasks, then on two of three that do 1 and 3 of four.
#[test]
fn shares_of_tasks_deviate_from_those_of_rates() {
    for (rates, is_present, expected) in [
        (
            &[1.0, 4.0, 2.0],
            [true; 3],
            &[400.0 / 21.0, 500.0 / 21.0, 100.0 / 21.0][..],
        ),
        (&[1.0, 9.0, 3.0], [true, false, true], &[25.0, 25.0]),
    ] {
        let mut dealer = Dealer::new(block_cyclic(8), 1000, 3);
        let numbers = dealer.deal(&is_present);
        observe(&mut dealer, &numbers, rates);
        let deviations: Vec<f64> = dealer.deviations().collect();
        let pairs = deviations.iter().zip(expected);
        assert!(
            deviations.len() == expected.len()
                && pairs.clone().all(|(one, other)| (one - other).abs() < 1e-9),
            "{deviations:?}"
        );
    }
}

fn rules() -> impl Strategy<Value = Dealing> {
    let reference = prop_oneof![Just(Reference::First), Just(Reference::Last)];
    prop_oneof![
        (1_u64..20, 1_u64..20)
            .prop_map(|(fraction, least)| Dealing::Weighted(Weighted { fraction, least })),
        (1_u64..40, 0.1..1.5_f64, 0.0..1.0_f64, reference).prop_map(
            |(block, threshold_min, more, reference)| Dealing::BlockCyclic(BlockCyclic {
                block,
                threshold_min,
                threshold_max: threshold_min + more,
                reference,
            })
        ),
        Just(Dealing::Static),
        (1_u64..40).prop_map(|chunk| Dealing::SelfScheduling { chunk }),
        (1_u64..10).prop_map(|least| Dealing::Guided { least }),
        (1_u64..10).prop_map(|least| Dealing::Factoring { least }),
    ]
}

proptest! {
    #[test]
    fn every_task_is_dealt_once_and_every_interaction_deals_some(
        dealing in rules(),
        tasks in 0_u64..5000,
        rates in prop::collection::vec(prop_oneof![1e-6..1e6_f64, Just(f64::INFINITY)], 1..20),
    ) {
        let all = dealt(dealing, tasks, &rates);
        prop_assert_eq!(all.iter().flatten().sum::<u64>(), tasks);
        prop_assert!(all.iter().all(|numbers| 0 < numbers.iter().sum::<u64>()));
    }

    #[test]
    fn workers_that_are_not_present_get_no_tasks(
        dealing in rules(),
        tasks in 1_u64..5000,
        workers in prop::collection::vec((1e-6..1e6_f64, any::<bool>(), any::<bool>()), 1..20),
    ) {
        let rates: Vec<f64> = workers.iter().map(|(rate, ..)| *rate).collect();
        let mut dealer = Dealer::new(dealing, tasks, u32::try_from(rates.len()).unwrap());
        // Some leave, and others come, after the first interaction.
        let first: Vec<bool> = workers.iter().map(|(_, first, _)| *first).collect();
        let second: Vec<bool> = workers.iter().map(|(.., second)| *second).collect();
        for is_present in [first, second] {
            let left = dealer.left();
            let numbers = dealer.deal(&is_present);
            observe(&mut dealer, &numbers, &rates);
            prop_assert!(numbers.iter().zip(&is_present).all(|(number, there)| *there || *number == 0));
            let is_dealt = 0 < numbers.iter().sum::<u64>();
            prop_assert_eq!(is_dealt, 0 < left && is_present.contains(&true));
        }
    }
}
