//! A link: a queue, a transmitter and a latency, and what several tasks share of it.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use bsp::HostId;
use bsp::numbers::whole;
use bsp::units::{Bytes, BytesPerSecond, Instant, Seconds};
use tokio::sync::Notify;

/// What a link is like.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LinkSettings {
    /// The rate at level 1.
    pub rate: BytesPerSecond,
    /// The time from the end of a datagram's transmission to its arrival.
    pub latency: Seconds,
    /// Datagrams that wait to be transmitted, the one under way included, take at most as much; more are dropped.
    pub queue: Bytes,
}

/// What a link has done with the datagrams offered to it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Datagrams that have arrived at the other end.
    pub delivered: u64,
    /// Their sizes.
    pub delivered_bytes: Bytes,
    /// Datagrams dropped because the queue was full.
    pub dropped: u64,
}

/// One direction of a link: a queue that drops at its tail, a transmitter, and a way that takes the latency.
///
/// The transmitter sends one datagram after the other, each for its size divided by the rate, so it is a token bucket
/// that holds one datagram. Its time does not depend on when it is asked: the rate is exact over any number of
/// datagrams, however late [`poll`](Self::poll) is called, and at every change of the level.
///
/// `now` never goes back. After each [`offer`](Self::offer) and [`set_level`](Self::set_level), and at
/// [`next_timeout`](Self::next_timeout), poll until nothing is left.
#[derive(Debug)]
pub struct Link<T> {
    settings: LinkSettings,
    level: Level,
    /// Offered and not yet transmitted, with their sizes.
    waiting: VecDeque<(u64, T)>,
    /// The sum of their sizes.
    waiting_bytes: u64,
    /// Bytes of the first of them that are not transmitted yet.
    first_left: f64,
    /// Transmitted, with their sizes and times of arrival.
    arriving: VecDeque<(f64, u64, T)>,
    /// The time until which the transmitter's work is known.
    clock: f64,
    counters: Counters,
}

impl LinkSettings {
    /// A link with a queue that takes 50 ms to transmit at level 1, and at least 64 KiB.
    #[must_use]
    pub fn new(rate: BytesPerSecond, latency: Seconds) -> Self {
        let queue = (rate.get() * QUEUE_SECONDS).clamp(QUEUE_MIN, QUEUE_MAX);
        Self {
            rate,
            latency,
            queue: Bytes(whole(queue)),
        }
    }
}

impl<T> Link<T> {
    /// A link on which nothing is.
    #[must_use]
    pub const fn new(settings: LinkSettings) -> Self {
        Self {
            settings,
            level: Level::FULL,
            waiting: VecDeque::new(),
            waiting_bytes: 0,
            first_left: 0.0,
            arriving: VecDeque::new(),
            clock: 0.0,
            counters: Counters {
                delivered: 0,
                delivered_bytes: Bytes::ZERO,
                dropped: 0,
            },
        }
    }

    /// Puts a datagram of `size` bytes into the queue; whether it had room.
    pub fn offer(&mut self, now: Instant, size: Bytes, datagram: T) -> bool {
        self.transmit_until(now.get());
        let bytes = self.waiting_bytes.saturating_add(size.0);
        if self.settings.queue.0 < bytes {
            self.counters.dropped += 1;
            return false;
        }
        if self.waiting.is_empty() {
            self.first_left = size.as_f64();
        }
        self.waiting_bytes = bytes;
        self.waiting.push_back((size.0, datagram));
        true
    }

    /// Makes `level` of the rate available from now on.
    pub fn set_level(&mut self, now: Instant, level: Level) {
        self.transmit_until(now.get());
        self.level = level;
    }

    /// The next datagram that has arrived at the other end by now.
    pub fn poll(&mut self, now: Instant) -> Option<T> {
        self.transmit_until(now.get());
        let (_, size, datagram) = self.arriving.pop_front_if(|(at, ..)| *at <= now.get())?;
        self.counters.delivered += 1;
        self.counters.delivered_bytes += Bytes(size);
        Some(datagram)
    }

    /// When the next datagram arrives, if the level does not change; `None`: there is none.
    #[must_use]
    pub fn next_timeout(&self) -> Option<Instant> {
        let of_first = || {
            let (_, _) = self.waiting.front()?;
            Some(self.clock + self.first_left / self.rate() + self.settings.latency.get())
        };
        let at = self
            .arriving
            .front()
            .map(|(at, ..)| *at)
            .or_else(of_first)?;
        Instant::new(at).ok()
    }

    /// The level at present.
    #[must_use]
    pub const fn level(&self) -> Level {
        self.level
    }

    /// What it has done until now.
    #[must_use]
    pub const fn counters(&self) -> Counters {
        self.counters
    }

    fn rate(&self) -> f64 {
        self.settings.rate.get() * self.level.get()
    }

    /// Moves what is transmitted by `now` on.
    fn transmit_until(&mut self, now: f64) {
        let rate = self.rate();
        while let Some((size, _)) = self.waiting.front() {
            let ended = self.clock + self.first_left / rate;
            if now < ended {
                let sent = (now - self.clock).max(0.0) * rate;
                self.first_left = (self.first_left - sent).max(0.0);
                break;
            }
            let size = *size;
            self.clock = ended;
            self.waiting_bytes -= size;
            if let Some((_, datagram)) = self.waiting.pop_front() {
                let at = ended + self.settings.latency.get();
                self.arriving.push_back((at, size, datagram));
            }
            let next = self.waiting.front();
            self.first_left = next.map_or(0.0, |(size, _)| Bytes(*size).as_f64());
        }
        self.clock = self.clock.max(now);
    }
}

/// The time that the datagrams of a full queue take at level 1.
const QUEUE_SECONDS: f64 = 0.05;
/// The shortest queue: ten of the longest datagrams of nodes.
const QUEUE_MIN: f64 = 65_536.0;
/// The longest queue.
const QUEUE_MAX: f64 = 67_108_864.0;

/// The part of a link's rate that is available.
///
/// Invariant: above 0 and at most 1.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Level(f64);

impl Level {
    /// The whole rate.
    pub const FULL: Self = Self(1.0);
    /// What a number has to be, for errors.
    pub const RULE: &str = "must be above 0 and at most 1";

    /// `part`, if it is in the range of levels.
    #[must_use]
    pub fn new(part: f64) -> Option<Self> {
        (0.0 < part && part <= 1.0).then_some(Self(part))
    }

    /// The bare number.
    #[must_use]
    pub const fn get(self) -> f64 {
        self.0
    }
}

/// A link between a task that receives datagrams and the one that sends them on.
#[derive(Debug)]
pub(crate) struct SharedLink {
    link: Mutex<Link<Datagram>>,
    /// The next arrival may be another one.
    pub(crate) changed: Notify,
}

/// A datagram on its way.
#[derive(Debug)]
pub(crate) struct Datagram {
    pub(crate) from: HostId,
    pub(crate) to: HostId,
    pub(crate) bytes: Box<[u8]>,
}

impl SharedLink {
    /// A link on which nothing is.
    pub(crate) fn new(settings: LinkSettings) -> Self {
        Self {
            link: Mutex::new(Link::new(settings)),
            changed: Notify::new(),
        }
    }

    /// Offers a datagram.
    pub(crate) fn offer(&self, now: Instant, size: Bytes, datagram: Datagram) {
        let mut link = self.lock();
        let was_idle = link.next_timeout().is_none();
        // The link counts what it drops.
        if link.offer(now, size, datagram) && was_idle {
            self.changed.notify_one();
        }
    }

    /// What has arrived by `now` or arrives immediately after it, and when the next datagram arrives.
    pub(crate) fn arrived(&self, now: Instant, arrived: &mut Vec<Datagram>) -> Option<Instant> {
        let slack = Seconds::new(SLACK).expect("a finite number");
        let mut link = self.lock();
        arrived.extend(std::iter::from_fn(|| link.poll(now + slack)));
        link.next_timeout()
    }

    /// Makes `level` of the rate available.
    pub(crate) fn set_level(&self, now: Instant, level: Level) {
        let mut link = self.lock();
        // Its own time may be ahead by the slack.
        link.set_level(now, level);
        self.changed.notify_one();
    }

    /// What it has done.
    pub(crate) fn counters(&self) -> Counters {
        self.lock().counters()
    }

    fn lock(&self) -> MutexGuard<'_, Link<Datagram>> {
        self.link.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Seconds by which a datagram may arrive early, because a timer that is set for less time is late.
const SLACK: f64 = 20e-6;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn at(seconds: f64) -> Instant {
        Instant::new(seconds).unwrap()
    }

    /// 1000 B/s, 2 s, and a queue of 300 B.
    fn link() -> Link<u32> {
        Link::new(LinkSettings {
            rate: BytesPerSecond::new(1000.0).unwrap(),
            latency: Seconds::new(2.0).unwrap(),
            queue: Bytes(300),
        })
    }

    #[test]
    fn a_datagram_takes_its_transmission_and_the_latency() {
        let mut link = link();
        assert_eq!(link.next_timeout(), None);
        assert!(link.offer(at(1.0), Bytes(100), 7));
        assert!(link.offer(at(1.0), Bytes(200), 8));
        assert_eq!(link.next_timeout(), Some(at(1.0 + 0.1 + 2.0)));
        assert_eq!(link.poll(at(3.0)), None);
        assert_eq!(link.poll(at(3.25)), Some(7));
        assert_eq!(link.poll(at(3.25)), None);
        assert_eq!(link.poll(at(3.31)), Some(8));
        assert_eq!(link.next_timeout(), None);
    }

    #[test]
    fn a_full_queue_drops_at_its_tail() {
        let mut link = link();
        assert!(link.offer(at(0.0), Bytes(200), 1));
        assert!(!link.offer(at(0.0), Bytes(101), 2));
        assert!(link.offer(at(0.0), Bytes(100), 3));
        // The first is under way until 0.2 s, and takes room until then.
        assert!(!link.offer(at(0.19), Bytes(1), 4));
        assert!(link.offer(at(0.2), Bytes(200), 5));
        let arrived: Vec<u32> = std::iter::from_fn(|| link.poll(at(9.0))).collect();
        assert_eq!(arrived, [1, 3, 5]);
        let counters = Counters {
            delivered: 3,
            delivered_bytes: Bytes(500),
            dropped: 2,
        };
        assert_eq!(link.counters(), counters);
    }

    #[test]
    fn a_level_holds_from_its_change_on_also_for_a_datagram_under_way() {
        let mut link = link();
        assert!(link.offer(at(0.0), Bytes(300), 1));
        // 100 B at 1000 B/s, 100 B at 250 B/s, and 100 B at 500 B/s.
        link.set_level(at(0.1), Level::new(0.25).unwrap());
        link.set_level(at(0.5), Level::new(0.5).unwrap());
        assert_eq!(link.poll(at(2.699)), None);
        assert_eq!(link.poll(at(2.701)), Some(1));
    }

    #[test]
    fn an_idle_link_saves_no_rate_for_later() {
        let mut link = link();
        for number in 0..3 {
            assert!(link.offer(at(100.0), Bytes(100), number));
        }
        let times = [102.1, 102.2, 102.3].map(|time| {
            assert_eq!(link.poll(at(time - 0.001)), None);
            link.poll(at(time + 0.001)).is_some()
        });
        assert_eq!(times, [true; 3]);
    }

    #[test]
    fn queues_are_in_proportion_to_the_rate_and_bounded() {
        for (rate, queue) in [(1e3, 65_536), (1e7, 500_000), (1e30, 64 << 20)] {
            let settings = LinkSettings::new(BytesPerSecond::new(rate).unwrap(), Seconds::ZERO);
            assert_eq!(settings.queue, Bytes(queue));
        }
    }

    proptest! {
        /// However late it is polled, a link that always has something to do transmits rate times level.
        #[test]
        fn the_rate_is_exact_at_any_levels_and_times_of_polls(
            steps in prop::collection::vec((0.001..2.0_f64, 0.01..=1.0_f64), 1..50)
        ) {
            let rate = BytesPerSecond::new(1000.0).unwrap();
            let queue = Bytes(u64::MAX);
            let mut link = Link::new(LinkSettings { rate, latency: Seconds::ZERO, queue });
            for number in 0..100_000 {
                link.offer(at(0.0), Bytes(1), number);
            }
            let (mut now, mut expected, mut arrived) = (0.0, 0.0, 0);
            for (length, level) in steps {
                link.set_level(at(now), Level::new(level).unwrap());
                now += length;
                expected += length * level * 1000.0;
                while let Some(number) = link.poll(at(now)) {
                    prop_assert_eq!(number, arrived);
                    arrived += 1;
                }
                prop_assert!((f64::from(arrived) - expected).abs() < 1.5, "{arrived} of {expected}");
            }
        }
    }

    #[test]
    fn levels_are_above_zero_and_at_most_one() {
        for part in [f64::MIN_POSITIVE, 0.5, 1.0] {
            assert_eq!(Level::new(part), Some(Level(part)));
        }
        for part in [0.0, -0.5, 1.000_001, f64::NAN, f64::INFINITY] {
            assert_eq!(Level::new(part), None, "{part}");
        }
    }
}
