//! A job, as clients submit it and nodes prepare it: a new one, or one whose checkpoints are on disk.
//!
//! A job travels as an experiment: the configuration in effect as TOML, as `--print-config` shows it, without what is of
//! simulations. A node reads it as any experiment file, so what a node accepts is what a file may say, its errors name the
//! line and the key, and a binary of another version refuses what it does not know instead of taking it for something
//! else. The hosts of a job are data beside it (`Submit::members`).

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use agents::{Resumed, Setup, resumed_placement};
use bsp::units::Seconds;
use bsp::{HostId, Rank};
use checkpoint::{Checkpoint, DiskFiles, JobDescription, Latest, SavedStates, Store};
use machines::client::Request;
use machines::views::{NextView, capacity};
use machines::{Builds, JobError, Prepared, ProgramBuilder, TakeProcess};
use protocol::{Awaited, Fault as AtFault, Home, InputFolder, Member, Submit};
use record::{LostHost, ResumedRun, ViewChange};
use settings::{DataFolder, Fault};

use crate::failure::Failure;
use crate::loaded::{Loaded, check_for_hosts, load_text_for_cluster, of_sets, without_others};
use crate::prepared::PreparedExperiment;
use crate::registry::{BuildInput, Registry, Unbuilt};
use crate::scheduler::Scenario;

/// The hosts of a job.
#[derive(Clone, Debug, Default)]
pub struct JobHosts {
    /// Those that take part from the beginning, Set by Set.
    pub members: Vec<Member>,
    /// Those that may take part later.
    pub pool: Vec<Member>,
    /// What the experiment says of those that it names, if it names any.
    pub awaited: Option<Awaited>,
}

impl JobHosts {
    /// Those of the experiment of `loaded` on a cluster of `members`, in which nodes of `pool` join jobs. Processes are placed on all
    /// of them and on the hosts in `elasticity.pool`, as in a simulation: those whose host takes part later wait for it elsewhere.
    ///
    /// # Errors
    ///
    /// If a host that the experiment names is none of these, or none is left for a Set.
    pub fn new(loaded: &Loaded, members: &[Member], pool: &[Member]) -> Result<Self, Failure> {
        let section = &loaded.experiment.elasticity;
        let is_named = |member: &Member| section.pool.contains(&member.name);
        let mut all = members.to_vec();
        for named in pool.iter().filter(|member| is_named(member)) {
            let last = all.iter().rposition(|member| member.set == named.set);
            all.insert(last.map_or(all.len(), |last| last + 1), named.clone());
        }
        if section.pool.is_empty() {
            return Ok(Self {
                members: all,
                pool: pool.to_vec(),
                awaited: None,
            });
        }
        let platform = of_sets(&sets(&all))?;
        let mut placement = PreparedExperiment::initial_placement(loaded, &platform)?;
        let elasticity = section.agents((&platform, &loaded.written), &mut placement)?;
        let standby = elasticity.map(|elasticity| elasticity.standby);
        let there: Vec<HostId> = (0..)
            .zip(&all)
            .filter(|(_, member)| !is_named(member))
            .map(|(host, _)| HostId(host))
            .collect();
        let place = |host: &HostId| there.binary_search(host).map(HostId::from_index);
        let placement = placement.iter().filter_map(|host| place(host).ok());
        let mut homes: BTreeMap<HostId, Vec<Rank>> = BTreeMap::new();
        for (rank, host) in standby.into_iter().flatten() {
            homes.entry(host).or_default().push(rank);
        }
        let home = |(host, processes): (HostId, Vec<Rank>)| Home {
            host: all[host.index()].name.clone(),
            processes,
        };
        let awaited = Awaited {
            placement: placement.collect(),
            homes: homes.into_iter().map(home).collect(),
            ..Awaited::default()
        };
        let (named, there): (Vec<Member>, Vec<Member>) = all.into_iter().partition(is_named);
        let others = pool.iter().filter(|member| !is_named(member)).cloned();
        Ok(Self {
            members: there,
            pool: named.into_iter().chain(others).collect(),
            awaited: Some(awaited),
        })
    }

    /// Those of a job on all of these nodes, in which none joins.
    #[must_use]
    pub fn of(members: &[Member]) -> Self {
        Self {
            members: members.to_vec(),
            ..Self::default()
        }
    }
}

/// The experiment of `loaded` on `hosts`, and the request for it. `plays`: its background load is played there.
///
/// # Errors
///
/// If it cannot be run there.
pub fn request(
    loaded: &Loaded,
    hosts: &JobHosts,
    registry: &Registry,
    are_mixed_builds_allowed: bool,
    plays: bool,
) -> Result<(PreparedExperiment, Request), Failure> {
    check_for_hosts(loaded, plays)?;
    let awaited = hosts.awaited.as_ref().filter(|_| !plays);
    if let (None, Some(name)) = (awaited, loaded.experiment.elasticity.pool.first()) {
        let rule = "needs a simulation, or `run` without `--play`: no host joins here; set `elasticity.pool=[]`";
        let (key, found) = ("elasticity.pool", format!("\"{name}\""));
        return Err(Failure::input(
            loaded.written.invalid("", key, &found, rule),
        ));
    }
    let entry = registry.find(&loaded.experiment.application.workload, None)?;
    entry.check(loaded.build_input())?;
    let experiment = settings::print(&without_others(loaded), &loaded.written);
    let loaded_there = load(&experiment, &hosts.members, registry)?;
    let prepared = place(loaded_there, Beginning::first(awaited))?;
    of_prepared(
        loaded,
        (hosts, experiment),
        prepared,
        are_mixed_builds_allowed,
        registry,
    )
}

/// The same for the experiment of a job that resumes with this placement: its nodes read `experiment`, as those of the job
/// before did.
///
/// # Errors
///
/// If it cannot be run there.
fn resuming_request(
    loaded: &Loaded,
    experiment: &str,
    (hosts, placement): (&JobHosts, Vec<HostId>),
    (registry, are_mixed_builds_allowed): (&Registry, bool),
) -> Result<(PreparedExperiment, Request), Failure> {
    check_for_hosts(loaded, false)?;
    let loaded_there = load(experiment, &hosts.members, registry)?;
    let prepared = place(loaded_there, Beginning::Later(Some(placement)))?;
    of_prepared(
        loaded,
        (hosts, experiment.to_owned()),
        prepared,
        are_mixed_builds_allowed,
        registry,
    )
}

/// The experiment of a job that a node leads, in the view of `submit`, and the request for that.
///
/// # Errors
///
/// If this program does not have its workload, or the view is none of the experiment.
pub fn attached(
    submit: &Submit,
    registry: &Registry,
) -> Result<(Loaded, PreparedExperiment, Request), Failure> {
    check_workload(submit, registry).map_err(|error| Failure::Input(error.to_string()))?;
    let load = || load(&submit.experiment, &submit.members, registry);
    let placement = submit.resumed.as_ref().map(|it| it.placement.clone());
    let mut prepared = place(load()?, Beginning::Later(placement))?;
    let view = submit.view.as_ref();
    prepared.await_hosts(view.and_then(|view| view.awaited.as_ref()), &submit.members);
    let setup = prepared.setup(scenario(&prepared));
    let builds = Builds {
        own: registry.build()?,
        are_mixed_allowed: true,
    };
    let request = Request::of_view(submit, setup, builds);
    let request = request.map_err(|error| Failure::Input(error.to_string()))?;
    Ok((load()?, prepared, request))
}

/// The experiment of `loaded` in the next view of its job, whose nodes read the text of `request`, and the setup of its members.
///
/// # Errors
///
/// If it cannot be run there.
pub fn next_view(
    loaded: &Loaded,
    request: &Request,
    next: &NextView,
    registry: &Registry,
) -> Result<(PreparedExperiment, Setup), Failure> {
    let placement = next.resumed.as_ref().map(|it| it.placement.clone());
    let loaded_there = load(&request.experiment, &next.members, registry)?;
    let mut prepared = place(loaded_there, Beginning::Later(placement))?;
    prepared.loaded.overrides.clone_from(&loaded.overrides);
    prepared.await_hosts(next.view.awaited.as_ref(), &next.members);
    prepared.resumed = next.resumed.as_ref().map(|resumed| ResumedRun {
        job: format!("{:016x}", next.job.0),
        incarnation: resumed.incarnation,
        superstep: resumed.superstep,
    });
    prepared.view = Some(ViewChange {
        number: next.view.number,
        lost: next
            .lost
            .iter()
            .map(|lost| LostHost {
                host: lost.name.clone(),
                reason: lost.reason.clone(),
            })
            .collect(),
        joined: next.joined.clone(),
        leader: next
            .view
            .leader
            .and_then(|leader| next.members.get(leader.index()))
            .map(|member| member.name.clone()),
        superstep: next.resumed.as_ref().map_or(0, |it| it.superstep),
        repeats: next.repeats,
        detected: next.lost.iter().find_map(|lost| lost.silent),
        restored: Seconds::ZERO,
    });
    let setup = prepared.setup(scenario(&prepared));
    Ok((prepared, setup))
}

fn of_prepared(
    loaded: &Loaded,
    (hosts, experiment): (&JobHosts, String),
    mut prepared: PreparedExperiment,
    are_mixed_builds_allowed: bool,
    registry: &Registry,
) -> Result<(PreparedExperiment, Request), Failure> {
    // The submitted text does not say where its values come from.
    prepared.loaded.overrides.clone_from(&loaded.overrides);
    prepared.await_hosts(hosts.awaited.as_ref(), &hosts.members);
    let request = Request {
        builds: Builds {
            own: registry.build()?,
            are_mixed_allowed: are_mixed_builds_allowed,
        },
        workload: prepared.loaded.experiment.application.workload.clone(),
        members: hosts.members.clone(),
        experiment,
        folder: input_folder(loaded),
        checkpoint: None,
        files: None,
        view: None,
        memory_part: None,
        is_left: false,
        grace: std::time::Duration::ZERO,
        wait: loaded.experiment.recovery.wait,
        setup: prepared.setup(scenario(&prepared)),
    };
    Ok((prepared, request))
}

/// Where the input files of `loaded` are.
fn input_folder(loaded: &Loaded) -> InputFolder {
    // An experiment in the current folder has an empty one.
    let folder = std::path::absolute(Path::new(".").join(&loaded.folder));
    let current = std::env::current_dir().ok();
    // A node says of a path that is no text that it leads nowhere.
    let text = |path: &Path| path.to_string_lossy().into_owned();
    InputFolder {
        experiment: folder.as_deref().map_or_else(|_| String::new(), text),
        current: current
            .filter(|_| !loaded.overrides.is_empty())
            .as_deref()
            .map(text),
    }
}

/// A node's preparation of a submitted job. Names of input files are relative to the folder `data` if there is one, and else
/// to the folder that the client names.
///
/// # Errors
///
/// If this binary does not know the workload, or the experiment is impossible.
pub fn prepare(
    submit: &Submit,
    registry: &Registry,
    data: Option<&Path>,
) -> Result<Prepared, JobError> {
    check_workload(submit, registry)?;
    let placement = submit.resumed.as_ref().map(|it| it.placement.clone());
    let view = submit.view.as_ref();
    let is_later = view.is_some_and(|view| 1 < view.number);
    let awaited = view.and_then(|view| view.awaited.as_ref());
    let beginning = if placement.is_some() || is_later {
        Beginning::Later(placement)
    } else {
        Beginning::first(awaited)
    };
    let input = |failure: Failure| JobError::input(failure.to_string());
    let loaded = load(&submit.experiment, &submit.members, registry).map_err(input)?;
    let (found, expected) = (loaded.experiment.application.processes, submit.processes);
    // Before anything is made for each of them.
    if found != expected {
        return Err(JobError::input(format!(
            "the experiment has {found} processes, and the client submits {expected}"
        )));
    }
    let mut prepared = place(loaded, beginning).map_err(input)?;
    prepared.await_hosts(awaited, &submit.members);
    let name = &prepared.loaded.experiment.application.workload;
    let entry = registry.find(name, None);
    let entry = entry.map_err(|fault| JobError::input(fault.to_string()))?;
    let setup = prepared.setup(scenario(&prepared));
    let here = setup.placement.iter().filter(|host| **host == submit.host);
    let here = u32::try_from(here.count()).unwrap_or(u32::MAX);
    let (program_type, supersteps) = (
        entry.program_type(),
        prepared.loaded.experiment.application.supersteps,
    );
    let source = ProgramSource::new(submit, prepared.loaded, (registry, data));
    let order = source.order();
    let resources = entry.resources(order, here);
    let resources = resources.map_err(|fault| source.error(fault.into()))?;
    Ok(Prepared {
        setup,
        program_type,
        supersteps,
        programs: ProgramBuilder::new(move |ranks, take| {
            // They last as long as the job, which has its builder.
            let _kept = &resources;
            source.build(ranks, take)
        }),
    })
}

/// What the programs of a submitted job on its node are built from.
struct ProgramSource {
    registry: Registry,
    loaded: Loaded,
    /// The node's name.
    own: String,
    /// Its folder for input files, if it has one.
    data: Option<PathBuf>,
    /// The folder of the experiment at the client.
    experiment: PathBuf,
    /// The current folder of the client, if names were typed.
    current: Option<PathBuf>,
}

impl ProgramSource {
    fn new(submit: &Submit, loaded: Loaded, (registry, data): (&Registry, Option<&Path>)) -> Self {
        let own = submit.members.get(submit.host.index());
        Self {
            registry: registry.clone(),
            loaded,
            own: own.map_or_else(String::new, |member| member.name.clone()),
            data: data.map(Path::to_path_buf),
            experiment: PathBuf::from(&submit.folder.experiment),
            current: submit.folder.current.as_ref().map(PathBuf::from),
        }
    }

    fn order(&self) -> BuildInput<'_> {
        let folder = match &self.data {
            Some(data) => DataFolder::OfNode(data),
            None => DataFolder::OfClient {
                experiment: &self.experiment,
                current: self.current.as_deref(),
            },
        };
        BuildInput {
            folder,
            ..self.loaded.build_input()
        }
    }

    fn build(&self, ranks: &[Rank], take: &mut TakeProcess<'_>) -> Result<(), JobError> {
        let name = &self.loaded.experiment.application.workload;
        let entry = self.registry.find(name, None).map_err(Unbuilt::from);
        let built = entry.and_then(|entry| entry.build(self.order(), ranks, take));
        built.map_err(|error| self.error(error))
    }

    /// The error of the job.
    fn error(&self, error: Unbuilt) -> JobError {
        let own = &self.own;
        match error {
            // The lines of the text that was submitted are not those of the user's file.
            Unbuilt::Parameters(fault) => {
                let origin = None;
                let fault = Fault { origin, ..fault };
                JobError::input(format!("{own}: {fault}"))
            }
            Unbuilt::Untaken(error) if error.fault == AtFault::Input => {
                JobError::input(format!("{own}: {error}"))
            }
            Unbuilt::Untaken(error) => error,
        }
    }
}

/// Checks that this binary has the workload of a job: a client of another build may have others.
fn check_workload(submit: &Submit, registry: &Registry) -> Result<(), JobError> {
    let experiment: Option<toml::Table> = submit.experiment.parse().ok();
    let section = experiment
        .as_ref()
        .and_then(|table| table.get("application"));
    let named = section.and_then(|section| section.get("workload")?.as_str());
    // What is no experiment is refused with its own error.
    let Some(workload) = named.filter(|name| !registry.names().contains(name)) else {
        return Ok(());
    };
    let own = submit.members.get(submit.host.index());
    let own = own.map_or("", |member| member.name.as_str());
    let (program, version) = (registry.program(), registry.version());
    Err(JobError::build(format!(
        "node {own} runs {program} {version} and has no workload `{workload}`: start a program there that has it"
    )))
}

/// The scenario that is run: with migrations, unless one is named; without a policy, the application alone.
pub fn scenario(prepared: &PreparedExperiment) -> Scenario {
    let scheduler = &prepared.loaded.experiment.scheduler;
    match scheduler.scenario {
        _ if scheduler.policy.is_none() => Scenario::I,
        Scenario::All => Scenario::Iii,
        named => named,
    }
}

fn load(experiment: &str, members: &[Member], registry: &Registry) -> Result<Loaded, Failure> {
    let mut loaded = crate::loaded::submitted(experiment, sets(members), registry)?;
    // A single node has no buddy.
    loaded.experiment.checkpoint.copies &= 1 < members.len();
    Ok(loaded)
}

/// How a job begins on the hosts of an experiment.
enum Beginning {
    New,
    /// Processes start on these hosts: some of them wait for others.
    Awaiting(Vec<HostId>),
    /// It goes on with a placement, or begins again after it was on other hosts.
    Later(Option<Vec<HostId>>),
}

impl Beginning {
    /// That of a new job which awaits these hosts, if it awaits any.
    fn first(awaited: Option<&Awaited>) -> Self {
        let placement = awaited.map(|awaited| awaited.placement.clone());
        let placement = placement.filter(|placement| !placement.is_empty());
        placement.map_or(Self::New, Self::Awaiting)
    }
}

impl PreparedExperiment {
    /// Its job on `members` awaits the hosts that it names, if any are `awaited`.
    fn await_hosts(&mut self, awaited: Option<&Awaited>, members: &[Member]) {
        self.awaited = awaited.and_then(|awaited| {
            let standby = awaited.standby(members).into_keys().collect();
            self.loaded.experiment.elasticity.awaited(standby)
        });
    }
}

fn place(loaded: Loaded, beginning: Beginning) -> Result<PreparedExperiment, Failure> {
    match beginning {
        Beginning::New => PreparedExperiment::new(loaded),
        Beginning::Awaiting(placement) => PreparedExperiment::at(loaded, placement),
        Beginning::Later(placement) => PreparedExperiment::going_on(loaded, placement),
    }
}

/// The Sets of `members`, in their order, each with the names of its hosts.
fn sets(members: &[Member]) -> Vec<(String, Vec<String>)> {
    let sets = members.chunk_by(|left, right| left.set == right.set);
    let names = |set: &[Member]| set.iter().map(|member| member.name.clone()).collect();
    sets.map(|set| (set[0].set.clone(), names(set))).collect()
}

/// A job whose newest complete checkpoint is on disk.
#[derive(Debug)]
pub struct SavedJob {
    /// The experiment, as the job had it.
    loaded: Loaded,
    folder: PathBuf,
    store: Store<DiskFiles>,
    checkpoint: Checkpoint,
    resumed: Resumed,
}

impl SavedJob {
    /// The job whose checkpoints are in `folder`. Newer checkpoints that are damaged are passed over, with a warning each.
    ///
    /// # Errors
    ///
    /// If there is no complete checkpoint, or the program of `registry` cannot go on with it. Other builds of that program
    /// can only if `are_mixed_builds_allowed`.
    pub fn open(
        folder: &Path,
        registry: &Registry,
        are_mixed_builds_allowed: bool,
    ) -> Result<Self, Failure> {
        let mut store = Store::new(DiskFiles::new(folder), HostId(0));
        let latest = store.latest().map_err(|none| {
            let help =
                "name the folder that `run --checkpoint` wrote to, once a checkpoint is complete";
            Failure::input(format!("{none}\n  help: {help}"))
        })?;
        Self::of_latest(folder, (store, latest), registry, are_mixed_builds_allowed)
    }

    /// The same; `None` if no checkpoint in `folder` was completed, or there is no such folder.
    ///
    /// # Errors
    ///
    /// If all complete checkpoints are damaged, or the program of `registry` cannot go on with the newest one.
    pub fn find(
        folder: &Path,
        registry: &Registry,
        are_mixed_builds_allowed: bool,
    ) -> Result<Option<Self>, Failure> {
        let mut store = Store::new(DiskFiles::new(folder), HostId(0));
        match store.latest() {
            Ok(latest) => {
                let found = (store, latest);
                Self::of_latest(folder, found, registry, are_mixed_builds_allowed).map(Some)
            }
            Err(none) => {
                let is_there = none.unreadable.is_some() && folder.exists();
                if is_there || !none.damaged.is_empty() {
                    return Err(Failure::input(none));
                }
                Ok(None)
            }
        }
    }

    fn of_latest(
        folder: &Path,
        (store, latest): (Store<DiskFiles>, Latest),
        registry: &Registry,
        are_mixed_builds_allowed: bool,
    ) -> Result<Self, Failure> {
        for damage in &latest.damaged {
            tracing::warn!("a newer checkpoint is damaged, and is passed over: {damage}");
        }
        let at_fault = |problem: String| {
            let (folder, generation) = (folder.display(), latest.checkpoint.generation);
            Failure::input(format!("{folder}: checkpoint {generation}: {problem}"))
        };
        let resumed = latest.resumed().map_err(at_fault)?;
        let checkpoint = latest.checkpoint;
        let description = &checkpoint.job;
        check_build(folder, description, registry, are_mixed_builds_allowed)?;
        check_saved_workload(folder, &description.workload, registry)?;
        let name = format!("the experiment in {}", folder.display());
        let loaded = load_text_for_cluster(&description.experiment, &name, registry)?;
        let (processes, saved) = (
            loaded.experiment.application.processes,
            description.processes,
        );
        if processes != saved {
            let problem = format!("{name} has {processes} processes, its checkpoints {saved}");
            return Err(Failure::input(problem));
        }
        Ok(Self {
            loaded,
            folder: folder.to_path_buf(),
            store,
            checkpoint,
            resumed,
        })
    }

    /// The same job, whose experiment names its files relative to this folder instead of the current one.
    #[must_use]
    pub fn with_folder(mut self, folder: PathBuf) -> Self {
        self.loaded.folder = folder;
        self
    }

    /// How the job compares with one of the experiment in `text`.
    #[must_use]
    pub fn compare(&self, text: &str) -> SavedExperiment {
        let saved = &self.checkpoint.job.experiment;
        if saved == text {
            return SavedExperiment::Same;
        }
        let computed = |text: &str| {
            let mut table: toml::Table = text.parse().ok()?;
            // They change when states are saved, and nothing that is computed.
            for section in ["checkpoint", "recovery"] {
                table.remove(section);
            }
            Some(table)
        };
        match (computed(saved), computed(text)) {
            (Some(saved), Some(other)) if saved == other => SavedExperiment::SavedOtherwise,
            _ => SavedExperiment::Other,
        }
    }

    /// The hosts of the job, on a cluster of `members`, in which nodes of `pool` join jobs.
    ///
    /// # Errors
    ///
    /// As [`JobHosts::new`].
    pub fn hosts(&self, members: &[Member], pool: &[Member]) -> Result<JobHosts, Failure> {
        JobHosts::new(&self.loaded, members, pool)
    }

    /// The request to go on with the job on `hosts`, and its experiment there. Checkpoints go on in the same
    /// folder.
    ///
    /// # Errors
    ///
    /// If the experiment cannot be run there.
    pub fn request(
        &self,
        hosts: &JobHosts,
        registry: &Registry,
        are_mixed_builds_allowed: bool,
    ) -> Result<(PreparedExperiment, Request), Failure> {
        let heads = self.checkpoint.heads();
        let work = heads.iter().map(|head| head.work).zip(&self.resumed.halted);
        let work: Vec<_> = work
            .map(|(work, halted)| halted.is_none().then_some(work))
            .collect();
        let capacities: Vec<f64> = hosts.members.iter().map(capacity).collect();
        let placement = resumed_placement(&work, &[], &capacities);
        let (mut prepared, mut request) = resuming_request(
            &self.loaded,
            // The text itself: jobs share a folder if they have the same.
            &self.checkpoint.job.experiment,
            (hosts, placement),
            (registry, are_mixed_builds_allowed),
        )?;
        prepared.resumed = Some(ResumedRun {
            job: format!("{:016x}", self.checkpoint.job.job.0),
            incarnation: self.resumed.incarnation,
            superstep: self.resumed.superstep,
        });
        request.setup.resumed = Some(self.resumed.clone());
        request.checkpoint = Some(absolute(&self.folder)?);
        Ok((prepared, request))
    }

    /// The number of the folder in which the nodes of the job have written files, if they have.
    #[must_use]
    pub const fn files(&self) -> Option<u64> {
        self.checkpoint.job.files
    }

    /// The experiment, and the states with which the job goes on.
    #[must_use]
    pub fn into_states(self) -> (Loaded, SavedStates) {
        (self.loaded, SavedStates::new(self.store, self.checkpoint))
    }
}

/// How the experiment of a saved job compares with another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SavedExperiment {
    /// It is that one.
    Same,
    /// It is that one, but for when states are saved: `[checkpoint]` and `[recovery]`.
    SavedOtherwise,
    /// It computes something else.
    Other,
}

/// The absolute path of a folder for checkpoints, as text for nodes.
///
/// # Errors
///
/// If there is no working directory, or the path is not UTF-8.
pub fn absolute(folder: &Path) -> Result<String, Failure> {
    let path = std::path::absolute(folder).map_err(Failure::run)?;
    let path = path.to_str().map(str::to_owned);
    path.ok_or_else(|| Failure::input(format!("{}: the path is not UTF-8", folder.display())))
}

/// Checks that the program of `registry` can go on with a job.
fn check_build(
    folder: &Path,
    saved: &JobDescription,
    registry: &Registry,
    are_mixed_builds_allowed: bool,
) -> Result<(), Failure> {
    let folder = folder.display();
    let own = registry.build()?;
    let (program, version) = (&saved.program, &saved.version);
    if program != own.program() {
        return Err(Failure::input(format!(
            "{folder} has checkpoints of {program} {version}, and this is {own}: \
             resume with `{program} run --resume`"
        )));
    }
    let is_same = (version.as_str(), &saved.build) == (own.version(), &own.sha256());
    if is_same || are_mixed_builds_allowed {
        return Ok(());
    }
    let digits: String = saved.build.chars().take(12).collect();
    Err(Failure::input(format!(
        "{folder} has checkpoints of {program} {version} ({digits}), and this is {own}: resume with that build, \
         or with --allow-mixed-builds if the programs in both are the same"
    )))
}

/// Checks that the program of `registry` has the workload of a job.
fn check_saved_workload(folder: &Path, workload: &str, registry: &Registry) -> Result<(), Failure> {
    let names = registry.names();
    if names.contains(&workload) {
        return Ok(());
    }
    let (folder, program, names) = (folder.display(), registry.program(), names.join(", "));
    Err(Failure::input(format!(
        "{folder} has checkpoints of the workload `{workload}`, which {program} does not have; it has {names}"
    )))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::io::Write as _;
    use std::num::NonZeroU64;

    use agents::ChunkWriter;
    use bsp::Rank;
    use bsp::units::Instructions;
    use checkpoint::{Condition, Generation, Piece, PieceHead};
    use protocol::transport::JobId;
    use tempfile::TempDir;

    use super::*;
    use crate::registry::Supersteps;

    fn submit(experiment: &str, processes: u32) -> Submit {
        let member = |name: &str| Member {
            name: name.to_owned(),
            address: String::new(),
            set: "s".to_owned(),
            slots: 2,
            speed: 1.0,
        };
        Submit {
            job: 1,
            session: 1,
            host: HostId(0),
            members: vec![member("n1"), member("n2")],
            experiment: experiment.to_owned(),
            folder: InputFolder::default(),
            processes,
            checkpoint: None,
            files: None,
            resumed: None,
            view: None,
            memory: None,
            wait: Seconds::ZERO,
        }
    }

    /// What the honest client submits of a file, changed by hand.
    const EXPERIMENT: &str = "[application]\nworkload = \"heat\"\nprocesses = 4\nsupersteps = 9\n\
        [application.heat]\nwidth = 20\nheight = 20\n[platform]\nfile = \"cluster\"\n";

    /// The encoded programs of these processes, as the first node of a job builds them.
    fn built(
        submit: &Submit,
        data: Option<&Path>,
        ranks: &[Rank],
    ) -> Result<Vec<Vec<u8>>, JobError> {
        let prepared = prepare(submit, &Registry::shipped(), data)?;
        let mut states = Vec::new();
        prepared.programs.build(ranks, &mut |rank, program| {
            let mut chunks = Vec::new();
            let mut writer = ChunkWriter::new(&mut chunks);
            program.pack(rank, &mut writer)?;
            writer.finish().unwrap();
            states.push(chunks.concat());
            Ok(())
        })?;
        Ok(states)
    }

    #[test]
    fn a_node_builds_the_processes_that_a_client_would() {
        let registry = Registry::shipped();
        for (workload, parameters) in [
            ("lbm", ""),
            ("lbm-kernel", "width = 13\nheight = 9"),
            ("smith-waterman", ""),
            ("smith-waterman-kernel", "length = 50"),
            ("lu", "rows = 2\ncolumns = 3\norder = 20"),
            ("lu-kernel", "rows = 2\ncolumns = 3\norder = 11"),
            ("heat", "width = 7\nheight = 20"),
            ("state-kinds", "kind = \"bitonic\"\nstate = [1e3, 4e3]"),
            ("h-relation", ""),
            ("matrix-product", "order = 8"),
            ("task-farm", "tasks = 20\nvariation = 0.5"),
            (
                "synthetic",
                "instructions = [1e6, 2e6]\n\
                 dynamics = { kind = \"jump\", choice = \"drawn\", jitter = 0.3 }",
            ),
        ] {
            let entry = registry.find(workload, None).unwrap();
            let supersteps = match entry.supersteps() {
                Supersteps::Refused => "",
                Supersteps::Required | Supersteps::Optional => "supersteps = 9\n",
            };
            let text = format!(
                "[application]\nworkload = \"{workload}\"\nprocesses = 6\n{supersteps}\
                 [application.{workload}]\n{parameters}\n[platform]\nfile = \"cluster\"\n[run]\nseed = 7\n"
            );
            let loaded = load_text_for_cluster(&text, workload, &registry).unwrap();
            let (states, _) = entry.programs(loaded.build_input()).unwrap().into_states();
            let states: Vec<Vec<u8>> = states.map(Result::unwrap).collect();
            let here = [Rank(1), Rank(2), Rank(5)];
            let there = [Rank(0), Rank(3), Rank(4)];
            let submit = submit(&text, 6);
            for ranks in [here, there] {
                let expected: Vec<&Vec<u8>> =
                    ranks.iter().map(|rank| &states[rank.index()]).collect();
                let found = built(&submit, None, &ranks).unwrap();
                assert_eq!(found.iter().collect::<Vec<_>>(), expected, "{workload}");
            }
        }
    }

    #[test]
    fn nodes_are_told_absolute_folders() {
        let registry = Registry::shipped();
        let mut loaded = load_text_for_cluster(EXPERIMENT, "heat", &registry).unwrap();
        let current = std::env::current_dir().unwrap();
        for (folder, expected) in [
            ("", current.clone()),
            ("conf", current.join("conf")),
            ("/conf", PathBuf::from("/conf")),
        ] {
            loaded.folder = PathBuf::from(folder);
            let told = input_folder(&loaded);
            assert_eq!(PathBuf::from(told.experiment), expected);
            // Nothing has been typed.
            assert_eq!(told.current, None);
        }
    }

    #[test]
    fn a_node_says_which_file_it_lacks_and_what_does_not_fit() {
        let folder = TempDir::new().unwrap();
        let lu = "[application]\nworkload = \"lu-kernel\"\nprocesses = 1\n[application.lu-kernel]\n\
                  matrix = \"m.csv\"\n[platform]\nfile = \"cluster\"\n";
        let mut submit = submit(lu, 1);
        submit.folder.experiment = folder.path().to_str().unwrap().to_owned();
        let fails = |submit: &Submit, data: Option<&Path>| {
            let error = built(submit, data, &[Rank(0)]).unwrap_err();
            assert_eq!(error.fault, AtFault::Input, "{error}");
            error.message
        };
        let path = folder.path().join("m.csv");
        let lacking = format!(
            "n1: `application.lu-kernel.matrix`: {} cannot be read: No such file or directory (os error 2)",
            path.display()
        );
        assert_eq!(fails(&submit, None), lacking);
        let data = TempDir::new().unwrap();
        std::fs::write(data.path().join("m.csv"), "1\n").unwrap();
        assert_eq!(
            built(&submit, Some(data.path()), &[Rank(0)]).unwrap().len(),
            1
        );
        // The file is not in the folder of the node.
        let absolute = lu.replace("m.csv", path.to_str().unwrap());
        std::fs::write(&path, "1\n").unwrap();
        assert!(built(&submit, None, &[Rank(0)]).is_ok());
        submit.experiment = absolute;
        let refused = fails(&submit, Some(data.path()));
        assert!(refused.contains("is not in "), "{refused}");
        submit.experiment = EXPERIMENT
            .replace("processes = 4", "processes = 1")
            .replace(
                "width = 20\nheight = 20",
                "width = 4294967295\nheight = 4294967295",
            );
        let refused = fails(&submit, None);
        assert!(
            refused.starts_with("n1: `application.heat.width`: not enough memory for 4294967295 x"),
            "{refused}"
        );
    }

    #[test]
    fn nodes_refuse_what_clients_leave_out_or_refuse() {
        let registry = Registry::shipped();
        let prepared = |text: &str, processes| {
            let prepared = prepare(&submit(text, processes), &registry, None);
            prepared.map_err(|error| error.message)
        };
        assert!(prepared(EXPERIMENT, 4).is_ok());
        for (more, found) in [
            // It exists, and opening it as a file would read it.
            ("[load]\nkind = \"trace\"\nfile = \"/etc/passwd\"\n", "load"),
            ("[load]\nkind = \"trace\"\nfile = \"/none\"\n", "load"),
            (
                "[congestion]\nkind = \"constant\"\nlevel = 0.5\n",
                "congestion",
            ),
            (
                "[elasticity]\npool = [\"n2\"]\npart = 0.5\ncreation = [3]\n",
                "elasticity.creation",
            ),
            ("[barrier]\nshape = \"ideal\"\n", "barrier.shape"),
            ("[scheduler]\npayment = \"migrant\"\n", "scheduler.payment"),
            (
                "[scheduler]\ntransfer_factor = 2\n",
                "scheduler.transfer_factor",
            ),
        ] {
            let refused = prepared(&format!("{EXPERIMENT}{more}"), 4).err().unwrap();
            assert!(refused.contains(found), "{more}: {refused}");
            assert!(!refused.contains("No such file"), "{refused}");
        }
        let refused = prepared(EXPERIMENT, 5).err().unwrap();
        assert!(refused.contains("has 4 processes"), "{refused}");
    }

    /// A folder with the checkpoint before superstep 7 of `job`.
    fn saved(job: &JobDescription, conditions: &[Condition]) -> TempDir {
        let folder = TempDir::new().unwrap();
        let mut store = Store::new(DiskFiles::new(folder.path()), HostId(0));
        store.begin(job).unwrap();
        let generation = Generation {
            incarnation: 0,
            superstep: 7,
        };
        let piece = |(index, condition): (usize, &Condition)| {
            let head = PieceHead {
                job: job.job,
                generation,
                rank: Rank::from_index(index),
                condition: *condition,
                work: Instructions(1),
            };
            Piece::encode(head, None, |content| content.write_all(b"state")).unwrap()
        };
        let pieces: Vec<Piece> = conditions.iter().enumerate().map(piece).collect();
        let written = store.write_pieces(job.job, generation, &pieces).unwrap();
        let files = BTreeMap::from([(HostId(0), written)]);
        store
            .complete(job.job, generation, job.processes, &files)
            .unwrap();
        folder
    }

    fn description(registry: &Registry) -> JobDescription {
        let build = registry.build().unwrap();
        JobDescription {
            job: JobId(NonZeroU64::new(5).unwrap()),
            incarnation: 0,
            workload: "heat".to_owned(),
            processes: 2,
            program: build.program().to_owned(),
            version: build.version().to_owned(),
            build: build.sha256(),
            experiment: "[application]\nworkload = \"heat\"\nprocesses = 2\nsupersteps = 9\n\
                         [application.heat]\nwidth = 20\nheight = 20\n"
                .to_owned(),
            files: None,
        }
    }

    fn refused(job: &JobDescription, conditions: &[Condition], allowed: bool) -> String {
        let folder = saved(job, conditions);
        let registry = Registry::shipped();
        match SavedJob::open(folder.path(), &registry, allowed) {
            Err(Failure::Input(problem)) => problem,
            other => panic!("{other:?}"),
        }
    }

    const RUNNING: [Condition; 2] = [Condition::Running; 2];

    #[test]
    fn a_job_goes_on_with_its_own_program_and_its_own_build() {
        let registry = Registry::shipped();
        let good = description(&registry);
        let folder = saved(&good, &RUNNING);
        let job = SavedJob::open(folder.path(), &registry, false).unwrap();
        assert_eq!((job.resumed.incarnation, job.resumed.superstep), (1, 7));
        let other = JobDescription {
            program: "life".to_owned(),
            ..good.clone()
        };
        let problem = refused(&other, &RUNNING, true);
        assert!(problem.contains("`life run --resume`"), "{problem}");
        for other in [
            JobDescription {
                version: "7.0.0".to_owned(),
                ..good.clone()
            },
            JobDescription {
                build: "ab".repeat(32),
                ..good.clone()
            },
        ] {
            let problem = refused(&other, &RUNNING, false);
            assert!(problem.contains("--allow-mixed-builds"), "{problem}");
            let folder = saved(&other, &RUNNING);
            assert!(SavedJob::open(folder.path(), &registry, true).is_ok());
        }
    }

    #[test]
    fn states_in_which_no_job_can_begin_are_refused() {
        let good = description(&Registry::shipped());
        let halted = |superstep| Condition::Halted { superstep };
        let problem = refused(&good, &[halted(3), halted(6)], false);
        assert!(problem.contains("nothing to resume"), "{problem}");
        let problem = refused(&good, &[Condition::Running, halted(7)], false);
        assert!(problem.contains("has halted by superstep 7"), "{problem}");
        let unknown = JobDescription {
            workload: "cold".to_owned(),
            ..good.clone()
        };
        let problem = refused(&unknown, &RUNNING, false);
        assert!(
            problem.contains("workload `cold`, which migbsp"),
            "{problem}"
        );
        let fewer = JobDescription {
            experiment: good.experiment.replace("processes = 2", "processes = 3"),
            ..good
        };
        let problem = refused(&fewer, &RUNNING, false);
        assert!(
            problem.contains("has 3 processes, its checkpoints 2"),
            "{problem}"
        );
    }
}
