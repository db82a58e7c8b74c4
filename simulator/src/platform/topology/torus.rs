//! Tori: a grid whose opposite sides are connected.

use crate::platform::topology::problem::{TopologyProblem, check_positive, product};
use crate::platform::topology::{Crossing, NamedCable};

/// Hosts in a grid of any number of dimensions; each has one cable to its next host in each.
#[derive(Debug)]
pub(in crate::platform) struct Torus {
    dimensions: Vec<Dimension>,
    /// Number of dimensions.
    width: u32,
    hosts: u32,
    cables: u32,
}

#[derive(Clone, Copy, Debug)]
struct Dimension {
    /// Hosts in a ring.
    size: u32,
    /// From one host of a ring to the next.
    stride: u32,
}

impl Torus {
    pub(in crate::platform) fn new(sizes: &[u32]) -> Result<Self, TopologyProblem> {
        if sizes.is_empty() {
            return Err(TopologyProblem::Form("at least one number"));
        }
        check_positive(sizes.iter().copied())?;
        let hosts = product("hosts", sizes.iter().copied())?;
        let width = u32::try_from(sizes.len()).map_err(|_| TopologyProblem::TooLarge("cables"))?;
        let mut stride = 1;
        let mut dimensions = Vec::with_capacity(sizes.len());
        for size in sizes {
            dimensions.push(Dimension {
                size: *size,
                stride,
            });
            stride *= size;
        }
        Ok(Self {
            dimensions,
            width,
            hosts,
            cables: product("cables", [hosts, width])?,
        })
    }

    pub(super) const fn hosts(&self) -> u32 {
        self.hosts
    }

    pub(super) const fn cables(&self) -> u32 {
        self.cables
    }

    /// The cables by number, in the cluster of that name.
    pub(in crate::platform) fn named_cables(
        &self,
        cluster: &str,
    ) -> impl Iterator<Item = NamedCable> {
        (0..self.hosts).flat_map(move |host| {
            self.dimensions.iter().map(move |dimension| {
                let (_, next) = dimension.next(dimension.digit(host), host);
                NamedCable {
                    name: format!("{cluster}_link_from_{host}_to_{next}"),
                    width: 1,
                }
            })
        })
    }

    /// Goes along the dimensions one after the other, each the shorter way round.
    pub(super) fn walk(&self, from: u32, to: u32, mut visit: impl FnMut(Crossing)) {
        let mut host = from;
        for (number, dimension) in (0..).zip(&self.dimensions) {
            let up = dimension.leads_up(from, to);
            let (mut digit, target) = (dimension.digit(from), dimension.digit(to));
            while digit != target {
                visit(Crossing::Limiter(host));
                let before = host;
                (digit, host) = if up {
                    dimension.next(digit, host)
                } else {
                    dimension.previous(digit, host)
                };
                // A cable belongs to the host that it leads up from.
                let owner = if up { before } else { host };
                visit(Crossing::Cable {
                    number: owner * self.width + number,
                    up,
                });
            }
        }
        visit(Crossing::Limiter(to));
    }
}

impl Dimension {
    const fn digit(&self, host: u32) -> u32 {
        host / self.stride % self.size
    }

    /// The host after one with that digit, and its digit.
    const fn next(&self, digit: u32, host: u32) -> (u32, u32) {
        if digit == self.size - 1 {
            (0, host - digit * self.stride)
        } else {
            (digit + 1, host + self.stride)
        }
    }

    /// The host before one with that digit, and its digit.
    const fn previous(&self, digit: u32, host: u32) -> (u32, u32) {
        if digit == 0 {
            let last = self.size - 1;
            (last, host + last * self.stride)
        } else {
            (digit - 1, host - self.stride)
        }
    }

    /// Whether SimGrid goes up to reach one host of a ring from another.
    const fn leads_up(&self, from: u32, to: u32) -> bool {
        let (from, to, half) = (self.digit(from), self.digit(to), self.size / 2);
        (from < to && to <= from + half) || (half < from && to <= (from + half) % self.size)
    }
}
