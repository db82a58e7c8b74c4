//! Which rule to try instead of that of the record.

use bsp::farm::Dealing;
use serde_json::{Value, json};

use super::parts::Parts;
use super::replay::Model;
use super::rules::{Key, all, changed, default_of, keys, kind, width, with_key};
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
    let workers = u64::try_from(model.rates.len()).unwrap_or(u64::MAX);
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
