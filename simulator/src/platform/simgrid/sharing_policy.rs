//! The attribute `sharing_policy`.

use crate::platform::builder::Duplex;
use crate::platform::error::{ErrorAt, PlatformErrorKind};
use crate::platform::simgrid::element::Attribute;

/// How the two directions of a link are related.
pub(super) fn duplex(met: Option<Attribute<'_>>, default: Duplex) -> Result<Duplex, ErrorAt> {
    let Some(met) = met else {
        return Ok(default);
    };
    match met.text {
        "SHARED" => Ok(Duplex::Shared),
        "SPLITDUPLEX" | "FULLDUPLEX" => Ok(Duplex::Split),
        "FATPIPE" => Ok(Duplex::FatPipe),
        "WIFI" => Err(met.error(PlatformErrorKind::NotSupported {
            what: "sharing_policy=\"WIFI\"".to_owned(),
            instead: "links are SHARED, SPLITDUPLEX or FATPIPE",
        })),
        _ => Err(met.choice("sharing_policy", "SHARED, SPLITDUPLEX or FATPIPE")),
    }
}
