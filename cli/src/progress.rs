//! Progress on stderr: bars of runs and batches, and lines in the log.

use std::fmt::Write;
use std::time::Duration;

use analysis::text::transferred;
use bsp::HostId;
use experiments::Scenario;
use experiments::batch;
use hosts::TransferProgress;
use indicatif::{
    HumanDuration, MultiProgress, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle,
};
use record::{Call, Event, Moved};
use simulator::Platform;

/// Progress of a run.
#[derive(Debug)]
pub(crate) struct Progress {
    bar: ProgressBar,
    scenario: Scenario,
    /// The names of the hosts.
    hosts: Vec<String>,
    migrations: u64,
    /// Moves whose call has not been recorded: it began before them.
    moved: Vec<Moved>,
    supersteps: Option<u64>,
    shown: Shown,
}

/// What the bar shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shown {
    Supersteps,
    Sending,
    Receiving,
}

impl Progress {
    /// A bar of `supersteps`, a counter if their number is unknown, or no display.
    pub(crate) fn new(
        shown: bool,
        scenario: Scenario,
        supersteps: Option<u64>,
        platform: &Platform,
    ) -> Self {
        let bars = shown.then(MultiProgress::new);
        Self::below(bars.as_ref(), scenario, supersteps, platform)
    }

    /// The same below the `bars` of other runs; without them, no display.
    pub(crate) fn below(
        bars: Option<&MultiProgress>,
        scenario: Scenario,
        supersteps: Option<u64>,
        platform: &Platform,
    ) -> Self {
        let bar = if let Some(bars) = bars {
            let bar = bars.add(ProgressBar::no_length());
            show_supersteps(&bar, supersteps);
            bar.set_prefix(scenario.name());
            bar.enable_steady_tick(Duration::from_millis(100));
            bar
        } else {
            ProgressBar::hidden()
        };
        let hosts = platform.hosts().iter().map(|host| host.name.clone());
        Self {
            bar,
            scenario,
            hosts: hosts.collect(),
            migrations: 0,
            moved: Vec::new(),
            supersteps,
            shown: Shown::Supersteps,
        }
    }

    /// Handles the progress of what a run on real hosts sends before its supersteps and receives after them.
    pub(crate) fn transferred(&mut self, progress: TransferProgress) {
        let TransferProgress {
            is_receiving,
            done,
            processes,
        } = progress;
        let (number, bytes) = (done.number, done.bytes.0);
        tracing::debug!(is_receiving, number, of = processes, bytes, "transferred");
        if self.bar.is_hidden() {
            return;
        }
        let (shown, template) = if is_receiving {
            (Shown::Receiving, RECEIVING)
        } else {
            (Shown::Sending, SENDING)
        };
        if self.shown != shown {
            self.shown = shown;
            self.bar.reset();
            self.bar.set_style(style(template));
        }
        let count = |number: usize| u64::try_from(number).unwrap_or(u64::MAX);
        self.bar.set_length(count(processes));
        self.bar.set_position(count(number));
        self.bar.set_message(transferred(bytes, number, processes));
        if !is_receiving && number == processes {
            self.shown = Shown::Supersteps;
            self.bar.reset();
            self.bar.set_message("");
            show_supersteps(&self.bar, self.supersteps);
        }
    }

    /// The run goes on, on the hosts of `platform`.
    pub(crate) fn go_on(&mut self, platform: &Platform) {
        self.log_moves();
        let hosts = platform.hosts().iter().map(|host| host.name.clone());
        self.hosts = hosts.collect();
    }

    /// Handles an event.
    pub(crate) fn observe(&mut self, event: &Event) {
        match event {
            Event::Superstep(superstep) => {
                if !self.bar.is_hidden() {
                    self.bar.set_position(superstep.index + 1);
                }
                let (scenario, index) = (self.scenario.name(), superstep.index);
                tracing::debug!(scenario, index, at = %superstep.ended, "superstep");
            }
            Event::Call(call) => self.log_call(call),
            Event::Moved(moved) => self.moved.push(*moved),
            _ => {}
        }
    }

    /// Ends the progress.
    pub(crate) fn finish(&mut self) {
        self.log_moves();
        self.bar.finish_and_clear();
    }

    /// Logs a call and then the moves that it decided, which are recorded before it.
    fn log_call(&mut self, call: &Call) {
        let migrations = u64::try_from(call.migrations.len()).unwrap_or(u64::MAX);
        self.migrations = self.migrations.saturating_add(migrations);
        if !self.bar.is_hidden() && 0 < migrations {
            let text = format!("{} migrations", self.migrations);
            self.bar.set_message(text);
        }
        let (scenario, superstep, interval) = (self.scenario.name(), call.superstep, call.interval);
        tracing::info!(scenario, superstep, at = %call.at, interval, migrations, "reschedule call");
        self.log_moves();
    }

    fn log_moves(&mut self) {
        let mut moved = std::mem::take(&mut self.moved);
        moved.sort_by_key(|moved| (moved.at, moved.rank));
        let scenario = self.scenario.name();
        for Moved { at, rank, host, .. } in moved {
            let host = self.name(host);
            tracing::info!(scenario, process = %rank, host, %at, "migration");
        }
    }

    fn name(&self, host: HostId) -> &str {
        self.hosts.get(host.index()).map_or("?", String::as_str)
    }
}

/// Has `bar` show how many of the `supersteps` are over.
fn show_supersteps(bar: &ProgressBar, supersteps: Option<u64>) {
    match supersteps {
        Some(supersteps) => {
            bar.set_length(supersteps);
            bar.set_style(style(BAR));
        }
        None => {
            bar.unset_length();
            bar.set_style(style(COUNTER));
        }
    }
}

const SENDING: &str = "sending processes {wide_bar} {pos}/{len}, {msg}{left}";

const RECEIVING: &str = "receiving outputs {wide_bar} {pos}/{len}, {msg}{left}";

const BAR: &str = "scenario {prefix:3} {wide_bar} {pos}/{len} supersteps{left} {msg}";

const COUNTER: &str = "scenario {prefix:3} {spinner} {pos} supersteps in {elapsed} {msg}";

/// A bar's style; `{left}` is how long it will take, once something has been done.
///
/// # Panics
///
/// If `template` is none.
pub(crate) fn style(template: &str) -> ProgressStyle {
    let style = ProgressStyle::with_template(template).expect("the templates are right");
    style.with_key("left", left)
}

fn left(state: &ProgressState, text: &mut dyn Write) {
    if 0 < state.pos() {
        let _shown = write!(text, ", {:#} left", HumanDuration(state.eta()));
    }
}

/// A bar on stderr that counts the runs of a batch.
#[derive(Clone, Debug)]
pub struct RunBar {
    bar: ProgressBar,
    is_shown: bool,
}

impl RunBar {
    /// A bar, which is visible if `is_shown`.
    #[must_use]
    pub fn new(is_shown: bool) -> Self {
        let bar = ProgressBar::hidden();
        Self { bar, is_shown }
    }
}

impl batch::Progress for RunBar {
    fn begin(&self, runs: usize) {
        self.bar.reset();
        self.bar.set_length(u64::try_from(runs).unwrap_or(u64::MAX));
        if self.is_shown {
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
            self.bar.set_style(style(RUNS));
            self.bar.enable_steady_tick(Duration::from_millis(100));
        }
    }

    fn advance(&self) {
        self.bar.inc(1);
    }

    fn end(&self) {
        self.bar.finish_and_clear();
    }
}

pub(crate) const RUNS: &str = "{wide_bar} {pos}/{len} runs in {elapsed}{left}";
