//! `up --play`: the platform of an experiment, played by nodes of this machine.
//!
//! Nodes play hosts (`PlayedHost`). A relay plays the links between Sets that are congested or carry at most 100 MB/s.
//! Messages, barriers, calls and moves are real.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use analysis::live::Simulated;
use bsp::units::{BytesPerSecond, Instant, Seconds};
use bsp::{HostId, SetId};
use experiments::submission::scenario;
use experiments::{Failure, PreparedExperiment, Registry};
use hosts::{PlayedHost, processors};
use protocol::Member;
use protocol::identity::Name;
use record::Event;
use relay::{Change, Level, LevelSchedule, LinkSettings};
use serde::{Deserialize, Serialize};
use simulator::{Host, LinkId, Platform};

use crate::live::links::{LATENCY_MAX, SetLinks};
use crate::live::run::RunArguments;
use crate::progress::Progress;

/// What nodes play: the hosts of an experiment's platform, with their load, and the links between its Sets.
#[derive(Debug)]
pub(crate) struct Play {
    file: PathBuf,
    assignments: Vec<String>,
    platform: Arc<Platform>,
    simulated: Simulated,
}

/// What a node plays, in its configuration.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct NodePlay {
    file: PathBuf,
    assignments: Vec<String>,
    host: u32,
}

impl Play {
    /// Simulates the experiment of `run`.
    ///
    /// # Errors
    ///
    /// If the experiment has no result, or nodes of this machine cannot play its platform.
    pub(crate) fn new(
        run: &RunArguments,
        registry: &Registry,
        progress: bool,
    ) -> Result<Self, Failure> {
        let Some(named) = &run.file else {
            let problem = "--play: a job that resumes has no experiment file; leave --play out";
            return Err(Failure::Usage(problem.to_owned()));
        };
        if settings::is_stdin(named) {
            let problem = "--play: every node reads the experiment, so it must be a file";
            return Err(Failure::Usage(problem.to_owned()));
        }
        let assignments = run.overrides.assignments();
        let loaded = experiments::load_to_play(named, &assignments, registry)?;
        let prepared = PreparedExperiment::new(loaded)?;
        let platform = Arc::clone(&prepared.platform);
        let file = prepared.loaded.platform_file();
        check_hosts(&platform).map_err(|problem| cannot(&file, &problem))?;
        let (nodes, processors) = (platform.hosts().len(), processors().get());
        if u32::try_from(nodes).map_or(true, |nodes| CROWD * processors < nodes) {
            tracing::warn!(
                "--play: {nodes} nodes on {processors} processors: nodes that are kept waiting for 2.5 s count as lost"
            );
        }
        let makespan = simulate(&prepared, registry, progress)?;
        Ok(Self {
            file: named.clone(),
            assignments,
            platform,
            simulated: Simulated {
                platform: file,
                makespan,
            },
        })
    }

    /// The simulated run.
    pub(crate) const fn simulated(&self) -> &Simulated {
        &self.simulated
    }

    /// A node for each host, with its name if a certificate can have it, in Sets as those of the platform.
    pub(crate) fn members(&self) -> Vec<Member> {
        let hosts = self.platform.hosts();
        let are_names = hosts.iter().all(|host| host.name.parse::<Name>().is_ok());
        let member = |(index, host): (usize, &Host)| Member {
            name: if are_names {
                host.name.clone()
            } else {
                format!("node-{}", index + 1)
            },
            address: String::new(),
            set: self.platform.set(host.set).name.clone(),
            slots: 1,
            speed: 1.0,
        };
        hosts.iter().enumerate().map(member).collect()
    }

    /// What the node of `host` plays.
    pub(crate) fn node(&self, host: HostId) -> NodePlay {
        NodePlay {
            file: self.file.clone(),
            assignments: self.assignments.clone(),
            host: host.0,
        }
    }

    /// The links between the Sets; `None`: none is slower than what a relay carries, so loopback stands for them.
    ///
    /// # Errors
    ///
    /// If a relay cannot play one of them.
    pub(crate) fn links(&self) -> Result<Option<SetLinks>, Failure> {
        let horizon = Instant::START + self.simulated.makespan * HORIZON;
        let links = links(&self.platform, horizon);
        links.map_err(|problem| cannot(&self.simulated.platform, &problem))
    }
}

impl NodePlay {
    /// The host that it is.
    ///
    /// # Errors
    ///
    /// If the experiment cannot be read any more.
    pub(crate) fn host(&self, registry: &Registry) -> Result<PlayedHost, Failure> {
        let loaded = experiments::load(&self.file, &self.assignments, registry)?;
        let (platform, host) = (loaded.platform()?, HostId(self.host));
        if platform.hosts().len() <= host.index() {
            let file = loaded.platform_file();
            return Err(cannot(&file, "it has fewer hosts than a moment ago"));
        }
        Ok(PlayedHost::new(Arc::new(platform), host))
    }
}

/// Why a platform cannot be played.
fn cannot(file: &Path, problem: &str) -> Failure {
    Failure::Input(format!("--play: {}: {problem}", file.display()))
}

/// Checks that each host can be a node of this machine.
fn check_hosts(platform: &Platform) -> Result<(), String> {
    let count = platform.hosts().len();
    if NODES_MAX < count {
        return Err(format!(
            "{count} hosts, must be at most {NODES_MAX}: each is a process of this machine"
        ));
    }
    if let Some(host) = platform.hosts().iter().find(|host| host.cores != 1) {
        let (name, cores) = (&host.name, host.cores);
        return Err(format!(
            "host {name} has {cores} cores: a node plays a host of one"
        ));
    }
    // Hosts are numbered Set by Set on a cluster.
    let sets = platform.hosts().iter().map(|host| host.set);
    if !sets.is_sorted() {
        return Err("its hosts are not listed Set by Set".to_owned());
    }
    Ok(())
}

/// The makespan of the experiment in simulation.
fn simulate(
    prepared: &PreparedExperiment,
    registry: &Registry,
    progress: bool,
) -> Result<Seconds, Failure> {
    let scenario = scenario(prepared);
    let supersteps = prepared.loaded.experiment.application.supersteps;
    let mut progress = Progress::new(progress, scenario, supersteps, &prepared.platform);
    let run = prepared.run(scenario, registry, &mut |event: &Event| {
        progress.observe(event);
    });
    progress.finish();
    Ok(run?.end.seconds - Instant::START)
}

/// The links between the Sets of a platform, with their levels until `horizon`.
fn links(platform: &Platform, horizon: Instant) -> Result<Option<SetLinks>, String> {
    let mut links = BTreeMap::new();
    let mut is_needed = false;
    let sets = || (0_u32..).map(SetId).zip(platform.sets());
    for (from, sender) in sets() {
        for (to, receiver) in sets().filter(|(to, _)| *to != from) {
            let mut route = Vec::new();
            let found = platform.route(sender.hosts[0], receiver.hosts[0], &mut route);
            found.map_err(|error| error.to_string())?;
            let (settings, levels) = link(platform, &route, horizon)?;
            let is_limited = settings.rate.get() <= RELAYED_MAX;
            is_needed |= is_limited || levels != LevelSchedule::Constant(Level::FULL);
            links.insert((from, to), (settings, levels));
        }
    }
    Ok(is_needed.then(|| SetLinks::new(links)))
}

/// The link that stands for the links of a route, and its levels.
fn link(
    platform: &Platform,
    route: &[LinkId],
    horizon: Instant,
) -> Result<(LinkSettings, LevelSchedule), String> {
    let links: Vec<_> = route
        .iter()
        .map(|id| &platform.links()[id.index()])
        .collect();
    let nominal = links.iter().map(|link| link.bandwidth.get());
    let rate = nominal.fold(f64::MAX, f64::min);
    let latency: Seconds = links.iter().map(|link| link.latency).sum();
    if LATENCY_MAX < latency.get() {
        return Err(format!(
            "a latency of {:.3} s between Sets, must be at most {LATENCY_MAX} s: nodes that are silent for 2.5 s count as \
             lost",
            latency.get()
        ));
    }
    if let Some(link) = links.iter().find(|link| link.latency_profile.is_some()) {
        return Err(format!(
            "the latency of link {} changes, which a relay does not play",
            link.name
        ));
    }
    let settings = LinkSettings::new(
        BytesPerSecond::new(rate).expect("the least of some rates"),
        latency,
    );
    let profiles = || {
        links
            .iter()
            .filter_map(|link| link.bandwidth_profile.as_ref())
    };
    if profiles().next().is_none() {
        return Ok((settings, LevelSchedule::Constant(Level::FULL)));
    }
    let mut changes: Vec<Change> = Vec::new();
    let mut next = Some(Instant::START);
    while let Some(at) = next.filter(|at| *at <= horizon) {
        let offered = links.iter().map(|link| {
            let profile = link.bandwidth_profile.as_ref();
            let value = profile.and_then(|profile| profile.value(at));
            value.unwrap_or_else(|| link.bandwidth.get())
        });
        let offered = offered.fold(f64::MAX, f64::min);
        let level = Level::new((offered / rate).min(1.0)).ok_or_else(|| {
            format!(
                "no bandwidth is left between two Sets at {at}: nodes that are silent for 2.5 s count as lost"
            )
        })?;
        changes.push(Change { at, level });
        next = profiles()
            .filter_map(|profile| Some(profile.next_change(at)?.0))
            .min();
    }
    Ok((settings, LevelSchedule::Listed(changes)))
}

/// The most nodes that `up` starts.
const NODES_MAX: usize = 256;
/// The nodes of a processor that can be slow to answer.
const CROWD: u32 = 16;
/// Bytes per second; a relay on two busy processors carries as much.
const RELAYED_MAX: f64 = 100e6;
/// How many times as long as the simulation a run may take, in which levels change; the last one stays.
const HORIZON: f64 = 10.0;
