//! How a node process of `up` ended, as far as the system tells its parent.

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

/// The number of processes that the system has ended for lack of memory since it started; unknown elsewhere than on
/// Linux.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MemoryKills(Option<u64>);

impl MemoryKills {
    /// The number until now.
    pub(crate) fn count() -> Self {
        let text = fs::read_to_string("/proc/vmstat").unwrap_or_default();
        Self::read(&text)
    }

    fn read(vmstat: &str) -> Self {
        let mut lines = vmstat.lines();
        Self(lines.find_map(|line| line.strip_prefix("oom_kill ")?.parse().ok()))
    }

    /// How many there have been since `before`, if the system tells.
    fn since(self, before: Self) -> Option<u64> {
        Some(self.0?.saturating_sub(before.0?))
    }
}

/// How the nodes `names` ended, which --kill killed once `superstep` was over.
pub(crate) fn killed<'a>(superstep: u64, names: impl IntoIterator<Item = &'a str>) -> String {
    let names: Vec<&str> = names.into_iter().collect();
    let were = if names.len() == 1 { "was" } else { "were" };
    let names = match &names[..] {
        [others @ .., last] if !others.is_empty() => format!("{} and {last}", others.join(", ")),
        _ => names.concat(),
    };
    format!("{names} {were} killed after superstep {superstep}, as --kill says")
}

/// How the node `name` ended that has `status`; `before` was counted when it was started.
pub(crate) fn description(name: &str, status: ExitStatus, before: MemoryKills) -> String {
    describe(name, status, MemoryKills::count().since(before))
}

fn describe(name: &str, status: ExitStatus, memory_kills: Option<u64>) -> String {
    let processes = |count| if count == 1 { "process" } else { "processes" };
    match (status.signal(), status.code(), memory_kills) {
        (Some(SIGKILL), _, Some(0)) => {
            format!(
                "{name} was killed (SIGKILL), but the system has ended no process for lack of memory"
            )
        }
        (Some(SIGKILL), _, Some(count)) => format!(
            "{name} was killed (SIGKILL), and the system has ended {count} {} for lack of memory meanwhile",
            processes(count)
        ),
        (Some(SIGKILL), _, None) => format!("{name} was killed (SIGKILL)"),
        (Some(SIGABRT), ..) => format!(
            "{name} aborted (SIGABRT), as a program does when an allocation fails; its log above has the reason"
        ),
        (Some(signal), ..) => format!("{name} was ended by signal {signal}"),
        (None, Some(code), _) => format!("{name} ended with exit code {code}"),
        (None, None, _) => format!("{name} ended"),
    }
}

/// The numbers of these signals are the same on all systems.
const SIGABRT: i32 = 6;
const SIGKILL: i32 = 9;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_named_only_if_the_system_tells() {
        let killed = |count| describe("node-2", ExitStatus::from_raw(SIGKILL), count);
        assert_eq!(killed(None), "node-2 was killed (SIGKILL)");
        assert!(killed(Some(0)).ends_with("has ended no process for lack of memory"));
        assert!(killed(Some(2)).ends_with("has ended 2 processes for lack of memory meanwhile"));
        let aborted = describe("node-2", ExitStatus::from_raw(SIGABRT), Some(0));
        assert!(aborted.contains("when an allocation fails"), "{aborted}");
        let signalled = describe("node-2", ExitStatus::from_raw(11), None);
        assert_eq!(signalled, "node-2 was ended by signal 11");
        let left = describe("node-2", ExitStatus::from_raw(1 << 8), None);
        assert_eq!(left, "node-2 ended with exit code 1");
    }

    #[test]
    fn those_that_an_option_killed_are_listed() {
        let killed = |names: &[&'static str]| killed(7, names.iter().copied());
        for (names, text) in [
            (&["node-2"][..], "node-2 was"),
            (&["node-1", "node-2"], "node-1 and node-2 were"),
            (&["a", "b", "c"], "a, b and c were"),
        ] {
            let expected = format!("{text} killed after superstep 7, as --kill says");
            assert_eq!(killed(names), expected);
        }
    }

    #[test]
    fn the_count_of_the_system_is_read() {
        let vmstat = "nr_free_pages 5\noom_kill 7\noom_kill_other 9\n";
        let kills = MemoryKills::read(vmstat);
        assert_eq!(kills, MemoryKills(Some(7)));
        assert_eq!(MemoryKills(Some(9)).since(kills), Some(2));
        assert_eq!(MemoryKills::read("").since(kills), None);
    }
}
