//! The rules that are tried instead of that of the record, and which of them to recommend.

use bsp::farm::{BlockCyclic, Dealing, Reference, Weighted};
use bsp::numbers::length;
use experiments::DealingParameters;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::advise::farm::{Model, Parts};
use crate::advise::report::{KeyChange, Recommendation, shown};
use crate::text::rounded;

/// A rule with its replay.
#[derive(Debug)]
struct Tried {
    dealing: Dealing,
    parts: Parts,
    seconds: f64,
}

/// The rules of a farm that are predicted to save more than [`LEAST_GAIN`] of the time of the rule `now`, the best first:
/// the best one, and the best of the same kind. `table` is the path of the keys; `recorded` are the parts of the record.
pub(super) fn recommendations(
    (model, noise): (&Model, f64),
    (now, table): (&Dealing, &str),
    recorded: &Parts,
) -> Vec<Recommendation> {
    let workers = length(model.rates.len());
    let mut tried: Vec<Tried> = all(now, noise, (model.tasks, workers))
        .into_iter()
        .map(|dealing| Tried::new(model, dealing))
        .collect();
    tried.sort_by(|one, other| one.seconds.total_cmp(&other.seconds));
    let before = Tried::new(model, now.clone());
    let same = |one: &&Tried| kind(&one.dealing) == kind(now);
    let within = tried.iter().find(same);
    // Another kind has to be better than the present one can be.
    let enough = within.map_or(f64::INFINITY, |one| one.seconds - EQUAL * before.seconds);
    let overall = tried
        .first()
        .filter(|one| same(one) || one.seconds < enough);
    let mut chosen: Vec<&Tried> = Vec::new();
    for best in [overall, within].into_iter().flatten() {
        let best = simplest(best, &tried, &before);
        if !chosen.iter().any(|one| one.dealing == best.dealing) {
            chosen.push(best);
        }
    }
    chosen.retain(|one| LEAST_GAIN < 1.0 - one.seconds / before.seconds);
    let place = Place {
        model,
        before: &before,
        table,
        recorded,
    };
    chosen.into_iter().map(|one| place.advice(one)).collect()
}

impl Tried {
    fn new(model: &Model, dealing: Dealing) -> Self {
        let parts = model.replay(&dealing);
        Self {
            dealing,
            parts,
            seconds: parts.seconds(),
        }
    }
}

/// Of the rules of the kind of `best` that are as good as it, the one that changes the fewest keys, then the one with the
/// widest thresholds, then the fastest. A kind that is not in effect changes the keys without defaults.
fn simplest<'a>(best: &'a Tried, tried: &'a [Tried], before: &Tried) -> &'a Tried {
    let is_same = kind(&best.dealing) == kind(&before.dealing);
    let base = if is_same {
        before.dealing.clone()
    } else {
        default_of(&best.dealing)
    };
    let limit = best.seconds + EQUAL * before.seconds;
    let order = |one: &Tried| {
        (
            changed(&one.dealing, &base).len(),
            -width(&one.dealing),
            one.seconds,
        )
    };
    let equal = tried
        .iter()
        .filter(|one| kind(&one.dealing) == kind(&best.dealing) && one.seconds <= limit);
    let less = |one: &&Tried, other: &&Tried| {
        let (one, other) = (order(one), order(other));
        let widths = one.1.total_cmp(&other.1);
        let seconds = one.2.total_cmp(&other.2);
        one.0.cmp(&other.0).then(widths).then(seconds)
    };
    equal.min_by(less).unwrap_or(best)
}

/// What a rule is compared with.
struct Place<'a> {
    model: &'a Model,
    before: &'a Tried,
    table: &'a str,
    recorded: &'a Parts,
}

impl Place<'_> {
    /// The advice to use the rule `better`.
    fn advice(&self, better: &Tried) -> Recommendation {
        let now = &self.before.dealing;
        let (from, to) = (kind(now), kind(&better.dealing));
        let gain = self.gain(better.seconds);
        let is_same = from == to;
        let (changes, change) = if is_same {
            let changes = self.keys(&better.dealing);
            let names = changes.iter().filter_map(|one| one.key.rsplit('.').next());
            let names: Vec<&str> = names.collect();
            let change = format!("{from} with another {}", names.join(", "));
            (changes, change)
        } else {
            (self.kind(&better.dealing), format!("kind {to}"))
        };
        Recommendation {
            change,
            set: changes.iter().map(KeyChange::assignment).collect(),
            replaces: (!is_same).then(|| self.table.to_owned()),
            predicted_gain: gain,
            predicted_seconds: self.recorded.seconds() * (1.0 - gain),
            is_bound: false,
            reason: self.reason(better),
            keys: changes,
            measured: None,
        }
    }

    fn gain(&self, seconds: f64) -> f64 {
        1.0 - seconds / self.before.seconds
    }

    /// The keys that change within the kind.
    fn keys(&self, better: &Dealing) -> Vec<KeyChange> {
        let now = keys(&self.before.dealing);
        let changed = changed(better, &self.before.dealing).into_iter();
        let change = |changed: Key| {
            let alone = with_key(&self.before.dealing, &changed);
            let (key, value) = changed;
            let before = now.iter().find(|(name, _)| *name == key);
            KeyChange {
                key: format!("{}.{key}", self.table),
                now: before.map_or(Value::Null, |(_, value)| value.clone()),
                better: value,
                predicted_gain: alone.map(|alone| self.gain(self.model.replay(&alone).seconds())),
            }
        };
        changed.map(change).collect()
    }

    /// Another kind, with the keys that differ from its defaults.
    fn kind(&self, better: &Dealing) -> Vec<KeyChange> {
        let default = default_of(better);
        let alone = self.gain(self.model.replay(&default).seconds());
        let mut changes = vec![KeyChange {
            key: format!("{}.kind", self.table),
            now: json!(kind(&self.before.dealing)),
            better: json!(kind(better)),
            predicted_gain: Some(alone),
        }];
        let others = changed(better, &default).into_iter();
        changes.extend(others.map(|(key, value)| KeyChange {
            key: format!("{}.{key}", self.table),
            now: Value::Null,
            better: value,
            predicted_gain: None,
        }));
        changes
    }

    /// The parts that become shorter most, and those that become longer, as recorded and as predicted.
    fn reason(&self, better: &Tried) -> String {
        let seconds = self.before.seconds;
        let before = self.before.parts.named();
        let after = better.parts.named();
        let recorded = self.recorded.named();
        let mut saved: Vec<(f64, &str, f64, f64)> = before
            .iter()
            .zip(&after)
            .zip(&recorded)
            .map(|(((part, now), (_, then)), (_, recorded))| (now - then, *part, *recorded, *then))
            .collect();
        saved.sort_by(|one, other| other.0.total_cmp(&one.0));
        let much = LEAST_PART * seconds;
        let sentence = |(_, part, recorded, then): &(f64, &str, f64, f64)| {
            format!(
                "{part}: {} s recorded, {} s predicted",
                rounded(*recorded, 3),
                rounded(then.max(0.0), 3)
            )
        };
        let shorter = saved.iter().filter(|(saved, ..)| much < *saved).take(3);
        let longer = saved.iter().rev().filter(|(saved, ..)| *saved < -much);
        let parts: Vec<String> = shorter.chain(longer.take(1)).map(sentence).collect();
        let text = parts.join("; ");
        let mut letters = text.chars();
        let first = letters.next().map(|first| first.to_ascii_uppercase());
        first.into_iter().chain(letters).collect()
    }
}

/// The rule in words: its kind and keys.
pub(super) fn in_words(dealing: &Dealing) -> String {
    let keys: Vec<String> = keys(dealing)
        .iter()
        .map(|(key, value)| format!("{key} {}", shown(value)))
        .collect();
    match &keys[..] {
        [] => kind(dealing),
        keys => format!("{} with {}", kind(dealing), keys.join(", ")),
    }
}

/// The least part of the time that has to be saved.
const LEAST_GAIN: f64 = 0.01;

/// Rules whose times differ by less than this part of the time now are equally good.
const EQUAL: f64 = 0.003;

/// The least part of the time by which a part of the makespan has to change to be named.
const LEAST_PART: f64 = 0.005;

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
fn with_key(base: &Dealing, (key, value): &Key) -> Option<Dealing> {
    let mut table = table(base);
    table.insert(key.clone(), value.clone());
    rule(table)
}

/// The rule that a kind has without keys.
fn default_of(dealing: &Dealing) -> Dealing {
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
