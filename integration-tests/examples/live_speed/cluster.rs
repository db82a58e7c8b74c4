//! Nodes as processes of this machine, which read their identity from stdin and end when it closes.

use std::env;
use std::fs;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddr};
use std::process::{Child, Command, Stdio, exit};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, SystemTime};

use agents::Outputs;
use anyhow::Context;
use bsp::units::InstructionsPerSecond;
use hosts::{CheckpointFolders, LoadScope, Node, OutputFolder, Pace, Share, run};
use machines::client::Request;
use machines::{Builds, Routes};
use protocol::identity::{Authority, Identity, Pem, Role, Validity};
use protocol::{Build, InputFolder, Member};
use record::Event;

use crate::job::{Case, Load, Peak, prepare};

/// Node processes, which end when this is dropped.
pub(crate) struct Cluster {
    authority: Authority,
    members: Vec<Member>,
    nodes: Vec<Child>,
}

impl Cluster {
    /// `nodes` nodes, in `sets` Sets.
    pub(crate) fn start(nodes: usize, sets: usize) -> anyhow::Result<Self> {
        Self::start_in(nodes, sets, None)
    }

    /// The same, with a variable in their environment.
    pub(crate) fn start_in(
        nodes: usize,
        sets: usize,
        variable: Option<(&str, &str)>,
    ) -> anyhow::Result<Self> {
        let authority = Authority::generate("speed".parse()?, validity(7200)?)?;
        let mut cluster = Self {
            members: Vec::new(),
            nodes: Vec::new(),
            authority,
        };
        for index in 0..nodes {
            let set = index * sets / nodes;
            let is_first = index == 0 || (index - 1) * sets / nodes != set;
            let role = if is_first {
                Role::SetManager
            } else {
                Role::Node
            };
            let name = format!("n{index}");
            let (node, address) = child("--node", &cluster.identity(role, &name)?, variable)?;
            cluster.nodes.push(node);
            cluster.members.push(Member {
                name,
                address,
                set: format!("s{set}"),
                slots: 1,
                speed: 1.0,
            });
        }
        Ok(cluster)
    }

    /// The numbers of the processes of the nodes.
    pub(crate) fn processes(&self) -> Vec<u32> {
        self.nodes.iter().map(Child::id).collect()
    }

    /// The processor time of all nodes so far, seconds.
    pub(crate) fn processor_time(&self) -> f64 {
        self.nodes.iter().map(|node| times(node.id())).sum()
    }

    fn identity(&self, role: Role, name: &str) -> anyhow::Result<Identity> {
        Ok(self
            .authority
            .issue(role, &name.parse()?, validity(3600)?)?)
    }

    /// Runs the processes of `case`: what was recorded, and the peaks of memory that they saw, by rank.
    pub(crate) fn run(&self, case: &Case) -> anyhow::Result<(Vec<Event>, Vec<Peak>)> {
        let (events, outputs) = self.run_programs(case)?;
        Ok((events, outputs.typed::<Load>().to_vec()))
    }

    /// Runs the processes of `case`: what was recorded, and the outputs.
    pub(crate) fn run_programs(&self, case: &Case) -> anyhow::Result<(Vec<Event>, Outputs)> {
        let request = Request {
            builds: Builds::same_as(build()?),
            workload: "load".to_owned(),
            members: self.members.clone(),
            experiment: serde_json::to_string(case)?,
            folder: InputFolder::default(),
            checkpoint: None,
            files: None,
            view: None,
            memory_part: None,
            is_left: false,
            grace: Duration::ZERO,
            wait: bsp::units::Seconds::ZERO,
            setup: case.setup(&self.members)?,
        };
        let mut events = Vec::new();
        let mut observer = |event: &Event| {
            events.push(event.clone());
            Ok(())
        };
        let client = self.identity(Role::Client, "speed")?;
        let never = std::future::pending();
        let finished = run(client, &request, case.program_type(), &mut observer, never)?;
        Ok((events, finished.outputs))
    }
}

/// The processor time of a process and its threads, those that have ended too, seconds.
fn times(process: u32) -> f64 {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    // The name of the program, which ends with the last parenthesis, may have any characters.
    let fields = stat.rsplit(')').next().unwrap_or_default();
    let ticks = fields.split_whitespace().skip(11).take(2);
    let ticks = ticks.filter_map(|ticks| ticks.parse::<f64>().ok());
    ticks.sum::<f64>() / TICKS_PER_SECOND
}

/// Of all machines that Linux runs on: a constant of its interface.
const TICKS_PER_SECOND: f64 = 100.0;

impl Drop for Cluster {
    fn drop(&mut self) {
        end(&mut self.nodes);
    }
}

/// Ends children that leave when their stdin does.
pub(crate) fn end(children: &mut [Child]) {
    for child in children.iter_mut() {
        drop(child.stdin.take());
    }
    for child in children {
        // It has gone, or is gone.
        drop(child.wait());
    }
}

/// This program as `what`, with an identity, and the address that it says.
pub(crate) fn child(
    what: &str,
    identity: &Identity,
    variable: Option<(&str, &str)>,
) -> anyhow::Result<(Child, String)> {
    let mut child = Command::new(env::current_exe()?)
        .arg(what)
        .envs(variable)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let Pem { certificates, key } = identity.to_pem();
    let line = serde_json::to_string(&(certificates, key))?;
    writeln!(child.stdin.as_mut().context("no stdin")?, "{line}")?;
    let mut address = String::new();
    BufReader::new(child.stdout.take().context("no stdout")?).read_line(&mut address)?;
    Ok((child, address.trim().to_owned()))
}

/// The identity of this child.
pub(crate) fn identity_from_stdin() -> anyhow::Result<Identity> {
    let mut line = String::new();
    io::stdin().lock().read_line(&mut line)?;
    let (certificates, key) = serde_json::from_str(&line)?;
    Ok(Identity::from_pem(&Pem { certificates, key })?)
}

/// The build of this program, which all its processes are.
pub(crate) fn build() -> anyhow::Result<Build> {
    Ok(Build::new("speed", "0.1.0", [0; Build::DIGEST_LEN])?)
}

/// Says where this child is.
pub(crate) fn say_where(address: SocketAddr) {
    let mut out = io::stdout().lock();
    // A parent that does not read it ends this child.
    drop(writeln!(out, "{address}").and_then(|()| out.flush()));
}

/// Ends this process when its stdin ends.
pub(crate) fn end_with_stdin() {
    thread::spawn(|| {
        // At its end, or after an error, the parent has gone and this process is not needed.
        drop(io::copy(
            &mut io::stdin().lock().take(u64::MAX),
            &mut io::sink(),
        ));
        exit(0);
    });
}

/// A node.
pub(crate) fn node() -> anyhow::Result<()> {
    let node = Node {
        offer: None,
        metrics: None,
        heartbeat: None,
        reload: Arc::default(),
        identity: identity_from_stdin()?,
        address: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
        routes: Routes::default(),
        builds: Builds::same_as(build()?),
        workloads: Vec::new(),
        exit_when_stuck: None,
        speed: InstructionsPerSecond::new(1e9).ok(),
        pace: Pace::Share(Share::WHOLE),
        scope: LoadScope::Siblings,
        checkpoints: CheckpointFolders::default(),
        outputs: OutputFolder::default(),
        prepare: Arc::new(prepare),
    };
    end_with_stdin();
    node.run(say_where, std::future::pending())?;
    Ok(())
}

/// A validity of `seconds` from now on.
pub(crate) fn validity(seconds: u64) -> anyhow::Result<Validity> {
    let length = Duration::from_secs(seconds);
    Ok(Validity::from_now(SystemTime::now(), length)?)
}
