//! Processes that share the processors of a host.

use bsp::units::Seconds;

/// The end of each of several computations that begin together on `processors` processors and share them equally;
/// alone, each would take the time in `alone`.
///
/// A host executes its processes one after the other, as many at a time as it has processors. Their order is arbitrary,
/// so the time until a process ends carries no information. The model needs the time that a process takes beside the
/// others: that is the time if all advanced together. The last one ends at the same time in any order.
pub(crate) fn shared(alone: &[Seconds], processors: u32) -> Vec<Seconds> {
    let mut order: Vec<usize> = (0..alone.len()).collect();
    order.sort_by_key(|index| alone[*index]);
    let mut ends = vec![Seconds::ZERO; alone.len()];
    let (mut now, mut served) = (0.0, 0.0);
    for (place, index) in order.iter().enumerate() {
        let left = u32::try_from(alone.len() - place).expect("a host has fewer processes");
        // The duration of a second of computation while `left` processes share the processors.
        let stretch = (f64::from(left) / f64::from(processors)).max(1.0);
        let own = alone[*index].get();
        now += (own - served) * stretch;
        served = own;
        ends[*index] = Seconds::new(now).expect("sums of times");
    }
    ends
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn seconds(values: &[f64]) -> Vec<Seconds> {
        values.iter().map(|v| Seconds::new(*v).unwrap()).collect()
    }

    #[test]
    fn computations_advance_together() {
        let ends = shared(&seconds(&[1.0, 3.0, 1.0]), 1);
        assert_eq!(ends, seconds(&[3.0, 5.0, 3.0]));
        // Two processors are enough for two, and one computation uses only one.
        assert_eq!(shared(&seconds(&[1.0, 3.0]), 2), seconds(&[1.0, 3.0]));
        assert_eq!(shared(&seconds(&[2.0; 4]), 2), seconds(&[4.0; 4]));
        assert_eq!(shared(&[], 2), []);
    }

    proptest! {
        #[test]
        fn nobody_gains_and_no_processor_idles(
            alone in prop::collection::vec(0.0_f64..10.0, 1..20),
            processors in 1_u32..5,
        ) {
            let ends = shared(&seconds(&alone), processors);
            let last = ends.iter().max().unwrap().get();
            let (longest, sum) = (alone.iter().copied().fold(0.0, f64::max), alone.iter().sum::<f64>());
            for (end, own) in ends.iter().zip(&alone) {
                prop_assert!(*own <= end.get() + 1e-9);
            }
            prop_assert!(longest - 1e-9 <= last && sum / f64::from(processors) - 1e-9 <= last);
            prop_assert!(last <= longest + sum / f64::from(processors) + 1e-9);
        }
    }
}
