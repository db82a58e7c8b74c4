//! Hosts, as they were measured for a call.

use bsp::HostId;
use bsp::units::InstructionsPerSecond;
use migbsp::Processor;
use protocol::Measured;
use serde::{Deserialize, Serialize};

/// Consecutive hosts that measured the same for a call; written as a list of its fields.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(from = "Row", into = "Row")]
pub struct Hosts {
    /// The first of them.
    pub first: HostId,
    /// The number of hosts.
    pub number: u32,
    /// Of one core.
    pub speed: InstructionsPerSecond,
    /// The number of cores of each.
    pub cores: u32,
    /// What part of them others take, in `[0, 1]`, over the papers' long window.
    pub load: f64,
    /// The same over a short one, where plans name processors.
    pub load_recent: f64,
}

/// Its fields, in their order: there are some in every call.
#[derive(Serialize, Deserialize)]
struct Row(HostId, u32, InstructionsPerSecond, u32, f64, f64);

impl Hosts {
    /// Hosts as they reported themselves, in their order.
    #[must_use]
    pub fn of(measured: &[Measured]) -> Vec<Self> {
        let mut all: Vec<Self> = Vec::new();
        for host in measured {
            let alone = Self {
                first: host.host,
                number: 1,
                speed: host.speed,
                cores: host.cores,
                load: host.load,
                load_recent: host.load_recent,
            };
            match all.last_mut() {
                Some(last) if last.goes_on(&alone) => last.number += 1,
                _ => all.push(alone),
            }
        }
        all
    }

    /// Which hosts they are.
    pub fn ids(&self) -> impl Iterator<Item = HostId> + use<> {
        let first = self.first.0;
        (first..first.saturating_add(self.number)).map(HostId)
    }

    /// The processors that the model knows them as, without residents, under a `load`.
    pub fn processors(&self, load: f64) -> impl Iterator<Item = Processor> + use<> {
        let Self { speed, cores, .. } = *self;
        self.ids().map(move |host| Processor {
            host,
            speed,
            cores,
            load,
            residents: Vec::new(),
        })
    }

    /// Whether `next` is the next one of the same.
    fn goes_on(&self, next: &Self) -> bool {
        let expected = Self {
            first: HostId(self.first.0.saturating_add(self.number)),
            number: 1,
            ..*self
        };
        expected == *next
    }
}

impl From<Row> for Hosts {
    fn from(Row(first, number, speed, cores, load, load_recent): Row) -> Self {
        Self {
            first,
            number,
            speed,
            cores,
            load,
            load_recent,
        }
    }
}

impl From<Hosts> for Row {
    fn from(hosts: Hosts) -> Self {
        Self(
            hosts.first,
            hosts.number,
            hosts.speed,
            hosts.cores,
            hosts.load,
            hosts.load_recent,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_that_measure_the_same_take_one_row() {
        let measured = |(host, load)| Measured {
            superstep: 3,
            host: HostId(host),
            speed: InstructionsPerSecond::new(1e9).unwrap(),
            cores: 2,
            load,
            load_recent: 0.0,
            more: migbsp::Measurements::default(),
        };
        let all = [(4, 0.0), (5, 0.0), (6, 0.5), (7, 0.0), (9, 0.0)].map(measured);
        let hosts = Hosts::of(&all);
        assert_eq!(
            serde_json::to_string(&hosts).unwrap(),
            "[[4,2,1000000000.0,2,0.0,0.0],[6,1,1000000000.0,2,0.5,0.0],\
             [7,1,1000000000.0,2,0.0,0.0],[9,1,1000000000.0,2,0.0,0.0]]"
        );
        let again = hosts.iter().flat_map(|hosts| hosts.processors(hosts.load));
        let again: Vec<(u32, f64)> = again.map(|host| (host.host.0, host.load)).collect();
        assert_eq!(again, [(4, 0.0), (5, 0.0), (6, 0.5), (7, 0.0), (9, 0.0)]);
    }
}
