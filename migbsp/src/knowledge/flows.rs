//! What hosts and Sets exchange in a superstep.

use bsp::SetId;

use crate::{Graph, Host};

/// The bytes that hosts send and receive, and those that cross from Set to Set.
#[derive(Clone, Debug)]
pub(crate) struct Flows<'a> {
    graph: &'a Graph,
    machines: &'a [Host],
    /// The present host of each process.
    home: &'a [usize],
    sets: usize,
    /// By host: bytes that it sends to and receives from other hosts.
    hosts: Vec<[f64; 2]>,
    /// From Set to Set, of messages whose sender is known by rank; zero within a Set.
    crossing: Vec<f64>,
    /// By host and Set: how many messages go there, from another Set.
    leaving: Vec<u32>,
    /// The same by Set and Set.
    number: Vec<u32>,
    crowds: Option<Crowds>,
}

/// Where the processes are that senders known by Set alone may be, and what they send.
#[derive(Clone, Debug)]
struct Crowds {
    /// How many processes each Set has at present.
    members: Vec<f64>,
    /// By present Set and planned Set: how many of them.
    located: Vec<f64>,
    /// By present Set of the senders and planned Set of the receivers: bytes.
    bytes: Vec<f64>,
    /// By process: what it receives from each Set's crowd.
    received: Vec<Vec<(SetId, f64)>>,
}

impl<'a> Flows<'a> {
    /// With processes that run on the hosts `home` at present on the hosts `places`.
    pub(crate) fn new(
        graph: &'a Graph,
        machines: &'a [Host],
        home: &'a [usize],
        places: &[usize],
    ) -> Self {
        let sets = machines.iter().map(|host| host.set.index() + 1).max();
        let sets = sets.unwrap_or_default();
        let mut flows = Self {
            graph,
            machines,
            home,
            sets,
            hosts: vec![[0.0; 2]; machines.len()],
            crossing: vec![0.0; sets * sets],
            leaving: vec![0; machines.len() * sets],
            number: vec![0; sets * sets],
            crowds: Crowds::new(graph, machines, sets, (home, places)),
        };
        for (process, host) in places.iter().enumerate() {
            for message in graph.outgoing(process) {
                flows.add((*host, places[message.other]), message.bytes, true);
            }
        }
        flows
    }

    /// Moves `process` to the host `to`; `places` still has it on the former one.
    pub(crate) fn relocate(&mut self, places: &[usize], process: usize, to: usize) {
        let from = places[process];
        let graph = self.graph;
        for message in graph.outgoing(process) {
            let other = places[message.other];
            self.add((from, other), message.bytes, false);
            self.add((to, other), message.bytes, true);
        }
        for message in graph.incoming(process) {
            let other = places[message.other];
            self.add((other, from), message.bytes, false);
            self.add((other, to), message.bytes, true);
        }
        let set = |host: usize| self.machines[host].set.index();
        if let Some(crowds) = &mut self.crowds {
            let home = set(self.home[process]);
            crowds.relocate(self.sets, process, home, (set(from), set(to)));
        }
    }

    /// Adds a message from one host to another, or removes it.
    fn add(&mut self, (from, to): (usize, usize), bytes: f64, is_new: bool) {
        if from == to {
            return;
        }
        let signed = if is_new { bytes } else { -bytes };
        self.hosts[from][0] += signed;
        self.hosts[to][1] += signed;
        let sets = [from, to].map(|host| self.machines[host].set.index());
        if sets[0] == sets[1] {
            return;
        }
        let pair = sets[0] * self.sets + sets[1];
        self.crossing[pair] += signed;
        let leaving = from * self.sets + sets[1];
        if is_new {
            self.leaving[leaving] += 1;
            self.number[pair] += 1;
        } else {
            self.leaving[leaving] -= 1;
            self.number[pair] -= 1;
        }
        if self.number[pair] == 0 {
            // Without the rounding of what has come and gone.
            self.crossing[pair] = 0.0;
        }
    }

    /// Bytes that a host sends to others.
    pub(crate) fn sent(&self, host: usize) -> f64 {
        self.hosts[host][0].max(0.0)
    }

    /// Bytes that a host receives from others.
    pub(crate) fn received(&self, host: usize) -> f64 {
        self.hosts[host][1].max(0.0)
    }

    /// How many messages go from `host` to another Set `to`, of those whose sender is known by rank.
    pub(crate) fn leaving(&self, host: usize, to: SetId) -> u32 {
        self.leaving[host * self.sets + to.index()]
    }

    /// Bytes that cross from Set to Set, and how many messages they are at least.
    pub(crate) fn crossing(&self, from: SetId, to: SetId) -> (f64, u32) {
        let pair = from.index() * self.sets + to.index();
        let crowd = self.crowds.as_ref();
        let crowd = crowd.map_or(0.0, |crowds| crowds.crossing(self.sets, from, to));
        let number = self.number[pair].saturating_add(u32::from(0.0 < crowd));
        (self.crossing[pair].max(0.0) + crowd, number)
    }

    /// Whether some senders are known by Set alone.
    pub(crate) fn has_crowds(&self) -> bool {
        self.crowds.is_some()
    }

    /// Whether any process of a Set may send to another one.
    pub(crate) fn has_crowd(&self, from: SetId, to: SetId) -> bool {
        let crowds = self.crowds.as_ref();
        crowds.is_some_and(|crowds| 0.0 < crowds.crossing(self.sets, from, to))
    }
}

impl Crowds {
    fn new(
        graph: &Graph,
        machines: &[Host],
        sets: usize,
        (home, places): (&[usize], &[usize]),
    ) -> Option<Self> {
        let rest = graph.rest();
        if rest.is_empty() {
            return None;
        }
        let set = |host: usize| machines[host].set.index();
        let mut crowds = Self {
            members: vec![0.0; sets],
            located: vec![0.0; sets * sets],
            bytes: vec![0.0; sets * sets],
            received: vec![Vec::new(); places.len()],
        };
        for (home, host) in home.iter().zip(places) {
            crowds.members[set(*home)] += 1.0;
            crowds.located[set(*home) * sets + set(*host)] += 1.0;
        }
        for rest in rest.iter().filter(|rest| rest.set.index() < sets) {
            crowds.received[rest.to].push((rest.set, rest.bytes));
            crowds.bytes[rest.set.index() * sets + set(places[rest.to])] += rest.bytes;
        }
        Some(crowds)
    }

    fn relocate(&mut self, sets: usize, process: usize, home: usize, (from, to): (usize, usize)) {
        self.located[home * sets + from] -= 1.0;
        self.located[home * sets + to] += 1.0;
        for (set, bytes) in &self.received[process] {
            self.bytes[set.index() * sets + from] -= bytes;
            self.bytes[set.index() * sets + to] += bytes;
        }
    }

    /// Bytes that cross from Set to Set, if each process of a crowd sends an equal part.
    fn crossing(&self, sets: usize, from: SetId, to: SetId) -> f64 {
        let (from, to) = (from.index(), to.index());
        let crowds = (0..sets).filter(|crowd| 0.0 < self.members[*crowd]);
        let bytes = crowds.map(|crowd| {
            let part = self.located[crowd * sets + from] / self.members[crowd];
            part * self.bytes[crowd * sets + to].max(0.0)
        });
        let bytes: f64 = bytes.sum();
        // Less is the rounding of what has come and gone.
        if bytes < BYTES_MIN { 0.0 } else { bytes }
    }
}

/// Fewer bytes are none.
const BYTES_MIN: f64 = 1e-3;
