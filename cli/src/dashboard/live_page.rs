//! What a dashboard serves.

use analysis::report::LiveRun;
use experiments::Failure;
use record::Event;

/// A page about a run that goes on.
///
/// The page loads the scripts of [`SCRIPTS`]. The first one replaces the sections of it that have changed whenever there
/// are news: each `section` of `main`, which is found by its `id` or `aria-labelledby`.
pub(crate) trait LivePage: Clone + Send + 'static {
    /// The second script, the page's own.
    const SCRIPT: &'static str;

    /// Handles an event of the run, in the order of the record.
    fn observe(&mut self, event: &Event);

    /// The page after the events so far, as HTML.
    ///
    /// # Errors
    ///
    /// If it cannot be drawn.
    fn html(self) -> Result<String, Failure>;
}

impl LivePage for LiveRun {
    const SCRIPT: &'static str = Self::SCRIPT;

    fn observe(&mut self, event: &Event) {
        Self::observe(self, event);
    }

    fn html(self) -> Result<String, Failure> {
        self.page(&SCRIPTS)
    }
}

/// The paths of the scripts.
pub(super) const SCRIPTS: [&str; 2] = ["/live.js", "/page.js"];
