//! How bars on stderr look.

use std::fmt::Write;
use std::time::Duration;

use experiments::batch::Progress;
use indicatif::{HumanDuration, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};

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

impl Progress for RunBar {
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
