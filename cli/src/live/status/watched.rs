//! What is known of a cluster that is watched.

use std::collections::{BTreeMap, VecDeque};
use std::time::{Duration, Instant};

use bsp::numbers::real;
use hosts::NodeAnswer;
use protocol::{Build, Member};

use super::report::{CallsRow, Report, Row};
use analysis::text::{age, counted, data, rounded};

/// What is known of a cluster that is watched.
#[derive(Debug)]
pub(super) struct Watched {
    members: Vec<Member>,
    nodes: Vec<WatchedNode>,
    /// By client.
    rates: BTreeMap<String, JobRate>,
    /// The time without an answer after which a node counts as silent.
    patience: Duration,
    began: Instant,
}

/// What is known of a node.
#[derive(Debug)]
struct WatchedNode {
    /// Its last answer, or why there is none.
    row: Option<Row>,
    /// When it answered last, or when it was asked first.
    heard: Instant,
}

/// A job, as its nodes together know it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct WatchedJob {
    client: String,
    /// Supersteps that have begun.
    superstep: u64,
    supersteps: Option<u64>,
    calls: Option<CallsRow>,
    per_second: Option<f64>,
}

/// Titles of the columns.
pub(super) const HEADERS: [&str; 9] = [
    "node",
    "Set",
    "superstep",
    "processes",
    "load",
    "others",
    "memory",
    "up",
    "job of",
];

impl Watched {
    /// Nothing is known at `now` of `members`, which are asked `every` so often.
    pub(super) fn new(members: Vec<Member>, every: Duration, now: Instant) -> Self {
        let unknown = |_: &Member| WatchedNode {
            row: None,
            heard: now,
        };
        Self {
            nodes: members.iter().map(unknown).collect(),
            members,
            rates: BTreeMap::new(),
            patience: PATIENCE.max(2 * every),
            began: now,
        }
    }

    /// The node at position `index` has answered at `now`, or cannot be asked.
    pub(super) fn take(&mut self, index: usize, answer: NodeAnswer, now: Instant) {
        let (Some(member), Some(node)) = (self.members.get(index), self.nodes.get_mut(index))
        else {
            return;
        };
        let row = Row::new(member, answer);
        if row.problem.is_none() {
            node.heard = now;
        }
        node.row = Some(row);
        let jobs = self.jobs();
        for job in &jobs {
            self.rates
                .entry(job.client.clone())
                .or_default()
                .add(now, job.superstep);
        }
        self.rates
            .retain(|client, _| jobs.iter().any(|job| job.client == *client));
    }

    /// The time from the beginning until `now`.
    pub(super) fn since(&self, now: Instant) -> Duration {
        now.saturating_duration_since(self.began)
    }

    /// The jobs under way, by client.
    pub(super) fn jobs(&self) -> Vec<WatchedJob> {
        let mut jobs: BTreeMap<&str, WatchedJob> = BTreeMap::new();
        for row in self.nodes.iter().filter_map(|node| node.row.as_ref()) {
            let (Some(client), Some(superstep)) = (&row.client, row.superstep) else {
                continue;
            };
            let job = jobs.entry(client).or_insert_with(|| WatchedJob {
                client: client.clone(),
                superstep: 0,
                supersteps: row.supersteps,
                calls: None,
                per_second: self.rates.get(client).and_then(JobRate::per_second),
            });
            job.superstep = job.superstep.max(superstep);
            job.calls = job.calls.or(row.calls);
        }
        jobs.into_values().collect()
    }

    /// The number of nodes that answer at `now`, and of all.
    pub(super) fn answering(&self, now: Instant) -> (usize, usize) {
        let answering = (0..self.nodes.len()).filter(|index| self.is_answering(*index, now));
        (answering.count(), self.nodes.len())
    }

    /// Whether the node at position `index` answers at `now`.
    pub(super) fn is_answering(&self, index: usize, now: Instant) -> bool {
        let is_known = self.nodes[index].row.is_some();
        is_known && self.problem(index, now).is_none()
    }

    /// A row for each node at `now`, in the columns of [`HEADERS`].
    pub(super) fn cells(&self, now: Instant) -> Vec<[String; 9]> {
        let nodes = 0..self.nodes.len();
        nodes.map(|index| self.cells_of(index, now)).collect()
    }

    /// The cluster at `now`, for a client that runs `build`.
    pub(super) fn report(&self, build: Build, now: Instant) -> Report {
        let nodes = self.nodes.iter().enumerate().map(|(index, node)| {
            let problem = self.problem(index, now).or_else(|| {
                let unasked = node.row.is_none();
                unasked.then(|| "has not answered yet".to_owned())
            });
            match (&node.row, problem) {
                (Some(row), None) => row.clone(),
                (_, problem) => Row::unknown(&self.members[index], problem.unwrap_or_default()),
            }
        });
        Report {
            build,
            nodes: nodes.collect(),
        }
    }

    /// Why nodes do not answer at `now`, a sentence for each that says why.
    pub(super) fn problems(&self, now: Instant) -> Vec<String> {
        let nodes = (0..self.nodes.len()).filter(|index| !self.is_answering(*index, now));
        let reasons = nodes.filter_map(|index| {
            let reason = self.nodes[index].row.as_ref()?.problem.as_ref()?;
            Some(format!("{}: {reason}", self.members[index].name))
        });
        reasons.collect()
    }

    fn cells_of(&self, index: usize, now: Instant) -> [String; 9] {
        let member = &self.members[index];
        let mut cells: [String; 9] = Default::default();
        cells[0].clone_from(&member.name);
        cells[1].clone_from(&member.set);
        if self.problem(index, now).is_some() {
            let heard = self.nodes[index].heard;
            let silent = now.saturating_duration_since(heard);
            cells[8] = format!("no answer for {}", age(silent.as_secs_f64()));
            return cells;
        }
        let Some(row) = &self.nodes[index].row else {
            cells[8] = "is asked".to_owned();
            return cells;
        };
        let shown = |value: Option<String>| value.unwrap_or_default();
        cells[2] = shown(row.superstep.map(|superstep| superstep.to_string()));
        cells[3] = shown(row.processes.map(|count| count.to_string()));
        cells[4] = shown(row.load_recent.map(|load| rounded(load, 2)));
        cells[5] = shown(row.others.as_ref().map(|others| others.len().to_string()));
        cells[6] = shown(row.memory_bytes.map(in_bytes));
        cells[7] = shown(row.up_seconds.map(age));
        cells[8] = match (&row.client, &row.abandoned) {
            (Some(client), _) => client.clone(),
            (None, Some(abandoned)) => abandoned.sentence(),
            (None, None) => "-".to_owned(),
        };
        cells
    }

    /// Why nothing is known of a node at `now`, if it has been asked for long enough.
    fn problem(&self, index: usize, now: Instant) -> Option<String> {
        let node = &self.nodes[index];
        let silent = now.saturating_duration_since(node.heard);
        let reason = node.row.as_ref().and_then(|row| row.problem.as_deref());
        if reason.is_none() && silent < self.patience {
            return None;
        }
        let silence = || format!("no answer for {}", age(silent.as_secs_f64()));
        Some(reason.map_or_else(silence, str::to_owned))
    }
}

impl WatchedJob {
    /// How far it is, how fast, and what its calls did.
    pub(super) fn sentence(&self) -> String {
        let mut sentence = format!("{}: superstep {}", self.client, self.superstep);
        if let Some(all) = self.supersteps {
            sentence.push_str(&format!(" of {all}"));
        }
        if let Some(rate) = self.per_second {
            let digits = if rate < 10.0 { 2 } else { 0 };
            sentence.push_str(&format!(", {} per second", rounded(rate, digits)));
        }
        if let Some(left) = self.left() {
            sentence.push_str(&format!(", {} left", age(left)));
        }
        if let Some(calls) = &self.calls {
            let CallsRow {
                count,
                moves,
                last_superstep,
                last_moves,
            } = calls;
            let several =
                |count: u64, what| counted(usize::try_from(count).unwrap_or(usize::MAX), what);
            let (count, moves) = (several(*count, "call"), several(*moves, "move"));
            sentence.push_str(&format!(
                "; {count} with {moves}, the last one after superstep {last_superstep} with {last_moves}"
            ));
        }
        sentence
    }

    /// Seconds until the end at the present rate, if both are known.
    fn left(&self) -> Option<f64> {
        let rate = self.per_second.filter(|rate| 0.0 < *rate)?;
        let left = self.supersteps?.saturating_sub(self.superstep);
        Some(real(left) / rate)
    }
}

/// How fast the supersteps of a job follow each other, by the last seconds.
#[derive(Clone, Debug, Default)]
struct JobRate {
    /// Times with the number of supersteps that had begun, the latest last.
    samples: VecDeque<(Instant, u64)>,
}

impl JobRate {
    /// At `now`, this number of supersteps has begun.
    fn add(&mut self, now: Instant, superstep: u64) {
        if self
            .samples
            .back()
            .is_some_and(|(_, last)| superstep < *last)
        {
            // Another job of the same client.
            self.samples.clear();
        }
        self.samples.push_back((now, superstep));
        // The oldest sample is the beginning of the window, or before it.
        while self
            .samples
            .get(1)
            .is_some_and(|(second, _)| WINDOW <= now.duration_since(*second))
        {
            self.samples.pop_front();
        }
    }

    /// Supersteps per second, once two samples are far enough apart.
    fn per_second(&self) -> Option<f64> {
        let ((first, from), (last, to)) = (self.samples.front()?, self.samples.back()?);
        let seconds = last.duration_since(*first);
        let supersteps = u32::try_from(to - from).unwrap_or(u32::MAX);
        (SHORTEST <= seconds).then(|| f64::from(supersteps) / seconds.as_secs_f64())
    }
}

fn in_bytes(bytes: u64) -> String {
    data(real(bytes))
}

/// A node that is silent for less may be busy.
const PATIENCE: Duration = Duration::from_secs(3);

/// The time over which the rate is a mean.
const WINDOW: Duration = Duration::from_secs(10);
/// A shorter time says little.
const SHORTEST: Duration = Duration::from_millis(500);

#[cfg(test)]
mod tests {
    use bsp::units::Seconds;
    use machines::JobError;
    use protocol::{CallsStatus, JobStatus, Status};

    use super::*;

    fn member(name: &str, set: &str) -> Member {
        Member {
            name: name.to_owned(),
            address: "127.0.0.1:7447".to_owned(),
            set: set.to_owned(),
            slots: 1,
            speed: 1.0,
        }
    }

    /// An answer of a node that has begun this number of supersteps of 1000, or has no job.
    fn answer(superstep: Option<u64>, calls: Option<CallsStatus>) -> NodeAnswer {
        let job = superstep.map(|superstep| JobStatus {
            client: "laptop".to_owned(),
            since: Seconds::ZERO,
            superstep,
            supersteps: Some(1000),
            processes: 8,
            calls,
        });
        NodeAnswer {
            build: None,
            status: Ok(Status {
                workloads: Vec::new(),
                abandoned: None,
                up: Seconds::new(7440.0).unwrap(),
                speed: 1e9,
                processors: 2,
                load: (0.1, 0.25),
                job,
                jobs: 0,
                refused: 0,
                memory: Some(35_000_000),
                others: Vec::new(),
            }),
        }
    }

    fn refused() -> NodeAnswer {
        NodeAnswer {
            build: None,
            status: Err(JobError::cluster("node-2 is lost")),
        }
    }

    const CALLS: CallsStatus = CallsStatus {
        count: 3,
        moves: 7,
        last: 100,
        last_moves: 2,
    };

    #[test]
    fn a_job_is_what_its_nodes_know_together() {
        let began = Instant::now();
        let every = Duration::from_secs(1);
        let members = vec![member("node-1", "left"), member("node-2", "right")];
        let mut watched = Watched::new(members, every, began);
        assert_eq!(watched.jobs(), []);
        for second in 0..3_u32 {
            let now = began + second * every;
            let superstep = 100 + 20 * u64::from(second);
            watched.take(0, answer(Some(superstep), Some(CALLS)), now);
            watched.take(1, answer(Some(superstep - 1), None), now);
        }
        let jobs = watched.jobs();
        let sentences: Vec<String> = jobs.iter().map(WatchedJob::sentence).collect();
        assert_eq!(
            sentences,
            [
                "laptop: superstep 140 of 1000, 20 per second, 43 s left; 3 calls with 7 moves, the last one after superstep \
              100 with 2"
            ]
        );
        let now = began + 3 * every;
        watched.take(0, answer(None, None), now);
        watched.take(1, answer(None, None), now);
        assert_eq!(watched.jobs(), []);
        assert!(watched.rates.is_empty());
    }

    #[test]
    fn silent_nodes_are_shown_as_such() {
        let began = Instant::now();
        let every = Duration::from_secs(1);
        let members = ["node-1", "node-2", "node-3"].map(|name| member(name, "all"));
        let mut watched = Watched::new(members.to_vec(), every, began);
        let at = |seconds| began + Duration::from_secs(seconds);
        let last = |watched: &Watched, now| {
            watched
                .cells(now)
                .into_iter()
                .map(|cells| cells[8].clone())
                .collect::<Vec<_>>()
        };
        assert_eq!(last(&watched, at(0)), ["is asked"; 3]);
        for index in 0..3 {
            watched.take(index, answer(None, None), at(1));
        }
        assert_eq!(watched.answering(at(2)), (3, 3));
        watched.take(0, answer(None, None), at(8));
        watched.take(1, refused(), at(8));
        assert_eq!(watched.answering(at(9)), (1, 3));
        assert_eq!(
            last(&watched, at(9)),
            ["-", "no answer for 8 s", "no answer for 8 s"]
        );
        assert_eq!(watched.problems(at(9)), ["node-2: node-2 is lost"]);
        watched.take(1, answer(None, None), at(10));
        watched.take(2, answer(None, None), at(10));
        assert_eq!(watched.answering(at(10)), (3, 3));
    }

    #[test]
    fn the_rate_is_that_of_the_last_ten_seconds() {
        let began = Instant::now();
        let at = |seconds| began + Duration::from_secs(seconds);
        let mut rate = JobRate::default();
        rate.add(at(0), 100);
        assert_eq!(rate.per_second(), None);
        for second in 1..=20 {
            rate.add(at(second), 100 + 5 * second);
        }
        assert_eq!(rate.per_second(), Some(5.0));
        for second in 21..=25 {
            rate.add(at(second), 200);
        }
        assert_eq!(rate.per_second(), Some(2.5));
        for second in 26..=36 {
            rate.add(at(second), 200);
        }
        assert_eq!(rate.per_second(), Some(0.0));
        rate.add(at(37), 3);
        assert_eq!(rate.per_second(), None);
        rate.add(at(38), 7);
        assert_eq!(rate.per_second(), Some(4.0));
    }
}
