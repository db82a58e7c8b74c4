//! `reproduce chen2008-…`: the paper of rebalancing, and ours beside it.

use serde_json::Value;

use crate::charts::check_contents;
use crate::invocation::Folder;
use crate::rebalance::folder;

fn reproduce(part: &str, instances: &str) -> Value {
    let part = format!("chen2008-{part}");
    let arguments = [
        "reproduce",
        &part,
        "--instances",
        instances,
        "--format",
        "json",
    ];
    serde_json::from_str(&folder().stdout(&arguments)).unwrap()
}

#[test]
fn initial_levels_are_near_the_published_ones() {
    let json = reproduce("table2", "100");
    assert_eq!(json["schema"], "migbsp.reproduce-chen2008/1");
    let cells = json["cells"].as_array().unwrap();
    assert_eq!(cells.len(), 20);
    for cell in cells {
        let error = cell["error"].as_f64().unwrap();
        // I4,2's 140 fits no reading of its workloads.
        assert!(error.abs() < 0.06, "{cell}");
    }
}

#[test]
fn every_number_of_a_table_has_one_of_ours_beside_it() {
    let json = reproduce("table4", "1");
    let cells = json["cells"].as_array().unwrap();
    // ISLP twice: as the text has it and as the numbers have it. MPARV twice: with either unit of its levels.
    assert_eq!(cells.len(), 10 * 2 * (3 + 2) * 3);
    let printed = cells.iter().filter(|cell| !cell["paper"].is_null());
    assert_eq!(
        printed.count(),
        (60 + 20 + 20) + (55 + 19 + 16) + (59 + 19 + 20)
    );
    for cell in cells.iter().filter(|cell| cell["quantity"] == "success") {
        assert!(cell["ours"].is_f64(), "{cell}");
    }
    let islp = cells.iter().find(|cell| {
        (
            &cell["group"],
            &cell["target"],
            &cell["algorithm"],
            &cell["quantity"],
        ) == (
            &"I1,3".into(),
            &76.4.into(),
            &"islp".into(),
            &"migrations".into(),
        )
    });
    assert_eq!(islp.unwrap()["paper"], 70.8);
    // One instance is no mean.
    assert!(
        islp.unwrap()["error"].as_f64().unwrap().abs() < 0.3,
        "{islp:?}"
    );
}

#[test]
fn the_papers_order_of_costs_comes_out() {
    let json = reproduce("table3", "4");
    assert_eq!(json["cells"].as_array().unwrap().len(), 10 * 4 * 5);
    for claim in &json["claims"].as_array().unwrap()[..2] {
        assert_eq!(
            (&claim["holds"], &claim["of"]),
            (&10.into(), &10.into()),
            "{claim}"
        );
    }
}

#[test]
fn results_are_shown_in_all_forms() {
    let folder = folder();
    let arguments = ["reproduce", "chen2008-table2", "--instances", "2"];
    let text = folder.stdout(&arguments);
    assert!(text.starts_with("Table 2: "), "{text}");
    assert!(
        text.contains("Means over 2 instances of each group"),
        "{text}"
    );
    let csv = folder.csv(&arguments);
    assert_eq!(csv.lines().count(), 1 + 20, "{csv}");
    folder.stdout(&[&arguments[..], &["--html", "t.html"]].concat());
    let html = std::fs::read_to_string(folder.path().join("t.html")).unwrap();
    assert!(html.contains(">I4,5</td>"), "{html}");
    check_contents(&html);
}

#[test]
fn options_of_others_are_refused() {
    let folder = folder();
    folder.fails(
        &["reproduce", "chen2008-table2", "--ties", "rank"],
        2,
        "--ties does not apply to chen2008, which has no rescheduling",
    );
    folder.fails(
        &["reproduce", "table2", "--instances", "3"],
        2,
        "--instances applies to chen2008 only",
    );
}

#[test]
fn a_number_of_instances_is_at_least_one() {
    let ended = Folder::new().run(&["reproduce", "chen2008-table2", "--instances", "-1"]);
    assert_eq!(ended.code, Some(2), "{ended:?}");
    assert!(ended.stderr.contains("-1 is not in 1..=10000"), "{ended:?}");
}
