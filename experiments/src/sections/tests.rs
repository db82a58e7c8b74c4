use settings::Value;

use super::*;

/// The section in which `key` has this text.
fn section(key: &str, value: Value) -> Result<CheckpointSection, Fault> {
    let table = |entries: Vec<(String, Node)>| Node {
        value: Value::Table(entries),
        origin: None,
    };
    let value = Node {
        value,
        origin: None,
    };
    let section = table(vec![(key.to_owned(), value)]);
    CheckpointSection::new(&table(vec![("checkpoint".to_owned(), section)]))
}

fn text(text: &str) -> Value {
    Value::Text(text.to_owned())
}

#[test]
fn an_interval_is_a_time_or_a_number_of_supersteps() {
    let seconds = |value| CheckpointTime::Time(Seconds::new(value).unwrap());
    for (written, expected) in [
        (text("10 s"), seconds(10.0)),
        (text("1.5 min"), seconds(90.0)),
        (text("500ms"), seconds(0.5)),
        (Value::Integer(10), seconds(10.0)),
        (Value::Float(0.25), seconds(0.25)),
        (text("20 supersteps"), CheckpointTime::Supersteps(20)),
        (text("1 superstep"), CheckpointTime::Supersteps(1)),
        (text("optimal"), CheckpointTime::Optimal),
        (text("never"), CheckpointTime::Never),
    ] {
        let read = section("interval", written).unwrap();
        assert_eq!(read.interval, expected);
        // What is shown is read again.
        let shown = section("interval", text(&expected.to_string())).unwrap();
        assert_eq!(shown, read);
    }
}

#[test]
fn bad_values_name_the_key_and_what_would_do() {
    let rule = "must be a time above 0 s such as \"10 s\", a number of supersteps such as \"20 supersteps\", \
                \"optimal\" or \"never\"";
    for (key, value, expected) in [
        ("interval", text("0 s"), rule),
        ("interval", text("soon"), rule),
        ("interval", text("0 supersteps"), rule),
        ("interval", text("1.5 supersteps"), rule),
        ("interval", text("-3 s"), rule),
        ("interval", Value::Integer(0), rule),
        ("interval", Value::Boolean(true), rule),
        ("mtbf", Value::Integer(0), "must be above 0 s"),
        ("change", Value::Float(1.5), "must be a number from 0 to 1"),
        ("change", Value::Float(-0.5), "must be a number from 0 to 1"),
        ("encoding", Value::Integer(0), "is not above zero"),
        (
            "fork",
            text("4 s"),
            "unknown unit `s`, must be bytes per second",
        ),
        ("copies", text("yes"), "must be true or false"),
    ] {
        let fault = section(key, value).unwrap_err().to_string();
        assert!(fault.contains(expected), "{key}: {fault}");
        assert!(fault.contains(&format!("checkpoint.{key}")), "{fault}");
    }
    let fault = section("every", text("10 s")).unwrap_err().to_string();
    assert!(fault.contains("checkpoint.every"), "{fault}");
}

#[test]
fn rates_and_sizes_have_units() {
    let read = |key, written| section(key, text(written)).unwrap();
    assert!((read("encoding", "200 MB/s").encoding.get() - 200e6).abs() < 1.0);
    assert!((read("fork", "8 GiB/s").fork.get() - 8_589_934_592.0).abs() < 1.0);
    assert_eq!(read("bytes", "50 MB").bytes, Some(Bytes(50_000_000)));
    assert!((read("mtbf", "2 d").mtbf.get() - 172_800.0).abs() < 1e-6);
}
