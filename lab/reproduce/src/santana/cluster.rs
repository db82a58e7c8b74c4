//! The network of workstations of the paper, and the runs on it.

use serde::Serialize;

/// Orders of the matrices. The paper names 300, 600 and 2000; the others are ours.
pub(super) const SIZES: [u32; 8] = [300, 600, 900, 1000, 1200, 1500, 1800, 2000];

/// The workers in the order in which the paper adds them, with the seconds that each takes for a product of order 600
/// (Table 2; those of worker03 and worker05 are derived from Table 3, where they are lost).
pub(super) const WORKERS: [(&str, f64); 5] = [
    ("worker01", 29.448),
    ("worker02", 28.964),
    ("worker03", 29.450),
    ("worker05", 83.812),
    ("worker04", 111.390),
];

/// Machines at the start, the master included, and those that join.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Curve {
    pub(super) name: &'static str,
    pub(super) start: usize,
    /// Which of the workers join.
    pub(super) joining: &'static [usize],
}

/// The curves of figures 4 to 7.
pub(super) const CURVES: [Curve; 9] = [
    Curve::fixed("3", 3),
    Curve::fixed("4", 4),
    Curve::fixed("5", 5),
    Curve::fixed("6", 6),
    Curve::joined("3 + 1", 3, &[2]),
    Curve::joined("3 + 2", 3, &[2, 3]),
    Curve::joined("3 + 3", 3, &[2, 3, 4]),
    Curve::joined("4 + 1", 4, &[3]),
    Curve::joined("5 + 1", 5, &[4]),
];

/// Constants that the paper does not print: our calibration.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Constants {
    /// Rows of the first block of each worker.
    pub block: u32,
    /// How far the thresholds are from 1.
    pub threshold: f64,
    /// Part of the rows after which hosts join.
    pub part: f64,
    /// Seconds that creating a process takes on worker03, worker05 and worker04.
    pub creation: [f64; 3],
}

impl Default for Constants {
    /// Those in `conf/santana/hnow.toml`.
    fn default() -> Self {
        Self {
            block: 8,
            threshold: 0.01,
            part: 0.1,
            creation: [1.8, 20.0, 48.0],
        }
    }
}

impl Curve {
    const fn fixed(name: &'static str, start: usize) -> Self {
        Self {
            name,
            start,
            joining: &[],
        }
    }

    const fn joined(name: &'static str, start: usize, joining: &'static [usize]) -> Self {
        Self {
            name,
            start,
            joining,
        }
    }

    /// The workers that take part, in rank order.
    pub(super) fn workers(&self) -> impl Iterator<Item = usize> + use<> {
        (0..self.start - 1).chain(self.joining.iter().copied())
    }
}

/// The power of a worker as a part of that of worker02 (Table 3).
pub(super) fn power(worker: usize) -> f64 {
    WORKERS[1].1 / WORKERS[worker].1
}

/// Seconds that worker02 takes alone for a product of order `size`.
pub(super) fn serial(size: u32) -> f64 {
    let ratio = f64::from(size) / 600.0;
    WORKERS[1].1 * ratio.powi(3)
}

#[cfg(test)]
mod tests {
    use super::*;
    use simulator::Platform;

    /// Table 3 of the paper, of which the powers of worker03 and worker05 are printed and their times are not.
    #[test]
    fn powers_are_those_of_table_3_and_give_the_lost_times() {
        let printed = [0.983_564, 1.0, 0.983_497, 0.345_583, 0.260_023];
        for (worker, printed) in printed.into_iter().enumerate() {
            assert!(
                (power(worker) - printed).abs() < 6e-7,
                "{}",
                WORKERS[worker].0
            );
            let derived = 28.964 / printed;
            assert!((derived - WORKERS[worker].1).abs() < 6e-4, "{derived}");
        }
        let sum: f64 = (0..5).map(power).sum();
        assert!((sum - 3.572_667).abs() < 2e-6, "{sum}");
    }

    #[test]
    fn the_platform_has_these_speeds() {
        let text = include_str!("../../../../conf/platforms/hnow.toml");
        let platform = Platform::from_toml(text).unwrap();
        for (name, seconds) in WORKERS {
            let host = platform.host_by_name(name).unwrap();
            let expected = 2.0 * 600.0_f64.powi(3) / seconds;
            let error = (platform.host(host).speed.get() / expected - 1.0).abs();
            assert!(error < 1e-6, "{name}: {error}");
        }
    }
}
