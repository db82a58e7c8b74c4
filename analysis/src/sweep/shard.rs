//! `--shard i/n`: a part of a sweep.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// One of several parts of a sweep.
///
/// Invariant: `1 <= number <= of`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Shard {
    number: u64,
    of: u64,
}

impl Shard {
    /// All of a sweep, as one part.
    pub(super) const WHOLE: Self = Self { number: 1, of: 1 };

    /// Which part it is, from 1.
    pub fn number(self) -> u64 {
        self.number
    }

    /// How many parts there are.
    pub fn of(self) -> u64 {
        self.of
    }

    /// The number of items that it has of `all`.
    pub(super) fn count(self, all: u128) -> u128 {
        let rounds = all / u128::from(self.of);
        rounds + u128::from(self.item(rounds) < all)
    }

    /// The items that it has of `all`, in ascending order.
    ///
    /// Every round deals an item to each shard, and begins with another shard than the round before: where the number
    /// of values is a multiple of the number of shards, no shard has all items with the longest runs.
    pub(super) fn items(self, all: u128) -> impl Iterator<Item = u128> {
        (0..self.count(all)).map(move |round| self.item(round))
    }

    /// The item that it has of `round`.
    fn item(self, round: u128) -> u128 {
        let (number, of) = (u128::from(self.number), u128::from(self.of));
        round * of + (number - 1 + of - round % of) % of
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}/{}", self.number, self.of)
    }
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let malformed = || format!("must be NUMBER/COUNT, as 2/4, not `{text}`");
        let (number, of) = text.split_once('/').ok_or_else(malformed)?;
        let read = |text: &str| text.trim().parse::<u64>().map_err(|_| malformed());
        let (number, of) = (read(number)?, read(of)?);
        if of == 0 {
            return Err(format!("`{text}`: there is at least one shard, 1/1"));
        }
        if !(1..=of).contains(&number) {
            return Err(format!(
                "`{text}`: shards have the numbers 1/{of} to {of}/{of}"
            ));
        }
        Ok(Self { number, of })
    }
}

impl TryFrom<String> for Shard {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<Shard> for String {
    fn from(shard: Shard) -> Self {
        shard.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shards(of: u64) -> Vec<Shard> {
        (1..=of).map(|number| Shard { number, of }).collect()
    }

    #[test]
    fn every_item_is_in_one_shard() {
        for of in 1..9 {
            for all in 0..40_u128 {
                let mut found: Vec<u128> = Vec::new();
                for shard in shards(of) {
                    let items: Vec<u128> = shard.items(all).collect();
                    assert!(items.is_sorted());
                    assert_eq!(items.len() as u128, shard.count(all), "{shard} of {all}");
                    assert!(items.len() as u128 <= all.div_ceil(u128::from(of)));
                    found.extend(items);
                }
                found.sort_unstable();
                assert_eq!(found, (0..all).collect::<Vec<u128>>());
            }
        }
    }

    #[test]
    fn no_shard_has_all_items_of_a_value() {
        // Four values of the parameter that varies fastest, and four shards.
        for shard in shards(4) {
            let mut values: Vec<u128> = shard.items(16).map(|item| item % 4).collect();
            values.sort_unstable();
            assert_eq!(values, [0, 1, 2, 3]);
        }
    }

    #[test]
    fn a_shard_is_found_without_a_look_at_all_items() {
        let shard: Shard = "3/1000000000".parse().unwrap();
        assert_eq!(
            shard.items(2_000_000_000).collect::<Vec<_>>(),
            [2, 1_000_000_001]
        );
        assert_eq!(
            (shard.count(2_000_000_000), shard.count(2_000_000_001)),
            (2, 3)
        );
    }

    #[test]
    fn malformed_shards_are_refused() {
        let fault = |text: &str| text.parse::<Shard>().unwrap_err();
        for text in ["", "1", "x/4", "1/x", "1/4/4", "-1/4", "1.5/4"] {
            assert!(
                fault(text).starts_with("must be NUMBER/COUNT, as 2/4"),
                "{text}"
            );
        }
        for text in ["0/4", "5/4"] {
            let rule = format!("`{text}`: shards have the numbers 1/4 to 4/4");
            assert_eq!(fault(text), rule);
        }
        assert!(fault("0/0").contains("at least one shard"));
        assert_eq!(serde_json::to_string(&shards(2)[1]).unwrap(), "\"2/2\"");
    }
}
