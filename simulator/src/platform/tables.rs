//! This project's own platform files: tables of Sets, links and loads in TOML.
//!
//! The format is described in `docs/platforms.md`.

mod changes;
mod document;
mod network;
mod sets;
mod topology;
mod values;

use std::ops::Range;

use crate::platform::Platform;
use crate::platform::builder::{Builder, ZoneRouting};
use crate::platform::error::{At, ErrorAt, PlatformError, PlatformErrorKind, without_mark};
use crate::platform::tables::document::Document;

impl Platform {
    /// Reads a platform in TOML, as described in `docs/platforms.md`.
    ///
    /// # Errors
    ///
    /// The place and the reason, if the text does not describe a platform.
    pub fn from_toml(text: &str) -> Result<Self, PlatformError> {
        read(&without_mark(text)).map_err(|error| error.locate(text))
    }
}

/// Reads a whole file.
fn read(text: &str) -> Result<Platform, ErrorAt> {
    let document: Document = toml::from_str(text).map_err(|error| ErrorAt {
        at: error.span().map_or(0, |span: Range<usize>| span.start),
        kind: PlatformErrorKind::Syntax(error.message().trim().replace('\n', "; ")),
    })?;
    let mut builder = Builder::default();
    let root = builder.open_zone(ROOT, None, ZoneRouting::Full, 0).at(0)?;
    let sets = sets::read(&mut builder, root, &document)?;
    network::read(&mut builder, root, &sets, &document)?;
    changes::read(&mut builder, &document)?;
    builder.finish()
}

/// Name of the zone around all Sets; no Set may have it.
const ROOT: &str = "";
