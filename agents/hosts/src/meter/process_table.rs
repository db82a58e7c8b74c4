//! The processes of the operating system, and the processor time of each.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use protocol::BusyProcess;

use crate::meter::LoadScope;

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
    pid: u32,
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

/// The processor times of the processes of this machine at one time.
///
/// With 320 processes on the machine it takes 5 ms of processor time: 0.5 % of a processor, once a second.
#[derive(Debug)]
pub(super) struct ProcessSample {
    at: Instant,
    /// That of the processes in scope together.
    own: Duration,
    /// That of those among them which this process has started, or which those have.
    descendants: Duration,
    /// Those of the others, by number.
    others: BTreeMap<u32, Duration>,
}

impl ProcessSample {
    /// The times now.
    pub(super) fn take(scope: LoadScope) -> Self {
        Self::of(Instant::now(), &processes(), std::process::id(), scope)
    }

    /// The times of `table` at `at`, as the process `own` sees them.
    fn of(at: Instant, table: &[TableEntry], own: u32, scope: LoadScope) -> Self {
        let parent = table
            .iter()
            .find_map(|entry| (entry.pid == own).then_some(entry.parent));
        let begins = |entry: &TableEntry| match scope {
            LoadScope::Process => entry.pid == own,
            LoadScope::Siblings => Some(entry.parent) == parent,
        };
        let parents: BTreeMap<u32, Option<u32>> = table
            .iter()
            .map(|entry| (entry.pid, entry.parent))
            .collect();
        let roots: BTreeSet<u32> = table
            .iter()
            .filter(|entry| begins(entry))
            .map(|entry| entry.pid)
            .collect();
        // Numbers are given again, so what a table says of parents may lead in a circle.
        let ancestors = |pid: u32| {
            let next = |pid: &u32| parents.get(pid).copied().flatten();
            std::iter::successors(Some(pid), next).take(DEPTH_MAX)
        };
        let mut sample = Self {
            at,
            own: Duration::ZERO,
            descendants: Duration::ZERO,
            others: BTreeMap::new(),
        };
        for entry in table {
            if ancestors(entry.pid).any(|pid| roots.contains(&pid)) {
                sample.own += entry.time;
                if entry.pid != own && ancestors(entry.pid).any(|pid| pid == own) {
                    sample.descendants += entry.time;
                }
            } else {
                sample.others.insert(entry.pid, entry.time);
            }
        }
        sample
    }

    /// The processor time of the processes in scope together.
    pub(super) const fn own(&self) -> Duration {
        self.own
    }

    /// The processor time of those that this process has started, and of those that these have.
    pub(super) const fn descendants(&self) -> Duration {
        self.descendants
    }

    /// The busy processes out of scope, the oldest first, without those that have ended in the meantime.
    pub(super) fn busy_since(&self, before: &Self) -> Vec<BusyProcess> {
        let busy = self.oldest_busy_since(before).into_iter();
        busy.filter_map(|(pid, time)| Some(BusyProcess::new(&name(pid)?, pid, time)))
            .collect()
    }

    /// Number and processor time of the processes out of scope that have used at least [`BUSY`] processors since
    /// `before`, the oldest first.
    ///
    /// A process that `before` does not have has started since. One that has consumed less than before is another one,
    /// to which the system has given the number again.
    fn oldest_busy_since(&self, before: &Self) -> Vec<(u32, Duration)> {
        let least = BUSY * self.at.saturating_duration_since(before.at).as_secs_f64();
        let used = |pid: u32, time: Duration| {
            let earlier = before.others.get(&pid).copied();
            let earlier = earlier.filter(|earlier| *earlier <= time);
            time.saturating_sub(earlier.unwrap_or_default())
        };
        let others = self.others.iter().map(|(pid, time)| (*pid, *time));
        let mut busy: Vec<_> = others
            .filter(|(pid, time)| least <= used(*pid, *time).as_secs_f64())
            .collect();
        busy.sort_by_key(|(pid, time)| (Reverse(*time), *pid));
        busy.truncate(BusyProcess::COUNT_MAX);
        busy
    }
}

/// The most ancestors of a process that are looked at.
const DEPTH_MAX: usize = 64;

/// Processors that a busy process uses at least, of one.
const BUSY: f64 = 0.5;

#[cfg(test)]
mod tests {
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

    const OWN: u32 = 10;

    /// A row of a table: pid, parent, milliseconds.
    type Row = (u32, u32, u64);

    fn sample(at: Instant, table: &[Row], scope: LoadScope) -> ProcessSample {
        let entry = |&(pid, parent, time): &Row| TableEntry {
            pid,
            parent: (parent != 0).then_some(parent),
            time: Duration::from_millis(time),
        };
        let table: Vec<_> = table.iter().map(entry).collect();
        ProcessSample::of(at, &table, OWN, scope)
    }

    /// Which processes are busy if the second table is that of a second later: number and milliseconds of each.
    #[track_caller]
    fn check(scope: LoadScope, before: &[Row], now: &[Row], expect: &[(u32, u64)]) {
        let at = Instant::now();
        let before = sample(at, before, scope);
        let now = sample(at + Duration::from_secs(1), now, scope);
        let time = |&(pid, time): &(u32, u64)| (pid, Duration::from_millis(time));
        let expect: Vec<_> = expect.iter().map(time).collect();
        assert_eq!(now.oldest_busy_since(&before), expect);
    }

    #[test]
    fn a_process_that_uses_half_a_processor_is_busy() {
        let before = [
            (OWN, 1, 0),
            (20, 1, 5000),
            (21, 1, 100),
            (22, 1, 0),
            (23, 1, 9),
        ];
        let now = [
            (OWN, 1, 0),
            (20, 1, 5500),
            (21, 1, 599),
            (22, 1, 4000),
            (23, 1, 9),
        ];
        check(LoadScope::Process, &before, &now, &[(20, 5500), (22, 4000)]);
    }

    #[test]
    fn half_a_processor_counts_over_the_time_between_two_samples() {
        let at = Instant::now();
        let before = sample(at, &[(OWN, 1, 0), (20, 1, 0)], LoadScope::Process);
        let after = |seconds| {
            let table = [(OWN, 1, 0), (20, 1, 600)];
            let now = sample(
                at + Duration::from_secs(seconds),
                &table,
                LoadScope::Process,
            );
            now.oldest_busy_since(&before).len()
        };
        assert_eq!((after(1), after(2)), (1, 0));
    }

    #[test]
    fn a_process_that_started_since_the_last_sample_can_be_busy() {
        let now = [(OWN, 1, 0), (20, 1, 500), (21, 1, 490)];
        check(LoadScope::Process, &[(OWN, 1, 0)], &now, &[(20, 500)]);
    }

    #[test]
    fn what_a_node_has_started_is_in_scope() {
        // The node, an executor, what that has started, and another program; two that are each other's parent.
        let table = [
            (OWN, 5, 100),
            (30, OWN, 200),
            (31, 30, 400),
            (5, 1, 900),
            (40, 41, 900),
            (41, 40, 900),
        ];
        let taken = sample(Instant::now(), &table, LoadScope::Process);
        assert_eq!(taken.own(), Duration::from_millis(700));
        assert_eq!(taken.descendants(), Duration::from_millis(600));
        let others: Vec<u32> = taken.others.keys().copied().collect();
        assert_eq!(others, [5, 40, 41]);
    }

    #[test]
    fn processes_in_scope_are_not_listed() {
        // The node, another one, its child, their parent, and another program.
        let table = |time| {
            [
                (OWN, 5, time),
                (11, 5, time),
                (12, 11, time),
                (5, 1, time),
                (20, 1, time),
            ]
        };
        let rest = [(5, 900), (20, 900)];
        check(LoadScope::Siblings, &table(0), &table(900), &rest);
        let all = [(5, 900), (11, 900), (12, 900), (20, 900)];
        check(LoadScope::Process, &table(0), &table(900), &all);
        let own = |scope| sample(Instant::now(), &table(900), scope).own();
        assert_eq!(own(LoadScope::Process), Duration::from_millis(900));
        assert_eq!(own(LoadScope::Siblings), Duration::from_millis(2700));
    }

    #[test]
    fn a_number_with_less_time_than_before_belongs_to_another_process() {
        let before = [(OWN, 1, 0), (20, 1, 90_000), (21, 1, 90_000)];
        let now = [(OWN, 1, 0), (20, 1, 700), (21, 1, 300)];
        check(LoadScope::Process, &before, &now, &[(20, 700)]);
    }

    #[test]
    fn at_most_64_are_listed_and_those_are_the_oldest() {
        let table = |more: u64| -> Vec<Row> {
            let others = (0..70).map(|index| (100 + index, 1, u64::from(index % 7) * 1000 + more));
            [(OWN, 1, 0)].into_iter().chain(others).collect()
        };
        let at = Instant::now();
        let before = sample(at, &table(0), LoadScope::Process);
        let now = sample(
            at + Duration::from_secs(1),
            &table(1000),
            LoadScope::Process,
        );
        let busy = now.oldest_busy_since(&before);
        assert_eq!(busy.len(), BusyProcess::COUNT_MAX);
        assert!(busy.is_sorted_by_key(|(pid, time)| (Reverse(*time), *pid)));
        // Four of the ten youngest have a place.
        let youngest = busy.iter().filter(|(_, time)| time.as_secs() <= 1);
        assert_eq!(youngest.count(), 4);
    }
}
