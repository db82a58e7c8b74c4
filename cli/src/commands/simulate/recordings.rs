//! The records of simulations that go on, which a signal ends.

use std::io::{self, Write as _};
use std::path::PathBuf;
use std::process;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use experiments::record::RecordedFailure;
use experiments::{Failure, Recorder, RunReport};
use record::Event;

use crate::signals::TerminationSignal;

/// The records of simulations that go on.
#[derive(Debug, Default)]
pub(super) struct Recordings {
    all: Mutex<Vec<Arc<Mutex<Option<Recorder>>>>>,
}

/// The record of one simulation, if one is wanted.
#[derive(Debug, Default)]
pub(super) struct Recording {
    recorder: Option<Arc<Mutex<Option<Recorder>>>>,
}

impl Recordings {
    /// None yet. From now on a signal ends the process, and these records with what they have.
    pub(super) fn ended_by_signals() -> Arc<Self> {
        let recordings = Arc::new(Self::default());
        let ended = Arc::clone(&recordings);
        // Without the thread, the system ends the process.
        drop(
            thread::Builder::new()
                .name("interrupt".to_owned())
                .spawn(move || {
                    let termination = TerminationSignal::default();
                    let Ok(runtime) = tokio::runtime::Builder::new_current_thread().build() else {
                        return;
                    };
                    runtime.block_on(termination.clone().received());
                    let signal = termination.number().unwrap_or_default();
                    let records = ended.end(signal);
                    let names: Vec<String> = records
                        .iter()
                        .map(|record| record.display().to_string())
                        .collect();
                    let kept = match &names[..] {
                        [] => String::new(),
                        names => format!(": what was complete is in {}", names.join(", ")),
                    };
                    drop(writeln!(io::stderr(), "error: interrupted{kept}"));
                    process::exit(128_i32.saturating_add(signal.into()));
                }),
        );
        recordings
    }

    /// The record that `recorder` keeps.
    pub(super) fn begin(&self, recorder: Recorder) -> Recording {
        let recorder = Arc::new(Mutex::new(Some(recorder)));
        lock(&self.all).push(Arc::clone(&recorder));
        Recording {
            recorder: Some(recorder),
        }
    }

    /// Ends all records that have begun, because the process received `signal`. Returns their folders.
    fn end(&self, signal: u8) -> Vec<PathBuf> {
        let failure = RecordedFailure::interrupted(signal);
        let mut folders = Vec::new();
        for recording in &*lock(&self.all) {
            // Nothing is recorded after the end.
            let recorder = lock(recording).take();
            if let Some(recorder) = recorder.filter(Recorder::has_begun) {
                let folder = recorder.folder().to_owned();
                if recorder.fail(&failure).is_ok() {
                    folders.push(folder);
                }
            }
        }
        folders
    }
}

impl Recording {
    /// Handles an event.
    pub(super) fn observe(&mut self, event: &Event) {
        if let Some(recorder) = &self.recorder
            && let Some(recorder) = &mut *lock(recorder)
        {
            recorder.observe(event);
        }
    }

    /// Completes the record of a run that has ended.
    ///
    /// # Errors
    ///
    /// If the disk does not take it.
    pub(super) fn finish(self, report: &RunReport) -> Result<(), Failure> {
        let recorder = self.take();
        recorder.map_or(Ok(()), |recorder| recorder.finish(report))
    }

    /// Ends the record of a run that has failed.
    pub(super) fn fail(self, failure: &Failure) {
        let recorder = self.take();
        let written = recorder.map(|recorder| recorder.fail(&failure.into()));
        if let Some(Err(error)) = written {
            // The failure itself is what the command reports.
            tracing::warn!("the record does not say why the run failed: {error}");
        }
    }

    fn take(self) -> Option<Recorder> {
        let recorder = self.recorder?;
        lock(&recorder).take()
    }
}

/// A thread that panics ends the command.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
