//! A command that is under way.

use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use crate::invocation::Ended;

/// A process of the binary that has not ended.
pub(crate) struct UnderWay {
    pid: u32,
    ended: mpsc::Receiver<Ended>,
}

impl UnderWay {
    pub(crate) fn start(command: &mut Command) -> Self {
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let child: Child = child.spawn().unwrap();
        let pid = child.id();
        let (tell, ended) = mpsc::channel();
        thread::spawn(move || {
            let output = child.wait_with_output().unwrap();
            let sent = tell.send(Ended {
                code: output.status.code(),
                stdout: String::from_utf8(output.stdout).unwrap(),
                stderr: String::from_utf8(output.stderr).unwrap(),
            });
            // A test that has failed does not wait.
            drop(sent);
        });
        Self { pid, ended }
    }

    /// Sends it a signal, as `TERM`.
    pub(crate) fn signal(&self, name: &str) {
        signal(self.pid, name);
    }

    /// Waits for its end, at most this number of seconds.
    #[track_caller]
    pub(crate) fn ends_within(&self, seconds: u64) -> Ended {
        let Ok(ended) = self.ended.recv_timeout(Duration::from_secs(seconds)) else {
            signal(self.pid, "KILL");
            panic!("it has not ended in {seconds} s");
        };
        ended
    }

    /// The processes that it has started.
    pub(crate) fn children(&self) -> Vec<u32> {
        let pid = self.pid;
        let text = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap();
        text.split_whitespace()
            .map(|pid| pid.parse().unwrap())
            .collect()
    }

    /// Waits until it handles SIGINT; before that, the signal ends it immediately.
    #[track_caller]
    pub(crate) fn handles_interrupts_within(&self, seconds: u64) {
        let deadline = Instant::now() + Duration::from_secs(seconds);
        let handles = || {
            let status = std::fs::read_to_string(format!("/proc/{}/status", self.pid)).unwrap();
            let mut caught = status
                .lines()
                .filter_map(|line| line.strip_prefix("SigCgt:"));
            let caught = u64::from_str_radix(caught.next().unwrap().trim(), 16).unwrap();
            caught & 1 << (SIGINT - 1) != 0
        };
        while !handles() {
            assert!(Instant::now() < deadline, "it does not handle SIGINT");
            thread::sleep(Duration::from_millis(10));
        }
    }

    pub(crate) fn is_over(&self) -> bool {
        !is_alive(self.pid)
    }
}

/// The number of the signal.
const SIGINT: u32 = 2;

/// Sends a process a signal, as `TERM`.
pub(crate) fn signal(pid: u32, name: &str) {
    let sent = Command::new("sh")
        .args(["-c", &format!("kill -{name} {pid}")])
        .stderr(Stdio::null())
        .status();
    // That it has gone already is no failure.
    assert!(sent.is_ok(), "{sent:?}");
}

/// Whether a process exists that is no zombie.
pub(crate) fn is_alive(pid: u32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{pid}/stat"));
    status.is_ok_and(|status| {
        let state = status.rsplit(") ").next().unwrap_or_default();
        !state.starts_with('Z')
    })
}
