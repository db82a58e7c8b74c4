//! How bars on stderr look.

use std::fmt::Write;

use indicatif::{HumanDuration, ProgressState, ProgressStyle};

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
