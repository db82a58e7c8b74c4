//! Hosts around a backbone, each with links of its own.

use crate::platform::index::index;
use crate::platform::link::LinkId;

/// Hosts and routers around a backbone.
#[derive(Debug, Default)]
pub(super) struct Star {
    /// The links to and from the backbone by member; none of members without.
    pub(super) members: Vec<Option<[LinkId; 2]>>,
    pub(super) backbone: Option<LinkId>,
}

impl Star {
    /// Appends the links from one member to another, each link once, as SimGrid does.
    pub(super) fn connect(&self, from: u32, to: u32, links: &mut Vec<LinkId>) {
        let start = links.len();
        let (from, to) = (self.links_of(from), self.links_of(to));
        let backbone = self.backbone.filter(|_| from.is_some() || to.is_some());
        let up = from.map(|[up, _]| up);
        let down = to.map(|[_, down]| down);
        for link in [up, backbone, down].into_iter().flatten() {
            if !links[start..].contains(&link) {
                links.push(link);
            }
        }
    }

    /// Which members have links, of `members` in all.
    pub(super) fn connected(&self, members: usize) -> Vec<bool> {
        let mut connected: Vec<bool> = self.members.iter().map(Option::is_some).collect();
        connected.resize(members, false);
        connected
    }

    /// Whether a member has links.
    pub(super) fn is_connected(&self, member: u32) -> bool {
        self.links_of(member).is_some()
    }

    fn links_of(&self, member: u32) -> Option<[LinkId; 2]> {
        self.members.get(index(member)).copied().flatten()
    }
}
