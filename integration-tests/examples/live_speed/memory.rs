//! The memory that processes occupy, as the kernel counts it.

use std::fs;

/// Forgets the peak, so that the next one begins at what is occupied now; tells how much that is.
pub(crate) fn forget_peak() -> u64 {
    // Where it cannot be forgotten, the peak is too large, and seen to be so.
    drop(fs::write("/proc/self/clear_refs", "5"));
    kibibytes("self", "VmRSS:")
}

/// The most that was occupied since the peak was forgotten, KiB.
pub(crate) fn peak() -> u64 {
    kibibytes("self", "VmHWM:")
}

/// What these processes occupy together, KiB.
pub(crate) fn occupied_by(processes: &[u32]) -> u64 {
    let processes = processes.iter();
    let occupied = processes.map(|process| kibibytes(&process.to_string(), "VmRSS:"));
    occupied.sum()
}

fn kibibytes(process: &str, field: &str) -> u64 {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let value = status.lines().find_map(|line| line.strip_prefix(field));
    let number = value.and_then(|value| value.split_whitespace().next()?.parse().ok());
    number.unwrap_or(0)
}
