use std::sync::Arc;

use agents::{Barrier, Collection, Shape, TransferStart};
use protocol::JobFolder;
use simulator::{NetworkOptions, Platform};

use super::*;

/// Hosts 0 to 2 are a Set, 3 and 4 another, 5 a third.
const PLATFORM: &str = include_str!("../../../three_sets.toml");

/// A job of two processes, p1 on host 0 and p2 on host 3, whose nodes write `files`.
pub(super) fn request(files: Option<NodeFiles>) -> Request {
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
    folders: BTreeMap<HostId, String>,
    observed: Vec<Event>,
    now: Clock,
}

impl<'a> Client<'a> {
    fn new(request: &'a Request) -> Self {
        let now = Clock::now();
        let job = JobId(std::num::NonZeroU64::MIN);
        let mut client = Self {
            machine: ClientMachine::new(request, (job, Vec::new()), now),
            refused: Vec::new(),
            finished: None,
            folders: BTreeMap::new(),
            observed: Vec::new(),
            now,
        };
        for host in client.machine.hosts() {
            client.tell(ClientEvent::Connected(host, Ok(build())));
        }
        client
    }

    fn tell(&mut self, event: ClientEvent) {
        self.machine.handle(self.now, event);
        while let Some(action) = self.machine.poll() {
            match action {
                ClientAction::Refuse(host, problem) => self.refused.push((host, problem)),
                ClientAction::Finish(result) => self.finished = Some(*result),
                ClientAction::ShowFolders(folders) => self.folders = folders,
                ClientAction::Observe(event) => self.observed.push(*event),
                ClientAction::Connect(..)
                | ClientAction::Send(..)
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
            self.say(host, JobMessage::Ready);
        }
    }

    fn end(&mut self) {
        for host in 0..6 {
            self.say(
                host,
                JobMessage::Ended(Ended {
                    seconds: units::Seconds::ZERO,
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
    let value = |rank| NodeWord::Output(Rank(rank), Bytes::from_static(b"1"));
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
