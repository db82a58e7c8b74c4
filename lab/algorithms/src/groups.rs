//! Problems drawn by lot, for tests and figures.

use std::fmt;
use std::str::FromStr;

use model::rebalance::search::Draws;
use model::rebalance::{Machine, MoveCost, Problem, Resident};

/// One of the twenty groups of problems of Chen, Wang and Lau 2008, table 2: `I3,5`; or one of forty with other
/// sizes of processes: `S4,2`.
///
/// Written as its family, a comma and its size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Group {
    /// What its machines and processes are like.
    family: Family,
    /// How many they are: from 1 to 5.
    size: u8,
}

/// What machines and processes of a problem are like.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Family {
    /// Equal machines, workloads from 20 to 200.
    I1,
    /// Machines of 0.6 to 1.4 of the mean.
    I2,
    /// A fifth of the machines of 2.5, three tenths of 1.0, and the others of 0.4 of the mean.
    I3,
    /// Machines as in I2, and one process in five light, the others heavy.
    I4,
    /// As I2, with sizes that differ by orders of magnitude: S1 to S8.
    Spread(Spread),
}

/// How far the sizes of the processes of a drawn problem differ.
///
/// The families of the paper have sizes within two orders of magnitude. Images of real processes have longer
/// tails, and a search that is right about the mean of their costs may be wrong about all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Spread {
    /// Lognormal, the median 10 MB, with this standard deviation of the logarithm, from 1 to 5.
    Lognormal(u8),
    /// Pareto from 1 MB on, with exponent 1/3: neither variance nor mean exists.
    Pareto,
    /// As in the paper, but for the process with the largest workload: 10¹² MB.
    Giant,
    /// Half of the processes 1 MB, the others 10¹⁰ MB.
    TwoKinds,
}

/// How the workloads of [`Family::I4`] are read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Workloads {
    /// One in five from 20 to 36, the others from 144 to 200: with these, levels are as printed.
    #[default]
    Swapped,
    /// One in five from 20 to 144, the others from 36 to 200: as the bounds are printed.
    Literal,
}

/// A text that names no group.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("invalid group `{found}`: must be {expected}")]
pub struct UnknownGroup {
    /// The text.
    pub found: String,
    /// What names a group.
    pub expected: &'static str,
}

impl Group {
    /// The group of that family and size; none, unless the size is from 1 to 5.
    #[must_use]
    pub fn new(family: Family, size: u8) -> Option<Self> {
        (1..=5).contains(&size).then_some(Self { family, size })
    }

    /// All of the paper.
    pub fn all() -> impl Iterator<Item = Self> {
        Self::of(&Family::ALL)
    }

    /// Those whose processes differ in size by orders of magnitude.
    pub fn spread() -> impl Iterator<Item = Self> {
        Self::of(&Family::SPREAD)
    }

    fn of(families: &[Family]) -> impl Iterator<Item = Self> {
        let families = families.iter();
        families.flat_map(|&family| (1..=5).map(move |size| Self { family, size }))
    }

    /// What its machines and processes are like.
    #[must_use]
    pub const fn family(self) -> Family {
        self.family
    }

    /// How many machines there are.
    #[must_use]
    pub const fn machines(self) -> usize {
        match self.size {
            1 | 2 => 16,
            3 | 4 => 64,
            _ => 256,
        }
    }

    /// How many processes there are.
    #[must_use]
    pub const fn processes(self) -> usize {
        match self.size {
            1 => 40,
            2 | 3 => 160,
            _ => 640,
        }
    }

    /// The problem with that seed: the same everywhere.
    #[must_use]
    pub fn draw(self, seed: u64) -> Problem {
        self.draw_with(seed, Workloads::default())
    }

    /// [`Group::draw`] with the workloads of the fourth family in that reading.
    ///
    /// Capacities are such that the level is 74 where work is divided ideally. Machines are in three clusters
    /// by turns; costs are seconds for sizes in MB at 100 MB/s inside a cluster and 10 MB/s between any two.
    ///
    /// # Panics
    ///
    /// Never: what is drawn is a problem.
    #[must_use]
    pub fn draw_with(self, seed: u64, workloads: Workloads) -> Problem {
        let mut draws = Draws::new(seed, b"balance: group, instance");
        let initial_machines = self.initial_machines(&mut draws);
        let work = self.workloads(&mut draws, workloads);
        let capacities = self.capacities(&mut draws, work.iter().sum());
        let sizes = match self.family {
            Family::Spread(spread) => spread.sizes(&work, &mut draws, |draws| self.sizes(draws)),
            Family::I1 | Family::I2 | Family::I3 | Family::I4 => self.sizes(&mut draws),
        };
        let machine = |(number, capacity)| Machine {
            capacity,
            group: number % CLUSTERS,
        };
        let resident = |((initial, workload), size)| Resident {
            workload,
            size,
            initial_machine: initial,
        };
        let residents = initial_machines.into_iter().zip(work).zip(sizes);
        Problem::new(
            capacities.into_iter().enumerate().map(machine).collect(),
            residents.map(resident).collect(),
            move_costs(),
        )
        .expect("what is drawn is a problem")
    }

    /// The initial machine of every process: two or three on a machine, or eight to twelve, each number as likely as any
    /// other, given how many they are in all.
    fn initial_machines(self, draws: &mut Draws) -> Vec<usize> {
        let (fewest, kinds) = match self.size {
            1 | 3 | 5 => (2, 2),
            _ => (8, 5),
        };
        loop {
            let machines = 0..self.machines();
            let initial_machines = machines.flat_map(|machine| {
                let count = fewest + draws.below(kinds);
                std::iter::repeat_n(machine, count)
            });
            let initial_machines: Vec<usize> = initial_machines.collect();
            if initial_machines.len() == self.processes() {
                return initial_machines;
            }
        }
    }

    fn workloads(self, draws: &mut Draws, reading: Workloads) -> Vec<f64> {
        let count = self.processes();
        let (first, light, heavy) = match (self.family, reading) {
            (Family::I4, Workloads::Swapped) => (count / 5, 20..=36, 144..=200),
            (Family::I4, Workloads::Literal) => (count / 5, 20..=144, 36..=200),
            _ => (count, 20..=200, 20..=200),
        };
        let light: Vec<u32> = light.collect();
        let heavy: Vec<u32> = heavy.collect();
        let mut workload = |process| {
            let choice = if process < first { &light } else { &heavy };
            f64::from(choice[draws.below(choice.len())])
        };
        (0..count).map(&mut workload).collect()
    }

    fn capacities(self, draws: &mut Draws, work: f64) -> Vec<f64> {
        let machines = self.machines();
        let mut capacities: Vec<f64> = match self.family {
            Family::I1 => vec![1.0; machines],
            Family::I3 => {
                let fast = machines.div_ceil(5);
                let usual = (3 * machines).div_ceil(10);
                let mut capacities = vec![0.4; machines];
                capacities[..fast].fill(2.5);
                capacities[fast..fast + usual].fill(1.0);
                draws.shuffle(&mut capacities);
                capacities
            }
            Family::I2 | Family::I4 | Family::Spread(_) => {
                (0..machines).map(|_| draws.between(0.6, 1.4)).collect()
            }
        };
        let all: f64 = capacities.iter().sum();
        for capacity in &mut capacities {
            *capacity *= work / (IDEAL * all);
        }
        capacities
    }

    /// Two processes in three are from 1 to 10 MB, the others from 10 to 100 MB.
    fn sizes(self, draws: &mut Draws) -> Vec<f64> {
        let count = self.processes();
        let small = (2 * count + 1) / 3;
        let mut sizes: Vec<f64> = (0..count)
            .map(|process| {
                if process < small {
                    draws.between(1.0, 10.0)
                } else {
                    draws.between(10.0, 100.0)
                }
            })
            .collect();
        draws.shuffle(&mut sizes);
        sizes
    }
}

impl Family {
    /// All of the paper.
    pub const ALL: [Self; 4] = [Self::I1, Self::I2, Self::I3, Self::I4];

    /// Those whose processes differ in size by orders of magnitude: S1 to S8.
    pub const SPREAD: [Self; 8] = [
        Self::Spread(Spread::Lognormal(1)),
        Self::Spread(Spread::Lognormal(2)),
        Self::Spread(Spread::Lognormal(3)),
        Self::Spread(Spread::Lognormal(4)),
        Self::Spread(Spread::Lognormal(5)),
        Self::Spread(Spread::Pareto),
        Self::Spread(Spread::Giant),
        Self::Spread(Spread::TwoKinds),
    ];
}

impl fmt::Display for Family {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::I1 => formatter.write_str("I1"),
            Self::I2 => formatter.write_str("I2"),
            Self::I3 => formatter.write_str("I3"),
            Self::I4 => formatter.write_str("I4"),
            Self::Spread(Spread::Lognormal(deviation)) => write!(formatter, "S{deviation}"),
            Self::Spread(Spread::Pareto) => formatter.write_str("S6"),
            Self::Spread(Spread::Giant) => formatter.write_str("S7"),
            Self::Spread(Spread::TwoKinds) => formatter.write_str("S8"),
        }
    }
}

impl fmt::Display for Group {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(&format!("{},{}", self.family, self.size))
    }
}

impl FromStr for Group {
    type Err = UnknownGroup;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::all()
            .chain(Self::spread())
            .find(|group| group.to_string() == text)
            .ok_or_else(|| UnknownGroup {
                found: text.to_owned(),
                expected: "from I1,1 to I4,5 or from S1,1 to S8,5",
            })
    }
}

/// Seconds for a MB, by the clusters that are left and entered.
fn move_costs() -> Vec<Vec<MoveCost>> {
    let move_cost = |from: usize, to: usize| MoveCost {
        fixed: 0.0,
        per_size: if from == to { 0.01 } else { 0.1 },
    };
    (0..CLUSTERS)
        .map(|from| (0..CLUSTERS).map(|to| move_cost(from, to)).collect())
        .collect()
}

const CLUSTERS: usize = 3;

/// The level where work is divided ideally.
const IDEAL: f64 = 74.0;

impl Spread {
    /// Size in MB of each process, by its workload; `ordinary` draws sizes as in the paper.
    fn sizes(
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

    #[test]
    fn a_group_is_read_as_it_is_written() {
        assert_eq!(Group::all().count(), 20);
        assert_eq!(Group::spread().count(), 40);
        for group in Group::all().chain(Group::spread()) {
            assert_eq!(group.to_string().parse(), Ok(group));
        }
        for text in [
            "I5,1", "I1,6", "I1,0", "i1,1", "I1", "I11", " I1,1", "S9,1", "S0,1",
        ] {
            assert!(text.parse::<Group>().is_err(), "{text:?}");
        }
    }

    #[test]
    fn equal_seeds_draw_equal_problems() {
        for group in Group::all().chain(Group::spread()) {
            assert_eq!(group.draw(3), group.draw(3), "{group}");
            assert_ne!(group.draw(3), group.draw(4), "{group}");
        }
    }

    #[test]
    fn a_problem_has_what_its_group_says() {
        for group in Group::all().chain(Group::spread()) {
            let problem = group.draw(1);
            assert_eq!(problem.machines().len(), group.machines(), "{group}");
            assert_eq!(problem.residents().len(), group.processes(), "{group}");
            assert!((problem.ideal() - IDEAL).abs() < 1e-9, "{group}");
        }
    }

    /// Table 2, column `DC_I`.
    #[test]
    fn the_level_before_anybody_moves_is_the_printed_one_in_the_mean() {
        let printed: [[f64; 5]; 4] = [
            [124.0, 101.0, 136.0, 109.0, 144.0],
            [151.0, 130.0, 182.0, 149.0, 204.0],
            [328.0, 273.0, 333.0, 270.0, 356.0],
            [153.0, 140.0, 173.0, 162.0, 181.0],
        ];
        for (group, printed) in Group::all().zip(printed.as_flattened()) {
            let level = |seed| {
                let problem = group.draw(seed);
                problem.level(&problem.initial_assignment())
            };
            let mean = (0..200).map(level).sum::<f64>() / 200.0;
            // With few machines of three kinds, the mean of 200 still varies by a few per cent.
            let is_few = group.family() == Family::I3 && group.machines() == 16;
            let within = if is_few { 0.05 } else { 0.03 };
            assert!(
                (mean / printed - 1.0).abs() < within,
                "{group}: {mean:.1}, printed {printed}"
            );
        }
    }

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
