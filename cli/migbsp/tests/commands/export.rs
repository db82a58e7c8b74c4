//! `export`: what other tools get is what the record has.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::ops::Range;
use std::path::Path;
use std::time::SystemTime;

use serde_json::Value;

use crate::invocation::{Folder, rows};
use crate::live::cluster::Cluster;
use crate::live::under_way::UnderWay;

/// A record with moves, traced.
fn traced() -> Folder {
    let folder = Folder::new();
    let options = ["--out", "runs", "--trace", "--set", "scheduler.interval=2"];
    folder.stdout(&[&["simulate", "e.toml"], &options[..]].concat());
    folder
}

fn events(record: &Path) -> Vec<Value> {
    let text = fs::read_to_string(record.join("events.jsonl")).unwrap();
    let lines = text.lines().map(|line| serde_json::from_str(line).unwrap());
    lines.collect()
}

/// The events of a kind.
fn of_kind<'a>(events: &'a [Value], kind: &str) -> Vec<&'a Value> {
    let found = events.iter().filter(|event| event["event"] == kind);
    found.collect()
}

/// The rows of a table by column.
fn table(folder: &Folder, name: &str) -> Vec<BTreeMap<String, String>> {
    let text = fs::read_to_string(folder.path().join(name)).unwrap();
    let rows = rows(&text);
    let mut reader = csv::Reader::from_reader(rows.as_bytes());
    reader.deserialize().map(|row| row.unwrap()).collect()
}

fn number(row: &BTreeMap<String, String>, column: &str) -> f64 {
    row[column].parse().unwrap()
}

fn sum(rows: &[BTreeMap<String, String>], column: &str) -> f64 {
    rows.iter().map(|row| number(row, column)).sum()
}

#[track_caller]
fn close(left: f64, right: f64) {
    // A trace has whole nanoseconds.
    assert!((left - right).abs() < 1e-6, "{left} {right}");
}

#[test]
fn tables_have_the_rows_and_the_sums_of_the_record() {
    let folder = traced();
    folder.stdout(&["export", "runs", "--format", "csv", "-o", "tables"]);
    let events = events(&folder.path().join("runs/iii"));
    let supersteps = table(&folder, "tables/supersteps.csv");
    assert_eq!(supersteps.len(), of_kind(&events, "superstep").len());
    let (calls, moves) = (
        table(&folder, "tables/calls.csv"),
        table(&folder, "tables/moves.csv"),
    );
    assert_eq!(calls.len(), of_kind(&events, "call").len());
    assert_eq!(moves.len(), of_kind(&events, "moved").len());
    assert!(!moves.is_empty(), "{events:?}");
    close(sum(&calls, "moves"), moves.len() as f64);
    let candidates = table(&folder, "tables/candidates.csv");
    assert_eq!(candidates.len(), 4 * calls.len());
    let traces = table(&folder, "tables/traces.csv");
    assert_eq!(traces.len(), 4 * supersteps.len());
    let end = of_kind(&events, "end")[0];
    close(sum(&traces, "sent"), end["bytes"].as_f64().unwrap());
    close(sum(&traces, "received"), end["bytes"].as_f64().unwrap());
    for (superstep, processes) in supersteps.iter().zip(traces.chunks(4)) {
        let longest = processes.iter().map(|row| number(row, "computation"));
        close(
            longest.fold(0.0, f64::max),
            number(superstep, "computation"),
        );
        for row in processes {
            assert_eq!(row["superstep"], superstep["superstep"]);
            let busy = sum(std::slice::from_ref(row), "computation") + number(row, "exchange");
            let until = number(row, "started") + busy + number(row, "waiting");
            close(until, number(superstep, "ended"));
        }
    }
    for moved in &moves {
        let after = |row: &&BTreeMap<String, String>| {
            row["process"] == moved["process"]
                && number(moved, "superstep") <= number(row, "superstep")
        };
        assert_eq!(traces.iter().find(after).unwrap()["host"], moved["to"]);
    }
}

#[test]
fn a_timeline_for_perfetto_has_a_slice_for_each_phase() {
    let folder = traced();
    folder.stdout(&["export", "runs", "--format", "perfetto", "-o", "trace.json"]);
    let text = fs::read_to_string(folder.path().join("trace.json")).unwrap();
    let trace: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(trace["otherData"]["version"], "migbsp 0.1.0");
    let slices = trace["traceEvents"].as_array().unwrap();
    let number = |name: &str| {
        let named = slices.iter().filter(|slice| slice["name"] == name);
        named.count()
    };
    assert_eq!(number("superstep"), 20);
    for phase in ["compute", "exchange", "wait"] {
        assert_eq!(number(phase), 80);
    }
    let events = events(&folder.path().join("runs/iii"));
    assert_eq!(number("move"), of_kind(&events, "moved").len());
    assert_eq!(number("call"), of_kind(&events, "call").len());
    // Slices of a track follow each other.
    let mut ends: BTreeMap<(u64, u64), f64> = BTreeMap::new();
    for slice in slices.iter().filter(|slice| slice["ph"] == "X") {
        let track = (
            slice["pid"].as_u64().unwrap(),
            slice["tid"].as_u64().unwrap(),
        );
        let start = slice["ts"].as_f64().unwrap();
        let end = ends.entry(track).or_default();
        assert!(*end <= start + 0.01, "{slice}");
        *end = start + slice["dur"].as_f64().unwrap();
    }
}

#[test]
fn a_timeline_of_a_run_without_a_trace_shows_where_processes_were() {
    let folder = Folder::new();
    folder.stdout(&["simulate", "e.toml", "--out", "runs"]);
    folder.stdout(&["export", "runs", "--format", "perfetto", "-o", "trace.json"]);
    let text = fs::read_to_string(folder.path().join("trace.json")).unwrap();
    let trace: Value = serde_json::from_str(&text).unwrap();
    let slices = trace["traceEvents"].as_array().unwrap();
    let placements = slices.iter().filter(|slice| slice["cat"] == "placement");
    let moves = slices.iter().filter(|slice| slice["name"] == "move");
    assert_eq!(placements.count(), 4 + moves.count());
    folder.stdout(&["export", "runs", "--format", "csv", "-o", "tables"]);
    assert!(!folder.path().join("tables/traces.csv").exists());
    folder.fails(
        &[
            "export", "runs", "--format", "csv", "--table", "traces", "-o", "t.csv",
        ],
        4,
        "runs/iii: has no trace.bin: the run was not traced\n  help: run it again with --trace",
    );
    assert!(!folder.path().join("t.csv").exists());
}

#[test]
fn spans_have_parents_that_enclose_them() {
    let folder = traced();
    folder.stdout(&["export", "runs", "--format", "otlp", "-o", "spans.json"]);
    let text = fs::read_to_string(folder.path().join("spans.json")).unwrap();
    let document: Value = serde_json::from_str(&text).unwrap();
    let spans = document["resourceSpans"][0]["scopeSpans"][0]["spans"]
        .as_array()
        .unwrap();
    let time = |span: &Value, key: &str| span[key].as_str().unwrap().parse::<u64>().unwrap();
    let by_id: BTreeMap<&str, &Value> = spans
        .iter()
        .map(|span| (span["spanId"].as_str().unwrap(), span))
        .collect();
    assert_eq!(by_id.len(), spans.len());
    for span in spans {
        let parent = span["parentSpanId"].as_str().unwrap();
        if span["name"] == "run" {
            assert_eq!(parent, "");
            continue;
        }
        let (start, end) = (
            time(span, "startTimeUnixNano"),
            time(span, "endTimeUnixNano"),
        );
        let parent = by_id[parent];
        assert!(
            time(parent, "startTimeUnixNano") <= start && start <= end,
            "{span}"
        );
        assert!(end <= time(parent, "endTimeUnixNano"), "{span}");
    }
}

#[test]
fn lines_of_paje_are_in_order_and_states_end() {
    let folder = traced();
    folder.stdout(&["export", "runs", "--format", "paje", "-o", "run.paje"]);
    let text = fs::read_to_string(folder.path().join("run.paje")).unwrap();
    let (mut last, mut open) = (0.0, 0);
    for line in text.lines().filter(|line| !line.starts_with(['%', '#'])) {
        let words: Vec<&str> = line.split(' ').collect();
        if matches!(words[0], "3" | "4" | "5" | "6" | "7") {
            let time: f64 = words[1].parse().unwrap();
            assert!(last <= time, "{line}");
            last = time;
        }
        open += i32::from(words[0] == "6") - i32::from(words[0] == "7");
        assert!(0 <= open, "{line}");
    }
    assert_eq!(open, 0);
    assert_eq!(text.matches(" compute\n").count(), 80);
}

/// A line of Paje as `pj_dump` reads it: words, or what is between two quotes; `#` begins a comment outside of these.
fn paje_words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut rest = line.trim_start();
    while !rest.is_empty() && !rest.starts_with('#') {
        let (word, after) = match rest.strip_prefix('"') {
            Some(inner) => inner.split_once('"').unwrap(),
            None => rest.split_once(' ').unwrap_or((rest, "")),
        };
        words.push(word.to_owned());
        rest = after.trim_start();
    }
    words
}

#[test]
fn names_of_hosts_are_read_as_they_are_in_every_format() {
    let names = [
        "#h 1",
        "a \"q\" b",
        "c,d;e",
        "nœud\\é",
        "x'y",
        "=1+1",
        "<b>&amp;",
        "p1",
    ];
    let hosts: Vec<String> = names.iter().map(|name| format!("'{name}'")).collect();
    let hosts = hosts.join(", ").replace("'x'y'", "\"x'y\"");
    let platform = format!(
        "[[set]]\nname = 's \"z\",1'\nhosts = [{hosts}]\nspeed = \"1 Gf\"\nlink = {{ bandwidth = \"1 GBps\" }}\n"
    );
    let experiment = "[application]\nworkload = \"synthetic\"\nprocesses = 8\nsupersteps = 6\n\
                      [application.synthetic]\ninstructions = [1e7, 9e7]\n[platform]\nfile = \"p.toml\"\n";
    let folder = Folder::new()
        .with("p.toml", platform)
        .with("n.toml", experiment);
    folder.stdout(&["simulate", "n.toml", "--trace", "--out", "runs"]);
    let export = |format: &str, file: &str, more: &[&str]| {
        folder.stdout(&[&["export", "runs", "--format", format, "-o", file], more].concat());
        fs::read_to_string(folder.path().join(file)).unwrap()
    };
    // In Paje, which has no escapes, a double quote is a single one.
    let paje = export("paje", "n.paje", &[]);
    let lines = paje.lines().map(paje_words);
    let of_hosts = lines.filter(|words| words.len() == 5 && words[0] == "2" && words[2] == "H");
    let read: Vec<String> = of_hosts.map(|words| words[3].clone()).collect();
    assert_eq!(read, names.map(|name| name.replace('"', "'")));
    let all: BTreeSet<&str> = names.into_iter().collect();
    let perfetto: Value = serde_json::from_str(&export("perfetto", "n.json", &[])).unwrap();
    let events = perfetto["traceEvents"].as_array().unwrap().iter();
    let placed = events.filter(|event| event["cat"] == "placement");
    let placed: BTreeSet<&str> = placed
        .map(|event| event["name"].as_str().unwrap())
        .collect();
    assert_eq!(placed, all);
    let otlp: Value = serde_json::from_str(&export("otlp", "n.otlp", &[])).unwrap();
    let spans = otlp["resourceSpans"][0]["scopeSpans"][0]["spans"]
        .as_array()
        .unwrap();
    let attributes = spans
        .iter()
        .flat_map(|span| span["attributes"].as_array().unwrap());
    let of_hosts = attributes.filter(|attribute| attribute["key"] == "migbsp.host");
    let spoken: BTreeSet<&str> = of_hosts
        .map(|attribute| attribute["value"]["stringValue"].as_str().unwrap())
        .collect();
    assert_eq!(spoken, all);
    export("csv", "n.csv", &["--table", "traces"]);
    let rows = table(&folder, "n.csv");
    let hosts: BTreeSet<&str> = rows.iter().map(|row| row["host"].as_str()).collect();
    assert_eq!(hosts, all);
}

#[test]
fn without_a_table_there_is_a_file_for_each() {
    let folder = traced();
    folder.stdout(&["export", "runs", "--format", "csv", "-o", "tables"]);
    for name in [
        "supersteps",
        "calls",
        "candidates",
        "moves",
        "notes",
        "traces",
    ] {
        let file = folder.path().join(format!("tables/{name}.csv"));
        let text = fs::read_to_string(file).unwrap();
        assert!(
            text.starts_with(&format!("# schema: \"migbsp.export.{name}/1\"\n")),
            "{text:.80}"
        );
    }
}

#[test]
fn what_cannot_be_exported_is_refused_and_leaves_nothing() {
    let folder = traced().with("other/notes.txt", "");
    let perfetto = ["--format", "perfetto", "-o", "t.json"];
    folder.fails(
        &[&["export", "other"], &perfetto[..]].concat(),
        4,
        "other: holds no record; one is made by `simulate FILE --out DIR`",
    );
    folder.fails(
        &[
            "export", "runs", "--format", "perfetto", "--table", "moves", "-o", "t.json",
        ],
        2,
        "--table: this format is no table; leave it out, or use --format csv",
    );
    let missing = [
        "export",
        "runs",
        "--format",
        "perfetto",
        "-o",
        "none/t.json",
    ];
    let ended = folder.run(&missing);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(
        ended.stderr.contains("none/t.json: cannot be written"),
        "{ended:?}"
    );
    let trace = folder.path().join("runs/iii/trace.bin");
    let bytes = fs::read(&trace).unwrap();
    fs::write(&trace, &bytes[..bytes.len() - 5]).unwrap();
    let ended = folder.run(&[&["export", "runs"], &perfetto[..]].concat());
    assert_eq!(ended.code, Some(4), "{ended:?}");
    assert!(
        ended.stderr.contains("runs/iii/trace.bin: byte ")
            && ended.stderr.ends_with(": it is cut off\n"),
        "{ended:?}"
    );
    let mut changed = bytes;
    let middle = changed.len() / 2;
    changed[middle] ^= 1;
    fs::write(&trace, &changed).unwrap();
    let ended = folder.run(&[&["export", "runs"], &perfetto[..]].concat());
    assert_eq!(ended.code, Some(4), "{ended:?}");
    assert!(!folder.path().join("t.json").exists());
}

#[test]
fn a_trace_changes_no_other_file_of_the_record() {
    let folder = traced();
    let options = ["--out", "plain", "--set", "scheduler.interval=2"];
    folder.stdout(&[&["simulate", "e.toml"], &options[..]].concat());
    for scenario in ["i", "ii", "iii"] {
        let events = |record: &str| {
            fs::read(
                folder
                    .path()
                    .join(record)
                    .join(scenario)
                    .join("events.jsonl"),
            )
            .unwrap()
        };
        assert!(events("runs") == events("plain"), "{scenario}");
    }
    assert!(folder.path().join("runs/i/trace.bin").exists());
    assert!(!folder.path().join("plain/i/trace.bin").exists());
    // Once more, without a trace: the old one goes.
    folder.stdout(&["simulate", "e.toml", "--out", "runs", "--force"]);
    assert!(!folder.path().join("runs/i/trace.bin").exists());
}

#[test]
fn spans_of_a_run_on_hosts_have_dates_and_its_job() {
    let (cluster, begun) = dated();
    let export = ["export", "runs", "--format", "otlp", "-o", "spans.json"];
    cluster.folder.stdout(&export);
    let text = fs::read_to_string(cluster.folder.path().join("spans.json")).unwrap();
    let document: Value = serde_json::from_str(&text).unwrap();
    let spans = &document["resourceSpans"][0];
    let attributes = spans["resource"]["attributes"].as_array().unwrap();
    let job = attributes.iter().find(|one| one["key"] == "migbsp.job");
    assert_eq!(job.unwrap()["value"]["stringValue"], cluster_job(&cluster));
    for span in spans["scopeSpans"][0]["spans"].as_array().unwrap() {
        let start: f64 = span["startTimeUnixNano"].as_str().unwrap().parse().unwrap();
        assert!(begun.contains(&(start / 1e9)), "{begun:?}: {span}");
    }
}

/// A run on hosts whose record is in `runs`, and when it was made, in seconds since 1970.
fn dated() -> (Cluster, Range<f64>) {
    let cluster = Cluster::start(&[1]);
    let now = || {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        now.unwrap().as_secs_f64()
    };
    let before = now();
    let mut run = cluster.command("hosts", &["run", "heat.toml", "--out", "runs"]);
    let ended = UnderWay::start(&mut run).ends_within(20);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    // The clocks of nodes and clients are one.
    (cluster, before..now())
}

/// The number of the job of the record in `runs`.
fn cluster_job(cluster: &Cluster) -> String {
    let text = fs::read_to_string(cluster.folder.path().join("runs/iii/run.json")).unwrap();
    let manifest: Value = serde_json::from_str(&text).unwrap();
    manifest["job"].as_str().unwrap().to_owned()
}

#[cfg(not(feature = "otlp"))]
#[test]
fn a_program_that_sends_no_spans_says_how_one_is_built() {
    let collector = "http://127.0.0.1:9";
    refuses(
        &traced(),
        &["export", "runs", "--format", "otlp", "-o", collector],
        2,
        "has been built without the feature `otlp`",
    );
}

/// Checks that the binary fails with `code` and says this, among others.
#[track_caller]
fn refuses(folder: &Folder, arguments: &[&str], code: i32, words: &str) {
    let ended = folder.run(arguments);
    assert_eq!(ended.code, Some(code), "{ended:?}");
    assert!(ended.stderr.contains(words), "{ended:?}");
}

/// What a collector of OpenTelemetry receives.
#[cfg(feature = "otlp")]
mod collector {
    use std::io::{BufRead as _, BufReader, Read as _, Write as _};
    use std::net::TcpListener;
    use std::thread;

    use super::*;

    /// The value of a field of protobuf.
    #[derive(Clone, Debug)]
    enum Field {
        Number(u64),
        Bytes(Vec<u8>),
    }

    /// The fields of a message, with their numbers.
    fn fields(mut bytes: &[u8]) -> Vec<(u64, Field)> {
        fn number(bytes: &mut &[u8]) -> u64 {
            let (mut value, mut shift) = (0, 0);
            loop {
                let (first, rest) = bytes.split_first().unwrap();
                *bytes = rest;
                value |= u64::from(first & 0x7f) << shift;
                shift += 7;
                if first & 0x80 == 0 {
                    return value;
                }
            }
        }
        let mut found = Vec::new();
        while !bytes.is_empty() {
            let key = number(&mut bytes);
            let field = match key & 7 {
                0 => Field::Number(number(&mut bytes)),
                1 => {
                    let (value, rest) = bytes.split_first_chunk().unwrap();
                    bytes = rest;
                    Field::Number(u64::from_le_bytes(*value))
                }
                2 => {
                    let length = usize::try_from(number(&mut bytes)).unwrap();
                    let (value, rest) = bytes.split_at(length);
                    bytes = rest;
                    Field::Bytes(value.to_vec())
                }
                5 => {
                    let (value, rest) = bytes.split_first_chunk().unwrap();
                    bytes = rest;
                    Field::Number(u64::from(u32::from_le_bytes(*value)))
                }
                other => panic!("a field of kind {other}"),
            };
            found.push((key >> 3, field));
        }
        found
    }

    /// The messages that are in field `number` of a message.
    fn messages(bytes: &[u8], number: u64) -> Vec<Vec<u8>> {
        let fields = fields(bytes).into_iter();
        let of = |(found, field)| match field {
            Field::Bytes(bytes) if found == number => Some(bytes),
            Field::Bytes(_) | Field::Number(_) => None,
        };
        fields.filter_map(of).collect()
    }

    fn text(bytes: &[u8], number: u64) -> String {
        String::from_utf8(messages(bytes, number).concat()).unwrap()
    }

    fn value(bytes: &[u8], number: u64) -> u64 {
        let fields = fields(bytes).into_iter();
        let mut of = fields.filter_map(|(found, field)| match field {
            Field::Number(value) if found == number => Some(value),
            Field::Bytes(_) | Field::Number(_) => None,
        });
        of.next().unwrap_or(0)
    }

    /// Receives requests until `count` have come; their heads and bodies.
    fn receive(listener: &TcpListener, count: usize) -> Vec<(String, Vec<u8>)> {
        let mut received = Vec::new();
        for _ in 0..count {
            let (stream, _) = listener.accept().unwrap();
            let mut reader = BufReader::new(&stream);
            let (mut head, mut length) = (String::new(), 0);
            loop {
                let mut line = String::new();
                reader.read_line(&mut line).unwrap();
                if line == "\r\n" {
                    break;
                }
                let line = line.to_lowercase();
                if let Some(value) = line.strip_prefix("content-length: ") {
                    length = value.trim().parse().unwrap();
                }
                head += &line;
            }
            let mut body = vec![0; length];
            reader.read_exact(&mut body).unwrap();
            let answer = "HTTP/1.1 200 OK\r\nContent-Type: application/x-protobuf\r\n\
                          Content-Length: 0\r\nConnection: close\r\n\r\n";
            (&stream).write_all(answer.as_bytes()).unwrap();
            received.push((head, body));
        }
        received
    }

    #[test]
    fn a_collector_receives_all_spans_of_a_run_with_their_dates() {
        let (cluster, begun) = dated();
        let export = |out: &str| {
            cluster
                .folder
                .stdout(&["export", "runs", "--format", "otlp", "-o", out])
        };
        export("spans.json");
        let text_of = fs::read_to_string(cluster.folder.path().join("spans.json")).unwrap();
        let document: Value = serde_json::from_str(&text_of).unwrap();
        let expected = document["resourceSpans"][0]["scopeSpans"][0]["spans"]
            .as_array()
            .unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let requests = expected.len().div_ceil(512);
        let receiving = thread::spawn(move || receive(&listener, requests));
        let told = export(&address);
        let trace = expected[0]["traceId"].as_str().unwrap();
        let count = expected.len();
        assert_eq!(
            told,
            format!("{count} spans of trace {trace}: {address}/v1/traces\n")
        );
        let mut spans = Vec::new();
        for (head, body) in receiving.join().unwrap() {
            assert!(head.starts_with("post /v1/traces http/1.1\r\n"), "{head}");
            assert!(
                head.contains("content-type: application/x-protobuf"),
                "{head}"
            );
            for resource_spans in messages(&body, 1) {
                let resource = messages(&resource_spans, 1).concat();
                let attributes = messages(&resource, 1).into_iter();
                let attributes: BTreeMap<String, String> = attributes
                    .map(|pair| (text(&pair, 1), text(&messages(&pair, 2).concat(), 1)))
                    .collect();
                assert_eq!(attributes["migbsp.job"], cluster_job(&cluster));
                assert_eq!(attributes["service.name"], "migbsp");
                let scopes = messages(&resource_spans, 2);
                spans.extend(scopes.iter().flat_map(|scope| messages(scope, 2)));
            }
        }
        assert_eq!(spans.len(), count);
        let hexadecimal = |bytes: Vec<Vec<u8>>| hex::encode(bytes.concat());
        let mut of_run = 0;
        for (span, expected) in spans.iter().zip(expected) {
            assert_eq!(hexadecimal(messages(span, 1)), trace);
            assert_eq!(
                hexadecimal(messages(span, 2)),
                expected["spanId"].as_str().unwrap()
            );
            assert_eq!(
                hexadecimal(messages(span, 4)),
                expected["parentSpanId"].as_str().unwrap()
            );
            assert_eq!(text(span, 5), expected["name"].as_str().unwrap());
            for (number, key) in [(7, "startTimeUnixNano"), (8, "endTimeUnixNano")] {
                let date = value(span, number);
                assert_eq!(date.to_string(), expected[key].as_str().unwrap());
                assert!(begun.contains(&(date as f64 / 1e9)), "{begun:?}: {date}");
            }
            let attributes = expected["attributes"].as_array().unwrap();
            assert_eq!(messages(span, 9).len(), attributes.len(), "{expected}");
            of_run += usize::from(text(span, 5) == "run");
        }
        assert_eq!(of_run, 1);
    }

    #[test]
    fn what_has_no_date_and_what_is_no_collector_is_refused() {
        let folder = traced();
        let export = ["export", "runs", "--format", "otlp", "-o"];
        let to = |address| [&export[..], &[address]].concat();
        refuses(
            &folder,
            &to("http://127.0.0.1:9"),
            4,
            "runs/iii: has no date",
        );
        refuses(&folder, &to("https://127.0.0.1:9"), 2, "without TLS");
        let (cluster, _) = dated();
        refuses(
            &cluster.folder,
            &to("http://127.0.0.1:9"),
            1,
            "http://127.0.0.1:9/v1/traces: does not take spans",
        );
    }
}
