//! Ranges of names: `labtec-1..5` stands for `labtec-1`, `labtec-2`, … `labtec-5`.

use std::ops::RangeInclusive;

use bsp::numbers::length;

use crate::platform::builder::HOSTS_MAX;
use crate::platform::error::PlatformErrorKind;

/// The names that a name with or without ranges stands for.
///
/// Numbers have at least as many digits as the first one of their range: `a-08..10` is `a-08`, `a-09`, `a-10`. Of several
/// ranges, the last one counts fastest: `r1..2-n1..2` is `r1-n1`, `r1-n2`, `r2-n1`, `r2-n2`.
///
/// # Errors
///
/// If a range has no first or last number, falls, has other zeros at its end than at its beginning, or there are more names
/// than hosts may be.
pub fn expand(pattern: &str) -> Result<Vec<String>, PlatformErrorKind> {
    let invalid = || PlatformErrorKind::InvalidValue {
        key: "range of names",
        met: pattern.to_owned(),
        expected: "the first and last number with `..` between them and the same zeros in front, as `labtec-1..5` \
                   and `labtec-01..05`",
    };
    let mut names = vec![String::new()];
    let mut rest = pattern;
    while let Some((before, after)) = rest.split_once("..") {
        let prefix = before.trim_end_matches(|character: char| character.is_ascii_digit());
        let suffix = after.trim_start_matches(|character: char| character.is_ascii_digit());
        let first = &before[prefix.len()..];
        let last = &after[..after.len() - suffix.len()];
        let range = range(first, last).ok_or_else(invalid)?;
        let count = u64::from(range.end() - range.start()) + 1;
        let limit = u64::from(HOSTS_MAX);
        let met = count.saturating_mul(length(names.len()));
        if limit < met {
            return Err(PlatformErrorKind::TooMany {
                what: "names in a range",
                met,
                limit,
            });
        }
        let width = first.len();
        let numbered = |name: String| {
            let range = range.clone();
            range.map(move |number| format!("{name}{prefix}{number:0width$}"))
        };
        names = names.into_iter().flat_map(numbered).collect();
        rest = suffix;
    }
    for name in &mut names {
        name.push_str(rest);
    }
    Ok(names)
}

/// The numbers from `first` to `last`, if their digits are a range.
fn range(first: &str, last: &str) -> Option<RangeInclusive<u32>> {
    let has_other_zeros = last.starts_with('0') && last.len() != first.len();
    let range = first.parse().ok()?..=last.parse().ok()?;
    (!has_other_zeros && !range.is_empty()).then_some(range)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_expand_to_names() {
        for (pattern, names) in [
            ("a-9..11", &["a-9", "a-10", "a-11"][..]),
            ("c0..1x", &["c0x", "c1x"]),
            ("plain", &["plain"]),
            ("7..8", &["7", "8"]),
            ("a-01..03", &["a-01", "a-02", "a-03"]),
            ("a-08..10", &["a-08", "a-09", "a-10"]),
            ("a-099..101", &["a-099", "a-100", "a-101"]),
            ("a-00..1", &["a-00", "a-01"]),
            ("a-01..01", &["a-01"]),
            ("r1..2-n09..10", &["r1-n09", "r1-n10", "r2-n09", "r2-n10"]),
        ] {
            assert_eq!(expand(pattern).unwrap(), names);
        }
        for pattern in [
            "a-5..1",
            "a..",
            "..",
            "a..3",
            "a-1..3..5",
            "a-1..x",
            "a-1..03",
            "a-001..03",
            "a-1..99999999999",
            "a0..4294967295",
            "a1..9999-b1..9999-c1..9999",
        ] {
            assert!(expand(pattern).is_err(), "{pattern}");
        }
    }
}
