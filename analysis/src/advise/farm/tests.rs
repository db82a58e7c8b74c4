use super::*;
use std::fs;
use std::path::Path;

use experiments::{PreparedExperiment, Recorder, Registry, RunReport, Scenario};
use tempfile::TempDir;

use crate::advise::report::shown;

/// Four workers, of which two are slow, and a network on which tasks take time.
const PLATFORM: &str = r#"
core = { bandwidth = "10 GBps" }

[[set]]
name = "set"
hosts = ["a", "b", "c", "d", "e"]
speed = ["1 Ginstr/s", "100 Minstr/s", "110 Minstr/s", "40 Minstr/s", "25 Minstr/s"]
link = { bandwidth = "10 MBps", latency = "50 us" }
uplink = { bandwidth = "10 GBps" }
"#;

/// The folder with the record of a farm whose table `dealing` is this, and the makespan.
fn recorded(dealing: &str, variation: f64) -> (TempDir, f64) {
    let folder = tempfile::tempdir().unwrap();
    let text = format!(
        "[application]\nworkload = 'task-farm'\nprocesses = 5\n[application.task-farm]\ntasks = 400\n\
         instructions = 1e6\nvariation = {variation}\nshared = 100000\ntask = 2000\noutcome = 3000\n\
         [application.task-farm.dealing]\n{dealing}\n[platform]\nfile = 'p.toml'\nmodel = 'ideal'\n\
         [barrier]\nshape = 'ideal'\n[scheduler]\npolicy = 'none'\n"
    );
    fs::write(folder.path().join("p.toml"), PLATFORM).unwrap();
    fs::write(folder.path().join("e.toml"), text).unwrap();
    let registry = Registry::shipped();
    let loaded = experiments::load(&folder.path().join("e.toml"), &[], &registry).unwrap();
    let prepared = PreparedExperiment::new(loaded).unwrap();
    let mut recorder = Recorder::new(folder.path(), Scenario::I, &prepared, &registry).unwrap();
    let mut observer = |event: &_| recorder.observe(event);
    let finished = prepared.run(Scenario::I, &registry, &mut observer);
    let finished = finished.unwrap();
    let report = RunReport::new(Scenario::I, &finished, &prepared.platform);
    recorder.finish(&report).unwrap();
    (folder, report.seconds)
}

fn advised(folder: &Path) -> Report {
    advise(&Reading::of(&folder.join("i")).unwrap()).unwrap()
}

/// The table `dealing` that follows the advice, where `now` is in effect.
fn followed(now: &str, advised: &crate::advise::report::Recommendation) -> String {
    let mut lines: Vec<String> = now.lines().map(str::to_owned).collect();
    if advised.replaces.is_some() {
        lines.clear();
    }
    for change in &advised.keys {
        let name = change.key.rsplit('.').next().unwrap();
        lines.retain(|line| !line.starts_with(&format!("{name} ")));
        let value = match &change.better {
            Value::String(text) => format!("'{text}'"),
            value => shown(value),
        };
        lines.push(format!("{name} = {value}"));
    }
    lines.join("\n")
}

const BLOCKS: &str = "kind = 'block-cyclic'\nblock = 24\nthreshold_min = 0.9\nthreshold_max = 1.1";

#[test]
fn losses_and_the_ideal_are_the_makespan() {
    let rules = [
        BLOCKS,
        "kind = 'weighted'",
        "kind = 'static'",
        "kind = 'guided'",
    ];
    for (rule, variation) in rules.iter().flat_map(|rule| [(rule, 0.0), (rule, 0.4)]) {
        let (folder, seconds) = recorded(rule, variation);
        let report = advised(folder.path());
        let losses: f64 = report.losses.iter().map(|loss| loss.seconds).sum();
        let sum = report.ideal_seconds + losses;
        assert!(
            (sum - seconds).abs() < 1e-9 * seconds,
            "{rule}: {sum}, {seconds} s"
        );
        if variation == 0.0 {
            let waiting = report.losses.iter().all(|loss| -1e-9 < loss.seconds);
            assert!(waiting, "{rule}: {:?}", report.losses);
        }
    }
}

#[test]
fn a_replay_is_as_long_as_the_run_and_a_prediction_as_one_that_follows_it() {
    let (folder, seconds) = recorded(BLOCKS, 0.0);
    let report = advised(folder.path());
    let farm = report.farm.as_ref().unwrap();
    assert!(farm.replay_error.abs() < 5e-3, "{}", farm.replay_error);
    assert_eq!(report.recommendations.len(), 2);
    for one in &report.recommendations {
        let rule = followed(BLOCKS, one);
        let (tuned, better) = recorded(&rule, 0.0);
        let gain = 1.0 - better / seconds;
        let difference = (gain - one.predicted_gain).abs();
        assert!(difference < 0.05, "{rule}: {gain}, {}", one.predicted_gain);
        assert!(0.1 < gain, "{rule}: {gain}");
        // Nothing is left within the kind, and nothing at all for the best rule.
        let again = advised(tuned.path()).recommendations;
        let is_left = |other: &crate::advise::report::Recommendation| {
            one.replaces.is_some() || other.replaces.is_none()
        };
        assert!(!again.iter().any(is_left), "{rule}: {again:?}");
    }
}

#[test]
fn thresholds_are_no_narrower_than_twice_the_noise_of_the_record() {
    let (folder, _) = recorded(BLOCKS, 0.8);
    let report = advised(folder.path());
    let noise = report.farm.as_ref().unwrap().noise;
    assert!(0.01 < noise, "{noise}");
    for change in report.recommendations.iter().flat_map(|one| &one.keys) {
        if change.key.contains("threshold") {
            let distance = (change.better.as_f64().unwrap() - 1.0).abs();
            assert!(2.0 * noise <= distance + 1e-12, "{change:?}, {noise}");
        }
    }
}

mod rates {
    use super::*;

    fn interaction(dealt: &[u64], took: &[f64]) -> TimedInteraction {
        TimedInteraction {
            superstep: 1,
            dealt: dealt.to_vec(),
            took: took.to_vec(),
            deal: 0.0,
            execute: 0.0,
            tell: 0.0,
        }
    }

    #[test]
    fn rates_are_of_all_tasks_and_noise_is_between_interactions() {
        let steady = [
            interaction(&[4, 2, 0], &[2.0, 4.0, 0.0]),
            interaction(&[8, 3, 0], &[4.0, 6.0, 0.0]),
        ];
        let rates = Rates::of(&steady);
        assert!(rates.noise.abs() < 1e-12, "{rates:?}");
        assert!((rates.sum() - 2.5).abs() < 1e-12);
        assert_eq!(rates.workers[2], None);
        let noisy = [
            interaction(&[10], &[0.9]),
            interaction(&[10], &[1.1]),
            interaction(&[10], &[1.0]),
        ];
        let rates = Rates::of(&noisy);
        assert!((rates.noise - 0.1).abs() < 1e-12, "{rates:?}");
        assert!((rates.noise_of_task - 0.1 * 10_f64.sqrt()).abs() < 1e-12);
    }
}

mod costs {
    use super::*;

    /// An interaction whose supersteps take what these costs say.
    fn interaction(dealt: &[u64], took: &[f64], costs: &Costs) -> TimedInteraction {
        TimedInteraction {
            superstep: 1,
            deal: costs.deal.at(dealt.iter().sum()),
            execute: costs.execute(dealt, took),
            tell: costs.tell,
            dealt: dealt.to_vec(),
            took: took.to_vec(),
        }
    }

    #[test]
    fn costs_are_found_again() {
        let costs = Costs {
            deal: Line {
                base: 1e-4,
                per_task: 5e-4,
            },
            outcomes: Line {
                base: 2e-4,
                per_task: 6e-4,
            },
            tell: 1e-4,
            is_deal_assumed: false,
        };
        let mut all = vec![
            interaction(&[8, 8, 8], &[0.4, 0.41, 1.6], &costs),
            interaction(&[30, 30, 8], &[1.5, 1.54, 1.6], &costs),
            interaction(&[20, 0, 0], &[1.0, 0.0, 0.0], &costs),
        ];
        all[0].deal += 3.0;
        let found = Costs::of(&all);
        let near = |one: f64, other: f64| (one - other).abs() < 1e-6;
        assert!(near(found.deal.per_task, 5e-4), "{found:?}");
        assert!(near(found.deal.base, 1e-4), "{found:?}");
        assert!(near(found.outcomes.per_task, 6e-4), "{found:?}");
        assert!(near(found.outcomes.base, 2e-4), "{found:?}");
    }

    #[test]
    fn of_a_single_interaction_the_costs_of_dealing_are_assumed() {
        let costs = Costs {
            outcomes: Line {
                base: 0.0,
                per_task: 1e-3,
            },
            tell: 1e-4,
            ..Costs::default()
        };
        let found = Costs::of(&[interaction(&[8, 8], &[0.4, 1.6], &costs)]);
        assert!(found.is_deal_assumed);
        assert!((found.deal.per_task - found.outcomes.per_task).abs() < 1e-12);
    }
}
