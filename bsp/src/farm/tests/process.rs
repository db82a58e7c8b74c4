use proptest::prelude::*;

use super::super::*;
use crate::farm::{BlockCyclic, Weighted, Work};
use crate::note::Note;
use crate::program::BoxError;
use crate::reference::{self, Limit};
use crate::units::Instructions;

/// A task charges by its number; the outcome says which task it was, and what was shared.
#[derive(Debug)]
struct Echo;

impl Tasks for Echo {
    type Shared = Vec<u64>;
    type Task = u64;
    type Outcome = (u64, u64);

    fn execute(shared: &Vec<u64>, task: &u64, work: &mut Work) -> Result<(u64, u64), BoxError> {
        assert!(*task != 1_000_000, "it is too large");
        if *task == 1_000_001 {
            return Err("it is larger".into());
        }
        work.charge(Instructions(1 + task % 7));
        Ok((shared[shared.len() - 1], *task))
    }
}

/// A farm whose workers share this number of numbers.
fn farm(shared: usize, tasks: u64, size: u32, dealing: Dealing) -> Vec<Farm<Echo>> {
    processes(&vec![1009; shared], (0..tasks).collect(), size, dealing).unwrap()
}

fn rules() -> [Dealing; 6] {
    [
        Dealing::Weighted(Weighted::default()),
        Dealing::BlockCyclic(BlockCyclic::default()),
        Dealing::Static,
        Dealing::SelfScheduling { chunk: 3 },
        Dealing::Guided { least: 1 },
        Dealing::Factoring { least: 1 },
    ]
}

#[test]
fn a_farm_needs_a_worker_and_a_rule() {
    for size in [0, 1] {
        let error = processes::<Echo>(&vec![9], vec![1], size, Dealing::default()).unwrap_err();
        assert_eq!(error, FarmError::NoWorker(size));
    }
    let dealing = Dealing::SelfScheduling { chunk: 0 };
    let error = processes::<Echo>(&vec![9], vec![1], 2, dealing).unwrap_err();
    assert_eq!(
        error.to_string(),
        "invalid value `0` for `chunk`: must be at least 1"
    );
}

#[test]
fn a_task_that_fails_is_named() {
    let fails = |task: u64| {
        let tasks = vec![3, 4, task, 5];
        let processes = processes::<Echo>(&vec![9], tasks, 3, Dealing::Static).unwrap();
        reference::run(processes, Limit::default())
            .unwrap_err()
            .to_string()
    };
    let panicked = fails(1_000_000);
    let begin = "p3 failed in superstep 2: task 2 panicked: it is too large, at ";
    assert!(panicked.starts_with(begin), "{panicked}");
    assert!(panicked.contains("process.rs:"), "{panicked}");
    assert_eq!(
        fails(1_000_001),
        "p3 failed in superstep 2: task 2: it is larger"
    );
}

#[test]
fn the_master_notes_what_it_deals_and_what_that_takes() {
    for rule in rules() {
        let run = reference::run(farm(1, 200, 5, rule), Limit::default()).unwrap();
        let of = |name: &str| -> Vec<(u64, Note)> {
            let noted = run.notes.iter();
            noted
                .filter_map(|(superstep, notes)| Some((*superstep, *notes.get(name)?)))
                .collect()
        };
        let mut left = 200.0;
        let dealt = of(TASKS_DEALT);
        for ((superstep, dealt), noted) in dealt.iter().zip(of(TASKS_LEFT)) {
            left -= dealt.sum;
            assert_eq!(noted, (*superstep, Note::of(left)));
            assert!(dealt.count <= 4 && 1.0 <= dealt.min, "{dealt:?}");
        }
        assert_eq!((left, of(TASKS_LEFT).len()), (0.0, dealt.len()));
        // Those that executed tasks say so when the next ones are dealt; all of them have a rate then.
        let seconds = of(TASK_SECONDS)
            .into_iter()
            .map(|(superstep, note)| (superstep, note.count));
        let expected = dealt
            .iter()
            .map(|(superstep, dealt)| (superstep + SUPERSTEPS, dealt.count));
        assert_eq!(seconds.collect::<Vec<_>>(), expected.collect::<Vec<_>>());
        let deviations = of(SHARE_DEVIATION);
        assert_eq!(deviations.len(), dealt.len());
        assert!(
            deviations
                .iter()
                .all(|(_, note)| note.count == 4 && 0.0 <= note.min && note.max <= 100.0),
            "{deviations:?}"
        );
    }
}

#[test]
fn without_tasks_a_farm_ends() {
    let run = reference::run(farm(1, 0, 4, Dealing::default()), Limit::default()).unwrap();
    assert_eq!(run.outputs, vec![Vec::new(); 4]);
    assert_eq!(run.supersteps, 5);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    /// The test kit moves all processes in every superstep, tells them times at random, and puts some on standby.
    #[cfg(feature = "testing")]
    #[test]
    fn each_outcome_is_in_its_place(
        tasks in prop_oneof![Just(1_u64), 0_u64..300],
        size in prop_oneof![Just(2_u32), Just(3), Just(8), 2_u32..40],
        rule in 0_usize..6,
        shared in prop_oneof![Just(1_usize), Just(7_000)],
    ) {
        let checked = crate::testing::check(|| farm(shared, tasks, size, rules()[rule].clone()));
        let expected: Vec<_> = (0..tasks).map(|task| (1009, task)).collect();
        prop_assert_eq!(&checked.run.outputs[0], &expected);
        prop_assert!(checked.run.outputs[1..].iter().all(Vec::is_empty));
        // Each task is executed once.
        let charged: u64 = (0..tasks).map(|task| 1 + task % 7).sum();
        prop_assert_eq!(checked.run.work, Instructions(charged));
    }
}
