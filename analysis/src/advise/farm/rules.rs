//! The rules that are tried, and their keys.

use bsp::farm::{BlockCyclic, Dealing, Reference, Weighted};
use experiments::DealingParameters;
use serde::Deserialize;
use serde_json::{Map, Value, json};

/// A key of the table `dealing`, with its value.
pub(super) type Key = (String, Value);

/// The table `dealing` of a rule, with all its keys.
pub(super) fn table(dealing: &Dealing) -> Map<String, Value> {
    match json!(DealingParameters::from(dealing)) {
        Value::Object(table) => table,
        _ => Map::new(),
    }
}

/// The value of `kind`.
pub(super) fn kind(dealing: &Dealing) -> String {
    let table = table(dealing);
    table[KIND].as_str().unwrap_or_default().to_owned()
}

/// All other keys, with the values in effect.
pub(super) fn keys(dealing: &Dealing) -> Vec<Key> {
    let table = table(dealing).into_iter();
    table.filter(|(key, _)| key != KIND).collect()
}

/// The keys of `dealing` whose values differ from those of `base`, a rule of the same kind.
pub(super) fn changed(dealing: &Dealing, base: &Dealing) -> Vec<Key> {
    let before = keys(base);
    let mut changed = keys(dealing);
    changed.retain(|key| !before.contains(key));
    changed
}

/// `base` with another value of one key; `None`: that is no rule.
pub(super) fn with_key(base: &Dealing, (key, value): &Key) -> Option<Dealing> {
    let mut table = table(base);
    table.insert(key.clone(), value.clone());
    rule(table)
}

/// The rule that a kind has without keys.
pub(super) fn default_of(dealing: &Dealing) -> Dealing {
    let kind = Map::from_iter([(KIND.to_owned(), json!(kind(dealing)))]);
    rule(kind).unwrap_or_else(|| dealing.clone())
}

/// The rule of a table.
fn rule(table: Map<String, Value>) -> Option<Dealing> {
    let parameters = DealingParameters::deserialize(Value::Object(table)).ok()?;
    parameters.dealing().ok()
}

/// The key that all rules have.
const KIND: &str = "kind";

/// The distance of the thresholds; 0 of other kinds.
pub(super) fn width(dealing: &Dealing) -> f64 {
    match dealing {
        Dealing::BlockCyclic(rule) => rule.threshold_max - rule.threshold_min,
        _ => 0.0,
    }
}

/// All rules that are tried on a farm of `tasks` tasks and `workers` workers, where `now` is in effect. No thresholds are
/// nearer to 1 than twice the `noise`, but those of `now` itself.
pub(super) fn all(now: &Dealing, noise: f64, (tasks, workers): (u64, u64)) -> Vec<Dealing> {
    let mut all = vec![Dealing::Static];
    for least in LEASTS {
        all.push(Dealing::Guided { least });
        all.push(Dealing::Factoring { least });
        let fractions = FRACTIONS.iter();
        all.extend(fractions.map(|fraction| {
            Dealing::Weighted(Weighted {
                fraction: *fraction,
                least,
            })
        }));
    }
    let parts = [1, 2, 4, 8, 16, 32].map(|part| tasks.div_ceil(workers.max(1) * part).max(1));
    let chunks = BLOCKS.iter().copied().chain(parts);
    all.extend(chunks.map(|chunk| Dealing::SelfScheduling { chunk }));
    all.extend(block_cyclic(now, noise));
    if !all.contains(now) {
        all.push(now.clone());
    }
    all
}

/// Blocks with thresholds, and the values in effect beside them, if these thresholds are not too narrow.
fn block_cyclic(now: &Dealing, noise: f64) -> Vec<Dealing> {
    let mut blocks = BLOCKS.to_vec();
    let mut thresholds: Vec<(f64, f64)> = TOLERANCES
        .iter()
        .filter(|tolerance| TWICE * noise <= **tolerance)
        .map(|tolerance| (1.0 - tolerance, 1.0 + tolerance))
        .collect();
    if thresholds.is_empty() {
        // As wide as the noise asks for, in whole percent.
        let tolerance = (TWICE * noise * 100.0).ceil() / 100.0;
        thresholds.push(((1.0 - tolerance).max(LOWEST), 1.0 + tolerance));
    }
    let mut reference = Reference::default();
    if let Dealing::BlockCyclic(rule) = now {
        blocks.push(rule.block);
        let distance = (1.0 - rule.threshold_min).min(rule.threshold_max - 1.0);
        if TWICE * noise <= distance {
            thresholds.push((rule.threshold_min, rule.threshold_max));
        }
        reference = rule.reference;
    }
    let mut all = Vec::new();
    for block in blocks {
        for (threshold_min, threshold_max) in &thresholds {
            all.push(Dealing::BlockCyclic(BlockCyclic {
                block,
                threshold_min: *threshold_min,
                threshold_max: *threshold_max,
                reference,
            }));
        }
    }
    all
}

/// Blocks and chunks that are tried.
const BLOCKS: [u64; 12] = [1, 2, 3, 4, 5, 6, 8, 12, 16, 24, 32, 64];

/// Distances of thresholds from 1 that are tried.
const TOLERANCES: [f64; 6] = [0.0, 0.005, 0.01, 0.02, 0.05, 0.1];

/// The least number of tasks for a worker that is tried.
const LEASTS: [u64; 6] = [1, 2, 4, 8, 16, 32];

/// Parts of the remaining tasks that are tried.
const FRACTIONS: [u64; 5] = [2, 4, 8, 16, 32];

/// Thresholds are not nearer to 1 than this many times the noise: a worker would get other blocks because of it.
const TWICE: f64 = 2.0;

/// The least threshold that a rule takes.
const LOWEST: f64 = 1e-3;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_thresholds_are_narrower_than_twice_the_noise() {
        let now = Dealing::BlockCyclic(BlockCyclic {
            threshold_min: 0.999,
            threshold_max: 1.001,
            ..BlockCyclic::default()
        });
        for noise in [0.0, 0.003, 0.01, 0.04, 0.2, 0.7] {
            let mut tried = 0;
            let others = all(&now, noise, (600, 5)).into_iter();
            for dealing in others.filter(|dealing| *dealing != now) {
                if let Dealing::BlockCyclic(rule) = dealing {
                    tried += 1;
                    assert!(2.0 * noise <= rule.threshold_max - 1.0 + 1e-12, "{rule:?}");
                    let below = 1.0 - rule.threshold_min;
                    assert!((2.0 * noise).min(0.999) <= below + 1e-12, "{rule:?}");
                    Dealing::BlockCyclic(rule).check().unwrap();
                }
            }
            assert!(12 <= tried, "{noise}");
        }
    }

    #[test]
    fn keys_that_differ_are_changes() {
        let now = Dealing::BlockCyclic(BlockCyclic {
            block: 32,
            ..BlockCyclic::default()
        });
        let other = default_of(&now);
        let key = |name: &str, value: Value| (name.to_owned(), value);
        assert_eq!(changed(&other, &now), [key("block", json!(8))]);
        assert_eq!(with_key(&now, &key("block", json!(8))), Some(other));
        // Thresholds turned round are no rule.
        assert_eq!(with_key(&now, &key("threshold_min", json!(1.5))), None);
    }
}
