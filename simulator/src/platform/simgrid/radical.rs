//! `radical`: the numbers in the names of hosts.

use crate::platform::builder::HOSTS_MAX;
use crate::platform::error::{ErrorAt, PlatformErrorKind};
use crate::platform::simgrid::element::Attribute;

/// The numbers of `1-4,6,9-11`.
pub(super) fn read(met: Attribute<'_>) -> Result<Vec<u32>, ErrorAt> {
    const EXPECTED: &str = "numbers and ranges separated by commas, as `1-4,6,9-11`";
    let mut radicals = Vec::new();
    for group in met.text.split(',') {
        let (first, last) = group.split_once('-').unwrap_or((group, group));
        let (Ok(first), Ok(last)) = (first.trim().parse::<u32>(), last.trim().parse::<u32>())
        else {
            return Err(met.choice("radical", EXPECTED));
        };
        if last < first {
            return Err(met.choice("radical", EXPECTED));
        }
        let total = u64::from(last - first) + 1 + u64::try_from(radicals.len()).unwrap_or(u64::MAX);
        if u64::from(HOSTS_MAX) < total {
            let limit = u64::from(HOSTS_MAX);
            return Err(met.error(PlatformErrorKind::TooMany {
                what: "hosts",
                met: total,
                limit,
            }));
        }
        radicals.extend(first..=last);
    }
    Ok(radicals)
}
