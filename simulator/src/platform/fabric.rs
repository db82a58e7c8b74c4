//! The links of a topology.

use crate::platform::link::LinkId;
use crate::platform::topology::Topology;
use crate::platform::topology::crossing::Crossing;

/// Hosts that a topology connects, and where its links are.
#[derive(Debug)]
pub(super) struct Fabric {
    pub(super) topology: Topology,
    /// The loopback of the first host; those of the others follow.
    pub(super) loopbacks: Option<LinkId>,
    /// The limiter of the first node; those of the others follow.
    pub(super) limiters: Option<LinkId>,
    /// The first link of the first cable; those of the others follow.
    pub(super) cables: LinkId,
    pub(super) has_two_directions: bool,
}

impl Fabric {
    /// Appends the links from one host to another.
    pub(super) fn connect(&self, from: u32, to: u32, links: &mut Vec<LinkId>) {
        if let Some(first) = self.loopbacks.filter(|_| from == to) {
            links.push(LinkId(first.0 + from));
            return;
        }
        let per_cable = self.links_per_cable();
        self.topology.walk(from, to, |crossing| match crossing {
            Crossing::Limiter(node) => links.extend(self.limiters.map(|it| LinkId(it.0 + node))),
            Crossing::Cable { number, up } => {
                let direction = u32::from(self.has_two_directions && !up);
                links.push(LinkId(self.cables.0 + number * per_cable + direction));
            }
        });
    }

    /// Whether the link is one of its own: they have consecutive numbers, cables last.
    pub(super) fn has(&self, link: LinkId) -> bool {
        let first = self.loopbacks.or(self.limiters).unwrap_or(self.cables);
        let links = self.topology.cables() * self.links_per_cable();
        (first.0..self.cables.0 + links).contains(&link.0)
    }

    /// Whether messages of a host to itself cross no link of its own.
    pub(super) const fn lacks_loops(&self) -> bool {
        matches!(self.topology, Topology::Torus(_))
            && self.loopbacks.is_none()
            && self.limiters.is_none()
    }

    const fn links_per_cable(&self) -> u32 {
        if self.has_two_directions { 2 } else { 1 }
    }
}
