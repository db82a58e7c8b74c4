//! The configuration of a run, and what made its record.

use experiments::{Failure, Registry};
use maud::{Markup, html};
use serde_json::Value;

use super::reported_run::ReportedRun;

/// What made the record of a run, and every value of its configuration.
pub(super) fn configuration(run: &ReportedRun, registry: &Registry) -> Result<Markup, Failure> {
    let provenance = serde_json::to_value(run.provenance(registry)?).map_err(Failure::run)?;
    Ok(html! {
        (values("What made it", &provenance, true))
        (values("Configuration", &run.manifest.configuration, false))
    })
}

fn values(title: &str, of: &Value, is_open: bool) -> Markup {
    let mut rows = Vec::new();
    flatten(String::new(), of, &mut rows);
    html! {
        details open[is_open] {
            summary { (title) }
            div.scroll {
                table {
                    thead { tr { th scope="col" { "key" } th scope="col" { "value" } } }
                    tbody {
                        @for (key, value) in rows {
                            tr { th scope="row" { (key) } td { code { (value) } } }
                        }
                    }
                }
            }
        }
    }
}

/// The values of objects by their paths.
fn flatten(path: String, value: &Value, rows: &mut Vec<(String, String)>) {
    match value {
        Value::Object(entries) => {
            for (key, value) in entries {
                let separator = if path.is_empty() { "" } else { "." };
                flatten(format!("{path}{separator}{key}"), value, rows);
            }
        }
        Value::String(text) => rows.push((path, text.clone())),
        Value::Array(items) if LONG < items.len() => {
            let first = Value::Array(items[..LONG].to_vec());
            let shown = first.to_string();
            let shown = shown.trim_end_matches(']');
            rows.push((path, format!("{shown},… {} in all]", items.len())));
        }
        other => rows.push((path, other.to_string())),
    }
}

/// The most values of a list that are shown.
const LONG: usize = 40;

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_have_their_paths_and_long_lists_are_cut() {
        let mut rows = Vec::new();
        let list: Vec<u32> = (0..100).collect();
        let value = json!({"run": {"seed": 1, "note": "a\"b"}, "list": list, "none": null});
        flatten(String::new(), &value, &mut rows);
        let find = |key: &str| rows.iter().find(|row| row.0 == key).unwrap().1.as_str();
        assert_eq!(find("run.seed"), "1");
        assert_eq!(find("run.note"), "a\"b");
        assert_eq!(find("none"), "null");
        assert!(find("list").ends_with(",39,… 100 in all]"), "{rows:?}");
    }
}
