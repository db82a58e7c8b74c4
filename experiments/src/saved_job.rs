//! A job whose checkpoints are on disk, for a run that resumes it.

use std::path::{Path, PathBuf};

use agents::{Resumed, resumed_placement};
use bsp::HostId;
use checkpoint::{Checkpoint, DiskFiles, JobDescription, SavedStates, Store};
use machines::client::Request;
use protocol::Member;
use record::ResumedRun;

use crate::failure::Failure;
use crate::loaded::{Loaded, load_text_for_cluster};
use crate::prepared::PreparedExperiment;
use crate::registry::Registry;
use crate::submission;

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
            let help = "name the folder that `run --checkpoint` wrote to";
            Failure::input(format!("{none}\n  help: {help}"))
        })?;
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
        check_workload(folder, &description.workload, registry)?;
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

    /// The request to go on with the job on `members`, and its experiment there. Checkpoints go on in the same
    /// folder.
    ///
    /// # Errors
    ///
    /// If the experiment cannot be run there.
    pub fn request(
        &self,
        members: &[Member],
        registry: &Registry,
        are_mixed_builds_allowed: bool,
    ) -> Result<(PreparedExperiment, Request), Failure> {
        let heads = self.checkpoint.heads();
        let work = heads.iter().map(|head| head.work).zip(&self.resumed.halted);
        let work: Vec<_> = work
            .map(|(work, halted)| halted.is_none().then_some(work))
            .collect();
        let capacities: Vec<f64> = members
            .iter()
            .map(|member| member.speed * f64::from(member.slots.max(1)))
            .collect();
        let placement = resumed_placement(&work, &capacities);
        let (mut prepared, mut request) = submission::resuming_request(
            &self.loaded,
            // The text itself: jobs share a folder if they have the same.
            &self.checkpoint.job.experiment,
            (members, placement),
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

    /// The experiment, and the states with which the job goes on.
    #[must_use]
    pub fn into_states(self) -> (Loaded, SavedStates) {
        (self.loaded, SavedStates::new(self.store, self.checkpoint))
    }
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
fn check_workload(folder: &Path, workload: &str, registry: &Registry) -> Result<(), Failure> {
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

    use bsp::Rank;
    use bsp::units::Instructions;
    use checkpoint::{Condition, Generation, Piece, PieceHead};
    use protocol::transport::JobId;
    use tempfile::TempDir;

    use super::*;

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
