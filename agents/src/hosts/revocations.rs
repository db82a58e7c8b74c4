use std::sync::Arc;
use std::time::Duration;

use protocol::identity::files::RevocationsFile;
use protocol::transport::Endpoint;

/// Gives `endpoint` the list of revocations in `file` whenever it changes. A list that is invalid, or is no longer
/// there, leaves the list before in force.
pub(super) async fn follow(endpoint: Arc<Endpoint>, mut file: RevocationsFile) {
    loop {
        tokio::time::sleep(PERIOD).await;
        // Files may be on another machine.
        let reading = tokio::task::spawn_blocking(move || (file.changed(), file));
        let Ok((changed, read)) = reading.await else {
            return;
        };
        file = read;
        let path = file.path().display().to_string();
        match changed {
            Ok(None) => {}
            Ok(Some(revocations)) => {
                let certificates = revocations.serials().len();
                match endpoint.set_revocations(revocations) {
                    Ok(()) => tracing::info!(path, certificates, "read the list of revocations"),
                    Err(error) => {
                        tracing::warn!(path, %error, "kept the earlier list of revocations");
                    }
                }
            }
            Err(error) => tracing::warn!(%error, "kept the earlier list of revocations"),
        }
    }
}

/// The time between two looks at the file.
const PERIOD: Duration = Duration::from_secs(2);
