//! `--set KEY=VALUES`: a key, and the values that it takes one after another.

use std::collections::BTreeMap;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use settings::{Node, Value, assignments, merge, tree_of};

/// A key with its values.
///
/// Invariant: at least one value, no duplicates; the key is `section.key`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Parameter {
    key: String,
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
pub(super) fn numbers_of_range(text: &str) -> Result<Option<Vec<Node>>, String> {
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
mod tests {
    use super::*;

    mod parameter {
        use super::*;

        fn parameter(text: &str) -> Parameter {
            text.parse().unwrap()
        }

        #[track_caller]
        fn fault(text: &str) -> String {
            text.parse::<Parameter>().unwrap_err()
        }

        #[test]
        fn values_are_lists_and_ranges() {
            let check = |text: &str, key: &str, list: &str| {
                let parameter = parameter(text);
                assert_eq!((parameter.key(), &*parameter.list()), (key, list));
            };
            check("a.b=2,4,8", "a.b", "2, 4, 8");
            check(" a . b = 16..64:16 ", "a.b", "16, 32, 48, 64");
            check("a.b=1..3,10,0.5", "a.b", "1, 2, 3, 10, 0.5");
            check("a.b=1 s,10 s", "a.b", "\"1 s\", \"10 s\"");
            check("a.b=[1, 2],[3]", "a.b", "[1, 2], [3]");
            check("a.b=\"x,y\",z", "a.b", "\"x,y\", z");
            check("a.b=\"\"", "a.b", "\"\"");
            check("a.b.c={ x = 1, y = 2 }", "a.b.c", "{ x = 1, y = 2 }");
            check("a.b=true,false", "a.b", "true, false");
        }

        #[test]
        fn an_assignment_reads_back_as_the_value() {
            for text in [
                "a.b=1 s",
                "a.b=[1e8, 2]",
                "a.b=\"x,y\"",
                "a.b=0.1",
                "a.b={ x = 1 }",
            ] {
                let first = parameter(text);
                let again = value("a.b", first.assignment(0).strip_prefix("a.b=").unwrap());
                assert_eq!(again.unwrap(), first.values()[0], "{text}");
                let json = serde_json::to_string(&first).unwrap();
                assert_eq!(serde_json::from_str::<Parameter>(&json).unwrap(), first);
            }
        }

        #[test]
        fn numbers_have_a_place_on_an_axis() {
            assert_eq!(parameter("a.b=1,0.5").numbers().unwrap(), [1.0, 0.5]);
            assert_eq!(parameter("a.b=1,1 s").numbers(), None);
        }

        #[test]
        fn malformed_parameters_are_refused() {
            for text in ["interval", "interval=4", ".a=1", "a.=1", "=1", ""] {
                assert!(
                    fault(text).starts_with("must be SECTION.KEY=VALUES"),
                    "{text}"
                );
            }
            assert!(fault("a.b=").contains("`a.b` has no value"));
            assert!(fault("a.b=1,,2").contains("value 2 of `a.b` is empty"));
            assert!(fault("a.b=1,").contains("value 2 of `a.b` is empty"));
            let twice = "`a.b` has the value 8.0 twice, as value 1 and as value 3";
            assert_eq!(fault("a.b=8,4,8.0"), twice);
            assert!(fault("a.b=1..3,2").contains("has the value 2 twice"));
            assert!(fault("a.b=x,x").contains("has the value x twice"));
            assert!(fault("a.b=[1").contains("is not closed"));
            assert!(fault("a.b=3..1").contains("runs backwards"));
            assert!(fault("a.b=nan").contains("must be a finite number"));
        }
    }

    #[test]
    fn commas_inside_brackets_and_quotes_separate_nothing() {
        let check = |text: &str, expected: &[&str]| assert_eq!(items(text).unwrap(), expected);
        check("2,4, 8 ", &["2", "4", "8"]);
        check("1 s", &["1 s"]);
        check("[1, 2],[3, [4, 5]]", &["[1, 2]", "[3, [4, 5]]"]);
        check(
            "{ kind = \"noise\", jitter = 0.3 },{ kind = \"drift\" }",
            &["{ kind = \"noise\", jitter = 0.3 }", "{ kind = \"drift\" }"],
        );
        check("\"a,b\",'c,d'", &["\"a,b\"", "'c,d'"]);
        check(r#""a\",b",c"#, &[r#""a\",b""#, "c"]);
        check(r"'\',b", &[r"'\'", "b"]);
        check("don't,\"[\",]", &["don't", "\"[\"", "]"]);
        check("", &[""]);
        check("1,,2,", &["1", "", "2", ""]);
    }

    #[test]
    fn what_is_opened_has_to_be_closed() {
        let fault = |text: &str| items(text).unwrap_err();
        assert_eq!(fault("1,[2, 3"), "`[` in `[2, 3` is not closed");
        assert_eq!(fault("{a = [1], b"), "`{` in `{a = [1], b` is not closed");
        assert_eq!(fault("\"a,b"), "`\"` in `\"a,b` is not closed");
    }

    mod range {
        use super::*;

        #[track_caller]
        fn fault(text: &str) -> String {
            numbers_of_range(text).unwrap_err()
        }

        #[test]
        fn a_range_has_both_ends_and_is_exact() {
            let range = |text: &str| -> Vec<String> {
                let numbers = numbers_of_range(text).unwrap().unwrap();
                numbers.iter().map(Node::to_string).collect()
            };
            assert_eq!(range("16..64:16"), ["16", "32", "48", "64"]);
            assert_eq!(range("1..3"), ["1", "2", "3"]);
            assert_eq!(range("5 .. 5"), ["5"]);
            assert_eq!(range("1..6:2"), ["1", "3", "5"]);
            assert_eq!(range("0.1..0.3:0.1"), ["0.1", "0.2", "0.3"]);
            assert_eq!(range("0..1:0.25"), ["0.0", "0.25", "0.5", "0.75", "1.0"]);
            assert_eq!(range("-1.5..0:0.5"), ["-1.5", "-1.0", "-0.5", "0.0"]);
            let long = "12345678901234567..12345678901234567";
            assert_eq!(range(long), ["12345678901234567"]);
        }

        #[test]
        fn other_values_are_no_ranges() {
            for text in [
                "",
                "8",
                "../platforms/a.toml",
                "a..b",
                "1e8",
                "[1, 2]",
                "x.y",
            ] {
                assert_eq!(numbers_of_range(text), Ok(None), "{text}");
            }
        }

        #[test]
        fn malformed_ranges_are_refused() {
            assert!(fault("1..x").contains("must be a range of numbers"));
            for text in [
                "1..", "1...5", "1..5:", "1..5:x", "1..5:1:1", "1..1e9", "1..+5",
            ] {
                assert!(fault(text).contains("FIRST..LAST:STEP"), "{text}");
            }
            assert_eq!(fault("16..64:0"), "the step of `16..64:0` must be above 0");
            assert!(fault("1..5:-1").contains("must be above 0"));
            assert_eq!(
                fault("64..16:8"),
                "`64..16:8` runs backwards and has no number; write 16..64:8"
            );
            assert!(fault("0.5..0.9").contains("needs a step"));
            assert!(fault("1..1000000000").contains("has 1000000000 numbers"));
        }
    }
}
