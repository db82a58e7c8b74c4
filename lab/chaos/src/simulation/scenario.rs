//! The job and the faults that follow from a seed.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use agents::{
    Barrier, CheckpointCosts, CheckpointInterval, Checkpointing, Collection, Scheduler, Script,
    Setup, Shape, TransferStart,
};
use bsp::units::{self, BytesPerSecond, Seconds};
use bsp::{HostId, Rank, reference};
use bytes::Bytes;
use checkpoint::JobDescription;
use machines::Builds;
use machines::client::Request;
use model::{Config, CostSource, Policies};
use protocol::transport::JobId;
use protocol::{Build, InputFolder, Member, Step, View};
use simulator::{NetworkOptions, Platform};

use crate::simulation::fault::{Fault, FaultKind, SECOND, When};
use crate::simulation::overtaking;
use crate::simulation::program::Mixer;
use crate::simulation::random::{Purpose, Random};

/// A job and its faults.
#[derive(Clone)]
pub(super) struct Scenario {
    pub(super) seed: u64,
    pub(super) request: Request,
    /// The hosts whose nodes may manage a Set although another one does.
    pub(super) managing: BTreeSet<HostId>,
    pub(super) programs: Vec<Mixer>,
    /// The outputs of the reference runner.
    pub(super) outputs: Vec<u64>,
    pub(super) faults: Vec<Fault>,
    /// How long messages take without faults, and how much longer for each byte, in nanoseconds.
    pub(super) delay: ((u64, u64), u64),
    /// How long the decoding of a state takes, in nanoseconds.
    pub(super) decoding: (u64, u64),
    /// How long supersteps take without faults, in nanoseconds.
    pub(super) computation: (u64, u64),
    /// How long a job may last without faults, in nanoseconds.
    pub(super) longest: u64,
    /// Whether the client submits the job again as soon as it is complete.
    pub(super) follows_at_once: bool,
    /// The pieces of all processes, if the job resumes another one.
    pub(super) saved: Option<Vec<Bytes>>,
}

impl Scenario {
    /// The scenario of `seed`.
    pub(super) fn draw(seed: u64) -> Self {
        let mut scenario = if overtaking::is_aimed(seed) {
            overtaking::draw(seed)
        } else {
            Self::draw_any(seed)
        };
        scenario.draw_views();
        scenario.draw_attaching();
        scenario
    }

    fn draw_any(seed: u64) -> Self {
        let mut random = Random::new(seed, Purpose::Faults);
        let aim = seed.is_multiple_of(2).then(|| aim(seed / 2));
        let mut random_job = Random::new(seed, Purpose::Job);
        let job = &mut random_job;
        let sets = sets(job);
        let nodes = sets.iter().sum();
        let step = aim.map(|(_, step)| step);
        // Links are probed before moves that take long, which pay if supersteps do.
        let is_heavy = step == Some(Step::ProbeLink);
        let least = if is_heavy { 6 } else { 1 };
        let processes = usize::try_from(job.between(least, 12)).expect("small");
        let mut request = request(job, &sets, processes, step);
        draw_checkpoints(seed, &mut request, step);
        let programs = programs(job, seed, processes, is_heavy);
        let mut faults = Vec::new();
        if let Some((kind, step)) = aim {
            let when = When::Step(step, random.between(1, 4));
            faults.push(Fault::draw(&mut random, kind, when, nodes));
        }
        let random_most = random.duration(20, 3000);
        while faults.is_empty() || (faults.len() < 4 && random.percent(35)) {
            let when = When::Event(random.between(1, random_most));
            let kind = random.of(&FaultKind::drawn());
            faults.push(Fault::draw(&mut random, kind, when, nodes));
        }
        Self {
            faults,
            delay: if is_heavy {
                ((10_000, 100_000), MBIT_10)
            } else {
                let fast = (10_000, 100_000);
                let delay = job.of(&[fast, (50_000, 2_000_000), (1_000_000, 30_000_000)]);
                (delay, GBIT_1)
            },
            decoding: if is_heavy {
                (10_000, 200_000)
            } else {
                (10_000, 50_000_000)
            },
            computation: if is_heavy {
                (1_000_000_000, 2_000_000_000)
            } else {
                job.of(&[(10_000, 1_000_000), (100_000, 20_000_000)])
            },
            longest: if is_heavy { 1000 } else { 60 } * SECOND,
            ..Self::new(seed, request, programs)
        }
    }

    /// Gives two thirds of all jobs views, and those that aim at a step of them.
    fn draw_views(&mut self) {
        let mut random = Random::new(self.seed, Purpose::Views);
        let is_aimed = |fault: &Fault| {
            matches!(
                fault.when,
                When::Step(Step::Suspend | Step::Restore, _) if fault.kind != FaultKind::Late
            )
        };
        let is_aimed = self.faults.iter().any(is_aimed);
        if !is_aimed && random.percent(35) {
            return;
        }
        let request = &mut self.request;
        request.view = Some(View::first(true));
        let nodes = request.members.len();
        let hosts = (0..nodes).map(HostId::from_index);
        self.managing = if random.percent(60) {
            hosts.collect()
        } else {
            BTreeSet::from([HostId::from_index(random.index(nodes))])
        };
        if request.setup.checkpointing.is_none() && (is_aimed || random.percent(80)) {
            let interval = CheckpointInterval::Supersteps(random.between(1, 8));
            request.setup.checkpointing = Some(checkpointing(interval, true));
        }
        if let Some(checkpointing) = &mut request.setup.checkpointing {
            checkpointing.copies = is_aimed || random.percent(85);
        }
        // Most begin anew if there is no checkpoint.
        if random.percent(50) {
            request.checkpoint = None;
        }
        // Most that lose a node do so after they have begun.
        if is_aimed || random.percent(50) {
            let steps = [
                Step::Compute,
                Step::Compute,
                Step::Save,
                Step::Copy,
                Step::Collect,
                Step::Exchange,
                Step::Barrier,
                Step::Finish,
                Step::End,
            ];
            let when = When::Step(random.of(&steps), random.between(1, 60));
            self.faults.push(Fault::draw_loss(&mut random, when, nodes));
        }
        if random.percent(25) {
            let when = When::Later(random.duration(1_000_000, SECOND));
            self.faults.push(Fault::draw_loss(&mut random, when, nodes));
        }
        if random.percent(15) {
            let steps = [Step::Gather, Step::Probe, Step::Suspend, Step::Restore];
            let when = When::Step(random.of(&steps), random.between(1, 4));
            self.faults.push(Fault::draw_loss(&mut random, when, nodes));
        }
        // The client leaves some jobs when they have begun, which need nothing from it any more.
        request.is_left =
            random.percent(10) && self.saved.is_none() && request.checkpoint.is_none();
        self.longest *= 2;
        // Some last so long that nodes are back before their end.
        if random.percent(30) {
            self.computation = (20_000_000, 300_000_000);
            self.longest *= 2;
        }
    }

    /// Has clients attach to most jobs with views, if a node leads them, and has outputs of some jobs arrive late.
    fn draw_attaching(&mut self) {
        if self.request.view.is_none() {
            return;
        }
        let mut random = Random::new(self.seed, Purpose::Attaching);
        let random = &mut random;
        let nodes = self.request.members.len();
        let is_heavy = self.delay.1 == MBIT_10;
        // Steps that few jobs reach are as frequent as all others.
        let step = |random: &mut Random| {
            if random.percent(50) {
                return When::Step(random.of(&Step::ALL), random.between(1, 40));
            }
            let rare = if is_heavy {
                [Step::Plan, Step::ProbeLink, Step::ProbeLink]
            } else {
                [Step::Plan, Step::Install, Step::Collect]
            };
            When::Step(random.of(&rare), random.between(1, 3))
        };
        // Where messages are late, nodes may not agree on a leader in time.
        let are_late = self
            .faults
            .iter()
            .any(|fault| fault.kind == FaultKind::Late);
        if !are_late && random.percent(if is_heavy { 60 } else { 30 }) {
            let steps = [Step::Compute, Step::Exchange, Step::Barrier, Step::Save];
            let when = When::Step(random.of(&steps), random.between(1, 60));
            let crash = Fault::draw(random, FaultKind::ClientCrash, when, nodes);
            self.faults.push(crash);
            // What happens to the clients that attach then takes seconds.
            if !is_heavy {
                self.last_long();
            }
        }
        // The node that leads may be lost.
        if !are_late && random.percent(30) {
            let when = When::Led(random.duration(1_000_000, 5 * SECOND));
            self.faults.push(Fault::draw_loss(random, when, nodes));
        }
        if !are_late && !is_heavy && random.percent(6) {
            self.draw_late_outputs(random);
        } else if random.percent(10) {
            let when = step(random);
            let late = Fault::draw(random, FaultKind::LateOutputs, when, nodes);
            self.faults.push(late);
        }
        if random.percent(80) {
            // The first client attaches soon, so that others of these faults happen to it.
            let when = When::Led(random.duration(1_000_000, SECOND));
            let first = Fault::draw(random, FaultKind::Attach, when, nodes);
            self.faults.push(first);
            let kinds = [
                FaultKind::Attach,
                FaultKind::AttachOther,
                FaultKind::FollowerCrash,
                FaultKind::FollowerCut,
            ];
            for _ in 0..random.between(1, 5) {
                let kind = random.of(&kinds);
                let when = match random.between(0, 9) {
                    0..=3 => When::Led(random.duration(10_000_000, 10 * SECOND)),
                    4..=8 => step(random),
                    _ => When::Over(random.duration(1_000_000, SECOND)),
                };
                self.faults.push(Fault::draw(random, kind, when, nodes));
            }
        }
    }

    /// The outputs of a node are late. A process there halts early, and two other nodes are lost after that: the output, which is sent
    /// when the second view begins, arrives in the third one.
    fn draw_late_outputs(&mut self, random: &mut Random) {
        let (nodes, placement) = (self.request.members.len(), &self.request.setup.placement);
        let rank = random.index(placement.len());
        let node = placement[rank].index();
        let halts = random.between(1, 3);
        for program in &mut self.programs {
            program.lasts[rank] = halts;
        }
        let outputs = reference::run(self.programs.clone(), reference::Limit(1000));
        self.outputs = outputs.expect("the program obeys its laws").outputs;
        let interval = CheckpointInterval::Supersteps(random.between(1, 3));
        self.request.setup.checkpointing = Some(checkpointing(interval, true));
        self.last_long();
        let mut fault = |kind, when, node| Fault {
            node,
            ..Fault::draw(random, kind, when, nodes)
        };
        let late = Fault {
            lasts: 60 * SECOND,
            factor: 10_000,
            ..fault(FaultKind::LateOutputs, When::Event(1), node)
        };
        // The first fault of all is the late one. A crash is noticed after 2.5 s.
        let crashes = [(1, 2 * SECOND), (2, 4 * SECOND)].map(|(next, time)| {
            let node = (node + next) % nodes;
            fault(FaultKind::Crash, When::Later(time), node)
        });
        self.faults.insert(0, late);
        self.faults.extend(crashes);
    }

    /// The job lasts so long that connections are lost in it.
    fn last_long(&mut self) {
        self.computation = (20_000_000, 300_000_000);
        self.longest *= 2;
    }

    /// A job without faults, on fast paths and processors.
    pub(super) fn new(seed: u64, request: Request, programs: Vec<Mixer>) -> Self {
        let outputs = reference::run(programs.clone(), reference::Limit(1000));
        Self {
            seed,
            request,
            managing: BTreeSet::new(),
            programs,
            outputs: outputs.expect("the program obeys its laws").outputs,
            faults: Vec::new(),
            delay: ((10_000, 100_000), GBIT_1),
            decoding: (10_000, 200_000),
            computation: (10_000, 1_000_000),
            longest: 60 * SECOND,
            follows_at_once: false,
            saved: None,
        }
    }
}

/// The fault and the step that the number `number` of the scenarios with an aim aims at: all pairs in turn.
fn aim(number: u64) -> (FaultKind, Step) {
    let (kinds, steps) = (FaultKind::drawn(), Step::ALL);
    let count = kinds.len() * steps.len();
    let place = number % u64::try_from(count).expect("few pairs");
    let place = usize::try_from(place).expect("it is smaller than the number of pairs");
    (kinds[place % kinds.len()], steps[place / kinds.len()])
}

/// The numbers of nodes of 1 to 3 Sets, 2 to 7 in all.
fn sets(random: &mut Random) -> Vec<usize> {
    let nodes = usize::try_from(random.between(2, 7)).expect("small");
    let count = usize::try_from(random.between(1, 3)).expect("small");
    let mut sets = vec![1; count.min(nodes)];
    for _ in sets.len()..nodes {
        let place = random.index(sets.len());
        sets[place] += 1;
    }
    sets
}

pub(super) fn request(
    random: &mut Random,
    sets: &[usize],
    processes: usize,
    step: Option<Step>,
) -> Request {
    let hosts = sets.iter().sum();
    let spread = if step == Some(Step::ProbeLink) {
        1
    } else {
        hosts
    };
    let placement: Vec<HostId> = (0..processes)
        .map(|_| HostId::from_index(random.index(spread)))
        .collect();
    let shape = random.of(&Shape::ALL);
    let scheduler = scheduler(random, (processes, hosts), step);
    request_of(sets, (placement, shape, scheduler), || {
        1 + u32::try_from(random.index(2)).expect("small")
    })
}

/// A job on Sets with these numbers of hosts, which have as many processors as `processors` says of each in turn.
pub(super) fn request_of(
    sets: &[usize],
    (placement, shape, scheduler): (Vec<HostId>, Shape, Option<Scheduler>),
    mut processors: impl FnMut() -> u32,
) -> Request {
    let names = (0..).map(|index| format!("s{index}"));
    let named: Vec<(String, usize)> = names.zip(sets.iter().copied()).collect();
    let platform = Arc::new(platform(&named));
    let setup = Setup {
        network: NetworkOptions::default(),
        start: TransferStart::Eager,
        placement,
        barrier: Barrier {
            shape,
            message: units::Bytes(8),
            collection: Collection::AsTheyCome,
        },
        scheduler,
        elasticity: None,
        awaited: None,
        checkpointing: None,
        superstep_limit: 1000,
        traced: false,
        repeats: true,
        resumed: None,
        platform: Arc::clone(&platform),
    };
    let members = platform.hosts().iter().enumerate().map(|(index, host)| {
        let set = &platform.sets()[host.set.index()];
        Member {
            name: format!("node-{}", index + 1),
            address: format!("10.0.0.{}:7447", index + 1),
            set: set.name.clone(),
            slots: processors(),
            speed: 1.0,
        }
    });
    let build = Build::new("chaos", "1", [0; Build::DIGEST_LEN]).expect("a short name");
    Request {
        builds: Builds::same_as(build),
        workload: "mixer".to_owned(),
        members: members.collect(),
        experiment: String::new(),
        folder: InputFolder::default(),
        checkpoint: None,
        files: None,
        memory_part: None,
        is_left: false,
        grace: std::time::Duration::ZERO,
        wait: Seconds::new(3.0).expect("a finite time"),
        setup,
        view: None,
    }
}

/// How processes are rescheduled: so that `step` occurs, if the scenario aims at it.
fn scheduler(
    random: &mut Random,
    (processes, hosts): (usize, usize),
    step: Option<Step>,
) -> Option<Scheduler> {
    let (has_calls, policies): (bool, &[&str]) = match step {
        Some(Step::Negotiate) => (true, &["migbsp"]),
        Some(Step::Plan | Step::ProbeLink) => (true, &["adaptive", "fixed+greedy-refine"]),
        Some(
            Step::Measure
            | Step::Evaluate
            | Step::Depart
            | Step::Transfer
            | Step::Install
            | Step::Commit,
        ) => (true, &["migbsp", "adaptive"]),
        _ => (false, &["migbsp", "adaptive", "migbsp", "adaptive", "none"]),
    };
    let name = random.of(policies);
    if name == "none" || (!has_calls && random.percent(10)) {
        return None;
    }
    let policy = Policies::shipped().policy(name).expect("a shipped policy");
    let mut scheduler = Scheduler {
        policy,
        load_window: Seconds::new(1.0).expect("finite"),
        ..Scheduler::default()
    };
    if step == Some(Step::ProbeLink) || random.percent(50) {
        let mut parameters = *scheduler.model.parameters();
        parameters.migration.source = CostSource::Learned;
        scheduler.model = Config::new(parameters).expect("valid parameters");
    }
    let moves = !matches!(step, Some(Step::Plan | Step::ProbeLink));
    if moves && random.percent(80) {
        let mut script = BTreeMap::new();
        for _ in 0..random.between(1, 5) {
            let moves = (0..random.between(1, 3)).map(|_| {
                let rank = Rank::from_index(random.index(processes));
                (rank, HostId::from_index(random.index(hosts)))
            });
            let moves = moves.collect();
            script.insert(random.between(1, 25), moves);
        }
        scheduler.script = Some(Script(script));
    }
    Some(scheduler)
}

pub(super) fn programs(
    random: &mut Random,
    seed: u64,
    processes: usize,
    is_heavy: bool,
) -> Vec<Mixer> {
    let last = if is_heavy { 60 } else { random.between(6, 40) };
    // All halt together, or each in a superstep of its own.
    let spread = random.of(&[0, 0, last / 2]);
    let lasts: Vec<u64> = (0..processes)
        .map(|_| last - random.between(0, spread))
        .collect();
    let (least, most) = if is_heavy { (1000, 5000) } else { (1, 2000) };
    let ballast = usize::try_from(random.duration(least, most)).expect("small");
    let process = |rank: usize| Mixer {
        seed,
        lasts: lasts.clone(),
        ballast: vec![u64::try_from(rank).expect("small"); ballast * (1 + rank % 5)],
        digest: 0,
        message: if is_heavy { 20_000 } else { 0 },
    };
    (0..processes).map(process).collect()
}

/// Connected Sets with these names and numbers of hosts.
fn platform(sets: &[(String, usize)]) -> Platform {
    let mut text = String::new();
    for (index, (name, hosts)) in sets.iter().enumerate() {
        text += &format!(
            "[[set]]\nname = \"{name}\"\nhosts = {hosts}\ncores = 1\nspeed = \"1 Gf\"\n\
             link = {{ bandwidth = \"125 MBps\", latency = \"50 us\" }}\n"
        );
        for (other, _) in &sets[..index] {
            text += &format!(
                "[[link]]\nname = \"{other}-{name}\"\nbetween = [\"{other}\", \"{name}\"]\n\
                 bandwidth = \"125 MBps\"\nlatency = \"100 us\"\n"
            );
        }
    }
    Platform::from_toml(&text).expect("a valid platform")
}

/// The setup that client and nodes make of a view with these members, of a job whose first one has `setup`. If the view begins with a
/// checkpoint, the placement is replaced.
pub(super) fn setup_of(setup: &Setup, view: Option<u64>, members: &[Member]) -> Setup {
    if view.is_none_or(|view| view == 1) {
        return setup.clone();
    }
    let sets = members.chunk_by(|one, other| one.set == other.set);
    let sets: Vec<(String, usize)> = sets
        .map(|of_set| (of_set[0].set.clone(), of_set.len()))
        .collect();
    let hosts = (0..members.len()).map(HostId::from_index);
    let mut next = Setup {
        platform: Arc::new(platform(&sets)),
        placement: hosts.cycle().take(setup.placement.len()).collect(),
        resumed: None,
        ..setup.clone()
    };
    let scheduler = next.scheduler.as_mut();
    if let Some(Script(script)) = scheduler.and_then(|scheduler| scheduler.script.as_mut()) {
        for (_, to) in script.values_mut().flatten() {
            *to = HostId::from_index(to.index() % members.len());
        }
    }
    next
}

/// Nanoseconds for a byte, on links of 1 Gbit/s and of 10 Mbit/s.
const GBIT_1: u64 = 8;
pub(super) const MBIT_10: u64 = 800;

/// Gives half of all jobs checkpoints, and those that aim at a step of checkpoints.
pub(super) fn draw_checkpoints(seed: u64, request: &mut Request, step: Option<Step>) {
    let mut random = Random::new(seed, Purpose::Checkpoints);
    let is_aimed = matches!(
        step,
        Some(Step::Save | Step::Copy | Step::Write | Step::Collect)
    );
    if !is_aimed && random.percent(50) {
        return;
    }
    let interval = if random.percent(50) {
        CheckpointInterval::Supersteps(random.between(1, 8))
    } else {
        let nanoseconds = random.duration(100_000, 50_000_000);
        let seconds = Seconds::new(nanoseconds as f64 * 1e-9).expect("finite");
        CheckpointInterval::Time(seconds)
    };
    let copies = is_aimed || random.percent(75);
    request.setup.checkpointing = Some(checkpointing(interval, copies));
    if is_aimed || random.percent(75) {
        request.checkpoint = Some("/checkpoints".to_owned());
    }
}

pub(super) fn checkpointing(interval: CheckpointInterval, copies: bool) -> Checkpointing {
    let rate = BytesPerSecond::new(1e9).expect("a positive rate");
    Checkpointing {
        interval,
        first: Seconds::new(10.0).expect("finite"),
        mtbf: Seconds::new(1e6).expect("finite"),
        copies,
        keep: std::num::NonZeroU32::MIN,
        // Of the simulated world.
        costs: CheckpointCosts {
            encoding: rate,
            fork: rate,
            forks: true,
            bytes: None,
            change: 1.0,
        },
    }
}

/// What the client of `request` says of its job in the folder.
pub(super) fn describe_job(request: &Request, job: JobId) -> Option<JobDescription> {
    request.checkpoint.as_ref()?;
    let build = &request.builds.own;
    Some(JobDescription {
        job,
        incarnation: request.setup.incarnation(),
        workload: request.workload.clone(),
        processes: u32::try_from(request.setup.placement.len()).expect("few processes"),
        program: build.program().to_owned(),
        version: build.version().to_owned(),
        build: build.sha256(),
        experiment: "the experiment".to_owned(),
        files: None,
    })
}
