//! The engine's results beside the book's.

use std::sync::Arc;

use bsp::HostId;
use bsp::units::{Bytes, Seconds};
use simulator::{Activity, Engine, NetworkOptions, Platform};

use crate::book::by_book;
use crate::scenario::{Cluster, Message, platform};

/// When each message ends, by the engine.
fn by_engine(platform: &Arc<Platform>, options: NetworkOptions, messages: &[Message]) -> Vec<f64> {
    let mut engine = Engine::new(Arc::clone(platform), options);
    let timers = 1 << 32;
    for (index, message) in (0..).zip(messages) {
        engine.wake(
            Seconds::new(message.start).unwrap(),
            Activity(timers + index),
        );
    }
    let mut ends = vec![f64::NAN; messages.len()];
    let mut ended = Vec::new();
    while let Some(now) = engine.advance(&mut ended) {
        for Activity(token) in ended.drain(..) {
            let index = usize::try_from(token % timers).unwrap();
            if token < timers {
                ends[index] = now.get();
            } else {
                let Message {
                    from, to, bytes, ..
                } = messages[index];
                let (from, to) = (HostId(from), HostId(to));
                engine
                    .transfer(from, to, Bytes(bytes), Activity(token - timers))
                    .unwrap();
            }
        }
    }
    ends
}
pub(crate) fn check(
    clusters: &[Cluster],
    joint: u32,
    options: NetworkOptions,
    messages: &[Message],
) {
    check_on(&platform(clusters, joint), options, messages);
}

pub(crate) fn check_on(platform: &Arc<Platform>, options: NetworkOptions, messages: &[Message]) {
    let count = u32::try_from(platform.hosts().len()).unwrap();
    let messages: Vec<Message> = messages
        .iter()
        .map(|message| Message {
            from: message.from % count,
            to: message.to % count,
            ..message.clone()
        })
        .collect();
    let ends = by_engine(platform, options, &messages);
    let again = by_engine(platform, options, &messages);
    assert!(
        ends.iter()
            .zip(&again)
            .all(|(a, b)| a.to_bits() == b.to_bits()),
        "two runs differ"
    );
    for (index, (end, expected)) in ends
        .iter()
        .zip(by_book(platform, options, &messages))
        .enumerate()
    {
        let error = (end - expected).abs() / expected;
        assert!(
            error < ERROR_MAX,
            "{index}: ends at {end}, expected {expected} ({error:e})"
        );
    }
}

/// Relative error of dates: the rounding of hundreds of steps.
const ERROR_MAX: f64 = 1e-12;
