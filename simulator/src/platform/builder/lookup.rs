//! Names of what was declared.

use bsp::HostId;
use bsp::numbers::index;

use crate::platform::builder::{Builder, Endpoint, NamedLink, ZoneDraft, check_shown};
use crate::platform::error::PlatformErrorKind;
use crate::platform::host::Host;
use crate::platform::link::Link;
use crate::platform::nearest::nearest;

impl Builder {
    /// Makes a name known; it has to be a new one.
    pub(super) fn name_node(
        &mut self,
        name: &str,
        node: Endpoint,
    ) -> Result<(), PlatformErrorKind> {
        let what = match node {
            Endpoint::Host(_) => "host",
            Endpoint::Router(_) => "router",
            Endpoint::Zone(_) => "zone",
        };
        check_shown(what, name)?;
        let known = (&self.hosts[..], &self.router_names[..], &self.zones[..]);
        if self
            .nodes
            .insert(name, node, |node| name_among(known, node))
        {
            return Ok(());
        }
        let name = name.to_owned();
        Err(PlatformErrorKind::Duplicate { what, name })
    }

    /// Makes the name of a link known; it has to be a new one.
    pub(super) fn name_link(
        &mut self,
        name: &str,
        link: NamedLink,
    ) -> Result<(), PlatformErrorKind> {
        let links = &self.links;
        if self
            .named_links
            .insert(name, link, |link| link_name(links, link))
        {
            return Ok(());
        }
        let (what, name) = ("link", name.to_owned());
        Err(PlatformErrorKind::Duplicate { what, name })
    }

    pub(in crate::platform) fn node(
        &self,
        what: &'static str,
        name: &str,
    ) -> Result<Endpoint, PlatformErrorKind> {
        self.known_node(name).ok_or_else(|| {
            let zones = self.zones.iter().map(|zone| zone.name.as_str());
            let routers = self.router_names.iter().map(String::as_str);
            let hosts = self.hosts.iter().map(|host| host.name.as_str());
            PlatformErrorKind::Unknown {
                what,
                name: name.to_owned(),
                nearest: nearest(name, hosts.chain(routers).chain(zones)),
            }
        })
    }

    pub(in crate::platform) fn wire(&self, name: &str) -> Result<NamedLink, PlatformErrorKind> {
        self.named_links
            .get(name, |link| link_name(&self.links, link))
            .ok_or_else(|| PlatformErrorKind::Unknown {
                what: "link",
                name: name.to_owned(),
                nearest: nearest(name, self.links.iter().map(|link| link.name.as_str())),
            })
    }

    /// The host of that name, if it is one.
    pub(in crate::platform) fn host(&self, name: &str) -> Option<HostId> {
        match self.known_node(name) {
            Some(Endpoint::Host(host)) => Some(HostId(host)),
            _ => None,
        }
    }

    /// The host of that name, which has to be one.
    pub(in crate::platform) fn known_host(&self, name: &str) -> Result<HostId, PlatformErrorKind> {
        self.host(name).ok_or_else(|| PlatformErrorKind::Unknown {
            what: "host",
            name: name.to_owned(),
            nearest: nearest(name, self.hosts.iter().map(|host| host.name.as_str())),
        })
    }

    /// The host of that name, which has to be one, with or without a speed.
    pub(in crate::platform) fn known_machine(
        &self,
        name: &str,
    ) -> Result<Endpoint, PlatformErrorKind> {
        match self.known_node(name) {
            Some(Endpoint::Router(number)) if self.idle_hosts.binary_search(&number).is_ok() => {
                Ok(Endpoint::Router(number))
            }
            _ => self.known_host(name).map(|host| Endpoint::Host(host.0)),
        }
    }

    pub(super) fn name_of(&self, node: Endpoint) -> &str {
        name_among((&self.hosts, &self.router_names, &self.zones), node)
    }

    fn known_node(&self, name: &str) -> Option<Endpoint> {
        self.nodes.get(name, |node| self.name_of(node))
    }
}

fn name_among<'a>(
    (hosts, routers, zones): (&'a [Host], &'a [String], &'a [ZoneDraft]),
    node: Endpoint,
) -> &'a str {
    match node {
        Endpoint::Host(host) => &hosts[index(host)].name,
        Endpoint::Router(router) => &routers[index(router)],
        Endpoint::Zone(zone) => &zones[index(zone)].name,
    }
}

/// The name of a link, or of two without `_UP` and `_DOWN`.
fn link_name(links: &[Link], link: NamedLink) -> &str {
    match link {
        NamedLink::Single(link) => &links[link.index()].name,
        NamedLink::Pair { up, .. } => {
            let name = &links[up.index()].name;
            name.strip_suffix("_UP").unwrap_or(name)
        }
    }
}
