//! Checks of what hosts have measured.

use std::ops::RangeInclusive;

use bsp::HostId;
use migbsp::ExternalLoad;

use crate::check::check;

/// Checks external loads of hosts that `is_own`.
pub(super) fn external(
    loads: &[ExternalLoad],
    is_own: impl Fn(HostId) -> bool,
) -> Result<(), String> {
    let is_sound = ExternalLoad::are_sound(loads, is_own);
    check(is_sound, || "impossible external loads".to_owned())
}

/// Checks the number of processors of a host.
pub(super) fn cores(found: u32) -> Result<(), String> {
    check(CORES.contains(&found), || {
        let (least, most) = (CORES.start(), CORES.end());
        format!("{found} processors of a host, expected {least} to {most}")
    })
}

/// The numbers of processors that a host may have.
const CORES: RangeInclusive<u32> = 1..=1 << 16;
