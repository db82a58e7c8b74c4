//! A client that follows a job which a node leads: what it takes of what leaders tell, and when it has the result.
//!
//! A leader tells all that it has seen, from its first view on. When the connection to it is lost, the client finds a leader again. If
//! that tells of the same ledger, the client skips what it has taken. Another leader begins with its own first view.

use std::collections::{BTreeMap, VecDeque};

use agents::Setup;
use agents::mutant::{self, Mutant};
use bsp::units::Seconds;
use bsp::{HostId, Rank};
use bytes::Bytes;
use protocol::transport::JobId;
use protocol::{
    Failed, Followed, FollowedEnd, FollowedView, JobMessage, Submit, View, displayed,
    displayed_message, is_displayable,
};
use record::Event;

use crate::client::{FollowedEvents, JobOutput, JobResult, NodeWord, Request};
use crate::job_error::JobError;
use crate::views::{LostMember, NextView};

/// The client of a job that a node leads, as a state machine: it receives events and returns actions.
#[derive(Debug)]
pub struct Follower {
    job: JobId,
    /// That of the view that goes on.
    request: Request,
    check: FollowedEvents,
    /// The number of that view.
    view: u64,
    calls: Vec<record::Call>,
    joins: Vec<record::Join>,
    checkpoints: Vec<record::Checkpoint>,
    outputs: BTreeMap<Rank, Bytes>,
    /// The leader to which it is attached, or was last.
    leader: Leader,
    /// How much of the ledger of that leader has been taken, and how much of that has been told again.
    taken: usize,
    told: usize,
    /// The next view, whose setup is awaited.
    next: Option<Box<NextView>>,
    end: Option<FollowedEnd>,
    is_over: bool,
    actions: VecDeque<FollowerAction>,
}

/// A leader that tells of a job, and what it tells of.
#[derive(Clone, Debug, PartialEq)]
struct Leader {
    name: String,
    /// The number of the ledger at this leader.
    ledger: u64,
    /// The view that was followed by the first one in it.
    base: Option<View>,
}

/// An event of a client that follows a job.
#[derive(Debug)]
pub enum FollowerEvent {
    /// The client has found another leader, of this name, or the same one again, which began to lead the job after this view.
    Attached(String, Box<Submit>),
    /// The leader has sent something.
    Leader(NodeWord),
    /// The setup of the nodes of the view that begins.
    SetUp(Box<Setup>),
}

/// What the shell of a client that follows a job is to do now. Actions are performed in order.
#[derive(Debug)]
pub enum FollowerAction {
    /// Show the observer that the job goes on in this view, and say the setup of its nodes before anything else happens.
    BeginView(Box<NextView>),
    /// Show the observer that the nodes of the view begin, this time after the leader knew of the loss.
    ShowBegun(Seconds),
    /// Show the observer the folder in which each node, by its name, has the files of jobs.
    ShowFolders(BTreeMap<String, String>),
    /// Pass an event of the record to the observer.
    Observe(Box<Event>),
    /// The leader is lost, for this reason: find one.
    Find(JobError),
    /// The job has ended, or is not followed any more.
    Finish(Box<Result<JobResult, JobError>>),
}

impl Follower {
    /// A client that is attached to `leader`, which began to lead the job after the view of `submit`: `request` is for that.
    #[must_use]
    pub fn new(job: JobId, request: Request, leader: String, submit: &Submit) -> Self {
        Self {
            job,
            check: FollowedEvents::new(&request.setup),
            view: request.view.as_ref().map_or(0, |view| view.number),
            request,
            calls: Vec::new(),
            joins: Vec::new(),
            checkpoints: Vec::new(),
            outputs: BTreeMap::new(),
            leader: Leader::new(leader, submit),
            taken: 0,
            told: 0,
            next: None,
            end: None,
            is_over: false,
            actions: VecDeque::new(),
        }
    }

    /// Handles an event.
    pub fn handle(&mut self, event: FollowerEvent) {
        if self.is_over {
            return;
        }
        let handled = match event {
            FollowerEvent::Attached(leader, submit) => {
                self.attach(Leader::new(leader, &submit));
                Ok(())
            }
            FollowerEvent::Leader(word) => self.handle_leader(word),
            FollowerEvent::SetUp(setup) => self.set_up(*setup),
        };
        if let Err(error) = handled {
            self.finish(Err(error));
        } else if let Some(end) = self
            .end
            .take_if(|_| self.outputs.len() == expected_outputs(&self.request))
        {
            let result = self.result(end);
            self.finish(result);
        }
    }

    /// The next action; `None` until the next event.
    pub fn poll(&mut self) -> Option<FollowerAction> {
        self.actions.pop_front()
    }

    /// The request for the view that goes on.
    #[must_use]
    pub const fn request(&self) -> &Request {
        &self.request
    }

    fn attach(&mut self, leader: Leader) {
        if self.leader != leader {
            self.taken = 0;
            // A view may have been told that too few nodes have accepted: then the next leader gives its number to another one.
            self.view = leader.base.as_ref().map_or(0, |view| view.number);
            self.leader = leader;
        }
        self.told = 0;
        self.end = None;
        self.outputs.clear();
    }

    fn handle_leader(&mut self, word: NodeWord) -> Result<(), JobError> {
        match word {
            NodeWord::Message(JobMessage::Followed(followed), _) => {
                self.told += 1;
                if self.told <= self.taken && !mutant::is(Mutant::TakeAgain) {
                    return Ok(());
                }
                // The leader sends the end again with the outputs, of which some may be missing when the leader is lost.
                if !matches!(*followed, Followed::Complete(_)) {
                    self.taken = self.told;
                }
                self.take(*followed)
            }
            NodeWord::Output { rank, output, .. }
                if rank.index() < expected_outputs(&self.request) =>
            {
                self.outputs.insert(rank, output);
                Ok(())
            }
            NodeWord::Closed(closed) if self.end.is_none() || closed.is_err() => {
                let error = NodeWord::Closed(closed).error(&self.leader.name);
                self.actions.push_back(FollowerAction::Find(error));
                Ok(())
            }
            // Outputs have streams of their own.
            NodeWord::Closed(_) => Ok(()),
            word @ (NodeWord::Message(..) | NodeWord::Output { .. }) => {
                Err(word.error(&self.leader.name))
            }
        }
    }

    /// Takes what the leader has seen next.
    fn take(&mut self, followed: Followed) -> Result<(), JobError> {
        let leader = &self.leader.name;
        let wrong = |problem: &str| JobError::cluster(format!("{leader} told {problem}"));
        match followed {
            Followed::View(view) => self.begin(view)?,
            Followed::Begun(restored) if restored < Seconds::ZERO => {
                return Err(wrong("a time below zero"));
            }
            Followed::Begun(restored) => {
                self.actions.push_back(FollowerAction::ShowBegun(restored));
            }
            Followed::Folders(folders) => {
                if !folders
                    .iter()
                    .all(|(name, folder)| is_displayable(name) && is_displayable(folder))
                {
                    return Err(wrong("a folder that cannot be displayed"));
                }
                self.actions.push_back(FollowerAction::ShowFolders(folders));
            }
            Followed::Events(lines) => {
                for line in lines.lines() {
                    let event = self.check.parse(line);
                    let event = event.map_err(|problem| wrong(&displayed_message(&problem)))?;
                    match &event {
                        Event::Call(call) => self.calls.push(call.clone().without_lists()),
                        Event::Join(join) => self.joins.push(join.clone()),
                        Event::Checkpoint(checkpoint) => self.checkpoints.push(checkpoint.clone()),
                        _ => {}
                    }
                    let observe = FollowerAction::Observe(Box::new(event));
                    self.actions.push_back(observe);
                }
            }
            Followed::Failed(failed) => {
                return Err(Failed {
                    message: displayed_message(&failed.message),
                    ..failed
                }
                .into());
            }
            Followed::Complete(end) => self.end = Some(end),
        }
        Ok(())
    }

    /// The job goes on in another view.
    fn begin(&mut self, view: FollowedView) -> Result<(), JobError> {
        let are_plain = view
            .members
            .iter()
            .all(|member| is_displayable(&member.name) && is_displayable(&member.set));
        let is_member = view.leader.index() < view.members.len();
        let is_time = view.silent.is_none_or(|silent| Seconds::ZERO <= silent);
        let limit = self.request.setup.superstep_limit;
        let are_numbers = view.number < VIEWS_MAX && view.repeats <= limit;
        if view.number <= self.view || !are_plain || !is_member || !is_time || !are_numbers {
            return Err(JobError::cluster(format!(
                "{} told a view that cannot be",
                self.leader.name
            )));
        }
        let next = NextView {
            job: self.job,
            view: View {
                number: view.number,
                leader: Some(view.leader),
                ..View::first(false)
            },
            members: view.members,
            hosts: Vec::new(),
            connected: Vec::new(),
            resumed: view.resumed,
            lost: view
                .lost
                .into_iter()
                .map(|(name, reason)| LostMember {
                    name: displayed(&name, NAME_MAX),
                    reason: displayed_message(&reason),
                    silent: view.silent,
                })
                .collect(),
            joined: view
                .joined
                .iter()
                .map(|name| displayed(name, NAME_MAX))
                .collect(),
            unproven: Vec::new(),
            pauses: Vec::new(),
            repeats: view.repeats,
            decided: None,
            since: None,
        };
        self.next = Some(Box::new(next.clone()));
        self.actions
            .push_back(FollowerAction::BeginView(Box::new(next)));
        Ok(())
    }

    /// The nodes of the view that begins have this setup.
    fn set_up(&mut self, setup: Setup) -> Result<(), JobError> {
        let Some(next) = self.next.take() else {
            return Ok(());
        };
        self.request = next.request(&self.request, setup)?;
        self.check = FollowedEvents::new(&self.request.setup);
        self.view = next.view.number;
        self.calls.clear();
        self.joins.clear();
        self.checkpoints.clear();
        Ok(())
    }

    /// The result of the job.
    fn result(&mut self, end: FollowedEnd) -> Result<JobResult, JobError> {
        let members = self.request.members.len();
        let processes = self.request.setup.placement.len();
        let are_hosts = end.hosts.iter().all(|host| host.index() < members);
        if end.hosts.len() != processes || !are_hosts || members < end.builds.len() {
            return Err(JobError::cluster(format!(
                "{} told an end that cannot be",
                self.leader.name
            )));
        }
        let host = |rank: Rank| end.hosts[rank.index()];
        let values = std::mem::take(&mut self.outputs).into_iter();
        let values = values.map(|(rank, value)| (rank, (host(rank), JobOutput::Value(value))));
        let files = end
            .files
            .iter()
            .filter(|file| file.rank.index() < processes);
        let files = files.map(|file| (file.rank, (host(file.rank), JobOutput::File(*file))));
        Ok(JobResult {
            outputs: values.chain(files).collect(),
            ended: BTreeMap::from([(HostId(0), end.end)]),
            calls: std::mem::take(&mut self.calls),
            joins: std::mem::take(&mut self.joins),
            checkpoints: std::mem::take(&mut self.checkpoints),
            builds: end.builds,
        })
    }

    fn finish(&mut self, result: Result<JobResult, JobError>) {
        self.is_over = true;
        self.actions
            .push_back(FollowerAction::Finish(Box::new(result)));
    }
}

impl Leader {
    fn new(name: String, submit: &Submit) -> Self {
        Self {
            name,
            ledger: submit.session,
            base: submit.view.clone(),
        }
    }
}

/// The number of outputs that leaders of the job send: none, if they are in files of the nodes.
fn expected_outputs(request: &Request) -> usize {
    let are_files = request.files.is_some_and(|files| files.outputs);
    if are_files {
        0
    } else {
        request.setup.placement.len()
    }
}

/// The number of a view is below it.
const VIEWS_MAX: u64 = 1 << 32;
/// The length of a name.
const NAME_MAX: usize = 64;

#[cfg(test)]
mod tests {
    use std::num::NonZeroU64;

    use protocol::Ended;

    use super::*;
    use crate::client::tests::request as request_of_client;
    use crate::input_memory::InputMemory;

    fn request() -> Request {
        let mut request = request_of_client(None);
        request.view = Some(View::first(true));
        request
    }

    fn submit(ledger: u64, view: u64) -> Submit {
        let request = request();
        Submit {
            job: 7,
            session: ledger,
            host: HostId(0),
            members: request.members,
            experiment: String::new(),
            folder: Default::default(),
            processes: 2,
            checkpoint: None,
            resumed: None,
            files: None,
            view: Some(View {
                number: view,
                ..View::first(true)
            }),
            memory: None,
            wait: Seconds::ZERO,
        }
    }

    fn view(number: u64) -> Followed {
        Followed::View(FollowedView {
            number,
            members: request().members,
            leader: HostId(0),
            resumed: None,
            lost: Vec::new(),
            joined: Vec::new(),
            silent: None,
            repeats: 0,
        })
    }

    /// Process 1 has moved to this host.
    fn moved(host: u32) -> Followed {
        Followed::Events(format!(
            "{{\"event\":\"moved\",\"at\":1.0,\"rank\":1,\"host\":{host},\"epoch\":1,\"bytes\":1,\"took\":0.1}}\n"
        ))
    }

    fn complete() -> Followed {
        Followed::Complete(FollowedEnd {
            end: Ended {
                seconds: Seconds::ZERO,
                supersteps: 1,
                messages: 0,
                bytes: 0,
                moved: 0,
            },
            builds: Vec::new(),
            hosts: vec![HostId(0), HostId(3)],
            files: Vec::new(),
        })
    }

    /// A client that is attached to the first ledger of the node `n1`, after view 1.
    struct Client {
        follower: Follower,
        /// What it has done: a word each.
        done: Vec<String>,
    }

    impl Client {
        fn new() -> Self {
            let job = JobId(NonZeroU64::new(7).unwrap());
            let follower = Follower::new(job, request(), "n1".to_owned(), &submit(1, 1));
            Self {
                follower,
                done: Vec::new(),
            }
        }

        fn tell(&mut self, event: FollowerEvent) {
            self.follower.handle(event);
            while let Some(action) = self.follower.poll() {
                self.done.push(match action {
                    FollowerAction::BeginView(next) => {
                        let setup = Box::new(request().setup);
                        self.follower.handle(FollowerEvent::SetUp(setup));
                        format!("view {}", next.view.number)
                    }
                    FollowerAction::ShowBegun(_) => "begun".to_owned(),
                    FollowerAction::ShowFolders(_) => "folders".to_owned(),
                    FollowerAction::Observe(event) => match *event {
                        Event::Moved(moved) => format!("moved to {}", moved.host),
                        other => panic!("{other:?}"),
                    },
                    FollowerAction::Find(error) => format!("find: {error}"),
                    FollowerAction::Finish(result) => match *result {
                        Ok(result) => format!("{} outputs", result.outputs.len()),
                        Err(error) => error.message,
                    },
                });
            }
        }

        fn told(&mut self, all: impl IntoIterator<Item = Followed>) {
            for followed in all {
                let message = JobMessage::Followed(Box::new(followed));
                let word = NodeWord::Message(message, InputMemory::default());
                self.tell(FollowerEvent::Leader(word));
            }
        }

        fn output(&mut self, rank: u32) {
            self.tell(FollowerEvent::Leader(NodeWord::Output {
                view: 2,
                rank: Rank(rank),
                output: Bytes::new(),
            }));
        }

        fn lose(&mut self) {
            let lost = NodeWord::Closed(Err(JobError::cluster("lost")));
            self.tell(FollowerEvent::Leader(lost));
            assert_eq!(self.done.pop().unwrap(), "find: lost");
        }

        fn attach(&mut self, leader: &str, ledger: u64, view: u64) {
            let submit = Box::new(submit(ledger, view));
            self.tell(FollowerEvent::Attached(leader.to_owned(), submit));
        }
    }

    #[test]
    fn what_was_taken_of_a_ledger_is_skipped_when_the_same_one_is_told_again() {
        let mut client = Client::new();
        let all = [view(2), moved(1), moved(2), moved(3)];
        client.told(all[..3].to_vec());
        client.lose();
        client.attach("n1", 1, 1);
        // It may be lost again before it has told anything new.
        client.told(all[..2].to_vec());
        client.lose();
        client.attach("n1", 1, 1);
        client.told(all);
        let expected = [
            "view 2",
            "moved to host 1",
            "moved to host 2",
            "moved to host 3",
        ];
        assert_eq!(client.done, expected);
    }

    #[test]
    fn another_ledger_is_taken_from_its_beginning() {
        for (leader, ledger, base) in [("n2", 1, 2), ("n1", 2, 1), ("n1", 1, 2)] {
            let mut client = Client::new();
            client.told([view(2), moved(1)]);
            client.lose();
            client.attach(leader, ledger, base);
            client.told([view(3), moved(2), moved(3)]);
            let expected = [
                "view 2",
                "moved to host 1",
                "view 3",
                "moved to host 2",
                "moved to host 3",
            ];
            assert_eq!(client.done, expected, "{leader} {ledger} {base}");
        }
    }

    /// The first leader was lost before enough nodes had accepted its view.
    #[test]
    fn the_next_leader_may_give_another_view_the_number_of_one_that_has_not_begun() {
        let mut client = Client::new();
        client.told([view(2)]);
        client.lose();
        client.attach("n2", 1, 1);
        client.told([view(2), Followed::Begun(Seconds::ZERO)]);
        assert_eq!(client.done, ["view 2", "view 2", "begun"]);
    }

    #[test]
    fn a_view_that_does_not_follow_ends_it() {
        for number in [0, 1, 2, VIEWS_MAX] {
            let mut client = Client::new();
            client.told([view(2), view(number)]);
            assert_eq!(client.done, ["view 2", "n1 told a view that cannot be"]);
        }
    }

    #[test]
    fn the_job_is_complete_with_all_outputs_whatever_overtakes_what() {
        let mut client = Client::new();
        client.told([view(2)]);
        client.output(1);
        client.told([complete()]);
        assert_eq!(client.done, ["view 2"]);
        client.output(0);
        assert_eq!(client.done, ["view 2", "2 outputs"]);
        client.told([moved(1)]);
        assert_eq!(client.done.len(), 2, "nothing follows the end");
    }

    #[test]
    fn outputs_are_sent_again_by_a_leader_that_was_lost() {
        let mut client = Client::new();
        client.told([view(2)]);
        client.output(0);
        client.told([complete()]);
        client.lose();
        client.attach("n1", 1, 1);
        client.output(1);
        client.told([view(2), complete()]);
        assert_eq!(client.done, ["view 2"]);
        client.output(0);
        assert_eq!(client.done, ["view 2", "2 outputs"]);
    }

    #[test]
    fn what_no_leader_tells_ends_it() {
        let mut client = Client::new();
        client.told([Followed::Events("{}\n".to_owned())]);
        assert!(client.done[0].starts_with("n1 told "), "{:?}", client.done);
        let mut client = Client::new();
        client.output(2);
        let expected = "n1 sent an unexpected output of p3";
        assert_eq!(client.done, [expected]);
        let mut client = Client::new();
        let Followed::Complete(end) = complete() else {
            unreachable!("it is one");
        };
        client.output(0);
        client.output(1);
        client.told([Followed::Complete(FollowedEnd {
            hosts: vec![HostId(0), HostId(6)],
            ..end
        })]);
        assert_eq!(client.done, ["n1 told an end that cannot be"]);
    }
}
