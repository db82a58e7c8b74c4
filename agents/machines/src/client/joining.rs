//! When the hosts that a job awaits are asked to join, and whether that pays.
//!
//! Nodes report how much of the job is done, and what they have computed. Both are measured, so the rule `JOIN` of simulations has
//! these numbers:
//!
//! | rule | here |
//! |---|---|
//! | time that is left | from the pace of the second half of what has been done in the view: the first supersteps of a program are often others |
//! | speeds of the hosts at work | instructions of each node for each superstep |
//! | speed of a host that joins | what the busiest node computes, by the speeds of the list of hosts |
//! | creation | what the last change of the view took; before one, twice what the last checkpoint took, or its bytes would take, and 0.1 s: states are saved when they are held, and anew when the next view begins |
//!
//! Processes stand still while the view changes, so `JOIN` is that of a preparation that blocks.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::time::{Duration, Instant as Clock};

use agents::{AwaitedHosts, JoinTime, Prospect, UNKNOWN_PROGRESS};
use bsp::HostId;
use bsp::units::{Instant, Seconds};
use protocol::{Member, Progressed};
use record::Join;

use crate::job_error::JobError;
use crate::seconds;

/// The hosts that a job awaits, in one of its views.
#[derive(Debug)]
pub(super) struct Joining {
    hosts: AwaitedHosts,
    /// How long the job had lasted before the view.
    before: Duration,
    /// When the nodes of the view began.
    began: Option<Clock>,
    /// What the last change of the view took, if there has been one.
    changed_in: Option<Seconds>,
    /// What each node has said last.
    reports: BTreeMap<HostId, Progressed>,
    /// The part of the work that had been done when that was first known in this view, and each time that it changed; of many changes, some.
    done: Vec<(f64, Clock)>,
    /// Those that join, once that is decided.
    decided: Option<Decided>,
    /// The hosts that do not join, which are to be recorded.
    declined: Vec<Join>,
}

/// The hosts that join when they are ready, by name, with what is expected of each.
pub type Decided = BTreeMap<String, Expected>;

/// What was expected of a host when it was decided that it joins.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Expected {
    /// How long processes stand still for it.
    pub creation: Seconds,
    /// How long the rest takes without it, if that is known.
    pub remaining: Option<Seconds>,
    /// The seconds that it saves, equation `JOIN`.
    pub saves: Option<f64>,
}

/// What the leader of a job knows when hosts are asked.
pub(super) struct Situation<'a> {
    pub(super) now: Clock,
    /// The number of complete supersteps.
    pub(super) completed: u64,
    /// The number of them when the view began.
    pub(super) first: u64,
    pub(super) members: &'a [Member],
    /// The nodes of the pool.
    pub(super) pool: &'a [Member],
    /// The host of each process, by rank.
    pub(super) placement: &'a [HostId],
    /// The processes that wait for each host, by its name.
    pub(super) waiting: &'a BTreeMap<&'a str, usize>,
    /// How long processes are saved.
    pub(super) saving: Seconds,
}

impl Joining {
    /// The `hosts` that a job awaits which has lasted for `before`, and those that join, if that is decided.
    pub(super) const fn new(
        hosts: AwaitedHosts,
        before: Duration,
        decided: Option<Decided>,
    ) -> Self {
        Self {
            hosts,
            before,
            began: None,
            changed_in: None,
            reports: BTreeMap::new(),
            done: Vec::new(),
            decided,
            declined: Vec::new(),
        }
    }

    /// The nodes of the view begin, `changed_in` after the end of the view before.
    pub(super) const fn begin(&mut self, now: Clock, changed_in: Option<Seconds>) {
        self.began = Some(now);
        self.changed_in = changed_in;
    }

    /// How long the job has lasted.
    pub(super) fn lasted(&self, now: Clock) -> Duration {
        let here = self.began.map(|began| now.saturating_duration_since(began));
        self.before.saturating_add(here.unwrap_or_default())
    }

    /// Those that join, once that is decided.
    pub(super) const fn decided(&self) -> Option<&Decided> {
        self.decided.as_ref()
    }

    /// Whether a node of the pool waits until it is asked, or is never.
    pub(super) fn holds_back(&self, name: &str) -> bool {
        let is_awaited = self.hosts.pool.iter().any(|host| host == name);
        let joins = self.decided.as_ref();
        is_awaited && !joins.is_some_and(|decided| decided.contains_key(name))
    }

    /// The hosts that do not join and are not recorded yet.
    pub(super) fn take_declined(&mut self) -> Vec<Join> {
        std::mem::take(&mut self.declined)
    }

    /// A node says how much is done there, of a job of so many members, processes and supersteps at most.
    ///
    /// # Errors
    ///
    /// What no node says.
    pub(super) fn report(
        &mut self,
        host: HostId,
        report: Progressed,
        (members, processes, supersteps): (usize, usize, u64),
        now: Clock,
    ) -> Result<(), String> {
        let is_part = report
            .done
            .is_none_or(|(rank, done)| rank.index() < processes && (0.0..=1.0).contains(&done));
        let most = report.remaining.unwrap_or_default().max(report.completed);
        if !is_part || supersteps < most {
            return Err("a progress that cannot be".to_owned());
        }
        self.reports.insert(host, report);
        if self.reports.len() < members {
            return Ok(());
        }
        if let Some(part) = self.progress() {
            if CHANGES_MAX < self.done.len() {
                let mut index = 0;
                self.done.retain(|_| {
                    index += 1;
                    index % 2 == 1
                });
            }
            if self
                .done
                .last()
                .is_none_or(|(before, _)| before.total_cmp(&part).is_ne())
            {
                self.done.push((part, now));
            }
        }
        Ok(())
    }

    /// The part of the work that is done: as the process of the lowest rank knows it, or else the part of the supersteps.
    fn progress(&self) -> Option<f64> {
        let reports = || self.reports.values();
        // A process may have moved since another node has said what it knows.
        let known = reports().filter_map(|report| Some((report.done?, report.completed)));
        let known = known.min_by_key(|((rank, _), completed)| (*rank, Reverse(*completed)));
        if let Some(((_, done), _)) = known {
            return Some(done);
        }
        let all = reports().try_fold(0, |most: u64, report| {
            let all = report.completed.saturating_add(report.remaining?);
            Some(most.max(all))
        })?;
        let completed = reports().map(|report| report.completed).max()?;
        (0 < all).then(|| completed as f64 / all as f64)
    }

    /// Decides which hosts join, if it is time and all that this needs is known. Whether that is decided now.
    ///
    /// # Errors
    ///
    /// If hosts join after a part of the work, and the program does not know how much of it is done.
    pub(super) fn decide(&mut self, situation: &Situation<'_>) -> Result<bool, JobError> {
        if self.decided.is_some() {
            return Ok(false);
        }
        let has_all_reports = self.reports.len() == situation.members.len();
        let progress = self.progress().filter(|_| has_all_reports);
        let have_computed = has_all_reports
            && situation.first < situation.completed
            && self
                .reports
                .values()
                .all(|report| report.remaining == Some(0) || situation.first < report.completed);
        let is_time = match self.hosts.at {
            JoinTime::Superstep(superstep) => superstep <= situation.completed,
            JoinTime::Date(date) => {
                let lasted = seconds(self.lasted(situation.now));
                (date - Instant::START).get() <= lasted.get()
            }
            JoinTime::Part(part) => match progress {
                Some(progress) => part <= progress,
                None if have_computed => {
                    return Err(JobError::input(UNKNOWN_PROGRESS));
                }
                None => false,
            },
        };
        if !is_time {
            return Ok(false);
        }
        let prospect = self.prospect(situation);
        // What was done before the view is no measure of it.
        let is_unmeasured = prospect.is_none() && progress.is_some_and(|progress| 0.0 < progress);
        if self.hosts.guard && (!have_computed || is_unmeasured) {
            return Ok(false);
        }
        self.ask(prospect, situation);
        Ok(true)
    }

    /// What is left, and what the nodes compute; `None`: that is not known, or not yet.
    fn prospect(&self, situation: &Situation<'_>) -> Option<(Prospect, f64)> {
        if self.reports.len() < situation.members.len() {
            return None;
        }
        let ((begins, _), (last, at)) = (*self.done.first()?, *self.done.last()?);
        let half = begins + (last - begins) / 2.0;
        let mut before = self.done.iter().rev();
        let (first, began) = *before.find(|(done, _)| *done <= half)?;
        let took = at.saturating_duration_since(began).as_secs_f64();
        let left = took * (1.0 - last) / (last - first);
        let mut on_host = vec![0_u32; situation.members.len()];
        for host in situation.placement {
            if let Some(processes) = on_host.get_mut(host.index()) {
                *processes += 1;
            }
        }
        let hosts = self.reports.iter().filter_map(|(host, report)| {
            let member = situation.members.get(host.index())?;
            let supersteps = report.completed.saturating_sub(situation.first).max(1);
            let rate = report.work as f64 / supersteps as f64;
            let processors = member.slots.min(on_host[host.index()].max(1));
            Some((rate, rate / (member.speed * f64::from(processors))))
        });
        let (rates, used): (Vec<f64>, Vec<f64>) = hosts.unzip();
        let power: f64 = rates.iter().sum();
        let busiest = used.into_iter().fold(0.0, f64::max);
        let is_known = left.is_finite() && 0.0 < power && power.is_finite();
        is_known.then_some((Prospect { left, power }, busiest))
    }

    /// Asks the hosts that are to join, if that pays.
    fn ask(&mut self, prospect: Option<(Prospect, f64)>, situation: &Situation<'_>) {
        let creation = self
            .changed_in
            .unwrap_or_else(|| situation.saving * 2.0 + seconds(SURCHARGE));
        let mut prospect = prospect;
        let mut decided = Decided::new();
        for name in self.hosts.pool.iter().take(self.hosts.take) {
            let node = situation.pool.iter().find(|node| node.name == *name);
            let speed = node.zip(prospect).map(|(node, (_, busiest))| {
                let waiting = situation.waiting.get(name.as_str()).copied().unwrap_or(0);
                let waiting = u32::try_from(waiting).unwrap_or(u32::MAX);
                let processors = match waiting {
                    0 => node.slots,
                    some => node.slots.min(some),
                };
                busiest * node.speed * f64::from(processors)
            });
            let saves = speed
                .zip(prospect)
                .map(|(speed, (prospect, _))| prospect.saves(speed, creation, true));
            let expected = Expected {
                creation,
                remaining: prospect.and_then(|(prospect, _)| Seconds::new(prospect.left).ok()),
                saves,
            };
            if !self.hosts.guard || saves.is_none_or(|saves| 0.0 < saves) {
                if let (Some((prospect, _)), Some(speed)) = (&mut prospect, speed) {
                    prospect.join(speed);
                }
                decided.insert(name.clone(), expected);
            } else {
                let declined = expected.recorded(HostId(0), Some(name.clone()));
                self.declined.push(declined);
            }
        }
        self.decided = Some(decided);
    }
}

impl Expected {
    /// What is recorded of a host that joins with a view, or that does not, which has this `name` alone.
    pub(super) fn recorded(self, host: HostId, name: Option<String>) -> Join {
        Join {
            superstep: 0,
            host,
            asked: Instant::START,
            at: Instant::START,
            creation: self.creation,
            remaining: self.remaining,
            saves: self.saves,
            joined: name.is_none(),
            ended: Instant::START,
            processes: Vec::new(),
            waited: None,
            name,
        }
    }
}

/// What a change of the view takes beside a checkpoint, before one has been measured.
const SURCHARGE: Duration = Duration::from_millis(100);
/// The most changes of the part of the work that is done that are kept.
const CHANGES_MAX: usize = 64;
