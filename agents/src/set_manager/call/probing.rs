//! Probes of links before large moves.
//!
//! Moves that are predicted to take long are priced by a bandwidth that was measured some time ago. Where links can be
//! probed, the Manager that has decided probes the links of such moves, one after the other, prices the moves again, and
//! drops those that do not pay any more.

use bsp::HostId;
use migbsp::{LinkProbe, ProbedLink};
use protocol::{Address, AgentMessage, LinkProbed, ProbeLink};

use crate::check::check;
use crate::set_manager::SetManager;
use crate::setup::Rules;
use crate::world::{Cost, Mail, World};

/// The probes of a call.
#[derive(Debug, Default)]
pub(super) struct LinkProbes {
    /// The links to be probed, the next one last.
    pub(super) waiting: Vec<LinkProbe>,
    /// The one that is being probed, by its hosts.
    pub(super) asked: Option<(HostId, HostId)>,
    /// What was found, in the order of the probes.
    pub(super) probed: Vec<ProbedLink>,
}

impl LinkProbes {
    /// These probes, one after the other.
    pub(super) fn new(mut probes: Vec<LinkProbe>) -> Self {
        probes.reverse();
        Self {
            waiting: probes,
            ..Self::default()
        }
    }
}

impl SetManager {
    /// Probes the next link of `probes`. Returns them if all links are probed.
    pub(super) fn probe_next(
        &mut self,
        mut probes: LinkProbes,
        world: &mut dyn Mail,
    ) -> Option<LinkProbes> {
        let call = self.call.as_mut().expect("a call is being held");
        let Some(probe) = probes.waiting.pop() else {
            return Some(probes);
        };
        probes.asked = Some((probe.from, probe.to));
        call.probes = Some(probes);
        let order = ProbeLink {
            superstep: call.superstep,
            probe,
        };
        let (own, node) = (Address::SetManager(self.set), Address::Node(probe.from));
        world.send(own, node, AgentMessage::ProbeLink(order), Cost::Encoded);
        None
    }

    /// Handles what a node has found. When all links are probed, the moves are priced again.
    pub(super) fn handle_probed(
        &mut self,
        rules: &Rules,
        probed: LinkProbed,
        world: &mut dyn World,
    ) -> Result<(), String> {
        let call = self.call.as_mut().expect("a call is being held");
        let link = probed.link;
        let is_asked = |probes: &mut LinkProbes| probes.asked == Some((link.from, link.to));
        let probes = call.probes.take_if(is_asked);
        check(probes.is_some(), || {
            format!(
                "a probe of the link from {} to {}, which was not asked for",
                link.from, link.to
            )
        })?;
        let mut probes = probes.unwrap_or_default();
        probes.asked = None;
        probes.probed.push(link);
        let Some(probes) = self.probe_next(probes, world) else {
            return Ok(());
        };
        let call = self.call.as_mut().expect("a call is being held");
        match call.decision.take() {
            Some(decision) => {
                call.probed.clone_from(&probes.probed);
                let planner = self.planner.as_mut().expect("the first Manager plans");
                let decision =
                    planner.confirm(decision, &self.learned_cost.confirmed(&probes.probed));
                self.send_plan(rules, decision, world)
            }
            None => self.send_decisions(rules, probes.probed, world),
        }
    }
}
