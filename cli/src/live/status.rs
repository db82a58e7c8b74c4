//! `migbsp status`: how the nodes of a cluster are.

use agents::hosts::{JobError, inquire};
use clap::Args;
use protocol::{Member, Status};
use serde::Serialize;

use crate::failure::CommandFailure;
use crate::live::cluster_members::{ClusterArguments, ClusterMembers, roles};
use crate::output::{Format, print, print_json, print_text};
use analysis::text::{Layout, age, rounded};
use experiments::Failure;

/// Arguments of `status`.
#[derive(Clone, Debug, Args)]
pub(crate) struct StatusArguments {
    #[command(flatten)]
    pub(crate) cluster: ClusterArguments,
    /// Format of the results
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// How a cluster is.
#[derive(Debug, Serialize)]
struct Report {
    /// `migbsp.status/1`.
    schema: &'static str,
    nodes: Vec<Row>,
}

/// How a node is.
#[derive(Debug, Serialize)]
struct Row {
    name: String,
    set: String,
    address: String,
    /// Why its state is unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    release: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    up_seconds: Option<f64>,
    /// Instructions per second of one processor.
    #[serde(skip_serializing_if = "Option::is_none")]
    speed: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    processors: Option<u32>,
    /// The fraction that others take, over a quarter of an hour.
    #[serde(skip_serializing_if = "Option::is_none")]
    load: Option<f64>,
    /// The same over a minute.
    #[serde(skip_serializing_if = "Option::is_none")]
    load_recent: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    job: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    client: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    superstep: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    processes: Option<u32>,
    /// Jobs that have ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    jobs: Option<u64>,
    /// Connections and frames refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    refused: Option<u64>,
}

/// Shows how the nodes of a cluster are.
///
/// # Errors
///
/// If there is no cluster, or a node does not answer; the others are shown first.
pub(crate) fn command(arguments: &StatusArguments) -> Result<(), CommandFailure> {
    show(arguments, ClusterMembers::find(&arguments.cluster)?)
}

/// The same, of a cluster that is known.
pub(crate) fn show(
    arguments: &StatusArguments,
    cluster: ClusterMembers,
) -> Result<(), CommandFailure> {
    let ClusterMembers { members, client } = cluster;
    let asked = members.iter().cloned().zip(roles(&members)).collect();
    let answers = inquire(client, asked).map_err(|error| Failure::Cluster(error.message))?;
    let nodes = members.iter().zip(answers);
    let nodes: Vec<Row> = nodes
        .map(|(member, answer)| Row::new(member, answer))
        .collect();
    let silent = nodes.iter().filter(|row| row.problem.is_some()).count();
    let report = Report {
        schema: "migbsp.status/1",
        nodes,
    };
    match arguments.format {
        Format::Table => print_text(true, |layout| text(&report, layout))?,
        Format::Json => print_json(&report)?,
        Format::Csv => print(&csv(&report).map_err(Failure::run)?)?,
    }
    if silent == 0 {
        return Ok(());
    }
    let all = report.nodes.len();
    Err(Failure::Cluster(format!("{silent} of {all} nodes do not answer: see above")).into())
}

impl Row {
    fn new(member: &Member, answer: Result<Status, JobError>) -> Self {
        let (status, problem) = match answer {
            Ok(status) => (Some(status), None),
            Err(error) => (None, Some(error.message)),
        };
        let status = status.as_ref();
        let job = status.and_then(|status| status.job.as_ref());
        Self {
            name: member.name.clone(),
            set: member.set.clone(),
            address: member.address.clone(),
            problem,
            release: status.map(|status| status.release.clone()),
            up_seconds: status.map(|status| status.up.get()),
            speed: status.map(|status| status.speed),
            processors: status.map(|status| status.processors),
            load: status.map(|status| status.load.0),
            load_recent: status.map(|status| status.load.1),
            job: job.map(|job| format!("{:016x}", job.job)),
            client: job.map(|job| job.client.clone()),
            superstep: job.map(|job| job.superstep),
            processes: job.map(|job| job.processes),
            jobs: status.map(|status| status.jobs),
            refused: status.map(|status| status.refused),
        }
    }
}

fn text(report: &Report, layout: Layout) -> String {
    let headers = [
        "node",
        "Set",
        "address",
        "release",
        "up",
        "Minstr/s",
        "processors",
        "load",
        "job",
        "superstep",
        "processes",
    ];
    let shown = |value: Option<String>| value.unwrap_or_default();
    let rows = report.nodes.iter().map(|row| {
        vec![
            row.name.clone(),
            row.set.clone(),
            row.address.clone(),
            row.release
                .clone()
                .unwrap_or_else(|| "no answer".to_owned()),
            shown(row.up_seconds.map(age)),
            shown(row.speed.map(|speed| rounded(speed / 1e6, 0))),
            shown(row.processors.map(|count| count.to_string())),
            shown(row.load_recent.map(|load| rounded(load, 2))),
            row.job.clone().unwrap_or_else(|| "-".to_owned()),
            shown(row.superstep.map(|superstep| superstep.to_string())),
            shown(row.processes.map(|count| count.to_string())),
        ]
    });
    let mut text = layout.reduced_table(&headers, rows, &[5, 6, 7, 3, 10, 2]);
    for row in &report.nodes {
        if let Some(problem) = &row.problem {
            text.push_str(&format!("\n{}: {problem}\n", row.name));
        }
    }
    text
}

fn csv(report: &Report) -> Result<String, csv::Error> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record([
        "name",
        "set",
        "address",
        "release",
        "speed",
        "processors",
        "load",
        "load_recent",
        "job",
        "problem",
    ])?;
    for row in &report.nodes {
        let number = |value: Option<f64>| value.map_or_else(String::new, |value| value.to_string());
        writer.write_record([
            row.name.clone(),
            row.set.clone(),
            row.address.clone(),
            row.release.clone().unwrap_or_default(),
            number(row.speed),
            row.processors
                .map_or_else(String::new, |count| count.to_string()),
            number(row.load),
            number(row.load_recent),
            row.job.clone().unwrap_or_default(),
            row.problem.clone().unwrap_or_default(),
        ])?;
    }
    let bytes = writer
        .into_inner()
        .map_err(csv::IntoInnerError::into_error)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
