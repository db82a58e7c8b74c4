use std::fs;

use super::*;
use analysis::known_best::KnownBest;
use analysis::known_best::file_of;

const SILENT: Batch<'static> = Batch {
    jobs: None,
    progress: &Silent,
};

/// An experiment with a few processes on two Sets of two hosts.
fn experiment(application: &str, latency: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let platform = format!(
        "[[set]]\nname = 'a'\nhosts = 2\nspeed = '2 Gf'\nlink = {{ bandwidth = '1 Gbps', latency = '20 us' }}\n\
         [[set]]\nname = 'b'\nhosts = 2\nspeed = '1 Gf'\nlink = {{ bandwidth = '1 Gbps', latency = '30 us' }}\n\
         [[link]]\nname = 'wan'\nbetween = ['a', 'b']\nbandwidth = '100 Mbps'\nlatency = '{latency}'\n"
    );
    let text = format!(
        "[application]\nworkload = 'synthetic'\nsupersteps = 20\n{application}\n[platform]\nfile = 'two.toml'\n\
         [placement]\norder = 'round-robin'\n"
    );
    fs::write(folder.path().join("two.toml"), platform).unwrap();
    fs::write(folder.path().join("e.toml"), text).unwrap();
    folder
}

fn search_in(folder: &tempfile::TempDir, budget: u64, seed: u64) -> Result<Found, Failure> {
    let asked = Search {
        experiment: folder.path().join("e.toml"),
        budget,
        seed,
    };
    search(&asked, &Registry::shipped(), SILENT)
}

/// The least time of a superstep under any placement.
fn enumerated(folder: &tempfile::TempDir) -> f64 {
    let registry = Registry::shipped();
    let prepared = prepared(&folder.path().join("e.toml"), &registry).unwrap();
    let trial = Trial::new(&prepared, &registry).unwrap();
    let hosts = prepared.platform.hosts().len();
    let count = hosts.pow(u32::try_from(prepared.placement.len()).unwrap());
    let all: Vec<usize> = (0..count).collect();
    let pace = |number: &usize| {
        let mut number = *number;
        let place = |_: &HostId| {
            let host = HostId::from_index(number % hosts);
            number /= hosts;
            host
        };
        let placement: Vec<HostId> = prepared.placement.iter().map(place).collect();
        trial.pace(&placement).map(|pace| pace.seconds)
    };
    let paces = SILENT.run(&all, pace).unwrap();
    paces.into_iter().fold(f64::INFINITY, f64::min)
}

#[test]
fn on_tiny_experiments_no_placement_is_better() {
    let experiments = [
        (
            "processes = 5\n[application.synthetic]\ninstructions = [1e8, 5e7]\nbytes = [5e4]\nring = true",
            "1 ms",
        ),
        (
            "processes = 5\n[application.synthetic]\ninstructions = [1e8, 9e7, 3e7]\nbytes = [1e3]\n\
             pattern = { kind = 'tree' }",
            "50 us",
        ),
        (
            "processes = 4\n[application.synthetic]\ninstructions = [2e8]\nbytes = [2e5]\n\
             pattern = { kind = 'groups', size = 2 }",
            "20 ms",
        ),
    ];
    for (application, latency) in experiments {
        let folder = experiment(application, latency);
        let found = search_in(&folder, 600, 1).unwrap();
        let (best, least) = (found.best.seconds_per_superstep, enumerated(&folder));
        assert!(
            best <= least * (1.0 + 1e-9),
            "{best} and {least}: {application}"
        );
    }
}

#[test]
fn barriers_cross_to_the_managers_of_the_start() {
    let folder = experiment(
        "processes = 4\n[application.synthetic]\ninstructions = [1e8]\nshifts = []",
        "20 ms",
    );
    let registry = Registry::shipped();
    let prepared = prepared(&folder.path().join("e.toml"), &registry).unwrap();
    let trial = Trial::new(&prepared, &registry).unwrap();
    let pace = |hosts: [usize; 4]| trial.pace(&hosts.map(HostId::from_index)).unwrap().seconds;
    // The first Manager is in the first Set, and on the other one every barrier crosses the link twice.
    let (near, far) = (pace([0, 0, 1, 1]), pace([2, 2, 3, 3]));
    assert!(near < 0.11, "{near}");
    assert!(0.2 + 2.0 * 0.02 < far, "{far}");
}

#[test]
fn the_result_does_not_depend_on_the_threads() {
    let folder = experiment(
        "processes = 6\n[application.synthetic]\ninstructions = [1e8, 5e7]\nring = true",
        "1 ms",
    );
    let one = Batch {
        jobs: std::num::NonZero::new(1),
        progress: &Silent,
    };
    let asked = Search {
        experiment: folder.path().join("e.toml"),
        budget: 100,
        seed: 7,
    };
    let on_one = search(&asked, &Registry::shipped(), one).unwrap();
    assert_eq!(on_one.best, search_in(&folder, 100, 7).unwrap().best);
    // A budget of one is the start of the experiment.
    let least = search_in(&folder, 1, 7).unwrap();
    assert_eq!(
        least.best.seconds_per_superstep.to_bits(),
        least.at_start.to_bits()
    );
    assert_eq!(
        least.best.placement,
        ["a-1", "b-1", "a-2", "b-2", "a-1", "b-1"]
    );
}

#[test]
fn a_search_without_a_budget_or_a_steady_experiment_is_refused() {
    let check = |application: &str, budget: u64, expected: &str| {
        let folder = experiment(application, "1 ms");
        let error = search_in(&folder, budget, 1).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    };
    let ring = "processes = 4\n[application.synthetic]\nring = true\n";
    check(
        ring,
        0,
        "invalid value `0` for the budget: must be at least 1",
    );
    for (dynamics, expected) in [
        (
            "kind = 'drift'",
            "not steady: `application.synthetic.dynamics.kind` is \"drift\"",
        ),
        ("kind = 'noise'", "is \"noise\""),
    ] {
        let text = format!("{ring}[application.synthetic.dynamics]\n{dynamics}");
        check(&text, 10, expected);
    }
    for section in ["load", "congestion"] {
        let text = format!("{ring}[{section}]\nkind = 'on-off'");
        check(
            &text,
            10,
            &format!("not steady: [{section}] changes the platform"),
        );
    }
    let folder = experiment(ring, "1 ms");
    let file = folder.path().join("e.toml");
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, text.replace("supersteps = 20", "supersteps = 2")).unwrap();
    let error = search_in(&folder, 10, 1).unwrap_err().to_string();
    assert!(
        error.contains("it has 2 supersteps, and at least 4"),
        "{error}"
    );
    fs::write(
        folder.path().join("e.toml"),
        text.replace("two.toml", "no.toml"),
    )
    .unwrap();
    assert!(search_in(&folder, 10, 1).is_err());
}

/// What the file beside `experiment` says, with values of the experiment changed.
fn known(experiment: &Path, assignments: &[&str]) -> Result<Option<KnownBest>, Failure> {
    let assignments: Vec<String> = assignments.iter().map(ToString::to_string).collect();
    let loaded = load(experiment, &assignments, &Registry::shipped()).unwrap();
    KnownBest::of(experiment, &PreparedExperiment::new(loaded).unwrap())
}

/// Searches and writes the file beside the experiment.
fn write_found(folder: &tempfile::TempDir, budget: u64) -> Found {
    let found = search_in(folder, budget, 1).unwrap();
    let attributed = experiments::Attributed::new(&found.provenance, &found.best);
    let file = file_of(&folder.path().join("e.toml"));
    fs::write(file, serde_json::to_string(&attributed).unwrap()).unwrap();
    found
}

#[test]
fn a_file_is_valid_for_everything_but_the_scheduler() {
    let folder = experiment(
        "processes = 4\n[application.synthetic]\ninstructions = [1e8]\nring = true",
        "1 ms",
    );
    let file = folder.path().join("e.toml");
    let known = |assignments: &[&str]| known(&file, assignments);
    assert_eq!(known(&[]).unwrap(), None);
    let found = write_found(&folder, 50);
    let seconds = found.best.seconds_per_superstep;
    for same in [
        "scheduler.policy=adaptive",
        "scheduler.interval=9",
        "run.seed=5",
        "application.supersteps=7",
    ] {
        let known = known(&[same]).unwrap().unwrap();
        assert_eq!(known.seconds_per_superstep, Some(seconds), "{same}");
        assert_eq!(known.ratio(20.0 * seconds, 10), Some(2.0));
    }
    for other in [
        "application.synthetic.ring=false",
        "application.processes=5",
        "platform.model=ideal",
        "placement.order=fill",
        "network.start=rendezvous",
        "barrier.shape=hierarchical",
        "load.kind=wave",
    ] {
        let known = known(&[other]).unwrap().unwrap();
        assert_eq!(known.seconds_per_superstep, None, "{other}");
        assert_eq!(known.ratio(1.0, 10), None);
    }
}

#[test]
fn a_file_of_another_form_is_refused() {
    let folder = experiment(
        "processes = 4\n[application.synthetic]\ninstructions = [1e8]\nring = true",
        "1 ms",
    );
    let file = folder.path().join("e.toml");
    write_found(&folder, 5);
    let written = fs::read_to_string(file_of(&file)).unwrap();
    let with_placement = |placement: serde_json::Value| {
        let mut json: serde_json::Value = serde_json::from_str(&written).unwrap();
        json["placement"] = placement;
        fs::write(file_of(&file), json.to_string()).unwrap();
        known(&file, &[]).map_err(|failure| failure.to_string())
    };
    let unknown = with_placement(serde_json::json!(["a-1", "a-2", "b-1", "c-1"]));
    let unknown = unknown.unwrap_err();
    assert!(
        unknown.contains("`placement`: the platform has no host \"c-1\""),
        "{unknown}"
    );
    let short = with_placement(serde_json::json!(["a-1"])).unwrap_err();
    assert!(
        short.contains("invalid length 1 of `placement`: must be 4"),
        "{short}"
    );
    for (text, expected) in [
        ("{", "EOF"),
        ("{}", "missing field `schema`"),
        (
            r#"{"schema": "migbsp.run/1", "valid_for": "", "seconds_per_superstep": 1, "placement": []}"#,
            "invalid value `migbsp.run/1` for `schema`: must be migbsp.best-placement/1",
        ),
        (
            r#"{"schema": "migbsp.best-placement/1", "valid_for": "", "seconds_per_superstep": -1, "placement": []}"#,
            "invalid value `-1` for `seconds_per_superstep`: must be a number above 0",
        ),
    ] {
        fs::write(file_of(&file), text).unwrap();
        let error = known(&file, &[]).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn sequences_are_all_choices_of_sets_in_all_orders() {
    assert_eq!(sequences(2), [vec![0], vec![1], vec![0, 1], vec![1, 0]]);
    assert_eq!(sequences(4).len(), 64);
    assert_eq!(sequences(5).len(), 6);
}
