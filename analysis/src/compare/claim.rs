//! `--assert`: claims about makespans.

use std::fmt;
use std::str::FromStr;

/// `LEFT <= RIGHT`: a policy's makespan is at most that of another, or at most a factor times it.
#[derive(Clone, Debug, PartialEq)]
pub struct Claim {
    /// Label of the policy with the shorter makespan.
    pub left: String,
    /// Label of the other policy.
    pub right: String,
    /// Bound of the ratio of their makespans.
    pub limit: f64,
    /// Whether the ratio has to be below the bound.
    pub is_strict: bool,
    /// The text of the claim.
    written: String,
}

impl Claim {
    /// Whether the claim holds if the left makespan is `ratio` times the right one.
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
        return Err(format!("the factor {factor} must be above 0"));
    }
    if label.is_empty() || label.contains('*') {
        return Err(misfit(text));
    }
    // Names of policies have no spaces.
    Ok((factor, label.split_whitespace().collect()))
}

fn misfit(text: &str) -> String {
    format!(
        "must be `A <= B`, `A < B` or `A <= 0.8 * B`, with policies as in --policy, not `{text}`"
    )
}

/// Maximum factor between makespans.
const FACTOR_MAX: f64 = 1e100;

#[cfg(test)]
mod tests {
    use super::*;

    fn claim(text: &str) -> Claim {
        text.parse().unwrap()
    }

    #[test]
    fn a_claim_compares_two_makespans() {
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
    fn equal_makespans_are_not_less() {
        assert!(claim("a <= b").holds(1.0));
        assert!(!claim("a < b").holds(1.0));
        assert!(claim("a < b").holds(0.99));
        assert!(!claim("a <= 0.8 * b").holds(0.81));
        assert!(!claim("a <= b").holds(f64::NAN));
    }

    #[test]
    fn malformed_claims_are_refused() {
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
            assert!(fault.contains("must be `A <= B`"), "{fault}");
        }
        for text in ["a <= 0 * b", "a <= -1 * b", "a <= nan * b", "a <= inf * b"] {
            let fault = text.parse::<Claim>().unwrap_err();
            assert!(fault.contains("must be above 0"), "{fault}");
        }
    }
}
