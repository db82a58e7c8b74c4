//! Warnings of hosts that no message can leave or reach.

use bsp::numbers::index;

use crate::platform::builder::{Builder, Endpoint, ZoneDraft, ZoneRouting};

impl Builder {
    /// Warns of hosts and zones that no route of their zone reaches.
    pub(in crate::platform) fn warn_of_isolated(&mut self) {
        let mut warnings = Vec::new();
        for draft in &self.zones {
            let reached = match draft.routing {
                ZoneRouting::None | ZoneRouting::Cluster => continue,
                ZoneRouting::Star => draft.star.connected(draft.members.len()),
                ZoneRouting::Full | ZoneRouting::Shortest(_) => self.reached(draft),
            };
            if draft.members.len() < 2 {
                continue;
            }
            let mut isolated = draft
                .members
                .iter()
                .zip(reached)
                .filter(|(node, reached)| !reached && !matches!(node, Endpoint::Router(_)))
                .map(|(node, _)| self.name_of(*node));
            if let Some(first) = isolated.next() {
                let others = match isolated.count() {
                    0 => String::new(),
                    1 => " and one other member".to_owned(),
                    more => format!(" and {more} other members"),
                };
                warnings.push(format!(
                    "no route leads from or to `{first}`{others} of zone `{}`: a message there \
                     ends the run",
                    draft.name
                ));
            }
        }
        for warning in warnings {
            self.warn(warning);
        }
    }

    /// Which members of a zone its routes and bypasses lead to or from.
    fn reached(&self, draft: &ZoneDraft) -> Vec<bool> {
        let mut reached = vec![false; draft.members.len()];
        for (from, to) in draft.pairs.iter().filter(|(from, to)| from != to) {
            reached[index(*from)] = true;
            reached[index(*to)] = true;
        }
        for node in self.bypasses.iter().flat_map(|bypass| bypass.ends) {
            let local = index(self.place(node).local);
            if draft.members.get(local) == Some(&node) {
                reached[local] = true;
            }
        }
        reached
    }
}
