//! All that sees the events of a run.

use std::time::{Duration, Instant};

use hosts::{JobObserver, TransferProgress};
use machines::JobError;
use record::Event;

use crate::dashboard::Dashboard;
use crate::live::checkpoints::DiskWatch;
use crate::progress::Progress;
use analysis::live::Watch;
use analysis::report::LiveRun;
use experiments::record::RecordedFailure;
use experiments::{Failure, Recorder, RunReport};

/// All that sees the events of a run.
pub(super) struct RunObservers<'a> {
    pub(super) progress: Progress,
    pub(super) watch: Watch,
    pub(super) disk: DiskWatch,
    pub(super) recorder: Option<FlushedRecorder>,
    pub(super) dashboard: Option<&'a Dashboard<LiveRun>>,
    /// It sees each event after all else has.
    pub(super) spectator: &'a mut dyn FnMut(&Event),
}

impl JobObserver for RunObservers<'_> {
    /// Fails if the record is not written any more: a run without its record is of no use.
    fn observe(&mut self, event: &Event) -> Result<(), JobError> {
        self.progress.observe(event);
        self.watch.observe(event);
        self.disk.observe(event);
        if let Some(recorder) = &mut self.recorder {
            recorder.observe(event)?;
        }
        if let Some(dashboard) = self.dashboard {
            dashboard.observe(event);
        }
        (self.spectator)(event);
        Ok(())
    }

    fn transferred(&mut self, progress: TransferProgress) {
        self.progress.transferred(progress);
    }
}

/// A record that is on disk within a second.
#[derive(Debug)]
pub(super) struct FlushedRecorder {
    recorder: Recorder,
    flushed: Instant,
}

impl FlushedRecorder {
    pub(super) fn new(recorder: Recorder) -> Self {
        Self {
            recorder,
            flushed: Instant::now(),
        }
    }

    fn observe(&mut self, event: &Event) -> Result<(), JobError> {
        self.recorder.observe(event);
        if FLUSHING < self.flushed.elapsed() {
            self.recorder.flush();
            self.flushed = Instant::now();
        }
        match self.recorder.lost() {
            Some(problem) => Err(JobError::program(problem)),
            None => Ok(()),
        }
    }

    /// Ends the record of a run that has failed.
    pub(super) fn fail(self, failure: &RecordedFailure) {
        if let Err(error) = self.recorder.fail(failure) {
            // The failure itself is what the command reports.
            tracing::warn!("the record does not say why the run failed: {error}");
        }
    }

    /// Completes the record at the end of the run.
    ///
    /// # Errors
    ///
    /// If the disk does not take the rest, or the run has not ended.
    pub(super) fn finish(self, report: &RunReport) -> Result<(), Failure> {
        self.recorder.finish(report)
    }
}

/// Time that the record may lag behind the run.
const FLUSHING: Duration = Duration::from_secs(1);
