//! The nodes of a cluster, the client's connection to them, and jobs that are executed there one after the other.

use std::env;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use experiments::cluster::{self, Hosts, PassedStep, ResourceManager};
use experiments::submission::{JobHosts, request, scenario};
use experiments::{
    Failure, Finished, Loaded, PreparedExperiment, Provenance, Registry, RunFailure,
    load_text_for_cluster,
};
use hosts::{JobObserver, TransferProgress};
use indicatif::MultiProgress;
use machines::JobError;
use protocol::identity::files::{list_certificates, read_identity};
use protocol::identity::{Holder, Identity, Name, Role};
use protocol::{Build, Member};
use record::Event;

use crate::cert;
use crate::failure::CommandFailure;
use crate::live::links::duration;
use crate::progress::Progress;
use crate::signals::TerminationSignal;

/// The nodes of a cluster, Set by Set, and the identity of the client.
#[derive(Debug)]
pub(crate) struct ClusterMembers {
    pub(crate) members: Vec<Member>,
    /// Nodes that join jobs.
    pub(crate) pool: Vec<Member>,
    pub(crate) client: Identity,
}

/// Location of a cluster and of the client's certificate.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct ClusterArguments {
    /// The hosts, in the syntax of Open MPI's hostfiles [default: those of the job of Slurm, PBS or OAR]
    #[arg(long, visible_alias = "hostfile", value_name = "FILE")]
    cluster: Option<PathBuf>,
    /// Folder of the client's certificate and key [default: ~/.config/migbsp]
    #[arg(long, value_name = "DIR")]
    identity: Option<PathBuf>,
    /// Name of the client, if the folder has several
    #[arg(long = "as", value_name = "NAME")]
    name: Option<Name>,
    /// Time to wait until all nodes can be connected to, and, for `run`, until they are free [default: none]
    #[arg(long, value_name = "DURATION", allow_hyphen_values = true, value_parser = duration)]
    wait: Option<Duration>,
}

impl ClusterArguments {
    /// How long nodes are waited for.
    pub(super) const fn wait(&self) -> Option<Duration> {
        self.wait
    }

    /// Whether any of them is given.
    pub(crate) const fn is_given(&self) -> bool {
        self.cluster.is_some()
            || self.identity.is_some()
            || self.name.is_some()
            || self.wait.is_some()
    }
}

impl ClusterMembers {
    /// The cluster that the arguments, or the job of a resource manager, name.
    ///
    /// # Errors
    ///
    /// If there is no cluster, or no certificate of a client.
    pub(crate) fn find(arguments: &ClusterArguments, registry: &Registry) -> Result<Self, Failure> {
        let cluster = Self::load(arguments, registry.program())?;
        if let Some(limit) = arguments.wait {
            cluster.await_nodes(&registry.build()?, limit)?;
        }
        Ok(cluster)
    }

    /// The same, without waiting for its nodes.
    ///
    /// # Errors
    ///
    /// If there is no cluster, or no certificate of a client.
    pub(crate) fn load(arguments: &ClusterArguments, program: &str) -> Result<Self, Failure> {
        let Hosts { members, pool } = match &arguments.cluster {
            Some(file) => cluster::load(file)?,
            None => {
                let hosts = ResourceManager::ALL.iter().find_map(|manager| {
                    let hosts = hosts_of(*manager);
                    hosts.transpose()
                });
                let hosts = hosts.transpose()?.ok_or_else(|| no_cluster(program))?;
                check_task(|name| env::var(name).ok())?;
                Hosts {
                    members: hosts,
                    pool: Vec::new(),
                }
            }
        };
        let folder = arguments.identity.as_deref();
        Ok(Self {
            members,
            pool,
            client: identity(folder, arguments.name.as_ref(), Role::Client, program)?,
        })
    }

    /// Waits until all nodes can be connected to, for at most `limit`. What cannot be reached then is for the command to say.
    fn await_nodes(&self, build: &Build, limit: Duration) -> Result<(), Failure> {
        let began = Instant::now();
        loop {
            let roles = roles(&self.members);
            let asked = self.members.iter().cloned().zip(roles).collect();
            let answers = hosts::inquire(self.client.clone(), build, asked)
                .map_err(|error| Failure::Cluster(error.message))?;
            let are_there = answers.iter().all(|answer| answer.build.is_some());
            if are_there || limit <= began.elapsed() {
                return Ok(());
            }
            thread::sleep(BETWEEN);
        }
    }

    /// All nodes with the roles that they have at least, those of the pool last.
    pub(crate) fn all(&self) -> Vec<(Member, Role)> {
        let members = self.members.iter().cloned().zip(roles(&self.members));
        let pool = self.pool.iter().cloned().map(|member| (member, Role::Node));
        members.chain(pool).collect()
    }
}

/// Between two attempts to connect to all nodes.
const BETWEEN: Duration = Duration::from_millis(200);

/// The role of each member: the first of a Set is its Manager.
pub(crate) fn roles(members: &[Member]) -> impl Iterator<Item = Role> {
    members.iter().enumerate().map(|(index, member)| {
        let before = &members[..index];
        let is_first = before.iter().all(|other| other.set != member.set);
        if is_first {
            Role::SetManager
        } else {
            Role::Node
        }
    })
}

/// The hosts of the job of `manager` that we are in, if it is one of it.
///
/// # Errors
///
/// As [`ResourceManager::hosts`].
pub(super) fn hosts_of(manager: ResourceManager) -> Result<Option<Vec<Member>>, Failure> {
    let variable = |name: &str| env::var(name).ok();
    let hosts = manager.hosts(variable)?;
    if let Some(PassedStep {
        job,
        step,
        is_shell,
    }) = manager.passed_step(variable)
    {
        let said = format!("takes all hosts of the job, {job}, and not those of this step, {step}");
        if is_shell {
            tracing::info!("{said}, which is the shell of an interactive job");
        } else {
            tracing::warn!("{said}; a job of these alone takes `sbatch` or `salloc`");
        }
    }
    Ok(hosts)
}

/// Checks that this is the first task of a step of Slurm, if it is one of a step: one client uses the hosts of a job.
///
/// # Errors
///
/// If it is another one.
pub(super) fn check_task(variable: impl Fn(&str) -> Option<String>) -> Result<(), Failure> {
    match variable("SLURM_PROCID") {
        Some(task) if task != "0" => Err(Failure::Usage(format!(
            "this is task {task} of a step of Slurm, and task 0 is the client of the hosts of the job: leave `srun` out, or start one \
             task (`srun -n 1 --overlap`)"
        ))),
        _ => Ok(()),
    }
}

/// Neither an option nor a resource manager names a cluster.
fn no_cluster(program: &str) -> Failure {
    Failure::Usage(format!(
        "--cluster FILE is missing, and this is no job of Slurm, PBS or OAR: name a file with a line per host, as \
         `node-1 slots=4 set=left`; or try `{program} up --local 4 -- run FILE`"
    ))
}

/// Executes jobs, one after the other.
pub(super) struct JobRunner<'a> {
    pub(super) cluster: &'a ClusterMembers,
    pub(super) registry: &'a Registry,
    pub(super) termination: &'a TerminationSignal,
    /// Where bars on stderr are, if they are wanted.
    pub(super) bars: Option<&'a MultiProgress>,
}

/// A job that has ended.
pub(super) struct JobResult {
    /// The digest of the outputs, which have been verified.
    pub(super) outputs: String,
    pub(super) provenance: Provenance,
}

/// What sees a job.
struct Observers<F> {
    progress: Progress,
    observer: F,
}

impl<F: FnMut(&Event)> JobObserver for Observers<F> {
    fn observe(&mut self, event: &Event) -> Result<(), JobError> {
        self.progress.observe(event);
        (self.observer)(event);
        Ok(())
    }

    fn transferred(&mut self, progress: TransferProgress) {
        self.progress.transferred(progress);
    }
}

impl JobRunner<'_> {
    /// Executes the experiment of a bench in `text`, and shows every event to `observer`.
    ///
    /// # Errors
    ///
    /// If the experiment or its results are wrong, the job fails, or a signal ends the command.
    pub(super) fn run(
        &self,
        text: &str,
        observer: impl FnMut(&Event),
    ) -> Result<JobResult, CommandFailure> {
        let loaded = load_text_for_cluster(text, "the experiment of the bench", self.registry)?;
        let (prepared, finished) = self.execute(&loaded, observer)?;
        Ok(JobResult {
            provenance: Provenance::of_experiment(&prepared.loaded, self.registry)?,
            outputs: finished?.outputs_digest,
        })
    }

    /// Executes the experiment `loaded`, and shows every event to `observer`: the experiment on the cluster, and its result,
    /// whose outputs have been verified, or why it has none.
    ///
    /// # Errors
    ///
    /// If the experiment cannot be submitted, or a signal ends the command.
    pub(super) fn execute(
        &self,
        loaded: &Loaded,
        observer: impl FnMut(&Event),
    ) -> Result<(PreparedExperiment, Result<Finished, Failure>), CommandFailure> {
        let members = &self.cluster.members;
        let hosts = JobHosts::of(members);
        let (prepared, request) = request(loaded, &hosts, self.registry, false, false)?;
        let application = &loaded.experiment.application;
        let entry = self.registry.find(&application.workload, None)?;
        let (scenario, supersteps) = (scenario(&prepared), application.supersteps);
        let mut observers = Observers {
            progress: Progress::below(self.bars, scenario, supersteps, &prepared.platform),
            observer,
        };
        let order = loaded.build_input();
        let mut run = || -> Result<Finished, RunFailure> {
            let outcome = hosts::run(
                self.cluster.client.clone(),
                &request,
                entry.program_type(),
                &mut observers,
                self.termination.clone().received(),
            )?;
            Finished::new(entry, order, outcome)
        };
        let finished = run().map_err(Failure::from);
        observers.progress.finish();
        match self.termination.number() {
            Some(signal) => Err(CommandFailure::Interrupted(signal)),
            None => Ok((prepared, finished)),
        }
    }
}

/// The identity in `folder` (the default one, if none is named) for `role`; that of `name`, if there are several.
///
/// # Errors
///
/// If there is none, or several and no name; or its files are invalid.
pub(crate) fn identity(
    folder: Option<&Path>,
    name: Option<&Name>,
    role: Role,
    program: &str,
) -> Result<Identity, Failure> {
    let folder = cert::folder(folder, "name a folder with --identity")?;
    if let Some(name) = name {
        let identity = read_identity(&folder, name).map_err(cert::fault)?;
        let found = identity.certificate().subject.role;
        if found != role {
            let place = folder.display();
            return Err(Failure::Input(format!(
                "{place}: {name} is a {found}, must be a {role}; `{program} cert issue --role {role} --name NAME` makes a \
                 certificate"
            )));
        }
        cert::check_validity(&identity, SystemTime::now(), program)?;
        return Ok(identity);
    }
    let mut names = names_of(&folder, role)?;
    let place = folder.display();
    match names.len() {
        0 => Err(Failure::Input(format!(
            "{place}: no certificate of a {role}; `{program} cert issue --role {role} --name NAME` makes one"
        ))),
        1 => {
            let identity = read_identity(&folder, &names.remove(0)).map_err(cert::fault)?;
            cert::check_validity(&identity, SystemTime::now(), program)?;
            Ok(identity)
        }
        _ => {
            let names: Vec<&str> = names.iter().map(Name::as_str).collect();
            let names = names.join(", ");
            Err(Failure::Usage(format!(
                "{place}: several certificates of a {role}; say which of {names}"
            )))
        }
    }
}

/// Names in `folder` that have a certificate for `role` in a file of that name.
fn names_of(folder: &Path, role: Role) -> Result<Vec<Name>, Failure> {
    let mut names = Vec::new();
    if !folder.exists() {
        return Ok(names);
    }
    for file in cert::certificates(folder)? {
        // Other files are ignored.
        let Ok(certificates) = list_certificates(&file) else {
            continue;
        };
        let stem = file.file_stem().and_then(OsStr::to_str);
        if let Some(Holder::Member(subject)) = certificates.first().map(|first| &first.holder)
            && subject.role == role
            && stem == Some(subject.name.as_str())
        {
            names.push(subject.name.clone());
        }
    }
    Ok(names)
}
