//! Values that several tables have.

use bsp::units::Seconds;
use toml::Spanned;

use crate::platform::builder::{Cable, Duplex};
use crate::platform::error::{ErrorAt, PlatformErrorKind};
use crate::platform::tables::document::{CableTable, Scalar};
use crate::platform::units::{self, QuantityError};

pub(super) fn cable(table: &CableTable, duplex: Duplex) -> Result<Cable, ErrorAt> {
    Ok(Cable {
        bandwidth: quantity("bandwidth", &table.bandwidth, units::bandwidth)?,
        latency: match &table.latency {
            None => Seconds::ZERO,
            Some(latency) => quantity("latency", latency, units::time)?,
        },
        duplex: match &table.duplex {
            None => duplex,
            Some(met) => match met.get_ref().as_str() {
                "split" => Duplex::Split,
                "shared" => Duplex::Shared,
                "fatpipe" => Duplex::FatPipe,
                _ => {
                    return Err(error_at(
                        met,
                        PlatformErrorKind::InvalidValue {
                            key: "duplex",
                            met: met.get_ref().clone(),
                            expected: "\"split\", \"shared\" or \"fatpipe\"",
                        },
                    ));
                }
            },
        },
        bandwidth_profile: None,
        latency_profile: None,
    })
}

/// A cable that cannot have two directions.
pub(super) fn undirected_cable(table: &CableTable, duplex: Duplex) -> Result<Cable, ErrorAt> {
    let cable = cable(table, duplex)?;
    match &table.duplex {
        Some(met) if cable.duplex == Duplex::Split => Err(error_at(
            met,
            PlatformErrorKind::InvalidValue {
                key: "duplex",
                met: met.get_ref().clone(),
                expected: "\"shared\" or \"fatpipe\" here",
            },
        )),
        _ => Ok(cable),
    }
}

pub(super) fn quantity<T>(
    key: &'static str,
    met: &Spanned<Scalar>,
    read: impl FnOnce(&str) -> Result<T, QuantityError>,
) -> Result<T, ErrorAt> {
    read(&met.get_ref().0)
        .map_err(|error| error_at(met, PlatformErrorKind::Quantity { key, source: error }))
}

pub(super) fn error_at<T>(met: &Spanned<T>, kind: PlatformErrorKind) -> ErrorAt {
    ErrorAt {
        at: met.span().start,
        kind,
    }
}
