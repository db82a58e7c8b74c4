//! What a dashboard serves.

use agents::record::Event;
use analysis::live::RunPage;

/// A page about a run that goes on.
///
/// The page loads [`SCRIPT`], which replaces what has changed in it whenever there are news.
pub(crate) trait LivePage: Clone + Send + 'static {
    /// Handles an event of the run, in the order of the record.
    fn observe(&mut self, event: &Event);

    /// The page after the events so far, as HTML.
    fn html(&self) -> String;
}

impl LivePage for RunPage {
    fn observe(&mut self, event: &Event) {
        Self::observe(self, event);
    }

    fn html(&self) -> String {
        Self::html(self, SCRIPT)
    }
}

/// The path of the script.
pub(crate) const SCRIPT: &str = "/live.js";
