//! The memory of this process.

use std::process;

use sysinfo::{Pid, ProcessRefreshKind, ProcessesToUpdate, System};

/// Bytes of memory that this process occupies, if the operating system says it.
pub(crate) fn own_memory() -> Option<u64> {
    let mut system = System::new().ok()?;
    let own = Pid::from_u32(process::id());
    let kind = ProcessRefreshKind::nothing().with_memory().without_tasks();
    system.refresh_processes_specifics(ProcessesToUpdate::Some(&[own]), true, kind);
    system.process(own).map(sysinfo::Process::memory)
}

#[cfg(test)]
mod tests {
    use std::hint::black_box;

    use super::*;

    #[test]
    fn memory_that_is_written_is_occupied() {
        let before = own_memory().unwrap();
        let written = black_box(vec![1_u8; 64 << 20]);
        let after = own_memory().unwrap();
        assert!(before + (60 << 20) < after, "{before} {after}");
        drop(written);
    }
}
