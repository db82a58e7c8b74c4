//! What is solved when a flow begins or ends; `integration-tests` and `tests/fairness` check the rates.

use std::sync::Arc;

use bsp::HostId;
use bsp::units::Bytes;

use super::*;
use crate::calendar::Activity;
use crate::network::Network;
use crate::network_options::NetworkOptions;
use crate::platform::Platform;

/// The flows of one network, and their calendar.
struct Flows {
    network: Network,
    calendar: Calendar<Event>,
    count: u64,
}

impl Flows {
    /// Eighty hosts with a link of 100 MB/s each, and one backbone of that many MB/s, which all flows share.
    fn over(backbone: u32) -> Self {
        let text = format!(
            "[[set]]\nname = \"s\"\nhosts = 80\nspeed = \"1 Gf\"\n\
             link = {{ bandwidth = \"100 MBps\", latency = \"10 us\" }}\n\
             backbone = {{ bandwidth = \"{backbone} MBps\" }}\n"
        );
        Self::on(&text)
    }

    /// Two Sets of forty hosts with backbones of 90 and 100 MB/s, and a fast link between them.
    fn between_backbones() -> Self {
        let set = |name: &str, backbone: u32| {
            format!(
                "[[set]]\nname = \"{name}\"\nhosts = 40\nspeed = \"1 Gf\"\n\
                 link = {{ bandwidth = \"100 MBps\", latency = \"10 us\" }}\n\
                 backbone = {{ bandwidth = \"{backbone} MBps\" }}\n"
            )
        };
        let link = "[[link]]\nname = \"joint\"\nbetween = [\"a\", \"b\"]\n\
                    bandwidth = \"10 GBps\"\nlatency = \"10 us\"\n";
        Self::on(&[&set("a", 90), &set("b", 100), link].concat())
    }

    fn on(text: &str) -> Self {
        let platform = Arc::new(Platform::from_toml(text).unwrap());
        Self {
            network: Network::new(platform, NetworkOptions::default()),
            calendar: Calendar::new(),
            count: 0,
        }
    }

    /// Number of flows that the latest solution of a region looked at.
    fn members(&self) -> usize {
        self.network.solver.region.members.len()
    }

    /// A flow begins at the start of the run; whether a region had to be solved for it.
    fn begin(&mut self, from: u32, to: u32) -> bool {
        let ends = (HostId(from), HostId(to));
        let opened = self.network.open(
            ends,
            Bytes(1_000_000_000),
            (self.count, Activity(self.count)),
        );
        self.count += 1;
        let passes = self.network.solver.region.pass;
        assert!(self.network.begin(opened.unwrap().flow).is_none());
        self.network.solve(0.0, &mut self.calendar);
        passes != self.network.solver.region.pass
    }
}

#[test]
fn flows_on_a_busy_backbone_begin_without_a_look_at_the_others() {
    let mut flows = Flows::over(90);
    let solved: Vec<bool> = (0..40).map(|host| flows.begin(host, host + 40)).collect();
    // A few solutions of the region show that the backbone stays busy.
    let last = solved.iter().rposition(|solved| *solved).unwrap();
    assert!(last < 10, "{solved:?}");
    let end = flows.network.next_end().unwrap();
    // Forty equal flows of a gigabyte at 0.97 of 90 MB/s, which carries acknowledgements of a twentieth, too.
    let expected = 40.0 * 1e9 * 1.05 / (0.97 * 90e6);
    assert!(
        (end / expected - 1.0).abs() < 1e-9,
        "{end} against {expected}"
    );
}

#[test]
fn a_flow_that_no_other_meets_begins_without_a_look_at_them() {
    let mut flows = Flows::over(100_000);
    for host in 0..20 {
        assert!(!flows.begin(host, host + 40), "host {host}");
    }
}

#[test]
fn flows_that_hold_each_other_back_are_solved_together() {
    let mut flows = Flows::over(100_000);
    assert!(!flows.begin(0, 40));
    // Both leave host 0.
    assert!(flows.begin(0, 41));
    // This one meets neither.
    assert!(!flows.begin(1, 42));
}

#[test]
fn flows_between_busy_backbones_are_solved_without_a_look_at_their_flows() {
    let mut flows = Flows::between_backbones();
    for host in 0..20 {
        flows.begin(host, host + 20);
        flows.begin(40 + host, 60 + host);
    }
    // The slower backbone limits these, until the level of the other one is lower, with its many flows.
    for host in 0..10 {
        flows.begin(host, 50 + host);
    }
    let mut solutions = 0;
    for host in 0..20 {
        if flows.begin(60 + host, 40 + host) {
            solutions += 1;
            assert!(flows.members() <= 11, "{} members", flows.members());
        }
    }
    assert!((1..20).contains(&solutions), "{solutions} solutions");
}
