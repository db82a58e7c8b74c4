//! Supersteps that pass as earlier ones did.
//!
//! Before a superstep is released, its programs are executed. If they do what they did in one of the last four
//! different supersteps, and no host and no link has changed since or changes in it, its course is used: its length,
//! the arrivals, and what processes observed. Processes receive that as events, in the order of arrival, for their
//! histories and traces. The Manager sends no start: the world answers `Membership::released` with no and passes on the
//! arrival of all. Agents decide as always, so calls come when they would.
//!
//! A superstep is always simulated after a call, where a process halts, with a hierarchical barrier of several Sets,
//! with checkpoints, where hosts join, and where hosts have owners. Tests compare records with and without repetition,
//! byte for byte (`Setup::repeats`).

use agents::{Exchange, RepeatedPlan, Setup, SuperstepPlan};
use bsp::Rank;
use bsp::reduction::Outline;
use bsp::units::{Instructions, Seconds};
use protocol::Arrived;
use simulator::{Engine, Span};

/// The courses of recent supersteps.
///
/// When a superstep ends, nothing is under way with a central or an ideal barrier, and the platform rests
/// ([`Engine::rest`](simulator::Engine::rest)). What the next superstep takes then depends only on what programs do in it and
/// where processes are, so one that equals a recent one takes the same, to the last bit, and need not be simulated again.
pub(super) struct Repetition {
    /// Whether supersteps may be repeated at all.
    is_on: bool,
    /// Whether processes observe their supersteps: they have a history, or are traced.
    are_observed: bool,
    /// The latest first.
    #[expect(clippy::vec_box, reason = "each is moved in every superstep")]
    courses: Vec<Box<Course>>,
    /// The superstep in progress, if it began at rest and without anything else.
    recording: Option<Recording>,
    /// Whether a process halts in the superstep in progress.
    halts: bool,
    /// Whether a process halts in it or in the one before, and is released once more when it begins.
    is_uneven: bool,
    /// The number of courses that have been recorded since a superstep was repeated.
    unused: u32,
    /// The number of supersteps that have been repeated.
    count: u64,
}

/// How a superstep has passed.
#[derive(Debug, Default)]
pub(super) struct Course {
    pub(super) plan: RepeatedPlan,
    /// From its release to its end.
    pub(super) span: Span,
    /// The sum of all arrivals; `None` if the course was not recorded.
    pub(super) all: Option<Arrived>,
    /// How long each process computed.
    pub(super) elapsed: Vec<Seconds>,
    /// In the order of arrival, if processes observe their supersteps.
    pub(super) processes: Vec<ProcessCourse>,
}

/// What a process did in a superstep. Times count from the release of the superstep.
#[derive(Debug)]
pub(super) struct ProcessCourse {
    pub(super) rank: Rank,
    /// When it started the superstep.
    pub(super) started: Seconds,
    /// When it had computed.
    pub(super) computed: Seconds,
    /// When it arrived at the barrier.
    pub(super) arrived: Seconds,
    /// The instructions that it executed.
    pub(super) work: Instructions,
    /// The time that it computed.
    pub(super) computation: Seconds,
    /// The messages that it exchanged.
    pub(super) exchange: Exchange,
}

/// The superstep in progress.
pub(super) struct Recording {
    /// The course of an earlier one in which processes did the same, if there is any.
    known: Option<Box<Course>>,
    /// By what its contributions to reductions are charged.
    contributions: Vec<Outline>,
    /// Those that have arrived.
    processes: Vec<ProcessCourse>,
    /// By rank, when each started, and when it had computed, if processes observe their supersteps.
    started: Vec<(Seconds, Seconds)>,
}

impl Course {
    /// A superstep in which processes do what is in `plan`, with these contributions to reductions.
    fn new(plan: &SuperstepPlan, contributions: Vec<Outline>) -> Box<Self> {
        Box::new(Self {
            plan: plan.repeated(contributions),
            ..Self::default()
        })
    }
}

impl Recording {
    /// The course of the superstep of `plan`, as far as it has been recorded.
    pub(super) fn course(self, plan: &SuperstepPlan) -> Box<Course> {
        let known = self.known;
        let mut course = known.unwrap_or_else(|| Course::new(plan, self.contributions));
        course.processes = self.processes;
        course
    }
}

impl Repetition {
    /// Nothing is known yet of the run of `setup`.
    ///
    /// Where hosts join or have owners, or states are saved, every superstep is simulated.
    pub(super) fn new(setup: &Setup) -> Self {
        Self {
            is_on: setup.repeats
                && !setup.platform.has_owners()
                && setup.elasticity.is_none()
                && setup.checkpointing.is_none(),
            are_observed: setup.scheduler.is_some() || setup.traced,
            courses: Vec::new(),
            recording: None,
            halts: false,
            is_uneven: false,
            unused: 0,
            count: 0,
        }
    }

    /// The number of supersteps that have been repeated.
    pub(super) const fn count(&self) -> u64 {
        self.count
    }

    /// Whether supersteps may be repeated.
    pub(super) const fn is_on(&self) -> bool {
        self.is_on
    }

    /// Removes the course of a superstep in which processes do the same as in `plan`, to be repeated if `engine` can.
    pub(super) fn take(&mut self, plan: &SuperstepPlan, engine: &Engine) -> Option<Box<Course>> {
        let is_known = |at: &usize| {
            let course = &self.courses[*at];
            course.all.is_some() && engine.can_repeat(&course.span)
        };
        let at = self.position(plan).filter(is_known)?;
        self.count += 1;
        self.unused = 0;
        Some(self.courses.remove(at))
    }

    /// Where the superstep is among the courses in which processes do the same as in `plan`.
    fn position(&self, plan: &SuperstepPlan) -> Option<usize> {
        let mut courses = self.courses.iter();
        courses.position(|course| course.plan.equals(plan))
    }

    /// Keeps a course, in place of the one that was used longest ago if there are too many.
    pub(super) fn keep(&mut self, course: Box<Course>) {
        let each = course.plan.size();
        let most = (KEPT_MAX / each.max(1)).clamp(1, COURSES_MAX);
        self.courses.truncate(most - 1);
        self.courses.insert(0, course);
    }

    /// Programs have been executed for the next superstep, in which processes do what is in `plan`.
    pub(super) fn begin(&mut self, plan: &SuperstepPlan) {
        let halts = plan.has_halts();
        if halts {
            // Fewer processes take part in what comes.
            self.forget();
        }
        self.is_uneven = halts || self.halts;
        self.halts = halts;
    }

    /// A superstep begins at rest in which processes do what is in `plan`.
    pub(super) fn record(&mut self, plan: &SuperstepPlan) {
        if self.is_uneven {
            return;
        }
        let known = self.position(plan).map(|at| self.courses.remove(at));
        if UNUSED_MAX <= self.unused && known.is_none() {
            self.keep(Course::new(plan, plan.contributions()));
            return;
        }
        self.unused += 1;
        let observed = if self.are_observed {
            plan.work.len()
        } else {
            0
        };
        let contributions = match known {
            Some(_) => Vec::new(),
            None => plan.contributions(),
        };
        self.recording = Some(Recording {
            known,
            contributions,
            processes: Vec::with_capacity(observed),
            started: vec![(Seconds::ZERO, Seconds::ZERO); observed],
        });
    }

    /// `rank` starts the superstep in progress.
    pub(super) fn started(&mut self, rank: Rank, now: Seconds) {
        if let Some((started, _)) = self.process(rank) {
            *started = now;
        }
    }

    /// `rank` has computed in the superstep in progress.
    pub(super) fn computed(&mut self, rank: Rank, now: Seconds) {
        if let Some((_, computed)) = self.process(rank) {
            *computed = now;
        }
    }

    fn process(&mut self, rank: Rank) -> Option<&mut (Seconds, Seconds)> {
        self.recording.as_mut()?.started.get_mut(rank.index())
    }

    /// `rank` arrives at the end of the superstep in progress. `course` is what it did, from when it started and when it had
    /// computed.
    pub(super) fn arrived(
        &mut self,
        rank: Rank,
        course: impl FnOnce(Seconds, Seconds) -> ProcessCourse,
    ) {
        if let Some(&mut (started, computed)) = self.process(rank)
            && let Some(recording) = &mut self.recording
        {
            recording.processes.push(course(started, computed));
        }
    }

    /// The superstep in progress has ended. If it has ended at rest, its course has still to be completed, and to be
    /// kept.
    pub(super) const fn recorded(&mut self) -> Option<Recording> {
        self.recording.take()
    }

    /// The superstep in progress is not like others.
    pub(super) fn stop(&mut self) {
        self.recording = None;
    }

    /// Processes are elsewhere, or fewer.
    pub(super) fn forget(&mut self) {
        self.recording = None;
        self.courses.clear();
    }
}

/// After this number of courses that were recorded and not used, a superstep is recorded only if an equal one is known.
const UNUSED_MAX: u32 = 16;
/// The most courses that are kept: a program may repeat a few supersteps in turn.
const COURSES_MAX: usize = 4;
/// The most processes and messages in all courses together, if they are more than one.
const KEPT_MAX: usize = 1_000_000;
