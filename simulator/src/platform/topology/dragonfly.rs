//! Dragonflies: groups of chassis of routers, each level connected completely.

use crate::platform::topology::problem::{TopologyProblem, check_positive, product, sum};
use crate::platform::topology::{Crossing, NamedCable};

/// A number of parts, and how many cables' bandwidth connects two of them.
#[derive(Clone, Copy, Debug)]
pub(in crate::platform) struct Parts {
    pub(in crate::platform) count: u32,
    pub(in crate::platform) width: u32,
}

/// A dragonfly.
///
/// Green cables connect the routers of a chassis, black ones routers of the same number in the chassis
/// of a group. A blue cable connects two groups: it begins at that router of the first chassis which
/// has the number of the other group.
#[derive(Debug)]
pub(in crate::platform) struct Dragonfly {
    groups: Parts,
    chassis: Parts,
    routers: Parts,
    /// Hosts of each router.
    nodes: u32,
    hosts: u32,
    cables: u32,
    /// First cables of each colour; those of hosts come first.
    green: u32,
    black: u32,
    blue: u32,
}

/// Where a router is.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Router {
    group: u32,
    chassis: u32,
    number: u32,
}

impl Dragonfly {
    /// `groups` of `chassis` of `routers`, each with `nodes` hosts.
    pub(in crate::platform) fn new(
        groups: Parts,
        chassis: Parts,
        routers: Parts,
        nodes: u32,
    ) -> Result<Self, TopologyProblem> {
        let parts = [groups, chassis, routers];
        check_positive(
            parts
                .into_iter()
                .flat_map(|it| [it.count, it.width])
                .chain([nodes]),
        )?;
        let [g, c, r] = parts.map(|it| it.count);
        if 1 < g && r < g {
            let (groups, routers) = (g, r);
            return Err(TopologyProblem::FewRouters { groups, routers });
        }
        let hosts = product("hosts", [g, c, r, nodes])?;
        let green = product("cables", [g, c, pairs(r)?])?;
        let black = product("cables", [g, pairs(c)?, r])?;
        let blue = pairs(g)?;
        Ok(Self {
            groups,
            chassis,
            routers,
            nodes,
            hosts,
            cables: sum("cables", [hosts, green, black, blue])?,
            green: hosts,
            black: hosts + green,
            blue: hosts + green + black,
        })
    }

    pub(super) const fn hosts(&self) -> u32 {
        self.hosts
    }

    pub(super) const fn cables(&self) -> u32 {
        self.cables
    }

    /// SimGrid counts routers down from twice the hosts.
    pub(super) fn switch_ids(&self) -> Vec<i64> {
        let hosts = i64::from(self.hosts);
        (0..hosts / i64::from(self.nodes))
            .map(|router| 2 * hosts - 1 - router)
            .collect()
    }

    /// The cables by number, if `first` dragonfly cables come before them in the file.
    pub(in crate::platform) fn named_cables(&self, first: u32) -> impl Iterator<Item = NamedCable> {
        let (groups, chassis, routers) = (self.groups, self.chassis, self.routers);
        let local = (0..self.hosts).map(|host| {
            let (router, node) = (host / self.nodes, host % self.nodes);
            (format!("local_link_from_router_{router}_to_node_{node}"), 1)
        });
        let green = (0..groups.count * chassis.count).flat_map(move |number| {
            let chassis = number % chassis.count;
            each_pair(routers.count).map(move |(a, b)| {
                let name = format!("green_link_in_chassis_{chassis}_between_routers_{a}_and_{b}");
                (name, routers.width)
            })
        });
        let black = (0..groups.count).flat_map(move |group| {
            each_pair(chassis.count).flat_map(move |(a, b)| {
                (0..routers.count).map(move |router| {
                    let name = format!(
                        "black_link_in_group_{group}_between_chassis_{a}_and_{b}_blade_{router}"
                    );
                    (name, chassis.width)
                })
            })
        });
        let blue = each_pair(groups.count).map(move |(a, b)| {
            let size = chassis.count * routers.count;
            let (from, to) = (a * size + b, b * size + a);
            let name = format!("blue_link_between_group_{a}_and_{b}_routers_{from}_and_{to}");
            (name, groups.width)
        });
        local
            .chain(green)
            .chain(black)
            .chain(blue)
            .zip(u64::from(first)..)
            .map(|((name, width), number)| NamedCable {
                name: format!("{name}_{number}"),
                width,
            })
    }

    /// Takes the shortest way between groups, then the router's number, then the chassis.
    pub(super) fn walk(&self, from: u32, to: u32, mut visit: impl FnMut(Crossing)) {
        let (source, target) = (self.router(from), self.router(to));
        visit(Crossing::Limiter(from));
        visit(Crossing::Cable {
            number: from,
            up: true,
        });
        if source != target {
            self.walk_between(source, target, &mut visit);
        }
        visit(Crossing::Limiter(self.node(target)));
        visit(Crossing::Cable {
            number: to,
            up: false,
        });
        visit(Crossing::Limiter(to));
    }

    fn walk_between(&self, source: Router, target: Router, visit: &mut impl FnMut(Crossing)) {
        let mut router = source;
        if router.group != target.group {
            if router.number != target.group {
                visit(Crossing::Limiter(self.node(router)));
                visit(self.green(router, target.group));
                router.number = target.group;
            }
            if router.chassis != 0 {
                visit(Crossing::Limiter(self.node(router)));
                visit(self.black(router, 0));
                router.chassis = 0;
            }
            visit(self.blue(router.group, target.group));
            visit(Crossing::Limiter(self.node(router)));
            router = Router {
                group: target.group,
                chassis: 0,
                number: source.group,
            };
        }
        if router.number != target.number {
            visit(Crossing::Limiter(self.node(router)));
            visit(self.green(router, target.number));
            // SimGrid goes on from the first chassis, whichever chassis the green cable is in.
            router.number = target.number;
            router.chassis = 0;
        }
        if router.chassis != target.chassis {
            visit(Crossing::Limiter(self.node(router)));
            visit(self.black(router, target.chassis));
        }
    }

    /// The router of a host.
    const fn router(&self, host: u32) -> Router {
        let router = host / self.nodes;
        let chassis = router / self.routers.count;
        Router {
            group: chassis / self.chassis.count,
            chassis: chassis % self.chassis.count,
            number: router % self.routers.count,
        }
    }

    /// The number of a router among all nodes.
    const fn node(&self, router: Router) -> u32 {
        let chassis = router.group * self.chassis.count + router.chassis;
        self.hosts + chassis * self.routers.count + router.number
    }

    /// The cable to another router of the chassis.
    const fn green(&self, router: Router, to: u32) -> Crossing {
        let chassis = router.group * self.chassis.count + router.chassis;
        let (pair, up) = pair(self.routers.count, router.number, to);
        let number = self.green + chassis * pairs_of(self.routers.count) + pair;
        Crossing::Cable { number, up }
    }

    /// The cable to another chassis of the group.
    const fn black(&self, router: Router, to: u32) -> Crossing {
        let (pair, up) = pair(self.chassis.count, router.chassis, to);
        let pair = router.group * pairs_of(self.chassis.count) + pair;
        let number = self.black + pair * self.routers.count + router.number;
        Crossing::Cable { number, up }
    }

    /// The cable from one group to another.
    const fn blue(&self, from: u32, to: u32) -> Crossing {
        let (pair, up) = pair(self.groups.count, from, to);
        Crossing::Cable {
            number: self.blue + pair,
            up,
        }
    }
}

/// Pairs of different numbers below `count`, the lower one first, in order.
fn each_pair(count: u32) -> impl Iterator<Item = (u32, u32)> {
    (0..count).flat_map(move |a| (a + 1..count).map(move |b| (a, b)))
}

/// The number of a pair among those of [`each_pair`], and whether the lower end comes first.
const fn pair(count: u32, from: u32, to: u32) -> (u32, bool) {
    let (a, b) = if from < to { (from, to) } else { (to, from) };
    // Pairs whose lower end is below `a`.
    let before = pairs_of(count) - pairs_of(count - a);
    (before + b - a - 1, from < to)
}

/// Number of pairs of `count` parts, of which there is at least one; checked by [`pairs`].
const fn pairs_of(count: u32) -> u32 {
    count * (count - 1) / 2
}

/// Number of pairs, if they can be counted.
fn pairs(count: u32) -> Result<u32, TopologyProblem> {
    product("cables", [count, count])?;
    Ok(pairs_of(count))
}
