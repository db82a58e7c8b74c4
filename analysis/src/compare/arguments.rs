//! What a comparison is asked for: policies with parameters, seeds, and claims about makespans.

use std::fmt;
use std::str::FromStr;

use experiments::{Scenario, scheduler};
use model::Policies;
use settings::Named;

/// A policy that is compared.
///
/// Invariant: the policy exists, and its parameters do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contender {
    /// The text of the argument, without spaces.
    pub label: String,
    /// The scenario that is run: i for `none`, otherwise iii unless a parameter sets it.
    pub scenario: Scenario,
    /// Its changes to an experiment: `section.key=value`.
    pub assignments: Vec<String>,
    /// The same without the scenario, unless the text names it: what a simulation of all scenarios is given.
    pub written: Vec<String>,
}

impl Contender {
    /// Reads `NAME` or `NAME:KEY=VALUE,KEY=VALUE`, the keys being those of `[scheduler]`; `NAME` is one of `policies`.
    ///
    /// # Errors
    ///
    /// The first name or parameter that is invalid.
    pub fn new(text: &str, policies: &Policies) -> Result<Self, String> {
        let Named { name, parameters } = Named::read(text, "migbsp:interval=8,x=0.9")?;
        let mut label = name.to_owned();
        let mut written = vec![
            format!("scheduler.policy={name}"),
            "scheduler.script=[]".to_owned(),
        ];
        for (place, (key, value)) in parameters.iter().enumerate() {
            check(key)?;
            written.push(format!("scheduler.{key}={value}"));
            label.push(if place == 0 { ':' } else { ',' });
            label.push_str(&format!("{key}={value}"));
        }
        let mut assignments = vec!["scheduler.scenario=iii".to_owned()];
        assignments.extend(written.iter().cloned());
        let scheduler = scheduler(&assignments, policies).map_err(|fault| {
            // The keys of a contender are those of the section.
            let message = fault.message.replacen("`scheduler.", "`", 1);
            let help = fault.help.map(|help| format!("; {help}"));
            message + &help.unwrap_or_default()
        })?;
        let policy = scheduler.policy.as_ref();
        if policy.is_none() && !parameters.is_empty() {
            return Err("the policy `none` has no parameters".to_owned());
        }
        let [scenario] = scheduler.scenario.runs(policy) else {
            return Err("scenario: must be one of `i`, `ii`, `iii`".to_owned());
        };
        Ok(Self {
            label,
            scenario: *scenario,
            assignments,
            written,
        })
    }
}

impl FromStr for Contender {
    type Err = String;

    /// Reads a policy made of shipped rules; commands know those of their binary, too.
    fn from_str(text: &str) -> Result<Self, String> {
        Self::new(text, &Policies::shipped())
    }
}

/// Refuses keys that a contender cannot set.
fn check(key: &str) -> Result<(), String> {
    match key {
        "policy" => Err("policy: write its name before the colon".to_owned()),
        "script" => Err("script: the policy decides which processes move".to_owned()),
        _ => Ok(()),
    }
}

/// Seeds in the order they were written.
///
/// Invariant: at least one, no duplicates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seeds(Vec<u64>);

impl Seeds {
    /// Seeds 1 to `number`, or 1 alone.
    pub(super) fn first_ones(number: u32) -> Self {
        Self((1..=u64::from(number.max(1))).collect())
    }

    /// The first one.
    pub fn first(&self) -> u64 {
        self.0[0]
    }

    /// All of them.
    pub fn all(&self) -> &[u64] {
        &self.0
    }
}

impl FromStr for Seeds {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut seeds = Vec::new();
        for part in text.split(',').map(str::trim) {
            match part.split_once("..") {
                None => seeds.push(seed(part)?),
                Some((first, last)) => {
                    let (first, last) = (seed(first)?, seed(last)?);
                    if last < first {
                        return Err(format!(
                            "`{part}` holds no seed; {first}.. ends before it begins"
                        ));
                    }
                    if SEEDS_MAX <= last - first {
                        return Err(format!("`{part}` holds more than {SEEDS_MAX} seeds"));
                    }
                    seeds.extend(first..=last);
                }
            }
        }
        let mut sorted = seeds.clone();
        sorted.sort_unstable();
        if let Some(twice) = sorted.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(format!("seed {} is given twice", twice[0]));
        }
        Ok(Self(seeds))
    }
}

fn seed(text: &str) -> Result<u64, String> {
    text.trim().parse().map_err(|_| {
        format!("must be seeds as in 7 or 1,2,5 or 1..30 with both ends, not `{text}`")
    })
}

/// Maximum number of seeds in a range; more are taken as a mistake.
const SEEDS_MAX: u64 = 100_000;

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

    #[test]
    fn a_policy_may_have_parameters() {
        let contender: Contender = " migbsp : interval = 8, planning.horizon=20 "
            .parse()
            .unwrap();
        assert_eq!(contender.label, "migbsp:interval=8,planning.horizon=20");
        assert_eq!(contender.scenario, Scenario::Iii);
        assert_eq!(
            contender.assignments,
            [
                "scheduler.scenario=iii",
                "scheduler.policy=migbsp",
                "scheduler.script=[]",
                "scheduler.interval=8",
                "scheduler.planning.horizon=20",
            ]
        );
        let scenario = |text: &str| text.parse::<Contender>().unwrap().scenario;
        assert_eq!(scenario("none"), Scenario::I);
        assert_eq!(scenario("migbsp:scenario=ii"), Scenario::Ii);
    }

    #[test]
    fn an_unknown_policy_or_parameter_is_refused() {
        let check = |text: &str, expected: &str| {
            let fault = text.parse::<Contender>().unwrap_err();
            assert!(fault.contains(expected), "{fault}");
        };
        check("migbps", "did you mean `migbsp`?");
        check("", "unknown policy");
        check(
            "migbsp:intervall=8",
            "unknown key `intervall`; did you mean `interval`?",
        );
        check(
            "migbsp:interval=0",
            "invalid value `0` for `interval`: must be at least 1",
        );
        check(
            "migbsp:interval=soon",
            "invalid value `\"soon\"` for `interval`",
        );
        check("migbsp:planning.horizn=3", "did you mean `horizon`?");
        check(
            "migbsp:planning.horizon=0.5",
            "invalid value `0.5` for `planning.horizon`",
        );
        check("migbsp:interval", "must be KEY=VALUE");
        check("migbsp:", "must be KEY=VALUE");
        check(
            "migbsp:interval=4,x=0.9,interval=8",
            "interval: given twice, as `4` and as `8`",
        );
        check("migbsp:policy=none", "before the colon");
        check("migbsp:script=[]", "the policy decides");
        check("migbsp:scenario=all", "must be one of");
        check("none:interval=4", "has no parameters");
    }

    #[test]
    fn seeds_are_listed_or_a_range_with_both_ends() {
        let seeds = |text: &str| text.parse::<Seeds>().unwrap().0;
        assert_eq!(seeds("7"), [7]);
        assert_eq!(seeds("1..4"), [1, 2, 3, 4]);
        assert_eq!(seeds("5..5"), [5]);
        assert_eq!(seeds("9, 1..2,0"), [9, 1, 2, 0]);
    }

    #[test]
    fn malformed_seeds_are_refused() {
        let fault = |text: &str| text.parse::<Seeds>().unwrap_err();
        for text in ["", "1,", "..", "1..", "-1", "1.5", "1...3", "one"] {
            assert!(fault(text).contains("must be seeds as in 7"), "{text}");
        }
        assert!(fault("3..1").contains("holds no seed"));
        assert!(fault("1..3,2").contains("seed 2 is given twice"));
        assert!(fault("0..18446744073709551615").contains("more than 100000"));
    }

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
