//! `fat_tree`, `torus` and `dragonfly` of a Set.

use toml::Spanned;

use crate::platform::error::{ErrorAt, PlatformErrorKind};
use crate::platform::tables::document::{DragonflyTable, FatTreeTable, SetTable};
use crate::platform::tables::values::error_at;
use crate::platform::topology::Topology;
use crate::platform::topology::dragonfly::{Dragonfly, Parts};
use crate::platform::topology::fat_tree::FatTree;
use crate::platform::topology::problem::TopologyProblem;
use crate::platform::topology::torus::Torus;

/// Reads the topology of a Set with that many hosts, if it has one; `fat_tree_hosts` belong to fat
/// trees before it in the file.
pub(super) fn read(
    table: &SetTable,
    hosts: usize,
    fat_tree_hosts: u32,
) -> Result<Option<Topology>, ErrorAt> {
    let mut found = None;
    if let Some(met) = &table.fat_tree {
        let topology = fat_tree(met.get_ref(), fat_tree_hosts);
        add(&mut found, hosts, ("fat_tree", met), topology)?;
    }
    if let Some(met) = &table.torus {
        let topology = Torus::new(met.get_ref()).map(Topology::Torus);
        add(&mut found, hosts, ("torus", met), topology)?;
    }
    if let Some(met) = &table.dragonfly {
        let topology = dragonfly(met.get_ref());
        add(&mut found, hosts, ("dragonfly", met), topology)?;
    }
    if let Some(backbone) = table.backbone.as_ref().filter(|_| found.is_some()) {
        let key = "backbone";
        let problem = TopologyProblem::Form("left out: a Set with a topology has none");
        return Err(error_at(
            &backbone.bandwidth,
            PlatformErrorKind::Topology { key, problem },
        ));
    }
    Ok(found)
}

/// Adds the topology of one key, unless the Set has another.
fn add<T>(
    found: &mut Option<Topology>,
    hosts: usize,
    (key, met): (&'static str, &Spanned<T>),
    topology: Result<Topology, TopologyProblem>,
) -> Result<(), ErrorAt> {
    let checked = topology.and_then(|topology| topology.check_hosts(hosts).map(|()| topology));
    let problem = match checked {
        Ok(topology) if found.is_none() => {
            *found = Some(topology);
            return Ok(());
        }
        Ok(_) => TopologyProblem::Form("the only topology of the Set"),
        Err(problem) => problem,
    };
    Err(error_at(met, PlatformErrorKind::Topology { key, problem }))
}

fn fat_tree(table: &FatTreeTable, fat_tree_hosts: u32) -> Result<Topology, TopologyProblem> {
    let single = vec![1; table.children.len()];
    let parents = table.parents.as_ref().unwrap_or(&single);
    let cables = table.cables.as_ref().unwrap_or(&single);
    FatTree::new(&table.children, parents, cables, fat_tree_hosts).map(Topology::FatTree)
}

fn dragonfly(table: &DragonflyTable) -> Result<Topology, TopologyProblem> {
    let parts = |count: u32, width: Option<u32>| Parts {
        count,
        width: width.unwrap_or(1),
    };
    Dragonfly::new(
        parts(table.groups, table.group_cables),
        parts(table.chassis, table.chassis_cables),
        parts(table.routers, table.router_cables),
        table.hosts,
    )
    .map(Topology::Dragonfly)
}
