mod compressed;
mod faults;
mod of_moves;
mod unended;
use std::fs;
use std::path::Path;

use bsp::{Reductions, reference};
use model::{Refusal, Request, SteadyRate};
use proptest::prelude::*;
use tempfile::TempDir;

use crate::tests::of_moves::{checkpoint, join, moved};

use super::*;

fn run() -> Event {
    Event::Run(Run {
        schema: SCHEMA.to_owned(),
        scenario: "iii".to_owned(),
        sets: vec!["labtec".to_owned()],
        hosts: vec!["labtec-0".to_owned(), "\"quoted\" \\n".to_owned()],
        members: vec![(SetId(0), 2)],
        placement: vec!["labtec-0".to_owned(), "\"quoted\" \\n".to_owned()],
        round: Round { length: 3, last: 2 },
        resumed: None,
        view: None,
    })
}

/// The end of a run of `supersteps` supersteps.
fn end_after(supersteps: u64) -> Event {
    Event::End(End {
        seconds: Instant::new(12.5).unwrap(),
        supersteps,
        messages: u64::MAX,
        bytes: Bytes(7),
        attainable: Some(Seconds::ZERO),
        imbalance: Some(Seconds::ZERO),
        moved: Bytes(0),
    })
}

fn end() -> Event {
    end_after(0)
}

fn create(folder: &Path, description: &str) -> Result<Writer, WriteError> {
    Writer::create(folder, &description, WriteOptions::default())
}

fn replace(folder: &Path, description: &str) -> Result<Writer, WriteError> {
    let options = WriteOptions {
        replaces_complete: true,
        ..WriteOptions::default()
    };
    Writer::create(folder, &description, options)
}

/// Writes `events` and, if asked for, completes the record.
fn write(events: &[Event], finish: bool) -> TempDir {
    let folder = TempDir::new().unwrap();
    let mut writer = create(folder.path(), "description").unwrap();
    for event in events {
        writer.append(event).unwrap();
    }
    if finish {
        writer.finish(&"manifest").unwrap();
    }
    folder
}

/// Why the record in `folder` cannot be read, the folder's own name left out.
fn fault(folder: &Path) -> String {
    let error = read::<String>(folder).unwrap_err().to_string();
    error.replace(&format!("{}/", folder.display()), "")
}

/// The fault of a record whose events are `text`.
fn fault_of(text: &str) -> String {
    let folder = write(&[run(), end()], true);
    fs::write(folder.path().join("events.jsonl"), text).unwrap();
    fault(folder.path())
}

fn line(event: &Event) -> String {
    serde_json::to_string(event).unwrap() + "\n"
}

prop_compose! {
    fn seconds()(value in -1e9..1e9) -> Seconds {
        Seconds::new(value).unwrap()
    }
}

prop_compose! {
    fn instant()(value in 0.0..1e9) -> Instant {
        Instant::new(value).unwrap()
    }
}

prop_compose! {
    fn entry()(
        (rank, own, target) in any::<(u32, u32, u32)>(),
        (potential, receive_time) in (seconds(), seconds()),
    ) -> Entry {
        Entry { rank: Rank(rank), own: SetId(own), target: SetId(target), potential, receive_time }
    }
}

fn answer() -> impl Strategy<Value = Answer> {
    let host = || any::<u32>().prop_map(HostId);
    let runner_up = prop::option::of((host(), seconds()));
    prop_oneof![
        (host(), seconds(), runner_up).prop_map(|(host, t1, runner_up)| Answer::Offer {
            host,
            t1,
            runner_up
        }),
        (host(), seconds(), seconds())
            .prop_map(|(host, t1, t2)| Answer::Refuse(Refusal::NoFasterPlace { host, t1, t2 })),
        Just(Answer::Refuse(Refusal::Idle)),
        Just(Answer::Refuse(Refusal::NoProcessor)),
    ]
}

prop_compose! {
    fn considered()(
        entry in entry(),
        (host, instructions, bytes) in any::<(u32, u64, u64)>(),
        (migration, t2, per_byte) in (seconds(), seconds(), prop::option::of(0.0..1e-6)),
        answer in answer(),
    ) -> Considered {
        let (instructions, bytes) = (Instructions(instructions), Bytes(bytes));
        let request = Request { rank: entry.rank, instructions, bytes, migration, t2, per_byte };
        Considered { entry, host: HostId(host), request, answer }
    }
}

prop_compose! {
    fn balance_check()(
        (counted, computed) in any::<(u32, u32)>(),
        (times, wait) in (prop::array::uniform5(seconds()), prop::option::of(seconds())),
    ) -> BalanceCheck {
        let digest = Digest {
            counted,
            computed,
            slowest: times[0],
            fastest: times[1],
            computation: times[2],
            reception: times[3],
            wait,
        };
        BalanceCheck { digest, barrier_busy: times[4] }
    }
}

prop_compose! {
    fn hosts()(
        (first, number, cores) in any::<(u32, u32, u32)>(),
        (speed, load, load_recent) in (1.0..1e12, 0.0..1.0, 0.0..1.0),
    ) -> Hosts {
        let speed = InstructionsPerSecond::new(speed).unwrap();
        Hosts { first: HostId(first), number, speed, cores, load, load_recent }
    }
}

prop_compose! {
    fn link()((from, to) in any::<(u32, u32)>(), per_byte in 0.0..1e-6) -> HostLink {
        HostLink { from: HostId(from), to: HostId(to), per_byte }
    }
}

prop_compose! {
    fn observed()(
        (superstep, rank, resident) in any::<(u64, u32, u64)>(),
        (data, fixed) in any::<(u64, u64)>(),
        forecast in prop::option::of(0.0..1e12),
        finished in prop::option::of(0.0..1e12),
        received in prop::collection::vec((any::<u32>(), 0.0..1e9, 0.0..1e9), 0..3),
        edges in prop::collection::vec((any::<u32>(), [0.0..1e9_f32, 0.0..1e9, 0.0..1e9]), 0..3),
    ) -> Event {
        let edge = |(from, [messages, bytes, time]): (u32, [f32; 3])| Edge { from: Rank(from), messages, bytes, time };
        let received = received.into_iter();
        Event::Observed(Observed {
            superstep,
            rank: Rank(rank),
            image: MemorySize { data: Bytes(data), fixed: Bytes(fixed) },
            resident: Instructions(resident),
            forecast,
            finished,
            received: received
                .map(|(set, bytes, time)| Received { set: SetId(set), bytes, time })
                .collect(),
            edges: edges.into_iter().map(edge).collect(), noise: 0.25, remaining: None, })
    }
}

prop_compose! {
    fn call()(
        (superstep, interval, balanced) in any::<(u64, u32, u32)>(),
        (at, cost, tolerance) in (instant(), seconds(), 0.0..1.0),
        threshold in prop::option::of(seconds()),
        list in prop::collection::vec(entry(), 0..4),
        considered in prop::collection::vec(considered(), 0..4),
        judged in prop::collection::vec(balance_check(), 0..4),
        learned in prop::option::of((seconds(), [0.0..9.0, 0.0..1e-6, 0.0..1e-6])),
    ) -> Event {
        let reasons = [
            NotSelected::OwnSet,
            NotSelected::NotPositive,
            NotSelected::BelowThreshold,
            NotSelected::NotFirst,
        ];
        let passed_over = list.iter().copied().zip(reasons).collect();
        let migrations = considered.iter().filter_map(Migration::negotiated).collect();
        Event::Call(Box::new(Call {
            superstep, at, cost, threshold, list, passed_over, considered, migrations,
            interval: Some(interval), tolerance: Some(tolerance), balanced: Some(balanced),
            judged, assessment: None,
            learned: learned.map(|(startup, [overlap, processing, per_byte])| CostCoefficients {
                startup, overlap, processing, steady: Some(SteadyRate { per_byte, range: (overlap, processing) }),
            }), remaining: None, probed: Vec::new(), }))
    }
}

prop_compose! {
    fn potential()(
        set in any::<u32>(),
        (pattern_computation, pattern_communication, set_index) in (0.0..1.0, 0.0..1.0, 0.0..9e9),
        times in prop::array::uniform5(seconds()),
    ) -> Potential {
        Potential {
            set: SetId(set),
            pattern_computation,
            prediction_computation: times[0],
            set_index,
            computation: times[1],
            pattern_communication,
            prediction_communication: times[2],
            communication: times[3],
            migration: times[4],
        }
    }
}

prop_compose! {
    fn evaluated()(
        (superstep, set, rank, host, target) in any::<(u64, u32, u32, u32, u32)>(),
        (instructions, bytes) in any::<(u64, u64)>(),
        potentials in prop::collection::vec(potential(), 0..4),
        links in prop::collection::vec(link(), 0..4),
        transfer_rates in prop::collection::vec(0.0..1e-6, 0..4),
        (hosts, process) in (prop::collection::vec(hosts(), 0..4), prop::option::of(0.0..1.0)),
        paths in prop::collection::vec((seconds(), 0.0..1e-6), 0..4),
        (load, age) in (0.0..1.0, seconds()),
    ) -> Event {
        let barrier = process.map(|process| BarrierTime::ByRank { process });
        let path = |(latency, per_byte)| model::Path { latency, per_byte, shared_per_byte: None };
        let paths = paths.into_iter().map(path).collect();
        let external = vec![ExternalLoad { host: HostId(host), utilisation: load, since: load, arrivals: load, present: load, ages: vec![age] }];
        let (instructions, bytes) = (Instructions(instructions), Bytes(bytes));
        let (rank, host, target) = (Rank(rank), HostId(host), SetId(target));
        Event::Evaluated(Evaluated {
            superstep, set: SetId(set), links, external, transfer_rates, hosts, paths, barrier,
            processes: vec![Evaluation { rank, host, instructions, bytes, target, potentials }],
        })
    }
}

prop_compose! {
    fn superstep()(
        (index, slowest, messages) in any::<(u64, u32, u64)>(),
        (started, ended, computation) in (instant(), instant(), seconds()),
        mean in prop::option::of(seconds()),
        took in prop::option::of(seconds()),
        notes in notes(),
    ) -> Event {
        Event::Superstep(Superstep {
            index, started, ended, slowest: Rank(slowest), computation, mean, took, messages, notes,
        })
    }
}

/// Notes of any values, those that are no numbers of JSON among them.
fn notes() -> impl Strategy<Value = Notes> {
    let value = any::<u64>().prop_map(f64::from_bits);
    let noted = prop::collection::vec((r#"[a-z "\\é]{1,9}"#, value), 0..4);
    noted.prop_map(|noted| {
        let mut all = Reductions::default();
        for (name, value) in noted {
            all.combine(Reductions::noted(name, value));
        }
        reference::conclude(all, 0).unwrap().notes
    })
}

prop_compose! {
    /// A superstep, and the call after it if there is one.
    fn round()(
        superstep in superstep(),
        found in prop::collection::vec(prop_oneof![observed(), moved(), join()], 0..4),
        (saved, evaluated) in (prop::option::of(checkpoint()), prop::option::of(evaluated())),
        call in prop::option::of(call()),
    ) -> Vec<Event> {
        let call = call.map_or_else(Vec::new, |call| {
            found.into_iter().chain(evaluated).chain([call]).collect()
        });
        [superstep].into_iter().chain(saved).chain(call).collect()
    }
}

/// Numbers the supersteps among `events`, counts them, and has them be of a run of two processes on
/// two hosts.
fn numbered(mut events: Vec<Event>) -> (Vec<Event>, u64) {
    let mut supersteps = 0;
    let rank = |rank: &mut Rank| rank.0 %= 2;
    let host = |host: &mut HostId| host.0 %= 2;
    let set = |set: &mut SetId| set.0 = 0;
    for event in &mut events {
        match event {
            Event::Superstep(superstep) => {
                superstep.index = supersteps;
                rank(&mut superstep.slowest);
                supersteps += 1;
            }
            Event::Observed(observed) => {
                observed.superstep = supersteps;
                rank(&mut observed.rank);
            }
            Event::Evaluated(evaluated) => {
                evaluated.superstep = supersteps;
                for load in &mut evaluated.external {
                    host(&mut load.host);
                }
                for found in &mut evaluated.processes {
                    rank(&mut found.rank);
                    host(&mut found.host);
                    set(&mut found.target);
                }
                set(&mut evaluated.set);
            }
            Event::Call(call) => {
                call.superstep = supersteps;
                let passed_over = call.passed_over.iter_mut().map(|(entry, _)| entry);
                for entry in call.list.iter_mut().chain(passed_over) {
                    rank(&mut entry.rank);
                    set(&mut entry.own);
                    set(&mut entry.target);
                }
                for considered in &mut call.considered {
                    rank(&mut considered.entry.rank);
                    set(&mut considered.entry.own);
                    set(&mut considered.entry.target);
                    host(&mut considered.host);
                }
                for moved in &mut call.migrations {
                    rank(&mut moved.rank);
                    host(&mut moved.from);
                    host(&mut moved.to);
                }
            }
            Event::Moved(moved) => {
                rank(&mut moved.rank);
                host(&mut moved.host);
            }
            Event::Join(join) => {
                join.superstep = supersteps;
                host(&mut join.host);
                join.processes.iter_mut().for_each(rank);
            }
            Event::Checkpoint(checkpoint) => checkpoint.superstep = supersteps,
            _ => {}
        }
    }
    (events, supersteps)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn what_is_written_is_read(
        rounds in prop::collection::vec(round(), 0..6),
    ) {
        let (events, supersteps) = numbered(rounds.concat());
        let events = [vec![run()], events, vec![end_after(supersteps)]].concat();
        let folder = write(&events, true);
        let (manifest, read) = read::<String>(folder.path()).unwrap();
        prop_assert_eq!(manifest, "manifest");
        prop_assert_eq!(read, events);
    }
}

#[test]
fn a_complete_record_is_only_replaced_on_demand() {
    let folder = write(&[run(), end()], true);
    let before = fs::read(folder.path().join("events.jsonl")).unwrap();
    let error = create(folder.path(), "description").unwrap_err();
    assert_eq!(
        error.to_string(),
        format!(
            "{} holds a complete record; name another directory, or replace it with --force",
            folder.path().display()
        )
    );
    assert_eq!(
        fs::read(folder.path().join("events.jsonl")).unwrap(),
        before
    );
    let mut writer = replace(folder.path(), "description").unwrap();
    assert!(!is_complete(folder.path()));
    writer.append(&run()).unwrap();
    writer.append(&end()).unwrap();
    writer.finish(&"another").unwrap();
    let (manifest, events) = read::<String>(folder.path()).unwrap();
    assert_eq!((manifest.as_str(), events.len()), ("another", 2));
    let new = folder.path().join("a/b");
    create(&new, "description").unwrap();
    assert!(new.join("events.jsonl").exists());
    let error = create(&folder.path().join("run.json"), "description").unwrap_err();
    assert!(matches!(error, WriteError::Io { .. }), "{error}");
}

#[test]
fn a_run_that_has_not_ended_is_not_completed() {
    for events in [&[run()][..], &[run(), end(), run()], &[]] {
        let folder = TempDir::new().unwrap();
        let mut writer = create(folder.path(), "description").unwrap();
        for event in events {
            writer.append(event).unwrap();
        }
        let error = writer.finish(&"manifest").unwrap_err();
        assert!(matches!(error, WriteError::Unended { .. }), "{error}");
        assert!(!folder.path().join("run.json").exists());
    }
}

#[test]
fn what_is_not_there_is_not_called_interrupted() {
    let folder = TempDir::new().unwrap();
    assert_eq!(
        fault(&folder.path().join("nothing")),
        format!("cannot read {}/nothing", folder.path().display())
    );
    let folder = write(&[run(), end()], true);
    fs::remove_file(folder.path().join("events.jsonl")).unwrap();
    assert_eq!(fault(folder.path()), "cannot read events.jsonl");
}

#[test]
fn a_fault_names_file_and_line() {
    let (first, last) = (line(&run()), line(&end()));
    let ends = "the record ends before the run does";
    assert_eq!(fault_of(&first), format!("events.jsonl:1: {ends}"));
    assert_eq!(fault_of(""), format!("events.jsonl:1: {ends}"));
    let torn = fault_of(&format!("{first}{}", &last[..last.len() / 2]));
    assert!(
        torn.starts_with("events.jsonl:2: the record is cut off here"),
        "{torn}"
    );
    let garbage = fault_of(&format!("{first}{last}garbage\n"));
    assert!(
        garbage.starts_with("events.jsonl:3: expected value"),
        "{garbage}"
    );
    let unknown = fault_of(&format!("{first}{{\"event\":\"danced\"}}\n{last}"));
    assert!(
        unknown.starts_with("events.jsonl:2: unknown variant `danced`"),
        "{unknown}"
    );
    assert_eq!(
        fault_of(&format!("{first}{last}{last}")),
        "events.jsonl:3: the record goes on after the end of the run"
    );
    assert_eq!(
        fault_of(&format!("{first}{first}{last}")),
        "events.jsonl:2: a second run begins; a record holds one"
    );
    let folder = write(&[run(), end()], true);
    fs::write(folder.path().join("run.json"), "{\n\n").unwrap();
    let manifest = fault(folder.path());
    assert!(manifest.starts_with("run.json:"), "{manifest}");
}

#[test]
fn hosts_that_measure_the_same_take_one_row() {
    let measured = |(host, load)| Measured {
        superstep: 3,
        host: HostId(host),
        speed: InstructionsPerSecond::new(1e9).unwrap(),
        cores: 2,
        load,
        load_recent: 0.0,
        more: model::Measurements::default(),
    };
    let all = [(4, 0.0), (5, 0.0), (6, 0.5), (7, 0.0), (9, 0.0)].map(measured);
    let hosts = Hosts::of(&all);
    assert_eq!(
        serde_json::to_string(&hosts).unwrap(),
        "[[4,2,1000000000.0,2,0.0,0.0],[6,1,1000000000.0,2,0.5,0.0],\
         [7,1,1000000000.0,2,0.0,0.0],[9,1,1000000000.0,2,0.0,0.0]]"
    );
    let again = hosts.iter().flat_map(|hosts| hosts.processors(hosts.load));
    let again: Vec<(u32, f64)> = again.map(|host| (host.host.0, host.load)).collect();
    assert_eq!(again, [(4, 0.0), (5, 0.0), (6, 0.5), (7, 0.0), (9, 0.0)]);
}

#[test]
fn a_view_takes_over_what_changed_in_one_that_has_not_begun() {
    let view = |number, lost: &[&str], joined: &[&str]| ViewChange {
        number,
        lost: lost
            .iter()
            .map(|host| LostHost {
                host: (*host).to_owned(),
                reason: "it is lost".to_owned(),
            })
            .collect(),
        joined: joined.iter().map(|name| (*name).to_owned()).collect(),
        leader: None,
        superstep: 10,
        repeats: 2,
        detected: None,
        restored: Seconds::ZERO,
    };
    for (earlier, later, lost, joined) in [
        (
            (&["a"][..], &[][..]),
            (&["b"][..], &[][..]),
            &["a", "b"][..],
            &[][..],
        ),
        // One that joined and was lost had no part, and one that was lost and is back has not been away.
        ((&[], &["c", "d"]), (&["c"], &["e"]), &[], &["d", "e"]),
        ((&["a", "b"], &[]), (&[], &["a"]), &["b"], &[]),
    ] {
        let mut followed = view(3, later.0, later.1);
        followed.follow_unbegun(view(2, earlier.0, earlier.1));
        assert_eq!(followed, view(3, lost, joined));
    }
}
