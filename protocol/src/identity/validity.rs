use std::time::{Duration, SystemTime};

/// The period in which a certificate is valid.
///
/// Invariant: `from` is before `until`, both between 1970 and 9999, in whole seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Validity {
    from: SystemTime,
    until: SystemTime,
}

/// Why two times are not a period of validity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "valid from {from:?} until {until:?}, expected two times in this order before the year 9999"
)]
pub struct ValidityError {
    /// The beginning.
    pub from: SystemTime,
    /// The end.
    pub until: SystemTime,
}

impl Validity {
    /// Valid from `from` until `until`, both cut to whole seconds.
    ///
    /// # Errors
    ///
    /// If `from` is not before `until`, or a certificate cannot express them.
    pub fn new(from: SystemTime, until: SystemTime) -> Result<Self, ValidityError> {
        let error = ValidityError { from, until };
        let whole = |time: SystemTime| {
            let seconds = time.duration_since(SystemTime::UNIX_EPOCH).ok()?.as_secs();
            (seconds < YEAR_9999).then(|| SystemTime::UNIX_EPOCH + Duration::from_secs(seconds))
        };
        let (Some(from), Some(until)) = (whole(from), whole(until)) else {
            return Err(error);
        };
        if until <= from {
            return Err(error);
        }
        Ok(Self { from, until })
    }

    /// Valid for `length` from `now`, and for the day before, because clocks of hosts differ.
    ///
    /// # Errors
    ///
    /// If that ends in the year 9999 or later.
    pub fn from_now(now: SystemTime, length: Duration) -> Result<Self, ValidityError> {
        let from = now.checked_sub(CLOCKS_DIFFER).unwrap_or(now);
        let until = now.checked_add(length).unwrap_or(now);
        Self::new(from, until)
    }

    /// Its beginning.
    #[must_use]
    pub const fn from(&self) -> SystemTime {
        self.from
    }

    /// Its end.
    #[must_use]
    pub const fn until(&self) -> SystemTime {
        self.until
    }

    /// Whether it includes `now`.
    #[must_use]
    pub fn includes(&self, now: SystemTime) -> bool {
        self.from <= now && now <= self.until
    }
}

const CLOCKS_DIFFER: Duration = Duration::from_secs(24 * 3600);
const YEAR_9999: u64 = 253_370_764_800;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn validity_begins_a_day_early() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_800_000_000);
        let hour = Duration::from_secs(3600);
        let validity = Validity::from_now(now, 2 * hour).unwrap();
        assert!(validity.includes(now - hour));
        assert!(validity.includes(now + hour));
        assert!(!validity.includes(now + 3 * hour));
    }

    #[test]
    fn validity_ends_after_it_begins() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_800_000_000);
        assert!(Validity::new(now, now).is_err());
        assert!(Validity::from_now(now, Duration::MAX).is_ok_and(|v| v.until() == now));
        assert!(Validity::from_now(now, Duration::from_secs(YEAR_9999)).is_err());
    }
}
