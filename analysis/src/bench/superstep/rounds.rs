//! What is done in which superstep.

/// Rounds of supersteps: all numbers of words from none to the most, and one computation.
///
/// Each round begins with a superstep that only receives the words of the one before, so that neither the computation
/// nor the empty h-relation after it has to. The first round warms up and is not counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rounds {
    /// Ascending, from 0.
    words: Vec<u32>,
    repetitions: u32,
}

/// What is measured of a superstep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Measurement {
    /// Nothing.
    None,
    /// The time of its computation.
    Rate,
    /// The time of the superstep, an h-relation at this position among the numbers of words.
    Relation(usize),
}

impl Rounds {
    /// Rounds with up to `most` words, of which `repetitions` are counted.
    #[must_use]
    pub fn new(most: u32, repetitions: u32) -> Self {
        let steps = most.clamp(1, STEPS);
        let words = (0..=steps).map(|step| {
            let words = u64::from(most) * u64::from(step) / u64::from(steps);
            u32::try_from(words).unwrap_or(most)
        });
        let mut words: Vec<u32> = words.collect();
        words.dedup();
        Self { words, repetitions }
    }

    /// How often each number of words is counted.
    pub(super) const fn repetitions(&self) -> u32 {
        self.repetitions
    }

    /// The numbers of words, ascending.
    pub(super) fn words(&self) -> &[u32] {
        &self.words
    }

    /// The number of supersteps of a round.
    fn length(&self) -> u64 {
        u64::try_from(self.words.len() + BEFORE).expect("lengths fit 64 bits")
    }

    /// The number of supersteps in all.
    #[must_use]
    pub fn supersteps(&self) -> u64 {
        // One more receives the last words.
        self.length() * (u64::from(self.repetitions) + 1) + 1
    }

    /// Words of each superstep of a round, as the workload has them.
    #[must_use]
    pub fn words_of_round(&self) -> Vec<u32> {
        [&[0; BEFORE][..], &self.words].concat()
    }

    /// Floating-point operations of each superstep of a round.
    #[must_use]
    pub fn flops_of_round(&self) -> Vec<u32> {
        [&[0, FLOPS][..], &vec![0; self.words.len()]].concat()
    }

    /// What is measured of a superstep.
    pub(super) fn measurement(&self, superstep: u64) -> Measurement {
        let (round, place) = (superstep / self.length(), superstep % self.length());
        if round == 0 || u64::from(self.repetitions) < round {
            return Measurement::None;
        }
        let place = usize::try_from(place).expect("a position in a list");
        match place.checked_sub(BEFORE) {
            Some(position) => Measurement::Relation(position),
            None if place + 1 == BEFORE => Measurement::Rate,
            None => Measurement::None,
        }
    }
}

/// Differences between the least and the most words, at most.
const STEPS: u32 = 64;

/// Supersteps of a round before the first h-relation: an empty one and a computation.
const BEFORE: usize = 2;

/// Floating-point operations of the computation: whole passes of the workload's vectors, some milliseconds.
pub(super) const FLOPS: u32 = 1 << 24;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_go_from_none_to_the_most_in_equal_steps() {
        let words = |most| Rounds::new(most, 1).words;
        assert_eq!(words(3), [0, 1, 2, 3]);
        assert_eq!(words(0), [0]);
        let many = words(16_384);
        assert_eq!((many.len(), many[1], many[64]), (65, 256, 16_384));
        assert_eq!(words(u32::MAX).last(), Some(&u32::MAX));
    }

    #[test]
    fn only_rounds_after_the_first_count() {
        let rounds = Rounds::new(2, 2);
        // An empty superstep, a computation, three h-relations; three rounds, and the end.
        assert_eq!(rounds.supersteps(), 16);
        assert_eq!(rounds.words_of_round(), [0, 0, 0, 1, 2]);
        assert_eq!(rounds.flops_of_round(), [0, FLOPS, 0, 0, 0]);
        let measured: Vec<Measurement> = (0..16).map(|index| rounds.measurement(index)).collect();
        let of_round = [
            Measurement::None,
            Measurement::Rate,
            Measurement::Relation(0),
            Measurement::Relation(1),
            Measurement::Relation(2),
        ];
        let none = [Measurement::None; 5];
        let expected = [&none[..], &of_round, &of_round, &none[..1]].concat();
        assert_eq!(measured, expected);
    }

    #[test]
    fn a_computation_is_whole_passes() {
        assert_eq!(u64::from(FLOPS) % workloads::h_relation::FLOPS_OF_A_PASS, 0);
    }
}
