//! Links from hosts to a backbone.

use bsp::numbers::index;

use crate::platform::builder::{Builder, Endpoint, ZoneRouting};
use crate::platform::error::PlatformErrorKind;
use crate::platform::link::LinkId;

impl Builder {
    /// Connects a host or router of a star with its backbone.
    pub(in crate::platform) fn add_host_link(
        &mut self,
        zone: u32,
        host: Endpoint,
        up_and_down: [LinkId; 2],
    ) -> Result<(), PlatformErrorKind> {
        let local = index(self.local_in(zone, host)?);
        let members = &mut self.zones[index(zone)].star.members;
        if members.len() <= local {
            members.resize(local + 1, None);
        }
        if members[local].replace(up_and_down).is_some() {
            return Err(PlatformErrorKind::Duplicate {
                what: "link of host",
                name: self.name_of(host).to_owned(),
            });
        }
        Ok(())
    }

    /// Gives a star its backbone; it has at most one.
    pub(in crate::platform) fn set_backbone(
        &mut self,
        zone: u32,
        backbone: LinkId,
    ) -> Result<(), PlatformErrorKind> {
        let draft = &mut self.zones[index(zone)];
        if draft.star.backbone.replace(backbone).is_some() {
            let (what, name) = ("backbone of zone", draft.name.clone());
            return Err(PlatformErrorKind::Duplicate { what, name });
        }
        Ok(())
    }

    pub(in crate::platform) fn is_star(&self, zone: u32) -> bool {
        self.zones[index(zone)].routing == ZoneRouting::Star
    }
}
