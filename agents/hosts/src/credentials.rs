//! What an endpoint reads again while it runs: its own certificate and key, and the list of revocations.
//!
//! A node or client looks at its files every 2 s, with each of its endpoints. What is invalid, older or no longer there leaves in force what is, with one
//! warning in the log.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use protocol::identity::files::{IdentityFiles, RevocationsFile, Stamps};
use protocol::identity::{date, ending};
use protocol::transport::Endpoint;
use tokio::sync::Notify;
use tracing::Span;

/// Whose endpoint follows files.
pub(crate) enum Follower {
    /// That of a node or of a client, which logs what it reads, and looks at its files when this says so, too.
    Own(Arc<Notify>),
    /// Another one of a node, whose own one logs what both read.
    Beside,
}

/// Gives `endpoint` what is in the files of its identity whenever they change, if it is of files.
pub(crate) fn follow(endpoint: &Arc<Endpoint>, follower: Follower) {
    let identity = endpoint.identity();
    let Some(folder) = identity.folder() else {
        return;
    };
    let (reload, logs) = match follower {
        Follower::Own(reload) => (reload, true),
        Follower::Beside => (Arc::default(), false),
    };
    let mut files = Files {
        endpoint: Arc::clone(endpoint),
        identity: IdentityFiles::new(folder.to_owned(), endpoint.subject().name.clone()),
        revocations: RevocationsFile::new(folder.to_owned()),
        failed: (None, 0),
        logs,
    };
    // Lines of the log say whose they are on other threads, too.
    let span = Span::current();
    drop(tokio::spawn(async move {
        loop {
            // Either is reason enough.
            drop(tokio::time::timeout(PERIOD, reload.notified()).await);
            // Files may be on another machine.
            let inside = span.clone();
            let reading = tokio::task::spawn_blocking(move || {
                let _inside = inside.entered();
                files.read_revocations();
                files.read_identity();
                files
            });
            let Ok(read) = reading.await else {
                return;
            };
            files = read;
        }
    }));
}

/// Warns once a day, beginning now, while the certificate of `endpoint` ends soon.
pub(crate) fn warn_daily(endpoint: &Arc<Endpoint>) {
    let endpoint = Arc::clone(endpoint);
    drop(tokio::spawn(async move {
        loop {
            let identity = endpoint.identity();
            let certificate = identity.certificate();
            let own = [(&certificate.subject.name, certificate.validity)];
            if let Some(ending) = ending(own, SystemTime::now()) {
                tracing::warn!("{ending}");
            }
            tokio::time::sleep(DAY).await;
        }
    }));
}

/// The files of an endpoint.
struct Files {
    endpoint: Arc<Endpoint>,
    identity: IdentityFiles,
    revocations: RevocationsFile,
    /// The files of the identity that could not be used at the last looks, and at how many.
    failed: (Option<Stamps>, u32),
    /// Whether it logs what it reads.
    logs: bool,
}

impl Files {
    /// Reads the certificate and the key if they have changed.
    ///
    /// One is replaced after the other, so the first look may find files that do not belong together.
    fn read_identity(&mut self) {
        let path = self.identity.path().display().to_string();
        let (stamps, problem) = match self.identity.changed() {
            Ok(None) => {
                self.failed = (None, 0);
                return;
            }
            Ok(Some((identity, stamps))) => {
                let until = date(identity.certificate().validity.until());
                let is_new = identity.certificate() != self.endpoint.identity().certificate();
                match self.endpoint.set_identity(identity, SystemTime::now()) {
                    Ok(()) => {
                        self.identity.used(stamps);
                        if is_new && self.logs {
                            tracing::info!(path, until, "read the new certificate");
                        }
                        return;
                    }
                    Err(error) => (Some(stamps), format!("{path}: {error}")),
                }
            }
            Err(error) => (None, error.to_string()),
        };
        let looks = if self.failed.0 == stamps {
            self.failed.1.saturating_add(1)
        } else {
            1
        };
        self.failed = (stamps, looks);
        if looks == 2 && self.logs {
            tracing::warn!("kept the certificate in use: {problem}");
        }
    }

    /// Reads the list of revocations if it has changed.
    fn read_revocations(&mut self) {
        let revocations = match self.revocations.changed() {
            Ok(None) => return,
            Ok(Some(revocations)) => revocations,
            Err(error) => {
                if self.logs {
                    tracing::warn!(%error, "kept the earlier list of revocations");
                }
                return;
            }
        };
        let path = self.revocations.path().display().to_string();
        let certificates = revocations.serials().len();
        if let Err(error) = self.endpoint.set_revocations(revocations.clone()) {
            if self.logs {
                tracing::warn!(path, %error, "kept the earlier list of revocations");
            }
            return;
        }
        if !self.logs {
            return;
        }
        tracing::info!(path, certificates, "read the list of revocations");
        if let Err(error) = self.revocations.keep(&revocations) {
            tracing::warn!(%error, "an older list would have effect after a restart");
        }
    }
}

/// The time between two looks at the files.
const PERIOD: Duration = Duration::from_secs(2);
const DAY: Duration = Duration::from_secs(24 * 3600);
