use super::*;

pub(crate) fn grid(experiments: &[&str], set: &[&str], seeds: u64) -> Grid {
    Grid {
        experiments: experiments.iter().map(|name| (*name).to_owned()).collect(),
        parameters: set.iter().map(|text| text.parse().unwrap()).collect(),
        seeds: (1..=seeds).collect(),
        shard: None,
    }
}

#[test]
fn combinations_go_through_the_last_parameter_first() {
    let grid = grid(
        &["x/a.toml", "b.toml"],
        &["a.x=1,2", "a.y=7", "a.z=5 s,t"],
        2,
    );
    assert_eq!((grid.combinations(), grid.pairs()), (8, 16));
    let points = grid.points();
    let names: Vec<&str> = points.iter().map(|point| &*point.name).collect();
    let first = [
        "a.x=1 a.z=\"5 s\"",
        "a.x=1 a.z=t",
        "a.x=2 a.z=\"5 s\"",
        "a.x=2 a.z=t",
    ];
    for (place, values) in first.iter().enumerate() {
        assert_eq!(names[place], format!("x/a.toml {values}"));
        assert_eq!(names[4 + place], format!("b.toml {values}"));
    }
    assert!(points.iter().all(|point| point.seeds == [1, 2]));
    assert_eq!(points[5].label, "b x=1 z=t");
    assert_eq!(
        (&*grid.first(0).name, &*grid.first(1).name),
        (names[0], names[4])
    );
    let variant = grid.variant(&points[1]);
    assert_eq!(variant.set, ["a.x=1", "a.y=7", "a.z=\"t\""]);
    assert_eq!(variant.file, Path::new("x/a.toml"));
}

#[test]
fn labels_have_the_last_part_of_a_key_if_that_is_enough() {
    let points = grid(&["a.toml"], &["a.x=1,2", "b.x=1,2", "c.y=1,2"], 1).points();
    assert_eq!(points[0].label, "a.x=1 b.x=1 y=1");
}

#[test]
fn a_grid_without_values_has_its_experiments() {
    let points = grid(&["x/a.toml"], &[], 1).points();
    assert_eq!(points.len(), 1);
    assert_eq!((&*points[0].name, &*points[0].label), ("x/a.toml", "a"));
}

#[test]
fn shards_have_all_pairs_of_a_combination_and_a_seed_together() {
    let whole = grid(&["a.toml"], &["a.x=1,2,3", "a.y=1..4"], 5);
    let all = whole.points();
    assert_eq!(all.len(), 12);
    let mut found = std::collections::BTreeSet::new();
    for number in 1..=4 {
        let shard = Some(format!("{number}/4").parse().unwrap());
        let part = Grid {
            shard,
            ..whole.clone()
        };
        assert_eq!(part.pairs(), 15);
        for point in part.points() {
            assert!(all.iter().any(|whole| whole.choice == point.choice));
            for seed in point.seeds {
                assert!(found.insert((point.name.clone(), seed)));
            }
        }
    }
    assert_eq!(found.len(), 60);
}

#[test]
fn a_part_of_a_huge_grid_is_found_quickly() {
    let set = ["a.x=1..100000", "a.y=1..100000"];
    let mut grid = grid(&["a.toml"], &set, 1);
    assert_eq!(grid.combinations(), 10_000_000_000);
    grid.shard = Some("7/5000000000".parse().unwrap());
    let names: Vec<String> = grid.points().into_iter().map(|point| point.name).collect();
    assert_eq!(names, ["a.toml a.x=1 a.y=7", "a.toml a.x=50001 a.y=6"]);
    let endless = vec!["a.x=1..100000"; 9];
    assert_eq!(self::grid(&["a.toml"], &endless, 1).pairs(), u128::MAX);
}

#[test]
fn a_key_has_one_list() {
    let fault = |set: &[&str]| grid(&["a.toml"], set, 1).check().unwrap_err();
    assert!(fault(&["a.x=1", "a.y=2", "a.x=3"]).starts_with("--set a.x is given twice"));
    let nested = "--set a.x.y and --set a.x set the same values";
    assert_eq!(fault(&["a.x={y=1}", "a.x.y=3"]), nested);
    assert_eq!(grid(&["a.toml"], &["a.x=1", "a.xy=3"], 1).check(), Ok(()));
}

fn shards(of: u64) -> Vec<Shard> {
    (1..=of).map(|number| Shard { number, of }).collect()
}

#[test]
fn every_item_is_in_one_shard() {
    for of in 1..9 {
        for all in 0..40_u128 {
            let mut found: Vec<u128> = Vec::new();
            for shard in shards(of) {
                let items: Vec<u128> = shard.items(all).collect();
                assert!(items.is_sorted());
                assert_eq!(items.len() as u128, shard.count(all), "{shard} of {all}");
                assert!(items.len() as u128 <= all.div_ceil(u128::from(of)));
                found.extend(items);
            }
            found.sort_unstable();
            assert_eq!(found, (0..all).collect::<Vec<u128>>());
        }
    }
}

#[test]
fn no_shard_has_all_items_of_a_value() {
    // Four values of the parameter that varies fastest, and four shards.
    for shard in shards(4) {
        let mut values: Vec<u128> = shard.items(16).map(|item| item % 4).collect();
        values.sort_unstable();
        assert_eq!(values, [0, 1, 2, 3]);
    }
}

#[test]
fn a_shard_is_found_without_a_look_at_all_items() {
    let shard: Shard = "3/1000000000".parse().unwrap();
    assert_eq!(
        shard.items(2_000_000_000).collect::<Vec<_>>(),
        [2, 1_000_000_001]
    );
    assert_eq!(
        (shard.count(2_000_000_000), shard.count(2_000_000_001)),
        (2, 3)
    );
}

#[test]
fn malformed_shards_are_refused() {
    let fault = |text: &str| text.parse::<Shard>().unwrap_err();
    for text in ["", "1", "x/4", "1/x", "1/4/4", "-1/4", "1.5/4"] {
        assert!(
            fault(text).starts_with("must be NUMBER/COUNT, as 2/4"),
            "{text}"
        );
    }
    for text in ["0/4", "5/4"] {
        let rule = format!("`{text}`: shards have the numbers 1/4 to 4/4");
        assert_eq!(fault(text), rule);
    }
    assert!(fault("0/0").contains("at least one shard"));
    assert_eq!(serde_json::to_string(&shards(2)[1]).unwrap(), "\"2/2\"");
}

#[test]
fn too_many_runs_are_refused_with_their_number_and_ways_out() {
    let set = ["a.x=1..1000", "a.y=1..1000", "a.z=1..500"];
    let mut grid = grid(&["a.toml"], &set, 1);
    let problem = check_runs(&grid, 2, RUNS_MAX).unwrap_err().to_string();
    for words in [
        "the sweep has 1000000000 runs (1000 × 1000 × 500 combinations, 2 policies, 1 seed)",
        "more than 100000",
        "`--max-runs 1000000000`",
        "`--shard 1/10000`",
    ] {
        assert!(problem.contains(words), "{words}: {problem}");
    }
    assert!(check_runs(&grid, 2, 1_000_000_000).is_ok());
    grid.shard = Some("3/10000".parse().unwrap());
    assert!(check_runs(&grid, 2, RUNS_MAX).is_ok());
    grid.shard = Some("3/5000".parse().unwrap());
    let problem = check_runs(&grid, 2, RUNS_MAX).unwrap_err().to_string();
    assert!(
        problem.contains("shard 3/5000 has 200000 runs"),
        "{problem}"
    );
    assert!(problem.contains("`--shard 1/10000`"), "{problem}");
}

#[test]
fn factors_are_files_values_policies_and_seeds() {
    let one = grid(&["a.toml"], &["a.x=1"], 1);
    assert_eq!(factors(&one, 1), "1 combination, 1 policy, 1 seed");
    let more = grid(&["a.toml", "b.toml"], &["a.x=1,2,3", "a.y=1"], 5);
    assert_eq!(factors(&more, 2), "2 × 3 combinations, 2 policies, 5 seeds");
}

mod parameter {
    use super::*;

    fn parameter(text: &str) -> Parameter {
        text.parse().unwrap()
    }

    #[track_caller]
    fn fault(text: &str) -> String {
        text.parse::<Parameter>().unwrap_err()
    }

    #[test]
    fn values_are_lists_and_ranges() {
        let check = |text: &str, key: &str, list: &str| {
            let parameter = parameter(text);
            assert_eq!((parameter.key(), &*parameter.list()), (key, list));
        };
        check("a.b=2,4,8", "a.b", "2, 4, 8");
        check(" a . b = 16..64:16 ", "a.b", "16, 32, 48, 64");
        check("a.b=1..3,10,0.5", "a.b", "1, 2, 3, 10, 0.5");
        check("a.b=1 s,10 s", "a.b", "\"1 s\", \"10 s\"");
        check("a.b=[1, 2],[3]", "a.b", "[1, 2], [3]");
        check("a.b=\"x,y\",z", "a.b", "\"x,y\", z");
        check("a.b=\"\"", "a.b", "\"\"");
        check("a.b.c={ x = 1, y = 2 }", "a.b.c", "{ x = 1, y = 2 }");
        check("a.b=true,false", "a.b", "true, false");
    }

    #[test]
    fn an_assignment_reads_back_as_the_value() {
        for text in [
            "a.b=1 s",
            "a.b=[1e8, 2]",
            "a.b=\"x,y\"",
            "a.b=0.1",
            "a.b={ x = 1 }",
        ] {
            let first = parameter(text);
            let again = value("a.b", first.assignment(0).strip_prefix("a.b=").unwrap());
            assert_eq!(again.unwrap(), first.values()[0], "{text}");
            let json = serde_json::to_string(&first).unwrap();
            assert_eq!(serde_json::from_str::<Parameter>(&json).unwrap(), first);
        }
    }

    #[test]
    fn numbers_have_a_place_on_an_axis() {
        assert_eq!(parameter("a.b=1,0.5").numbers().unwrap(), [1.0, 0.5]);
        assert_eq!(parameter("a.b=1,1 s").numbers(), None);
    }

    #[test]
    fn malformed_parameters_are_refused() {
        for text in ["interval", "interval=4", ".a=1", "a.=1", "=1", ""] {
            assert!(
                fault(text).starts_with("must be SECTION.KEY=VALUES"),
                "{text}"
            );
        }
        assert!(fault("a.b=").contains("`a.b` has no value"));
        assert!(fault("a.b=1,,2").contains("value 2 of `a.b` is empty"));
        assert!(fault("a.b=1,").contains("value 2 of `a.b` is empty"));
        let twice = "`a.b` has the value 8.0 twice, as value 1 and as value 3";
        assert_eq!(fault("a.b=8,4,8.0"), twice);
        assert!(fault("a.b=1..3,2").contains("has the value 2 twice"));
        assert!(fault("a.b=x,x").contains("has the value x twice"));
        assert!(fault("a.b=[1").contains("is not closed"));
        assert!(fault("a.b=3..1").contains("runs backwards"));
        assert!(fault("a.b=nan").contains("must be a finite number"));
    }
}

#[test]
fn commas_inside_brackets_and_quotes_separate_nothing() {
    let check = |text: &str, expected: &[&str]| assert_eq!(items(text).unwrap(), expected);
    check("2,4, 8 ", &["2", "4", "8"]);
    check("1 s", &["1 s"]);
    check("[1, 2],[3, [4, 5]]", &["[1, 2]", "[3, [4, 5]]"]);
    check(
        "{ kind = \"noise\", jitter = 0.3 },{ kind = \"drift\" }",
        &["{ kind = \"noise\", jitter = 0.3 }", "{ kind = \"drift\" }"],
    );
    check("\"a,b\",'c,d'", &["\"a,b\"", "'c,d'"]);
    check(r#""a\",b",c"#, &[r#""a\",b""#, "c"]);
    check(r"'\',b", &[r"'\'", "b"]);
    check("don't,\"[\",]", &["don't", "\"[\"", "]"]);
    check("", &[""]);
    check("1,,2,", &["1", "", "2", ""]);
}

#[test]
fn what_is_opened_has_to_be_closed() {
    let fault = |text: &str| items(text).unwrap_err();
    assert_eq!(fault("1,[2, 3"), "`[` in `[2, 3` is not closed");
    assert_eq!(fault("{a = [1], b"), "`{` in `{a = [1], b` is not closed");
    assert_eq!(fault("\"a,b"), "`\"` in `\"a,b` is not closed");
}

mod range {
    use super::*;

    #[track_caller]
    fn fault(text: &str) -> String {
        numbers_of_range(text).unwrap_err()
    }

    #[test]
    fn a_range_has_both_ends_and_is_exact() {
        let range = |text: &str| -> Vec<String> {
            let numbers = numbers_of_range(text).unwrap().unwrap();
            numbers.iter().map(Node::to_string).collect()
        };
        assert_eq!(range("16..64:16"), ["16", "32", "48", "64"]);
        assert_eq!(range("1..3"), ["1", "2", "3"]);
        assert_eq!(range("5 .. 5"), ["5"]);
        assert_eq!(range("1..6:2"), ["1", "3", "5"]);
        assert_eq!(range("0.1..0.3:0.1"), ["0.1", "0.2", "0.3"]);
        assert_eq!(range("0..1:0.25"), ["0.0", "0.25", "0.5", "0.75", "1.0"]);
        assert_eq!(range("-1.5..0:0.5"), ["-1.5", "-1.0", "-0.5", "0.0"]);
        let long = "12345678901234567..12345678901234567";
        assert_eq!(range(long), ["12345678901234567"]);
    }

    #[test]
    fn other_values_are_no_ranges() {
        for text in [
            "",
            "8",
            "../platforms/a.toml",
            "a..b",
            "1e8",
            "[1, 2]",
            "x.y",
        ] {
            assert_eq!(numbers_of_range(text), Ok(None), "{text}");
        }
    }

    #[test]
    fn malformed_ranges_are_refused() {
        assert!(fault("1..x").contains("must be a range of numbers"));
        for text in [
            "1..", "1...5", "1..5:", "1..5:x", "1..5:1:1", "1..1e9", "1..+5",
        ] {
            assert!(fault(text).contains("FIRST..LAST:STEP"), "{text}");
        }
        assert_eq!(fault("16..64:0"), "the step of `16..64:0` must be above 0");
        assert!(fault("1..5:-1").contains("must be above 0"));
        assert_eq!(
            fault("64..16:8"),
            "`64..16:8` runs backwards and has no number; write 16..64:8"
        );
        assert!(fault("0.5..0.9").contains("needs a step"));
        assert!(fault("1..1000000000").contains("has 1000000000 numbers"));
    }
}
