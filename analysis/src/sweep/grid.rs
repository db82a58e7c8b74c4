//! The combinations of a sweep: experiments × values of every parameter × seeds, and the shards of them.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use experiments::Failure;
use serde::{Deserialize, Serialize};
use settings::{Node, Value, assignments, merge, tree_of};

use crate::compare::{Variant, stem};

/// What a sweep goes through, or a shard of it.
///
/// Invariant: at least one experiment and one seed, no duplicates, no parameter inside another one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Grid {
    /// The experiments, as they were named.
    pub experiments: Vec<String>,
    /// The parameters, the one that varies slowest first.
    pub parameters: Vec<Parameter>,
    /// The seeds of experiments that draw; others have the first one.
    pub seeds: Vec<u64>,
    /// The part of it; `None`: all.
    pub shard: Option<Shard>,
}

/// A combination: an experiment with a value of every parameter.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    /// Place of the experiment in the grid.
    pub experiment: usize,
    /// Place of the value of each parameter.
    pub choice: Vec<usize>,
    /// Its name in results: the experiment, and the values of parameters that vary.
    pub name: String,
    /// Its name in charts.
    pub label: String,
    /// The seeds that it has in this shard.
    pub seeds: Vec<u64>,
}

impl Grid {
    /// Checks that no parameter has two lists of values.
    ///
    /// # Errors
    ///
    /// If a key is given twice, or is inside another one.
    pub fn check(&self) -> Result<(), String> {
        let keys: Vec<&str> = self.parameters.iter().map(Parameter::key).collect();
        for (place, key) in keys.iter().enumerate() {
            for first in &keys[..place] {
                if first == key {
                    return Err(format!(
                        "--set {key} is given twice; one list has all values, as --set {key}=2,4,8"
                    ));
                }
                let is_inside = |inner: &str, outer: &str| inner.starts_with(&format!("{outer}."));
                if is_inside(key, first) || is_inside(first, key) {
                    return Err(format!("--set {key} and --set {first} set the same values"));
                }
            }
        }
        Ok(())
    }

    /// The number of combinations of all shards.
    pub fn combinations(&self) -> u128 {
        let values = self
            .parameters
            .iter()
            .map(|parameter| parameter.values().len());
        product(values.chain([self.experiments.len()]))
    }

    /// The number of pairs of a combination and a seed that this shard has: the runs of a policy, if all experiments
    /// draw.
    pub fn pairs(&self) -> u128 {
        let all = self.all_pairs();
        self.shard.map_or(all, |shard| shard.count(all))
    }

    fn all_pairs(&self) -> u128 {
        self.combinations().saturating_mul(self.seeds.len() as u128)
    }

    /// The combinations of this shard with their seeds, in the order of experiments and values: that of the last
    /// parameter changes from one to the next.
    pub fn points(&self) -> Vec<Point> {
        let all = self.all_pairs();
        let whole = Shard::WHOLE;
        let seeds = self.seeds.len() as u128;
        let mut points: Vec<(u128, Point)> = Vec::new();
        for pair in self.shard.unwrap_or(whole).items(all) {
            let (number, seed) = (pair / seeds, pair % seeds);
            let seed = self.seeds[usize::try_from(seed).unwrap_or(0)];
            match points.last_mut() {
                Some((last, point)) if *last == number => point.seeds.push(seed),
                _ => points.push((number, self.point(number, seed))),
            }
        }
        points.into_iter().map(|(_, point)| point).collect()
    }

    /// The first combination with the experiment at this place, of all shards.
    pub(super) fn first(&self, experiment: usize) -> Point {
        let values = self.combinations() / self.experiments.len() as u128;
        self.point(experiment as u128 * values, self.seeds[0])
    }

    /// The combination of this number, with a seed.
    fn point(&self, number: u128, seed: u64) -> Point {
        let (mut rest, mut choice) = (number, Vec::new());
        for parameter in self.parameters.iter().rev() {
            let count = parameter.values().len() as u128;
            choice.push(usize::try_from(rest % count).unwrap_or(0));
            rest /= count;
        }
        choice.reverse();
        let experiment = usize::try_from(rest).unwrap_or(0);
        let values = |key: fn(&Self, &Parameter) -> String| -> Vec<String> {
            let varying = self.parameters.iter().zip(&choice);
            let varying = varying.filter(|(parameter, _)| parameter.varies());
            varying
                .map(|(parameter, place)| {
                    let value = shown(&parameter.values()[*place]);
                    format!("{}={value}", key(self, parameter))
                })
                .collect()
        };
        let (long, short) = (values(|_, of| of.key().to_owned()), values(Self::short_key));
        let file = &self.experiments[experiment];
        let stem = (1 < self.experiments.len() || long.is_empty()).then(|| stem(Path::new(file)));
        let joined = |first: Option<String>, values: Vec<String>| {
            first
                .into_iter()
                .chain(values)
                .collect::<Vec<String>>()
                .join(" ")
        };
        Point {
            experiment,
            name: joined(Some(file.clone()), long),
            label: joined(stem, short),
            choice,
            seeds: vec![seed],
        }
    }

    /// The last part of the key of `parameter`, or all of it if another parameter that varies has this part, too.
    fn short_key(&self, parameter: &Parameter) -> String {
        let last = |parameter: &Parameter| {
            let key = parameter.key();
            key.rsplit('.').next().unwrap_or(key).to_owned()
        };
        let short = last(parameter);
        let same = self
            .varying()
            .filter(|(_, other)| last(other) == short)
            .count();
        if same == 1 {
            short
        } else {
            parameter.key().to_owned()
        }
    }

    /// The values of `point`, one for each parameter.
    pub fn values<'a>(&'a self, point: &'a Point) -> impl Iterator<Item = &'a Node> {
        let chosen = self.parameters.iter().zip(&point.choice);
        chosen.map(|(parameter, place)| &parameter.values()[*place])
    }

    /// `point` as an experiment of a comparison.
    pub fn variant(&self, point: &Point) -> Variant {
        let chosen = self.parameters.iter().zip(&point.choice);
        Variant {
            file: PathBuf::from(&self.experiments[point.experiment]),
            name: point.name.clone(),
            label: point.label.clone(),
            set: chosen
                .map(|(parameter, place)| parameter.assignment(*place))
                .collect(),
        }
    }

    /// The parameters with several values, with their places.
    pub fn varying(&self) -> impl Iterator<Item = (usize, &Parameter)> {
        let numbered = self.parameters.iter().enumerate();
        numbered.filter(|(_, parameter)| parameter.varies())
    }
}

/// The product, or the greatest number if it is above that.
fn product(numbers: impl IntoIterator<Item = usize>) -> u128 {
    let numbers = numbers.into_iter();
    numbers.fold(1, |product: u128, number| {
        product.saturating_mul(number as u128)
    })
}

/// One of several parts of a sweep.
///
/// Invariant: `1 <= number <= of`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema), schemars(inline, extend("pattern" = "^[0-9]+/[0-9]+$")))]
#[serde(try_from = "String", into = "String")]
pub struct Shard {
    number: u64,
    of: u64,
}

impl Shard {
    /// All of a sweep, as one part.
    const WHOLE: Self = Self { number: 1, of: 1 };

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

/// Checks that a sweep of `policies` policies, or the shard of it, has at most `most` runs, of experiments that all draw.
///
/// # Errors
///
/// If it has more.
pub fn check_runs(grid: &Grid, policies: usize, most: u64) -> Result<(), Failure> {
    let runs = grid.pairs().saturating_mul(policies as u128);
    if runs <= u128::from(most) {
        return Ok(());
    }
    let what = match grid.shard {
        Some(shard) => format!("shard {shard}"),
        None => "the sweep".to_owned(),
    };
    let shards = {
        let all = grid.shard.map_or(1, |shard| u128::from(shard.of()));
        runs.saturating_mul(all).div_ceil(u128::from(most.max(1)))
    };
    Err(Failure::Usage(format!(
        "{what} has {runs} runs ({}), more than {most}\n  \
         help: fewer values, `--max-runs {runs}` to allow them, or `--shard 1/{shards}` and so on to split them",
        factors(grid, policies)
    )))
}

/// `3 × 4 combinations, 2 policies, 5 seeds`.
pub(super) fn factors(grid: &Grid, policies: usize) -> String {
    let varying = grid
        .varying()
        .map(|(_, parameter)| parameter.values().len());
    let files = Some(grid.experiments.len()).filter(|files| 1 < *files);
    let counts: Vec<String> = files
        .into_iter()
        .chain(varying)
        .map(|count| count.to_string())
        .collect();
    let counts = if counts.is_empty() {
        "1".to_owned()
    } else {
        counts.join(" × ")
    };
    let plural = |count: usize, one: &str, many: &str| {
        let name = if count == 1 { one } else { many };
        format!("{count} {name}")
    };
    let combinations = if counts == "1" {
        "combination"
    } else {
        "combinations"
    };
    format!(
        "{counts} {combinations}, {}, {}",
        plural(policies, "policy", "policies"),
        plural(grid.seeds.len(), "seed", "seeds")
    )
}

/// Maximum number of runs that are allowed without a word of the user.
pub const RUNS_MAX: u64 = 100_000;

/// A key with its values.
///
/// Invariant: at least one value, no duplicates; the key is `section.key`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Parameter {
    /// `section.key`.
    key: String,
    /// As they were written, ranges as their numbers.
    values: Vec<Node>,
}

impl Parameter {
    /// The key, `section.key`.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// The values, in the order they were written.
    pub fn values(&self) -> &[Node] {
        &self.values
    }

    /// Whether it has several values.
    pub fn varies(&self) -> bool {
        1 < self.values.len()
    }

    /// The value at `place` as a number, if all are.
    pub(super) fn numbers(&self) -> Option<Vec<f64>> {
        self.values
            .iter()
            .map(|value| number(&value.value))
            .collect()
    }

    /// The assignment of the value at `place`: `section.key=value`, the value as TOML.
    pub(super) fn assignment(&self, place: usize) -> String {
        format!("{}={}", self.key, self.values[place])
    }

    /// All values in a line, as `--set` takes them.
    pub(super) fn list(&self) -> String {
        let values: Vec<String> = self.values.iter().map(shown).collect();
        values.join(", ")
    }
}

impl FromStr for Parameter {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let malformed = "must be SECTION.KEY=VALUES, such as scheduler.interval=2,4,8";
        let (path, list) = text.split_once('=').ok_or(malformed)?;
        let keys: Vec<&str> = path.split('.').map(str::trim).collect();
        if keys.len() < 2 || keys.iter().any(|key| key.is_empty()) {
            return Err(malformed.to_owned());
        }
        let key = keys.join(".");
        if list.trim().is_empty() {
            return Err(format!(
                "`{key}` has no value: write values as in 2,4,8, or a range as in 2..8:2; an empty text is \"\""
            ));
        }
        let mut values: Vec<Node> = Vec::new();
        for (place, item) in items(list)?.into_iter().enumerate() {
            if item.is_empty() {
                let place = place + 1;
                return Err(format!(
                    "value {place} of `{key}` is empty: a comma separates values; an empty text is \"\""
                ));
            }
            match numbers_of_range(item)? {
                Some(numbers) => values.extend(numbers),
                None => values.push(value(&key, item)?),
            }
        }
        if let Some((first, second)) = twice(&values) {
            let (text, first, second) = (shown(&values[second]), first + 1, second + 1);
            return Err(format!(
                "`{key}` has the value {text} twice, as value {first} and as value {second}"
            ));
        }
        Ok(Self { key, values })
    }
}

/// The value that `text` is, without the place it was written at.
fn value(key: &str, text: &str) -> Result<Node, String> {
    let layers = assignments(&[format!("{key}={text}")]).map_err(|fault| fault.message)?;
    let merged = merge(&layers);
    let node = merged.find(key).ok_or("must be SECTION.KEY=VALUES")?;
    match node.value {
        // JSON, in which a sweep is kept, has no such numbers.
        Value::Float(number) if !number.is_finite() => {
            Err(format!("`{text}` for `{key}` must be a finite number"))
        }
        _ => Ok(tree_of(node)),
    }
}

/// The places of two values that are equal; 8 and 8.0 are.
fn twice(values: &[Node]) -> Option<(usize, usize)> {
    // Numbers by their bits, all else as TOML.
    let text = |node: &Node| match number(&node.value) {
        Some(number) => format!("{:x}", (number + 0.0).to_bits()),
        None => node.to_string(),
    };
    let mut known = BTreeMap::new();
    let mut numbered = values.iter().enumerate();
    numbered.find_map(|(place, value)| known.insert(text(value), place).map(|first| (first, place)))
}

/// The value as a number, if it is one that is written without a unit.
fn number(value: &Value) -> Option<f64> {
    match value {
        // An integer above 2^53 has its neighbour's place on an axis.
        Value::Integer(number) => Some(*number as f64),
        Value::Float(number) => Some(*number),
        _ => None,
    }
}

/// A value for people: a text without quotes if it is plain, everything else as TOML.
pub(super) fn shown(node: &Node) -> String {
    let is_plain =
        |character: char| character.is_ascii_alphanumeric() || "-_.:/+%".contains(character);
    match &node.value {
        Value::Text(text) if !text.is_empty() && text.chars().all(is_plain) => text.clone(),
        _ => node.to_string(),
    }
}

/// A value as a cell of a table: a text without quotes, everything else as TOML.
pub(super) fn cell(node: &Node) -> String {
    match &node.value {
        Value::Text(text) => text.clone(),
        _ => node.to_string(),
    }
}

/// The items of `text`, without the spaces around them. A comma separates items unless it is inside `[…]`, `{…}`, or
/// a string in quotes.
///
/// # Errors
///
/// If a bracket or a quote is not closed.
pub(super) fn items(text: &str) -> Result<Vec<&str>, String> {
    let (mut items, mut begin) = (Vec::new(), 0);
    let mut open: Vec<(usize, char)> = Vec::new();
    let mut quote: Option<(usize, char)> = None;
    let mut is_escaped = false;
    for (at, character) in text.char_indices() {
        if let Some((_, mark)) = quote {
            let is_end = character == mark && !is_escaped;
            is_escaped = mark == '"' && character == '\\' && !is_escaped;
            if is_end {
                quote = None;
            }
            continue;
        }
        match character {
            // A quote inside a bare word is a character like any other.
            '"' | '\'' if !open.is_empty() || text[begin..at].trim().is_empty() => {
                quote = Some((at, character));
            }
            '[' | '{' => open.push((at, character)),
            ']' | '}' => drop(open.pop()),
            ',' if open.is_empty() => {
                items.push(text[begin..at].trim());
                begin = at + 1;
            }
            _ => {}
        }
    }
    if let Some((at, mark)) = quote.or_else(|| open.pop()) {
        let item = text[at..].trim();
        return Err(format!("`{mark}` in `{item}` is not closed"));
    }
    items.push(text[begin..].trim());
    Ok(items)
}

/// The numbers of a range; `None`: `text` is no range.
///
/// Numbers are decimal and exact: `0.1..0.3:0.1` has 0.3.
///
/// # Errors
///
/// If the range begins with a number, and is malformed, has no number or too large a number of them.
fn numbers_of_range(text: &str) -> Result<Option<Vec<Node>>, String> {
    let Some((first, rest)) = text.split_once("..") else {
        return Ok(None);
    };
    // `../platforms/a.toml` is a name.
    let Some(first) = Decimal::read(first) else {
        return Ok(None);
    };
    let (last, step) = match rest.split_once(':') {
        Some((last, step)) => (last, Some(step)),
        None => (rest, None),
    };
    let malformed = || {
        format!(
            "`{text}` must be a range of numbers, FIRST..LAST or FIRST..LAST:STEP, as 16..64:16; a text that \
             looks like one is quoted: \"{text}\""
        )
    };
    let last = Decimal::read(last).ok_or_else(malformed)?;
    let step = match step {
        Some(step) => Decimal::read(step).ok_or_else(malformed)?,
        None if first.digits == 0 && last.digits == 0 => Decimal {
            units: 1,
            digits: 0,
        },
        None => return Err(format!("`{text}` needs a step, as in {text}:0.1")),
    };
    let digits = first.digits.max(last.digits).max(step.digits);
    let [low, high, width] = [first, last, step].map(|number| number.units_of(digits));
    if width <= 0 {
        return Err(format!("the step of `{text}` must be above 0"));
    }
    if high < low {
        let (first, last) = text.split_once("..").unwrap_or_default();
        let (last, step) = match last.split_once(':') {
            Some((last, step)) => (last, format!(":{step}")),
            None => (last, String::new()),
        };
        return Err(format!(
            "`{text}` runs backwards and has no number; write {}..{}{step}",
            last.trim(),
            first.trim()
        ));
    }
    let count = (high - low) / width + 1;
    if NUMBERS_MAX < count {
        return Err(format!(
            "`{text}` has {count} numbers, more than {NUMBERS_MAX}; a larger step makes fewer"
        ));
    }
    let number = |place: i128| Decimal {
        units: low + place * width,
        digits,
    };
    Ok(Some((0..count).map(|place| number(place).node()).collect()))
}

/// A decimal number: `units` · 10^-`digits`.
#[derive(Clone, Copy, Debug)]
struct Decimal {
    units: i128,
    digits: u32,
}

impl Decimal {
    /// Reads `-12.50`; at most [`DIGITS_MAX`] digits, no exponent.
    fn read(text: &str) -> Option<Self> {
        let text = text.trim();
        let (sign, number) = match text.strip_prefix('-') {
            Some(number) => (-1, number),
            None => (1, text),
        };
        let (whole, part) = match number.split_once('.') {
            Some((whole, part)) if !part.is_empty() => (whole, part),
            Some(_) => return None,
            None => (number, ""),
        };
        let all = format!("{whole}{part}");
        let is_number = !whole.is_empty() && all.bytes().all(|digit| digit.is_ascii_digit());
        if !is_number || DIGITS_MAX < all.len() {
            return None;
        }
        Some(Self {
            units: sign * all.parse::<i128>().ok()?,
            digits: u32::try_from(part.len()).ok()?,
        })
    }

    /// The number in units of 10^-`digits`, which are no more than its own.
    fn units_of(self, digits: u32) -> i128 {
        self.units * 10_i128.pow(digits - self.digits)
    }

    /// An integer if no number of its range has a fraction.
    fn node(self) -> Node {
        let value = if self.digits == 0 {
            Value::Integer(self.units)
        } else {
            // Division would round a second time.
            let text = format!("{}e-{}", self.units, self.digits);
            text.parse().map_or(Value::Nil, Value::Float)
        };
        Node {
            value,
            origin: None,
        }
    }
}

/// Maximum number of digits of a number, with which nothing overflows.
const DIGITS_MAX: usize = 17;

/// Maximum number of numbers in a range; more are taken as a mistake.
const NUMBERS_MAX: i128 = 100_000;

#[cfg(test)]
pub(super) mod tests;
