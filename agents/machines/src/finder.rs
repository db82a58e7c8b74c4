//! How a client finds the node that leads a job: it asks all members for their status, and attaches to one of those that lead the job
//! or have led it.
//!
//! A member says in its status which jobs it leads and has led, and which job it takes part in. While members take part in the job and
//! none leads it, one of them soon will: they are asked again. Nothing of this has an effect on the job.

use std::collections::{BTreeMap, VecDeque};
use std::time::{Duration, Instant as Clock};

use protocol::transport::JobId;
use protocol::{Declined, JobMessage, Leader, Status, Submit, variant};

use crate::job_error::JobError;

/// What finds the leader of a job, as a state machine: it receives events and returns actions.
#[derive(Debug)]
pub struct Finder {
    job: JobId,
    /// The names of the members.
    members: Vec<String>,
    now: Clock,
    began: Clock,
    /// The number of the last question to all members.
    round: u64,
    /// Since when no member that answers has the job, although some do not answer.
    unknown_since: Option<Clock>,
    phase: Phase,
    actions: VecDeque<FinderAction>,
}

#[derive(Debug)]
enum Phase {
    /// The members are asked until a date; what each has answered, if it has a status.
    Asking(BTreeMap<usize, Option<Status>>, Clock),
    /// A member that leads the job is to tell of it until a date.
    Attaching(usize, Clock),
    /// The members are asked again at a date.
    Waiting(Clock),
    Over,
}

/// An event of a finder.
#[derive(Debug)]
pub enum FinderEvent {
    /// The member of this place has answered the question of this number with its status, or does not answer.
    Answered(u64, usize, Option<Box<Status>>),
    /// What the leader has answered to the client that attaches after the question of this number, or why it has not.
    Attached(u64, Result<JobMessage, JobError>),
    /// Time has passed.
    Tick,
}

/// What the shell of a finder is to do now. Actions are performed in order.
#[derive(Debug)]
pub enum FinderAction {
    /// Ask all members for their status: the question has this number.
    AskAll(u64),
    /// Attach to the job at the member of this place, after the question of this number.
    Attach(u64, usize),
    /// The leader is found, and the connection to it stays, or there is none.
    Finish(Result<FoundLeader, JobError>),
}

/// The leader of a job, to which a client is attached.
#[derive(Clone, Debug, PartialEq)]
pub struct FoundLeader {
    /// Its place among the members.
    pub place: usize,
    /// The view after which it began to lead the job. In the place of the number of a session is that of the ledger.
    pub submit: Box<Submit>,
}

impl Finder {
    /// What finds the leader of `job` among the members of these names.
    #[must_use]
    pub fn new(job: JobId, members: Vec<String>, now: Clock) -> Self {
        let mut finder = Self {
            job,
            members,
            now,
            began: now,
            round: 0,
            unknown_since: None,
            phase: Phase::Over,
            actions: VecDeque::new(),
        };
        finder.ask_all();
        finder
    }

    /// Handles an event that happens now.
    pub fn handle(&mut self, now: Clock, event: FinderEvent) {
        self.now = now;
        match event {
            FinderEvent::Answered(round, place, status) if round == self.round => {
                if let Phase::Asking(answers, _) = &mut self.phase
                    && place < self.members.len()
                {
                    answers.insert(place, status.map(|status| *status));
                }
            }
            FinderEvent::Attached(round, answer) if round == self.round => {
                if let Phase::Attaching(place, _) = self.phase {
                    self.handle_attached(place, answer);
                }
            }
            // Of a question to which others have answered in time.
            FinderEvent::Answered(..) | FinderEvent::Attached(..) | FinderEvent::Tick => {}
        }
        self.advance();
    }

    /// The next action; `None` until the next event.
    pub fn poll(&mut self) -> Option<FinderAction> {
        self.actions.pop_front()
    }

    /// When a tick is due, if nothing else happens before.
    #[must_use]
    pub const fn next_timeout(&self) -> Option<Clock> {
        match self.phase {
            Phase::Asking(_, limit) | Phase::Attaching(_, limit) | Phase::Waiting(limit) => {
                Some(limit)
            }
            Phase::Over => None,
        }
    }

    fn ask_all(&mut self) {
        self.round += 1;
        self.phase = Phase::Asking(BTreeMap::new(), self.now + ANSWER_LIMIT);
        self.actions.push_back(FinderAction::AskAll(self.round));
    }

    fn advance(&mut self) {
        match &mut self.phase {
            Phase::Asking(answers, limit) => {
                if answers.len() < self.members.len() && self.now < *limit {
                    return;
                }
                let answers = std::mem::take(answers);
                self.choose(&answers);
            }
            // It may be lost: others say whether they have noticed.
            Phase::Attaching(_, limit) if *limit <= self.now => self.wait(),
            Phase::Waiting(until) if *until <= self.now => self.ask_all(),
            Phase::Attaching(..) | Phase::Waiting(_) | Phase::Over => {}
        }
    }

    /// Attaches to the member that leads the job, or that has ended it last. If there is none, waits for one, or ends.
    fn choose(&mut self, answers: &BTreeMap<usize, Option<Status>>) {
        let answered = answers
            .iter()
            .filter_map(|(place, status)| Some((*place, status.as_ref()?)));
        let job = self.job.0.get();
        let led = answered.clone().filter_map(|(place, status)| {
            let mut led = status.led.iter();
            Some((led.find(|led| led.job == job)?.ended, place))
        });
        if let Some((_, place)) = led.min() {
            self.unknown_since = None;
            self.phase = Phase::Attaching(place, self.now + ATTACH_LIMIT);
            return self
                .actions
                .push_back(FinderAction::Attach(self.round, place));
        }
        let of_job = answered.clone().filter_map(|(_, status)| {
            let of_job = status.job.as_ref().filter(|of| of.job == job)?;
            Some(&of_job.leader)
        });
        let leaders: Vec<&Leader> = of_job.collect();
        if leaders.is_empty() {
            let all_answer = answered.clone().count() == self.members.len();
            let since = *self.unknown_since.get_or_insert(self.now);
            if all_answer || since + UNKNOWN_LIMIT <= self.now {
                return self.finish(Err(unknown(self.job)));
            }
            return self.wait();
        }
        self.unknown_since = None;
        let is_led_by_client = leaders.contains(&&Leader::Client);
        if is_led_by_client && LOSS_LIMIT < self.now - self.began {
            return self.finish(Err(JobError::input(format!(
                "{} is led by its own client, which is connected: `run` follows it",
                self.job
            ))));
        }
        self.wait();
    }

    /// Asks again after some time, unless a leader has been looked for long enough.
    fn wait(&mut self) {
        if FIND_LIMIT < self.now - self.began {
            return self.finish(Err(JobError::cluster(format!(
                "no node has led {} for {} s",
                self.job,
                FIND_LIMIT.as_secs()
            ))));
        }
        self.phase = Phase::Waiting(self.now + PAUSE);
    }

    fn handle_attached(&mut self, place: usize, answer: Result<JobMessage, JobError>) {
        match answer {
            Ok(JobMessage::Attached(submit)) => self.finish(Ok(FoundLeader { place, submit })),
            Ok(JobMessage::Declined(Declined::Owner)) => self.finish(Err(of_another(self.job))),
            // It does not lead the job any more: another one may.
            Ok(JobMessage::Declined(_)) => self.wait(),
            Ok(other) => {
                let (name, what) = (&self.members[place], variant(&other));
                self.finish(Err(JobError::cluster(format!(
                    "{name} answered with {what}"
                ))));
            }
            Err(error) if error.loss.is_some() => self.wait(),
            Err(error) => self.finish(Err(error)),
        }
    }

    fn finish(&mut self, found: Result<FoundLeader, JobError>) {
        self.phase = Phase::Over;
        self.actions.push_back(FinderAction::Finish(found));
    }
}

/// No member has the job.
#[must_use]
pub fn unknown(job: JobId) -> JobError {
    JobError::input(format!(
        "no node of the list has {job}: what is left of a job is kept for an hour, by the node that led it last"
    ))
}

/// The job is of another client.
#[must_use]
pub fn of_another(job: JobId) -> JobError {
    JobError::input(format!(
        "{job} is not of this client: use the certificate with which it was submitted"
    ))
}

/// How long a member may take to say its status.
pub const ANSWER_LIMIT: Duration = Duration::from_secs(4);
/// How long a member that leads the job may take to begin to tell of it.
const ATTACH_LIMIT: Duration = Duration::from_secs(8);
/// How long members may take to notice that the client of a job is lost.
const LOSS_LIMIT: Duration = Duration::from_secs(4);
/// How long members may not answer of which one may have the job, if those that answer do not.
const UNKNOWN_LIMIT: Duration = Duration::from_secs(10);
/// How long a leader is waited for.
const FIND_LIMIT: Duration = Duration::from_secs(60);
/// The time between two questions for it.
const PAUSE: Duration = Duration::from_millis(250);

#[cfg(test)]
mod tests {
    use std::num::NonZeroU64;

    use bsp::units::Seconds;
    use protocol::{JobStatus, LedJob, View};

    use super::*;

    const JOB: JobId = JobId(NonZeroU64::new(7).unwrap());

    fn status(job: Option<Leader>, led: &[Option<f64>]) -> Option<Box<Status>> {
        let led = led.iter().map(|ended| LedJob {
            job: 7,
            owner: "laptop".to_owned(),
            ended: ended.map(|ended| Seconds::new(ended).unwrap()),
            is_complete: ended.is_some(),
        });
        let job = job.map(|leader| JobStatus {
            job: 7,
            client: "laptop".to_owned(),
            leader,
            view: 2,
            since: Seconds::ZERO,
            superstep: 0,
            supersteps: None,
            processes: 1,
            calls: None,
            notes: Default::default(),
        });
        Some(Box::new(Status {
            workloads: Vec::new(),
            abandoned: None,
            up: Seconds::ZERO,
            speed: 1.0,
            processors: 1,
            load: (0.0, 0.0),
            job,
            jobs: 0,
            refused: 0,
            memory: None,
            led: led.collect(),
            others: Vec::new(),
        }))
    }

    fn submit() -> Box<Submit> {
        Box::new(Submit {
            job: 7,
            session: 1,
            host: bsp::HostId(0),
            members: Vec::new(),
            experiment: String::new(),
            folder: Default::default(),
            processes: 1,
            checkpoint: None,
            resumed: None,
            files: None,
            view: Some(View::first(true)),
            memory: None,
            wait: Seconds::ZERO,
        })
    }

    /// A finder among three members, and the time.
    struct Looking {
        finder: Finder,
        now: Clock,
        round: u64,
    }

    impl Looking {
        fn new() -> Self {
            let now = Clock::now();
            let names = ["a", "b", "c"].map(str::to_owned).to_vec();
            let finder = Finder::new(JOB, names, now);
            Self {
                finder,
                now,
                round: 0,
            }
        }

        /// The next question is asked, and the members answer. Returns what is done then.
        fn answer(&mut self, statuses: [Option<Box<Status>>; 3]) -> Option<FinderAction> {
            let asked = self.finder.poll();
            self.round += 1;
            assert!(matches!(asked, Some(FinderAction::AskAll(round)) if round == self.round));
            for (place, status) in statuses.into_iter().enumerate() {
                assert!(self.finder.poll().is_none(), "all others are waited for");
                let answered = FinderEvent::Answered(self.round, place, status);
                self.finder.handle(self.now, answered);
            }
            self.finder.poll()
        }

        fn attached(&mut self, answer: Result<JobMessage, JobError>) -> Option<FinderAction> {
            let attached = FinderEvent::Attached(self.round, answer);
            self.finder.handle(self.now, attached);
            self.finder.poll()
        }

        /// Time passes until the finder wakes.
        fn wake(&mut self) {
            self.now = self.finder.next_timeout().unwrap();
            self.finder.handle(self.now, FinderEvent::Tick);
        }
    }

    fn problem(action: Option<FinderAction>) -> String {
        match action {
            Some(FinderAction::Finish(Err(error))) => error.message,
            other => panic!("{other:?}"),
        }
    }

    fn place(action: Option<FinderAction>) -> usize {
        match action {
            Some(FinderAction::Attach(_, place)) => place,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn members_are_asked_again_until_one_of_them_leads_the_job() {
        let mut looking = Looking::new();
        let leaderless = || status(Some(Leader::None(Vec::new())), &[]);
        let none = looking.answer([leaderless(), None, status(None, &[])]);
        assert!(none.is_none());
        looking.wake();
        let leads = status(Some(Leader::Node("b".to_owned())), &[None]);
        assert_eq!(place(looking.answer([leaderless(), leads, None])), 1);
        let answer = looking.attached(Ok(JobMessage::Attached(submit())));
        match answer {
            Some(FinderAction::Finish(Ok(found))) => {
                let submit = submit();
                assert_eq!(found, FoundLeader { place: 1, submit });
            }
            other => panic!("{other:?}"),
        }
        assert_eq!(looking.finder.next_timeout(), None);
    }

    #[test]
    fn the_member_that_leads_the_job_is_preferred_and_then_the_one_that_ended_it_last() {
        let check = |led: [&[Option<f64>]; 3], expect: usize| {
            let action = Looking::new().answer(led.map(|led| status(None, led)));
            assert_eq!(place(action), expect);
        };
        check([&[Some(1.0)], &[None], &[]], 1);
        check([&[Some(9.0)], &[Some(8.0)], &[]], 1);
        check([&[], &[None], &[None]], 1);
    }

    #[test]
    fn a_job_is_unknown_if_all_members_say_so_or_some_do_for_long() {
        let none = || status(None, &[]);
        let unknown = problem(Looking::new().answer([none(), none(), none()]));
        assert!(unknown.contains("no node of the list has job"), "{unknown}");
        let mut looking = Looking::new();
        let began = looking.now;
        let ended = loop {
            if let Some(action) = looking.answer([none(), None, none()]) {
                break action;
            }
            looking.wake();
        };
        assert!(problem(Some(ended)).contains("no node of the list has job"));
        assert!(UNKNOWN_LIMIT <= looking.now - began);
    }

    #[test]
    fn a_job_that_its_client_leads_cannot_be_followed() {
        let mut looking = Looking::new();
        let led = || status(Some(Leader::Client), &[]);
        let began = looking.now;
        let ended = loop {
            if let Some(action) = looking.answer([led(), led(), led()]) {
                break action;
            }
            looking.wake();
        };
        assert!(problem(Some(ended)).contains("led by its own client"));
        assert!(LOSS_LIMIT < looking.now - began);
    }

    #[test]
    fn the_job_of_another_client_is_refused() {
        let mut looking = Looking::new();
        let leads = status(None, &[None]);
        place(looking.answer([leads, None, None]));
        let declined = looking.attached(Ok(JobMessage::Declined(Declined::Owner)));
        assert!(problem(declined).contains("is not of this client"));
    }

    #[test]
    fn another_leader_is_looked_for_if_one_is_lost_or_leads_no_more_when_the_client_attaches() {
        let mut lost = JobError::cluster("lost");
        lost.loss = Some(crate::Loss { silent: None });
        let answers = [Ok(JobMessage::Declined(Declined::Unknown)), Err(lost)];
        for answer in answers {
            let mut looking = Looking::new();
            place(looking.answer([status(None, &[None]), None, None]));
            assert!(looking.attached(answer).is_none());
            looking.wake();
            let leads = status(None, &[None]);
            assert_eq!(place(looking.answer([None, leads, None])), 1);
            // One that does not answer at all is lost, too.
            looking.wake();
            looking.wake();
            assert!(matches!(
                looking.finder.poll(),
                Some(FinderAction::AskAll(3))
            ));
        }
    }

    #[test]
    fn members_that_do_not_answer_are_not_waited_for_longer_than_the_limit() {
        let mut looking = Looking::new();
        looking.finder.poll();
        let leads = status(None, &[None]);
        let answered = FinderEvent::Answered(1, 2, leads);
        looking.finder.handle(looking.now, answered);
        assert!(looking.finder.poll().is_none());
        looking.wake();
        assert_eq!(place(looking.finder.poll()), 2);
        // Answers that are late have no effect.
        let late = FinderEvent::Answered(1, 0, status(None, &[None]));
        looking.finder.handle(looking.now, late);
        assert!(looking.finder.poll().is_none());
    }

    #[test]
    fn a_leader_is_looked_for_no_longer_than_a_minute() {
        let mut looking = Looking::new();
        let began = looking.now;
        let leaderless = || status(Some(Leader::None(Vec::new())), &[]);
        let ended = loop {
            if let Some(action) = looking.answer([leaderless(), None, None]) {
                break action;
            }
            looking.wake();
        };
        assert!(problem(Some(ended)).contains("no node has led"));
        assert!(FIND_LIMIT < looking.now - began);
    }
}
