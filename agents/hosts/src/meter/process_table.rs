//! The processes of the operating system, and the processor time of each.

use std::time::Duration;

#[cfg(target_os = "linux")]
pub(super) use linux::{name, processes};
#[cfg(not(target_os = "linux"))]
pub(super) use portable::{name, processes};

/// A process of the operating system, threads included.
///
/// Kernel threads and processes that have ended are none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TableEntry {
    /// Its number; the system gives it to another process after the end of this one.
    pub(super) pid: u32,
    /// The process that has started or adopted it.
    pub(super) parent: Option<u32>,
    /// The processor time that it has consumed.
    pub(super) time: Duration,
}

/// It reads one file of each process: 16 µs of processor time. sysinfo reads two, and takes twice as long.
#[cfg(target_os = "linux")]
mod linux {
    use std::fmt::Write;
    use std::fs::{self, File};
    use std::io::Read;
    use std::time::Duration;

    use rustix::param::clock_ticks_per_second;

    use super::TableEntry;

    /// All processes that this one may see, in no particular order.
    pub(in super::super) fn processes() -> Vec<TableEntry> {
        let ticks = clock_ticks_per_second().max(1);
        let (mut path, mut line) = (String::new(), [0; LINE_MAX]);
        let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
        let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        pids.filter_map(|pid: u32| {
            path.clear();
            write!(path, "/proc/{pid}/stat").ok()?;
            // One that has ended since has no file.
            let length = File::open(&path).ok()?.read(&mut line).ok()?;
            parse(pid, &line[..length], ticks)
        })
        .collect()
    }

    /// The name of the program that the process `pid` executes; `None` if it has ended.
    pub(in super::super) fn name(pid: u32) -> Option<String> {
        let name = fs::read(format!("/proc/{pid}/comm")).ok()?;
        let name = name.strip_suffix(b"\n").unwrap_or(&name);
        Some(String::from_utf8_lossy(name).into_owned())
    }

    /// The process `pid`, of which `/proc/PID/stat` has this `line` (`proc_pid_stat(5)`); times are in `ticks` per second.
    fn parse(pid: u32, line: &[u8], ticks: u64) -> Option<TableEntry> {
        // The name of the program, in parentheses, may have any character.
        let name_end = line.iter().rposition(|byte| *byte == b')')?;
        let mut fields = str::from_utf8(&line[name_end + 1..])
            .ok()?
            .split_ascii_whitespace();
        let state = fields.next()?;
        let parent: u32 = fields.next()?.parse().ok()?;
        let flags: u64 = fields.nth(4)?.parse().ok()?;
        let user: u64 = fields.nth(4)?.parse().ok()?;
        let system: u64 = fields.next()?.parse().ok()?;
        if matches!(state, "Z" | "X") || flags & KERNEL_THREAD != 0 {
            return None;
        }
        let time = user.saturating_add(system).saturating_mul(1000) / ticks;
        Some(TableEntry {
            pid,
            parent: (parent != 0).then_some(parent),
            time: Duration::from_millis(time),
        })
    }

    /// Longer than any line: 52 numbers and a name.
    const LINE_MAX: usize = 2048;
    /// `PF_KTHREAD`.
    const KERNEL_THREAD: u64 = 0x0020_0000;

    #[cfg(test)]
    mod tests {
        use super::*;

        /// Parent and milliseconds of the process of `line`.
        #[track_caller]
        fn check(line: &[u8], expect: Option<(Option<u32>, u64)>) {
            let expect = expect.map(|(parent, time)| TableEntry {
                pid: 7,
                parent,
                time: Duration::from_millis(time),
            });
            assert_eq!(parse(7, line, 100), expect, "{}", line.escape_ascii());
        }

        #[test]
        fn a_line_has_parent_and_time() {
            let rest = b" 5 7 7 0 -1 4194304 9 9 9 9 120 34 5 6 20 0 1 0 1000 9 9\n";
            let of = |name: &[u8]| [b"7 (", name, rest].concat();
            let read = Some((Some(5), 1540));
            check(&of(b"sh) R"), read);
            check(&of(b"a) Z 1 (b) S"), read);
            check(&of(b"\xff\n) S"), read);
            check(&of(b") D"), read);
            check(&of(b"sh) Z"), None);
            let init = b"1 (init) S 0 1 1 0 -1 4194560 0 0 0 0 12 34 0";
            check(init, Some((None, 460)));
            check(b"2 (kthreadd) S 0 0 0 0 -1 2129984 0 0 0 0 120 34 0", None);
            let huge = b"7 (sh) R 0 0 0 0 -1 0 0 0 0 0 18446744073709551615 1 0";
            check(huge, Some((None, u64::MAX / 100)));
            for line in [
                &b""[..],
                b"7 sh R 1",
                b"7 (sh",
                b"7 (sh)",
                b"7 (sh) R 5 7",
                rest,
            ] {
                check(line, None);
            }
        }
    }
}

#[cfg(any(test, not(target_os = "linux")))]
mod portable {
    use std::time::Duration;

    use sysinfo::{Pid, ProcessRefreshKind, ProcessesToUpdate, System};

    use super::TableEntry;

    /// All processes that this one may see, in no particular order.
    pub(in super::super) fn processes() -> Vec<TableEntry> {
        let Ok(mut system) = System::new() else {
            return Vec::new();
        };
        let kind = ProcessRefreshKind::nothing().with_cpu().without_tasks();
        system.refresh_processes_specifics(ProcessesToUpdate::All, true, kind);
        let processes = system.processes().values();
        let processes = processes.filter(|process| process.thread_kind().is_none());
        let entry = |process: &sysinfo::Process| TableEntry {
            pid: process.pid().as_u32(),
            parent: process.parent().map(Pid::as_u32),
            time: Duration::from_millis(process.accumulated_cpu_time()),
        };
        processes.map(entry).collect()
    }

    /// The name of the program that the process `pid` executes; `None` if it has ended.
    pub(in super::super) fn name(pid: u32) -> Option<String> {
        let mut system = System::new().ok()?;
        let pid = Pid::from_u32(pid);
        let kind = ProcessRefreshKind::nothing().without_tasks();
        system.refresh_processes_specifics(ProcessesToUpdate::Some(&[pid]), true, kind);
        let process = system.process(pid)?;
        Some(process.name().to_string_lossy().into_owned())
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    #[test]
    fn both_readings_of_the_table_agree_about_this_process() {
        let began = Instant::now();
        while began.elapsed() < Duration::from_millis(50) {}
        let pid = std::process::id();
        let own = |table: Vec<TableEntry>| {
            let found = table.into_iter().find(|entry| entry.pid == pid);
            found.unwrap()
        };
        let before = own(portable::processes());
        let entry = own(processes());
        let after = own(portable::processes());
        assert_eq!(
            (entry.parent, name(pid)),
            (before.parent, portable::name(pid))
        );
        assert!(before.time <= entry.time && entry.time <= after.time);
        assert!(entry.parent.is_some() && Duration::ZERO < entry.time);
    }
}
