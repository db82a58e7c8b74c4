//! A progress bar on stderr during a run, and lines in the log.

use std::time::Duration;

use agents::record::Event;
use indicatif::ProgressBar;

use crate::bar::style;
use experiments::Scenario;

/// Progress of a run.
#[derive(Debug)]
pub(crate) struct Progress {
    bar: ProgressBar,
    migrations: u64,
}

impl Progress {
    /// A bar of `supersteps`, a counter if their number is unknown, or no display.
    pub(crate) fn new(shown: bool, scenario: Scenario, supersteps: Option<u64>) -> Self {
        let bar = if shown {
            let (bar, template) = match supersteps {
                Some(supersteps) => (ProgressBar::new(supersteps), BAR),
                None => (ProgressBar::no_length(), COUNTER),
            };
            bar.set_style(style(template));
            bar.set_prefix(scenario.name());
            bar.enable_steady_tick(Duration::from_millis(100));
            bar
        } else {
            ProgressBar::hidden()
        };
        Self { bar, migrations: 0 }
    }

    /// Handles an event.
    pub(crate) fn observe(&mut self, event: &Event) {
        match event {
            Event::Superstep(superstep) => {
                if !self.bar.is_hidden() {
                    self.bar.set_position(superstep.index + 1);
                }
                tracing::debug!(index = superstep.index, at = %superstep.ended, "superstep");
            }
            Event::Call(call) => {
                let migrations = u64::try_from(call.migrations.len()).unwrap_or(u64::MAX);
                self.migrations = self.migrations.saturating_add(migrations);
                if !self.bar.is_hidden() && 0 < migrations {
                    self.bar
                        .set_message(format!("{} migrations", self.migrations));
                }
                let (superstep, interval) = (call.superstep, call.interval);
                tracing::info!(superstep, at = %call.at, interval, migrations, "reschedule call");
            }
            Event::Moved(moved) => {
                tracing::info!(rank = %moved.rank, host = %moved.host, at = %moved.at, "migration");
            }
            _ => {}
        }
    }

    /// Ends the progress.
    pub(crate) fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

const BAR: &str = "scenario {prefix:3} {wide_bar} {pos}/{len} supersteps{left} {msg}";

const COUNTER: &str = "scenario {prefix:3} {spinner} {pos} supersteps in {elapsed} {msg}";
