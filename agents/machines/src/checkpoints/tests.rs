use std::io::Write;
use std::num::NonZeroU64;

use agents::{CheckpointCosts, CheckpointInterval, Checkpointing, buddies};
use bsp::SetId;
use bsp::units::Bytes as Length;
use checkpoint::Delta;
use proptest::prelude::*;
use protocol::Saved;
use protocol::transport::JobId;

use super::*;

/// Nodes whose messages arrive in any order, those of a pair in theirs.
struct Nodes {
    nodes: Vec<Checkpoints>,
    /// By sender and receiver.
    messages: BTreeMap<(HostId, HostId), VecDeque<(u64, Sent)>>,
    records: Vec<record::Checkpoint>,
    completed: Vec<(Generation, BTreeMap<HostId, WrittenPieces>)>,
    now: Instant,
}

enum Sent {
    Message(CheckpointMessage),
    /// Encoded.
    Pieces(Bytes),
}

impl Nodes {
    /// Nodes in two Sets, with one process each.
    fn new(count: usize, is_on_disk: bool) -> Self {
        let sets: Vec<SetId> = (0..count)
            .map(|host| SetId(u32::from(count / 2 <= host)))
            .collect();
        let buddies = buddies(&sets, &BTreeSet::new());
        let checkpointing = Checkpointing {
            interval: CheckpointInterval::Supersteps(2),
            first: Seconds::new(1.0).unwrap(),
            mtbf: Seconds::new(1e6).unwrap(),
            copies: true,
            keep: NonZeroU32::MIN,
            costs: CheckpointCosts {
                encoding: units::BytesPerSecond::new(1e9).unwrap(),
                fork: units::BytesPerSecond::new(1e9).unwrap(),
                forks: true,
                bytes: None,
                change: 1.0,
            },
        };
        let hosts: Vec<HostId> = (0..count).map(HostId::from_index).collect();
        let node = |own: &HostId| {
            let wards = hosts
                .iter()
                .filter(|host| buddies[host.index()] == Some(*own));
            let parts = CheckpointParts {
                own: *own,
                collector: HostId(0),
                others: hosts.iter().copied().filter(|host| host != own).collect(),
                job: JobId(NonZeroU64::MIN),
                incarnation: 0,
                size: u32::try_from(count).unwrap(),
                processors: 1,
                buddy: buddies[own.index()],
                wards: wards.copied().collect(),
                is_on_disk,
            };
            Checkpoints::new(parts, CheckpointSchedule::new(&checkpointing, count))
        };
        Self {
            nodes: hosts.iter().map(node).collect(),
            messages: BTreeMap::new(),
            records: Vec::new(),
            completed: Vec::new(),
            now: Instant::START,
        }
    }

    /// Performs what a node decides. What disks do follows immediately.
    fn perform(&mut self, host: usize) {
        let now = self.now;
        self.nodes[host].report_if_saved(now);
        let from = HostId::from_index(host);
        while let Some(action) = self.nodes[host].poll() {
            let mut send = |to, at, sent| {
                self.messages
                    .entry((from, to))
                    .or_default()
                    .push_back((at, sent));
            };
            match action {
                CheckpointAction::Send(to, at, message) => send(to, at, Sent::Message(message)),
                CheckpointAction::SendPieces(to, at, changed) => {
                    let encoded: Vec<u8> = Delta::encode_all(&changed).flatten().collect();
                    send(to, at, Sent::Pieces(encoded.into()));
                }
                CheckpointAction::Write(generation, pieces) => {
                    let written = WrittenPieces {
                        length: 1,
                        sha256: [0; 32],
                        ranks: pieces.iter().map(|piece| piece.head.rank).collect(),
                    };
                    self.nodes[host].handle_written(generation.superstep, Ok(written));
                }
                CheckpointAction::Finish(generation, files) => {
                    self.completed.push((generation, files));
                    self.nodes[host].handle_finished(generation.superstep, Ok(()), now);
                }
                CheckpointAction::Record(recorded) => self.records.push(recorded),
            }
            self.nodes[host].report_if_saved(now);
        }
    }

    /// Delivers a message of one of the pairs that have some.
    fn deliver(&mut self, choice: usize) -> bool {
        self.messages.retain(|_, queue| !queue.is_empty());
        let pairs: Vec<(HostId, HostId)> = self.messages.keys().copied().collect();
        let Some((from, to)) = pairs.get(choice % pairs.len().max(1)).copied() else {
            return false;
        };
        let (at, sent) = self
            .messages
            .get_mut(&(from, to))
            .unwrap()
            .pop_front()
            .unwrap();
        let node = &mut self.nodes[to.index()];
        match sent {
            Sent::Message(message) => {
                let may_start = node.halted.is_empty();
                node.handle_message((from, at), message, (self.now, may_start))
                    .unwrap();
            }
            Sent::Pieces(encoded) => {
                let changed = Delta::decode_all(vec![encoded]).unwrap();
                node.add_pieces((from, at), changed).unwrap();
            }
        }
        self.perform(to.index());
        true
    }

    /// The process of `host` starts `superstep` and is saved.
    fn start(&mut self, host: usize, superstep: u64, state: &[u8]) {
        let rank = Rank::from_index(host);
        let node = &mut self.nodes[host];
        node.begin(superstep, self.now, BTreeSet::from([rank]))
            .unwrap();
        let saving = node.saving((rank, superstep), Vec::new(), Vec::new(), Instructions(1));
        let piece = Piece::encode(saving.head, saving.previous.as_ref(), |writer| {
            writer.write_all(state)
        });
        let piece = piece.unwrap();
        let saved = SavedPiece {
            piece,
            stall: Seconds::ZERO,
            encoding: Seconds::ZERO,
        };
        node.add_saved(saved).unwrap();
        self.perform(host);
    }

    /// The piece of a process on a host.
    fn content(&self, host: HostId, generation: Generation, rank: Rank) -> Vec<u8> {
        let piece = self.nodes[host.index()].generations.piece(generation, rank);
        let mut bytes = Vec::new();
        std::io::Read::read_to_end(&mut piece.unwrap().content.reader(), &mut bytes).unwrap();
        bytes
    }
}

/// The state of a process: the first tenth of it follows from the superstep.
fn state(rank: usize, superstep: u64, length: usize) -> Vec<u8> {
    let mut state = vec![u8::try_from(rank).unwrap(); length];
    state[..length / 10].fill(u8::try_from(superstep % 251).unwrap());
    state
}

const LARGE: usize = 40 * (64 << 10);

proptest! {
    #[test]
    fn every_piece_is_on_its_node_and_its_buddy_when_a_checkpoint_is_complete(
        count in 2_usize..6,
        is_on_disk in any::<bool>(),
        choices in prop::collection::vec(any::<usize>(), 400),
    ) {
        let mut nodes = Nodes::new(count, is_on_disk);
        let mut choices = choices.into_iter().cycle();
        for superstep in (2..20).step_by(2) {
            prop_assert!(nodes.nodes[0].decide(superstep, nodes.now, false));
            for host in 0..count {
                nodes.start(host, superstep, &state(host, superstep, 1000));
                for _ in 0..choices.next().unwrap() % 4 {
                    nodes.deliver(choices.next().unwrap());
                }
            }
            // The next checkpoint may begin on a node before it has heard of the end of this one.
            while nodes.records.len() < usize::try_from(superstep / 2).unwrap() {
                prop_assert!(nodes.deliver(choices.next().unwrap()));
            }
            let generation = Generation { incarnation: 0, superstep };
            for host in (0..count).map(HostId::from_index) {
                let own = &nodes.nodes[host.index()];
                let rank = Rank(host.0);
                let expected = state(host.index(), superstep, 1000);
                let buddy = own.parts.buddy.unwrap();
                for holder in [host, buddy] {
                    prop_assert!(nodes.content(holder, generation, rank) == expected);
                }
                prop_assert!(own.generations.inventory().len() <= 2);
            }
        }
        let files = nodes.completed.iter().map(|(_, files)| files.len());
        prop_assert!(files.clone().all(|files| files == count));
        prop_assert_eq!(files.count(), if is_on_disk { nodes.records.len() } else { 0 });
    }
}

#[test]
fn a_tenth_of_a_state_that_changes_is_a_tenth_of_what_is_sent_and_memory_does_not_grow() {
    let mut nodes = Nodes::new(4, false);
    for superstep in (2..=2000).step_by(2) {
        for host in 0..4 {
            let length = if superstep <= 40 { LARGE } else { 1000 };
            nodes.start(host, superstep, &state(host, superstep, length));
        }
        while nodes.deliver(0) {}
        let recorded = nodes.records.last().unwrap();
        if (4..=40).contains(&superstep) {
            let part = recorded.sent.as_f64() / recorded.bytes.as_f64();
            assert!(part <= 0.15, "{part}");
            // Its own pieces, and those of the node whose buddy it is.
            let held = nodes.nodes[0].bytes_held();
            let all = Length(2 * u64::try_from(LARGE).unwrap());
            assert!(held.as_f64() <= 1.1 * all.as_f64(), "{held:?}");
        }
    }
    assert_eq!(nodes.records.len(), 1000);
    let held: Vec<Length> = nodes.nodes.iter().map(Checkpoints::bytes_held).collect();
    assert_eq!(held, [Length(2000); 4]);
}

#[test]
fn outputs_of_halted_processes_are_saved_by_nodes_without_others() {
    let mut nodes = Nodes::new(3, true);
    nodes.nodes[2].halt(Rank(2), (1, Instructions(5)), Bytes::from_static(b"done"));
    for host in 0..2 {
        nodes.start(host, 2, b"state");
    }
    while nodes.deliver(0) {}
    assert_eq!(nodes.records.len(), 1);
    let generation = Generation {
        incarnation: 0,
        superstep: 2,
    };
    assert_eq!(nodes.content(HostId(2), generation, Rank(2)), b"done");
    let piece = nodes.nodes[2]
        .generations
        .piece(generation, Rank(2))
        .unwrap();
    assert_eq!(piece.head.condition, Condition::Halted { superstep: 1 });
}

#[test]
fn an_order_to_save_outputs_that_comes_late_has_no_effect_on_what_halted_since() {
    let mut nodes = Nodes::new(3, false);
    let now = nodes.now;
    let node = &mut nodes.nodes[2];
    node.halt(Rank(0), (4, Instructions(5)), Bytes::from_static(b"done"));
    let save = |node: &mut Checkpoints, superstep| {
        let from = (HostId(0), superstep);
        node.handle_message(from, CheckpointMessage::Save, (now, false))
            .unwrap();
        node.has_begun(superstep)
    };
    assert!(!save(node, 2));
    assert!(!save(node, 4));
    assert!(save(node, 5));
}

/// Node 2 has taken part in a checkpoint with a process and an output, and has heard of the next one from another node
/// when the order of the first node arrives, which it did not need.
#[test]
fn an_order_to_save_outputs_for_a_checkpoint_that_is_complete_has_no_effect() {
    let mut nodes = Nodes::new(3, false);
    let output = Bytes::from_static(b"done");
    nodes.nodes[2].halt(Rank(1), (1, Instructions(5)), output);
    for host in [0, 2] {
        nodes.start(host, 2, b"state");
    }
    let late = nodes.messages.remove(&(HostId(0), HostId(2))).unwrap();
    assert!(matches!(
        late[0],
        (2, Sent::Message(CheckpointMessage::Save))
    ));
    while nodes.deliver(0) {}
    assert_eq!(nodes.records.len(), 1);
    let now = nodes.now;
    let node = &mut nodes.nodes[2];
    node.catch_up(4).unwrap();
    for may_start in [true, false] {
        let save = CheckpointMessage::Save;
        node.handle_message((HostId(0), 2), save, (now, may_start))
            .unwrap();
        assert!(!node.has_begun(2) && node.ordered.is_none());
    }
}

/// A process that arrives while a checkpoint is under way starts a later superstep: nothing else would have the node save
/// the outputs here.
#[test]
fn an_order_to_save_outputs_waits_for_the_next_superstep_that_a_process_starts_here() {
    let mut nodes = Nodes::new(3, false);
    let now = nodes.now;
    let node = &mut nodes.nodes[2];
    node.halt(Rank(2), (1, Instructions(5)), Bytes::from_static(b"done"));
    let order = |node: &mut Checkpoints, may_start| {
        node.handle_message((HostId(0), 2), CheckpointMessage::Save, (now, may_start))
            .unwrap();
    };
    order(node, true);
    assert!(!node.has_begun(2));
    // The process starts this superstep: it begins the checkpoint itself.
    let mut starting = Nodes::new(3, false);
    let other = &mut starting.nodes[2];
    other.halt(Rank(2), (1, Instructions(5)), Bytes::new());
    order(other, true);
    other.begin(2, now, BTreeSet::from([Rank(0)])).unwrap();
    other.pass(2, now).unwrap();
    other.pass(3, now).unwrap();
    assert_eq!(other.current.as_ref().unwrap().ranks.len(), 2);
    // It starts a later one.
    node.pass(3, now).unwrap();
    assert!(node.has_begun(2));
    for host in 0..2 {
        nodes.start(host, 2, b"state");
    }
    nodes.perform(2);
    while nodes.deliver(0) {}
    assert_eq!(nodes.records.len(), 1);
}

/// A process leaves, a checkpoint is complete of which this node has not heard, and the process is back: its buddy has
/// forgotten the piece from which a delta would be made.
#[test]
fn a_process_that_has_been_away_is_copied_whole() {
    let mut nodes = Nodes::new(2, false);
    for (superstep, leaves) in [(2, false), (4, false), (6, true)] {
        for host in 0..2 {
            nodes.start(host, superstep, &state(host, superstep, LARGE));
        }
        if leaves {
            nodes.nodes[1].leave(Rank(1));
        }
        while nodes.deliver(0) {}
    }
    let copied = |nodes: &Nodes| nodes.nodes[1].copied.contains_key(&Rank(1));
    assert!(!copied(&nodes));
    let (kept, whole) = (
        nodes.records[1].sent,
        Length(2 * u64::try_from(LARGE).unwrap()),
    );
    nodes.start(0, 8, &state(0, 8, LARGE));
    nodes.start(1, 8, &state(1, 8, LARGE));
    while nodes.deliver(0) {}
    let sent = nodes.records[3].sent;
    assert!(kept.as_f64() < 0.2 * whole.as_f64(), "{kept:?}");
    assert!(0.5 * whole.as_f64() < sent.as_f64(), "{sent:?}");
    assert!(copied(&nodes));
}

#[test]
fn what_contradicts_the_state_is_refused() {
    let mut nodes = Nodes::new(2, false);
    let now = nodes.now;
    let node = &mut nodes.nodes[1];
    let mut refused = |from, message| {
        node.handle_message((HostId(from), 2), message, (now, false))
            .unwrap_err()
    };
    refused(1, CheckpointMessage::Save);
    refused(1, CheckpointMessage::Complete(Seconds::ZERO));
    let saved = Saved {
        ranks: vec![Rank(7)],
        stall: Seconds::ZERO,
        encoding: Seconds::ZERO,
        bytes: 0,
        sent: 0,
        file: None,
        held: false,
    };
    refused(0, CheckpointMessage::Saved(Box::new(saved.clone())));
    let first = &mut nodes.nodes[0];
    let message = CheckpointMessage::Saved(Box::new(saved));
    first
        .handle_message((HostId(1), 2), message, (now, true))
        .unwrap_err();
    // A checkpoint that begins while the one before is not saved here.
    nodes.nodes[1]
        .begin(2, now, BTreeSet::from([Rank(1)]))
        .unwrap();
    nodes.nodes[1]
        .begin(4, now, BTreeSet::from([Rank(1)]))
        .unwrap_err();
    nodes.nodes[1]
        .begin(1, now, BTreeSet::from([Rank(1)]))
        .unwrap_err();
}
