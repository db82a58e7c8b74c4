use std::sync::Arc;

use agents::{Barrier, Collection, Shape, TransferStart};
use protocol::JobFolder;
use simulator::{NetworkOptions, Platform};

use super::*;

/// Hosts 0 to 2 are a Set, 3 and 4 another, 5 a third.
const PLATFORM: &str = include_str!("../../../three_sets.toml");

/// A job of two processes, p1 on host 0 and p2 on host 3, whose nodes write `files`.
pub(crate) fn request(files: Option<NodeFiles>) -> Request {
    let member = |index: usize| Member {
        name: format!("n{index}"),
        address: "127.0.0.1:1".to_owned(),
        set: "s".to_owned(),
        slots: 1,
        speed: 1.0,
    };
    Request {
        builds: Builds::same_as(build()),
        workload: "counter".to_owned(),
        members: (0..6).map(member).collect(),
        experiment: String::new(),
        folder: InputFolder::default(),
        checkpoint: None,
        files,
        view: None,
        memory_part: None,
        is_left: false,
        grace: Duration::ZERO,
        wait: Seconds::ZERO,
        setup: Setup {
            platform: Arc::new(Platform::from_toml(PLATFORM).unwrap()),
            network: NetworkOptions::default(),
            start: TransferStart::Eager,
            placement: [0, 3].map(HostId).to_vec(),
            barrier: Barrier {
                shape: Shape::Central,
                collection: Collection::AsTheyCome,
                ..Barrier::default()
            },
            scheduler: None,
            elasticity: None,
            awaited: None,
            checkpointing: None,
            superstep_limit: 1000,
            traced: false,
            repeats: true,
            resumed: None,
        },
    }
}

fn build() -> Build {
    Build::new("counter", "0.1.0", [0; Build::DIGEST_LEN]).unwrap()
}

const ON_NODES: NodeFiles = NodeFiles {
    job: JobFolder(7),
    outputs: true,
};

/// The client, and what it has done.
struct Client<'a> {
    machine: ClientMachine<'a>,
    refused: Vec<(HostId, String)>,
    finished: Option<Result<JobResult, JobError>>,
    /// Whether other nodes have led the job, or do.
    is_overtaken: bool,
    left: Option<Suspension>,
    /// The nodes that were sent something.
    sent: Vec<HostId>,
    folders: BTreeMap<HostId, String>,
    observed: Vec<Event>,
    now: Clock,
}

impl<'a> Client<'a> {
    fn new(request: &'a Request) -> Self {
        let now = Clock::now();
        let machine = ClientMachine::new(request, (JobIds::random(), Vec::new()), now);
        Self::with(machine, now)
    }

    /// A node that asks to lead the job.
    fn candidate(request: &'a Request) -> Self {
        let now = Clock::now();
        let machine = ClientMachine::taking_over(request, JobIds::random(), now);
        Self::with(machine, now)
    }

    /// All nodes are connected.
    fn with(machine: ClientMachine<'a>, now: Clock) -> Self {
        let mut client = Self {
            machine,
            refused: Vec::new(),
            finished: None,
            is_overtaken: false,
            left: None,
            sent: Vec::new(),
            folders: BTreeMap::new(),
            observed: Vec::new(),
            now,
        };
        for host in client.machine.hosts() {
            client.tell(ClientEvent::Connected(
                host,
                Ok((build(), Role::SetManager)),
            ));
        }
        client
    }

    fn tell(&mut self, event: ClientEvent) {
        self.machine.handle(self.now, event);
        while let Some(action) = self.machine.poll() {
            match action {
                ClientAction::Refuse(host, problem) => self.refused.push((host, problem)),
                ClientAction::Overtaken(error) => {
                    self.is_overtaken = true;
                    self.finished = Some(Err(*error));
                }
                ClientAction::Finish(result) => self.finished = Some(*result),
                ClientAction::ShowFolders(folders) => self.folders = folders,
                ClientAction::Observe(event) => self.observed.push(*event),
                ClientAction::Send(host, _) => self.sent.push(host),
                ClientAction::GoOn(left) => self.left = Some(*left),
                ClientAction::ShowView
                | ClientAction::Leave
                | ClientAction::ShowMissingMemory(_)
                | ClientAction::Connect(..)
                | ClientAction::SendState(..) => {}
            }
        }
    }

    fn say(&mut self, host: u32, message: JobMessage) {
        let word = NodeWord::Message(message, InputMemory::default());
        self.tell(ClientEvent::Node(HostId(host), word));
    }

    /// All nodes accept the job, each with this folder, and begin.
    fn begin(&mut self, folder: Option<&str>) {
        for host in 0..6 {
            let folder = folder.map(str::to_owned);
            let counts = false;
            self.say(host, JobMessage::Accepted { counts, folder });
        }
        for host in 0..6 {
            self.say(host, JobMessage::Built);
            self.say(
                host,
                JobMessage::Ready {
                    states: 0,
                    free: None,
                },
            );
        }
    }

    fn end(&mut self) {
        for host in 0..6 {
            self.say(
                host,
                JobMessage::Ended(Ended {
                    seconds: Seconds::ZERO,
                    supersteps: 1,
                    messages: 0,
                    bytes: 0,
                    moved: 0,
                }),
            );
        }
    }
}

fn written(rank: u32) -> WrittenOutput {
    WrittenOutput {
        rank: Rank(rank),
        length: 1,
        sha256: [1; 32],
    }
}

#[test]
fn outputs_in_files_are_complete_with_a_file_of_each_process_from_the_node_on_which_it_ended() {
    let request = request(Some(ON_NODES));
    let mut client = Client::new(&request);
    client.begin(Some("/scratch"));
    client.say(3, JobMessage::OutputWritten(written(1)));
    client.end();
    assert!(client.finished.is_none());
    client.say(0, JobMessage::OutputWritten(written(0)));
    let result = client.finished.unwrap().unwrap();
    let file = |host, rank| (HostId(host), JobOutput::File(written(rank)));
    let expected = BTreeMap::from([(Rank(0), file(0, 0)), (Rank(1), file(3, 1))]);
    assert_eq!(result.outputs, expected);
    assert_eq!(client.folders[&HostId(5)], "/scratch");
    assert_eq!(client.refused, []);
}

#[test]
fn files_with_outputs_that_no_honest_node_names_are_refused() {
    let value = |rank| NodeWord::Output {
        view: 0,
        rank: Rank(rank),
        output: Bytes::from_static(b"1"),
    };
    let file = |rank| {
        let message = JobMessage::OutputWritten(written(rank));
        NodeWord::Message(message, InputMemory::default())
    };
    for (files, words, problem) in [
        (
            Some(ON_NODES),
            vec![(0, file(2))],
            "n0 sent an unexpected file with the output of p3",
        ),
        (
            Some(ON_NODES),
            vec![(0, file(0)), (0, file(0))],
            "n0 sent an unexpected file with the output of p1",
        ),
        (
            Some(ON_NODES),
            vec![(0, file(0)), (4, file(1))],
            "n4 sent the output of p2, which ended elsewhere",
        ),
        (
            Some(ON_NODES),
            vec![(0, value(0))],
            "n0 sent an unexpected output of p1",
        ),
        (
            None,
            vec![(0, file(0))],
            "n0 sent an unexpected file with the output of p1",
        ),
    ] {
        let request = request(files);
        let mut client = Client::new(&request);
        client.begin(files.map(|_| "/scratch"));
        client.end();
        let mut last = 0;
        for (host, word) in words {
            last = host;
            client.tell(ClientEvent::Node(HostId(host), word));
        }
        assert_eq!(client.refused, [(HostId(last), problem.to_owned())]);
        for host in 0..6 {
            let gone = NodeWord::Closed(Ok("stopped".to_owned()));
            client.tell(ClientEvent::Node(HostId(host), gone));
        }
        assert_eq!(client.finished.unwrap().unwrap_err().message, problem);
    }
}

#[test]
fn a_folder_that_is_no_plain_absolute_path_is_refused() {
    let long = format!("/{}", "x".repeat(4096));
    for (files, folder) in [
        (Some(ON_NODES), None),
        (Some(ON_NODES), Some("")),
        (Some(ON_NODES), Some("scratch")),
        (Some(ON_NODES), Some("/scratch/../etc")),
        (Some(ON_NODES), Some("/scratch\u{1b}[2J")),
        (Some(ON_NODES), Some(long.as_str())),
        (None, Some("/scratch")),
    ] {
        let request = request(files);
        let mut client = Client::new(&request);
        client.say(
            2,
            JobMessage::Accepted {
                counts: true,
                folder: folder.map(str::to_owned),
            },
        );
        let [(host, problem)] = &client.refused[..] else {
            panic!("{folder:?}: {:?}", client.refused)
        };
        assert_eq!(*host, HostId(2));
        assert!(problem.starts_with("n2 sent "), "{problem}");
        assert!(!problem.contains("scratch"), "{problem}");
    }
}

fn snapshot(superstep: u64, rank: u32, host: u32) -> String {
    let snapshot = record::Snapshot {
        superstep,
        rank: Rank(rank),
        host: HostId(host),
        name: "field".parse().unwrap(),
        encoding: bsp::SnapshotEncoding::MessagePack,
        bytes: units::Bytes(9),
        sha256: record::Sha256Digest([7; 32]),
        contents: None,
    };
    serde_json::to_string(&Event::Snapshot(snapshot)).unwrap() + "\n"
}

/// A superstep that is over, in which p1 was slowest.
fn superstep(index: u64) -> String {
    format!(
        "{{\"event\":\"superstep\",\"index\":{index},\"started\":0.0,\"ended\":1.0,\"slowest\":0,\
         \"computation\":0.5,\"messages\":0}}\n"
    )
}

/// What is observed, in short.
fn observed(client: &Client<'_>) -> Vec<String> {
    let names = client.observed.iter().map(|event| match event {
        Event::Superstep(superstep) => format!("superstep {}", superstep.index),
        Event::Snapshot(snapshot) => format!("{} in {}", snapshot.rank, snapshot.superstep),
        event => format!("{event:?}"),
    });
    names.collect()
}

#[test]
fn files_of_a_superstep_are_recorded_with_its_end_however_early_or_late_they_are_known() {
    let request = request(Some(ON_NODES));
    let mut client = Client::new(&request);
    client.begin(Some("/scratch"));
    let recorded = |client: &mut Client<'_>, host, lines: String| {
        client.say(host, JobMessage::Recorded(lines));
    };
    // The second node is ahead of the first.
    recorded(&mut client, 3, snapshot(0, 1, 3) + &snapshot(1, 1, 3));
    assert!(client.observed.is_empty());
    recorded(
        &mut client,
        0,
        snapshot(0, 0, 0) + &superstep(0) + &superstep(1),
    );
    recorded(&mut client, 0, snapshot(1, 0, 0));
    assert_eq!(
        observed(&client),
        [
            "p1 in 0",
            "p2 in 0",
            "superstep 0",
            "p2 in 1",
            "superstep 1",
            "p1 in 1"
        ]
    );
    assert_eq!(client.refused, []);
}

#[test]
fn files_that_no_process_of_the_node_has_written_are_refused() {
    let numbered = |number: u32| {
        let name = format!("field-{number}");
        (3, snapshot(0, 1, 3).replace("field", &name))
    };
    for (sent, problem) in [
        // p2 is on host 3.
        (
            vec![(0, snapshot(0, 1, 0)), (0, superstep(0))],
            "the file `field` of p2 in superstep 0, which was elsewhere",
        ),
        (
            vec![(0, superstep(0)), (0, snapshot(0, 1, 0))],
            "the file `field` of p2 in superstep 0, which was elsewhere",
        ),
        (
            vec![(3, snapshot(0, 1, 3)), (3, snapshot(0, 1, 3))],
            "the file `field` of p2 in superstep 0 twice",
        ),
        (
            vec![
                (3, snapshot(0, 1, 3)),
                (0, superstep(0)),
                (3, snapshot(0, 1, 3)),
            ],
            "the file `field` of p2 in superstep 0 twice",
        ),
        (
            (0..17).map(numbered).collect(),
            "more than 16 files of p2 in superstep 0",
        ),
        (
            [(0, superstep(0))]
                .into_iter()
                .chain((0..17).map(numbered))
                .collect(),
            "more than 16 files of p2 in superstep 0",
        ),
        (
            vec![(3, snapshot(0, 0, 0))],
            "that this node does not record",
        ),
        (vec![(3, snapshot(0, 7, 3))], "process 7"),
    ] {
        let request = request(Some(ON_NODES));
        let mut client = Client::new(&request);
        client.begin(Some("/scratch"));
        for (host, lines) in sent {
            client.say(host, JobMessage::Recorded(lines));
        }
        let [(_, refused)] = &client.refused[..] else {
            panic!("{problem}: {:?}", client.refused)
        };
        assert!(refused.contains(problem), "{problem}: {refused}");
    }
}

#[test]
fn a_file_of_a_superstep_that_the_job_does_not_have_is_refused_at_the_end() {
    let request = request(Some(ON_NODES));
    let mut client = Client::new(&request);
    client.begin(Some("/scratch"));
    client.say(3, JobMessage::Recorded(snapshot(1, 1, 3)));
    client.say(0, JobMessage::Recorded(superstep(0)));
    client.say(0, JobMessage::OutputWritten(written(0)));
    client.say(3, JobMessage::OutputWritten(written(1)));
    client.end();
    let problem = "n3 sent a file of superstep 1, which the job does not have".to_owned();
    assert_eq!(client.refused, [(HostId(3), problem)]);
}

/// The request of the first view of a job that goes on.
fn going_on() -> Request {
    Request {
        view: Some(View::first(true)),
        ..request(None)
    }
}

/// A node has left the session, and has lost these.
fn suspended(lost: &[u32]) -> JobMessage {
    let lost = lost.iter().map(|host| LostNode {
        host: HostId(*host),
        reason: format!("n{host} is silent"),
        silent: Seconds::new(2.5).ok(),
    });
    JobMessage::Suspended(Box::new(Suspended {
        lost: lost.collect(),
        saved: Vec::new(),
        completed: 0,
        leaves: None,
        views: Vec::new(),
    }))
}

/// A node leaves the job.
fn leaving() -> JobMessage {
    JobMessage::Suspended(Box::new(Suspended {
        lost: Vec::new(),
        saved: Vec::new(),
        completed: 0,
        leaves: Some("n2 has been told to leave".to_owned()),
        views: Vec::new(),
    }))
}

fn failed(fault: Fault) -> JobMessage {
    JobMessage::Failed(protocol::Failed {
        fault,
        message: "n2: no more".to_owned(),
    })
}

#[test]
fn when_a_node_is_lost_the_others_leave_and_the_client_ends_with_what_they_have() {
    let request = going_on();
    let mut client = Client::new(&request);
    client.begin(None);
    client.sent.clear();
    client.say(3, suspended(&[5]));
    // All that have not left are told to.
    assert_eq!(client.sent, [0, 1, 2, 4, 5].map(HostId));
    for host in [0, 1, 2, 4] {
        assert!(client.left.is_none());
        client.say(host, suspended(&[]));
    }
    // The one that another has lost is waited for a little longer.
    assert!(client.left.is_none());
    client.now += MISSED_LIMIT;
    client.tell(ClientEvent::Tick);
    let left = client.left.unwrap();
    let lost = &left.lost[&HostId(5)];
    assert_eq!(lost.reason, "n5 is silent");
    assert_eq!(lost.silent, Seconds::new(2.5).ok());
    assert_eq!(left.suspended.len(), 5);
    assert!(client.finished.is_none() && client.refused.is_empty());
}

#[test]
fn a_node_that_is_there_although_another_has_lost_it_is_not_lost() {
    let request = going_on();
    let mut client = Client::new(&request);
    client.begin(None);
    client.say(3, suspended(&[5]));
    for host in [0, 1, 2, 4, 5] {
        client.say(host, suspended(&[]));
    }
    let left = client.left.unwrap();
    assert_eq!((left.lost.len(), left.suspended.len()), (0, 6));
}

/// Outputs have streams of their own.
#[test]
fn outputs_of_the_view_before_have_no_effect() {
    let mut request = going_on();
    request.view.as_mut().unwrap().number = 2;
    let mut client = Client::new(&request);
    let late = NodeWord::Output {
        view: 1,
        rank: Rank(0),
        output: vec![7].into(),
    };
    client.tell(ClientEvent::Node(HostId(0), late));
    assert!(client.refused.is_empty() && client.finished.is_none());
    client.begin(None);
    assert!(client.machine.result.outputs.is_empty());
}

/// A node that asked to lead connected to it for the view before.
#[test]
fn a_node_that_connects_too_late_for_the_view_before_is_not_asked() {
    let request = going_on();
    let mut client = Client::new(&request);
    client.begin(None);
    client.say(3, suspended(&[5]));
    client.sent.clear();
    let late = ClientEvent::Connected(HostId(0), Ok((build(), Role::Node)));
    client.tell(late);
    assert_eq!(client.sent, [HostId(0); 0]);
    for host in [0, 1, 2, 4, 5] {
        client.say(host, suspended(&[]));
    }
    let left = client.left.unwrap();
    assert_eq!(left.connected[&HostId(0)].1, Role::SetManager);
    assert!(left.is_complete);
}

#[test]
fn a_job_in_which_too_few_nodes_have_a_part_is_over() {
    let unknown = || JobMessage::Declined(Declined::Unknown);
    for (leader, gone) in [(None, 3), (Some(HostId(5)), 4), (Some(HostId(0)), 3)] {
        let mut request = going_on();
        request.view.as_mut().unwrap().leader = leader;
        let mut client = Client::candidate(&request);
        for host in 0..gone {
            assert!(client.finished.is_none() && client.left.is_none());
            // A node that says it twice counts once.
            client.say(host, unknown());
            client.say(host, unknown());
        }
        let error = client.finished.unwrap().unwrap_err();
        let said = format!("{gone} of the 6 nodes of its last view have no part in it");
        assert!(error.message.contains(&said), "{error}");
    }
}

/// A hostile node that says so is lost, like any other that leaves.
#[test]
fn half_of_the_nodes_do_not_end_the_job_of_a_client_that_leads_it() {
    let request = going_on();
    let mut client = Client::new(&request);
    client.begin(None);
    client.say(5, suspended(&[]));
    for host in [0, 1, 2] {
        client.say(host, JobMessage::Declined(Declined::Unknown));
    }
    for host in [3, 4] {
        client.say(host, suspended(&[]));
    }
    let left = client.left.unwrap();
    assert_eq!((left.lost.len(), left.suspended.len()), (3, 3));
    assert!(client.finished.is_none());
}

/// Of two that ask at once, the one that cannot get enough votes lets the other have those that it has.
#[test]
fn a_candidate_without_votes_gives_up_at_once() {
    let request = going_on();
    let mut client = Client::candidate(&request);
    client.say(0, suspended(&[]));
    client.say(1, suspended(&[]));
    for host in [2, 3, 4] {
        client.say(
            host,
            JobMessage::Declined(Declined::Follows("n5".to_owned())),
        );
        assert_eq!(client.left.is_some(), host == 4);
    }
}

#[test]
fn a_node_that_leaves_or_does_not_answer_is_lost() {
    let request = going_on();
    let mut client = Client::new(&request);
    client.begin(None);
    client.say(2, leaving());
    for host in [0, 1, 3] {
        client.say(host, suspended(&[]));
    }
    let gone = NodeWord::Closed(Ok("bye".to_owned()));
    client.tell(ClientEvent::Node(HostId(4), gone));
    client.now += SUSPEND_LIMIT;
    client.tell(ClientEvent::Tick);
    let left = client.left.unwrap();
    let reasons: Vec<&str> = left.lost.values().map(|lost| &lost.reason[..]).collect();
    assert_eq!(
        reasons,
        [
            "n2 has been told to leave",
            "n4 has left: bye",
            "n5 has not answered in 4 s"
        ]
    );
}

#[test]
fn an_error_of_the_program_ends_the_job_although_nodes_have_left() {
    for (first, second) in [
        (suspended(&[]), failed(Fault::Program)),
        (suspended(&[5]), failed(Fault::Cluster)),
    ] {
        let request = going_on();
        let mut client = Client::new(&request);
        client.begin(None);
        client.say(3, first);
        client.say(2, second);
        client.now += CAUSE_LIMIT;
        client.tell(ClientEvent::Tick);
        assert!(client.left.is_none());
        let error = client.finished.unwrap().unwrap_err();
        assert_eq!(error.message, "n2: no more");
    }
}

#[test]
fn a_loss_before_the_first_view_begins_ends_the_job() {
    let request = going_on();
    let mut client = Client::new(&request);
    client.say(3, suspended(&[5]));
    client.now += CAUSE_LIMIT;
    client.tell(ClientEvent::Tick);
    assert!(client.left.is_none());
    let error = client.finished.unwrap().unwrap_err();
    assert_eq!(error.message, "n3: n5 is silent");
}

#[test]
fn what_no_honest_node_says_of_its_pieces_is_refused_and_the_job_goes_on_without_it() {
    let pieces = |ranks: &[u32]| protocol::SavedPieces {
        incarnation: 0,
        superstep: 5,
        pieces: ranks
            .iter()
            .map(|rank| protocol::SavedProcess {
                rank: Rank(*rank),
                is_copy: false,
                halted: None,
                work: 1,
            })
            .collect(),
    };
    let with = |saved| {
        JobMessage::Suspended(Box::new(Suspended {
            lost: Vec::new(),
            saved,
            completed: 0,
            leaves: None,
            views: Vec::new(),
        }))
    };
    for (said, problem) in [
        (suspended(&[6]), "the loss of a node"),
        (suspended(&[0, 1, 2, 3, 4, 5, 0]), "the loss of a node"),
        (with(vec![pieces(&[0]); 3]), "pieces of 3 checkpoints"),
        (with(vec![pieces(&[0, 0])]), "a piece of a process twice"),
        (with(vec![pieces(&[2])]), "a piece of a process twice"),
    ] {
        let request = going_on();
        let mut client = Client::new(&request);
        client.begin(None);
        for host in 0..5 {
            client.say(host, suspended(&[]));
        }
        client.say(5, said);
        let [(host, refused)] = &client.refused[..] else {
            panic!("{problem}: {:?}", client.refused);
        };
        assert_eq!(*host, HostId(5));
        assert!(refused.contains(problem), "{refused}");
        assert!(client.left.unwrap().lost.contains_key(&HostId(5)));
    }
}

/// A job that goes on when a node is lost, whose processes are saved, with one node in its pool.
fn with_pool() -> Request {
    let mut request = going_on();
    request.setup.checkpointing = Some(agents::Checkpointing {
        interval: agents::CheckpointInterval::Supersteps(1000),
        first: Seconds::ZERO,
        mtbf: Seconds::new(1e6).unwrap(),
        copies: true,
        keep: std::num::NonZeroU32::MIN,
        costs: agents::CheckpointCosts {
            encoding: units::BytesPerSecond::new(1e9).unwrap(),
            fork: units::BytesPerSecond::new(1e9).unwrap(),
            forks: true,
            bytes: None,
            change: 1.0,
        },
    });
    let spare = Member {
        name: "spare".to_owned(),
        ..request.members[0].clone()
    };
    if let Some(view) = &mut request.view {
        view.pool.push(spare);
    }
    request
}

fn status(is_busy: bool) -> JobMessage {
    status_with(is_busy, Vec::new())
}

/// The status of a node that is busy, or not, and has led these jobs.
fn status_with(is_busy: bool, led: Vec<protocol::LedJob>) -> JobMessage {
    let job = is_busy.then(|| protocol::JobStatus {
        job: 7,
        client: "another".to_owned(),
        leader: protocol::Leader::Client,
        view: 1,
        since: Seconds::ZERO,
        superstep: 1,
        supersteps: None,
        processes: 1,
        calls: None,
        notes: bsp::Notes::default(),
    });
    JobMessage::Status(Box::new(Status {
        workloads: Vec::new(),
        abandoned: None,
        up: Seconds::ZERO,
        speed: 1e9,
        processors: 1,
        load: (0.0, 0.0),
        job,
        jobs: 0,
        refused: 0,
        memory: None,
        led,
        others: Vec::new(),
    }))
}

/// A complete checkpoint before this superstep, as a line of the record.
fn checkpoint(superstep: u64, held: bool) -> String {
    let event = Event::Checkpoint(Checkpoint {
        superstep,
        at: Instant::START,
        stall: Seconds::ZERO,
        encoding: Seconds::ZERO,
        bytes: units::Bytes(1),
        sent: units::Bytes(1),
        complete: Instant::START,
        problem: None,
        held,
    });
    serde_json::to_string(&event).unwrap() + "\n"
}

/// The node that led the job could not tell the others that it is complete: they have gone on with another leader.
#[test]
fn a_job_that_a_node_of_the_pool_has_completed_is_over() {
    let led = |job, is_complete| protocol::LedJob {
        job,
        owner: "alice".to_owned(),
        ended: Some(Seconds::ZERO),
        is_complete,
    };
    for (leader, role, is_complete, is_over) in [
        (Some(HostId(5)), Role::SetManager, true, true),
        (Some(HostId(5)), Role::SetManager, false, false),
        (Some(HostId(5)), Role::Node, true, false),
        (None, Role::SetManager, true, false),
    ] {
        let mut request = with_pool();
        request.view.as_mut().unwrap().leader = leader;
        let mut client = Client::new(&request);
        client.begin(None);
        let spare = 6;
        let connected = ClientEvent::Connected(HostId(spare), Ok((build(), role)));
        client.tell(connected);
        let job = client.machine.ids.job.0.get();
        client.say(spare, status_with(true, vec![led(job ^ 1, true)]));
        client.now += Duration::from_secs(2);
        client.tell(ClientEvent::Tick);
        client.sent.clear();
        client.say(spare, status_with(true, vec![led(job, is_complete)]));
        if is_over {
            assert_eq!(client.sent, [0, 1, 2, 3, 4, 5].map(HostId), "all stop");
            for host in 0..6 {
                let stopped = JobError::cluster("stopped").reported();
                client.say(host, JobMessage::Failed(stopped.into()));
            }
        }
        assert_eq!(client.is_overtaken, is_over);
        let error = client.finished.and_then(Result::err);
        let error = error.map(|error| error.message);
        let over = "the job is over: spare has led it to its end";
        assert_eq!(error.as_deref(), is_over.then_some(over));
    }
}

#[test]
fn a_free_node_of_the_pool_joins_when_processes_are_held_and_saved() {
    let request = with_pool();
    let mut client = Client::new(&request);
    client.begin(None);
    let spare = 6;
    client.sent.clear();
    client.tell(ClientEvent::Connected(
        HostId(spare),
        Ok((build(), Role::Node)),
    ));
    assert_eq!(client.sent, [HostId(spare)], "it is asked how it is");
    client.say(spare, status(true));
    assert_eq!(client.sent.len(), 1, "it is busy");
    client.now += Duration::from_secs(2);
    client.tell(ClientEvent::Tick);
    assert_eq!(client.sent, [HostId(spare); 2], "it is asked again");
    client.sent.clear();
    client.say(spare, status(false));
    assert_eq!(
        client.sent,
        [0, 1, 2, 3, 4, 5].map(HostId),
        "processes are held"
    );
    client.sent.clear();
    // One that was under way.
    client.say(0, JobMessage::Recorded(checkpoint(3, false)));
    assert!(client.sent.is_empty());
    client.say(0, JobMessage::Recorded(checkpoint(4, true)));
    assert_eq!(client.sent, [0, 1, 2, 3, 4, 5].map(HostId), "the view ends");
    for host in 0..6 {
        client.say(host, suspended(&[]));
    }
    let left = client.left.unwrap();
    assert!(left.lost.is_empty());
    let joining: Vec<HostId> = left.joining.keys().copied().collect();
    assert_eq!(joining, [HostId(spare)]);
}

/// A job whose client waits for a last checkpoint for ten seconds when it is interrupted.
fn with_grace() -> Request {
    Request {
        grace: Duration::from_secs(10),
        ..with_pool()
    }
}

#[test]
fn an_interrupted_job_with_grace_ends_when_its_last_checkpoint_is_complete() {
    let request = with_grace();
    let mut client = Client::new(&request);
    client.begin(None);
    client.sent.clear();
    client.tell(ClientEvent::Interrupted);
    let all = [0, 1, 2, 3, 4, 5].map(HostId);
    assert_eq!(client.sent, all, "processes are held");
    client.sent.clear();
    client.say(0, JobMessage::Recorded(checkpoint(3, false)));
    assert!(client.sent.is_empty(), "one that was under way");
    client.say(0, JobMessage::Recorded(checkpoint(4, true)));
    assert_eq!(client.sent, all, "nodes stop");
    assert!(client.left.is_none() && client.finished.is_none());
    client.now += REST_LIMIT;
    client.tell(ClientEvent::Tick);
    let error = client.finished.unwrap().unwrap_err();
    assert_eq!(error.message, INTERRUPTED);
}

#[test]
fn an_interrupted_job_waits_for_its_last_checkpoint_no_longer_than_its_grace() {
    let request = with_grace();
    let mut client = Client::new(&request);
    client.begin(None);
    client.tell(ClientEvent::Interrupted);
    client.sent.clear();
    assert_eq!(
        client.machine.next_timeout(),
        Some(client.now + request.grace)
    );
    client.now += request.grace;
    client.tell(ClientEvent::Tick);
    assert_eq!(client.sent.len(), 6, "nodes stop");
    client.now += REST_LIMIT;
    client.tell(ClientEvent::Tick);
    assert!(client.finished.unwrap().is_err());
    // One that has not begun has nothing to save.
    let mut client = Client::new(&request);
    client.tell(ClientEvent::Interrupted);
    assert!(client.finished.unwrap().is_err());
}

#[test]
fn a_job_that_is_interrupted_between_views_ends_in_the_next_one() {
    let mut request = with_grace();
    let next = begins_with_two_more(&mut request);
    let now = Clock::now();
    let machine = ClientMachine::going_on(&request, JobIds::random(), &next, now);
    let mut client = Client::with(machine, now);
    client.tell(ClientEvent::Interrupted);
    assert!(client.finished.is_none());
    client.begin(None);
    client.sent.clear();
    client.say(0, JobMessage::Recorded(checkpoint(4, true)));
    assert_eq!(client.sent.len(), 6, "nodes stop");
    assert!(client.left.is_none());
}

#[test]
fn that_processes_are_held_counts_only_if_it_was_ordered() {
    let request = with_pool();
    let mut client = Client::new(&request);
    client.begin(None);
    client.sent.clear();
    client.say(0, JobMessage::Recorded(checkpoint(4, true)));
    assert!(client.sent.is_empty());
    let is_held = |event: &Event| matches!(event, Event::Checkpoint(Checkpoint { held: true, .. }));
    assert!(
        !client.observed.iter().any(is_held),
        "{:?}",
        client.observed
    );
    client.say(2, JobMessage::Leaving("n2 leaves\nnow".to_owned()));
    assert_eq!(client.sent, [0, 1, 2, 3, 4, 5].map(HostId));
    client.say(0, JobMessage::Recorded(checkpoint(5, true)));
    for host in 0..6 {
        client.say(host, suspended(&[]));
    }
    let leaving = client.left.unwrap().leaving;
    assert_eq!(leaving.keys().copied().collect::<Vec<_>>(), [HostId(2)]);
}

#[test]
fn offers_of_nodes_that_no_list_can_have_or_of_too_many_have_no_effect() {
    let request = with_pool();
    let mut client = Client::new(&request);
    client.begin(None);
    let offer = |name: String, slots: u32| {
        JobMessage::Offered(Box::new(Member {
            name,
            slots,
            ..request.members[0].clone()
        }))
    };
    client.say(1, offer("n1".to_owned(), 1));
    client.say(1, offer("spare".to_owned(), 1));
    client.say(1, offer("a name\nof two lines".to_owned(), 1));
    client.say(1, offer("greedy".to_owned(), u32::MAX));
    assert!(client.machine.offered.is_empty());
    for number in 0..1000 {
        client.say(1, offer(format!("x{number}"), 1));
    }
    assert_eq!(client.machine.offered.len(), OFFERS_MAX);
}

/// The second view of a job, with which hosts 4 and 5 join.
fn begins_with_two_more(request: &mut Request) -> NextView {
    if let Some(view) = &mut request.view {
        view.number = 2;
    }
    let names = |hosts: [usize; 2]| hosts.map(|host| format!("n{host}")).to_vec();
    NextView {
        job: JobId(std::num::NonZeroU64::MIN),
        view: request.view.clone().unwrap(),
        members: request.members.clone(),
        hosts: (0..6).map(HostId).collect(),
        connected: vec![(build(), Role::SetManager); 6],
        resumed: None,
        lost: Vec::new(),
        joined: names([4, 5]),
        unproven: names([4, 5]),
        pauses: vec![Duration::ZERO],
        repeats: 0,
        decided: None,
        since: None,
    }
}

#[test]
fn nodes_that_cannot_join_are_lost_and_the_job_goes_on() {
    let mut request = with_pool();
    let next = begins_with_two_more(&mut request);
    let now = Clock::now();
    let machine = ClientMachine::going_on(&request, JobIds::random(), &next, now);
    let mut client = Client::with(machine, now);
    client.say(4, failed(Fault::Cluster));
    client.say(5, failed(Fault::Input));
    for host in 0..4 {
        client.say(host, suspended(&[]));
    }
    assert!(client.finished.is_none(), "{:?}", client.finished);
    let left = client.left.unwrap();
    assert!(!left.has_begun);
    let lost: Vec<HostId> = left.lost.into_keys().collect();
    assert_eq!(lost, [4, 5].map(HostId));
}

#[test]
fn a_node_offers_itself_at_any_time() {
    let request = with_pool();
    let mut client = Client::new(&request);
    let offer = |name: &str| {
        JobMessage::Offered(Box::new(Member {
            name: name.to_owned(),
            ..request.members[0].clone()
        }))
    };
    client.say(1, offer("early"));
    for host in 0..6 {
        let counts = false;
        client.say(
            host,
            JobMessage::Accepted {
                counts,
                folder: None,
            },
        );
        client.say(host, offer("while-nodes-meet"));
    }
    client.say(1, suspended(&[]));
    client.say(2, offer("late"));
    assert_eq!(client.machine.offered.len(), 3);
    assert!(client.refused.is_empty());
}

/// A job that awaits the host `spare` from this part of the work on.
fn awaiting(part: f64, guard: bool) -> Request {
    let mut request = with_pool();
    request.setup.awaited = Some(agents::AwaitedHosts {
        pool: vec!["spare".to_owned()],
        take: 1,
        at: agents::JoinTime::Part(part),
        guard,
        standby: [Rank(1)].into(),
    });
    if let Some(view) = &mut request.view {
        view.awaited = Some(protocol::Awaited {
            homes: vec![protocol::Home {
                host: "spare".to_owned(),
                processes: vec![Rank(1)],
            }],
            ..protocol::Awaited::default()
        });
    }
    request
}

/// All nodes say that so much is done after this number of supersteps: p1 knows it, on host 0, and hosts 1 and 2 compute.
fn progress(client: &mut Client<'_>, completed: u64, done: f64) {
    for host in 0..6 {
        let work = if (1..3).contains(&host) {
            1000 * completed
        } else {
            0
        };
        client.say(
            host,
            JobMessage::Progressed(Progressed {
                completed,
                work,
                done: (host == 0).then_some((Rank(0), done)),
                remaining: (2 < host).then_some(0),
            }),
        );
    }
}

#[test]
fn a_host_that_the_experiment_names_is_asked_when_it_is_time_and_joining_pays() {
    let request = awaiting(0.2, true);
    let mut client = Client::new(&request);
    client.begin(None);
    client.sent.clear();
    let connected = |client: &mut Client<'_>| {
        let known = Ok((build(), Role::Node));
        client.tell(ClientEvent::Connected(HostId(6), known));
    };
    progress(&mut client, 0, 0.0);
    client.now += Duration::from_secs(1);
    client.say(0, JobMessage::Recorded(superstep(0)));
    progress(&mut client, 1, 0.1);
    client.tell(ClientEvent::Tick);
    assert_eq!(client.machine.pool.next_timeout(), None, "it is held back");
    client.now += Duration::from_secs(1);
    client.say(0, JobMessage::Recorded(superstep(1)));
    progress(&mut client, 2, 0.2);
    connected(&mut client);
    assert_eq!(client.sent, [HostId(6)], "it is asked how it is");
    let joins = client.machine.joins.as_ref().unwrap();
    let expected = joins.decided().unwrap()["spare"];
    // Two hosts work, with the speed of the third, and 8 s are left.
    assert_eq!(expected.remaining, Seconds::new(8.0).ok());
    let saves = expected.saves.unwrap();
    assert!((saves - (8.0 / 3.0 - 0.1)).abs() < 1e-9, "{saves}");
    client.say(6, status(false));
    client.say(0, JobMessage::Recorded(checkpoint(2, true)));
    for host in 0..6 {
        client.say(host, suspended(&[]));
    }
    let left = client.left.unwrap();
    assert_eq!(left.decided.unwrap()["spare"], expected);
    assert_eq!(left.lasted, Duration::from_secs(2));
}

#[test]
fn a_host_does_not_join_if_the_rest_takes_less_than_the_change_and_that_is_recorded_once() {
    for guard in [true, false] {
        let request = awaiting(0.9, guard);
        let mut client = Client::new(&request);
        client.begin(None);
        progress(&mut client, 0, 0.0);
        client.now += Duration::from_millis(100);
        client.say(0, JobMessage::Recorded(superstep(0)));
        progress(&mut client, 1, 0.9);
        client.say(0, JobMessage::Recorded(superstep(1)));
        client.say(0, JobMessage::Recorded(superstep(2)));
        let decided = client.machine.joins.as_ref().unwrap().decided();
        assert_eq!(decided.unwrap().contains_key("spare"), !guard);
        let declined = client.observed.iter().filter_map(|event| match event {
            Event::Join(join) => Some(join),
            _ => None,
        });
        let declined: Vec<_> = declined.collect();
        assert_eq!(declined.len(), usize::from(guard));
        for join in declined {
            assert_eq!((join.superstep, join.joined), (2, false));
            assert_eq!(join.name.as_deref(), Some("spare"));
            assert!(join.saves.unwrap() < 0.0);
        }
        // Nor does it by offering itself.
        let offer = request.view.as_ref().unwrap().pool[0].clone();
        client.say(1, JobMessage::Offered(Box::new(offer)));
        assert!(client.machine.offered.is_empty());
    }
}

#[test]
fn a_job_that_does_not_know_its_progress_cannot_await_a_part_of_it() {
    let request = awaiting(0.5, true);
    let mut client = Client::new(&request);
    client.begin(None);
    let report = |client: &mut Client<'_>, completed| {
        for host in 0..6 {
            client.say(
                host,
                JobMessage::Progressed(Progressed {
                    completed,
                    work: 1,
                    done: None,
                    remaining: None,
                }),
            );
        }
    };
    report(&mut client, 0);
    assert!(client.finished.is_none());
    client.say(0, JobMessage::Recorded(superstep(0)));
    report(&mut client, 1);
    client.now += REST_LIMIT;
    client.tell(ClientEvent::Tick);
    let error = client.finished.unwrap().unwrap_err();
    assert_eq!(error.fault, Fault::Input);
    assert!(error.message.contains("elasticity.superstep"), "{error}");
}

#[test]
fn a_progress_that_no_node_has_is_refused() {
    let good = Progressed {
        completed: 1,
        work: u64::MAX,
        done: Some((Rank(1), 1.0)),
        remaining: Some(7),
    };
    for (wrong, is_wrong) in [
        (good, false),
        (
            Progressed {
                done: Some((Rank(2), 0.5)),
                ..good
            },
            true,
        ),
        (
            Progressed {
                done: Some((Rank(0), f64::NAN)),
                ..good
            },
            true,
        ),
        (
            Progressed {
                done: Some((Rank(0), -0.1)),
                ..good
            },
            true,
        ),
        (
            Progressed {
                completed: 1001,
                ..good
            },
            true,
        ),
        (
            Progressed {
                remaining: Some(u64::MAX),
                ..good
            },
            true,
        ),
    ] {
        let request = awaiting(0.5, true);
        let mut client = Client::new(&request);
        client.begin(None);
        client.say(2, JobMessage::Progressed(wrong));
        assert_eq!(!client.refused.is_empty(), is_wrong, "{wrong:?}");
    }
}
