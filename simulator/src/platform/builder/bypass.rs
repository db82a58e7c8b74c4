//! Declared bypasses: whether they can ever be taken.

use bsp::numbers::index;

use crate::platform::builder::{Builder, BypassDraft, Endpoint, Route};
use crate::platform::error::PlatformErrorKind;
use crate::platform::routes::Bypasses;

impl Builder {
    /// Adds a route with priority over all others, from one point or zone inside `zone` to another;
    /// `route.back` does not count.
    pub(in crate::platform) fn add_bypass(
        &mut self,
        zone: u32,
        route: Route,
    ) -> Result<(), PlatformErrorKind> {
        let name = |node| self.name_of(node).to_owned();
        let [from, to] = route.ends;
        if route.there.is_empty() {
            let (from, to) = (name(from), name(to));
            return Err(PlatformErrorKind::EmptyRoute { from, to });
        }
        match route.gateways {
            None => {
                self.local_in(zone, from)?;
                self.local_in(zone, to)?;
            }
            Some(gateways) => {
                let branches = [self.branch(zone, from)?, self.branch(zone, to)?];
                if branches[0] == branches[1] {
                    return Err(PlatformErrorKind::SameBranch {
                        from: name(from),
                        to: name(to),
                        zone: name(Endpoint::Zone(branches[0])),
                    });
                }
                for (gateway, end) in gateways.into_iter().zip(route.ends) {
                    self.check_gateway(gateway, end)?;
                }
            }
        }
        if !self.bypassed.insert(route.ends) {
            let [from, to] = route.ends.map(|end| self.name_of(end).to_owned());
            return Err(PlatformErrorKind::DuplicateBypass { from, to });
        }
        self.bypasses.push(BypassDraft {
            ends: route.ends,
            gateways: route.gateways,
            links: route.there,
        });
        Ok(())
    }

    /// Compiles the bypasses; their links go to those of the routes.
    pub(super) fn compile_bypasses(&mut self) -> Result<Bypasses, PlatformErrorKind> {
        let (mut points, mut zones) = (Vec::new(), Vec::new());
        for bypass in std::mem::take(&mut self.bypasses) {
            let (list, ends) = match bypass.ends {
                [Endpoint::Zone(from), Endpoint::Zone(to)] => (&mut zones, [from, to]),
                ends => (&mut points, ends.map(|end| self.point(end))),
            };
            let edge = self.edge(ends, &bypass.links)?;
            list.push(self.resolve(edge, bypass.gateways));
        }
        Ok(Bypasses::new(points, zones))
    }

    /// The zone directly inside `zone` that is or contains another.
    fn branch(&self, zone: u32, inner: Endpoint) -> Result<u32, PlatformErrorKind> {
        let mut around = inner;
        while let Endpoint::Zone(branch) = around {
            match self.zones[index(branch)].parent {
                Some(parent) if parent == zone => return Ok(branch),
                Some(parent) => around = Endpoint::Zone(parent),
                None => break,
            }
        }
        Err(PlatformErrorKind::NotInside {
            name: self.name_of(inner).to_owned(),
            zone: self.zones[index(zone)].name.clone(),
        })
    }
}
