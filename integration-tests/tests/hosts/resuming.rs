//! A job that resumes another one on any hosts ends with the outputs of a run that was not disturbed.

use std::time::Duration;
use std::{fs, thread};

use agents::{
    CheckpointCosts, CheckpointInterval, Checkpointing, Outcome, ProgramType, Resumed, Scheduler,
    Setup, Shape, resumed_placement,
};
use bsp::reference::{self, Limit};
use bsp::units::{BytesPerSecond, Instructions, Seconds};
use bsp::{BoxError, HostId, Program, Rank, Step, Sum, Superstep};
use checkpoint::{DiskFiles, SavedStates, Store};
use machines::JobError;
use machines::client::Request;
use protocol::NodeFiles;
use protocol::identity::Role;
use record::Event;
use serde::{Deserialize, Serialize};
use tempfile::TempDir;
use workloads::{Common, heat, lbm, lu, smith_waterman};

use crate::cluster::Cluster;
use crate::gradients::solvers;

/// Halts in the superstep of its own that `lasts` has, and sends to some of those that live on, seldom: batches that no
/// node expects are late.
#[derive(Clone, Serialize, Deserialize)]
struct Leaver {
    lasts: Vec<u64>,
    digest: u64,
}

impl Program for Leaver {
    type Message = u64;
    type Output = u64;

    fn superstep(&mut self, ctx: &mut Superstep<'_, u64>) -> Result<Step<u64>, BoxError> {
        let (own, now) = (ctx.rank(), ctx.index());
        for (from, value) in ctx.receive() {
            let value = value.wrapping_add(u64::from(from.0));
            self.digest = self.digest.wrapping_mul(0x9e37_79b9).wrapping_add(value);
        }
        if let Ok(sum) = ctx.reduced::<Sum<f64>>("sum") {
            self.digest = self.digest.rotate_left(7) ^ sum.to_bits();
        }
        let share = (self.digest >> 11) as f64 / (1_u64 << 53) as f64;
        ctx.reduce("sum", Sum(share));
        ctx.charge(Instructions(1000 * (1 + u64::from(own.0))));
        let is_loud = now % 13 >= 10;
        for (index, last) in self.lasts.iter().enumerate() {
            if is_loud && now < *last && (u64::try_from(index).unwrap() + now).is_multiple_of(2) {
                ctx.send(Rank::from_index(index), self.digest ^ now);
            }
        }
        if self.lasts[own.index()] == now {
            return Ok(Step::Halt(self.digest));
        }
        Ok(Step::Continue)
    }

    bsp::fork_by_clone!();
}

fn leavers(lasts: &[u64]) -> Vec<Leaver> {
    let leaver = |rank: usize| Leaver {
        lasts: lasts.to_vec(),
        digest: rank as u64,
    };
    (0..lasts.len()).map(leaver).collect()
}

/// The same program, whose last process is slow from superstep `stop` on until a checkpoint of superstep `until` or a later
/// one is in `folder`.
#[derive(Clone, Serialize, Deserialize)]
#[serde(bound = "P: Program")]
struct Slowed<P> {
    program: P,
    stop: u64,
    until: u64,
    folder: String,
}

impl<P: Program> Program for Slowed<P> {
    type Message = P::Message;
    type Output = P::Output;

    fn superstep(
        &mut self,
        ctx: &mut Superstep<'_, P::Message>,
    ) -> Result<Step<P::Output>, BoxError> {
        let is_last = ctx.rank().0 + 1 == ctx.size();
        if is_last && self.stop <= ctx.index() && newest(&self.folder) < Some(self.until) {
            thread::sleep(Duration::from_millis(20));
        }
        self.program.superstep(ctx)
    }

    fn fork(&self) -> Option<Self> {
        Some(Self {
            program: self.program.fork()?,
            stop: self.stop,
            until: self.until,
            folder: self.folder.clone(),
        })
    }
}

/// The superstep of the newest complete checkpoint in `folder`.
fn newest(folder: &str) -> Option<u64> {
    let mut newest = None;
    for job in fs::read_dir(folder).ok()?.flatten() {
        for checkpoint in fs::read_dir(job.path()).into_iter().flatten().flatten() {
            let name = checkpoint.file_name().into_string().unwrap();
            if checkpoint.path().join("manifest.json").exists() {
                let (_, superstep) = name.split_once('-').unwrap();
                newest = newest.max(Some(superstep.parse().unwrap()));
            }
        }
    }
    newest
}

/// A checkpoint before every `interval`-th superstep, copied to buddies.
fn checkpointing(interval: u64) -> Checkpointing {
    let rate = BytesPerSecond::new(1e9).unwrap();
    Checkpointing {
        interval: CheckpointInterval::Supersteps(interval),
        first: Seconds::new(1.0).unwrap(),
        mtbf: Seconds::new(1e6).unwrap(),
        copies: true,
        keep: std::num::NonZeroU32::MIN,
        costs: CheckpointCosts {
            encoding: rate,
            fork: rate,
            forks: true,
            bytes: None,
            change: 1.0,
        },
    }
}

/// The setup of a job on `cluster` with checkpoints, and the request to write them to `folder`.
fn request(
    cluster: &Cluster,
    setup: &Setup,
    (folder, files): (&TempDir, Option<NodeFiles>),
) -> Request {
    let path = folder.path().to_str().unwrap().to_owned();
    Request {
        checkpoint: Some(path),
        files,
        ..cluster.request(setup)
    }
}

/// Ends a job with an error once a checkpoint of superstep `stop` or a later one is complete.
fn stopping(stop: u64, event: &Event) -> Result<(), JobError> {
    match event {
        Event::Checkpoint(checkpoint) if stop <= checkpoint.superstep => {
            assert_eq!(checkpoint.problem, None);
            Err(JobError::program("enough"))
        }
        _ => Ok(()),
    }
}

/// Runs `processes` on `cluster` until a checkpoint of superstep `stop` or a later one is in `folder`. They are slow until
/// there is one of superstep `until`.
fn save<P: Program>(
    how: (&Cluster, Shape),
    processes: Vec<P>,
    until: (u64, u64),
    folder: &TempDir,
) {
    save_with(how, processes, until, (folder, None));
}

/// The same, whose nodes write files if there are `files`.
pub(crate) fn save_with<P: Program>(
    (cluster, shape): (&Cluster, Shape),
    processes: Vec<P>,
    (stop, until): (u64, u64),
    (folder, files): (&TempDir, Option<NodeFiles>),
) {
    let size = u32::try_from(processes.len()).unwrap();
    let setup = Setup {
        checkpointing: Some(checkpointing(1)),
        ..cluster.setup(size, shape, None)
    };
    let slowed = |program| Slowed {
        program,
        stop,
        until,
        folder: folder.path().to_str().unwrap().to_owned(),
    };
    let programs: Vec<_> = processes.into_iter().map(slowed).collect();
    cluster.prepare(&setup, programs);
    let ended = hosts::run(
        cluster.identity(Role::Client, "tester"),
        &request(cluster, &setup, (folder, files)),
        ProgramType::new::<Slowed<P>>(),
        &mut |event: &Event| stopping(stop, event),
        std::future::pending(),
    );
    // The run may end before the client knows of the checkpoint.
    if let Err(error) = ended {
        assert_eq!(error.message, "enough");
    }
    assert!(Some(stop) <= newest(folder.path().to_str().unwrap()));
}

/// What the newest checkpoint in `folder` says of a job that resumes it.
fn latest(folder: &TempDir) -> (Store<DiskFiles>, checkpoint::Latest) {
    let mut store = Store::new(DiskFiles::new(folder.path()), HostId(0));
    let latest = store.latest().unwrap();
    assert_eq!(latest.damaged, []);
    (store, latest)
}

/// Resumes the newest checkpoint of a job of `P`, in `folder`, on `cluster`, and goes on with checkpoints there. Returns how
/// it began, too.
fn resume<P: Program>(
    cluster: &Cluster,
    how: (Shape, Option<Scheduler>),
    folder: &TempDir,
    observer: &mut dyn FnMut(&Event) -> Result<(), JobError>,
) -> (Resumed, Result<Outcome, JobError>) {
    resume_with::<P>(cluster, how, (folder, None), observer)
}

/// The same, whose nodes write files if there are `files`.
pub(crate) fn resume_with<P: Program>(
    cluster: &Cluster,
    (shape, scheduler): (Shape, Option<Scheduler>),
    (folder, files): (&TempDir, Option<NodeFiles>),
    observer: &mut dyn FnMut(&Event) -> Result<(), JobError>,
) -> (Resumed, Result<Outcome, JobError>) {
    let (store, latest) = latest(folder);
    let resumed = latest.resumed().unwrap();
    let heads = latest.checkpoint.heads();
    let work = heads.iter().zip(&resumed.halted);
    let work: Vec<_> = work
        .map(|(head, halted)| halted.is_none().then_some(head.work))
        .collect();
    let size = u32::try_from(work.len()).unwrap();
    let setup = cluster.setup(size, shape, scheduler);
    // Nodes are given the placement by the client, and the states.
    cluster.prepare::<Slowed<P>>(
        &Setup {
            checkpointing: Some(checkpointing(1)),
            ..setup.clone()
        },
        Vec::new(),
    );
    let setup = Setup {
        placement: resumed_placement(&work, &[], &vec![1.0; cluster.members.len()]),
        checkpointing: Some(checkpointing(1)),
        resumed: Some(resumed.clone()),
        ..setup
    };
    let states = SavedStates::new(store, latest.checkpoint);
    let outcome = hosts::resume(
        cluster.identity(Role::Client, "tester"),
        &request(cluster, &setup, (folder, files)),
        (states, ProgramType::new::<Slowed<P>>()),
        &mut |event: &Event| observer(event),
        std::future::pending(),
    );
    (resumed, outcome)
}

/// Calls after every superstep, of which none moves anything that does not pay.
fn calling() -> Scheduler {
    let parameters = model::Parameters {
        interval: 2,
        ..model::Parameters::default()
    };
    Scheduler {
        model: model::Config::new(parameters).unwrap(),
        ..Scheduler::default()
    }
}

/// Saves a job on three hosts, stops it, and resumes it on these, on fewer and on more.
fn check<P: Program>(shape: Shape, stop: u64, processes: impl Fn() -> Vec<P>) {
    let expected = reference::run(processes(), Limit::default()).unwrap();
    let saving = Cluster::start(&[2, 1]);
    let others = [Cluster::start(&[1]), Cluster::start(&[1, 2, 2])];
    for scheduler in [None, Some(calling())] {
        for cluster in [&saving, &others[0], &others[1]] {
            let folder = TempDir::new().unwrap();
            save((&saving, shape), processes(), (stop, stop), &folder);
            let mut begun = Vec::new();
            let mut observer = |event: &Event| {
                if let Event::Superstep(superstep) = event {
                    begun.push(superstep.index);
                }
                Ok(())
            };
            let how = (shape, scheduler.clone());
            let (resumed, outcome) = resume::<P>(cluster, how, &folder, &mut observer);
            let outcome = outcome.unwrap();
            assert!(stop <= resumed.superstep, "{shape:?}");
            assert_eq!(resumed.incarnation, 1);
            let all: Vec<u64> = (resumed.superstep..expected.supersteps).collect();
            assert_eq!(begun, all, "{shape:?}");
            assert_eq!(outcome.end.supersteps, expected.supersteps, "{shape:?}");
            let outputs = outcome.outputs.typed::<Slowed<P>>();
            assert!(bits(&outputs) == bits(&expected.outputs), "{shape:?}");
        }
    }
}

fn bits(outputs: &impl Serialize) -> String {
    serde_json::to_string(outputs).unwrap()
}

const COMMON: Common = Common {
    processes: 5,
    supersteps: Some(60),
    seed: 5,
};

#[test]
fn a_plate_resumes_on_any_hosts() {
    let parameters = heat::Parameters {
        width: 30,
        height: 20,
        ..heat::Parameters::default()
    };
    check(Shape::Hierarchical, 7, || {
        heat::processes(&parameters, COMMON).unwrap()
    });
}

#[test]
fn a_lattice_resumes_on_any_hosts() {
    let parameters = lbm::kernel::Parameters {
        width: 23,
        height: 12,
        ..lbm::kernel::Parameters::default()
    };
    check(Shape::Central, 7, || {
        lbm::kernel::processes(&parameters, COMMON).unwrap()
    });
}

#[test]
fn an_alignment_resumes_on_any_hosts() {
    let parameters = smith_waterman::kernel::Parameters {
        length: 200,
        blocks: Some(40),
        ..smith_waterman::kernel::Parameters::default()
    };
    let pair = parameters.drawn(COMMON.seed).unwrap();
    let common = Common {
        supersteps: None,
        ..COMMON
    };
    check(Shape::Hierarchical, 5, || {
        smith_waterman::kernel::processes(&parameters, &pair, common).unwrap()
    });
}

#[test]
fn a_matrix_resumes_on_any_hosts() {
    let parameters = lu::kernel::Parameters {
        order: 60,
        diagonal: 0.0,
        pivoting: true,
        rows: Some(2),
        ..lu::kernel::Parameters::default()
    };
    let matrix = parameters.drawn(COMMON.seed).unwrap();
    let common = Common {
        supersteps: None,
        processes: 4,
        ..COMMON
    };
    check(Shape::Ideal, 5, || {
        lu::kernel::processes(&parameters, &matrix, common).unwrap()
    });
}

#[test]
fn conjugate_gradients_resume_on_any_hosts() {
    for (shape, stop) in [(Shape::Hierarchical, 8), (Shape::Central, 9)] {
        check(shape, stop, solvers);
    }
}

#[test]
fn processes_that_have_halted_keep_their_outputs() {
    for shape in [Shape::Hierarchical, Shape::Central, Shape::Ideal] {
        // The first process, and all of the second host, have halted.
        check(shape, 20, || leavers(&[3, 90, 9, 9, 70, 80]));
    }
}

#[test]
fn one_process_is_left() {
    check(Shape::Hierarchical, 30, || leavers(&[3, 25, 70]));
}

#[test]
fn a_job_that_resumes_is_resumed() {
    let lasts = [3, 120, 60, 100, 110];
    let expected = reference::run(leavers(&lasts), Limit::default()).unwrap();
    let clusters = [&[3, 1][..], &[1, 1], &[1, 2, 1]].map(Cluster::start);
    for shape in [Shape::Hierarchical, Shape::Central] {
        let folder = TempDir::new().unwrap();
        save((&clusters[0], shape), leavers(&lasts), (11, 90), &folder);
        let mut last = 0;
        for incarnation in 1..4_u64 {
            // It ends with the first checkpoint that it completes.
            let mut observer = |event: &Event| stopping(1, event);
            let cluster = &clusters[usize::try_from(incarnation % 3).unwrap()];
            let how = (shape, Some(calling()));
            let (resumed, ended) = resume::<Leaver>(cluster, how, &folder, &mut observer);
            assert!(last < resumed.superstep, "{incarnation}");
            last = resumed.superstep;
            assert_eq!(resumed.incarnation, incarnation);
            assert_eq!(ended.unwrap_err().message, "enough");
        }
        let how = (shape, None);
        let (resumed, ended) = resume::<Leaver>(&clusters[0], how, &folder, &mut |_| Ok(()));
        assert_eq!(resumed.halted[0], Some(3));
        assert_eq!(
            ended.unwrap().outputs.typed::<Slowed<Leaver>>(),
            expected.outputs
        );
    }
}

#[test]
fn states_that_are_no_pieces_end_the_job_and_leave_the_nodes_free() {
    let cluster = Cluster::start(&[2]);
    let folder = TempDir::new().unwrap();
    let lasts = [50, 60];
    let how = (&cluster, Shape::Hierarchical);
    save(how, leavers(&lasts), (5, 5), &folder);
    // The same checkpoint, as one of another program.
    let how = (Shape::Hierarchical, None);
    let (_, ended) = resume::<heat::Heat>(&cluster, how, &folder, &mut |_| Ok(()));
    let error = ended.unwrap_err().message;
    assert!(error.contains("cannot be decoded"), "{error}");
    // Programs, where pieces are expected, and the other way round.
    let setup = cluster.setup(2, Shape::Hierarchical, None);
    let (store, latest) = latest(&folder);
    let states = SavedStates::new(store, latest.checkpoint);
    let ended = hosts::resume(
        cluster.identity(Role::Client, "tester"),
        &cluster.request(&setup),
        (states, ProgramType::new::<Leaver>()),
        &mut |_: &Event| Ok(()),
        std::future::pending(),
    );
    let error = ended.unwrap_err().message;
    assert_eq!(error, "saved states begin a job that resumes");
    let how = (Shape::Hierarchical, None);
    let (_, ended) = resume::<Leaver>(&cluster, how, &folder, &mut |_| Ok(()));
    let expected = reference::run(leavers(&lasts), Limit::default()).unwrap();
    assert_eq!(
        ended.unwrap().outputs.typed::<Slowed<Leaver>>(),
        expected.outputs
    );
}
