use std::sync::Arc;
use std::time::Duration;

use protocol::identity::files::RevocationsFile;
use protocol::transport::Endpoint;

/// Gives `endpoint` the list of revocations in `file` whenever it changes. A list that is invalid, is older than the one in
/// force, or is no longer there, leaves that one in force.
pub(super) async fn follow(endpoint: Arc<Endpoint>, mut file: RevocationsFile) {
    loop {
        tokio::time::sleep(PERIOD).await;
        let endpoint = Arc::clone(&endpoint);
        // Files may be on another machine.
        let reading = tokio::task::spawn_blocking(move || {
            read(&endpoint, &mut file);
            file
        });
        let Ok(read) = reading.await else {
            return;
        };
        file = read;
    }
}

/// Reads the file if it has changed.
fn read(endpoint: &Endpoint, file: &mut RevocationsFile) {
    let revocations = match file.changed() {
        Ok(None) => return,
        Ok(Some(revocations)) => revocations,
        Err(error) => {
            tracing::warn!(%error, "kept the earlier list of revocations");
            return;
        }
    };
    let path = file.path().display().to_string();
    let certificates = revocations.serials().len();
    if let Err(error) = endpoint.set_revocations(revocations.clone()) {
        tracing::warn!(path, %error, "kept the earlier list of revocations");
        return;
    }
    tracing::info!(path, certificates, "read the list of revocations");
    if let Err(error) = file.keep(&revocations) {
        tracing::warn!(%error, "an older list would have effect after a restart");
    }
}

/// The time between two looks at the file.
const PERIOD: Duration = Duration::from_secs(2);
