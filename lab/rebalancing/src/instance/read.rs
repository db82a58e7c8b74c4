//! Reading an instance file.

use std::collections::BTreeSet;

use settings::Fault;

use crate::instance::Item;
use crate::instance::content::Edge;
use crate::instance::content::Phase;
use crate::instance::content::Process;
use crate::instance::content::{AMOUNT, Instance, RATE, positions};
use crate::instance::place::{Entries, Place};
use crate::instance::source::Source;

/// The instance in `source`.
pub(super) fn read(source: &Source) -> Result<Instance, Fault> {
    let root = Place::root(source);
    let entries = root.entries("an instance", &KEYS, &NOTES)?;
    let capacities = entries.required("capacities")?.numbers(RATE)?;
    let clusters = clusters(&entries.required("cluster")?, capacities.len())?;
    let bandwidth = entries.required("bandwidth")?;
    let bandwidth = bandwidth.entries("bandwidth", &["intra", "inter"], &[])?;
    let blocks = list(&entries, "blocks", |place| place.number(AMOUNT))?;
    let places = entries.required("processes")?;
    let mut taken = BTreeSet::new();
    let processes: Vec<Process> = places
        .items(&format!("a list of {ROW}"))?
        .map(|place| process(&place, (capacities.len(), blocks.len()), &mut taken))
        .collect::<Result<_, _>>()?;
    let count = processes.len();
    let instance = Instance {
        name: match entries.optional("name") {
            Some(name) => name.shown()?.to_owned(),
            None => source.stem(),
        },
        bandwidth_intra: bandwidth.required("intra")?.number(RATE)?,
        bandwidth_inter: bandwidth.required("inter")?.number(RATE)?,
        processes,
        memory: match entries.optional("memory") {
            Some(place) => Some(one_each(&place, capacities.len(), "machine")?),
            None => None,
        },
        blocks,
        edges: list(&entries, "edges", |place| edge(place, count))?,
        weight: match entries.optional("weight") {
            Some(place) => place.number(AMOUNT)?,
            None => 0.0,
        },
        phases: phases(&entries, count)?,
        targets: match entries.optional("targets") {
            Some(place) => place.some_numbers(RATE)?,
            None => Vec::new(),
        },
        machines: match entries.optional("machines") {
            Some(place) => names(&place, capacities.len())?,
            None => positions(capacities.len()),
        },
        capacities,
        clusters,
    };
    let Some((item, problem)) = instance.memory_exceeded() else {
        return Ok(instance);
    };
    let (key, number) = match item {
        Some(Item::Process(process)) => ("processes", Some(process)),
        Some(Item::Machine(machine)) => ("memory", Some(machine)),
        None => ("memory", None),
    };
    let place = entries.required(key)?;
    Err(match number.and_then(|number| place.item(number)) {
        Some(item) => item.fault(problem),
        None => place.fault(problem),
    })
}

/// The items of the list `key`, each read by `read`; none if there is no such key or the list is empty.
fn list<T>(
    entries: &Entries<'_>,
    key: &'static str,
    read: impl Fn(&Place<'_>) -> Result<T, Fault>,
) -> Result<Vec<T>, Fault> {
    let Some(place) = entries.optional(key) else {
        return Ok(Vec::new());
    };
    if place.is_empty_list() {
        return Ok(Vec::new());
    }
    let items = place.items("a list")?;
    items.map(|place| read(&place)).collect()
}

/// A list with a number for each of `count` things, which are called `what`.
fn one_each(place: &Place<'_>, count: usize, what: &str) -> Result<Vec<f64>, Fault> {
    let numbers = place.numbers(AMOUNT)?;
    if numbers.len() != count {
        let met = numbers.len();
        return Err(place.fault(format!(
            "{met} numbers, must be one for each {what}: {count}"
        )));
    }
    Ok(numbers)
}

/// The name of each machine.
fn names(place: &Place<'_>, machines: usize) -> Result<Vec<String>, Fault> {
    let (mut names, mut taken) = (Vec::new(), BTreeSet::new());
    for place in place.items("a list with the name of each machine")? {
        let name = place.shown()?;
        if !taken.insert(name) {
            return Err(place.invalid("must not be the name of another machine".to_owned()));
        }
        names.push(name.to_owned());
    }
    if names.len() != machines {
        return Err(place.fault(format!(
            "{} names for {machines} capacities, must be one for each machine",
            names.len()
        )));
    }
    Ok(names)
}

/// One cluster for each machine.
fn clusters(place: &Place<'_>, machines: usize) -> Result<Vec<u64>, Fault> {
    let clusters: Vec<u64> = place
        .items("a list with the cluster of each machine")?
        .map(|place| place.whole(u64::MAX, ""))
        .collect::<Result<_, _>>()?;
    if clusters.len() != machines {
        return Err(place.fault(format!(
            "{} clusters for {machines} capacities, must be one for each machine",
            clusters.len()
        )));
    }
    let mut distinct = clusters.clone();
    distinct.sort_unstable();
    distinct.dedup();
    if CLUSTERS_MAX < distinct.len() {
        return Err(place.fault(format!(
            "{} clusters, must be at most {CLUSTERS_MAX}",
            distinct.len()
        )));
    }
    Ok(clusters)
}

/// A process on one of as many machines, with as many blocks; its name is none of those `taken` before.
fn process(
    place: &Place<'_>,
    (machines, blocks): (usize, usize),
    taken: &mut BTreeSet<String>,
) -> Result<Process, Fault> {
    if !place.is_object() {
        return row(place, machines);
    }
    let entries = place.entries("a process", &PROCESS_KEYS, &[])?;
    let home = entries.required("machine")?;
    let name = match entries.optional("name") {
        Some(place) => {
            let name = place.shown()?;
            if !taken.insert(name.to_owned()) {
                return Err(place.invalid("must not be the name of another process".to_owned()));
            }
            Some(name.to_owned())
        }
        None => None,
    };
    let mut used = list(&entries, "blocks", |place| {
        position(place, blocks, "an index into `blocks`")
    })?;
    used.sort_unstable();
    used.dedup();
    Ok(Process {
        name,
        workload: entries.required("workload")?.number(AMOUNT)?,
        size: entries.required("size")?.number(AMOUNT)?,
        machine: position(&home, machines, MACHINE)?,
        movable: match entries.optional("movable") {
            Some(place) => place.boolean()?,
            None => true,
        },
        memory: match entries.optional("memory") {
            Some(place) => place.number(AMOUNT)?,
            None => 0.0,
        },
        blocks: used,
    })
}

/// `[workload, size, machine]`.
fn row(place: &Place<'_>, machines: usize) -> Result<Process, Fault> {
    let mut items = place.items(ROW)?;
    let (Some(workload), Some(size), Some(home), None) =
        (items.next(), items.next(), items.next(), items.next())
    else {
        let met = place.items(ROW)?.count();
        return Err(place.fault(format!("{met} values, must be {ROW}")));
    };
    let home = position(&home, machines, MACHINE)?;
    Ok(Process::new(
        workload.number(AMOUNT)?,
        size.number(AMOUNT)?,
        home,
    ))
}

/// `[process, process, bytes]`, of as many processes.
fn edge(place: &Place<'_>, processes: usize) -> Result<Edge, Fault> {
    let mut items = place.items(EDGE)?;
    let (Some(from), Some(to), Some(bytes), None) =
        (items.next(), items.next(), items.next(), items.next())
    else {
        let met = place.items(EDGE)?.count();
        return Err(place.fault(format!("{met} values, must be {EDGE}")));
    };
    let end = |place: &Place<'_>| position(place, processes, "an index into `processes`");
    Ok(Edge {
        processes: (end(&from)?, end(&to)?),
        bytes: bytes.number(AMOUNT)?,
    })
}

/// The phases of as many processes.
fn phases(entries: &Entries<'_>, processes: usize) -> Result<Vec<Phase>, Fault> {
    let phases = list(entries, "phases", |place| {
        let entries = place.entries("a phase", &["name", "workloads", "edges"], &[])?;
        Ok(Phase {
            name: entries.required("name")?.shown()?.to_owned(),
            workloads: one_each(&entries.required("workloads")?, processes, "process")?,
            edges: list(&entries, "edges", |place| edge(place, processes))?,
        })
    })?;
    let mut names = BTreeSet::new();
    if let Some(twice) = phases.iter().find(|phase| !names.insert(&phase.name)) {
        let place = entries.required("phases")?;
        return Err(place.fault(format!("two phases have the name `{}`", twice.name)));
    }
    Ok(phases)
}

/// A position below `count`, which is `what`.
fn position(place: &Place<'_>, count: usize, what: &'static str) -> Result<usize, Fault> {
    let Some(last) = count.checked_sub(1) else {
        return Err(place.invalid(format!("must be {what}, which has no items")));
    };
    let position = place.whole(u64::try_from(last).unwrap_or(u64::MAX), what)?;
    Ok(usize::try_from(position).expect("it is below a length"))
}

/// Keys of an instance.
const KEYS: [&str; 12] = [
    "name",
    "capacities",
    "machines",
    "cluster",
    "bandwidth",
    "memory",
    "blocks",
    "processes",
    "edges",
    "weight",
    "phases",
    "targets",
];

/// Keys of a process.
const PROCESS_KEYS: [&str; 7] = [
    "name", "workload", "size", "machine", "movable", "memory", "blocks",
];

/// Keys with notes, which are ignored.
const NOTES: [&str; 7] = [
    "best_known_cost",
    "comment",
    "dc_initial",
    "dc_optimal",
    "imlp_cost",
    "lower_bound",
    "proved_optimal",
];

const ROW: &str = "[workload, size in MB, machine]";
const EDGE: &str = "[process, process, bytes]";
const MACHINE: &str = "an index into `capacities`";

/// Maximum number of clusters: there is a path from each to each.
const CLUSTERS_MAX: usize = 1024;
