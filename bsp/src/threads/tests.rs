use std::any::Any;
use std::sync::LazyLock;
use std::sync::atomic::AtomicBool;

use proptest::prelude::*;
use serde::{Deserialize, Serialize};

use super::*;
use crate::farm::{self, BlockCyclic, Dealing, Tasks, Weighted, Work};
use crate::program::BoxError;
use crate::reduction::{Max, Or, Sum};
use crate::reference::{self, panic_message};
use crate::superstep::{MESSAGE_MAX, Superstep};
use crate::units::Bytes;

fn threads(count: usize) -> Threads {
    Threads::new(NonZeroUsize::new(count).unwrap())
}

/// A process that does what numbers say which follow from its seed. Its output depends on all that it received, and in which
/// order.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Script {
    seed: u64,
    /// The last superstep of each process.
    lasts: Vec<u64>,
    /// What is wrong in which superstep.
    wrongs: Vec<(u64, Wrong)>,
    digest: u64,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
enum Wrong {
    Fails,
    Panics,
    /// Sends to a rank that does not exist.
    Beyond,
    /// Sends to any process, also to one that has halted.
    Any,
    /// Sends a size to any process.
    AnySize,
    TooLong,
    /// Sends any process what is too long.
    AnyTooLong,
    /// Sends a message of which the encoder panics.
    Encoder,
    /// Sends a message that cannot be encoded.
    Unencodable,
    /// Reduces otherwise than others.
    Conflict,
    /// Reduces too much.
    Much,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
enum Message {
    Number(u64),
    Long,
    Panics,
    Unencodable,
}

impl Serialize for Message {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        static LONG: LazyLock<Vec<u8>> = LazyLock::new(|| vec![0; position(MESSAGE_MAX.0)]);
        match self {
            Self::Number(number) => number.serialize(serializer),
            Self::Long => serializer.serialize_bytes(&LONG),
            Self::Panics => panic!("the encoder of a message panics"),
            Self::Unencodable => Err(serde::ser::Error::custom("it has no encoding")),
        }
    }
}

/// A number that follows from two.
fn mixed(one: u64, other: u64) -> u64 {
    let mut mixed = (one ^ other.rotate_left(23)).wrapping_add(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

impl Script {
    fn learn(&mut self, what: u64) {
        self.digest = mixed(self.digest, what);
    }

    fn learn_result(&mut self, result: Result<u64, impl ToString>) {
        match result {
            Ok(number) => self.learn(number),
            Err(error) => error
                .to_string()
                .bytes()
                .for_each(|byte| self.learn(byte.into())),
        }
    }

    /// Any of the first `count`.
    fn pick(&mut self, count: u64) -> u64 {
        self.seed = mixed(self.seed, 7);
        self.seed % count
    }

    fn pick_rank(&mut self) -> Rank {
        let count = length(self.lasts.len());
        Rank::from_index(position(self.pick(count)))
    }

    fn do_wrong(&mut self, wrong: Wrong, ctx: &mut Superstep<'_, Message>) -> Result<(), BoxError> {
        let any = self.pick_rank();
        let own = ctx.rank();
        match wrong {
            Wrong::Fails => return Err(format!("{} is wrong", self.digest).into()),
            Wrong::Panics => panic!("{} panics", self.digest),
            Wrong::Beyond => ctx.send(Rank(ctx.size() + any.0), Message::Number(1)),
            Wrong::Any => ctx.send(any, Message::Number(2)),
            Wrong::AnySize => ctx.send_sized(any, Bytes(1 << 40)),
            Wrong::TooLong => ctx.send(own, Message::Long),
            Wrong::AnyTooLong => ctx.send(any, Message::Long),
            Wrong::Encoder => ctx.send(any, Message::Panics),
            Wrong::Unencodable => ctx.send(own, Message::Unencodable),
            Wrong::Conflict => ctx.reduce("sum", Max(1.0)),
            Wrong::Much => ctx.reduce("much", Sum(vec![1_u64; 1 << 20])),
        }
        Ok(())
    }
}

impl Program for Script {
    type Message = Message;
    type Output = u64;

    fn superstep(&mut self, ctx: &mut Superstep<'_, Message>) -> Result<Step<u64>, BoxError> {
        // Messages that are not received are lost.
        if self.pick(10) != 0 {
            for (from, message) in ctx.receive() {
                self.learn(from.0.into());
                self.learn(match message {
                    Message::Number(number) => number,
                    Message::Long | Message::Panics | Message::Unencodable => 9,
                });
            }
        }
        for (from, bytes) in ctx.receive_sized() {
            self.learn(from.0.into());
            self.learn(bytes.0);
        }
        self.learn_result(ctx.reduced::<Sum<f64>>("sum").map(f64::to_bits));
        self.learn_result(ctx.reduced::<Max<u64>>("max"));
        self.learn_result(ctx.reduced::<Or>("or").map(u64::from));
        match ctx.gathered::<u64>("all") {
            Ok(all) => all.into_iter().for_each(|(rank, value)| {
                self.learn(rank.0.into());
                self.learn(value);
            }),
            Err(error) => self.learn_result(Err(error)),
        }
        ctx.charge(Instructions(self.digest >> self.pick(64)));
        // Some are so slow that others execute what follows.
        for _ in 0..self.pick(8).saturating_sub(5) * 20 {
            thread::yield_now();
        }
        let wrongs = self.wrongs.clone();
        let now = |(superstep, wrong): (u64, Wrong)| (superstep == ctx.index()).then_some(wrong);
        let mut wrongs: Vec<Wrong> = wrongs.into_iter().filter_map(now).collect();
        for _ in 0..self.pick(6) {
            if self.pick(3) == 0
                && let Some(wrong) = wrongs.pop()
            {
                self.do_wrong(wrong, ctx)?;
            }
            let to = self.pick_rank();
            if self.lasts[to.index()] <= ctx.index() {
                continue;
            }
            let content = self.pick(100);
            match self.pick(5) {
                0 => ctx.send_sized(to, Bytes(content)),
                1 => ctx.reduce("sum", Sum(1.0 / real_of(content))),
                2 => ctx.reduce("max", Max(content)),
                3 => ctx.gather("all", &content)?,
                _ => ctx.send(to, Message::Number(content)),
            }
        }
        if self.pick(3) == 0 {
            ctx.reduce("or", Or(self.pick(9) == 0));
            ctx.note("digest", 1.0 / real_of(self.digest));
        }
        for wrong in wrongs {
            self.do_wrong(wrong, ctx)?;
        }
        Ok(if self.lasts[ctx.rank().index()] == ctx.index() {
            Step::Halt(self.digest)
        } else {
            Step::Continue
        })
    }
}

fn real_of(number: u64) -> f64 {
    crate::numbers::real(number) - 50.5
}

/// What a run comes to, panics included.
fn outcome<T>(
    run: impl FnOnce() -> Result<Run<T>, Error>,
) -> Result<Result<Run<T>, Error>, String> {
    let caught = panic::catch_unwind(AssertUnwindSafe(run));
    caught.map_err(|panic: Box<dyn Any + Send>| panic_message(&*panic))
}

fn wrong() -> impl Strategy<Value = Wrong> {
    prop::sample::select(vec![
        Wrong::Fails,
        Wrong::Panics,
        Wrong::Beyond,
        Wrong::Any,
        Wrong::Any,
        Wrong::AnySize,
        Wrong::TooLong,
        Wrong::AnyTooLong,
        Wrong::Encoder,
        Wrong::Unencodable,
        Wrong::Conflict,
        Wrong::Much,
    ])
}

/// Processes, of which at most some go wrong.
fn scripts(wrongs: usize) -> impl Strategy<Value = Vec<Script>> {
    let lasts = prop::collection::vec(0..8_u64, 1..30);
    let wrongs = prop::collection::vec(
        (any::<prop::sample::Index>(), 0..8_u64, wrong()),
        0..=wrongs,
    );
    (any::<u64>(), lasts, wrongs).prop_map(|(seed, lasts, wrongs)| {
        let script = |rank: usize| Script {
            seed: mixed(seed, length(rank)),
            lasts: lasts.clone(),
            wrongs: Vec::new(),
            digest: 0,
        };
        let mut scripts: Vec<Script> = (0..lasts.len()).map(script).collect();
        for (rank, superstep, wrong) in wrongs {
            let rank = rank.index(scripts.len());
            scripts[rank].wrongs.push((superstep, wrong));
        }
        scripts
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn outputs_supersteps_and_work_are_those_of_the_reference(
        scripts in scripts(0),
        count in 1..=8_usize,
    ) {
        let expected = reference::run(scripts.clone(), Limit::default());
        prop_assert!(expected.is_ok(), "{expected:?}");
        prop_assert_eq!(threads(count).run(scripts, Limit::default()), expected);
    }

    #[test]
    fn errors_are_those_of_the_reference(
        scripts in scripts(6),
        count in 1..=8_usize,
        limit in prop_oneof![3 => Just(1_000_000), 1 => 0..8_u64],
    ) {
        let limit = Limit(limit);
        let expected = outcome(|| reference::run(scripts.clone(), limit));
        prop_assert_eq!(outcome(|| threads(count).run(scripts, limit)), expected);
    }

    #[test]
    fn farms_have_the_outcomes_of_the_reference(
        tasks in 0..60_u64,
        size in 2..12_u32,
        dealing in prop::sample::select(vec![
            Dealing::Weighted(Weighted::default()),
            Dealing::BlockCyclic(BlockCyclic::default()),
            Dealing::Static,
            Dealing::SelfScheduling { chunk: 3 },
            Dealing::Guided { least: 1 },
            Dealing::Factoring { least: 1 },
        ]),
        count in 1..=8_usize,
    ) {
        let farm = || farm::processes::<Cubes>(&3, (0..tasks).collect(), size, dealing.clone()).unwrap();
        let expected = reference::run(farm(), Limit::default()).unwrap();
        let run = threads(count).run(farm(), Limit::default()).unwrap();
        prop_assert_eq!(run.outputs, expected.outputs);
        prop_assert_eq!(run.work, expected.work);
    }
}

/// Powers of numbers.
#[derive(Debug)]
struct Cubes;

impl Tasks for Cubes {
    type Shared = u32;
    type Task = u64;
    type Outcome = u64;

    fn execute(exponent: &u32, base: &u64, work: &mut Work) -> Result<u64, BoxError> {
        work.charge(Instructions(1 + base % 7));
        Ok(base.pow(*exponent))
    }
}

/// A process that does the same as the others.
macro_rules! program {
    ($name:ident, $output:ty, $superstep:expr) => {
        #[derive(Clone, Serialize, Deserialize)]
        struct $name;

        impl Program for $name {
            type Message = ();
            type Output = $output;

            fn superstep(
                &mut self,
                ctx: &mut Superstep<'_, ()>,
            ) -> Result<Step<$output>, BoxError> {
                let superstep: fn(&mut Superstep<'_, ()>) -> Step<$output> = $superstep;
                Ok(superstep(ctx))
            }
        }
    };
}

/// Waits until a condition holds, which other threads bring about.
fn wait(condition: &AtomicBool) {
    while !condition.load(Ordering::Relaxed) {
        thread::yield_now();
    }
}

#[test]
fn threads_execute_processes_at_once() {
    static BEGUN: [AtomicBool; 2] = [AtomicBool::new(false), AtomicBool::new(false)];
    program!(Meeting, (), |ctx| {
        let own = ctx.rank().index();
        BEGUN[own].store(true, Ordering::Relaxed);
        wait(&BEGUN[1 - own]);
        Step::Halt(())
    });
    threads(2).run(vec![Meeting; 2], Limit::default()).unwrap();
}

#[test]
fn a_thread_executes_what_another_has_not_begun() {
    static EXECUTED: [AtomicBool; 4] = [const { AtomicBool::new(false) }; 4];
    // Processes 0 and 1 are those of one thread, 2 and 3 those of the other.
    program!(Following, (), |ctx| {
        let own = ctx.rank().index();
        if own == 0 {
            wait(&EXECUTED[1]);
        }
        EXECUTED[own].store(true, Ordering::Relaxed);
        Step::Halt(())
    });
    threads(2)
        .run(vec![Following; 4], Limit::default())
        .unwrap();
}

#[test]
fn elapsed_is_the_time_that_the_superstep_before_took() {
    program!(Timed, f64, |ctx| {
        let start = Instant::now();
        while ctx.index() == 1 && start.elapsed().as_millis() < 3 {}
        match ctx.index() {
            0 => assert_eq!(ctx.elapsed(), Seconds::ZERO),
            2 => return Step::Halt(ctx.elapsed().get()),
            _ => {}
        }
        Step::Continue
    });
    let run = threads(2).run(vec![Timed; 3], Limit::default()).unwrap();
    assert!(
        run.outputs.iter().all(|elapsed| 0.003 <= *elapsed),
        "{run:?}"
    );
}

#[test]
fn without_processes_nothing_is_executed() {
    program!(Absent, (), |_| Step::Halt(()));
    for count in [1, 4] {
        let run = threads(count).run(Vec::<Absent>::new(), Limit::default());
        assert_eq!(run, reference::run(Vec::<Absent>::new(), Limit::default()));
    }
}

#[test]
fn processes_are_divided_in_equal_parts() {
    program!(Member, (), |_| Step::Halt(()));
    for (processes, threads) in [(1, 1), (7, 3), (8, 8), (1000, 7), (9, 2)] {
        let size = u32::try_from(processes).unwrap();
        let shared = Shared::new(vec![Member; processes], size, threads, Limit::default());
        for (number, part) in shared.parts.iter().enumerate() {
            let least = processes / threads;
            assert!((least..=least + 1).contains(&part.ranks.len()));
            for rank in part.ranks.clone() {
                assert_eq!(shared.part_of(Rank::from_index(rank)), number);
            }
        }
        assert_eq!(shared.parts.last().unwrap().ranks.end, processes);
    }
}
