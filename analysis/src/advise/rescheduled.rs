//! Advice about programs whose processes are rescheduled.

use experiments::Failure;

use crate::advise::reading::Reading;
use crate::advise::report::Report;

/// The advice about the run whose record `reading` is.
pub(super) fn advise(reading: &Reading) -> Result<Report, Failure> {
    Err(reading.fault("not yet"))
}
