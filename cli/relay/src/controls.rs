use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::Arc;
use std::time;

use bsp::SetId;
use bsp::units::Instant;

use crate::level::Level;
use crate::link::{Counters, LinkSettings};
use crate::schedule::LevelSchedule;
use crate::shared_link::SharedLink;

/// Changes the links of a relay while it runs, and shows what they have done.
#[derive(Clone, Debug)]
pub struct Controls {
    links: Arc<BTreeMap<(SetId, SetId), SharedLink>>,
    began: time::Instant,
}

/// No link leads from one Set to the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no link from {from:?} to {to:?}: must be two Sets of the relay")]
pub struct NoSuchLink {
    /// The Set of the sender.
    pub from: SetId,
    /// The Set of the receiver.
    pub to: SetId,
}

impl Controls {
    /// A link for each ordered pair of these Sets, with the settings of that pair.
    pub(crate) fn new(sets: &[SetId], settings: impl Fn(SetId, SetId) -> LinkSettings) -> Self {
        let pairs = sets
            .iter()
            .flat_map(|from| sets.iter().map(|to| (*from, *to)));
        let link = |(from, to)| ((from, to), SharedLink::new(settings(from, to)));
        Self {
            links: Arc::new(pairs.filter(|(from, to)| from != to).map(link).collect()),
            began: time::Instant::now(),
        }
    }

    /// Makes `level` of the rate available from now on, on the link in one direction between two Sets.
    ///
    /// # Errors
    ///
    /// If there is no such link.
    pub fn set_level(&self, from: SetId, to: SetId, level: Level) -> Result<(), NoSuchLink> {
        let link = self.link(from, to).ok_or(NoSuchLink { from, to })?;
        link.set_level(self.now(), level);
        Ok(())
    }

    /// Sets the levels of `schedule` on the link in one direction between two Sets, from now on, until this is dropped.
    ///
    /// # Errors
    ///
    /// If there is no such link.
    pub async fn follow(
        &self,
        (from, to): (SetId, SetId),
        schedule: &LevelSchedule,
    ) -> Result<Infallible, NoSuchLink> {
        let began = tokio::time::Instant::now();
        for change in schedule.changes() {
            let wait = time::Duration::try_from_secs_f64(change.at.get());
            match wait.ok().and_then(|wait| began.checked_add(wait)) {
                Some(at) => tokio::time::sleep_until(at).await,
                None => break,
            }
            self.set_level(from, to, change.level)?;
        }
        std::future::pending().await
    }

    /// What the link in one direction between two Sets has done.
    ///
    /// # Errors
    ///
    /// If there is no such link.
    pub fn counters(&self, from: SetId, to: SetId) -> Result<Counters, NoSuchLink> {
        let link = self.link(from, to).ok_or(NoSuchLink { from, to })?;
        Ok(link.counters())
    }

    pub(crate) fn link(&self, from: SetId, to: SetId) -> Option<&SharedLink> {
        self.links.get(&(from, to))
    }

    /// All links, by the Sets that they connect.
    pub(crate) fn pairs(&self) -> impl Iterator<Item = (SetId, SetId)> {
        self.links.keys().copied()
    }

    /// The time of the links.
    pub(crate) fn now(&self) -> Instant {
        let now = Instant::new(self.began.elapsed().as_secs_f64());
        now.expect("a time since a moment in the past is finite and not negative")
    }

    /// When it is `at` on the clock of the links.
    pub(crate) fn moment(&self, at: Instant) -> Option<time::Instant> {
        let after = time::Duration::try_from_secs_f64(at.get()).ok()?;
        self.began.checked_add(after)
    }
}
