//! Sizes of processes that differ by orders of magnitude.

use migbsp::rebalance::search::Draws;

/// How far the sizes of the processes of a drawn problem differ.
///
/// The families of the paper have sizes within two orders of magnitude. Images of real processes have longer
/// tails, and a search that is right about the mean of their costs may be wrong about all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Spread {
    /// Lognormal, the median 10 MB, with this standard deviation of the logarithm.
    Lognormal(u8),
    /// Pareto from 1 MB on, with exponent 1/3: neither variance nor mean exists.
    Pareto,
    /// As in the paper, but for the process with the largest workload: 10¹² MB.
    Giant,
    /// Half of the processes 1 MB, the others 10¹⁰ MB.
    TwoKinds,
}

impl Spread {
    /// Size in MB of each process, by its workload; `ordinary` draws sizes as in the paper.
    pub(super) fn sizes(
        self,
        workloads: &[f64],
        draws: &mut Draws,
        ordinary: impl FnOnce(&mut Draws) -> Vec<f64>,
    ) -> Vec<f64> {
        let mut each = |size: &dyn Fn(&mut Draws) -> f64| {
            let sizes = workloads.iter().map(|_| size(draws));
            sizes.collect::<Vec<f64>>()
        };
        match self {
            Self::Lognormal(deviation) => {
                each(&|draws| MEDIAN * libm::exp(f64::from(deviation) * normal(draws)))
            }
            Self::Pareto => each(&|draws| libm::pow(1.0 - draws.unit(), -3.0)),
            Self::Giant => {
                let mut sizes = ordinary(draws);
                let largest = (0..workloads.len())
                    .max_by(|&a, &b| workloads[a].total_cmp(&workloads[b]).then(b.cmp(&a)));
                if let Some(process) = largest {
                    sizes[process] = GIANT;
                }
                sizes
            }
            Self::TwoKinds => {
                let mut sizes = vec![SMALL; workloads.len()];
                sizes[..workloads.len() / 2].fill(LARGE);
                draws.shuffle(&mut sizes);
                sizes
            }
        }
    }
}

/// From the standard normal distribution, by the method of Box and Muller.
fn normal(draws: &mut Draws) -> f64 {
    let (radius, angle) = (1.0 - draws.unit(), draws.unit());
    let angle = 2.0 * std::f64::consts::PI * angle;
    libm::sqrt(-2.0 * libm::log(radius)) * libm::cos(angle)
}

/// MB.
const MEDIAN: f64 = 10.0;
const GIANT: f64 = 1e12;
const SMALL: f64 = 1.0;
const LARGE: f64 = 1e10;

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(spread: Spread, count: u32) -> Vec<f64> {
        let workloads: Vec<f64> = (0..count).map(|process| f64::from(process % 7)).collect();
        let mut draws = Draws::new(1, b"the tests of this module");
        spread.sizes(&workloads, &mut draws, |_| vec![3.0; workloads.len()])
    }

    #[test]
    fn logarithms_of_lognormal_sizes_have_the_deviation_of_their_family() {
        for deviation in 1..=5 {
            let sizes = drawn(Spread::Lognormal(deviation), 20_000);
            let logarithms = sizes.iter().map(|size| (size / MEDIAN).ln());
            let mean = logarithms.clone().sum::<f64>() / 20_000.0;
            let square = logarithms.map(|value| value * value).sum::<f64>() / 20_000.0;
            let expected = f64::from(deviation);
            assert!(mean.abs() < 0.03 * expected, "{mean}");
            assert!((square.sqrt() / expected - 1.0).abs() < 0.02, "{square}");
        }
    }

    #[test]
    fn an_eighth_of_the_sizes_of_a_pareto_is_above_512_times_the_least() {
        let sizes = drawn(Spread::Pareto, 20_000);
        assert!(sizes.iter().all(|&size| 1.0 <= size));
        let above = sizes.iter().filter(|&&size| 512.0 < size).count();
        assert!((2300..2700).contains(&above), "{above}");
    }

    #[test]
    fn one_process_is_a_giant_and_half_are_of_the_large_kind() {
        let giants = drawn(Spread::Giant, 40);
        assert_eq!(giants.iter().position(|&size| size > 3.0), Some(6));
        assert_eq!(giants.iter().filter(|&&size| size > 3.0).count(), 1);
        let kinds = drawn(Spread::TwoKinds, 40);
        assert_eq!(kinds.iter().filter(|&&size| size > 1.0).count(), 20);
    }
}
