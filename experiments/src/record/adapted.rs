//! Configurations of records that other versions have written.

use std::path::Path;

use settings::{Fault, Node, Value};

/// The `section` at `path` of a configuration, decoded. A key that this version does not know is left out, and one that is
/// not there has the default of this version; a line in the log says each.
///
/// # Errors
///
/// Of `decode`, if it is not about an unknown key.
pub fn adapted<T>(
    folder: &Path,
    (path, section): (&str, &Node),
    decode: impl Fn(&Node) -> Result<T, Fault>,
    effective: impl Fn(&T) -> Node,
) -> Result<T, Fault> {
    let decoded = tolerant(folder, (path, section), decode)?;
    missing(section, &effective(&decoded), path, &mut |key, default| {
        let folder = folder.display();
        tracing::warn!("{folder}: the record does not say `{key}`; this version assumes {default}");
    });
    Ok(decoded)
}

/// The `section` at `path` of a configuration, decoded without the keys that this version does not know; a line in the log
/// says each, except readings of the papers that are [`DECIDED`].
///
/// # Errors
///
/// As [`adapted`], and if the section has another reading than the one that is decided.
pub(crate) fn tolerant<T>(
    folder: &Path,
    (path, section): (&str, &Node),
    decode: impl Fn(&Node) -> Result<T, Fault>,
) -> Result<T, Fault> {
    let mut known = section.clone();
    loop {
        let fault = match decode(&known) {
            Ok(decoded) => return Ok(decoded),
            Err(fault) => fault,
        };
        let unknown = fault.unknown.clone().unwrap_or_default();
        let decided = below("scheduler", &unknown);
        let decided = DECIDED.iter().find(|(key, _)| decided == Some(key));
        match below(path, &unknown) {
            Some(key) if let Some((_, kept)) = decided => {
                let met = known.find(key).map(Node::to_string).unwrap_or_default();
                let met = met.trim_matches('"');
                if met != *kept {
                    let rule = format!("this version decides as with `{kept}`");
                    return Err(Fault {
                        help: Some("read the record with the build that wrote it".to_owned()),
                        ..Fault::invalid(fault.origin.as_deref(), &unknown, met, rule)
                    });
                }
                remove(&mut known, key);
            }
            Some(key) if remove(&mut known, key) => {
                let folder = folder.display();
                tracing::warn!(
                    "{folder}: this version does not know `{unknown}` of the record, and ignores it"
                );
            }
            _ => return Err(fault),
        }
    }
}

/// `key` as the section at `path` has it.
fn below<'a>(path: &str, key: &'a str) -> Option<&'a str> {
    if path.is_empty() {
        Some(key)
    } else {
        key.strip_prefix(path)?.strip_prefix('.')
    }
}

fn join(path: &str, key: &str) -> String {
    if path.is_empty() {
        key.to_owned()
    } else {
        format!("{path}.{key}")
    }
}

/// Removes the entry at `path`. Returns whether it was there.
fn remove(node: &mut Node, path: &str) -> bool {
    let Value::Table(entries) = &mut node.value else {
        return false;
    };
    // Keys of background loads have points in them.
    if let Some(position) = entries.iter().position(|(name, _)| name == path) {
        entries.remove(position);
        return true;
    }
    let Some((key, rest)) = path.split_once('.') else {
        return false;
    };
    let mut inside = entries.iter_mut().filter(|(name, _)| name == key);
    inside.next().is_some_and(|(_, node)| remove(node, rest))
}

/// Keys of `[scheduler]` that earlier versions had for what the papers leave open, each with the reading that is decided
/// (*Decisions* in `docs/model.md`).
const DECIDED: [(&str, &str); 17] = [
    ("threshold_over", "all"),
    ("one_migrant_per_processor", "true"),
    ("occupied_by", "any-migrant"),
    ("own_set", "competes"),
    ("best_stays", "blocks"),
    ("set_index", "own"),
    ("set_load", "subtracted"),
    ("idle_candidate", "refused"),
    ("candidate_work", "excluded"),
    ("idle_resident", "last-nonzero"),
    ("candidate_order", "potential"),
    ("process_time", "whole"),
    ("idle_processes", "ignored"),
    ("empty_superstep", "unbalanced"),
    ("tolerance_floor", "clamped"),
    ("patterns", "persist"),
    ("bytes_superstep", "current"),
];

/// Shows the keys that `effective` has, with values, and `written` has not, to `lacks`.
fn missing(written: &Node, effective: &Node, path: &str, lacks: &mut impl FnMut(&str, &Node)) {
    for (key, value) in effective.entries() {
        let path = join(path, key);
        match written.get(key) {
            Some(there) => missing(there, value, &path, lacks),
            None if value.value == Value::Nil => {}
            None => lacks(&path, value),
        }
    }
}

#[cfg(test)]
mod tests {
    use migbsp::Policies;

    use super::*;
    use crate::Scheduler;

    #[test]
    fn only_the_readings_that_are_decided_are_read() {
        let policies = Policies::default();
        let scheduler = |node: &Node| Scheduler::new(node, &policies);
        let whole = scheduler(&Node::empty_table()).unwrap().effective();
        let read = |key: &str, value: Value| {
            let mut older = whole.clone();
            let Value::Table(entries) = &mut older.value else {
                panic!("a section")
            };
            entries.push((key.to_owned(), Node::new(value, "run.json")));
            let place = Path::new("runs/iii");
            adapted(
                place,
                ("scheduler", &older),
                scheduler,
                Scheduler::effective,
            )
        };
        let text = |value: &str| Value::Text(value.to_owned());
        for (key, value) in [
            ("occupied_by", text("any-migrant")),
            ("one_migrant_per_processor", Value::Boolean(true)),
        ] {
            assert_eq!(read(key, value).unwrap().effective(), whole, "{key}");
        }
        let refused = read("occupied_by", text("computing-set")).unwrap_err();
        let message = "invalid value `computing-set` for `scheduler.occupied_by`: this version decides as with \
                       `any-migrant`";
        assert_eq!(refused.message, message);
        assert!(refused.help.is_some() && refused.unknown.is_none());
    }

    #[test]
    fn unknown_keys_are_left_out_and_missing_ones_are_named() {
        let policies = Policies::default();
        let scheduler = |node: &Node| Scheduler::new(node, &policies);
        let whole = scheduler(&Node::empty_table()).unwrap().effective();
        let without = |node: &Node, key: &str| {
            let mut node = node.clone();
            assert!(remove(&mut node, key), "{key}");
            node
        };
        let mut named = Vec::new();
        let mut name = |key: &str, default: &Node| named.push(format!("{key} = {default}"));
        missing(&whole, &whole, "scheduler", &mut name);
        let older = without(&without(&whole, "planning.horizon"), "load_window");
        missing(&older, &whole, "scheduler", &mut name);
        assert_eq!(named.len(), 2, "{named:?}");
        assert!(
            named
                .iter()
                .any(|line| line.starts_with("scheduler.planning.horizon = "))
        );
        // A newer version has keys of its own, in any section.
        let mut newer = whole.clone();
        let gravity = || {
            (
                "gravity".to_owned(),
                Node::new(Value::Float(9.81), "run.json"),
            )
        };
        let Value::Table(entries) = &mut newer.value else {
            panic!("a section")
        };
        let planning = entries.iter_mut().find(|(key, _)| key == "planning");
        let Value::Table(inner) = &mut planning.unwrap().1.value else {
            panic!("a section")
        };
        inner.push(gravity());
        entries.push(gravity());
        assert!(scheduler(&newer).is_err());
        let place = Path::new("runs/iii");
        let adapted = adapted(
            place,
            ("scheduler", &newer),
            scheduler,
            Scheduler::effective,
        );
        assert_eq!(adapted.unwrap().effective(), whole);
        // An invalid value is no unknown key.
        let mut wrong = without(&whole, "policy");
        let Value::Table(entries) = &mut wrong.value else {
            panic!("a section")
        };
        entries.push((
            "policy".to_owned(),
            Node::new(Value::Text("magic".to_owned()), "x"),
        ));
        let found = super::adapted(
            place,
            ("scheduler", &wrong),
            scheduler,
            Scheduler::effective,
        );
        assert!(found.unwrap_err().unknown.is_none());
    }
}
