//! Variables that look like ours and have no effect.

use crate::invocation::Folder;

#[test]
fn a_misspelt_variable_is_warned_about() {
    let folder = Folder::new().with_variable("MIGBSP_SCHEDULER_INTERVAL", "3");
    let ended = folder.run(&["simulate", "e.toml"]);
    assert_eq!(ended.code, Some(0));
    assert_eq!(
        ended.stderr,
        " WARN the environment variable `MIGBSP_SCHEDULER_INTERVAL` has no effect; did you mean \
         `MIGBSP__SCHEDULER__INTERVAL`?\n"
    );
    assert_eq!(folder.run(&["simulate", "e.toml", "--quiet"]).stderr, "");
    let folder = Folder::new().with_variable("MIGBSP__SCHEDULER__INTERVAL", "3");
    assert_eq!(folder.run(&["simulate", "e.toml"]).stderr, "");
}
