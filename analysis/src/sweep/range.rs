//! `FIRST..LAST` and `FIRST..LAST:STEP`: numbers at equal distances, both ends included.

use settings::{Node, Value};

/// The numbers of a range; `None`: `text` is no range.
///
/// Numbers are decimal and exact: `0.1..0.3:0.1` has 0.3.
///
/// # Errors
///
/// If the range begins with a number, and is malformed, has no number or too large a number of them.
pub(super) fn numbers(text: &str) -> Result<Option<Vec<Node>>, String> {
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

    #[track_caller]
    fn fault(text: &str) -> String {
        numbers(text).unwrap_err()
    }

    #[test]
    fn a_range_has_both_ends_and_is_exact() {
        let range = |text: &str| -> Vec<String> {
            let numbers = numbers(text).unwrap().unwrap();
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
            assert_eq!(numbers(text), Ok(None), "{text}");
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
