//! `migbsp node`: the node daemon of a host, which serves clients.

use std::collections::BTreeMap;
use std::env;
use std::fmt;
use std::io::{self, BufRead, Read, Write};
use std::net::{Ipv6Addr, SocketAddr, TcpListener};
use std::num::{NonZeroU32, NonZeroU64};
use std::path::{Path, PathBuf};
use std::process;
use std::str::FromStr;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, SystemTime};

use bsp::units::InstructionsPerSecond;
use clap::Args;
use external::{Allowed, Listed};
use hosts::{
    CheckpointFolders, Leave, LoadScope, Node, Offer, OutputFolder, Pace, Share, any_address,
    processors,
};
use machines::{Builds, Routes};
use protocol::Member;
use protocol::identity::files::read_identity;
use protocol::identity::{Identity, Name, Pem, Role, Subject};
use serde::de::{self, Unexpected, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use tokio::sync::oneshot;

use crate::cert;
use crate::command::Command;
use crate::live::help::{NODE_ABOUT, NODE_HELP};
use crate::live::play::NodePlay;
use crate::live::service;
use crate::log::{self, LogFormat};
use crate::signals::{Handling, TerminationSignal};
use experiments::Failure;
use experiments::Registry;
use experiments::cluster::{PORT, node_name};
use experiments::submission::prepare;
use settings::Fault;
use settings::Node as Tree;
use settings::Unit;
use settings::decode;

/// Arguments of `node`.
#[derive(Debug, Args)]
struct NodeArguments {
    /// Its configuration, a TOML file with a section [node] [default: none]
    #[arg(long, value_name = "FILE")]
    conf: Option<PathBuf>,
    /// Its name, in place of [node] name [default: `SLURMD_NODENAME`, else the name of the host without its domain; in lower case, `_` as
    /// `-`]
    #[arg(long, value_name = "NAME")]
    name: Option<Name>,
    /// Address on which it listens, in place of [node] listen
    #[arg(long, value_name = "ADDRESS:PORT")]
    listen: Option<SocketAddr>,
    /// Folder of its certificate and key, in place of [node] identity
    #[arg(long, value_name = "DIR")]
    identity: Option<PathBuf>,
    /// Read the configuration from stdin, as the command that starts it writes it, and leave when stdin ends
    #[arg(long = "stdin", hide = true)]
    stdin: bool,
    /// Accept clients and other nodes that run another build than this node
    #[arg(long)]
    allow_mixed_builds: bool,
    /// End with exit code 5 if a superstep goes on for this long after its job has ended
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..))]
    exit_when_stuck: Option<u64>,
    /// Format of the log on stderr
    #[arg(long, value_enum, default_value_t)]
    log_format: LogFormat,
    /// Folder with the input files of jobs, in place of [node] data [default: where the client says]
    #[arg(long, value_name = "FOLDER")]
    data: Option<PathBuf>,
    /// Folder for the files that processes leave here, in place of [node] outputs [default: none]
    #[arg(long, value_name = "FOLDER")]
    outputs: Option<PathBuf>,
    /// Node whose present and later jobs this one joins; can be given several times [default address: NAME:7447]
    #[arg(long, value_name = "NAME[=HOST:PORT]")]
    join: Vec<NamedNode>,
    /// With --join: the Set [default: that of the node that --join names]
    #[arg(long, value_name = "NAME", requires = "join")]
    set: Option<String>,
    /// With --join: the number of processors that it offers [default: all]
    #[arg(long, value_name = "N", requires = "join")]
    slots: Option<NonZeroU32>,
    /// TCP address at which monitors find /metrics, /healthz and /readyz, such as 127.0.0.1:9447 [default: none]
    #[arg(long, value_name = "IP:PORT")]
    metrics: Option<SocketAddr>,
}

/// A node by its name, and where it is.
#[derive(Clone, Debug)]
pub(super) struct NamedNode {
    pub(super) name: Name,
    pub(super) address: String,
}

impl FromStr for NamedNode {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, address) = match text.split_once('=') {
            Some((name, address)) => (name, address.to_owned()),
            None => (text, format!("{text}:{PORT}")),
        };
        let name = name.parse().map_err(|error| format!("{error}"))?;
        Ok(Self { name, address })
    }
}

impl NodeArguments {
    /// The format of the log; a node of `up` has that of its parent.
    fn log_format(&self) -> Option<LogFormat> {
        Some(self.log_format).filter(|_| !self.stdin)
    }
}

/// `[node]`: the node's name, address and share.
#[derive(Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Section {
    /// Its name, in its certificate and in hostfiles.
    name: Option<String>,
    /// The folder with its certificate and key.
    identity: Option<String>,
    /// The address on which it listens; not set: all of this host, IPv6 and IPv4.
    listen: Option<ListenAddress>,
    /// Instructions per second of one processor; not set: it is measured.
    speed: Option<f64>,
    /// The fraction of its processors that programs are given.
    share: f64,
    /// The folders to which it may write checkpoints, with all that are in them.
    checkpoints: Vec<String>,
    /// The folder with the input files of jobs; not set: they are where the client says.
    data: Option<String>,
    /// The folder for the files that processes leave here; not set: there are none.
    outputs: Option<String>,
    /// The TCP address at which monitors find its metrics; not set: there are none.
    metrics: Option<SocketAddr>,
    /// The levels of its log, as in `RUST_LOG`, which SIGHUP has it read again; not set: what concerns jobs, and warnings.
    log: Option<String>,
    /// Which programs in other languages it starts.
    external: ExternalPrograms,
    /// Those that it lists, by name.
    programs: BTreeMap<String, ListedProgram>,
}

/// Which programs in other languages a node starts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum ExternalPrograms {
    /// None.
    #[default]
    None,
    /// Those of `[node.programs]`.
    Listed,
    /// Any command of any client.
    Any,
}

/// `[node.programs.NAME]`: a program in another language.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct ListedProgram {
    /// Program and arguments.
    command: Vec<String>,
    /// What is put before the command: a sandbox.
    wrapper: Vec<String>,
    /// The most memory of an executor; not set: any.
    memory: Option<NonZeroU64>,
}

/// An address and a port.
#[derive(Clone, Copy, Debug, Serialize)]
struct ListenAddress(SocketAddr);

impl<'de> Deserialize<'de> for ListenAddress {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text;

        impl Visitor<'_> for Text {
            type Value = ListenAddress;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                let example =
                    "`\"[::]:7447\"` for all addresses of this host, `\"10.0.0.7:7447\"` for one";
                write!(formatter, "an IP address and a port, such as {example}")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<ListenAddress, E> {
                let read = text.parse().map(ListenAddress);
                read.map_err(|_| E::invalid_value(Unexpected::Str(text), &self))
            }
        }

        deserializer.deserialize_any(Text)
    }
}

impl Default for Section {
    fn default() -> Self {
        Self {
            name: None,
            identity: None,
            listen: None,
            speed: None,
            share: 1.0,
            checkpoints: Vec::new(),
            data: None,
            outputs: None,
            metrics: None,
            log: None,
            external: ExternalPrograms::None,
            programs: BTreeMap::new(),
        }
    }
}

impl Section {
    /// The external programs that the node starts.
    ///
    /// # Errors
    ///
    /// With key and rule, if that is contradictory.
    fn allowed(&self) -> Result<Allowed, (String, String)> {
        if let Some((name, _)) = self
            .programs
            .iter()
            .find(|(_, listed)| listed.command.is_empty())
        {
            let rule = "is missing: program and arguments, such as `[\"/opt/bsp/heat\"]`";
            return Err((format!("programs.{name}.command"), rule.to_owned()));
        }
        match self.external {
            ExternalPrograms::Listed => {
                let listed = self.programs.iter().map(|(name, listed)| {
                    let listed = listed.clone();
                    let listed = Listed {
                        command: listed.command,
                        wrapper: listed.wrapper,
                        memory: listed.memory,
                    };
                    (name.clone(), listed)
                });
                Ok(Allowed::Listed(listed.collect()))
            }
            _ if !self.programs.is_empty() => {
                let rule = "must be \"listed\" where `[node.programs]` lists programs";
                Err(("external".to_owned(), rule.to_owned()))
            }
            ExternalPrograms::None => Ok(Allowed::None),
            ExternalPrograms::Any => Ok(Allowed::Any),
        }
    }
}

/// Configuration of a node that a command starts, its parent.
#[derive(Serialize, Deserialize)]
pub(crate) struct NodeConfiguration {
    pub(crate) certificates: String,
    pub(crate) key: String,
    pub(crate) listen: SocketAddr,
    /// Where it reaches other nodes, by name, if not at their own addresses.
    pub(crate) routes: BTreeMap<String, SocketAddr>,
    /// Instructions per second of one processor; not set: it is measured.
    pub(crate) speed: Option<f64>,
    pub(crate) share: f64,
    /// The host that it plays, instead of having a share.
    pub(crate) play: Option<NodePlay>,
    pub(crate) allow_mixed_builds: bool,
    /// The folder to which it may write checkpoints; not set: any.
    pub(crate) checkpoints: Option<Vec<String>>,
    /// The folder with the input files of jobs; not set: they are where the client says.
    pub(crate) data: Option<PathBuf>,
    /// The folder for the files that processes leave there; not set: there are none.
    pub(crate) outputs: Option<PathBuf>,
    /// The nodes whose job it joins, and how it does; not set: it waits for clients.
    pub(crate) join: Option<(Vec<Member>, Member)>,
    /// Whether it is on a host of its own: then a signal is for the whole job, and its parent decides.
    pub(crate) is_launched: bool,
}

/// What a node that a command has started says to its parent, a line each.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum NodeLine {
    /// It waits for clients.
    Ready {
        name: String,
        address: SocketAddr,
        /// How many processors it may use.
        processors: NonZeroU32,
    },
    /// It has received the signal of this number.
    Signal(u8),
}

impl NodeLine {
    /// Says it to the parent.
    fn say(&self) {
        let mut out = io::stdout().lock();
        let line = serde_json::to_string(self).expect("text and numbers");
        // A parent that does not read this ends the node.
        drop(writeln!(out, "{line}").and_then(|()| out.flush()));
    }
}

/// The command `node`.
pub(crate) fn command() -> Command {
    Command::with_log(
        "node",
        "Run a node daemon that serves jobs from clients",
        |arguments, context| Ok(serve(arguments, context.registry().clone())?),
        NodeArguments::log_format,
    )
    .long_about(NODE_ABOUT)
    .after_long_help(NODE_HELP)
}

/// Serves clients until a signal ends it.
///
/// # Errors
///
/// If the configuration, the certificate or the socket is invalid.
fn serve(arguments: &NodeArguments, registry: Registry) -> Result<(), Failure> {
    if arguments.stdin {
        return serve_parent(registry);
    }
    let file = arguments.conf.as_deref();
    let (section, written) = read(file)?;
    set_levels(&section, &written, file).map_err(Failure::input)?;
    let place = |key: &str| {
        let place = written.find(key).and_then(Tree::place).map(str::to_owned);
        place.or_else(|| file.map(|file| file.display().to_string()))
    };
    let invalid = |key: &str, found: String, rule: String| {
        let (place, key) = (place(key), format!("node.{key}"));
        Failure::input(Fault::invalid(place.as_deref(), &key, found, rule))
    };
    let name = match (&arguments.name, &section.name) {
        (Some(name), _) => name.clone(),
        (None, Some(name)) => name.parse().map_err(|error| {
            Failure::input(Fault::new(place("name").as_deref(), "node.name", error))
        })?,
        (None, None) => own_name(|name| env::var(name).ok())?,
    };
    let beside = file.and_then(Path::parent);
    let beside = beside.unwrap_or_else(|| Path::new(""));
    let written_identity = section.identity.as_deref();
    let given = arguments.identity.clone();
    let given = given.or_else(|| written_identity.map(|folder| beside.join(folder)));
    let folder = cert::folder(given.as_deref(), "name a folder with --identity")?;
    let identity = read_identity(&folder, &name).map_err(Failure::input)?;
    check_role(&folder, &identity, registry.program())?;
    cert::check_validity(&identity, SystemTime::now(), registry.program())?;
    let checkpoints = section.checkpoints.iter().map(|folder| {
        let absolute = std::path::absolute(beside.join(folder));
        absolute.map_err(|error| invalid("checkpoints", folder.clone(), error.to_string()))
    });
    let checkpoints: Vec<PathBuf> = checkpoints.collect::<Result<_, _>>()?;
    let folder_of = |option: &str, given: Option<&Path>, key: &str, written: Option<&String>| {
        Ok::<_, Failure>(match (given, written) {
            (Some(folder), _) => Some(
                check_folder(folder)
                    .map_err(|problem| Failure::Usage(format!("{option}: {problem}")))?,
            ),
            (None, Some(folder)) => Some(
                check_folder(&beside.join(folder))
                    .map_err(|problem| invalid(key, folder.clone(), problem))?,
            ),
            (None, None) => None,
        })
    };
    let data = folder_of(
        "--data",
        arguments.data.as_deref(),
        "data",
        section.data.as_ref(),
    )?;
    let outputs = folder_of(
        "--outputs",
        arguments.outputs.as_deref(),
        "outputs",
        section.outputs.as_ref(),
    )?;
    let share = Share::new(section.share).ok_or_else(|| {
        let (found, least) = (section.share, Share::LEAST);
        let rule = format!("must be a fraction from {least} to 1");
        invalid("share", found.to_string(), rule)
    })?;
    let speed = section.speed.map(|speed| {
        let read = InstructionsPerSecond::new(speed)
            .ok()
            .filter(|_| 0.0 < speed);
        read.ok_or_else(|| {
            let rule = "must be instructions per second, such as 2e9";
            invalid("speed", speed.to_string(), rule.to_owned())
        })
    });
    let programs = section.allowed().map_err(|(key, rule)| {
        let (place, key) = (
            place(key.split('.').next().unwrap_or_default()),
            format!("node.{key}"),
        );
        Failure::input(Fault::new(place.as_deref(), &key, rule))
    })?;
    external::allow(programs);
    let metrics = arguments.metrics.or(section.metrics);
    let metrics = metrics.map(listen_for_monitors).transpose()?;
    let (monitored, metrics) = metrics.unzip();
    let node = Node {
        identity,
        address: arguments
            .listen
            .or_else(|| section.listen.map(|listen| listen.0))
            .unwrap_or_else(|| any_address(PORT)),
        routes: Routes::default(),
        builds: Builds {
            own: registry.build()?,
            are_mixed_allowed: arguments.allow_mixed_builds,
        },
        workloads: workloads(&registry),
        exit_when_stuck: arguments.exit_when_stuck.map(Duration::from_secs),
        speed: speed.transpose()?,
        pace: Pace::Share(share),
        scope: LoadScope::Process,
        checkpoints: CheckpointFolders::below(checkpoints),
        outputs: output_folder(outputs.as_deref())?,
        prepare: Arc::new(move |submit| prepare(submit, &registry, data.as_deref())),
        offer: offer(arguments, &name),
        metrics,
        heartbeat: service::watchdog(),
        reload: Arc::default(),
    };
    let termination = TerminationSignal::handled(Handling::Serve);
    let _heard = termination.wait();
    let build = node.builds.own.to_string();
    let ready = |address: SocketAddr| {
        tracing::info!(%address, build, "waits for clients");
        if let Some(address) = monitored {
            tracing::info!("metrics: http://{address}/metrics");
        }
        service::ready(&address.to_string());
    };
    let (reload, conf) = (Arc::clone(&node.reload), arguments.conf.clone());
    let (mut reloads, mut terminated) = (termination.reloads(), Box::pin(termination.received()));
    let ran = node.run(ready, async move {
        loop {
            tokio::select! {
                () = &mut terminated => break,
                Ok(()) = reloads.changed() => {
                    tracing::info!("reads its certificate, its key, the list of revocations and the levels of its log again");
                    service::reloading(|| {
                        reload.notify_one();
                        if let Err(problem) = read_levels(conf.as_deref()) {
                            tracing::warn!("kept the levels of the log: {problem}");
                        }
                    });
                }
            }
        }
        service::stopping();
        Leave::WhenHeld
    });
    service::stopping();
    ran.map_err(|error| Failure::Cluster(error.to_string()))
}

/// A socket at which monitors find the metrics of the node.
fn listen_for_monitors(address: SocketAddr) -> Result<(SocketAddr, TcpListener), Failure> {
    let bound = TcpListener::bind(address).and_then(|listener| {
        listener.set_nonblocking(true)?;
        Ok((listener.local_addr()?, listener))
    });
    let (bound, listener) = bound.map_err(|error| {
        let problem = format!("--metrics {address}: {error}: choose another address or port");
        Failure::Cluster(problem)
    })?;
    if !bound.ip().is_loopback() {
        tracing::warn!(
            "the metrics at {bound} have no password: all machines that reach it can read the names of jobs and clients"
        );
    }
    Ok((bound, listener))
}

/// The name of the node of this host, where none is given: what Slurm calls the host, else what its system does.
///
/// # Errors
///
/// If that cannot be the name of a node.
fn own_name(variable: impl Fn(&str) -> Option<String>) -> Result<Name, Failure> {
    let (what, found) = match variable(SLURM_NAME) {
        Some(name) => (format!("environment {SLURM_NAME}"), name),
        None => {
            let host = rustix::system::uname();
            let host = host.nodename().to_string_lossy();
            let name = host.split('.').next().unwrap_or_default().to_owned();
            ("the name of this host".to_owned(), name)
        }
    };
    node_name(&found).map_err(|error| {
        Failure::Usage(format!("{what}: {error}; give the node a name with --name"))
    })
}

/// What Slurm calls the host of a step.
const SLURM_NAME: &str = "SLURMD_NODENAME";

/// What the node `name` offers to others, if it is to join their job.
fn offer(arguments: &NodeArguments, name: &Name) -> Option<Offer> {
    let own = Member {
        name: name.to_string(),
        address: String::new(),
        set: arguments.set.clone().unwrap_or_default(),
        slots: arguments.slots.unwrap_or_else(processors).get(),
        speed: 1.0,
    };
    let to = arguments.join.iter().map(|joined| Member {
        name: joined.name.to_string(),
        address: joined.address.clone(),
        ..own.clone()
    });
    let to: Vec<Member> = to.collect();
    (!to.is_empty()).then_some(Offer { to, own })
}

/// The folder of a node for files of jobs.
///
/// # Errors
///
/// If its path cannot be displayed.
fn output_folder(folder: Option<&Path>) -> Result<OutputFolder, Failure> {
    let folder = folder.map(OutputFolder::at).transpose();
    let folder = folder.map_err(|problem| Failure::Input(format!("--outputs: {problem}")))?;
    Ok(folder.unwrap_or_default())
}

/// The absolute path of a folder of a node.
///
/// # Errors
///
/// If it is none.
pub(crate) fn check_folder(folder: &Path) -> Result<PathBuf, String> {
    let path = folder.display();
    match folder.canonicalize() {
        Ok(absolute) if absolute.is_dir() => Ok(absolute),
        Ok(_) => Err(format!("{path} is no folder")),
        Err(error) => Err(format!("{path}: {error}")),
    }
}

/// No client or other node accepts the certificate of a client.
fn check_role(folder: &Path, identity: &Identity, program: &str) -> Result<(), Failure> {
    let Subject { role, name, .. } = &identity.certificate().subject;
    match role {
        Role::Node | Role::SetManager => Ok(()),
        Role::Client => Err(Failure::Input(format!(
            "{}: {name} is a {role}, must be a node, or a set-manager if it is the first host of its Set; \
             `{program} cert issue --role node --name NAME` makes a certificate",
            folder.display()
        ))),
    }
}

/// The names of the workloads that this program knows.
fn workloads(registry: &Registry) -> Vec<String> {
    registry.names().into_iter().map(str::to_owned).collect()
}

fn read(file: Option<&Path>) -> Result<(Section, Tree), Failure> {
    let written = experiments::node_configuration(file)?;
    let empty = Tree::empty_table();
    if let Some((name, node)) = written.entries().iter().find(|(name, _)| name != "node") {
        return Err(Fault::unknown_key(node.place(), name, &["node"]).into());
    }
    let section = written.get("node").unwrap_or(&empty).clone();
    let unit = |key: &str| match key {
        "memory" => Unit::Bytes,
        _ => Unit::None,
    };
    Ok((decode(&section, "node", unit)?, section))
}

/// Logs what the key `log` of a configuration says.
///
/// # Errors
///
/// If it is invalid.
fn set_levels(section: &Section, written: &Tree, file: Option<&Path>) -> Result<(), Fault> {
    log::set_levels(section.log.as_deref()).map_err(|_| {
        let place = written.find("log").and_then(Tree::place).map(str::to_owned);
        let place = place.or_else(|| file.map(|file| file.display().to_string()));
        let found = section.log.clone().unwrap_or_default();
        let rule = "must be levels of the log, such as `debug` or `info,hosts=debug`";
        Fault::invalid(place.as_deref(), "node.log", found, rule)
    })
}

/// Reads the levels of the log again.
///
/// # Errors
///
/// If the configuration cannot be read, or is invalid.
fn read_levels(file: Option<&Path>) -> Result<(), Failure> {
    let (section, written) = read(file)?;
    set_levels(&section, &written, file).map_err(Failure::input)
}

/// The configuration of this node, out of those of all nodes that a parent has started, by name.
fn of_parent(line: &str) -> Result<NodeConfiguration, Failure> {
    let invalid = |problem: String| Failure::input(format!("stdin: {problem}"));
    let mut all: BTreeMap<String, NodeConfiguration> =
        serde_json::from_str(line).map_err(|error| invalid(error.to_string()))?;
    if 1 < all.len() {
        // One for each host: `srun` gives the same line to all of its tasks.
        let name = own_name(|name| env::var(name).ok())?;
        let own = all.remove(name.as_str());
        return own.ok_or_else(|| invalid(format!("nothing for a node {name}")));
    }
    let only = all.pop_first().map(|(_, only)| only);
    only.ok_or_else(|| invalid("no configuration".to_owned()))
}

/// A node that a command has started: it reads its configuration from stdin, says on stdout where it waits, and leaves when stdin ends
/// or, on the machine of its parent, a signal asks for it.
fn serve_parent(registry: Registry) -> Result<(), Failure> {
    let mut line = String::new();
    let read = io::stdin().lock().read_line(&mut line);
    read.map_err(|error| Failure::input(format!("stdin: {error}")))?;
    let configuration = of_parent(&line)?;
    let pem = Pem {
        certificates: configuration.certificates,
        key: configuration.key,
    };
    let pace = match &configuration.play {
        Some(play) => Pace::Played(play.host(&registry)?),
        None => Pace::Share(Share::new(configuration.share).ok_or_else(|| {
            Failure::input(format!("stdin: invalid share {}", configuration.share))
        })?),
    };
    let (scope, handling) = if configuration.is_launched {
        let report = |number| NodeLine::Signal(number).say();
        (LoadScope::Process, Handling::Report(report))
    } else {
        (LoadScope::Siblings, Handling::Serve)
    };
    let termination = TerminationSignal::handled(handling);
    let _heard = termination.wait();
    let speed = configuration.speed;
    let node = Node {
        identity: Identity::from_pem(&pem).map_err(Failure::input)?,
        address: bindable(configuration.listen),
        routes: configuration.routes.into(),
        builds: Builds {
            own: registry.build()?,
            are_mixed_allowed: configuration.allow_mixed_builds,
        },
        workloads: workloads(&registry),
        exit_when_stuck: None,
        speed: speed.and_then(|speed| InstructionsPerSecond::new(speed).ok()),
        pace,
        scope,
        checkpoints: checkpoints(configuration.checkpoints),
        outputs: output_folder(configuration.outputs.as_deref())?,
        prepare: Arc::new(move |submit| prepare(submit, &registry, configuration.data.as_deref())),
        offer: configuration.join.map(|(to, own)| Offer { to, own }),
        metrics: None,
        heartbeat: None,
        reload: Arc::default(),
    };
    let (leave, left) = oneshot::channel::<()>();
    thread::spawn(move || {
        // Whatever ended it, no process uses this node any more.
        drop(io::copy(
            &mut io::stdin().lock().take(u64::MAX),
            &mut io::sink(),
        ));
        drop(leave);
        // One that does not end by itself, because a program does not, is ended.
        thread::sleep(LEAVING);
        process::exit(1);
    });
    let name = node.identity.certificate().subject.name.to_string();
    let ready = |address: SocketAddr| {
        let processors = processors();
        let ready = NodeLine::Ready {
            name,
            address,
            processors,
        };
        ready.say();
    };
    let ran = node.run(ready, async move {
        tokio::select! {
            // Whatever the job is, no client follows it.
            _ = left => Leave::AtOnce,
            () = termination.received() => Leave::WhenHeld,
        }
    });
    ran.map_err(|error| Failure::Cluster(error.to_string()))?;
    // Threads that still execute end with the process.
    process::exit(0)
}

/// `address`, or the same of IPv4 if it is any of IPv6, which this host does not have.
fn bindable(address: SocketAddr) -> SocketAddr {
    if address.ip() == Ipv6Addr::UNSPECIFIED {
        any_address(address.port())
    } else {
        address
    }
}

/// The folders to which a node of a parent may write checkpoints.
fn checkpoints(allowed: Option<Vec<String>>) -> CheckpointFolders {
    allowed.map_or_else(CheckpointFolders::any, |allowed| {
        CheckpointFolders::below(allowed.into_iter().map(PathBuf::from).collect())
    })
}

/// Time for a node of `up` to leave.
const LEAVING: Duration = Duration::from_secs(8);
