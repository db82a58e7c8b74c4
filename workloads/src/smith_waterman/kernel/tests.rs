use bsp::reference;
use proptest::prelude::*;

use super::*;

fn common(processes: u32) -> Common {
    Common {
        processes,
        supersteps: None,
        seed: 1,
    }
}

fn sequence(letters: &str, substitution: Substitution) -> Sequence {
    let text = format!(">only\n{letters}\n");
    Sequence::from_fasta(text.as_bytes(), "query", None, substitution).unwrap()
}

fn pair(query: &str, subject: &str, substitution: Substitution) -> Pair {
    Pair {
        query: sequence(query, substitution),
        subject: sequence(subject, substitution),
    }
}

fn run(parameters: &Parameters, pair: &Pair, size: u32) -> reference::Run<Part> {
    let processes = processes(parameters, pair, common(size)).unwrap();
    reference::run(processes, reference::Limit::default()).unwrap()
}

fn align(parameters: &Parameters, pair: &Pair, size: u32) -> Option<Alignment> {
    Alignment::assemble(&run(parameters, pair, size).outputs, pair).unwrap()
}

/// The score of the best local alignment as Smith and Waterman define it (J. Mol. Biol. 147, 1981, pp. 195-197): for gaps of every
/// length that may end at a place, without the recurrence for affine costs that the kernel uses.
fn oracle(parameters: &Parameters, query: &str, subject: &str) -> i64 {
    let scoring = parameters.scoring().unwrap();
    let code = |letter| parameters.scoring.code(letter).unwrap();
    let mut scores = vec![vec![0; subject.len() + 1]; query.len() + 1];
    for (i, one) in (1..).zip(query.bytes()) {
        for (j, other) in (1..).zip(subject.bytes()) {
            let beside = scores[i - 1][j - 1] + scoring.pair(code(one), code(other));
            let deletions = (1..=i).map(|letters| scores[i - letters][j] - scoring.gap(letters));
            let insertions = (1..=j).map(|letters| scores[i][j - letters] - scoring.gap(letters));
            let ways = deletions.chain(insertions).chain([0, beside]);
            scores[i][j] = ways.max().unwrap();
        }
    }
    scores.into_iter().flatten().max().unwrap()
}

fn dna(scores: (i32, i32), gap: (u32, u32)) -> Parameters {
    Parameters {
        scoring: Substitution::Dna,
        match_score: scores.0,
        mismatch_score: scores.1,
        gap_open: Some(gap.0),
        gap_extend: Some(gap.1),
        ..Parameters::default()
    }
}

const ALPHA: &[u8] = include_bytes!("../../../../conf/data/haemoglobin-alpha.fasta");
const BETA: &[u8] = include_bytes!("../../../../conf/data/haemoglobin-beta.fasta");

#[test]
fn the_textbook_s_example_is_aligned_as_in_the_textbook() {
    let parameters = dna((3, -3), (0, 2));
    let pair = pair("TGTTACGG", "GGTTGACTA", Substitution::Dna);
    let alignment = align(&parameters, &pair, 3).unwrap();
    assert_eq!(
        alignment.to_string(),
        "score 13: letters 2 to 6 of the query beside 2 to 7 of the subject, 5 of 6 places equal: \
         3=1D2="
    );
}

#[test]
fn haemoglobins_are_related() {
    let parameters = Parameters::default();
    let read = |text| Sequence::from_fasta(text, "query", None, Substitution::Blosum62).unwrap();
    let pair = Pair {
        query: read(ALPHA),
        subject: read(BETA),
    };
    let letters = |text: &[u8]| {
        let text = String::from_utf8(text.to_vec()).unwrap();
        text.lines().skip(1).collect::<String>()
    };
    let expected = oracle(&parameters, &letters(ALPHA), &letters(BETA));
    let alignment = align(&parameters, &pair, 5).unwrap();
    assert_eq!(alignment.score, expected);
    assert_eq!(
        alignment.rescore(&pair, &parameters.scoring().unwrap()),
        expected
    );
    assert_eq!(
        alignment.to_string(),
        "score 285: letters 3 to 141 of the query beside 4 to 146 of the subject, 61 of 145 places \
         equal: 1=1X1=2X1=2X1=1X1=1X4=2I3X1=1X1=1X3=1X1=5X1=1X1=3X1=2X1=6D1=3X1=3X2=1X5=2X1=5X2=1X1=\
         8X2=1X2=2X2=1X3=1X2=1X2=3X1=3X2=1X1=3X4=1X1=1X1=3X1=2X1=1X1=3X1=2X2="
    );
}

#[test]
fn unrelated_sequences_have_no_alignment() {
    let pair = pair("AAAA", "CCGGT", Substitution::Dna);
    let run = run(&dna((2, -3), (5, 2)), &pair, 3);
    assert_eq!(Alignment::assemble(&run.outputs, &pair), Ok(None));
    assert_eq!(run.supersteps, 3 + 3);
}

#[test]
fn the_wave_crosses_the_processes_and_comes_back() {
    let parameters = dna((1, -1), (1, 1));
    // The last four columns are those of two processes; the way back ends there.
    let pair = pair("TTGA", "CCCCCCTTGA", Substitution::Dna);
    let run = run(&parameters, &pair, 5);
    let paths: Vec<_> = run.outputs.iter().map(|part| part.path.is_some()).collect();
    assert_eq!(paths, [false, false, false, true, true]);
    let (filling, way_back, ending) = (5 + 5 - 1, 2, 1);
    assert_eq!(run.supersteps, filling + way_back + ending);
    assert_eq!(run.work, Instructions((4 * 10 + 4) * 24));
}

#[test]
fn ties_of_scores_go_to_the_lowest_row_then_column() {
    let parameters = dna((1, -1), (1, 1));
    let pair = pair("ACTTTAC", "ACGGGAC", Substitution::Dna);
    for size in 1..=8 {
        let path = align(&parameters, &pair, size).unwrap().path;
        assert_eq!((path.query, path.subject), (0..2, 0..2));
    }
}

#[test]
fn ties_go_to_the_lower_row_of_any_process() {
    let parameters = dna((1, 0), (0, 1));
    let pair = pair("GAACAGAAACA", "AAGCGACCCGCGAGAACCCAACG", Substitution::Dna);
    let path = align(&parameters, &pair, 3).unwrap().path;
    assert_eq!((path.query, path.subject), (0..8, 13..21));
}

#[test]
fn n_matches_no_nucleotide() {
    let parameters = dna((1, -1), (1, 1));
    let pair = pair("ACNNNNGT", "acnnnngt", Substitution::Dna);
    assert_eq!(align(&parameters, &pair, 2).unwrap().score, 2);
}

#[test]
fn drawn_sequences_have_the_given_divergence() {
    let equal = |divergence| {
        let parameters = Parameters {
            length: 2000,
            divergence,
            ..Parameters::default()
        };
        let pair = parameters.drawn(7).unwrap();
        let path = align(&parameters, &pair, 4).unwrap().path;
        path.equal_places() as f64 / 2000.0
    };
    let equal = [0.0, 0.2, 0.4].map(equal);
    assert!((equal[0] - 1.0).abs() < 1e-12, "{equal:?}");
    // Nine of ten mutations leave a letter without its equal.
    assert!((equal[1] - 0.82).abs() < 0.03, "{equal:?}");
    assert!((equal[2] - 0.64).abs() < 0.03, "{equal:?}");
}

#[test]
fn errors_name_the_parameter() {
    let check = |parameters: &str, expected: &str| {
        let parameters: Parameters = toml::from_str(parameters).unwrap();
        let pair = Parameters::default().drawn(1).unwrap();
        let error = parameters
            .drawn(1)
            .and_then(|_| processes(&parameters, &pair, common(2)))
            .unwrap_err();
        assert_eq!(error.to_string(), expected);
    };
    check(
        "length = 0",
        "invalid value `0` for `length`: must be at least 1",
    );
    check(
        "blocks = 0",
        "invalid value `0` for `blocks`: must be at least 1",
    );
    check(
        "divergence = 1.5",
        "invalid value `1.5` for `divergence`: must be a number from 0 to 1",
    );
    check(
        "match_score = 0",
        "invalid value `0.0` for `match_score`: must be a number from 1 to 2^20",
    );
    check(
        "mismatch_score = 1",
        "invalid value `1.0` for `mismatch_score`: must be a number from -2^20 to 0",
    );
    check(
        "gap_extend = 0",
        "invalid value `0.0` for `gap_extend`: must be a number from 1 to 2^20",
    );
    check(
        "gap_open = 2000000",
        "invalid value `2000000.0` for `gap_open`: must be a number from 0 to 2^20",
    );
    assert!(toml::from_str::<Parameters>("scoring = 'blosum45'").is_err());
    let pair = Parameters::default().drawn(1).unwrap();
    let cut = Common {
        supersteps: Some(8),
        ..common(2)
    };
    assert_eq!(
        processes(&Parameters::default(), &pair, cut)
            .unwrap_err()
            .to_string(),
        "invalid value `8` for `supersteps`: the program ends by itself; remove it"
    );
}

#[test]
fn invalid_sequences_are_refused_with_the_reason() {
    let check = |text: &str, name: Option<&str>, expected: &str| {
        let found = Sequence::from_fasta(text.as_bytes(), "query", name, Substitution::Dna);
        assert_eq!(found.unwrap_err().to_string(), expected);
    };
    check(
        "\nACGT\n",
        None,
        "is not FASTA: line 2 begins with `A`, expected `>` and the name of a record",
    );
    for empty in ["", "\n\n"] {
        check(
            empty,
            None,
            "holds no record, expected a line with `>` and a name, and lines of letters below it",
        );
    }
    check(
        ">a\nAC\n>b\nGT\n",
        None,
        "holds 2 records (a, b), expected `query_record` to name one of them",
    );
    check(
        ">a\nAC\n>b\nGT\n",
        Some("c"),
        "holds no record `c`; there are a, b",
    );
    check(">a\nAC\n", Some("c"), "holds no record `c`; there is `a`");
    check(
        ">a long name\n\n",
        None,
        "holds no letter in record `a`, expected at least one",
    );
    check(
        ">a\nAC\r\nGTUA\n",
        None,
        "has `U` in line 3, position 5 of record `a`, expected one of ACGTN",
    );
    check(
        ">a\nAC GT\n",
        None,
        "has ` ` in line 2, position 3 of record `a`, expected one of ACGTN",
    );
}

#[test]
fn duplicate_record_names_are_refused_when_chosen() {
    let text = b">a\nAC\n>a first\nGT\n>b\nTT\n";
    let found = |name| Sequence::from_fasta(text, "query", name, Substitution::Dna);
    for name in [None, Some("a")] {
        assert_eq!(
            found(name).unwrap_err().to_string(),
            "holds 2 records called `a`, expected names that tell records apart"
        );
    }
    assert_eq!(found(Some("b")).unwrap(), sequence("TT", Substitution::Dna));
}

#[test]
fn errors_name_only_the_first_records() {
    let text: String = (1..=13).map(|record| format!(">r{record}\nA\n")).collect();
    let found = |name| {
        let found = Sequence::from_fasta(text.as_bytes(), "query", name, Substitution::Dna);
        found.unwrap_err().to_string()
    };
    let names = "r1, r2, r3, r4, r5, r6, r7, r8, r9, r10, … 3 more";
    assert_eq!(
        found(None),
        format!("holds 13 records ({names}), expected `query_record` to name one of them")
    );
    assert_eq!(
        found(Some("r14")),
        format!("holds no record `r14`; there are {names}")
    );
}

#[test]
fn byte_order_marks_and_blank_lines_are_skipped() {
    let text = b"\xef\xbb\xbf>a\r\nAC \t\r\r\nGT  \n";
    let found = Sequence::from_fasta(text, "query", None, Substitution::Dna);
    assert_eq!(found.unwrap(), sequence("ACGT", Substitution::Dna));
}

#[test]
fn invalid_bytes_are_escaped_in_errors() {
    let check = |text: &[u8], expected: &str| {
        let found = Sequence::from_fasta(text, "query", None, Substitution::Dna);
        let error = found.unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    };
    check("\u{e9}".as_bytes(), "line 1 begins with `\\xc3`");
    check(
        ">a\nAC\u{e9}\n".as_bytes(),
        "has `\\xc3` in line 2, position 3",
    );
    check(b">a\nAC\x07GT\n", "has `\\x07` in line 2, position 3");
    check(b">a\nAC\tGT\n", "has `\\t` in line 2, position 3");
    check(b">a\nAC'GT\n", "has `'` in line 2, position 3");
}

fn letters(alphabet: &'static str, max: usize) -> impl Strategy<Value = String> {
    let letter = prop::sample::select(alphabet.as_bytes().to_vec()).prop_map(char::from);
    prop::collection::vec(letter, 1..max).prop_map(|letters| letters.into_iter().collect())
}

proptest! {
    #[test]
    fn proteins_score_what_the_definition_says(
        query in letters("ARNDCQEGHILKMFPSTWYVBZX", 40),
        subject in letters("ARNDCQEGHILKMFPSTWYVBZX", 40),
        (size, blocks) in (1_u32..9, 1_u32..9),
    ) {
        let parameters = Parameters { blocks: Some(blocks), ..Parameters::default() };
        let pair = pair(&query, &subject, Substitution::Blosum62);
        let score = align(&parameters, &pair, size).map_or(0, |alignment| alignment.score);
        prop_assert_eq!(score, oracle(&parameters, &query, &subject));
    }

    #[test]
    fn the_alignment_is_worth_its_score_and_the_same_on_any_number_of_processes(
        query in letters("ACG", 40),
        subject in letters("ACG", 40),
        (size, blocks) in (1_u32..50, 1_u32..50),
        scores in (1_i32..4, -4_i32..=0),
        gap in (0_u32..5, 1_u32..4),
    ) {
        let parameters = Parameters { blocks: Some(blocks), ..dna(scores, gap) };
        let pair = pair(&query, &subject, Substitution::Dna);
        let alignment = align(&parameters, &pair, size);
        let alone = Parameters { blocks: Some(1), ..parameters.clone() };
        prop_assert_eq!(&alignment, &align(&alone, &pair, 1));
        let score = alignment.as_ref().map_or(0, |alignment| alignment.score);
        prop_assert_eq!(score, oracle(&parameters, &query, &subject));
        if let Some(alignment) = alignment {
            prop_assert_eq!(alignment.rescore(&pair, &parameters.scoring().unwrap()), score);
        }
    }
}

#[test]
fn matrices_beyond_memory_are_refused() {
    let parameters = Parameters {
        length: 1 << 24,
        divergence: 0.0,
        ..Parameters::default()
    };
    let pair = parameters.drawn(1).unwrap();
    let refused = |parameters: &Parameters| {
        let error = processes(parameters, &pair, common(1)).unwrap_err();
        error.to_string()
    };
    let needs = "not enough memory for 16777216 x 16777216 cells, 281474977 MB";
    let shorter = format!("`length`: {needs}; choose a smaller `length`");
    assert_eq!(refused(&parameters), shorter);
    let files = Parameters {
        query: Some("q.fasta".to_owned()),
        ..parameters
    };
    let other =
        format!("`query`: {needs}; choose shorter sequences in the files of `query` and `subject`");
    assert_eq!(refused(&files), other);
}
