//! Dates of certificates.

use std::time::SystemTime;

use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

/// The time as in RFC 3339, in UTC, to the second.
///
/// # Panics
///
/// If it is after the year 9999; certificates and clocks end before.
pub fn date(time: SystemTime) -> String {
    let to_the_second = OffsetDateTime::from(time).replace_nanosecond(0);
    let time = to_the_second.expect("0 is a number of nanoseconds");
    time.format(&Rfc3339).expect("the year has four digits")
}

/// Whole days from `now` until `until`, rounded down.
pub(super) fn days(now: SystemTime, until: SystemTime) -> i64 {
    let left = OffsetDateTime::from(until) - OffsetDateTime::from(now);
    let days = left.whole_days();
    if left.is_negative() && !(left - time::Duration::days(days)).is_zero() {
        days - 1
    } else {
        days
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn at(seconds: u64) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)
    }

    #[test]
    fn dates_are_in_utc() {
        assert_eq!(date(at(0)), "1970-01-01T00:00:00Z");
        assert_eq!(date(at(951_782_399)), "2000-02-28T23:59:59Z");
        assert_eq!(date(at(951_782_400)), "2000-02-29T00:00:00Z");
        assert_eq!(date(at(1_800_000_000)), "2027-01-15T08:00:00Z");
    }

    #[test]
    fn days_are_rounded_down() {
        let now = 1_800_000_000;
        for (until, expect) in [
            (now, 0),
            (now + 86_399, 0),
            (now + 86_400, 1),
            (now - 1, -1),
            (now - 86_400, -1),
            (now - 86_401, -2),
        ] {
            assert_eq!(days(at(now), at(until)), expect, "{until}");
        }
    }
}
