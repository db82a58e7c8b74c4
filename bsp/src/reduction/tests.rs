use num_bigint::{BigInt, Sign};
use num_traits::{Signed, ToPrimitive, Zero};
use proptest::prelude::*;

use super::*;

/// The sum of `numbers` in whole multiples of 2⁻¹⁰⁷⁴, the least `f64` above zero, rounded once to nearest, ties to even.
fn rounded(numbers: &[f64]) -> f64 {
    if let Some(special) = numbers
        .iter()
        .copied()
        .filter(|n| !n.is_finite())
        .reduce(|a, b| a + b)
    {
        return if special.is_nan() { f64::NAN } else { special };
    }
    let sum: BigInt = numbers.iter().map(|number| whole(*number)).sum();
    let (negative, sum) = (sum.sign() == Sign::Minus, sum.abs());
    let beyond = sum.bits().saturating_sub(53);
    let (mut digits, rest) = (&sum >> beyond, &sum & ((BigInt::from(1) << beyond) - 1));
    let half: BigInt = (BigInt::from(1) << beyond) >> 1;
    let is_odd = digits.bit(0);
    if !half.is_zero() && (rest > half || rest == half && is_odd) {
        digits += 1;
    }
    let digits = digits.to_f64().expect("54 bits at most");
    // In two steps, each of which is exact: 2^(beyond - 1074) itself may be too small.
    let exponent = i32::try_from(beyond).expect("2 200 bits at most") - 1074;
    let first = exponent.max(-1000);
    let size = digits * 2_f64.powi(first) * 2_f64.powi(exponent - first);
    if negative { -size } else { size }
}

/// A number in multiples of 2⁻¹⁰⁷⁴.
fn whole(number: f64) -> BigInt {
    let bits = number.to_bits();
    let exponent = bits >> 52 & 0x7ff;
    let fraction = bits & ((1 << 52) - 1);
    let digits = if exponent == 0 {
        fraction
    } else {
        fraction | 1 << 52
    };
    let size = BigInt::from(digits) << exponent.saturating_sub(1);
    if number.is_sign_negative() {
        -size
    } else {
        size
    }
}

/// The reduction of `parts`, combined in the order and in the tree that `picks` says. Each partial result is encoded and decoded.
fn combined(parts: Vec<Partial>, picks: &[prop::sample::Index]) -> Result<Reductions, String> {
    concluded_of(parts, picks).map(|concluded| concluded.reduced)
}

fn concluded_of(parts: Vec<Partial>, picks: &[prop::sample::Index]) -> Result<Concluded, String> {
    let one = |part| Reductions::from(vec![("x".into(), part)]);
    let mut all: Vec<Reductions> = parts.into_iter().map(one).collect();
    let mut picks = picks.iter().cycle();
    let mut count = 1;
    while 1 < all.len() {
        let other = all.swap_remove(picks.next().unwrap().index(all.len()));
        let at = picks.next().unwrap().index(all.len());
        all[at].combine(other);
        count += 1;
        all[at].check(count).unwrap();
        let encoded = rmp_serde::to_vec(&all[at]).unwrap();
        let decoded: Reductions = rmp_serde::from_slice(&encoded).unwrap();
        assert_eq!(format!("{decoded:?}"), format!("{:?}", all[at]));
        all[at] = decoded;
    }
    all.remove(0).conclude()
}

fn sum(numbers: &[f64], picks: &[prop::sample::Index]) -> f64 {
    let parts = numbers
        .iter()
        .map(|number| Sum(*number).contribute())
        .collect();
    let combined = combined(parts, picks).unwrap();
    combined.value::<Sum<f64>>("x").unwrap()
}

/// Numbers of all sizes, and those that cancel or are special.
fn number() -> impl Strategy<Value = f64> {
    prop_oneof![
        8 => any::<u64>().prop_map(f64::from_bits).prop_filter("finite", |number| number.is_finite()),
        4 => -1e3..1e3,
        2 => (0_i32..120, prop::bool::ANY).prop_map(|(exponent, negative)| {
            let size = 2_f64.powi(exponent - 60);
            if negative { -size } else { size }
        }),
        1 => prop::sample::select(vec![0.0, -0.0, f64::MAX, f64::MIN, f64::MIN_POSITIVE, 5e-324, -5e-324]),
    ]
}

fn with_special() -> impl Strategy<Value = f64> {
    prop_oneof![
        10 => number(),
        1 => prop::sample::select(vec![f64::INFINITY, f64::NEG_INFINITY, f64::NAN]),
    ]
}

fn picks() -> impl Strategy<Value = Vec<prop::sample::Index>> {
    prop::collection::vec(any::<prop::sample::Index>(), 2..40)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: ProptestConfig::default().cases.max(2000), ..ProptestConfig::default() })]

    /// Whatever the order and the tree, a sum is the exact one, rounded once.
    #[test]
    fn a_sum_is_exact_and_rounded_once(
        numbers in prop::collection::vec(with_special(), 1..20),
        again in prop::collection::vec(any::<prop::sample::Index>(), 0..10),
        picks in picks(),
    ) {
        // Some numbers are there with both signs: what they hide has to come out.
        let mut numbers = numbers;
        for index in again {
            let number = numbers[index.index(numbers.len())];
            numbers.push(-number);
        }
        let (found, expected) = (sum(&numbers, &picks), rounded(&numbers));
        prop_assert_eq!(found.to_bits(), (expected + 0.0).to_bits(), "{} {}", found, expected);
    }

    /// A vector is summed element by element.
    #[test]
    fn each_element_of_a_vector_has_a_sum_of_its_own(
        vectors in prop::collection::vec(prop::array::uniform5(with_special()), 1..9),
        picks in picks(),
    ) {
        let parts = vectors.iter().map(|vector| Sum(vector.to_vec()).contribute()).collect();
        let sums = combined(parts, &picks).unwrap().value::<Sum<Array<f64>>>("x").unwrap();
        for (element, sum) in sums.iter().enumerate() {
            let numbers: Vec<f64> = vectors.iter().map(|vector| vector[element]).collect();
            prop_assert_eq!(sum.to_bits(), (rounded(&numbers) + 0.0).to_bits());
        }
    }

    /// Minima, maxima, conditions and sums of integers do not depend on the order either.
    #[test]
    fn other_reductions_are_those_of_iterators(
        floats in prop::collection::vec(with_special(), 1..20),
        signed in prop::collection::vec(any::<i64>(), 1..20),
        unsigned in prop::collection::vec(0..u64::MAX / 20, 1..20),
        picks in picks(),
    ) {
        let of = |parts: Vec<Partial>| combined(parts, &picks).unwrap();
        let parts = |part: fn(f64) -> Partial| floats.iter().copied().map(part).collect();
        let (least, greatest) = (of(parts(|n| Min(n).contribute())), of(parts(|n| Max(n).contribute())));
        let (least, greatest) = (least.value::<Min<f64>>("x").unwrap(), greatest.value::<Max<f64>>("x").unwrap());
        if floats.iter().any(|number| number.is_nan()) {
            prop_assert!(least.is_nan() && greatest.is_nan());
        } else {
            let mut floats = floats.clone();
            floats.sort_by(f64::total_cmp);
            prop_assert_eq!(least.to_bits(), floats[0].to_bits());
            prop_assert_eq!(greatest.to_bits(), floats[floats.len() - 1].to_bits());
        }
        let min = of(signed.iter().map(|n| Min(*n).contribute()).collect());
        prop_assert_eq!(min.value::<Min<i64>>("x"), Ok(*signed.iter().min().unwrap()));
        let all = of(unsigned.iter().map(|n| Sum(*n).contribute()).collect());
        prop_assert_eq!(all.value::<Sum<u64>>("x"), Ok(unsigned.iter().sum::<u64>()));
        let and = of(signed.iter().map(|n| And(0 < *n).contribute()).collect());
        prop_assert_eq!(and.value::<And>("x"), Ok(signed.iter().all(|n| 0 < *n)));
        let or = of(signed.iter().map(|n| Or(0 < *n).contribute()).collect());
        prop_assert_eq!(or.value::<Or>("x"), Ok(signed.iter().any(|n| 0 < *n)));
        let gathered = (0..).zip(&signed).map(|(rank, n)| Partial::gather(Rank(rank), n).unwrap());
        let gathered = of(gathered.collect()).gathered::<i64>("x").unwrap();
        prop_assert_eq!(gathered, (0..).map(Rank).zip(signed.clone()).collect::<Vec<_>>());
    }

    /// A note has the number of its values, their exact sum, the least and the greatest, in whatever order processes arrive and
    /// however many values each of them notes. Its length on a simulated network does not depend on them.
    #[test]
    fn a_note_is_the_count_sum_minimum_and_maximum_of_its_values(
        values in prop::collection::vec(prop::collection::vec(with_special(), 1..4), 1..12),
        picks in picks(),
    ) {
        let noted = |values: &Vec<f64>| {
            let mut all = Reductions::default();
            values.iter().for_each(|value| all.add("x".into(), Partial::note(*value)));
            all.0.unwrap().remove(0).1
        };
        let mut all = Reductions::from(vec![("x".into(), Partial::And(true)), ("x".into(), Partial::note(0.0))]);
        all.check(1).unwrap();
        let charged = all.charged_len();
        all.combine(Reductions::from(vec![("x".into(), Partial::And(false)), ("x".into(), noted(&values[0]))]));
        prop_assert_eq!(all.charged_len(), charged);
        let concluded = all.conclude().unwrap();
        prop_assert_eq!(concluded.reduced.value::<And>("x"), Ok(false));

        let concluded = concluded_of(values.iter().map(noted).collect(), &picks).unwrap();
        prop_assert!(concluded.reduced.is_empty());
        let note = *concluded.notes.get("x").unwrap();
        let mut values = values.concat();
        prop_assert_eq!(note.count, length(values.len()));
        prop_assert_eq!(note.sum.to_bits(), (rounded(&values) + 0.0).to_bits());
        if values.iter().any(|value| value.is_nan()) {
            prop_assert!(note.min.is_nan() && note.max.is_nan());
        } else {
            values.sort_by(f64::total_cmp);
            prop_assert_eq!(note.min.to_bits(), values[0].to_bits());
            prop_assert_eq!(note.max.to_bits(), values[values.len() - 1].to_bits());
        }
        // Whatever a note is, the record and the network give it back.
        let json = serde_json::to_string(&concluded.notes).unwrap();
        prop_assert_eq!(&serde_json::from_str::<Notes>(&json).unwrap(), &concluded.notes, "{}", json);
        let encoded = rmp_serde::to_vec(&concluded.notes).unwrap();
        prop_assert_eq!(&rmp_serde::from_slice::<Notes>(&encoded).unwrap(), &concluded.notes);
    }

    /// Processes that disagree end the run with the same words wherever they meet.
    #[test]
    fn a_conflict_does_not_depend_on_the_order(
        kinds in prop::collection::vec(0_usize..6, 2..8),
        one in picks(),
        other in picks(),
    ) {
        let part = |kind: &usize| match kind {
            0 => Sum(1.0).contribute(),
            1 => Sum(vec![1.0, 2.0]).contribute(),
            2 => Max(1_u64).contribute(),
            3 => Or(true).contribute(),
            4 => Partial::gather(Rank(0), &1).unwrap(),
            _ => Partial::TooLong,
        };
        let parts = || kinds.iter().map(part).collect();
        prop_assert_eq!(
            combined(parts(), &one).map_err(|problem| problem.clone()).map(|_| ()),
            combined(parts(), &other).map(|_| ())
        );
    }
}

#[test]
fn what_was_not_reduced_so_says_how_it_was() {
    let mut reductions = Reductions::default();
    reductions.add("load".into(), Sum(vec![1.0, 2.0]).contribute());
    reductions.add("peak".into(), Sum(u64::MAX).contribute());
    reductions.add("peak".into(), Sum(1_u64).contribute());
    let reductions = reductions.conclude().unwrap().reduced;
    let says = |error: ReductionError| error.to_string();
    assert_eq!(
        reductions
            .value::<Sum<f64>>("load")
            .map_err(says)
            .unwrap_err(),
        "`load` was reduced as the sum of `f64`, 2 of them, not as the sum of `f64`"
    );
    assert_eq!(
        reductions
            .gathered::<f64>("load")
            .map_err(says)
            .unwrap_err(),
        "`load` was reduced as the sum of `f64`, 2 of them, not as gathered values"
    );
    assert_eq!(
        reductions
            .value::<Min<i64>>("laod")
            .map_err(says)
            .unwrap_err(),
        "no process reduced `laod` in the superstep before"
    );
    assert_eq!(
        reductions
            .value::<Sum<u64>>("peak")
            .map_err(says)
            .unwrap_err(),
        "the sum `peak` is 18446744073709551616, which does not fit its type: reduce it as a sum of `f64`"
    );
}

#[test]
fn reductions_that_are_too_long_are_refused() {
    let limit = usize::try_from(REDUCTIONS_MAX / 8).unwrap();
    for (numbers, is_short) in [(limit, true), (limit + 1, false)] {
        let mut reductions = Reductions::default();
        reductions.add("x".into(), Sum(vec![1.0; numbers]).contribute());
        assert_eq!(reductions.conclude().is_ok(), is_short, "{numbers}");
    }
    let mut reductions = Reductions::default();
    for rank in 0..5 {
        let value = Partial::gather(Rank(rank), &Array::from(vec![0_u8; 1 << 20])).unwrap();
        reductions.add("x".into(), value);
    }
    assert!(
        rmp_serde::to_vec(&reductions).unwrap().len() < 100,
        "what is too long is not kept"
    );
    let problem = reductions.conclude().unwrap_err();
    assert!(
        problem.contains("send what takes more in messages (here `x`)"),
        "{problem}"
    );
}

#[test]
fn what_no_processes_can_have_contributed_is_refused() {
    let reductions = |partial| Reductions::from(vec![("x".into(), partial)]);
    let sums = |len, planes: &[f64]| {
        Partial::Sum(FloatSums {
            len,
            planes: planes.iter().copied().collect(),
        })
    };
    let check = |partial, processes| reductions(partial).check(processes).is_ok();
    assert!(check(sums(1, &[1.0, 2.0, 3.0]), 3));
    assert!(check(sums(1, &[1.0; 64]), 1) && check(sums(1, &[1.0; 65]), 65));
    assert!(
        !check(sums(1, &[1.0; 65]), 64),
        "a plane of each process at most"
    );
    assert!(!check(sums(2, &[1.0, 2.0, 3.0]), 3), "half a plane");
    assert!(!check(sums(1, &[]), 3));
    assert!(!check(sums(u32::MAX, &[1.0]), 3));
    assert!(check(sums(0, &[]), 1));
    let value = || Bytes::from_static(b"\x01");
    assert!(check(
        Partial::Gather(vec![(Rank(0), value()), (Rank(1), value())]),
        2
    ));
    assert!(!check(Partial::Gather(Vec::new()), 2));
    let long = Bytes::from(vec![0; 9 << 20]);
    assert!(!check(Partial::Gather(vec![(Rank(0), long)]), 2));
    let long: Cow<'static, str> = Cow::Owned("x".repeat(1000));
    assert!(!check(Partial::Conflict(long.clone(), "y".into()), 2));
    assert!(
        Reductions::from(vec![(long, Partial::And(true))])
            .check(2)
            .is_err()
    );
    let twice = Reductions::from(vec![
        ("x".into(), Partial::And(true)),
        ("x".into(), Partial::Or(true)),
    ]);
    assert!(twice.check(2).is_err());
    let note = |name: &str, count, sum, min: &[f64]| {
        let many = |numbers: &[f64]| numbers.iter().copied().collect::<Many<f64>>();
        let planes = many(sum);
        let partial = Partial::Note(Box::new(NotePartial {
            count,
            sum: FloatSums { len: 1, planes },
            min: many(min),
            max: many(&[1.0]),
        }));
        Reductions::from(vec![(Cow::Owned(name.to_owned()), partial)])
            .check(2)
            .is_ok()
    };
    assert!(note("x", 2, &[1.0, 1e-20], &[1.0]));
    assert!(
        !note("x", 1, &[1.0, 1e-20], &[1.0]),
        "more terms than values"
    );
    assert!(!note("x", 0, &[], &[1.0]));
    assert!(!note("x", 1, &[1.0], &[]) && !note("x", 1, &[1.0], &[1.0, 2.0]));
    assert!(!note("", 1, &[1.0], &[1.0]) && !note("\u{1b}[2J", 1, &[1.0], &[1.0]));
}

#[test]
fn notes_and_reductions_that_are_too_long_together_are_refused() {
    let note = |index: u64| (Cow::from(format!("{index:06}")), Partial::note(0.5));
    let most = REDUCTIONS_MAX / (NOTE_BYTES + 6);
    let noted = |count: u64| Reductions::from((0..count).map(note).collect::<Vec<_>>()).conclude();
    assert_eq!(noted(most).unwrap().notes.len(), position(most));
    let problem = noted(most + 1).unwrap_err();
    assert!(
        problem.contains("32 and its name for each note"),
        "{problem}"
    );
    assert!(problem.len() < 1000, "{problem}");
}

#[test]
fn an_outline_tells_what_is_charged_for_and_not_the_values() {
    let of = |name: &'static str, partial: Partial| Reductions::from(vec![(name.into(), partial)]);
    let outline = of("x", Partial::note(1.0)).outline();
    assert!(outline.is_of(&of("x", Partial::note(2.0))));
    assert!(
        !outline.is_of(&of("y", Partial::note(2.0))),
        "two names take more than one, once combined"
    );
    assert!(!outline.is_of(&of("x", Sum(2.0).contribute())));
    assert!(!outline.is_of(&Reductions::default()));
    let sum = of("x", Sum(vec![1.0, 2.0]).contribute());
    assert!(!sum.outline().is_of(&of("x", Sum(vec![1.0]).contribute())));
    let mut long = sum.clone();
    long.combine(of("x", Sum(vec![1e-20, 1e30]).contribute()));
    assert_eq!(long.charged_len(), sum.charged_len());
}

#[test]
fn a_process_may_contribute_several_values_to_a_sum() {
    let mut own = Reductions::default();
    for value in [1.0, 1e-20, 1e-40] {
        own.add("x".into(), Sum(value).contribute());
    }
    assert_eq!(own.check(1), Ok(()));
}

/// A sum of numbers in floating point, as that of MPI's `MPI_SUM`, is what the order of the processes makes of it.
#[test]
fn a_plain_sum_depends_on_the_order_and_this_one_does_not() {
    let orders = [[1e16, 1.0, -1e16], [1e16, -1e16, 1.0], [1.0, 1e16, -1e16]];
    let plain = orders.map(|numbers| numbers.iter().sum::<f64>().to_bits());
    assert!(plain[0] != plain[1] && plain[2] != plain[1]);
    for numbers in orders {
        let mut all = Reductions::default();
        for number in numbers {
            all.combine(Reductions::of("x", Sum(number)));
        }
        let concluded = all.conclude().unwrap();
        assert_eq!(concluded.reduced.value::<Sum<f64>>("x"), Ok(1.0));
    }
}
