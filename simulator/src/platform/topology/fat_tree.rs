//! Fat trees: levels of switches above the hosts.

use crate::platform::topology::problem::{TopologyProblem, check_positive, product, sum};
use crate::platform::topology::{Crossing, NamedCable};

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
                let (levels, met) = (depth, list.len());
                return Err(TopologyProblem::Levels { what, levels, met });
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

    pub(super) const fn hosts(&self) -> u32 {
        self.hosts
    }

    pub(super) const fn cables(&self) -> u32 {
        self.cables
    }

    pub(super) fn switch_ids(&self) -> Vec<i64> {
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
    pub(super) fn walk(&self, from: u32, to: u32, mut visit: impl FnMut(Crossing)) {
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
