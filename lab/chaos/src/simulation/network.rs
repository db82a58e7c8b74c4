//! The paths between the processes of the operating system.

use super::random::Random;

/// The paths between the processes of the operating system, and what faults do to them. Nodes are numbered by host; the
/// client comes after them.
pub(super) struct Network {
    random: Random,
    /// How long a message takes without faults.
    delay: (u64, u64),
    /// How much longer it takes for each byte.
    per_byte: u64,
    /// By sender and receiver: the number of faults that block the path.
    blocked: Vec<Vec<u32>>,
    /// By sender and receiver: how much longer messages take, in nanoseconds.
    late: Vec<Vec<u64>>,
    /// By process: by how much its messages are slower, and the probability of a loss in percent.
    disturbed: Vec<Disturbed>,
}

#[derive(Clone, Copy)]
struct Disturbed {
    factor: u64,
    loss: u64,
}

impl Network {
    /// The paths between `places` processes.
    pub(super) fn new(random: Random, (delay, per_byte): ((u64, u64), u64), places: usize) -> Self {
        let undisturbed = Disturbed { factor: 1, loss: 0 };
        Self {
            random,
            delay,
            per_byte,
            blocked: vec![vec![0; places]; places],
            late: vec![vec![0; places]; places],
            disturbed: vec![undisturbed; places],
        }
    }

    /// Whether messages arrive.
    pub(super) fn is_open(&self, from: usize, to: usize) -> bool {
        self.blocked[from][to] == 0
    }

    /// Whether messages arrive in both directions.
    pub(super) fn are_connected(&self, one: usize, other: usize) -> bool {
        self.is_open(one, other) && self.is_open(other, one)
    }

    /// Blocks a path, or ends that.
    pub(super) fn block(&mut self, from: usize, to: usize, is_blocked: bool) {
        let count = &mut self.blocked[from][to];
        *count = if is_blocked {
            *count + 1
        } else {
            count.saturating_sub(1)
        };
    }

    /// Makes the messages from one process to another late by `time` in addition, or ends that.
    pub(super) fn make_late(&mut self, from: usize, to: usize, time: u64, is_late: bool) {
        let late = &mut self.late[from][to];
        *late = if is_late {
            *late + time
        } else {
            late.saturating_sub(time)
        };
    }

    /// Makes the messages from and to a process slower.
    pub(super) fn slow_down(&mut self, place: usize, factor: u64) {
        self.disturbed[place].factor = factor;
    }

    /// Has packets from and to a process lost with this probability, in percent.
    pub(super) fn lose(&mut self, place: usize, probability: u64) {
        self.disturbed[place].loss = probability;
    }

    /// Whether a packet that is sent once is lost now.
    pub(super) fn loses(&mut self, from: usize, to: usize) -> bool {
        let loss = self.disturbed[from].loss.max(self.disturbed[to].loss);
        0 < loss && self.random.percent(loss)
    }

    /// How long a message of this length takes now. What is lost is sent again, later each time.
    pub(super) fn delay(&mut self, from: usize, to: usize, bytes: usize) -> u64 {
        let (least, most) = self.delay;
        let ends = [self.disturbed[from], self.disturbed[to]];
        let factor = ends.iter().map(|end| end.factor).max().unwrap_or(1);
        let loss = ends.iter().map(|end| end.loss).max().unwrap_or(0);
        let mut delay = self.random.duration(least, most) * factor + self.late[from][to];
        let mut again = RETRANSMISSION;
        while self.random.percent(loss) && again < RETRANSMISSION << 4 {
            delay += again;
            again *= 2;
        }
        delay + u64::try_from(bytes).expect("lengths fit 64 bits") * self.per_byte
    }
}

/// After which time a lost packet is sent again for the first time.
const RETRANSMISSION: u64 = 50_000_000;
