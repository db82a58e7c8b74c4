//! The log has a bounded number of lines about refused peers.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use protocol::identity::Role;
use protocol::transport::{Bounds, Counters};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

use crate::transport::raw_peer::RawPeer;
use crate::transport::{any_role, authority, counted, days, endpoint, name};

/// The messages of all events.
#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<String>>>);

/// The message and the fields of one event.
struct Line(String);

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        self.0 += &format!("{field}={value:?} ");
    }
}

impl Subscriber for Lines {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with("protocol")
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut line = Line(String::new());
        event.record(&mut line);
        self.0.lock().unwrap().push(line.0);
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

#[tokio::test]
async fn refused_connections_are_counted_and_not_all_logged() {
    let lines = Lines::default();
    let _logging = tracing::subscriber::set_default(lines.clone());
    let here = endpoint(Role::Node, "n1", any_role(), Bounds::default());
    let stranger = authority().issue(Role::Node, &name("n2"), days(1)).unwrap();
    let stranger = RawPeer::of(&stranger).client();
    let address = here.address().unwrap();
    for _ in 0..40 {
        let connection = stranger.connect(address, "n1").unwrap().await;
        if let Ok(connection) = connection {
            drop(connection.closed().await);
        }
    }
    let failed = Counters {
        handshakes_failed: 40,
        ..Counters::default()
    };
    counted(&here, failed).await;
    let summary = || {
        let lines = lines.0.lock().unwrap();
        let summary = lines
            .iter()
            .find(|line| line.contains("more refused connections"));
        summary.cloned()
    };
    let written = async {
        while summary().is_none() {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    assert!(
        tokio::time::timeout(Duration::from_secs(60), written)
            .await
            .is_ok()
    );
    let summary = summary().unwrap();
    assert!(
        summary.contains("more refused connections in 10 s"),
        "{summary}"
    );
    let lines = lines.0.lock().unwrap();
    let refused = lines
        .iter()
        .filter(|line| line.contains("refused a connection"));
    // A slow machine may need two periods.
    assert!(refused.count() <= 20);
}
