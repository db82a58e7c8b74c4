//! `--assert`: what has to hold of the makespans.

use std::fmt;
use std::str::FromStr;

/// `LEFT <= RIGHT`: a policy's makespan is at most another's, or at most so many times another's.
#[derive(Clone, Debug, PartialEq)]
pub struct Claim {
    /// Label of the policy that is to be the faster one.
    pub left: String,
    /// Label of the other one.
    pub right: String,
    /// What the ratio of their makespans is held to.
    pub limit: f64,
    /// Whether it may not even reach that.
    pub is_strict: bool,
    /// As it was written.
    written: String,
}

impl Claim {
    /// Whether it holds if the left makespan is `ratio` times the right one.
    pub fn holds(&self, ratio: f64) -> bool {
        ratio < self.limit || (!self.is_strict && ratio <= self.limit)
    }
}

impl fmt::Display for Claim {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.written)
    }
}

impl FromStr for Claim {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (left, right) = text.split_once('<').ok_or_else(|| misfit(text))?;
        let (is_strict, right) = match right.strip_prefix('=') {
            Some(right) => (false, right),
            None => (true, right),
        };
        if right.contains('<') {
            return Err(misfit(text));
        }
        let (left, right) = (side(left)?, side(right)?);
        Ok(Self {
            limit: right.0 / left.0,
            left: left.1,
            right: right.1,
            is_strict,
            written: text.trim().to_owned(),
        })
    }
}

/// Factor and label of `0.8 * LABEL`, `LABEL * 1.01` or `LABEL`.
fn side(text: &str) -> Result<(f64, String), String> {
    let text = text.trim();
    let (factor, label) = match text.split_once('*') {
        None => (1.0, text),
        Some((first, second)) => {
            let (first, second) = (first.trim(), second.trim());
            match (first.parse::<f64>(), second.parse::<f64>()) {
                (Ok(factor), Err(_)) => (factor, second),
                (Err(_), Ok(factor)) => (factor, first),
                _ => return Err(misfit(text)),
            }
        }
    };
    if !(f64::MIN_POSITIVE..=FACTOR_MAX).contains(&factor) {
        return Err(format!(
            "met the factor {factor}, expected a number above 0"
        ));
    }
    if label.is_empty() || label.contains('*') {
        return Err(misfit(text));
    }
    // Policies have no spaces in their names, however they are written.
    Ok((factor, label.split_whitespace().collect()))
}

fn misfit(text: &str) -> String {
    format!(
        "met `{text}`, expected `A <= B`, `A < B`, `A <= 0.8 * B` with policies as --policy has them"
    )
}

/// No makespan is so many times another one.
const FACTOR_MAX: f64 = 1e100;

#[cfg(test)]
mod tests {
    use super::*;

    fn claim(text: &str) -> Claim {
        text.parse().unwrap()
    }

    #[test]
    fn a_claim_holds_one_makespan_against_another() {
        let parts = |text: &str| {
            let claim = claim(text);
            (claim.left, claim.is_strict, claim.limit, claim.right)
        };
        let expected = |left: &str, is_strict, limit, right: &str| {
            (left.to_owned(), is_strict, limit, right.to_owned())
        };
        assert_eq!(parts("a <= b"), expected("a", false, 1.0, "b"));
        assert_eq!(parts("a<b"), expected("a", true, 1.0, "b"));
        assert_eq!(parts("a <= 0.8 * b"), expected("a", false, 0.8, "b"));
        assert_eq!(parts("a <= b*1.01"), expected("a", false, 1.01, "b"));
        assert_eq!(parts("2 * a < b"), expected("a", true, 0.5, "b"));
        for policy in ["migbsp:interval=8,x=0.9", "migbsp: interval = 8, x = 0.9"] {
            assert_eq!(
                parts(&format!("{policy} <= none")),
                expected("migbsp:interval=8,x=0.9", false, 1.0, "none")
            );
        }
    }

    #[test]
    fn equal_is_not_less() {
        assert!(claim("a <= b").holds(1.0));
        assert!(!claim("a < b").holds(1.0));
        assert!(claim("a < b").holds(0.99));
        assert!(!claim("a <= 0.8 * b").holds(0.81));
        assert!(!claim("a <= b").holds(f64::NAN));
    }

    #[test]
    fn what_claims_nothing_is_refused() {
        for text in [
            "",
            "a",
            "a >= b",
            "a <= ",
            "<= b",
            "a <= b <= c",
            "a <= b * c",
            "a <= 2 * 3",
            "a <= 2 * b * c",
        ] {
            let fault = text.parse::<Claim>().unwrap_err();
            assert!(fault.contains("expected `A <= B`"), "{fault}");
        }
        for text in ["a <= 0 * b", "a <= -1 * b", "a <= nan * b", "a <= inf * b"] {
            let fault = text.parse::<Claim>().unwrap_err();
            assert!(fault.contains("expected a number above 0"), "{fault}");
        }
    }
}
