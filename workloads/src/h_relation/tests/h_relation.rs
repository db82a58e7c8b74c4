//! Tests: h-relations are what they should be, and damage is found.

use bsp::Rank;

use super::super::*;

fn common(processes: u32, supersteps: u64) -> Common {
    Common {
        processes,
        supersteps: Some(supersteps),
        seed: 0,
    }
}

#[test]
fn every_process_sends_and_receives_h_words_moved_or_not() {
    for size in [1, 2, 3, 8] {
        let parameters = Parameters {
            words: vec![7.0, 0.0, 100.0],
            flops: vec![0.0, 5000.0],
        };
        let build = || processes(&parameters, common(size, 7)).unwrap();
        let checked = bsp::testing::check(build);
        for process in &checked.run.outputs {
            // The last superstep sends nothing.
            assert_eq!((process.sent, process.received), (214, 214), "of {size}");
        }
        assert_eq!(
            checked.run.work.0,
            3 * 2 * FLOPS_OF_A_PASS * u64::from(size)
        );
    }
}

#[test]
fn words_are_dealt_to_the_others_in_turn() {
    let dealt = |h, of| dealt(h, of).map(|(to, count)| (to.0, count));
    assert!(dealt(7, [1, 4]).eq([(2, 3), (3, 2), (0, 2)]));
    assert!(dealt(2, [3, 4]).eq([(0, 1), (1, 1)]));
    assert!(dealt(9, [0, 1]).eq([(0, 9)]));
    assert_eq!(dealt(0, [0, 4]).count(), 0);
}

#[test]
fn words_that_are_lost_or_changed_are_found() {
    // Of three processes p1 has received, in superstep 5, from p2 two words and from p3 three.
    let right = || {
        vec![
            (Rank(1), Words::new(2, 1, 5)),
            (Rank(2), Words::new(3, 2, 5)),
        ]
    };
    let check = |received: &[(Rank, Words)]| check_words(5, [0, 3], 5, received);
    assert_eq!(check(&right()), Ok(5));
    let mut lost = right();
    lost.pop();
    let mut short = right();
    short[1].1 = Words::new(2, 2, 5);
    let mut late = right();
    late[0].1 = Words::new(2, 1, 4);
    let mut doubled = right();
    doubled.push((Rank(2), Words::new(3, 2, 5)));
    for wrong in [lost, short, late, doubled, Vec::new()] {
        let problem = check(&wrong).unwrap_err();
        assert!(problem.contains("in superstep 5"), "{problem}");
    }
}

#[test]
fn a_word_takes_eight_bytes() {
    let bytes = |count| rmp_serde::to_vec(&Words::new(count, 3, 9)).unwrap().len();
    assert_eq!(bytes(70_000) - bytes(69_000), 8000);
}

#[test]
fn errors_name_the_parameter() {
    let check = |text: &str, expected: &str| {
        let parameters: Parameters = toml::from_str(text).unwrap();
        let error = processes(&parameters, common(2, 1)).unwrap_err();
        assert_eq!(error.to_string(), expected);
    };
    check(
        "words = [0, 5e6]",
        "invalid value `5000000.0` for `words[1]`: must be a number from 0 to 4194304",
    );
    check(
        "words = []",
        "invalid value `[]` for `words`: must have at least one number",
    );
    check(
        "flops = [-1]",
        "invalid value `-1.0` for `flops[0]`: must be a number from 0 to 2^63",
    );
}
