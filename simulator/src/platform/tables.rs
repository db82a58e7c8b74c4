//! Our own platform files: tables of Sets, links and loads in TOML.
//!
//! The format is described in `docs/platforms.md`.

mod changes;
mod document;
mod names;
mod network;
mod sets;

use std::ops::Range;

use toml::Spanned;

use crate::platform::builder::{Builder, Cable, Duplex, Kind};
use crate::platform::error::{At, Misfit};
use crate::platform::tables::document::{CableTable, Document, Scalar};
use crate::platform::{Fault, Platform, QuantityError, units};

/// Reads a whole file.
pub(super) fn read(text: &str) -> Result<Platform, Misfit> {
    let document: Document = toml::from_str(text).map_err(|error| Misfit {
        at: error.span().map_or(0, |span: Range<usize>| span.start),
        fault: Fault::Syntax(error.message().trim().replace('\n', "; ")),
    })?;
    let mut builder = Builder::default();
    let world = builder.open_zone(WORLD, None, Kind::Full, 0).at(0)?;
    let sets = sets::read(&mut builder, world, &document)?;
    network::read(&mut builder, world, &sets, &document)?;
    changes::read(&mut builder, &document)?;
    builder.finish()
}

/// Name of the zone around all Sets; no Set may have it.
const WORLD: &str = "";

fn cable(table: &CableTable, duplex: Duplex) -> Result<Cable, Misfit> {
    Ok(Cable {
        bandwidth: quantity("bandwidth", &table.bandwidth, units::bandwidth)?,
        latency: match &table.latency {
            None => bsp::units::Seconds::ZERO,
            Some(latency) => quantity("latency", latency, units::time)?,
        },
        duplex: match &table.duplex {
            None => duplex,
            Some(met) => match met.get_ref().as_str() {
                "split" => Duplex::Split,
                "shared" => Duplex::Shared,
                "fatpipe" => Duplex::FatPipe,
                _ => {
                    return Err(fault(
                        met,
                        Fault::Choice {
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
fn undirected_cable(table: &CableTable, duplex: Duplex) -> Result<Cable, Misfit> {
    let cable = cable(table, duplex)?;
    match &table.duplex {
        Some(met) if cable.duplex == Duplex::Split => Err(fault(
            met,
            Fault::Choice {
                key: "duplex",
                met: met.get_ref().clone(),
                expected: "\"shared\" or \"fatpipe\" here",
            },
        )),
        _ => Ok(cable),
    }
}

fn quantity<T>(
    key: &'static str,
    met: &Spanned<Scalar>,
    read: impl FnOnce(&str) -> Result<T, QuantityError>,
) -> Result<T, Misfit> {
    read(&met.get_ref().0).map_err(|error| fault(met, Fault::Quantity { key, fault: error }))
}

fn fault<T>(met: &Spanned<T>, fault: Fault) -> Misfit {
    Misfit {
        at: met.span().start,
        fault,
    }
}
