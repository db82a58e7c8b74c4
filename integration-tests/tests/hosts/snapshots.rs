//! Snapshots and outputs in files of nodes are those of the reference runner, wherever processes are and wherever a run goes on.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use agents::{ProgramType, Programs, Setup, Shape};
use bsp::reference::{self, Limit};
use bsp::{BoxError, HostId, Program, Rank, Step, Superstep, Threads};
use machines::JobError;
use machines::client::Request;
use protocol::identity::Role;
use protocol::transport::JobId;
use protocol::{JobFolder, NodeFiles};
use record::Event;
use serde::{Deserialize, Serialize};
use simulated::simulate;
use tempfile::TempDir;

use crate::cluster::{Cluster, moving};
use crate::resuming::{resume_with, save_with};

/// Adds up what it receives, and writes it in each superstep, and other values in some.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Writing {
    halts: u64,
    sum: u64,
}

impl Program for Writing {
    type Message = u64;
    type Output = (u64, u64);

    fn superstep(&mut self, ctx: &mut Superstep<'_, u64>) -> Result<Step<(u64, u64)>, BoxError> {
        let (index, rank) = (ctx.index(), u64::from(ctx.rank().0));
        self.sum += ctx.receive().map(|(_, value)| value).sum::<u64>() + rank;
        ctx.snapshot("sum", &(index, self.sum))?;
        if index % 3 == rank % 3 {
            ctx.snapshot_bytes("raw", vec![u8::try_from(index)?; 1 + ctx.rank().index()])?;
        }
        if index == self.halts {
            return Ok(Step::Halt((index, self.sum)));
        }
        ctx.send(Rank((ctx.rank().0 + 1) % ctx.size()), self.sum % 1000);
        Ok(Step::Continue)
    }

    bsp::fork_by_clone!();
}

fn programs() -> Vec<Writing> {
    let writing = |rank: u64| Writing {
        halts: 15,
        sum: rank,
    };
    (0..5).map(writing).collect()
}

/// A folder of a job in the folder of all nodes, which are on this machine. It is removed in the end.
struct Kept(NodeFiles);

impl Kept {
    fn new(outputs: bool) -> Self {
        let job = JobFolder(JobId::random().0.get());
        Self(NodeFiles { job, outputs })
    }

    fn path(&self) -> PathBuf {
        std::env::temp_dir().join(self.0.job.to_string())
    }

    fn request(&self, cluster: &Cluster, setup: &Setup) -> Request {
        Request {
            files: Some(self.0),
            ..cluster.request(setup)
        }
    }

    /// The contents of all files in `folder` of the job, by their path there.
    fn files(&self, folder: &str) -> BTreeMap<String, Vec<u8>> {
        let mut files = BTreeMap::new();
        add_files(&self.path().join(folder), folder, &mut files);
        files
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        // A job that has failed has made none.
        drop(fs::remove_dir_all(self.path()));
    }
}

fn add_files(folder: &Path, name: &str, files: &mut BTreeMap<String, Vec<u8>>) {
    for entry in fs::read_dir(folder).into_iter().flatten() {
        let path = entry.unwrap().path();
        let name = format!("{name}/{}", path.file_name().unwrap().to_str().unwrap());
        if path.is_dir() {
            add_files(&path, &name, files);
        } else {
            files.insert(name, fs::read(path).unwrap());
        }
    }
}

/// The contents of snapshots, by their paths.
fn contents<'a>(
    snapshots: impl IntoIterator<Item = &'a bsp::Snapshot>,
) -> BTreeMap<String, Vec<u8>> {
    let named = snapshots.into_iter().map(|taken| {
        let path = bsp::Snapshot::path(&taken.name, taken.superstep, taken.rank, taken.encoding);
        (path, taken.contents.to_vec())
    });
    named.collect()
}

/// What a record says of files, which it may say once of each: length and digest by path, and the host.
fn listed<'a>(
    events: impl IntoIterator<Item = &'a Event>,
) -> BTreeMap<String, (HostId, u64, [u8; 32])> {
    let mut listed = BTreeMap::new();
    for event in events {
        if let Event::Snapshot(snapshot) = event {
            let said = (snapshot.host, snapshot.bytes.0, snapshot.sha256.0);
            let before = listed.insert(snapshot.path(), said);
            assert_eq!(before, None, "{snapshot:?}");
        }
    }
    listed
}

/// Checks that files are listed as they are.
fn check_listed(
    listed: &BTreeMap<String, (HostId, u64, [u8; 32])>,
    files: &BTreeMap<String, Vec<u8>>,
) {
    assert_eq!(
        listed.keys().collect::<Vec<_>>(),
        files.keys().collect::<Vec<_>>()
    );
    for (path, contents) in files {
        let (_, length, digest) = listed[path];
        assert_eq!(length, contents.len() as u64, "{path}");
        let simulated = record::Sha256Digest(digest).to_string();
        assert_eq!(simulated, digest_of(contents), "{path}");
    }
}

fn digest_of(contents: &[u8]) -> String {
    use sha2::{Digest, Sha256};
    record::Sha256Digest(Sha256::digest(contents).into()).to_string()
}

#[test]
fn files_on_nodes_are_those_of_the_reference_and_of_a_simulation() {
    let cluster = Cluster::start(&[2, 1]);
    let expected = reference::run(programs(), Limit::default()).unwrap();
    let written = contents(&expected.snapshots);
    assert_eq!(written.len(), 16 * 5 + 27);
    let threads = Threads::available().run(programs(), Limit::default());
    assert_eq!(threads.unwrap().snapshots, expected.snapshots);
    for shape in [Shape::Central, Shape::Hierarchical] {
        let setup = cluster.setup(5, shape, None);
        let setup = Setup {
            scheduler: Some(moving(
                &setup.placement,
                [(3, vec![(0, 1), (4, 1)]), (7, vec![(0, 0)])],
            )),
            ..setup
        };
        let kept = Kept::new(true);
        cluster.prepare(&setup, programs());
        let mut events = Vec::new();
        let mut observer = |event: &Event| {
            events.push(event.clone());
            Ok(())
        };
        let finished = hosts::run(
            cluster.identity(Role::Client, "tester"),
            &kept.request(&cluster, &setup),
            ProgramType::new::<Writing>(),
            &mut observer,
            std::future::pending(),
        );
        let finished = finished.unwrap();
        assert_eq!(kept.files("snapshots"), written, "{shape:?}");
        let live = listed(&events);
        check_listed(&live, &written);
        // A file is where its process was in its superstep.
        let home = setup.placement[0];
        let next = HostId((home.0 + 1) % 3);
        for (superstep, host) in [
            (0, home),
            (2, home),
            (3, next),
            (6, next),
            (7, home),
            (15, home),
        ] {
            let path = format!("snapshots/sum/{superstep}/p1.msgpack");
            assert_eq!(live[&path].0, host, "{path}");
        }
        // They are recorded with their superstep.
        let mut over = 0;
        for event in &events {
            match event {
                Event::Superstep(superstep) => over = superstep.index + 1,
                Event::Snapshot(snapshot) => assert!(snapshot.superstep <= over),
                _ => {}
            }
        }
        let outputs = finished.outputs.files().unwrap();
        let all = kept.files("outputs");
        assert_eq!((outputs.files.len(), all.len()), (5, 5));
        for (file, output) in outputs.files.iter().zip(&expected.outputs) {
            let contents = &all[&JobFolder::output(file.rank)];
            assert_eq!(*contents, rmp_serde::to_vec(output).unwrap());
            let digest = record::Sha256Digest(file.sha256).to_string();
            assert_eq!(digest, digest_of(contents));
        }
        let mut simulated = Vec::new();
        let outcome = simulate(&setup, Programs::new(programs()), &mut |event: &Event| {
            simulated.push(event.clone());
        });
        outcome.unwrap();
        assert_eq!(listed(&simulated), live, "{shape:?}");
        for event in &simulated {
            if let Event::Snapshot(snapshot) = event {
                let contents = snapshot.contents.as_ref().unwrap();
                assert_eq!(contents[..], written[&snapshot.path()]);
            }
        }
    }
}

#[test]
fn snapshots_are_dropped_where_no_files_are_wanted() {
    let cluster = Cluster::start(&[1]);
    let setup = cluster.setup(5, Shape::Hierarchical, None);
    let (finished, events) = cluster.run(&setup, programs()).unwrap();
    assert!(listed(&events).is_empty());
    assert_eq!(finished.outputs.typed::<Writing>().len(), 5);
}

#[test]
fn a_run_that_goes_on_replaces_files_by_equal_ones_and_lists_each_once() {
    let expected = reference::run(programs(), Limit::default()).unwrap();
    let written = contents(&expected.snapshots);
    let saving = Cluster::start(&[2, 1]);
    for going_on in [&saving, &Cluster::start(&[1])] {
        let (folder, kept) = (TempDir::new().unwrap(), Kept::new(true));
        let how = (&saving, Shape::Hierarchical);
        save_with(how, programs(), (4, 4), (&folder, Some(kept.0)));
        // Supersteps from the checkpoint on have been executed in part, and are executed again.
        assert!(kept.files("snapshots").len() < written.len());
        let mut events = Vec::new();
        let mut observer = |event: &Event| {
            events.push(event.clone());
            Ok::<(), JobError>(())
        };
        let how = (Shape::Hierarchical, None);
        let places = (&folder, Some(kept.0));
        let (resumed, outcome) = resume_with::<Writing>(going_on, how, places, &mut observer);
        let outputs = outcome.unwrap().outputs;
        assert_eq!(kept.files("snapshots"), written);
        let of_run = |path: &&String| {
            let superstep: u64 = path.split('/').nth(2).unwrap().parse().unwrap();
            resumed.superstep <= superstep
        };
        let all = written.keys().filter(of_run);
        assert_eq!(
            listed(&events).keys().collect::<Vec<_>>(),
            all.collect::<Vec<_>>()
        );
        assert_eq!(outputs.files().unwrap().files.len(), 5);
        assert_eq!(kept.files("outputs").len(), 5);
    }
}

/// It names a snapshot wrongly.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Misnaming;

impl Program for Misnaming {
    type Message = ();
    type Output = ();

    fn superstep(&mut self, ctx: &mut Superstep<'_, ()>) -> Result<Step<()>, BoxError> {
        ctx.snapshot("../outside", &1)?;
        Ok(Step::Halt(()))
    }
}

#[test]
fn a_snapshot_that_may_not_be_taken_is_an_error_of_the_program_in_every_runner() {
    let cluster = Cluster::start(&[1]);
    let setup = cluster.setup(1, Shape::Hierarchical, None);
    let alone = reference::run(vec![Misnaming], Limit::default()).unwrap_err();
    let live = cluster.run(&setup, vec![Misnaming]).unwrap_err();
    assert_eq!(live.message, format!("n0: {alone}"));
    let begin = "n0: p1 failed in superstep 0: a snapshot cannot be named \"../outside\"";
    assert!(live.message.starts_with(begin), "{live}");
}
