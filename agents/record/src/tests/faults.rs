//! Records that are refused, and why.

use super::*;

#[test]
fn supersteps_that_are_missing_or_there_twice_are_noticed() {
    let superstep = |index| {
        line(&Event::Superstep(Superstep {
            index,
            started: Instant::START,
            ended: Instant::START,
            slowest: Rank(0),
            computation: Seconds::ZERO,
            mean: None,
            took: None,
            messages: 0,
            notes: Notes::default(),
        }))
    };
    let record = |indices: &[u64], supersteps: u64| {
        let all: String = indices.iter().map(|index| superstep(*index)).collect();
        fault_of(&format!(
            "{}{all}{}",
            line(&run()),
            line(&end_after(supersteps))
        ))
    };
    let what = "events are missing or there twice";
    assert_eq!(
        record(&[0, 2], 3),
        format!("events.jsonl:3: superstep 2 comes after 1 supersteps; {what}")
    );
    assert_eq!(
        record(&[0, 0], 2),
        format!("events.jsonl:3: superstep 0 comes after 1 supersteps; {what}")
    );
    assert_eq!(
        record(&[0], 3),
        format!(
            "events.jsonl:3: the end of the run after superstep 3 comes after 1 supersteps; {what}"
        )
    );
}

/// The fault of a record with `events` after a superstep, and another superstep behind them.
fn fault_in_call(events: &[&str]) -> String {
    let superstep = |index: u64| {
        format!(
            r#"{{"event":"superstep","index":{index},"started":0.0,"ended":1.0,"slowest":0,"computation":0.0,"messages":0}}"#
        )
    };
    let mut text = line(&run());
    text.push_str(&format!("{}\n", superstep(0)));
    for event in events {
        text.push_str(&format!("{event}\n"));
    }
    text.push_str(&format!("{}\n{}", superstep(1), line(&end_after(2))));
    fault_of(&text)
}

const CALL: &str = r#"{"event":"call","superstep":1,"at":1.0,"cost":0.0,"interval":null,"tolerance":null,"balanced":null,"threshold":null,"list":[],"passed_over":[],"considered":[],"assessment":null,"migrations":[]}"#;
const EVALUATED: &str =
    r#"{"event":"evaluated","superstep":1,"set":0,"transfer_rates":[],"processes":[]}"#;
const MOVED: &str =
    r#"{"event":"moved","at":1.0,"rank":1,"host":1,"epoch":1,"bytes":0,"took":0.0}"#;

#[test]
fn a_call_that_is_missing_or_there_twice_is_noticed() {
    let what = "events are missing or there twice";
    for (events, fault) in [
        (
            &[EVALUATED, MOVED, CALL, CALL][..],
            "6: the call after superstep 1 follows the end of that call",
        ),
        (
            &[CALL, MOVED][..],
            "4: a move after superstep 1 follows the end of that call",
        ),
        (
            &[EVALUATED][..],
            "4: superstep 1 comes before the call that was begun",
        ),
        (
            &[MOVED][..],
            "4: superstep 1 comes before the call that was begun",
        ),
        (
            &[EVALUATED, EVALUATED, CALL][..],
            "4: what a Set found after superstep 1 is there twice",
        ),
    ] {
        assert_eq!(
            fault_in_call(events),
            format!("events.jsonl:{fault}; {what}"),
            "{events:?}"
        );
    }
    let later = CALL.replacen("\"superstep\":1", "\"superstep\":9", 1);
    assert_eq!(
        fault_in_call(&[&later]),
        format!("events.jsonl:3: the call after superstep 9 comes after 1 supersteps; {what}")
    );
}

#[test]
fn checkpoints_out_of_order_are_noticed() {
    let checkpoint = |superstep: u64| {
        format!(
            r#"{{"event":"checkpoint","superstep":{superstep},"at":1.0,"stall":0.0,"encoding":0.0,"bytes":1,"sent":1,"complete":2.0}}"#
        )
    };
    let what = "events are missing or there twice";
    for (checkpoints, fault) in [
        (
            &[0][..],
            "3: the checkpoint of superstep 0 comes after 1 supersteps and that of 0",
        ),
        (
            &[2],
            "3: the checkpoint of superstep 2 comes after 1 supersteps and that of 0",
        ),
        (
            &[1, 1],
            "4: the checkpoint of superstep 1 comes after 1 supersteps and that of 1",
        ),
    ] {
        let lines: Vec<String> = checkpoints.iter().copied().map(checkpoint).collect();
        let events: Vec<&str> = lines.iter().map(String::as_str).collect();
        assert_eq!(
            fault_in_call(&events),
            format!("events.jsonl:{fault}; {what}")
        );
    }
}

#[test]
fn processes_hosts_and_sets_that_the_run_does_not_have_are_named() {
    let rank = "it names the process of rank 2; this run has 2, counted from 0";
    let host = "it names host 7; this run has 2, counted from 0";
    let set = "it names Set 3; this run has 1, counted from 0";
    let found = r#"{"rank":1,"host":7,"instructions":0,"bytes":0,"target":0,"potentials":[]}"#;
    let evaluated = EVALUATED.replace("[]}", &format!("[{found}]}}"));
    let moves = r#""migrations":[{"rank":2,"from":0,"to":1,"potential":null,"t1":0.0,"t2":0.0,"cost":0.0}]"#;
    let call = CALL.replace(r#""migrations":[]"#, moves);
    for (event, fault) in [
        (MOVED.replace("\"rank\":1", "\"rank\":2"), rank),
        (MOVED.replace("\"host\":1", "\"host\":7"), host),
        (
            evaluated
                .replace("\"host\":7", "\"host\":1")
                .replace("\"target\":0", "\"target\":3"),
            set,
        ),
        (evaluated, host),
        (call, rank),
    ] {
        let fault = format!("events.jsonl:3: {fault}");
        assert_eq!(fault_in_call(&[&event]), fault, "{event}");
    }
}

#[test]
fn a_run_without_processes_or_on_unknown_hosts_is_none() {
    let Event::Run(good) = run() else {
        unreachable!("a run")
    };
    for (placement, why) in [
        (vec![], "`placement` is empty; a run has processes"),
        (
            vec!["nowhere".to_owned()],
            "`placement` names \"nowhere\", which is none of `hosts`",
        ),
    ] {
        let bad = Event::Run(Run {
            placement,
            ..good.clone()
        });
        let fault = fault_of(&format!("{}{}", line(&bad), line(&end())));
        assert_eq!(fault, format!("events.jsonl:1: {why}"));
    }
}

#[test]
fn every_host_of_a_run_is_in_one_of_its_sets() {
    let Event::Run(good) = run() else {
        unreachable!("a run")
    };
    for (members, why) in [
        (
            vec![(SetId(1), 2)],
            "`members` names Set 1; this run has 1, counted from 0",
        ),
        (
            vec![(SetId(0), u32::MAX), (SetId(0), 3)],
            "`members` has 4294967298 hosts, and `hosts` has 2",
        ),
        (
            vec![(SetId(0), 1)],
            "`members` has 1 hosts, and `hosts` has 2",
        ),
    ] {
        let bad = Event::Run(Run {
            members,
            ..good.clone()
        });
        let fault = fault_of(&format!("{}{}", line(&bad), line(&end())));
        assert_eq!(fault, format!("events.jsonl:1: {why}"));
    }
    let sets: Vec<SetId> = good.sets_of_hosts().collect();
    assert_eq!(Run::members_of(sets), good.members);
}

#[test]
fn names_that_a_terminal_would_obey_are_refused() {
    for (from, to, key) in [
        ("labtec-0", "labtec\\u001b[2J", "hosts"),
        ("\"labtec\"", "\"labtec\\r\"", "sets"),
        ("iii", "\u{9b}2J", "scenario"),
    ] {
        let fault = fault_of(&(line(&run()).replace(from, to) + &line(&end())));
        let expected = format!("events.jsonl:1: `{key}`: \"");
        assert!(fault.starts_with(&expected), "{fault}");
        assert!(!fault.chars().any(char::is_control), "{fault:?}");
    }
}

#[test]
fn another_version_is_named_whatever_else_it_says() {
    let other = "{\"event\":\"begun\",\"schema\":\"migbsp.events/3\"}\n";
    assert_eq!(
        fault_of(other),
        "events.jsonl:1: schema \"migbsp.events/3\"; this program reads \"migbsp.events/1\"; read it with the version that \
         wrote it, or a later one"
    );
    assert_eq!(
        fault_of(&line(&end())),
        "events.jsonl:1: no schema; a record begins with \"migbsp.events/1\""
    );
}

#[test]
fn what_earlier_records_do_not_say_is_not_known() {
    let observed = r#"{"event":"observed","superstep":4,"rank":0,"image":{"data":1,"fixed":0},"resident":7,"forecast":7.0}"#;
    let Event::Observed(observed) = serde_json::from_str(observed).unwrap() else {
        unreachable!("a process")
    };
    assert_eq!((observed.forecast, observed.finished), (Some(7.0), None));
}

#[test]
fn events_that_nobody_asks_for_are_looked_at_but_not_given() {
    let later = Event::Superstep(Superstep {
        index: 0,
        started: Instant::new(1.0).unwrap(),
        ended: Instant::new(2.0).unwrap(),
        slowest: Rank(0),
        computation: Seconds::ZERO,
        mean: None,
        took: None,
        messages: 0,
        notes: Notes::default(),
    });
    let folder = write(&[run(), later, end_after(1)], true);
    let mut seen = Vec::new();
    let mut kinds = Vec::new();
    let wanted = |header: EventHeader| {
        kinds.push(header.kind);
        header.kind != EventKind::Superstep
    };
    scan(folder.path(), wanted, |event| seen.push(event)).unwrap();
    assert_eq!(
        kinds,
        [EventKind::Run, EventKind::Superstep, EventKind::End]
    );
    assert_eq!(seen, [run(), end_after(1)]);

    let torn = format!(
        "{}{{\"event\":\"superstep\",\"index\"\n{}",
        line(&run()),
        line(&end())
    );
    fs::write(folder.path().join("events.jsonl"), torn).unwrap();
    let error = scan(folder.path(), |_| false, |_| ()).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("events.jsonl:2: the record is cut off"),
        "{error}"
    );
}

#[test]
fn the_record_of_a_run_that_resumes_begins_with_its_first_superstep() {
    let Event::Run(run) = run() else {
        unreachable!("a run")
    };
    let resuming = |superstep| {
        let resumed = ResumedRun {
            job: "00000000000000ab".to_owned(),
            incarnation: 1,
            superstep,
        };
        line(&Event::Run(Run {
            resumed: Some(resumed),
            ..run.clone()
        }))
    };
    let superstep = |index: u64| {
        format!(
            "{{\"event\":\"superstep\",\"index\":{index},\"started\":0.0,\"ended\":0.0,\"slowest\":0,\"computation\":0.0,\
             \"messages\":0}}\n"
        )
    };
    let folder = write(
        &[
            serde_json::from_str(&resuming(40)).unwrap(),
            serde_json::from_str(&superstep(40)).unwrap(),
            end_after(41),
        ],
        true,
    );
    let (_, events) = read::<String>(folder.path()).unwrap();
    assert_eq!(events.len(), 3);
    let text = format!("{}{}{}", resuming(40), superstep(0), line(&end_after(1)));
    let fault = fault_of(&text);
    assert!(
        fault.contains("superstep 0 comes after 40 supersteps"),
        "{fault}"
    );
    let fault = fault_of(&format!("{}{}", resuming(u64::MAX), line(&end())));
    assert!(fault.contains("with which no run begins"), "{fault}");
}

#[test]
fn a_superstep_is_read_alike_however_its_line_begins() {
    let superstep = Event::Superstep(Superstep {
        index: 0,
        started: Instant::new(1.0).unwrap(),
        ended: Instant::new(2.0).unwrap(),
        slowest: Rank(1),
        computation: Seconds::new(0.1).unwrap(),
        mean: None,
        took: None,
        messages: 7,
        notes: Notes::default(),
    });
    let folder = write(&[run(), superstep.clone(), end_after(1)], true);
    let path = folder.path().join("events.jsonl");
    let written = fs::read_to_string(&path).unwrap();
    let (begin, other) = (
        r#"{"event":"superstep","index":0,"#,
        r#"{"index":0, "event":"superstep","#,
    );
    assert!(written.contains(begin), "{written}");
    for text in [written.clone(), written.replace(begin, other)] {
        fs::write(&path, text).unwrap();
        let mut seen = Vec::new();
        scan(folder.path(), |_| true, |event| seen.push(event)).unwrap();
        assert_eq!(seen, [run(), superstep.clone(), end_after(1)]);
    }
    // Keys that do not belong to a superstep are refused as in any other event.
    for (key, said) in [
        (r#""event":"call","#, "duplicate field `event`"),
        (r#""rank":99,"#, "this run has 2, counted from 0"),
    ] {
        fs::write(&path, written.replacen(begin, &format!("{begin}{key}"), 1)).unwrap();
        let error = scan(folder.path(), |_| true, |_| ()).unwrap_err();
        assert!(error.to_string().contains(said), "{error}");
    }
    // One that follows the end is refused as any other event is.
    fs::write(&path, format!("{written}{}", line(&superstep))).unwrap();
    let error = scan(folder.path(), |_| true, |_| ()).unwrap_err();
    let said = "events.jsonl:4: the record goes on after the end of the run";
    assert!(error.to_string().contains(said), "{error}");
}
