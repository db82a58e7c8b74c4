//! `bench superstep`: r, g and l of a cluster.

use serde_json::Value;

use crate::invocation::Folder;

/// The result of `bench superstep` behind these options of `up`, with these of its own.
#[track_caller]
fn bench(up: &[&str], options: &[&str]) -> Value {
    let words = [
        &["up"],
        up,
        &["--", "bench", "superstep", "--format", "json"],
        options,
    ]
    .concat();
    serde_json::from_str(&Folder::new().stdout(&words)).unwrap()
}

/// `value`, above 0.
#[track_caller]
fn positive(value: &Value, key: &str) -> f64 {
    let number = value[key].as_f64();
    number
        .filter(|number| 0.0 < *number)
        .unwrap_or_else(|| panic!("{key}: {value}"))
}

#[test]
fn a_cluster_has_a_rate_a_gap_and_a_latency() {
    let result = bench(&["--local", "2"], &["--repetitions", "5"]);
    assert_eq!(result["schema"], "migbsp.bench-superstep/1");
    assert_eq!(
        (&result["processes"], &result["fitted_from"]),
        (&2.into(), &2.into())
    );
    let rate = positive(&result, "flops_per_second");
    // No processor of today is slower or faster.
    assert!((1e7..1e12).contains(&rate), "{rate}");
    for (flops, seconds) in [("g_flops", "g_seconds"), ("l_flops", "l_seconds")] {
        let ratio = positive(&result, flops) / positive(&result, seconds);
        assert!((ratio / rate - 1.0).abs() < 1e-9, "{ratio}, not {rate}");
    }
    let each = result["each"].as_array().unwrap();
    assert_eq!(each.len(), 65);
    assert_eq!(each[64]["words"], 16_384);
    assert_eq!(each[0]["seconds"], result["empty_seconds"]);
    assert_eq!(result["pairs"], Value::Array(Vec::new()));
}

#[test]
fn g_of_a_limited_link_is_what_its_rate_says() {
    let up = ["--local", "3", "--sets", "2", "--between", "1MBps"];
    let result = bench(
        &up,
        &["-n", "2", "--pairs", "--h", "2048", "--repetitions", "2"],
    );
    let pair = &result["pairs"][0];
    assert_eq!(pair["sets"], serde_json::json!(["set-1", "set-2"]));
    // 8 bytes at 1 MB/s, and what headers add. Other tests that run meanwhile make it longer.
    let seconds = positive(pair, "g_seconds");
    assert!((7.8e-6..16e-6).contains(&seconds), "{seconds}");
    // Both processes are in the first Set.
    let inside = result["g_seconds"].as_f64().unwrap();
    assert!(inside < seconds / 2.0, "{inside}");
}

#[test]
fn a_table_has_a_row_for_each_number_of_words() {
    let words = [
        "up",
        "--local",
        "1",
        "--",
        "bench",
        "superstep",
        "--h",
        "20",
    ];
    let csv =
        Folder::new().stdout(&[&words[..], &["--repetitions", "1", "--format", "csv"]].concat());
    let mut lines = csv.lines().filter(|line| !line.starts_with('#'));
    let header = "set,other_set,processes,words,seconds,fitted_seconds";
    assert_eq!(lines.next(), Some(header));
    let words = lines.map(|line| line.split(',').nth(3).unwrap().parse().unwrap());
    let words: Vec<u32> = words.collect();
    assert_eq!(words, (0..=20).collect::<Vec<u32>>());
}

#[test]
fn benches_that_cannot_be_are_refused() {
    #[track_caller]
    fn refused(words: &[&str], problem: &str) {
        let ended = Folder::new().run(words);
        assert_eq!(
            (ended.code, ended.stdout.as_str()),
            (Some(2), ""),
            "{ended:?}"
        );
        assert!(ended.stderr.contains(problem), "{}", ended.stderr);
    }
    let up = |options: &[&'static str]| {
        [&["up", "--local", "2", "--", "bench", "superstep"], options].concat()
    };
    refused(
        &up(&["-n", "0"]),
        "invalid value '0' for '--processes <N>': 0 is not in 1..=65536",
    );
    refused(
        &up(&["--h", "4194305"]),
        "invalid value '4194305' for '--h <WORDS>': 4194305 is not in 2..=4194304",
    );
    refused(
        &up(&["--repetitions", "0"]),
        "invalid value '0' for '--repetitions <N>': 0 is not in 1..=10000",
    );
    refused(
        &up(&["-n", "8", "--h", "15"]),
        "--h 15: the fit takes h from the number of processes on, which is 8: must be at least 16",
    );
    refused(&up(&["--pairs"]), "--pairs: there is one Set");
    refused(&["bench", "superstep"], "--cluster FILE is missing");
}
