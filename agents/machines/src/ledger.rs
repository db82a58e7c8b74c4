//! What a node keeps of the jobs that it leads, and of those that it has led, for clients that attach; and what it tells them.
//!
//! A [`Ledger`](Ledgers) has what a client of the job would see, in order: the views, the folders with files, and the lines of the
//! record; then the end. It begins with the first view that the node leads. A client that attaches receives all of it, from the
//! beginning, and what follows. Lines of the record are in a file, which the shell has; the rest is in memory.
//!
//! The ledger of a job that has ended is kept for an hour. If the node does not lead the job any more although that has not ended,
//! nothing of the ledger is kept: clients find the next leader.

use std::collections::BTreeMap;
use std::io;
use std::time::{Duration, Instant as Clock};

use agents::mutant::{self, Mutant};
use bsp::units::Seconds;
use bsp::{HostId, Rank};
use bytes::Bytes;
use protocol::{
    Declined, EncodedState, Ended, Failed, Followed, FollowedEnd, FollowedView, JobMessage, LedJob,
    Submit,
};
use record::Event;

use crate::between;
use crate::client::{JobOutput, JobResult, Request, output};
use crate::job_error::JobError;
use crate::views::NextView;

/// Where the lines of the record are kept.
pub trait LedgerFile {
    /// Writes lines at the end.
    ///
    /// # Errors
    ///
    /// If they cannot be written.
    fn append(&mut self, lines: &str) -> io::Result<()>;

    /// So many bytes of lines from a place on.
    ///
    /// # Errors
    ///
    /// If they cannot be read.
    fn read(&mut self, at: u64, length: usize) -> io::Result<String>;
}

/// The ledgers of a node.
#[derive(Debug)]
pub struct Ledgers<F> {
    /// The number of ledgers that have begun.
    begun: u64,
    all: BTreeMap<LedgerId, Ledger<F>>,
}

/// A ledger of a node: each that begins has the next number, from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LedgerId(pub u64);

/// What the node has seen of a job.
#[derive(Debug)]
struct Ledger<F> {
    job: u64,
    owner: String,
    /// The view that was followed by the first one in it.
    submit: Submit,
    /// Whether clients may attach.
    is_open: bool,
    file: F,
    /// The bytes in it.
    length: u64,
    /// Lines that are not in it yet.
    lines: String,
    entries: Vec<Entry>,
    end: Option<(Clock, Result<Complete, Failed>)>,
}

#[derive(Clone, Debug)]
enum Entry {
    /// Lines of the record: so many bytes from there on in the file.
    Lines(u64, usize),
    Other(Followed),
}

/// The outputs and totals of a job.
#[derive(Debug)]
struct Complete {
    end: FollowedEnd,
    /// The number of its last view.
    number: u64,
    /// The outputs that are not in files.
    values: Vec<(Rank, Bytes)>,
}

/// What a client that is attached has been told of a ledger.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Telling {
    ledger: LedgerId,
    has_begun: bool,
    /// The number of entries.
    entries: usize,
    /// The number of outputs.
    outputs: usize,
    is_over: bool,
}

/// What the node sends next to a client that is attached.
#[derive(Clone, Debug, PartialEq)]
pub enum Tell {
    /// This message.
    Message(Box<JobMessage>),
    /// The output of a process.
    Output(EncodedState),
    /// Nothing, until the ledger has more.
    Wait,
    /// Nothing more: it has been told the end.
    Over,
    /// Nothing more: the node does not lead the job any more. The connection is to be closed.
    Abandoned,
}

impl<F> Default for Ledgers<F> {
    fn default() -> Self {
        Self {
            begun: 0,
            all: BTreeMap::new(),
        }
    }
}

impl<F: LedgerFile> Ledgers<F> {
    /// Begins the ledger of a job of the client `owner`, which the node asks to lead after the view of `submit`.
    pub fn begin(&mut self, owner: String, submit: &Submit, file: F) -> LedgerId {
        self.begun += 1;
        let id = LedgerId(self.begun);
        let ledger = Ledger {
            job: submit.job,
            owner,
            submit: Submit {
                // The members alone know it. The number of the ledger says which of two it is, if the node leads the job again.
                session: id.0,
                ..submit.clone()
            },
            is_open: false,
            file,
            length: 0,
            lines: String::new(),
            entries: Vec::new(),
            end: None,
        };
        self.all.insert(id, ledger);
        id
    }

    /// An event of the record.
    ///
    /// # Errors
    ///
    /// If it cannot be kept.
    pub fn record(&mut self, id: LedgerId, event: &Event) -> io::Result<()> {
        let Some(ledger) = self.all.get_mut(&id) else {
            return Ok(());
        };
        ledger.lines.push_str(&serde_json::to_string(event)?);
        ledger.lines.push('\n');
        if LINES_MAX < ledger.lines.len() {
            ledger.flush()?;
        }
        Ok(())
    }

    /// The folder in which each node, by its name, has the files of jobs.
    pub fn add_folders(&mut self, id: LedgerId, folders: BTreeMap<String, String>) {
        self.add(id, Followed::Folders(folders));
    }

    /// The job goes on in the `next` view. Clients may attach from now on.
    pub fn begin_view(&mut self, now: Clock, id: LedgerId, next: &NextView) {
        self.open(now, id);
        let lost = next.lost.iter();
        let lost = lost.map(|lost| (lost.name.clone(), lost.reason.clone()));
        let view = FollowedView {
            number: next.view.number,
            members: next.members.clone(),
            leader: next.view.leader.unwrap_or(HostId(0)),
            resumed: next.resumed.clone(),
            lost: lost.collect(),
            silent: next.lost.iter().find_map(|lost| lost.silent),
            joined: next.joined.clone(),
            repeats: next.repeats,
        };
        self.add(id, Followed::View(view));
    }

    /// The nodes of the view begin, this time after the leader knew of the loss.
    pub fn view_begun(&mut self, id: LedgerId, restored: Seconds) {
        self.add(id, Followed::Begun(restored));
    }

    /// The job has ended, with this result of the last view, which is that of the request.
    pub fn end(
        &mut self,
        now: Clock,
        id: LedgerId,
        result: Result<(JobResult, &Request), JobError>,
    ) {
        self.open(now, id);
        let complete = result.and_then(|(result, request)| Complete::new(result, request));
        if let Some(ledger) = self.all.get_mut(&id) {
            // The next line that cannot be written is missing for clients, which are told so.
            drop(ledger.flush());
            ledger.end = Some((now, complete.map_err(Failed::from)));
        }
    }

    /// The node does not lead the job any more, which goes on or ends without it.
    pub fn abandon(&mut self, id: LedgerId) {
        if !mutant::is(Mutant::KeepLedger) {
            self.all.remove(&id);
        }
    }

    /// The jobs, for the status of the node: the oldest first.
    pub fn status(&mut self, now: Clock) -> Vec<LedJob> {
        self.forget(now);
        let led = self.all.values().filter(|ledger| ledger.is_open);
        let led = led.map(|ledger| LedJob {
            job: ledger.job,
            owner: ledger.owner.clone(),
            ended: ledger.end.as_ref().map(|(at, _)| between(*at, now)),
            is_complete: matches!(ledger.end, Some((_, Ok(_)))),
        });
        led.collect()
    }

    /// The client `owner` attaches to a job.
    ///
    /// # Errors
    ///
    /// If there is no such job, or it is of another client.
    pub fn attach(&mut self, now: Clock, job: u64, owner: &str) -> Result<Telling, Declined> {
        self.forget(now);
        let mut all = self.all.iter();
        let of_job = all.find(|(_, ledger)| ledger.is_open && ledger.job == job);
        let (id, ledger) = of_job.ok_or(Declined::Unknown)?;
        if ledger.owner != owner {
            return Err(Declined::Owner);
        }
        Ok(Telling {
            ledger: *id,
            has_begun: false,
            entries: if mutant::is(Mutant::TellFromNow) {
                ledger.entries.len()
            } else {
                0
            },
            outputs: 0,
            is_over: false,
        })
    }

    /// What a client receives next.
    pub fn tell(&mut self, telling: &mut Telling) -> Tell {
        let Some(ledger) = self.all.get_mut(&telling.ledger) else {
            return if telling.is_over {
                Tell::Over
            } else {
                Tell::Abandoned
            };
        };
        if telling.is_over {
            return Tell::Over;
        }
        if !std::mem::replace(&mut telling.has_begun, true) {
            let attached = JobMessage::Attached(Box::new(ledger.submit.clone()));
            return Tell::Message(Box::new(attached));
        }
        let followed = match (ledger.read(telling.entries), &ledger.end) {
            (Ok(Some(followed)), _) => {
                telling.entries += 1;
                followed
            }
            (Err(error), _) => {
                let problem = format!("the record of the job cannot be read: {error}");
                telling.is_over = true;
                Followed::Failed(JobError::program(problem).into())
            }
            (Ok(None), None) => return Tell::Wait,
            (Ok(None), Some((_, Err(failed)))) => {
                telling.is_over = true;
                Followed::Failed(failed.clone())
            }
            (Ok(None), Some((_, Ok(complete)))) => {
                if let Some((rank, value)) = complete.values.get(telling.outputs) {
                    telling.outputs += 1;
                    return Tell::Output(output(complete.number, *rank, value.clone()));
                }
                telling.is_over = true;
                Followed::Complete(complete.end.clone())
            }
        };
        Tell::Message(Box::new(JobMessage::Followed(Box::new(followed))))
    }

    /// Clients may attach to the job from now on: to this ledger, and no more to another one of the job.
    fn open(&mut self, now: Clock, id: LedgerId) {
        let Some(ledger) = self.all.get_mut(&id) else {
            return;
        };
        ledger.is_open = true;
        let job = ledger.job;
        self.all
            .retain(|other, ledger| *other == id || !ledger.is_open || ledger.job != job);
        self.forget(now);
        let open = self.all.values().filter(|ledger| ledger.is_open);
        let surplus = open.count().saturating_sub(LedJob::COUNT_MAX);
        for _ in 0..surplus {
            let ended = self
                .all
                .iter()
                .filter_map(|(id, ledger)| Some((ledger.end.as_ref()?.0, *id)));
            let Some((_, oldest)) = ended.min() else {
                return;
            };
            self.all.remove(&oldest);
        }
    }

    /// Forgets the jobs that have ended long ago.
    fn forget(&mut self, now: Clock) {
        self.all.retain(|_, ledger| {
            let end = ledger.end.as_ref();
            end.is_none_or(|(at, _)| now.saturating_duration_since(*at) < KEEPING)
        });
    }

    fn add(&mut self, id: LedgerId, followed: Followed) {
        if let Some(ledger) = self.all.get_mut(&id) {
            // The next line that cannot be written ends the job.
            drop(ledger.flush());
            ledger.entries.push(Entry::Other(followed));
        }
    }
}

impl<F: LedgerFile> Ledger<F> {
    /// Writes the lines that wait.
    fn flush(&mut self) -> io::Result<()> {
        if self.lines.is_empty() {
            return Ok(());
        }
        self.file.append(&self.lines)?;
        let length = self.lines.len();
        self.entries.push(Entry::Lines(self.length, length));
        self.length += bsp::numbers::length(length);
        self.lines.clear();
        Ok(())
    }

    /// The entry of this number, from 0, if there is one yet.
    fn read(&mut self, number: usize) -> io::Result<Option<Followed>> {
        if self.entries.len() <= number {
            self.flush()?;
        }
        match self.entries.get(number) {
            None => Ok(None),
            Some(Entry::Other(followed)) => Ok(Some(followed.clone())),
            Some(Entry::Lines(at, length)) => {
                let lines = self.file.read(*at, *length)?;
                Ok(Some(Followed::Events(lines)))
            }
        }
    }
}

impl Complete {
    /// What is kept of a job that is complete.
    fn new(result: JobResult, request: &Request) -> Result<Self, JobError> {
        let end = result.ended.values().copied().reduce(|one, other| Ended {
            seconds: one.seconds.max(other.seconds),
            supersteps: one.supersteps.max(other.supersteps),
            messages: one.messages.saturating_add(other.messages),
            bytes: one.bytes.saturating_add(other.bytes),
            moved: one.moved.saturating_add(other.moved),
        });
        let end = end.ok_or_else(|| JobError::cluster("a job without a node"))?;
        let (mut hosts, mut values, mut files) = (Vec::new(), Vec::new(), Vec::new());
        for (rank, (host, output)) in result.outputs {
            hosts.push(host);
            match output {
                JobOutput::Value(value) => values.push((rank, value)),
                JobOutput::File(file) => files.push(file),
            }
        }
        let end = FollowedEnd {
            end,
            builds: result.builds,
            hosts,
            files,
        };
        let number = request.view.as_ref().map_or(0, |view| view.number);
        Ok(Self {
            end,
            number,
            values,
        })
    }
}

/// How long what is left of a job is kept.
const KEEPING: Duration = Duration::from_secs(3600);
/// How long lines are gathered before they are told.
pub const GATHERING: Duration = Duration::from_millis(20);
/// Bytes of lines that are written at once.
const LINES_MAX: usize = 64 << 10;

#[cfg(test)]
mod tests {
    use bsp::units::Bytes as Size;
    use protocol::View;
    use protocol::transport::JobId;

    use super::*;
    use crate::client::tests::request;

    /// Lines in memory.
    #[derive(Debug, Default)]
    struct Memory(String);

    impl LedgerFile for Memory {
        fn append(&mut self, lines: &str) -> io::Result<()> {
            self.0.push_str(lines);
            Ok(())
        }

        fn read(&mut self, at: u64, length: usize) -> io::Result<String> {
            let at = usize::try_from(at).map_err(io::Error::other)?;
            Ok(self.0[at..at + length].to_owned())
        }
    }

    fn submit(job: u64) -> Submit {
        Submit {
            job,
            session: 99,
            host: HostId(0),
            members: Vec::new(),
            experiment: String::new(),
            folder: Default::default(),
            processes: 2,
            checkpoint: None,
            resumed: None,
            files: None,
            view: Some(View::first(true)),
            memory: None,
            wait: Seconds::ZERO,
        }
    }

    fn next_view(number: u64) -> NextView {
        NextView {
            job: JobId(std::num::NonZeroU64::MIN),
            view: View {
                number,
                leader: Some(HostId(1)),
                ..View::first(true)
            },
            members: request(None).members,
            hosts: Vec::new(),
            connected: Vec::new(),
            resumed: None,
            lost: Vec::new(),
            joined: Vec::new(),
            unproven: Vec::new(),
            pauses: Vec::new(),
            repeats: 0,
            decided: None,
            since: None,
        }
    }

    fn event(rank: u32) -> Event {
        Event::Moved(record::Moved {
            at: bsp::units::Instant::START,
            rank: Rank(rank),
            host: HostId(0),
            epoch: 1,
            bytes: Size(1),
            took: Seconds::ZERO,
            times: None,
            parts: None,
            declared: None,
        })
    }

    /// A node that leads job 5 of the client `laptop`, and has seen a view and an event of it.
    fn leading() -> (Ledgers<Memory>, LedgerId, Clock) {
        let (mut ledgers, now) = (Ledgers::default(), Clock::now());
        let id = ledgers.begin("laptop".to_owned(), &submit(5), Memory::default());
        ledgers.begin_view(now, id, &next_view(2));
        ledgers.record(id, &event(0)).unwrap();
        (ledgers, id, now)
    }

    /// What a client receives until it waits, or nothing more comes: a word each.
    fn told(ledgers: &mut Ledgers<Memory>, telling: &mut Telling) -> Vec<String> {
        let mut words = Vec::new();
        loop {
            let word = match ledgers.tell(telling) {
                Tell::Message(message) => match *message {
                    JobMessage::Attached(submit) => format!("ledger {}", submit.session),
                    JobMessage::Followed(followed) => match *followed {
                        Followed::View(view) => format!("view {}", view.number),
                        Followed::Begun(_) => "begun".to_owned(),
                        Followed::Folders(_) => "folders".to_owned(),
                        Followed::Events(lines) => format!("{} lines", lines.lines().count()),
                        Followed::Complete(_) => "complete".to_owned(),
                        Followed::Failed(failed) => failed.message,
                    },
                    other => panic!("{other:?}"),
                },
                Tell::Output(state) => format!("output of {} in view {}", state.rank, state.epoch),
                Tell::Wait => return words,
                Tell::Over => return [words, vec!["over".to_owned()]].concat(),
                Tell::Abandoned => return [words, vec!["abandoned".to_owned()]].concat(),
            };
            words.push(word);
        }
    }

    #[test]
    fn each_client_is_told_all_in_order_and_once() {
        let (mut ledgers, id, now) = leading();
        let mut early = ledgers.attach(now, 5, "laptop").unwrap();
        assert_eq!(
            told(&mut ledgers, &mut early),
            ["ledger 1", "view 2", "1 lines"]
        );
        ledgers.view_begun(id, Seconds::ZERO);
        for rank in 0..3 {
            ledgers.record(id, &event(rank)).unwrap();
        }
        ledgers.add_folders(id, BTreeMap::new());
        ledgers.begin_view(now, id, &next_view(3));
        let rest = ["begun", "3 lines", "folders", "view 3"];
        assert_eq!(told(&mut ledgers, &mut early), rest);
        assert_eq!(told(&mut ledgers, &mut early), [""; 0]);
        let mut late = ledgers.attach(now, 5, "laptop").unwrap();
        let all = [&["ledger 1", "view 2", "1 lines"], &rest[..]].concat();
        assert_eq!(told(&mut ledgers, &mut late), all);
    }

    #[test]
    fn many_lines_are_told_in_parts() {
        let (mut ledgers, id, now) = leading();
        let bytes = serde_json::to_string(&event(0)).unwrap().len() + 1;
        for _ in 0..3 * LINES_MAX / bytes {
            ledgers.record(id, &event(0)).unwrap();
        }
        let mut telling = ledgers.attach(now, 5, "laptop").unwrap();
        let told = told(&mut ledgers, &mut telling);
        let lines = told[2..].iter().map(|told| told.trim_end_matches(" lines"));
        let lines: Vec<usize> = lines.map(|lines| lines.parse().unwrap()).collect();
        assert!(3 <= lines.len(), "{lines:?}");
        assert_eq!(lines.iter().sum::<usize>(), 1 + 3 * LINES_MAX / bytes);
    }

    #[test]
    fn clients_attach_to_jobs_of_their_own_that_the_node_leads() {
        let (mut ledgers, _, now) = leading();
        let refused = ledgers.attach(now, 5, "other").unwrap_err();
        assert_eq!(refused, Declined::Owner);
        // One that the node has only asked to lead is not there yet.
        ledgers.begin("laptop".to_owned(), &submit(6), Memory::default());
        let refused = ledgers.attach(now, 6, "laptop").unwrap_err();
        assert_eq!(refused, Declined::Unknown);
        let led: Vec<u64> = ledgers.status(now).iter().map(|led| led.job).collect();
        assert_eq!(led, [5]);
    }

    #[test]
    fn clients_learn_that_the_node_leads_the_job_no_more() {
        let (mut ledgers, id, now) = leading();
        let mut telling = ledgers.attach(now, 5, "laptop").unwrap();
        told(&mut ledgers, &mut telling);
        ledgers.abandon(id);
        assert_eq!(told(&mut ledgers, &mut telling), ["abandoned"]);
        assert_eq!(ledgers.status(now), []);
        // When it leads the job again, after the same view, that is another ledger.
        let id = ledgers.begin("laptop".to_owned(), &submit(5), Memory::default());
        ledgers.begin_view(now, id, &next_view(3));
        let mut telling = ledgers.attach(now, 5, "laptop").unwrap();
        assert_eq!(told(&mut ledgers, &mut telling), ["ledger 2", "view 3"]);
    }

    #[test]
    fn outputs_are_told_before_the_end() {
        let (mut ledgers, id, now) = leading();
        let ended = Ended {
            seconds: Seconds::ZERO,
            supersteps: 4,
            messages: 1,
            bytes: 1,
            moved: 0,
        };
        let value = |host| (HostId(host), JobOutput::Value(Bytes::new()));
        let result = JobResult {
            outputs: [(Rank(0), value(0)), (Rank(1), value(3))].into(),
            ended: [(HostId(0), ended), (HostId(1), ended)].into(),
            ..JobResult::default()
        };
        let mut request = request(None);
        request.view = Some(next_view(3).view);
        ledgers.end(now, id, Ok((result, &request)));
        let mut telling = ledgers.attach(now, 5, "laptop").unwrap();
        let told = told(&mut ledgers, &mut telling);
        let outputs = ["output of p1 in view 3", "output of p2 in view 3"];
        assert_eq!(told[3..5], outputs);
        assert_eq!(told[5..], ["complete", "over"]);
    }

    #[test]
    fn a_job_that_has_failed_says_so_at_the_end() {
        let (mut ledgers, id, now) = leading();
        ledgers.end(now, id, Err(JobError::cluster("it burned")));
        let mut telling = ledgers.attach(now, 5, "laptop").unwrap();
        let told = told(&mut ledgers, &mut telling);
        assert_eq!(told[2..], ["1 lines", "it burned", "over"]);
    }

    #[test]
    fn jobs_that_have_ended_are_kept_for_an_hour_and_the_newest_ones_alone() {
        let (mut ledgers, id, now) = leading();
        ledgers.end(now, id, Err(JobError::cluster("")));
        let hour = now + KEEPING;
        assert_eq!(ledgers.status(hour - Duration::from_secs(1)).len(), 1);
        assert_eq!(ledgers.status(hour), []);
        let count = u64::try_from(LedJob::COUNT_MAX).unwrap();
        for job in 1..=count + 2 {
            let later = now + Duration::from_secs(job);
            let id = ledgers.begin("laptop".to_owned(), &submit(job), Memory::default());
            ledgers.begin_view(later, id, &next_view(2));
            ledgers.end(later, id, Err(JobError::cluster("")));
        }
        let led: Vec<u64> = ledgers.status(now).iter().map(|led| led.job).collect();
        assert_eq!(led, (3..=count + 2).collect::<Vec<_>>());
    }
}
