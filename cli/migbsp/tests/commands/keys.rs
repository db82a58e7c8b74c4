//! The tables of keys in `docs/reference/experiments.md`: which keys there are, their order and their default values are those
//! of `--print-config`. What a key means is written in the page.
//!
//! The line `<!-- keys: SECTION -->` stands before each table. With `MIGBSP_UPDATE=1` the test writes keys and defaults into the
//! page, and fails at the first key that has no meaning yet.

use std::fs;

use experiments::{Experiment, Registry, Supersteps};

use crate::invocation::{Folder, root};
use crate::readme::compare;

const PAGE: &str = "docs/reference/experiments.md";
const MARK: &str = "<!-- keys: ";
const HEAD: &str = "| key | default | meaning |\n|---|---|---|\n";

/// Workloads whose parameters are described where programs in other languages are.
const ELSEWHERE: [&str; 2] = ["external", "recorded"];

/// Sections whose keys depend on the value of another one.
const OF_A_KIND: [&str; 2] = ["load", "congestion"];

/// A line of `--print-config`.
struct Line {
    section: String,
    key: String,
    /// `None`: it is not set.
    value: Option<String>,
    is_default: bool,
}

/// A key, or a table inside the section, which has the lines of all its keys as its value.
struct Entry {
    key: String,
    value: Option<String>,
    is_default: bool,
}

/// A row of a table: key, default and meaning.
struct Row<'a> {
    key: &'a str,
    default: &'a str,
    meaning: &'a str,
}

impl<'a> Row<'a> {
    fn read(line: &'a str) -> Self {
        let cells = line
            .strip_prefix("| ")
            .and_then(|line| line.strip_suffix(" |"));
        let cells = cells.unwrap_or_else(|| panic!("{line}"));
        let mut cells = cells.splitn(3, " | ");
        let mut next = || cells.next().unwrap_or_else(|| panic!("{line}"));
        Self {
            key: next().trim_matches('`'),
            default: next(),
            meaning: next(),
        }
    }

    /// The value at the beginning of the default.
    fn literal(&self) -> Option<&'a str> {
        let value = self.default.strip_prefix('`')?;
        value.split('`').next()
    }
}

/// An experiment of each workload, with nothing that need not be set.
fn experiments(registry: &Registry) -> Folder {
    registry.names().iter().fold(Folder::new(), |folder, name| {
        let required = registry.find(name, None).unwrap().supersteps() == Supersteps::Required;
        let supersteps = if required { "supersteps = 10\n" } else { "" };
        let text = format!(
            "[application]\nworkload = \"{name}\"\nprocesses = 4\n{supersteps}\n[platform]\nfile = \"two.xml\"\n"
        );
        folder.with(&format!("{name}.toml"), text)
    })
}

/// The arguments that show the configuration of a workload with `values`.
fn arguments(workload: &str, values: &[String]) -> Vec<String> {
    let file = format!("{workload}.toml");
    let mut arguments = vec!["simulate".to_owned(), file, "--print-config".to_owned()];
    for value in values {
        arguments.extend(["--set".to_owned(), value.clone()]);
    }
    arguments
}

/// The configuration of a workload, with `values`.
fn configuration(folder: &Folder, workload: &str, values: &[String]) -> Vec<Line> {
    let arguments = arguments(workload, values);
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let printed = folder.stdout(&arguments);
    let mut section = "";
    let mut lines = Vec::new();
    for line in printed.lines().filter(|line| !line.is_empty()) {
        if let Some(name) = line
            .strip_prefix('[')
            .and_then(|line| line.strip_suffix(']'))
        {
            section = name;
            continue;
        }
        let unset = line.strip_prefix("# ");
        let (text, source) = unset.unwrap_or(line).rsplit_once("  # ").unwrap();
        let text = text.trim_end();
        let (key, value) = match unset {
            Some(_) => (text.strip_suffix(" is not set").unwrap(), None),
            None => {
                let (key, value) = text.split_once(" = ").unwrap();
                (key, Some(value.to_owned()))
            }
        };
        lines.push(Line {
            section: section.to_owned(),
            key: key.to_owned(),
            value,
            is_default: source == "default",
        });
    }
    lines
}

/// Whether `section` is `outer` or inside it.
fn is_in(section: &str, outer: &str) -> bool {
    section
        .strip_prefix(outer)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// The keys of `section`, and the tables in it that have no table of their own in the page.
fn entries(lines: &[Line], section: &str, marked: &[&str]) -> Vec<Entry> {
    let mut entries: Vec<Entry> = Vec::new();
    for line in lines.iter().filter(|line| is_in(&line.section, section)) {
        let inside = line.section[section.len()..].strip_prefix('.');
        let Some(inside) = inside else {
            entries.push(Entry {
                key: line.key.clone(),
                value: line.value.clone(),
                is_default: line.is_default,
            });
            continue;
        };
        let is_elsewhere = |other: &&str| *other != section && is_in(&line.section, other);
        if marked
            .iter()
            .filter(|other| is_in(other, section))
            .any(is_elsewhere)
        {
            continue;
        }
        let table = inside.split('.').next().unwrap();
        let position = entries.iter().position(|entry| entry.key == table);
        let position = position.unwrap_or_else(|| {
            entries.push(Entry {
                key: table.to_owned(),
                value: Some(String::new()),
                is_default: line.is_default,
            });
            entries.len() - 1
        });
        let value = line.value.as_deref().unwrap_or("not set");
        let shown = format!("{} = {value}\n", line.key);
        entries[position].value.as_mut().unwrap().push_str(&shown);
    }
    entries
}

/// Whether there is a key that no configuration shows unless it is set.
fn exists(folder: &Folder, workload: &str, key: &str) -> bool {
    let arguments = arguments(workload, &[format!("{key}=[]")]);
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let ended = folder.run(&arguments);
    !ended.stderr.starts_with("error: unknown key")
}

/// The rows of the table of `section`, as they should be; `written` are those of the page.
fn table(folder: &Folder, section: &str, written: &str, marked: &[&str]) -> String {
    let rows: Vec<Row<'_>> = written.lines().map(Row::read).collect();
    let workload = section.strip_prefix("application.");
    let workload = workload.map_or("lbm", |rest| rest.split('.').next().unwrap());
    let known = entries(&configuration(folder, workload, &[]), section, marked);
    let is_known = |row: &&Row<'_>| known.iter().any(|entry| entry.key == row.key);
    let hidden = rows.iter().filter(|row| !is_known(row));
    let hidden = hidden.filter(|row| exists(folder, workload, &format!("{section}.{}", row.key)));
    // Each default is set, and has to be what is there without it.
    let literals = rows.iter().filter(is_known).filter_map(|row| {
        let value = row.literal()?;
        Some(format!("{section}.{}={value}", row.key))
    });
    let literals: Vec<String> = literals.collect();
    let set = entries(&configuration(folder, workload, &literals), section, marked);
    let mut text = String::new();
    for entry in &known {
        let row = rows.iter().find(|row| row.key == entry.key);
        let (default, meaning) = row.map_or(("", ""), |row| (row.default, row.meaning));
        let literal = row.and_then(Row::literal);
        let is_table = entry
            .value
            .as_ref()
            .is_some_and(|value| value.ends_with('\n'));
        let default = match &entry.value {
            _ if !entry.is_default => "required".to_owned(),
            None if literal.is_none() && !default.is_empty() => default.to_owned(),
            None => "not set".to_owned(),
            Some(value) => {
                let is_same = set
                    .iter()
                    .any(|other| other.key == entry.key && other.value == entry.value);
                match literal {
                    Some(_) if is_same => default.to_owned(),
                    None if is_table && !default.is_empty() => default.to_owned(),
                    _ if is_table => "table".to_owned(),
                    _ => format!("`{value}`"),
                }
            }
        };
        text.push_str(&format!("| `{}` | {default} | {meaning} |\n", entry.key));
    }
    for row in hidden {
        let Row {
            key,
            default,
            meaning,
        } = row;
        text.push_str(&format!("| `{key}` | {default} | {meaning} |\n"));
    }
    text
}

#[test]
fn tables_of_keys_have_all_keys_with_their_defaults() {
    let registry = Registry::shipped();
    let folder = experiments(&registry);
    let path = root().join(PAGE);
    let text = fs::read_to_string(&path).unwrap();
    let mut parts = text.split(MARK);
    let mut printed = parts.next().unwrap().to_owned();
    let parts: Vec<(&str, &str)> = parts
        .map(|part| part.split_once(" -->\n").unwrap())
        .collect();
    let marked: Vec<&str> = parts.iter().map(|(section, _)| *section).collect();
    for (section, rest) in &parts {
        let rest = rest.strip_prefix(HEAD);
        let rest = rest.unwrap_or_else(|| panic!("{section}: no table of keys follows"));
        let end = rest.find("\n\n").map_or(rest.len(), |end| end + 1);
        let (written, after) = rest.split_at(end);
        let table = table(&folder, section, written, &marked);
        printed.push_str(&format!("{MARK}{section} -->\n{HEAD}{table}{after}"));
    }
    compare(PAGE, &path, &printed);
    for (section, row) in rows(&printed) {
        assert!(
            !row.meaning.is_empty(),
            "{PAGE}: {section}.{} has no meaning",
            row.key
        );
    }
    // Every section has a table, and every key of an experiment a row.
    let own = registry.names();
    let own = own.iter().filter(|name| !ELSEWHERE.contains(name));
    for name in own {
        let section = format!("application.{name}");
        assert!(marked.contains(&section.as_str()), "{PAGE} lacks {section}");
    }
    for line in configuration(&folder, "lbm", &[]) {
        let section = &line.section;
        assert!(
            OF_A_KIND.contains(&section.as_str())
                || marked.iter().any(|marked| is_in(section, marked)),
            "{PAGE} lacks {section}"
        );
    }
    for key in Experiment::keys() {
        let has_row = rows(&printed)
            .iter()
            .any(|(section, row)| format!("{section}.{}", row.key) == key);
        assert!(
            has_row || marked.contains(&key.as_str()),
            "{PAGE} lacks {key}"
        );
    }
}

/// The rows of all tables of keys in `page`, with their sections.
fn rows(page: &str) -> Vec<(&str, Row<'_>)> {
    let tables = page.split(MARK).skip(1).map(|part| {
        let (section, rest) = part.split_once(" -->\n").unwrap();
        let lines = rest.strip_prefix(HEAD).unwrap().lines();
        (section, lines.take_while(|line| !line.is_empty()))
    });
    tables
        .flat_map(|(section, lines)| lines.map(move |line| (section, Row::read(line))))
        .collect()
}
