//! How a cluster is.

use std::cmp::Reverse;

use hosts::NodeAnswer;
use machines::JobError;
use protocol::{Build, BusyProcess, CallsStatus, Member};
use serde::Serialize;

use analysis::text::{Layout, age, rounded};
use experiments::{CsvTable, Failure, Provenance, Published};

/// How a cluster is.
#[derive(Debug, Serialize)]
pub(super) struct Report {
    /// The build of this client, for the text.
    #[serde(skip)]
    pub(super) build: Build,
    pub(super) nodes: Vec<Row>,
}

/// How a node is.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Row {
    pub(super) name: String,
    pub(super) set: String,
    pub(super) address: String,
    /// Why its state is unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) problem: Option<String>,
    /// The build that it runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) build: Option<Build>,
    /// The workloads that it has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) workloads: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) up_seconds: Option<f64>,
    /// Instructions per second of one processor.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) speed: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) processors: Option<u32>,
    /// The fraction that others take, over a quarter of an hour.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) load: Option<f64>,
    /// The same over a minute.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) load_recent: Option<f64>,
    /// The processes of other programs that keep its machine busy, the oldest first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) others: Option<Vec<OtherProcess>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) client: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) superstep: Option<u64>,
    /// The number of supersteps of the job, if its experiment has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) supersteps: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) processes: Option<u32>,
    /// The calls of the job, on the node of its first Set Manager.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) calls: Option<CallsRow>,
    /// A superstep of an ended job, because of which it accepts no job.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) abandoned: Option<AbandonedRow>,
    /// Jobs that have ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) jobs: Option<u64>,
    /// Connections and frames refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) refused: Option<u64>,
    /// Bytes of memory that its process occupies.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) memory_bytes: Option<u64>,
}

/// The calls of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(super) struct CallsRow {
    pub(super) count: u64,
    pub(super) moves: u64,
    /// The number of supersteps that were complete before the last one.
    pub(super) last_superstep: u64,
    /// The number of processes that the last one has moved.
    pub(super) last_moves: u64,
}

/// A busy process of another program.
#[derive(Clone, Debug, Serialize)]
pub(super) struct OtherProcess {
    name: String,
    pid: u32,
    /// The processor time that it has consumed.
    processor_seconds: f64,
}

/// A superstep that goes on after the end of its job.
#[derive(Clone, Debug, Serialize)]
pub(super) struct AbandonedRow {
    process: String,
    superstep: u64,
    seconds: f64,
}

impl Published for Report {
    const SCHEMA: &'static str = "migbsp.status/1";
}

impl Row {
    /// The row of `member`.
    pub(super) fn new(member: &Member, answer: NodeAnswer) -> Self {
        let (status, problem) = match answer.status {
            Ok(status) => (Some(status), None),
            Err(error) => (None, Some(error.message)),
        };
        let status = status.as_ref();
        let job = status.and_then(|status| status.job.as_ref());
        let abandoned = status.and_then(|status| status.abandoned.as_ref());
        Self {
            name: member.name.clone(),
            set: member.set.clone(),
            address: member.address.clone(),
            problem,
            build: answer.build,
            workloads: status.map(|status| status.workloads.clone()),
            up_seconds: status.map(|status| status.up.get()),
            speed: status.map(|status| status.speed),
            processors: status.map(|status| status.processors),
            load: status.map(|status| status.load.0),
            load_recent: status.map(|status| status.load.1),
            others: status.map(|status| OtherProcess::oldest_first(&status.others)),
            client: job.map(|job| job.client.clone()),
            superstep: job.map(|job| job.superstep),
            supersteps: job.and_then(|job| job.supersteps),
            calls: job.and_then(|job| job.calls.as_ref()).map(CallsRow::new),
            processes: job.map(|job| job.processes),
            abandoned: abandoned.map(|abandoned| AbandonedRow {
                process: abandoned.rank.to_string(),
                superstep: abandoned.superstep,
                seconds: abandoned.since.get(),
            }),
            jobs: status.map(|status| status.jobs),
            refused: status.map(|status| status.refused),
            memory_bytes: status.and_then(|status| status.memory),
        }
    }

    /// The row of `member`, of which nothing is known because of `problem`.
    pub(super) fn unknown(member: &Member, problem: String) -> Self {
        let status = Err(JobError::cluster(problem));
        Self::new(
            member,
            NodeAnswer {
                build: None,
                status,
            },
        )
    }

    /// The oldest busy process of another program.
    fn oldest(&self) -> Option<&OtherProcess> {
        self.others.as_ref()?.first()
    }
}

impl CallsRow {
    const fn new(calls: &CallsStatus) -> Self {
        Self {
            count: calls.count,
            moves: calls.moves,
            last_superstep: calls.last,
            last_moves: calls.last_moves,
        }
    }
}

impl OtherProcess {
    /// Those of `busy`, in whatever order a node sends them.
    fn oldest_first(busy: &[BusyProcess]) -> Vec<Self> {
        let mut busy: Vec<_> = busy.iter().collect();
        busy.sort_by_key(|process| (Reverse(process.age()), process.pid()));
        let others = busy.into_iter().map(|process| Self {
            name: process.name().to_owned(),
            pid: process.pid(),
            processor_seconds: process.age().get(),
        });
        others.collect()
    }
}

impl AbandonedRow {
    pub(super) fn sentence(&self) -> String {
        let Self {
            process, superstep, ..
        } = self;
        let seconds = age(self.seconds);
        format!(
            "superstep {superstep} of {process} has gone on for {seconds} although its job has ended; the node accepts \
             jobs when it ends: restart the node if it never does"
        )
    }
}

/// The report for people.
pub(super) fn text(report: &Report, layout: Layout) -> String {
    let headers = [
        "node",
        "Set",
        "address",
        "program",
        "build",
        "up",
        "Minstr/s",
        "processors",
        "load",
        "others",
        "oldest",
        "job of",
        "superstep",
        "processes",
    ];
    let shown = |value: Option<String>| value.unwrap_or_default();
    let rows = report.nodes.iter().map(|row| {
        let program = row.build.as_ref();
        let program = program.map(|build| format!("{} {}", build.program(), build.version()));
        vec![
            row.name.clone(),
            row.set.clone(),
            row.address.clone(),
            program.unwrap_or_else(|| "no answer".to_owned()),
            shown(row.build.as_ref().map(Build::short)),
            shown(row.up_seconds.map(age)),
            shown(row.speed.map(|speed| rounded(speed / 1e6, 0))),
            shown(row.processors.map(|count| count.to_string())),
            shown(row.load_recent.map(|load| rounded(load, 2))),
            shown(row.others.as_ref().map(|others| others.len().to_string())),
            shown(row.oldest().map(|oldest| {
                let OtherProcess {
                    name,
                    processor_seconds,
                    ..
                } = oldest;
                format!("{name} {}", age(*processor_seconds))
            })),
            row.client.clone().unwrap_or_else(|| "-".to_owned()),
            shown(row.superstep.map(|superstep| superstep.to_string())),
            shown(row.processes.map(|count| count.to_string())),
        ]
    });
    let mut text = layout.reduced_table(&headers, rows, &[6, 7, 8, 4, 3, 13, 2, 10, 9]);
    for row in &report.nodes {
        if let Some(problem) = &row.problem {
            text.push_str(&format!("\n{}: {problem}\n", row.name));
        }
        if let Some(abandoned) = &row.abandoned {
            text.push_str(&format!("\n{}: {}\n", row.name, abandoned.sentence()));
        }
        let other = row.build.as_ref().filter(|build| **build != report.build);
        if let Some(other) = other {
            let own = &report.build;
            let remedy = "`run` needs --allow-mixed-builds at both ends, or one build on all hosts";
            text.push_str(&format!(
                "\n{}: runs {other}, this client runs {own}: {remedy}\n",
                row.name
            ));
        }
    }
    text
}

/// The report as rows, one for each node.
///
/// # Errors
///
/// If a row has not as many values as there are columns.
pub(super) fn csv(report: &Report, provenance: &Provenance) -> Result<String, Failure> {
    let header = [
        "name",
        "set",
        "address",
        "program",
        "version",
        "build_sha256",
        "speed",
        "processors",
        "load",
        "load_recent",
        "others",
        "oldest_name",
        "oldest_pid",
        "oldest_processor_seconds",
        "client",
        "problem",
    ];
    let mut table = CsvTable::with_header(Report::SCHEMA, provenance, header)?;
    for row in &report.nodes {
        let build = |part: fn(&Build) -> String| row.build.as_ref().map_or_else(String::new, part);
        let oldest =
            |part: fn(&OtherProcess) -> String| row.oldest().map_or_else(String::new, part);
        let number = |value: Option<f64>| value.map_or_else(String::new, |value| value.to_string());
        table.push([
            row.name.clone(),
            row.set.clone(),
            row.address.clone(),
            build(|build| build.program().to_owned()),
            build(|build| build.version().to_owned()),
            build(Build::sha256),
            number(row.speed),
            row.processors
                .map_or_else(String::new, |count| count.to_string()),
            number(row.load),
            number(row.load_recent),
            row.others
                .as_ref()
                .map_or_else(String::new, |others| others.len().to_string()),
            oldest(|oldest| oldest.name.clone()),
            oldest(|oldest| oldest.pid.to_string()),
            oldest(|oldest| oldest.processor_seconds.to_string()),
            row.client.clone().unwrap_or_default(),
            row.problem.clone().unwrap_or_default(),
        ])?;
    }
    table.text()
}
