//! Checkpoints: what they take, by hand and by laws.

use std::sync::Arc;

use agents::{
    Barrier, CheckpointCosts, CheckpointInterval, Checkpointing, Outcome, Programs, Setup, Shape,
    TransferStart, optimal_interval,
};
use bsp::units::{Bytes, BytesPerSecond, Instructions, Seconds};
use bsp::{BoxError, HostId, Program, Step, Superstep};
use record::{Checkpoint, Event};
use serde::{Deserialize, Serialize};
use simulated::simulate;
use simulator::{NetworkModel, NetworkOptions, Platform};

/// Charges the same work in each of its supersteps.
#[derive(Serialize, Deserialize)]
struct Steady {
    work: Instructions,
    supersteps: u64,
}

impl Program for Steady {
    type Message = ();
    type Output = ();

    fn superstep(&mut self, ctx: &mut Superstep<'_, ()>) -> Result<Step<()>, BoxError> {
        ctx.charge(self.work);
        if ctx.index() + 1 == self.supersteps {
            return Ok(Step::Halt(()));
        }
        Ok(Step::Continue)
    }
}

/// Two Sets of two hosts, each with one processor of 1 Gf, and links of 100 MB/s without latency.
fn setup(checkpointing: Option<Checkpointing>) -> Setup {
    let mut text = String::new();
    for set in ["a", "b"] {
        text += &format!(
            "[[set]]\nname = '{set}'\nhosts = 2\nspeed = '1 Gf'\n\
             link = {{ bandwidth = '100 MBps', latency = '0 s' }}\n"
        );
    }
    text +=
        "[[link]]\nname = 'ab'\nbetween = ['a', 'b']\nbandwidth = '1000 MBps'\nlatency = '0 s'\n";
    Setup {
        platform: Arc::new(Platform::from_toml(&text).unwrap()),
        network: NetworkOptions {
            model: NetworkModel::Ideal,
            cross_traffic: false,
            ..NetworkOptions::default()
        },
        start: TransferStart::Eager,
        placement: (0..4).map(HostId).collect(),
        barrier: Barrier {
            shape: Shape::Ideal,
            ..Barrier::default()
        },
        scheduler: None,
        elasticity: None,
        awaited: None,
        checkpointing,
        superstep_limit: 100_000,
        traced: false,
        repeats: true,
        resumed: None,
    }
}

fn seconds(value: f64) -> Seconds {
    Seconds::new(value).unwrap()
}

/// Every two supersteps, states of 100 MB, of which a processor copies 1 GB/s and encodes 100 MB/s.
fn checkpointing() -> Checkpointing {
    let rate = |rate| BytesPerSecond::new(rate).unwrap();
    Checkpointing {
        interval: CheckpointInterval::Supersteps(2),
        first: Seconds::new(1.0).unwrap(),
        mtbf: seconds(1e6),
        copies: true,
        keep: std::num::NonZeroU32::MIN,
        costs: CheckpointCosts {
            encoding: rate(1e8),
            fork: rate(1e9),
            forks: true,
            bytes: Some(Bytes(100_000_000)),
            change: 1.0,
        },
    }
}

/// Four processes that compute for `milliseconds` in each of `supersteps` supersteps.
fn run(checkpointing: Option<Checkpointing>, (milliseconds, supersteps): (u64, u64)) -> Outcome {
    let work = Instructions(milliseconds * 1_000_000);
    let programs = (0..4).map(|_| Steady { work, supersteps }).collect();
    let mut recorded: Vec<Checkpoint> = Vec::new();
    let observer = &mut |event: &Event| {
        if let Event::Checkpoint(checkpoint) = event {
            recorded.push(checkpoint.clone());
        }
    };
    let outcome = simulate(&setup(checkpointing), Programs::new(programs), observer).unwrap();
    assert_eq!(outcome.checkpoints, recorded);
    outcome
}

#[track_caller]
fn assert_close(found: f64, expected: f64) {
    assert!(
        (found - expected).abs() < 1e-6,
        "{found}, expected {expected}"
    );
}

/// A checkpoint before superstep 2, at 4 s. Processes stall for 0.1 s. Encoding takes 1 s of a processor and the superstep
/// 2 s: the encoding is ready after 2 s, the superstep after 3 s. The copy takes 1 s.
#[test]
fn processes_stall_for_the_copy_and_share_their_processor_with_the_encoding() {
    let outcome = run(Some(checkpointing()), (2000, 4));
    let [checkpoint] = &outcome.checkpoints[..] else {
        panic!("{:?}", outcome.checkpoints);
    };
    assert_eq!(checkpoint.superstep, 2);
    assert_close(checkpoint.at.get(), 4.0);
    assert_close(checkpoint.stall.get(), 0.1);
    assert_close(checkpoint.encoding.get(), 1.0);
    assert_close(checkpoint.complete.get(), 4.0 + 0.1 + 2.0 + 1.0);
    assert_eq!(checkpoint.bytes, Bytes(400_000_000));
    assert_eq!(checkpoint.sent, Bytes(400_000_000));
    assert_close(outcome.end.seconds.get(), 2.0 + 2.0 + 3.1 + 2.0);
}

#[test]
fn processes_that_do_not_fork_stall_until_their_states_are_encoded() {
    let mut without = checkpointing();
    without.costs.forks = false;
    let outcome = run(Some(without), (2000, 4));
    let checkpoint = &outcome.checkpoints[0];
    assert_close(checkpoint.stall.get(), 1.0);
    assert_close(checkpoint.encoding.get(), 0.0);
    assert_close(checkpoint.complete.get(), 4.0 + 1.0 + 1.0);
    assert_close(outcome.end.seconds.get(), 9.0);
}

#[test]
fn a_buddy_receives_what_has_changed_since_the_checkpoint_that_it_has() {
    let mut changing = checkpointing();
    changing.costs.change = 0.25;
    let outcome = run(Some(changing), (2000, 8));
    let sent: Vec<u64> = outcome.checkpoints.iter().map(|one| one.sent.0).collect();
    assert_eq!(sent, [400_000_000, 100_000_000, 100_000_000]);
    changing.copies = false;
    let outcome = run(Some(changing), (2000, 4));
    let alone = &outcome.checkpoints[0];
    assert_eq!(alone.sent, Bytes::ZERO);
    assert_close(alone.complete.get(), 4.0 + 0.1 + 2.0);
}

/// A copy of 1 s is not complete when the run ends, and there is no checkpoint after the last superstep.
#[test]
fn a_checkpoint_that_is_not_complete_is_none() {
    assert_eq!(run(Some(checkpointing()), (100, 3)).checkpoints, []);
    assert_eq!(run(Some(checkpointing()), (2000, 2)).checkpoints, []);
}

#[test]
fn no_checkpoint_begins_before_the_one_before_is_complete() {
    let mut often = checkpointing();
    often.interval = CheckpointInterval::Supersteps(1);
    // Encoding and copies take 3 s at least, a superstep 0.5 s.
    let outcome = run(Some(often), (500, 40));
    assert!(2 < outcome.checkpoints.len());
    for pair in outcome.checkpoints.windows(2) {
        assert!(pair[0].complete <= pair[1].at, "{pair:?}");
        assert!(pair[0].superstep < pair[1].superstep, "{pair:?}");
    }
}

#[test]
fn longer_intervals_stall_less_and_no_checkpoints_least() {
    let run = |interval| {
        let mut timed = checkpointing();
        timed.interval = CheckpointInterval::Time(seconds(interval));
        let outcome = run(Some(timed), (500, 400));
        let stalls = outcome.checkpoints.iter().map(|one| one.stall);
        (stalls.sum::<Seconds>(), outcome.end.seconds)
    };
    let none = self::run(None, (500, 400)).end.seconds;
    let runs: Vec<_> = [4.0, 6.0, 10.0, 20.0, 50.0].map(run).to_vec();
    assert!(runs.is_sorted_by(|one, other| other.0 < one.0), "{runs:?}");
    assert!(runs.is_sorted_by(|one, other| other.1 < one.1), "{runs:?}");
    assert!(runs.iter().all(|run| none < run.1), "{none}: {runs:?}");
}

/// The time that a run takes if each of four nodes fails in `mtbf` on average: after a failure, half an interval is
/// repeated, and the part until the next checkpoint is complete.
#[test]
fn the_interval_of_young_and_daly_is_close_to_the_best_of_a_sweep() {
    let mtbf = seconds(4.0 * 400.0);
    let mut timed = checkpointing();
    timed.costs.encoding = BytesPerSecond::new(1e9).unwrap();
    timed.mtbf = mtbf;
    let mut sweep = Vec::new();
    let mut interval = 3.0;
    while interval < 60.0 {
        timed.interval = CheckpointInterval::Time(seconds(interval));
        let outcome = run(Some(timed), (100, 20_000));
        let all = &outcome.checkpoints;
        let number = all.len() as f64;
        let spacing = all.last().unwrap().at.get() / number;
        let window = all.iter().map(|one| (one.complete - one.at).get());
        let lost = spacing / 2.0 + window.sum::<f64>() / number;
        let made = outcome.end.seconds.get();
        sweep.push((made * (1.0 + lost * 4.0 / mtbf.get()), spacing));
        interval *= 1.2;
    }
    let (_, best) = sweep
        .iter()
        .copied()
        .min_by(|one, other| one.0.total_cmp(&other.0))
        .unwrap();
    let cost = run(Some(timed), (100, 2_000)).checkpoints[0].cost();
    assert_close(cost.get(), 0.2);
    let expected = optimal_interval(cost, mtbf, 4).get();
    assert_close(expected, 160_f64.sqrt());
    let factor = (best / expected).max(expected / best);
    assert!(factor < 1.5, "{best}, not {expected}: {sweep:?}");
    // Measured while it runs, it is the same.
    timed.interval = CheckpointInterval::Optimal;
    let outcome = run(Some(timed), (100, 20_000));
    let spacing = outcome
        .checkpoints
        .windows(2)
        .map(|pair| (pair[1].at - pair[0].at).get());
    let spacing: Vec<f64> = spacing.skip(1).collect();
    let mean = spacing.iter().sum::<f64>() / spacing.len() as f64;
    let factor = (mean / expected).max(expected / mean);
    assert!(factor < 1.1, "{mean}, not {expected}");
}
