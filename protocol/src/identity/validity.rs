use std::time::{Duration, SystemTime};

/// When a certificate may be used.
///
/// Invariant: `from` is before `until`, both between 1970 and 9999, in whole seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Validity {
    from: SystemTime,
    until: SystemTime,
}

/// Why two times are no validity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "valid from {from:?} until {until:?}, expected two times in this order before the year 9999"
)]
pub struct ValidityError {
    /// When it would begin.
    pub from: SystemTime,
    /// When it would end.
    pub until: SystemTime,
}

impl Validity {
    /// Valid from `from` until `until`, both cut to whole seconds.
    ///
    /// # Errors
    ///
    /// If the one is not before the other, or a certificate cannot say them.
    pub fn between(from: SystemTime, until: SystemTime) -> Result<Self, ValidityError> {
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

    /// Valid for `length` from now on, and for the last day, because clocks of hosts differ.
    ///
    /// # Errors
    ///
    /// If that ends in the year 9999 or later.
    pub fn starting(now: SystemTime, length: Duration) -> Result<Self, ValidityError> {
        let from = now.checked_sub(CLOCKS_DIFFER).unwrap_or(now);
        let until = now.checked_add(length).unwrap_or(now);
        Self::between(from, until)
    }

    /// When it begins.
    #[must_use]
    pub const fn from(&self) -> SystemTime {
        self.from
    }

    /// When it ends.
    #[must_use]
    pub const fn until(&self) -> SystemTime {
        self.until
    }

    /// Whether `now` lies in it.
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
    fn clocks_may_differ_by_an_hour() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_800_000_000);
        let hour = Duration::from_secs(3600);
        let validity = Validity::starting(now, 2 * hour).unwrap();
        assert!(validity.includes(now - hour));
        assert!(validity.includes(now + hour));
        assert!(!validity.includes(now + 3 * hour));
    }

    #[test]
    fn the_end_comes_after_the_beginning() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_800_000_000);
        assert!(Validity::between(now, now).is_err());
        assert!(Validity::starting(now, Duration::MAX).is_ok_and(|v| v.until() == now));
        assert!(Validity::starting(now, Duration::from_secs(YEAR_9999)).is_err());
    }
}
