//! `report`: pages and pictures of runs, from records.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::browser::{Browser, Loaded};
use crate::charts::{check_page, check_svg};
use crate::invocation::{Folder, root};

/// A shipped experiment, run in all scenarios; its records are in `runs/NAME`.
fn recorded(experiments: &[(&str, &str, &[&str])]) -> Folder {
    let folder = Folder::new();
    for (name, file, more) in experiments {
        let file = root().join("conf").join(file);
        let out = format!("runs/{name}");
        let simulate = ["simulate", file.to_str().unwrap(), "--out", &out];
        folder.stdout(&[&simulate, *more].concat());
    }
    folder
}

fn lbm() -> Folder {
    recorded(&[("lbm", "lbm.toml", &[])])
}

/// The page about `runs`.
fn page(folder: &Folder, runs: &[&str]) -> String {
    folder.stdout(&[&["report"], runs, &["-o", "page.html"]].concat());
    fs::read_to_string(folder.path().join("page.html")).unwrap()
}

fn picture(folder: &Folder, run: &str, kind: &str) -> String {
    folder.stdout(&["report", run, "--svg", kind, "-o", "picture.svg"]);
    fs::read_to_string(folder.path().join("picture.svg")).unwrap()
}

/// A page that opens without a fault.
#[track_caller]
fn opened(page: &str, script: &str) -> Option<Value> {
    let Loaded {
        problems,
        fetched,
        found,
    } = Browser::find()?.open(page, script);
    assert!(problems.is_empty(), "{problems:?}");
    assert!(fetched.is_empty(), "{fetched:?}");
    Some(found)
}

#[test]
fn a_page_has_pictures_calls_and_configuration_and_is_the_same_every_time() {
    let folder = lbm();
    let first = page(&folder, &["runs/lbm"]);
    check_page(&first);
    assert_eq!(
        first.matches("<svg").count(),
        6 + 8,
        "pictures and potentials"
    );
    let saved = "Rescheduling saved 105.860 s: 63.5 % of the 166.667 s of computing";
    assert!(first.contains(saved), "{first}");
    assert_eq!(first.matches("<details class=\"call\"").count(), 8);
    assert_eq!(first.matches("<details class=\"process\"").count(), 5);
    for part in [
        "id=\"r1-call-4-p21\"",
        "PM = Comp + Comm − Mem",
        "predicted, first superstep",
        "measured, mean until the next call",
        "application.processes",
        "configuration_sha256",
        "# schema: &quot;migbsp.report/1&quot;",
        "p21,0,4,corisco-1,corisco\np21,4,2000,aquario-1,aquario\n",
    ] {
        assert!(first.contains(part), "{part}: {first}");
    }
    let external = ["http://", "https://", "src=", "@import", "url(//"];
    let without_names = first.replace("http://www.w3.org/2000/svg", "");
    for address in external {
        assert!(!without_names.contains(address), "{address}");
    }
    assert!(first == page(&folder, &["runs/lbm"]), "the page differs");
}

#[test]
fn a_page_opens_in_a_browser_and_a_move_leads_to_its_reasons() {
    let folder = lbm();
    let script = "
        const figures = [...document.querySelectorAll('figure.picture > svg')].map((svg) => {
          const data = svg.querySelectorAll('g.data rect, g.data polyline, g.data polygon, svg > circle');
          const box = svg.getBoundingClientRect();
          return [data.length, box.width, box.height];
        });
        const links = [...document.querySelectorAll('g.moves a')];
        const names = links.map((link) => link.getAttribute('aria-label'));
        const wasOpen = document.querySelector('details.call').open;
        links[0].dispatchEvent(new MouseEvent('click', { bubbles: true, cancelable: true }));
        const reasons = document.getElementById('r1-call-4-p21');
        const isShown = reasons.checkVisibility() && reasons.open && reasons.closest('details.call').open;
        const focused = document.activeElement.textContent;
        links[0].focus();
        links[0].dispatchEvent(new KeyboardEvent('keydown', { key: 'ArrowRight', bubbles: true }));
        const next = document.activeElement.getAttribute('aria-label');
        const data = document.querySelector('figure.picture details.data');
        data.open = true;
        await new Promise((resolve) => data.addEventListener('toggle', resolve, { once: true }));
        const rows = data.querySelectorAll('tbody tr').length;
        return { figures, names, wasOpen, isShown, text: reasons.textContent, focused, next, rows, hash: location.hash };";
    let Some(found) = opened(&page(&folder, &["runs/lbm"]), script) else {
        return;
    };
    for figure in found["figures"].as_array().unwrap() {
        let [data, width, height] = [0, 1, 2].map(|part| figure[part].as_f64().unwrap());
        assert!(0.0 < data && 400.0 < width && 100.0 < height, "{found}");
    }
    let names = found["names"].as_array().unwrap();
    assert_eq!(names.len(), 5, "{found}");
    assert_eq!(
        names[0],
        "p21 moved from corisco-1 to aquario-1 after superstep 4"
    );
    assert_eq!(
        (&found["wasOpen"], &found["isShown"]),
        (&Value::from(false), &Value::from(true))
    );
    let text = found["text"].as_str().unwrap();
    for reason in [
        "its potential of 0.4247 s for aquario is the highest of 25",
        "P_comp",
        "t1",
        "t2",
    ] {
        assert!(text.contains(reason), "{reason}: {text}");
    }
    assert_eq!(found["focused"], "Why p21 moved");
    assert_eq!(found["next"], names[1]);
    assert_eq!(found["hash"], "#r1-call-4-p21");
    // 20 processes that stayed, and 5 that moved once.
    assert_eq!(found["rows"], 30);
}

#[test]
fn pictures_of_a_run_are_stretched_together_and_values_are_shown_under_the_pointer() {
    let folder = lbm();
    let script = "
        const [timeline, supersteps] = document.querySelectorAll('figure.picture > svg.plot');
        const labels = (svg) => [...svg.querySelectorAll('g.x-axis text')].map((text) => text.textContent.trim());
        const width = () => Math.max(...[...timeline.querySelectorAll('g.data rect')].map((rect) => Number(rect.getAttribute('width'))));
        const key = (key) => timeline.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true }));
        const before = [labels(timeline), width()];
        key('l');
        const linear = labels(supersteps);
        const [from, to] = timeline.dataset.x.split(' ').map(Number);
        const first = [...timeline.querySelectorAll('g.data rect')].find((rect) => Number(rect.getAttribute('width')) < 100);
        const places = [...timeline.querySelectorAll('g.data circle')].map((circle) => Number(circle.getAttribute('cx')) / 20);
        const share = (places[0] - from) / (to - from);
        for (let times = 0; times < 4; times++) key('+');
        const zoomed = [labels(timeline), labels(supersteps)];
        key('0');
        const all = labels(timeline);
        const box = timeline.getBoundingClientRect();
        const scale = box.width / timeline.viewBox.baseVal.width;
        const [top] = timeline.dataset.panels.split(' ').map(Number);
        timeline.dispatchEvent(new PointerEvent('pointermove', {
          clientX: box.left + (from + to) / 2 * scale, clientY: box.top + (top + 5) * scale, bubbles: true,
        }));
        const tip = document.getElementById('tip').textContent;
        const cursors = [...document.querySelectorAll('.cursor')].filter((line) => line.getAttribute('visibility') === 'visible');
        const button = document.querySelector('button[title=\"Show half as many supersteps\"]');
        button.click();
        return { before, linear, share, zoomed, all, tip, cursors: cursors.length, clicked: labels(supersteps), width: width() };";
    let Some(found) = opened(&page(&folder, &["runs/lbm"]), script) else {
        return;
    };
    let labels = |value: &Value| -> Vec<String> {
        let labels = value.as_array().unwrap().iter();
        labels
            .map(|label| label.as_str().unwrap().to_owned())
            .collect()
    };
    assert!(
        labels(&found["before"][0]).contains(&"superstep, logarithmic".to_owned()),
        "{found}"
    );
    assert_eq!(
        labels(&found["linear"])[..3],
        ["0", "200", "400"],
        "{found}"
    );
    // The move after superstep 4 of 2000, to a tenth of a superstep.
    let share = found["share"].as_f64().unwrap();
    assert!((share * 2_000.0 - 4.0).abs() < 0.1, "{found}");
    assert_eq!(found["zoomed"][0], found["zoomed"][1], "{found}");
    let zoomed = labels(&found["zoomed"][0]);
    let [low, high] =
        [&zoomed[0], &zoomed[zoomed.len() - 2]].map(|label| label.parse::<u64>().unwrap());
    assert!(900 < low && high < 1_100, "{found}");
    assert_eq!(labels(&found["all"])[..2], ["0", "200"], "{found}");
    let tip = found["tip"].as_str().unwrap();
    let lines: Vec<&str> = tip.lines().collect();
    assert!(
        lines[0].starts_with("superstep 9") || lines[0].starts_with("superstep 10"),
        "{tip}"
    );
    assert_eq!(
        lines[1..],
        ["process: p1", "host: labtec-1", "set: labtec"],
        "{tip}"
    );
    assert_eq!(found["cursors"], 5, "{found}");
    assert_eq!(labels(&found["clicked"])[0], "500", "{found}");
}

#[test]
fn several_runs_stand_beside_each_other() {
    let few: &[&str] = &["--set", "application.supersteps=100"];
    let folder = recorded(&[
        ("migbsp", "lbm.toml", few),
        (
            "adaptive",
            "lbm.toml",
            &[few, &["--policy", "adaptive"]].concat(),
        ),
        (
            "other",
            "dynamic/wan-ring.toml",
            &["--set", "application.supersteps=20"],
        ),
    ]);
    let two = page(&folder, &["runs/migbsp", "runs/adaptive"]);
    check_page(&two);
    for part in [
        ">against the first<",
        "<td>runs/adaptive</td><td>adaptive</td>",
        "id=\"r2-call-4\"",
    ] {
        assert!(two.contains(part), "{part}: {two}");
    }
    assert!(!two.contains("different experiments"), "{two}");
    let three = page(&folder, &["runs/migbsp", "runs/adaptive", "runs/other"]);
    let difference = "runs/migbsp and runs/other are runs of different experiments: `application.";
    assert!(three.contains(difference), "{three}");
    let script = "
        const figures = [...document.querySelectorAll('#timeline ~ div figure.picture')];
        const tops = figures.map((figure) => figure.getBoundingClientRect().top);
        const label = (figure) => [...figure.querySelectorAll('g.x-axis text')].at(-2).textContent.trim();
        figures[0].querySelector('button[title=\"Show half as many supersteps\"]').click();
        return { tops, labels: figures.map(label), all: document.querySelectorAll('figure[data-run=all] svg').length };";
    let Some(found) = opened(&two, script) else {
        return;
    };
    assert_eq!(found["tops"][0], found["tops"][1], "{found}");
    // The axes of another run stay.
    assert_ne!(found["labels"][0], found["labels"][1], "{found}");
    assert_eq!(found["all"], 1);
}

#[test]
fn every_picture_is_an_svg_of_its_own() {
    let folder = recorded(&[("wan", "dynamic/wan-ring.toml", &["--policy", "adaptive"])]);
    for (kind, words) in [
        ("timeline", "Processes by Set, 32 processes in scenario iii"),
        ("hosts", "Processes on hosts, scenario iii"),
        ("supersteps", "Supersteps of 32 processes, scenario iii"),
        ("breakdown", "waiting for the slowest process"),
        ("load", "Load of hosts, scenario iii"),
        ("sets", "16 moves from rennes to grenoble"),
    ] {
        let svg = picture(&folder, "runs/wan", kind);
        check_svg(&svg);
        assert!(svg.contains(words), "{kind}: {svg}");
    }
    let timeline = picture(&folder, "runs/wan", "timeline");
    // One for each move, and one in the legend of each panel.
    let (data, legend) = (timeline.split("<g class=\"data\"").nth(1).unwrap(), 0);
    assert_eq!(data.matches("<circle").count(), 16 + legend, "{timeline}");
    assert!(
        timeline.contains("p17 moved from rennes-1 to grenoble-2 after superstep 4."),
        "{timeline}"
    );
    // Scenario i has no calls; its Sets are known all the same.
    let alone = picture(&folder, "runs/wan/i", "timeline");
    assert!(alone.contains("\nrennes\n"), "{alone}");
    let load = picture(&folder, "runs/wan/i", "load");
    assert!(
        load.contains("Without a call the record does not say"),
        "{load}"
    );
}

/// The record of scenario iii of an experiment, and its events.
struct Cut {
    folder: Folder,
    place: PathBuf,
    events: String,
}

impl Cut {
    fn new() -> Self {
        let folder = recorded(&[("lbm", "lbm.toml", &["--set", "application.supersteps=60"])]);
        let place = folder.path().join("runs/lbm/iii");
        let events = fs::read_to_string(place.join("events.jsonl")).unwrap();
        fs::rename(place.join("run.json"), place.join("run.json.partial")).unwrap();
        Self {
            folder,
            place,
            events,
        }
    }

    /// The run stops after `length` bytes of its events.
    fn after(&self, length: usize) {
        fs::write(self.place.join("events.jsonl"), &self.events[..length]).unwrap();
    }
}

#[test]
fn a_run_that_did_not_end_is_shown_as_far_as_it_goes_and_marked() {
    let cut = Cut::new();
    let superstep = cut
        .events
        .find(r#"{"event":"superstep","index":20,"#)
        .unwrap();
    cut.after(superstep + 20);
    let page = page(&cut.folder, &["runs/lbm"]);
    check_page(&page);
    let warning = "<strong>Not the whole run. </strong>The run did not end, or goes on: the record stops after 20 supersteps. \
                   Its last line is cut off, and is ignored.";
    assert!(page.contains(warning), "{page}");
    assert_eq!(page.matches("<details class=\"call\"").count(), 2, "{page}");
    assert!(page.contains("p22,12,20,aquario-2,aquario"), "{page}");
    opened(&page, "return null;");
}

#[test]
fn wherever_a_run_is_cut_off_there_is_a_page_and_every_picture() {
    let cut = Cut::new();
    let lines: Vec<usize> = cut
        .events
        .match_indices('\n')
        .map(|(at, _)| at + 1)
        .collect();
    let call = cut.events.find(r#"{"event":"call""#).unwrap();
    for length in [
        lines[0],
        lines[0] + 3,
        lines[1],
        call,
        call + 100,
        lines[lines.len() - 2],
    ] {
        cut.after(length);
        check_page(&page(&cut.folder, &["runs/lbm"]));
        for kind in [
            "timeline",
            "hosts",
            "supersteps",
            "breakdown",
            "load",
            "sets",
        ] {
            check_svg(&picture(&cut.folder, "runs/lbm", kind));
        }
    }
}

/// Has the record of scenario iii of a job of four supersteps be that of its second view, which began with superstep 2 because
/// a node was lost, and puts that of the first view beside it.
fn lose_a_node(folder: &Folder) {
    let [first, second] =
        ["iii", "iii-view2"].map(|name| folder.path().join("runs/lbm").join(name));
    fs::rename(&first, &second).unwrap();
    fs::create_dir(&first).unwrap();
    fs::copy(second.join("run.json"), first.join("run.json.partial")).unwrap();
    let events = fs::read_to_string(second.join("events.jsonl")).unwrap();
    let events: Vec<Value> = events
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let write = |folder: &PathBuf, events: &[&Value]| {
        let lines: Vec<String> = events.iter().map(|event| format!("{event}\n")).collect();
        fs::write(folder.join("events.jsonl"), lines.concat()).unwrap();
    };
    let index = |event: &Value| event["index"].as_u64();
    let before =
        |event: &&Value| index(event).is_none_or(|index| index < 3) && event["event"] != "end";
    write(&first, &events.iter().filter(before).collect::<Vec<_>>());
    let mut head = events[0].clone();
    head["resumed"] = json!({"job": "1", "incarnation": 1, "superstep": 2});
    head["view"] = json!({
        "number": 2, "superstep": 2, "repeats": 1, "detected": 2.5, "restored": 0.5,
        "lost": [{"host": "node-7", "reason": "node-7 is lost: nothing was received for 2.5 s"}],
    });
    let after = |event: &&Value| index(event).is_none_or(|index| 2 <= index);
    let after: Vec<&Value> = events[1..].iter().filter(after).collect();
    write(&second, &[&[&head], &after[..]].concat());
}

#[test]
fn a_job_that_lost_a_node_has_a_picture_of_its_views() {
    let folder = recorded(&[("lbm", "lbm.toml", &["--set", "application.supersteps=4"])]);
    let drawn = ["--svg", "views", "-o", "picture.svg"];
    folder.fails(
        &[&["report", "runs/lbm"], &drawn[..]].concat(),
        2,
        "--svg: runs/lbm: the job had one view",
    );
    assert!(!page(&folder, &["runs/lbm"]).contains("Views of the job"));
    lose_a_node(&folder);
    let svg = picture(&folder, "runs/lbm", "views");
    check_svg(&svg);
    for words in [
        "2 views of a job of 25 processes",
        "1 node lost: the job stood still for 3 s",
        "\nnode-7\n",
    ] {
        assert!(svg.contains(words), "{words}: {svg}");
    }
    assert_eq!(picture(&folder, "runs/lbm/iii", "views"), svg);
    let page = page(&folder, &["runs/lbm"]);
    check_page(&page);
    for words in [
        "<h2 id=\"views\">Views of the job</h2>",
        "the job goes on from superstep 2 on ",
        "All else on this page is about view 2.",
        "view,hosts,lost,joined,detected_seconds,restored_seconds,",
    ] {
        assert!(page.contains(words), "{words}: {page}");
    }
    opened(&page, "return null;");
    fs::remove_dir_all(folder.path().join("runs/lbm/iii")).unwrap();
    folder.fails(
        &[&["report", "runs/lbm/iii-view2"], &drawn[..]].concat(),
        4,
        "--svg: runs/lbm/iii-view2: the record of view 1 of its job is not beside it",
    );
}

/// The arguments for a page about `runs`.
fn report<'a>(runs: &[&'a str]) -> Vec<&'a str> {
    [&["report"], runs, &["-o", "page.html"]].concat()
}

#[test]
fn faults_are_named_with_what_to_do() {
    let folder = recorded(&[("lbm", "lbm.toml", &["--set", "application.supersteps=20"])]);
    folder.fails(
        &report(&["runs/lbm", "runs/lbm/iii"]),
        2,
        "RUN: `runs/lbm` and `runs/lbm/iii` are the same record, runs/lbm/iii; name it once",
    );
    folder.fails(
        &report(&["runs"]),
        4,
        "runs: holds no record; one is made by `simulate FILE --out DIR`",
    );
    let missing = folder.run(&report(&["runs/lmb"]));
    assert_eq!(missing.code, Some(4));
    assert!(
        missing.stderr.contains("did you mean `runs/lbm`?"),
        "{missing:?}"
    );
    folder.fails(
        &[
            "report",
            "runs/lbm",
            "runs/lbm/i",
            "--svg",
            "load",
            "-o",
            "load.svg",
        ],
        2,
        "--svg: a picture shows one run; name one RUN, or leave out --svg for a page about all",
    );
    // The name of the file says what is in it.
    folder.fails(
        &["report", "runs/lbm", "-o", "page.png"],
        2,
        "page.png: a page is HTML, so its name has to end with `.html`\n  help: `--svg PICTURE -o FILE.svg` draws one \
         picture",
    );
    folder.fails(
        &[&report(&["runs/lbm"])[..], &["--svg", "load"]].concat(),
        2,
        "page.html: a picture is SVG, so its name has to end with `.svg`",
    );
    // Nothing is read before the file is known to be writable.
    let unwritable = folder.run(&["report", "runs/lmb", "-o", "none/page.html"]);
    assert_eq!(unwritable.code, Some(1), "{unwritable:?}");
    assert!(
        unwritable
            .stderr
            .starts_with("error: none/page.html: cannot be written: "),
        "{unwritable:?}"
    );
    let other = folder.run(&[&report(&["runs/lbm"])[..], &["--against", "runs/lbm/ii"]].concat());
    assert_eq!(other.code, Some(4), "{other:?}");
    assert!(
        other
            .stderr
            .contains("is a record of scenario ii, expected scenario i"),
        "{other:?}"
    );
    let events = folder.path().join("runs/lbm/iii/events.jsonl");
    let text = fs::read_to_string(&events).unwrap();
    fs::write(
        &events,
        text.replacen("migbsp.events/1", "migbsp.events/9", 1),
    )
    .unwrap();
    let ended = folder.run(&report(&["runs/lbm"]));
    let refused = "error: runs/lbm/iii/events.jsonl:1: schema \"migbsp.events/9\"; this program reads \
                   \"migbsp.events/1\"; it was written by migbsp ";
    assert!(
        ended.code == Some(4) && ended.stderr.starts_with(refused),
        "{ended:?}"
    );
    fs::write(&events, "").unwrap();
    assert_eq!(folder.run(&report(&["runs/lbm"])).code, Some(4));
    assert!(!folder.path().join("page.html").exists());
    let none = folder.run(&["report", "-o", "page.html"]);
    assert_eq!(none.code, Some(2), "{none:?}");
}

/// Has the record of scenario iii be that of a run of `processes` on as many hosts over `supersteps`, with a call of 40 moves
/// after every `interval` supersteps.
fn lengthen(folder: &Folder, (processes, supersteps, interval): (usize, usize, usize)) {
    let hosts: Vec<String> = (0..processes).map(|host| format!("host-{host}")).collect();
    let mut place: Vec<usize> = (0..processes).collect();
    let mut lines = vec![json!({
        "event": "run", "schema": "migbsp.events/1", "scenario": "iii", "sets": ["a", "b"], "hosts": hosts,
        "members": [[0, processes / 2], [1, processes - processes / 2]], "placement": hosts,
    })];
    for index in 0..supersteps {
        let (started, computation) = (index as f64, 0.5 + (index * 7 % 13) as f64 / 32.0);
        lines.push(json!({
            "event": "superstep", "index": index, "started": started, "ended": started + 1.0,
            "slowest": index * 31 % processes, "computation": computation, "mean": 0.5, "messages": 1,
        }));
        let over = index + 1;
        if over % interval != 0 || over == supersteps {
            continue;
        }
        let evaluations = (0..processes).map(|rank| json!({
            "rank": rank, "host": place[rank], "instructions": 100_000_000 + rank, "bytes": 1, "target": 1,
            "potentials": [{
                        "set": 1, "pattern_computation": 1.0, "prediction_computation": 0.5, "set_index": 1.0,
                        "computation": 0.5, "pattern_communication": 1.0, "prediction_communication": 0.0,
                        "communication": 0.0, "migration": 0.1,
                    }],
        }));
        lines.push(json!({
            "event": "evaluated", "superstep": over, "set": 0, "transfer_rates": [1e-9, 1e-7],
            "hosts": [[0, processes, 1e9, 1, 0.0, 0.0]], "processes": evaluations.collect::<Vec<_>>(),
        }));
        let entry = |rank| json!({"rank": rank, "own": 0, "target": 1, "potential": 0.5, "receive_time": 0.0});
        let moved: Vec<Value> = (0..40).map(|number| {
            let rank = (over * 17 + number * 41) % processes;
            let to = (over * 13 + number * 37) % processes;
            let from = std::mem::replace(&mut place[rank], to);
            json!({"rank": rank, "from": from, "to": to, "potential": 0.5, "t1": 0.5, "t2": 1.0, "cost": 0.1})
        }).collect();
        lines.push(json!({
            "event": "call", "superstep": over, "at": over as f64, "cost": 0.0, "interval": interval, "tolerance": 0.5,
            "balanced": 0, "threshold": null, "list": (0..processes).map(entry).collect::<Vec<_>>(), "passed_over": [],
            "considered": [], "assessment": null, "migrations": moved,
        }));
    }
    lines.push(json!({
        "event": "end", "seconds": supersteps as f64, "supersteps": supersteps, "messages": 0, "bytes": 0, "moved": 0,
    }));
    let lines: Vec<String> = lines.iter().map(Value::to_string).collect();
    fs::write(
        folder.path().join("runs/lbm/iii/events.jsonl"),
        lines.join("\n") + "\n",
    )
    .unwrap();
}

#[test]
fn a_long_run_of_many_processes_fits_on_a_page_that_opens() {
    let folder = recorded(&[("lbm", "lbm.toml", &["--set", "application.supersteps=4"])]);
    lengthen(&folder, (250, 5_000, 20));
    let page = page(&folder, &["runs/lbm"]);
    check_page(&page);
    assert!(page.len() < 6_000_000, "{} bytes", page.len());
    assert_eq!(page.matches("<details class=\"call\"").count(), 200);
    for words in [
        "The first 200 processes that moved, of 250.",
        "49 more calls",
        "mean of 3",
    ] {
        assert!(page.contains(words), "{words}");
    }
    let script = "
        const svg = document.querySelector('svg.plot');
        svg.dispatchEvent(new KeyboardEvent('keydown', { key: '+', bubbles: true }));
        return [...document.querySelectorAll('figure.picture > svg')].map((svg) => svg.querySelectorAll('*').length);";
    if let Some(found) = opened(&page, script) {
        let elements: u64 = found
            .as_array()
            .unwrap()
            .iter()
            .map(|number| number.as_u64().unwrap())
            .sum();
        assert!(elements < 60_000, "{found}");
    }
}
