//! Supersteps that are still executed after the end of their job.
//!
//! A thread in a superstep cannot be stopped.

use std::time::{Duration, Instant};

use machines::time::seconds;
use protocol::Abandoned;
use tokio::sync::Notify;

use super::execution::Executions;

/// Supersteps that are still executed after the end of their job. While there is one, its node accepts no job: the
/// thread would take a processor from it.
#[derive(Debug)]
pub(super) struct AbandonedSupersteps {
    executions: Executions,
    /// How long one may go on; `None`: for ever.
    limit: Option<Duration>,
    /// Notified when one has gone on for longer.
    is_stuck: Notify,
}

impl AbandonedSupersteps {
    pub(super) fn new(executions: &Executions, limit: Option<Duration>) -> Self {
        Self {
            executions: executions.clone(),
            limit,
            is_stuck: Notify::new(),
        }
    }

    /// The oldest, if no job runs.
    pub(super) fn status(&self) -> Option<Abandoned> {
        let execution = self.executions.oldest()?;
        Some(Abandoned {
            rank: execution.rank,
            superstep: execution.superstep,
            since: seconds(execution.age),
        })
    }

    /// Waits until there is none, or until `is_idle` says that a job runs again. What takes long is in the log.
    pub(super) async fn ended(&self, is_idle: impl Fn() -> bool) {
        let began = Instant::now();
        let mut is_logged = false;
        while is_idle()
            && let Some(execution) = self.executions.oldest()
        {
            if !is_logged && PATIENCE <= began.elapsed() {
                let (process, superstep) = (execution.rank, execution.superstep);
                tracing::warn!(%process, superstep, "{LONG}");
                is_logged = true;
            }
            if self.limit.is_some_and(|limit| limit <= began.elapsed()) {
                self.is_stuck.notify_one();
                return;
            }
            tokio::time::sleep(POLLING).await;
        }
        if is_logged {
            tracing::info!("the superstep has ended: jobs are accepted again");
        }
    }

    /// Completes when one has gone on for too long, with the reason; `own` is the name of the node.
    pub(super) async fn stuck(&self, own: &str) -> String {
        self.is_stuck.notified().await;
        let oldest = self.executions.oldest();
        oldest.map_or_else(String::new, |execution| execution.problem(own))
    }
}

/// The line of the log about a superstep that takes long.
const LONG: &str = "a superstep goes on after the end of its job: jobs are refused until it ends";
/// How long a superstep may go on before the log says so.
const PATIENCE: Duration = Duration::from_secs(1);
const POLLING: Duration = Duration::from_millis(10);
