use super::*;

fn evidence() -> Evidence {
    Evidence {
        seconds: 100.0,
        supersteps: 400,
        attainable_seconds: Some(20.0),
        calls: 40,
        called_when_due: None,
        call_seconds: 8.0,
        slowest: [(Rank(0), 300), (Rank(4), 100)].into(),
        moved: [Rank(4)].into(),
    }
}

fn settings() -> Settings {
    Settings {
        policy: "migbsp".to_owned(),
        interval: 4,
        overhead: 0.01,
        can_be_advised: true,
    }
}

fn options(evidence: &Evidence, settings: &Settings) -> Vec<String> {
    let all = advice(evidence, settings);
    all.into_iter().map(|advice| advice.options).collect()
}

#[test]
fn the_most_valuable_advice_comes_first_and_states_its_evidence() {
    let all = advice(&evidence(), &settings());
    let sentences: Vec<String> = all.iter().map(Advice::sentence).collect();
    assert_eq!(
        sentences,
        [
            "Better mappings would save up to 20.000 s (20.0 %) of this run: no process computed longer \
             than p1 in 300 of 400 supersteps, and 1 process moved; try `--policy adaptive`.",
            "40 calls took 8.000 s (8.0 %) of this run, one every 10 supersteps on average; try \
             `--set scheduler.interval=16`.",
        ]
    );
    let costly = Evidence {
        call_seconds: 30.0,
        ..evidence()
    };
    assert_eq!(
        options(&costly, &settings()),
        ["--set scheduler.interval=16", "--policy adaptive"]
    );
}

#[test]
fn without_evidence_there_is_no_advice() {
    let none: [Evidence; 4] = [
        Evidence::default(),
        Evidence {
            attainable_seconds: Some(9.0),
            call_seconds: 4.0,
            ..evidence()
        },
        Evidence {
            attainable_seconds: None,
            call_seconds: 0.0,
            ..evidence()
        },
        Evidence {
            supersteps: 60,
            ..evidence()
        },
    ];
    for evidence in none {
        assert_eq!(advice(&evidence, &settings()), [], "{evidence:?}");
    }
}

#[test]
fn a_spent_budget_is_advised_if_no_call_followed_for_most_of_the_run() {
    // As reported: two calls took 0.56 s of a run of 16.7 s, and none followed in 892 supersteps.
    let spent = Evidence {
        seconds: 16.7,
        supersteps: 902,
        attainable_seconds: None,
        calls: 2,
        call_seconds: 0.56,
        called_when_due: Some(10),
        ..evidence()
    };
    let adaptive = Settings {
        policy: "adaptive".to_owned(),
        ..settings()
    };
    let all = advice(&spent, &adaptive);
    let sentences: Vec<String> = all.iter().map(Advice::sentence).collect();
    assert_eq!(
        sentences,
        [
            "2 calls took 560 ms, more than the 1 % of the run that calls without moves may take, and none was held after \
             superstep 10 of 902; try `--set scheduler.planning.overhead=0.05`."
        ]
    );
    for other in [
        Evidence {
            called_when_due: Some(700),
            ..spent.clone()
        },
        Evidence {
            call_seconds: 0.1,
            ..spent.clone()
        },
        Evidence {
            called_when_due: None,
            ..spent
        },
    ] {
        assert!(options(&other, &adaptive).is_empty(), "{other:?}");
    }
}

#[test]
fn the_policy_in_effect_and_an_interval_that_grew_are_not_advised() {
    let adaptive = Settings {
        policy: "adaptive".to_owned(),
        ..settings()
    };
    assert!(options(&evidence(), &adaptive).is_empty());
    let grown = Evidence {
        calls: 6,
        ..evidence()
    };
    assert_eq!(options(&grown, &settings()), ["--policy adaptive"]);
    let spent = Settings {
        can_be_advised: false,
        ..settings()
    };
    assert!(options(&evidence(), &spent).is_empty());
}
