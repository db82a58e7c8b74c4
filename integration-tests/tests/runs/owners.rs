//! Owners' jobs and other drawn loads: what they cost, and that they are drawn again from the same seed.

use std::fs;
use std::sync::Arc;

use bsp::HostId;
use bsp::units::{Instructions, Seconds};
use experiments::{PreparedExperiment, Registry, Scenario, load};
use record::Event;
use simulator::{Activity, Discipline, Engine, Job, Jobs, NetworkOptions, Platform};
use tempfile::TempDir;
use workloads::background::{Lifetimes, OwnerJobs, OwnerLoad};

fn seconds(value: f64) -> Seconds {
    Seconds::new(value).unwrap()
}

/// The jobs of one host, as `seed` draws them.
fn drawn(utilisation: f64, lifetimes: Lifetimes, seed: u64) -> OwnerJobs {
    let (utilisation, spread) = ([utilisation; 2], [1.0; 2]);
    let load = OwnerLoad::new(utilisation, lifetimes, spread, 1.0, seconds(PERIOD)).unwrap();
    let (_, owner) = load.jobs(seed, &[0], |_| 1).next().unwrap();
    owner
}

/// The part of the host that the jobs of `owner` need, as they were drawn.
fn needed(owner: &OwnerJobs) -> f64 {
    let work: f64 = owner.jobs.iter().map(|job| job.lifetime).sum();
    work / owner.period.get()
}

/// How long a computation of `dedicated` seconds takes beside the jobs of `owner`.
fn time(owner: &OwnerJobs, discipline: Discipline, dedicated: f64) -> f64 {
    let text =
        "[[set]]\nname = \"a\"\nhosts = 1\nspeed = \"1 Gf\"\nlink = { bandwidth = \"1 MBps\" }\n";
    let jobs = owner.jobs.iter().map(|job| Job {
        arrival: job.arrival,
        work: job.lifetime,
    });
    let jobs = Jobs::new(jobs.collect(), Some(owner.period), discipline).unwrap();
    let platform = Platform::from_toml(text).unwrap();
    let platform = platform.with_jobs(HostId(0), jobs).unwrap();
    let mut engine = Engine::new(Arc::new(platform), NetworkOptions::default());
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a number of instructions"
    )]
    let work = Instructions((dedicated * 1e9).round() as u64);
    engine.compute(HostId(0), work, Activity(0));
    engine.advance(&mut Vec::new()).unwrap().get()
}

/// A core is idle only where neither jobs nor the computation need it. So a computation takes 1 / (1 - ρ̂) times as long
/// with jobs of utilisation ρ̂, whatever the discipline, but for jobs under way at both ends.
///
/// Jobs differ much from seed to seed. ρ̂ is that of the jobs that the seed has drawn, and the computation is as long as
/// ends after whole periods. So nothing but the jobs under way is left of the noise, a small part of a long computation.
#[test]
fn a_long_computation_takes_the_time_that_jobs_leave_under_both_disciplines() {
    let pareto = Lifetimes::Pareto {
        shortest: seconds(2.0),
        longest: 100.0,
    };
    let exponential = Lifetimes::Exponential { mean: seconds(9.0) };
    for lifetimes in [pareto, exponential] {
        for utilisation in [0.2, 0.5, 0.75] {
            for discipline in [Discipline::Preemptive, Discipline::Shared] {
                let what = format!("{lifetimes:?} {utilisation} {discipline:?}");
                let ratios = (0..SEEDS).map(|seed| {
                    let owner = drawn(utilisation, lifetimes, seed);
                    let expected = PERIODS * PERIOD;
                    let dedicated = expected * (1.0 - needed(&owner));
                    time(&owner, discipline, dedicated) / expected
                });
                let ratios: Vec<f64> = ratios.collect();
                let mean = ratios.iter().sum::<f64>() / SEEDS as f64;
                assert!((mean - 1.0).abs() < 0.02, "{what}: {mean}");
                // With some seeds jobs need nearly all of the host.
                let far = ratios.iter().filter(|ratio| 0.02 < (*ratio - 1.0).abs());
                let far = far.count();
                assert!(far <= 20, "{what}: {far} seeds are off by more than 2 %");
            }
        }
    }
}

/// Jobs are drawn with the utilisation that is asked for: the mean over seeds.
#[test]
fn drawn_jobs_need_what_was_asked_for_in_the_mean() {
    let exponential = Lifetimes::Exponential { mean: seconds(9.0) };
    let mean = (0..SEEDS).map(|seed| needed(&drawn(0.5, exponential, seed)));
    let mean = mean.sum::<f64>() / SEEDS as f64;
    assert!((mean - 0.5).abs() < 0.005, "{mean}");
}

const SEEDS: u64 = 200;
/// Seconds.
const PERIOD: f64 = 20_000.0;
const PERIODS: f64 = 6.0;

const EXPERIMENT: &str = r#"[application]
workload = "synthetic"
processes = 6
supersteps = 40

[application.synthetic]
instructions = ["200 Minstr"]
bytes = ["20 kB"]
shifts = [1]
ring = true
memory = "1 MB"

[platform]
file = "p.toml"

[scheduler]
interval = 4
load_window = "5 s"
"#;

const PLATFORM: &str = r#"[[set]]
name = "s0..1"
hosts = 5
speed = "1 Gf"
link = { bandwidth = "100 MBps", latency = "50 us" }
uplink = { bandwidth = "10 MBps", latency = "1 ms" }
"#;

/// The record of a run under `sections` with `seed`, as it would be written.
fn record(sections: &str, policy: &str, seed: u64) -> String {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("e.toml");
    fs::write(&file, format!("{EXPERIMENT}{sections}")).unwrap();
    fs::write(folder.path().join("p.toml"), PLATFORM).unwrap();
    let trace = "host,start,end\ns0-1,1,9\ns0-2,0,4\ns0-2,5,7\ns1-1,2.5,30\n";
    fs::write(folder.path().join("t.csv"), trace).unwrap();
    let registry = Registry::shipped().with_plans(lab_rules::PLANS);
    let set = [
        format!("run.seed={seed}"),
        format!("scheduler.policy={policy}"),
    ];
    let prepared = PreparedExperiment::new(load(&file, &set, &registry).unwrap()).unwrap();
    let mut record = String::new();
    let mut observe = |event: &Event| {
        record.push_str(&serde_json::to_string(event).unwrap());
        record.push('\n');
    };
    prepared
        .run(Scenario::Iii, &registry, &mut observe)
        .unwrap();
    record
}

#[test]
fn equal_seeds_give_equal_records_under_loads_of_every_kind() {
    let cases = [
        (
            "[load]\nkind = \"jobs\"\nutilisation = 0.5\ndiscipline = \"preemptive\"\n",
            true,
        ),
        (
            "[load]\nkind = \"jobs\"\nutilisation = [0.1, 0.6]\nlifetimes = \"exponential\"\n",
            true,
        ),
        (
            "[congestion]\nkind = \"levels\"\navailable = [0.05, 1]\n",
            true,
        ),
        (
            "[load]\nkind = \"trace\"\nfile = \"t.csv\"\ndiscipline = \"preemptive\"\n",
            false,
        ),
        (
            "[load]\nkind = \"trace\"\nfile = \"t.csv\"\nperiod = 40\n",
            false,
        ),
    ];
    for (sections, is_drawn) in cases {
        for policy in ["adaptive", "fixed+dsa", "migbsp"] {
            let first = record(sections, policy, 3);
            assert!(first.ends_with("}\n") && first.contains("\"event\":\"end\""));
            assert!(first == record(sections, policy, 3), "{policy} {sections}");
            let differs = first != record(sections, policy, 4);
            assert_eq!(differs, is_drawn, "another seed, {policy} {sections}");
        }
        let without = record("", "adaptive", 3);
        assert!(without != record(sections, "adaptive", 3), "{sections}");
    }
}
