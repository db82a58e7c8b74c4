//! `--seeds`: the seeds to run.

use std::str::FromStr;

/// Seeds in the order they were written.
///
/// Invariant: at least one, no duplicates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seeds(Vec<u64>);

impl Seeds {
    /// Seeds 1 to `number`, or 1 alone.
    pub(super) fn first_ones(number: u32) -> Self {
        Self((1..=u64::from(number.max(1))).collect())
    }

    /// The first one.
    pub fn first(&self) -> u64 {
        self.0[0]
    }

    /// All of them.
    pub fn all(&self) -> &[u64] {
        &self.0
    }
}

impl FromStr for Seeds {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut seeds = Vec::new();
        for part in text.split(',').map(str::trim) {
            match part.split_once("..") {
                None => seeds.push(seed(part)?),
                Some((first, last)) => {
                    let (first, last) = (seed(first)?, seed(last)?);
                    if last < first {
                        return Err(format!(
                            "`{part}` holds no seed; {first}.. ends before it begins"
                        ));
                    }
                    if SEEDS_MAX <= last - first {
                        return Err(format!("`{part}` holds more than {SEEDS_MAX} seeds"));
                    }
                    seeds.extend(first..=last);
                }
            }
        }
        let mut sorted = seeds.clone();
        sorted.sort_unstable();
        if let Some(twice) = sorted.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(format!("seed {} is given twice", twice[0]));
        }
        Ok(Self(seeds))
    }
}

fn seed(text: &str) -> Result<u64, String> {
    text.trim().parse().map_err(|_| {
        format!("must be seeds as in 7 or 1,2,5 or 1..30 with both ends, not `{text}`")
    })
}

/// Maximum number of seeds in a range; more are taken as a mistake.
const SEEDS_MAX: u64 = 100_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeds_are_listed_or_a_range_with_both_ends() {
        let seeds = |text: &str| text.parse::<Seeds>().unwrap().0;
        assert_eq!(seeds("7"), [7]);
        assert_eq!(seeds("1..4"), [1, 2, 3, 4]);
        assert_eq!(seeds("5..5"), [5]);
        assert_eq!(seeds("9, 1..2,0"), [9, 1, 2, 0]);
    }

    #[test]
    fn malformed_seeds_are_refused() {
        let fault = |text: &str| text.parse::<Seeds>().unwrap_err();
        for text in ["", "1,", "..", "1..", "-1", "1.5", "1...3", "one"] {
            assert!(fault(text).contains("must be seeds as in 7"), "{text}");
        }
        assert!(fault("3..1").contains("holds no seed"));
        assert!(fault("1..3,2").contains("seed 2 is given twice"));
        assert!(fault("0..18446744073709551615").contains("more than 100000"));
    }
}
