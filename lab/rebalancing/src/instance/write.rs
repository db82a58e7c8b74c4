//! Writing an instance file.

use std::fmt::Write as _;

use serde_json::Value;

use crate::instance::{Edge, Instance, Process, positions};

/// As JSON, with a line for each process, edge and phase, so that errors have a line of their own.
pub(super) fn json(instance: &Instance) -> String {
    let clusters: Vec<String> = instance.clusters.iter().map(ToString::to_string).collect();
    let mut text = String::from("{\n");
    let mut line = |key: &str, value: &str| {
        writeln!(text, "  \"{key}\": {value},").expect("a string takes everything");
    };
    line("name", &quoted(&instance.name));
    line("capacities", &numbers(&instance.capacities));
    if instance.machines != positions(instance.machines.len()) {
        line(
            "machines",
            &Value::from(instance.machines.as_slice()).to_string(),
        );
    }
    line("cluster", &format!("[{}]", clusters.join(", ")));
    let (intra, inter) = (instance.bandwidth_intra, instance.bandwidth_inter);
    line(
        "bandwidth",
        &format!("{{\"intra\": {intra}, \"inter\": {inter}}}"),
    );
    if let Some(memory) = &instance.memory {
        line("memory", &numbers(memory));
    }
    if !instance.blocks.is_empty() {
        line("blocks", &numbers(&instance.blocks));
    }
    if instance.weight != 0.0 {
        line("weight", &instance.weight.to_string());
    }
    line("targets", &numbers(&instance.targets));
    if !instance.edges.is_empty() {
        line("edges", &rows(&instance.edges, edge));
    }
    if !instance.phases.is_empty() {
        let phases = rows(&instance.phases, |phase| {
            let name = quoted(&phase.name);
            let workloads = numbers(&phase.workloads);
            let edges: Vec<String> = phase.edges.iter().map(edge).collect();
            let edges = edges.join(", ");
            format!("{{\"name\": {name}, \"workloads\": {workloads}, \"edges\": [{edges}]}}")
        });
        line("phases", &phases);
    }
    text + &format!(
        "  \"processes\": {}\n}}\n",
        rows(&instance.processes, process)
    )
}

fn process(process: &Process) -> String {
    let Process {
        workload,
        size,
        machine,
        ..
    } = process;
    if process.is_plain() {
        return format!("[{workload}, {size}, {machine}]");
    }
    let name = process.name.as_ref();
    let name = name.map_or_else(String::new, |name| format!("\"name\": {}, ", quoted(name)));
    let mut text =
        format!("{{{name}\"workload\": {workload}, \"size\": {size}, \"machine\": {machine}");
    if !process.movable {
        text.push_str(", \"movable\": false");
    }
    if process.memory != 0.0 {
        text.push_str(&format!(", \"memory\": {}", process.memory));
    }
    if !process.blocks.is_empty() {
        let blocks: Vec<String> = process.blocks.iter().map(ToString::to_string).collect();
        text.push_str(&format!(", \"blocks\": [{}]", blocks.join(", ")));
    }
    text + "}"
}

fn edge(edge: &Edge) -> String {
    let (from, to) = edge.processes;
    format!("[{from}, {to}, {}]", edge.bytes)
}

fn rows<T>(items: &[T], row: impl Fn(&T) -> String) -> String {
    let rows: Vec<String> = items
        .iter()
        .map(|item| format!("    {}", row(item)))
        .collect();
    format!("[\n{}\n  ]", rows.join(",\n"))
}

fn numbers(numbers: &[f64]) -> String {
    let texts: Vec<String> = numbers.iter().map(ToString::to_string).collect();
    format!("[{}]", texts.join(", "))
}

/// `text` as a string of JSON.
pub(crate) fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}
