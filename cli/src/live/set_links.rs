//! The links between the Sets of a local cluster, and the relay that carries them.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use bsp::SetId;
use experiments::Failure;
use protocol::Member;
use relay::{LevelSchedule, LinkSettings, Relay, RelayError};
use tokio::sync::oneshot;
use tokio::task::JoinSet;

/// The link in each direction between any two Sets, and its levels.
#[derive(Debug)]
pub(crate) struct SetLinks(BTreeMap<(SetId, SetId), (LinkSettings, LevelSchedule)>);

/// A relay that runs on a thread of its own; it ends when this is dropped.
#[derive(Debug)]
pub(crate) struct RunningRelay {
    leave: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
    failure: Arc<Mutex<Option<RelayError>>>,
}

impl SetLinks {
    /// These links: one for each ordered pair of Sets.
    pub(crate) const fn new(
        links: BTreeMap<(SetId, SetId), (LinkSettings, LevelSchedule)>,
    ) -> Self {
        Self(links)
    }

    /// Equal links, whose levels change together, between that many Sets.
    pub(crate) fn alike(sets: u32, settings: LinkSettings, levels: &LevelSchedule) -> Self {
        let pairs = (0..sets).flat_map(|from| (0..sets).map(move |to| (SetId(from), SetId(to))));
        let link = |pair| (pair, (settings, levels.clone()));
        Self(pairs.filter(|(from, to)| from != to).map(link).collect())
    }

    /// The same links with other levels, which change together.
    pub(crate) fn with_levels(mut self, levels: &LevelSchedule) -> Self {
        for (_, of_link) in self.0.values_mut() {
            of_link.clone_from(levels);
        }
        self
    }

    /// A relay with these links between the Sets of `members`, whose addresses are not needed yet.
    ///
    /// # Errors
    ///
    /// If the system refuses it.
    pub(crate) fn bind(&self, members: &[Member]) -> Result<Relay, Failure> {
        let mut names: Vec<&str> = Vec::new();
        let mut sets = Vec::new();
        for member in members {
            let known = names.iter().position(|name| *name == member.set);
            sets.push(SetId::from_index(known.unwrap_or(names.len())));
            if known.is_none() {
                names.push(&member.set);
            }
        }
        let settings = |from, to| self.0[&(from, to)].0;
        Relay::bind(&sets, settings).map_err(Failure::run)
    }

    /// Lets `relay` forward between `nodes`.
    ///
    /// # Errors
    ///
    /// If the system refuses a thread.
    pub(crate) fn run(self, relay: Relay, nodes: Vec<SocketAddr>) -> Result<RunningRelay, Failure> {
        let (leave, left) = oneshot::channel::<()>();
        let failure = Arc::new(Mutex::new(None));
        let failed = Arc::clone(&failure);
        let running = move || {
            if let Err(error) = self.forward(relay, nodes, left) {
                *failed.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
            }
        };
        let thread = thread::Builder::new()
            .name("relay".to_owned())
            .spawn(running);
        Ok(RunningRelay {
            leave: Some(leave),
            thread: Some(thread.map_err(Failure::run)?),
            failure,
        })
    }

    /// Forwards until `left` ends.
    fn forward(
        self,
        relay: Relay,
        nodes: Vec<SocketAddr>,
        left: oneshot::Receiver<()>,
    ) -> Result<(), RelayError> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        runtime.map_err(RelayError::Socket)?.block_on(async {
            // They end with this.
            let mut followed = JoinSet::new();
            for (pair, (_, levels)) in self.0 {
                let controls = relay.controls();
                drop(followed.spawn(async move { controls.follow(pair, &levels).await }));
            }
            tokio::select! {
                biased;
                _ = left => Ok(()),
                ended = relay.run(nodes) => ended.map(|never: Infallible| match never {}),
            }
        })
    }
}

impl RunningRelay {
    /// Why it has ended, if it has.
    pub(crate) fn failure(&self) -> Option<String> {
        let failure = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
        failure
            .as_ref()
            .map(|error| format!("the link between the Sets has failed: {error}"))
    }
}

impl Drop for RunningRelay {
    fn drop(&mut self) {
        drop(self.leave.take());
        if let Some(thread) = self.thread.take() {
            // It has no result.
            drop(thread.join());
        }
    }
}
