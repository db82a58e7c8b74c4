//! The checkpoint folder of a job on a node's disk.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use bsp::HostId;
use checkpoint::{DiskFiles, Generation, Piece, Store, WrittenPieces};
use machines::node::event::JobEvent;
use protocol::transport::JobId;
use tokio::sync::mpsc::UnboundedSender;

/// The checkpoint folder of a job. What is written to it is written by other threads, one after the other.
#[derive(Clone)]
pub(crate) struct CheckpointFolder {
    job: JobId,
    processes: u32,
    store: Arc<Mutex<Store<DiskFiles>>>,
    events: UnboundedSender<JobEvent>,
}

impl CheckpointFolder {
    /// The folder of `job` in `files`, to which the node of `own` writes; `events` receives what follows.
    pub(crate) fn new(
        files: DiskFiles,
        (job, processes): (JobId, u32),
        own: HostId,
        events: &UnboundedSender<JobEvent>,
    ) -> Self {
        let store = Store::new(files, own);
        Self {
            job,
            processes,
            store: Arc::new(Mutex::new(store)),
            events: events.clone(),
        }
    }

    /// Writes the pieces of this node.
    pub(crate) fn write(&self, generation: Generation, pieces: Vec<Piece>) {
        self.work(move |store, job, _| {
            let written = store.write_pieces(job, generation, &pieces);
            let written = written.map_err(|error| error.to_string());
            JobEvent::Written(generation.superstep, written)
        });
    }

    /// Completes a checkpoint, and removes those before it.
    pub(crate) fn finish(&self, generation: Generation, files: BTreeMap<HostId, WrittenPieces>) {
        self.work(move |store, job, processes| {
            let finished = store.complete(job, generation, processes, &files);
            let finished = finished.map_err(|error| error.to_string());
            if finished.is_ok()
                && let Err(error) = store.prune(generation)
            {
                tracing::warn!("older checkpoints stay: {error}");
            }
            JobEvent::CheckpointFinished(generation.superstep, finished)
        });
    }

    fn work(
        &self,
        work: impl FnOnce(&mut Store<DiskFiles>, JobId, u32) -> JobEvent + Send + 'static,
    ) {
        let this = self.clone();
        drop(tokio::task::spawn_blocking(move || {
            let mut store = this.store.lock().unwrap_or_else(PoisonError::into_inner);
            let event = work(&mut store, this.job, this.processes);
            // The job may be over.
            drop(this.events.send(event));
        }));
    }
}
