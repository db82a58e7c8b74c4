//! `migbsp check`: whether the nodes of a cluster are there, fit each other, and reach each other; or, with a file, whether its program keeps
//! the laws of programs.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::SystemTime;

use analysis::document::{Answer, Document, Part, Table, csv};
use analysis::text::{age, rounded};
use clap::Args;
use experiments::{Failure, Provenance, Published};
use hosts::{Bandwidth, CheckedNode, NodeCheck, bandwidths, check};
use indicatif::ProgressBar;
use machines::JobError;
use protocol::identity::{Certificate, Name, Validity, date, ending};
use protocol::{Build, Member};
use serde::Serialize;

use crate::command::{Command, Context, Overrides};
use crate::commands::laws;
use crate::failure::CommandFailure;
use crate::live::cluster::{ClusterArguments, ClusterMembers};
use crate::live::help::{CHECK_ABOUT, CHECK_HELP};
use crate::output::{self, Format};
use crate::progress;

/// Arguments of `check`.
#[derive(Clone, Debug, Args)]
pub(crate) struct CheckArguments {
    /// Experiment file, TOML, whose program is checked instead of a cluster; `-` reads stdin
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,
    #[command(flatten)]
    overrides: Overrides,
    #[command(flatten)]
    pub(crate) cluster: ClusterArguments,
    /// Have each node send some MiB to each other one, and show how fast they arrive
    #[arg(long)]
    bandwidth: bool,
    /// Format of the results
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// The command `check`.
pub(crate) fn command() -> Command {
    Command::new(
        "check",
        "Check that a cluster's nodes reach each other, or that a program keeps the laws",
        execute,
    )
    .long_about(CHECK_ABOUT)
    .after_long_help(CHECK_HELP)
}

fn execute(arguments: &CheckArguments, context: &Context<'_>) -> Result<(), CommandFailure> {
    if let Some(file) = &arguments.file {
        if arguments.cluster.is_given() || arguments.bandwidth {
            let problem =
                "check has a FILE to check a program, or --cluster to check nodes, and not both";
            return Err(Failure::Usage(problem.to_owned()).into());
        }
        return laws::check(file, &arguments.overrides, arguments.format, context);
    }
    if !arguments.overrides.assignments().is_empty() {
        let problem = "-n, --seed, --policy and --set are for the experiment of a FILE";
        return Err(Failure::Usage(problem.to_owned()).into());
    }
    let cluster = ClusterMembers::find(&arguments.cluster, context.registry())?;
    show(arguments, cluster, context)
}

/// The same, of a cluster that is known.
pub(crate) fn show(
    arguments: &CheckArguments,
    cluster: ClusterMembers,
    context: &Context<'_>,
) -> Result<(), CommandFailure> {
    if arguments.file.is_some() {
        let problem = "check FILE needs no nodes: call it without `up`";
        return Err(Failure::Usage(problem.to_owned()).into());
    }
    let provenance = Provenance::of_program(context.registry())?;
    let asked = cluster.all();
    let progress = |count: usize, of: &str| {
        let bar = if context.has_progress() {
            ProgressBar::new(u64::try_from(count).unwrap_or(u64::MAX))
        } else {
            ProgressBar::hidden()
        };
        let style = format!("{{wide_bar}} {{pos}}/{{len}} {of} in {{elapsed}}");
        bar.with_style(progress::style(&style))
    };
    let failed = |error: JobError| Failure::Cluster(error.message);
    let own = cluster.client.certificate().clone();
    let bar = progress(asked.len(), "nodes");
    let done = &mut |_| bar.inc(1);
    let checks = check(cluster.client.clone(), provenance.build(), &asked, done).map_err(failed)?;
    bar.finish_and_clear();
    let members: Vec<&Member> = asked.iter().map(|(member, _)| member).collect();
    let mut report = Report::new(&members, checks, (provenance.build(), &own));
    if arguments.bandwidth {
        let found = {
            let known: BTreeSet<(&str, &str)> = report.known_ways().collect();
            let bar = progress(known.len(), "transfers");
            let name = |index: usize| members[index].name.as_str();
            let is_way = |from, to| known.contains(&(name(from), name(to)));
            let done = &mut || bar.inc(1);
            let build = provenance.build();
            let found =
                bandwidths(cluster.client, build, (&asked, is_way), done).map_err(failed)?;
            bar.finish_and_clear();
            found
        };
        report.add_bandwidths(&members, found);
    }
    output::show(&report, (arguments.format, true), || Ok(provenance))?;
    let problem = match &report.problems[..] {
        [] => return Ok(()),
        [problem] => problem.clone(),
        [first, rest @ ..] => format!("{first}; and {} more: see above", rest.len()),
    };
    Err(Failure::Cluster(problem).into())
}

/// How a cluster is.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub(crate) struct Report {
    /// What is said of certificates that end soon, for the text.
    #[serde(skip)]
    ending: Option<String>,
    /// When the certificate of the client ends.
    certificate_not_after: String,
    /// The nodes of the list of hosts.
    nodes: Vec<Row>,
    /// The ways between them.
    ways: Vec<WayRow>,
    /// What has to be mended, a sentence each.
    problems: Vec<String>,
}

/// How a node is.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
struct Row {
    /// Name of its host.
    name: String,
    /// Name of its Set.
    set: String,
    /// Where it listens.
    address: String,
    /// Processors that the list of hosts gives it.
    slots: u32,
    /// Processors that it has, if it answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    processors: Option<u32>,
    /// The build that it runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    build: Option<Build>,
    /// When its certificate ends.
    #[serde(skip_serializing_if = "Option::is_none")]
    certificate_not_after: Option<String>,
    /// By how much its clock is ahead of that of this machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    clock_seconds: Option<f64>,
    /// Of a message from here and back.
    #[serde(skip_serializing_if = "Option::is_none")]
    round_trip_seconds: Option<f64>,
    /// How many other nodes it reaches.
    reached: usize,
}

/// The way from one node to another.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
struct WayRow {
    /// Name of the node that has connected.
    from: String,
    /// Name of the node that was to answer.
    to: String,
    /// Of a message from the one to the other and back, if there is a way.
    #[serde(skip_serializing_if = "Option::is_none")]
    round_trip_seconds: Option<f64>,
    /// Bytes of the greatest datagram.
    #[serde(skip_serializing_if = "Option::is_none")]
    datagram_bytes: Option<u16>,
    /// How fast some MiB have arrived, if that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    bandwidth_bytes_per_second: Option<f64>,
    /// Why there is no way, or no bandwidth.
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<String>,
}

impl Published for Report {
    const SCHEMA: &'static str = "migbsp.check/1";
}

impl Report {
    /// What `checks` of `members` have found, for a client that runs this build and has this certificate.
    fn new(
        members: &[&Member],
        checks: Vec<NodeCheck>,
        (build, own): (&Build, &Certificate),
    ) -> Self {
        let named = members.iter().zip(&checks).filter_map(|(member, check)| {
            let validity = check.node.as_ref().ok()?.validity;
            Some((member.name.parse::<Name>().ok()?, validity))
        });
        let named: Vec<(Name, Validity)> = named.collect();
        let all = named.iter().map(|(name, validity)| (name, *validity));
        let all = all.chain([(&own.subject.name, own.validity)]);
        let mut report = Self {
            ending: ending(all, SystemTime::now()),
            certificate_not_after: date(own.validity.until()),
            nodes: Vec::new(),
            ways: Vec::new(),
            problems: Vec::new(),
        };
        for (index, (member, check)) in members.iter().zip(checks).enumerate() {
            let others = members.iter().enumerate();
            let others = others.filter(|(other, _)| *other != index);
            let others: Vec<&str> = others.map(|(_, other)| other.name.as_str()).collect();
            report.add(member, check, (&others, build));
        }
        report
    }

    /// Adds a node, and the ways from it to `others`.
    fn add(&mut self, member: &Member, check: NodeCheck, (others, own): (&[&str], &Build)) {
        let name = &member.name;
        let mut row = Row {
            name: name.clone(),
            set: member.set.clone(),
            address: member.address.clone(),
            slots: member.slots,
            processors: None,
            build: None,
            certificate_not_after: None,
            clock_seconds: None,
            round_trip_seconds: None,
            reached: 0,
        };
        match check.node {
            Err(error) => {
                self.problems.push(format!("{name}: {error}"));
                return self.nodes.push(row);
            }
            Ok(CheckedNode {
                build,
                validity,
                status,
                way,
            }) => {
                if build != *own {
                    self.problems.push(format!(
                        "{name}: runs {build}, this client runs {own}: `run` needs --allow-mixed-builds at both ends, or one build"
                    ));
                }
                let (slots, processors) = (member.slots, status.processors);
                if processors < slots {
                    self.problems.push(format!(
                        "{name}: the list of hosts has {slots} slots, the node has {processors} processors: slots={processors}"
                    ));
                }
                row.processors = Some(processors);
                row.build = Some(build);
                row.certificate_not_after = Some(date(validity.until()));
                row.round_trip_seconds = Some(way.round_trip.get());
            }
        }
        match check.others {
            Err(error) => self.problems.push(format!("{name}: {error}")),
            Ok((clock, ways)) => {
                row.clock_seconds = Some(clock);
                if CLOCK_MAX < clock.abs() {
                    let direction = if clock < 0.0 { "behind" } else { "ahead of" };
                    self.problems.push(format!(
                        "{name}: its clock is {} {direction} that of this machine: certificates are valid at other times there",
                        age(clock.abs())
                    ));
                }
                row.reached = ways.iter().filter(|way| way.is_ok()).count();
                for (to, way) in others.iter().zip(ways) {
                    let problem = way.as_ref().err().cloned();
                    if let Some(problem) = &problem {
                        self.problems
                            .push(format!("{name} does not reach {to}: {problem}"));
                    }
                    let way = way.ok();
                    self.ways.push(WayRow {
                        from: name.clone(),
                        to: (*to).to_owned(),
                        round_trip_seconds: way.map(|way| way.round_trip.get()),
                        datagram_bytes: way.map(|way| way.datagram),
                        bandwidth_bytes_per_second: None,
                        problem,
                    });
                }
            }
        }
        self.nodes.push(row);
    }

    /// The names of the nodes at both ends of each way that there is.
    fn known_ways(&self) -> impl Iterator<Item = (&str, &str)> {
        let known = self.ways.iter().filter(|way| way.problem.is_none());
        known.map(|way| (way.from.as_str(), way.to.as_str()))
    }

    /// Adds what `found` says of the ways between `members`.
    fn add_bandwidths(&mut self, members: &[&Member], found: Vec<Bandwidth>) {
        let found = found.into_iter().map(|((from, to), rate)| {
            let name = |index: usize| members[index].name.clone();
            ((name(from), name(to)), rate)
        });
        let mut found: BTreeMap<(String, String), _> = found.collect();
        for way in &mut self.ways {
            match found.remove(&(way.from.clone(), way.to.clone())) {
                None => {}
                Some(Ok(rate)) => way.bandwidth_bytes_per_second = Some(rate.get()),
                Some(Err(problem)) => {
                    let WayRow { from, to, .. } = way;
                    let said = format!("the bandwidth from {from} to {to} is not known: {problem}");
                    self.problems.push(said);
                    way.problem = Some(problem);
                }
            }
        }
    }

    /// The bandwidths, the least first, if they were asked for.
    fn bandwidths(&self) -> Option<Table> {
        let ways = self.ways.iter();
        let ways = ways.filter_map(|way| Some((way.bandwidth_bytes_per_second?, way)));
        let mut ways: Vec<(f64, &WayRow)> = ways.collect();
        ways.sort_by(|(one, _), (other, _)| one.total_cmp(other));
        let ((least, _), (most, _)) = (ways.first()?, ways.last()?);
        let shown = |rate: f64| rounded(rate / 1e6, 2);
        let caption = format!(
            "bandwidths of {} to {} MB/s; the slowest ways",
            shown(*least),
            shown(*most)
        );
        let rows = ways.iter().take(SLOWEST).map(|(rate, way)| {
            let time = way.round_trip_seconds.map(|time| rounded(time * 1e3, 3));
            vec![
                way.from.clone(),
                way.to.clone(),
                shown(*rate),
                time.unwrap_or_else(|| "-".to_owned()),
            ]
        });
        let table = Table::new(["from", "to", "MB/s", "round trip, ms"], rows);
        Some(table.captioned(caption))
    }
}

impl Answer for Report {
    fn document(&self) -> Document {
        let others = self.nodes.len().saturating_sub(1);
        let shown = |value: Option<String>| value.unwrap_or_else(|| "-".to_owned());
        let nodes = Table::of(
            &self.nodes,
            &[
                ("node", &|row| row.name.clone()),
                ("Set", &|row| row.set.clone()),
                ("address", &|row| row.address.clone()),
                ("build", &|row| shown(row.build.as_ref().map(Build::short))),
                ("slots", &|row| row.slots.to_string()),
                ("processors", &|row| {
                    shown(row.processors.map(|count| count.to_string()))
                }),
                ("certificate until", &|row| {
                    shown(row.certificate_not_after.clone())
                }),
                ("clock, s", &|row| {
                    shown(row.clock_seconds.map(|clock| rounded(clock, 3)))
                }),
                ("round trip, ms", &|row| {
                    shown(row.round_trip_seconds.map(|time| rounded(time * 1e3, 3)))
                }),
                ("reaches", &|row| format!("{} of {others}", row.reached)),
            ],
        );
        let mut document = Document::default();
        document.table(nodes.dispensing(&[3, 2, 1]));
        let times = self.ways.iter().filter_map(|way| way.round_trip_seconds);
        let mut times: Vec<f64> = times.collect();
        times.sort_by(f64::total_cmp);
        if let (Some(least), Some(most)) = (times.first(), times.last()) {
            let sizes = self.ways.iter().filter_map(|way| way.datagram_bytes);
            document.say(format!(
                "{} of {} ways between nodes: round trips of {} to {} ms, datagrams of {} bytes or more",
                times.len(),
                self.ways.len(),
                rounded(least * 1e3, 3),
                rounded(most * 1e3, 3),
                sizes.min().unwrap_or_default()
            ));
        }
        document.extend(self.bandwidths().map(Part::Table));
        for line in self.ending.iter().chain(&self.problems) {
            document.say(line);
        }
        document
    }

    /// The ways as rows, one for each, with the certificate of the node that has connected.
    fn csv(&self, provenance: &Provenance) -> Result<String, Failure> {
        let certificate = |way: &WayRow| {
            let from = self.nodes.iter().find(|node| node.name == way.from);
            from.and_then(|node| node.certificate_not_after.as_deref())
        };
        csv::<Self, _>(
            provenance,
            &self.ways,
            &[
                ("from", &|way| way.from.as_str().into()),
                ("to", &|way| way.to.as_str().into()),
                ("round_trip_seconds", &|way| way.round_trip_seconds.into()),
                ("datagram_bytes", &|way| way.datagram_bytes.into()),
                ("bandwidth_bytes_per_second", &|way| {
                    way.bandwidth_bytes_per_second.into()
                }),
                ("from_certificate_not_after", &|way| certificate(way).into()),
                ("problem", &|way| way.problem.as_deref().into()),
            ],
        )
    }
}

/// By how many seconds a clock may differ.
const CLOCK_MAX: f64 = 60.0;
/// Ways that are named with their bandwidths; there may be a million.
const SLOWEST: usize = 10;
