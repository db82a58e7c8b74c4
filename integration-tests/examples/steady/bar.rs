//! A bar on stderr that counts simulated placements.

use std::path::Path;
use std::time::{Duration, Instant};

use experiments::batch::Progress;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// A bar that appears after a second, where stderr is a terminal.
#[derive(Debug)]
pub(crate) struct Bar {
    bar: ProgressBar,
    began: Instant,
}

impl Bar {
    pub(crate) fn new(experiment: &Path) -> Self {
        let style = ProgressStyle::with_template(TEMPLATE).expect("the template is right");
        let bar = ProgressBar::hidden().with_style(style);
        bar.set_message(experiment.display().to_string());
        Self {
            bar,
            began: Instant::now(),
        }
    }
}

impl Progress for Bar {
    fn begin(&self, runs: usize) {
        self.bar.set_length(u64::try_from(runs).unwrap_or(u64::MAX));
    }

    fn advance(&self) {
        self.bar.inc(1);
        if self.bar.is_hidden() && Duration::from_secs(1) < self.began.elapsed() {
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
        }
    }

    fn end(&self) {
        self.bar.finish_and_clear();
    }
}

const TEMPLATE: &str = "{msg} {wide_bar} {pos}/{len} placements in {elapsed}, {eta} left";
