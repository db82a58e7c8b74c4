//! Topics of `help` that are made from what the binary knows: workloads, policies, units, formats.

use experiments::{Registry, Supersteps};
use model::Policies;
use settings::{Node, Unit, Value, join};

use crate::command::Parsed;
use crate::failure::EXIT_CODES;
use crate::output::print;

/// The topics, as the help of the program lists them.
pub(crate) const NAMES: [&str; 5] = ["workloads", "policies", "units", "formats", "exit-codes"];

/// `command` with its topics, as hidden commands whose help is the text alone.
pub(crate) fn added(command: clap::Command, registry: &Registry) -> clap::Command {
    let topics = NAMES.map(|name| {
        let (about, text) = match name {
            "workloads" => (
                "List the workloads and their parameters",
                workloads(registry),
            ),
            "policies" => (
                "List the policies and the rules that they are made of",
                policies(registry),
            ),
            "units" => ("List the units of numbers", units()),
            "formats" => ("List the formats of results", formats(&command)),
            _ => ("List the exit codes", EXIT_CODES.to_owned()),
        };
        clap::Command::new(name)
            .about(about)
            .long_about(text)
            .hide(true)
            .help_template("{about}\n")
    });
    command.subcommands(topics)
}

/// The topic `name` as a command: prints its text.
pub(crate) fn parsed(name: &str) -> Parsed {
    let name = name.to_owned();
    Parsed {
        log: None,
        execute: Box::new(move |context| {
            let topic = context.clap.find_subcommand(&name);
            let text = topic.and_then(clap::Command::get_long_about);
            print(&text.map_or_else(String::new, |text| format!("{text}\n")))
        }),
    }
}

/// A line per workload.
pub(crate) fn workload_list(registry: &Registry) -> String {
    let width = width(registry.names().iter().copied());
    registry
        .descriptions()
        .map(|(name, about)| format!("  {name:width$}  {about}\n"))
        .collect()
}

/// Every workload with its parameters.
fn workloads(registry: &Registry) -> String {
    let mut text =
        "Workloads, with the keys of [application.NAME] and their defaults:\n".to_owned();
    for (name, about) in registry.descriptions() {
        text.push_str(&format!("\n{name}: {about}\n"));
        let Ok(entry) = registry.find(name, None) else {
            continue;
        };
        text.push_str(match entry.supersteps() {
            Supersteps::Required => "    application.supersteps has to be set\n",
            Supersteps::Optional => "    application.supersteps may be set\n",
            Supersteps::Refused => "    application.supersteps cannot be set\n",
        });
        if let Ok(parameters) = entry.effective(&Node::empty_table()) {
            leaves("", &parameters, &mut text);
        }
    }
    text.push_str("\nEvery key is explained in docs/reference/experiments.md.");
    text
}

/// A line for every value in `node`.
fn leaves(path: &str, node: &Node, text: &mut String) {
    for (key, value) in node.entries() {
        let key = join(path, key);
        match value.value {
            Value::Table(_) => leaves(&key, value, text),
            Value::Nil => text.push_str(&format!("    {key} is not set\n")),
            _ => text.push_str(&format!("    {key} = {value}\n")),
        }
    }
}

/// Every policy with a name of its own, and the rules that policies are made of.
fn policies(registry: &Registry) -> String {
    let named = Policies::named();
    let width = width(named.iter().map(|(name, _)| *name));
    let named: String = named
        .iter()
        .map(|(name, rules)| format!("  {name:width$}  {rules}\n"))
        .collect();
    format!(
        "\
Policies, as `scheduler.policy` and `--policy` name them:

  {:width$}  no rescheduling
{named}  WHEN+PLAN or WHEN+PLAN+GATE, made of the rules below

Rules and their parameters, which `--policy NAME:RULE.KEY=VALUE` and [scheduler.RULE] set:

{}
Which one to take, and what the rules do: docs/guide/policies.md.",
        "none",
        rules(registry)
    )
}

/// Every rule with its parameters, by kind.
pub(crate) fn rules(registry: &Registry) -> String {
    let rules = registry.policies().descriptions();
    let width = width(rules.iter().map(|rule| rule.name));
    let mut list = String::new();
    let mut kind = "";
    for rule in &rules {
        if rule.kind != kind {
            kind = rule.kind;
            list.push_str(&format!("  {kind}:\n"));
        }
        list.push_str(&format!("    {:width$}  {}\n", rule.name, rule.help));
        for parameter in rule.parameters {
            let name = format!("{}.{}", rule.name, parameter.name);
            let (help, default) = (parameter.help, parameter.default);
            list.push_str(&format!("    {name:width$}  {help} [default: {default}]\n"));
        }
    }
    list
}

/// The units of experiment files and of platform files.
fn units() -> String {
    let mut text = "\
Units of numbers in experiments and in --set. Bare numbers are in the base unit; a number with a
unit is a string, as in memory = \"900 kB\". A plain number may be a string, too.
"
    .to_owned();
    for unit in Unit::ALL {
        let (expected, names) = (unit.expected(), unit.names().join(", "));
        text.push_str(&format!("\n  {expected}\n      {names}\n"));
    }
    text.push_str("\nUnits of platform files, TOML and SimGrid XML, with their prefixes:\n");
    for (expected, units) in simulator::measures() {
        text.push_str(&format!("\n  {}\n", expected.replace('`', "\"")));
        for unit in units {
            let line = format!("      {:8}{}", unit.name, unit.prefixes.join(" "));
            text.push_str(&format!("{}\n", line.trim_end()));
        }
    }
    text.push_str("\nWhich key has which quantity: docs/reference/experiments.md, docs/reference/platforms.md.");
    text
}

/// The formats of every command that has some, as its help lists them.
fn formats(command: &clap::Command) -> String {
    let mut text = "\
Formats of results, chosen with --format; table is the default. Tables fit the terminal, or lines
of $COLUMNS characters; columns that do not fit are left out, and a line says which. JSON and CSV
begin with what made them: schema, version, build, and, where they apply, digest of the configuration,
policy, overrides and seed. In CSV these are comments, lines that begin with \"# \".
"
    .to_owned();
    gather(command, "", &mut text);
    text.push_str("\nWhat the values mean: docs/reference/experiments.md. Schemas of JSON: docs/reference/results.md.");
    text
}

fn gather(command: &clap::Command, path: &str, text: &mut String) {
    for subcommand in command.get_subcommands() {
        let path = format!("{path} {}", subcommand.get_name());
        let help = subcommand
            .get_after_long_help()
            .or_else(|| subcommand.get_after_help());
        let help = help.map_or_else(String::new, ToString::to_string);
        if let Some((_, rest)) = help.split_once("Formats:\n") {
            let listed: Vec<&str> = rest.lines().take_while(|line| !line.is_empty()).collect();
            text.push_str(&format!("\n{}\n{}\n", path.trim(), listed.join("\n")));
        }
        gather(subcommand, &path, text);
    }
}

fn width<'a>(names: impl Iterator<Item = &'a str>) -> usize {
    names.map(str::len).max().unwrap_or(0)
}
