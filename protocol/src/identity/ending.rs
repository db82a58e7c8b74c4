//! Certificates that end soon.

use std::time::{Duration, SystemTime};

use crate::identity::{Name, Validity, date};

/// A sentence about those of `certificates` that end within 14 days from `now`, with the names of their holders: the first to end
/// first. `None`: none does.
#[must_use]
pub fn ending<'a>(
    certificates: impl IntoIterator<Item = (&'a Name, Validity)>,
    now: SystemTime,
) -> Option<String> {
    let certificates = certificates.into_iter();
    let mut soon: Vec<(SystemTime, &Name)> = certificates
        .filter(|(_, validity)| validity.ends_within(WARNED, now))
        .map(|(name, validity)| (validity.until(), name))
        .collect();
    soon.sort();
    let remedy = "`cert issue` makes new ones, which are read where they replace the old ones";
    let shown = |(until, name): &(SystemTime, &Name)| format!("{name} at {}", date(*until));
    let named: Vec<String> = soon.iter().take(NAMED).map(shown).collect();
    let more = match soon.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    (!soon.is_empty()).then(|| {
        format!(
            "certificates end within {} days: {}{more}; {remedy}",
            WARNED.as_secs() / DAY,
            named.join(", ")
        )
    })
}

const DAY: u64 = 24 * 3600;
/// How long before its end a certificate is warned of.
const WARNED: Duration = Duration::from_secs(14 * DAY);
/// Holders that are named; there may be a thousand.
const NAMED: usize = 4;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_ends_within_two_weeks_is_named_the_first_to_end_first() {
        let at = |days: u64| SystemTime::UNIX_EPOCH + Duration::from_secs((20_000 + days) * DAY);
        let check = |ends: &[(&str, u64)], expect: Option<&str>| {
            let ends = ends.iter().map(|(name, days)| {
                let validity = Validity::new(at(0), at(100 + days)).unwrap();
                (name.parse().unwrap(), validity)
            });
            let ends: Vec<(Name, Validity)> = ends.collect();
            let ends = ends.iter().map(|(name, validity)| (name, *validity));
            assert_eq!(ending(ends, at(100)).as_deref(), expect);
        };
        check(&[], None);
        check(&[("a", 14), ("b", 30)], None);
        let remedy = "`cert issue` makes new ones, which are read where they replace the old ones";
        check(
            &[("a", 13), ("b", 30), ("c", 1)],
            Some(&format!(
                "certificates end within 14 days: c at 2025-01-13T00:00:00Z, a at 2025-01-25T00:00:00Z; {remedy}"
            )),
        );
        let all: Vec<(String, u64)> = (0..9).map(|index| (format!("n{index}"), 3)).collect();
        let all: Vec<(&str, u64)> = all
            .iter()
            .map(|(name, days)| (name.as_str(), *days))
            .collect();
        let one = "at 2025-01-15T00:00:00Z";
        check(
            &all,
            Some(&format!(
                "certificates end within 14 days: n0 {one}, n1 {one}, n2 {one}, n3 {one} and 5 more; {remedy}"
            )),
        );
    }
}
