//! `topology` and `topo_parameters` of a `<cluster>`.

use crate::platform::error::{ErrorAt, PlatformErrorKind};
use crate::platform::simgrid::element::Element;
use crate::platform::topology::Topology;
use crate::platform::topology::dragonfly::{Dragonfly, Parts};
use crate::platform::topology::fat_tree::FatTree;
use crate::platform::topology::problem::TopologyProblem;
use crate::platform::topology::torus::Torus;

/// Reads the topology of a cluster with that many hosts, unless it is flat; `fat_tree_hosts` belong to
/// fat trees before it in the file.
pub(super) fn read(
    element: Element<'_>,
    hosts: usize,
    fat_tree_hosts: u32,
) -> Result<Option<Topology>, ErrorAt> {
    let Some(kind) = element.optional("topology") else {
        return Ok(None);
    };
    let read: fn(&str, u32) -> Result<Topology, TopologyProblem> = match kind.text {
        "FLAT" => return Ok(None),
        "FAT_TREE" => fat_tree,
        "TORUS" => |text, _| torus(text),
        "DRAGONFLY" => |text, _| dragonfly(text),
        _ => return Err(kind.choice("topology", "FLAT, FAT_TREE, TORUS or DRAGONFLY")),
    };
    let met = element.required("topo_parameters")?;
    read(met.text, fat_tree_hosts)
        .and_then(|topology| topology.check_hosts(hosts).map(|()| Some(topology)))
        .map_err(|problem| {
            let key = "topo_parameters";
            met.error(PlatformErrorKind::Topology { key, problem })
        })
}

/// `2;4,4;1,2;1,2`: levels, children, parents, parallel cables.
fn fat_tree(text: &str, fat_tree_hosts: u32) -> Result<Topology, TopologyProblem> {
    const FORM: &str = "the number of levels and three lists, of children, parents and parallel cables of each \
                        level, as `2;4,4;1,2;1,2`";
    let [levels, lists @ ..] = lists::<4>(text, FORM)?;
    let [children, parents, ports] = &lists;
    match levels[..] {
        [levels] if usize::try_from(levels) == Ok(children.len()) => {}
        [levels] => {
            return Err(TopologyProblem::Levels {
                what: "children",
                levels: usize::try_from(levels).unwrap_or(usize::MAX),
                met: children.len(),
            });
        }
        _ => return Err(TopologyProblem::Form(FORM)),
    }
    FatTree::new(children, parents, ports, fat_tree_hosts).map(Topology::FatTree)
}

/// `3,2,2`: lengths of the rings.
fn torus(text: &str) -> Result<Topology, TopologyProblem> {
    let [sizes] = lists::<1>(
        text,
        "the lengths of the rings in each dimension, as `3,2,2`",
    )?;
    Torus::new(&sizes).map(Topology::Torus)
}

/// `3,4;4,3;5,1;2`: groups, chassis and routers, each with the number of parallel cables, and hosts.
fn dragonfly(text: &str) -> Result<Topology, TopologyProblem> {
    const FORM: &str = "the numbers of groups, chassis and routers, each with that of parallel cables, and the \
                        number of hosts of a router, as `3,4;4,3;5,1;2`";
    let [groups, chassis, routers, nodes] = lists::<4>(text, FORM)?;
    let parts = |list: &[u32]| match list {
        [count, width] => Ok(Parts {
            count: *count,
            width: *width,
        }),
        _ => Err(TopologyProblem::Form(FORM)),
    };
    let [nodes] = nodes[..] else {
        return Err(TopologyProblem::Form(FORM));
    };
    Dragonfly::new(parts(&groups)?, parts(&chassis)?, parts(&routers)?, nodes)
        .map(Topology::Dragonfly)
}

/// `N` lists of numbers, separated by semicolons.
fn lists<const N: usize>(text: &str, form: &'static str) -> Result<[Vec<u32>; N], TopologyProblem> {
    let numbers = |list: &str| list.split(',').map(number).collect::<Result<Vec<_>, _>>();
    let lists = text
        .split(';')
        .map(numbers)
        .collect::<Result<Vec<_>, _>>()?;
    lists.try_into().map_err(|_| TopologyProblem::Form(form))
}

fn number(text: &str) -> Result<u32, TopologyProblem> {
    let text = text.trim();
    text.parse()
        .map_err(|_| TopologyProblem::Number(text.to_owned()))
}
