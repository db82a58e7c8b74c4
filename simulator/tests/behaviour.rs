//! What the engine promises, one small platform at a time.

#![expect(clippy::unwrap_used, reason = "a test may")]

use std::sync::Arc;

use bsp::HostId;
use bsp::units::{Bytes, Instructions, Seconds};
use simulator::{Activity, Discipline, Engine, Job, Jobs, NetworkModel, NetworkOptions, Platform};

/// Two hosts of 1 Ginstr/s and links of 1 MB/s and 1 s, nominal; `more` adds to it.
fn engine(set: &str, more: &str) -> Engine {
    let text = format!(
        "[[set]]\nname = \"a\"\nhosts = 3\nspeed = \"1 Gf\"\n\
         link = {{ bandwidth = \"1 MBps\", latency = \"1 s\" }}\n{set}\n{more}\n"
    );
    let platform = Platform::from_toml(&text).unwrap();
    let options = NetworkOptions {
        model: NetworkModel::Ideal,
        cross_traffic: false,
        tcp_window: Bytes(1 << 40),
        ..NetworkOptions::default()
    };
    Engine::new(Arc::new(platform), options)
}

/// Instants, in microseconds, and what ends then.
fn ends(engine: &mut Engine) -> Vec<(u64, Vec<u64>)> {
    let mut all = Vec::new();
    let mut ended = Vec::new();
    while let Some(now) = engine.advance(&mut ended) {
        let micros = format!("{:.0}", now.get() * 1e6).parse().unwrap();
        all.push((micros, ended.drain(..).map(|activity| activity.0).collect()));
    }
    all
}

fn seconds(value: f64) -> Seconds {
    Seconds::new(value).unwrap()
}

#[test]
fn empty_activities_end_immediately_in_order_of_start() {
    let mut engine = engine("", "");
    engine.wake(seconds(0.0), Activity(2));
    engine.compute(HostId(0), Instructions(0), Activity(1));
    engine.wake(seconds(-3.0), Activity(3));
    assert_eq!(ends(&mut engine), [(0, vec![2, 1, 3])]);
}

#[test]
fn simultaneous_ends_are_returned_in_order_of_start() {
    let mut engine = engine("", "");
    engine
        .transfer(HostId(0), HostId(1), Bytes(1_000_000), Activity(0))
        .unwrap();
    engine.compute(HostId(2), Instructions(3_000_000_000), Activity(1));
    engine.wake(seconds(3.0), Activity(2));
    assert_eq!(ends(&mut engine), [(3_000_000, vec![0, 1, 2])]);
    assert!(engine.advance(&mut Vec::new()).is_none());
}

#[test]
fn empty_messages_take_the_latency() {
    let mut engine = engine("", "");
    engine
        .transfer(HostId(0), HostId(1), Bytes(0), Activity(0))
        .unwrap();
    assert_eq!(ends(&mut engine), [(2_000_000, vec![0])]);
}

#[test]
fn idle_latency_equals_the_time_of_an_empty_message() {
    for set in ["", "send_overhead = \"3 s\"\nreceive_overhead = \"5 s\""] {
        let mut engine = engine(set, "");
        let known = engine.latency(HostId(0), HostId(1)).unwrap();
        engine
            .transfer(HostId(0), HostId(1), Bytes(0), Activity(0))
            .unwrap();
        let end = engine.advance(&mut Vec::new()).unwrap();
        assert!((end.get() - known.get()).abs() < 1e-12, "{known:?}");
    }
}

#[test]
fn messages_occupy_their_hosts_one_at_a_time() {
    let mut engine = engine("send_overhead = \"2 s\"\nreceive_overhead = \"5 s\"", "");
    // Both are sent by host 0, at 2 s and 4 s, arrive at 4 s and 6 s, and are received by 9 s and 14 s.
    engine
        .transfer(HostId(0), HostId(1), Bytes(0), Activity(0))
        .unwrap();
    engine
        .transfer(HostId(0), HostId(1), Bytes(0), Activity(1))
        .unwrap();
    let mut ended = Vec::new();
    assert_eq!(
        engine.advance(&mut ended).unwrap().get().to_bits(),
        9.0_f64.to_bits()
    );
    assert_eq!(engine.overhead_busy(HostId(0)), seconds(4.0));
    assert_eq!(engine.overhead_busy(HostId(1)), seconds(5.0));
    assert_eq!(engine.overhead_busy(HostId(2)), seconds(0.0));
    assert_eq!(ends(&mut engine), [(14_000_000, vec![1])]);
    assert_eq!(engine.overhead_busy(HostId(1)), seconds(10.0));
}

#[test]
fn congestion_slows_the_messages_under_way() {
    let congestion = "[[congestion]]\nlink = \"a_link_1\"\n\
                      bandwidth = [[\"3 s\", \"0.5 MBps\"], [\"5 s\", \"1 MBps\"]]";
    let mut engine = engine("", congestion);
    // Served from 2 s on: 1 MB by 3 s, 1 MB by 5 s, 2 MB by 7 s.
    engine
        .transfer(HostId(0), HostId(1), Bytes(4_000_000), Activity(0))
        .unwrap();
    assert_eq!(ends(&mut engine), [(7_000_000, vec![0])]);
}

#[test]
fn congestion_of_a_link_that_several_messages_share_keeps_them_fair() {
    let congestion = "[[congestion]]\nlink = \"a_link_1\"\n\
                      bandwidth = [[\"4 s\", \"0.5 MBps\"]]\nlatency = [[\"1 s\", \"9 s\"]]";
    let mut engine = engine("", congestion);
    // Each has 1 MB by 4 s, and the other half by 8 s; latency counts when a message starts.
    for to in [1, 2] {
        engine
            .transfer(HostId(0), HostId(to), Bytes(2_000_000), Activity(to.into()))
            .unwrap();
    }
    assert_eq!(ends(&mut engine), [(8_000_000, vec![1, 2])]);
}

#[test]
fn link_changes_do_not_advance_an_idle_clock() {
    let congestion = "[[congestion]]\nlink = \"a_link_1\"\n\
                      bandwidth = [[\"1 s\", \"0.5 MBps\"], [\"2 s\", \"1 MBps\"]]\nperiod = \"3 s\"";
    let mut engine = engine("", congestion);
    assert!(engine.advance(&mut Vec::new()).is_none());
    engine.wake(seconds(100.0), Activity(0));
    assert_eq!(ends(&mut engine), [(100_000_000, vec![0])]);
}

#[test]
fn load_slows_the_host_and_is_reported() {
    let load = "[[load]]\nhosts = \"a-1\"\npoints = [[\"2 s\", 0.5]]";
    let mut engine = engine("", load);
    engine.compute(HostId(0), Instructions(4_000_000_000), Activity(0));
    engine.compute(HostId(1), Instructions(4_000_000_000), Activity(1));
    assert_eq!(
        ends(&mut engine),
        [(4_000_000, vec![1]), (6_000_000, vec![0])]
    );
    assert!((engine.load(HostId(0), seconds(0.0)) - 0.5).abs() < 1e-12);
    assert!((engine.load(HostId(0), seconds(8.0)) - 1.0 / 3.0).abs() < 1e-12);
    assert!(engine.load(HostId(1), seconds(1.0)).abs() < 1e-12);
}

#[test]
fn a_host_stopped_for_ever_ends_no_computation() {
    let load =
        "[[load]]\nhosts = \"a-1\"\npoints = [[\"0 s\", 1.0], [\"1 s\", 1.0]]\nperiod = \"2 s\"";
    let mut engine = engine("", load);
    engine.compute(HostId(0), Instructions(1), Activity(0));
    assert!(engine.advance(&mut Vec::new()).is_none());
}

#[test]
fn a_stopped_host_resumes() {
    let load =
        "[[load]]\nhosts = \"a-1\"\npoints = [[\"1 s\", 1.0], [\"2 s\", 1.0], [\"3 s\", 0.0]]";
    let mut engine = engine("", load);
    engine.compute(HostId(0), Instructions(2_000_000_000), Activity(0));
    assert_eq!(ends(&mut engine), [(4_000_000, vec![0])]);
}

/// The platform of [`engine`], with jobs on the first host: two, of 2 s each, after 1 s and after 2 s.
fn engine_with_jobs(discipline: Discipline) -> Engine {
    let text = "[[set]]\nname = \"a\"\nhosts = 2\nspeed = \"1 Gf\"\n\
                link = { bandwidth = \"1 MBps\", latency = \"1 s\" }\n";
    let job = |arrival| Job { arrival, work: 2.0 };
    let jobs = Jobs::new(vec![job(1.0), job(2.0)], None, discipline).unwrap();
    let platform = Platform::from_toml(text).unwrap();
    let platform = platform.with_jobs(HostId(0), jobs).unwrap();
    Engine::new(Arc::new(platform), NetworkOptions::default())
}

#[test]
fn computations_wait_for_jobs_that_come_first() {
    let mut engine = engine_with_jobs(Discipline::Preemptive);
    engine.compute(HostId(0), Instructions(2_000_000_000), Activity(0));
    engine.compute(HostId(1), Instructions(2_000_000_000), Activity(1));
    assert_eq!(
        ends(&mut engine),
        [(2_000_000, vec![1]), (6_000_000, vec![0])]
    );
    let load = engine.load(HostId(0), seconds(6.0));
    assert!((load - 4.0 / 6.0).abs() < 1e-12, "{load}");
    assert!(engine.load(HostId(1), seconds(6.0)).abs() < 1e-12);
}

#[test]
fn computations_and_jobs_slow_each_other_where_the_processor_is_shared() {
    let mut engine = engine_with_jobs(Discipline::Shared);
    engine.compute(HostId(0), Instructions(2_000_000_000), Activity(0));
    engine.wake(seconds(3.0), Activity(1));
    let mut ended = Vec::new();
    assert!((engine.advance(&mut ended).unwrap().get() - 3.0).abs() < 1e-12);
    // The first job has had 1/2 + 1/3 s, the second 1/3 s.
    let ages: Vec<f64> = engine
        .job_ages(HostId(0))
        .iter()
        .map(|age| age.get())
        .collect();
    assert!((ages[0] - 5.0 / 6.0).abs() < 1e-12 && (ages[1] - 1.0 / 3.0).abs() < 1e-12);
    // The computation has 1 + 1/2 + 1/3 s behind it, and a third of a core.
    assert_eq!(ends(&mut engine), [(3_500_000, vec![0])]);
}

#[test]
fn jobs_do_not_keep_the_clock_going() {
    let mut engine = engine_with_jobs(Discipline::Preemptive);
    assert!(engine.advance(&mut Vec::new()).is_none());
    engine.compute(HostId(1), Instructions(1_000_000_000), Activity(0));
    assert_eq!(ends(&mut engine), [(1_000_000, vec![0])]);
}

#[test]
fn a_host_whose_jobs_need_all_of_it_ends_no_computation() {
    let text = "[[set]]\nname = \"a\"\nhosts = 1\nspeed = \"1 Gf\"\n\
                link = { bandwidth = \"1 MBps\", latency = \"1 s\" }\n";
    for work in [2.5, 3.0] {
        let job = Job { arrival: 0.7, work };
        let jobs = Jobs::new(vec![job], Some(seconds(2.5)), Discipline::Preemptive).unwrap();
        let platform = Platform::from_toml(text).unwrap();
        let platform = platform.with_jobs(HostId(0), jobs).unwrap();
        let mut engine = Engine::new(Arc::new(platform), NetworkOptions::default());
        engine.compute(HostId(0), Instructions(2_000_000_000), Activity(0));
        assert!(engine.advance(&mut Vec::new()).is_none(), "{work}");
    }
}

#[test]
fn a_host_has_jobs_or_a_load() {
    let job = Job {
        arrival: 0.0,
        work: 1.0,
    };
    let jobs = Jobs::new(vec![job], None, Discipline::Shared).unwrap();
    let text =
        "[[set]]\nname = \"a\"\nhosts = 2\nspeed = \"1 Gf\"\nlink = { bandwidth = \"1 MBps\" }\n";
    let platform = Platform::from_toml(text).unwrap();
    let platform = platform.with_jobs(HostId(0), jobs.clone()).unwrap();
    let error = platform.with_jobs(HostId(0), jobs).unwrap_err();
    assert!(error.to_string().contains("load of host"), "{error}");
}
