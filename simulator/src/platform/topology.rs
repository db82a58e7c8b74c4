//! Hosts in a regular pattern of switches and cables.
//!
//! Cables, their names and the routes over them are those of SimGrid's clusters. A route follows from
//! the numbers of its two hosts, so that nothing is stored for a pair.

use bsp::numbers::length;

/// A pattern of hosts, switches and cables. Nodes are the hosts, then the switches.
#[derive(Debug)]
pub(super) enum Topology {
    FatTree(FatTree),
    Torus(Torus),
    Dragonfly(Dragonfly),
}

impl Topology {
    /// Number of hosts.
    pub(super) const fn hosts(&self) -> u32 {
        match self {
            Self::FatTree(tree) => tree.hosts,
            Self::Torus(torus) => torus.hosts,
            Self::Dragonfly(dragonfly) => dragonfly.hosts,
        }
    }

    /// Checks that there is a host for each place.
    pub(super) fn check_hosts(&self, hosts: usize) -> Result<(), TopologyProblem> {
        let (expected, found) = (u64::from(self.hosts()), length(hosts));
        if expected == found {
            return Ok(());
        }
        Err(TopologyProblem::Hosts { expected, found })
    }

    /// Number of cables.
    pub(super) const fn cables(&self) -> u32 {
        match self {
            Self::FatTree(tree) => tree.cables,
            Self::Torus(torus) => torus.cables,
            Self::Dragonfly(dragonfly) => dragonfly.cables,
        }
    }

    /// The numbers in the names of the switches' limiters, in the order of the switches.
    pub(super) fn switch_ids(&self) -> Vec<i64> {
        match self {
            Self::FatTree(tree) => tree.switch_ids(),
            Self::Torus(_) => Vec::new(),
            Self::Dragonfly(dragonfly) => dragonfly.switch_ids(),
        }
    }

    /// Visits what a message from one host to another crosses, in order. A host of a torus reaches
    /// itself over its limiter alone.
    pub(super) fn walk(&self, from: u32, to: u32, visit: impl FnMut(Crossing)) {
        match self {
            Self::FatTree(tree) => tree.walk(from, to, visit),
            Self::Torus(torus) => torus.walk(from, to, visit),
            Self::Dragonfly(dragonfly) => dragonfly.walk(from, to, visit),
        }
    }
}

/// What a message crosses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::platform) enum Crossing {
    /// The limiter of a node. Nodes are the hosts, then the switches.
    Limiter(u32),
    /// A cable, in the direction it was declared in or the other.
    Cable { number: u32, up: bool },
}

/// A cable of a topology.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::platform) struct NamedCable {
    pub(in crate::platform) name: String,
    /// Its bandwidth, in bandwidths of the cluster's cables.
    pub(in crate::platform) width: u32,
}

/// Why numbers do not describe a topology.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TopologyProblem {
    /// The parts or lists do not have the form of the topology.
    #[error("must be {0}")]
    Form(&'static str),
    /// A number of hosts, switches or cables that is not positive.
    #[error("`{0}` is not a number from 1")]
    Number(String),
    /// A list of a fat tree that has not one number for each level.
    #[error("a fat tree of {levels} levels has {levels} numbers of {what}, not {found}")]
    Levels {
        /// What the list counts.
        what: &'static str,
        /// Number of levels.
        levels: usize,
        /// Length of the list.
        found: usize,
    },
    /// Another number of hosts.
    #[error("it has {expected} hosts, but {found} are declared")]
    Hosts {
        /// Hosts of the topology.
        expected: u64,
        /// Hosts declared.
        found: u64,
    },
    /// A dragonfly whose groups have no router for each other group.
    #[error(
        "{groups} groups take at least {groups} routers in each chassis, one for each other group, not \
         {routers}"
    )]
    FewRouters {
        /// Number of groups.
        groups: u32,
        /// Routers of a chassis.
        routers: u32,
    },
    /// More hosts, switches or cables than can be numbered.
    #[error("it has too many {0}")]
    TooLarge(&'static str),
}

/// The product of positive numbers, if it is small enough to count `what`.
fn product(
    what: &'static str,
    factors: impl IntoIterator<Item = u32>,
) -> Result<u32, TopologyProblem> {
    let product = factors
        .into_iter()
        .try_fold(1_u64, |product, factor| {
            Some(product * u64::from(factor)).filter(|product| *product <= COUNT_MAX)
        })
        .ok_or(TopologyProblem::TooLarge(what))?;
    u32::try_from(product).map_err(|_| TopologyProblem::TooLarge(what))
}

/// The sum, if it is small enough to count `what`.
fn sum(
    what: &'static str,
    summands: impl IntoIterator<Item = u32>,
) -> Result<u32, TopologyProblem> {
    summands
        .into_iter()
        .try_fold(0_u64, |sum, summand| {
            Some(sum + u64::from(summand)).filter(|sum| *sum <= COUNT_MAX)
        })
        .and_then(|sum| u32::try_from(sum).ok())
        .ok_or(TopologyProblem::TooLarge(what))
}

/// Refuses zero.
fn check_positive(numbers: impl IntoIterator<Item = u32>) -> Result<(), TopologyProblem> {
    match numbers.into_iter().find(|number| *number == 0) {
        None => Ok(()),
        Some(zero) => Err(TopologyProblem::Number(zero.to_string())),
    }
}

/// Most hosts, switches or cables of one topology; more would take gigabytes.
const COUNT_MAX: u64 = 1 << 24;

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
    fn walk(&self, from: u32, to: u32, mut visit: impl FnMut(Crossing)) {
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

/// A fat tree (a k-ary n-tree with any number of children, parents and parallel cables).
///
/// A node of level `l`, of which level 0 are the hosts, has one digit for each level of switches. Digit
/// `i` says which parent of those above it is if `i < l`, and which child otherwise. Its position is
/// the number with these digits, the first one the lowest. A node and its parent differ in one digit.
#[derive(Debug)]
pub(in crate::platform) struct FatTree {
    levels: Vec<Level>,
    hosts: u32,
    cables: u32,
    /// Hosts of the fat trees before it in the file: SimGrid counts the positions of all of them
    /// together to choose among parents and parallel cables.
    position: u32,
}

/// A level of switches and the cables below it.
#[derive(Clone, Copy, Debug)]
struct Level {
    /// Nodes below each switch.
    children: u32,
    /// Switches above each node below.
    parents: u32,
    /// Parallel cables between such a pair.
    ports: u32,
    /// Products of `children` and of `parents` of the levels below.
    children_below: u32,
    parents_below: u32,
    /// Nodes of the level below.
    nodes_below: u32,
    /// First cable and first switch of this level.
    first_cable: u32,
    first_switch: u32,
}

impl FatTree {
    /// The tree with these numbers for each level, the lowest first; `position` hosts belong to the fat
    /// trees before it in the file.
    pub(in crate::platform) fn new(
        children: &[u32],
        parents: &[u32],
        ports: &[u32],
        position: u32,
    ) -> Result<Self, TopologyProblem> {
        let depth = children.len();
        if depth == 0 {
            return Err(TopologyProblem::Form("at least one level"));
        }
        for (what, list) in [("parents", parents), ("cables", ports)] {
            if list.len() != depth {
                let (levels, found) = (depth, list.len());
                return Err(TopologyProblem::Levels {
                    what,
                    levels,
                    found,
                });
            }
        }
        check_positive([children, parents, ports].concat())?;
        let hosts = product("hosts", children.iter().copied())?;
        let (mut first_cable, mut first_switch) = (0, hosts);
        let mut levels = Vec::with_capacity(depth);
        for level in 0..depth {
            let above = || children[level + 1..].iter().copied();
            let children_below = product("hosts", children[..level].iter().copied())?;
            let parents_below = product("switches", parents[..level].iter().copied())?;
            let nodes_below = product(
                "switches",
                [parents_below, children[level]].into_iter().chain(above()),
            )?;
            let nodes = product(
                "switches",
                [parents_below, parents[level]].into_iter().chain(above()),
            )?;
            levels.push(Level {
                children: children[level],
                parents: parents[level],
                ports: ports[level],
                children_below,
                parents_below,
                nodes_below,
                first_cable,
                first_switch,
            });
            let cables = product("cables", [nodes_below, parents[level], ports[level]])?;
            product("ports", [children[level], ports[level]])?;
            first_cable = sum("cables", [first_cable, cables])?;
            first_switch = sum("switches", [first_switch, nodes])?;
        }
        sum("hosts", [position, hosts])?;
        Ok(Self {
            levels,
            hosts,
            cables: first_cable,
            position,
        })
    }

    fn switch_ids(&self) -> Vec<i64> {
        let nodes = self.levels.iter().map(|level| level.nodes_below).skip(1);
        let last = self.levels.last().map_or(0, |level| {
            level.nodes_below / level.children * level.parents
        });
        (self.hosts..self.hosts + nodes.sum::<u32>() + last)
            .map(|switch| self.id(switch))
            .collect()
    }

    /// The cables by number, if `first` fat-tree cables come before them in the file.
    pub(in crate::platform) fn named_cables(&self, first: u32) -> impl Iterator<Item = NamedCable> {
        (0..self.levels.len())
            .flat_map(move |below| {
                let level = self.levels[below];
                (0..level.nodes_below).flat_map(move |node| {
                    (0..level.parents).flat_map(move |parent| {
                        let ends = (
                            self.node(below, node),
                            self.node(below + 1, level.parent(node, parent)),
                        );
                        (0..level.ports).map(move |_| ends)
                    })
                })
            })
            .zip(u64::from(first)..)
            .map(|((node, parent), number)| NamedCable {
                name: format!("link_from_{}_{}_{number}", self.id(node), self.id(parent)),
                width: 1,
            })
    }

    /// Goes up until a switch is above both hosts, by the digits of the receiver's position, and down.
    fn walk(&self, from: u32, to: u32, mut visit: impl FnMut(Crossing)) {
        let (mut height, mut node) = (0, from);
        while height == 0 || !self.is_above(height, node, to) {
            let level = self.levels[height];
            let choice = (self.position + to) / level.parents_below % (level.parents * level.ports);
            let (parent, port) = (choice % level.parents, choice / level.parents);
            visit(Crossing::Limiter(self.node(height, node)));
            let number = level.cable(node, parent, port);
            visit(Crossing::Cable { number, up: true });
            node = level.parent(node, parent);
            height += 1;
        }
        // SimGrid looks for the cable down among a switch's children, from the parallel ones that the
        // sender's position chooses; below the first switch it goes on from where it found the last.
        let mut next = None;
        while 0 < height {
            let level = self.levels[height - 1];
            let digit = to / level.children_below % level.children;
            let start = (self.position + from) % level.ports * level.children;
            let at_least = |least: u32| {
                least + (digit + level.children - least % level.children) % level.children
            };
            let found = next
                .map(at_least)
                .filter(|child| *child < level.children * level.ports)
                .unwrap_or_else(|| at_least(start));
            let (parent, child) = (node, level.child(node, digit));
            let number = level.cable(child, level.parent_digit(parent), found / level.children);
            visit(Crossing::Cable { number, up: false });
            visit(Crossing::Limiter(self.node(height, parent)));
            node = child;
            height -= 1;
            next = Some(found + 1);
        }
        visit(Crossing::Limiter(to));
    }

    /// Whether a switch of level `height` is above the host.
    fn is_above(&self, height: usize, switch: u32, host: u32) -> bool {
        self.levels
            .get(height)
            .is_none_or(|level| switch / level.parents_below == host / level.children_below)
    }

    /// The number of a node among all nodes.
    fn node(&self, height: usize, position: u32) -> u32 {
        match height.checked_sub(1) {
            None => position,
            Some(level) => self.levels[level].first_switch + position,
        }
    }

    /// What a node is called: hosts count up from zero, switches down from twice the hosts.
    fn id(&self, node: u32) -> i64 {
        if node < self.hosts {
            i64::from(node)
        } else {
            3 * i64::from(self.hosts) - 1 - i64::from(node)
        }
    }
}

impl Level {
    /// The cable from a node below to one of its parents.
    const fn cable(&self, node: u32, parent: u32, port: u32) -> u32 {
        self.first_cable + (node * self.parents + parent) * self.ports + port
    }

    /// The position of a parent of a node below.
    const fn parent(&self, node: u32, parent: u32) -> u32 {
        let (low, high) = (
            node % self.parents_below,
            node / self.parents_below / self.children,
        );
        low + self.parents_below * (parent + self.parents * high)
    }

    /// The position of a child of a switch.
    const fn child(&self, switch: u32, child: u32) -> u32 {
        let (low, high) = (
            switch % self.parents_below,
            switch / self.parents_below / self.parents,
        );
        low + self.parents_below * (child + self.children * high)
    }

    /// Which of its children's parents a switch is.
    const fn parent_digit(&self, switch: u32) -> u32 {
        switch / self.parents_below % self.parents
    }
}

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

    /// SimGrid counts routers down from twice the hosts.
    fn switch_ids(&self) -> Vec<i64> {
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
    fn walk(&self, from: u32, to: u32, mut visit: impl FnMut(Crossing)) {
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
