//! `--policy`: a policy and the parameters it is to have.

use std::str::FromStr;

use migbsp::Policies;

use crate::configuration::{Scenario, scheduler};
use crate::named::Named;

/// A policy that takes part.
///
/// Invariant: the policy exists, and its parameters do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Contender {
    /// As it was written, without spaces.
    pub(crate) label: String,
    /// What is run: i for nobody, else iii unless its parameters say otherwise.
    pub(crate) scenario: Scenario,
    /// What it changes of an experiment: `section.key=value`.
    pub(crate) assignments: Vec<String>,
}

impl Contender {
    /// Reads `NAME` or `NAME:KEY=VALUE,KEY=VALUE`, the keys being those of `[scheduler]`; `NAME` is one of `policies`.
    ///
    /// # Errors
    ///
    /// The first name or parameter that will not do.
    pub(crate) fn new(text: &str, policies: &Policies) -> Result<Self, String> {
        let Named { name, parameters } = Named::read(text, "migbsp:interval=8,x=0.9")?;
        let mut label = name.to_owned();
        let mut assignments = vec![
            format!("scheduler.policy={name}"),
            "scheduler.scenario=iii".to_owned(),
            "scheduler.script=[]".to_owned(),
        ];
        for (place, (key, value)) in parameters.iter().enumerate() {
            check(key)?;
            assignments.push(format!("scheduler.{key}={value}"));
            label.push(if place == 0 { ':' } else { ',' });
            label.push_str(&format!("{key}={value}"));
        }
        let scheduler = scheduler(&assignments, policies).map_err(|fault| {
            let key = fault.key.strip_prefix("scheduler.").unwrap_or(&fault.key);
            format!("{key}: {}", fault.problem)
        })?;
        let policy = scheduler.policy.as_ref();
        if policy.is_none() && !parameters.is_empty() {
            return Err("with `none` nobody reschedules: it has no parameters".to_owned());
        }
        let [scenario] = scheduler.options.scenario.runs(policy) else {
            return Err("scenario: a comparison needs one, `i`, `ii` or `iii`".to_owned());
        };
        Ok(Self {
            label,
            scenario: *scenario,
            assignments,
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

/// Refuses keys that a policy does not get to set.
fn check(key: &str) -> Result<(), String> {
    match key {
        "policy" => Err("policy: its name stands before the colon".to_owned()),
        "script" => Err("script: a policy decides who moves".to_owned()),
        _ => Ok(()),
    }
}

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
                "scheduler.policy=migbsp",
                "scheduler.scenario=iii",
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
    fn what_is_no_policy_or_parameter_says_what_would_do() {
        let check = |text: &str, expected: &str| {
            let fault = text.parse::<Contender>().unwrap_err();
            assert!(fault.contains(expected), "{fault}");
        };
        check("migbps", "did you mean `migbsp`?");
        check("", "which is no policy");
        check(
            "migbsp:intervall=8",
            "intervall: unknown key; did you mean `interval`?",
        );
        check("migbsp:interval=0", "interval: met 0");
        check("migbsp:interval=soon", "interval: ");
        check("migbsp:planning.horizn=3", "did you mean `horizon`?");
        check("migbsp:planning.horizon=0.5", "planning.horizon: met 0.5");
        check("migbsp:interval", "expected KEY=VALUE");
        check("migbsp:", "expected KEY=VALUE");
        check(
            "migbsp:interval=4,x=0.9,interval=8",
            "interval: is there twice, as `4` and as `8`",
        );
        check("migbsp:policy=none", "before the colon");
        check("migbsp:script=[]", "a policy decides");
        check("migbsp:scenario=all", "a comparison needs one");
        check("none:interval=4", "has no parameters");
    }
}
