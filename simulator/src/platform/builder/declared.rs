//! Declared routes: whether their ends and gateways lie where they should.

use bsp::numbers::index;

use crate::platform::builder::{Builder, Endpoint, Route, count};
use crate::platform::error::PlatformErrorKind;
use crate::platform::link::LinkId;
use crate::platform::routes::{Edge, Location, NO_POINT};

impl Builder {
    /// Adds a route between two things that lie directly in `zone`.
    pub(in crate::platform) fn add_route(
        &mut self,
        zone: u32,
        route: &Route,
    ) -> Result<(), PlatformErrorKind> {
        if route.there.is_empty() {
            let [from, to] = route.ends.map(|end| self.name_of(end).to_owned());
            return Err(PlatformErrorKind::EmptyRoute { from, to });
        }
        for end in route.ends {
            self.local_in(zone, end)?;
        }
        if let Some(gateways) = route.gateways {
            for (gateway, end) in gateways.into_iter().zip(route.ends) {
                self.check_gateway(gateway, end)?;
            }
        }
        let [from, to] = route.ends;
        self.add_edge(zone, [from, to], route.gateways, &route.there)?;
        if let Some(back) = route.back.as_ref().filter(|_| from != to) {
            let gateways = route.gateways.map(|[from, to]| [to, from]);
            self.add_edge(zone, [to, from], gateways, back)?;
        }
        Ok(())
    }

    /// Whether a route, in this direction, was already declared.
    pub(in crate::platform) fn has_route(&self, zone: u32, from: Endpoint, to: Endpoint) -> bool {
        match (self.local_in(zone, from), self.local_in(zone, to)) {
            (Ok(from), Ok(to)) => self.zones[index(zone)].pairs.contains(&(from, to)),
            _ => false,
        }
    }

    /// Connects an inner zone with the core that all such zones share.
    pub(in crate::platform) fn add_uplink(
        &mut self,
        inner: u32,
        gateway: Endpoint,
        up: LinkId,
        down: LinkId,
    ) {
        let place = self.zones[index(inner)].place;
        let uplinks = &mut self.zones[index(place.zone)].uplinks;
        if uplinks.len() <= index(place.local) {
            uplinks.resize(index(place.local) + 1, None);
        }
        uplinks[index(place.local)] = Some((gateway, up, down));
    }

    pub(in crate::platform) fn set_core(&mut self, zone: u32, core: LinkId) {
        self.zones[index(zone)].core = Some(core);
    }

    fn add_edge(
        &mut self,
        zone: u32,
        ends: [Endpoint; 2],
        gateways: Option<[Endpoint; 2]>,
        links: &[LinkId],
    ) -> Result<(), PlatformErrorKind> {
        let (from, to) = (self.local_in(zone, ends[0])?, self.local_in(zone, ends[1])?);
        if !self.zones[index(zone)].pairs.insert((from, to)) {
            let [from, to] = ends.map(|end| self.name_of(end).to_owned());
            return Err(PlatformErrorKind::DuplicateRoute { from, to });
        }
        let edge = self.edge([from, to], links)?;
        self.zones[index(zone)].edges.push((edge, gateways));
        Ok(())
    }

    /// An edge over these links, without gateways.
    pub(super) fn edge(
        &mut self,
        [from, to]: [u32; 2],
        links: &[LinkId],
    ) -> Result<Edge, PlatformErrorKind> {
        let first = count(self.route_links.len(), "links of routes")?;
        let count = count(links.len(), "links of a route")?;
        self.route_links.extend_from_slice(links);
        Ok(Edge {
            from,
            to,
            first,
            count,
            gateway_from: NO_POINT,
            gateway_to: NO_POINT,
        })
    }

    /// The number of something in the zone it has to lie in directly.
    pub(super) fn local_in(&self, zone: u32, node: Endpoint) -> Result<u32, PlatformErrorKind> {
        let place = self.place(node);
        let is_root =
            matches!(node, Endpoint::Zone(number) if self.zones[index(number)].parent.is_none());
        if place.zone == zone && !is_root {
            return Ok(place.local);
        }
        Err(PlatformErrorKind::OutsideZone {
            name: self.name_of(node).to_owned(),
            zone: self.zones[index(zone)].name.clone(),
        })
    }

    pub(super) fn check_gateway(
        &self,
        gateway: Endpoint,
        end: Endpoint,
    ) -> Result<(), PlatformErrorKind> {
        let Endpoint::Zone(zone) = end else {
            return Ok(());
        };
        let mut around = self.place(gateway).zone;
        let is_point = !matches!(gateway, Endpoint::Zone(_));
        while around != zone {
            match self.zones[index(around)].parent {
                Some(parent) => around = parent,
                None => break,
            }
        }
        if is_point && around == zone {
            return Ok(());
        }
        Err(PlatformErrorKind::GatewayOutsideZone {
            gateway: self.name_of(gateway).to_owned(),
            zone: self.zones[index(zone)].name.clone(),
        })
    }

    pub(super) fn place(&self, node: Endpoint) -> Location {
        match node {
            Endpoint::Host(host) => self.host_locations[index(host)],
            Endpoint::Router(router) => self.router_locations[index(router)],
            Endpoint::Zone(zone) => self.zones[index(zone)].place,
        }
    }
}
