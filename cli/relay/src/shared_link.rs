use std::sync::{Mutex, MutexGuard, PoisonError};

use bsp::HostId;
use bsp::units::{Bytes, Instant, Seconds};
use tokio::sync::Notify;

use crate::level::Level;
use crate::link::{Counters, Link, LinkSettings};

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
