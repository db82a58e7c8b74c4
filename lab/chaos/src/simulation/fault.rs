//! Faults, and when they happen.

use std::fmt;

use protocol::Step;

use super::random::Random;

/// A kind of fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum FaultKind {
    /// A node dies, and may be started again.
    Crash,
    /// A node dies, and is started again before others notice: the new one knows nothing.
    QuickRestart,
    /// A node does not run for some time (`SIGSTOP`, `SIGCONT`).
    Stop,
    /// The processors of a node are slow for some time.
    Slow,
    /// A node neither reaches others nor is reached for some time.
    Isolate,
    /// A node does not reach others for some time, but is reached.
    OneWay,
    /// Two nodes do not reach each other for some time.
    Cut,
    /// Two groups of nodes do not reach each other for some time. The client reaches one of them, or both.
    Partition,
    /// Messages from and to a node are slow for some time.
    Delay,
    /// Packets from and to a node are lost for some time, and sent again.
    Loss,
    /// Messages between two nodes are late for some time, by the same time each: those of other nodes overtake them.
    Late,
    /// A node receives the signal to end (`SIGTERM`).
    Leave,
    /// The client dies.
    ClientCrash,
    /// The client does not run for some time.
    ClientStop,
    /// The user interrupts the client.
    Interrupt,
    /// An operation on the disk fails.
    DiskError,
    /// The disk is full for some time.
    DiskFull,
    /// All nodes lose their power, and what was not on the disk; they are started again.
    PowerLoss,
    /// The outputs that a node sends are late for some time: its other messages overtake them.
    LateOutputs,
    /// A client attaches with the certificate of the one whose job it is.
    Attach,
    /// A client attaches with another certificate.
    AttachOther,
    /// A client that has attached dies, and attaches again.
    FollowerCrash,
    /// Clients that attach and nodes, or the leader alone, do not reach each other for some time.
    FollowerCut,
}

/// A fault.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Fault {
    pub(super) kind: FaultKind,
    pub(super) when: When,
    /// The node, unless the fault is aimed at a step.
    pub(super) node: usize,
    /// Another node.
    pub(super) other: usize,
    /// How long it lasts, in nanoseconds; of a crash, after which time the node is started again.
    pub(super) lasts: u64,
    /// By how much something is slower, the probability of a loss in percent, by how many milliseconds messages are late
    /// (in both directions if it is even), how many hundreds of bytes fit a disk, whether a client that attaches does not reach the
    /// leader alone (if it is odd), or a [`Partition`] as a number.
    pub(super) factor: u64,
}

/// When a fault happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum When {
    /// After this number of events.
    Event(u64),
    /// When a node is in a step for this time, from 1.
    Step(Step, u64),
    /// So many nanoseconds after the first fault.
    Later(u64),
    /// So many nanoseconds after clients may attach to a node, which leads the job; another fault, after the nodes of its first view have
    /// begun: it hits that node.
    Led(u64),
    /// So many nanoseconds after the job is over, if a node has led it.
    Over(u64),
}

impl FaultKind {
    /// All kinds.
    pub(crate) const ALL: [Self; 23] = [
        Self::Crash,
        Self::QuickRestart,
        Self::Stop,
        Self::Slow,
        Self::Isolate,
        Self::OneWay,
        Self::Cut,
        Self::Partition,
        Self::Delay,
        Self::Loss,
        Self::Late,
        Self::Leave,
        Self::ClientCrash,
        Self::ClientStop,
        Self::Interrupt,
        Self::DiskError,
        Self::DiskFull,
        Self::PowerLoss,
        Self::LateOutputs,
        Self::Attach,
        Self::AttachOther,
        Self::FollowerCrash,
        Self::FollowerCut,
    ];

    /// The kinds that any scenario may have. Late messages belong to those that are aimed at them (`overtaking.rs`), late outputs and
    /// clients that attach to jobs with views.
    pub(super) fn drawn() -> Vec<Self> {
        let is_drawn =
            |kind: &Self| !kind.is_of_follower() && !matches!(kind, Self::Late | Self::LateOutputs);
        Self::ALL.into_iter().filter(is_drawn).collect()
    }

    /// Whether it concerns clients that attach, and has no effect on the job.
    pub(super) const fn is_of_follower(self) -> bool {
        matches!(
            self,
            Self::Attach | Self::AttachOther | Self::FollowerCrash | Self::FollowerCut
        )
    }
}

impl Fault {
    /// The factor of a cut in one direction: the node does not hear the other one.
    pub(super) const ONE_WAY: u64 = 0;

    /// Draws a fault for which the nodes may count one of them, or several, as lost.
    pub(super) fn draw_loss(random: &mut Random, when: When, nodes: usize) -> Self {
        let kinds = [
            FaultKind::Crash,
            FaultKind::Crash,
            FaultKind::QuickRestart,
            FaultKind::Leave,
            FaultKind::Stop,
            FaultKind::Isolate,
            FaultKind::OneWay,
            FaultKind::Cut,
            FaultKind::Partition,
        ];
        let kind = random.of(&kinds);
        let fault = Self::draw(random, kind, when, nodes);
        let least = match kind {
            FaultKind::Crash | FaultKind::QuickRestart | FaultKind::Leave => 0,
            _ => random.duration(HARMLESS, 20 * SECOND),
        };
        Self {
            lasts: fault.lasts.max(least),
            ..fault
        }
    }

    /// Draws a fault of this kind among `nodes` nodes.
    pub(super) fn draw(random: &mut Random, kind: FaultKind, when: When, nodes: usize) -> Self {
        let node = random.index(nodes);
        let others = nodes - 1;
        let other = (node + 1 + random.index(others.max(1))) % nodes;
        let lasts = match kind {
            // Half of all interruptions are shorter than the silence after which a connection is lost.
            FaultKind::Stop
            | FaultKind::ClientStop
            | FaultKind::Isolate
            | FaultKind::OneWay
            | FaultKind::Cut
            | FaultKind::Partition
            | FaultKind::FollowerCut
                if random.percent(50) =>
            {
                random.duration(1_000_000, HARMLESS)
            }
            FaultKind::Stop | FaultKind::ClientStop => random.duration(HARMLESS, 30 * SECOND),
            FaultKind::Isolate
            | FaultKind::OneWay
            | FaultKind::Cut
            | FaultKind::Partition
            | FaultKind::FollowerCut => random.duration(HARMLESS, 20 * SECOND),
            FaultKind::Slow | FaultKind::Delay | FaultKind::Loss | FaultKind::DiskFull => {
                random.duration(100_000_000, 10 * SECOND)
            }
            FaultKind::Late | FaultKind::LateOutputs => random.duration(SECOND, 60 * SECOND),
            FaultKind::QuickRestart => random.duration(1_000_000, 100_000_000),
            FaultKind::Crash | FaultKind::PowerLoss | FaultKind::FollowerCrash => {
                random.duration(1_000_000, 5 * SECOND)
            }
            FaultKind::Leave
            | FaultKind::Attach
            | FaultKind::AttachOther
            | FaultKind::ClientCrash
            | FaultKind::Interrupt
            | FaultKind::DiskError => 0,
        };
        let factor = match kind {
            FaultKind::Loss => random.between(1, 30),
            FaultKind::Late => random.duration(1, 1000),
            FaultKind::LateOutputs => random.duration(100, 10_000),
            FaultKind::Partition => Partition::draw(random, nodes).factor(),
            _ => random.duration(2, 100),
        };
        Self {
            kind,
            when,
            node,
            other,
            lasts,
            factor,
        }
    }

    /// Whether a job has to be completed in spite of it.
    pub(super) const fn is_harmless(&self) -> bool {
        match self.kind {
            FaultKind::Slow
            | FaultKind::Delay
            | FaultKind::Loss
            | FaultKind::Late
            | FaultKind::LateOutputs
            | FaultKind::DiskError
            | FaultKind::DiskFull
            | FaultKind::Attach
            | FaultKind::AttachOther
            | FaultKind::FollowerCrash
            | FaultKind::FollowerCut => true,
            FaultKind::Stop
            | FaultKind::ClientStop
            | FaultKind::Isolate
            | FaultKind::OneWay
            | FaultKind::Cut
            | FaultKind::Partition => self.lasts <= HARMLESS,
            FaultKind::Crash
            | FaultKind::QuickRestart
            | FaultKind::Leave
            | FaultKind::ClientCrash
            | FaultKind::Interrupt
            | FaultKind::PowerLoss => false,
        }
    }
}

/// What a partition divides: the factor of its fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Partition {
    /// The nodes of the first group, as bits. The others are in the second group.
    pub(super) first: u64,
    /// Whether the second group hears the first.
    pub(super) is_one_way: bool,
    /// Whether the client is cut off from the first group, as the second group is, and from the second.
    pub(super) client: [bool; 2],
}

impl Partition {
    fn draw(random: &mut Random, nodes: usize) -> Self {
        Self {
            // Each group has a node.
            first: random.between(1, ((1 << nodes) - 2).max(1)),
            is_one_way: random.percent(30),
            client: random.of(&[[true, false], [false, true], [false, false]]),
        }
    }

    const fn factor(self) -> u64 {
        let [first, second] = self.client;
        self.first << 3 | (self.is_one_way as u64) << 2 | (first as u64) << 1 | second as u64
    }

    /// That of a fault with this factor.
    pub(super) const fn of(factor: u64) -> Self {
        Self {
            first: factor >> 3,
            is_one_way: factor & 4 != 0,
            client: [factor & 2 != 0, factor & 1 != 0],
        }
    }

    /// Whether a node is in the first group.
    pub(super) const fn has_first(self, node: usize) -> bool {
        self.first >> node & 1 == 1
    }
}

impl fmt::Display for FaultKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(match self {
            Self::Crash => "crash",
            Self::QuickRestart => "restart-quick",
            Self::Stop => "stop",
            Self::Slow => "slow",
            Self::Isolate => "isolate",
            Self::OneWay => "one-way",
            Self::Cut => "cut",
            Self::Partition => "partition",
            Self::Delay => "delay",
            Self::Loss => "loss",
            Self::Late => "late",
            Self::Leave => "leave",
            Self::ClientCrash => "client-crash",
            Self::ClientStop => "client-stop",
            Self::Interrupt => "interrupt",
            Self::DiskError => "disk-error",
            Self::DiskFull => "disk-full",
            Self::PowerLoss => "power-loss",
            Self::LateOutputs => "late-outputs",
            Self::Attach => "attach",
            Self::AttachOther => "attach-other",
            Self::FollowerCrash => "attach-crash",
            Self::FollowerCut => "attach-cut",
        })
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            kind,
            when,
            node,
            other,
            lasts,
            factor,
        } = self;
        let milliseconds = lasts / 1_000_000;
        match when {
            When::Event(number) => write!(formatter, "{kind} at event {number}")?,
            When::Step(step, count) => write!(formatter, "{kind} at {step} ({count})")?,
            When::Later(time) => {
                write!(formatter, "{kind} {} ms after the first", time / 1_000_000)?;
            }
            When::Led(time) => {
                write!(
                    formatter,
                    "{kind} {} ms after a node leads",
                    time / 1_000_000
                )?;
            }
            When::Over(time) => {
                write!(formatter, "{kind} {} ms after the job", time / 1_000_000)?;
            }
        }
        write!(
            formatter,
            ", node {node}, other {other}, {milliseconds} ms, factor {factor}"
        )
    }
}

/// A second in nanoseconds.
pub(super) const SECOND: u64 = 1_000_000_000;
/// How long an interruption may last that no connection notices: some time passes before and after it without a packet.
pub(super) const HARMLESS: u64 = 1_500_000_000;
