//! How long certificates are valid.

use std::time::{Duration, SystemTime};

use clap::builder::RangedI64ValueParser;
use protocol::identity::{Authority, Validity};

use analysis::certificates::date;
use experiments::Failure;

/// Reads `--days`.
pub(super) fn days() -> RangedI64ValueParser<u32> {
    RangedI64ValueParser::new().range(1..=DAYS_MAX)
}

/// Valid for `days` from now on.
///
/// # Errors
///
/// If the clock stands at the end of time.
pub(super) fn of_authority(days: u32) -> Result<Validity, Failure> {
    Validity::from_now(SystemTime::now(), length(days)).map_err(Failure::run)
}

/// Valid for `days` from now on; by default for [`DAYS`], or as long as `authority`.
///
/// # Errors
///
/// If `authority` ends before.
pub(super) fn of_member(authority: &Authority, days: Option<u32>) -> Result<Validity, Failure> {
    let (now, limit) = (SystemTime::now(), authority.validity().until());
    let left = left(authority, now)?;
    let asked = length(days.unwrap_or(DAYS));
    let granted = if days.is_none() {
        asked.min(left)
    } else {
        asked
    };
    if left < granted {
        return Err(Failure::Usage(format!(
            "--days {}: the authority of {} ends at {}: ask for less, or make a new authority",
            days.unwrap_or(DAYS),
            authority.cluster(),
            date(limit)
        )));
    }
    Validity::from_now(now, granted).map_err(Failure::run)
}

/// Remaining validity of `authority`.
///
/// # Errors
///
/// If it has ended.
pub(super) fn left(authority: &Authority, now: SystemTime) -> Result<Duration, Failure> {
    let limit = authority.validity().until();
    let left = limit.duration_since(now).unwrap_or_default();
    if left.is_zero() {
        return Err(Failure::Input(format!(
            "the authority of {} ended at {}: make a new one, and new certificates",
            authority.cluster(),
            date(limit)
        )));
    }
    Ok(left)
}

fn length(days: u32) -> Duration {
    Duration::from_secs(24 * 3600) * days
}

/// Default validity of a certificate, in days.
const DAYS: u32 = 30;

/// A hundred years.
const DAYS_MAX: i64 = 36_500;
