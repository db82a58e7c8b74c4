//! The memory that this process occupies, as the kernel counts it.

use std::fs;

/// Forgets the peak, so that the next one begins at what is occupied now; tells how much that is.
pub(crate) fn forget_peak() -> u64 {
    // Where it cannot be forgotten, the peak is too large, and seen to be so.
    drop(fs::write("/proc/self/clear_refs", "5"));
    kibibytes("VmRSS:")
}

/// The most that was occupied since the peak was forgotten, KiB.
pub(crate) fn peak() -> u64 {
    kibibytes("VmHWM:")
}

fn kibibytes(field: &str) -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let value = status.lines().find_map(|line| line.strip_prefix(field));
    let number = value.and_then(|value| value.split_whitespace().next()?.parse().ok());
    number.unwrap_or(0)
}
