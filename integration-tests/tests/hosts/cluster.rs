//! A cluster of nodes, each a thread with a socket of its own.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::mpsc;
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, SystemTime};

use agents::{
    Barrier, ChunkReader, Outcome, Payment, PlacementOptions, ProgramType, Programs, Scheduler,
    Script, Setup, Shape, TransferStart, hosted, placement,
};
use bsp::units::{InstructionsPerSecond, Seconds};
use bsp::{HostId, Program, Rank};
use bytes::Bytes;
use hosts::{CheckpointFolders, LoadScope, Node, NodeError, OutputFolder, Pace, Share, run};
use machines::client::Request;
use machines::{Builds, JobError, Prepared, ProgramBuilder, Routes};
use protocol::identity::{Authority, Identity, Role, Validity};
use protocol::{Build, InputFolder, Member};
use record::Event;
use simulator::{NetworkOptions, Platform};

/// A scheduler that moves processes after these supersteps, each to the host so many steps after that in `placement`, of three.
pub(crate) fn moving<const N: usize>(
    placement: &[HostId],
    script: [(u64, Vec<(u32, u32)>); N],
) -> Scheduler {
    let parameters = model::Parameters {
        interval: 1,
        tolerance: 1e-9,
        omega: u32::MAX,
        ..model::Parameters::default()
    };
    let to = |(rank, steps): (u32, u32)| {
        let host = (placement[Rank(rank).index()].0 + steps) % 3;
        (Rank(rank), HostId(host))
    };
    let orders = |(superstep, moves): (u64, Vec<(u32, u32)>)| {
        (superstep, moves.into_iter().map(to).collect())
    };
    Scheduler {
        payment: Payment::Transfer,
        script: Some(Script(script.into_iter().map(orders).collect())),
        model: model::Config::new(parameters).unwrap(),
        ..Scheduler::default()
    }
}

/// Nodes in Sets, which run until this is dropped.
pub(crate) struct Cluster {
    authority: Authority,
    pub(crate) members: Vec<Member>,
    pub(crate) platform: Arc<Platform>,
    /// What the job of the moment is: nodes are not told in words.
    job: Arc<Mutex<Option<Prepared>>>,
    leave: Vec<tokio::sync::oneshot::Sender<()>>,
    threads: Vec<JoinHandle<Result<(), NodeError>>>,
}

/// How a node is started.
pub(crate) struct NodeOptions {
    pub(crate) builds: Builds,
    pub(crate) exit_when_stuck: Option<Duration>,
    /// Where it reaches other nodes, if not at their addresses.
    pub(crate) routes: Routes,
}

impl Default for NodeOptions {
    fn default() -> Self {
        Self {
            builds: Builds::same_as(build("counter", 0)),
            exit_when_stuck: None,
            routes: Routes::default(),
        }
    }
}

impl Cluster {
    /// Sets with these numbers of nodes, with one processor each.
    pub(crate) fn start(sets: &[usize]) -> Self {
        Self::with(sets, |_| NodeOptions::default())
    }

    /// The same, with options for each node.
    pub(crate) fn with(sets: &[usize], options: impl Fn(usize) -> NodeOptions) -> Self {
        let authority = Authority::generate("test".parse().unwrap(), validity(7200)).unwrap();
        let mut cluster = Self {
            members: Vec::new(),
            platform: Arc::new(platform(sets)),
            job: Arc::default(),
            leave: Vec::new(),
            threads: Vec::new(),
            authority,
        };
        for (set, count) in sets.iter().enumerate() {
            for number in 0..*count {
                let role = if number == 0 {
                    Role::SetManager
                } else {
                    Role::Node
                };
                cluster.add(options(cluster.members.len()), set, role);
            }
        }
        cluster
    }

    fn add(&mut self, options: NodeOptions, set: usize, role: Role) {
        let name = format!("n{}", self.members.len());
        let identity = self.identity(role, &name);
        let job = Arc::clone(&self.job);
        let (ready, address) = mpsc::channel();
        let (leave, left) = tokio::sync::oneshot::channel();
        self.leave.push(leave);
        self.threads.push(thread::spawn(move || {
            let node = Node {
                offer: None,
                metrics: None,
                heartbeat: None,
                reload: Arc::default(),
                identity,
                address: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
                routes: options.routes,
                builds: options.builds,
                workloads: vec!["counter".to_owned()],
                exit_when_stuck: options.exit_when_stuck,
                speed: InstructionsPerSecond::new(1e9).ok(),
                pace: Pace::Share(Share::WHOLE),
                scope: LoadScope::Process,
                checkpoints: CheckpointFolders::below(vec![std::env::temp_dir()]),
                outputs: OutputFolder::at(&std::env::temp_dir()).unwrap(),
                prepare: Arc::new(move |_| {
                    let job = job.lock().unwrap().clone();
                    job.ok_or_else(|| JobError::input("there is no job"))
                }),
            };
            let left = async {
                drop(left.await);
                hosts::Leave::AtOnce
            };
            node.run(|address| ready.send(address).unwrap(), left)
        }));
        self.members.push(Member {
            name,
            address: address.recv().unwrap().to_string(),
            set: format!("s{set}"),
            slots: 1,
            speed: 1.0,
        });
    }

    /// Waits for the end of a node that ends by itself.
    pub(crate) fn end_of(&mut self, index: usize) -> Result<(), NodeError> {
        let ended = self.threads.remove(index).join().unwrap();
        drop(self.leave.remove(index));
        ended
    }

    pub(crate) fn identity(&self, role: Role, name: &str) -> Identity {
        let name = name.parse().unwrap();
        self.authority.issue(role, &name, validity(3600)).unwrap()
    }

    /// A job of `processes` processes, spread evenly.
    pub(crate) fn setup(
        &self,
        processes: u32,
        shape: Shape,
        scheduler: Option<Scheduler>,
    ) -> Setup {
        let platform = Arc::clone(&self.platform);
        Setup {
            network: NetworkOptions::default(),
            start: TransferStart::Eager,
            placement: placement(&platform, &PlacementOptions::default(), processes).unwrap(),
            platform,
            barrier: Barrier {
                shape,
                ..Barrier::default()
            },
            scheduler,
            elasticity: None,
            awaited: None,
            checkpointing: None,
            superstep_limit: 10_000,
            traced: false,
            repeats: true,
            resumed: None,
        }
    }

    pub(crate) fn request(&self, setup: &Setup) -> Request {
        Request {
            builds: Builds::same_as(build("counter", 0)),
            workload: "counter".to_owned(),
            members: self.members.clone(),
            experiment: String::new(),
            folder: InputFolder::default(),
            checkpoint: None,
            files: None,
            view: None,
            memory_part: None,
            is_left: false,
            grace: Duration::ZERO,
            wait: Seconds::ZERO,
            setup: setup.clone(),
        }
    }

    /// The job that nodes run next, whatever is submitted, with these programs.
    pub(crate) fn prepare<P: Program>(&self, setup: &Setup, programs: Vec<P>) {
        *self.job.lock().unwrap() = Some(Prepared {
            setup: setup.clone(),
            program_type: ProgramType::new::<P>(),
            programs: builder(programs),
            supersteps: None,
        });
    }

    /// The job that nodes run next, whatever is submitted, with the programs that `build` builds.
    pub(crate) fn prepare_building<P: Program>(
        &self,
        setup: &Setup,
        build: fn(Rank) -> Result<P, JobError>,
    ) {
        *self.job.lock().unwrap() = Some(Prepared {
            setup: setup.clone(),
            program_type: ProgramType::new::<P>(),
            programs: ProgramBuilder::new(move |ranks, take| {
                let mut ranks = ranks.iter();
                ranks.try_for_each(|rank| take(*rank, hosted(build(*rank)?)))
            }),
            supersteps: None,
        });
    }

    /// Runs `programs` on the cluster, and what was recorded.
    pub(crate) fn run<P: Program>(
        &self,
        setup: &Setup,
        programs: Vec<P>,
    ) -> Result<(Outcome, Vec<Event>), JobError> {
        self.prepare(setup, programs);
        let mut events = Vec::new();
        let mut observer = |event: &Event| {
            events.push(event.clone());
            Ok(())
        };
        let client = self.identity(Role::Client, "tester");
        let finished = run(
            client,
            &self.request(setup),
            ProgramType::new::<P>(),
            &mut observer,
            std::future::pending(),
        )?;
        Ok((finished, events))
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        for leave in self.leave.drain(..) {
            // One that has left already is waited for below.
            leave.send(()).unwrap_or(());
        }
        for thread in self.threads.drain(..) {
            let ended = thread.join();
            let is_orderly = matches!(ended, Ok(Ok(())));
            assert!(is_orderly || thread::panicking(), "{ended:?}");
        }
    }
}

/// What builds copies of `programs`, by rank.
fn builder<P: Program>(programs: Vec<P>) -> ProgramBuilder {
    let program_type = ProgramType::new::<P>();
    let (states, _) = Programs::new(programs).into_states();
    let states: Vec<_> = states.collect();
    ProgramBuilder::new(move |ranks, take| {
        for rank in ranks {
            let state = states[rank.index()].clone()?;
            let mut chunks = vec![Bytes::from(state)].into_iter();
            let program = program_type.decode(*rank, &mut ChunkReader::new(&mut chunks))?;
            take(*rank, program)?;
        }
        Ok(())
    })
}

/// A build of `program`, whose digest is this byte.
pub(crate) fn build(program: &str, digest: u8) -> Build {
    Build::new(program, "0.1.0", [digest; Build::DIGEST_LEN]).unwrap()
}

fn validity(seconds: u64) -> Validity {
    Validity::from_now(SystemTime::now(), Duration::from_secs(seconds)).unwrap()
}

/// Sets with these numbers of hosts, with one core each.
fn platform(sets: &[usize]) -> Platform {
    let mut text = String::new();
    for (index, hosts) in sets.iter().enumerate() {
        text += &format!(
            "[[set]]\nname = \"s{index}\"\nhosts = {hosts}\nspeed = \"1 Ginstr/s\"\n\
             link = {{ bandwidth = \"1250 MBps\", latency = \"5 us\" }}\n"
        );
        for other in 0..index {
            text += &format!(
                "[[link]]\nname = \"l{other}-{index}\"\nbetween = [\"s{other}\", \"s{index}\"]\n\
                 bandwidth = \"1250 MBps\"\nlatency = \"10 us\"\n"
            );
        }
    }
    Platform::from_toml(&text).unwrap()
}
