//! Probes between this node and others.

use std::time::Instant as Clock;

use agents::{Event, Mail};
use bsp::HostId;
use migbsp::ProbedLink;
use protocol::{Address, LinkProbed, NodeMessage, Probe, ProbeLink};

use super::HostWorld;
use super::transfer_times::ProbeStep;

impl HostWorld {
    /// Sends the first probes.
    pub(crate) fn start_probing(&mut self) {
        for (host, probe) in self.transfers.start_probing(self.clock) {
            self.send_to_node(host, NodeMessage::Probe(probe));
        }
    }

    /// Whether all probes are back.
    pub(crate) fn has_probed(&self) -> bool {
        self.transfers.has_probed()
    }

    /// Handles a probe that has arrived from `host`.
    pub(super) fn handle_probe(&mut self, host: HostId, probe: &Probe, arrived: Clock) {
        match self
            .transfers
            .handle_probe(host, probe, (arrived, self.clock))
        {
            Ok(ProbeStep::Nothing) => {}
            Ok(ProbeStep::Send(next)) => self.send_to_node(host, NodeMessage::Probe(next)),
            Ok(ProbeStep::Report(by, order, (per_byte, took))) => {
                let link = ProbedLink {
                    from: self.own,
                    to: host,
                    per_byte,
                    took,
                };
                let superstep = order.superstep;
                let probed = LinkProbed { superstep, link };
                self.deliver(Address::Node(self.own), Event::LinkProbed { by, probed });
            }
            Err(problem) => self.refuse(Address::Node(host), problem),
        }
    }

    /// Sends the first probe that the order of a Manager, `by`, leads to.
    pub(super) fn order_probe(&mut self, order: ProbeLink, by: Address) {
        match self.transfers.order_probe(order, by, self.clock) {
            Ok(first) => self.send_to_node(order.probe.to, NodeMessage::Probe(first)),
            Err(problem) => self.refuse(by, problem),
        }
    }
}
