//! Tests of the cost of moves against moves whose cost is known.

use bsp::SetId;
use bsp::units::Bytes;
use proptest::prelude::*;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use super::super::*;
use crate::bounded::non_negative;

/// Moves with a known cost.
struct Truth {
    startup: f64,
    overlap: f64,
    /// Seconds per byte.
    processing: f64,
}

impl Truth {
    fn cost(&self, bytes: f64, bandwidth: f64) -> f64 {
        self.startup + bytes * self.processing.max(self.overlap / bandwidth)
    }

    /// A move whose time is off by a factor of `noise`; `bandwidth` is the one predicted and the one found.
    #[expect(
        clippy::as_conversions,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "sizes are rounded to whole bytes"
    )]
    fn measured(&self, kilobytes: f64, bandwidth: (f64, f64), noise: f64) -> Sample {
        let bytes = Bytes((1000.0 * kilobytes) as u64);
        let (predicted, found) = bandwidth;
        let took = noise * self.cost(bytes.as_f64(), found);
        Sample {
            measured: MeasuredMove {
                bytes,
                took: Seconds::bounded(took),
                processing: Seconds::bounded(bytes.as_f64() * self.processing * noise),
                round_trip: Seconds::bounded(self.startup / 4.0),
            },
            per_byte: 1.0 / predicted,
            alone: bytes.as_f64() / predicted,
        }
    }
}

const TRUTH: Truth = Truth {
    startup: 0.004,
    overlap: 1.3,
    processing: 2e-9,
};

fn close(value: f64, expected: f64, part: f64) {
    assert!(
        (value / expected - 1.0).abs() <= part,
        "{value}, not {expected}"
    );
}

/// Sixty moves of sizes from 1 kB to 66 MB, with a noise of five per cent.
fn sixty(seed: u64, bandwidth: impl Fn(usize) -> (f64, f64)) -> Vec<Sample> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut uniform = || f64::from(random.next_u32()) / 2_f64.powi(32);
    let mut draw = |index| {
        // 66 MB is 2 to the power of 16 times a kilobyte.
        let kilobytes = (16.0 * uniform()).exp2();
        let noise = 0.95 + 0.1 * uniform();
        TRUTH.measured(kilobytes, bandwidth(index), noise)
    };
    (0..60).map(&mut draw).collect()
}

fn learned(moves: &[Sample]) -> MigrationModel {
    let mut model = MigrationModel::default();
    for sample in moves {
        model.add(*sample);
    }
    model
}

/// The median over twenty seeds of what `coefficient` is after the moves of each.
fn over_seeds(
    moves: impl Fn(u64) -> Vec<Sample>,
    coefficient: impl Fn(CostCoefficients) -> f64,
) -> f64 {
    median(
        (0..20)
            .map(|seed| coefficient(learned(&moves(seed)).coefficients()))
            .collect(),
    )
    .unwrap()
}

#[test]
fn startup_and_overlap_are_recovered_from_noisy_moves() {
    let moves = |seed| sixty(seed, |_| (11.8e6, 11.8e6));
    close(
        over_seeds(moves, |learned| learned.startup.get()),
        TRUTH.startup,
        0.02,
    );
    close(
        over_seeds(moves, |learned| learned.overlap),
        TRUTH.overlap,
        0.02,
    );
}

#[test]
fn an_outlier_and_a_bandwidth_that_jumps_change_little() {
    let moves = |seed| {
        // Each jump is predicted one move late.
        let bandwidth = |index: usize| {
            if (index / 12).is_multiple_of(2) {
                11.8e6
            } else {
                2e6
            }
        };
        let mut moves = sixty(seed, |index| {
            (bandwidth(index.max(1) - 1), bandwidth(index))
        });
        for sample in moves.iter_mut().skip(57).take(1) {
            sample.measured.took = Seconds::bounded(20.0 * sample.measured.took.get());
        }
        moves
    };
    close(
        over_seeds(moves, |learned| learned.startup.get()),
        TRUTH.startup,
        0.05,
    );
    close(
        over_seeds(moves, |learned| learned.overlap),
        TRUTH.overlap,
        0.05,
    );
}

#[test]
fn moves_that_packing_holds_up_do_not_get_faster_with_the_network() {
    let slow = Truth {
        processing: 5e-8,
        ..TRUTH
    };
    let bandwidth = 1e9;
    let moves: Vec<_> = (1..=30)
        .map(|index| slow.measured(1000.0 * f64::from(index), (bandwidth, bandwidth), 1.0))
        .collect();
    let coefficients = learned(&moves).coefficients();
    close(coefficients.processing, slow.processing, 0.05);
    let predicted = coefficients.predict(Bytes(40_000_000), 1.0 / (10.0 * bandwidth));
    close(predicted.get(), slow.cost(40e6, bandwidth), 0.02);
    // A slow network holds them up.
    let predicted = coefficients.predict(Bytes(40_000_000), 1e-6);
    close(predicted.get(), 40.0, 0.05);
}

#[test]
fn where_predicted_bandwidths_mean_nothing_moves_take_what_they_took() {
    let moves = |seed| {
        // Packing, sending and unpacking share one processor, whatever the network would allow.
        let mut moves = sixty(seed, |_| (11.8e6, 11.8e6));
        for (index, sample) in moves.iter_mut().enumerate() {
            let factor = [0.2, 1.0, 5.0][index % 3];
            sample.per_byte *= factor;
            sample.alone *= factor;
        }
        moves
    };
    let predicted = over_seeds(moves, |learned| {
        learned.predict(Bytes(10_000_000), 1.0 / 11.8e6).get()
    });
    close(predicted, TRUTH.cost(10e6, 11.8e6), 0.05);
    // What lies outside of the range is still predicted from the bandwidth.
    let far = over_seeds(moves, |learned| {
        learned.predict(Bytes(10_000_000), 1e-5).get()
    });
    assert!(20.0 < far, "{far}");
}

#[test]
fn before_the_first_move_a_prediction_is_that_of_the_bandwidth() {
    let coefficients = MigrationModel::default().coefficients();
    close(
        coefficients.predict(Bytes(2_000_000), 1e-6).get(),
        2.0,
        1e-12,
    );
}

fn any_move() -> impl Strategy<Value = Sample> {
    let time = prop_oneof![-1.0_f64..1e3, Just(0.0), Just(1e300)];
    let time = time.prop_map(Seconds::bounded);
    (any::<u64>(), any::<f64>(), time.clone(), time.clone(), time).prop_map(
        |(bytes, per_byte, took, processing, round_trip)| Sample {
            measured: MeasuredMove {
                bytes: Bytes(bytes),
                took,
                processing,
                round_trip,
            },
            per_byte,
            alone: Bytes(bytes).as_f64() * per_byte,
        },
    )
}

proptest! {
    #[test]
    fn predictions_are_finite_and_never_fall_with_size_nor_rise_with_bandwidth(
        moves in prop::collection::vec(any_move(), 0..40),
        sizes in [any::<u64>(), any::<u64>()],
        per_byte in [any::<f64>(), any::<f64>()],
    ) {
        let coefficients = learned(&moves).coefficients();
        let [small, large] = if sizes[0] <= sizes[1] { sizes } else { [sizes[1], sizes[0]] };
        for time in per_byte {
            let times = [small, large].map(|bytes| coefficients.predict(Bytes(bytes), time).get());
            prop_assert!(times[0].is_finite() && 0.0 <= times[0] && times[0] <= times[1]);
        }
        let [fast, slow] = per_byte.map(non_negative);
        let (fast, slow) = (fast.min(slow), fast.max(slow));
        let bytes = Bytes(large);
        prop_assert!(coefficients.predict(bytes, fast) <= coefficients.predict(bytes, slow));
    }
}

/// A move between hosts 0 and 1 that was predicted to take `predicted` seconds per byte and took `found`.
fn between(predicted: f64, found: f64) -> CallMove {
    let bytes = Bytes(10_000_000);
    CallMove {
        measured: MeasuredMove {
            bytes,
            took: Seconds::bounded(bytes.as_f64() * found),
            processing: Seconds::bounded(0.0),
            round_trip: Seconds::bounded(0.0),
        },
        per_byte: predicted,
        from: (HostId(0), SetId(0)),
        to: (HostId(1), SetId(1)),
    }
}

fn probed(per_byte: f64) -> ProbedLink {
    ProbedLink {
        from: HostId(0),
        to: HostId(1),
        per_byte,
        took: Seconds::bounded(0.0),
    }
}

#[test]
fn a_link_that_has_not_changed_is_predicted_as_it_was_met() {
    let mut model = MigrationModel::default();
    assert_eq!(model.per_byte(HostId(0), HostId(1)), None);
    close(model.confirmed(probed(1e-7)).per_byte, 1e-7, 1e-12);
    // Probes find a tenth less than what bytes of a state take.
    for _ in 0..3 {
        model.observe(&[between(1e-7, 1.1e-7)]);
    }
    let predicted = |model: &MigrationModel, per_byte| {
        let predicted = model.coefficients().predict(Bytes(10_000_000), per_byte);
        predicted.get()
    };
    let known = model.per_byte(HostId(1), HostId(0)).unwrap();
    close(predicted(&model, known), 1.1, 1e-9);
    let confirmed = model.confirmed(probed(1.05e-7)).per_byte;
    close(predicted(&model, confirmed), 1.1, 1e-9);
    let changed = model.confirmed(probed(4e-7)).per_byte;
    close(predicted(&model, changed), 4.4, 1e-9);
    // Another link.
    let other = ProbedLink {
        to: HostId(2),
        ..probed(1.05e-7)
    };
    close(model.confirmed(other).per_byte, 1.05e-7, 1e-12);
}

#[test]
fn images_that_one_host_packs_at_the_same_time_share_its_processors() {
    let slow = |to: u32| {
        let mut step = between(1e-9, 6e-8);
        step.measured.processing = step.measured.took;
        step.to = (HostId(to), SetId(to));
        step
    };
    let mut model = MigrationModel::default();
    model.observe(&[slow(1), slow(2), slow(3)]);
    close(model.coefficients().processing, 2e-8, 1e-9);
}

#[test]
fn a_fast_link_is_not_blamed_for_what_else_moves_take() {
    // A probe first finds nothing, then a bandwidth eight times as low; moves take the same, whatever it finds.
    let mut model = MigrationModel::default();
    model.observe(&[between(2e-10, 5e-9)]);
    let predicted = model.coefficients().predict(Bytes(10_000_000), 1.6e-9);
    close(predicted.get(), 0.05, 1e-6);
    // One such move among others is an outlier.
    let mut model = MigrationModel::default();
    for _ in 0..3 {
        model.observe(&[between(1e-7, 1.1e-7)]);
    }
    model.observe(&[between(1e-7, 2e-6)]);
    let predicted = model.coefficients().predict(Bytes(10_000_000), 5e-8);
    close(predicted.get(), 0.55, 1e-6);
}
